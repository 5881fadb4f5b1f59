"""Pauses by PFC as trees: which pause led to which, how far, and the capacity that they suppressed (HPCC Fig. 1).

Needs `measure.pauses = true` in the spec. A port counts as suppressed while any of its classes is paused, with the rate
of its link. Shares are of the rates of all ports, both directions of each link (`capacity`), and of the links from the
hosts alone (`senders`): the share of the rate at which all hosts together could send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin.run_folder import RunError
from fanin.spec import section

if TYPE_CHECKING:
    from fanin.run_tables import RunTables

FROM_HOSTS = "host-uplink"
"""The tier of the links from hosts."""


def pauses_of(result: RunTables) -> pl.DataFrame:
    """The table of pauses with the rate and tier of each port; pauses that last end with the run. Raises `RunError` if
    they were not recorded."""
    if not section(result.spec, "measure").get("pauses", False):
        raise RunError(f"{result.label}: pauses were not recorded; set measure.pauses = true")
    ports = result.ports().select("port", "from", "tier", "rate_bps").with_columns(pl.col("tier").cast(pl.String))
    end = pl.col("end_ps").fill_null(result.manifest["simulated_ps"])
    table = result.pauses().with_columns(pl.col("port", "cause", "by").cast(pl.String), end.alias("end_ps"))
    return table.join(ports, on="port", how="left", maintain_order="left")


def suppressed(result: RunTables, tree: int | None = None) -> pl.DataFrame:
    """The shares of capacity that pauses suppress from each `time_us` on: of all links (`capacity`) and of the links
    from hosts (`senders`). `tree` counts the pauses of one tree alone."""
    table = pauses_of(result)
    return shares(table if tree is None else table.filter(pl.col("tree") == tree), result.ports())


def shares(table: pl.DataFrame, ports: pl.DataFrame) -> pl.DataFrame:
    """The shares of capacity that these pauses suppress over time."""
    merged = union(table)
    changes = pl.concat(
        [
            merged.select(pl.col("begin_ps").alias("time_ps"), pl.col("rate_bps").cast(pl.Float64).alias("by"), "tier"),
            merged.select(pl.col("end_ps").alias("time_ps"), -pl.col("rate_bps").cast(pl.Float64).alias("by"), "tier"),
        ]
    )
    of_hosts = pl.col("tier") == FROM_HOSTS
    sums = (
        changes.with_columns(pl.when(of_hosts).then("by").otherwise(0.0).alias("hosts"))
        .group_by("time_ps")
        .agg(pl.col("by", "hosts").sum())
        .sort("time_ps")
    )
    rates = ports.select("rate_bps", pl.col("tier").cast(pl.String))
    every = float(rates["rate_bps"].sum())
    hosts = float(rates.filter(of_hosts)["rate_bps"].sum())
    return sums.select(
        (pl.col("time_ps") / 1e6).alias("time_us"),
        (pl.col("by").cum_sum() / every).clip(0.0).alias("capacity"),
        (pl.col("hosts").cum_sum() / max(hosts, 1.0)).clip(0.0).alias("senders"),
    )


def union(table: pl.DataFrame) -> pl.DataFrame:
    """The times in which each port was paused in any class, without overlaps."""
    ordered = table.sort("port", "begin_ps")
    before = pl.col("end_ps").cum_max().shift(1).over("port")
    new = before.is_null() | (pl.col("begin_ps") > before)
    spans = ordered.with_columns(new.cum_sum().over("port").alias("span"))
    return spans.group_by("port", "span").agg(
        pl.col("begin_ps").min(), pl.col("end_ps").max(), pl.col("rate_bps").first(), pl.col("tier").first()
    )


def trees(result: RunTables) -> pl.DataFrame:
    """One row per tree of pauses, in the order of their begin.

    Columns: `tree`; `cause` of the pauses at its root, and `origin`, the port whose queue is congested or the host;
    `begin_us`, `end_us`; `pauses` and `ports`; `depth`, the pauses from the origin to the farthest one; and the largest
    shares that its pauses suppressed at once: `capacity` and `senders`.
    """
    table, ports = pauses_of(result), result.ports()
    names = {"cause": pl.String, "origin": pl.String, "begin_us": pl.Float64, "end_us": pl.Float64}
    empty = {"tree": pl.UInt32, **names, "pauses": pl.UInt32, "ports": pl.UInt32, "depth": pl.UInt16}
    if table.is_empty():
        return pl.DataFrame(schema={**empty, "capacity": pl.Float64, "senders": pl.Float64})
    peer = pl.col("port").str.split(">").list.last().str.split("#").list.first()
    found = table.group_by("tree", maintain_order=True).agg(
        pl.col("cause").first(),
        pl.coalesce("by", peer).first().alias("origin"),
        (pl.col("begin_ps").min() / 1e6).alias("begin_us"),
        (pl.col("end_ps").max() / 1e6).alias("end_us"),
        pl.len().alias("pauses"),
        pl.col("port").n_unique().alias("ports"),
        pl.col("depth").max(),
    )
    peaks = [peak(part, ports) for _, part in table.group_by("tree", maintain_order=True)]
    capacity, senders = np.array(peaks).T
    return found.with_columns(pl.Series("capacity", capacity), pl.Series("senders", senders)).sort("begin_us", "tree")


def peak(table: pl.DataFrame, ports: pl.DataFrame) -> tuple[float, float]:
    """The largest shares that these pauses suppress at once: of all links, and of the links from hosts."""
    over_time = shares(table, ports)
    return float(over_time["capacity"].to_numpy().max()), float(over_time["senders"].to_numpy().max())

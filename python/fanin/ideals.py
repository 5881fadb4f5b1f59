"""Slowdowns of a run by another ideal than the one that its spec names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import polars as pl

from fanin import _core
from fanin.measures import completion_us, nearest_rank, of_sizes
from fanin.over_time import message_number
from fanin.run_folder import RunError
from fanin.run_tables import with_flows
from fanin.spec import section, traffics

if TYPE_CHECKING:
    from fanin.run_folder import Percentiles, Summary
    from fanin.run_tables import RunTables

R = TypeVar("R", bound="RunTables")

IDEALS = ("store-and-forward", "hpcc", "lone-run")
"""The values of `measure.slowdown`."""

LEVELS = {"p50": 500, "p99": 990, "p999": 999}
"""The percentiles of a summary, in thousandths."""

OF_NS3 = "the formula of the ns-3 HPCC simulator"
"""The ideal of a configuration of that simulator that ran as it is; the same as "hpcc"."""


def with_ideal(result: R, ideal: str) -> R:
    """See `fanin.Result.with_ideal`."""
    if ideal not in IDEALS:
        raise ValueError(f"no ideal {ideal!r}; the ideals are {', '.join(IDEALS)}")
    if result.slowdown_ideal == ideal or (ideal == "hpcc" and result.slowdown_ideal == OF_NS3):
        return result
    if result.exact:
        own = "hpcc" if result.slowdown_ideal == OF_NS3 else result.slowdown_ideal
        raise RunError(f"{result.label}: a configuration that ran as it is has only the ideal {own}, not {ideal}")
    measure = {**section(result.spec, "measure"), "slowdown": ideal}
    flows = result.flows()
    found = of_messages(result, flows, ideal)
    completion, known = pl.col("completion_ps"), pl.col("ideal_ps")
    flows = flows.with_columns(pl.Series("ideal_ps", found, dtype=pl.UInt64))
    # As the native module divides them.
    flows = flows.with_columns((completion.cast(pl.Float64) / known.cast(pl.Float64)).alias("slowdown"))

    return replace(
        result,
        spec={**result.spec, "measure": measure},
        _summary=summary_with(result, flows, ideal),
        _arrow=with_flows(result, flows),
        _core_result=None,
    )


def alike(results: Sequence[R]) -> list[R]:
    """The runs, measured in the same way: beside a configuration of the ns-3 HPCC simulator that ran as it is, the FCTs
    of all others are up to the last ACK, too (`acked_ps`), and with them their slowdowns. Saving such a run writes it
    as it was measured itself."""
    if not any(result.fct_ends_at_sender for result in results):
        return list(results)
    return [result if result.fct_ends_at_sender else _to_last_ack(result) for result in results]


def _to_last_ack(result: R) -> R:
    known = result.flows().with_columns(completion_ps=pl.col("acked_ps"))
    flows = known.with_columns(slowdown=pl.col("acked_ps").cast(pl.Float64) / pl.col("ideal_ps").cast(pl.Float64))

    summary = summary_with(result, flows, result.slowdown_ideal)
    return replace(result, _summary=summary, _arrow=with_flows(result, flows), _as_ns3=True)


def of_messages(result: RunTables, flows: pl.DataFrame, ideal: str) -> list[int | None]:
    """The ideals of the messages in the table of flows, in ps."""
    numbers = {str(traffic["name"]): number for number, traffic in enumerate(traffics(result.spec))}
    traffic = flows["traffic"].cast(pl.String).replace_strict(numbers, return_dtype=pl.UInt16)
    wanted = list(zip(traffic.to_list(), flows.select(message_number(flows))["number"].to_list(), strict=True))
    spec = json.dumps({**result.spec, "measure": {**section(result.spec, "measure"), "series": []}})
    return _core.ideals(spec, result.label, str(Path.cwd()), result.given_flows, ideal, wanted)


def summary_with(result: RunTables, flows: pl.DataFrame, ideal: str) -> Summary:
    """The summary of a run with the completion times and slowdowns of this table."""
    old = result.summary()
    counted = flows.filter("measured", of_sizes(result)).with_columns(pl.col("traffic").cast(pl.String))
    parts = counted.partition_by("traffic", as_dict=True)
    new = []
    for traffic in old["traffics"]:
        of = parts.get((traffic["traffic"],), counted.clear())
        times_us = completion_us(of.drop_nulls("completion_ps")).tolist()
        slowdowns = of["slowdown"].drop_nulls().to_list()
        new.append({**traffic, "completion_us": percentiles(times_us), "slowdown": percentiles(slowdowns)})
    return cast("Summary", {**old, "slowdown_ideal": ideal, "traffics": new})


def percentiles(values: Sequence[float]) -> Percentiles:
    """Those of the summary, over these values."""
    import numpy as np

    array = np.array(values, dtype=np.float64)
    found = {name: nearest_rank(array, rank) for name, rank in {**LEVELS, "max": 1000}.items()}
    mean = sum(sorted(values)) / len(values) if values else None
    return cast("Percentiles", {"count": len(values), "mean": mean, **found})

"""What HPCC's experiments with production traffic measure (Fig. 10 to 12): runs that were kept are good as long as this
file is the same."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fanin import Result
from fanin.jobs import Measured
from fanin.measures import reported

ACK_BYTES = 66
"""Of an ACK without telemetry."""
PACKET_KB = 1.0
"""Payload of a full packet."""
TIERS = ("host-uplink", "tor-uplink", "agg-uplink")
BUSY_PORTS = 5


def measure(result: Result) -> Measured:
    """Of each message of the load its size, slowdown and latency; pauses, drops, queues and use of links.

    `slowdown` is the time until the sender has the last ACK over that of the same message alone, as the paper's senders
    measure it: 16.9 us are 2.38 times 7.1 us (5.2), a round trip. `one_way` is that until the last byte has arrived.
    """
    load = reported(result).filter((pl.col("traffic") == "load") & pl.col("acked_ps").is_not_null())
    kb = load["bytes"].to_numpy() / 1e3
    acked_us = load["acked_ps"].to_numpy() / 1e6
    back_us = ack_way_us(result)
    alone_us = load["ideal_ps"].to_numpy() / 1e6 + np.array([back_us[hops] for hops in load["hops"]])
    return {
        "kb": rounded(kb),
        "slowdown": rounded(acked_us / alone_us),
        "one_way": rounded(load["slowdown"].to_numpy()),
        "packet_us": rounded(acked_us[kb <= PACKET_KB]),
        "unfinished": [float(sum(traffic["unfinished"] for traffic in result.summary()["traffics"]))],
        **network(result),
        **queues(result),
    }


def ack_way_us(result: Result) -> dict[int, float]:
    """How long an ACK takes back on an idle path, in us, by its number of links."""
    first = result.ports().unique("tier", keep="first")
    way, total = {}, 0.0
    for number, tier in enumerate(TIERS):
        link = first.filter(pl.col("tier") == tier)
        if link.height:
            total += 2 * (float(link["delay_ps"][0]) + ACK_BYTES * 8e12 / float(link["rate_bps"][0]))
            way[2 * number + 2] = total / 1e6
    return way


def network(result: Result) -> Measured:
    """Pauses, drops, the use of the busiest links to hosts, and the rate of payload that incasts had."""
    summary = result.summary()["network"]
    classes = result.classes().filter(pl.col("class") == 1)
    flows = result.flows()
    span_us = float(flows["start_ps"].to_numpy().max()) / 1e6  # of arrivals; the rest of a run is draining
    used = result.ports().filter(pl.col("tier") == "last-hop")["utilisation"]
    incasts = (
        flows.filter(pl.col("traffic") == "incasts")
        .group_by("group")
        .agg(
            pl.col("bytes").sum(),
            ((pl.col("start_ps") + pl.col("completion_ps")).max() - pl.col("start_ps").min()).alias("took_ps"),
            pl.col("completion_ps").is_null().any().alias("open"),
        )
        .filter(pl.col("open").not_())
    )
    return {
        "paused": [100 * summary["paused_us"] / (span_us * classes.height)],
        "pauses": [float(summary["pauses"])],
        "drops": [float(summary["drops"]["total"])],
        "timeouts": [float(summary["timeouts"])],
        "used": [100 * float(np.sort(used.to_numpy())[-BUSY_PORTS:].mean())],
        "incast_gbps": rounded(8e3 * incasts["bytes"].to_numpy() / incasts["took_ps"].to_numpy()),
    }


def queues(result: Result) -> Measured:
    """The histograms of samples of queues: of each its bins, in bytes, and counts."""
    found: Measured = {}
    for (where,), table in result.histograms().partition_by("where", as_dict=True).items():
        name = "all ports" if where == "switch-ports" else "uplinks"
        found |= {
            f"{name}: from": table["lower_bytes"].cast(float).to_list(),
            f"{name}: below": table["upper_bytes"].cast(float).to_list(),
            f"{name}: count": table["count"].cast(float).to_list(),
        }
    return found


def rounded(values: NDArray[np.float64]) -> list[float]:
    """To five digits, which keeps files small."""
    return [float(f"{value:.5g}") for value in values]

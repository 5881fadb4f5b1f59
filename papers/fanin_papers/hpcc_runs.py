"""Shared by HPCC's experiments: schemes on the testbed, samples over time, and numbers over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fanin import Result
from fanin_papers.common import mean, seeds
from fanin_papers.experiment import Change, Key

HPCC, DCQCN, FIVE, OWN = "hpcc", "dcqcn-vendor", "dcqcn-vendor (F = 5)", "dcqcn"

_VENDOR = 'id = "dcqcn-vendor", additive_increase = "40 Mbps", hyper_increase = "400 Mbps"'

TESTBED = {
    HPCC: '{ id = "hpcc", base_rtt = "9 us" }',
    DCQCN: f"{{ {_VENDOR} }}",
    FIVE: f"{{ {_VENDOR}, fast_recovery_steps = 5 }}",
    OWN: '{ id = "dcqcn" }',
}
"""The schemes of section 5.2. The vendor's timers are 300 us and 4 us (2.3); its steps are not in the paper, these are
those of DCQCN's paper; F = 1 is that of the public simulator, F = 5 that of DCQCN's paper, of which `dcqcn` has all
parameters."""

TITLES = {
    HPCC: "HPCC",
    DCQCN: "DCQCN, the vendor's timers",
    FIVE: "DCQCN, the same with F = 5",
    OWN: "DCQCN, its paper's parameters",
}

HPCC_PACKET = 1104
"""Bytes on the wire for 1,000 B of payload: every packet of HPCC carries 42 B of telemetry (5.1)."""


def under(scheme: str, *traffics: str) -> tuple[str, ...]:
    """The changes to a spec that put its traffics under a scheme of the testbed."""
    return tuple(f"traffic.{name}.scheme={TESTBED[scheme]}" for name in traffics)


def sweep_testbed(quick: bool, schemes: Sequence[str], *traffics: str, more: tuple[str, ...] = ()) -> dict[Key, Change]:
    """Runs by scheme and seed. Under HPCC nothing is random, so it has one seed."""
    return {
        (scheme, seed): Change(None, (*under(scheme, *traffics), *more))
        for scheme in schemes
        for seed in (seeds(quick) if scheme != HPCC else (1,))
    }


def watched(result: Result, name: str, where: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The times in us and the samples of a quantity of a flow, port or traffic."""
    found = result.watch().filter((pl.col("name") == name) & (pl.col("where") == where)).sort("time_ps")
    return found["time_ps"].to_numpy() / 1e6, found["value"].to_numpy().astype(np.float64)


def windows(result: Result) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The times in us and the windows in bytes of each flow that the spec samples."""
    found = result.watch().filter(pl.col("name") == "window_bytes").select("where", "time_ps", "value")
    return {
        str(flow): (table["time_ps"].to_numpy() / 1e6, table["value"].to_numpy().astype(np.float64))
        for (flow,), table in found.sort("time_ps").partition_by("where", as_dict=True).items()
    }


def queued(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The times in us and the samples in bytes of the queue of the only port that the spec samples."""
    series = result.series(zeros=True).sort("time_ps")
    return series["time_ps"].to_numpy() / 1e6, series["queue_bytes"].to_numpy().astype(np.float64)


def paused_and_dropped(result: Result) -> list[float]:
    """The number of pauses by PFC and of drops."""
    network = result.summary()["network"]
    return [float(network["pauses"]), float(network["drops"]["total"])]


def spread(values: Sequence[float], form: str = ".1f") -> str:
    """The mean, and the range if there are several values that differ."""
    shown = [format(value, form) for value in (min(values), max(values))]
    several = f" ({shown[0]} to {shown[1]})" if shown[0] != shown[1] else ""
    return format(mean(values), form) + several


def longest_queue(result: Result, port: str) -> float:
    """The longest queue of data at a port, in bytes."""
    ports = result.classes().filter((pl.col("port") == port) & (pl.col("class") == 1))
    return float(ports["peak_queue_bytes"].item())

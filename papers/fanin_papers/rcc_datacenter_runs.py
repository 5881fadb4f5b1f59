"""RCC sections 6.2 and 6.3.1: the runs of figures 8 and 9, 1,000 hosts with five receivers, by offered load.

Two readings of the offered load are run. As traffic: 200 MB, of which five flows of 30 MB are three quarters, arrive in
the time in which they are this share of the receivers' links. As in the authors' code: a queue that is shorter by that
share, a lower K and more delay, and the same traffic at each load.

Assumed in both: an initial window of 1 segment, neither SACK nor window scaling (the authors' simulator has none);
short flows are cut at 10 MB; one long flow to each receiver. The specs say what else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fanin import Result
from fanin_papers.common import seeds
from fanin_papers.experiment import Change, Key, Measured
from fanin_papers.rcc_incast import SCHEMES

LOADS = range(10, 91, 10)
"""The offered loads in per cent."""

RECEIVERS = (0, 200, 400, 600, 800)
PER_RACK = 25
MEAN_START_US = (300, 400, 500, 600, 700)
"""The mean start times of the five groups in the authors' code, the means of inter-arrivals in the paper."""

WITHOUT = "rcc, no priority"
ADVERTISED, CODE = "rcc, advertised window alone", "rcc-ns3"
VARIANTS = {
    WITHOUT: '{ id = "rcc", priority = "none", newreno = { initial_window = 1 } }',
    ADVERTISED: '{ id = "rcc", sender = "advertised" }',
    CODE: '"rcc-ns3"',
}
"""RCC with one thing changed: no priorities (6.3.1), senders without a window of their own, the authors' code."""

UNIFORM, SLOW_ROOT = "sizes of 2 to 98 KB", "root at 1 Gb/s"
SCALED = "window scaling"
ONE_CHANGE = (50, 60, 90)
"""The loads at which one change of the network or the traffic is run."""
CHANGED = ("newreno", "dctcp", "ictcp", "rcc")

SHORTS = tuple(f"short{number}" for number in range(len(RECEIVERS)))


def twenty_seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has one."""
    return seeds(True) if quick else range(1, 21)


def loads(quick: bool) -> Sequence[int]:
    """A short version has four."""
    return (10, 50, 60, 90) if quick else LOADS


def under(scheme: str, *traffics: str) -> tuple[str, ...]:
    """All of these traffics under a scheme."""
    return tuple(f"traffic.{name}.scheme={scheme}" for name in traffics)


# The load as traffic


def as_traffic(scheme: str, load: int, *changes: str) -> Change:
    """The changes for one point: a quarter of the bytes is short, and all 200 MB arrive in 320 ms over the load."""
    return Change(
        None,
        (
            *under(scheme, "long", "short"),
            f"traffic.short.load.share={load / 400}",
            f"measure.window={320e6 / (load / 100):.0f} ns",
            *changes,
        ),
    )


def sweep_traffic(quick: bool) -> dict[Key, Change]:
    """Each scheme at each load; RCC without priorities; window scaling and other senders of RCC at few loads."""
    both = [f"traffic.{name}.tcp.window_scaling=true" for name in ("long", "short")]
    runs: dict[Key, Change] = {}
    for seed in twenty_seeds(quick):
        for load in loads(quick):
            for name, scheme in {**SCHEMES, WITHOUT: VARIANTS[WITHOUT]}.items():
                runs[name, load, seed] = as_traffic(scheme, load)
        for load in ONE_CHANGE:
            for name in CHANGED:
                runs[f"{name}, {SCALED}", load, seed] = as_traffic(SCHEMES[name], load, *both)
            runs[ADVERTISED, load, seed] = as_traffic(VARIANTS[ADVERTISED], load)
    return runs


# The load as in the authors' code


def as_coded(scheme: str, load: int, seed: int, *changes: str) -> Change:
    """The changes for one point: a shorter queue, a lower threshold, and their delay at each switch."""
    packets = 80 * load / 100
    delay_us = 12 * packets
    starts_us = np.random.default_rng(seed).exponential(MEAN_START_US)
    return Change(
        None,
        (
            *under(scheme, "long", *SHORTS),
            *(f"traffic.{name}.start={1e6 * start:.0f} ps" for name, start in zip(SHORTS, starts_us, strict=True)),
            f"network.buffer.per_port={(80 - packets) * 1500:.0f} B",
            f"network.marking.above={max(0, 40 - packets) * 1500:.0f} B",
            f"network.topology.delay={40 + delay_us / 2:g} us",
            f"network.topology.fabric_delay={40 + delay_us:g} us",
            *changes,
        ),
    )


def sweep_coded(quick: bool) -> dict[Key, Change]:
    """Each scheme at each load; RCC without priorities and as its authors have it; other sizes, and a root whose links
    are no faster than a host's, at few loads."""
    uniform = [f'traffic.{name}.size={{ uniform = ["2 KiB", "98 KiB"] }}' for name in SHORTS]
    slow_root = ["network.topology.fabric_link=1 Gbps"]
    runs: dict[Key, Change] = {}
    for seed in twenty_seeds(quick):
        for load in loads(quick):
            for name, scheme in {**SCHEMES, WITHOUT: VARIANTS[WITHOUT], CODE: VARIANTS[CODE]}.items():
                runs[name, load, seed] = as_coded(scheme, load, seed)
        for load in ONE_CHANGE:
            for what, changes in ((UNIFORM, uniform), (SLOW_ROOT, slow_root)):
                for name in CHANGED:
                    runs[f"{name}, {what}", load, seed] = as_coded(SCHEMES[name], load, seed, *changes)
    return runs


def measure(result: Result) -> Measured:
    """Completion times of short flows in ms, the five long flows' goodput in Mb/s in rising order, drops for each
    receiver at its ToR's port and at the root's port to that ToR, and messages that never arrived."""
    flows, ports = result.flows(), result.ports()
    whole = flows.drop_nulls("completion_ps")
    long = whole.filter(pl.col("traffic") == "long")
    short = whole.filter(pl.col("traffic") != "long")
    dropped = dict(zip(ports["port"].cast(pl.String), ports["dropped_packets"], strict=True))
    racks = [receiver // PER_RACK for receiver in RECEIVERS]
    return {
        "short_ms": (short["completion_ps"].to_numpy() / 1e9).tolist(),
        "long_mbps": sorted((long["bytes"].to_numpy() * 8e6 / long["completion_ps"].to_numpy()).tolist()),
        "tor_drops": [float(dropped[f"leaf{rack}>h{host}"]) for rack, host in zip(racks, RECEIVERS, strict=True)],
        "root_drops": [float(dropped[f"spine0>leaf{rack}"]) for rack in racks],
        "unfinished": [float(flows.height - whole.height)],
    }

"""The matrix: every scheme on every paper's home ground, under equal assumptions (`fanin paper matrix`).

A ground is the network and the traffic of a paper's own evaluation, at two loads. Equal for all schemes there: links,
buffers and routes; no time in hosts beyond the network's; each scheme's first preset with its default parameters. The
two families treat losses differently, as they do in practice: where the paper's network is lossless, schemes over RDMA
have its PFC and schemes over TCP none; where it drops, schemes over RDMA repair losses by IRN. Switches mark as the
paper's do; schemes of DCTCP's law have DCTCP's single threshold where the paper gives one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

import fanin
from fanin import Result, SpecError, measures
from fanin.jobs import Job
from fanin_papers import SPECS
from fanin_papers.common import seeds
from fanin_papers.dctcp_benchmark_runs import SIZES, background, queries
from fanin_papers.experiment import Change, Key, Measured, Measures, Row
from fanin_papers.overview import measure as overview

SINGLE_THRESHOLD = ("dctcp", "dctcp-rate")
"""Schemes of DCTCP's law."""

LEFT_OUT = ("fixed-window", "fixed-rate", "hpcc-ns3", "dcqcn-ns3", "timely-ns3", "dctcp-ns3", "ndp")
"""Senders that nothing controls, the laws as the ns-3 HPCC simulator has them, whose originals are here, and the scheme
that needs switches that trim, which those here do not."""

TCP = ("overhead=0 s", "min_rto=10 ms")
"""No time in hosts for each transfer, and the smallest timeout of the papers that give one."""

LOSSY_RDMA = ("recovery=irn", "timeout=10 ms", "timeout_low=10 ms")
"""IRN, with the smallest timeout of TCP: its own, 320 and 100 us, are shorter than the queues of links at 1 Gb/s."""

PERCENTILES = (500, 990)


@dataclass(frozen=True)
class Load:
    """One of a ground's two loads."""

    name: str
    set: tuple[str, ...]
    """Changes to the spec."""


@dataclass(frozen=True)
class Ground:
    """A paper's network and traffic."""

    id: str
    name: str
    """In a word, for tables."""
    title: str
    spec: str
    """File of the spec, under the folder of specs."""
    lossless: bool
    loads: tuple[Load, Load]
    bins: tuple[tuple[int, int], ...]
    """Ranges of payload sizes in bytes, both ends included."""
    set: tuple[str, ...] = ()
    """Changes to the spec."""
    marks: tuple[str, ...] = ()
    """Changes for DCTCP's single threshold."""
    quick: tuple[str, ...] = ("measure.window=200 us", "measure.warm_up=0 s", "measure.drain_limit=2 ms")

    @property
    def traffics(self) -> tuple[str, ...]:
        """Names of the spec's traffics."""
        entries = cast("list[dict[str, str]]", Job.of(SPECS / self.spec).resolve()["traffic"])
        return tuple(entry["name"] for entry in entries)

    def changes(self, scheme: str) -> tuple[str, ...]:
        """Changes to the spec for a scheme, at either load."""
        found = list(self.set)
        if scheme in SINGLE_THRESHOLD:
            found += self.marks
        if over_tcp(scheme):
            found += [f"traffic.{name}.tcp.{key}" for name in self.traffics for key in TCP]
            found += ["network.buffer.policy=lossy"] if self.lossless else []
        elif not self.lossless:
            found += [f"traffic.{name}.rdma.{key}" for name in self.traffics for key in LOSSY_RDMA]
        return tuple(found)

    def unfit(self, scheme: str) -> str | None:
        """Why a scheme makes no sense here, if so."""
        job = Job.of(SPECS / self.spec, self.changes(scheme)).using(scheme, None)
        try:
            job.resolve()
        except SpecError as error:
            return str(error)
        return next((warning for warning in job.warnings() if "].scheme: " in warning), None)


@cache
def over_tcp(scheme: str) -> bool:
    """Whether a scheme runs over TCP unless told otherwise."""
    spec = Job.of(SPECS / "overview" / "incast.toml").using(scheme, None).resolve()
    return cast("list[dict[str, str]]", spec["traffic"])[0]["transport"] == "tcp"


def schemes() -> list[str]:
    """The schemes of the matrix, in the order of the list of schemes."""
    first = dict.fromkeys(row["presets"][0] for row in fanin.schemes())
    return [name for name in first if name not in LEFT_OUT]


@cache
def fitting(ground: Ground) -> tuple[str, ...]:
    """Those that make sense on a ground."""
    return tuple(scheme for scheme in schemes() if ground.unfit(scheme) is None)


def _shares(**shares: float) -> tuple[str, ...]:
    return tuple(f"traffic.{name}.load.share={share:g}" for name, share in shares.items())


KB, MB = 1000, 1_000_000

DART = Ground(
    "dart",
    "Dart",
    "Dart: incasts of 16 short messages beside long flows, 1,024 hosts at 10 Gb/s",
    "dart/fig11-typical.toml",
    lossless=True,
    loads=(Load("20 %", _shares(short=0.08, long=0.12)), Load("60 %", _shares(short=0.24, long=0.36))),
    bins=((2 * KB, 2 * KB), (4 * KB, 4 * KB), (8 * KB, 8 * KB)),
    set=("measure.window=5 ms", "measure.drain_limit=20 ms", "traffic.short.pattern.jitter=40 us"),
)
HADOOP = Ground(
    "hadoop",
    "FB_Hadoop",
    "HPCC: FB_Hadoop with incasts of 60, 320 hosts at 100 Gb/s",
    "hpcc/fig11-fattree.toml",
    lossless=True,
    loads=(Load("30 %", _shares(load=0.3)), Load("50 %", _shares(load=0.5))),
    bins=((0, 1 * KB), (1 * KB + 1, 100 * KB), (100 * KB + 1, 10**12)),
    set=("measure.warm_up=200 us", "measure.window=600 us", "measure.drain_limit=10 ms"),
    marks=(
        'network.marking={ kind = "step", above = "300 KB" }',
        'network.marking_by_rate=[{ rate = "400 Gbps", marking = { kind = "step", above = "1200 KB" } }]',
    ),
)
WEBSEARCH = Ground(
    "websearch",
    "WebSearch",
    "HPCC: WebSearch with incasts of 60, a pod at 25 Gb/s",
    "hpcc/pod-incast.toml",
    lossless=True,
    loads=(Load("30 %", _shares(load=0.3)), Load("50 %", _shares(load=0.5))),
    bins=((0, 30 * KB), (30 * KB + 1, 1 * MB), (1 * MB + 1, 10**12)),
    set=("measure.warm_up=500 us", "measure.window=2500 us", "measure.drain_limit=20 ms"),
    marks=(
        'network.marking={ kind = "step", above = "75 KB" }',
        'network.marking_by_rate=[{ rate = "100 Gbps", marking = { kind = "step", above = "300 KB" } }]',
    ),
)
RCC = Ground(
    "rcc",
    "RCC",
    "RCC: short flows to five receivers, each with a flow of 30 MB, 1,000 hosts at 1 Gb/s",
    "rcc/fig8-datacenter.toml",
    lossless=False,
    loads=(
        Load("60 %", (*_shares(short=0.15), "measure.window=533.333 ms")),
        Load("90 %", (*_shares(short=0.225), "measure.window=355.556 ms")),
    ),
    bins=((0, 20 * KB), (20 * KB + 1, 100 * KB), (100 * KB + 1, 10 * MB)),
    set=("measure.drain_limit=300 ms",),
    quick=("measure.window=5 ms", "measure.drain_limit=100 ms"),
)
DCTCP = Ground(
    "dctcp",
    "DCTCP",
    "DCTCP: queries, short messages and updates in a rack of 45 servers at 1 Gb/s",
    "dctcp/fig23-benchmark.toml",
    lossless=False,
    loads=(
        Load("as in the paper", ("measure.window=4 s",)),
        Load("ten times", (*background(SIZES, 10), *queries(1000), "measure.window=1500 ms")),
    ),
    bins=((0, 30 * KB), (30 * KB + 1, 1 * MB), (1 * MB + 1, 10**12)),
    set=("measure.warm_up=500 ms", "measure.drain_limit=3 s"),
    quick=("measure.window=20 ms", "measure.warm_up=0 s", "measure.drain_limit=100 ms"),
)
GROUNDS = (DART, HADOOP, WEBSEARCH, RCC, DCTCP)


def measure(result: Result) -> Measured:
    """The numbers of one run: slowdowns by size at each percentile, and the columns of the overview."""
    ground = next(one for one in GROUNDS if _name_of(one) == result.spec["name"])
    found = overview(result)
    taken: Measured = {
        name: [float(found[name][0])]
        for name in ("goodput_gbps", "paused_us", "drops", "timeouts", "unfinished", "jain")
        if found[name]
    }
    posted = measures.messages(result)
    for number, (low, high) in enumerate(ground.bins):
        part = posted.filter(posted["bytes"].is_between(low, high))
        slowdown = part["slowdown"].drop_nulls().to_numpy()
        for per_mille in PERCENTILES:
            value = measures.percentile(slowdown, per_mille)
            taken[f"slowdown-{number}-{per_mille}"] = [] if value is None else [value]
        taken[f"count-{number}"] = [float(np.size(slowdown))]
    return taken


@cache
def _name_of(ground: Ground) -> str:
    return str(Job.of(SPECS / ground.spec).resolve()["name"])


def sweep(ground: Ground, quick: bool) -> dict[Key, Change]:
    """Every scheme that makes sense there, at both loads."""
    runs: Iterable[tuple[str, Load, int]] = itertools.product(fitting(ground), ground.loads, seeds(quick))
    return {
        (scheme, load.name, seed): Change(
            scheme, (*ground.changes(scheme), *load.set, *(ground.quick if quick else ()))
        )
        for scheme, load, seed in runs
    }


def no_claims(_found: Measures) -> list[Row]:
    """No paper has it."""
    return []

"""The overview: every scheme in the same few scenarios, as one page of tables (`docs/overview.md`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from rich.console import RenderableType

from fanin import Result, every_scheme, measures, schemes, table
from fanin.jobs import Job, Measured, Measurement, Outcome, run_all

LEAVES, SPINES = 8, 4
"""Of the network under WebSearch."""
LOSS = 1e-4
"""Packets that each link between leaf and spine loses, where links lose packets."""


@dataclass(frozen=True)
class Scenario:
    """One table of the overview."""

    id: str
    title: str
    spec: str
    """File of the spec, under the folder of specs."""
    set: tuple[str, ...] = ()
    """Changes to it."""
    window: str = "1 ms"
    """Measured window of the short version."""


def _lossy_links() -> str:
    links = [
        f'{{ between = ["leaf{leaf}", "spine{spine}"], error_rate = {LOSS} }}'
        for leaf in range(LEAVES)
        for spine in range(SPINES)
    ]
    return f"network.links=[{', '.join(links)}]"


IRN = ('network.buffer={ policy = "lossy", pool = "900 KB", alpha = 1.0 }', "traffic.web.rdma.recovery=irn")
"""Without PFC: a scheme's data is dropped above a dynamic threshold, and under RDMA IRN repairs what is lost."""

SCENARIOS = (
    Scenario("incast", "Incast: 16 answers of 64 KB to one host, at half of its link", "overview/incast.toml"),
    Scenario("join", "Join: three flows into one host, while all three send", "overview/join-leave.toml"),
    Scenario(
        "typical",
        "Dart's typical mix at 20 % on 1,024 hosts: incasts of 16 short messages beside long flows",
        "dart/fig11-typical.toml",
        ("measure.window=10 ms", 'measure.series=[{ what = "queue", where = "last-hop", every = "50 us" }]'),
        window="100 us",
    ),
    Scenario("websearch", "WebSearch at 50 % on a leaf-spine of 128 hosts", "overview/websearch.toml"),
    Scenario("irn", "The same without PFC; RDMA repairs losses by IRN", "overview/websearch.toml", IRN),
    Scenario(
        "loss",
        f"The same where links between leaf and spine lose {LOSS:.2%} of the packets",
        "overview/websearch.toml",
        (_lossy_links(),),
    ),
)

COLUMNS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("fct_p50_us", "FCT p50", table.time),
    ("fct_p99_us", "FCT p99", table.time),
    ("goodput_gbps", "goodput", table.gbps),
    ("queue_p99", "queue p99", lambda value: table.NONE if value is None else f"{value / 1000:,.0f} KB"),
    ("marked_share", "marked", table.share),
    ("drops", "drops", table.count),
    ("paused_us", "paused", table.time),
    ("timeouts", "timeouts", table.count),
    ("unfinished", "unfinished", table.count),
    ("jain", "Jain's index", table.number),
)
"""The columns of the tables: the number, its heading, and how it is written."""


@dataclass(frozen=True)
class Part:
    """One scenario under all its schemes."""

    scenario: Scenario
    of_scheme: dict[str, dict[str, float | None]]
    unfit: dict[str, str]
    """Schemes that make no sense there, each with the reason."""

    def text(self) -> RenderableType:
        """The table as the command prints it."""
        headings = [heading for _, heading, _ in COLUMNS]
        rows = [[scheme, *self._cells(found)] for scheme, found in self.of_scheme.items()]
        printed = table.plain(["scheme", *headings], rows, right=headings)
        printed.title = self.scenario.title
        return printed

    @staticmethod
    def _cells(found: Mapping[str, float | None]) -> list[str]:
        return [write(found[name]) for name, _, write in COLUMNS]

    def markdown(self) -> str:
        """Its table."""
        lines = [f"## {self.scenario.title}", ""]
        lines.append("| scheme | " + " | ".join(heading for _, heading, _ in COLUMNS) + " |")
        lines.append("| --- |" + " ---: |" * len(COLUMNS))
        for scheme, found in self.of_scheme.items():
            cells = " | ".join(self._cells(found))
            lines.append(f"| [{scheme}](schemes/{_page(scheme)}.md) | {cells} |")
        if self.unfit:
            lines += ["", f"Left out, since it makes no sense there: {', '.join(self.unfit)}."]
        return "\n".join([*lines, ""])


def _page(scheme: str) -> str:
    return next(row["file"] for row in schemes() if row["id"] == scheme).replace("_", "-")


def measure(result: Result) -> Measured:
    """The numbers of one run; a list is empty where its number makes no sense."""
    found = result.numbers()
    traffics = result.summary()["traffics"]
    rates = [traffic["goodput_gbps"] or 0.0 for traffic in traffics]
    place = measures.queue_place(result)
    queue = None
    if place is not None:
        lengths, at_least = measures.queue_tail([result], place)
        # The shortest length that at most one sample in a hundred reaches.
        rarer = lengths[at_least <= 0.01]
        queue = float(rarer[0]) if rarer.size else None
    answers = result.flows().filter((pl.col("group") >= 0) & pl.col("completion_ps").is_not_null())
    each = [
        measures.jain(1e6 / group["completion_ps"].cast(pl.Float64).to_numpy())
        for _, group in answers.group_by("traffic", "group")
        if group.height > 1
    ]
    even = [index for index in each if index is not None]
    jain = sum(even) / len(even) if even else measures.jain(rates) if len(rates) > 2 else None
    found |= {"goodput_gbps": sum(rates), "queue_p99": queue, "jain": jain}
    return {name: [] if value is None else [value] for name, value in found.items()}


def run_part(
    scenario: Scenario,
    specs: Path,
    *,
    quick: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> Part | None:
    """Runs a scenario under every scheme that makes sense there; None after Ctrl-C."""
    changes = (*scenario.set, *((f"measure.window={scenario.window}",) if quick else ()))
    spec = specs / scenario.spec
    suits, unfit = every_scheme(spec, set=changes)
    base = replace(Job.of(spec), overrides=changes)
    runs = {scheme: Measurement(replace(base, scheme=scheme), measure) for scheme in suits}
    found: dict[str, dict[str, float | None]] = {}

    def take(scheme: str, outcome: Outcome) -> None:
        found[scheme] = {name: next(iter(values), None) for name, values in outcome.measured.items()}

    if not run_all(runs, take, workers=workers, executor=executor, progress=progress):
        return None
    return Part(scenario, {scheme: found[scheme] for scheme in suits}, unfit)


def page(parts: list[Part]) -> str:
    """The page `docs/overview.md`."""
    return "\n".join([INTRODUCTION, *(part.markdown() for part in parts)])


INTRODUCTION = f"""# Every scheme in the same scenarios

Made by `fanin paper overview --out docs`; one run each, with the seed of the spec, under the first preset of every
scheme with its default parameters. Links have 10 Gb/s to hosts. FCTs are of all messages that were posted in the
window, from their post to their last byte; goodput is the payload that arrived in the window; the queue is that of the
last hop, under WebSearch that of every switch port, sampled while it is not empty (in the first two tables always);
`marked` is the share of packets with a mark; `paused` is the time that ports were paused by PFC, added up. Jain's index
is that of the rates of an incast's answers, the mean over incasts, and in the second table that of the three flows.
A dash is a number that makes no sense there, or for which there were too few messages.

The numbers say how the schemes behave there, not which is best: queues and FCTs depend on the thresholds and buffers of
the specs (`papers/specs/overview`, `papers/specs/dart/fig11-typical.toml`), and schemes over TCP have a handshake for
each message. Dart's two lanes divide the buffer of a port, so it is paused at half the queue. Where links lose packets,
each loses {LOSS:.2%}.

`ndp` is left out: it needs switches that trim packets, and those of these specs do not.
"""

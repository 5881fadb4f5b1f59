"""Whether a run on a wire in real time is as close to the simulator as the simulator is to itself.

A simulation is exact, and a run in real time is not: the members of an ensemble of simulations, whose messages start up
to 0.2 us later than the spec says, show what so small a difference changes. A run is inside the ensemble if

* the share of its messages with a completion time outside the range of all members is no larger than the largest such
  share of a member, outside the range of the others; a range has 0.05 us more at each end, and
* its mean and 99th percentile completion time, its marks and its losses are in the range of the members, widened by
  2 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fanin.runs import Job, run_jobs

if TYPE_CHECKING:
    from fanin.result import Result
    from fanin.runs import SpecLike

MOST_MOVED_US = 0.2
"""By how much starts are moved at most."""

TOLERANCE_PS = 50_000
"""Completion times this close to the range of an ensemble are in it."""

WIDENED = 0.02
"""By this share of its ends the range of a total is widened."""


@dataclass(frozen=True)
class Observed:
    """One run."""

    completion_ps: Sequence[int]
    """Of each message, in order; all runs have the same messages."""
    marked: int
    """Packets marked."""
    dropped: int
    """Packets dropped."""


@dataclass(frozen=True)
class Judgement:
    """A run and an ensemble."""

    outside: float
    """Share of the run's messages with a completion time outside the range of the members."""
    outside_of_members: float
    """The largest such share of a member, outside the range of the others."""
    totals: dict[str, tuple[float, float, float]]
    """Mean and 99th percentile completion time in us, marks, drops: the run's, and least and most of the members."""
    problems: Sequence[str]
    """Why the run is not inside; empty if it is."""


def judge(run: Observed, members: Sequence[Observed]) -> Judgement:
    """Judges a run by the members of an ensemble, of which there are three or more."""
    if len(members) < 3:
        raise ValueError(f"an ensemble has three members or more, not {len(members)}")
    if any(len(member.completion_ps) != len(run.completion_ps) for member in members):
        raise ValueError("the runs do not have the same messages")
    outside = _outside(run, members)
    of_members = max(_outside(own, [*members[:at], *members[at + 1 :]]) for at, own in enumerate(members))
    problems = []
    if outside > of_members:
        problems.append(
            f"{outside:.1%} of its messages are outside the range of the members, and at most {of_members:.1%} of one"
        )
    totals = {}
    for name, of_run in _totals(run).items():
        of_all = [_totals(member)[name] for member in members]
        least, most = min(of_all), max(of_all)
        totals[name] = (of_run, least, most)
        if not least * (1 - WIDENED) <= of_run <= most * (1 + WIDENED):
            problems.append(f"{name} {of_run:.6g} is not between {least:.6g} and {most:.6g}")
    return Judgement(outside, of_members, totals, problems)


def _outside(run: Observed, members: Sequence[Observed]) -> float:
    """The share of a run's messages outside the range of these members."""
    each = list(zip(*(member.completion_ps for member in members), strict=True))
    low = [min(times) - TOLERANCE_PS for times in each]
    high = [max(times) + TOLERANCE_PS for times in each]
    out = sum(not a <= own <= b for own, a, b in zip(run.completion_ps, low, high, strict=True))
    return out / max(1, len(each))


def _totals(run: Observed) -> dict[str, float]:
    times = sorted(run.completion_ps)
    return {
        "mean_us": sum(times) / len(times) / 1e6,
        "p99_us": times[min(len(times) - 1, int(0.99 * len(times)))] / 1e6,
        "marked": run.marked,
        "dropped": run.dropped,
    }


def observe(result: Result) -> Observed:
    """What is compared of a run; raises `ValueError` if a message has not arrived."""
    flows, classes = result.flows(), result.classes()
    if flows["completion_ps"].null_count():
        raise ValueError("not all messages have arrived: measure.drain lets them")
    marked, dropped = int(classes["marked_packets"].sum()), int(classes["dropped_packets"].sum())
    return Observed(flows["completion_ps"].to_list(), marked, dropped)


def compare(
    spec: SpecLike,
    clock: str,
    *,
    link: str = "udp",
    members: int = 40,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
) -> tuple[Judgement, bool, Result]:
    """Runs a spec on the wire and an ensemble in the simulator, of which the spec itself is a member; judges.

    Also returns whether every packet arrived when it does in the spec's own simulation, and the run on the wire."""
    job = Job.of(spec, set).on(1)
    on_wire = run_jobs([replace(job, wire=True, clock=clock, link=link)], workers=1, progress=False)[0]
    most_ps = round(MOST_MOVED_US * 1e6)
    ensemble = [job, *(replace(job, moved=(most_ps, draw), title=f"member {draw}") for draw in range(1, members))]
    simulated = run_jobs(ensemble, workers=1, progress=False)
    exact = on_wire.manifest["event_hash"] == simulated[0].manifest["event_hash"]
    return judge(observe(on_wire), [observe(member) for member in simulated]), exact, on_wire

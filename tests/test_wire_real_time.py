"""What `fanin wire` says of a machine, and the judgement of a run in real time by an ensemble of simulations."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fanin import _core, runs, wire_machine, wire_parity
from fanin.wire_parity import Observed

SPEC: dict[str, object] = {
    **wire_machine.probe(3, 1000),
    "measure": {"window": "100 us", "drain": True},
}


def test_capabilities_are_the_effective_ones() -> None:
    status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003000\n"
    assert wire_machine.capabilities(status) == 1 << 12 | 1 << 13
    assert wire_machine.capabilities("") == 0


def test_the_suggested_slowdown_is_the_one_after_the_first_that_kept_up() -> None:
    tried: list[int] = []

    def kept_up(slowdown: int) -> bool:
        tried.append(slowdown)
        return slowdown >= 500

    assert wire_machine._least_slowdown(4, kept_up)[0] == 1000
    assert tried == [1, 10, 100, 200, 500]
    assert wire_machine._least_slowdown(4, lambda _: True)[0] == 1
    assert wire_machine._least_slowdown(4, lambda _: False)[0] is None


def test_the_examination_says_of_everything_whether_it_works() -> None:
    found = wire_machine.examine(3, measure=False)
    works = {verdict.kind: verdict.works for verdict in found.verdicts}
    assert works["--clock lockstep"]
    assert works["--link veth"] == (_core.wire_veth_refused() is None)
    assert {"privileges", "cores", "timers", "UDP receive buffer"} <= {check.name for check in found.checks}


def observed(*times_us: float, marked: int = 10) -> Observed:
    return Observed([round(time * 1e6) for time in times_us], marked, 0)


MEMBERS = [observed(10, 20.5), observed(12, 20.6), observed(11, 21), observed(11.5, 20)]


def test_a_run_between_the_members_is_inside() -> None:
    judged = wire_parity.judge(observed(11, 20.7), MEMBERS)
    assert (judged.outside, list(judged.problems)) == (0, [])
    # Each member has one message that is the fastest or the slowest of all.
    assert judged.outside_of_members == 0.5
    assert judged.totals["mean_us"] == (15.85, 15.25, 16.3)


def test_a_run_outside_is_not() -> None:
    assert "outside the range of the members" in wire_parity.judge(observed(13, 22), MEMBERS).problems[0]
    assert wire_parity.judge(observed(11, 20.7, marked=11), MEMBERS).problems == ["marked 11 is not between 10 and 10"]
    with pytest.raises(ValueError, match="same messages"):
        wire_parity.judge(observed(11), MEMBERS)
    with pytest.raises(ValueError, match="three members"):
        wire_parity.judge(observed(11, 20), MEMBERS[:2])


def test_members_of_an_ensemble_start_later_by_at_most_so_much() -> None:
    job = runs.Job(json.dumps(SPEC), "<mapping>", "json", ".")
    jobs = [job, *(replace(job, moved=(200_000, draw)) for draw in (0, 1))]
    spec, one, other = (runs.run_one(job, progress=False).flows()["start_ps"].to_list() for job in jobs)
    assert len(spec) > 3
    assert one != other
    assert all(0 <= moved - own <= 200_000 for own, moved in zip(spec, one, strict=True))


def test_a_run_in_lockstep_says_so_in_its_manifest() -> None:
    result = runs.run(SPEC, on="wire", progress=False)
    assert result.manifest["wire"] == {"clock": "lockstep", "link": "udp", "timing": None}
    assert runs.run(SPEC, progress=False).manifest["wire"] is None


def test_a_clock_that_is_none_is_refused() -> None:
    for clock in ("slowed:0", "slowed", "fast"):
        with pytest.raises(_core.SpecError, match="it is lockstep, slowed:N"):
            runs.run(SPEC, on="wire", clock=clock, progress=False)

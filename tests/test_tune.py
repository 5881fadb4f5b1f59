"""Searches of settings: what they choose, what they run, and what they refuse."""

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import fanin
from conftest import Command
from fanin import SpecError
from fanin.sweeps import goals, grid
from fanin.sweeps.goals import Goal, Keep, Tried

MARKING = {"network.marking.above": ["5 KB", "10 KB", "80 KB", "300 KB"]}
GOAL = "slowdown_p99 of queries"


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    """An executor without processes to start."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def text_of(tuned: fanin.Tuned) -> str:
    told = io.StringIO()
    Console(width=120, file=told).print(tuned.text())
    return " ".join(told.getvalue().split())


def began(folder: Path) -> list[str]:
    """The runs that have begun in a folder."""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["run"] for line in lines if json.loads(line)["event"] == "begun"]


def test_all_points_of_a_small_grid_run_and_the_best_that_keeps_the_limit_is_chosen(
    tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    out = tmp_path / "tuned"
    keep = ["goodput of updates >= 1.5"]
    tuned = fanin.tune(tiny, MARKING, GOAL, keep, out=out, seeds=2, executor=threads, progress=False)
    assert (len(tuned.points), tuned.of, tuned.seeds, tuned.fresh) == (4, 4, [1, 2], [3, 4])
    # By hand, from a sweep of the same grid.
    swept = fanin.sweep(tiny, seeds=2, vary=MARKING, out=tmp_path / "swept", executor=threads, progress=False)
    names = ["goodput_gbps of updates", "slowdown_p99 of queries"]
    found = swept.table().group_by("network.marking.above", maintain_order=True).agg(pl.col(names).mean())
    own = found.filter(found["network.marking.above"] == "10 KB")["goodput_gbps of updates"][0]
    kept = found.filter(found["goodput_gbps of updates"] >= 1.5 * own).sort("slowdown_p99 of queries")
    assert 0 < kept.height < 4
    best = tuned.best
    assert best is not None
    assert best.settings == {"network.marking.above": kept["network.marking.above"][0]}
    assert best.goal_estimate.mean == pytest.approx(kept["slowdown_p99 of queries"][0])
    assert [point.kept for point in tuned.points] == [
        row["goodput_gbps of updates"] >= 1.5 * own for row in found.iter_rows(named=True)
    ]
    assert set(tuned.table()["kept"]) <= {"yes", "on average", "no"}
    # The fresh seeds are runs of their own, for the chosen point and the spec alone.
    assert tuned.confirmed is not None
    chosen = fanin.run(tiny, seed=4, set=[f"network.marking.above={kept['network.marking.above'][0]}"], progress=False)
    assert tuned.confirmed[1].goal[1] == chosen.numbers()["slowdown_p99 of queries"]
    text = text_of(tuned)
    assert "4 of 4 points tried, all of them, each under 2 seeds" in text
    assert "compared seed by seed" in text
    assert tuned.plot(tmp_path / "tune.png").axes[0].get_ylabel() == "99th percentile slowdown of queries"
    # The same search again runs nothing.
    before = began(out)
    assert len(before) == len(set(before)) == 2 * 4 + 2 * 2
    again = fanin.tune(tiny, MARKING, GOAL, keep, out=out, seeds=2, executor=threads, progress=False)
    assert began(out) == before
    assert again.to_json() == tuned.to_json()


def test_of_a_large_grid_the_optimiser_chooses_the_points(
    tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    vary = {"network.marking.above": ["5 KB..300 KB"], "network.buffer.per_port": ["100 KB..300 KB"]}
    short = ["measure.window=1 ms"]
    arguments = {"seeds": 1, "points": 8, "set": short, "executor": threads, "progress": False}
    out = tmp_path / "a"
    tuned = fanin.tune(tiny, vary, "queue_p99 of last-hop", out=out, **arguments)  # type: ignore[arg-type]
    assert (len(tuned.points), tuned.of) == (8, 81)
    places = {tuple(point.settings.items()) for point in tuned.points}
    assert len(places) == 8, "each once"
    other = fanin.tune(tiny, vary, "queue_p99 of last-hop", out=tmp_path / "b", **arguments)  # type: ignore[arg-type]
    assert [point.settings for point in other.points] == [point.settings for point in tuned.points]
    assert "one seed: there is no interval" in text_of(tuned)


def test_limits_that_nothing_keeps_choose_nothing(command: Command, tiny: Path, tmp_path: Path) -> None:
    vary = ("--vary", "network.marking.above=5 KB,80 KB", "--set", "measure.window=1 ms", "--seeds", "1")
    none = command("tune", tiny, *vary, "--goal", "fct_p50", "--keep", "queue_max of last-hop <= 1 KB", "--out", "none")
    assert none.returncode == 1, none.stderr
    assert "no point keeps the limits, so none is chosen" in none.stdout
    document = json.loads((tmp_path / "none" / "tune.json").read_text(encoding="utf-8"))
    assert (document["ok"], document["best"]) == (False, None)
    assert (tmp_path / "none" / "tune.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("goal", "keep", "vary", "told"),
    [
        ("slowdwn_p99", [], MARKING, "slowdwn_p99: not a number of a sweep; did you mean slowdown_p99?"),
        ("fct_p99 of query", [], MARKING, "no traffic of this spec is called query; its traffics are queries, updates"),
        (
            "utilisation of last-hop",
            [],
            MARKING,
            'write "min utilisation of last-hop" or "max utilisation of last-hop"',
        ),
        (GOAL, ["drops < 3"], MARKING, '--keep "drops < 3": not a limit; write a number, >= or <=, and a value'),
        (GOAL, ["fct_p99 <= 3 KB"], MARKING, "KB is no unit of fct_p99_us; its units are: s, ms, us, ns"),
        (GOAL, [], {"network.buffer.per_port": ["1 B", "2 B"]}, "network.buffer.per_port"),
        (GOAL, [], {"network.marking.abov": ["1 KB", "2 KB"]}, 'unknown key; did you mean "above"?'),
        (GOAL, [], {"network.marking.above": ["9 KB..1 KB"]}, "the first end of a range is the lower one"),
        (GOAL, [], {}, "names no key; a search needs one"),
    ],
)
def test_goals_limits_and_keys_that_there_are_not_are_refused_before_anything_runs(
    goal: str, keep: list[str], vary: dict[str, list[str]], told: str, tiny: Path, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        fanin.tune(tiny, vary, goal, keep, out=tmp_path / "out", progress=False)
    assert told in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_goal_that_the_spec_does_not_measure_is_told_after_its_own_run(
    tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    def refused(goal: str, *changes: str) -> str:
        with pytest.raises((SpecError, fanin.RunError)) as caught:
            fanin.tune(tiny, MARKING, goal, out=tmp_path / goal, seeds=1, set=changes, executor=threads, progress=False)
        assert len(began(tmp_path / goal)) == 1
        return str(caught.value)

    assert "there is no tor-uplink; there is host-uplink, last-hop" in refused("queue_p99 of tor-uplink")
    assert "add measure.series" in refused("queue_p99 of last-hop", "measure.series=[]")
    assert "p99 needs 100 finished messages in each run" in refused("slowdown_p99 of updates")


def test_points_that_cannot_run_keep_no_limit(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    vary = {"network.buffer.per_port": ["1 B", "225 KB"]}
    tuned = fanin.tune(
        tiny, vary, "fct_p50", out=tmp_path / "out", seeds=1, executor=threads, progress=False, set=["name=x"]
    )
    assert [point.kept for point in tuned.points] == [False, True]
    assert tuned.best is tuned.points[1]
    assert "1 of the points have no FCT p50; of the first: " in text_of(tuned)


def test_units_and_ways_of_goals_and_limits() -> None:
    spec = {"traffic": [{"name": "long"}]}
    assert goals.parse_goal("fct_p99", spec) == Goal("fct_p99_us")
    assert goals.parse_goal("goodput of long", spec) == Goal("goodput_gbps of long", largest=True)
    assert goals.parse_goal("min goodput of long", spec) == Goal("goodput_gbps of long", largest=False)
    relative = goals.parse_keep("goodput of long >= 0.9", spec)
    assert relative == Keep("goodput_gbps of long", least=True, bound=0.9, relative=True)
    assert goals.parse_keep("goodput of long >= 90 %", spec) == relative
    assert goals.parse_keep("goodput of long >= 2 Tbps", spec).bound == 2000.0
    assert goals.parse_keep("queue_p99 of last-hop <= 300 KB", spec).bound == 300e3
    assert goals.parse_keep("marked_share <= 5 %", spec) == Keep("marked_share", False, 0.05, relative=False)
    assert goals.parse_keep("slowdown_p99 <= 5", spec) == Keep("slowdown_p99", False, 5.0, relative=False)
    assert relative.margin(95.0, 100.0) == pytest.approx(5.0)
    assert goals.parse_keep("drops <= 0", spec).margin(3.0, 0.0) == -3.0


def test_points_are_compared_seed_by_seed() -> None:
    """Seeds that differ more than points do not hide what the points have in common."""
    one = Tried({}, [10.0, 20.0, 30.0], [], [])
    other = Tried({}, [11.0, 21.1, 30.9], [], [])
    gain = one.better_by(other)
    assert gain.mean == pytest.approx(1.0)
    assert gain.half is not None
    assert gain.half < 0.3
    assert not one.goal_estimate.apart(other.goal_estimate)
    near = Tried({}, [1.0, 1.0, 1.0], [[9.0, 10.0, 12.0]], [[-1.0, 0.5, 2.0]])
    assert near.kept
    assert not near.sure
    lacks = Tried({}, [1.0, None, 1.0], [[1.0] * 3], [[1.0] * 3])
    assert not lacks.kept, "a run has no such number"
    assert goals.cost(Goal("drops"), lacks) == (True, np.inf)


def test_ranges_stand_for_values() -> None:
    assert grid.spread("1 KB..5 KB", 3) == ["1 KB", "2.2 KB", "5 KB"], "far apart: by the same factor"
    assert grid.spread("2 KB..4 KB", 3) == ["2 KB", "3 KB", "4 KB"]
    assert grid.spread("500 KB..2 MB", 3) == ["500 KB", "1000 KB", "2000 KB"]
    assert grid.spread("1..4", 9) == ["1", "2", "3", "4"], "whole numbers, each once"
    assert grid.spread("0.1..0.3", 3) == ["0.1", "0.2", "0.3"]
    assert grid.spread("red", 3) == ["red"]

"""The papers' experiments: the command, verdicts, and the analysis of sawteeth."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import Command
from fanin import _core, claims, papers, runs
from fanin.cli import papers as commands
from fanin.cli.common import CommandError
from fanin.papers import campaign, experiment
from fanin.papers.dctcp_buffers import ring
from fanin.papers.dctcp_convergence import settled
from fanin.papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    Study,
    band,
    gain_band,
    job,
    order,
    points,
    pooled,
    run_experiment,
    strict,
)
from fanin.papers.sawtooth import PATHS, amplitude, period_rtts, q_max, sawtooth
from fanin.papers.sawtooth import Path as Bottleneck
from fanin.result import Result
from fanin.runs import Job

IDS = (
    "dart-fig3",
    "dart-fig6",
    "dart-table1-calibration",
    "dart-fig11a",
    "dart-fig11a-causes",
    "dart-headline",
    "dart-fig9",
    "dart-fig10",
    "dart-fig15",
    "dart-sec6d-expresspass",
    "dctcp-fig7",
    "dctcp-fig8",
    "dctcp-eq",
    "dctcp-eq6",
    "dctcp-fig13",
    "dctcp-fig1",
    "dctcp-fig15",
    "dctcp-fig16",
    "dctcp-fig14",
    "dctcp-fig18",
    "dctcp-fig17",
    "dctcp-fig19",
    "dctcp-fig20",
    "dctcp-fig22",
    "dctcp-table2",
    "dctcp-fig21",
    "dctcp-sec421",
    "dctcp-sec32",
    "hpcc-fig1",
    "hpcc-fig2a",
    "hpcc-fig2b",
    "hpcc-fig3",
    "hpcc-fig9ab",
    "hpcc-fig9cd",
    "hpcc-fig9ef",
    "hpcc-fig9gh",
    "hpcc-fig6",
    "hpcc-fig13",
    "hpcc-fig14",
    "hpcc-a1",
    "hpcc-a3",
    "hpcc-a2-incast",
    "hpcc-a2-several",
    "hpcc-a4-linerate",
    "hpcc-a4-incast64",
    "rcc-fig2",
    "rcc-fig3",
    "rcc-fig5",
    "rcc-fig6",
    "rcc-fig7",
    "rcc-eq4",
    "rcc-eq23",
    "rcc-eq11",
    "rcc-eq18",
    "rcc-fig10",
    "rcc-fig11",
    "rcc-fig12ab",
    "rcc-fig12cd",
)


def rows(measures: Measures) -> list[Row]:
    """One row with the number of runs."""
    return [Row("claim", "runs", "3", str(len(measures)), "3", strict(len(measures) == 3))]


SMALL = Experiment(
    "small",
    "a sweep over seeds",
    "tiny.toml",
    lambda quick: {("point", 0, seed): Change("none") for seed in ((1,) if quick else (1, 2, 3))},
    lambda result: {"seed": [float(result.manifest["seed"])]},
    lambda _: Figure(),
    rows,
)
"""An experiment on a spec of these tests."""


# The command


def test_without_an_id_the_command_lists_all(command: Command) -> None:
    listed = command("paper")
    assert listed.returncode == 0, listed.stderr
    for name in IDS:
        assert f" {name} " in f" {listed.stdout.replace(chr(10), ' ')} "
    assert "incast with static buffers" in listed.stdout


def test_an_unknown_id_is_an_error_before_anything_runs(command: Command, root: Path, tmp_path: Path) -> None:
    failed = command("paper", "dctcp-fig14", "dctcp-fig99", "--quick", "--specs", root / "papers")
    assert failed.returncode == 2
    assert failed.stderr == 'error: dctcp-fig99: there is no such experiment or paper; did you mean "dctcp-fig19"?\n'
    assert list(tmp_path.iterdir()) == []


def test_specs_that_are_not_there_are_named(command: Command) -> None:
    failed = command("paper", "dctcp-fig14", "--specs", "elsewhere")
    assert failed.returncode == 2
    assert failed.stderr == "error: --specs elsewhere: there is no such folder\n"


def test_a_quick_version_leaves_a_picture_and_rows(command: Command, tmp_path: Path) -> None:
    done = command("paper", "dctcp-fig20", "dctcp-fig22", "--quick", "--out", "out")
    assert done.returncode == 0, done.stderr
    for name in ("dctcp-fig20", "dctcp-fig22"):
        assert f"written: out/{name}.png\n" in done.stdout
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        record = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert record["experiment"] == name
        assert record["quick"] is True
        assert record["packet_hops"] > 0
        assert record["rows"]
        for row in record["rows"]:
            assert row.keys() == {"claim", "what", "paper", "ours", "accept", "verdict", "judged"}
            assert row["claim"].startswith(name)
            assert row["verdict"] in ("holds", "close", "differs")
            assert row["ours"] not in ("", "nan")
    assert len(list((tmp_path / "out").glob("*"))) == 5  # with the folder of finished runs


def test_each_run_of_each_experiment_has_a_spec_that_can_run(root: Path) -> None:
    assert tuple(papers.EXPERIMENTS) == IDS
    for one in papers.EXPERIMENTS.values():
        base = Job.of(root / "papers" / one.spec)
        for quick in (False, True):
            sweep = one.sweep(quick)
            assert sweep
            for key, change in sweep.items():
                assert job(base, key, change).resolve()["seed"] == key[-1]


# Studies


def test_a_study_measures_each_run_of_the_sweep(root: Path) -> None:
    study = run_experiment(SMALL, root / "tests" / "data", workers=2, progress=False)
    assert study.complete
    assert study.measures == {("point", 0, seed): {"seed": [seed]} for seed in (1, 2, 3)}
    assert [row.verdict for row in study.rows()] == ["holds"]
    quick = run_experiment(SMALL, root / "tests" / "data", quick=True, progress=False)
    assert quick.complete
    assert list(quick.measures) == [("point", 0, 1)]


@pytest.mark.parametrize(("begun", "stopped"), [(3, 2), (2, 1), (1, 0), (0, 0)])
def test_after_ctrl_c_a_study_is_not_complete(
    begun: int, stopped: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(jobs: Sequence[Job], take: Callable[[Result], Measured | None], **_: object) -> list[Measured | None]:
        """As `map_jobs` does after Ctrl-C: of the jobs that had begun, the later ones were stopped."""
        made = [
            SimpleNamespace(cancelled=at >= stopped, manifest={"seed": job.seed, "packet_hops": 10}, label=job.label)
            for at, job in enumerate(jobs)
        ]
        return [take(cast("Result", result)) for result in made[:begun]]

    monkeypatch.setattr(experiment, "map_jobs", some)
    study = run_experiment(SMALL, root / "tests" / "data")
    assert not study.complete
    assert study.measures == {("point", 0, seed): {"seed": [seed]} for seed in (1, 2, 3)[:stopped]}


def test_of_a_study_that_was_stopped_nothing_is_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def part(experiment: Experiment, *_: object, **__: object) -> Study:
        return Study(experiment, {}, complete=False)

    monkeypatch.setattr(experiment, "run_experiment", part)
    with pytest.raises(
        CommandError, match="dctcp-eq: stopped after 0 of 35 runs; the same command goes on from there"
    ) as left:
        commands.paper(["dctcp-eq"], out=tmp_path / "out", specs=root / "papers")
    assert left.value.code == 130
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_kept_and_not_run_again(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    before = runs.map_jobs

    def counted(jobs: Sequence[Job], *rest: Any, **more: Any) -> Any:
        ran.extend(job.label for job in jobs)
        return before(jobs, *rest, **more)

    monkeypatch.setattr(experiment, "map_jobs", counted)

    def study(one: Experiment, *, quick: bool = False) -> Study:
        ran.clear()
        return run_experiment(one, root / "tests" / "data", quick=quick, progress=False, keep=tmp_path)

    short = study(SMALL, quick=True)
    assert ran == ["point/0/1"]
    whole = study(SMALL)
    assert ran == ["point/0/2", "point/0/3"]
    assert study(SMALL) == whole
    assert ran == []
    assert whole.packet_hops > short.packet_hops > 0
    # Another spec is another run, and so is a damaged file.
    changed = replace(SMALL, sweep=lambda _: {("point", 0, 1): Change("none", ("measure.window=1 ms",))})
    assert study(changed).complete
    assert ran == ["point/0/1"]
    for file in tmp_path.rglob("*.json"):
        file.write_text("{", encoding="utf-8")
    assert study(SMALL) == whole
    assert len(ran) == 3


@pytest.mark.parametrize(
    ("names", "figures", "found"),
    [
        (["rcc-fig5"], [], ["rcc-fig5"]),
        (["rcc"], ["12"], ["rcc-fig12ab", "rcc-fig12cd"]),
        (["rcc"], ["12b"], ["rcc-fig12ab"]),
        (["dctcp"], ["99"], []),
        ([], ["20"], ["dctcp-fig20"]),
        (["dart"], ["13"], ["dart-fig11a"]),
    ],
)
def test_experiments_are_chosen_by_id_paper_and_figure(names: list[str], figures: list[str], found: list[str]) -> None:
    if found:
        assert [one.id for one in commands.chosen(names, figures)] == found
    else:
        with pytest.raises(CommandError, match="--figure 99: no experiment draws it"):
            commands.chosen(names, figures)


def test_a_figure_of_several_papers_asks_for_one() -> None:
    with pytest.raises(CommandError, match="--figure 3: more than one paper has it; name one: fanin paper dart"):
        commands.chosen([], ["3"])


def test_a_short_version_says_so_on_its_picture() -> None:
    drawn: list[Figure] = []

    def draw(_: Measures) -> Figure:
        drawn.append(Figure())
        return drawn[-1]

    for quick in (True, False):
        Study(replace(SMALL, draw=draw), {}, complete=True, quick=quick).picture()
    assert [[text.get_text() for text in figure.texts] for figure in drawn] == [["short version"], []]


def test_the_time_left_follows_from_what_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    recorded = {"a": {"packet_hops": 100}, "b": {"packet_hops": 300}, "c": {"packet_hops": 200}}
    monkeypatch.setattr(claims, "measured", lambda: recorded)
    plan = campaign.Campaign(["a", "b", "c"], quick=False)
    assert plan.line("a", "first") == "1 of 3: a, first"
    now[0] += 20
    plan.done("a")
    assert plan.line("b", "second") == "2 of 3: b, second; about 1:40 left of all"
    now[0] += 0.1  # kept from earlier: no pace
    plan.done("b")
    assert plan.line("c", "third") == "3 of 3: c, third; about 0:40 left of all"


def test_a_study_is_saved_with_its_rows(tmp_path: Path) -> None:
    measured: dict[Key, Measured] = {("point", 0, seed): {"seed": [seed]} for seed in (1, 2)}
    picture, table = Study(replace(SMALL, id="half"), measured, complete=True).save(tmp_path / "new" / "folder")
    assert picture.name == "half.png"
    assert json.loads(table.read_text()) == {
        "experiment": "half",
        "title": "a sweep over seeds",
        "version": _core.__version__,
        "quick": False,
        "runs": 2,
        "packet_hops": 0,
        "rows": [
            {"claim": "claim", "what": "runs", "paper": "3", "ours": "2", "accept": "3"}
            | {"verdict": "differs", "judged": True},
        ],
    }


def test_seeds_of_a_point_are_pooled() -> None:
    measures: Mapping[Key, Measured] = {
        ("a", 2, 1): {"x": [1.0, 2.0], "y": [9.0]},
        ("b", 2, 1): {"x": [8.0]},
        ("a", 10, 1): {"x": [7.0]},
        ("a", 2, 2): {"x": [3.0]},
    }
    assert pooled(measures, ("a", 2), "x") == [1.0, 2.0, 3.0]
    assert pooled(measures, ("c", 2), "x") == []
    assert points(measures, "a") == [2, 10]


# Verdicts


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (10.0, "holds"),
        (20.0, "holds"),
        (8.0, "close"),
        (25.0, "close"),
        (7.9, "differs"),
        (25.1, "differs"),
        (float("nan"), "differs"),
    ],
)
def test_a_band_of_ratios_is_close_for_a_quarter_more(value: float, verdict: str) -> None:
    assert band(value, 10, 20) == verdict


@pytest.mark.parametrize(
    ("value", "low", "verdict"),
    [
        (10.0, 10, "holds"),
        (50.0, 10, "holds"),
        (0.1, 10, "close"),
        (0.0, 10, "differs"),
        (-0.1, 10, "differs"),
        (60.0, 10, "close"),
        (60.1, 10, "differs"),
        (20.0, 30, "differs"),
        (25.0, 30, "close"),
        (float("nan"), 30, "differs"),
    ],
)
def test_a_band_of_gains_is_close_for_a_quarter_of_its_width_but_no_loss(
    value: float, low: float, verdict: str
) -> None:
    assert gain_band(value, low, 50) == verdict


def test_an_order_is_close_with_one_point_in_ten_out_of_it() -> None:
    assert order([True] * 5) == "holds"
    assert order([True] * 9 + [False]) == "close"
    assert order([False] + [True] * 8) == "differs"
    assert order([True] * 18 + [False] * 2) == "close"
    assert order([True] * 18 + [False] * 3) == "differs"
    assert order([False]) == "differs"


def test_a_claim_without_a_margin_holds_or_differs() -> None:
    assert (strict(True), strict(False)) == ("holds", "differs")


# The sawtooth


@pytest.mark.parametrize("phase", [0, 40, 130])
@pytest.mark.parametrize("noise", [0, 2])
def test_teeth_of_known_period_and_height_are_found(phase: int, noise: int) -> None:
    # It rises from 30 to 70 packets in 160 samples and falls at once; packets that come in pairs make it flicker.
    at = np.arange(160 * 12) + phase
    queue = 30 + 40 * (at % 160) / 160 + noise * (at % 2)
    begins, tops, bottoms = sawtooth(queue.astype(np.float64))
    assert (np.abs(np.diff(begins) - 160) <= 2 * noise * 4).all()
    assert 11 <= begins.size <= 12
    assert tops.size == bottoms.size == begins.size - 1
    assert tops == pytest.approx(70, abs=0.5 + noise)
    assert bottoms == pytest.approx(30, abs=0.5 + noise)
    assert tops.mean() - bottoms.mean() == pytest.approx(40, abs=0.5 + noise)


def test_a_tooth_begins_in_the_middle_of_its_rise() -> None:
    queue = np.tile(np.arange(100.0), 3)
    begins, _, _ = sawtooth(queue)
    assert begins.tolist() == [50, 150, 250]


def test_ripples_that_stay_above_the_lower_third_are_no_teeth() -> None:
    # Once per tooth the queue falls from 60 to 45 while it rises, through the middle at 50.
    rise = np.concatenate([np.linspace(20, 60, 81), np.linspace(60, 45, 31), np.linspace(45, 80, 71)])
    begins, tops, bottoms = sawtooth(np.tile(rise, 5))
    assert np.diff(begins).tolist() == [rise.size] * 4
    assert tops == pytest.approx(80)
    assert bottoms == pytest.approx(20)


@pytest.mark.parametrize("queue", [np.full(1000, 20.0), np.linspace(0, 50, 1000), np.linspace(50, 0, 1000)])
def test_a_queue_that_does_not_swing_has_no_teeth(queue: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> None:
    _, tops, bottoms = sawtooth(queue)
    assert tops.size == bottoms.size == 0


# DCTCP's equations, with the numbers of its section 3.3: 10 Gb/s, 100 us, K = 65 packets of 1,500 B

PAPER = Bottleneck(10, 100, 65)


def test_the_papers_path_is_among_those_that_are_run() -> None:
    assert PATHS["10 Gb/s, 100 us"] == PAPER
    assert PAPER.bdp == pytest.approx(83.3, abs=0.05)
    assert PAPER.packet_us == pytest.approx(1.2)


@pytest.mark.parametrize(("n", "packets"), [(2, 12.2), (10, 27.2), (40, 54.5)])
def test_eq_4_gives_the_papers_amplitudes(n: int, packets: float) -> None:
    assert amplitude(PAPER, n) == pytest.approx(packets, abs=0.05)


@pytest.mark.parametrize(("n", "rtts"), [(2, 6.1), (10, 2.7)])
def test_eq_5_gives_the_papers_periods(n: int, rtts: float) -> None:
    assert period_rtts(PAPER, n) == pytest.approx(rtts, abs=0.05)


@pytest.mark.parametrize(("n", "packets"), [(2, 67), (10, 75), (40, 105)])
def test_eq_3_gives_the_highest_queue(n: int, packets: int) -> None:
    assert q_max(PAPER, n) == packets


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_the_delay_makes_the_base_round_trip(path: Bottleneck) -> None:
    changes = dict(change.split("=") for change in path.changes())
    delay, bottleneck_delay = (changes[f"network.topology.{name}"] for name in ("delay", "bottleneck_delay"))
    assert delay == bottleneck_delay
    # Host, bottleneck, host: data of 1,500 B one way and an ACK of 64 B the other; hosts are four times as fast.
    links_us = sum((1500 + 64) * 8 / (gbps * 1e3) for gbps in (4 * path.gbps, path.gbps, 4 * path.gbps))
    assert 6 * int(delay.removesuffix(" ps")) / 1e6 + links_us == pytest.approx(path.rtt_us, abs=1e-5)
    assert changes["network.marking.above"] == f"{path.k * 1500} B"


# DCTCP's flows that come and go


def test_settled_seconds_begin_2_s_after_a_change_and_have_the_flows_open_throughout() -> None:
    # Flow 0 is always there; flow 1 from 10 to 20.5 s, flow 2 from 15 s on; the seconds are numbered.
    rates = np.arange(3)[:, None] * 100.0 + np.arange(30)
    parts = settled(rates, [0.0, 10.0, 15.0], [inf, 20.5, inf])
    assert [part.shape for part in parts] == [(2, 3), (3, 3), (2, 7)]
    assert parts[0].tolist() == [[12, 13, 14], [112, 113, 114]]
    assert parts[1][2].tolist() == [217, 218, 219]
    assert parts[2][:, 0].tolist() == [23, 223]


def test_a_flow_that_never_began_is_in_no_part() -> None:
    assert settled(np.ones((2, 10)), [0.0, inf], [inf, inf]) == []


# DCTCP's long flows on other ports


@pytest.mark.parametrize("ports", [8, 16, 33])
def test_each_port_of_the_ring_has_two_flows_of_two_other_hosts(ports: int) -> None:
    pairs = [
        pair for ahead in (1, 2) for pair in zip(*(json.loads(listed) for listed in ring(ports, ahead)), strict=True)
    ]
    assert len(set(pairs)) == 2 * ports
    assert all(sender != receiver for sender, receiver in pairs)
    for side in (0, 1):
        assert set(Counter(pair[side] for pair in pairs).values()) == {2}

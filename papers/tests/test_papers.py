"""The papers' experiments: the command, verdicts, and the analysis of sawteeth."""

import json
import pickle
import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from PIL import Image

from conftest import Command, study_of
from fanin import _core, jobs
from fanin.cli import AtOnce, CommandError
from fanin.jobs import Job
from fanin.result import Result
from fanin.run_folder import RunError
from fanin_papers import SPECS, campaign, claims, commands, matrix_page
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.common import over_seeds, points, pooled
from fanin_papers.dctcp_buffers import ring
from fanin_papers.dctcp_convergence import settled
from fanin_papers.experiment import (
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
    judge,
    order,
    strict,
)
from fanin_papers.hpcc_measures import ack_way_us
from fanin_papers.hpcc_sizes import by_size, queue_percentiles
from fanin_papers.sawtooth import PATHS, amplitude, period_rtts, q_max, sawtooth
from fanin_papers.sawtooth import Path as Bottleneck

IDS = (
    "dart-fig3",
    "dart-fig6",
    "dart-table1-calibration",
    "dart-fig11a",
    "dart-fig11a-causes",
    "dart-fig11",
    "dart-fig11-readings",
    "dart-sensitivity",
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
    "dctcp-fig5",
    "dctcp-fig9",
    "dctcp-fig23",
    "dctcp-fig25",
    "dctcp-fig26",
    "dctcp-fig25-load",
    "hpcc-fig1",
    "hpcc-fig2a",
    "hpcc-fig2b",
    "hpcc-fig3",
    "hpcc-fig9ab",
    "hpcc-fig9cd",
    "hpcc-fig9ef",
    "hpcc-fig9gh",
    "hpcc-fig10",
    "hpcc-fig11",
    "hpcc-fig12",
    "hpcc-sec53",
    "hpcc-note5",
    "hpcc-note5-star",
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
    "rcc-headline",
    "rcc-eq4",
    "rcc-eq23",
    "rcc-eq11",
    "rcc-eq18",
    "rcc-fig8",
    "rcc-fig8-as-coded",
    "rcc-fig10",
    "rcc-fig11",
    "rcc-fig12ab",
    "rcc-fig12cd",
    "dart-fig9-wire",
    "dart-fig10-wire",
    "hpcc-fig9ab-wire",
    "hpcc-fig9cd-wire",
    "hpcc-fig9ef-wire",
    "hpcc-fig9gh-wire",
    "dart-headroom",
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


# Rows


def test_rows_are_written_as_they_are_printed() -> None:
    ours = 3.14159
    found = Row.table(f"""
        a-claim
        a number, ms | about 3 | {ours:.2f} | at most 4 | {strict(ours <= 4)}
        a long one that goes on below
            | | none | above 4
            | ({strict(ours > 4)})
        a-claim (with a change)
        the same | 3 | 3 | any | calibrated
    """)
    assert found == [
        Row("a-claim", "a number, ms", "about 3", "3.14", "at most 4", "holds"),
        Row("a-claim", "a long one that goes on below", "", "none", "above 4", "differs", judged=False),
        Row("a-claim (with a change)", "the same", "3", "3", "any", "calibrated"),
    ]
    assert not any(row.judged for row in Row.table("x\na | b | c | d | holds", judged=False))
    assert Row.of("x", "a | b | c | d | close") == Row("x", "a", "b", "c", "d", "close")


@pytest.mark.parametrize("line", ["a | b | c | holds", "a | b | c | d | e | holds", "a | b | c | d | held"])
def test_a_row_with_other_columns_or_an_unknown_verdict_is_refused(line: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f'"{line}" is not a row: what | the paper | ours | accept | verdict')
    ):
        Row.table(f"x\n{line}")


# The command


def test_without_an_id_the_command_lists_all(command: Command) -> None:
    listed = command("paper")
    assert listed.returncode == 0, listed.stderr
    for name in IDS:
        assert f" {name} " in f" {listed.stdout.replace(chr(10), ' ')} "
    assert "incast with static buffers" in listed.stdout


def test_an_unknown_id_is_an_error_before_anything_runs(command: Command, root: Path, tmp_path: Path) -> None:
    failed = command("paper", "dctcp-fig14", "dctcp-fig99", "--quick", "--specs", root / "papers" / "specs")
    assert failed.returncode == 2
    assert failed.stderr == 'error: dctcp-fig99: there is no such experiment or paper; did you mean "dctcp-fig9"?\n'
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
    assert tuple(EXPERIMENTS) == IDS
    for one in EXPERIMENTS.values():
        base = Job.of(root / "papers" / "specs" / one.spec)
        for quick in (False, True):
            sweep = one.sweep(quick)
            assert sweep
            for key, change in sweep.items():
                assert job(base, key, change).resolve()["seed"] == key[-1]


# Studies


def test_a_study_measures_each_run_of_the_sweep(root: Path) -> None:
    study = study_of(SMALL, root / "tests" / "data")
    assert study.measures == {("point", 0, seed): {"seed": [seed]} for seed in (1, 2, 3)}
    assert [row.verdict for row in study.rows()] == ["holds"]
    quick = study_of(SMALL, root / "tests" / "data", quick=True)
    assert list(quick.measures) == [("point", 0, 1)]


def test_of_a_study_that_was_stopped_nothing_is_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign.Campaign, "run", lambda *_, **__: False)
    with pytest.raises(CommandError, match="stopped; finished runs are kept, and the same command goes on") as left:
        commands.paper(AtOnce(), ["dctcp-eq"], out=tmp_path / "out", specs=root / "papers" / "specs")
    assert left.value.code == 130
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_kept_and_not_run_again(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def note(_: object, key: str) -> None:
        ran.append(key)

    monkeypatch.setattr(jobs._Landing, "begun", note)

    def study(one: Experiment, *, quick: bool = False) -> Study:
        ran.clear()
        return study_of(one, root / "tests" / "data", quick=quick, keep=tmp_path)

    short = study(SMALL, quick=True)
    assert ran == ["small/point/0/1"]
    whole = study(SMALL)
    assert ran == ["small/point/0/2", "small/point/0/3"]
    assert study(SMALL) == whole
    assert ran == []
    assert whole.packet_hops > short.packet_hops > 0
    # Another spec is another run, and so is a damaged file.
    changed = replace(SMALL, sweep=lambda _: {("point", 0, 1): Change("none", ("measure.window=1 ms",))})
    study(changed)
    assert ran == ["small/point/0/1"]
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
        (["dart"], ["13"], ["dart-fig11a", "dart-fig11"]),
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
        Study(replace(SMALL, draw=draw), {}, quick=quick).picture()
    assert [[text.get_text() for text in figure.texts] for figure in drawn] == [["short version"], []]


def test_a_campaign_runs_the_longest_first_and_hands_over_each_study_when_it_is_complete(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = {"a": {"packet_hops": 3_000_000}, "b": {"packet_hops": 300_000_000}}
    monkeypatch.setattr(claims, "measured", lambda: recorded)
    experiments = [replace(SMALL, id=name) for name in ("a", "b")]
    data = root / "tests" / "data"
    plan = campaign.Campaign(experiments, data, keep=tmp_path)
    assert plan.runs == 6
    cost_s = 6 * campaign.RUN_S + 303e6 / campaign.PACKET_HOPS_PER_S
    assert plan.seconds(2) == pytest.approx(cost_s / 2)
    begun: list[str] = []

    def note(_: object, key: str) -> None:
        begun.append(key)

    monkeypatch.setattr(jobs._Landing, "begun", note)
    studies: list[Study] = []
    with ThreadPoolExecutor(1) as pool:
        assert plan.run(studies.append, executor=pool, progress=False)
    assert begun == [f"{name}/point/0/{seed}" for name in ("b", "a") for seed in (1, 2, 3)]
    assert [study.experiment.id for study in studies] == ["b", "a"]
    assert studies[1] == study_of(experiments[0], data)
    # What is kept is not run again.
    again = campaign.Campaign(experiments, data, keep=tmp_path)
    studies.clear()
    assert again.runs == 0
    assert again.run(studies.append, progress=False)
    assert [study.experiment.id for study in studies] == ["a", "b"]


def test_a_campaign_runs_again_what_a_reading_changes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only that: here the runs with seeds 1 and 3, as the one with seed 2 has another scheme."""
    reading = claims.Reading(
        name="slower",
        question="?",
        paper="small",
        where="1",
        words="silent",
        used="as it is",
        says="slower",
        set=(),
        of_scheme={"fixed-rate": ("rate=0.25",)},
        experiments=("small",),
        instead_of=None,
        unchanged=(),
    )
    monkeypatch.setattr(claims, "readings", lambda: {reading.name: reading})
    monkeypatch.setattr(claims, "counting", lambda: {"claim": ("",)})
    sweep: dict[Key, Change] = {("point", 0, seed): Change("none" if seed == 2 else "fixed-rate") for seed in (1, 2, 3)}

    def measure(result: Result) -> Measured:
        return {"ps": result.flows()["completion_ps"].drop_nulls().to_list()}

    small = replace(SMALL, sweep=lambda _: sweep, measure=measure)
    studies: list[Study] = []
    with ThreadPoolExecutor(1) as pool:
        plan = campaign.Campaign([small], root / "tests" / "data")
        assert plan.runs == 5
        assert plan.run(studies.append, executor=pool, progress=False)
        whole = studies[0].record()
        assert campaign.Campaign([small], root / "tests" / "data", readings=False).runs == 3
    under = studies[0].readings["slower"]
    changed = {key[2]: under.measures[key] != one for key, one in studies[0].measures.items()}
    assert changed == {1: True, 2: False, 3: True}
    assert whole["readings"] == {"slower": {"runs": 2, "packet_hops": under.packet_hops}}
    assert [row.claim for row in studies[0].rows()] == ["claim", "claim (slower)"]
    assert [row["claim"] for row in claims.without_readings(whole)["rows"]] == ["claim"]


def test_a_campaign_in_processes_measures_the_same() -> None:
    chosen = [EXPERIMENTS["hpcc-a4-incast64"], EXPERIMENTS["hpcc-a4-linerate"]]
    studies: dict[str, Study] = {}
    plan = campaign.Campaign(chosen, SPECS, quick=True)
    assert plan.run(lambda study: studies.update({study.experiment.id: study}), workers=2, progress=False)
    for one in chosen:
        assert studies[one.id] == study_of(one, SPECS, quick=True)


def test_what_a_campaign_measures_can_be_sent_to_its_workers() -> None:
    for one in [*EXPERIMENTS.values(), *matrix_page.experiments()]:
        assert pickle.loads(pickle.dumps(one.measure)) is one.measure


def test_a_campaign_whose_run_fails_says_so_at_the_end(root: Path) -> None:
    broken = replace(SMALL, id="broken", measure=fails)
    studies: list[Study] = []
    with ThreadPoolExecutor(1) as pool:
        plan = campaign.Campaign([broken, SMALL], root / "tests" / "data")
        with pytest.raises(RunError, match="broken/point/0/2: ValueError: no such column"):
            plan.run(studies.append, executor=pool, progress=False)
    assert [study.experiment.id for study in studies] == [SMALL.id]


def fails(_: Result) -> Measured:
    raise ValueError("no such column")


def test_a_study_is_saved_with_its_rows(tmp_path: Path) -> None:
    measured: dict[Key, Measured] = {("point", 0, seed): {"seed": [seed]} for seed in (1, 2)}
    picture, table = Study(replace(SMALL, id="half"), measured).save(tmp_path / "new" / "folder")
    assert picture.name == "half.png"
    with Image.open(picture) as image:
        assert (image.format, image.mode) == ("PNG", "P")
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


# Numbers over seeds


def test_a_number_over_seeds_shows_their_range() -> None:
    measures: Measures = {("a", 1, 1): {"x": [1.0, 2.0]}, ("a", 1, 2): {"x": [4.0]}, ("b", 1, 1): {"x": [3.0]}}
    of_a = over_seeds(measures, ("a", 1), "x")
    assert of_a == pytest.approx(7 / 3)
    assert f"{of_a:.1f}" == "2.3 (1.5 to 4.0)"
    # Only one seed, or no difference in the digits shown.
    assert f"{over_seeds(measures, ('b', 1), 'x'):.1f}" == "3.0"
    assert f"{of_a / 100:.1f}" == "0.0"
    assert f"{over_seeds(measures, ('a', 1), 'x', max):g}" == "4 (2 to 4)"


def test_seeds_are_kept_apart_in_what_is_computed_of_them() -> None:
    found = {"a": (1.0, 4.0), "b": (2.0, 5.0)}
    measures: Measures = {(name, 1, seed): {"x": [some[seed]]} for name, some in found.items() for seed in (0, 1)}
    a, b = (over_seeds(measures, (name, 1), "x") for name in ("a", "b"))
    assert f"{a / b:.1f}" == "0.7 (0.5 to 0.8)"
    assert f"{100 * (1 - a / b):.0f} %" == "29 (20 to 50) %"
    assert f"{sum([a, b]):g}" == "6 (3 to 9)"
    # Not with those of other seeds, and not where a seed has no quotient.
    assert f"{a / over_seeds({('c', 1, 9): {'x': [2.0]}}, ('c', 1), 'x'):.2f}" == "1.25"
    nothing = over_seeds({("d", 1, 0): {"x": [0.0]}, ("d", 1, 1): {"x": [1.0]}}, ("d", 1), "x")
    assert f"{a / nothing:g}" == "5"


# Verdicts


def examples(root: Path) -> list[list[str]]:
    """Of the rules of verdicts: a rule, its arguments and the verdict; Rust's rules are tested by the same."""
    lines = (root / "crates/claims/verdicts.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def test_the_rules_of_verdicts(root: Path) -> None:
    """Ratios are close for a quarter more, gains for a quarter of the band's width and above 0, orders with one in
    ten."""
    read: Counter[str] = Counter()
    for rule, *arguments, verdict in examples(root):
        if rule in ("band", "gain_band"):
            value, low, high = map(float, arguments)
            found = band(value, low, high) if rule == "band" else gain_band(value, low, high)
        else:
            kept = [point == "1" for point in arguments[0]]
            found = order(kept) if rule == "order" else strict(kept[0])
        assert found == verdict, (rule, arguments)
        read[rule] += 1
    assert read.keys() == {"band", "gain_band", "order", "strict"}


def test_a_claim_without_a_margin_holds_or_differs() -> None:
    assert (strict(True), strict(False)) == ("holds", "differs")


@pytest.mark.parametrize(
    ("rule", "value", "form", "accept", "ours", "verdict"),
    [
        ("strict", 2.0, ".1f us", "at most 2 us", "2.0 us", "holds"),
        ("strict", 2.0, ".0f", "below 2", "2", "differs"),
        ("strict", 2.0, ".0f", "at least 2", "2", "holds"),
        ("strict", 2.0, ".0f", "above 2", "2", "differs"),
        ("strict", 0.0, ".0f", "0", "0", "holds"),
        ("strict", 0.5, ".0%", "at most 40 %", "50%", "differs"),
        ("band", 1900.0, ",.0f KB", "2,000 to 3,000 KB", "1,900 KB", "close"),
        ("band", 2.4, ".1f", "at most 2", "2.4", "close"),
        ("band", 1e6, ".0e", "at least 5", "1e+06", "holds"),
        ("gain", 68.0, ".0f %", "30 to 65 %", "68 %", "close"),
    ],
)
def test_the_words_of_a_criterion_judge_a_number(
    rule: Literal["strict", "band", "gain"], value: float, form: str, accept: str, ours: str, verdict: str
) -> None:
    assert judge(rule, value, form, accept, " (told)") == f"{ours} (told) | {accept} | {verdict}"


def test_words_that_are_no_criterion_are_an_error() -> None:
    with pytest.raises(ValueError, match='"always" is no criterion'):
        judge("strict", 1.0, ".0f", "always")


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


# HPCC with production traffic


def test_an_ack_takes_the_delays_and_sending_times_of_the_links_of_its_path() -> None:
    ports = pl.DataFrame(
        {
            "tier": ["host-uplink", "tor-uplink", "tor-downlink", "last-hop"],
            "delay_ps": [1_000_000, 500_000, 500_000, 1_000_000],
            "rate_bps": [25 * 10**9, 100 * 10**9, 100 * 10**9, 25 * 10**9],
        }
    )
    ways = ack_way_us(cast("Result", SimpleNamespace(ports=lambda: ports)))
    # 66 B take 21.12 ns at 25 Gb/s and 5.28 ns at 100 Gb/s.
    assert ways == pytest.approx({2: 2.04224, 4: 3.0528})


def test_percentiles_of_queues_weigh_bins_by_their_samples_over_all_seeds() -> None:
    def bins(empty: float, long: float) -> dict[str, list[float]]:
        named = {"from": [0.0, 1001.0], "below": [1.0, 2001.0], "count": [empty, long]}
        return {f"all ports: {name}": values for name, values in named.items()}

    measures: dict[Key, Measured] = {("s", 1): bins(90, 5), ("s", 2): bins(4, 1)}
    measures["s", 2]["all ports: from"][1], measures["s", 2]["all ports: below"][1] = 5001.0, 6001.0
    assert queue_percentiles(measures, ("s",), "all ports", [94, 95, 99, 100]) == [0.0, 1.5005, 1.5005, 5.5005]
    assert queue_percentiles(measures, ("s",), "all ports", [50, 99], busy=True) == [1.5005, 5.5005]


def test_a_bin_of_sizes_with_few_messages_has_no_percentile() -> None:
    kb = [1.0] * 20 + [2.0] * 19
    measures: dict[Key, Measured] = {("s", 1): {"kb": kb, "slowdown": [float(number) for number in range(39)]}}
    assert by_size(measures, ("s",), (0, 1, 2), 50) == pytest.approx([9.5, np.nan], nan_ok=True)

"""Schemes side by side: the table, the picture, the folder."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib import image
from rich.console import Console

import fanin
from conftest import Command
from fanin.comparison import numbers
from fanin.looks import look

LINES = (
    "messages started",
    "messages finished",
    "messages unfinished",
    "8 KB: completion p50",
    "8 KB: completion p99",
    "8 KB: completion p99.9",
    "8 KB: slowdown p50",
    "8 KB: slowdown p99",
    "8 KB: slowdown p99.9",
    "long-flow goodput",
    "ECN-marked packets",
    "drops",
    "PFC pause time",
    "CNPs",
)


def text_of(compared: fanin.Comparison) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(compared.table())
    return console.export_text()


def test_rows_agree_with_the_summaries_of_the_runs(compared: fanin.Comparison) -> None:
    assert [row.scheme for row in compared.rows] == ["dcqcn", "none"]
    for row, result in zip(compared.rows, compared.results, strict=True):
        queries, updates = result.summary()["traffics"]
        assert row.started == queries["started"] > 0
        assert row.started == row.finished + row.unfinished
        assert row.fct_p50_us == queries["completion_us"]["p50"]
        assert row.fct_p99_us == queries["completion_us"]["p99"]
        assert row.fct_p999_us == queries["completion_us"]["p999"]
        assert row.slowdown_p99 == queries["slowdown"]["p99"]
        assert row.reported == queries["completion_us"]["count"]
        assert row.marked_share == queries["marked_share"]
        assert row.long_goodput_gbps == updates["long_goodput_gbps"]
        assert row.endless == updates["endless"] > 0


def test_only_the_scheme_that_acts_has_acted(compared: fanin.Comparison) -> None:
    dcqcn, none = compared.rows
    assert dcqcn.cnps > 0
    assert none.cnps == 0


def test_the_table_has_every_line_and_names_its_ideal(compared: fanin.Comparison) -> None:
    text = text_of(compared)
    assert [line for line in LINES if line not in text] == []
    assert compared.results[0].slowdown_ideal in text.splitlines()[-1]
    assert text.startswith("tiny incast: star")
    assert "cancelled" not in text


def test_several_seeds_give_a_mean_and_an_interval(tiny: Path) -> None:
    compared = fanin.compare(tiny, ["none"], [1, 2, 5, 2], progress=False)
    assert [result.label for result in compared.results] == ["none-seed-1", "none-seed-2", "none-seed-5"]
    assert [result.manifest["seed"] for result in compared.results] == [1, 2, 5]
    (row,) = compared.rows
    assert row.runs == 3
    p99_us = [result.summary()["traffics"][0]["completion_us"]["p99"] for result in compared.results]
    values = [value for value in p99_us if value is not None]
    assert row.fct_p99_us == pytest.approx(sum(values) / 3)
    spread = (sum((value - sum(values) / 3) ** 2 for value in values) / 2) ** 0.5
    # Student's t for two degrees of freedom, from a printed table.
    assert row.ci95["fct_p99_us"] == pytest.approx(4.303 * spread / 3**0.5, rel=1e-3)
    assert row.to_json()["fct_p99_us_ci95"] == row.ci95["fct_p99_us"]
    assert row.ci95["drops"] == 0
    text = text_of(compared)
    assert "mean over 3 seeds per scheme" in text
    assert "\u00b1" in next(line for line in text.splitlines() if "completion p99 " in line)
    assert "\u00b1" not in next(line for line in text.splitlines() if line.strip().startswith("drops"))


def test_so_many_seeds_begin_with_that_of_the_spec(tiny: Path) -> None:
    compared = fanin.compare(tiny, ["none"], 2, set=["seed=7"], progress=False)
    assert [result.manifest["seed"] for result in compared.results] == [7, 8]


def test_a_number_that_some_run_lacks_has_no_mean(tiny: Path) -> None:
    # One of the seeds posts no message in a window this short.
    compared = fanin.compare(tiny, ["none"], range(1, 8), set=["measure.window=20 us"], progress=False)
    counts = [numbers(result)["reported"] for result in compared.results]
    assert 0 in counts
    assert any(counts)
    (row,) = compared.rows
    assert row.fct_p50_us is None
    assert "fct_p50_us" not in row.ci95
    assert row.reported == pytest.approx(sum(filter(None, counts)) / 7)


def test_equal_runs_are_equal_on_one_worker_and_on_two(tiny: Path, compared: fanin.Comparison) -> None:
    alone = fanin.compare(tiny, ["dcqcn", "none"], workers=1, progress=False)
    for one, two in zip(alone.results, compared.results, strict=True):
        assert one.manifest["event_hash"] == two.manifest["event_hash"]
        assert one.flows().equals(two.flows())
    assert len({result.manifest["event_hash"] for result in compared.results}) == 2


def test_without_schemes_the_spec_says_which(tiny: Path) -> None:
    compared = fanin.compare(tiny, set=['compare.schemes=["none"]'], progress=False)
    assert [row.scheme for row in compared.rows] == ["none"]


def test_a_bad_scheme_stops_all_before_any_has_run(tiny: Path) -> None:
    seen: list[float] = []

    def watch(state: fanin._core.Progress) -> bool:
        seen.append(state.wall_s)
        return True

    with pytest.raises(fanin.SpecError, match="nonesuch"):
        fanin.compare(tiny, ["none", "nonesuch"], progress=watch)
    assert seen == []


def test_the_command_leaves_a_picture_and_a_folder_per_run(command: Command, tiny: Path, tmp_path: Path) -> None:
    done = command("compare", tiny)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "tiny-incast"
    assert {path.name for path in folder.iterdir()} == {"dcqcn", "none", "compare.json", "compare.png"}
    record = json.loads((folder / "compare.json").read_text())
    assert record["runs"] == ["dcqcn", "none"]
    assert record["rows"][0]["started"] == fanin.load(folder / "dcqcn").flows()["measured"].sum()
    picture = image.imread(folder / "compare.png")
    assert picture.shape[1] > 1500
    colours = {
        tuple(colour) for colour in np.unique((picture[..., :3] * 255).round().astype(int).reshape(-1, 3), axis=0)
    }
    for scheme in ("dcqcn", "none"):
        assert tuple(bytes.fromhex(look(scheme).colour[1:])) in colours, "a curve per scheme"
    again = command("show", folder)
    assert again.stdout in done.stdout


def test_plots_say_what_they_show(compared: fanin.Comparison) -> None:
    figure = compared.plot()
    left, right = figure.axes
    assert "8 KB" in left.get_title()
    assert left.get_xscale() == "log"
    assert right.get_yscale() == "log"
    assert right.get_title() == "Queues of switch-ports"
    assert "KB" in right.get_xlabel()
    legend = left.get_legend()
    assert legend is not None
    assert [text.get_text().split()[0] for text in legend.get_texts()] == ["dcqcn", "none"]
    assert "star" in figure.get_suptitle()


def test_flows_can_be_given_as_a_table(tiny: Path) -> None:
    given = pl.DataFrame(
        {"src": [0, 1], "dst": [3, 2], "bytes": [8000, 3000], "start_us": [600.0, 700.5]},
        schema={"src": pl.UInt32, "dst": pl.UInt32, "bytes": pl.UInt64, "start_us": pl.Float64},
    )
    base = fanin.run(tiny, scheme="none", progress=False).flows()
    added = fanin.run(tiny, scheme="none", flows=given, progress=False).flows()
    assert added.height == base.height + 2
    starts = [600_000_000, 700_500_000]
    mine = added.filter(pl.col("start_ps").is_in(starts)).sort("start_ps")
    assert mine["src"].to_list() == [0, 1]
    assert mine["bytes"].to_list() == [8000, 3000]
    assert mine["completion_ps"].null_count() == 0

"""Schemes side by side: the table, the picture, the folder."""

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib import image
from rich.console import Console

import fanin
from conftest import Command
from fanin import table
from fanin.rows import Row, numbers
from fanin.style import style_of

LINES = (
    "messages started",
    "messages finished",
    "messages unfinished",
    "8 KB: FCT p50",
    "8 KB: FCT p99",
    "8 KB: FCT p99.9",
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
    console.print(compared.text())
    return console.export_text()


def test_rows_agree_with_the_summaries_of_the_runs(compared: fanin.Comparison) -> None:
    assert [row.scheme for row in compared.rows] == ["dcqcn", "none"]
    for row, result in zip(compared.rows, compared.results, strict=True):
        queries, updates = result.summary()["traffics"]
        assert row.started == queries["started"] > 0
        assert row.started == row.finished + row.unfinished
        assert row.fct_p50_us == queries["completion_us"]["p50"]
        assert row.fct_p99_us == queries["completion_us"]["p99"]
        assert row.reported < 1000
        assert row.fct_p999_us is row.slowdown_p999 is None, "too few messages for a p99.9"
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
    assert f"FCT over its ideal, {compared.results[0].slowdown_ideal}" in text
    fewest = min(row.reported for row in compared.rows)
    assert f"-: too few messages: n={fewest} in the run with the fewest, p99.9 needs 1,000" in text
    assert "one seed: there is no interval, so no value is marked as the best" in text
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
    assert "\u00b1" in next(line for line in text.splitlines() if "FCT p99 " in line)
    assert "\u00b1" not in next(line for line in text.splitlines() if line.strip().startswith("drops"))


def bold_of(compared: fanin.Comparison) -> list[str]:
    """The cells of the terminal's table that are bold, without its head."""
    console = Console(width=200, force_terminal=True, color_system=None, file=io.StringIO())
    bold = [one.text.strip() for one in console.render(table.SideBySide.of(compared)) if one.style and one.style.bold]
    return [text for text in bold if text and text not in [row.scheme for row in compared.rows]]


def made(scheme: str, p99_us: float, half: float | None, **more: Any) -> Row:
    """A row of a comparison in which nothing but a few numbers are not zero."""
    numbers: dict[str, Any] = {
        field.name: 0.0 for field in fields(Row) if field.name not in ("scheme", "runs", "ci95", "on", "parts")
    }
    ci95 = {} if half is None else dict.fromkeys(numbers, 0.0) | {"fct_p99_us": half}
    return Row(scheme, 1 if half is None else 5, **(numbers | {"fct_p99_us": p99_us} | more), ci95=ci95, on="simulator")


def test_the_best_has_an_interval_apart_from_all_others() -> None:
    apart = [made("a", 100.0, 5.0), made("b", 120.0, 5.0), made("c", 400.0, 90.0)]
    assert table.best(apart, "fct_p99_us") == 0
    touching = [made("a", 100.0, 15.0), made("b", 120.0, 5.0)]
    assert table.best(touching, "fct_p99_us") is None
    # The runner-up is apart, but the third is so uncertain that it may be the best.
    wide = [made("a", 100.0, 5.0), made("b", 120.0, 5.0), made("c", 400.0, 350.0)]
    assert table.best(wide, "fct_p99_us") is None
    assert table.best([made("a", 100.0, None), made("b", 120.0, None)], "fct_p99_us") is None, "one seed, no interval"
    assert table.best([made("a", 100.0, 0.0), made("b", 100.0, 0.0)], "fct_p99_us") is None, "equal"
    assert table.best([made("a", 100.0, 5.0)], "fct_p99_us") is None, "alone"
    left = [made("a", 100.0, 5.0, unfinished=3.0), made("b", 120.0, 5.0), made("c", 200.0, 5.0)]
    assert table.best(left, "fct_p99_us") == 1, "the slowest of a may be those that it left"
    assert table.best(apart, "cnps") is None, "neither more nor fewer are better"
    most = [made("a", 1.0, 1.0, long_goodput_gbps=5.0), made("b", 1.0, 1.0, long_goodput_gbps=3.0)]
    assert table.best(most, "long_goodput_gbps") == 0


def test_bold_is_the_best_of_several_seeds_and_nothing_of_one(tiny: Path, compared: fanin.Comparison) -> None:
    assert bold_of(compared) == []
    several = fanin.compare(tiny, ["dcqcn", "none"], 3, progress=False)
    lines = [line for section in table.lines(several) for line in section]
    best = [line.cells[line.best] for line in lines if line.best is not None]
    assert best == bold_of(several) != []
    marked = next(line for line in lines if line.name == "8 KB: FCT p99")
    low, high = (several.rows[at].estimate("fct_p99_us") for at in (0, 1))
    assert low.apart(high) == (marked.best == 0)
    assert "bold: the best value" in text_of(several)


def test_a_wide_comparison_is_cut_into_tables_that_fit(compared: fanin.Comparison) -> None:
    console = Console(width=52, record=True, file=io.StringIO())
    console.print(table.SideBySide.of(compared))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 52
    names = [line.strip() for line in text.splitlines() if "messages started" in line]
    assert len(names) == 2, "a table for each scheme"
    assert "ECN-marked packets of messages" in text, "no name is cut off"


def test_schemes_over_tcp_beside_rdma_carry_a_warning(tiny: Path) -> None:
    short = ["measure.window=100 us"]
    (warning,) = fanin.compare(tiny, ["dctcp", "dcqcn", "none"], set=short, progress=False).warnings
    assert warning.startswith("dctcp runs over TCP ")
    assert "dcqcn and none over RDMA" in warning
    assert warning.endswith("the transports differ too; dctcp-rate is DCTCP's law over RDMA")
    assert fanin.compare(tiny, ["dctcp-rate", "dcqcn"], set=short, progress=False).warnings == []
    assert fanin.compare(tiny, ["dctcp", "newreno"], set=short, progress=False).warnings == []
    (other,) = fanin.compare(tiny, ["newreno", "dcqcn"], set=short, progress=False).warnings
    assert "dctcp-rate" not in other


def test_results_say_in_a_line_what_they_are(compared: fanin.Comparison, result: fanin.Result) -> None:
    (row,) = fanin.Comparison([result], cancelled=False).rows
    finished = f"{row.finished:,} of {row.started:,} messages finished"
    p99 = table.time(row.fct_p99_us)
    assert repr(result) == f"<Result tiny incast: dcqcn, seed 1, {finished}, FCT p99 {p99}>"
    assert repr(compared).startswith("<Comparison tiny incast: 1 seed\n  dcqcn: FCT p99 ")
    assert repr(compared).count("\n") == 2, "a line for each scheme"
    for one, columns in ((result, 2), (compared, 3)):
        text = one._repr_html_()
        assert text.startswith("<table>")
        assert text.split("</tr>")[0].count("<th>") == columns
        assert "<th>8 KB: FCT p99</th>" in text


def test_series_says_what_it_leaves_out_and_adds_it_when_asked(result: fanin.Result) -> None:
    kept, whole = result.series(), result.series(zeros=True)
    assert "left out" in (fanin.Result.series.__doc__ or "")
    assert 0 not in kept["queue_bytes"]
    ports = result.ports().filter(pl.col("tier").cast(pl.String) != "host-uplink").height
    assert whole.height == ports * 400, "4 ms in steps of 10 us"
    assert whole.columns == kept.columns
    assert whole.filter(pl.col("queue_bytes") > 0).height == kept.height
    assert whole["queue_bytes"].sum() == kept["queue_bytes"].sum()


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
        assert tuple(bytes.fromhex(style_of(scheme).colour[1:])) in colours, "a curve per scheme"
    again = command("show", folder)
    assert again.stdout in done.stdout


def test_plots_say_what_they_show(compared: fanin.Comparison) -> None:
    figure = compared.plot()
    left, right = figure.axes
    assert "8 KB" in left.get_title()
    assert left.get_xlabel() == "FCT (us)", "these do not span decades"
    assert right.get_yscale() == "log"
    assert right.get_title() == "Queues of switch-ports"
    assert "KB" in right.get_xlabel()
    assert left.get_legend() is right.get_legend() is None, "it would lie over curves"
    (legend,) = figure.legends
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

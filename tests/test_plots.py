"""The measures behind pictures against numbers known otherwise, and the pictures against the measures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import fanin
from fanin import measures, over_time, plot, table
from fanin.plot.axes import log_ticks, plain_number, set_axis, time_axis, time_text
from fanin.plot.base import peaks, shades, steps
from fanin.run_folder import Manifest, Summary, TableName
from fanin.style import style_of

SPEC = """
spec_version = 1
name = "plotted"
seed = 1

[network]
topology = { kind = "leaf-spine", leaves = 2, hosts = 3, spines = 1, link = "10 Gbps", delay = "1 us" }
packet = { payload = "1000 B", header = "48 B" }
buffer = { per_port = "60 KB", policy = "lossless" }

[[traffic]]
name = "queries"
scheme = "none"
start = "50 us"
pattern = { kind = "incast", degree = 4, every = "30 us", senders = ["h1", "h2", "h3", "h4"], receivers = ["h0"] }
size = { uniform_of = ["2 KB", "8 KB", "30 KB"] }

[[traffic]]
name = "long"
scheme = "none"
pattern = { kind = "long", count = 1, senders = ["h5"], receivers = ["h2"] }

[measure]
window = "400 us"
"""

ALL = """
series = [
  { what = "queue", where = "last-hop", every = "5 us" },
  { what = "flow", where = ["long:0", "queries:0", "queries:1"], every = "5 us" },
  { what = "traffic", where = ["queries"], every = "5 us" },
  { what = "port", where = ["h1>leaf0", "h5>leaf1"], every = "5 us" },
]
trace = ["queries:3"]
"""

# Trees of pauses have tests of their own (test_pause_trees.py): they need pauses that were recorded.
KINDS = {kind: draw for kind, draw in plot.KINDS.items() if kind not in ("pause-trees", "ranks")}


def run(tail: str, *changes: str, scheme: str | None = None) -> fanin.Result:
    return fanin.run(write(tail), scheme=scheme, set=changes, progress=False)


_folder: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _folder[:] = [tmp_path_factory.mktemp("plotted")]


def write(tail: str) -> Path:
    path = _folder[0] / "plotted.toml"
    path.write_text(SPEC + tail, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def seen(folder: None) -> fanin.Result:  # noqa: ARG001
    """A run in which everything is watched."""
    return run(ALL)


@pytest.fixture(scope="module")
def blind(folder: None) -> fanin.Result:  # noqa: ARG001
    """The same with nothing watched."""
    return run("")


def made(flows: Sequence[tuple[int, int | None, float | None]], scheme: str = "none") -> fanin.Result:
    """A result with measured messages of these sizes, completion times and slowdowns alone."""
    table = pl.DataFrame(
        flows,
        schema={"bytes": pl.UInt64, "completion_ps": pl.UInt64, "slowdown": pl.Float64},
        orient="row",
    ).with_columns(measured=pl.lit(value=True))
    sizes = {"min": 0, "max": None}
    summary = cast("Summary", {"traffics": [{"traffic": "t", "scheme": scheme, "sizes": sizes}]})

    def tables(name: TableName, columns: Sequence[str] | None = None) -> pl.DataFrame:
        assert name == "flows"
        return table if columns is None else table.select(columns)

    manifest = cast("Manifest", {"name": "made", "cancelled": False, "simulated_ps": 0})
    return fanin.Result("made", manifest, {"network": {}}, summary, tables, None)


# Measures.


def test_few_sizes_have_a_bin_each_and_percentiles_are_by_nearest_rank() -> None:
    ones = [(1000, 10, float(place)) for place in range(1, 101)]
    twos: list[tuple[int, int | None, float | None]] = [(2000, 10, 7.0), (2000, None, None), (2000, 10, None)]
    table = measures.slowdown_by_size([made([*ones, *twos])])
    assert table.drop("^.*ci95$").rows() == [
        (1000, 1000, 100, 0, 50.0, 95.0, 99.0),
        # One of them alone has an ideal: its slowdown is the median.
        (2000, 2000, 2, 1, 7.0, None, None),
    ]
    (again,) = measures.slowdown_by_size([made(ones), made(ones[:99])]).rows(named=True)
    assert again["count"] == 199
    assert again["p95"] == 95.0
    assert again["p50"] == 50.0
    assert again["p99"] is None, "a run of 99 messages has no p99, so there is no mean over both"
    assert again["p50_ci95"] == 0.0
    rare = [(500, 10, 1.0), (700, 10, 1.0)]
    assert measures.size_bins([made(ones), made(rare)]) == [(500, 500), (700, 700), (1000, 1000)]


def test_many_sizes_are_cut_into_bins_of_equal_counts() -> None:
    flows = [(size, 10, 1.0) for size in range(1, 101)]
    bins = measures.size_bins([made(flows)], 10)
    assert bins == [(10 * k + 1, 10 * k + 10) for k in range(10)]
    assert measures.slowdown_by_size([made(flows)], bins)["count"].to_list() == [10] * 10
    # One size that half of the messages have is in one bin, whatever that holds then.
    lumpy = [(size, 10, 1.0) for size in range(1, 51)] + [(50, 10, 1.0)] * 50
    parted = measures.slowdown_by_size([made(lumpy)], 10)
    assert parted["upper_bytes"].to_list() == [10, 20, 30, 40, 50]
    assert parted["lower_bytes"].to_list() == [1, 11, 21, 31, 41]
    assert parted["count"].to_list() == [10, 10, 10, 10, 60]


@pytest.mark.parametrize(
    ("messages", "bins", "least"),
    # Enough for a p99 in each, for a p95, for a median, and as many bins as are easy to read.
    [(310, 3, 100), (299, 9, 20), (66, 3, 20), (59, 9, 2), (5000, 10, 500)],
)
def test_bins_hold_enough_for_the_highest_percentile_that_three_bins_allow(
    messages: int, bins: int, least: int
) -> None:
    run = made([(size, 10, 1.0) for size in range(messages)])
    made_bins = measures.size_bins([run, run])
    assert len(made_bins) == bins
    counts = measures.slowdown_by_size([run], made_bins)["count"]
    assert counts.sum() == messages
    assert least <= int(cast("int", counts.min()))


def test_without_messages_there_are_no_bins() -> None:
    assert measures.size_bins([made([])]) == []
    assert measures.slowdown_by_size([made([])]).is_empty()
    assert measures.slowdown_by_size([made([(5, None, None)])]).rows()[0][:4] == (5, 5, 0, 1)


def test_completion_cdf_rises_to_one() -> None:
    times, shares = measures.completion_cdf([made([(5, 3_000_000, 1.0), (5, 1_000_000, 1.0), (5, None, None)])])
    assert (times.tolist(), shares.tolist()) == ([1.0, 3.0], [0.5, 1.0])


def test_jain_is_one_for_equals_and_one_nth_for_one_of_n() -> None:
    assert measures.jain([3.0, 3.0, 3.0]) == 1.0
    assert measures.jain([5.0, 0.0, 0.0, 0.0]) == 0.25
    assert measures.jain([1.0, 3.0]) == pytest.approx(16 / 20)
    assert measures.jain([]) is None
    assert measures.jain([0.0, 0.0]) is None


def test_queues_that_were_left_out_are_empty(seen: fanin.Result) -> None:
    sparse = over_time.queue_over_time(seen)
    kept = run('series = [{ what = "queue", where = "last-hop", every = "5 us", zeros = true }]')
    assert kept.series().height == 6 * 80 > seen.series().height
    assert sparse.equals(over_time.queue_over_time(kept))
    assert sparse["time_us"].to_list() == [5.0 * k for k in range(80)]
    assert sparse["longest_bytes"].min() == 0 < int(cast("int", sparse["longest_bytes"].max()))
    assert (sparse["total_bytes"] >= sparse["longest_bytes"]).all()
    alone = over_time.queue_over_time(seen, "leaf0>h0")
    assert alone["longest_bytes"].max() == sparse["longest_bytes"].max()
    assert over_time.queue_over_time(seen, "leaf1>h5")["total_bytes"].sum() == 0
    with pytest.raises(fanin.RunError, match=r'where = \["leaf0>spine0"\]'):
        over_time.queue_over_time(seen, "leaf0>spine0")


def test_queues_of_a_second_series_do_not_count_in_the_first() -> None:
    first, second = (
        f'{{ what = "queue", where = ["{port}"], every = "{every}" }}'
        for port, every in (("leaf0>h1", "10 us"), ("leaf0>h0", "5 us"))
    )
    both = run(f"series = [{first}, {second}]")
    assert over_time.queue_over_time(both)["time_us"].to_list() == [10.0 * k for k in range(40)]
    assert over_time.queue_over_time(both)["total_bytes"].sum() == 0
    assert int(over_time.queue_over_time(both, "leaf0>h0")["total_bytes"].sum()) > 0


def test_goodput_of_a_lone_flow_is_the_payloads_share_of_the_line() -> None:
    flow = '{ what = "flow", where = ["long:0"], every = "50 us" }'
    watch = f'series = [{flow}, {{ what = "traffic", where = ["long"], every = "50 us" }}]'
    alone = run(watch, "traffic.queries.start='390 us'")
    table = over_time.goodput_over_time(alone)
    assert table["begin_us"].to_list() == [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0] * 2
    assert set(zip(table["what"], table["where"], table["traffic"], strict=True)) == {
        ("flow", "long:0", "long"),
        ("traffic", "long", "long"),
    }
    # After the first interval, in which it starts; within one packet.
    later = table.filter(pl.col("begin_us") > 0)["gbps"].to_numpy()
    assert np.abs(later - 10 * 1000 / 1048).max() <= 1000 * 8 / 50e3
    assert later.mean() == pytest.approx(10 * 1000 / 1048, rel=2e-3)


def test_goodput_of_messages_adds_up_to_their_bytes(seen: fanin.Result) -> None:
    table = over_time.goodput_over_time(seen)
    flows = seen.flows().filter(pl.col("traffic") == "queries")
    for name in ("queries:0", "queries:1"):
        row = flows.row(int(name[-1]), named=True)
        mine = table.filter(pl.col("where") == name)
        bits = (mine["gbps"] * (mine["end_us"] - mine["begin_us"]) * 1e3).sum()
        assert bits == pytest.approx(row["bytes"] * 8)
        # From the interval of its post to that of its end.
        begin, end = row["start_ps"] / 1e6, (row["start_ps"] + row["completion_ps"]) / 1e6
        assert begin - 5 < float(cast("float", mine["begin_us"].min())) <= begin
        assert end <= float(cast("float", mine["end_us"].max())) < end + 5
    whole = table.filter(pl.col("where") == "queries")
    bits = (whole["gbps"] * (whole["end_us"] - whole["begin_us"]) * 1e3).sum()
    done = flows.filter(pl.col("start_ps") + pl.col("completion_ps") <= 395_000_000)["bytes"].sum()
    assert done * 8 <= bits <= flows["bytes"].sum() * 8


def test_flows_that_share_nothing_are_fair_and_one_that_is_over_counts_no_more() -> None:
    watch = 'series = [{ what = "flow", where = ["long:0", "long:1", "queries:0"], every = "20 us" }]'
    two = "{ kind = 'long', count = 2, senders = ['h4', 'h5'], receivers = ['h1', 'h2'], spread = '0 us' }"
    pair = run(watch, f"traffic.long.pattern={two}", "traffic.queries.pattern.every='10 ms'")
    table = over_time.fairness_over_time(pair)
    posted, end = (
        pair.flows().filter(pl.col("traffic") == "queries").row(0, named=True)[c] for c in ("start_ps", "completion_ps")
    )
    with_query = table.filter((pl.col("end_us") > posted / 1e6) & (pl.col("begin_us") < (posted + end) / 1e6))
    assert set(with_query["flows"].to_list()) == {3}
    others = table.filter((pl.col("begin_us") > 20) & ~pl.col("begin_us").is_in(with_query["begin_us"].to_list()))
    assert others.height > 5
    assert set(others["flows"].to_list()) == {2}


def test_rates_are_those_of_the_table(seen: fanin.Result) -> None:
    table = over_time.rates_over_time(seen)
    assert table.columns == ["time_us", "where", "traffic", "rate_bps", "window_bytes"]
    long = table.filter(pl.col("where") == "long:0")
    assert long["rate_bps"].unique().to_list() == [10e9]
    assert long["window_bytes"].null_count() == long.height, "no control has no window"
    windows = over_time.rates_over_time(run(ALL, scheme="dctcp"))["window_bytes"].drop_nulls()
    assert 1000 <= float(cast("float", windows.min())) <= float(cast("float", windows.max())) < 1e6


def test_time_paused_is_that_of_the_ports(seen: fanin.Result) -> None:
    table = over_time.pauses_over_time(seen)
    watched = pl.col("port").is_in(["h1>leaf0", "h5>leaf1"])
    whole_us = float(seen.ports().filter(watched)["paused_ps"].to_numpy().sum()) / 1e6
    # Without arrivals after the last sample, 5 us before the end of the window, and while draining.
    within = float((table["paused"] * (table["end_us"] - table["begin_us"])).sum())
    after = (seen.simulated_ms * 1e3 - 395) * 2
    assert 0 < within <= whole_us * (1 + 1e-9) <= within + after
    counts = over_time.pause_counts(seen, 40)
    assert counts["pauses"].sum() == seen.summary()["network"]["pauses"] > 0
    assert (counts["begin_us"][0], counts["end_us"][-1]) == (0.0, pytest.approx(seen.simulated_ms * 1e3))


def test_utilisation_is_grouped_by_tier_in_the_order_of_the_way(seen: fanin.Result) -> None:
    table = measures.utilisation_by_tier(seen)
    assert table["tier"].to_list() == ["host-uplink", "tor-uplink", "tor-downlink", "last-hop"]
    assert table["ports"].to_list() == [6, 2, 2, 6]
    last = seen.ports().filter(pl.col("tier").cast(pl.String) == "last-hop")
    by_hand = last["utilisation"]
    assert table["utilisation"][3].to_list() == pytest.approx(by_hand.to_list())
    assert table["mean"][3] == pytest.approx(by_hand.mean())
    assert table["max"][3] == pytest.approx(by_hand.max())


# Pictures.


def curves(figure: Figure) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The data of the labelled curves of each panel."""
    return [
        {
            str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
            for line in axes.get_lines()
            if not str(line.get_label()).startswith("_")
        }
        for axes in figure.axes
    ]


def test_every_kind_draws_one_run_and_a_comparison(seen: fanin.Result) -> None:
    other = run(ALL, scheme="dcqcn")
    for kind, draw in KINDS.items():
        single, several = draw(seen), draw(fanin.Comparison([seen, other], cancelled=False))
        assert [len(axes.lines) for axes in draw([seen, other]).axes] == [len(axes.lines) for axes in several.axes]
        assert sum(len(axes.lines) for axes in several.axes) > sum(len(axes.lines) for axes in single.axes)
        for figure in (single, several):
            assert "plotted: leaf-spine" in figure.get_suptitle()
            assert figure.axes[0].get_ylabel()
        assert plot.about(kind).endswith(".")


def test_the_ending_of_the_file_chooses_its_format(seen: fanin.Result, tmp_path: Path) -> None:
    plot.completion(seen, tmp_path / "completion.svg")
    assert (tmp_path / "completion.svg").read_bytes().startswith(b"<?xml")
    plot.completion(seen, str(tmp_path / "completion.pdf"))
    assert (tmp_path / "completion.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match="no run"):
        plot.completion([])


def test_curves_are_the_measures_in_the_colours_of_schemes(seen: fanin.Result) -> None:
    other = run(ALL, scheme="dcqcn")
    figure = plot.queue_over_time([seen, other])
    (drawn,) = curves(figure)
    for name, of in (("none", seen), ("dcqcn", other)):
        table = over_time.queue_over_time(of)
        assert np.allclose(drawn[name][0] * 1e3, table["time_us"].to_numpy())
        assert np.allclose(drawn[name][1] * 1e3, table["longest_bytes"].to_numpy())
    assert [line.get_color() for line in figure.axes[0].get_lines()] == [
        style_of("none").colour,
        style_of("dcqcn").colour,
    ]


def test_slowdowns_of_each_scheme_are_drawn_over_the_same_bins() -> None:
    slow = made([(2000, 10, float(place)) for place in range(1, 101)], "dcqcn")
    fast = made([(2000, 10, 1.0)] * 100 + [(8000, 10, 2.0)] * 50, "hpcc")
    figure = plot.slowdown_by_size([slow, fast])
    assert [axes.get_title() for axes in figure.axes[:3]] == ["Slowdown p50", "Slowdown p95", "Slowdown p99"]
    for drawn, value in zip(curves(figure), (50.0, 95.0, 99.0), strict=False):
        assert drawn["dcqcn"][1][0] == value
        assert np.isnan(drawn["dcqcn"][1][1]), "it has none of 8 KB"
        assert drawn["hpcc"][1][0] == 1.0
        assert drawn["hpcc"][1][1] == 2.0 or value == 99.0
    assert np.isnan(curves(figure)[2]["hpcc"][1][1]), "50 messages are too few for a p99"
    assert "p99 100" in figure.get_suptitle()
    below = figure.axes[3]
    assert [text.get_text() for text in below.get_xticklabels()] == ["2 KB", "8 KB"]
    assert [text.get_text() for text in below.texts] == ["100", "25"], "messages in a run"


def test_goodput_has_a_panel_per_scheme_and_fairness_beside(seen: fanin.Result) -> None:
    other = run(ALL, scheme="dcqcn")
    figure = plot.goodput([seen, other])
    wholes, first, fair, wholes_too, second, fair_too = curves(figure)
    assert list(wholes) == list(wholes_too) == ["queries"]
    assert list(first) == list(second) == ["long:0", "queries:0", "queries:1"]
    assert [*fair, *fair_too] == ["none", "dcqcn"]
    table = over_time.goodput_over_time(seen).filter(pl.col("where") == "queries:1")
    across, up = first["queries:1"]
    assert np.array_equal(up[::2], table["gbps"].to_numpy())
    assert np.allclose(across[::2] * 1e3, table["begin_us"].to_numpy())
    assert figure.axes[1].get_ylim() == figure.axes[4].get_ylim()


# Several seeds.


@pytest.fixture(scope="module")
def seeds(folder: None) -> list[fanin.Result]:  # noqa: ARG001
    """Three runs of one spec under one scheme, with everything watched."""
    changes = [
        "network.marking={ kind = 'step', above = '10 KB' }",
        "traffic.queries.pattern.senders=['h1', 'h2', 'h3', 'h4']",
        "traffic.queries.pattern.jitter='20 us'",
    ]
    return fanin.compare(write(ALL), ["dcqcn"], 3, set=changes, progress=False).results


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_picture_is_of_all_seeds(seeds: list[fanin.Result], kind: str) -> None:
    """The last of the seeds changes the curves."""
    two, three = KINDS[kind](seeds[:2]), KINDS[kind](seeds)
    assert "3 seeds" in three.get_suptitle()

    def drawn(figure: Figure) -> list[tuple[float, ...]]:
        lines = [line for axes in figure.axes for line in axes.get_lines()]
        return [tuple(np.nan_to_num(np.asarray(line.get_ydata(), float))) for line in lines]

    assert drawn(two) != drawn(three)
    again = KINDS[kind](seeds[::-1])
    assert len(drawn(again)) == len(drawn(three))
    for one, other in zip(drawn(again), drawn(three), strict=True):
        assert one == pytest.approx(other), "in whatever order they come"


def test_curves_over_time_are_means_of_the_seeds_with_a_band(seeds: list[fanin.Result]) -> None:
    figure = plot.queue_over_time(seeds)
    (drawn,) = curves(figure)
    each = [over_time.queue_over_time(run)["longest_bytes"].to_numpy() for run in seeds]
    assert len({tuple(one) for one in each}) == 3
    assert np.allclose(drawn["dcqcn"][1] * 1e3, np.mean(each, axis=0))
    (band,) = figure.axes[0].collections
    (path,) = band.get_paths()
    assert np.asarray(path.vertices)[:, 1].max() * 1e3 == pytest.approx(np.max(each))
    assert "band from the smallest to the largest" in figure.get_suptitle()
    (alone,) = plot.queue_over_time(seeds[0]).axes
    assert len(alone.collections) == 0
    watched = plot.pauses(seeds)
    counts = [over_time.pauses_over_time(run)["paused"].to_numpy() for run in seeds]
    assert np.allclose(curves(watched)[0]["dcqcn"][1][::2], np.mean(counts, axis=0))


def test_utilisation_is_the_mean_over_seeds(seeds: list[fanin.Result]) -> None:
    (drawn,) = curves(plot.utilisation(seeds))
    tables = [measures.utilisation_by_tier(run) for run in seeds]
    assert np.allclose(drawn["dcqcn"][1], np.mean([table["mean"].to_numpy() for table in tables], axis=0))
    whole = measures.utilisation_by_tier(seeds)
    assert whole["ci95"].null_count() == 0
    assert measures.utilisation_by_tier(seeds[:1])["ci95"].null_count() == whole.height
    ports = [table["utilisation"][3].to_list() for table in tables]
    assert whole["utilisation"][3].to_list() == pytest.approx(np.mean(ports, axis=0).tolist())


def test_a_distribution_pools_the_seeds_and_its_p99_is_that_of_the_table(tiny: Path) -> None:
    compared = fanin.compare(tiny, ["none"], 3, progress=False)
    figure = plot.completion(compared)
    ((label, (times, _)),) = curves(figure)[0].items()
    assert len(times) == sum(measures.reported(run).height for run in compared.results)
    (row,) = compared.rows
    assert label == f"none (p99 {table.with_interval(row, 'fct_p99_us', table.time)})"
    assert "pooled" in figure.get_suptitle()


def test_many_schemes_have_a_panel_each_over_time(seen: fanin.Result) -> None:
    runs = [seen, *(run(ALL, scheme=scheme) for scheme in ("dcqcn", "hpcc", "dctcp-rate"))]
    for draw in (plot.queue_over_time, plot.pauses):
        figure = draw(runs)
        panels = [axes.get_title(loc="left") for axes in figure.axes]
        assert panels == ["none", "dcqcn", "hpcc", "dctcp-rate"]
        assert len({axes.get_ylim() for axes in figure.axes}) == 1
        assert figure.get_suptitle().split("\n")[1].startswith(("Longest", "Queues paused"))


def overprinted(figure: Figure) -> list[str]:
    """Labels of an axis that lie over one another, and legends and titles that lie over data or one another."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            labels = [t.label1 for t in ticks if t.label1.get_visible() and t.label1.get_text()]
            if axis is axes.xaxis and any(label.get_rotation() for label in labels):
                continue  # boxes of slanted words overlap where the words do not
            boxes = [(label.get_text(), label.get_window_extent(renderer)) for label in labels]
            for (one, box), (two, other) in pairwise(boxes):
                if box.overlaps(other):
                    found.append(f"{axes.get_title()}: {one} over {two}")
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()) is not None)]
    for legend in legends:
        box = legend.get_window_extent(renderer)
        found += [f"a legend over {axes.get_title()}" for axes in figure.axes if box.overlaps(axes.bbox)]
        if not (figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0):
            found.append("a legend beyond the figure")
    suptitle = figure._suptitle.get_window_extent(renderer)  # type: ignore[attr-defined]
    found += [
        f"the title over {axes.get_title()}"
        for axes in figure.axes
        if suptitle.overlaps(axes.title.get_window_extent())
    ]
    return found


MANY = ["dcqcn", "dctcp-rate", "hpcc", "dart", "none", "fixed-window", "newreno", "dctcp"]


@pytest.fixture(scope="module")
def many(folder: None, seeds: list[fanin.Result]) -> dict[str, list[fanin.Result]]:  # noqa: ARG001
    """One scheme and eight, with one seed and two, and messages of sizes and times that span decades."""
    spread = [
        "traffic.queries.size={ cdf = 'WebSearch' }",
        "traffic.queries.pattern.jitter='20 us'",
        "measure.window='3 ms'",
    ]
    compared = fanin.compare(write(ALL), MANY, 2, set=spread, progress=False).results
    return {
        "one": compared[:1],
        "one scheme, two seeds": compared[:2],
        "eight schemes": compared[::2],
        "eight schemes, two seeds": compared,
        "three seeds": seeds,
    }


@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_is_printed_over_anything(many: dict[str, list[fanin.Result]], kind: str) -> None:
    for what, runs in many.items():
        assert overprinted(KINDS[kind](runs)) == [], what


@pytest.mark.parametrize(("low", "high"), [(1, 3), (0.9, 40), (3, 7e4), (10, 2e8), (1e-3, 1e12)])
def test_ticks_of_logarithmic_axes_are_few_round_numbers(low: float, high: float) -> None:
    ticks = log_ticks(low, high, 7)
    assert 1 <= len(ticks) <= 7
    assert all(low <= tick <= high * (1 + 1e-9) for tick in ticks)
    assert {float(f"{tick:e}".split("e")[0]) for tick in ticks} <= {1.0, 2.0, 3.0, 5.0}


def test_values_stand_as_people_write_them() -> None:
    assert [time_text(us) for us in (0.5, 10, 2000, 5e6)] == ["0.5 us", "10 us", "2 ms", "5 s"]
    assert [plain_number(value) for value in (0.25, 3.0, 1e6)] == ["0.25", "3", "1,000,000"]
    assert measures.size_text(1_000_000) == "1 MB"
    assert measures.bin_texts([(1, 1_333_333), (2_000_000, 2_000_000)])[0] == ["1.33 MB", "2 MB"]


def test_an_axis_is_logarithmic_where_values_span_decades() -> None:
    axes = Figure().subplots()
    assert not set_axis(axes, "y", [1.0, 19.0])
    assert axes.get_yscale() == "linear"
    assert set_axis(axes, "y", [1.0, 21.0])
    assert axes.get_yscale() == "log"
    assert not set_axis(Figure().subplots(), "y", [0.0, 1000.0]), "there is no place for 0"
    assert time_axis(Figure().subplots(), [1.0, 2000.0], "FCT") == "FCT (log scale)"
    assert time_axis(Figure().subplots(), [1500.0, 2600.0], "FCT") == "FCT (ms)"


LINE = re.compile(r"add to measure\.series: (\{.*\})$")


@pytest.mark.parametrize("kind", ["queues", "queue-over-time", "goodput", "rates"])
def test_what_was_not_measured_is_said_with_the_line_that_measures_it(blind: fanin.Result, kind: str) -> None:
    with pytest.raises(fanin.RunError) as refused:
        KINDS[kind](blind)
    told = LINE.search(str(refused.value))
    assert told is not None, str(refused.value)
    assert "\n" not in str(refused.value)
    KINDS[kind](run(f"series = [{told[1]}]"))


def test_pauses_are_counted_where_ports_were_not_watched(blind: fanin.Result, seen: fanin.Result) -> None:
    figure = plot.pauses(blind)
    assert "pauses in" in figure.axes[0].get_ylabel()
    assert "at once" in plot.pauses(seen).axes[0].get_ylabel()
    with pytest.raises(fanin.RunError) as refused:
        over_time.pauses_over_time(blind)
    told = LINE.search(str(refused.value))
    assert told is not None
    assert not over_time.pauses_over_time(run(f"series = [{told[1]}]")).is_empty()


def test_pauses_beyond_those_kept_are_told(blind: fanin.Result) -> None:
    network = {**blind.summary()["network"], "events_left_out": {"pause": 5}}
    summary = cast("Summary", {**blind.summary(), "network": network})
    short = fanin.Result(blind.label, blind.manifest, blind.spec, summary, blind._arrow, None)
    last_us = int(cast("int", blind.events().filter(pl.col("kind") == "pause")["time_ps"].max())) / 1e6
    counts = over_time.pause_counts(short)
    assert counts["end_us"][-1] == pytest.approx(last_us)
    assert "5 later pauses were not recorded" in texts(plot.pauses(short).axes[0])


def texts(axes: Axes) -> str:
    return " ".join(text.get_text() for text in axes.texts)


def test_a_run_without_a_finished_message_is_drawn() -> None:
    cut = run(ALL, "measure.window='52 us'", "measure.drain=false", "measure.trace=['queries:0']")
    assert cut.flows().filter("measured")["completion_ps"].count() == 0
    for kind, draw in KINDS.items():
        assert draw(cut).axes, kind
    (legend,) = plot.slowdown_by_size(cut).legends
    assert "unfinished" in legend.get_texts()[0].get_text()
    assert "none finished" in texts(plot.slowdown_by_size(cut).axes[0])
    assert "Not complete when the run stopped. None of its packets had arrived." in plot.timeline(cut).get_suptitle()


def test_a_cancelled_run_says_so() -> None:
    stopped = fanin.run(write(ALL), set=["measure.window='2 s'"], progress=lambda state: state.simulated_s < 1e-4)
    assert stopped.cancelled
    for draw in KINDS.values():
        assert "cancelled at" in draw(stopped).get_suptitle()


def test_the_methods_of_a_run_draw_the_same(seen: fanin.Result, tmp_path: Path) -> None:
    draws = {name: getattr(seen, name) for name in dir(seen) if name.startswith("plot_")}
    assert len(draws) == len(plot.KINDS) - 1 + 1, "all but the comparison, and the timeline"
    del draws["plot_pause_trees"], draws["plot_ranks"]
    for name, draw in draws.items():
        draw(path=tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000, name


def test_pictures_are_loaded_when_they_are_asked_for() -> None:
    loaded = "'matplotlib' in sys.modules"
    code = f"import sys, fanin; assert not {loaded}; fanin.plot.completion; assert {loaded}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = fanin.nonesuch


def test_no_peak_is_lost_where_curves_are_thinned() -> None:
    values = np.zeros(100_000)
    values[[0, 51_234, 99_999]] = 7, 9, 8
    kept = peaks(values, 500)
    assert len(kept) == 500
    assert sorted(values[kept])[-3:] == [7, 8, 9]
    assert (np.diff(kept) > 0).all()


def test_steps_leave_gaps_open() -> None:
    across, up = steps([0.0, 1.0, 5.0], [1.0, 2.0, 6.0], [3.0, 4.0, 5.0])
    assert across == [0.0, 1.0, 1.0, 2.0, 5.0, 5.0, 6.0]
    assert up[:4] == [3.0, 3.0, 4.0, 4.0]
    assert np.isnan(up[4])
    assert up[5:] == [5.0, 5.0]


def test_shades_go_from_the_colour_to_pale() -> None:
    assert shades("#0072b2", 1) == ["#0072b2"]
    first, second, third = shades("#000000", 3)
    assert (first, first < second < third) == ("#000000", True)

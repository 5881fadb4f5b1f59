"""Numbers of traffics, classes of sizes and tiers: worked out again from the tables, and in tables and pictures."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import fanin
from fanin import measures, over_time, parts, table
from fanin.quantities import quantity, without_unit
from fanin.sweeps import means

VARY = {"network.marking.above": ["10 KB", "40 KB", "160 KB"], "network.buffer.per_port": ["60 KB", "225 KB"]}


@pytest.fixture(scope="module")
def swept(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fanin.Sweep]:
    """Two keys under two seeds."""
    out = tmp_path_factory.mktemp("parts") / "swept"
    with ThreadPoolExecutor(2) as pool:
        yield fanin.sweep(tiny, seeds=2, vary=VARY, out=out, executor=pool, progress=False)


def test_queues_of_a_tier_are_over_all_samples_of_its_ports(result: fanin.Result) -> None:
    numbers = result.numbers()
    # Every sample, those of empty queues too.
    samples = over_time.queue_samples(result)["queue_bytes"].to_numpy().astype(float)
    assert (samples == 0).mean() > 0.5
    assert numbers["queue_p50_bytes of last-hop"] == measures.percentile(samples, 500) == 0.0
    assert numbers["queue_p99_bytes of last-hop"] == measures.percentile(samples, 990)
    ports = result.ports().filter(pl.col("tier") == "last-hop")
    assert numbers["queue_max_bytes of last-hop"] == ports["peak_queue_bytes"].max()
    assert (
        numbers["paused_us of host-uplink"] == float(result.ports().filter(tier="host-uplink")["paused_ps"].sum()) / 1e6
    )
    assert numbers["queue_p99_bytes of host-uplink"] is None, "not sampled"


def test_messages_of_a_traffic_are_divided_by_size(tiny: Path) -> None:
    sizes = 'traffic.queries.size={ uniform_of = ["2 KB", "10 KB", "40 KB"] }'
    run = fanin.run(tiny, set=[sizes], progress=False)
    numbers = run.numbers()
    flows = run.flows().filter(pl.col("measured"), traffic="queries")
    small = flows.filter(pl.col("bytes") <= 10_000)
    assert 0 < small.height < flows.height
    assert numbers["started of queries up to 10 KB"] == small.height
    assert numbers["started of queries 10 KB to 100 KB"] == flows.height - small.height
    p99 = measures.percentile(measures.completion_us(small.drop_nulls("completion_ps")), 990)
    assert p99 is not None
    assert numbers["fct_p99_us of queries up to 10 KB"] == p99
    assert not [name for name in numbers if " of updates up to" in name], "of one class: the traffic's own numbers"
    bounds = np.array([1, 10_000, 10_001, 100_000, 20_000_000])
    assert [name for _, _, name in parts.size_classes(bounds)] == ["up to 10 KB", "10 KB to 100 KB", "above 10 MB"]


def test_the_table_of_a_sweep_has_them_and_so_has_that_of_a_comparison(
    swept: fanin.Sweep, compared: fanin.Comparison
) -> None:
    frame = swept.table()
    assert frame["goodput_gbps of updates"].null_count() == 0
    assert frame.columns[-1] == "run"
    both = compared.table()
    assert both["scheme"].to_list() == ["dcqcn", "none"]
    assert both["queue_p99_bytes of last-hop"].to_list() == [
        run.numbers()["queue_p99_bytes of last-hop"] for run in compared.results
    ]
    others = set(VARY)
    assert set(frame.columns) - others == set(both.columns), "one kind of table"
    assert list(both.schema.items())[2:] == [item for item in frame.schema.items() if item[0] not in others][2:]
    row = compared.rows[0]
    value = row.value("goodput_gbps of updates")
    assert value is not None
    in_row: Any = row.to_json()["parts"]
    assert {"number": "goodput_gbps of updates", "value": value, "ci95": None} in in_row
    longest = frame["queue_max_bytes of last-hop"][0]
    in_run: Any = swept.runs[0].to_json()["parts"]
    assert {"number": "queue_max_bytes of last-hop", "value": longest} in in_run


def printed(swept: fanin.Sweep, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(swept.text())
    return captured.get().splitlines()


def test_text_has_the_numbers_that_vary_and_headings_break_between_words(swept: fanin.Sweep) -> None:
    lines = printed(swept, 80)
    assert max(map(len, lines)) <= 80
    found = means.points(swept)
    names = table.varying_numbers(found)
    assert "queue_p99_bytes of last-hop" in names
    assert "marked_share" in names
    assert "timeouts" not in names, "none at any point"
    assert "slowdown_p99 of queries" not in names, "it is that of the whole run"
    text = " ".join(lines)
    heads = {quantity(name).row for name in names[: table.MOST_SHOWN]}
    for word in {word for head in heads for word in head.split()}:
        assert f" {word} " in text, f"{word} is broken"
    for point in found:
        one = point.numbers["queue_p99_bytes of last-hop"]
        assert table.estimated(one, table.SHOWN["B"]) in text.replace("\u00a0", " ")
    # A number that is the same at all points has no column.
    assert not table.varying_numbers(found[:1])


def test_two_keys_are_drawn_as_a_map(swept: fanin.Sweep, tmp_path: Path) -> None:
    figure = swept.plot_map("above", "per_port", "queue_p99 of last-hop", tmp_path / "map.png")
    axes, bar = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10 KB", "40 KB", "160 KB"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["60 KB", "225 KB"]
    colours = np.asarray(axes.images[0].get_array())
    values = swept.table().filter(
        pl.col("network.marking.above") == "160 KB", pl.col("network.buffer.per_port") == "60 KB"
    )
    assert colours[0, 2] == pytest.approx(values["queue_p99_bytes of last-hop"].mean() / 1e3)  # type: ignore[operator]
    assert bar.get_ylabel() == "99th percentile of queues of last-hop (KB)"
    assert "\u00b1" in axes.texts[0].get_text()
    with pytest.raises(fanin.RunError, match="a map has two columns"):
        swept.plot_map("above", "above", "drops")
    with pytest.raises(
        fanin.RunError, match=r"queue_p99 of lst-hop: not a number of a sweep; did you mean queue_p99_b"
    ):
        swept.plot_map("above", "per_port", "queue_p99 of lst-hop")


def test_amounts_are_joined_by_a_line_and_categories_are_not(swept: fanin.Sweep, tiny: Path, tmp_path: Path) -> None:
    axes = swept.plot("network.marking.above", "goodput of updates").axes[0]
    assert axes.get_xlabel() == "network.marking.above"
    assert axes.lines[0].get_linestyle() != "None"
    assert np.ptp(np.asarray(axes.lines[0].get_xdata(), float)) > 140e3, "to scale"
    with ThreadPoolExecutor(1) as pool:
        kinds = ["flow-hash", "random"]
        vary = {"network.balancing": kinds}
        short = ["measure.window=1 ms"]
        named = fanin.sweep(tiny, vary=vary, out=tmp_path / "b", set=short, executor=pool, progress=False)
    axes = named.plot("network.balancing", "drops").axes[0]
    assert axes.lines[0].get_linestyle() == "None"


def test_a_picture_has_no_empty_half(swept: fanin.Sweep) -> None:
    axes = swept.plot("network.marking.above", "slowdown_p50 of queries").axes[0]
    low, high = axes.get_ylim()
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.lines])
    assert values.min() > low >= 0
    assert (low == 0) == (values.min() < 0.5 * values.max()), "from zero, unless that left half of it empty"
    assert values.max() < high


def test_names_of_numbers_may_lack_their_unit() -> None:
    known = ["goodput_gbps of long", "goodput_gbps of longer", "fct_p99_us"]
    assert means.known_number("goodput of long", known) == "goodput_gbps of long"
    assert means.known_number("fct_p99", known) == "fct_p99_us"
    assert without_unit("queue_p99_bytes of last-hop") == "queue_p99 of last-hop"
    with pytest.raises(fanin.RunError, match="did you mean"):
        means.known_number("goodput of lon", known)

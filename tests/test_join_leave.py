"""Flows that join and leave, as the picture `flows` draws them, and what limits each of them over time."""

from pathlib import Path

import matplotlib.figure
import numpy as np
import polars as pl
import pytest

import fanin
from fanin import over_time, plot
from pages import pictures


@pytest.fixture(scope="module")
def compared(root: Path) -> fanin.Comparison:
    """The example under a scheme with windows, one whose receiver assigns them, and one with rates."""
    return fanin.compare(root / "examples" / "join-leave.toml", ["dctcp", "rcc", "dart"], progress=False)


def limit(result: fanin.Result, column: str, flow: str, at_ms: float) -> float:
    """The window or rate of a flow at an instant."""
    table = over_time.rates_over_time(result).filter((pl.col("where") == flow) & (pl.col("time_us") == at_ms * 1e3))
    return float(table[column].item())


def test_the_smaller_of_both_windows_limits_a_flow(compared: fanin.Comparison) -> None:
    dctcp, rcc, _ = compared.results
    watched = rcc.watch().filter(pl.col("where") == "second:0").sort("time_ps")
    of = {
        name: watched.filter(pl.col("name") == name)["value"].to_numpy()
        for name in ("window_bytes", "peer_window_bytes")
    }
    assert (of["window_bytes"] > of["peer_window_bytes"]).any(), "NewReno's own window is the larger one"
    # RCC without sizes: 20 segments of 1,460 bytes for each of two flows, 13 for each of three; in units of 64 bytes.
    for at_ms, flow, segments in ((30, "second:0", 20), (50, "second:0", 13), (75, "third:0", 20)):
        assert 0 <= segments * 1460 - limit(rcc, "window_bytes", flow, at_ms) < 64, (at_ms, flow)
    assert limit(dctcp, "window_bytes", "second:0", 30) < 100_000, "not the 4 MB that its receiver allows"


def test_the_smaller_of_share_and_rate_limits_a_flow_under_dart(compared: fanin.Comparison) -> None:
    dart = compared.results[2]
    for at_ms, flow, n in ((10, "first:0", 1), (30, "first:0", 2), (50, "third:0", 3), (75, "third:0", 2)):
        assert limit(dart, "rate_bps", flow, at_ms) == pytest.approx(10e9 / n, rel=1e-3), (at_ms, flow)


def test_what_receivers_watch_counts_once_for_traffics_that_share_it(compared: fanin.Comparison) -> None:
    told = over_time.receiver_curve([compared.results[2]], "n")
    told_at = {at: told.filter(pl.col("time_us") == at * 1e3)["mean"].item() for at in (10, 30, 50, 75)}
    assert told_at == {10: 1, 30: 2, 50: 3, 75: 2}
    in_flight = over_time.receiver_curve([compared.results[1]], "flight_wins")
    assert in_flight["mean"].to_numpy().max() <= 40
    assert over_time.receiver_curve([compared.results[0]], "n").is_empty()


def panels(figure: matplotlib.figure.Figure) -> dict[str, list[str]]:
    """The titles of the axes below each other, by the scheme at their top."""
    found: dict[float, list[tuple[float, str]]] = {}
    title: dict[float, str] = {}
    figure.canvas.draw()
    for axes in figure.axes:
        left = round(axes.get_position().x0, 2)
        found.setdefault(left, []).append((-axes.get_position().y0, axes.get_ylabel()))
        title[left] = title.get(left) or axes.get_title()
    return {title[left]: [name for _, name in sorted(stack)] for left, stack in found.items()}


def test_the_picture_has_a_column_per_scheme(compared: fanin.Comparison, tmp_path: Path) -> None:
    figure = plot.flows(compared, tmp_path / "flows.png")
    assert (tmp_path / "flows.png").is_file()
    assert panels(figure) == {
        "dctcp": ["goodput (Gb/s)", "window (KB)", "queue (KB)"],
        # No ACK is held: all windows together are what may be in flight.
        "rcc": ["goodput (Gb/s)", "window (KB)", "queue (KB)", "windows in flight\n(segments)"],
        "dart": ["goodput (Gb/s)", "rate (Gb/s)", "queue (KB)", "senders\nas told (n)"],
    }
    first = [axes for axes in figure.axes if axes.get_title() == "dctcp"]
    lines = {str(line.get_label()): line for line in first[0].get_lines()}
    assert list(lines) == ["first:0", "second:0", "third:0"]
    begins = [np.asarray(line.get_xdata(), float).min() for line in lines.values()]
    assert begins == [0, 20, 40]
    assert len({line.get_color() for line in lines.values()}) == 3
    assert first[0].get_ylim()[1] <= 12, "a repaired gap is cut off at 1.2 times the fastest link"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(lines)


def test_many_schemes_have_rows_of_columns(compared: fanin.Comparison, root: Path) -> None:
    more = fanin.run(root / "examples" / "join-leave.toml", scheme="newreno", progress=False)
    figure = plot.flows([*compared.results, more])
    titled = {axes.get_title(): axes.get_position() for axes in figure.axes if axes.get_title()}
    assert list(titled) == ["dctcp", "rcc", "dart", "newreno"]
    assert titled["newreno"].y0 < titled["dart"].y0 == titled["dctcp"].y0


def test_in_a_mixed_run_the_legend_names_schemes(root: Path) -> None:
    mixed = fanin.run(root / "examples" / "join-leave.toml", set=["traffic.third.scheme=rcc"], progress=False)
    figure = plot.flows(mixed)
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["first:0 (dctcp)", "second:0 (dctcp)", "third:0 (rcc)"]


def test_pages_of_schemes_show_their_pictures(root: Path) -> None:
    for page, presets in pictures.SCHEMES.items():
        assert pictures.picture(page).is_file(), "make pictures"
        assert (
            f"![Three flows under {', '.join(presets)}]({page}.png)" in (root / f"docs/schemes/{page}.md").read_text()
        )

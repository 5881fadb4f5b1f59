"""The HTML report: its content, and that it works in a browser without network."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, Request

import fanin
from fanin import measures, over_time, table
from fanin.over_seeds import half_width
from fanin.reporting import charts, figures, report
from fanin.run_folder import Drops, Summary
from fanin.style import style_of

NAME = "</script><script>alert('spec')</script> & <b>%{x}</b>"
SPEC = """
spec_version = 1
name = "NAME"
seed = 1

[network]
topology = { kind = "leaf-spine", leaves = 2, hosts = 4, spines = 1, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "40 KB", policy = "lossless" }
marking = { kind = "step", above = "10 KB" }

[[traffic]]
name = "<i>queries</i>"
scheme = "dcqcn"
pattern = { kind = "incast", degree = 6, jitter = "1 us" }
size = { uniform_of = ["2 KB", "4 KB", "16 KB"] }
load = { share = 0.3, of = "host-links" }

[[traffic]]
name = "updates"
scheme = "dcqcn"
pattern = { kind = "long", spread = "50 us" }
load = { share = 0.3, of = "host-links" }

[measure]
warm_up = "50 us"
window = "450 us"
drain = false
report_size = "16 KB"
series = [
  { what = "queue", where = "switch-ports", every = "5 us" },
  { what = "port", where = "switch-ports", every = "5 us" },
  { what = "traffic", where = ["<i>queries</i>", "updates"], every = "20 us" },
  { what = "flow", where = ["updates:0", "updates:1"], every = "10 us" },
]
"""
SCHEMES = ["dcqcn", "hpcc", "none"]
CHARTS = {
    "completion",
    "queue-lengths",
    "slowdown",
    "queues",
    "pauses",
    "goodput",
    "message-goodput",
    "fairness",
    "utilisation",
    "rates",
    "windows",
}


class Reader(HTMLParser):
    """The tables of a page as lists of rows, by id, its scripts, and all text that is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.classes: dict[str, list[list[str]]] = {}
        self.scripts: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self._table = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._inside = tag
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if tag == "table":
            self._table = named.get("id") or ""
            self.tables[self._table] = []
            self.classes[self._table] = []
        elif tag == "tr":
            self.tables[self._table].append([])
            self.classes[self._table].append([])
        elif tag in ("td", "th"):
            self.tables[self._table][-1].append("")
            self.classes[self._table][-1].append(named.get("class") or "")
        elif tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data
            if self._table and self.tables[self._table] and self.tables[self._table][-1]:
                self.tables[self._table][-1][-1] += data.strip()


def figures_of(page: Reader) -> dict[str, dict[str, Any]]:
    return cast("dict[str, dict[str, Any]]", json.loads(page.scripts[0]))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> fanin.Comparison:
    path = tmp_path_factory.mktemp("report") / "watched.toml"
    path.write_text(SPEC.replace("NAME", NAME.replace('"', '\\"')))
    return fanin.compare(path, SCHEMES, progress=False)


@pytest.fixture(scope="module")
def folder(watched: fanin.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watched.save(tmp_path_factory.mktemp("report") / "a folder")


@pytest.fixture(scope="module")
def written(folder: Path) -> Path:
    return report(folder)


@pytest.fixture(scope="module")
def read(written: Path) -> Reader:
    return Reader(written.read_text(encoding="utf-8"))


def test_charts_over_time_mark_what_fails(tmp_path: Path) -> None:
    """In each panel, with what it was beside the lines of the first; and in no other chart."""
    text = SPEC.replace(
        "marking = {", 'links = [{ between = ["leaf0", "spine0"], down = [["100 us", "2 ms"]] }]\nmarking = {'
    )
    (tmp_path / "failing.toml").write_text(text)
    made = {chart.id: chart.figure for chart in charts.charts([fanin.run(tmp_path / "failing.toml", progress=False)])}
    layout = cast(Any, made["queues"])["layout"]
    assert [(line["xref"], line["x0"], line["x1"]) for line in layout["shapes"]] == [("x", 100, 100), ("x2", 100, 100)]
    assert [note["text"] for note in layout["annotations"]][:2] == [
        "leaf0&gt;spine0 down, new routes",
        "<b>longest</b>",
    ]
    assert cast(Any, made["completion"])["layout"]["shapes"] == []


def test_the_report_of_a_folder_lies_in_it_and_stays_small(written: Path, folder: Path) -> None:
    assert written == folder / "report.html"
    assert written.stat().st_size < 8_000_000
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == [], "no scraps"


def test_the_table_is_that_of_the_terminal(read: Reader, watched: fanin.Comparison) -> None:
    head, *rows = read.tables["numbers"]
    assert head == ["", *SCHEMES]
    expected = [[line.name, *line.cells] for section in table.lines(watched) for line in section]
    assert rows == expected
    told = {name: cells for name, *cells in rows}
    assert told["messages started"] == [f"{row.started:,}" for row in watched.rows]
    assert told["16 KB: slowdown p99"] == [table.number(row.slowdown_p99) for row in watched.rows]
    assert told["PFC pause time"] == [table.time(row.paused_us) for row in watched.rows]


def test_nothing_is_marked_as_the_best_of_one_seed(read: Reader, watched: fanin.Comparison) -> None:
    names = [row[0] for row in read.tables["numbers"]]
    marks = dict(zip(names, read.classes["numbers"], strict=True))
    assert any(row.unfinished for row in watched.rows), "no drain: some are on their way at the end"
    assert {mark for row in marks.values() for mark in row} == {"", "unfinished"}
    assert marks["messages unfinished"][1:] == ["unfinished" if row.unfinished else "" for row in watched.rows]
    assert "one seed: there is no interval" in read.text
    assert "Marked" not in read.text


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> fanin.Comparison:
    """The same under two schemes with three seeds."""
    path = tmp_path_factory.mktemp("report") / "seeds.toml"
    path.write_text(SPEC.replace("NAME", "seeds"))
    return fanin.compare(path, ["dcqcn", "none"], 3, progress=False)


def test_marks_are_those_of_the_terminal(tiny: Path, tmp_path: Path) -> None:
    several = fanin.compare(tiny, ["dcqcn", "none"], 3, progress=False)
    page = Reader(report(several, tmp_path / "report.html").read_text(encoding="utf-8"))
    best = {line.name: line.best for section in table.lines(several) for line in section}
    assert any(place is not None for place in best.values())
    for (name, *_), (_, *classes) in zip(page.tables["numbers"][1:], page.classes["numbers"][1:], strict=True):
        assert [mark == "best" for mark in classes] == [place == best[name] for place in range(2)], name
    assert "its 95 % interval does not overlap with any other" in page.text


def test_charts_are_of_all_seeds(seeds: fanin.Comparison) -> None:
    made = {chart.id: chart for chart in charts.charts(seeds.results)}
    fewer = {chart.id: chart for chart in charts.charts([r for r in seeds.results if r.manifest["seed"] != 3])}
    assert set(made) == CHARTS
    for key, chart in made.items():
        if chart.figure is None:
            continue
        assert "3 seeds: " in chart.note, key
        assert chart.figure["data"] != cast("dict[str, Any]", fewer[key].figure)["data"], key
    queues = cast("list[dict[str, Any]]", cast("dict[str, Any]", made["queues"].figure)["data"])
    curve, band = queues[0], queues[1]
    each = [over_time.queue_over_time(run)["longest_bytes"].to_numpy() for run in seeds.results[:3]]
    assert curve["y"] == pytest.approx([sum(values) / 3e3 for values in zip(*each, strict=True)], rel=1e-5)
    assert max(band["y"]) == pytest.approx(max(one.max() for one in each) / 1e3, rel=1e-5)
    assert band["fill"] == "toself"
    assert (band["meta"]["scheme"], band["showlegend"]) == ("dcqcn", False), "it is hidden with its scheme"
    bar = cast("list[dict[str, Any]]", cast("dict[str, Any]", made["utilisation"].figure)["data"])[0]
    mean = measures.utilisation_by_tier(seeds.results[:3])
    assert bar["y"] == pytest.approx((mean["mean"] * 100).to_list(), rel=1e-5)
    assert bar["error_y"]["array"] == pytest.approx((mean["ci95"] * 100).to_list(), rel=1e-5)
    assert "pooled" in made["completion"].note
    assert any("error_y" in trace for trace in cast("dict[str, Any]", made["slowdown"].figure)["data"])


def test_a_chart_says_that_transports_differ(watched: fanin.Comparison, tiny: Path, tmp_path: Path) -> None:
    mixed = fanin.compare(tiny, ["dctcp", "dcqcn"], set=["measure.window=1 ms"], progress=False)
    page = Reader(report(mixed, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "dctcp-rate is DCTCP's law over RDMA" in page.text
    assert "law over RDMA" not in Reader(report(watched, tmp_path / "report.html").read_text(encoding="utf-8")).text


def test_a_sweep_has_a_report(tiny: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        swept = fanin.sweep(
            tiny, ["dcqcn", "none"], [0.2, 0.4], 2, out=tmp_path / "loads", executor=threads, progress=False
        )
    written = report(tmp_path / "loads")
    assert written == tmp_path / "loads" / "report.html"
    page = Reader(written.read_text(encoding="utf-8"))
    found = figures_of(page)
    assert {"fct-p50-us", "fct-p99-us", "slowdown-p99", "long-goodput-gbps", "marked-share"} <= set(found)
    assert "drops" not in found, "nothing was dropped"
    numbers = swept.table()
    first, second = found["fct-p99-us"]["data"]
    for trace, scheme in ((first, "dcqcn"), (second, "none")):
        assert trace["meta"]["scheme"] == scheme
        assert trace["x"] == [0.2, 0.4]
        values = numbers.filter(scheme=scheme, load=0.2)["fct_p99_us"]
        assert trace["y"][0] == pytest.approx(values.mean(), rel=1e-5)
        assert trace["error_y"]["array"][0] == pytest.approx(half_width(values.to_list()), rel=1e-5)
    layout = found["fct-p99-us"]["layout"]
    assert layout["xaxis"]["ticktext"] == ["20 %", "40 %"]
    assert layout["yaxis"]["title"]["text"] == "99th percentile FCT (us)"
    assert [row[:3] for row in page.tables["numbers"][1:]] == [
        [scheme, load, "2"] for scheme in ("dcqcn", "none") for load in ("20 %", "40 %")
    ]
    assert len(page.tables["runs"]) == 1 + 8
    assert "mean over the seeds, with half of its 95 % interval" in page.text
    assert [link for link in page.links if not link.startswith("data:")] == []


def test_what_a_spec_says_stays_text(read: Reader, written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert NAME in read.text
    assert "alert('spec')</script>" not in text
    assert len(read.scripts) == 3
    assert "<i>queries" not in text
    goodput = figures_of(read)["goodput"]
    titles = [note["text"] for note in goodput["layout"]["annotations"]]
    assert "<b>&lt;i&gt;queries&lt;/i&gt;</b>" in titles


def test_only_the_scripts_of_the_page_may_run(read: Reader, written: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', written.read_text(encoding="utf-8"))
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    for script in read.scripts[1:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert "script-src 'unsafe-inline'" not in policy[1]


def test_nothing_points_outside(read: Reader, written: Path) -> None:
    _, library, own = read.scripts
    rest = written.read_text(encoding="utf-8").replace(library, "")
    assert "http:" not in rest
    assert "https:" not in rest
    assert "@import" not in rest
    assert "url(" not in rest
    assert "fetch" not in own
    assert [link for link in read.links if not link.startswith("data:")] == []


def test_all_charts_are_there_and_plotly_takes_them(read: Reader) -> None:
    from plotly.graph_objects import Figure

    found = figures_of(read)
    assert set(found) == CHARTS
    for key, made in found.items():
        checked = Figure(made)
        assert {trace.meta["scheme"] for trace in checked.data} == set(SCHEMES) or key == "windows"
        for trace in made["data"]:
            style = style_of(trace["meta"]["scheme"])
            assert style.colour == (trace["marker"]["color"] if trace["type"] == "bar" else trace["line"]["color"])
            assert len(trace["x"]) == len(trace["y"]) > 0, key
        for name, one in made["layout"].items():
            if name.startswith("yaxis"):
                shared = one["anchor"] != "x" and one.get("matches") == "y"
                assert one["title"]["text"] or shared, f"{key} {name}: what, and in which unit"


def test_curves_show_the_runs(read: Reader, watched: fanin.Comparison) -> None:
    found = figures_of(read)
    for result, trace in zip(watched.results, found["completion"]["data"], strict=True):
        times = result.flows().filter(pl.col("measured") & (pl.col("bytes") == 16000))["completion_ps"].drop_nulls()
        assert trace["x"][-1] == pytest.approx(cast("int", times.max()) / 1e6, rel=1e-5)
        assert trace["y"][-1] == 100
        assert trace["name"].startswith(result.label)
    longest = found["queues"]["data"][0]
    assert max(longest["y"]) == pytest.approx(
        cast("int", watched.results[0].series()["queue_bytes"].max()) / 1e3, rel=1e-5
    )
    assert {trace["meta"]["scheme"] for trace in found["utilisation"]["data"]} == set(SCHEMES)
    assert "last-hop" in found["utilisation"]["data"][0]["x"]


def test_many_sizes_have_short_labels_and_whole_ranges(root: Path) -> None:
    quick = ["measure.window=1100 us", "measure.warm_up=0 s"]
    ran = fanin.run(root / "examples" / "coexistence.toml", set=quick, progress=False)
    made = {chart.id: chart for chart in charts.charts([ran])}["slowdown"].figure
    assert made is not None
    trace = cast("list[dict[str, Any]]", made["data"])[0]
    sizes, counts = zip(*(label.split(", n=") for label in trace["x"]), strict=True)
    assert max(map(len, sizes)) <= len("9.99 KB")
    assert [int(count) for count in counts] == [finished for _, finished, _ in trace["customdata"]]
    assert len(set(trace["x"])) == len(trace["x"]) >= 3
    counted = sum(finished + unfinished for _, finished, unfinished in trace["customdata"])
    assert counted == ran.flows()["measured"].sum()
    assert all(" to " in size or size.endswith("B") for size, *_ in trace["customdata"])


def test_the_slowest_messages_are_listed_with_a_command_that_explains_one(
    read: Reader, folder: Path, watched: fanin.Comparison
) -> None:
    worst = (
        watched.results[-1]
        .flows()
        .filter("measured")
        .sort("slowdown", descending=True, nulls_last=True)
        .row(0, named=True)
    )
    listed = read.tables["slowest-none"]
    assert len(listed) == 1 + 20
    assert listed[1][0] == str(worst["flow_id"])
    assert listed[1][6] == table.number(worst["slowdown"])
    assert f"fanin why '{folder}/none' --flow {worst['flow_id']}" in read.text


def test_what_was_not_measured_says_what_to_add(compared: fanin.Comparison, tmp_path: Path) -> None:
    page = Reader(report(compared, tmp_path / "some" / "where.html").read_text(encoding="utf-8"))
    assert set(figures_of(page)) == CHARTS - {"goodput", "message-goodput", "fairness", "rates", "windows", "pauses"}
    assert '{ what = "traffic", where = ["queries"], every = "10 us" }' in page.text
    assert "no port was paused" in page.text


def test_specs_of_other_simulators_have_reports_too(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text(fanin._core.hpcc_topology("star", 3, "100Gbps", "1us"))
    (tmp_path / "flow.txt").write_text("2\n1 0 3 100 50000 2.0\n2 0 3 101 50000 2.0\n")
    config = fanin._core.hpcc_config(
        "hpcc", str(tmp_path / "topo.txt"), str(tmp_path / "flow.txt"), 2.1, "50Mbps", None
    )
    (tmp_path / "c.txt").write_text(config)
    ran = fanin.hpcc.compare_hpcc("c.txt", ["as-is", "hpcc"], folder=tmp_path, progress=False)
    page = Reader(report(ran, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "2.1 s after 0 s of warm-up" in page.text
    assert "None" not in page.text
    assert re.search(r"whose length differs: 2\.01 s \(hpcc-ns3\), [\d.]+ us \(hpcc\)", page.text)
    assert {"completion", "slowdown"} <= set(figures_of(page))
    assert "the formula of the ns-3 HPCC simulator" in page.text


def test_schemes_that_share_a_network_are_one_curve(root: Path, tmp_path: Path) -> None:
    quick = ["measure.window=1100 us", "measure.warm_up=0 s", "measure.drain=false"]
    ran = fanin.run(root / "examples" / "coexistence.toml", set=quick, progress=False)
    page = Reader(report(ran, tmp_path / "report.html").read_text(encoding="utf-8"))
    schemes = [traffic["scheme"] for traffic in ran.summary()["traffics"]]
    assert page.tables["numbers"][0] == ["", "+".join(dict.fromkeys(schemes))]
    assert set(page.tables["actions"][0][1:]) == set(schemes)


def test_runs_in_memory_need_a_path_and_other_folders_are_refused(compared: fanin.Comparison, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give the path"):
        report(compared)
    with pytest.raises(fanin.RunError, match="not a run folder"):
        report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    result: fanin.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(path: Path, text: str, **_: object) -> int:
        path.write_bytes(text[:1000].encode())
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            report(result, path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_long_titles_of_axes_have_several_lines() -> None:
    title = cast("Any", figures.value_axis("PFC pause time, summed over ports", [1.0, 100.0], "us")["title"])
    assert title["text"] == "PFC pause time, summed over<br>ports (us, log scale)"


def test_long_series_keep_their_peaks_and_gaps() -> None:
    import numpy as np

    y = np.sin(np.arange(100_000) / 500)
    y[70_001] = 50.0
    y[20_003] = -50.0
    y[30_000:30_010] = np.nan
    keep = figures.thin_series(y, 1000)
    assert keep.size <= 1500
    assert {0, 20_003, 70_001, 99_999} <= set(keep.tolist())
    assert np.isnan(y[keep]).any()
    sorted_keep = figures.thin_sorted(100_000, 1000)
    assert sorted_keep.size <= 1300
    assert set(range(99_760, 100_000)) <= set(sorted_keep.tolist())


def test_steps_end_where_intervals_do() -> None:
    import numpy as np

    x, y = figures.steps(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 6.0]), np.array([3.0, 4.0, 7.0]))
    assert x.tolist() == [0, 1, 2, 2, 5, 6]
    assert y[:3].tolist() == [3, 4, 4]
    assert np.isnan(y[3])
    assert y[4:].tolist() == [7, 7]


def test_charts_say_when_they_are_thinned(watched: fanin.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {chart.id: chart for chart in charts.charts(watched.results)}
    assert "Thinned" not in made["queues"].note
    monkeypatch.setattr(charts, "MOST_POINTS", 20)
    monkeypatch.setattr(charts, "FEWEST_POINTS", 20)
    made = {chart.id: chart for chart in charts.charts(watched.results)}
    assert "Thinned from up to 90 points a curve" in made["queues"].note
    assert "Thinned from up to " in made["completion"].note
    assert "Thinned" not in made["slowdown"].note


@dataclass
class Opened:
    """A page in Chromium, with its errors and its requests."""

    page: Page
    trouble: list[str] = field(default_factory=list)

    def js(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)

    def plot_area(self, chart: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of the first pair of axes, in the window."""
        place = self.page.locator(f"#{chart}")
        place.scroll_into_view_if_needed()
        box = self.js(
            """id => { const r = document.querySelector(`#${id} .draglayer .nsewdrag`).getBoundingClientRect();
                       return [r.left, r.top, r.width, r.height]; }""",
            chart,
        )
        left, top, width, height = (float(value) for value in box)
        return left, top, width, height

    def drawn(self, chart: str) -> int:
        """How many curves or sets of bars are to be seen."""
        count: int = self.js(
            "id => document.querySelectorAll(`#${id} .scatterlayer .trace, #${id} .barlayer .trace`).length", chart
        )
        return count


def open_report(browser: Browser, path: Path) -> Opened:
    """Opens it; anything beyond the file itself is trouble."""
    opened = Opened(browser.new_page(viewport={"width": 1280, "height": 900}))
    page = opened.page
    page.on("console", lambda message: opened.trouble.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: opened.trouble.append(f"error: {error}"))

    def asked(request: Request) -> None:
        if not request.url.startswith(("blob:", "data:")):  # these are of the page itself
            opened.trouble.append(f"request: {request.url}")

    page.on("request", asked)
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn=all]")
    assert opened.trouble.pop(0) == f"request: {path.as_uri()}", "the file itself"
    return opened


@pytest.fixture(scope="module")
def shared(browser: Browser, written: Path) -> Opened:
    """One page for several tests: each leaves it as it was."""
    return open_report(browser, written)


@pytest.fixture
def opened(shared: Opened) -> Iterator[Opened]:
    yield shared
    assert shared.trouble == []


def test_it_opens_without_an_error_or_a_request(opened: Opened, tmp_path: Path) -> None:
    assert opened.page.locator("h1").inner_text() == NAME
    assert opened.page.title().startswith(NAME)
    for chart in CHARTS:
        assert opened.drawn(chart) >= 1, chart
    overflow = opened.js("() => document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0, "nothing is wider than the window"
    picture = tmp_path / "report.png"
    opened.page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 100_000


def test_hovering_a_curve_shows_values_with_units(opened: Opened) -> None:
    opened.plot_area("completion")
    x, y = opened.js(
        """() => { const gd = document.getElementById("completion");
                   const {xaxis, yaxis} = gd._fullLayout, curve = gd.data[0], n = Math.floor(curve.x.length / 2);
                   const r = gd.querySelector(".nsewdrag").getBoundingClientRect();
                   return [r.left + xaxis.d2p(curve.x[n]), r.top + yaxis.d2p(curve.y[n])]; }"""
    )
    opened.page.mouse.move(x, y)
    label = opened.page.locator("#completion .hoverlayer .hovertext").first
    label.wait_for()
    assert re.search(r"[\d.]+ % within [\d,.]+ us", label.text_content() or "")


def test_unchecking_a_scheme_hides_it_everywhere(opened: Opened) -> None:
    page = opened.page
    before = {chart: opened.drawn(chart) for chart in CHARTS}
    box = page.get_by_label("hpcc", exact=True)
    box.focus()
    page.keyboard.press("Space")
    assert not box.is_checked()
    states = opened.js(
        """() => Object.fromEntries([...document.querySelectorAll(".chart")].map((gd) =>
             [gd.id, gd.data.map((curve) => [curve.meta.scheme, curve.visible ?? true])]))"""
    )
    assert set(states) == CHARTS
    for chart, curves in states.items():
        assert all(visible == (scheme != "hpcc") for scheme, visible in curves), chart
        of_hpcc = sum(scheme == "hpcc" for scheme, _ in curves)
        assert of_hpcc > 0, chart
        assert opened.drawn(chart) == before[chart] - of_hpcc, chart
    shown = page.locator("#numbers thead th:visible").all_inner_texts()
    assert [name.strip() for name in shown] == ["dcqcn", "none"]
    cells = page.locator("#numbers tbody tr").first.locator("td:visible")
    assert cells.count() == 2
    assert page.locator("#runs tbody tr:visible").count() == 2
    page.get_by_label("hpcc", exact=True).check()
    assert {chart: opened.drawn(chart) for chart in CHARTS} == before
    assert page.locator("#numbers thead th:visible").count() == 3


def test_dragging_zooms_and_double_clicking_zooms_out(opened: Opened) -> None:
    left, top, width, height = opened.plot_area("queue-lengths")

    def ends() -> list[float]:
        found: list[float] = opened.js("() => document.getElementById('queue-lengths').layout.xaxis.range")
        return found

    before = ends()
    mouse = opened.page.mouse
    mouse.move(left + width * 0.25, top + height * 0.25)
    mouse.down()
    mouse.move(left + width * 0.5, top + height * 0.75, steps=4)
    mouse.up()
    opened.page.wait_for_function(
        "before => document.getElementById('queue-lengths').layout.xaxis.range[1] !== before", arg=before[1]
    )
    span = before[1] - before[0]
    assert ends() == pytest.approx([before[0] + span * 0.25, before[0] + span * 0.5], abs=span * 0.02)
    mouse.dblclick(left + width * 0.5, top + height * 0.5)
    opened.page.wait_for_function(
        "before => document.getElementById('queue-lengths').layout.xaxis.range[1] === before", arg=before[1]
    )


def test_panels_of_a_chart_zoom_together(opened: Opened) -> None:
    left, top, width, height = opened.plot_area("rates")
    mouse = opened.page.mouse
    mouse.move(left + width * 0.2, top + height * 0.5)
    mouse.down()
    mouse.move(left + width * 0.7, top + height * 0.5, steps=4)
    mouse.up()
    opened.page.wait_for_function("() => document.getElementById('rates').layout.xaxis.range[0] > 100")
    one, two = opened.js(
        "() => { const l = document.getElementById('rates').layout; return [l.xaxis.range, l.xaxis2.range]; }"
    )
    assert one == two


def test_a_click_in_a_legend_hides_one_curve_in_one_chart(opened: Opened) -> None:
    opened.plot_area("queue-lengths")
    opened.page.locator("#queue-lengths .legendtoggle").first.click()
    opened.page.wait_for_function("() => document.getElementById('queue-lengths').data[0].visible === 'legendonly'")
    assert opened.js("() => document.getElementById('completion').data[0].visible ?? true") is True


def test_the_buttons_of_a_chart_keep_its_data_here(opened: Opened) -> None:
    opened.plot_area("completion")
    opened.page.locator("#completion").hover()
    buttons = opened.page.locator("#completion .modebar-btn")
    titles = buttons.evaluate_all("all => all.map((button) => button.dataset.title)")
    assert len(titles) == 6
    ends = "(all) => Math.max(...all.map((one) => one.getBoundingClientRect().bottom))"
    begins = "(one) => one.getBoundingClientRect().top"
    legend = opened.page.locator("#completion .legend .traces").first
    assert buttons.evaluate_all(ends) <= legend.evaluate(begins) + 2, "beside the heading, and not over the legend"
    assert not [title for title in titles if re.search("cloud|studio|edit|share|link", title, re.IGNORECASE)]
    with opened.page.expect_download() as download:
        buttons.first.click()
    assert download.value.suggested_filename.endswith(".png")


def test_charts_fit_on_paper(opened: Opened) -> None:
    widths = "() => [...document.querySelectorAll('.chart .main-svg')].map((svg) => svg.clientWidth)"
    before = opened.js(widths)
    assert max(before) > 700
    opened.js("() => window.dispatchEvent(new Event('beforeprint'))")
    assert set(opened.js(widths)) == {680}
    opened.js("() => window.dispatchEvent(new Event('afterprint'))")
    assert opened.js(widths) == before


def test_a_report_of_one_run_has_no_checkboxes(browser: Browser, result: fanin.Result, tmp_path: Path) -> None:
    opened = open_report(browser, report(result, tmp_path / "one.html"))
    page = opened.page
    assert page.locator(".kind").inner_text() == "RUN"
    assert page.locator("input").count() == 0
    assert page.locator("td.best").count() == 0
    assert page.locator(".banner").count() == 0
    assert page.locator("table.slowest tbody tr:visible").count() == 20
    assert "fanin why FOLDER --flow" in page.inner_text("main")
    assert opened.trouble == []
    page.close()


def test_trouble_is_told_at_the_top(browser: Browser, tiny: Path, tmp_path: Path) -> None:
    stopped = fanin.run(tiny, set=["measure.window=1 s"], progress=lambda _: False)
    assert stopped.cancelled
    summary = stopped.summary()
    network = summary["network"]
    drops: Drops = {**network["drops"], "total": 3, "lossless": 3}
    lossy: Summary = {
        **summary,
        "errors": ["3 packets of a lossless class were dropped"],
        "network": {**network, "drops": drops},
    }
    dropped = replace(stopped, _summary=lossy)
    opened = open_report(browser, report(dropped, tmp_path / "stopped.html"))
    caution = opened.page.locator(".banner.caution")
    assert f"cancelled at {table.time(stopped.simulated_ms * 1e3)}" in caution.inner_text()
    error = opened.page.locator(".banner.error")
    assert "3 packets of a lossless class were dropped" in error.inner_text()
    red, green, blue = (int(part) for part in re.findall(r"\d+", error.evaluate("e => getComputedStyle(e).color"))[:3])
    assert red > 2 * max(green, blue)
    assert error.get_attribute("role") == "alert"
    assert opened.page.locator("#numbers td.lost").all_inner_texts() == ["3"]
    assert opened.trouble == []
    opened.page.close()

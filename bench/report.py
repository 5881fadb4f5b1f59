"""docs/performance.md: sections made from `bench/results`, between marks in the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import budget, graphs, jobs, peers, scale, side_by_side, speed, stages
from bench.scenarios import CASES, WORKLOADS
from fanin.run_folder import RunError
from fanin.style import BLUE, GREEN, PURPLE, SKY, VERMILLION

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"
SIDE_BY_SIDE = "side-by-side.json"
SPEED = "speed.json"
"""In `RESULTS`."""
BUDGET = "budget.json"
STAGES = "stages.json"
GRAPHS = "graphs.json"
JOBS = "jobs.json"
SCALE, SCALE_WHOLE = "scale.json", "scale-whole.json"
"""In `RESULTS`; the last was measured when networks were cut for threads only, so that one thread had them whole."""
PICTURE = "performance-side-by-side.png"
SCALE_PICTURE = "performance-scale.png"
"""Beside the page."""
WIDTH = 0.29
"""Between the points of a case, of which there are up to three."""
LEAST_NS = 10
"""Where the axis begins."""


def write() -> None:
    """Renews all sections of the page that have results, and their pictures."""
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    picture(side_by_side.load(RESULTS / SIDE_BY_SIDE)["rows"], PAGE.with_name(PICTURE))
    scale_picture(PAGE.with_name(SCALE_PICTURE))


def made(page: str) -> str:
    """The page with every section as it should be."""
    for name, (file, render) in SECTIONS.items():
        if (RESULTS / file).exists():
            page = filled(page, name, render(RESULTS / file))
    return page


def filled(page: str, name: str, part: str) -> str:
    """The page with this between the marks of a section; raises `RunError` if it has no such marks."""
    begin, end = f"<!-- made by `python -m bench doc`: {name} -->", f"<!-- end: {name} -->"
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise RunError(f"{PAGE}: has no marks of the section {name}; put {begin} and {end} where it belongs")
    return f"{before}{begin}\n\n{part.strip()}\n\n{end}{after}"


def side_by_side_section(path: Path) -> str:
    """Ours beside others, as Markdown."""
    report = side_by_side.load(path)
    rows = report["rows"]
    parts = [
        f"Measured {report['measured']} on {report['machine']}; inputs {report['inputs']}; best of {report['repeat']}"
        + (f"; **scale {report['scale']:g}**" if report["scale"] != 1 else "")
        + ".",
        f"![Nanoseconds of user CPU for each packet-hop, ours and others]({PICTURE})",
    ]
    for work in WORKLOADS.values():
        of_work = [row for row in rows if CASES[row["case"]].workload is work]
        if of_work:
            earlier = sorted({row["measured"] for row in of_work if "measured" in row})
            date = f" (measured {', '.join(earlier)})" if earlier else ""
            parts += [f"**{work.id.capitalize()}: {work.about}**{date}", _table(of_work, rows)]
    notes = [f"* {row['case']}, {row['who']}: {row['note']}." for row in rows if row["note"]]
    parts += ["\n".join(notes)] if notes else []
    parts += ["\n".join(f"* Not measured: {problem}" for problem in report["problems"])] if report["problems"] else []
    return "\n\n".join(parts)


def _table(of_work: Sequence[side_by_side.Row], rows: Sequence[side_by_side.Row]) -> str:
    lines = [
        "| " + " | ".join(side_by_side.HEADERS) + " |",
        "|" + "|".join("---:" if header in side_by_side.RIGHT else "---" for header in side_by_side.HEADERS) + "|",
    ]
    for row in of_work:
        cells = side_by_side.cells(row, rows)
        if row["source"] == "ours":
            cells[1] = f"**{cells[1]}**"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(rows: Sequence[side_by_side.Row], path: Path) -> None:
    """Draws nanoseconds of user CPU for each packet-hop, a group of points for each case: on a logarithmic axis the
    length of a bar would mean nothing. Earlier measurements are rings, and left out if the same simulator has a present
    one."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    styles = {
        side_by_side.OURS: BLUE,
        peers.NS3: VERMILLION,
        peers.HTSIM: GREEN,
        peers.EXACT: SKY,
        peers.UEC: PURPLE,
    }
    shown = [case for case in CASES if any(row["case"] == case for row in rows)]
    figure = Figure(figsize=(12.5, 5.2), layout="constrained")
    axes = figure.subplots()
    for place, case in enumerate(shown):
        of_case = {}
        for row in rows:
            if row["case"] == case and side_by_side.ns_per_hop(row) is not None and row["who"] not in of_case:
                of_case[row["who"]] = row
        for number, row in enumerate(of_case.values()):
            at = place + (number - (len(of_case) - 1) / 2) * WIDTH
            cost = side_by_side.ns_per_hop(row) or 0.0
            colour = styles[row["who"]]
            filled = "white" if row["source"] == "earlier" else colour
            axes.plot(at, cost, "o", markersize=7, color=colour, markerfacecolor=filled, markeredgewidth=1.6)
            label = f"{cost:,.0f}" + ("*" if row["note"].startswith("NDP") else "")
            axes.annotate(label, (at, cost), (0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=8)
    axes.set_yscale("log")
    # Always from the same place, so that pictures can be held side by side.
    axes.set_ylim(LEAST_NS, max(10_000, axes.get_ylim()[1] * 1.6))
    axes.set_xticks(range(len(shown)), [_label(case) for case in shown], fontsize=9)
    axes.set_ylabel("user CPU for each packet-hop, ns (log scale)", fontsize=11)
    axes.set_title("What a packet-hop takes: lower is faster", fontsize=12)
    axes.grid(visible=True, axis="y", which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 7}
    shapes = [Line2D([], [], color=colour, label=who, **dot) for who, colour in styles.items()]
    if any(row["source"] == "earlier" for row in rows):
        shapes.append(Line2D([], [], color="#777777", markerfacecolor="white", label="measured earlier", **dot))
    if any(row["note"].startswith("NDP") for row in rows):
        axes.annotate("* under NDP", (0.995, 0.97), xycoords="axes fraction", ha="right", va="top", fontsize=9)
    figure.legend(handles=shapes, frameon=False, fontsize=10, loc="outside lower center", ncols=len(shapes))
    figure.savefig(path, dpi=160)


def _label(case: str) -> str:
    """`s1-hpcc-4000` as a label below bars, in three lines."""
    work, scheme, payload = case.split("-")
    return f"{work.capitalize()}\n{'RoCE' if scheme == 'roce' else scheme.upper()}\n{int(payload):,} B"


def scale_section(path: Path) -> str:
    """Networks of growing size as Markdown."""
    measured = json.loads(path.read_text(encoding="utf-8"))
    rows = [scale.Measured(**row) for row in measured["sizes"]]
    return f"Measured on {measured['processor']}, {measured['cores']} cores, on one thread.\n\n{scale.table(rows)}"


def threads_section(path: Path) -> str:
    """Memory by number of threads as Markdown."""
    measured = json.loads(path.read_text(encoding="utf-8"))
    rows = [scale.Measured(**row) for row in measured["sizes"]]
    machine = f"{measured['processor']}, {measured['cores']} cores"
    return f"Measured {measured['measured']} on {machine}.\n\n{scale.memory_table(rows)}"


def scale_picture(path: Path) -> None:
    """Draws packet-hops per second against the number of hosts, on one thread, as shares of the rate with the fewest
    hosts: the two measurements are of different machines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    kinds = ((SCALE_WHOLE, "whole", VERMILLION, "--"), (SCALE, "in partitions for the cache", BLUE, "-"))
    for file, label, color, line in kinds:
        record = json.loads((RESULTS / file).read_text(encoding="utf-8"))
        sizes = record["sizes"]
        rates = [row["packet_hops_per_s"] for row in sizes]
        hosts = [row["hosts"] for row in sizes]
        of = f"{label} ({record['measured']}: {rates[0] / 1e6:.0f} M packet-hops/s with {hosts[0]} hosts)"
        axes.plot(hosts, [rate / rates[0] for rate in rates], line, marker="o", color=color, label=of)
        for at, rate in zip(hosts[1:], rates[1:], strict=True):
            up = 6 if file == SCALE else -14
            axes.annotate(f"{rate / rates[0]:.2f}", (at, rate / rates[0]), (0, up), textcoords="offset points",
                          ha="center", fontsize=8, color=color)  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(0, 1.1)
    axes.set(xlabel="hosts (log scale)", ylabel="packet-hops/s, share of that with 128 hosts")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


SECTIONS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "speed": (SPEED, speed.section),
    "scale": (SCALE, scale_section),
    "threads": ("threads.json", threads_section),
    "budget": (BUDGET, budget.section),
    "stages": (STAGES, stages.section),
    "graphs": (GRAPHS, graphs.section),
    "jobs": (JOBS, jobs.section),
    "side-by-side": (SIDE_BY_SIDE, side_by_side_section),
}
"""The sections of the page: the name of the marks, the file in `RESULTS`, what makes Markdown of it."""

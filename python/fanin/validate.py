"""Our results beside those of the ns-3 HPCC simulator, flow by flow: the command `fanin validate`."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from rich import box
from rich.table import Table

from fanin.hpcc import HpccJob, read_fct, read_trace, slowdown_by_size
from fanin.plot import indexed_line, label_axes
from fanin.result import Result
from fanin.run_folder import RunError, put_text
from fanin.runs import map_jobs
from fanin.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"hp": "HPCC", "dcqcn": "DCQCN", "dcqcn_vwin": "DCQCN + window", "timely": "TIMELY", "dctcp": "DCTCP"}
"""The names of schemes in pictures, by the last part of a configuration's name."""

BOUNDS = {"p50": 0.01, "p95": 0.05, "p99": 0.05}
"""The largest deviation of a percentile of slowdown in each size bin, as a share of theirs."""


@dataclass(frozen=True)
class Compared:
    """One configuration, theirs and ours."""

    config: str
    flows: int
    """Flows that they finished."""
    equal: int
    """Lines of `fct.txt` that are equal, in the same order."""
    queue: int | None
    """Packets that joined the watched queue there; None without such a file."""
    queue_equal: int | None
    """Of those, equal in time and bytes."""
    worst: dict[str, float]
    """Largest deviation of a percentile of slowdown over all size bins, as a share of theirs."""
    wall_s: float
    packet_hops: int

    @property
    def within(self) -> bool:
        """Whether percentiles are within their bounds in every bin."""
        return all(self.worst[name] <= bound for name, bound in BOUNDS.items())

    @property
    def exact(self) -> bool:
        """Whether everything is equal."""
        return self.equal == self.flows and self.queue == self.queue_equal


@dataclass(frozen=True)
class Drawn:
    """The data of one configuration for pictures."""

    tag: str
    theirs: pl.DataFrame
    ours: pl.DataFrame
    their_queue: pl.DataFrame | None
    our_queue: pl.DataFrame | None


def validate(golden: Path, out: Path | None) -> tuple[list[Compared], list[Beside]]:
    """Runs every configuration of a folder of that simulator's results and compares.

    `golden` holds `configs/TAG.txt`, whose paths are relative to it, and `micro/TAG.fct` with `micro/TAG.queue.csv`, or
    `traces/TAG.fct`. With `out`, the traces also run on the ordinary network, and pictures and `ns3-hpcc.json` go
    there.
    """
    configs = sorted((golden / "configs").glob("*.txt"))
    if not configs:
        raise RunError(f"{golden / 'configs'}: no configurations; name the folder with that simulator's results")
    jobs = [HpccJob(f"configs/{path.name}", str(golden), trace=path.stem.startswith("micro")) for path in configs]
    kept = map_jobs(jobs, lambda result: compare(golden, result), workers=2)
    rows = [row for row, _ in kept]
    if out is not None and len(kept) == len(configs):
        out.mkdir(parents=True, exist_ok=True)
        drawn = [picture for _, picture in kept]
        traces = [one for one in drawn if one.their_queue is None]
        queues = [one for one in drawn if "16to1" in one.tag]
        if traces:
            draw_slowdown(traces, {row.config: row for row in rows}).savefig(out / "ns3-slowdown.png", dpi=150)
        if queues:
            draw_queues(queues).savefig(out / "ns3-queues.png", dpi=150)
        # Times and speeds depend on the machine; the compared numbers do not.
        lasting = [{k: v for k, v in asdict(row).items() if k != "wall_s"} for row in rows]
        others, lines = beside(golden)
        theirs = {run.tag: slowdown_by_size(run.theirs) for run in traces}
        if lines:
            draw_beside(theirs, lines).savefig(out / "ns3-ordinary.png", dpi=150)
        document = {"exact": lasting, "beside": [asdict(row) for row in others]}
        put_text(out / "ns3-hpcc.json", json.dumps(document, indent=1) + "\n")
        return rows, others
    return rows, []


LAWS = {"hp": ("hpcc-ns3", "hpcc"), "dcqcn": ("dcqcn-ns3",), "timely": ("timely-ns3",), "dctcp": ("dctcp-ns3",)}
"""Schemes that each trace also runs under on the ordinary network: that simulator's law, and the paper's."""


@dataclass(frozen=True)
class Beside:
    """A trace run in another way, beside theirs."""

    config: str
    how: str
    """The scheme on the ordinary network, or "ACKs first" on theirs."""
    mean: dict[str, float]
    """The deviation of each percentile of slowdown, on average over size bins."""
    worst: dict[str, float]
    """The same in the worst bin, without sign."""


def beside(golden: Path) -> tuple[list[Beside], list[tuple[str, str, pl.DataFrame]]]:
    """Runs the traces on the ordinary network, and on theirs with ACKs that pass data at switches.

    The second explains the differences of the first. Returns rows, and slowdown by size with configuration and way.
    """
    jobs, ways = [], []
    for path in sorted((golden / "traces").glob("*.fct")):
        name = max((name for name in LAWS if path.stem.endswith(f"_{name}")), key=len, default=None)
        if name is None:
            continue
        config = f"configs/{path.stem}.txt"
        jobs.append(HpccJob(config, str(golden), acks_first=True))
        ways.append((path.stem, ACKS_FIRST))
        for scheme_id in LAWS[name]:
            jobs.append(HpccJob(config, str(golden), scheme=scheme_id))
            ways.append((path.stem, scheme_id))
    frames = map_jobs(jobs, lambda result: slowdown_by_size(fct_of(result)), workers=2)
    rows, drawn = [], []
    for (config, how), ours in zip(ways, frames, strict=False):
        theirs = slowdown_by_size(read_fct(golden / "traces" / f"{config}.fct"))
        off = {name: ours[name].to_numpy() / theirs[name].to_numpy() - 1 for name in BOUNDS}
        mean = {name: float(values.mean()) for name, values in off.items()}
        rows.append(Beside(config, how, mean, {name: float(np.abs(values).max()) for name, values in off.items()}))
        drawn.append((config, how, ours))
    return rows, drawn


ACKS_FIRST = "ACKs first"


def fct_of(result: Result) -> pl.DataFrame:
    """The flows of a run as that simulator writes them."""
    with tempfile.TemporaryDirectory() as temporary:
        return read_fct(result.save(Path(temporary) / "run") / "fct.txt")


def compare(golden: Path, result: Result) -> tuple[Compared, Drawn]:
    """One run beside the results of that simulator."""
    tag = result.label
    folder = golden / ("micro" if tag.startswith("micro") else "traces")
    with tempfile.TemporaryDirectory() as temporary:
        saved = result.save(Path(temporary) / "run")
        theirs, ours = folder / f"{tag}.fct", saved / "fct.txt"
        lines = [path.read_text(encoding="ascii").splitlines() for path in (theirs, ours)]
        their_flows, our_flows = read_fct(theirs), read_fct(ours)
        watched = folder / f"{tag}.queue.csv"
        their_queue = pl.read_csv(watched) if watched.exists() else None
        our_queue = joined(saved / "trace.tr") if their_queue is not None else None
    queue_equal = None
    if their_queue is not None and our_queue is not None:
        count = min(len(their_queue), len(our_queue))
        same = (their_queue[:count].to_numpy() == our_queue[:count].to_numpy()).all(axis=1)
        queue_equal = int(same.sum()) if len(their_queue) == len(our_queue) else 0
    bins = slowdown_by_size(their_flows), slowdown_by_size(our_flows)
    same_bins = len(bins[0]) == len(bins[1])
    worst = {
        name: float(np.abs(bins[1][name].to_numpy() / bins[0][name].to_numpy() - 1).max()) if same_bins else 1.0
        for name in BOUNDS
    }
    row = Compared(
        tag,
        flows=len(lines[0]),
        equal=sum(a == b for a, b in zip(*lines, strict=False)) if len(lines[0]) == len(lines[1]) else 0,
        queue=None if their_queue is None else len(their_queue),
        queue_equal=queue_equal,
        worst=worst,
        wall_s=result.manifest["wall_s"],
        packet_hops=result.manifest["packet_hops"],
    )
    return row, Drawn(tag, their_flows, our_flows, their_queue, our_queue)


def joined(trace: Path) -> pl.DataFrame:
    """The queue length for each packet that joined the queue of the traced switch's first port, to host 0."""
    frame = read_trace(trace).filter((pl.col("event") == "enqueued") & (pl.col("port") == 1))
    start = 2_000_000_000
    return frame.select((pl.col("time_ns").cast(pl.Int64) - start), pl.col("queue_bytes").cast(pl.Int64))


def table(rows: list[Compared]) -> Table:
    """The comparison, one line per configuration; the worst bin has the largest deviation of any percentile."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for column in ("configuration", "flows", "equal", "queue", "equal", "worst", "Mhop/s"):
        shown.add_column(column, justify="left" if column == "configuration" else "right", no_wrap=True)
    for row in rows:
        queue = ["", ""] if row.queue is None else [f"{row.queue:,}", f"{row.queue_equal:,}"]
        speed = row.packet_hops / row.wall_s / 1e6 if row.wall_s > 0 else 0.0
        worst = f"{max(row.worst.values()):.2%}"
        shown.add_row(row.config, f"{row.flows:,}", f"{row.equal:,}", *queue, worst, f"{speed:.1f}")
    return shown


def beside_table(rows: list[Beside]) -> Table:
    """The deviation of percentiles of slowdown, on average over size bins and, in brackets, in the worst one."""
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for column in ("configuration", "run as", *BOUNDS):
        shown.add_column(column, justify="right" if column in BOUNDS else "left", no_wrap=True)
    for row in rows:
        off = [f"{row.mean[name]:+.1%} ({row.worst[name]:.0%})" for name in BOUNDS]
        shown.add_row(scheme(row.config), row.how, *off)
    return shown


def draw_beside(theirs: dict[str, pl.DataFrame], lines: list[tuple[str, str, pl.DataFrame]]) -> Figure:
    """Slowdown p95 by size: theirs, theirs with ACKs first, and the ordinary network."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    for axes, (config, frame) in zip(figure.subplots(2, 2, sharex=True).flat, theirs.items(), strict=False):
        axes.plot(frame["largest_bytes"], frame["p95"], color=COLOURS[6], linewidth=1.8, label="ns-3")
        for number, (_, how, ours) in enumerate(line for line in lines if line[0] == config):
            name = "ns-3, ACKs first at switches" if how == ACKS_FIRST else f"{how}, ordinary network"
            axes.plot(ours["largest_bytes"], ours["p95"], label=name, **indexed_line(number))
        label_axes(axes, scheme(config), "flow size (log scale)", "slowdown p95")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
        axes.set_ylim(bottom=1)
    figure.suptitle("FB_Hadoop at 30 %, 320 hosts: where the ordinary network differs, and why", fontsize=12)
    return figure


def draw_slowdown(runs: list[Drawn], rows: dict[str, Compared]) -> Figure:
    """Slowdown by flow size: lines are ours, rings theirs."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey=True).flat
    for axes, run in zip(grid, runs, strict=False):
        ours, theirs = slowdown_by_size(run.ours), slowdown_by_size(run.theirs)
        for colour, name in zip(COLOURS, BOUNDS, strict=False):
            axes.plot(ours["largest_bytes"], ours[name], color=colour, linewidth=1.8, label=f"{name}, ours")
            ring = {"marker": "o", "markerfacecolor": "none", "linestyle": "none", "markersize": 7}
            axes.plot(theirs["largest_bytes"], theirs[name], color=colour, label=f"{name}, ns-3", **ring)
        row = rows[run.tag]
        title = f"{scheme(run.tag)}: {row.equal:,} of {row.flows:,} flows equal to the nanosecond"
        label_axes(axes, title, "flow size (log scale)", "slowdown (log scale)")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    one_legend(figure)
    figure.suptitle("ns-3 HPCC simulator: FB_Hadoop at 30 %, 320 hosts, slowdown in 20 size bins", fontsize=12)
    return figure


def draw_queues(runs: list[Drawn]) -> Figure:
    """The queue of a 16-to-1 incast over time: theirs wide and pale, ours thin on top."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    grid = list(figure.subplots(3, 2).flat)
    for axes, run in zip(grid, runs, strict=False):
        if run.their_queue is None or run.our_queue is None:
            continue
        curve(axes, run.their_queue, color=COLOURS[5], linewidth=5, label="ns-3")
        curve(axes, run.our_queue, color=COLOURS[6], linewidth=1, label="ours")
        label_axes(axes, scheme(run.tag), "microseconds since the start", "queue in KB")
    for axes in grid[len(runs) :]:
        axes.remove()
    one_legend(figure)
    figure.suptitle("ns-3 HPCC simulator: queue of 16 senders of 500 KB to one receiver, 100 Gb/s", fontsize=12)
    return figure


def one_legend(figure: Figure) -> None:
    """Keeps the first panel's legend and removes the others, which are the same."""
    for axes in figure.axes[1:]:
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    figure.axes[0].legend(fontsize=9, ncols=2, frameon=False)


def size_text(size: float) -> str:
    """`500 B`, `10 KB`, `1 MB`."""
    for unit, bytes_of in (("MB", 1e6), ("KB", 1e3)):
        if size >= bytes_of:
            return f"{size / bytes_of:g} {unit}"
    return f"{size:g} B"


def curve(axes: Axes, queue: pl.DataFrame, *, color: str, linewidth: float, label: str) -> None:
    """One queue over time."""
    at, length = (queue.to_series(column).to_numpy() for column in (0, 1))
    axes.plot(at / 1e3, np.asarray(length) / 1e3, color=color, linewidth=linewidth, label=label)


def scheme(tag: str) -> str:
    """The scheme that a configuration's name ends in."""
    known = [name for name in NAMES if tag.endswith(f"_{name}")]
    return NAMES[max(known, key=len)] if known else tag

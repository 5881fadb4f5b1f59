"""RCC section 6.3: flows that join one by one (Fig. 12(a,b)), and TCP with ECN beside RCC (Fig. 12(c,d))."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin import measures as of
from fanin.plot import indexed_line, label_axes, shades
from fanin_papers.common import cdf, mean, over_seeds, picture, pooled
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict
from fanin_papers.rcc_flows import CHOICES, REMAINING, line, ten_seeds, under

# Fig. 12(a,b): five flows, one more every 20 ms

FLOWS = ("f1", "f2", "f3", "f4", "f5")
NAMES = ("rcc", REMAINING, "dctcp")
STEP_MS = 20


def sweep_12a(quick: bool) -> dict[Key, Change]:
    """RCC with priority by size and by what remains, and DCTCP. Nothing is random."""
    del quick  # it takes a tenth of a second
    return {(name, 5, 1): Change(None, under(name, *FLOWS)) for name in NAMES}


def measure_12a(result: Result) -> Measured:
    """The payload of each flow in each ms in Mb/s, the ends of flows, use of the link, and drops."""
    watch, flows = result.watch(), result.flows()
    rates = {}
    for flow in FLOWS:
        arrived = watch.filter((pl.col("name") == "delivered_bytes") & (pl.col("where") == flow))
        rates[flow] = (np.diff(arrived["value"].to_numpy()) * 8 / 1e3).tolist()
    ends_ms = (flows["start_ps"] + flows["completion_ps"]).to_numpy() / 1e9
    sent = watch.filter(pl.col("name") == "sent_bytes")["value"].to_numpy()
    last = int(ends_ms.max())
    return {
        **rates,
        "ends_ms": ends_ms.tolist(),
        "used": [float(sent[last] - sent[0]) * 8 / (last * 1e6)],
        "drops": [float(result.summary()["network"]["drops"]["total"])],
    }


def windows(run: Measured) -> dict[int, NDArray[np.float64]]:
    """By the beginning in ms of each 20 ms: the mean rates of the flows that were active for all of them."""
    found = {}
    for begin in range(0, int(max(run["ends_ms"])) - STEP_MS, STEP_MS):
        open_then = [
            flow
            for number, flow in enumerate(FLOWS)
            if number * STEP_MS <= begin and run["ends_ms"][number] >= begin + STEP_MS
        ]
        found[begin] = np.asarray([np.mean(run[flow][begin : begin + STEP_MS]) for flow in open_then])
    return found


def fairness(run: Measured) -> list[float]:
    """Jain's index over each 20 ms with five flows."""
    return [float(of.jain(rates) or 0) for rates in windows(run).values() if rates.size == len(FLOWS)]


def draw_12a(measures: Measures) -> Figure:
    """The rates of the flows over time."""
    figure = picture(13, 4.6, "RCC Fig. 12(a,b): five flows of 10 MB into one receiver, one more every 20 ms")
    for axes, name in zip(figure.subplots(1, 3, sharey=True), NAMES, strict=True):
        run = measures[(name, 5, 1)]
        for number, flow in enumerate(FLOWS):
            smooth = np.convolve(run[flow], np.ones(5) / 5, mode="valid")
            axes.plot(
                np.arange(smooth.size) + 2.5,
                smooth,
                label=f"flow {number + 1}",
                **(indexed_line(number) | {"linewidth": 1.2}),
            )
        axes.set_xlim(0, 420)
        axes.set_ylim(0, 1050)
        said = {"rcc": "RCC, priority by size", REMAINING: "RCC, by what remains", "dctcp": "DCTCP"}[name]
        label_axes(
            axes, f"{said}: Jain {np.mean(fairness(run)):.3f}", "time (ms)", "Mb/s (mean of 5 ms)", legend=name == "rcc"
        )
    return figure


def rows_12a(measures: Measures) -> list[Row]:
    """Claim `rcc-fig12a-fairness`."""
    rows = []
    for name in ("rcc", REMAINING):
        claim = f"rcc-fig12a-fairness (priority by {'what remains' if name == REMAINING else 'size'})"
        run = measures[(name, 5, 1)]
        least = min(float(rates.min()) for rates in windows(run).values())
        even = float(np.mean(fairness(run)))
        used, drops = run["used"][0], run["drops"][0]
        rows += Row.table(f"""
            {claim}
            drops | never | {judge("strict", drops, ".0f", "0")}
            use of the link until the last flow ends | full | {judge("strict", used, ".1%", "at least 95 %")}
            least rate of a flow in 20 ms, Mb/s | no starvation | {judge("strict", least, ".0f", "at least 5")}
            Jain's index with five flows | not even | {judge("strict", even, ".3f", "below 0.99")}
        """)
    jains = fairness(measures[("dctcp", 5, 1)])
    claim, least_jain = "rcc-fig12a-fairness (dctcp)", min(jains)
    ours = f"least {least_jain:.2f}, mean {np.mean(jains):.2f} of {len(jains)}"
    rows += Row.table(f"""
        {claim}
        Jain's index with five flows, each 20 ms | equal | {ours} | at least 0.85 | {band(least_jain, 0.85, 1)}
    """)
    return rows


# Fig. 12(c,d): TCP with ECN beside RCC

READINGS = {
    "K = 40 packets": (),
    "K = 60 packets": ("network.marking.above=90 KB",),
    "mean alpha": ("traffic.rcc.scheme.g=0.0625",),
    "no ECN": ("traffic.rcc.scheme.ecn=false", 'traffic.tcp.scheme={ id = "newreno", initial_window = 1 }'),
}
MEMBERS = {"tcp:0": "window_bytes", "tcp:1": "window_bytes", "rcc:0": "peer_window_bytes", "rcc:1": "peer_window_bytes"}
"""The flows, and the values that are their windows."""
SEGMENT = 1460


def sweep_12d(quick: bool) -> dict[Key, Change]:
    """Each reading."""
    return {
        (name, 4, seed): Change(None, (f"traffic.rcc.scheme={CHOICES['rcc']}", *changes))
        for name, changes in READINGS.items()
        for seed in ten_seeds(quick)
    }


def measure_12d(result: Result) -> Measured:
    """The queue in KB and the windows in segments, until the first flow ends."""
    flows, watch, series = result.flows(), result.watch(), result.series()
    done = flows["completion_ps"].null_count() == 0
    until = int((flows["start_ps"] + flows["completion_ps"]).to_numpy().min())
    found: Measured = {}
    for flow, name in MEMBERS.items():
        mine = watch.filter((pl.col("where") == flow) & (pl.col("name") == name) & (pl.col("time_ps") < until))
        found[flow] = (mine["value"].to_numpy() / SEGMENT).tolist()
        found[f"{flow} ms"] = (mine["time_ps"].to_numpy() / 1e9).tolist()
    queue = series.filter(pl.col("time_ps") < until)["queue_bytes"].to_numpy() / 1e3
    return {
        **found,
        "queue_kb": [float(queue.mean())],
        "queue": queue[::10].tolist(),
        "done": [float(done)],
        "ends_ms": ((flows["start_ps"] + flows["completion_ps"]).to_numpy() / 1e9).tolist(),
    }


def draw_12d(measures: Measures) -> Figure:
    """The windows of the four flows over time with and without ECN, and the queues."""
    figure = picture(13, 4.6, "RCC Fig. 12(c,d): two flows of TCP with ECN and two of RCC through one link of 1 Gb/s")
    first, second, third = figure.subplots(1, 3)
    for axes, name in ((first, "K = 40 packets"), (second, "no ECN")):
        run = measures[(name, 4, 1)]
        for scheme, base in (("tcp", "newreno-ecn" if name != "no ECN" else "newreno"), ("rcc", "rcc")):
            colours = shades(str(line(base)["color"]), 3)
            for number in (0, 1):
                flow = f"{scheme}:{number}"
                shown = {"color": colours[number], "linewidth": 1.1, "linestyle": "-" if scheme == "rcc" else "--"}
                axes.plot(run[f"{flow} ms"], run[flow], label=f"{base} {number + 1}", **shown)
        axes.set_xlim(0, 200)
        axes.set_ylim(0, 70)
        label_axes(axes, f"windows, {name}", "time (ms)", "segments", legend=False)
        axes.legend(frameon=False, fontsize=10, ncols=2, loc="upper right")
    for index, name in enumerate(READINGS):
        queue = measures[(name, 4, 1)]["queue"]
        label = f"{name} (mean {mean(pooled(measures, (name, 4), 'queue_kb')):.0f} KB)"
        cdf(third, queue, label=label, **indexed_line(index))
    third.axvline(70, ymax=1 / 1.55, color="#888888", linewidth=1, linestyle=":", label="the paper: 70 KB")
    third.set_ylim(0, 1.55)
    third.set_yticks([0, 0.25, 0.5, 0.75, 1])
    label_axes(third, "queue between the switches", "KB", "share of time", legend=False)
    third.legend(frameon=False, fontsize=9.5, loc="upper left")
    return figure


def ratio_of_windows(measures: Measures, name: str) -> float:
    """The mean window of RCC's flows over that of TCP's."""
    rcc, tcp = (
        np.mean([mean(pooled(measures, (name, 4), f"{scheme}:{number}")) for number in (0, 1)])
        for scheme in ("rcc", "tcp")
    )
    return float(rcc / tcp)


def rows_12d(measures: Measures) -> list[Row]:
    """Claim `rcc-fig12d-coexist`."""
    rows = []
    for name in READINGS:
        claim, ratio = f"rcc-fig12d-coexist ({name})", ratio_of_windows(measures, name)
        queue = over_seeds(measures, (name, 4), "queue_kb")
        if name != "no ECN":
            rows += Row.table(f"""
                {claim}
                mean queue, KB | about 70 | {judge("band", queue, ".1f", "45 to 85")}
                mean window of rcc / newreno-ecn | comparable | {judge("band", ratio, ".2f", "0.4 to 2.5")}
            """)
            continue
        least = min(min(pooled(measures, (name, 4), flow)) for flow in ("rcc:0", "rcc:1"))
        done = pooled(measures, (name, 4), "done")
        rows += Row.table(f"""
            {claim}
            least window of rcc, segments | 1 | {judge("strict", least, ".1f", "at least 1")}
            runs in which each flow completes | all
                | {sum(done):.0f} of {len(done)}; window of rcc / newreno {ratio:.2f} | all | {strict(all(done))}
        """)
    return rows


EXPERIMENTS = (
    Experiment(
        "rcc-fig12ab",
        "flows that join one by one",
        "rcc/fig12-fairness.toml",
        sweep_12a,
        measure_12a,
        draw_12a,
        rows_12a,
    ),
    Experiment(
        "rcc-fig12cd",
        "TCP with ECN beside RCC",
        "rcc/fig12-coexistence.toml",
        sweep_12d,
        measure_12d,
        draw_12d,
        rows_12d,
    ),
)
"""In the order of the paper."""

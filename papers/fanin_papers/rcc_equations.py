"""RCC section 5.2: what equations (8) to (18) say about marks and the queue, against the simulation."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import picture
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict
from fanin_papers.sawtooth import PACKET_BYTES, Path, sawtooth

PAPER = Path(1, 160, 40)
"""Section 6: 1 Gb/s, four links of 40 us, K = 40 packets."""


def window_at_k(path: Path, n: float) -> float:
    """RCC eq. (9), in packets."""
    return (path.bdp + path.k) / n


def alpha(path: Path, n: int) -> float:
    """RCC eq. (11)."""
    return sqrt(1 / window_at_k(path, n))


def alpha_exact(path: Path, n: int) -> float:
    """The root of eq. (10), of which eq. (11) is the approximation for a small alpha and a large window."""
    w = window_at_k(path, n)
    return root(lambda a: a**2 * (1 - a / 4) - (w + 1 / 4) / (w + 1 / 2) ** 2, 0, 2)


def amplitude(path: Path, n: float) -> float:
    """RCC eq. (14), in packets."""
    return sqrt(n * (path.bdp + path.k)) / 2


def period_rtts(path: Path, n: int) -> float:
    """RCC eq. (15), in round-trip times."""
    return sqrt((path.bdp + path.k) / n) / 2


def q_max(path: Path, n: float) -> float:
    """RCC eq. (16), in packets."""
    return path.k + n / 2


def k_bound(bdp: float) -> tuple[float, float]:
    """RCC eq. (18) by numbers: the least K, in packets, for which the lowest queue of eq. (17) is never negative,
    and the number of flows at which it is lowest."""

    def worst(k: float) -> float:
        # The derivative of eq. (17) by N
        return root(lambda n: 1 / 2 - sqrt((bdp + k) / n) / 4, 1e-9, bdp + k)

    def lowest(k: float) -> float:
        n = worst(k)
        return k + n / 2 - sqrt(n * (bdp + k)) / 2

    k = root(lowest, 0, bdp)
    return k, worst(k)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is zero, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


# Eqs. (8) to (16)

FLOWS = (1, 2, 4, 10)
AS_PRINTED, MEAN, LEAVING, BOTH = "as printed", "mean", "leaving", "mean, leaving"
DCTCP, DCTCP_LEAVING, WHOLE = "dctcp", "dctcp, leaving", "whole"
SAID = {
    AS_PRINTED: "alpha of one RTT (4.6)",
    MEAN: "mean alpha, g = 1/16 (eq. (1))",
    LEAVING: "alpha of one RTT, marked on leaving",
    BOTH: "mean alpha, marked on leaving",
    DCTCP: "dctcp",
    DCTCP_LEAVING: "dctcp, marked on leaving",
    WHOLE: "rcc with its scheduler",
}
AVERAGED = "traffic.long.scheme.g=0.0625"
ON_LEAVING = 'network.marking.at="dequeue"'
OTHER = 'traffic.long.scheme={ id = "dctcp", initial_window = 1, initial_alpha = 0.0 }'
SCHEDULED = "traffic.long.scheme.scheduler=true"
CHANGES = {
    AS_PRINTED: (),
    MEAN: (AVERAGED,),
    LEAVING: (ON_LEAVING,),
    BOTH: (AVERAGED, ON_LEAVING),
    DCTCP: (OTHER,),
    DCTCP_LEAVING: (OTHER, ON_LEAVING),
    WHOLE: (SCHEDULED,),
}
SHOWN_MS = 30.0


def sweep_11(quick: bool) -> dict[Key, Change]:
    """Each variant with each number of flows."""
    short = ("measure.window=300 ms",) if quick else ()
    return {
        (name, n, 1): Change(None, (f"traffic.long.pattern.count={n}", *PAPER.changes(), *changes, *short))
        for name, changes in CHANGES.items()
        for n in FLOWS
    }


def measure_11(result: Result) -> Measured:
    """The teeth of the queue, in packets and microseconds, marks, and alpha at the cuts, a mean over flows and time."""
    series = result.series()
    queue = series["queue_bytes"].to_numpy() / PACKET_BYTES
    time_us = series["time_ps"].to_numpy() / 1e6
    begins, tops, bottoms = sawtooth(queue)
    cuts = result.watch().filter(pl.col("name") == "cut_alpha")["value"].to_list()
    shown = time_us <= time_us[0] + SHOWN_MS * 1e3
    return {
        "top": [float(tops.mean())] if tops.size else [],
        "swing": [float((tops - bottoms).mean())] if tops.size else [],
        "period_us": [float(np.diff(time_us[begins]).mean())] if begins.size > 1 else [],
        "mean": [float(queue.mean())],
        "max": [float(queue.max())],
        "marked": [float(result.summary()["network"]["marked"])],
        "alpha": [float(np.mean(cuts))] if cuts else [],
        "time_ms": ((time_us[shown] - time_us[0]) / 1e3).tolist(),
        "queue": queue[shown].tolist(),
    }


def rtts(run: Measured) -> float:
    """The period of the queue in round-trip times with the mean queue."""
    if not run["period_us"]:
        return float("nan")
    return run["period_us"][0] / (PAPER.rtt_us + run["mean"][0] * PAPER.packet_us)


def draw_11(measures: Measures) -> Figure:
    """The queue of two flows over time, and alpha, swing, highest queue and period over the number of flows."""
    figure = picture(12, 11, "RCC section 5.2: 1 Gb/s, 160 us, K = 40, without the scheduler")
    panels = figure.subplots(3, 2)
    for axes, name in zip(panels[0], (AS_PRINTED, BOTH), strict=True):
        run = measures[(name, 2, 1)]
        axes.plot(run["time_ms"], run["queue"], label="measured", color="#444444", linewidth=0.9)
        top, swing = q_max(PAPER, 2), amplitude(PAPER, 2)
        axes.axhline(top, label=f"eq. (16): {top:g}", **(indexed_line(1) | {"linewidth": 1.2}))
        axes.axhline(top - swing, label=f"eq. (17): {top - swing:.1f}", **(indexed_line(2) | {"linewidth": 1.2}))
        axes.set_xlim(0, SHOWN_MS)
        axes.set_ylim(0, 62)
        label_axes(axes, f"N = 2: {SAID[name]}", "time (ms)", "queue (packets)", legend=False)
        axes.legend(frameon=False, fontsize=10, ncols=3, loc="upper right")
    told: list[tuple[Axes, str, Callable[[Measured], float], list[float], str]] = [
        (panels[1][0], "alpha at cuts, eq. (11)", lambda r: r["alpha"][0], [alpha(PAPER, n) for n in FLOWS], ""),
        (panels[1][1], "swing A_r, eq. (14)", lambda r: r["swing"][0], [amplitude(PAPER, n) for n in FLOWS], "packets"),
        (panels[2][0], "highest queue, eq. (16)", lambda r: r["top"][0], [q_max(PAPER, n) for n in FLOWS], "packets"),
        (panels[2][1], "period T_c, eq. (15)", rtts, [period_rtts(PAPER, n) for n in FLOWS], "round-trip times"),
    ]
    for axes, title, value, equation, unit in told:
        axes.plot(FLOWS, equation, color="black", linewidth=2.2, label="equation")
        for index, name in enumerate((AS_PRINTED, MEAN, LEAVING, BOTH, DCTCP)):
            runs = {n: measures[(name, n, 1)] for n in FLOWS}
            if name == DCTCP and "alpha" in title:
                continue  # the receiver of DCTCP keeps none
            found = {n: value(run) for n, run in runs.items() if run["swing"]}
            style = scheme_line("dctcp") if name == DCTCP else indexed_line(index)
            axes.plot(list(found), list(found.values()), marker="o", markersize=4, label=SAID[name], **style)
        axes.set_xscale("log")
        axes.set_xticks(FLOWS, [str(n) for n in FLOWS])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        label_axes(axes, title, "flows N", unit or "share of marked packets", legend=False)
    handles, labels = panels[1][1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


def rows_alpha(measures: Measures) -> list[Row]:
    """Claim `rcc-eq11-alpha`."""
    claim = "rcc-eq11-alpha"
    off = max(abs(alpha_exact(PAPER, n) / alpha(PAPER, n) - 1) for n in FLOWS)
    rows = [
        Row.of(
            claim,
            f"exact root of (10) against (11) | about equal | within {off:.2%} | below 2 % | {strict(off < 0.02)}",
        )
    ]
    for name in (AS_PRINTED, MEAN, LEAVING, BOTH):
        for n in FLOWS:
            found, said = measures[(name, n, 1)]["alpha"][0], alpha(PAPER, n)
            # Eq. (11) is for a small alpha; with 10 flows the claim has no band.
            verdict = band(found, 0.75 * said, 1.25 * said)
            rows.append(Row.of(f"{claim} ({name})", f"N = {n} | {said:.3f} | {found:.3f} | within 25 % | {verdict}"))
    return rows


def rows_sawtooth(measures: Measures) -> list[Row]:
    """Claim `rcc-eq14-sawtooth`."""
    rows = []
    for name in (AS_PRINTED, MEAN, LEAVING, BOTH):
        claim = f"rcc-eq14-sawtooth ({name})"
        for n in FLOWS[1:]:
            run = measures[(name, n, 1)]
            for what, found, said, low, high, accept in (
                ("highest queue", run["top"][0], q_max(PAPER, n), q_max(PAPER, n) - 2, q_max(PAPER, n) + 2, "within 2"),
                ("swing", run["swing"][0], amplitude(PAPER, n), 0.7, 1.3, "within 30 %"),
                ("period, RTTs", rtts(run), period_rtts(PAPER, n), 0.65, 1.35, "within 35 %"),
            ):
                scale = 1.0 if what == "highest queue" else said
                verdict = band(found, low * scale, high * scale)
                rows.append(Row.of(claim, f"N = {n}: {what} | {said:.1f} | {found:.1f} | {accept} | {verdict}"))
    for name, other in ((AS_PRINTED, DCTCP), (MEAN, DCTCP), (BOTH, DCTCP_LEAVING)):
        claim = f"rcc-eq14-sawtooth ({name})"
        for what, value in (("swing", "swing"), ("highest queue", "top")):
            pairs = [(measures[(name, n, 1)][value][0], measures[(other, n, 1)][value][0]) for n in FLOWS]
            kept = [mine < theirs if value == "swing" else mine <= theirs for mine, theirs in pairs]
            ours = ", ".join(f"{mine:.1f} and {theirs:.1f}" for mine, theirs in pairs)
            at = f"{what} below that of {SAID[other]}, N = 1, 2, 4, 10"
            rows.append(Row.of(claim, f"{at} | below | {ours} | in this order | {order(kept)}"))
    # Section 5.2 finds its equations in Fig. 5(a), where the scheduler is on.
    marked = sum(measures[(WHOLE, n, 1)]["marked"][0] for n in FLOWS)
    claim, accept = "rcc-eq14-sawtooth (with the scheduler)", "0: Fig. 5(a) cannot show the equations"
    rows.append(Row.of(claim, f"marked packets | 0 (Fig. 6(c)) | {marked:.0f} | {accept} | {strict(marked == 0)}"))
    return rows


def rows_11(measures: Measures) -> list[Row]:
    """Claims `rcc-eq11-alpha` and `rcc-eq14-sawtooth`."""
    return rows_alpha(measures) + rows_sawtooth(measures)


# Eqs. (17) and (18)

RTTS_US = {160: (0, 1, 2, 3, 5, 10), 1600: (5, 10, 20, 25, 40)}
"""Per base round-trip time: the thresholds. 13.3 / 7 is 1.9 packets, 133 / 7 is 19."""
CROWDS = (1, 2, 3, 4, 6, 10, 20, 30, 40)
READINGS = (AS_PRINTED, MEAN)


def sweep_18(quick: bool) -> dict[Key, Change]:
    """Every threshold and number of flows, with alpha of one round trip and with its mean."""
    short = ("measure.window=400 ms",) if quick else ()
    return {
        (name, rtt_us, k, n, 1): Change(
            None, (f"traffic.long.pattern.count={n}", *Path(1, rtt_us, k).changes(), *CHANGES[name], *short)
        )
        for name in READINGS
        for rtt_us, thresholds in RTTS_US.items()
        for k in thresholds
        for n in CROWDS
        if not quick or (n in (1, 4, 20) and k in (0, 3, 5, 25))
    }


def measure_18(result: Result) -> Measured:
    """Use of the link."""
    port = result.ports().filter(pl.col("port") == "left>right")
    return {"utilisation": port["utilisation"].to_list()}


def least(measures: Measures, name: str, rtt_us: int) -> dict[int, float]:
    """The least utilisation over the numbers of flows, by threshold."""
    found: dict[int, list[float]] = {}
    for key, run in measures.items():
        if key[:2] == (name, rtt_us):
            found.setdefault(int(key[2]), []).append(run["utilisation"][0])
    return {k: min(used) for k, used in sorted(found.items())}


def draw_18(measures: Measures) -> Figure:
    """The least utilisation over the threshold."""
    figure = picture(11, 4.6, "RCC eq. (18): 1 Gb/s, without the scheduler")
    for axes, rtt_us in zip(figure.subplots(1, 2), RTTS_US, strict=True):
        bdp = Path(1, rtt_us, 0).bdp
        for index, name in enumerate(READINGS):
            used = least(measures, name, rtt_us)
            shares = [share * 100 for share in used.values()]
            axes.plot(list(used), shares, marker="o", markersize=4, label=SAID[name], **indexed_line(index))
        axes.axvline(bdp / 7, color="#888888", linewidth=1, linestyle=":", label=f"eq. (18): K = {bdp / 7:.1f}")
        title = f"base RTT {rtt_us / 1e3:g} ms, C RTT = {bdp:.1f} packets"
        axes.set_ylim(60, 101)
        label_axes(axes, title, "marking threshold K (packets)", "least utilisation for 1 to 40 flows (%)")
    return figure


def rows_18(measures: Measures) -> list[Row]:
    """Claim `rcc-eq18-kbound`."""
    claim, rows = "rcc-eq18-kbound", []
    for rtt_us in RTTS_US:
        bdp = Path(1, rtt_us, 0).bdp
        k, n = k_bound(bdp)
        off = max(abs(k / (bdp / 7) - 1), abs(n / ((bdp + k) / 4) - 1))
        what, paper = f"C RTT = {bdp:.1f}: K, and N at the least", f"{bdp / 7:.4f}, {(bdp + bdp / 7) / 4:.4f}"
        rows.append(Row.of(claim, f"{what} | {paper} | {k:.4f}, {n:.4f} | within 1e-9 | {strict(off < 1e-09)}"))
    for name in READINGS:
        for rtt_us in RTTS_US:
            used, bound = least(measures, name, rtt_us), Path(1, rtt_us, 0).bdp / 7
            full = min(share for k, share in used.items() if k >= 1.3 * bound)
            short = min(share for k, share in used.items() if k <= 0.4 * bound)
            at = f"{rtt_us / 1e3:g} ms: least utilisation"
            rows += Row.table(f"""
                {claim} ({name})
                {at}, K of 1.3 bounds and more | full | {full:.2%} | at least 99 % | {strict(full >= 0.99)}
                {at}, K of 0.4 bounds and less | not full | {short:.2%} | below 99.5 % | {strict(short < 0.995)}
            """)
    return rows


EXPERIMENTS = (
    Experiment(
        "rcc-eq11",
        "alpha and the sawtooth, eqs. (8) to (16)",
        "rcc/eq-ecn.toml",
        sweep_11,
        measure_11,
        draw_11,
        rows_11,
    ),
    Experiment(
        "rcc-eq18", "the threshold that eq. (18) asks for", "rcc/eq-ecn.toml", sweep_18, measure_18, draw_18, rows_18
    ),
)
"""In the order of the paper."""

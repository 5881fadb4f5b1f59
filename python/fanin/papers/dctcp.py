"""DCTCP section 4: figures 14, 18, 19, 20 and 22."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from fanin import measures as of
from fanin.papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    band,
    order,
    points,
    pooled,
    strict,
)
from fanin.plot import label_axes, scheme_line
from fanin.style import style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.result import Result

PACKET_BYTES = 1538
"""A full packet on the wire of these specs: 1,460 B of payload, 40 B of TCP/IP, 38 B of Ethernet with preamble and
gap."""

SCHEMES = ("newreno", "dctcp")
SEEDS = (1, 2, 3)


def under(scheme: str, *traffics: str) -> tuple[str, ...]:
    """These traffics of a spec under another scheme, with the window of the spec's own scheme."""
    choice = f'{{ id = "{scheme}", initial_window = 2, restart_after = "10 ms" }}'
    return tuple(f"traffic.{traffic}.scheme={choice}" for traffic in traffics)


def seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has one."""
    return SEEDS[:1] if quick else SEEDS


def mean(values: Sequence[float]) -> float:
    """NaN without values."""
    return float(np.mean(values)) if values else float("nan")


def quantile(values: Sequence[float], share: float) -> float:
    """By nearest rank, as in all of Fanin."""
    found = of.nearest_rank(np.asarray(values, dtype=np.float64), round(share * 1000))
    return float("nan") if found is None else found


def style(scheme: str) -> dict[str, Any]:
    """The colour and line of a scheme, the same in every picture."""
    return scheme_line(scheme)


def cdf(axes: Axes, values: Sequence[float], scheme: str, label: str) -> None:
    """One cumulative curve."""
    rising = np.sort(np.asarray(values))
    axes.step(rising, np.arange(1, rising.size + 1) / max(rising.size, 1), where="post", label=label, **style(scheme))


def for_people(axes: Axes) -> None:
    """A logarithmic axis with ticks at 10, 20, 50, 100."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


# Fig. 14: queue length and throughput of long flows


def sweep_14(quick: bool) -> dict[Key, Change]:
    """2 and 20 senders, each scheme."""
    window = ("measure.window=0.5 s",) if quick else ()
    return {
        (scheme, n, seed): Change(None, (f"traffic.long.pattern.count={n}", *under(scheme, "long"), *window))
        for scheme in SCHEMES
        for n in (2, 20)
        for seed in seeds(quick)
    }


def measure_14(result: Result) -> Measured:
    """The queue at the receiver's port in packets, and the goodput of all flows together."""
    queue = result.series()["queue_bytes"].to_numpy() / PACKET_BYTES
    goodput = sum(traffic["long_goodput_gbps"] for traffic in result.summary()["traffics"])
    return {"queue_packets": queue.tolist(), "goodput_gbps": [goodput]}


def draw_14(measures: Measures) -> Figure:
    """Cumulative distribution of the queue, as the paper draws it."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, n in zip(figure.subplots(1, 2), (2, 20), strict=True):
        for scheme in SCHEMES:
            goodput = mean(pooled(measures, (scheme, n), "goodput_gbps"))
            cdf(axes, pooled(measures, (scheme, n), "queue_packets"), scheme, f"{scheme} ({goodput:.3f} Gb/s)")
        axes.axvline(20 + n, color="#888888", linewidth=1, linestyle=":", label=f"K + n = {20 + n}")
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
        label_axes(axes, f"{n} long flows into one port", "queue (packets)", "share of samples")
    figure.suptitle("DCTCP Fig. 14: queue at a 1 Gb/s port, K = 20, 4 MB shared buffer", fontsize=11)
    return figure


def rows_14(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig14-queue` and the part of it that is the abstract's headline."""
    rows = []
    for n in (2, 20):
        goodput = {scheme: mean(pooled(measures, (scheme, n), "goodput_gbps")) for scheme in SCHEMES}
        queue = {scheme: pooled(measures, (scheme, n), "queue_packets") for scheme in SCHEMES}
        ratio = quantile(queue["dctcp"], 0.95) / quantile(queue["newreno"], 0.95)
        claim = f"dctcp-fig14-queue (n = {n})"
        rows += [
            *(
                Row(
                    claim,
                    f"goodput of {s}, Gb/s",
                    "0.95",
                    f"{goodput[s]:.3f}",
                    "0.94 to 0.96",
                    band(goodput[s], 0.94, 0.96),
                )
                for s in SCHEMES
            ),
            Row(
                claim,
                "goodput dctcp / newreno",
                "1",
                f"{goodput['dctcp'] / goodput['newreno']:.4f}",
                "at least 0.99",
                strict(goodput["dctcp"] >= 0.99 * goodput["newreno"]),
            ),
            Row(
                claim,
                "median queue of dctcp, packets",
                f"about 20 (K + n = {20 + n})",
                f"{quantile(queue['dctcp'], 0.5):.1f}",
                f"10 to {25 + n}",
                band(quantile(queue["dctcp"], 0.5), 10, 25 + n),
            ),
            Row(
                claim, "p95 queue dctcp / newreno", "about 0.1", f"{ratio:.3f}", "at most 0.15", band(ratio, 0.0, 0.15)
            ),
            Row(
                claim,
                "median queue of newreno, packets",
                "10 x dctcp's",
                f"{quantile(queue['newreno'], 0.5):.0f}",
                "at least 100",
                strict(quantile(queue["newreno"], 0.5) >= 100),
            ),
        ]
    return rows


# Fig. 18: two bottlenecks


GROUPS = {"s1": (46.0, 42.0, 52.0, 50.0), "s3": (54.0, 47.0, 58.0, 50.0), "s2": (475.0, 430.0, 490.0, 475.0)}
"""Per group of senders: the paper's Mb/s per sender, the band that counts as holding, the fair share."""


def sweep_18(quick: bool) -> dict[Key, Change]:
    """Each scheme once per seed."""
    window = ("measure.warm_up=0.1 s", "measure.window=0.4 s") if quick else ()
    return {
        (scheme, 0, seed): Change(None, (*under(scheme, *GROUPS), *window))
        for scheme in SCHEMES
        for seed in seeds(quick)
    }


def measure_18(result: Result) -> Measured:
    """Goodput per sender of each group in Mb/s, and retransmission timeouts."""
    groups = {t["traffic"]: [t["long_goodput_gbps"] * 1000 / t["endless"]] for t in result.summary()["traffics"]}
    return {**groups, "timeouts": [float(result.summary()["network"]["timeouts"])]}


def draw_18(measures: Measures) -> Figure:
    """A dot per group and scheme, the paper's value of DCTCP as a line across."""
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = figure.subplots()
    for side, scheme in enumerate(SCHEMES):
        heights = [mean(pooled(measures, (scheme, 0), group)) for group in GROUPS]
        timeouts = mean(pooled(measures, (scheme, 0), "timeouts"))
        places = [place + (side - 0.5) * 0.36 for place in range(len(GROUPS))]
        shown = {"color": style(scheme)["color"], "marker": style_of(scheme).marker_for_matplotlib(), "markersize": 8}
        axes.plot(places, heights, linestyle="none", label=f"{scheme} ({timeouts:.0f} timeouts)", **shown)
        for place, height, (paper, *_) in zip(places, heights, GROUPS.values(), strict=True):
            away = (0, 7 if height > paper else -15)  # from the paper's line
            axes.annotate(f"{height:.1f}", (place, height), away, textcoords="offset points", ha="center", fontsize=9)
    for place, (paper, *_) in enumerate(GROUPS.values()):
        axes.plot([place - 0.4, place + 0.4], [paper, paper], color="black", linewidth=1.2, linestyle=":")
    axes.plot([], [], color="black", linewidth=1.2, linestyle=":", label="DCTCP in the paper")
    axes.set_yscale("log")
    for_people(axes)
    axes.set_ylim(20, 1000)
    axes.set_xticks(range(len(GROUPS)), ["S1 to R1\n(both bottlenecks)", "S3 to R1\n(1 Gb/s)", "S2 to R2\n(10 Gb/s)"])
    label_axes(axes, "DCTCP Fig. 18: two bottlenecks", "", "goodput per sender (Mb/s, log scale)")
    return figure


def rows_18(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig18-multihop`."""
    claim = "dctcp-fig18-multihop"
    got = {group: mean(pooled(measures, ("dctcp", 0), group)) for group in GROUPS}
    timeouts = {scheme: sum(pooled(measures, (scheme, 0), "timeouts")) for scheme in SCHEMES}
    rows = [
        Row(
            claim,
            f"dctcp, {group.upper()}, Mb/s",
            f"{paper:.0f}",
            f"{got[group]:.1f}",
            f"{low:.0f} to {high:.0f}",
            band(got[group], low, high),
        )
        for group, (paper, low, high, _) in GROUPS.items()
    ]
    worst = max(abs(got[group] / fair - 1) for group, (_, _, _, fair) in GROUPS.items())
    return [
        *rows,
        Row(
            claim,
            "dctcp, farthest from its fair share",
            "within 10 %",
            f"{worst * 100:.1f} %",
            "within 12 %",
            band(worst, 0, 0.12),
        ),
        Row(
            claim,
            "dctcp, S1 at most S3",
            "46, 54",
            f"{got['s1']:.1f}, {got['s3']:.1f}",
            "in this order",
            order([got["s1"] <= got["s3"]]),
        ),
        Row(
            claim,
            "timeouts of newreno, all seeds",
            "some",
            f"{timeouts['newreno']:.0f}",
            "above 0",
            strict(timeouts["newreno"] > 0),
        ),
        Row(
            claim,
            "timeouts of dctcp, all seeds",
            "none told",
            f"{timeouts['dctcp']:.0f}",
            "0",
            strict(timeouts["dctcp"] == 0),
        ),
    ]


# Figs. 19 and 20: incast


DEGREES = (1, 2, 5, 8, 10, 12, 15, 20, 25, 30, 35, 40)
VARIANTS = {f"{scheme}-{rto}ms": (scheme, rto) for scheme in SCHEMES for rto in (10, 300)}
BUFFERS = {"100 packets": f"{100 * PACKET_BYTES} B", "100 KB": "100 KB"}


def incast(degree: int, rto_ms: int, quick: bool) -> tuple[str, ...]:
    """The changes for one point."""
    rounds = ("traffic.queries.pattern.rounds=20",) if quick else ()
    return (f"traffic.queries.pattern.degree={degree}", f"traffic.queries.tcp.min_rto={rto_ms} ms", *rounds)


def degrees(quick: bool) -> Sequence[int]:
    """A short version has few points."""
    return (1, 10, 40) if quick else DEGREES


def sweep_19(quick: bool) -> dict[Key, Change]:
    """Both readings of the static buffer; the paper's four variants."""
    return {
        (f"{variant}, {buffer}", n, seed): Change(
            None, (*incast(n, rto, quick), *under(scheme, "queries"), f"network.buffer.per_port={size}")
        )
        for buffer, size in BUFFERS.items()
        for variant, (scheme, rto) in VARIANTS.items()
        for n in degrees(quick)
        for seed in seeds(quick)
    }


def sweep_20(quick: bool) -> dict[Key, Change]:
    """Dynamic buffers, a minimum timeout of 10 ms."""
    return {
        (scheme, n, seed): Change(None, (*incast(n, 10, quick), *under(scheme, "queries")))
        for scheme in SCHEMES
        for n in degrees(quick)
        for seed in seeds(quick)
    }


def measure_queries(result: Result) -> Measured:
    """Completion time of each query, and whether it had a timeout."""
    table = of.queries(result)
    whole = table.drop_nulls("completion_ps")
    return {
        "completion_ms": (whole["completion_ps"].to_numpy() / 1e9).tolist(),
        "timed_out": (table["timeouts"] > 0).cast(pl.Float64).to_list(),
    }


def curves(axes: Axes, measures: Measures, names: dict[str, tuple[str, str]], value: Callable[[Key], float]) -> None:
    """One curve over the number of servers per name, with its scheme and line style."""
    for name, (scheme, line) in names.items():
        found = points(measures, name)
        if found:
            shown = style(scheme) | {"linestyle": line}
            axes.plot(
                found,
                [value((name, n)) for n in found],
                marker="o",
                markersize=3.5,
                label=name.partition(",")[0],
                **shown,
            )


def draw_incast(
    left: Axes, right: Axes, measures: Measures, names: dict[str, tuple[str, str]], title: str, log: bool
) -> None:
    """Completion time and timeouts over the number of servers."""
    curves(left, measures, names, lambda key: mean(pooled(measures, key, "completion_ms")))
    curves(right, measures, names, lambda key: mean(pooled(measures, key, "timed_out")))
    if log:
        left.set_yscale("log")
        for_people(left)
    right.set_ylim(-0.02, 1.02)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(left, title, "servers", "mean query completion (ms, log scale)" if log else "mean query completion (ms)")
    label_axes(right, title, "servers", "queries with a timeout")


def draw_19(measures: Measures) -> Figure:
    """The paper's two panels, for each reading of the buffer."""
    figure = Figure(figsize=(11, 9), layout="constrained")
    for (left, right), buffer in zip(figure.subplots(len(BUFFERS), 2), BUFFERS, strict=True):
        lines = {10: "-", 300: "--"}
        names = {f"{variant}, {buffer}": (scheme, lines[rto]) for variant, (scheme, rto) in VARIANTS.items()}
        draw_incast(left, right, measures, names, f"static buffer of {buffer}", log=True)
    figure.suptitle("DCTCP Fig. 19: 1 MB from n servers, 1 Gb/s, static buffers", fontsize=11)
    return figure


def draw_20(measures: Measures) -> Figure:
    """Completion time and timeouts."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    names = {scheme: (scheme, "-") for scheme in SCHEMES}
    left, right = figure.subplots(1, 2)
    draw_incast(left, right, measures, names, "dynamic buffer", log=False)
    figure.suptitle("DCTCP Fig. 20: 1 MB from n servers, 1 Gb/s, dynamic buffers, minimum timeout 10 ms", fontsize=11)
    return figure


def first_above(measures: Measures, name: str, share: float) -> int | None:
    """The least number of servers at which more than this share of the queries had a timeout."""
    above = (n for n in points(measures, name) if mean(pooled(measures, (name, n), "timed_out")) > share)
    return next(above, None)


def rows_19(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig19a-incast` and `dctcp-fig19b-timeouts`, for each reading of the buffer."""
    rows = []
    for buffer in BUFFERS:

        def time(variant: str, n: int, buffer: str = buffer) -> float:
            return mean(pooled(measures, (f"{variant}, {buffer}", n), "completion_ms"))

        ran = points(measures, f"dctcp-10ms, {buffer}")
        fastest = min(min(pooled(measures, (f"{v}, {buffer}", n), "completion_ms")) for v in VARIANTS for n in ran)
        slowest = max(time("dctcp-10ms", n) for n in ran if n <= 25)
        middle = [n for n in ran if 12 <= n <= 30]
        kept = [time(f"dctcp-{rto}ms", n) < time(f"newreno-{rto}ms", n) for rto in (10, 300) for n in middle]
        kept += [time("newreno-300ms", n) > time("newreno-10ms", n) for n in middle]
        gap = max(abs(time(f"dctcp-{rto}ms", 40) / time(f"newreno-{rto}ms", 40) - 1) for rto in (10, 300))
        tcp, dctcp = (first_above(measures, f"{s}-10ms, {buffer}", 0.01) for s in SCHEMES)
        a, b = f"dctcp-fig19a-incast ({buffer})", f"dctcp-fig19b-timeouts ({buffer})"
        clean = [mean(pooled(measures, (f"dctcp-10ms, {buffer}", n), "timed_out")) == 0 for n in ran if n <= 25]
        rows += [
            Row(a, "fastest query, ms", "about 8", f"{fastest:.2f}", "at least 8.0", strict(fastest >= 8.0)),
            Row(
                a,
                "dctcp-10ms, mean at up to 25 servers, ms",
                "near 8",
                f"at most {slowest:.2f}",
                "at most 9.5",
                band(slowest, 8.0, 9.5),
            ),
            Row(
                a,
                "dctcp below newreno, newreno-300ms above newreno-10ms, 12 to 30 servers",
                "always",
                f"{sum(kept)} of {len(kept)} points",
                "always",
                order(kept),
            ),
            Row(
                a,
                "gap between dctcp and newreno at 40 servers",
                "closed",
                f"{gap * 100:.0f} %",
                "below 30 %",
                band(gap, 0.0, 0.3),
            ),
            Row(
                b,
                "newreno-10ms: servers at which over 1 % of queries time out",
                "above 10",
                str(tcp),
                "6 to 16",
                band(tcp or 99, 6, 16),
            ),
            Row(
                b,
                "dctcp-10ms: no timeout up to 25 servers",
                "none",
                f"{sum(clean)} of {len(clean)} points",
                "none",
                strict(all(clean)),
            ),
            Row(
                b,
                "dctcp-10ms: servers at which over 1 % of queries time out",
                "35",
                str(dctcp),
                "28 to 50",
                band(dctcp or 99, 28, 50),
            ),
        ]
    return rows


def rows_20(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig20-dynamic`, but for its comparison with static buffers."""
    claim = "dctcp-fig20-dynamic"
    share = {s: {n: mean(pooled(measures, (s, n), "timed_out")) for n in points(measures, s)} for s in SCHEMES}
    worst = max(share["dctcp"].values())
    return [
        Row(
            claim,
            "dctcp: queries with a timeout, up to 40 servers",
            "none",
            f"{worst * 100:.2f} % at worst",
            "none",
            strict(worst == 0),
        ),
        Row(
            claim,
            "newreno: queries with a timeout at 40 servers",
            "some, fewer than with static buffers",
            f"{share['newreno'][40] * 100:.1f} %",
            "above 0",
            strict(share["newreno"][40] > 0),
        ),
    ]


# Fig. 22: a short transfer behind long flows


RESTARTS = {"kept": "10 ms", "anew": "1 ns"}
"""Whether a chunk keeps the window of the last one, or starts from two segments: `restart_after` of the chunks."""


def sweep_22(quick: bool) -> dict[Key, Change]:
    """Each scheme with either window at the start of a chunk."""
    rounds = ("traffic.chunks.pattern.rounds=30",) if quick else ()
    return {
        (f"{scheme}, {name}", 0, seed): Change(
            None, (*under(scheme, "long", "chunks"), f"traffic.chunks.scheme.restart_after={time}", *rounds)
        )
        for name, time in RESTARTS.items()
        for scheme in SCHEMES
        for seed in seeds(quick)
    }


def measure_22(result: Result) -> Measured:
    """Completion time of each 20 KB request, and its timeouts."""
    table = of.queries(result)
    whole = table.drop_nulls("completion_ps")
    return {
        "completion_ms": (whole["completion_ps"].to_numpy() / 1e9).tolist(),
        "timeouts": [float(table["timeouts"].sum())],
    }


def draw_22(measures: Measures) -> Figure:
    """Cumulative distribution of completion times, as the paper draws it."""
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = figure.subplots()
    for name, line in zip(RESTARTS, ("--", "-"), strict=True):
        for scheme in SCHEMES:
            times = np.sort(np.asarray(pooled(measures, (f"{scheme}, {name}", 0), "completion_ms")))
            shares = np.arange(1, times.size + 1) / max(times.size, 1)
            label = f"{scheme}, window {name} (median {quantile(times.tolist(), 0.5):.2f} ms)"
            axes.step(times, shares, where="post", label=label, **(style(scheme) | {"linestyle": line}))
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, "DCTCP Fig. 22: 20 KB behind two long flows", "FCT (ms)", "share of requests")
    return figure


def rows_22(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig22-queuebuildup`, with either window at the start of a chunk."""
    rows = []
    for name in RESTARTS:
        claim = f"dctcp-fig22-queuebuildup (window {name})"
        median = {s: quantile(pooled(measures, (f"{s}, {name}", 0), "completion_ms"), 0.5) for s in SCHEMES}
        timeouts = sum(pooled(measures, (f"dctcp, {name}", 0), "timeouts"))
        ratio = median["newreno"] / median["dctcp"]
        rows += [
            Row(
                claim,
                "median of dctcp, ms",
                "about 1",
                f"{median['dctcp']:.2f}",
                "0.5 to 2",
                band(median["dctcp"], 0.5, 2),
            ),
            Row(
                claim,
                "median of newreno, ms",
                "about 19",
                f"{median['newreno']:.2f}",
                "8 to 30",
                band(median["newreno"], 8, 30),
            ),
            Row(claim, "newreno / dctcp", "about 19", f"{ratio:.1f}", "at least 8", strict(ratio >= 8)),
            Row(
                claim,
                "timeouts of the 20 KB flow under dctcp, all seeds",
                "none",
                f"{timeouts:.0f}",
                "0",
                strict(timeouts == 0),
            ),
        ]
    return rows


EXPERIMENTS = (
    Experiment(
        "dctcp-fig14",
        "queue and throughput of long flows",
        "dctcp/fig14-queue.toml",
        sweep_14,
        measure_14,
        draw_14,
        rows_14,
    ),
    Experiment("dctcp-fig18", "two bottlenecks", "dctcp/fig18-multihop.toml", sweep_18, measure_18, draw_18, rows_18),
    Experiment(
        "dctcp-fig19",
        "incast with static buffers",
        "dctcp/fig19-incast.toml",
        sweep_19,
        measure_queries,
        draw_19,
        rows_19,
    ),
    Experiment(
        "dctcp-fig20",
        "incast with dynamic buffers",
        "dctcp/fig20-incast-dynamic.toml",
        sweep_20,
        measure_queries,
        draw_20,
        rows_20,
    ),
    Experiment(
        "dctcp-fig22",
        "a short transfer behind long flows",
        "dctcp/fig22-queue-buildup.toml",
        sweep_22,
        measure_22,
        draw_22,
        rows_22,
    ),
)
"""In the order of the paper."""

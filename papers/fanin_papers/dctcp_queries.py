"""DCTCP section 4: figures 19, 20 and 22."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin import measures as of
from fanin.plot import label_axes, legend_below, scheme_line
from fanin_papers.common import cdf, log_ticks, mean, picture, points, pooled, quantile, seeds
from fanin_papers.dctcp import PACKET_BYTES, SCHEMES, under
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict

# Figs. 19 and 20: incast


DEGREES = (1, 2, 5, 8, 10, 12, 15, 20, 25, 30, 35, 40)
VARIANTS = {f"{scheme}-{rto}ms": (scheme, rto) for scheme in SCHEMES for rto in (10, 300)}
STATED = "100 packets"
BUFFERS = {STATED: f"{100 * PACKET_BYTES} B", "100 KB": "100 KB"}
"""Both readings of the static buffer: the paper's text, and its sum "35 x 2 x 1.5 KB > 100 KB"."""
BEYOND = (45, 50, 55)
"""Numbers of servers that the paper's testbed does not have, to find where two packets of each exceed 100 packets."""


def incast(degree: int, rto_ms: int, quick: bool) -> tuple[str, ...]:
    """The changes for one point."""
    rounds = ("traffic.queries.pattern.rounds=20",) if quick else ()
    return (f"traffic.queries.pattern.degree={degree}", f"traffic.queries.tcp.min_rto={rto_ms} ms", *rounds)


def degrees(quick: bool) -> Sequence[int]:
    """A short version has few points."""
    return (1, 10, 40) if quick else DEGREES


def sweep_19(quick: bool) -> dict[Key, Change]:
    """Both readings of the static buffer; the paper's four variants."""
    more = (f"network.topology.hosts={max(BEYOND) + 1}",)
    runs: dict[Key, Change] = {}
    for buffer, size in BUFFERS.items():
        for variant, (scheme, rto) in VARIANTS.items():
            beyond = not quick and rto == 10 and buffer == STATED
            found = dict.fromkeys(degrees(quick), ()) | (dict.fromkeys(BEYOND, more) if beyond else {})
            # The timeout of 300 ms is compared by means, which need fewer queries.
            rounds = ("traffic.queries.pattern.rounds=300",) if rto == 300 and not quick else ()
            for n, hosts in found.items():
                changes = (
                    *incast(n, rto, quick),
                    *under(scheme, "queries"),
                    f"network.buffer.per_port={size}",
                    *hosts,
                    *rounds,
                )
                for seed in seeds(quick):
                    runs[f"{variant}, {buffer}", n, seed] = Change(None, changes)
    return runs


STATIC = "newreno (static buffer)"


def sweep_20(quick: bool) -> dict[Key, Change]:
    """Dynamic buffers, a minimum timeout of 10 ms; with 40 servers newreno with the static buffers of Fig. 19 too."""
    static = f'network.buffer={{ per_port = "{BUFFERS[STATED]}", policy = "lossy" }}'
    cases = [(scheme, n, scheme, ()) for scheme in SCHEMES for n in degrees(quick)] + [
        (STATIC, 40, "newreno", (static,))
    ]
    return {
        (name, n, seed): Change(None, (*incast(n, 10, quick), *under(scheme, "queries"), *buffer))
        for name, n, scheme, buffer in cases
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
            shown = scheme_line(scheme) | {"linestyle": line}
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
        log_ticks(left)
    right.set_ylim(-0.02, 1.02)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(left, title, "servers", "mean query completion (ms, log scale)" if log else "mean query completion (ms)")
    label_axes(right, title, "servers", "queries with a timeout")


def draw_19(measures: Measures) -> Figure:
    """The paper's two panels, for each reading of the buffer."""
    figure = picture(11, 9, "DCTCP Fig. 19: 1 MB from n servers, 1 Gb/s, static buffers")
    for (left, right), buffer in zip(figure.subplots(len(BUFFERS), 2), BUFFERS, strict=True):
        lines = {10: "-", 300: "--"}
        names = {f"{variant}, {buffer}": (scheme, lines[rto]) for variant, (scheme, rto) in VARIANTS.items()}
        draw_incast(left, right, measures, names, f"static buffer of {buffer}", log=True)
    return figure


def draw_20(measures: Measures) -> Figure:
    """Completion time and timeouts."""
    figure = picture(11, 4.6, "DCTCP Fig. 20: 1 MB from n servers, 1 Gb/s, dynamic buffers, minimum timeout 10 ms")
    names = {scheme: (scheme, "-") for scheme in SCHEMES} | {STATIC: ("newreno", ":")}
    left, right = figure.subplots(1, 2)
    draw_incast(left, right, measures, names, "dynamic buffer; static as in Fig. 19", log=False)
    return figure


def first_above(measures: Measures, name: str, share: float) -> int | None:
    """The least number of servers at which more than this share of the queries had a timeout."""
    above = (n for n in points(measures, name) if mean(pooled(measures, (name, n), "timed_out")) > share)
    return next(above, None)


def rows_19(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig19a-incast` and `dctcp-fig19b-timeouts`, with the buffer of the paper's text; with the other
    reading beside."""
    return [row for buffer in BUFFERS for row in (*rows_19a(measures, buffer), *rows_19b(measures, buffer))]


def rows_19a(measures: Measures, buffer: str) -> list[Row]:
    """Claim `dctcp-fig19a-incast` with one reading of the buffer."""

    def time(variant: str, n: int) -> float:
        return mean(pooled(measures, (f"{variant}, {buffer}", n), "completion_ms"))

    claim, judged = "dctcp-fig19a-incast", buffer == STATED
    ran = [n for n in points(measures, f"dctcp-10ms, {buffer}") if n <= 40]
    fastest = min(min(pooled(measures, (f"{v}, {buffer}", n), "completion_ms")) for v in VARIANTS for n in ran)
    slowest = max(time("dctcp-10ms", n) for n in ran if n <= 25)
    middle = [n for n in ran if 12 <= n <= 30]
    kept = [time(f"dctcp-{rto}ms", n) < time(f"newreno-{rto}ms", n) for rto in (10, 300) for n in middle]
    kept += [time("newreno-300ms", n) > time("newreno-10ms", n) for n in middle]
    gap = max(abs(time(f"dctcp-{rto}ms", 40) / time(f"newreno-{rto}ms", 40) - 1) for rto in (10, 300))
    return Row.table(
        f"""
        {claim}
        {buffer}: fastest query, ms | about 8 | {fastest:.2f} | at least 8.0 | {strict(fastest >= 8.0)}
        {buffer}: dctcp-10ms, mean at up to 25 servers, ms | near 8 | at most {slowest:.2f} | at most 9.5
            | {band(slowest, 8.0, 9.5)}
        {buffer}: dctcp below newreno, newreno-300ms above newreno-10ms, 12 to 30 servers | always
            | {sum(kept)} of {len(kept)} points | always | {order(kept)}
        {buffer}: gap between dctcp and newreno at 40 servers | closed | {gap * 100:.0f} % | below 30 %
            | {band(gap, 0.0, 0.3)}
        """,
        judged,
    )


def rows_19b(measures: Measures, buffer: str) -> list[Row]:
    """Claim `dctcp-fig19b-timeouts` with one reading of the buffer."""
    claim, judged = "dctcp-fig19b-timeouts", buffer == STATED
    ran = points(measures, f"dctcp-10ms, {buffer}")
    tcp, dctcp = (first_above(measures, f"{s}-10ms, {buffer}", 0.01) for s in SCHEMES)
    clean = [mean(pooled(measures, (f"dctcp-10ms, {buffer}", n), "timed_out")) == 0 for n in ran if n <= 25]
    return Row.table(
        f"""
        {claim}
        {buffer}, newreno-10ms: servers at which over 1 % of queries time out | above 10 | {tcp!s} | 6 to 16
            | {band(tcp or 99, 6, 16)}
        {buffer}, dctcp-10ms: no timeout up to 25 servers | none | {sum(clean)} of {len(clean)} points | none
            | {strict(all(clean))}
        {buffer}, dctcp-10ms: servers at which over 1 % of queries time out | 35
            | {dctcp or f"none up to {max(ran)}"} | 28 to 50 | {band(dctcp or 99, 28, 50)}
        """,
        judged,
    )


def rows_20(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig20-dynamic`."""
    share = {s: {n: mean(pooled(measures, (s, n), "timed_out")) for n in points(measures, s)} for s in SCHEMES}
    worst = max(share["dctcp"].values())
    dynamic, static = share["newreno"][40], mean(pooled(measures, (STATIC, 40), "timed_out"))
    return Row.table(f"""
        dctcp-fig20-dynamic
        dctcp: queries with a timeout, up to 40 servers | none | {worst * 100:.2f} % at worst | none
            | {strict(worst == 0)}
        newreno: queries with a timeout at 40 servers | some | {dynamic * 100:.1f} % | above 0 | {strict(dynamic > 0)}
        newreno: queries with a timeout at 40 servers, dynamic and static buffers | fewer with dynamic ones
            | {dynamic * 100:.1f} and {static * 100:.1f} % | in this order | {order([dynamic < static])}
    """)


# Fig. 22: a short transfer behind long flows


PER_REQUEST = "window anew per request"
RESTARTS = {
    PER_REQUEST: ("traffic.chunks.tcp.restart='request'",),
    "window kept": (),
    "window anew at each pause": ("traffic.chunks.scheme.restart_after=1 ns",),
    "new connection per request": ("traffic.chunks.tcp.persistent=false",),
}
"""How a chunk begins, as changes of the chunks: on an open connection, as in the paper, from two segments, with the
window of the last chunk, or from two segments after each round trip too; or on a connection of its own."""


def sweep_22(quick: bool) -> dict[Key, Change]:
    """Each scheme with each beginning of a chunk."""
    rounds = ("traffic.chunks.pattern.rounds=30",) if quick else ()
    return {
        (f"{scheme}, {name}", 0, seed): Change(None, (*under(scheme, "long", "chunks"), *restart, *rounds))
        for name, restart in RESTARTS.items()
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
    figure = picture(7.5, 5.4)
    axes = figure.subplots()
    for name, line in zip(RESTARTS, ("-", "--", ":", "-."), strict=True):
        for scheme in SCHEMES:
            times = pooled(measures, (f"{scheme}, {name}", 0), "completion_ms")
            label = f"{scheme}, {name} (median {quantile(times, 0.5):.2f} ms)"
            cdf(axes, times, label=label, **(scheme_line(scheme) | {"linestyle": line}))
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, "DCTCP Fig. 22: 20 KB behind two long flows", "FCT (ms)", "share of requests", legend=False)
    legend_below(figure, axes)
    return figure


def rows_22(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig22-queuebuildup` with windows that start anew per request; with the other beginnings beside."""
    rows = []
    for name in RESTARTS:
        claim, judged = "dctcp-fig22-queuebuildup", name == PER_REQUEST
        median = {s: quantile(pooled(measures, (f"{s}, {name}", 0), "completion_ms"), 0.5) for s in SCHEMES}
        timeouts = sum(pooled(measures, (f"dctcp, {name}", 0), "timeouts"))
        ratio = median["newreno"] / median["dctcp"]
        rows += Row.table(
            f"""
            {claim}
            {name}: median of dctcp, ms | about 1 | {median["dctcp"]:.2f} | 0.5 to 2 | {band(median["dctcp"], 0.5, 2)}
            {name}: median of newreno, ms | about 19 | {median["newreno"]:.2f} | 8 to 30
                | {band(median["newreno"], 8, 30)}
            {name}: newreno / dctcp | about 19 | {ratio:.1f} | at least 8 | {strict(ratio >= 8)}
            {name}: timeouts of the 20 KB flow under dctcp, all seeds | none | {timeouts:.0f} | 0
                | {strict(timeouts == 0)}
            """,
            judged,
        )
    return rows


EXPERIMENTS = (
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

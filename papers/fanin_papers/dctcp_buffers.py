"""DCTCP sections 2.3.4, 3.2, 4.2.1 and 4.2.3: incasts that share a switch's memory, and their limit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.plot import label_axes, legend_below, scheme_line
from fanin.style import style_of
from fanin_papers.common import cdf, mean, over_seeds, percentile, picture, points, pooled, quantile, seeds
from fanin_papers.dctcp import SCHEMES, under
from fanin_papers.dctcp_queries import measure_queries
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order, strict

ANEW = "newreno, window anew per query"
WINDOWS = {
    **{scheme: (scheme, ()) for scheme in SCHEMES},
    ANEW: ("newreno", ("traffic.queries.tcp.restart='request'",)),
}
"""Scheme and changes by the names of curves: a window that is kept between queries, or starts from two segments."""

# Table 2 and section 2.3.4: long flows on other ports

PORTS = (0, 8, 16, 33)
"""Other ports with two long flows each."""
LONG = {"next": 1, "second": 2}
"""The traffics of long flows: how far the receiver is from the sender in the list of hosts."""


def ring(ports: int, ahead: int) -> tuple[str, str]:
    """The first hosts of those that send long flows, and as many receivers, each so many places ahead."""
    hosts = [f"h{11 + number}" for number in range(ports)]
    turned = [hosts[(number + ahead) % ports] for number in range(ports)]
    listed = ["[" + ", ".join(f'"{host}"' for host in names) + "]" for names in (hosts, turned)]
    return listed[0], listed[1]


def crossing(ports: int) -> tuple[str, ...]:
    """Two long flows into each of so many other ports; none begin before the queries are done where there are no
    ports."""
    if ports == 0:
        return tuple(f"traffic.{name}.start=399 s" for name in LONG)
    return tuple(
        change
        for name, ahead in LONG.items()
        for change in (
            f"traffic.{name}.pattern.senders={ring(ports, ahead)[0]}",
            f"traffic.{name}.pattern.receivers={ring(ports, ahead)[1]}",
        )
    )


def sweep_table2(quick: bool) -> dict[Key, Change]:
    """Each scheme beside long flows on ever more ports."""
    rounds = ("traffic.queries.pattern.rounds=10",) if quick else ()
    return {
        (name, ports, seed): Change(None, (*under(scheme, "queries", *LONG), *restart, *crossing(ports), *rounds))
        for name, (scheme, restart) in WINDOWS.items()
        for ports in PORTS
        for seed in seeds(quick)
    }


def measure_table2(result: Result) -> Measured:
    """Completion times and timeouts of queries, packets of their answers that were lost per query, and the goodput of
    the long flows."""
    flows = result.flows()
    answers = flows.filter((pl.col("traffic") == "queries") & ~pl.col("request"))
    lost = int(answers["packets_sent"].sum()) - int(answers["packets_arrived"].sum())
    found = measure_queries(result)
    traffics = result.summary()["traffics"]
    return {
        **found,
        "lost": [lost / max(1, len(found["timed_out"]))],
        "long_gbps": [sum(traffic["long_goodput_gbps"] or 0.0 for traffic in traffics)],
    }


def draw_table2(measures: Measures) -> Figure:
    """The 95th percentile, timeouts and losses over the number of ports with long flows."""
    figure = picture(13, 4.6, "DCTCP Table 2 and section 2.3.4: 1 MB from 10 servers beside long flows on other ports")
    tail, late, lost = figure.subplots(1, 3)
    for name, (scheme, _) in WINDOWS.items():
        shown = scheme_line(scheme) | {"marker": style_of(scheme).marker_for_matplotlib(), "markersize": 6}
        if name == ANEW:
            shown |= {"linestyle": ":", "markerfacecolor": "white"}
        found = points(measures, name)
        at = [(name, ports) for ports in found]
        tail.plot(found, [quantile(pooled(measures, k, "completion_ms"), 0.95) for k in at], label=name, **shown)
        late.plot(found, [mean(pooled(measures, k, "timed_out")) for k in at], label=name, **shown)
        lost.plot(found, [mean(pooled(measures, k, "lost")) for k in at], label=name, **shown)
    tail.set_ylim(bottom=0)
    late.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    across = "other ports with two long flows"
    label_axes(tail, "95th percentile", across, "query completion (ms)", legend=False)
    legend_below(figure, tail)
    label_axes(late, "timeouts", across, "queries with a timeout", legend=False)
    label_axes(lost, "losses", across, "packets of answers lost per query", legend=False)
    return figure


def rows_table2(measures: Measures) -> list[Row]:
    """Claims `dctcp-table2-bufferpressure` and `dctcp-sec234-bufferpressure`."""
    return [*rows_pressure(measures), *rows_losses(measures)]


def rows_pressure(measures: Measures) -> list[Row]:
    """Claim `dctcp-table2-bufferpressure`: no long flows, and all 66."""
    claim, none, all_ports = "dctcp-table2-bufferpressure", PORTS[0], PORTS[-1]
    p95 = {
        (s, n): over_seeds(measures, (s, n), "completion_ms", percentile(0.95))
        for s in WINDOWS
        for n in (none, all_ports)
    }
    late = {s: 100 * over_seeds(measures, (s, all_ports), "timed_out") for s in WINDOWS}
    rate = {s: over_seeds(measures, (s, all_ports), "long_gbps") for s in SCHEMES}
    grown = {s: p95[s, all_ports] / p95[s, none] for s in WINDOWS}
    alone = {"newreno": "9.87", "dctcp": "9.17"}
    return [
        *(
            Row.of(
                claim,
                f"{s}: p95 of queries without long flows, ms | {alone[s]} "
                f"| {judge('band', p95[s, none], '.2f', '8.5 to 11')}",
            )
            for s in SCHEMES
        ),
        *Row.table(f"""
            {claim}
            dctcp: p95 with long flows / without | 0.99 (9.09 ms)
                | {grown["dctcp"]:.3f} ({p95["dctcp", all_ports]:.2f} ms) | at most 1.1 | {band(grown["dctcp"], 0, 1.1)}
        """),
        *(
            Row.of(
                claim,
                f"{s}: p95 with long flows / without | 4.8 (46.94 ms) | {grown[s]:.2f} ({p95[s, all_ports]:.2f} ms) "
                f"| at least 2 | {band(grown[s], 2, inf)}",
                s != ANEW,
            )
            for s in ("newreno", ANEW)
        ),
        *(
            Row.of(
                claim,
                f"{s}: queries with a timeout, with long flows, % | 7 | {late[s]:.1f} | 2 to 20 "
                f"| {band(late[s], 2, 20)}",
                s != ANEW,
            )
            for s in ("newreno", ANEW)
        ),
        *Row.table(f"""
            {claim}
            dctcp: queries with a timeout, with long flows, % | 0.08 | {late["dctcp"]:.2f} | at most 0.5
                | {band(late["dctcp"], 0, 0.5)}
            goodput of the long flows, dctcp / newreno | 1 | {rate["dctcp"] / rate["newreno"]:.3f} | 0.97 to 1.03
                | {band(rate["dctcp"] / rate["newreno"], 0.97, 1.03)}
        """),
    ]


def rows_losses(measures: Measures) -> list[Row]:
    """Claim `dctcp-sec234-bufferpressure`."""
    lost = {name: [over_seeds(measures, (name, ports), "lost") for ports in PORTS] for name in WINDOWS}
    ports = ", ".join(map(str, PORTS))
    rows = []
    for name in ("newreno", ANEW):
        judged, found = name != ANEW, lost[name]
        rising = [before <= after for before, after in pairwise(found)]
        rows += Row.table(
            f"""
            dctcp-sec234-bufferpressure
            {name}: packets of answers lost per query, long flows on {ports} other ports | more with more ports
                | {", ".join(f"{value:.2f}" for value in found)} | never fewer | {order(rising)}
            {name}: the same without long flows | none | {found[0]:.2f} | 0 | {strict(found[0] == 0)}
            {name}: the same with 33 other ports | some | {found[-1]:.2f} | above 0 | {strict(found[-1] > 0)}
            """,
            judged,
        )
    most = max(lost["dctcp"])
    return [
        *rows,
        Row.of(
            "dctcp-sec234-bufferpressure",
            f"dctcp: the same, at most | about none | {most:.3f} | 0.00 to two digits | {strict(round(most, 2) == 0)}",
        ),
    ]


# Fig. 21: all to all


def sweep_21(quick: bool) -> dict[Key, Change]:
    """Each scheme; newreno also with a window that starts anew with each query."""
    rounds = ("traffic.queries.pattern.rounds=3",) if quick else ()
    return {
        (name, 40, seed): Change(None, (*under(scheme, "queries"), *restart, *rounds))
        for name, (scheme, restart) in WINDOWS.items()
        for seed in seeds(quick)
    }


def draw_21(measures: Measures) -> Figure:
    """Cumulative distribution of response times, as the paper draws it."""
    figure = picture(7, 4.8)
    axes = figure.subplots()
    for scheme in SCHEMES:
        late = mean(pooled(measures, (scheme, 40), "timed_out"))
        label = f"{scheme} ({late:.0%} with a timeout)"
        cdf(axes, pooled(measures, (scheme, 40), "completion_ms"), label=label, **scheme_line(scheme))
    axes.set_xlim(0, 50)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    title = "DCTCP Fig. 21: 41 hosts ask each of the others for 25 KB"
    label_axes(axes, title, "query completion (ms)", "share of queries", legend=False)
    axes.legend(frameon=False, fontsize=10, loc="lower right")
    return figure


def rows_21(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig21-alltoall`."""
    late = {name: over_seeds(measures, (name, 40), "timed_out") for name in (*SCHEMES, ANEW)}
    return [
        Row.of(
            "dctcp-fig21-alltoall",
            f"dctcp: queries with a timeout | none | {late['dctcp']:.2%} | none | {strict(late['dctcp'] == 0)}",
        ),
        *(
            Row.of(
                "dctcp-fig21-alltoall",
                f"{name}: queries with a timeout | over 55 % | {late[name]:.1%} | 25 to 90 % "
                f"| {band(late[name], 0.25, 0.9)}",
                name != ANEW,
            )
            for name in ("newreno", ANEW)
        ),
    ]


# Section 4.2.1: other settings

TOTALS = {"100 KB": 500, "1 MB": 300, "10 MB": 100}
"""Payload of a query, and how often it is repeated."""
SERVERS = (5, 10, 20, 30, 40)
DEEP, DEEP_SHARED = "newreno, deep buffer", "newreno, deep buffer, shared as the shallow one"
SWITCHES = {
    "newreno": ("newreno", ()),
    "dctcp": ("dctcp", ()),
    DEEP: ("newreno", ("network.buffer.pool=16 MB", "network.buffer.alpha=1.0")),
    DEEP_SHARED: ("newreno", ("network.buffer.pool=16 MB",)),
}
"""Scheme and switch by the names of curves. The memory of CAT4948 is 16 MB, without ECN; how it is shared is not known:
a lone busy port gets half of it, or 0.21 / 1.21 of it as in the shallow switch."""
FAST = ("network.topology.link=10 Gbps", "network.marking.above=99.97 KB")
LINKS = {"1 Gb/s": (), "10 Gb/s": FAST}


def sweep_other(quick: bool) -> dict[Key, Change]:
    """Each switch, rate and size. The deep one has no 41 ports of 10 Gb/s."""
    runs: dict[Key, Change] = {}
    for name, (scheme, switch) in SWITCHES.items():
        for link, network in LINKS.items():
            for total, rounds in TOTALS.items():
                if name in (DEEP, DEEP_SHARED) and link != "1 Gb/s":
                    continue
                for n in SERVERS[::4] if quick else SERVERS:
                    changes = (
                        f"traffic.queries.pattern.degree={n}",
                        f"traffic.queries.pattern.total={total}",
                        f"traffic.queries.pattern.rounds={3 if quick else rounds}",
                    )
                    for seed in seeds(quick):
                        change = Change(None, (*under(scheme, "queries"), *switch, *network, *changes))
                        runs[f"{name}, {link}, {total}", n, seed] = change
    return runs


def late_by_servers(measures: Measures, name: str) -> dict[int, float]:
    """The share of queries with a timeout by the number of servers."""
    return {n: over_seeds(measures, (name, n), "timed_out") for n in points(measures, name)}


def draw_other(measures: Measures) -> Figure:
    """The share of queries with a timeout over the number of servers."""
    figure = picture(12, 7.6, "DCTCP section 4.2.1: queries with a timeout, dynamic buffers, minimum timeout 10 ms")
    grid = figure.subplots(2, 3, sharey=True, sharex=True)
    for line, link in zip(grid, LINKS, strict=True):
        for axes, total in zip(line, TOTALS, strict=True):
            draw_other_panel(axes, measures, link, total)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    return figure


def draw_other_panel(axes: Axes, measures: Measures, link: str, total: str) -> None:
    """One rate and size."""
    for name, (scheme, _) in SWITCHES.items():
        found = late_by_servers(measures, f"{name}, {link}, {total}")
        marker = style_of(scheme).marker_for_matplotlib()
        shown = scheme_line(scheme) | {"marker": marker, "markersize": 5, "clip_on": False}
        if name in (DEEP, DEEP_SHARED):
            style, size = (":", 11) if name == DEEP else ("-.", 8)
            shown |= {"linestyle": style, "markerfacecolor": "none", "markersize": size}
        if found:
            axes.plot(list(found), list(found.values()), label=name, **shown)
    axes.set_ylim(0, 1)
    axes.set_xlim(0, 42)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, f"{total} at {link}", "servers", "queries with a timeout", legend=False)


def rows_other(measures: Measures) -> list[Row]:
    """Claim `dctcp-sec421-other`."""

    def late(name: str, link: str, totals: Sequence[str]) -> float:
        return mean(
            [share for total in totals for share in late_by_servers(measures, f"{name}, {link}, {total}").values()]
        )

    small, large = ("100 KB", "1 MB"), ("10 MB",)
    shallow = {sizes: late("newreno", "1 Gb/s", sizes) for sizes in (small, large)}
    worst = max(late("dctcp", link, (total,)) for link in LINKS for total in TOTALS)
    both = {link: late("newreno", link, ("1 MB", "10 MB")) for link in LINKS}
    deep_rows = []
    for name in (DEEP, DEEP_SHARED):
        deep = {sizes: late(name, "1 Gb/s", sizes) for sizes in (small, large)}
        deep_rows += Row.table(
            f"""
            dctcp-sec421-other
            {name}, up to 1 MB: queries with a timeout, and with the shallow one | fewer with deep ones
                | {deep[small]:.2%} and {shallow[small]:.2%} | in this order | {order([deep[small] < shallow[small]])}
            {name}, 10 MB: queries with a timeout | the problem resurfaces
                | {deep[large]:.2%} (shallow: {shallow[large]:.0%}) | above 0 | {strict(deep[large] > 0)}
            """,
            name == DEEP,
        )
    return [
        *deep_rows,
        *Row.table(f"""
            dctcp-sec421-other
            dctcp: queries with a timeout, 100 KB to 10 MB at 1 and 10 Gb/s, at worst | performs well at all sizes
                | {worst:.2%} | none | {strict(worst == 0)}
            newreno, 1 and 10 MB: queries with a timeout at 1 and 10 Gb/s | alike
                | {both["1 Gb/s"]:.1%} and {both["10 Gb/s"]:.1%} | above 0 at both | ({strict(min(both.values()) > 0)})
        """),
    ]


# Section 3.2: what no sender can avoid

BUFFER = 100
"""Packets."""
SENDERS = {
    1: (60, 80, 100, 120, 140, 160, 180, 200),
    2: (10, 25, 50),
    5: (10, 25, 50),
    10: (10, 25, 50),
    20: (10, 25, 50),
}
"""Numbers of senders by packets of each."""
CHOICES = {
    "dctcp": '{ id = "dctcp", initial_window = 1 }',
    "newreno": '{ id = "newreno", initial_window = 1 }',
    "rcc": '{ id = "rcc", newreno = { initial_window = 1 } }',
}


def sweep_limit(quick: bool) -> dict[Key, Change]:
    """Each scheme with each number of senders and packets."""
    return {
        (f"{scheme}, {packets}", n, seed): Change(
            None,
            (
                f"traffic.burst.scheme={choice}",
                f"traffic.burst.pattern.degree={n}",
                f"traffic.burst.size.fixed={packets * 1460} B",
            ),
        )
        for scheme, choice in CHOICES.items()
        for packets, numbers in SENDERS.items()
        for n in numbers
        for seed in seeds(quick)
    }


def measure_limit(result: Result) -> Measured:
    """Packets dropped."""
    return {"drops": [float(result.summary()["network"]["drops"]["buffer"])]}


def drops(measures: Measures, scheme: str, packets: int) -> dict[int, float]:
    """Mean drops by the number of senders."""
    name = f"{scheme}, {packets}"
    return {n: over_seeds(measures, (name, n), "drops") for n in points(measures, name)}


def draw_limit(measures: Measures) -> Figure:
    """Drops over the number of senders: one packet each, and 20 packets each."""
    figure = picture(11, 4.8, "DCTCP section 3.2: bursts at the same time into a port of 100 packets, 1 Gb/s")
    left, right = figure.subplots(1, 2)
    for axes, packets in ((left, 1), (right, 20)):
        for scheme in CHOICES:
            found = drops(measures, scheme, packets)
            wide = {"linewidth": 4.5, "markersize": 11} if scheme == "dctcp" else {"markersize": 6}  # seen below others
            shown = scheme_line(scheme) | {"marker": style_of(scheme).marker_for_matplotlib()} | wide
            axes.plot(list(found), list(found.values()), label=scheme, **shown)
        label_axes(
            axes, f"{packets} packet{'s' if packets > 1 else ''} each", "senders", "packets dropped", legend=False
        )
    least = np.asarray(SENDERS[1])
    left.plot(least, np.maximum(least - BUFFER - 1, 0), color="#888888", linestyle=":", label="senders - 100 - 1")
    for axes in (left, right):
        axes.legend(frameon=False, fontsize=10, loc="upper left")
    return figure


def rows_limit(measures: Measures) -> list[Row]:
    """Claim `dctcp-sec32-limit`.

    With a first window of one packet 50 senders have 50 and 100 packets in the first two round trips, which the buffer
    holds: all drops of up to 50 senders are later.
    """
    claim = "dctcp-sec32-limit"
    first = {scheme: drops(measures, scheme, 1) for scheme in CHOICES}
    past = [n for n in SENDERS[1] if n > BUFFER + 1]
    kept = [first[scheme][n] >= n - BUFFER - 1 for scheme in SCHEMES for n in past]
    alike = all(first["dctcp"][n] == first["newreno"][n] for n in SENDERS[1])
    pairs = [
        (drops(measures, "dctcp", packets)[n], drops(measures, "newreno", packets)[n])
        for packets in list(SENDERS)[1:]
        for n in SENDERS[packets]
    ]
    told = [(ours, theirs) for ours, theirs in pairs if ours or theirs]
    by_rcc = max(value for packets in SENDERS for value in drops(measures, "rcc", packets).values())
    said = ", ".join(f"{first['dctcp'][n]:.0f}" for n in past)
    return [
        *Row.table(f"""
            {claim}
            one packet from each of {", ".join(map(str, past))} senders: drops of dctcp | cannot be avoided
                | {said}; newreno {"the same" if alike else "others"} | at least senders - 101 with both, and alike
                | {strict(all(kept) and alike)}
        """),
        Row.of(
            claim,
            "2 to 20 packets from up to 50 senders: drops of dctcp below those of newreno "
            "| marks tame the bursts that follow "
            f"| {sum(a < b for a, b in told)} of {len(told)} cases with drops; in all "
            f"{sum(a for a, _ in pairs):.0f} and {sum(b for _, b in pairs):.0f} | always "
            f"| {order([a < b for a, b in told])}",
        ),
        Row.of(claim, f"drops of rcc, at most | none with a schedule | {judge('strict', by_rcc, '.0f', '0')}"),
    ]


EXPERIMENTS = (
    Experiment(
        "dctcp-table2",
        "queries beside long flows on other ports",
        "dctcp/table2-buffer-pressure.toml",
        sweep_table2,
        measure_table2,
        draw_table2,
        rows_table2,
    ),
    Experiment(
        "dctcp-fig21", "all-to-all incast", "dctcp/fig21-all-to-all.toml", sweep_21, measure_queries, draw_21, rows_21
    ),
    Experiment(
        "dctcp-sec421",
        "incast of other sizes, rates and buffers",
        "dctcp/fig20-incast-dynamic.toml",
        sweep_other,
        measure_queries,
        draw_other,
        rows_other,
    ),
    Experiment(
        "dctcp-sec32",
        "bursts that no sender can avoid",
        "dctcp/sec32-limit.toml",
        sweep_limit,
        measure_limit,
        draw_limit,
        rows_limit,
    ),
)

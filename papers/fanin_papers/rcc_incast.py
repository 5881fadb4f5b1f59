"""RCC section 6.1: figures 5 and 6, the queue, goodput, drops and marks of heavy incast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin.style import style_of
from fanin_papers.common import cdf, mean, over_seeds, percentile, picture, points, pooled, quantile
from fanin_papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    band,
    gain_band,
    judge,
    order,
    strict,
)

SCHEMES = {
    "newreno": '{ id = "newreno", initial_window = 1 }',
    "dctcp": '{ id = "dctcp", initial_window = 1 }',
    "ictcp": '{ id = "ictcp", newreno = { initial_window = 1 } }',
    "rcc": '{ id = "rcc", newreno = { initial_window = 1 } }',
}
"""The paper's schemes with an initial window of 1 segment; its TCP is newreno."""

OTHERS = ("newreno", "dctcp", "ictcp")

SENDERS = range(10, 101, 10)
"""Senders of an incast, from Fig. 5 on."""

PACKET_BYTES = 1500
PACKET_US = 12.0
K_PACKETS = 40
BUFFER_PACKETS = 80
SAMPLE_US = 5.0
"""Between two samples of the queue."""


def many_seeds(quick: bool) -> Sequence[int]:
    """The seeds of the start times; a short version has one."""
    return range(1, 2 if quick else 11)


def incast(scheme: str, n: int, *changes: str) -> Change:
    """The changes for one point."""
    hosts = (f"network.topology.hosts={n + 1}",) if n > max(SENDERS) else ()
    return Change(None, (f"traffic.senders.scheme={scheme}", f"traffic.senders.pattern.degree={n}", *hosts, *changes))


def over_senders(quick: bool) -> dict[Key, Change]:
    """Each scheme with each number of senders."""
    return {
        (name, n, seed): incast(scheme, n)
        for name, scheme in SCHEMES.items()
        for n in SENDERS
        for seed in many_seeds(quick)
    }


def queue_packets(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times in picoseconds and the queue to the receiver in packets."""
    series = result.series()
    return series["time_ps"].to_numpy().astype(np.float64), series["queue_bytes"].to_numpy() / PACKET_BYTES


def span_ps(result: Result) -> tuple[float, float]:
    """The first SYN and the last byte."""
    flows = result.flows()
    ends = flows["start_ps"] + flows["completion_ps"]
    return float(flows["start_ps"].to_numpy().min()), float(ends.to_numpy().max())


def at(measures: Measures, name: str, n: int, what: str) -> float:
    """The mean of all seeds."""
    return over_seeds(measures, (name, n), what)


def curves(axes: Axes, measures: Measures, names: Mapping[str, str], what: str) -> None:
    """The mean of a measurement over the number of senders: a curve per name, in the style of its scheme."""
    for name, scheme in names.items():
        found = points(measures, name)
        shown = scheme_line(scheme) | {"marker": style_of(scheme).marker_for_matplotlib(), "markersize": 4}
        axes.plot(found, [at(measures, name, n, what) for n in found], label=scheme, **shown)


# Fig. 5: the queue

Q1_OF_40 = "rcc, Q1 of 40"
"""With the queue_maxsize for which eq. (4) gives 40 packets, as section 5.1 reads Fig. 5(a)."""

STEADY_FROM_MS = 2.0


def sweep_5(quick: bool) -> dict[Key, Change]:
    """All of the paper's points, and the other reading of Q1."""
    scheme = '{ id = "rcc", queue_maxsize = 53, newreno = { initial_window = 1 } }'
    most = max(SENDERS)
    return over_senders(quick) | {(Q1_OF_40, most, seed): incast(scheme, most) for seed in many_seeds(quick)}


def measure_5(result: Result) -> Measured:
    """The queue from the first SYN to the last byte, in packets: its mean, 95th percentile, deviation, its mean while
    packets wait, and with most senders all samples."""
    time_ps, queue = queue_packets(result)
    first_ps, last_ps = span_ps(result)
    inside = (time_ps >= first_ps) & (time_ps <= last_ps)
    time_ms, queue = time_ps[inside] / 1e9, queue[inside]
    flows = result.flows()
    port = result.ports().row(by_predicate=pl.col("port") == "sw0>h0", named=True)
    measured = {
        "mean": [float(queue.mean())],
        "waiting": [float(queue[queue > 0].mean())],
        "p95": [quantile(queue.tolist(), 0.95)],
        "deviation": [float(queue.std())],
        "highest": [port["peak_queue_bytes"] / PACKET_BYTES],
        "marks": [float(port["marked_packets"])],
        "early": [float(queue[time_ms <= STEADY_FROM_MS].max())],
    }
    if flows.height == max(SENDERS):
        fastest_ms = float(flows["completion_ps"].to_numpy().min()) / 1e9
        steady = queue[(time_ms >= STEADY_FROM_MS) & (time_ms <= fastest_ms)]
        measured |= {"time_ms": time_ms.tolist(), "queue": queue.tolist(), "steady": steady.tolist()}
    return measured


def draw_5(measures: Measures) -> Figure:
    """The paper's panels, and the mean while packets wait."""
    figure = picture(12, 9, "RCC Fig. 5: 32 KB from each sender at once, 1 Gb/s, 80 packets of buffer, K = 40")
    (left, right), (low_left, low_right) = figure.subplots(2, 2)
    names = {scheme: scheme for scheme in SCHEMES}
    for axes, what, title in (
        (left, "mean", "(a) mean from first SYN to last byte"),
        (right, "waiting", "mean while packets wait"),
    ):
        curves(axes, measures, names, what)
        axes.set_ylim(0, BUFFER_PACKETS)
        label_axes(axes, title, "senders", "queue (packets)")
    most = max(SENDERS)
    for scheme in SCHEMES:
        cdf(low_left, pooled(measures, (scheme, most), "queue"), label=scheme, **scheme_line(scheme))
        run = measures[scheme, most, 1]
        low_right.plot(run["time_ms"], run["queue"], label=scheme, **(scheme_line(scheme) | {"linewidth": 1.0}))
    label_axes(low_left, f"(b) {most} senders", "queue (packets)", "share of time")
    low_right.set_xlim(0, 42)
    low_right.set_ylim(0, 1.35 * BUFFER_PACKETS)
    label_axes(low_right, f"(c) {most} senders", "time (ms)", "queue (packets)")
    low_right.legend(frameon=False, fontsize=10, ncols=4, loc="upper center")
    return figure


def rows_5(measures: Measures) -> list[Row]:
    """Claims `rcc-fig5a-mean`, `rcc-fig5a-stable` and `rcc-fig5bc-n100`."""
    return [*rows_mean(measures), *rows_stable(measures), *rows_n100(measures)]


def rows_mean(measures: Measures) -> list[Row]:
    """Claim `rcc-fig5a-mean`, for each reading of the mean."""
    paper = {"newreno": 47.5, "dctcp": 50.8, "ictcp": 43.6}
    rows = []
    for what, said in (("mean", "first SYN to last byte"), ("waiting", "while packets wait")):
        claim = f"rcc-fig5a-mean ({said})"
        means = {s: [at(measures, s, n, what) for n in SENDERS] for s in SCHEMES}
        for scheme in OTHERS:
            cut = 100 * (1 - sum(means["rcc"]) / sum(means[scheme]))
            rows += Row.table(f"""
                {claim}
                rcc below {scheme}, averaged over N | {paper[scheme]} % | {cut:.1f} % | 30 to 65 %
                    | {gain_band(cut, 30, 65)}
            """)
        lowest = {n: lowest_is_rcc({s: means[s][i] for s in SCHEMES}) for i, n in enumerate(SENDERS) if n >= 20}
        rows.append(lowest_row(claim, "mean of rcc lowest, N >= 20", lowest))
    return rows


def lowest_is_rcc(values: Mapping[str, float], slack: float = 0.001) -> bool:
    """No other is lower by more than this share: with few senders RCC and ICTCP give the same windows."""
    return all(values["rcc"] <= value * (1 + slack) for scheme, value in values.items() if scheme != "rcc")


def lowest_row(claim: str, what: str, kept: Mapping[int, bool]) -> Row:
    """An order that is to hold at each of these points."""
    missed = [str(point) for point, holds in kept.items() if not holds]
    ours = f"{sum(kept.values())} of {len(kept)}{', not ' if missed else ''}{', '.join(missed)}"
    return Row.of(claim, f"{what} | always | {ours} | always | {order(list(kept.values()))}")


def rows_stable(measures: Measures) -> list[Row]:
    """Claim `rcc-fig5a-stable`."""
    claim = "rcc-fig5a-stable"
    means = [at(measures, "rcc", n, "mean") for n in SENDERS if n >= 40]
    varies = 100 * (max(means) - min(means)) / mean(means)
    tails = [at(measures, "rcc", n, "p95") for n in SENDERS]
    kept = {n: lowest_is_rcc({s: at(measures, s, n, "deviation") for s in SCHEMES}) for n in SENDERS if n >= 20}
    low, high = (over_seeds(measures, ("rcc", max(SENDERS)), "steady", percentile(share)) for share in (0.05, 0.95))
    return [
        *Row.table(f"""
            {claim}
            mean of rcc, N >= 40, packets: largest less smallest over their mean | stable
                | {min(means):.1f} to {max(means):.1f}: {varies:.1f} % | below 15 % | {band(varies, 0, 15)}
            95th percentile of rcc over all N, packets | low and stable | {min(tails):.1f} to {max(tails):.1f}
                | at most 45 | {band(max(tails), 0, 45)}
        """),
        lowest_row(claim, "standard deviation of rcc lowest, N >= 20", kept),
        *Row.table(f"""
            {claim} (A_r of section 5.2)
            steady queue of rcc, {max(SENDERS)} senders, 5th to 95th percentile, packets | swings by more than 4
                | {low:.1f} to {high:.1f} | above 4 | {strict(high - low > 4)}
        """),
    ]


def rows_n100(measures: Measures) -> list[Row]:
    """Claim `rcc-fig5bc-n100`, and the other reading of Q1."""
    claim, most = "rcc-fig5bc-n100", max(SENDERS)
    steady = over_seeds(measures, ("rcc", most), "steady", percentile(0.5))
    early = min(pooled(measures, ("rcc", most), "early"))
    highest = {scheme: pooled(measures, (scheme, most), "highest") for scheme in SCHEMES}
    least = {scheme: min(highest[scheme]) for scheme in OTHERS}
    other, marks = (at(measures, Q1_OF_40, most, what) for what in ("waiting", "marks"))
    return Row.table(f"""
        {claim}
        steady median of rcc, packets | 40 KB, 26.7 packets (section 5.1: 40 packets)
            | {steady:.1f} ({steady * PACKET_BYTES / 1000.0:.1f} KB) | 24 to 30 | {band(steady, 24, 30)}
        longest queue of rcc, packets | never full | {max(highest["rcc"]):.1f} | below 80
            | {strict(max(highest["rcc"]) < BUFFER_PACKETS)}
        longest queue of the others, least of the seeds | full
            | {", ".join(f"{scheme} {packets:.1f}" for scheme, packets in least.items())} | 80
            | {strict(min(least.values()) > BUFFER_PACKETS - 1)}
        rcc: longest queue in the first {STEADY_FROM_MS:g} ms, least of the seeds | above the steady one | {early:.1f}
            | above {steady:.1f} | {strict(early > steady)}
        {claim} (Q1 of 40 packets)
        queue_maxsize = 53, as eq. (4) has it: mean while packets wait; marks | 40 packets; 0 marks
            | {other:.1f}; {marks:.0f} | 0 marks | {strict(marks == 0)}
    """)


# Fig. 6: goodput, drops and marks

SLOW = "RTO of 20 ms"
TRACED, CAPTURED = "ictcp, traced", "rcc, captured"
TRACED_SENDERS = 50
MORE_SENDERS = (200, 400)
BASE_RTT_PS = 160e6


def sweep_6(quick: bool) -> dict[Key, Change]:
    """All of the paper's points; twice its timeout; more senders of RCC; what ICTCP sends in the second round trip;
    RCC's queue in packets instead of bytes."""
    few = many_seeds(quick)[:3]
    slow = ('traffic.senders.tcp.min_rto="20 ms"', 'traffic.senders.tcp.initial_rto="20 ms"')
    traced = [f"senders:{number}" for number in range(TRACED_SENDERS)]
    runs = over_senders(quick)
    runs |= {(f"{s}, {SLOW}", n, k): incast(SCHEMES[s], n, *slow) for s in SCHEMES for n in SENDERS for k in few}
    runs |= {("rcc", n, k): incast(SCHEMES["rcc"], n) for n in MORE_SENDERS for k in many_seeds(quick)}
    runs |= {
        (TRACED, TRACED_SENDERS, k): incast(SCHEMES["ictcp"], TRACED_SENDERS, f"measure.trace={traced}") for k in few
    }
    for n in (max(SENDERS), *MORE_SENDERS):
        links = ["sw0>h0", *(f"h{host}>sw0" for host in range(1, n + 1))]
        capture = f'measure.capture={{ links = {links}, snaplen = "64 B" }}'
        runs |= {(CAPTURED, n, k): incast(SCHEMES["rcc"], n, capture) for k in few}
    return runs


def measure_6(result: Result) -> Measured:
    """Goodput in Mb/s from the first SYN to the last byte, and what the last hop dropped and marked.

    Schemes without ECN have no marks: for these the packets count that left more than K packets behind.
    """
    flows = result.flows()
    first_ps, last_ps = span_ps(result)
    port = result.ports().row(by_predicate=pl.col("port") == "sw0>h0", named=True)
    _, queue = queue_packets(result)
    would = float((queue > K_PACKETS).sum()) * SAMPLE_US / PACKET_US
    marks = float(port["marked_packets"])
    measured = {
        "goodput": [float(flows["bytes"].sum()) * 8e6 / (last_ps - first_ps)],
        "drops": [float(port["dropped_packets"])],
        "marks": [would if flows["scheme"][0] in ("newreno", "ictcp") else marks],
    }
    hops = result.hops()
    if hops.height > 0:
        measured["second_round"] = [second_round(hops)]
    if "capture" in cast("dict[str, object]", result.spec["measure"]):
        measured["most_packets"] = [most_packets(result.packets())]
    return measured


def second_round(hops: pl.DataFrame) -> float:
    """The packets that all senders together send from their second packet on until a base RTT later."""
    sent = hops.filter(pl.col("node") != "sw0", pl.col("port").is_not_null()).sort("time_ps")
    second = pl.col("time_ps").over("flow_id", mapping_strategy="join").list.get(1)
    return float(sent.filter((pl.col("time_ps") >= second) & (pl.col("time_ps") < second + BASE_RTT_PS)).height)


def most_packets(packets: pl.DataFrame) -> float:
    """The most packets of any size that wait for the receiver at one time."""
    wire_ps = (pl.col("payload_bytes") + 40) * 8000
    leaves = pl.col("port") == "sw0>h0"
    changes = packets.select(
        pl.when(leaves).then("time_ps").otherwise(pl.col("time_ps") + wire_ps + BASE_RTT_PS / 4).alias("time_ps"),
        pl.when(leaves).then(-1).otherwise(1).alias("change"),
    ).sort("time_ps", "change")
    return float(changes["change"].cum_sum().to_numpy().max())


def draw_6(measures: Measures) -> Figure:
    """The paper's panels, and goodput with twice the timeout."""
    figure = picture(12, 9, "RCC Fig. 6: 32 KB from each sender at once, 1 Gb/s, 80 packets of buffer, K = 40")
    panels = figure.subplots(2, 2)
    plain = {scheme: scheme for scheme in SCHEMES}
    slow = {f"{scheme}, {SLOW}": scheme for scheme in SCHEMES}
    for axes, names, what, title, y in (
        (panels[0, 0], plain, "goodput", "(a) goodput", "goodput (Mb/s)"),
        (panels[0, 1], slow, "goodput", f"goodput with an {SLOW}", "goodput (Mb/s)"),
        (panels[1, 0], plain, "drops", "(b) drops at the last hop", "packets (log scale above 1)"),
        (panels[1, 1], plain, "marks", f"(c) packets that meet more than {K_PACKETS}", "packets (log scale above 1)"),
    ):
        curves(axes, measures, names, what)
        axes.set_xlim(5, max(SENDERS) + 5)
        if what == "goodput":
            axes.set_ylim(0, 1000)
        else:
            axes.set_yscale("symlog", linthresh=1)
            axes.set_ylim(-0.2, 5000)
        label_axes(axes, title, "senders", y)
    return figure


def rows_6(measures: Measures) -> list[Row]:
    """Claims `rcc-fig6a-goodput`, `rcc-fig6-nodrops`, `rcc-fig6c-nomarks`, `rcc-fig6-dctcp20` and
    `rcc-fig6-ictcp50`."""
    return [
        *rows_goodput(measures, ""),
        *rows_goodput(measures, SLOW),
        *rows_drops(measures),
        *rows_marks(measures),
        *rows_dctcp(measures),
        *rows_ictcp(measures, ""),
        *rows_ictcp(measures, SLOW),
    ]


def variant(scheme: str, setting: str) -> str:
    """The name of a scheme's runs under a setting, which may be empty."""
    return f"{scheme}, {setting}" if setting else scheme


def claim_under(claim: str, setting: str) -> str:
    """A claim's id with the setting under which it is judged."""
    return f"{claim} ({setting})" if setting else claim


def rows_goodput(measures: Measures, setting: str) -> list[Row]:
    """Claim `rcc-fig6a-goodput`."""
    claim = claim_under("rcc-fig6a-goodput", setting)
    goodput = {s: {n: at(measures, variant(s, setting), n, "goodput") for n in SENDERS} for s in SCHEMES}
    rcc = goodput["rcc"]
    kept = {n: all(rcc[n] > goodput[s][n] for s in OTHERS) for n in SENDERS if n >= 60}
    last = rcc[max(SENDERS)]
    return [
        *Row.table(f"""
            {claim}
            rcc: goodput with 100 senders over its highest | rises or holds
                | {last:.0f} Mb/s, {last / max(rcc.values()):.2f} | at least 0.9
                | {band(last / max(rcc.values()), 0.9, 1)}
        """),
        lowest_row(claim, "rcc above each other, N >= 60", kept),
        *(
            Row.of(
                claim,
                f"{s}: lowest goodput over its highest | collapses "
                f"| {min(found.values()):.0f} / {max(found.values()):.0f} Mb/s, "
                f"{min(found.values()) / max(found.values()):.2f} | below 0.6 "
                f"| {band(min(found.values()) / max(found.values()), 0, 0.6)}",
            )
            for s, found in goodput.items()
            if s != "rcc"
        ),
    ]


def rows_drops(measures: Measures) -> list[Row]:
    """Claim `rcc-fig6-nodrops`."""
    claim = "rcc-fig6-nodrops"
    dropped = {n: sum(pooled(measures, ("rcc", n), "drops")) for n in (*SENDERS, *MORE_SENDERS)}
    here, more = (sum(dropped[n] for n in some) for some in (SENDERS, MORE_SENDERS))
    total = {s: sum(at(measures, s, n, "drops") for n in SENDERS if n >= 40) for s in OTHERS}
    most = {n: max(pooled(measures, (CAPTURED, n), "most_packets")) for n in (max(SENDERS), *MORE_SENDERS)}
    return [
        *Row.table(f"""
            {claim}
            drops of rcc, all N and seeds | 0 | {judge("strict", here, ".0f", "0")}
            drops of rcc, 200 and 400 senders | 0 | {judge("strict", more, ".0f", "0")}
            drops, sum over N >= 40 | dctcp <= ictcp <= newreno
                | {", ".join(f"{scheme} {packets:.0f}" for scheme, packets in total.items())} | in this order
                | {order([total["dctcp"] <= total["ictcp"], total["ictcp"] <= total["newreno"]])}
        """),
        *(
            Row.of(
                f"{claim} (a buffer counted in packets)",
                f"rcc, {n} senders: most packets that wait, SYNs included | no drop | {packets:.0f} | at most 80 "
                f"| {strict(packets <= BUFFER_PACKETS)}",
            )
            for n, packets in most.items()
        ),
    ]


def rows_marks(measures: Measures) -> list[Row]:
    """Claim `rcc-fig6c-nomarks`."""
    claim = "rcc-fig6c-nomarks"
    marks = sum(sum(pooled(measures, ("rcc", n), "marks")) for n in SENDERS)
    least = {s: min(at(measures, s, n, "marks") for n in SENDERS if n >= 40) for s in OTHERS}
    return [
        Row.of(claim, f"marks of rcc, all N and seeds | 0 | {judge('strict', marks, '.0f', '0')}"),
        *(
            Row.of(
                claim,
                f"{scheme}: least packets that meet more than 40, N >= 40 | hundreds | {packets:.0f} | above 100 "
                f"| {band(packets, 100, np.inf)}",
            )
            for scheme, packets in least.items()
        ),
    ]


def rows_dctcp(measures: Measures) -> list[Row]:
    """Claim `rcc-fig6-dctcp20`."""
    each = {
        scheme: {key[2]: run["goodput"][0] for key, run in measures.items() if key[:2] == (scheme, 20)}
        for scheme in ("dctcp", "newreno")
    }
    below = [each["dctcp"][seed] < value for seed, value in each["newreno"].items()]
    dctcp, newreno = (at(measures, scheme, 20, "goodput") for scheme in each)
    ours = f"{sum(below)} of {len(below)}; means {dctcp:.0f} and {newreno:.0f} Mb/s"
    what = "goodput of dctcp below that of newreno, 20 senders, by seed"
    return [Row.of("rcc-fig6-dctcp20", f"{what} | below | {ours} | in each seed | {order(below)}")]


def rows_ictcp(measures: Measures, setting: str) -> list[Row]:
    """Claim `rcc-fig6-ictcp50`."""
    claim = claim_under("rcc-fig6-ictcp50", setting)
    low, high = (at(measures, variant("ictcp", setting), n, "goodput") for n in (70, 40))
    row = Row.of(
        claim,
        "goodput of ictcp with 70 senders over that with 40 | collapses "
        f"| {low:.0f} / {high:.0f} Mb/s, {low / high:.2f} | below 0.7 | {band(low / high, 0, 0.7)}",
    )
    if setting:
        return [row]
    sent = pooled(measures, (TRACED, TRACED_SENDERS), "second_round")
    ours = ", ".join(f"{packets:.0f}" for packets in sorted(set(sent)))
    what = f"packets in the second round trip, {TRACED_SENDERS} senders"
    return [Row.of(claim, f"{what} | 100 | {ours} | 100 | {strict(set(sent) == {100.0})}"), row]


EXPERIMENTS = (
    Experiment("rcc-fig5", "the queue of an incast", "rcc/fig5-incast.toml", sweep_5, measure_5, draw_5, rows_5),
    Experiment(
        "rcc-fig6", "goodput, drops and marks of an incast", "rcc/fig5-incast.toml", sweep_6, measure_6, draw_6, rows_6
    ),
)

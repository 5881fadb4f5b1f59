"""RCC sections 5.1 and 5.3: the queues of its scheduler, eqs. (4) to (7), and incast, eqs. (19) to (23)."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import Result, oitcp
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import mean, over_seeds, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict
from fanin_papers.sawtooth import PACKET_BYTES

QUEUE_MAXSIZE = 40
PACKET_US = 12.0
RTO_R_US = 10_000.0


def queue_packets(rtt_us: float) -> float:
    """RCC eq. (4): Q1, in packets, for the round-trip time without a queue."""
    return QUEUE_MAXSIZE - rtt_us / PACKET_US


def loaded_rtt_us(rtt_us: float) -> float:
    """RCC eq. (5)."""
    return queue_packets(rtt_us) * PACKET_US + rtt_us


def acks_waiting(n: int) -> int:
    """RCC eq. (6): Q2."""
    return max(0, n - QUEUE_MAXSIZE)


MOST_WAITING = RTO_R_US / PACKET_US
"""RCC eq. (7): with more ACKs than this in the queue receivers ask for retransmissions in vain."""

# Eqs. (4) to (7)

PATHS = {"base RTT of 160 us": ("33.84 us", 160.0), "40 us per link": ("40 us", 4 * 40 + 2 * (12 + 0.32))}
"""The delay of a link, and the round-trip time with the transmission of a packet and an ACK over two links each. The
paper's 160 us are four links of 40 us and leave transmission out; or they are all of the round trip."""
NUMBERS = (10, 20, 30, 39, 40, 45, 60, 80, 100, 200, 300, 500, 700, 800, 850, 900, 1000)
PATIENT = "base RTT of 160 us, RTO_s of 1 s"
SHOWN = 60
"""The number of flows of the picture over time."""
STATES = ("acks_waiting", "flight_wins", "assigned_windows", "rtt_us")


def sweep_4(quick: bool) -> dict[Key, Change]:
    """Both paths with every number of flows; with many flows also senders that do not repeat what is not lost; and the
    start of a run."""
    short = ("measure.window=150 ms",) if quick else ()
    numbers = (20, 39, 40, 60, 500, 800, 1000) if quick else NUMBERS

    def change(n: int, delay: str, *others: str) -> Change:
        hosts = (f"network.topology.hosts={n + 1}", f"network.topology.delay={delay}")
        return Change(None, (f"traffic.long.pattern.count={n}", *hosts, *short, *others))

    runs: dict[Key, Change] = {(name, n, 1): change(n, delay) for name, (delay, _) in PATHS.items() for n in numbers}
    delay = PATHS["base RTT of 160 us"][0]
    runs |= {
        (PATIENT, n, 1): change(n, delay, *(f"traffic.long.tcp.{rto}=1 s" for rto in ("initial_rto", "min_rto")))
        for n in numbers
        if n >= 500
    }
    return runs | {("start", SHOWN, 1): change(SHOWN, delay, "measure.warm_up=0 s", "measure.window=30 ms")}


def measure_4(result: Result) -> Measured:
    """The queue in packets, the receiver's state over time and in the mean, goodput, and what timers did."""
    queue = result.series()["queue_bytes"].to_numpy() / PACKET_BYTES
    summary, watch = result.summary(), result.watch()
    states = {name: watch.filter(pl.col("name") == name) for name in STATES}
    traffic = summary["traffics"][0]
    start = {
        "time_ms": (states["rtt_us"]["time_ps"].to_numpy() / 1e9).tolist(),
        **{f"{name} over time": state["value"].to_list() for name, state in states.items()},
        "queue over time": queue.tolist(),
    }
    return {
        "queue": [float(queue.mean())],
        "spread": [float(queue.std())],
        **{name: [float(np.mean(state["value"].to_numpy()))] for name, state in states.items()},
        "gbps": [traffic["long_goodput_gbps"]],
        "asked": [float(traffic["actions"]["timeout_reactions"])],
        "resent": [float(summary["network"]["timeouts"])],
        "drops": [float(summary["network"]["drops"]["total"])],
        **(start if result.series()["time_ps"][0] == 0 else {}),
    }


def numbers_of(measures: Measures, name: str) -> dict[int, Measured]:
    """The runs of a path by their number of flows."""
    return {int(key[1]): run for key, run in sorted(measures.items(), key=lambda item: item[0][1:]) if key[0] == name}


def draw_4(measures: Measures) -> Figure:
    """Q1, Q2 and goodput over the number of flows, and the receiver's state over time."""
    figure = picture(12, 8.4, "RCC eqs. (4) to (7): long flows into one host, 1 Gb/s, queue_maxsize = 40")
    (first, second), (third, fourth) = figure.subplots(2, 2)
    for index, (name, (_, rtt_us)) in enumerate(PATHS.items()):
        runs, style = numbers_of(measures, name), indexed_line(index)
        found = [run["queue"][0] for run in runs.values()]
        first.plot(list(runs), found, marker="o", markersize=4, label=f"measured, {name}", **style)
        told = queue_packets(rtt_us)
        first.axhline(told, color=style["color"], linewidth=1.0, linestyle=":", label=f"eq. (4): {told:.1f}")
    first.set_ylim(0, 45)
    first.set_xscale("log")
    first.set_xticks([10, 40, 100, 400, 1000], ["10", "40", "100", "400", "1000"])
    first.minorticks_off()
    label_axes(first, "Q1: queue at the switch", "long flows N", "packets")
    runs = numbers_of(measures, "base RTT of 160 us")
    second.plot(list(runs), [acks_waiting(n) for n in runs], color="black", linewidth=2.2, label="eq. (6)")
    held = [run["acks_waiting"][0] for run in runs.values()]
    second.plot(list(runs), held, label="measured", linestyle="none", marker="o", markersize=4.5, color="#D55E00")
    second.axhline(MOST_WAITING, color="#888888", linewidth=1, linestyle=":", label=f"eq. (7): {MOST_WAITING:.0f}")
    label_axes(second, "Q2: ACKs that the receiver holds back", "long flows N", "ACKs")
    for index, name in enumerate(("base RTT of 160 us", PATIENT)):
        runs = {n: run for n, run in numbers_of(measures, name).items() if n >= 500}
        label = f"senders' timeout {'1 s' if name == PATIENT else '10 ms'}"
        gbps = [run["gbps"][0] for run in runs.values()]
        third.plot(list(runs), gbps, marker="o", markersize=4, label=label, **indexed_line(index))
    third.axvline(MOST_WAITING + QUEUE_MAXSIZE, color="#888888", linewidth=1, linestyle=":", label="eqs. (6) and (7)")
    third.set_ylim(0.85, 1.0)
    label_axes(third, "Goodput where ACKs wait as long as a timeout", "long flows N", "Gb/s", legend=False)
    third.legend(frameon=False, fontsize=10, loc="lower left")
    start = measures[("start", SHOWN, 1)]
    for index, (name, label) in enumerate(
        (("acks_waiting", "ACKs held"), ("flight_wins", "windows in flight"), ("assigned_windows", "assigned windows"))
    ):
        fourth.plot(start["time_ms"], start[f"{name} over time"], label=label, **indexed_line(index))
    fourth.plot(
        start["time_ms"],
        np.asarray(start["rtt_us over time"]) / PACKET_US,
        label="RTT (packets' times)",
        **indexed_line(3),
    )
    fourth.set_ylim(0, 85)
    label_axes(
        fourth, f"The receiver while {SHOWN} flows start", "time (ms)", "packets, segments or ACKs", legend=False
    )
    fourth.legend(frameon=False, fontsize=10, loc="upper left", ncols=2)
    return figure


def rows_4(measures: Measures) -> list[Row]:
    """Claims `rcc-eq4-q1` and `rcc-eq6-q2`."""
    return rows_q1(measures) + rows_q2(measures)


def rows_q1(measures: Measures) -> list[Row]:
    """Claim `rcc-eq4-q1` for both readings of the round-trip time, and for "around 40 packets" of section 5.1."""
    rows = []
    for name, (_, rtt_us) in PATHS.items():
        claim, told = f"rcc-eq4-q1 ({name})", queue_packets(rtt_us)
        many = {n: run for n, run in numbers_of(measures, name).items() if 40 <= n <= 100}
        queues = [run["queue"][0] for run in many.values()]
        spread = max(run["spread"][0] for run in many.values())
        trip = [run["rtt_us"][0] for run in many.values()]
        ours = f"{min(queues):.1f} to {max(queues):.1f}"
        holds = min(queues) >= 25.5 and max(queues) <= 28.5
        rows += Row.table(f"""
            {claim}
            queue, N = 40 to 100, packets | 26.7 (40 KB); eq. (4): {told:.1f} | {ours} | 25.5 to 28.5 | {strict(holds)}
            its standard deviation, packets | stable | at most {spread:.2f} | below 2 | {strict(spread < 2)}
            mean RTT, us | 480; eq. (5): {loaded_rtt_us(rtt_us):.0f} | {min(trip):.0f} to {max(trip):.0f} | within 4 %
                | {strict(min(trip) >= 480 * 0.96 and max(trip) <= 480 * 1.04)}
        """)
        held = all(abs(queue - 40) < 2 for queue in queues)
        claim = f'rcc-eq4-q1 ({name}, "40 packets" of 5.1)'
        rows.append(Row.of(claim, f"queue, N = 40 to 100, packets | 40 | {ours} | within 2 | {strict(held)}"))
    return rows


def rows_q2(measures: Measures) -> list[Row]:
    """Claim `rcc-eq6-q2`."""
    claim, runs = "rcc-eq6-q2", numbers_of(measures, "base RTT of 160 us")
    off = max(abs(run["acks_waiting"][0] - acks_waiting(n)) for n, run in runs.items() if n >= 45)
    few = max(run["acks_waiting"][0] for n, run in runs.items() if n <= 39)
    none = {n: run["asked"][0] for n, run in runs.items() if n <= 800}
    some = {n: run["asked"][0] for n, run in runs.items() if n >= 900}
    dropped = sum(run["drops"][0] for run in runs.values())
    rows = Row.table(f"""
        {claim}
        Q2, 45 flows and more | N - 40 | within {off:.1f} | within 2 | {strict(off <= 2)}
        Q2, up to 39 flows | 0 | {judge("strict", few, ".1f", "0")}
        spurious timeouts of receivers, up to 800 flows | none below Q2 = {MOST_WAITING:.0f}
            | {max(none.values()):.0f} | 0 | {strict(max(none.values()) == 0)}
        spurious timeouts of receivers, 900 flows and more | some above Q2 = {MOST_WAITING:.0f}
            | {", ".join(f"N = {n}: {asked:.0f}" for n, asked in some.items())} | above 0
            | {strict(min(some.values()) > 0)}
        drops | none | {judge("strict", dropped, ".0f", "0")}
    """)
    for name, said in (("base RTT of 160 us", "senders' timeout 10 ms"), (PATIENT, "senders' timeout 1 s")):
        found = numbers_of(measures, name)
        share = found[1000]["gbps"][0] / found[500]["gbps"][0]
        resent = found[1000]["resent"][0]
        what, ours = "goodput, 1000 flows / 500 flows", f"{share:.3f}; {resent:.0f} packets sent again"
        rows += Row.table(f"""
            {claim} ({said})
            {what} | little effect | {ours} | within 3 % | {strict(abs(share - 1) <= 0.03)}
        """)
    return rows


# Eqs. (19) to (23)

SIZE = 32_000
DEGREES = (40, 50, 60, 70, 80, 90, 100)
VARIANTS = {
    "by size": (),
    "by what remains": ('traffic.incast.scheme.priority="remaining"',),
    "40 us per link": ("network.topology.delay=40 us",),
}


def sweep_23(quick: bool) -> dict[Key, Change]:
    """Each variant with each number of flows."""
    return {
        (name, n, seed): Change(None, (f"traffic.incast.pattern.degree={n}", *changes))
        for name, changes in VARIANTS.items()
        for n in ((40, 80, 90) if quick else DEGREES)
        for seed in seeds(quick)
    }


def measure_23(result: Result) -> Measured:
    """Completion of the first and of the last flow since the first SYN, in ms."""
    flows = result.flows()
    ends = (flows["start_ps"] + flows["completion_ps"]).to_numpy() / 1e9
    return {"last_ms": [float(ends.max())], "first_ms": [float(ends.min())]}


def told_ms(n: int) -> float:
    """RCC eq. (23)."""
    return oitcp.rcc_completion_s(n, SIZE, QUEUE_MAXSIZE) * 1e3


def ideal_ms(n: int) -> float:
    """RCC eq. (21), for a queue of as many packets as there are flows."""
    return oitcp.completion_s(n, SIZE, n) * 1e3


def draw_23(measures: Measures) -> Figure:
    """Completion of the first and the last flow over the number of flows."""
    figure = picture(11, 4.8, "RCC eqs. (21) and (23): N flows of 32 KB into one host, 1 Gb/s")
    for axes, what in zip(figure.subplots(1, 2), ("last", "first"), strict=True):
        axes.plot(
            DEGREES, [ideal_ms(n) for n in DEGREES], color="black", linewidth=3.5, alpha=0.35, label="OITCP, eq. (21)"
        )
        told = [told_ms(n) for n in DEGREES]
        axes.plot(DEGREES, told, color="black", linewidth=1.0, linestyle="--", label="RCC, eq. (23)")
        for index, name in enumerate(VARIANTS):
            found = {int(key[1]): mean(pooled(measures, key[:2], f"{what}_ms")) for key in measures if key[0] == name}
            label = f"simulated, priority {name}" if name.startswith("by") else f"simulated, {name}"
            style = indexed_line(index) | {"linestyle": "none"}
            axes.plot(list(found), list(found.values()), marker="os^"[index], markersize=5.5, label=label, **style)
        axes.set_ylim(0, 30)
        label_axes(axes, f"{what} flow", "flows N", "completion (ms)")
    return figure


def rows_23(measures: Measures) -> list[Row]:
    """Claim `rcc-eq23-fct`."""
    rows = []
    for name in VARIANTS:
        claim, rtt_ms = f"rcc-eq23-fct ({name})", 0.185 if "per link" in name else 0.0
        for n in sorted({int(key[1]) for key in measures if key[0] == name}):
            found = over_seeds(measures, (name, n), "last_ms")
            packets_ms = n * SIZE / (oitcp.SEGMENT * oitcp.PACKETS_PER_S) * 1e3
            ratio, ideal = found / (packets_ms + rtt_ms), found / ideal_ms(n)
            rows += Row.table(f"""
                {claim}
                N = {n}: last flow / (N L / (segment C) + a handshake) | {told_ms(n):.1f} ms
                    | {found:.2f} ms, {ratio:.3f} | within 5 % | {band(ratio, 0.95, 1.05)}
                N = {n}: last flow / OITCP | 1 | {ideal:.3f} | within 5 % | {band(ideal, 0.95, 1.05)}
            """)
    return rows


EXPERIMENTS = (
    Experiment(
        "rcc-eq4",
        "the queues of RCC's scheduler, eqs. (4) to (7)",
        "rcc/eq-scheduler.toml",
        sweep_4,
        measure_4,
        draw_4,
        rows_4,
    ),
    Experiment("rcc-eq23", "completion in incast, eq. (23)", "rcc/eq-fct.toml", sweep_23, measure_23, draw_23, rows_23),
)

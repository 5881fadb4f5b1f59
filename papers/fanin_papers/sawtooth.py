"""DCTCP section 3: the steady state that its equations (3) to (6) describe, and Fig. 13."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import picture, pooled
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order, strict

PACKET_BYTES = 1500


@dataclass(frozen=True)
class Path:
    """One bottleneck: its rate, the base round-trip time and the marking threshold."""

    gbps: int
    rtt_us: float
    k: int

    @property
    def bdp(self) -> float:
        """C x RTT in packets."""
        return self.gbps * 1e3 * self.rtt_us / 8 / PACKET_BYTES

    @property
    def packet_us(self) -> float:
        """Transmission time of a packet."""
        return PACKET_BYTES * 8 / (self.gbps * 1e3)

    def changes(self) -> tuple[str, ...]:
        """The network of the spec with this bottleneck."""
        # Data and a 64 B ACK pass the bottleneck and two links that are four times as fast.
        own_us = 1.5 * (self.packet_us + 64 * 8 / (self.gbps * 1e3))
        delay = f"{round((self.rtt_us - own_us) / 6 * 1e6)} ps"
        return (
            f"network.topology.link={4 * self.gbps} Gbps",
            f"network.topology.bottleneck={self.gbps} Gbps",
            f"network.topology.delay={delay}",
            f"network.topology.bottleneck_delay={delay}",
            f"network.marking.above={self.k * PACKET_BYTES} B",
            f"measure.series[0].every={round(self.packet_us * 1e6)} ps",
        )


def q_max(path: Path, n: int) -> float:
    """DCTCP eq. (3), in packets."""
    return path.k + n


def amplitude(path: Path, n: int) -> float:
    """DCTCP eq. (4), in packets."""
    return sqrt(2 * n * (path.bdp + path.k)) / 2


def period_rtts(path: Path, n: int) -> float:
    """DCTCP eq. (5), in round-trip times."""
    return sqrt(2 * (path.bdp + path.k) / n) / 2


# Eqs. (3) to (5)

PATHS = {
    "1 Gb/s, 100 us": Path(1, 100, 20),
    "1 Gb/s, 1 ms": Path(1, 1000, 20),
    "10 Gb/s, 100 us": Path(10, 100, 65),
    "10 Gb/s, 500 us": Path(10, 500, 65),
}
FLOWS = (1, 2, 4, 8, 10, 20, 40)
ANALYSED = "10 Gb/s, 100 us"
GROWING = ", growing when marked"
"""Marks the runs whose windows also grow by marked ACKs."""
SHOWN_MS = 10.0
"""The part of a run that is kept for the picture."""


def sweep_eq(quick: bool) -> dict[Key, Change]:
    """Every path with every number of flows."""
    short = ("measure.warm_up=20 ms", "measure.window=30 ms") if quick else ()
    runs: dict[Key, Change] = {
        (name, n, 1): Change(None, (f"traffic.long.pattern.count={n}", *path.changes(), *(short or spans(path))))
        for name, path in PATHS.items()
        for n in FLOWS
    }
    # The analysis lets windows grow in every round trip; TCP does not while its ACKs are marked.
    grown = {
        (f"{ANALYSED}{GROWING}", *key[1:]): Change(None, (*change.set, "traffic.long.scheme.grow_when_marked=true"))
        for key, change in runs.items()
        if key[0] == ANALYSED
    }
    return runs | grown


def spans(path: Path) -> tuple[str, ...]:
    """Warm-up and window: over a hundred periods each, on the slowest path."""
    return ("measure.warm_up=1 s", "measure.window=2 s") if path.gbps == 1 else ()


def sawtooth(queue: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """The beginning of each tooth, and its highest and lowest queue.

    A tooth begins where the queue rises through its middle, once it has been below the lower third since the last one.
    """
    low, high = np.percentile(queue, [2, 98])
    lower, middle = low + (high - low) / 3, (low + high) / 2
    starts = []
    armed = False
    for place, value in enumerate(queue):
        if value <= lower:
            armed = True
        elif armed and value >= middle:
            starts.append(place)
            armed = False
    begins = np.asarray(starts, dtype=np.intp)
    teeth = [queue[a:b] for a, b in pairwise(begins.tolist())]
    return begins, np.asarray([tooth.max() for tooth in teeth]), np.asarray([tooth.min() for tooth in teeth])


def measure_eq(result: Result) -> Measured:
    """The teeth of the queue, in packets and microseconds, and the beginning of the series."""
    series = result.series()
    queue = series["queue_bytes"].to_numpy() / PACKET_BYTES
    time_us = series["time_ps"].to_numpy() / 1e6
    begins, tops, bottoms = sawtooth(queue)
    shown = time_us <= time_us[0] + SHOWN_MS * 1e3
    return {
        "tops": tops.tolist(),
        "bottoms": bottoms.tolist(),
        "periods_us": np.diff(time_us[begins]).tolist(),
        "mean": [float(queue.mean())],
        "max": [float(queue.max())],
        "drops": [float(result.summary()["network"]["drops"]["total"])],
        "time_ms": ((time_us[shown] - time_us[0]) / 1e3).tolist(),
        "queue": queue[shown].tolist(),
    }


def draw_eq(measures: Measures) -> Figure:
    """The queue over time for 1, 2, 10 and 40 flows, with the results of the equations."""
    name = ANALYSED
    path = PATHS[name]
    figure = Figure(figsize=(11, 7.6), layout="constrained")
    for axes, n in zip(figure.subplots(2, 2).flat, (1, 2, 10, 40), strict=True):
        run = measures[(name, n, 1)]
        shown = indexed_line(0) | {"linewidth": 0.9}
        axes.plot(run["time_ms"], run["queue"], label="measured", **shown)
        top, bottom = q_max(path, n), q_max(path, n) - amplitude(path, n)
        axes.axhline(top, label=f"eq. (3): K + N = {top:g}", **(indexed_line(1) | {"linewidth": 1.2}))
        axes.axhline(bottom, label=f"eq. (4): lowest {bottom:.1f}", **(indexed_line(2) | {"linewidth": 1.2}))
        loaded_us = path.rtt_us + run["mean"][0] * path.packet_us
        told, found = (
            period_rtts(path, n),
            np.mean(run["periods_us"]) / loaded_us if run["periods_us"] else float("nan"),
        )
        axes.set_xlim(0, SHOWN_MS if n < 10 else SHOWN_MS / 2)
        axes.set_ylim(0, top * 1.45)
        label_axes(axes, f"N = {n}: period {found:.1f} RTT, eq. (5) says {told:.1f}", "time (ms)", "queue (packets)")
    figure.suptitle(f"DCTCP eqs. (3) to (5): {name}, K = {path.k}, g = 1/16", fontsize=11)
    return figure


def rows_eq(measures: Measures) -> list[Row]:
    """Claims `dctcp-eq3-qmax`, `dctcp-eq4-amplitude` and `dctcp-eq5-period`; windows that grow when marked beside."""
    rows = []
    for name, path in {**PATHS, f"{ANALYSED}{GROWING}": PATHS[ANALYSED]}.items():
        judged = not name.endswith(GROWING)
        for n in FLOWS:
            run = measures[(name, n, 1)]
            if not run["tops"]:
                # Above 10 flows the equation is a bound; the queue need not swing.
                bounded = n > 10 and run["max"][0] <= q_max(path, n) + 2 and run["drops"][0] == 0
                rows.append(
                    Row.of(
                        "dctcp-eq3-qmax",
                        f"{name}, N = {n}: highest queue | {q_max(path, n):g} "
                        f"| {run['max'][0]:.0f} at most, no teeth "
                        f"| {f'at most {q_max(path, n) + 2:g}, no drops' if n > 10 else 'teeth'} | {strict(bounded)}",
                        judged,
                    )
                )
                continue
            at = f"{name}, N = {n}"
            top, told = float(np.mean(run["tops"])), q_max(path, n)
            slack = max(2.0, 0.1 * told)
            clean = run["drops"][0] == 0
            if n <= 10:
                holds, accept = abs(top - told) <= slack and clean, f"within {slack:.1f}, no drops"
            else:
                holds, accept = top <= told + 2 and clean, f"at most {told + 2:g}, no drops"
            rows.append(
                Row.of(
                    "dctcp-eq3-qmax", f"{at}: highest queue | {told:g} | {top:.1f} | {accept} | {strict(holds)}", judged
                )
            )
            swing, said = float(np.mean(run["tops"]) - np.mean(run["bottoms"])), amplitude(path, n)
            if 2 <= n <= 10:
                verdict = band(swing, 0.75 * said, 1.25 * said)
                rows.append(
                    Row.of("dctcp-eq4-amplitude", f"{at} | {said:.1f} | {swing:.1f} | within 25 % | {verdict}", judged)
                )
            elif n > 10:
                verdict = band(swing, 0, 1.15 * said)
                rows.append(
                    Row.of(
                        "dctcp-eq4-amplitude", f"{at} | {said:.1f} | {swing:.1f} | at most 1.15 x | {verdict}", judged
                    )
                )
            if n <= 10:
                loaded_us = path.rtt_us + run["mean"][0] * path.packet_us
                period, says = float(np.mean(run["periods_us"])) / loaded_us, period_rtts(path, n)
                verdict = band(period, 0.7 * says, 1.3 * says)
                rows.append(
                    Row.of(
                        "dctcp-eq5-period", f"{at}, RTTs | {says:.1f} | {period:.1f} | within 30 % | {verdict}", judged
                    )
                )
    return rows


# Eq. (6)

THRESHOLDS = (10, 20, 40, 60, 80, 120)
CROWDS = (1, 2, 5, 10, 20, 40, 70, 100)


def sweep_k(quick: bool) -> dict[Key, Change]:
    """10 Gb/s and 500 us with every threshold and number of flows."""
    times = (
        ("measure.warm_up=20 ms", "measure.window=20 ms")
        if quick
        else ("measure.warm_up=100 ms", "measure.window=200 ms")
    )
    return {
        (k, n, 1): Change(
            None, (f"traffic.long.pattern.count={n}", *Path(10, 500, k).changes(), "measure.series=[]", *times)
        )
        for k in THRESHOLDS
        for n in CROWDS
    }


def measure_k(result: Result) -> Measured:
    """Share of the link that packets of the flows used."""
    goodput = sum(traffic["long_goodput_gbps"] for traffic in result.summary()["traffics"])
    return {"utilisation": [goodput * PACKET_BYTES / 1460 / 10]}


def draw_k(measures: Measures) -> Figure:
    """Utilisation over the threshold, one curve per number of flows."""
    figure = picture(6.8, 4.6)
    axes = figure.subplots()
    for place, n in enumerate((1, 2, 10, 40, 100)):
        found = [pooled(measures, (k, n), "utilisation")[0] * 100 for k in THRESHOLDS]
        axes.plot(THRESHOLDS, found, marker="o", markersize=3.5, label=f"N = {n}", **indexed_line(place))
    bound = Path(10, 500, 0).bdp / 7
    axes.axvline(bound, color="#888888", linewidth=1, linestyle=":", label=f"eq. (6): C x RTT / 7 = {bound:.1f}")
    label_axes(axes, "DCTCP eq. (6): 10 Gb/s, 500 us", "marking threshold K (packets)", "utilisation (%)")
    return figure


def rows_k(measures: Measures) -> list[Row]:
    """Claim `dctcp-eq6-kbound`."""
    found = {k: [pooled(measures, (k, n), "utilisation")[0] for n in CROWDS] for k in THRESHOLDS}
    below = ", ".join(
        f"N = {n}: {used * 100:.2f} %" for n, used in zip(CROWDS, found[80], strict=True) if used < 0.9999
    )
    return Row.table(f"""
        dctcp-eq6-kbound
        K = 80: least utilisation over N | no underflow | {min(found[80]) * 100:.2f} % ({below or "all full"})
            | at least 99.5 % | {band(min(found[80]), 0.995, 1.001)}
        K = 20: least utilisation over N | underflow | {min(found[20]) * 100:.2f} % | below 99 %
            | {band(min(found[20]), 0.0, 0.99)}
    """)


# Fig. 13


def pi_marking(packets_per_s: float, rtt_s: float, flows: int) -> str:
    """PI for this path by Proposition 2 of its paper, with a target of 40 packets.

    For C(s) = K (s/z + 1) / s the loop's gain is K (RC)^3 / (2N)^2 / (s (Rs + 1)); z cancels the window's pole, and K
    puts the crossover at 0.13 / R, where the authors' own example has it. Sampled, like that example, 0.0033 /
    crossover apart.
    """
    crossover = 0.13 / rtt_s
    zero = 2 * flows / (rtt_s**2 * packets_per_s)
    gain = crossover * abs(complex(1, crossover * rtt_s)) / ((rtt_s * packets_per_s) ** 3 / (2 * flows) ** 2)
    every_s = 0.0033 / crossover
    a, b = gain / zero + gain * every_s / 2, gain / zero - gain * every_s / 2
    every = f"{every_s * 1e9:.0f} ns"
    return f'network.marking={{ kind = "pi", target = "60 KB", a = {a:.6e}, b = {b:.6e}, every = "{every}" }}'


# The base round trip and 40 packets of queue; two flows, as the figure.
PI = pi_marking(10e9 / 8 / PACKET_BYTES, 548e-6, 2)
VARIANTS = {"dctcp": Change("dctcp"), "newreno-ecn, PI": Change("newreno-ecn", (PI,))}


def sweep_13(quick: bool) -> dict[Key, Change]:
    """2 and 20 flows."""
    times = ("measure.warm_up=50 ms", "measure.window=100 ms") if quick else ()
    return {
        (name, n, seed): Change(change.scheme, (f"traffic.long.pattern.count={n}", *change.set, *times))
        for name, change in VARIANTS.items()
        for n in (2, 20)
        for seed in ((1,) if quick else (1, 2, 3))
    }


def measure_13(result: Result) -> Measured:
    """Rate on the wire in Gb/s, the queue in packets, and how often it was empty."""
    queue = result.series()["queue_bytes"].to_numpy() / PACKET_BYTES
    goodput = sum(traffic["long_goodput_gbps"] for traffic in result.summary()["traffics"])
    return {
        "wire_gbps": [goodput * PACKET_BYTES / 1460],
        "empty": [float((queue == 0).mean())],
        "spread": [float(queue.std())],
        "queue": queue[:8000:4].tolist(),
    }


def draw_13(measures: Measures) -> Figure:
    """The queue over time."""
    figure = picture(11, 4.6, "DCTCP Fig. 13: 10 Gb/s, 500 us, buffer of 100 packets, K = qref = 40")
    for axes, n in zip(figure.subplots(1, 2), (2, 20), strict=True):
        for name in VARIANTS:
            queue = pooled({key: run for key, run in measures.items() if key[2] == 1}, (name, n), "queue")
            rate = np.mean(pooled(measures, (name, n), "wire_gbps"))
            shown = scheme_line(name) | {"linewidth": 1.0, "linestyle": "-"}
            axes.plot(np.arange(len(queue)) * 0.048, queue, label=f"{name} ({rate:.2f} Gb/s)", **shown)
        axes.set_ylim(0, 135)
        label_axes(axes, f"{n} long flows", "time (ms)", "queue (packets)")
    return figure


def rows_13(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig13-pi`."""

    def value(name: str, n: int, what: str) -> float:
        return float(np.mean(pooled(measures, (name, n), what)))

    claim, pi = "dctcp-fig13-pi", "newreno-ecn, PI"
    rate, empty = value("dctcp", 2, "wire_gbps"), value("dctcp", 2, "empty")
    return Row.table(f"""
        {claim}
        dctcp, 2 flows, Gb/s on the wire | full | {judge("strict", rate, ".2f", "at least 9.8")}
        PI below dctcp, 2 flows, Gb/s | below | {value(pi, 2, "wire_gbps"):.2f} | in this order
            | {order([value(pi, 2, "wire_gbps") < rate])}
        PI, 2 flows: time with an empty queue | some | {value(pi, 2, "empty") * 100:.1f} % | above 0
            | {strict(value(pi, 2, "empty") > 0)}
        dctcp, 2 flows: time with an empty queue | none | {empty * 100:.2f} % | below 0.5 %
            | {band(empty, 0, 0.005)}
        PI, 20 flows: more throughput than with 2 | more | {value(pi, 20, "wire_gbps"):.2f} | in this order
            | {order([value(pi, 20, "wire_gbps") > value(pi, 2, "wire_gbps")])}
        PI: queue's standard deviation, 2 and 20 flows | grows
            | {value(pi, 2, "spread"):.1f}, {value(pi, 20, "spread"):.1f} | in this order
            | {order([value(pi, 20, "spread") > value(pi, 2, "spread")])}
    """)


EXPERIMENTS = (
    Experiment(
        "dctcp-eq",
        "the sawtooth against eqs. (3) to (5)",
        "dctcp/eq-sawtooth.toml",
        sweep_eq,
        measure_eq,
        draw_eq,
        rows_eq,
        figures=("12",),
    ),
    Experiment(
        "dctcp-eq6", "the threshold that eq. (6) asks for", "dctcp/eq-sawtooth.toml", sweep_k, measure_k, draw_k, rows_k
    ),
    Experiment("dctcp-fig13", "DCTCP and TCP with PI", "dctcp/fig13-pi.toml", sweep_13, measure_13, draw_13, rows_13),
)
"""In the order of the paper."""

"""RCC section 3: figures 2 and 3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import over_seeds, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, judge, order, strict
from fanin_papers.rcc_incast import (
    BUFFER_PACKETS,
    K_PACKETS,
    OTHERS,
    PACKET_US,
    SAMPLE_US,
    SCHEMES,
    many_seeds,
    queue_packets,
)

# Fig. 2: senders that start at random times

COUNTS = (50, 80)
MEAN_START_MS = (15.0, 7.5)
"""As the paper says it, and twice as dense."""
MEASURED_MS, SHOWN_MS = 100, 60
TCP = '{ min_rto = "10 ms", initial_rto = "10 ms", ack_every = 1, sack = false, window_scaling = false }'


def random_starts(scheme: str, n: int, seed: int, mean_ms: float) -> Change:
    """n senders whose start times are independent and exponential; those of 50 are the first of 80."""
    starts_ps = np.random.default_rng(seed).exponential(mean_ms * 1e9, max(COUNTS))[:n]
    common = f'scheme = {SCHEMES[scheme]}, size = {{ fixed = "32 KB" }}, tcp = {TCP}'
    traffics = [
        f'{{ name = "h{host}", start = "{start:.0f} ps", {common}, '
        f'pattern = {{ kind = "incast", degree = 1, senders = ["h{host}"], receivers = ["h0"] }} }}'
        for host, start in enumerate(starts_ps, 1)
    ]
    return Change(None, (f"traffic=[{', '.join(traffics)}]",))


def started(scheme: str, mean_ms: float) -> str:
    """The name of runs."""
    return f"{scheme}, {mean_ms:g} ms"


def sweep_2(quick: bool) -> dict[Key, Change]:
    """Both means of the start times, both numbers of senders, each scheme."""
    return {
        (started(scheme, mean_ms), n, seed): random_starts(scheme, n, seed, mean_ms)
        for mean_ms in MEAN_START_MS
        for scheme in OTHERS
        for n in COUNTS
        for seed in many_seeds(quick)
    }


def measure_2(result: Result) -> Measured:
    """The queue over 100 ms, how often it rises above K packets, and what was dropped."""
    _, found = queue_packets(result)
    queue = np.zeros(round(MEASURED_MS * 1e3 / SAMPLE_US))
    queue[: found.size] = found[: queue.size]
    above = queue > K_PACKETS
    return {
        "queue": queue[: round(SHOWN_MS * 1e3 / SAMPLE_US)].tolist(),
        "crossings": [float((above[1:] & ~above[:-1]).sum())],
        "deviation": [float(queue.std())],
        "highest": [float(queue.max())],
        "drops": [float(result.summary()["network"]["drops"]["total"])],
    }


def draw_2(measures: Measures) -> Figure:
    """The queue over time, as the paper draws it, for both means."""
    figure = picture(12, 8, "RCC Fig. 2: 32 KB from each sender, exponential start times, 1 Gb/s")
    for row, n in zip(figure.subplots(len(COUNTS), len(MEAN_START_MS), sharey=True), COUNTS, strict=True):
        for axes, mean_ms in zip(row, MEAN_START_MS, strict=True):
            for scheme, width in zip(OTHERS, (2.4, 1.0, 1.0), strict=True):
                run = measures[started(scheme, mean_ms), n, 1]
                time_ms = np.arange(len(run["queue"])) * SAMPLE_US / 1e3
                label = f"{scheme} ({run['drops'][0]:.0f} drops)"
                axes.plot(time_ms, run["queue"], label=label, **(scheme_line(scheme) | {"linewidth": width}))
            axes.axhline(BUFFER_PACKETS, color="#888888", linewidth=1, linestyle=":")
            axes.set_xlim(0, SHOWN_MS)
            axes.set_ylim(0, 1.05 * BUFFER_PACKETS)
            label_axes(axes, f"{n} senders, mean start {mean_ms:g} ms", "time (ms)", "queue (packets)")
    return figure


def rows_2(measures: Measures) -> list[Row]:
    """Claim `rcc-fig2-oscillation`, as the paper has it and with denser starts, which were chosen to see it hold."""
    said, denser = (rows_starts(measures, mean_ms) for mean_ms in MEAN_START_MS)
    return [*said, *(replace(row, verdict="calibrated") if row.verdict == "holds" else row for row in denser)]


def rows_starts(measures: Measures, mean_ms: float) -> list[Row]:
    """The claim with this mean of the start times."""
    rows = []
    for what, told, name in (
        ("dropped packets", "not fewer", "drops"),
        ("times that the queue rises above 40 packets", "more", "crossings"),
        ("standard deviation of the queue, packets", "more", "deviation"),
    ):
        means = {s: [over_seeds(measures, (started(s, mean_ms), n), name) for n in COUNTS] for s in OTHERS}
        kept = [high > low or (high == low and told == "not fewer") for low, high in means.values()]
        ours = ", ".join(f"{scheme} {low:.1f} and {high:.1f}" for scheme, (low, high) in means.items())
        rows += Row.table(f"""
            rcc-fig2-oscillation (mean start {mean_ms:g} ms)
            {what}, 50 and 80 senders | {told} with 80 | {ours} | {told} with 80 | {order(kept)}
        """)
    highest = max(pooled(measures, (started("newreno", mean_ms), max(COUNTS)), "highest"))
    full = strict(highest > BUFFER_PACKETS - 1)
    rows += Row.table(f"""
        rcc-fig2-oscillation (mean start {mean_ms:g} ms)
        longest queue of newreno, 80 senders | full | {highest:.1f} | 80 packets | {full}
    """)
    return rows


# Fig. 3: the share of marked packets, as the sender and as the receiver estimate it

GAIN = 1 / 16
PERIOD_US = 200
DELAYED = (1, 3)
ECHOES = {"rcc": "RCC's reading", "two-state": "exact"}
"""Which ACK tells of the packet that changes the state: that packet's own, or only those before it."""
COUNTED = {"bytes": "bytes that ACKs cover", "acks": "ACKs"}
"""What the sender counts."""

LINK_US = 40.0
ACK_US = 0.32


def sweep_3(quick: bool) -> dict[Key, Change]:
    """Both readings of the receiver's two states with both numbers of packets per ACK."""
    window = ('measure.window="60 ms"',) if quick else ()
    return {
        (echo, m, seed): Change(
            None, (f"traffic.long.tcp.ack_every={m}", f'traffic.long.scheme.echo="{echo}"', *window)
        )
        for echo in ECHOES
        for m in DELAYED
        for seed in seeds(quick)
    }


def estimate(
    time_us: NDArray[np.float64], weight: NDArray[np.float64], marked: NDArray[np.bool_], until_us: float
) -> NDArray[np.float64]:
    """RCC eq. (1), once per period; a period without packets changes nothing."""
    periods = int(until_us / PERIOD_US)
    period = (time_us / PERIOD_US).astype(np.intp)
    total, cut = (np.bincount(period, weights=w, minlength=periods) for w in (weight, weight * marked))
    alpha, found = 0.0, np.zeros(periods)
    for place in range(periods):
        if total[place] > 0:
            alpha = (1 - GAIN) * alpha + GAIN * cut[place] / total[place]
        found[place] = alpha
    return found


def measure_3(result: Result) -> Measured:
    """The estimates of both ends of the first sender's flow.

    An ACK counts at the time at which the receiver sent it, so that both ends estimate over the same time.
    """
    packets = result.packets()
    data = packets.filter(port="sw0>h0", sender=1).filter(pl.col("payload_bytes") > 0)
    acks = packets.filter(port="sw0>h1").filter(pl.col("ack") > 1)
    arrived_us = data["time_ps"].to_numpy() / 1e6 + PACKET_US + LINK_US
    sent_us = acks["time_ps"].to_numpy() / 1e6 - LINK_US - ACK_US
    covered = np.maximum(np.diff(acks["ack"].to_numpy(), prepend=1), 0).astype(np.float64)
    until_us = result.simulated_ms * 1e3
    marked, echoed = data["marked"].to_numpy(), acks["echo"].to_numpy()
    sizes = data["payload_bytes"].to_numpy().astype(np.float64)
    return {
        "receiver": estimate(arrived_us, sizes, marked, until_us).tolist(),
        "bytes": estimate(sent_us, covered, echoed, until_us).tolist(),
        "acks": estimate(sent_us, np.ones(echoed.size), echoed, until_us).tolist(),
    }


def draw_3(measures: Measures) -> Figure:
    """Both estimates over time, for each reading and number of packets per ACK."""
    figure = picture(11, 8, "RCC Fig. 3: share of marked packets of the first of four DCTCP flows, 1 Gb/s, K = 40")
    panels = figure.subplots(len(ECHOES), len(DELAYED), sharex=True, sharey=True)
    for row, (echo, said) in zip(panels, ECHOES.items(), strict=True):
        for axes, m in zip(row, DELAYED, strict=True):
            run = measures[echo, m, 1]
            for place, name in enumerate(("receiver", "bytes")):
                time_ms = np.arange(1, len(run[name]) + 1) * PERIOD_US / 1e3
                label = "receiver" if name == "receiver" else "sender"
                axes.plot(time_ms, run[name], label=label, **(indexed_line(place) | {"linewidth": 0.9}))
            axes.set_xlim(0, None)
            axes.set_ylim(0, 0.6)
            label_axes(axes, f"{said}, an ACK for {m} packet{'s' if m > 1 else ''}", "time (ms)", "alpha")
    return figure


def gaps(measures: Measures, echo: str, m: int, count: str) -> NDArray[np.float64]:
    """Sender's estimate less the receiver's: a row for each seed, a column for each period."""
    runs = [run for key, run in measures.items() if key[:2] == (echo, m)]
    sender, receiver = (np.asarray([run[name] for run in runs], dtype=np.float64) for name in (count, "receiver"))
    return sender - receiver


def rows_3(measures: Measures) -> list[Row]:
    """Claim `rcc-fig3-alpha`, for each reading of what the sender counts."""
    rows = []
    for count, said in COUNTED.items():
        claim = f"rcc-fig3-alpha (sender counts {said})"
        one, three = (float(np.abs(gaps(measures, "rcc", m, count)).mean()) for m in DELAYED)
        exact = np.abs(gaps(measures, "two-state", 1, count))
        delayed = float(np.abs(gaps(measures, "two-state", 3, count)).mean())
        late = exact[:, exact.shape[1] // 2 :]
        signed = [float(gaps(measures, "rcc", m, count).mean()) for m in DELAYED]
        rows += [
            *Row.table(f"""
                {claim}
                RCC's reading: mean difference, ACKs of 1 and 3 packets | larger with 3 | {one:.4f} and {three:.4f}
                    | 3 above 1 above 0 | {order([three > one, one > 0])}
            """),
            *(
                Row.of(
                    claim,
                    f"exact reading, ACKs of 1 packet: largest difference{when} |  | {found.max():.4f} | 0 "
                    f"| {strict(bool(found.max() < 1e-09))}",
                )
                for when, found in (("", exact), (" in the second half, after all losses", late))
            ),
            *Row.table(f"""
                {claim}
                exact reading, ACKs of 3 packets: mean difference | | {judge("strict", delayed, ".4f", "above 0")}
                RCC's reading: sender less receiver, mean, ACKs of 1 and 3 packets | below 0; with 3 above 0 in the end
                    | {signed[0]:+.4f} and {signed[1]:+.4f} | below 0 and above 0
                    | {order([signed[0] < 0, signed[1] > 0])}
            """),
        ]
    return rows


EXPERIMENTS = (
    Experiment(
        "rcc-fig2",
        "queues of senders that start at random times",
        "rcc/fig5-incast.toml",
        sweep_2,
        measure_2,
        draw_2,
        rows_2,
    ),
    Experiment(
        "rcc-fig3",
        "the share of marks at the sender and at the receiver",
        "rcc/fig3-alpha.toml",
        sweep_3,
        measure_3,
        draw_3,
        rows_3,
    ),
)

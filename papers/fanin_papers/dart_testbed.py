"""Dart Fig. 8 and 9: how fast DASR converges on the testbed of section V-A, simulated.

The testbed has DASR in its applications: a receiver counts senders and tells n in acknowledgements of its own, after
CPU time, and senders delay their messages. Simulated are links, switch, credits, messages of 64 KiB with an ACK each,
and that CPU time. A burst is one transmission, as the paper measures it, and its sender is counted from its first
packet on and not from its first whole message; senders are paced packet by packet at C/n and not message by message.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import cdf, mean, picture, pooled, quantile, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict

GBPS, LINK_US = 43.483, 2.616
WIRE, ACK = 4096 + 26 + 20, 30 + 4
"""Bytes of a data packet and an ACK, with what Dart adds."""
PACKET_US, ACK_US = WIRE * 8 / GBPS / 1e3, ACK * 8 / GBPS / 1e3
RTT_US = 4 * LINK_US + 2 * (PACKET_US + ACK_US)
"""A packet there and its ACK back; the paper's round trip in hardware is 12 us."""
PAPER_RTT_US = 15.0
"""The paper's in software."""
MESSAGE, GROUP = 65_536, 1024
"""Bytes of a message, and messages that throughput is averaged over."""
MESSAGE_US = MESSAGE * 8 / 43e3
"""How long a message takes at 43 Gb/s."""
PAPER_US = {0.9: 28.0, 0.99: 41.0, 0.999: 44.0}

SOFTWARE, NEXT_ACK, HARDWARE, LONG_BURSTS = "software", "with the next ACK", "hardware", "long bursts"
R, LFS, SFS = 0, 1, 2
"""Numbers of the hosts."""
BOTH = ("lfs", "sfs")
BURST_MESSAGES, PERIOD_MS = 3 * GROUP, 150
PARTS = ("t_f", "wait", "t_cpu", "t_b", "true", "single")


def sweep(quick: bool) -> dict[Key, Change]:
    """As the paper decomposes it; with an n that waits for the sender's next message; by the NIC; and long bursts."""
    plain = tuple(f"traffic.{one}.scheme=dart-dasr" for one in BOTH)
    short = ("measure.window=4 ms",) if quick else ()
    changes = {
        SOFTWARE: short,
        NEXT_ACK: (*plain, *short),
        # With n in the NIC each packet's ACK carries it, and no CPU is asked.
        HARDWARE: (*plain, *(f"traffic.{one}.rdma={{ ack_chunk = '0 B' }}" for one in BOTH), *short),
        LONG_BURSTS: (
            "measure.capture.links=['sfs>sw']",
            f"traffic.sfs.size={{ fixed = '{BURST_MESSAGES * MESSAGE} B' }}",
            f"traffic.sfs.pattern.every={PERIOD_MS} ms",
            "traffic.sfs.pattern.jitter=25 ms",
            "traffic.sfs.start=40 ms",
            f"measure.window={170 if quick else 20 * PERIOD_MS + 40} ms",
            "measure.series=[{ what = 'traffic', where = ['lfs'], every = '20 us' }]",
        ),
    }
    return {(case, seed): Change(None, change) for case, change in changes.items() for seed in seeds(quick)}


def measure(result: Result) -> Measured:
    """Of long bursts the throughput by groups of messages; of short ones the parts of each convergence time."""
    if result.watch().height:
        return measure_throughput(result)
    return convergence(result.packets(), starts_us(result))


def starts_us(result: Result) -> NDArray[np.float64]:
    """When the bursts start."""
    return result.flows().filter(pl.col("traffic") == "sfs")["start_ps"].to_numpy() / 1e6


def convergence(packets: pl.DataFrame, starts: NDArray[np.float64]) -> Measured:
    """The parts of the convergence time of each burst, in microseconds.

    t_f: from the burst's start until its first packet is at R. wait: until the packet is there whose ACK tells the
    long flow n = 2. t_cpu: until that ACK leaves. t_b: until it is at the long flow's sender. true: from the start
    until then. single: V-A's measure by R's clock alone, from the burst's first packet until the first one that the
    long flow's sender sends knowing n = 2 is at R.
    """
    packets = packets.with_columns(us=pl.col("time_ps") / 1e6)
    data, acks = packets.filter(pl.col("parts").is_null()), packets.filter(pl.col("parts").is_not_null())
    at_r = data.filter(pl.col("port") == "sw>r").with_columns(us=pl.col("us") + PACKET_US + LINK_US)
    bursts = at_r.filter(pl.col("sender") == SFS)["us"].to_numpy()
    long = at_r.filter(pl.col("sender") == LFS).sort("psn")
    numbers, arrived = long["psn"].to_numpy(), long["us"].to_numpy()
    sent = data.filter(pl.col("port") == "lfs>sw")
    sent_us, sent_number = sent["us"].to_numpy(), sent["psn"].to_numpy()
    told = acks.filter(pl.col("receiver") == LFS)
    leave = told.filter(pl.col("port") == "r>sw")
    back = told.filter(pl.col("port") == "sw>lfs")["us"].to_numpy() + ACK_US + LINK_US
    two = np.flatnonzero((leave["of"] == 2 * leave["parts"]).to_numpy())
    leave_us, answered = leave["us"].to_numpy(), leave["psn"].to_numpy()
    found: Measured = {part: [] for part in PARTS}
    for start in starts:
        first = bursts[np.searchsorted(bursts, start) :][:1]
        later = two[np.searchsorted(leave_us[two], first[0]) :][:1] if first.size else two[:0]
        if not later.size or later[0] >= back.size:
            break
        ack = int(later[0])
        knows = int(np.searchsorted(sent_us, back[ack]))
        marked = np.searchsorted(numbers, sent_number[knows]) if knows < sent_us.size else numbers.size
        if marked == numbers.size:
            break
        # An ACK that R sends because of the burst itself answers no packet of the long flow that came after.
        since = max(arrived[np.searchsorted(numbers, answered[ack])], first[0])
        parts = (first[0] - start, since - first[0], leave_us[ack] - since, back[ack] - leave_us[ack])
        for part, us in zip(PARTS, (*parts, back[ack] - start, arrived[marked] - first[0]), strict=True):
            found[part].append(float(us))
    return found


def measure_throughput(result: Result) -> Measured:
    """Limits in milliseconds and throughput in Gb/s of each group of the long flow's messages, whether the group is
    inside a burst (1), outside (0) or neither (2), and the place of the first whole group after each burst."""
    watch = result.watch().filter(pl.col("name") == "delivered_bytes")
    us, delivered = watch["time_ps"].to_numpy() / 1e6, watch["value"].to_numpy()
    edges = np.arange(0, delivered[-1], GROUP * MESSAGE)
    when = np.interp(edges, delivered, us)
    bursts = result.flows().filter((pl.col("traffic") == "sfs") & pl.col("completion_ps").is_not_null())
    spans = [(start / 1e6, (start + took) / 1e6) for start, took in bursts.select("start_ps", "completion_ps").rows()]
    starts, stops = when[:-1], when[1:]
    place = np.full(starts.size, 2.0)
    inside = np.zeros(starts.size, dtype=bool)
    outside = np.ones(starts.size, dtype=bool)
    # Bursts that did not end count too.
    open_end = float(us[-1])
    for start in starts_us(result):
        stop = next((b for a, b in spans if a == start), open_end)
        inside |= (starts >= start) & (stops <= stop)
        outside &= (stops <= start) | (starts >= stop)
    place[inside], place[outside] = 1.0, 0.0
    after = [int(np.searchsorted(starts, stop)) for _, stop in spans]
    return {
        "edge_ms": (when / 1e3).tolist(),
        "gbps": (GROUP * MESSAGE * 8 / (stops - starts) / 1e3).tolist(),
        "place": place.tolist(),
        "after": [float(group) for group in after if group < starts.size],
        "burst_ms": [edge / 1e3 for span in spans for edge in span],
    }


def draw(measures: Measures) -> Figure:
    """Fig. 9(a) and 9(b)."""
    figure = picture(12, 4.8, "Dart Fig. 9: DASR on the testbed's network (43 Gb/s, round trip 12 us)")
    left, right = figure.subplots(1, 2)
    draw_throughput(left, measures)
    draw_times(right, measures)
    return figure


def draw_throughput(axes: Axes, measures: Measures) -> None:
    """The long flow's throughput over five bursts."""
    run = measures[LONG_BURSTS, 1]
    edges = run["burst_ms"][:10]
    for number, (start, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        label = "burst" if number == 0 else None
        axes.axvspan(start, stop, color="#e4e4e4", linewidth=0, label=label)
    axes.stairs(run["gbps"], run["edge_ms"], baseline=None, color=scheme_line("dart-dasr")["color"], linewidth=1.8)
    axes.plot([], [], color=scheme_line("dart-dasr")["color"], label="long flow")
    axes.axhline(22.5, color="black", linewidth=1, linestyle=":", label="paper in bursts: 22.5 Gb/s")
    axes.set_xlim(0, (edges[-1] if edges else run["edge_ms"][-1]) + 40)
    axes.set_ylim(0, 60)
    label_axes(axes, "(a) throughput of 1,024 messages of 64 KiB each", "time (ms)", "throughput (Gb/s)", legend=False)
    axes.legend(facecolor="white", framealpha=1, edgecolor="white", fontsize=9, loc="upper center", ncols=3)


def draw_times(axes: Axes, measures: Measures) -> None:
    """The distributions of convergence times."""
    colour = scheme_line("dart-dasr")["color"]
    curves = (
        (SOFTWARE, "single", "software, by R's clock", "-"),
        (SOFTWARE, "true", "software", "-."),
        (HARDWARE, "true", "by the NIC", "--"),
    )
    for case, part, label, dashes in curves:
        shown = {"color": colour, "linestyle": dashes, "linewidth": 1.6}
        cdf(axes, pooled(measures, (case,), part), label=label, **shown)
    axes.plot(list(PAPER_US.values()), list(PAPER_US), "k+", markersize=10, label="paper, software")
    axes.axvline(RTT_US, color="#888888", linewidth=1, linestyle=":", label="round trip without queues")
    axes.set_xlim(0, 60)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, "(b) convergence time", "time (us)", "share of bursts", legend=False)
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def rows(measures: Measures) -> list[Row]:
    """Claims `dart-sec5a-decomposition`, `dart-fig9a-throughput`, `dart-fig9b-convergence`, `dart-fig9b-hardware`."""
    return [
        *(row for case in (SOFTWARE, HARDWARE) for row in rows_decomposition(measures, case)),
        *rows_throughput(measures),
        *rows_convergence(measures),
        *rows_hardware(measures),
    ]


def rows_decomposition(measures: Measures, case: str) -> list[Row]:
    """What R measures with its clock alone beside what the clocks of all hosts say."""
    true, single = (np.asarray(pooled(measures, (case,), part)) for part in ("true", "single"))
    above = single - true
    said = f"{np.median(true):.2f} and {np.median(single):.2f} us in the median; difference"
    return Row.table(f"""
        dart-sec5a-decomposition ({case})
        measure by R's clock, of {true.size} bursts, not below the time by all clocks | never smaller
            | {said} at least {above.min():.2f} us | at least 0 | {strict(bool(above.min() >= 0))}
        measure by R's clock less the time by all clocks | equal or conservative | at most {above.max():.2f} us
            | below a message's {MESSAGE_US:.2f} us | {strict(bool(above.max() < MESSAGE_US))}
    """)


def rows_throughput(measures: Measures) -> list[Row]:
    """In bursts half, afterwards all."""
    claim = "dart-fig9a-throughput"
    alone, inside, kept, bursts = [], [], 0, 0
    for key, run in measures.items():
        if key[0] != LONG_BURSTS:
            continue
        gbps, place = np.asarray(run["gbps"]), np.asarray(run["place"])
        own = float(np.median(gbps[place == 0]))
        alone.append(own)
        inside += (gbps[place == 1] / own).tolist()
        kept += sum(bool(gbps[int(after)] >= 0.97 * own) for after in run["after"])
        bursts += len(run["after"])
    ratio = mean(inside)
    within = 100 * mean([0.48 <= one <= 0.54 for one in inside])
    return Row.table(f"""
        {claim}
        throughput in bursts / alone ({mean(alone):.1f} Gb/s), mean of {len(inside)} groups | 22.5 / 43 = 0.523
            | {ratio:.3f} | 0.48 to 0.54 | {band(ratio, 0.48, 0.54)}
        groups in bursts within that | all | {judge("strict", within, ".1f %", "at least 99 %")}
        bursts, of {bursts}, after which the first whole group has 0.97 of the throughput alone | all
            | {100 * kept / max(bursts, 1):.1f} % | at least 99 % | {strict(kept >= 0.99 * bursts and bursts > 0)}
    """)


def beyond(measures: Measures, case: str) -> float:
    """The largest convergence time of a burst, less the round trip and its CPU time."""
    true, cpu = (np.asarray(pooled(measures, (case,), part)) for part in ("true", "t_cpu"))
    return float((true - cpu).max()) - RTT_US


def rows_convergence(measures: Measures) -> list[Row]:
    """In software."""
    accept = f"at most a message's {MESSAGE_US:.2f} us"
    found = []
    for case in (SOFTWARE, NEXT_ACK):
        most = beyond(measures, case)
        what = f"n told {'at once' if case == SOFTWARE else case}: convergence time less round trip and CPU time, most"
        judged = case == NEXT_ACK  # n comes with ACKs, as the claim is worded
        found.append(
            Row.of(
                "dart-fig9b-convergence",
                f"{what} | one RTT | {most:.2f} us | {accept} | {strict(most <= MESSAGE_US)}",
                judged,
            )
        )
    single = pooled(measures, (SOFTWARE,), "single")
    limits = {0.5: 2.0, 0.9: 2.5, 0.999: 4.0}
    for share in (0.5, *PAPER_US):
        ours = quantile(single, share)
        limit = limits.get(share)
        verdict = "calibrated" if limit is None else band(ours / PAPER_RTT_US, 0, limit)
        accept = "none" if limit is None else f"at most {limit:g} RTT of 15 us (of a real transport)"
        paper = f"{PAPER_US[share]:.0f} us" if share in PAPER_US else "not told"
        what = f"p{100 * share:g} by R's clock, of {len(single)}, with the CPU time assumed"
        found.append(Row.of("dart-fig9b-convergence", f"{what} | {paper} | {ours:.1f} us | {accept} | ({verdict})"))
    return found


def rows_hardware(measures: Measures) -> list[Row]:
    """With n counted by the NIC."""
    hard, soft = (pooled(measures, (case,), "true") for case in (HARDWARE, SOFTWARE))
    shares = np.arange(1, 1001) / 1000
    below = all(quantile(hard, share) < quantile(soft, share) for share in shares)
    return Row.table(f"""
        dart-fig9b-hardware
        convergence time, least and most of {len(hard)} | about 12 us | {min(hard):.2f} and {max(hard):.2f} us
            | {RTT_US:.2f} to {RTT_US + MESSAGE_US:.2f} us
            | {strict(min(hard) >= RTT_US and max(hard) <= RTT_US + MESSAGE_US)}
        below software at every percentile | yes
            | {"yes" if below else "no"}; medians {quantile(hard, 0.5):.1f} and {quantile(soft, 0.5):.1f} us | yes
            | {strict(below)}
    """)


EXPERIMENTS = (
    Experiment(
        "dart-fig9",
        "Dart Fig. 8 and 9: convergence of DASR on the testbed",
        "dart/fig9-testbed.toml",
        sweep,
        measure,
        draw,
        rows,
    ),
)

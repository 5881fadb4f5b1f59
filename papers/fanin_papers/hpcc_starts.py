"""HPCC's starts at line rate: one adjustment for an incast, several rounds for several bottlenecks (3.2, A.2), and a
source that starts at line rate, alone or with 63 others (A.4)."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import picture
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict
from fanin_papers.hpcc_runs import HPCC_PACKET, longest_queue, paused_and_dropped, queued, watched, windows

ETA = 0.95
PER_US = 12_500.0
"""Bytes that 100 Gb/s carry in a us."""
SLOT_US = HPCC_PACKET / PER_US
PAYLOAD = 1000
ACK_US = 108 / PER_US
"""Time of an ACK with its telemetry on a link of 100 Gb/s."""
OVERHEAD = HPCC_PACKET / PAYLOAD
"""Bytes on the wire for each of payload. Windows count payload."""


def after_bursts(result: Result, back_us: float) -> tuple[list[float], list[float]]:
    """For each flow that the spec samples and traces its window in bytes right after the last ACK of its initial burst,
    and the packets that it sent between its first ACK and that one.

    The burst is what it sends before its first ACK. An ACK takes `back_us`, as nothing waits on the way back.
    """
    hops = result.hops().partition_by("message", as_dict=True, maintain_order=True)
    found, between = [], []
    for flow, (time_us, window) in windows(result).items():
        mine = hops[flow,]
        source = mine["node"][0]
        sent = mine.filter(pl.col("node") == source)["time_ps"].to_numpy() / 1e6
        acked = mine.filter(pl.col("port").is_null())["time_ps"].to_numpy() / 1e6 + back_us
        burst = int(np.searchsorted(sent, acked[0]))
        over = acked[burst - 1]
        between.append(float(np.searchsorted(sent, over) - burst))
        found.append(float(window[np.searchsorted(time_us, over, side="right")]))
    return found, between


def root(excess: float) -> float:
    """What a burst's last ACKs leave of windows that together are `excess` times BDP.

    The last packet of a burst reports the queue that it leaves behind (Fig. 5), which is only what windows let in after
    the burst. They grow while the queue shrinks, W = W_c eta/(1 + q/BDP), until they equal what is in flight and in the
    queue.
    """
    return float(np.sqrt(ETA * excess / OVERHEAD))


# 3.2 and A.2: an incast

SENDERS = (2, 8, 64)
T_US = 4.0


def sweep_2a(quick: bool) -> dict[Key, Change]:
    """So many senders into one. All flows start together, so nothing is random."""
    sweep: dict[Key, Change] = {}
    for count in SENDERS[:2] if quick else SENDERS:
        flows = ", ".join(f'"senders:{number}"' for number in range(count))
        series = f'{{ what = "flow", where = [{flows}], every = "100 ns" }}'
        changes = (
            f"traffic.senders.pattern.degree={count}",
            f"measure.window={10 * count + 100} us",
            f"measure.trace=[{flows}]",
            f"measure.series=[{series}]",
        )
        sweep["hpcc", count, 1] = Change(None, changes)
    return sweep


def measure_2a(result: Result) -> Measured:
    """The sum of all windows over BDP, over time and after the last ACK of each burst."""
    after, _ = after_bursts(result, 2 * (1 + ACK_US))
    samples = list(windows(result).values())
    bdp = T_US * PER_US
    return {
        "time_us": samples[0][0].tolist(),
        "sum": (np.sum([window for _, window in samples], axis=0) / bdp).tolist(),
        "after": [sum(after) / bdp],
    }


def draw_2a(measures: Measures) -> Figure:
    """The sum of all windows over time."""
    figure = picture(8, 4.8, "HPCC 3.2: long flows start together into one port, 100 Gb/s, T = 4 us")
    axes = figure.subplots()
    for number, key in enumerate(sorted(measures, key=lambda key: int(key[1]))):
        run, count = measures[key], int(key[1])
        label = f"{count} flows: {run['after'][0]:.2f} after the bursts"
        axes.plot(run["time_us"], run["sum"], label=label, **indexed_line(number))
    axes.axhline(ETA, color="#888888", linewidth=1, linestyle=":", label="eta")
    axes.set_xscale("symlog", linthresh=10)
    axes.set_yscale("log")
    axes.set_xlim(0, None)
    label_axes(axes, "", "time (us)", "sum of windows over B T")
    return figure


def rows_2a(measures: Measures) -> list[Row]:
    """Claim `hpcc-single-vs-multi`, its first half; beside it what the reading of Fig. 5 gives."""
    rows = []
    for key, run in sorted(measures.items(), key=lambda item: int(item[0][1])):
        count, after = int(key[1]), run["after"][0]
        rows += Row.table(f"""
            hpcc-single-vs-multi
            sum of the windows of {count} senders after the last ACKs of their bursts, over eta B T
                | one adjustment is enough: 1 | {after / ETA:.2f} | 0.9 to 1.1 | {band(after / ETA, 0.9, 1.1)}
            the same over (eta {count} payload/wire)^0.5 B T: packets report the queue that they leave behind | -
                | {after / root(count):.2f} | 0.8 to 1.2 | ({band(after / root(count), 0.8, 1.2)})
        """)
    return rows


# A.2: several bottlenecks

CASES = {
    "2 links, 1 flow over both, 1 and 1 beside": (1, (1, 1)),
    "2 links, 2 flows over both, 1 and 3 beside": (2, (1, 3)),
    "3 links, 1 flow over all, 1, 1 and 1 beside": (1, (1, 1, 1)),
    "3 links, 1 flow over all, 1, 2 and 4 beside": (1, (1, 2, 4)),
    "3 links, 1 flow over all, 4, 2 and 1 beside": (1, (4, 2, 1)),
}
BESIDE = ("first", "second", "third")
HOSTS = 8
"""At each switch of the spec: those with lower numbers receive here and those with higher ones send."""
W_AI = 80
ROUNDS = 98


def sweep_2b(quick: bool) -> dict[Key, Change]:
    """Each case. All flows start together, so nothing is random."""
    del quick  # it takes two seconds
    return {(case, 1): Change(None, several(*numbers)) for case, numbers in CASES.items()}


def several(over: int, beside: tuple[int, ...]) -> tuple[str, ...]:
    """The changes to the spec for so many flows over all links and beside them on each; a traffic on a link that the
    case does not have starts after all others have been measured."""
    links = len(beside)

    def hosts(switch: int, numbers: range) -> str:
        return "[" + ", ".join(f'"h{HOSTS * switch + number}"' for number in numbers) + "]"

    def flows(name: str, begin: int, end: int, count: int) -> list[str]:
        # Flows over all links take the outer hosts, as the others do not reach them.
        first = 4 if name == "all" else 0
        return [
            f"traffic.{name}.pattern.senders={hosts(begin, range(HOSTS - first - count, HOSTS - first))}",
            f"traffic.{name}.pattern.receivers={hosts(end, range(first, first + count))}",
        ]

    rtt = 2 * (links + 2)
    members = [f'"all:{number}"' for number in range(over)]
    members += [f'"{name}:{number}"' for name, count in zip(BESIDE, beside, strict=False) for number in range(count)]
    series = f'{{ what = "flow", where = [{", ".join(members)}], every = "{rtt} us" }}'
    changes = [
        f"network.topology.switches={links + 1}",
        f"measure.window={(ROUNDS + 2) * rtt} us",
        f"measure.series=[{series}]",
        *(f"traffic.{name}.scheme.base_rtt={rtt} us" for name in ("all", *BESIDE)),
        *flows("all", 0, links, over),
    ]
    for link, count in enumerate(beside):
        changes += flows(BESIDE[link], link, link + 1, count)
    for name in BESIDE[links:]:
        changes += [*flows(name, 0, 1, 1), f"traffic.{name}.start={(ROUNDS + 1) * rtt} us"]
    return tuple(changes)


def measure_2b(result: Result) -> Measured:
    """The load of each link round by round, R/B summed over its flows without their W_AI, and the round from which all
    are at most eta."""
    found = windows(result)
    traffics = [name for name in BESIDE if f"{name}:0" in found]
    bdp = 2 * (len(traffics) + 2) * PER_US
    loads = []
    for traffic in traffics:
        on = [window for flow, (_, window) in found.items() if flow.split(":")[0] in ("all", traffic)]
        loads.append(np.sum([window[:ROUNDS] - W_AI for window in on], axis=0) / bdp)
    all_loads = np.array(loads)
    # The first sample is after the first round trip, which is without feedback, and counts.
    settled = np.flatnonzero((all_loads <= ETA + 1e-6).all(axis=0))
    rest = all_loads[:, settled[0] :] if settled.size else all_loads
    return {
        **{f"load {number}": load.tolist() for number, load in enumerate(loads)},
        "first": [float(all_loads[:, 0].min())],
        "rounds": [float(settled[0] + 1) if settled.size else float("inf")],
        "later": [float(rest.max())],
    }


def draw_2b(measures: Measures) -> Figure:
    """The load of each link by round."""
    figure = picture(15, 4.2, "HPCC A.2: several bottlenecks, 100 Gb/s, 1 us per link")
    for axes, case in zip(figure.subplots(1, len(CASES), sharey=True), CASES, strict=True):
        run = measures[case, 1]
        for number in range(len(CASES[case][1])):
            load = run[f"load {number}"][:12]
            line = {**indexed_line(number), "marker": "o", "markersize": 3, "linewidth": 1.2}
            axes.plot(range(1, 13), load, label=f"link {number + 1}", **line)
        axes.axhline(ETA, color="#888888", linewidth=1, linestyle=":")
        axes.set_ylim(0, 6)
        axes.set_xticks(range(2, 13, 2))
        title = case.replace(", 1 flow", ",\n1 flow").replace(", 2 flows", ",\n2 flows")
        label_axes(axes, title, "round trip", "", legend=axes is figure.axes[2])
        axes.set_title(title, fontsize=9.5)
    figure.axes[0].set_ylabel("windows over B T, without W_AI")
    return figure


def rows_2b(measures: Measures) -> list[Row]:
    """Claim `hpcc-single-vs-multi`, its second half."""
    rows = []
    for case, (_, beside) in CASES.items():
        run = measures[case, 1]
        most = len(beside) + 2
        rounds = run["rounds"][0]
        rows.append(
            Row.of(
                "hpcc-single-vs-multi",
                f"round trips until no link is above eta: {case} | several rounds "
                f"| {rounds:.0f} (loads of at least {run['first'][0]:.1f} after the first; later at most "
                f"{run['later'][0]:.2f}) | 2 to {most}, the number of bottlenecks and 2 | {band(rounds, 2, most)}",
            )
        )
    return rows


# A.4: a source starts at line rate

NAMES = ("hpcc", "rcp")


def sweep_4(quick: bool) -> dict[Key, Change]:
    """HPCC and RCP. Nothing is random."""
    del quick  # it takes a second
    return {(name, 1): Change(name) for name in NAMES}


def measure_4(result: Result) -> Measured:
    """Of the long flow: the longest silence between packets before its first reduction, in packets; the packets until
    then; the rate that it settles at; and the completion time of 100 KB beside it."""
    sent = result.hops().filter(pl.col("node") == "h1")["time_ps"].to_numpy() / 1e6
    time_us, window = watched(result, "window_bytes", "long:0")
    reduced = np.flatnonzero(window < window[0] - 1)
    until = time_us[reduced[0]] if reduced.size else time_us[-1]
    first = sent[sent <= until]
    at_us, port = watched(result, "sent_bytes", "sw0>h0")
    begin, end = np.interp([200, 500], at_us, port)
    new = result.flows().filter(result.flows()["traffic"] == "new")["completion_ps"].item()
    return {
        "gap": [float((np.diff(first).max() - SLOT_US) / SLOT_US)],
        "packets": [float(first.size)],
        "reduced_us": [float(until)],
        "used": [float((end - begin) / PER_US / 300)],
        "fct_us": [new / 1e6],
        "at_us": at_us[1:].tolist(),
        "rate": (np.diff(port) / PER_US / np.diff(at_us)).tolist(),
    }


def draw_4(measures: Measures) -> Figure:
    """The use of the receiver's link from the start, and around the new flow."""
    figure = picture(11, 4.4, "HPCC A.4: a start at line rate, 100 Gb/s, T = 12.2 us")
    left, right = figure.subplots(1, 2, sharey=True)
    for name in NAMES:
        run = measures[name, 1]
        line = {**scheme_line(name), "linewidth": 1.4}
        for axes in (left, right):
            axes.step(
                run["at_us"], 100 * np.array(run["rate"]), label=f"{name}: 100 KB in {run['fct_us'][0]:.1f} us", **line
            )
    left.set_xlim(0, 60)
    right.set_xlim(490, 600)
    right.set_ylim(0, 108)
    label_axes(left, "a source starts on an idle path", "time (us)", "use of the link (%)", legend=False)
    label_axes(right, "100 KB join at 500 us", "time (us)", "", legend=False)
    right.legend(frameon=False, fontsize=10, loc="lower right")
    return figure


def rows_4(measures: Measures) -> list[Row]:
    """Claim `hpcc-a4-linerate`."""
    run, fct = measures["hpcc", 1], [measures[name, 1]["fct_us"][0] for name in NAMES]
    return [
        Row.of(
            "hpcc-a4-linerate",
            f"longest silence until the first reduction, at {run['reduced_us'][0]:.1f} us after "
            f"{run['packets'][0]:.0f} packets, in times of a packet | continues at line rate "
            f"| {abs(run['gap'][0]):.3f} | at most 1 | {strict(run['gap'][0] <= 1)}",
        ),
        *Row.table(f"""
            hpcc-a4-linerate
            use of the link once settled | eta = 0.95 | {run["used"][0]:.3f} | 0.93 to 0.96
                | {strict(0.93 <= run["used"][0] <= 0.96)}
            completion time of 100 KB beside a long flow, us: HPCC; RCP | earlier than with RCP
                | {fct[0]:.1f}; {fct[1]:.1f} | HPCC at most RCP | {order([fct[0] <= fct[1]])}
        """),
    ]


# A.4: 64 sources start at line rate

RTT_US = 12.0
W_INIT = RTT_US * PER_US
START_US = 1000.0


def sweep_64(quick: bool) -> dict[Key, Change]:
    """One run: all start together, so nothing is random."""
    del quick  # it takes three seconds
    return {("hpcc", 1): Change(None)}


def measure_64(result: Result) -> Measured:
    """The queue in base round-trip times, the drain over line rate, windows over W_init, and what is sent between."""
    time_us, queue = queued(result)
    delay = queue / PER_US / RTT_US
    # An ACK crosses three links, the one between switches at 800 Gb/s.
    after, between = after_bursts(result, 3 * 2 + 2 * ACK_US + ACK_US / 8)
    samples = list(windows(result).values())
    least = min(window.min() for _, window in samples)
    # From the second to the 63rd round trip after the start.
    begin, end = (np.interp(START_US + rounds * RTT_US, time_us, queue) for rounds in (2, 64))
    return {
        "time_us": time_us.tolist(),
        "delay": delay.tolist(),
        "window_us": samples[0][0].tolist(),
        "window": (np.mean([window for _, window in samples], axis=0) / W_INIT).tolist(),
        "peak": [longest_queue(result, "root>h65") / PER_US / RTT_US],
        "drain": [float((begin - end) / (62 * RTT_US * PER_US))],
        "after": [float(np.mean(after)) / W_INIT],
        "least": [float(least) / W_INIT],
        "between": [max(between) * PAYLOAD / W_INIT],
        "pauses and drops": paused_and_dropped(result),
    }


def draw_64(measures: Measures) -> Figure:
    """The queue and the mean window over time."""
    figure = picture(11, 4.4, "HPCC A.4: 64 sources start at line rate beside a long flow, 100 Gb/s, T = 12 us")
    left, right = figure.subplots(1, 2)
    run, line = measures["hpcc", 1], scheme_line("hpcc")
    left.plot(np.array(run["time_us"]) - START_US, run["delay"], **line)
    left.axhline(64, color="#888888", linewidth=1, linestyle=":", label="64 windows")
    right.plot(np.array(run["window_us"]) - START_US, run["window"], **line)
    for value, dash, label in ((1 / 65, ":", "1/65"), (root(64) / 64, "--", "(eta 64 payload/wire)^0.5 / 64")):
        right.axhline(value, color="#888888", linewidth=1, linestyle=dash, label=label)
    right.set_yscale("log")
    for axes in (left, right):
        axes.set_xlim(-20, 900)
    left.set_ylim(0, 75)
    label_axes(left, "queue at the root", "time since the start (us)", "base round-trip times", legend=True)
    label_axes(right, "mean window of the 64", "time since the start (us)", "share of W_init")
    return figure


def rows_64(measures: Measures) -> list[Row]:
    """Claim `hpcc-a4-incast64`."""
    run = measures["hpcc", 1]
    peak, after, least, between, drain = (run[name][0] for name in ("peak", "after", "least", "between", "drain"))
    pauses, drops = run["pauses and drops"]
    return Row.table(f"""
        hpcc-a4-incast64
        highest queueing delay, base round-trip times (bytes on the wire) | nearly 64 | {peak:.1f} | 55 to 66
            | {band(peak, 55, 66)}
        the same in bytes of payload, as windows count | nearly 64 | {peak / OVERHEAD:.1f} | 55 to 66
            | ({band(peak / OVERHEAD, 55, 66)})
        window after the last ACK of the burst, of W_init | about 1/65 | 1/{1 / after:.1f} | 1/80 to 1/50
            | {band(after, 1 / 80, 1 / 50)}
        least window of any time, of W_init | about 1/65 | 1/{1 / least:.1f} | 1/80 to 1/50
            | ({band(least, 1 / 80, 1 / 50)})
        window after the burst over that of packets that report what they leave behind | - | {after * 64 / root(64):.2f}
            | 0.8 to 1.2 | ({band(after * 64 / root(64), 0.8, 1.2)})
        sent between the burst and its last ACK, of W_init (the most of a source) | few packets | {between:.3f}
            | at most 0.15 | {band(between, 0, 0.15)}
        rate at which the queue drains, of the line | as fast as possible | {drain:.3f} | 0.97 to 1.03
            | {band(drain, 0.97, 1.03)}
        pauses by PFC; drops | no PFC | {pauses:.0f}; {drops:.0f} | 0; 0 | {strict(pauses == drops == 0)}
    """)


EXPERIMENTS = (
    Experiment(
        "hpcc-a2-incast", "one adjustment for an incast", "hpcc/a2-incast.toml", sweep_2a, measure_2a, draw_2a, rows_2a
    ),
    Experiment(
        "hpcc-a2-several", "several bottlenecks", "hpcc/a2-several.toml", sweep_2b, measure_2b, draw_2b, rows_2b
    ),
    Experiment("hpcc-a4-linerate", "a start at line rate", "hpcc/a4-linerate.toml", sweep_4, measure_4, draw_4, rows_4),
    Experiment(
        "hpcc-a4-incast64",
        "64 sources start at line rate",
        "hpcc/a4-incast64.toml",
        sweep_64,
        measure_64,
        draw_64,
        rows_64,
    ),
)
"""In the order of the paper."""

"""Dart's mechanisms, each in one picture: Fig. 3, an incast that meets a long flow, and Fig. 6, a message around a hot
link."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fanin.papers.experiment import Change, Experiment, Key, Measured, Measures, Row, Verdict, band, order, strict
from fanin.plot import label_axes, scheme_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fanin.result import Result

LINE_BPS = 10e9
PAYLOAD, HEADER, ACK = 1460, 40, 64
"""Bytes of the specs' packets."""

GOODPUT_GBPS = LINE_BPS / 1e9 * PAYLOAD / (PAYLOAD + HEADER)
"""Payload rate of a full line."""

LINK_US = 5.0
MESSAGE = 8000


def wire_us(size: int) -> float:
    """How long the line takes for so many bytes."""
    return size * 8 / LINE_BPS * 1e6


BASE_RTT_US = 4 * LINK_US + 2 * wire_us(PAYLOAD + HEADER) + 2 * wire_us(ACK)
"""Host, switch, host and back: a full packet there, an ACK back."""


def style(scheme: str) -> dict[str, Any]:
    """The colour and line of a scheme, the same in every picture."""
    return scheme_line(scheme)


# Fig. 3: a long flow and an incast

INCAST = ("dcqcn", "dart-dasr", "dart-dasr-lookahead", "dart")
SAID = {
    "dcqcn": "DCQCN, without Dart",
    "dart-dasr": "Dart's rates, no look-ahead (dart-dasr)",
    "dart-dasr-lookahead": "Dart's rates, look-ahead (dart-dasr-lookahead)",
    "dart": "Dart whole: look-ahead, two lanes (dart)",
}
CROWDS = (1, 2, 4, 8, 16, 31)
CROWD = 16
"""The incast of the picture and of the repeated ones."""

PERIOD_US = 1000.0
EVERY = ", every 1 ms"
"""Marks the runs with repeated incasts."""

BEFORE_US, AFTER_US = 60.0, 240.0
"""The time span of the picture around the first message of the incast."""

RECOVERY_US = 3000.0
"""The time after it in which the long flow is evaluated."""

SINCE = "time since the first message of the incast was posted (us)"

BIN_US = 12.0
"""Ten full packets at line rate."""


def sweep_3(quick: bool) -> dict[Key, Change]:
    """One incast under each scheme and, for n, of each size; and an incast every millisecond."""
    runs: dict[Key, Change] = {(scheme, CROWD, 1): Change(scheme) for scheme in INCAST}
    for scheme in INCAST[1:]:
        for k in () if quick else CROWDS:
            if k != CROWD:
                runs[scheme, k, 1] = Change(scheme, (f"traffic.short.pattern.degree={k}", "measure.trace=['long:0']"))
    again = (
        "traffic.short.pattern.every=1 ms",
        "measure.trace=[]",
        "measure.series=[{ what = 'flow', where = ['long:0'], every = '1 us' }, "
        "{ what = 'queue', where = ['sw0>h0'], every = '1 us', zeros = true }]",
        f"measure.window={'11 ms' if quick else '101 ms'}",
        "measure.warm_up=1 ms",
    )
    return runs | {(f"{scheme}{EVERY}", CROWD, 1): Change(scheme, again) for scheme in INCAST}


def seen(result: Result, what: str, name: str, begin_us: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A value over time, in microseconds from an instant on."""
    rows = result.watch().filter(pl.col("what") == what, pl.col("name") == name).unique("time_ps").sort("time_ps")
    return rows["time_ps"].to_numpy() / 1e6 - begin_us, rows["value"].to_numpy().astype(np.float64)


def spans(times: NDArray[np.float64], below: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """The intervals in which it was so; one that lasts to the end is left out."""
    turns = np.flatnonzero(np.diff(below.astype(np.int8), prepend=0))
    return [(float(times[a]), float(times[b])) for a, b in zip(turns[::2], turns[1::2], strict=False)]


def measure_3(result: Result) -> Measured:
    """The feedback to the long flow and its rate; of a single incast also all that is drawn. Times count from its first
    message."""
    short = result.flows().filter(pl.col("traffic") == "short").sort("start_ps")
    begin_us = float(short["start_ps"].to_numpy().min()) / 1e6
    found: Measured = {}
    rate_us, rate = seen(result, "flow", "rate_bps", begin_us)
    n_us, n = seen(result, "flow", "n", begin_us)
    if n.size:
        _, cap = seen(result, "flow", "cap_bps", begin_us)
        rate = np.minimum(rate, cap)
        held = spans(n_us, cap < LINE_BPS)
        found["held_from_us"], found["held_to_us"] = [a for a, _ in held], [b for _, b in held]
        told = np.flatnonzero(n == n.max())
        found["n_max"], found["cap_bps"] = [float(n.max())], [float(cap[told].min())]
        found["told_us"] = [float(n_us[told[0]])]
    long = next(t for t in result.summary()["traffics"] if t["traffic"] == "long")
    found["goodput_gbps"] = [long["long_goodput_gbps"]]
    groups = short.group_by("group", maintain_order=True).agg(pl.col("start_ps").min())
    found["incasts_us"] = (groups["start_ps"].to_numpy() / 1e6 - begin_us).tolist()
    queue = result.series().sort("time_ps")
    queue_us = queue["time_ps"].to_numpy() / 1e6 - begin_us
    kept = np.searchsorted(queue_us, found["incasts_us"], side="right") - 1
    found["standing_kb"] = (queue["queue_bytes"].to_numpy()[kept] / 1e3).tolist()
    found["completion_us"] = (short["completion_ps"].drop_nulls().to_numpy() / 1e6).tolist()
    hops = result.hops()
    if hops["message"].n_unique() == 1 + short.height:
        found |= picture_3(result, hops, begin_us)
        found["rate_us"], found["rate_gbps"] = rate_us.tolist(), (rate / 1e9).tolist()
    return found


def picture_3(result: Result, hops: pl.DataFrame, begin_us: float) -> Measured:
    """The curves of a single incast."""
    series = result.series().sort("time_ps")
    short = result.flows().filter(pl.col("traffic") == "short").sort("start_ps")
    start_us = short["start_ps"].to_numpy() / 1e6 - begin_us
    n_us, n = seen(result, "receiver", "n", begin_us)
    at_receiver = hops.filter(pl.col("port").is_null())
    long, others = (at_receiver.filter((pl.col("message") == "long:0") == own) for own in (True, False))
    long_us = long["time_ps"].to_numpy() / 1e6 - begin_us
    # A packet carries the bytes up to the next one's offset: a list of senders is no payload.
    parts = others.sort("message", "seq_bytes").with_columns(
        (pl.col("seq_bytes").shift(-1).over("message").fill_null(MESSAGE) - pl.col("seq_bytes")).alias("payload")
    )
    edges = np.arange(-BEFORE_US, AFTER_US + BIN_US / 2, BIN_US)
    arrived, _ = np.histogram(parts["time_ps"].to_numpy() / 1e6 - begin_us, edges, weights=parts["payload"].to_numpy())
    after = (long_us > 0) & (long_us <= RECOVERY_US)
    return {
        "queue_us": (series["time_ps"].to_numpy() / 1e6 - begin_us).tolist(),
        "queue_kb": (series["queue_bytes"].to_numpy() / 1e3).tolist(),
        "n_us": n_us.tolist(),
        "n": n.tolist(),
        "bins_us": edges[:-1].tolist(),
        "arriving_gbps": (arrived * 8 / BIN_US / 1e3).tolist(),
        "start_us": start_us.tolist(),
        "finish_us": (start_us + short["completion_ps"].to_numpy() / 1e6).tolist(),
        "first_us": [float(others["time_ps"].to_numpy().min()) / 1e6 - begin_us],
        "lost_kb": [
            (GOODPUT_GBPS * RECOVERY_US / 8) - float(after.sum()) * PAYLOAD / 1e3 - short.height * MESSAGE / 1e3
        ],
    }


def draw_3(measures: Measures) -> Figure:
    """The queue, n, the rates and the messages over time, and the long flow's recovery on a longer axis."""
    figure = Figure(figsize=(9, 13.2), layout="constrained")
    grid = figure.add_gridspec(6, 1, height_ratios=[1.2, 1, 1, 1, 2.3, 1])
    panels: list[Axes] = [figure.add_subplot(grid[place]) for place in range(6)]
    queue, told, rate, arriving, bars, recovery = panels
    for place, scheme in enumerate(INCAST):
        run = measures[scheme, CROWD, 1]
        shown = style(scheme) | {"label": SAID[scheme]}
        queue.plot(run["queue_us"], run["queue_kb"], **shown)
        told.step(run["n_us"], run["n"], where="post", **shown)
        for axes in (rate, recovery):
            axes.step(run["rate_us"], run["rate_gbps"], where="post", **shown)
        arriving.step(run["bins_us"], run["arriving_gbps"], where="post", **shown)
        top = place * (CROWD + 4)
        starts, ends = np.asarray(run["start_us"]), np.sort(run["finish_us"])
        bars.barh(
            top + np.arange(CROWD), ends - starts, left=starts, height=0.75, color=shown["color"], label=SAID[scheme]
        )
        bars.text(-4, top + CROWD / 2, scheme.replace("-look", "-\nlook"), fontsize=10, va="center", ha="right")
        bars.text(ends[-1] + 3, top + CROWD - 1, f"last at {ends[-1]:.0f} us", fontsize=10, va="center")
    label_axes(queue, "The switch's queue to the receiver", "", "queue (KB)")
    label_axes(told, "n, as the receiver tells it", "", "n (senders)")
    label_axes(rate, "The long flow's rate at its sender: the lower of C/n and DCQCN's", "", "rate (Gb/s)")
    label_axes(arriving, f"The {CROWD} short messages together, as they reach the receiver", "", "goodput (Gb/s)")
    label_axes(bars, f"The {CROWD} short messages of 8 KB, each from its post to its last byte", SINCE, "message")
    label_axes(recovery, "The long flow's rate again, on a longer time axis", SINCE, "rate (Gb/s)")
    for axes in panels:
        if (legend := axes.get_legend()) is not None:
            legend.remove()
        axes.set_xlim(-BEFORE_US, AFTER_US)
        axes.axvline(0, color="#888888", linewidth=0.8)
    for axes in panels[:4]:
        axes.set_ylim(bottom=0)
        axes.tick_params(labelbottom=False)
    height = 1.2 * max(max(measures[scheme, CROWD, 1]["queue_kb"]) for scheme in INCAST)
    queue.set_ylim(0, 1.1 * height)
    ends_kept = {"shrinkA": 0, "shrinkB": 0}
    queue.annotate("", (BASE_RTT_US, height), (0, height), arrowprops={"arrowstyle": "<->", **ends_kept})
    queue.text(BASE_RTT_US + 3, height, f"base RTT {BASE_RTT_US:.1f} us", fontsize=10, va="center")
    rate.text(60, 1.1, f"C/{CROWD + 1} = {LINE_BPS / (CROWD + 1) / 1e9:.2f} Gb/s", fontsize=10)
    arriving.text(14, 2.4, "dart: two lanes take turns", fontsize=10, color=style("dart")["color"])
    bars.set_yticks([])
    bars.invert_yaxis()
    recovery.set_xlim(-BEFORE_US, RECOVERY_US)
    recovery.set_ylim(bottom=0)
    handles, labels = queue.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=10)
    return figure


def rows_3(measures: Measures) -> list[Row]:
    """Claims `dart-fig3-kplus1` and `dart-fig3-shortlived`, and numbers of the single incast for III-B and III-D."""
    rows = []
    for scheme in INCAST[1:]:
        for k in CROWDS:
            if (scheme, k, 1) in measures:
                run = measures[scheme, k, 1]
                exact = run["n_max"] == [k + 1] and run["cap_bps"] == [LINE_BPS / (k + 1)]
                ours = f"{run['n_max'][0]:g}, {run['cap_bps'][0] / 1e6:.1f} Mb/s"
                paper = f"{k + 1}, {LINE_BPS / (k + 1) / 1e6:.1f} Mb/s"
                rows.append(
                    Row("dart-fig3-kplus1", f"{scheme}, k = {k}: n and C/n", paper, ours, "equal", strict(exact))
                )
    one = {scheme: measures[scheme, CROWD, 1] for scheme in INCAST}
    again = {scheme: measures[f"{scheme}{EVERY}", CROWD, 1] for scheme in INCAST}
    # The incast's own share of the receiver's line.
    packets = -(-MESSAGE // PAYLOAD)
    drain_us = wire_us(CROWD * (MESSAGE + packets * HEADER))
    limit_us = drain_us + 2 * BASE_RTT_US
    enough = 0.98 * (GOODPUT_GBPS - CROWD * MESSAGE * 8 / PERIOD_US / 1e3)
    claim = "dart-fig3-shortlived"
    for scheme in INCAST[1:]:
        run = again[scheme]
        held = [b - a for a, b in zip(run["held_from_us"], run["held_to_us"], strict=True)]
        rows += [
            Row(
                claim,
                f"{scheme}: the long flow is held, longest of {len(held)} incasts",
                "as long as the short flows",
                f"{max(held):.0f} us",
                f"at most {limit_us:.0f} us, drain and 2 RTT",
                band(max(held), 0, limit_us),
            ),
            Row(
                claim,
                f"{scheme}: goodput of the long flow, an incast every 1 ms",
                "not hurt",
                f"{run['goodput_gbps'][0]:.2f} Gb/s",
                f"at least {enough:.2f} Gb/s, what the incasts leave less 2 %",
                band(run["goodput_gbps"][0], enough, GOODPUT_GBPS),
            ),
        ]
    # How long after an incast's first message the long flow is held; up to the first one the runs are equal.
    after = {
        scheme: [a - b for a, b in zip(again[scheme]["held_from_us"], again[scheme]["incasts_us"], strict=False)]
        for scheme in ("dart-dasr", "dart-dasr-lookahead")
    }
    plain, ahead = after["dart-dasr"], after["dart-dasr-lookahead"]
    rows += [
        Row(
            claim,
            "from an incast's post to the hold, dart-dasr and dart-dasr-lookahead: the first, mean",
            "earlier with look-ahead",
            f"{plain[0]:.0f} and {ahead[0]:.0f} us, {np.mean(plain):.0f} and {np.mean(ahead):.0f} us",
            "look-ahead no later",
            strict(bool(ahead[0] <= plain[0] and np.mean(ahead) <= np.mean(plain))),
        ),
        Row(
            claim,
            "goodput of the long flow under DCQCN and dart-dasr",
            "DCQCN's is lower",
            f"{again['dcqcn']['goodput_gbps'][0]:.2f} and {again['dart-dasr']['goodput_gbps'][0]:.2f} Gb/s",
            "in order",
            strict(again["dcqcn"]["goodput_gbps"][0] < again["dart-dasr"]["goodput_gbps"][0]),
        ),
        Row(
            f"{claim} (every 1 ms)",
            "short messages: median and longest completion; mean queue that an incast finds",
            "latency is not hurt: below DCQCN's",
            "; ".join(
                f"{scheme} {np.median(run['completion_us']):.0f} and {max(run['completion_us']):.0f} us, "
                f"{np.mean(run['standing_kb']):.0f} KB"
                for scheme, run in again.items()
            ),
            "each median below DCQCN's",
            order(
                [
                    bool(np.median(again[scheme]["completion_us"]) < np.median(again["dcqcn"]["completion_us"]))
                    for scheme in INCAST[1:]
                ]
            ),
        ),
        *rows_of_one(one),
    ]
    return rows


def rows_of_one(one: dict[str, Measured]) -> list[Row]:
    """The picture in numbers; times are samples of 1 us."""
    claim = "dart-fig3-shortlived (one incast)"

    def each(schemes: tuple[str, ...], text: dict[str, str]) -> str:
        return "; ".join(f"{scheme} {text[scheme]}" for scheme in schemes)

    told = {s: one[s]["told_us"][0] - one[s]["first_us"][0] for s in INCAST[1:]}
    back = {s: one[s]["held_to_us"][-1] - max(one[s]["finish_us"]) for s in INCAST[1:]}
    last = {s: max(one[s]["finish_us"]) for s in INCAST}
    lost = {s: one[s]["lost_kb"][0] for s in INCAST}
    peak = {s: max(one[s]["queue_kb"]) for s in INCAST}
    ahead = [told[s] < told["dart-dasr"] for s in ("dart-dasr-lookahead", "dart")]
    return [
        Row(
            claim,
            f"from the incast's first packet at the receiver to 1/{CROWD + 1} at the long flow's sender",
            "earlier with look-ahead",
            each(INCAST[1:], {s: f"{us:.0f} us" for s, us in told.items()}),
            "both with look-ahead before dart-dasr",
            order(ahead),
        ),
        Row(
            claim,
            "from the last short message's end to line rate again",
            "only for the duration of the short flows",
            each(INCAST[1:], {s: f"{us:.0f} us" for s, us in back.items()}),
            f"at most 2 RTT, {2 * BASE_RTT_US:.0f} us",
            band(max(back.values()), 0, 2 * BASE_RTT_US),
        ),
        Row(
            claim,
            "completion of the last short message",
            "latency is not hurt: below DCQCN's",
            each(INCAST, {s: f"{us:.1f} us" for s, us in last.items()}),
            "each below DCQCN's",
            order([last[s] < last["dcqcn"] for s in INCAST[1:]]),
        ),
        Row(
            claim,
            f"lost by the long flow in {RECOVERY_US / 1e3:g} ms, beyond the incast's own bytes; highest queue",
            "does not hurt the long flow's throughput",
            each(INCAST, {s: f"{lost[s]:.0f} KB, {peak[s]:.0f} KB" for s in INCAST}),
            "each loses less than DCQCN",
            order([lost[s] < lost["dcqcn"] for s in INCAST[1:]]),
        ),
    ]


# Fig. 6: a message around a hot link

DEFLECTED, QUEUED, TWO_LANES = "dart-iofd", "dcqcn", "dart-iofd, two lanes"
SHOWN_SEED = 31
"""That of the spec; the picture's."""

THRESHOLD_KB = 15.0
PLACES = {
    "S1": (0.8, 0.0),
    "S2": (2.5, 0.0),
    "S3": (3.7, 0.0),
    "D1": (5.2, 0.0),
    "D2": (6.3, 0.0),
    "D3": (7.4, 0.0),
    "tor0": (0.8, 1.0),
    "tor1": (3.1, 1.0),
    "tor2": (6.3, 1.0),
    "agg0": (1.9, 2.0),
    "agg1": (5.3, 2.0),
    "core0": (1.9, 3.0),
    "core1": (5.3, 3.0),
}
"""The spec's nodes, in tiers."""

NODES = tuple(PLACES)
SOURCES = {"short:0": "S2", "long:0": "S1", "long:1": "S3"}
"""The traced messages and their senders."""
LINES = "a line per packet, level where it waits"
HOT = "#CC0000"
NOTE: dict[str, Any] = {"fontsize": 10, "va": "center"}


def sweep_6(quick: bool) -> dict[Key, Change]:
    """The same message deflected, queued under DCQCN, and with the default lanes; each seed chooses other paths."""
    two_lanes = tuple(f'traffic.{traffic}.scheme="dart-iofd"' for traffic in ("short", "long"))
    changes = {DEFLECTED: Change(None), QUEUED: Change("dcqcn"), TWO_LANES: Change(None, two_lanes)}
    seeds = (22, SHOWN_SEED, 36) if quick else range(1, 201)
    return {(run, seed): change for seed in seeds for run, change in changes.items()}


def measure_6(result: Result) -> Measured:
    """The path of each packet of the message, and of the long flows' first packets. Times count from the message's
    post."""
    short = result.flows().filter(pl.col("traffic") == "short").row(0, named=True)
    begin_us = short["start_ps"] / 1e6
    hops = result.hops().filter(~pl.col("node").is_in(list(SOURCES.values()))).sort("time_ps")
    own = hops.filter(pl.col("message") == "short:0").sort("seq_bytes", "time_ps", maintain_order=True)
    found: Measured = {
        "completion_us": [short["completion_ps"] / 1e6],
        "links": [short["links"]],
        "shortest": [short["hops"]],
        "deflections": [short["deflections"]],
        "reordered": [short["reordered"]],
        "seq": own["seq_bytes"].to_list(),
        "at_us": (own["time_ps"].to_numpy() / 1e6 - begin_us).tolist(),
        "node": [NODES.index(node) for node in own["node"]],
        "tokens": own["tokens"].to_list(),
        "turns": own["deflections"].to_list(),
    }
    for message, source in SOURCES.items():
        first = hops.filter(pl.col("message") == message, pl.col("seq_bytes") == 0)
        found[f"way {message}"] = [NODES.index(node) for node in (source, *first["node"])]
    for agg in ("agg0", "agg1"):
        series = result.series().filter(pl.col("port") == f"{agg}>tor2").sort("time_ps")
        found[f"us {agg}"] = (series["time_ps"].to_numpy() / 1e6 - begin_us).tolist()
        found[f"kb {agg}"] = (series["queue_bytes"].to_numpy() / 1e3).tolist()
    return found


def way_of(run: Measured, message: str) -> list[tuple[str, str]]:
    """The links that a message's first packet crossed, by their ends."""
    return list(pairwise(NODES[int(node)] for node in run[f"way {message}"]))


def packets(run: Measured) -> list[list[tuple[str, float, float]]]:
    """For each packet its nodes, the arrival of its last bit, and the departure of its first.

    These are a hundredth of a microsecond late under Dart, whose packets have a few bytes more.
    """
    found = []
    for seq in sorted(set(run["seq"])):
        rows = [row for row, own in enumerate(run["seq"]) if own == seq]
        flight = LINK_US + wire_us(int(min(PAYLOAD, MESSAGE - seq)) + HEADER)
        stops = [(NODES[int(run["node"][row])], run["at_us"][row]) for row in rows]
        leaves = [at - flight for _, at in stops]
        source = NODES[int(run["way short:0"][0])]
        # At its source it waits from the post on; at its receiver it stays.
        found.append(
            [
                (node, at, leave)
                for (node, at), leave in zip([(source, 0.0), *stops], [*leaves, stops[-1][1]], strict=True)
            ]
        )
    return found


def hot(run: Measured) -> tuple[str, float, float, float]:
    """The first aggregation switch on the path; the arrival of the first packet there, the queue to the rack then, and
    the lowest queue until the last packet."""
    ways = packets(run)
    agg, first, _ = ways[0][2]
    last = ways[-1][2][1]
    times, queue = np.asarray(run[f"us {agg}"]), np.asarray(run[f"kb {agg}"])
    met = queue[times <= first][-1]
    return agg, first, float(met), float(queue[(times >= first - 1) & (times <= last)].min())


def turned_at(run: Measured) -> list[str]:
    """The node of each packet's first deflection, in order of packets."""
    turned: dict[float, str] = {}
    for seq, node, turns in zip(run["seq"], run["node"], run["turns"], strict=True):
        if turns > 0:
            turned.setdefault(seq, NODES[int(node)])
    return [turned[seq] for seq in sorted(turned)]


def deflected_to(run: Measured) -> str:
    """The next node after the first switch that deflected the message."""
    return dict(way_of(run, "short:0"))[turned_at(run)[0]]


def draw_6(measures: Measures) -> Figure:
    """The network with the message's two paths, and each of its packets in time and space."""
    deflected, queued = measures[DEFLECTED, SHOWN_SEED], measures[QUEUED, SHOWN_SEED]
    figure = Figure(figsize=(9, 12), layout="constrained")
    network, above, below = figure.subplots(3, 1, height_ratios=[4.6, 3.1, 2.5])
    draw_network(network, deflected, queued)
    end = 1.06 * max(queued["completion_us"][0], deflected["completion_us"][0])
    agg, first, met, _ = hot(deflected)
    turn = deflected_to(deflected)
    draw_flight(above, deflected, DEFLECTED, "Deflected (dart-iofd, one lane)", end)
    draw_flight(below, queued, QUEUED, "Queued (dcqcn)", end)
    above.text(
        deflected["completion_us"][0] + 2,
        2,
        f"{agg} has {met:.0f} KB for tor2: the first packet\nturns to {turn}, the others follow",
        **NOTE,
    )
    agg, first, met, _ = hot(queued)
    below.text(first + 11, 1.55, f"wait behind {met:.0f} KB at {agg}", **NOTE)
    above.set_xlabel("")
    return figure


def arrow(axes: Axes, a: str, b: str, side: float, **drawn: Any) -> tuple[float, float]:
    """An arrow from node to node, parallel to the link at this distance; returns its middle."""
    start, end = np.asarray(PLACES[a]), np.asarray(PLACES[b])
    along = (end - start) / np.hypot(*(end - start))
    aside = np.asarray([along[1], -along[0]]) * side
    tail, head = start + along * 0.2 + aside, end - along * 0.2 + aside
    axes.annotate(
        "",
        tuple(head),
        tuple(tail),
        arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14, **drawn},
        zorder=4,
    )
    middle = (tail + head) / 2
    return float(middle[0]), float(middle[1])


def draw_network(axes: Axes, deflected: Measured, queued: Measured) -> None:
    """Nodes in tiers, the hot link, the long flows, and the two paths of the message with its tokens."""
    links = [
        (f"{low}{a}", f"{high}{b}")
        for low, high, n in (("tor", "agg", 3), ("agg", "core", 2))
        for a in range(n)
        for b in (0, 1)
    ]
    links += [("S1", "tor0"), ("S2", "tor1"), ("S3", "tor1"), ("D1", "tor2"), ("D2", "tor2"), ("D3", "tor2")]
    for a, b in links:
        axes.plot(*zip(PLACES[a], PLACES[b], strict=True), color="#cccccc", linewidth=1.2, zorder=1)
    agg, _, met, _ = hot(deflected)
    axes.plot(
        *zip(PLACES[agg], PLACES["tor2"], strict=True),
        color=HOT,
        alpha=0.3,
        linewidth=20,
        zorder=2,
        solid_capstyle="butt",
    )
    message = set(way_of(deflected, "short:0")) | set(way_of(queued, "short:0"))
    for long, aside in (("long:0", -0.13), ("long:1", 0.13)):
        for a, b in way_of(deflected, long):
            arrow(axes, a, b, aside if (a, b) in message else 0, color="#777777", linewidth=1.2)
    for a, b in way_of(queued, "short:0"):
        arrow(axes, a, b, -0.06, color=style(QUEUED)["color"], linewidth=2.4, linestyle="--")
    first = [row for row, seq in enumerate(deflected["seq"]) if seq == 0]
    left = [deflected["tokens"][row] for row in first]
    for (a, b), tokens in zip(
        way_of(deflected, "short:0"), [left[0] + deflected["turns"][first[0]], *left], strict=False
    ):
        x, y = arrow(axes, a, b, 0.06, color=style(DEFLECTED)["color"], linewidth=2.4)
        axes.text(
            x,
            y,
            f"{tokens:g}",
            fontsize=11,
            ha="center",
            va="center",
            zorder=6,
            bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": style(DEFLECTED)["color"]},
        )
    for name, (x, y) in PLACES.items():
        axes.text(
            x,
            y,
            name,
            fontsize=11,
            ha="center",
            va="center",
            zorder=5,
            bbox={
                "boxstyle": "round,pad=0.35" if y else "circle,pad=0.25",
                "facecolor": "#eeeeee",
                "edgecolor": "#444444",
            },
        )
    axes.text(4.6, 0.93, f"hot link:\n{met:.0f} KB wait", color=HOT, fontsize=11, ha="center", va="center")
    axes.set_xlim(0, 8.2)
    axes.set_ylim(-0.35, 3.3)
    axes.set_axis_off()
    handles = [
        Line2D(
            [],
            [],
            color=style(DEFLECTED)["color"],
            linewidth=2.4,
            label="the message, deflected\n(in circles: tokens left)",
        ),
        Line2D([], [], color=style(QUEUED)["color"], linewidth=2.4, linestyle="--", label="the message, queued"),
        Line2D([], [], color="#777777", linewidth=1.2, label="long flows S1 to D1, S3 to D3"),
    ]
    axes.legend(handles=handles, frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(0.7, 1.0))
    axes.set_title("8 KB from S2 to D2 meet a hot link (10 Gb/s and 5 us a link)", fontsize=12)


def draw_flight(axes: Axes, run: Measured, scheme: str, title: str, end_us: float) -> None:
    """One line per packet: sloped on links, level where it waits."""
    ways = packets(run)
    nodes = [node for node, _, _ in ways[0]]
    for number, way in enumerate(ways):
        # Shifted, so that packets that wait together are distinct.
        aside = 0.07 * (number - (len(ways) - 1) / 2)
        line: list[tuple[float, float]] = []
        for place, (_, at, leave) in enumerate(way):
            line += [(at, place + aside), (max(at, leave), place + aside)]
        axes.plot(
            *zip(*line, strict=True), color=style(scheme)["color"], linewidth=1.3, label=None if number else LINES
        )
    axes.set_yticks(range(len(nodes)), nodes)
    axes.invert_yaxis()
    done = run["completion_us"][0]
    axes.axvline(done, color="#444444", linewidth=0.9, linestyle=":")
    label_axes(
        axes,
        f"{title}: done after {done:.1f} us, {run['links'][0]:g} links",
        "time since the message was posted (us)",
        "node",
    )
    axes.legend(frameon=False, fontsize=10, loc="upper right", bbox_to_anchor=(0.94, 1.0))
    axes.set_xlim(0, end_us)


def rows_6(measures: Measures) -> list[Row]:
    """Claim `dart-fig6-deflect`: the message of the picture, all deflected ones, and the default lanes."""
    claim = "dart-fig6-deflect"
    run, queued, lanes = (measures[key, SHOWN_SEED] for key in (DEFLECTED, QUEUED, TWO_LANES))
    agg, first, met, lowest = hot(run)
    turned = turned_at(run)
    one_way = len({tuple(node for node, _, _ in way) for way in packets(run)}) == 1
    count = len(packets(run))
    faster = run["completion_us"][0] < queued["completion_us"][0]

    def row(what: str, paper: str, ours: str, accept: str, verdict: Verdict) -> Row:
        return Row(claim, what, paper, ours, accept, verdict)

    rows = [
        row(
            "links crossed with one misroute",
            "2 more than the shortest way",
            f"{run['links'][0]:g} of {run['shortest'][0]:g}, {run['deflections'][0]:g} misroute",
            "2 more",
            strict(run["links"][0] == run["shortest"][0] + 2 and run["deflections"][0] == 1),
        ),
        row(
            "packets out of order",
            "0",
            f"{run['reordered'][0]:g} of {count}, {'all one way' if one_way else 'on different ways'}",
            "0",
            strict(run["reordered"][0] == 0),
        ),
        row(
            "the decision",
            "well below an RTT",
            f"at {turned[0] if turned else 'no switch'}, as the first packet joins {met:.0f} KB, "
            f"{first:.1f} us after the post",
            "at the first packet's enqueue, all packets",
            strict(turned == [agg] * count and lowest > THRESHOLD_KB),
        ),
        row(
            "completion, deflected and queued",
            "deflected is faster",
            f"{run['completion_us'][0]:.1f} and {queued['completion_us'][0]:.1f} us",
            "in order",
            strict(faster),
        ),
    ]
    pairs = [
        (m, measures[QUEUED, key[1]]) for key, m in measures.items() if key[0] == DEFLECTED and m["deflections"][0] > 0
    ]
    for what, some in (
        ("one misroute", [p for p in pairs if p[0]["deflections"][0] == 1]),
        ("several misroutes", [p for p in pairs if p[0]["deflections"][0] > 1]),
    ):
        if some:
            longer = [
                m["links"][0] == m["shortest"][0] + 2 * m["deflections"][0] and m["reordered"][0] == 0 for m, _ in some
            ]
            sooner = [m["completion_us"][0] < q["completion_us"][0] for m, q in some]
            rows += [
                row(
                    f"all seeds with {what}: 2 links more for each, in order",
                    "each",
                    f"{sum(longer)} of {len(some)}",
                    "all",
                    order(longer),
                ),
                row(
                    f"all seeds with {what}: faster than queued",
                    "each",
                    f"{sum(sooner)} of {len(some)}",
                    "all",
                    order(sooner),
                ),
            ]
    rows.append(
        row(
            "lanes as by default, two: links crossed, completion",
            "2 more than the shortest way, faster than queued",
            f"{lanes['links'][0]:g} of {lanes['shortest'][0]:g}, {lanes['completion_us'][0]:.1f} us: "
            "it passes the long flows in its own lane",
            "2 more and faster",
            strict(
                lanes["links"][0] == lanes["shortest"][0] + 2 and lanes["completion_us"][0] < queued["completion_us"][0]
            ),
        )
    )
    return rows


EXPERIMENTS = (
    Experiment("dart-fig3", "a long flow meets an incast", "dart/fig3-incast.toml", sweep_3, measure_3, draw_3, rows_3),
    Experiment(
        "dart-fig6", "a message around a hot link", "dart/fig6-deflection.toml", sweep_6, measure_6, draw_6, rows_6
    ),
)

"""Dart's Fig. 6: a message around a hot link."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import picture
from fanin_papers.dart_links import HEADER, LINK_US, MESSAGE, PAYLOAD, wire_us
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, order, strict

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
    figure = picture(9, 12)
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
        arrow(axes, a, b, -0.06, color=scheme_line(QUEUED)["color"], linewidth=2.4, linestyle="--")
    first = [row for row, seq in enumerate(deflected["seq"]) if seq == 0]
    left = [deflected["tokens"][row] for row in first]
    for (a, b), tokens in zip(
        way_of(deflected, "short:0"), [left[0] + deflected["turns"][first[0]], *left], strict=False
    ):
        x, y = arrow(axes, a, b, 0.06, color=scheme_line(DEFLECTED)["color"], linewidth=2.4)
        axes.text(
            x,
            y,
            f"{tokens:g}",
            fontsize=11,
            ha="center",
            va="center",
            zorder=6,
            bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": scheme_line(DEFLECTED)["color"]},
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
            color=scheme_line(DEFLECTED)["color"],
            linewidth=2.4,
            label="the message, deflected\n(in circles: tokens left)",
        ),
        Line2D([], [], color=scheme_line(QUEUED)["color"], linewidth=2.4, linestyle="--", label="the message, queued"),
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
            *zip(*line, strict=True), color=scheme_line(scheme)["color"], linewidth=1.3, label=None if number else LINES
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

    rows = [
        *Row.table(f"""
            {claim}
            links crossed with one misroute | 2 more than the shortest way
                | {run["links"][0]:g} of {run["shortest"][0]:g}, {run["deflections"][0]:g} misroute | 2 more
                | {strict(run["links"][0] == run["shortest"][0] + 2 and run["deflections"][0] == 1)}
            packets out of order | 0
                | {run["reordered"][0]:g} of {count}, {"all one way" if one_way else "on different ways"} | 0
                | {strict(run["reordered"][0] == 0)}
        """),
        Row.of(
            claim,
            "the decision | well below an RTT "
            f"| at {turned[0] if turned else 'no switch'}, as the first packet joins {met:.0f} KB, {first:.1f} us "
            "after the post | at the first packet's enqueue, all packets "
            f"| {strict(turned == [agg] * count and lowest > THRESHOLD_KB)}",
        ),
        *Row.table(f"""
            {claim}
            completion, deflected and queued | deflected is faster
                | {run["completion_us"][0]:.1f} and {queued["completion_us"][0]:.1f} us | in order | {strict(faster)}
        """),
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
            beats = [m["completion_us"][0] < q["completion_us"][0] for m, q in some]
            rows += Row.table(f"""
                {claim}
                all seeds with {what}: 2 links more for each, in order | each | {sum(longer)} of {len(some)} | all
                    | {order(longer)}
                all seeds with {what}: faster than queued | each | {sum(beats)} of {len(some)} | all | {order(beats)}
            """)
    more = lanes["links"][0] == lanes["shortest"][0] + 2
    sooner = lanes["completion_us"][0] < queued["completion_us"][0]
    rows.append(
        Row.of(
            claim,
            "lanes as by default, two: links crossed, completion | 2 more than the shortest way, faster than queued "
            f"| {lanes['links'][0]:g} of {lanes['shortest'][0]:g}, {lanes['completion_us'][0]:.1f} us: "
            f"it passes the long flows in its own lane | 2 more and faster | {strict(more and sooner)}",
        )
    )
    return rows


EXPERIMENTS = (
    Experiment(
        "dart-fig6", "a message around a hot link", "dart/fig6-deflection.toml", sweep_6, measure_6, draw_6, rows_6
    ),
)

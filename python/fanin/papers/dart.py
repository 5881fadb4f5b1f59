"""Dart section VI: the calibration of the network on DCQCN's row of Table I, Fig. 11(a), 12(a), 13(a) and Tables I and
II, and the causes of the differences from the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin.papers.dctcp import for_people
from fanin.papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    Verdict,
    band,
    order,
    pooled,
    strict,
)
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin.plot.axes import set_axis
from fanin.plot.base import shades
from fanin.style import style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.result import Result
    from fanin.run_folder import TrafficSummary

SEEDS = (1, 2, 3)
LOADS = (20, 40, 60)
"""Per cent of the capacity of the ToR uplinks (row E11)."""

SHORT_SHARE = 0.4
"""Share of short messages in the bytes of the typical mix (row E12)."""

TABLE_1 = {"dcqcn": (17, 41, 67), "dart": (6, 11, 14)}
"""Dart's Table I, typical mix at LOADS: per cent of short messages' packets with a mark."""

TABLE_2 = {"load increase": (3, 6, 9), "path dilation": (8, 15, 23)}
"""Dart's Table II, typical mix at LOADS, in per cent."""

# Row E15: the long flows.
SNAPSHOT = "as many endless flows as the load has line rates"
POISSON = "10 MB flows that come and go"
EVERY_SERVER = "one endless flow from every server"

# Row E5: the marking of queues.
STEP = "step at 22.5 KB"
RED = "RED 5 to 200 KB, 1 %"
RAMP = "RED 22.5 to 225 KB, 100 %"

LAWS = {
    STEP: '{ kind = "step", above = "22.5 KB", at = "dequeue" }',
    RED: '{ kind = "red", min = "5 KB", max = "200 KB", probability = 0.01, at = "dequeue" }',
    RAMP: '{ kind = "red", min = "22.5 KB", max = "225 KB", probability = 1.0, at = "dequeue" }',
}

JITTERS_US = (0, 20, 40, 60, 100, 200)
"""Row E14: the senders of an incast start within so many microseconds."""

CALIBRATED_US = 40
"""The jitter that comes closest to DCQCN's row of Table I, with the step and the snapshot."""


def load(percent: int, short: float = SHORT_SHARE, of: str = "tor-uplinks") -> tuple[str, ...]:
    """The two traffics at a load."""
    return (
        f'traffic.short.load={{ share = {short * percent / 100:.4f}, of = "{of}" }}',
        f'traffic.long.load={{ share = {(1 - short) * percent / 100:.4f}, of = "{of}" }}',
    )


def population(who: str) -> tuple[str, ...]:
    """The long flows of row E15; overrides `load`."""
    if who == POISSON:
        return ('traffic.long.pattern={ kind = "poisson" }', 'traffic.long.size={ fixed = "10 MB" }')
    if who == EVERY_SERVER:
        # 1,024 line rates of 10 Gb/s over uplinks of 2.56 Tb/s.
        return ('traffic.long.load={ share = 4.0, of = "tor-uplinks" }',)
    return ()


def jitter(microseconds: int) -> tuple[str, ...]:
    """Row E14."""
    return (f"traffic.short.pattern.jitter={microseconds} us",)


def window(quick: bool, short: str | None = None) -> tuple[str, ...]:
    """A shorter measured window."""
    chosen = "2 ms" if quick else short
    return () if chosen is None else (f"measure.window={chosen}", *(("measure.warm_up=1 ms",) if quick else ()))


def seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has one."""
    return SEEDS[:1] if quick else SEEDS


def mean(values: Sequence[float]) -> float:
    """NaN without values."""
    return float(np.mean(values)) if values else float("nan")


def at(measures: Measures, key: Key, name: str) -> float:
    """Mean over the seeds of a point."""
    return mean(pooled(measures, key, name))


def style(scheme: str) -> dict[str, Any]:
    """The colour and line of a scheme, the same in every picture."""
    return scheme_line(scheme)


def traffic(result: Result, name: str) -> TrafficSummary:
    """The summary of one traffic."""
    return next(t for t in result.summary()["traffics"] if t["traffic"] == name)


# DCQCN's row of Table I: rows E5, E14 and E15


def sweep_calibration(quick: bool) -> dict[Key, Change]:
    """DCQCN alone: each law of marking and each population over the jitters and loads."""
    return {
        (law, who, us, percent, 1): Change(
            "dcqcn",
            (
                *load(percent),
                *population(who),
                *jitter(us),
                f"network.marking={LAWS[law]}",
                *window(quick, "10 ms"),
            ),
        )
        for law in ((STEP,) if quick else LAWS)
        for who in ((SNAPSHOT,) if quick else (SNAPSHOT, POISSON, EVERY_SERVER))
        for us in ((0, CALIBRATED_US) if quick else JITTERS_US)
        for percent in LOADS
    }


def measure_calibration(result: Result) -> Measured:
    """Marked packets of short messages in per cent."""
    return {"marked": [100 * (traffic(result, "short")["marked_share"] or 0.0)]}


def errors(measures: Measures) -> dict[Key, float]:
    """Root of the mean squared distance from DCQCN's row, in points of per cent, by setting."""
    settings = {key[:3] for key in measures}
    whole = [s for s in settings if all((*s, percent, 1) in measures for percent in LOADS)]
    away = {
        s: [
            at(measures, (*s, percent), "marked") - paper
            for percent, paper in zip(LOADS, TABLE_1["dcqcn"], strict=True)
        ]
        for s in whole
    }
    return {setting: float(np.sqrt(np.mean(np.square(points)))) for setting, points in away.items()}


def draw_calibration(measures: Measures) -> Figure:
    """Marks over the jitter, a panel for each population and law, the paper's row as lines."""
    figure = Figure(figsize=(13, 9), layout="constrained")
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    for row, who in zip(panels, (SNAPSHOT, POISSON, EVERY_SERVER), strict=True):
        for axes, law in zip(row, LAWS, strict=True):
            for colour, (percent, paper) in enumerate(zip(LOADS, TABLE_1["dcqcn"], strict=True)):
                points = sorted(
                    (key[2], measures[key]["marked"][0])
                    for key in measures
                    if key[:2] == (law, who) and key[3] == percent
                )
                across, up = [us for us, _ in points], [marked for _, marked in points]
                axes.plot(across, up, marker="o", label=f"{percent} % load", **indexed_line(colour))
                axes.axhline(paper, color=indexed_line(colour)["color"], linewidth=1, linestyle=":")
            label_axes(axes, "", "jitter of an incast's senders (us)", "marked packets (%)")
            axes.set_title(f"{law}\n{who}", fontsize=9)
    figure.suptitle("Dart Table I, DCQCN's row: ours over the jitter, the paper's dotted (17, 41, 67 %)", fontsize=11)
    return figure


def rows_calibration(measures: Measures) -> list[Row]:
    """The closest setting, and the results of the headline's setting."""
    found = errors(measures)
    rows = []
    claim = "dart-table1-values (row of DCQCN)"
    nearest = [min(found, key=lambda setting: found[setting])] if found else []
    for what, (law, who, us) in zip(
        ("nearest of the sweep", "used below (row E15's default)"),
        (*nearest, (STEP, SNAPSHOT, CALIBRATED_US)),
        strict=False,
    ):
        away = found.get((law, who, us), float("nan"))
        rows.append(
            Row(
                claim,
                what,
                "17 / 41 / 67 %",
                f"{law}; {who}; {us} us: {away:.1f} points away",
                "chosen by it, not scored",
                "calibrated",
            )
        )
    for law in LAWS:
        found_at = {
            us: [values["marked"][0] for key, values in measures.items() if key[0] == law and key[2] == us]
            for us in JITTERS_US
        }
        ran = {us: values for us, values in found_at.items() if values}
        rows.append(
            Row(
                claim,
                f"marked, {law}, any load and long flows; jitter {' / '.join(map(str, ran))} us",
                "17 / 41 / 67 %",
                " / ".join(f"{min(values):.1f} to {max(values):.1f}" for values in ran.values()) + " %",
                "chosen by it, not scored",
                "calibrated",
            )
        )
    for percent, paper in zip(LOADS, TABLE_1["dcqcn"], strict=True):
        marked = at(measures, (STEP, SNAPSHOT, CALIBRATED_US, percent), "marked")
        rows.append(
            Row(
                claim,
                f"marked at {percent} %, {STEP}, {CALIBRATED_US} us",
                f"{paper} %",
                f"{marked:.1f} %",
                "chosen by it, not scored",
                "calibrated",
            )
        )
    return rows


# Fig. 11(a), 12(a), 13(a), Tables I and II: the typical mix

TCP = (
    'network.buffer={ policy = "lossy", per_port = "225 KB" }',
    *(
        f'traffic.{name}.tcp={{ min_rto = "10 ms", overhead = "300 us", ack_class = "control" }}'
        for name in ("short", "long")
    ),
)
"""Rows E4 and E16: DCTCP has tail drop, and 300 us per message in the hosts."""

WITH_WINDOW = "dart with a window"
"""Row C13's option: a window of the network's bandwidth-delay product."""


ONE_LANE = "dart, one lane"
"""The alternatives of rows D15 and D16: the threshold counts long messages too, and short ones share their queue."""

OPTIONS = {WITH_WINDOW: "bdp_window = true", ONE_LANE: 'lanes = "one"'}


def under(scheme: str) -> tuple[str | None, tuple[str, ...]]:
    """A preset, or Dart with an option."""
    if scheme not in OPTIONS:
        return scheme, ()
    choice = f'{{ id = "dart", {OPTIONS[scheme]} }}'
    return None, tuple(f"traffic.{name}.scheme={choice}" for name in ("short", "long"))


SCHEMES_11 = ("dcqcn", "dctcp", "dart", "dart-lasthop", "dart with a window")
BASELINES = ("dcqcn", "dctcp")


def sweep_11(quick: bool) -> dict[Key, Change]:
    """Each scheme at each load."""
    return {
        (scheme, percent, seed): Change(
            under(scheme)[0],
            (
                *load(percent),
                *jitter(CALIBRATED_US),
                *(TCP if scheme == "dctcp" else ()),
                *under(scheme)[1],
                *window(quick),
            ),
        )
        for scheme in SCHEMES_11
        for percent in LOADS
        for seed in seeds(quick)
    }


def measure_11(result: Result) -> Measured:
    """Completion of 8 KB messages, goodput of long flows, marks, detours, and the links of the marks."""
    short, long = traffic(result, "short"), traffic(result, "long")
    network = result.summary()["network"]
    ports = result.ports()
    marks = int(ports["marked_packets"].sum())
    last_hop = int(ports.filter(pl.col("to").str.contains(r"^h\d+$"))["marked_packets"].sum())
    measured = {
        "p50_us": short["completion_us"]["p50"],
        "p99_us": short["completion_us"]["p99"],
        "messages": short["sized_started"],
        "unfinished": short["sized_unfinished"],
        "goodput_gbps": long["long_goodput_gbps"],
        "marked": 100 * (short["marked_share"] or 0.0),
        "dilation": 100 * (short["path_dilation"] or 0.0),
        "load_increase": 100 * (network["load_increase"] or 0.0),
        "edge_marks": last_hop / max(marks, 1),
        "table_full": short["actions"]["table_full_refusals"],
        "deflected": short["actions"]["messages_deflected"],
    }
    return {name: [float("nan") if value is None else float(value)] for name, value in measured.items()}


def draw_11(measures: Measures) -> Figure:
    """Tail, median, goodput, marks, path dilation and load increase over the load."""
    figure = Figure(figsize=(13, 7.6), layout="constrained")
    panels = figure.subplots(2, 3).flat
    wanted = (
        ("p99_us", "Fig. 11(a): tail of 8 KB messages", "99th percentile (us)", None),
        ("p50_us", "Fig. 12(a): median of 8 KB messages", "median (us)", None),
        ("goodput_gbps", "Fig. 13(a): long flows", "goodput (Gb/s)", None),
        ("marked", "Table I (paper dotted)", "marked packets of short messages (%)", TABLE_1),
        ("dilation", "Table II (paper dotted)", "path dilation (%)", {"dart": TABLE_2["path dilation"]}),
        ("load_increase", "Table II (paper dotted)", "load increase (%)", {"dart": TABLE_2["load increase"]}),
    )
    for axes, (name, title, label, paper) in zip(panels, wanted, strict=True):
        for scheme in SCHEMES_11:
            if paper is not None and name != "marked" and not scheme.startswith("dart"):
                continue
            values = [at(measures, (scheme, percent), name) for percent in LOADS]
            axes.plot(LOADS, values, marker="o", label=scheme, **style(scheme))
        for scheme, points in (paper or {}).items():
            axes.plot(LOADS, points, **(style(scheme) | {"linestyle": ":", "linewidth": 1.0}))
        if name.endswith("_us"):
            axes.set_yscale("log")
            for_people(axes)
        axes.set_ylim(bottom=None if name.endswith("_us") else 0)
        label_axes(axes, title, "load (% of ToR uplinks)", label)
    figure.suptitle(
        f"Dart, typical mix on 1,024 hosts, 10 Gb/s; the senders of an incast start within {CALIBRATED_US} us",
        fontsize=11,
    )
    return figure


def rows_11(measures: Measures) -> list[Row]:
    """Claims of Fig. 11(a), 12(a), 13(a), Tables I and II as far as the schemes are there (TIMELY is not)."""
    return [row for scheme in SCHEMES_11[2:] for row in rows_of(measures, scheme)] + [edge(measures)]


def rows_of(measures: Measures, dart: str) -> list[Row]:
    """The claims for Dart or for its variant that deflects at the last hop too."""

    def tail(scheme: str, percent: int) -> float:
        return at(measures, (scheme, percent), "p99_us")

    def claim(name: str) -> str:
        return name if dart == "dart" else f"{name} ({dart})"

    def row(name: str, what: str, paper: str, ours: str, accept: str, verdict: Verdict) -> Row:
        return Row(claim(name), what, paper, ours, accept, verdict)

    used = sorted({int(key[-1]) for key in measures})
    lowest = [
        measures[dart, percent, seed]["p99_us"][0] < measures[base, percent, seed]["p99_us"][0]
        for base in BASELINES
        for percent in (20, 40)
        for seed in used
        if (dart, percent, seed) in measures and (base, percent, seed) in measures
    ]
    cuts = [1 - tail(dart, percent) / tail(base, percent) for base in BASELINES for percent in (20, 40)]
    ratios = [tail("dcqcn", percent) / tail(dart, percent) for percent in (20, 40)]
    medians = {
        base: mean([1 - at(measures, (dart, p), "p50_us") / at(measures, (base, p), "p50_us") for p in LOADS])
        for base in BASELINES
    }
    gains = [at(measures, (dart, p), "goodput_gbps") / at(measures, ("dcqcn", p), "goodput_gbps") - 1 for p in LOADS]
    saturated = {scheme: saturates(measures, scheme) for scheme in (*BASELINES, dart)}
    tails = ", ".join(f"{s} {' / '.join(f'{tail(s, percent):.0f}' for percent in LOADS)}" for s in (*BASELINES, dart))
    rows = [
        row(
            "dart-fig11a-lowest",
            "p99 of 8 KB at 20 / 40 / 60 %, us",
            "Dart lowest at 20 and 40 %",
            tails,
            "in every seed",
            strict(bool(lowest) and all(lowest)),
        ),
        row(
            "dart-fig11a-all82",
            "mean cut of p99 against DCQCN and DCTCP, 20 and 40 %",
            "82 %",
            f"{100 * mean(cuts):.0f} % ({100 * min(cuts):.0f} to {100 * max(cuts):.0f})",
            "65 to 92 %, each 55 to 95 %",
            strict(0.65 <= mean(cuts) <= 0.92 and all(0.55 <= cut <= 0.95 for cut in cuts)),
        ),
        row(
            "dart-fig11a-rdma79",
            "p99 of DCQCN / Dart, mean of 20 and 40 %",
            "4.8",
            f"{mean(ratios):.2f}",
            "3 to 7, each at least 2",
            band(mean(ratios), 3, 7) if min(ratios) >= 2 else "differs",
        ),
        row(
            "dart-fig11a-saturation",
            "saturated at 60 %: p99 above 5 times that at 20 %, or goodput below 95 % of what is offered",
            "DCQCN and DCTCP, not Dart",
            ", ".join(f"{scheme}: {'yes' if yes else 'no'}" for scheme, yes in saturated.items()),
            "all as in the paper",
            strict(saturated["dcqcn"] and saturated["dctcp"] and not saturated[dart]),
        ),
        row(
            "dart-fig12a-median",
            "mean cut of the median against DCQCN",
            "30 %",
            f"{100 * medians['dcqcn']:.0f} %",
            "10 to 55 %",
            band(medians["dcqcn"], 0.10, 0.55),
        ),
        row(
            "dart-fig12a-median",
            "mean cut of the median against DCTCP",
            "66 %",
            f"{100 * medians['dctcp']:.0f} %",
            "50 to 95 %",
            band(medians["dctcp"], 0.50, 0.95),
        ),
        row(
            "dart-fig13a-throughput",
            "goodput of long flows over DCQCN's, mean of the loads",
            "+48 %",
            f"{100 * mean(gains):+.0f} % ({', '.join(f'{100 * gain:+.0f}' for gain in gains)})",
            "+15 to +90 %",
            band(mean(gains), 0.15, 0.9),
        ),
        row(
            "dart-fig13a-throughput",
            "order of goodput at each load",
            "Dart > DCQCN > DCTCP",
            "; ".join(
                " / ".join(f"{at(measures, (s, p), 'goodput_gbps'):.0f}" for s in (dart, *BASELINES)) for p in LOADS
            )
            + " Gb/s",
            "at each load",
            order(
                [
                    at(measures, (dart, p), "goodput_gbps")
                    > at(measures, ("dcqcn", p), "goodput_gbps")
                    > at(measures, ("dctcp", p), "goodput_gbps")
                    for p in LOADS
                ]
            ),
        ),
    ]
    for percent, paper in zip(LOADS, TABLE_1["dart"], strict=True):
        marked = at(measures, (dart, percent), "marked")
        near = marked <= paper + 5 if paper < 10 else marked <= 2 * paper
        far = marked < paper - 5 if paper < 10 else marked < paper / 2
        verdict = strict(near and not far)
        rows.append(
            row(
                "dart-table1-values",
                f"marked at {percent} %",
                f"{paper} %",
                f"{marked:.1f} %",
                "within a factor 2",
                verdict,
            )
        )
    for name, key in (("load increase", "load_increase"), ("path dilation", "dilation")):
        for percent, paper in zip(LOADS, TABLE_2[name], strict=True):
            value = at(measures, (dart, percent), key)
            rows.append(
                row(
                    "dart-table2-values",
                    f"{name} at {percent} %",
                    f"{paper} %",
                    f"{value:.2f} %",
                    "within a factor 2",
                    strict(paper / 2 <= value <= paper * 2),
                )
            )
    parts = [at(measures, (dart, p), "load_increase") / at(measures, (dart, p), "dilation") for p in LOADS]
    rows.append(
        row(
            "dart-table2-identity",
            "load increase / path dilation at 20 / 40 / 60 %",
            "0.375 / 0.40 / 0.39: the short share of the bytes",
            " / ".join(f"{part:.2f}" for part in parts),
            f"{SHORT_SHARE} within 3 %",
            strict(all(abs(part / SHORT_SHARE - 1) <= 0.03 for part in parts)),
        )
    )
    return rows


def saturates(measures: Measures, scheme: str) -> bool:
    """The claim's test at 60 %: the tail against that at 20 %, or the long flows' goodput against the offered load."""
    offered = (1 - SHORT_SHARE) * 0.6 * 2560
    slow = at(measures, (scheme, 60), "p99_us") > 5 * at(measures, (scheme, 20), "p99_us")
    return bool(slow or at(measures, (scheme, 60), "goodput_gbps") < 0.95 * offered)


def edge(measures: Measures) -> Row:
    """Claim `dart-ecn-edge72`."""
    shares = [at(measures, ("dctcp", percent), "edge_marks") for percent in (20, 40)]
    return Row(
        "dart-ecn-edge72",
        "marks of DCTCP on ToR-to-host links, 20 and 40 %",
        "72 %",
        " / ".join(f"{100 * share:.0f} %" for share in shares),
        "55 to 90 %",
        band(min(shares), 0.55, 0.90) if max(shares) <= 0.90 else band(max(shares), 0.55, 0.90),
    )


# Causes of the differences: one change at a time, at 40 %

VARIANTS: dict[str, tuple[str, ...]] = {
    "as Fig. 11(a) is run": jitter(CALIBRATED_US),
    "E14: all senders at once": jitter(0),
    "E14: within 200 us": jitter(200),
    f"E5: {RAMP}": (*jitter(CALIBRATED_US), f"network.marking={LAWS[RAMP]}"),
    f"E15: {EVERY_SERVER}": (*jitter(CALIBRATED_US), *population(EVERY_SERVER)),
    f"E15: {POISSON}": (*jitter(CALIBRATED_US), *population(POISSON)),
    "E11: load of host links": (*load(40, of="host-links"), *jitter(CALIBRATED_US)),
    "E3: 60 KB per port": (*jitter(CALIBRATED_US), 'network.buffer={ policy = "lossless", per_port = "60 KB" }'),
    "E2: 225 KB per switch, lossy, go-back-N": (
        *jitter(CALIBRATED_US),
        'network.buffer={ policy = "lossy", pool = "225 KB" }',
    ),
    "E3: lossy, 60 KB per port, go-back-N": (
        *jitter(CALIBRATED_US),
        'network.buffer={ policy = "lossy", per_port = "60 KB" }',
    ),
}

SCHEMES_CAUSES = ("dcqcn", "dart-dasr-lookahead", "dart-iofd", "dart", "dart-lasthop", WITH_WINDOW, ONE_LANE)


def sweep_causes(quick: bool) -> dict[Key, Change]:
    """Each variant under each scheme."""
    chosen = dict(list(VARIANTS.items())[:2]) if quick else VARIANTS
    return {
        (variant, scheme, seed): Change(
            under(scheme)[0],
            (*load(40), *changes, *under(scheme)[1], "measure.drain_limit=20 ms", *window(quick, "10 ms")),
        )
        for variant, changes in chosen.items()
        for scheme in SCHEMES_CAUSES
        for seed in (1,)
    }


def measure_causes(result: Result) -> Measured:
    """Completion of 8 KB messages and goodput of endless flows."""
    short, long = traffic(result, "short"), traffic(result, "long")
    return {
        "p50_us": [float(short["completion_us"]["p50"] or "nan")],
        "p99_us": [float(short["completion_us"]["p99"] or "nan")],
        "goodput_gbps": [float(long["long_goodput_gbps"])],
    }


def dotted(scheme: str) -> dict[str, Any]:
    """The dots of a scheme; Dart's family has shades of its colour, the whole Dart the full colour."""
    family = [name for name in SCHEMES_CAUSES if name.startswith("dart")]
    shown = style_of(scheme)
    colour = shown.colour
    if scheme in family:
        ordered = sorted(family, key=lambda name: name != "dart")
        colour = shades(style_of("dart").colour, len(family))[ordered.index(scheme)]
    return {"color": colour, "marker": shown.marker_for_matplotlib(), "markersize": 7, "linestyle": "none"}


def draw_causes(measures: Measures) -> Figure:
    """Tails by variant, each scheme beside the others."""
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    axes: Axes = figure.subplots()
    variants = list(dict.fromkeys(str(key[0]) for key in measures))
    height = 0.8 / len(SCHEMES_CAUSES)
    for number, scheme in enumerate(SCHEMES_CAUSES):
        places = [place + number * height for place in range(len(variants))]
        values = [at(measures, (variant, scheme), "p99_us") for variant in variants]
        axes.plot(values, places, label=scheme, **dotted(scheme))
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(variants))], variants)
    axes.invert_yaxis()
    set_axis(axes, "x", [value for line in axes.get_lines() for value in np.asarray(line.get_xdata(), float)])
    for edge in range(1, len(variants)):
        axes.axhline(edge - height / 2 - 0.1, color="#dddddd", linewidth=0.7)
    title = "Tail of 8 KB messages at 40 %, one thing changed at a time"
    scale = ", log scale" if axes.get_xscale() == "log" else ""
    label_axes(axes, title, f"99th percentile FCT (us{scale})", "")
    axes.grid(visible=False, axis="y")
    axes.legend(frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def rows_causes(measures: Measures) -> list[Row]:
    """The headline's ratio by variant."""
    rows = []
    for variant in dict.fromkeys(str(key[0]) for key in measures):
        tail = {scheme: at(measures, (variant, scheme), "p99_us") for scheme in SCHEMES_CAUSES}
        spread = tail["dcqcn"] / at(measures, (variant, "dcqcn"), "p50_us")
        ratio = tail["dcqcn"] / tail["dart"]
        rows += [
            Row(
                f"dart-fig11a-rdma79 ({variant})",
                "p99 of DCQCN / Dart at 40 %",
                "4.8",
                f"{ratio:.2f} (" + ", ".join(f"{scheme} {tail[scheme]:.0f}" for scheme in SCHEMES_CAUSES) + " us)",
                "3 to 7",
                band(ratio, 3, 7),
            ),
            Row(
                f"dart-tail-over-median ({variant})",
                "p99 / median of DCQCN at 40 %",
                "5 to 10",
                f"{spread:.1f}",
                "2.5 to 20",
                band(spread, 2.5, 20),
            ),
        ]
    return rows


EXPERIMENTS = (
    Experiment(
        "dart-table1-calibration",
        "which network gives DCQCN's row of Table I",
        "dart/fig11-typical.toml",
        sweep_calibration,
        measure_calibration,
        draw_calibration,
        rows_calibration,
    ),
    Experiment("dart-fig11a", "the typical mix", "dart/fig11-typical.toml", sweep_11, measure_11, draw_11, rows_11),
    Experiment(
        "dart-fig11a-causes",
        "what the headline depends on",
        "dart/fig11-typical.toml",
        sweep_causes,
        measure_causes,
        draw_causes,
        rows_causes,
    ),
)
"""The calibration comes first."""

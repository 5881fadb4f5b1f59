"""Dart section VI: causes of the differences from the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes, set_axis, shades
from fanin.style import style_of
from fanin_papers.common import picture
from fanin_papers.dart_mix import (
    CALIBRATED_US,
    EVERY_SERVER,
    LAWS,
    POISSON,
    RAMP,
    at,
    jitter,
    load,
    population,
    traffic,
    window,
)
from fanin_papers.dart_typical import ONE_LANE, WITH_WINDOW, under
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band

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
    figure = picture(12, 7.5)
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
        rows += Row.table(f"""
            dart-fig11a-rdma79 ({variant})
            p99 of DCQCN / Dart at 40 % | 4.8
                | {ratio:.2f} ({", ".join(f"{scheme} {tail[scheme]:.0f}" for scheme in SCHEMES_CAUSES)} us)
                | 3 to 7 | {band(ratio, 3, 7)}
            dart-tail-over-median ({variant})
            p99 / median of DCQCN at 40 % | 5 to 10 | {spread:.1f} | 2.5 to 20 | {band(spread, 2.5, 20)}
        """)
    return rows


EXPERIMENTS = (
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

"""Dart section VI: the calibration of the network on DCQCN's row of Table I."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import picture
from fanin_papers.dart_mix import (
    CALIBRATED_US,
    EVERY_SERVER,
    JITTERS_US,
    LAWS,
    LOADS,
    POISSON,
    SNAPSHOT,
    STEP,
    TABLE_1,
    at,
    jitter,
    load,
    population,
    traffic,
    window,
)
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row

# DCQCN's row of Table I: rows E5, E14 and E15


def sweep_calibration(quick: bool) -> dict[Key, Change]:
    """DCQCN alone: each law of marking and each population over the jitters and loads."""
    return {
        (law, who, us, percent, 1): Change(
            "dcqcn",
            (*load(percent), *population(who), *jitter(us), f"network.marking={LAWS[law]}", *window(quick, "10 ms")),
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
    figure = picture(13, 9, "Dart Table I, DCQCN's row: ours over the jitter, the paper's dotted (17, 41, 67 %)")
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
    return figure


def rows_calibration(measures: Measures) -> list[Row]:
    """The closest setting, and the results of the headline's setting."""
    found = errors(measures)
    rows = []
    row = partial(Row, "dart-table1-values (row of DCQCN)")
    nearest = [min(found, key=lambda setting: found[setting])] if found else []
    for what, (law, who, us) in zip(
        ("nearest of the sweep", "used below (row E15's default)"),
        (*nearest, (STEP, SNAPSHOT, CALIBRATED_US)),
        strict=False,
    ):
        away = found.get((law, who, us), float("nan"))
        rows.append(
            row(
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
        rows += Row.table(f"""
            dart-table1-values (row of DCQCN)
            marked, {law}, any load and long flows; jitter {" / ".join(map(str, ran))} us | 17 / 41 / 67 %
                | {" / ".join(f"{min(values):.1f} to {max(values):.1f}" for values in ran.values())} %
                | chosen by it, not scored | calibrated
        """)
    for percent, paper in zip(LOADS, TABLE_1["dcqcn"], strict=True):
        marked = at(measures, (STEP, SNAPSHOT, CALIBRATED_US, percent), "marked")
        rows += Row.table(f"""
            dart-table1-values (row of DCQCN)
            marked at {percent} %, {STEP}, {CALIBRATED_US} us | {paper} % | {marked:.1f} % | chosen by it, not scored
                | calibrated
        """)
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
)

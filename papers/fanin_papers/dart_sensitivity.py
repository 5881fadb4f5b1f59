"""Dart sections VI-A and VI-C: threshold, sizes, degree of incasts, tokens, and the deflected flow table.

The typical mix as in `dart-fig11`, with what that assumes; the load stays when the degree changes. A field of three
bits has the tokens, so that 7 stand for the 8 that the claim names. Judged as `dart-fig11` is, with three seeds; beside
that, one seed of the other two readings of the long flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from matplotlib.figure import Figure

from fanin.plot import indexed_line, label_axes
from fanin_papers.common import seeds
from fanin_papers.dart_fig11_rows import Rows, in_band, per_cent, spell
from fanin_papers.dart_mix import CALIBRATED_US, LOADS, jitter, load
from fanin_papers.dart_mixes import (
    CARRIED,
    DART,
    DCQCN,
    SHORT,
    STEADY,
    TEXT,
    TIMELY,
    TYPICAL,
    View,
    measure,
    reading,
    small,
)
from fanin_papers.dart_readings import IOFD, dart_with, table, with_scheme
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, order, strict

THRESHOLDS = (5, 15, 20)
"""In KB; the preset has 15."""

DEGREES = (6, 16, 26)
"""Senders of an incast; the spec has 16."""

TOKENS = (0, 1, 2, 4, 7)
"""The preset has 4."""

TABLE = "dart, 64 entries"
"""The preset has 8."""

FAST_TIMELY, FAST_DCQCN = f"{TIMELY}, step of 10 Mb/s", f"{DCQCN}, step of 40 Mb/s"
"""TIMELY's own step, where Dart's text has 1 Mb/s; DCQCN has 10."""

MIDDLE, FULL = 40, 60
"""Loads in per cent: of the table, and of the tokens."""


def at_threshold(kilobytes: int) -> str:
    """Deflection alone with this threshold."""
    return IOFD if kilobytes == 15 else f"{IOFD}, {kilobytes} KB"


def at_degree(scheme: str, degree: int) -> str:
    """A scheme in incasts of this degree."""
    return scheme if degree == 16 else f"{scheme}, degree {degree}"


def with_tokens(count: int) -> str:
    """Dart with so many tokens."""
    return DART if count == 4 else f"{DART}, {count} tokens"


def cases() -> dict[str, Change]:
    """What each case changes beside load and reading."""
    found = {scheme: Change(scheme) for scheme in (DCQCN, DART)}
    for kilobytes in THRESHOLDS:
        found[at_threshold(kilobytes)] = Change(None, with_scheme(dart_with(IOFD, threshold=f'"{kilobytes} KB"')))
    for scheme in (DCQCN, DART):
        for degree in DEGREES:
            found[at_degree(scheme, degree)] = Change(scheme, (f"traffic.short.pattern.degree={degree}",))
    for count in TOKENS:
        found[with_tokens(count)] = Change(None, with_scheme(dart_with(tokens=str(count))))
    found[TABLE] = Change(None, with_scheme(dart_with(table_entries="64")))
    return found


def token_load(name: str) -> int:
    """The load at which tokens are varied, in per cent."""
    return FULL if name == STEADY else MIDDLE


def faster() -> dict[str, Change]:
    """What else decides the throughput of long flows: by how much a rate grows where nothing is congested."""
    step = table(id='"timely-dart"', additive_increase='"10 Mbps"')
    increase = table(id='"dcqcn"', additive_increase='"40 Mbps"')
    return {
        TIMELY: Change(TIMELY),
        FAST_TIMELY: Change(None, with_scheme(step)),
        FAST_DCQCN: Change(None, with_scheme(increase)),
    }


def loads_of_case(case: str, name: str) -> Sequence[int]:
    """The loads at which a case is judged; the other readings have one."""
    if name != STEADY:
        return () if case == TABLE else (MIDDLE,)
    if case.endswith("tokens"):
        return (FULL,)
    return (MIDDLE,) if case == TABLE else LOADS


def sweep(quick: bool) -> dict[Key, Change]:
    """Keys are those of `dart-fig11`, with a case for the scheme."""
    runs: dict[Key, Change] = {}
    for name, its_seeds in ((STEADY, seeds(quick)), (TEXT, (1,)), (CARRIED, (1,))):
        if quick and name != STEADY:
            continue
        for case, changed in cases().items():
            for percent in loads_of_case(case, name):
                mixed = (*load(percent, SHORT[TYPICAL]), *jitter(CALIBRATED_US), *reading(name))
                for seed in its_seeds:
                    key = (name, case, TYPICAL, percent, seed)
                    runs[key] = Change(changed.scheme, (*mixed, *changed.set, *small(quick)))
    for case, changed in faster().items():
        mixed = (*load(MIDDLE, SHORT[TYPICAL]), *jitter(CALIBRATED_US), *reading(STEADY))
        runs[STEADY, case, TYPICAL, MIDDLE, 1] = Change(changed.scheme, (*mixed, *changed.set, *small(quick)))
    return runs


def p99(view: View, case: str, percent: int) -> float:
    """The tail of 8 KB messages in microseconds."""
    return view.at(case, TYPICAL, percent, "p99_us")


def deflections(view: View, case: str, percent: int) -> float:
    """Deflected starts of messages per message, over the run."""
    return view.at(case, TYPICAL, percent, "deflected") / view.at(case, TYPICAL, percent, "messages")


def threshold_rows(rows: Rows) -> None:
    """Claim `dart-sens-threshold`."""
    view, claim = rows.view, "dart-sens-threshold"
    names = [at_threshold(one) for one in THRESHOLDS]
    for percent in view.loads(TYPICAL):
        tails = [view.each(name, TYPICAL, percent, "p99_us") for name in names]
        far = p99(view, names[2], percent) / p99(view, DCQCN, percent)
        near = p99(view, names[1], percent) / p99(view, names[0], percent)
        rows.add(f"""
            {claim}
            deflection alone at {percent} %: p99 with 5 / 15 / 20 KB, us | worse with 20 KB
                | {spell(p99(view, name, percent) for name in names)} | 5 and 15 KB below 20 KB in each seed
                | {order([one < last for each in tails[:2] for one, last in zip(each, tails[2], strict=True)])}
        """)
        rows.add(f"""
            {claim}
            deflection alone at {percent} %: p99 with 15 KB / with 5 KB | both work well | {near:.2f} | 0.7 to 1.4
                | {in_band([near], 0.7, 1.4)}
        """)
        rows.add(f"""
            {claim}
            deflection alone at {percent} %: p99 with 20 KB / DCQCN's | as without deflection | {far:.2f} | at least 0.9
                | {strict(far >= 0.9)}
        """)
        share = deflections(view, names[2], percent) / deflections(view, names[1], percent)
        each = spell((deflections(view, name, percent) for name in names), 3)
        rows.add(f"""
            {claim}
            deflection alone at {percent} %: deflections with 20 KB / with 15 KB | nearly none
                | {share:.2f} (per message {each} with 5 / 15 / 20 KB) | below 0.5 | {strict(share < 0.5)}
        """)


def cuts_by_size(view: View, percent: int) -> list[float]:
    """Dart's cut of DCQCN's tail for 2, 4 and 8 KB."""
    names = ("p99_2kb_us", "p99_4kb_us", "p99_us")
    return [1 - view.at(DART, TYPICAL, percent, name) / view.at(DCQCN, TYPICAL, percent, name) for name in names]


def size_rows(rows: Rows) -> None:
    """Claim `dart-sens-size`."""
    for percent in rows.view.loads(TYPICAL):
        cuts = cuts_by_size(rows.view, percent)
        table = f"""
            dart-sens-size
            cut of DCQCN's p99 at {percent} % for 2 / 4 / 8 KB | alike | {per_cent(cuts)} | within 15 points
                | {strict(max(cuts) - min(cuts) <= 0.15)}
            the same at {percent} %: a gain for each size | a gain | {per_cent(cuts)} | above 0
                | {strict(min(cuts) > 0)}
        """
        rows.add(table, judged=percent < FULL)


def gains(view: View, percent: int) -> list[float]:
    """DCQCN's tail over Dart's by degree."""
    return [
        p99(view, at_degree(DCQCN, degree), percent) / p99(view, at_degree(DART, degree), percent) for degree in DEGREES
    ]


def degree_rows(rows: Rows) -> None:
    """Claim `dart-sens-degree`."""
    view, claim = rows.view, "dart-sens-degree"
    for percent in view.loads(TYPICAL):
        if percent == FULL:
            continue
        ratios = gains(view, percent)
        rows.add(f"""
            {claim}
            p99 of DCQCN / Dart's at {percent} % with degree 6 / 16 / 26 | grows with the degree | {spell(ratios, 2)}
                | at each step, up to 5 % | {order([low <= 1.05 * high for low, high in pairwise(ratios)])}
        """)
        rows.add(f"""
            {claim}
            p99 of DCQCN / Dart's at {percent} % with degree 26 | a gain | {ratios[-1]:.2f}
                | above 1: there is a gain that can grow | {strict(ratios[-1] > 1)}
        """)
    if FULL not in view.loads(TYPICAL):
        return
    last = gains(view, FULL)
    rows.add(f"""
        {claim}
        p99 of DCQCN / Dart's at {FULL} % with degree 6 / 16 / 26, of which the last counts | no gain: saturated
            | {spell(last, 2)} | below 1.3 | {strict(last[-1] < 1.3)}
    """)


def token_rows(rows: Rows) -> None:
    """Claim `dart-sens-tokens`."""
    view, claim = rows.view, "dart-sens-tokens"
    percent = token_load(view.reading)
    tails = {count: p99(view, with_tokens(count), percent) for count in TOKENS}
    told = ", ".join(f"{count}: {tail:.0f}" for count, tail in tails.items())
    rows.add(f"""
        {claim}
        p99 at {percent} % by tokens, us | falls up to 4 | {told} | from 0 to 1, 2 and 4 at each step
            | {order([tails[high] < tails[low] for low, high in pairwise((0, 1, 2, 4))])}
    """)
    rows.add(f"""
        {claim}
        p99 at {percent} % with 7 tokens, the most that the field holds, / with 4 | no more gain
            | {tails[7] / tails[4]:.3f} | at least 0.95 | {strict(tails[7] >= 0.95 * tails[4])}
    """)


def table_rows(rows: Rows) -> None:
    """Claim `dart-iofd-dft-occupancy`."""
    view, claim = rows.view, "dart-iofd-dft-occupancy"
    for percent in view.loads(TYPICAL):
        judged = percent == MIDDLE
        deflected, refused = (view.at(DART, TYPICAL, percent, name) for name in ("deflected", "refused"))
        if percent in view.loads(TYPICAL, TABLE):
            entries, most = (view.at(TABLE, TYPICAL, percent, name) for name in ("entries", "peak"))
            # Markov: the share of the time with 9 entries or more is at most the mean over 9.
            table = f"""
                {claim}
                64 entries at {percent} %: share of the time with more than 8 in use at a switch, at most (mean / 9)
                    | 4 to 8 overlap | {100 * entries / 9:.2f} % (mean {entries:.3f}, most ever {most:.0f})
                    | 1 %: a 99th percentile of at most 8 | {strict(entries / 9 <= 0.01)}
            """
            rows.add(table, judged)
        table = f"""
            {claim}
            8 entries at {percent} %: refused for a full table, of all attempts | 8 entries are enough
                | {100 * refused / (refused + deflected):.2f} % | below 5 %
                | {strict(refused < 0.05 * (refused + deflected))}
        """
        rows.add(table, judged)


def faster_rows(rows: Rows) -> None:
    """Beside the throughput of Fig. 13: what DCQCN's and TIMELY's steps have to do with it."""
    view = rows.view
    if not view.loads(TYPICAL, TIMELY):
        return
    shown = {case: view.each(case, TYPICAL, MIDDLE, "long_gbps")[0] for case in (DART, DCQCN, *faster())}
    rows.add(f"""
        dart-fig13a-throughput
        goodput of long flows at {MIDDLE} % with larger steps, one seed, Gb/s | Dart +48 and +68 %
            | {", ".join(f"{case}: {value:.0f}" for case, value in shown.items())} | none: switches a cause
            | (calibrated)
    """)


def rows(measures: Measures) -> list[Row]:
    """As judged, then beside it the other readings."""
    found = []
    for name in (STEADY, TEXT, CARRIED):
        made = Rows(View(measures, name))
        if made.view.loads(TYPICAL):
            for part in (table_rows, threshold_rows, size_rows, degree_rows, token_rows, faster_rows):
                part(made)
        found += made.found
    return found


def panels(view: View) -> list[tuple[str, str, Sequence[float], dict[int, list[float]]]]:
    """Each panel's title, the label and the values of its x axis, and by load the tails over DCQCN's."""
    loads, some = view.loads(TYPICAL), token_load(view.reading)

    def over(percent: int, cases: Iterable[str]) -> list[float]:
        return [p99(view, case, percent) / p99(view, DCQCN, percent) for case in cases]

    sizes = {percent: [1 - cut for cut in cuts_by_size(view, percent)] for percent in loads}
    degrees = {percent: [1 / gain for gain in gains(view, percent)] for percent in loads}
    return [
        ("Deflection alone", "threshold (KB)", THRESHOLDS, {p: over(p, map(at_threshold, THRESHOLDS)) for p in loads}),
        ("Dart by size", "size of the messages (KB)", (2, 4, 8), sizes),
        ("Dart by degree", "senders of an incast", DEGREES, degrees),
        ("Dart by tokens", "tokens of a message", TOKENS, {some: over(some, map(with_tokens, TOKENS))}),
    ]


def draw(measures: Measures) -> Figure:
    """A row of panels for each reading."""
    told = {
        STEADY: "Endless long flows after 5 ms (three seeds)",
        TEXT: "A long flow from every server, first 10 ms (one seed)",
        CARRIED: "Long flows of 100 KB that carry their load (one seed)",
    }
    views = [view for name in told if (view := View(measures, name)).loads(TYPICAL)]
    figure = Figure(figsize=(14, 3.6 * len(views) + 0.9), layout="constrained")
    parts = figure.subfigures(len(views), 1, squeeze=False)[:, 0]
    for part, view in zip(parts, views, strict=True):
        part.suptitle(told[view.reading], fontsize=11)
        for axes, (title, label, across, tails) in zip(part.subplots(1, 4), panels(view), strict=True):
            for percent, values in tails.items():
                line = indexed_line(LOADS.index(percent))
                axes.plot(across, values, marker="o", label=f"{percent} % load", **line)
            axes.axhline(1, color="black", linewidth=0.8)
            axes.set_ylim(0, 1.25)
            label_axes(axes, title, label, "p99 / DCQCN's", legend=False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside lower center")
    figure.suptitle("Dart VI-C: p99 of 8 KB messages over DCQCN's, typical mix, 1,024 hosts, 10 Gb/s", fontsize=12)
    return figure


EXPERIMENTS = (
    Experiment(
        "dart-sensitivity",
        "threshold, sizes, degree, tokens and the deflected flow table",
        "dart/fig11-typical.toml",
        sweep,
        measure,
        draw,
        rows,
    ),
)

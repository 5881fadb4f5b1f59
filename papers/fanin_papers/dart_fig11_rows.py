"""Dart section VI-B: our numbers beside those of Fig. 11, 12 and 13 and of Tables I and II, for all mixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from fanin_papers.common import mean
from fanin_papers.dart_mixes import (
    ALL_LOADS,
    CARRIED,
    DART,
    DCQCN,
    DCTCP,
    DILATION,
    HEAVY,
    INCREASE,
    LIGHT,
    MARKED,
    PAPER_LOADS,
    PARTS,
    SCHEMES,
    SHORT,
    STEADY,
    TEXT,
    TIMELY,
    TYPICAL,
    WITHOUT,
    View,
    offered_gbps,
)
from fanin_papers.experiment import Measures, Row, Verdict, band, gain_band, order, strict

RDMA = (DCQCN, TIMELY)
"""The baselines over RDMA."""

BASELINES = (DCQCN, TIMELY, DCTCP)

NAMES = {DCQCN: "DCQCN", TIMELY: "TIMELY", DCTCP: "DCTCP", DART: "Dart", WITHOUT: "DCTCP without 300 us"}


class Rows:
    """The rows of one reading: those of STEADY are judged, those of others are beside."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.found: list[Row] = []

    def add(self, text: str, judged: bool = True) -> None:
        """Rows as in `Row.table`."""
        for row in Row.table(text, judged):
            steady = self.view.reading == STEADY
            self.found.append(row if steady else replace(row, what=f"{self.view.reading}: {row.what}", judged=False))


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Of the parts of a row."""
    ranks: tuple[Verdict, ...] = ("holds", "close", "calibrated", "differs")
    return max(verdicts, key=ranks.index, default="differs")


def in_band(values: Iterable[float], low: float, high: float) -> Verdict:
    """All of them."""
    return worst(band(value, low, high) for value in values)


def spell(values: Iterable[float], digits: int = 0) -> str:
    """Joined by slashes, as the paper's tables are."""
    return " / ".join(f"{value:z.{digits}f}" for value in values)


def per_cent(values: Iterable[float]) -> str:
    """Shares as per cent."""
    return spell([100 * value for value in values]) + " %"


def loads_of(loads: Sequence[int]) -> str:
    """For example `20 / 40 %`."""
    return spell(loads) + " %"


def ratio(view: View, above: str, below: str, mix: str, percent: int, name: str) -> float:
    """Of two schemes' means."""
    return view.at(above, mix, percent, name) / view.at(below, mix, percent, name)


def below(view: View, low: str, high: str, points: Iterable[tuple[str, int]], name: str) -> list[bool]:
    """Whether the first scheme's value is below the second's, in each seed."""
    return [
        a < b
        for mix, percent in points
        for a, b in zip(view.each(low, mix, percent, name), view.each(high, mix, percent, name), strict=True)
    ]


def tails(view: View, mix: str, loads: Sequence[int], name: str, schemes: Sequence[str] = SCHEMES) -> str:
    """A quantity of several schemes over the loads."""
    return ", ".join(f"{NAMES[s]} {spell(view.at(s, mix, p, name) for p in loads)}" for s in schemes)


def saturated(view: View, scheme: str, mix: str, percent: int) -> bool:
    """The claims' test: the tail is above 5 times that at 20 %, or long flows get less than 95 % of what is offered."""
    slow = view.at(scheme, mix, percent, "p99_us") > 5 * view.at(scheme, mix, 20, "p99_us")
    return slow or view.at(scheme, mix, percent, "long_gbps") < 0.95 * offered_gbps(mix, percent)


def saturation(view: View, scheme: str, mix: str) -> float:
    """The lowest load that saturates, in per cent; infinite if none of those that were run does."""
    return min((percent for percent in view.loads(mix) if saturated(view, scheme, mix, percent)), default=inf)


def typical_rows(rows: Rows) -> None:
    """Fig. 11(a) with TIMELY; `dart-fig11a` has the rest, over longer windows."""
    view, loads = rows.view, (20, 40)
    at_low = [(TYPICAL, percent) for percent in loads]
    rows.add(f"""
        dart-fig11a-lowest
        p99 of 8 KB at 20 / 40 %, us | Dart lowest | {tails(view, TYPICAL, loads, "p99_us")} | in every seed
            | {strict(all(one for base in BASELINES for one in below(view, DART, base, at_low, "p99_us")))}
    """)
    cuts = [1 - ratio(view, DART, base, TYPICAL, p, "p99_us") for base in BASELINES for p in loads]
    rows.add(f"""
        dart-fig11a-all82
        mean cut of p99 against all three, 20 and 40 % | 82 %
            | {100 * mean(cuts):.0f} % ({100 * min(cuts):.0f} to {100 * max(cuts):.0f}) | 65 to 92 %, each 55 to 95 %
            | {worst([gain_band(mean(cuts), 0.65, 0.92), *(gain_band(cut, 0.55, 0.95) for cut in cuts)])}
    """)
    ratios = {base: [ratio(view, base, DART, TYPICAL, p, "p99_us") for p in loads] for base in RDMA}
    all_ratios = [one for each in ratios.values() for one in each]
    rows.add(f"""
        dart-fig11a-rdma79
        p99 of DCQCN and TIMELY / Dart's, mean of 20 and 40 % | 4.8
            | {mean(all_ratios):.2f} ({"; ".join(f"{NAMES[base]} {spell(each, 2)}" for base, each in ratios.items())})
            | 3 to 7, each at least 2 | {band(mean(all_ratios), 3, 7) if min(all_ratios) >= 2 else "differs"}
    """)
    medians = [1 - ratio(view, DART, TIMELY, TYPICAL, p, "p50_us") for p in view.printed(TYPICAL)]
    rows.add(f"""
        dart-fig12a-median
        mean cut of the median against TIMELY | 30 % | {100 * mean(medians):z.0f} % | 10 to 55 %
            | {gain_band(mean(medians), 0.1, 0.55)}
    """)
    gains = [ratio(view, DART, TIMELY, TYPICAL, p, "long_gbps") - 1 for p in view.printed(TYPICAL)]
    rows.add(f"""
        dart-fig13a-throughput
        goodput of long flows over TIMELY's, mean of the loads | +68 %
            | {100 * mean(gains):+.0f} % ({", ".join(f"{100 * gain:+.0f}" for gain in gains)}) | +25 to +120 %
            | {gain_band(mean(gains), 0.25, 1.2)}
    """)


def typical_orders(rows: Rows) -> None:
    """The orders of Fig. 12(a) and 13(a) with TIMELY."""
    view = rows.view
    loads = view.printed(TYPICAL)
    lowest = [one for base in BASELINES for one in below(view, DART, base, [(TYPICAL, p) for p in loads], "p50_us")]
    rows.add(f"""
        dart-fig12a-median
        medians of 8 KB at {loads_of(loads)}, us | Dart lowest | {tails(view, TYPICAL, loads, "p50_us")}
            | at each load, in each seed | {order(lowest)}
    """)
    falls = [
        view.at(high, TYPICAL, percent, "long_gbps") > view.at(low, TYPICAL, percent, "long_gbps")
        for percent in loads
        for high, low in pairwise((DART, DCQCN, TIMELY, DCTCP))
    ]
    rows.add(f"""
        dart-fig13a-throughput
        goodput of long flows at {loads_of(loads)}, Gb/s | Dart > DCQCN > TIMELY > DCTCP
            | {tails(view, TYPICAL, loads, "long_gbps")} | at each load | {order(falls)}
    """)


def overhead_rows(rows: Rows) -> None:
    """Claim `dart-fig11-dctcp-os`."""
    view, claim = rows.view, "dart-fig11-dctcp-os"
    loads = [percent for percent in (20, 40, 60) if percent in view.loads(TYPICAL, DCTCP)]
    points = [(TYPICAL, percent) for percent in loads]
    for name, told in (("p99_us", "p99"), ("p50_us", "median")):
        slower = [one for base in RDMA for one in below(view, base, DCTCP, points, name)]
        rows.add(f"""
            {claim}
            {told} of 8 KB at {loads_of(loads)}, us | DCTCP's highest | {tails(view, TYPICAL, loads, name, BASELINES)}
                | above DCQCN's and TIMELY's in each seed | {order(slower)}
        """)
    without = [percent for percent in view.loads(TYPICAL, WITHOUT) if percent <= 40]
    if not without:
        return
    falls = [view.at(DCTCP, TYPICAL, p, "p50_us") - view.at(WITHOUT, TYPICAL, p, "p50_us") for p in without]
    rows.add(f"""
        {claim}
        median with the 300 us less that without, at {loads_of(without)}, us | 300 us, by which it calibrates DCTCP
            | {spell(falls)} | 290 to 320 us, which is what was put in
            | ({"calibrated" if worst(gain_band(fall, 290, 320) for fall in falls) == "holds" else "differs"})
    """)
    faster = [1 - view.at(WITHOUT, TYPICAL, p, "p99_us") / view.at(DCQCN, TYPICAL, p, "p99_us") for p in without]
    p99, p50 = (tails(view, TYPICAL, without, name, (WITHOUT, DCQCN)) for name in ("p99_us", "p50_us"))
    rows.add(f"""
        {claim}
        DCTCP without the 300 us: p99 and median at {loads_of(without)}, us | HPCC 5.3: better than DCQCN
            | {p99}; medians {p50} | p99 below DCQCN's | ({strict(all(one > 0 for one in faster))})
    """)


def alike_rows(rows: Rows) -> None:
    """Claim `dart-fig11-dcqcn-timely`."""
    view, loads = rows.view, (20, 40)
    for name, told in (("p99_us", "p99"), ("p50_us", "median"), ("long_gbps", "goodput")):
        ratios = [ratio(view, TIMELY, DCQCN, TYPICAL, percent, name) for percent in loads]
        paper, verdict = "similar" if name == "p99_us" else "differs a little more", in_band(ratios, 0.5, 2)
        rows.add(f"""
            dart-fig11-dcqcn-timely
            TIMELY's {told} / DCQCN's at 20 / 40 % | {paper} | {spell(ratios, 2)} | 0.5 to 2
                | {f"({verdict})" if name == "long_gbps" else verdict}
        """)


def light_rows(rows: Rows) -> None:
    """Claim `dart-fig11b-light`."""
    view, claim = rows.view, "dart-fig11b-light"
    loads = [percent for percent in view.loads(LIGHT) if percent <= 60]
    for base in RDMA:
        ratios = [ratio(view, base, DART, LIGHT, percent, "p99_us") for percent in loads]
        rows.add(f"""
            {claim}
            p99 of {NAMES[base]} / Dart's at {loads_of(loads)} | comparable | {spell(ratios, 2)} | 0.8 to 2
                | {in_band(ratios, 0.8, 2)}
        """)
    penalty = view.at(DCTCP, LIGHT, 20, "p99_us") - view.at(DART, LIGHT, 20, "p99_us")
    rows.add(f"""
        {claim}
        p99 of DCTCP less Dart's at 20 %, us | its overhead | {penalty:.0f} | at least 250 us | {strict(penalty >= 250)}
    """)


def heavy_rows(rows: Rows) -> None:
    """Claim `dart-fig11c-heavy`."""
    view, claim, loads = rows.view, "dart-fig11c-heavy", (20, 40)
    for base in BASELINES:
        cuts = [1 - ratio(view, DART, base, HEAVY, percent, "p99_us") for percent in loads]
        rows.add(f"""
            {claim}
            cut of {NAMES[base]}'s p99 at 20 / 40 % | 77 to 83 % | {per_cent(cuts)} | each 55 to 95 %
                | {worst(gain_band(cut, 0.55, 0.95) for cut in cuts)}
        """)
    growth = {
        scheme: [
            high / low
            for low, high in zip(*(view.each(scheme, HEAVY, percent, "p99_us") for percent in loads), strict=True)
        ]
        for scheme in SCHEMES
    }
    rows.add(f"""
        {claim}
        p99 at 40 % / that at 20 % | others saturate above 20 %, Dart grows least
            | {", ".join(f"{NAMES[scheme]} {mean(each):.2f}" for scheme, each in growth.items())}
            | Dart's below each other's, in each seed
            | {order([ours < its for base in BASELINES for ours, its in zip(growth[DART], growth[base], strict=True)])}
    """)


def saturation_rows(rows: Rows) -> None:
    """Claims `dart-fig11-satorder`, and `dart-fig11a-saturation` with TIMELY."""
    view = rows.view
    if view.loads(TYPICAL) != list(ALL_LOADS):
        return
    for scheme in (DCQCN, TIMELY, DART):
        light, typical, heavy = (saturation(view, scheme, mix) for mix in (LIGHT, TYPICAL, HEAVY))
        kept = [light >= typical, typical >= heavy, light > typical or typical > heavy]
        at = " / ".join("above 80 %" if load == inf else f"{load:.0f} %" for load in (light, typical, heavy))
        what = "p99 above 5 times that at 20 %, or long flows below 95 % of what is offered"
        rows.add(f"""
            dart-fig11-satorder
            {NAMES[scheme]}: load that saturates the light, typical and heavy mix ({what})
                | falls with the share of short messages | {at} | none below the next, one above it | {order(kept)}
        """)
    full = {scheme: saturated(view, scheme, TYPICAL, 60) for scheme in SCHEMES}
    rows.add(f"""
        dart-fig11a-saturation
        saturated at 60 % | DCQCN, TIMELY and DCTCP, not Dart
            | {", ".join(f"{NAMES[scheme]}: {('yes' if yes else 'no')}" for scheme, yes in full.items())}
            | all as in the paper | {strict(all(full[base] for base in BASELINES) and (not full[DART]))}
    """)


def median_rows(rows: Rows) -> None:
    """Claim `dart-fig12bc-median`."""
    view, claim = rows.view, "dart-fig12bc-median"
    for mix, paper in ((LIGHT, "36 %"), (HEAVY, "29 %")):
        loads = view.printed(mix)
        cuts = [1 - ratio(view, DART, base, mix, percent, "p50_us") for base in RDMA for percent in loads]
        rows.add(f"""
            {claim}
            {mix} mix: mean cut of the median against DCQCN and TIMELY at {loads_of(loads)} | {paper}
                | {100 * mean(cuts):z.0f} % ({100 * min(cuts):z.0f} to {100 * max(cuts):z.0f}) | 10 to 60 %
                | {gain_band(mean(cuts), 0.1, 0.6)}
        """)
        lowest = [one for base in RDMA for one in below(view, DART, base, [(mix, p) for p in loads], "p50_us")]
        rows.add(f"""
            {claim}
            {mix} mix: medians of 8 KB at {loads_of(loads)}, us | Dart lowest | {tails(view, mix, loads, "p50_us")}
                | below DCQCN's and TIMELY's at all loads, in each seed | {order(lowest)}
        """)


def throughput_rows(rows: Rows) -> None:
    """Claims `dart-fig13b-order` and `dart-fig13c-heavy173`."""
    view, claim = rows.view, "dart-fig13b-order"
    for told, high, low in (("Dart's", (DART,), RDMA), ("DCQCN's and TIMELY's", RDMA, (DCTCP,))):
        kept = {
            mix: [
                ratio(view, top, bottom, mix, percent, "long_gbps") >= 1
                for top in high
                for bottom in low
                for percent in view.printed(mix)
            ]
            for mix in (LIGHT, TYPICAL)
        }
        shown = (*high, *low)
        rows.add(f"""
            {claim}
            goodput of long flows, Gb/s: {told} at least that of {" and ".join(NAMES[one] for one in low)}
                | in the light and the typical mix
                | {"; ".join(f"{mix}: {tails(view, mix, view.printed(mix), 'long_gbps', shown)}" for mix in kept)}
                | at each load | {order([one for each in kept.values() for one in each])}
        """)
    higher = [
        view.at(scheme, LIGHT, percent, "long_gbps") > view.at(scheme, TYPICAL, percent, "long_gbps")
        for scheme in SCHEMES
        for percent in view.printed(TYPICAL)
    ]
    rows.add(f"""
        {claim}
        goodput of long flows in the light mix above that in the typical one | for each scheme
            | in {sum(higher)} of {len(higher)} points | at each load | {order(higher)}
    """)
    gains = {
        mix: [ratio(view, DART, base, mix, p, "long_gbps") - 1 for base in RDMA for p in view.printed(mix)]
        for mix in (HEAVY, TYPICAL)
    }
    rows.add(f"""
        dart-fig13c-heavy173
        heavy mix: goodput of long flows over that of DCQCN and TIMELY, mean of the loads | +173 %
            | {100 * mean(gains[HEAVY]):+.0f} % ({", ".join(f"{100 * one:+.0f}" for one in gains[HEAVY])})
            | +50 to +300 % | {gain_band(mean(gains[HEAVY]), 0.5, 3.0)}
    """)
    rows.add(f"""
        dart-fig13c-heavy173
        the same gain in the heavy and the typical mix | +173 and +58 %
            | {100 * mean(gains[HEAVY]):+.0f} and {100 * mean(gains[TYPICAL]):+.0f} % | more in the heavy mix
            | {strict(mean(gains[HEAVY]) > mean(gains[TYPICAL]))}
    """)


def fewer_marks_rows(rows: Rows) -> None:
    """Claim `dart-table1-4x`: marks that arrive, before the receiver suppresses any, and beside it those that it passes
    on to DCQCN."""
    view, claim = rows.view, "dart-table1-4x"
    fewer = {mix: [ratio(view, DCQCN, DART, mix, p, "marked") for p in view.printed(mix)] for mix in SHORT}
    high = max(view.printed(TYPICAL))
    paper = {
        mix: spell((a / b for a, b in zip(MARKED[DCQCN][mix], MARKED[DART][mix], strict=True)), 1) for mix in SHORT
    }
    for mix, told, accept, verdict in (
        (TYPICAL, f"at {high} %", "3 to 7", band(fewer[TYPICAL][-1], 3, 7)),
        (HEAVY, "at 40 %", "2.5 to 6", band(fewer[HEAVY][-1], 2.5, 6)),
        (TYPICAL, "rising with load", "at each step", order([a < b for a, b in pairwise(fewer[TYPICAL])])),
        (LIGHT, "at all loads", "at most 2.5", strict(all(one <= 2.5 for one in fewer[LIGHT]))),
    ):
        rows.add(f"""
            {claim}
            {mix} mix: marked packets under DCQCN / under Dart at {loads_of(view.printed(mix))}; {told} | {paper[mix]}
                | {spell(fewer[mix], 2)} | {accept} | {verdict}
        """)
    for mix in SHORT:
        bounds = [
            [ratio_of_passed(view, mix, percent, name) for percent in view.printed(mix)]
            for name in ("passed_most", "passed_least")
        ]
        passed = " / ".join(
            f"{low:.1f} or more" if high == inf else f"{low:.1f} to {high:.1f}"
            for low, high in zip(*bounds, strict=True)
        )
        rows.add(f"""
            {claim}
            {mix} mix: marks that reach DCQCN's senders over those that reach Dart's, after suppression (bounds)
                | {paper[mix]} | {passed} | none: shown beside | (calibrated)
        """)


def ratio_of_passed(view: View, mix: str, percent: int, name: str) -> float:
    """Marks of DCQCN over what Dart's receivers pass on."""
    passed = view.at(DART, mix, percent, name)
    return view.at(DCQCN, mix, percent, "marked") / passed if passed > 0 else inf


def near(value: float, paper: float) -> bool:
    """Within a factor of 2; below 10 per cent also within 5 points."""
    return paper / 2 <= value <= 2 * paper or (paper < 10 and abs(value - paper) <= 5)


def table_rows(rows: Rows) -> None:
    """Tables I and II whole: claims `dart-table1-values` and `dart-table2-values`."""
    view = rows.view
    tables: list[tuple[str, str, str, str, Mapping[str, Sequence[float]]]] = [
        ("dart-table1-values", f"marked under {NAMES[s]}", "marked", s, MARKED[s]) for s in (DCQCN, DART)
    ]
    tables += [
        ("dart-table2-values", "load increase", "load_increase", DART, INCREASE),
        ("dart-table2-values", "path dilation", "dilation", DART, DILATION),
    ]
    for claim, told, name, scheme, papers in tables:
        for mix, paper in papers.items():
            loads = view.printed(mix)
            values = [view.at(scheme, mix, percent, name) for percent in loads]
            told_by = [paper[PAPER_LOADS[mix].index(percent)] for percent in loads]
            factor = near if name == "marked" else within
            rows.add(f"""
                {claim}
                {mix} mix: {told} at {loads_of(loads)} | {" / ".join(f"{one:g}" for one in told_by)} %
                    | {spell(values, 1)} %
                    | {"each within a factor 2" + (" (5 points below 10 %)" if name == "marked" else "")}
                    | {strict(all(factor(value, one) for value, one in zip(values, told_by, strict=True)))}
            """)
            rows.add(f"""
                {claim}
                {mix} mix: {told} rises with load | rises | {spell(values, 1)} % | at each step
                    | {order([a < b for a, b in pairwise(values)])}
            """)
    across_rows(rows)


def within(value: float, paper: float) -> bool:
    """Within a factor of 2."""
    return paper / 2 <= value <= 2 * paper


def across_rows(rows: Rows) -> None:
    """The orders of the tables between schemes and mixes."""
    view = rows.view
    points = [(mix, percent) for mix in SHORT for percent in view.printed(mix)]
    fewer = below(view, DART, DCQCN, points, "marked")
    rows.add(f"""
        dart-table1-values
        fewer marked packets under Dart than under DCQCN, all mixes and loads | at each point
            | in {sum(fewer)} of {len(fewer)} (seeds counted) | in each seed | {order(fewer)}
    """)
    for claim, name, schemes, told in (
        ("dart-table1-values", "marked", (DCQCN, DART), "marked packets"),
        ("dart-table2-values", "load_increase", (DART,), "load increase"),
    ):
        steps = [
            view.at(scheme, fewer_short, percent, name) < view.at(scheme, more_short, percent, name)
            for scheme in schemes
            for percent in (20, 40)
            for fewer_short, more_short in ((LIGHT, TYPICAL), (TYPICAL, HEAVY))
        ]
        rows.add(f"""
            {claim}
            {told} at 20 and 40 %: light below typical below heavy | light < typical < heavy
                | in {sum(steps)} of {len(steps)} steps | at each load | {order(steps)}
        """)
    for told, name, low, high, paper in (
        ("load increase", "load_increase", 4, 12, "7 %"),
        ("path dilation", "dilation", 8, 25, "16 %"),
    ):
        value = mean([view.at(DART, mix, p, name) for mix in (TYPICAL, HEAVY) for p in view.printed(mix)])
        rows.add(f"""
            dart-table2-values
            {told}, mean of the typical and heavy mixes | {paper} | {value:.1f} % | {low} to {high} %
                | {gain_band(value, low, high)}
        """)


def part_rows(rows: Rows) -> None:
    """Beside Fig. 11 to 13: the parts of Dart, and Dart that deflects at the last hop, with one seed."""
    view = rows.view
    for mix in SHORT:
        loads = view.loads(mix, PARTS[0])
        if not loads:
            continue
        cuts = {
            part: [1 - ratio(view, part, DCQCN, mix, percent, "p99_us") for percent in loads] for part in (*PARTS, DART)
        }
        rows.add(f"""
            dart-fig11a-rdma79
            {mix} mix: cut of DCQCN's p99 by Dart and its parts at {loads_of(loads)} | 79 % by Dart in the typical mix
                | {", ".join(f"{part} {per_cent(each)}" for part, each in cuts.items())} | none: shown beside
                | (calibrated)
        """)


def headline_row(rows: Rows) -> None:
    """Both headlines in the typical mix: the tail and the throughput, against DCQCN and TIMELY."""
    view = rows.view
    for mix in SHORT:
        loads = view.printed(mix)
        cuts = [1 - ratio(view, DART, base, mix, p, "p99_us") for base in RDMA for p in loads]
        gains = [ratio(view, DART, base, mix, p, "long_gbps") - 1 for base in RDMA for p in loads]
        what = f"cut of p99 and gain of goodput against DCQCN and TIMELY, mean of {loads_of(loads)}"
        rows.add(f"""
            dart-fig11a-rdma79
            the headline in the {mix} mix: {what} | {"79 and +58 %" if mix == TYPICAL else "not told"}
                | {100 * mean(cuts):z.0f} and {100 * mean(gains):+.0f} % | none: shown beside | (calibrated)
        """)


def rows_of(view: View) -> list[Row]:
    """All claims of Fig. 11 to 13 and of the tables under one reading."""
    rows = Rows(view)
    for part in (
        typical_rows,
        typical_orders,
        overhead_rows,
        alike_rows,
        light_rows,
        heavy_rows,
        saturation_rows,
        median_rows,
        throughput_rows,
        fewer_marks_rows,
        table_rows,
        part_rows,
        headline_row,
    ):
        part(rows)
    return rows.found


def rows(measures: Measures) -> list[Row]:
    """The claims as they are judged."""
    return rows_of(View(measures, STEADY))


def rows_readings(measures: Measures) -> list[Row]:
    """The same under the other readings, beside the claims."""
    return [row for name in (TEXT, CARRIED) for row in rows_of(View(measures, name))]

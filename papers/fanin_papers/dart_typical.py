"""Dart section VI: Fig. 11(a), 12(a), 13(a) and Tables I and II."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import log_ticks, mean, seeds
from fanin_papers.dart_mix import CALIBRATED_US, LOADS, SHORT_SHARE, TABLE_1, TABLE_2, at, jitter, load, traffic, window
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, gain_band, order, strict

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
            axes.plot(LOADS, values, marker="o", label=scheme, **scheme_line(scheme))
        for scheme, points in (paper or {}).items():
            axes.plot(LOADS, points, **(scheme_line(scheme) | {"linestyle": ":", "linewidth": 1.0}))
        if name.endswith("_us"):
            axes.set_yscale("log")
            log_ticks(axes)
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
    goodput = [[at(measures, (s, p), "goodput_gbps") for s in (dart, *BASELINES)] for p in LOADS]
    saturated = {scheme: saturates(measures, scheme) for scheme in (*BASELINES, dart)}
    tails = ", ".join(f"{s} {' / '.join(f'{tail(s, percent):.0f}' for percent in LOADS)}" for s in (*BASELINES, dart))
    rows = [
        *Row.table(f"""
            dart-fig11a-lowest
            p99 of 8 KB at 20 / 40 / 60 %, us | Dart lowest at 20 and 40 % | {tails} | in every seed
                | {strict(bool(lowest) and all(lowest))}
            dart-fig11a-all82
            mean cut of p99 against DCQCN and DCTCP, 20 and 40 % | 82 %
                | {100 * mean(cuts):.0f} % ({100 * min(cuts):.0f} to {100 * max(cuts):.0f})
                | 65 to 92 %, each 55 to 95 %
                | {strict(0.65 <= mean(cuts) <= 0.92 and all(0.55 <= cut <= 0.95 for cut in cuts))}
            dart-fig11a-rdma79
            p99 of DCQCN / Dart, mean of 20 and 40 % | 4.8 | {mean(ratios):.2f} | 3 to 7, each at least 2
                | {band(mean(ratios), 3, 7) if min(ratios) >= 2 else "differs"}
            dart-fig11a-saturation
            saturated at 60 %: p99 above 5 times that at 20 %, or goodput below 95 % of what is offered
                | DCQCN and DCTCP, not Dart
                | {", ".join(f"{scheme}: {('yes' if yes else 'no')}" for scheme, yes in saturated.items())}
                | all as in the paper | {strict(saturated["dcqcn"] and saturated["dctcp"] and (not saturated[dart]))}
            dart-fig12a-median
            mean cut of the median against DCQCN | 30 % | {100 * medians["dcqcn"]:.0f} % | 10 to 55 %
                | {gain_band(medians["dcqcn"], 0.1, 0.55)}
            mean cut of the median against DCTCP | 66 % | {100 * medians["dctcp"]:.0f} % | 50 to 95 %
                | {gain_band(medians["dctcp"], 0.5, 0.95)}
            dart-fig13a-throughput
            goodput of long flows over DCQCN's, mean of the loads | +48 %
                | {100 * mean(gains):+.0f} % ({", ".join(f"{100 * gain:+.0f}" for gain in gains)}) | +15 to +90 %
                | {gain_band(mean(gains), 0.15, 0.9)}
            order of goodput at each load | Dart > DCQCN > DCTCP
                | {"; ".join(" / ".join(f"{rate:.0f}" for rate in rates) for rates in goodput)} Gb/s | at each load
                | {order([rates[0] > rates[1] > rates[2] for rates in goodput])}
        """)
    ]
    for percent, paper in zip(LOADS, TABLE_1["dart"], strict=True):
        marked = at(measures, (dart, percent), "marked")
        near = marked <= paper + 5 if paper < 10 else marked <= 2 * paper
        far = marked < paper - 5 if paper < 10 else marked < paper / 2
        verdict = strict(near and not far)
        rows += Row.table(f"""
            dart-table1-values
            marked at {percent} % | {paper} % | {marked:.1f} % | within a factor 2 | {verdict}
        """)
    for name, key in (("load increase", "load_increase"), ("path dilation", "dilation")):
        for percent, paper in zip(LOADS, TABLE_2[name], strict=True):
            value = at(measures, (dart, percent), key)
            rows += Row.table(f"""
                dart-table2-values
                {name} at {percent} % | {paper} % | {value:.2f} % | within a factor 2
                    | {strict(paper / 2 <= value <= paper * 2)}
            """)
    parts = [at(measures, (dart, p), "load_increase") / at(measures, (dart, p), "dilation") for p in LOADS]
    rows += Row.table(f"""
        dart-table2-identity
        load increase / path dilation, a mean over messages, at 20 / 40 / 60 %; judged by bytes in dart-headline
            | 0.375 / 0.40 / 0.39: the short share of the bytes | {" / ".join(f"{part:.2f}" for part in parts)}
            | {SHORT_SHARE} within 3 % | ({strict(all(abs(part / SHORT_SHARE - 1) <= 0.03 for part in parts))})
    """)
    return rows if dart == "dart" else [replace(row, claim=f"{row.claim} ({dart})") for row in rows]


def saturates(measures: Measures, scheme: str) -> bool:
    """The claim's test at 60 %: the tail against that at 20 %, or the long flows' goodput against the offered load."""
    offered = (1 - SHORT_SHARE) * 0.6 * 2560
    slow = at(measures, (scheme, 60), "p99_us") > 5 * at(measures, (scheme, 20), "p99_us")
    return bool(slow or at(measures, (scheme, 60), "goodput_gbps") < 0.95 * offered)


def edge(measures: Measures) -> Row:
    """Claim `dart-ecn-edge72`."""
    shares = [at(measures, ("dctcp", percent), "edge_marks") for percent in (20, 40)]
    return Row.of(
        "dart-ecn-edge72",
        "marks of DCTCP on ToR-to-host links, 20 and 40 % | 72 % "
        f"| {' / '.join(f'{100 * share:.0f} %' for share in shares)} | 55 to 90 % "
        f"| {band(min(shares), 0.55, 0.9) if max(shares) <= 0.9 else band(max(shares), 0.55, 0.9)}",
    )


EXPERIMENTS = (
    Experiment(
        "dart-fig11a",
        "the typical mix",
        "dart/fig11-typical.toml",
        sweep_11,
        measure_11,
        draw_11,
        rows_11,
        figures=("11a", "12a", "13a"),
    ),
)

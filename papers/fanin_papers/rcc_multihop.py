"""RCC section 6.3.3: two bottlenecks (Fig. 11)."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes
from fanin.style import MORE_COLOURS, style_of
from fanin_papers.common import mean, over_seeds, percentile, picture, pooled, quantile
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, judge, order, strict
from fanin_papers.rcc_flows import OTHERS, PACKET_BYTES, SCHEMES, line, ten_seeds, under

GROUPS = ("s1", "s2", "s3")
CALM, AVERAGED = "rcc, slow start to 8", "rcc, mean alpha"
"""RCC whose slow start ends at 8 segments, and RCC with a running mean of alpha (eq. (1))."""
VARIANTS = {CALM: "initial_ssthresh=11680 B", AVERAGED: "g=0.0625"}
NAMES_11 = (*SCHEMES, *VARIANTS)
COLOURS = {name: line(name)["color"] for name in NAMES_11} | {AVERAGED: MORE_COLOURS[0]}
K_BYTES = 60_000
EVERY_US = 12.0
PORTS = {"tor1>middle": 10, "tor2>r1": 1}
"""The bottlenecks, and their rates in Gb/s."""


def sweep_11(quick: bool) -> dict[Key, Change]:
    """Each scheme and variant, and each scheme with 1 Gb/s between the switches."""
    runs: dict[Key, Change] = {}
    links = tuple(f"network.topology.links[{place}].rate=1 Gbps" for place in (81, 82))
    for seed in ten_seeds(quick):
        for scheme in SCHEMES:
            runs[scheme, 10, seed] = Change(None, under(scheme, *GROUPS))
            runs[scheme, 1, seed] = Change(None, (*under(scheme, *GROUPS), *links))
        for name, parameter in VARIANTS.items():
            changes = tuple(f"traffic.{group}.scheme.{parameter}" for group in GROUPS)
            runs[name, 10, seed] = Change(None, (*under("rcc", *GROUPS), *changes))
    return runs


def measure_11(result: Result) -> Measured:
    """Throughput of each flow by group in Mb/s; drops, marks and packets that came to a queue above K, by port."""
    flows, ports, series = result.flows(), result.ports(), result.series()
    found: Measured = {
        group: (8e6 * of_group["bytes"].to_numpy() / of_group["completion_ps"].to_numpy()).tolist()
        for group in GROUPS
        for of_group in [flows.filter(pl.col("traffic") == group)]
    }
    for port, gbps in PORTS.items():
        row = ports.filter(pl.col("port") == port)
        queue = series.filter(pl.col("port") == port)["queue_bytes"].to_numpy()
        # A queue above K is served at the link's rate: so many packets left it, and as many came.
        above = (queue > K_BYTES).sum() * EVERY_US * gbps * 1e3 / (8 * PACKET_BYTES)
        found |= {
            f"drops {port}": [float(row["dropped_packets"][0])],
            f"marks {port}": [float(row["marked_packets"][0])],
            f"above {port}": [float(above)],
        }
    return found


def draw_11(measures: Measures) -> Figure:
    """The paper's panels: throughput by group, drops, and packets that came to a queue above K."""
    figure = picture(13.5, 4.9, "RCC Fig. 11: two bottlenecks, flows of 1 MB, 20 senders in each group")
    first, second, third = figure.subplots(1, 3, width_ratios=(1.4, 1.1, 1.1))
    for side, name in enumerate(NAMES_11):
        shown = {"color": COLOURS[name]}
        for place, group in enumerate(GROUPS):
            flows = pooled(measures, (name, 10), group)
            at = place + (side - 2.5) * 0.15
            low, middle, high = (quantile(flows, share) for share in (0.01, 0.5, 0.99))
            first.vlines(at, low, high, linewidth=2, **shown)
            marker = style_of(name.partition(",")[0]).marker_for_matplotlib()
            first.plot(
                at, middle, marker=marker, markersize=7, linestyle="none", label=None if place else name, **shown
            )
            if group == "s2":
                first.annotate(
                    f"{middle:.0f}", (at, low), (0, -11), textcoords="offset points", ha="center", fontsize=8
                )
        for axes, what in ((second, "drops"), (third, "above")):
            for place, port in enumerate(PORTS):
                height = mean(pooled(measures, (name, 10), f"{what} {port}"))
                at = place + (side - 2.5) * 0.15
                axes.bar(at, max(height, 0.1), width=0.145, **shown)
                text = f"{height:.0f}" if height < 1000 else f"{height / 1000:.{1 if height < 10_000 else 0}f}k"
                top = (at, max(height, 0.1))
                axes.annotate(text, top, (0, 2), textcoords="offset points", ha="center", fontsize=8)
    first.set_xticks(range(3), ["S1 to R1\n(both)", "S2 to R2\n(10 Gb/s)", "S3 to R1\n(1 Gb/s)"])
    first.set_yscale("log")
    first.set_ylim(15, 1500)
    label_axes(first, "(b) flows: p1, p50, p99", "", "throughput (Mb/s, log scale)", legend=False)
    for axes, title in ((second, "(c) drops"), (third, "(d) packets above K = 40")):
        axes.set_xticks(range(2), ["switch 1\n(10 Gb/s)", "switch 2\n(1 Gb/s)"])
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, 300_000)
        label_axes(axes, title, "", "packets in a run (log scale)", legend=False)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    return figure


def rows_11(measures: Measures) -> list[Row]:
    """Claims `rcc-fig11b-throughput` and `rcc-fig11cd-drops`."""
    return rows_11b(measures) + rows_11cd(measures)


def rows_11b(measures: Measures) -> list[Row]:
    """Claim `rcc-fig11b-throughput`."""
    rows = []
    for reading, gbps, name in (
        ("10 Gb/s between switches", 10, "rcc"),
        ("10 Gb/s, mean alpha", 10, AVERAGED),
        ("1 Gb/s between switches", 1, "rcc"),
    ):
        claim, schemes = f"rcc-fig11b-throughput ({reading})", (*OTHERS, name)
        high, middle = (
            {s: over_seeds(measures, (s, gbps), "s2", percentile(share)) for s in schemes} for share in (0.99, 0.5)
        )
        tcp, rcc = middle["newreno"], high[name]
        rest = [s for s in schemes if s != "ictcp"]
        lowest = [found["ictcp"] < found[s] for found in (high, middle) for s in rest]
        ours = "; ".join(", ".join(f"{value:.0f}" for value in found.values()) for found in (high, middle))
        rows += Row.table(f"""
            {claim}
            newreno, S2, p50, Mb/s | 426 | {judge("band", tcp, ".0f", "300 to 560")}
            rcc, S2, p99, Mb/s | 494 | {judge("band", rcc, ".0f", "400 to 650")}
            S2, p99, Mb/s: newreno, rcc | 780, 494 | {high["newreno"]:.0f}, {rcc:.0f} | newreno above rcc
                | {order([high["newreno"] > rcc])}
            S2, p99; p50: newreno, dctcp, ictcp, rcc | ictcp lowest | {ours} | ictcp lowest | {order(lowest)}
        """)
        for group in ("s1", "s3"):
            medians = {s: over_seeds(measures, (s, gbps), group, percentile(0.5)) for s in schemes}
            kept = all(10 <= value <= 60 for value in medians.values())
            ours = ", ".join(f"{value:.0f}" for value in medians.values())
            what = f"{group.upper()}, p50, Mb/s: newreno, dctcp, ictcp, rcc"
            rows.append(Row.of(claim, f"{what} | small for all | {ours} | 10 to 60 each | {strict(kept)}"))
    return rows


def rows_11cd(measures: Measures) -> list[Row]:
    """Claim `rcc-fig11cd-drops`."""
    rows = []
    for name in ("rcc", CALM):
        claim, schemes = f"rcc-fig11cd-drops ({name})", (*OTHERS, name)

        def of_each(what: str, schemes: tuple[str, ...] = schemes) -> dict[str, float]:
            return {s: over_seeds(measures, (s, 10), what) for s in schemes}

        first, second = of_each("drops tor1>middle"), of_each("drops tor2>r1")
        drops = {s: first[s] + second[s] for s in schemes}
        above = {s: sum(of_each(f"above {port}")[s] for port in PORTS) for s in schemes}
        at_first = of_each("above tor1>middle")

        def told(found: dict[str, float]) -> str:
            return ", ".join(f"{value:.0f}" for value in found.values())

        each = "newreno, dctcp, ictcp, rcc"
        rows += Row.table(f"""
            {claim}
            drops of rcc at switch 2 | 0 | {judge("strict", second[name], ".0f", "0")}
            drops of rcc at switch 1 | 20 | {judge("band", first[name], ".1f", "0 to 100")}
            drops: {each} | rcc fewest | {told(drops)} | rcc fewest
                | {order([drops[name] < drops[s] for s in OTHERS])}
            drops, of both and at switch 1: {each} | newreno most, ictcp next at switch 1
                | {told(drops)}; at switch 1: {told(first)} | newreno most
                | {order([drops["newreno"] > drops[s] for s in schemes[1:]])}
            packets above K: {each} | rcc fewest marks | {told(above)} | rcc fewest
                | {order([above[name] < above[s] for s in OTHERS])}
            packets above K at switch 1: {each} | ictcp most marks | {told(at_first)} | ictcp most
                | {order([at_first["ictcp"] > at_first[s] for s in schemes if s != "ictcp"])}
        """)
    return rows


EXPERIMENTS = (
    Experiment("rcc-fig11", "two bottlenecks", "rcc/fig11-multihop.toml", sweep_11, measure_11, draw_11, rows_11),
)

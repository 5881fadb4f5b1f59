"""DCTCP section 4: figures 14 and 18."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin.style import style_of
from fanin_papers.common import cdf, log_ticks, mean, over_seeds, percentile, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order, strict

PACKET_BYTES = 1538
"""A full packet on the wire of these specs: 1,460 B of payload, 40 B of TCP/IP, 38 B of Ethernet with preamble and
gap."""

SCHEMES = ("newreno", "dctcp")


def under(scheme: str, *traffics: str) -> tuple[str, ...]:
    """These traffics of a spec under another scheme, with the window of the spec's own scheme."""
    choice = f'{{ id = "{scheme}", initial_window = 2, restart_after = "10 ms" }}'
    return tuple(f"traffic.{traffic}.scheme={choice}" for traffic in traffics)


# Fig. 14: queue length and throughput of long flows


def sweep_14(quick: bool) -> dict[Key, Change]:
    """2 and 20 senders, each scheme."""
    window = ("measure.window=0.5 s",) if quick else ()
    return {
        (scheme, n, seed): Change(None, (f"traffic.long.pattern.count={n}", *under(scheme, "long"), *window))
        for scheme in SCHEMES
        for n in (2, 20)
        for seed in seeds(quick)
    }


def measure_14(result: Result) -> Measured:
    """The queue at the receiver's port in packets, and the goodput of all flows together."""
    queue = result.series()["queue_bytes"].to_numpy() / PACKET_BYTES
    goodput = sum(traffic["long_goodput_gbps"] for traffic in result.summary()["traffics"])
    return {"queue_packets": queue.tolist(), "goodput_gbps": [goodput]}


def draw_14(measures: Measures) -> Figure:
    """Cumulative distribution of the queue, as the paper draws it."""
    figure = picture(11, 4.6, "DCTCP Fig. 14: queue at a 1 Gb/s port, K = 20, 4 MB shared buffer")
    for axes, n in zip(figure.subplots(1, 2), (2, 20), strict=True):
        for scheme in SCHEMES:
            goodput = mean(pooled(measures, (scheme, n), "goodput_gbps"))
            label = f"{scheme} ({goodput:.3f} Gb/s)"
            cdf(axes, pooled(measures, (scheme, n), "queue_packets"), label=label, **scheme_line(scheme))
        axes.axvline(20 + n, color="#888888", linewidth=1, linestyle=":", label=f"K + n = {20 + n}")
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
        label_axes(axes, f"{n} long flows into one port", "queue (packets)", "share of samples")
    return figure


def rows_14(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig14-queue`, which is also the abstract's headline."""
    rows = []
    for n in (2, 20):
        goodput = {scheme: over_seeds(measures, (scheme, n), "goodput_gbps") for scheme in SCHEMES}
        median = {scheme: over_seeds(measures, (scheme, n), "queue_packets", percentile(0.5)) for scheme in SCHEMES}
        high = {scheme: over_seeds(measures, (scheme, n), "queue_packets", percentile(0.95)) for scheme in SCHEMES}
        ratio = high["dctcp"] / high["newreno"]
        claim, at = "dctcp-fig14-queue", f"{n} flows: "
        rows += [
            *(
                Row.of(claim, f"{at}goodput of {s}, Gb/s | 0.95 | {judge('band', goodput[s], '.3f', '0.94 to 0.96')}")
                for s in SCHEMES
            ),
            *Row.table(f"""
                {claim}
                {at}goodput dctcp / newreno | 1 | {goodput["dctcp"] / goodput["newreno"]:.4f} | at least 0.99
                    | {strict(goodput["dctcp"] >= 0.99 * goodput["newreno"])}
                {at}median queue of dctcp, packets | about 20 (K + n = {20 + n}) | {median["dctcp"]:.1f}
                    | 10 to {25 + n} | {band(median["dctcp"], 10, 25 + n)}
                {at}p95 queue dctcp / newreno | about 0.1 | {judge("band", ratio, ".3f", "at most 0.15")}
                {at}median queue of newreno, packets | 10 x dctcp's | {median["newreno"]:.0f} | at least 100
                    | {strict(median["newreno"] >= 100)}
            """),
        ]
    return rows


# Fig. 18: two bottlenecks


GROUPS = {"s1": (46.0, 42.0, 52.0, 50.0), "s3": (54.0, 47.0, 58.0, 50.0), "s2": (475.0, 430.0, 490.0, 475.0)}
"""Per group of senders: the paper's Mb/s per sender, the band that counts as holding, the fair share."""


LOW_K = "dctcp, K = 20 at 10 Gb/s too"


def sweep_18(quick: bool) -> dict[Key, Change]:
    """Each scheme once per seed; dctcp also with the threshold of 1 Gb/s on all ports."""
    window = ("measure.warm_up=0.1 s", "measure.window=0.4 s") if quick else ()
    return {
        (name, 0, seed): Change(None, (*under(scheme, *GROUPS), *marking, *window))
        for name, scheme, marking in (*((s, s, ()) for s in SCHEMES), (LOW_K, "dctcp", ("network.marking_by_rate=[]",)))
        for seed in seeds(quick)
    }


def measure_18(result: Result) -> Measured:
    """Goodput per sender of each group in Mb/s, and retransmission timeouts."""
    groups = {t["traffic"]: [t["long_goodput_gbps"] * 1000 / t["endless"]] for t in result.summary()["traffics"]}
    return {**groups, "timeouts": [float(result.summary()["network"]["timeouts"])]}


def draw_18(measures: Measures) -> Figure:
    """A dot per group and scheme, the paper's value of DCTCP as a line across."""
    figure = picture(6.8, 4.6)
    axes = figure.subplots()
    for side, scheme in enumerate(SCHEMES):
        heights = [mean(pooled(measures, (scheme, 0), group)) for group in GROUPS]
        timeouts = mean(pooled(measures, (scheme, 0), "timeouts"))
        places = [place + (side - 0.5) * 0.36 for place in range(len(GROUPS))]
        shown = {
            "color": scheme_line(scheme)["color"],
            "marker": style_of(scheme).marker_for_matplotlib(),
            "markersize": 8,
        }
        axes.plot(places, heights, linestyle="none", label=f"{scheme} ({timeouts:.0f} timeouts)", **shown)
        for place, height, (paper, *_) in zip(places, heights, GROUPS.values(), strict=True):
            away = (0, 7 if height > paper else -15)  # from the paper's line
            axes.annotate(f"{height:.1f}", (place, height), away, textcoords="offset points", ha="center", fontsize=9)
    for place, (paper, *_) in enumerate(GROUPS.values()):
        axes.plot([place - 0.4, place + 0.4], [paper, paper], color="black", linewidth=1.2, linestyle=":")
    axes.plot([], [], color="black", linewidth=1.2, linestyle=":", label="DCTCP in the paper")
    axes.set_yscale("log")
    log_ticks(axes)
    axes.set_ylim(20, 1000)
    axes.set_xticks(range(len(GROUPS)), ["S1 to R1\n(both bottlenecks)", "S3 to R1\n(1 Gb/s)", "S2 to R2\n(10 Gb/s)"])
    label_axes(axes, "DCTCP Fig. 18: two bottlenecks", "", "goodput per sender (Mb/s, log scale)")
    return figure


def rows_18(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig18-multihop`; with the same threshold at both rates beside it."""
    claim = "dctcp-fig18-multihop"
    timeouts = {scheme: sum(pooled(measures, (scheme, 0), "timeouts")) for scheme in SCHEMES}
    return [
        *(row for name in ("dctcp", LOW_K) for row in rows_18_rates(measures, name)),
        *Row.table(f"""
            {claim}
            timeouts of newreno, all seeds | some | {judge("strict", timeouts["newreno"], ".0f", "above 0")}
            timeouts of dctcp, all seeds | none told | {judge("strict", timeouts["dctcp"], ".0f", "0")}
        """),
    ]


def rows_18_rates(measures: Measures, name: str) -> list[Row]:
    """The rates of the groups. Ours are payload; the paper's add up to the whole link."""
    claim, judged = "dctcp-fig18-multihop", name == "dctcp"
    got = {group: over_seeds(measures, (name, 0), group) for group in GROUPS}
    wire = {group: got[group] * PACKET_BYTES / 1460 for group in GROUPS}
    worst = max(abs(got[group] / fair - 1) for group, (_, _, _, fair) in GROUPS.items())
    return [
        *(
            Row.of(
                claim,
                f"{name}: {group.upper()}, Mb/s | {paper:.0f} | {got[group]:.1f} ({wire[group]:.1f} with headers) "
                f"| {low:.0f} to {high:.0f} | {band(got[group], low, high)}",
                judged,
            )
            for group, (paper, low, high, _) in GROUPS.items()
        ),
        *Row.table(
            f"""
            {claim}
            {name}: farthest from its fair share | within 10 % | {worst * 100:.1f} % | within 12 %
                | {band(worst, 0, 0.12)}
            {name}: S1 at most S3 | 46, 54 | {got["s1"]:.1f}, {got["s3"]:.1f} | in this order
                | {order([got["s1"] <= got["s3"]])}
            """,
            judged,
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "dctcp-fig14",
        "queue and throughput of long flows",
        "dctcp/fig14-queue.toml",
        sweep_14,
        measure_14,
        draw_14,
        rows_14,
    ),
    Experiment("dctcp-fig18", "two bottlenecks", "dctcp/fig18-multihop.toml", sweep_18, measure_18, draw_18, rows_18),
)

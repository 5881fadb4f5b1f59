"""HPCC section 2.3: what DCQCN's timers (Fig. 2) and marking thresholds (Fig. 3) trade for each other in a pod."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin import Result
from fanin.measures import reported
from fanin.plot import indexed_line, label_axes, scheme_line, shades
from fanin_papers.common import log_ticks, mean, over_seeds, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict
from fanin_papers.hpcc_runs import DCQCN, HPCC, under

EDGES_KB = (0, 10, 30, 50, 80, 200, 1000, 2000, 5000, 10_000, 30_000)
"""Of the bins of message sizes."""
SHORT = ("measure.warm_up=1 ms", "measure.window=2 ms")


def sizes_and_slowdowns(result: Result) -> Measured:
    """The size in KB and the slowdown of each message of the load."""
    messages = reported(result).filter(pl.col("traffic") == "load")
    return {"kb": (messages["bytes"] / 1e3).to_list(), "slowdown": messages["slowdown"].to_list()}


def p95_by_size(measures: Measures, key: Key) -> list[float]:
    """The 95th percentile of slowdowns in each bin of sizes, over all seeds."""
    kb, slowdown = (np.array(pooled(measures, key, name)) for name in ("kb", "slowdown"))
    inside = [(kb > low) & (kb <= high) for low, high in itertools.pairwise(EDGES_KB)]
    return [float(np.percentile(slowdown[mine], 95)) if mine.any() else float("nan") for mine in inside]


def p95(measures: Measures, key: Key, low_kb: float, high_kb: float) -> float:
    """The 95th percentile of slowdowns of messages of these sizes, over all seeds."""
    kb, slowdown = (np.array(pooled(measures, key, name)) for name in ("kb", "slowdown"))
    mine = slowdown[(kb > low_kb) & (kb <= high_kb)]
    return float(np.percentile(mine, 95)) if mine.size else float("nan")


def draw_by_size(axes: Axes, measures: Measures, keys: Mapping[str, Key]) -> None:
    """The 95th percentile of slowdowns by size."""
    places = np.arange(len(EDGES_KB) - 1)
    for number, (label, key) in enumerate(keys.items()):
        axes.plot(places, p95_by_size(measures, key), marker="o", markersize=4, label=label, **indexed_line(number))
    names = [f"{high} KB" if high < 1000 else f"{high // 1000} MB" for high in EDGES_KB[1:]]
    axes.set_xticks(places, names, rotation=45, ha="right")
    axes.set_yscale("log")
    log_ticks(axes)


# Fig. 2: timers

TIMERS = {"55 us, 50 us": (55, 50), "300 us, 4 us": (300, 4), "900 us, 4 us": (900, 4)}
"""T_i and T_d: of DCQCN's paper, a vendor's, and the more conservative one of HPCC's authors."""
SHORT_KB = 30
"""Messages up to this size are short."""


def timers(name: str, *traffics: str) -> tuple[str, ...]:
    """The changes to the spec for two timers."""
    increase, cut = TIMERS[name]
    return tuple(
        f"traffic.{traffic}.scheme.{key}={value} us"
        for traffic in traffics
        for key, value in (("increase_timer", increase), ("cut_interval", cut))
    )


def sweep_2a(quick: bool) -> dict[Key, Change]:
    """Each pair of timers."""
    return {
        (name, seed): Change(None, (*timers(name, "load"), *(SHORT if quick else ())))
        for name in TIMERS
        for seed in seeds(quick)
    }


def draw_2a(measures: Measures) -> Figure:
    """The 95th percentile of slowdowns by size."""
    figure = picture(8, 5, "HPCC Fig. 2(a): DCQCN's timers in a pod of 230 servers")
    axes = figure.subplots()
    draw_by_size(axes, measures, {f"T_i, T_d = {name}": (name,) for name in TIMERS})
    label_axes(axes, "WebSearch at 30 %, 3 seeds of 30 ms", "message size up to", "95th percentile of the slowdown")
    return figure


def rows_2a(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig2a-timers`; beside it messages of the sizes that timers decide, and all sizes together."""
    claim, timed = "hpcc-fig2a-timers", "T_i, T_d = " + "; ".join(TIMERS)
    by_size = {name: p95_by_size(measures, (name,)) for name in TIMERS}
    readings = {
        "95th percentile of the slowdown above 30 KB, mean over sizes": [
            float(np.nanmean(by_size[name][2:])) for name in TIMERS
        ],
        "the same above 200 KB, which take several round trips": [
            float(np.nanmean(by_size[name][5:])) for name in TIMERS
        ],
        "the same up to 200 KB": [float(np.nanmean(by_size[name][2:5])) for name in TIMERS],
        "95th percentile of all above 30 KB together": [
            p95(measures, (name,), SHORT_KB, float("inf")) for name in TIMERS
        ],
    }
    rows = []
    for number, (what, found) in enumerate(readings.items()):
        rows.append(
            Row.of(
                claim,
                f"{what}, {timed} | aggressive timers have the smaller ones "
                f"| {'; '.join(f'{value:.2f}' for value in found)} | rises, over 3 seeds of 30 ms "
                f"| {order([low <= high for low, high in itertools.pairwise(found)])}",
                number == 0,
            )
        )
    first, *_, last = next(iter(readings.values()))
    rows += Row.table(f"""
        {claim}
        the last of the first row over its first | larger | {last / first:.2f} | at least 1.1
            | {order([last >= 1.1 * first])}
    """)
    return rows


INCASTS_TRACED = 4
DEGREE = 60
BDP_KB = 25e9 / 8 * 8e-6 / 1e3
"""Of a link of 25 Gb/s and the base round-trip time between racks, 8 us."""
W_INIT_KB = 25e9 / 8 * 9e-6 / 1e3
"""HPCC's with T = 9 us, as on the testbed (5.1)."""
BOTH = ("load", "incasts")


def sweep_2b(quick: bool) -> dict[Key, Change]:
    """Each pair of timers with incasts, and HPCC. The first seed traces the first incasts."""
    traced = ", ".join(f'"incasts:{number}"' for number in range(DEGREE * (1 if quick else INCASTS_TRACED)))
    sweep: dict[Key, Change] = {}
    for name in (*TIMERS, HPCC):
        for seed in seeds(quick):
            changes = under(HPCC, *BOTH) if name == HPCC else timers(name, *BOTH)
            trace = (f"measure.trace=[{traced}]",) if seed == 1 else ()
            sweep[name, seed] = Change(None, (*changes, *trace, *(SHORT if quick else ())))
    return sweep


def measure_2b(result: Result) -> Measured:
    """Pauses, the latency of short messages of the load, and what incasts have in flight."""
    network = result.summary()["network"]
    classes = result.classes().filter(pl.col("class") == 1)
    hosts = classes.filter(pl.col("port").str.starts_with("h"))
    messages = reported(result).filter((pl.col("traffic") == "load") & (pl.col("bytes") <= 1000 * SHORT_KB))
    return {
        "paused": [100 * network["paused_us"] / (network["stopped_us"] * classes.height)],
        "hosts paused": [float((hosts["paused_ps"] > 0).sum())],
        "fct_us": (messages["completion_ps"] / 1e6).to_list(),
        **in_flight(result),
    }


def in_flight(result: Result) -> Measured:
    """For each traced incast the most that its flows have in flight on average, and the most of a single flow, in KB of
    payload that has been sent and has not arrived."""
    hops = result.hops()
    if hops.is_empty():
        return {"mean_kb": [], "most_kb": []}
    sent = hops.filter(pl.col("node").cast(str).str.starts_with("h") & pl.col("port").is_not_null())
    came = hops.filter(pl.col("port").is_null())
    steps = pl.concat(
        [
            sent.select("message", "time_ps", pl.lit(1.0).alias("kb")),
            came.select("message", "time_ps", pl.lit(-1.0).alias("kb")),
        ]
    ).sort("time_ps", "kb")
    numbered = steps.with_columns(
        (pl.col("message").cast(str).str.split(":").list.last().cast(int) // DEGREE).alias("incast"),
        pl.col("kb").cum_sum().over("message").alias("own"),
    ).with_columns(pl.col("kb").cum_sum().over("incast").alias("all"))
    per_incast = numbered.group_by("incast", maintain_order=True).agg(pl.col("all").max() / DEGREE, pl.col("own").max())
    return {"mean_kb": per_incast["all"].to_list(), "most_kb": per_incast["own"].to_list()}


def draw_2b(measures: Measures) -> Figure:
    """Pauses, latency of short messages, and bytes in flight, as bars."""
    figure = picture(13, 4.8, "HPCC Fig. 2(b): WebSearch at 30 % and incasts of 60 to 1 in a pod, 3 seeds of 10 ms")
    names = [*TIMERS, HPCC]
    panels: Sequence[tuple[str, str, list[float]]] = (
        ("time that ports are paused", "share (%)", [mean(pooled(measures, (name,), "paused")) for name in names]),
        (
            "95th percentile of FCT up to 30 KB",
            "us",
            [float(np.percentile(pooled(measures, (name,), "fct_us"), 95)) for name in names],
        ),
        (
            "most in flight, mean of an incast",
            "B T at 25 Gb/s, 8 us",
            [max(pooled(measures, (name,), "mean_kb")) / BDP_KB for name in names],
        ),
    )
    labels = [f"DCQCN\n{name.replace(', ', chr(10))}" for name in TIMERS] + ["HPCC"]
    for axes, (title, unit, values) in zip(figure.subplots(1, 3), panels, strict=True):
        colours = [*shades(str(scheme_line(DCQCN)["color"]), 3), str(scheme_line(HPCC)["color"])]
        bars = axes.bar(range(len(names)), values, 0.7, color=colours)
        axes.bar_label(bars, [f"{value:,.0f}" if value > 100 else f"{value:.3g}" for value in values], fontsize=10)
        axes.set_xticks(range(len(names)), labels)
        axes.margins(y=0.12)
        label_axes(axes, title, "", unit)
    return figure


def rows_2b(measures: Measures) -> list[Row]:
    """Claims `hpcc-fig2b-pfc` and `hpcc-fig2b-inflight`."""
    claim, timed = "hpcc-fig2b-pfc", "T_i, T_d = " + "; ".join(TIMERS)
    paused = [over_seeds(measures, (name,), "paused") for name in TIMERS]
    late = [float(np.percentile(pooled(measures, (name,), "fct_us"), 95)) for name in TIMERS]
    rows = [
        Row.of(
            claim,
            f"{what}, {timed} | aggressive timers have the most "
            f"| {'; '.join(f'{value:,.0f}' if value > 100 else f'{value:.3g}' for value in values)} "
            "| falls, the first above the last, over 3 seeds of 10 ms "
            f"| {order([*(high >= low for high, low in itertools.pairwise(values)), values[0] > values[-1]])}",
        )
        for what, values in (
            ("time that ports are paused by PFC, %", paused),
            ("95th percentile of completion times up to 30 KB, us", late),
        )
    ]
    aggressive = next(iter(TIMERS))
    most = max(pooled(measures, (aggressive,), "mean_kb")) / BDP_KB
    hosts = over_seeds(measures, (aggressive,), "hosts paused")
    own = max(pooled(measures, (HPCC,), "most_kb"))
    claim = "hpcc-fig2b-inflight"
    return [
        *rows,
        Row.of(
            claim,
            f"most in flight of an incast's flow, mean of its 60, in B T: DCQCN, {aggressive} ({hosts:.0f} of 460 "
            f"links from hosts were paused) | at least 11 | {most:.1f} | at least 5 where PFC reaches hosts "
            f"| {band(most, 5, np.inf)}",
        ),
        *Row.table(f"""
            {claim}
            most that a flow has in flight, KB: HPCC, W_init = {W_INIT_KB:.1f} | at most a window | {own:.1f}
                | at most W_init and a packet | {strict(own <= W_INIT_KB + 1)}
        """),
    ]


# Fig. 3: thresholds

THRESHOLDS = {"12.5, 50 KB": (12.5, 50), "100, 400 KB": (100, 400), "400, 1600 KB": (400, 1600)}
"""K_min and K_max at 25 Gb/s. The paper prints only the last pair."""
LOADS = (30, 50)


def sweep_3(quick: bool) -> dict[Key, Change]:
    """Each pair of thresholds at both loads; four times as large at 100 Gb/s."""
    sweep: dict[Key, Change] = {}
    for (name, (low, high)), load, seed in itertools.product(THRESHOLDS.items(), LOADS, seeds(quick)):
        fast = f'{{ kind = "red", min = "{4 * low:g} KB", max = "{4 * high:g} KB", probability = 0.2 }}'
        changes = (
            f"network.marking.min={low:g} KB",
            f"network.marking.max={high:g} KB",
            f'network.marking_by_rate=[{{ rate = "100 Gbps", marking = {fast} }}]',
            f"traffic.load.load.share={load / 100}",
        )
        sweep[name, load, seed] = Change(None, (*changes, *(SHORT if quick else ())))
    return sweep


def draw_3(measures: Measures) -> Figure:
    """The 95th percentile of slowdowns by size at both loads."""
    figure = picture(12, 5, "HPCC Fig. 3: DCQCN's thresholds in a pod of 230 servers, WebSearch, 3 seeds of 30 ms")
    for axes, load, letter in zip(figure.subplots(1, 2, sharey=True), LOADS, "ab", strict=True):
        draw_by_size(axes, measures, {f"K_min, K_max = {name}": (name, load) for name in THRESHOLDS})
        unit = "95th percentile of the slowdown" if load == LOADS[0] else ""
        label_axes(axes, f"({letter}) load {load} %", "message size up to", unit, legend=load == LOADS[0])
    return figure


SMALL_KB, BIG_KB = 10, 1000


def rows_3(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig3-ecn-tradeoff`."""
    thresholds = "K_min, K_max = " + "; ".join(THRESHOLDS)
    rows, gaps = [], {}
    for small, what in ((True, "below 10 KB"), (False, "above 1 MB")):
        span = (0, SMALL_KB) if small else (BIG_KB, float("inf"))
        for load in LOADS:
            found = [p95(measures, (name, load), *span) for name in THRESHOLDS]
            gaps[small, load] = abs(found[-1] - found[0])
            rows += Row.table(f"""
                hpcc-fig3-ecn-tradeoff
                95th percentile of the slowdown {what} at {load} %, {thresholds}
                    | {"larger with high thresholds" if small else "smaller with high thresholds"}
                    | {"; ".join(f"{value:.2f}" for value in found)}
                    | {("rises" if small else "falls") + ", over 3 seeds of 30 ms"}
                    | {order([(low < high) == small for low, high in itertools.pairwise(found)])}
            """)
    for small, what in ((True, "below 10 KB"), (False, "above 1 MB")):
        first, second = (gaps[small, load] for load in LOADS)
        rows += Row.table(f"""
            hpcc-fig3-ecn-tradeoff
            difference between the highest and lowest thresholds {what}, at 30 %; 50 % | larger at 50 %
                | {first:.2f}; {second:.2f} | larger at 50 % | {order([second > first])}
        """)
    last = p95(measures, (list(THRESHOLDS)[-1], LOADS[-1]), 0, SMALL_KB)
    return [
        *rows,
        *Row.table(f"""
            hpcc-fig3-ecn-tradeoff
            95th percentile of the slowdown below 10 KB at 50 %, K = 400, 1600 KB | 30 (150 us) | {last:.1f} | 10 to 60
                | {band(last, 10, 60)}
        """),
    ]


EXPERIMENTS = (
    Experiment(
        "hpcc-fig2a", "DCQCN's timers", "hpcc/pod-websearch.toml", sweep_2a, sizes_and_slowdowns, draw_2a, rows_2a
    ),
    Experiment(
        "hpcc-fig2b", "DCQCN's timers and incasts", "hpcc/pod-incast.toml", sweep_2b, measure_2b, draw_2b, rows_2b
    ),
    Experiment(
        "hpcc-fig3", "DCQCN's thresholds", "hpcc/pod-websearch.toml", sweep_3, sizes_and_slowdowns, draw_3, rows_3
    ),
)
"""In the order of the paper."""

"""Dart's Fig. 3: an incast that meets a long flow."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import picture
from fanin_papers.dart_links import BASE_RTT_US, GOODPUT_GBPS, HEADER, LINE_BPS, MESSAGE, PAYLOAD, wire_us
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict

# Fig. 3: a long flow and an incast

INCAST = ("dcqcn", "dart-dasr", "dart-dasr-lookahead", "dart")
SAID = {
    "dcqcn": "DCQCN, without Dart",
    "dart-dasr": "Dart's rates, no look-ahead (dart-dasr)",
    "dart-dasr-lookahead": "Dart's rates, look-ahead (dart-dasr-lookahead)",
    "dart": "Dart whole: look-ahead, two lanes (dart)",
}
CROWDS = (1, 2, 4, 8, 16, 31)
CROWD = 16
"""The incast of the picture and of the repeated ones."""

PERIOD_US = 1000.0
EVERY = ", every 1 ms"
"""Marks the runs with repeated incasts."""

BEFORE_US, AFTER_US = 60.0, 240.0
"""The time span of the picture around the first message of the incast."""

RECOVERY_US = 3000.0
"""The time after it in which the long flow is evaluated."""

SINCE = "time since the first message of the incast was posted (us)"

BIN_US = 12.0
"""Ten full packets at line rate."""


def sweep_3(quick: bool) -> dict[Key, Change]:
    """One incast under each scheme and, for n, of each size; and an incast every millisecond."""
    runs: dict[Key, Change] = {(scheme, CROWD, 1): Change(scheme) for scheme in INCAST}
    for scheme in INCAST[1:]:
        for k in () if quick else CROWDS:
            if k != CROWD:
                runs[scheme, k, 1] = Change(scheme, (f"traffic.short.pattern.degree={k}", "measure.trace=['long:0']"))
    again = (
        "traffic.short.pattern.every=1 ms",
        "measure.trace=[]",
        "measure.series=[{ what = 'flow', where = ['long:0'], every = '1 us' }, "
        "{ what = 'queue', where = ['sw0>h0'], every = '1 us', zeros = true }]",
        f"measure.window={'11 ms' if quick else '101 ms'}",
        "measure.warm_up=1 ms",
    )
    return runs | {(f"{scheme}{EVERY}", CROWD, 1): Change(scheme, again) for scheme in INCAST}


def seen(result: Result, what: str, name: str, begin_us: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A value over time, in microseconds from an instant on."""
    rows = result.watch().filter(pl.col("what") == what, pl.col("name") == name).unique("time_ps").sort("time_ps")
    return rows["time_ps"].to_numpy() / 1e6 - begin_us, rows["value"].to_numpy().astype(np.float64)


def spans(times: NDArray[np.float64], below: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """The intervals in which it was so; one that lasts to the end is left out."""
    turns = np.flatnonzero(np.diff(below.astype(np.int8), prepend=0))
    return [(float(times[a]), float(times[b])) for a, b in zip(turns[::2], turns[1::2], strict=False)]


def measure_3(result: Result) -> Measured:
    """The feedback to the long flow and its rate; of a single incast also all that is drawn. Times count from its first
    message."""
    short = result.flows().filter(pl.col("traffic") == "short").sort("start_ps")
    begin_us = float(short["start_ps"].to_numpy().min()) / 1e6
    found: Measured = {}
    rate_us, rate = seen(result, "flow", "rate_bps", begin_us)
    n_us, n = seen(result, "flow", "n", begin_us)
    if n.size:
        _, cap = seen(result, "flow", "cap_bps", begin_us)
        rate = np.minimum(rate, cap)
        held = spans(n_us, cap < LINE_BPS)
        found["held_from_us"], found["held_to_us"] = [a for a, _ in held], [b for _, b in held]
        told = np.flatnonzero(n == n.max())
        found["n_max"], found["cap_bps"] = [float(n.max())], [float(cap[told].min())]
        found["told_us"] = [float(n_us[told[0]])]
    long = next(t for t in result.summary()["traffics"] if t["traffic"] == "long")
    found["goodput_gbps"] = [long["long_goodput_gbps"]]
    groups = short.group_by("group", maintain_order=True).agg(pl.col("start_ps").min())
    found["incasts_us"] = (groups["start_ps"].to_numpy() / 1e6 - begin_us).tolist()
    queue = result.series().sort("time_ps")
    queue_us = queue["time_ps"].to_numpy() / 1e6 - begin_us
    kept = np.searchsorted(queue_us, found["incasts_us"], side="right") - 1
    found["standing_kb"] = (queue["queue_bytes"].to_numpy()[kept] / 1e3).tolist()
    found["completion_us"] = (short["completion_ps"].drop_nulls().to_numpy() / 1e6).tolist()
    hops = result.hops()
    if hops["message"].n_unique() == 1 + short.height:
        found |= picture_3(result, hops, begin_us)
        found["rate_us"], found["rate_gbps"] = rate_us.tolist(), (rate / 1e9).tolist()
    return found


def picture_3(result: Result, hops: pl.DataFrame, begin_us: float) -> Measured:
    """The curves of a single incast."""
    series = result.series().sort("time_ps")
    short = result.flows().filter(pl.col("traffic") == "short").sort("start_ps")
    start_us = short["start_ps"].to_numpy() / 1e6 - begin_us
    n_us, n = seen(result, "receiver", "n", begin_us)
    at_receiver = hops.filter(pl.col("port").is_null())
    long, others = (at_receiver.filter((pl.col("message") == "long:0") == own) for own in (True, False))
    long_us = long["time_ps"].to_numpy() / 1e6 - begin_us
    # A packet carries the bytes up to the next one's offset: a list of senders is no payload.
    parts = others.sort("message", "seq_bytes").with_columns(
        (pl.col("seq_bytes").shift(-1).over("message").fill_null(MESSAGE) - pl.col("seq_bytes")).alias("payload")
    )
    edges = np.arange(-BEFORE_US, AFTER_US + BIN_US / 2, BIN_US)
    arrived, _ = np.histogram(parts["time_ps"].to_numpy() / 1e6 - begin_us, edges, weights=parts["payload"].to_numpy())
    after = (long_us > 0) & (long_us <= RECOVERY_US)
    return {
        "queue_us": (series["time_ps"].to_numpy() / 1e6 - begin_us).tolist(),
        "queue_kb": (series["queue_bytes"].to_numpy() / 1e3).tolist(),
        "n_us": n_us.tolist(),
        "n": n.tolist(),
        "bins_us": edges[:-1].tolist(),
        "arriving_gbps": (arrived * 8 / BIN_US / 1e3).tolist(),
        "start_us": start_us.tolist(),
        "finish_us": (start_us + short["completion_ps"].to_numpy() / 1e6).tolist(),
        "first_us": [float(others["time_ps"].to_numpy().min()) / 1e6 - begin_us],
        "lost_kb": [
            (GOODPUT_GBPS * RECOVERY_US / 8) - float(after.sum()) * PAYLOAD / 1e3 - short.height * MESSAGE / 1e3
        ],
    }


def draw_3(measures: Measures) -> Figure:
    """The queue, n, the rates and the messages over time, and the long flow's recovery on a longer axis."""
    figure = picture(9, 13.2)
    grid = figure.add_gridspec(6, 1, height_ratios=[1.2, 1, 1, 1, 2.3, 1])
    panels: list[Axes] = [figure.add_subplot(grid[place]) for place in range(6)]
    queue, told, rate, arriving, bars, recovery = panels
    for place, scheme in enumerate(INCAST):
        run = measures[scheme, CROWD, 1]
        shown = scheme_line(scheme) | {"label": SAID[scheme]}
        queue.plot(run["queue_us"], run["queue_kb"], **shown)
        told.step(run["n_us"], run["n"], where="post", **shown)
        for axes in (rate, recovery):
            axes.step(run["rate_us"], run["rate_gbps"], where="post", **shown)
        arriving.step(run["bins_us"], run["arriving_gbps"], where="post", **shown)
        top = place * (CROWD + 4)
        starts, ends = np.asarray(run["start_us"]), np.sort(run["finish_us"])
        bars.barh(
            top + np.arange(CROWD), ends - starts, left=starts, height=0.75, color=shown["color"], label=SAID[scheme]
        )
        bars.text(-4, top + CROWD / 2, scheme.replace("-look", "-\nlook"), fontsize=10, va="center", ha="right")
        bars.text(ends[-1] + 3, top + CROWD - 1, f"last at {ends[-1]:.0f} us", fontsize=10, va="center")
    label_axes(queue, "The switch's queue to the receiver", "", "queue (KB)")
    label_axes(told, "n, as the receiver tells it", "", "n (senders)")
    label_axes(rate, "The long flow's rate at its sender: the lower of C/n and DCQCN's", "", "rate (Gb/s)")
    label_axes(arriving, f"The {CROWD} short messages together, as they reach the receiver", "", "goodput (Gb/s)")
    label_axes(bars, f"The {CROWD} short messages of 8 KB, each from its post to its last byte", SINCE, "message")
    label_axes(recovery, "The long flow's rate again, on a longer time axis", SINCE, "rate (Gb/s)")
    for axes in panels:
        if (legend := axes.get_legend()) is not None:
            legend.remove()
        axes.set_xlim(-BEFORE_US, AFTER_US)
        axes.axvline(0, color="#888888", linewidth=0.8)
    for axes in panels[:4]:
        axes.set_ylim(bottom=0)
        axes.tick_params(labelbottom=False)
    height = 1.2 * max(max(measures[scheme, CROWD, 1]["queue_kb"]) for scheme in INCAST)
    queue.set_ylim(0, 1.1 * height)
    ends_kept = {"shrinkA": 0, "shrinkB": 0}
    queue.annotate("", (BASE_RTT_US, height), (0, height), arrowprops={"arrowstyle": "<->", **ends_kept})
    queue.text(BASE_RTT_US + 3, height, f"base RTT {BASE_RTT_US:.1f} us", fontsize=10, va="center")
    rate.text(60, 1.1, f"C/{CROWD + 1} = {LINE_BPS / (CROWD + 1) / 1e9:.2f} Gb/s", fontsize=10)
    arriving.text(14, 2.4, "dart: two lanes take turns", fontsize=10, color=scheme_line("dart")["color"])
    bars.set_yticks([])
    bars.invert_yaxis()
    recovery.set_xlim(-BEFORE_US, RECOVERY_US)
    recovery.set_ylim(bottom=0)
    handles, labels = queue.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize=10)
    return figure


def rows_3(measures: Measures) -> list[Row]:
    """Claims `dart-fig3-kplus1` and `dart-fig3-shortlived`, and numbers of the single incast for III-B and III-D."""
    rows = []
    for scheme in INCAST[1:]:
        for k in CROWDS:
            if (scheme, k, 1) in measures:
                run = measures[scheme, k, 1]
                exact = run["n_max"] == [k + 1] and run["cap_bps"] == [LINE_BPS / (k + 1)]
                ours = f"{run['n_max'][0]:g}, {run['cap_bps'][0] / 1e6:.1f} Mb/s"
                paper = f"{k + 1}, {LINE_BPS / (k + 1) / 1e6:.1f} Mb/s"
                rows += Row.table(f"""
                    dart-fig3-kplus1
                    {scheme}, k = {k}: n and C/n | {paper} | {ours} | equal | {strict(exact)}
                """)
    one = {scheme: measures[scheme, CROWD, 1] for scheme in INCAST}
    again = {scheme: measures[f"{scheme}{EVERY}", CROWD, 1] for scheme in INCAST}
    # The incast's own share of the receiver's line.
    packets = -(-MESSAGE // PAYLOAD)
    drain_us = wire_us(CROWD * (MESSAGE + packets * HEADER))
    limit_us = drain_us + 2 * BASE_RTT_US
    enough = 0.98 * (GOODPUT_GBPS - CROWD * MESSAGE * 8 / PERIOD_US / 1e3)
    claim = "dart-fig3-shortlived"
    for scheme in INCAST[1:]:
        run = again[scheme]
        held = [b - a for a, b in zip(run["held_from_us"], run["held_to_us"], strict=True)]
        rows += Row.table(f"""
            {claim}
            {scheme}: the long flow is held, longest of {len(held)} incasts | as long as the short flows
                | {max(held):.0f} us | at most {limit_us:.0f} us, drain and 2 RTT | {band(max(held), 0, limit_us)}
            {scheme}: goodput of the long flow, an incast every 1 ms | not hurt | {run["goodput_gbps"][0]:.2f} Gb/s
                | at least {enough:.2f} Gb/s, what the incasts leave less 2 %
                | {band(run["goodput_gbps"][0], enough, GOODPUT_GBPS)}
        """)
    # How long after an incast's first message the long flow is held; up to the first one the runs are equal.
    after = {
        scheme: [a - b for a, b in zip(again[scheme]["held_from_us"], again[scheme]["incasts_us"], strict=False)]
        for scheme in ("dart-dasr", "dart-dasr-lookahead")
    }
    plain, ahead = after["dart-dasr"], after["dart-dasr-lookahead"]
    median = {scheme: float(np.median(run["completion_us"])) for scheme, run in again.items()}
    told = [
        f"{scheme} {median[scheme]:.0f} and {max(run['completion_us']):.0f} us, {np.mean(run['standing_kb']):.0f} KB"
        for scheme, run in again.items()
    ]
    rows += [
        *Row.table(f"""
            {claim}
            from an incast's post to the hold, dart-dasr and dart-dasr-lookahead: the first, mean
                | earlier with look-ahead
                | {plain[0]:.0f} and {ahead[0]:.0f} us, {np.mean(plain):.0f} and {np.mean(ahead):.0f} us
                | look-ahead no later | {strict(bool(ahead[0] <= plain[0] and np.mean(ahead) <= np.mean(plain)))}
            goodput of the long flow under DCQCN and dart-dasr | DCQCN's is lower
                | {again["dcqcn"]["goodput_gbps"][0]:.2f} and {again["dart-dasr"]["goodput_gbps"][0]:.2f} Gb/s
                | in order | {strict(again["dcqcn"]["goodput_gbps"][0] < again["dart-dasr"]["goodput_gbps"][0])}
            {claim} (every 1 ms)
            short messages: median and longest completion; mean queue that an incast finds
                | latency is not hurt: below DCQCN's | {"; ".join(told)} | each median below DCQCN's
                | {order([median[scheme] < median["dcqcn"] for scheme in INCAST[1:]])}
        """),
        *rows_of_one(one),
    ]
    return rows


def rows_of_one(one: dict[str, Measured]) -> list[Row]:
    """The picture in numbers; times are samples of 1 us."""

    def each(schemes: tuple[str, ...], text: dict[str, str]) -> str:
        return "; ".join(f"{scheme} {text[scheme]}" for scheme in schemes)

    told = {s: one[s]["told_us"][0] - one[s]["first_us"][0] for s in INCAST[1:]}
    back = {s: one[s]["held_to_us"][-1] - max(one[s]["finish_us"]) for s in INCAST[1:]}
    last = {s: max(one[s]["finish_us"]) for s in INCAST}
    lost = {s: one[s]["lost_kb"][0] for s in INCAST}
    peak = {s: max(one[s]["queue_kb"]) for s in INCAST}
    ahead = [told[s] < told["dart-dasr"] for s in ("dart-dasr-lookahead", "dart")]
    return Row.table(f"""
        dart-fig3-shortlived (one incast)
        from the incast's first packet at the receiver to 1/{CROWD + 1} at the long flow's sender
            | earlier with look-ahead | {each(INCAST[1:], {s: f"{us:.0f} us" for s, us in told.items()})}
            | both with look-ahead before dart-dasr | {order(ahead)}
        from the last short message's end to line rate again | only for the duration of the short flows
            | {each(INCAST[1:], {s: f"{us:.0f} us" for s, us in back.items()})}
            | at most 2 RTT, {2 * BASE_RTT_US:.0f} us | {band(max(back.values()), 0, 2 * BASE_RTT_US)}
        completion of the last short message | latency is not hurt: below DCQCN's
            | {each(INCAST, {s: f"{us:.1f} us" for s, us in last.items()})} | each below DCQCN's
            | {order([last[s] < last["dcqcn"] for s in INCAST[1:]])}
        lost by the long flow in {RECOVERY_US / 1000.0:g} ms, beyond the incast's own bytes; highest queue
            | does not hurt the long flow's throughput
            | {each(INCAST, {s: f"{lost[s]:.0f} KB, {peak[s]:.0f} KB" for s in INCAST})} | each loses less than DCQCN
            | {order([lost[s] < lost["dcqcn"] for s in INCAST[1:]])}
    """)


EXPERIMENTS = (
    Experiment("dart-fig3", "a long flow meets an incast", "dart/fig3-incast.toml", sweep_3, measure_3, draw_3, rows_3),
)

"""DCTCP section 2.3.2: an incast event (Fig. 7), and requests with and without jitter (Fig. 8)."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin import Result
from fanin import measures as of
from fanin.plot import indexed_line, label_axes, legend_below
from fanin_papers.common import over_seeds, picture, pooled, quantile, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict

RTO_MS = 300
WORKERS = 43

# Fig. 7: one response is lost

WITH, WITHOUT = "two long flows", "no long flows"
NEVER = "traffic.long.start=399 s"
"""The long flows begin after the queries are done."""


def sweep_7(quick: bool) -> dict[Key, Change]:
    """With and without the long flows."""
    rounds = ("traffic.queries.pattern.rounds=100",) if quick else ()
    changes = {WITH: (), WITHOUT: (NEVER,)}
    return {(name, 43, seed): Change(None, (*changes[name], *rounds)) for name in changes for seed in seeds(quick)}


def asked(result: Result) -> pl.DataFrame:
    """The responses of all queries: when each was asked for and arrived, in ms after the query began, its packets that
    were sent again, and its timeouts."""
    flows = result.flows().filter(pl.col("traffic") == "queries").with_columns(pl.col("src_name", "dst_name").cast(str))
    begun = pl.col("start_ps").min().over("group")
    table = flows.with_columns(
        from_begin=(pl.col("start_ps") - begun).cast(pl.Float64) / 1e9,
        until_ms=(pl.col("start_ps") + pl.col("completion_ps") - begun).cast(pl.Float64) / 1e9,
    )
    requests = table.filter(pl.col("request")).select("group", worker="dst_name", asked_ms="from_begin")
    answers = table.filter(~pl.col("request")).select(
        "group", "packets_resent", "timeouts", worker="src_name", posted_ms="from_begin", arrived_ms="until_ms"
    )
    return answers.join(requests, on=["group", "worker"]).sort("group", "asked_ms")


def measure_7(result: Result) -> Measured:
    """Times of responses, of those that lost a packet, and the first query in which just one response was late."""
    table = asked(result)
    lost = table.filter(pl.col("packets_resent") > 0)
    late = pl.col("arrived_ms") >= RTO_MS
    one = table.group_by("group").agg(late.sum().alias("late")).filter(pl.col("late") == 1).sort("group")
    event = table.filter(pl.col("group") == one["group"][0]) if one.height else table.clear()
    return {
        "in_time_ms": table.filter(pl.col("packets_resent") == 0)["arrived_ms"].to_list(),
        "lost_ms": (lost["arrived_ms"] - lost["posted_ms"]).to_list(),
        "queries_with_loss": [float(lost["group"].n_unique())],
        "queries": [float(table["group"].n_unique())],
        "asked_ms": event["asked_ms"].to_list(),
        "arrived_ms": event["arrived_ms"].to_list(),
    }


def draw_7(measures: Measures) -> Figure:
    """The paper's timeline of one query: from each request to its response, worker by worker."""
    figure = picture(10, 5.2, "DCTCP Fig. 7: a query of 43 workers beside two long flows, smallest timeout 300 ms")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    run = next((run for key, run in measures.items() if key[0] == WITH and run["asked_ms"]), measures[(WITH, 43, 1)])
    for axes in (left, right):
        for place, (begin, end) in enumerate(zip(run["asked_ms"], run["arrived_ms"], strict=True)):
            colour = indexed_line(1 if end >= RTO_MS else 0)["color"]
            axes.plot([begin, end], [place, place], color=colour, linewidth=1.4)
            axes.plot([begin], [place], marker="|", color="black", markersize=6)
            axes.plot([end], [place], marker="o", color=colour, markersize=4)
    in_time = [end for end in run["arrived_ms"] if end < RTO_MS]
    left.set_xlim(-0.3, max(in_time, default=1) * 1.05)
    left.plot([], [], marker="|", color="black", linestyle="none", label="request sent")
    left.plot([], [], marker="o", label="response", **(indexed_line(0) | {"linestyle": "-"}))
    left.plot([], [], marker="o", label="response after a loss", **(indexed_line(1) | {"linestyle": "-"}))
    late = max(run["arrived_ms"], default=RTO_MS)
    right.set_xlim(late - 12, late + 3)
    label_axes(left, "", "time after the first request (ms)", "worker, by the time of its request", legend=False)
    label_axes(right, "", "time (ms)", "")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


def rows_7(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig7-incast-event`."""
    lost = {name: pooled(measures, (name, 43), "lost_ms") for name in (WITH, WITHOUT)}
    queries = {name: sum(pooled(measures, (name, 43), "queries")) for name in (WITH, WITHOUT)}
    struck = {name: sum(pooled(measures, (name, 43), "queries_with_loss")) for name in (WITH, WITHOUT)}
    transfer_ms = WORKERS * 2000 * 8 / 1e6
    in_time = pooled(measures, (WITH, 43), "in_time_ms")
    soonest = min(lost[WITH], default=0.0)
    return Row.table(f"""
        dctcp-fig7-incast-event
        43 x 2 KB at 1 Gb/s, ms | about 1 | {transfer_ms:.2f} | 0.69 | {strict(round(transfer_ms, 2) == 0.69)}
        responses with a packet lost: soonest arrival after the server sent it, ms | 320: a loss is a timeout
            | {soonest:.1f} ({len(lost[WITH])} responses) | at least 300 | {strict(soonest >= RTO_MS)}
        {WITHOUT}: responses with a packet lost | none: 86 KB need 1 ms
            | {len(lost[WITHOUT])} in {queries[WITHOUT]:.0f} queries | 0 | {strict(not lost[WITHOUT])}
        {WITH}: queries with a response lost | they happen | {struck[WITH]:.0f} of {queries[WITH]:.0f} | above 0
            | {strict(struck[WITH] > 0)}
        {WITH}: responses without loss, 0.1th to 99.9th percentile, ms after the query began | 1.1 to 13.5 in one query
            | {quantile(in_time, 0.001):.1f} to {quantile(in_time, 0.999):.1f} | none: depends on the servers
            | (calibrated)
    """)


# Fig. 8: jitter

SPREAD, JITTER = 0.8, 10.0
"""Requests are sent over so many ms, without and with jitter."""
UPDATES = "updates of 10 MB now and then"
SLOW = "two long flows, servers answer after 0.1 to 10 ms"
AT_ONCE = 'traffic.queries.pattern.service_time="0 ps"'
BACKGROUNDS = {
    WITH: (AT_ONCE, "traffic.queries.pattern.rounds=2000"),
    SLOW: (),
    UPDATES: (
        AT_ONCE,
        'traffic.long.pattern={ kind = "poisson", receivers = ["h0"] }',
        'traffic.long.size={ fixed = "10 MB" }',
        'traffic.long.load={ of = "receiver-link", share = 0.2 }',
        "traffic.queries.pattern.think_time=2 ms",
        "traffic.queries.pattern.rounds=20000",
        "measure.window=30 s",
    ),
    WITHOUT: (AT_ONCE, NEVER),
}
"""What else comes to the client's port; servers answer at once where the name does not say otherwise."""


def sweep_8(quick: bool) -> dict[Key, Change]:
    """Each background with and without jitter."""
    short = ("traffic.queries.pattern.rounds=50",) if quick else ()
    return {
        (name, f"{jitter:g} ms", seed): Change(
            None, (*changes, f"traffic.queries.pattern.jitter={jitter:g} ms", *short)
        )
        for name, changes in BACKGROUNDS.items()
        for jitter in (SPREAD, JITTER)
        for seed in seeds(quick)
    }


def measure_8(result: Result) -> Measured:
    """Completion time of each query."""
    table = of.queries(result).filter(pl.col("traffic") == "queries").drop_nulls("completion_ps")
    return {
        "completion_ms": (table["completion_ps"].to_numpy() / 1e9).tolist(),
        "timed_out": (table["timeouts"] > 0).cast(pl.Float64).to_list(),
    }


def draw_8(measures: Measures) -> Figure:
    """The share of queries that take longer, with and without jitter, for each background."""
    figure = picture(11, 8.4, "DCTCP Fig. 8: queries of 43 workers with requests spread over 0.8 and 10 ms")
    for axes, name in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, BACKGROUNDS, strict=True):
        for number, (jitter, said) in enumerate(((SPREAD, "without jitter"), (JITTER, "10 ms of jitter"))):
            draw_tail(axes, pooled(measures, (name, f"{jitter:g} ms"), "completion_ms"), number, said)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.7, 1500)
        axes.set_ylim(3e-4, 1.3)
        for share, text in ((0.5, "p50"), (0.05, "p95"), (0.001, "p99.9")):
            axes.axhline(share, color="#888888", linewidth=0.8, linestyle=":")
            axes.text(70, share * 1.08, text, fontsize=9, ha="center", color="#555555")
        label_axes(axes, name, "query completion (ms, log scale)", "share that takes longer", legend=False)
    legend_below(figure, axes)
    return figure


def draw_tail(axes: Axes, values: list[float], number: int, label: str) -> None:
    """One curve."""
    rising = np.sort(np.asarray(values))
    above = 1 - np.arange(rising.size) / max(rising.size, 1)
    axes.step(rising, above, where="post", label=label, **indexed_line(number))


def rows_8(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig8-jitter` beside two long flows, and beside other traffics."""
    rows = []
    for name in BACKGROUNDS:
        judged = name == WITH
        times = {jitter: pooled(measures, (name, f"{jitter:g} ms"), "completion_ms") for jitter in (SPREAD, JITTER)}
        for share, paper in ((0.5, "10"), (0.95, "10"), (0.999, "0.5")):
            with_jitter, without = quantile(times[JITTER], share), quantile(times[SPREAD], share)
            ratio = with_jitter / without
            far = share == 0.999
            rows.append(
                Row.of(
                    "dctcp-fig8-jitter",
                    f"{name}: p{share * 100:g} with jitter / without | {paper} "
                    f"| {ratio:.2f} ({with_jitter:.1f} and {without:.1f} ms) "
                    f"| {'at most 1 / 1.2' if far else '3 to 20'} "
                    f"| {strict(ratio <= 1 / 1.2) if far else band(ratio, 3, 20)}",
                    judged,
                )
            )
        late = {jitter: over_seeds(measures, (name, f"{jitter:g} ms"), "timed_out") for jitter in (SPREAD, JITTER)}
        rows += Row.table(f"""
            dctcp-fig8-jitter
            {name}: queries with a timeout, with and without jitter | fewer with jitter
                | {late[JITTER]:.2%} and {late[SPREAD]:.2%} | in this order | ({order([late[JITTER] < late[SPREAD]])})
        """)
    return rows


EXPERIMENTS = (
    Experiment(
        "dctcp-fig7",
        "an incast event beside long flows",
        "dctcp/fig7-incast-event.toml",
        sweep_7,
        measure_7,
        draw_7,
        rows_7,
    ),
    Experiment(
        "dctcp-fig8",
        "requests with and without jitter",
        "dctcp/fig7-incast-event.toml",
        sweep_8,
        measure_8,
        draw_8,
        rows_8,
    ),
)

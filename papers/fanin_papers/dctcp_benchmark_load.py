"""DCTCP section 4.3: the benchmark with ten times the sizes and a third of its large flows.

How many of the background flows are large is read from a plot (Fig. 4). With a quarter above 1 MB ten times their sizes
are 38 % of the servers' links, and every short message shares its port with one sooner or later; here 8 % are above
1 MB, which are 13 % of these. Windows are kept between queries.

Deep buffers are also run with the hosts' default timeout of 300 ms: 1 MB of answers takes 9 ms to leave, so that with
one of 10 ms many timeouts are needless.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from fanin.plot import label_axes
from fanin_papers.common import picture, seeds
from fanin_papers.dctcp import SCHEMES
from fanin_papers.dctcp_benchmark import colour, late, p95
from fanin_papers.dctcp_benchmark_runs import (
    DEEP,
    KEPT,
    LARGE,
    RED,
    SHORT,
    SIZES,
    SWITCHES,
    TENFOLD,
    TRAFFICS,
    Sizes,
    background,
    measure,
    queries,
    run,
)
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, band, order

ABOVE = 8
"""Per cent of the flows above 1 MB, instead of 25."""

FEWER: Sizes = tuple(
    (size, share * (100 - ABOVE) / 75 if size <= LARGE else 100 - (100 - share) * ABOVE / 25) for size, share in SIZES
)

PATIENT, PATIENT_FEWER = (f"newreno, deep buffer, smallest timeout of 300 ms, {share} %" for share in (25, ABOVE))
SLOW = {scheme: f"{scheme}, smallest timeout of 100 ms" for scheme in SCHEMES}
"""The first and these with the sizes of Fig. 25."""


def smallest_timeout(ms: int) -> tuple[str, ...]:
    """Of all traffics."""
    return tuple(f"traffic.{name}.tcp.min_rto={ms} ms" for name in TRAFFICS)


def sweep(quick: bool) -> dict[Key, Change]:
    """DCTCP with and without the factor, the others with it."""
    runs: dict[Key, Change] = {}
    fewer = (*background(FEWER, 10), *queries(1000), "measure.window=3 s")
    shorter = "measure.window=2 s"
    for seed in seeds(quick):
        runs[PATIENT, 10, seed] = run(DEEP, KEPT, quick, *TENFOLD, *smallest_timeout(300), shorter)
        runs[PATIENT_FEWER, 10, seed] = run(DEEP, KEPT, quick, *fewer, *smallest_timeout(300))
        for scheme, slow in SLOW.items():
            runs[slow, 10, seed] = run(scheme, KEPT, quick, *TENFOLD, *smallest_timeout(100), shorter)
        runs["dctcp", 1, seed] = run("dctcp", KEPT, quick, *background(FEWER, 1))
        for name in SWITCHES:
            runs[name, 10, seed] = run(name, KEPT, quick, *fewer)
    return runs


def draw(measures: Measures) -> Figure:
    """Bars as in Fig. 25."""
    figure = picture(14, 4.8, f"DCTCP Fig. 25 with {ABOVE} % of the background flows above 1 MB instead of 25 %")
    panels = figure.subplots(1, 3)
    for place, name in enumerate(SWITCHES):
        values = (p95(measures, name, 10, SHORT), p95(measures, name, 10, "query_ms"), late(measures, name, 10))
        for axes, value in zip(panels, values, strict=True):
            axes.bar(place, value, width=0.7, color=colour(name))
            shown = f"{value:.3g}" if value >= 1 else f"{value:.2f}"
            axes.annotate(shown, (place, value), (0, 3), textcoords="offset points", ha="center", fontsize=10)
    for axes, title, y in zip(
        panels,
        (f"{SHORT}: 95th percentile", "queries: 95th percentile", "queries with a timeout"),
        ("completion (ms)", "completion (ms)", "queries with a timeout (%)"),
        strict=True,
    ):
        axes.set_xticks(range(len(SWITCHES)), [name.replace(", ", ",\n") for name in SWITCHES])
        axes.margins(y=0.12)
        label_axes(axes, title, "", y, legend=False)
    return figure


def rows(measures: Measures) -> list[Row]:
    """Beside the claims `dctcp-fig25-scaled` and `dctcp-fig25-deep-red`."""
    scaled, switches = f"dctcp-fig25-scaled ({KEPT})", f"dctcp-fig25-deep-red ({KEPT})"
    tail = {name: p95(measures, name, 10, SHORT) for name in SWITCHES}
    query = {name: p95(measures, name, 10, "query_ms") for name in SWITCHES}
    share = {name: late(measures, name, 10) for name in SWITCHES}
    ratio = tail["dctcp"] / p95(measures, "dctcp", 1, SHORT)
    slow = {scheme: p95(measures, name, 10, "query_ms") for scheme, name in SLOW.items()}
    what = f"{ABOVE} % of the flows above 1 MB"
    return Row.table(f"""
        {scaled}
        {what}: queries with a timeout, newreno, dctcp | 92 %, 0.3 % | {share["newreno"]:.1f} %, {share["dctcp"]:.2f} %
            | 60 to 100 %, at most 2 % | ({order([share["newreno"] >= 60, share["dctcp"] <= 2])})
        {what}: 95th percentile of queries and of {SHORT}, ms, newreno, dctcp | 136 and 14 less with dctcp
            | {query["newreno"]:.1f}, {query["dctcp"]:.1f}; {tail["newreno"]:.1f}, {tail["dctcp"]:.1f}
            | at least 50 and 5 less
            | ({order([query["newreno"] - query["dctcp"] >= 50, tail["newreno"] - tail["dctcp"] >= 5])})
        {what}: 95th percentile of dctcp's {SHORT} over that without the factor | unchanged | {ratio:.2f} | 0.7 to 1.3
            | ({band(ratio, 0.7, 1.3)})
        {switches}
        {what}: queries with a timeout, deep buffer, RED | below 1 %, 95 % | {share[DEEP]:.2f} %, {share[RED]:.2f} %
            | below 2 %, above 50 % | ({order([share[DEEP] < 2, share[RED] > 50])})
        {what}: 95th percentile of {SHORT} with a deep buffer, ms | above 80 | {tail[DEEP]:.1f} | above 50
            | ({order([tail[DEEP] > 50])})
        deep buffer, smallest timeout of 300 ms, 25 and {ABOVE} % above 1 MB: queries with a timeout | below 1 %
            | {", ".join(f"{late(measures, name, 10):.2f} %" for name in (PATIENT, PATIENT_FEWER))} | below 2 %
            | ({order([late(measures, name, 10) < 2 for name in (PATIENT, PATIENT_FEWER)])})
        {scaled}
        smallest timeout of 100 ms, 25 % above 1 MB: 95th percentile of queries, ms, newreno, dctcp
            | 136 less with dctcp | {slow["newreno"]:.1f}, {slow["dctcp"]:.1f} | at least 50 less
            | ({order([slow["newreno"] - slow["dctcp"] >= 50])})
    """)


EXPERIMENTS = (
    Experiment(
        "dctcp-fig25-load",
        "the benchmark with ten times the sizes and fewer large flows",
        "dctcp/fig23-benchmark.toml",
        sweep,
        measure,
        draw,
        rows,
        ("25",),
    ),
)

"""The papers' testbeds on a wire: HPCC Fig. 9 and Dart Fig. 8 to 10 in processes that exchange frames over UDP.

Each run is made in the simulator and on the wire in virtual time (docs/wire.md), measured and drawn by the code of the
experiment in the simulator. On the wire one seed of each case runs, and there are no credits and no captures: the
network of Dart's testbed has PFC instead of InfiniBand's credits, and the time until a sender has slowed down is that
at which the gap between two of its packets is longer, instead of that of a packet in a capture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from fanin import Result
from fanin.jobs import PLACES
from fanin.plot import label_axes, scheme_line
from fanin_papers import dart_testbed, dart_testbed_incast, hpcc_testbed
from fanin_papers.common import cdf, picture, pooled, quantile
from fanin_papers.dart_testbed import HARDWARE, LONG_BURSTS, NEXT_ACK, PACKET_US, PAPER_US, SOFTWARE
from fanin_papers.dart_testbed_incast import DASR, INFINIBAND, STEP_2
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, strict
from fanin_papers.hpcc_runs import watched

SIMULATOR, WIRE = PLACES

Draw = Callable[[Measures], Figure]
Rows = Callable[[Measures], list[Row]]


def in_both(runs: Mapping[Key, Change], *more: str) -> dict[Key, Change]:
    """These runs of seed 1, with more changes, in each place, which is the first part of their keys."""
    return {
        (place, *key): replace(change, set=(*change.set, *more), wire=place == WIRE)
        for key, change in runs.items()
        if key[-1] == 1
        for place in PLACES
    }


def of_place(measures: Measures, place: str) -> dict[Key, Measured]:
    """The runs of one place, by the keys that they have in the simulator's experiment."""
    return {key[1:]: measured for key, measured in measures.items() if key[0] == place}


def compared(result: Result, measured: Measured) -> Measured:
    """What was measured, and hashes of all arrivals, of the table of messages, and of the counters of all classes."""
    tables = (result.flows(), result.classes())
    of_tables = (hashlib.sha256(table.write_csv().encode()).hexdigest() for table in tables)
    told = [str(result.manifest["event_hash"]), *of_tables]
    # Numbers that a float holds exactly.
    return {**measured, "hashes": [float(int(text[at : at + 8], 16)) for text in told for at in (0, 8)]}


def rows_of(rows: Rows) -> Rows:
    """The rows of an experiment in the simulator, with what they say on the wire; and how many runs are equal."""

    def both(measures: Measures) -> list[Row]:
        simulated, wired = (of_place(measures, place) for place in PLACES)
        of_both = list(zip(rows(simulated), rows(wired), strict=True))
        equal = sum(simulated[key] == wired[key] for key in simulated)
        packets = "arrivals, messages, counters and samples"
        count = Row.of(
            labelled(of_both[0][0].claim),
            f"runs on the wire, of {len(wired)}, with the {packets} of the simulator's | none | {equal!s} "
            f"| all, to the picosecond | ({strict(equal == len(wired))})",
        )
        shown = [
            replace(wire, claim=labelled(wire.claim), ours=f"{wire.ours}; simulator: {simulator.ours}", judged=False)
            for simulator, wire in of_both
        ]
        return [count, *shown]

    return both


def labelled(claim: str) -> str:
    """The claim's id with the setting of these rows, which do not decide it."""
    return f"{claim[:-1]}, on the wire)" if claim.endswith(")") else f"{claim} (on the wire)"


def draw_of(draw: Draw) -> Draw:
    """The picture of an experiment as the simulator has it, and below it as it is on the wire."""

    def both(measures: Measures) -> Figure:
        figure = Figure(layout="constrained")
        heights = []
        for axes, place in zip(figure.subplots(2, 1), PLACES, strict=True):
            drawn = draw(of_place(measures, place))
            picture = BytesIO()
            drawn.savefig(picture, dpi=150, format="png")
            picture.seek(0)
            axes.imshow(imread(picture))
            axes.set_axis_off()
            axes.set_title("in the simulator" if place == SIMULATOR else "on the wire, in virtual time", fontsize=14)
            heights.append(drawn.get_figheight())
            width = drawn.get_figwidth()
        figure.set_size_inches(width, sum(heights) + 0.8)
        return figure

    return both


# HPCC Fig. 9


def sweep_ab(quick: bool) -> dict[Key, Change]:
    """Both schemes."""
    ports = "{ what = 'port', where = ['h1>sw0', 'h2>sw0'], every = '5 us' }"
    return in_both(hpcc_testbed.sweep_ab(quick), f"measure.series=[{ports}]")


def measure_ab(result: Result) -> Measured:
    """As in the simulator."""
    return compared(result, hpcc_testbed.measure_ab(result))


def sweep_cd(quick: bool) -> dict[Key, Change]:
    """Both schemes."""
    queue = "{ what = 'queue', where = ['sw0>h0'], every = '1 us', zeros = true }"
    return in_both(hpcc_testbed.sweep_cd(quick), f"measure.series=[{queue}]")


def measure_cd(result: Result) -> Measured:
    """As in the simulator."""
    return compared(result, hpcc_testbed.measure_cd(result))


def sweep_ef(quick: bool) -> dict[Key, Change]:
    """All schemes, with a sample of the queue every 10 us instead of every 1 us."""
    queue = "{ what = 'queue', where = ['sw0>h0'], every = '10 us', zeros = true }"
    return in_both(hpcc_testbed.sweep_ef(quick), f"measure.series=[{queue}]")


def measure_ef(result: Result) -> Measured:
    """As in the simulator."""
    return compared(result, hpcc_testbed.measure_ef(result))


def sweep_gh(quick: bool) -> dict[Key, Change]:
    """Both schemes, with steps of 50 ms instead of the paper's second; the short version ends after the last flow has
    joined."""
    short = ("measure.window=160 ms",) if quick else ()
    return in_both(hpcc_testbed.sweep_gh(quick=True), *short)


def measure_gh(result: Result) -> Measured:
    """As in the simulator."""
    return compared(result, hpcc_testbed.measure_gh(result))


# Dart Fig. 8 and 9

EVERY_US = 0.5
"""Between two samples of what the long flow's sender has sent: less than a packet takes."""
NO_PAUSES = "network.buffer={ policy = 'lossless', per_port = '1 MB' }"


def sweep_bursts(quick: bool) -> dict[Key, Change]:
    """As the paper decomposes it; with an n that waits for the next message; by the NIC; and long bursts."""
    found = {}
    for key, change in dart_testbed.sweep(quick).items():
        long = key[0] == LONG_BURSTS
        # The table is replaced as a whole: it has a capture.
        kept = tuple(text for text in change.set if not text.startswith("measure."))
        series = "what = 'traffic', where = ['lfs'], every = '20 us'"
        if not long:
            series = f"what = 'port', where = ['lfs>sw'], every = '{EVERY_US} us'"
        window = (170 if quick else 500) if long else (3 if quick else 12)
        measured = f"measure={{ window = '{window} ms', drain = false, series = [{{ {series} }}] }}"
        found[key] = replace(change, set=(*kept, NO_PAUSES, measured))
    return in_both(found)


def measure_bursts(result: Result) -> Measured:
    """Of long bursts the throughput by groups of messages, of short ones the times until the long flow is slower."""
    if (result.watch()["name"] == "delivered_bytes").any():
        return compared(result, dart_testbed.measure_throughput(result))
    time_us, sent = watched(result, "sent_bytes", "lfs>sw")
    return compared(result, {"slower_us": slower(time_us, sent, dart_testbed.starts_us(result))})


def slower(time_us: NDArray[np.float64], sent: NDArray[np.float64], starts: NDArray[np.float64]) -> list[float]:
    """For each start of a burst, the time until the sender of these bytes has waited for more than a packet's time
    between two packets for the first time."""
    begun = time_us[1:][np.diff(sent) > 0]
    # Two packets at full rate are at most a packet's time and a sample apart.
    waits = begun[:-1][np.diff(begun) > PACKET_US + EVERY_US]
    next_ = np.searchsorted(waits, starts)
    return [float(waits[at] + PACKET_US - start) for at, start in zip(next_, starts, strict=True) if at < waits.size]


def draw_bursts(measures: Measures) -> Figure:
    """Fig. 9(a), and the times until the long flow is slower."""
    figure = picture(12, 4.8)
    left, right = figure.subplots(1, 2)
    dart_testbed.draw_throughput(left, measures)
    colour = scheme_line("dart-dasr")["color"]
    for case, dashes in ((SOFTWARE, "-"), (NEXT_ACK, "-."), (HARDWARE, "--")):
        cdf(right, pooled(measures, (case,), "slower_us"), label=case, color=colour, linestyle=dashes, linewidth=1.6)
    right.plot(list(PAPER_US.values()), list(PAPER_US), "k+", markersize=10, label="paper, software")
    right.set_xlim(0, 60)
    label_axes(right, "(b) time until the long flow is slower", "time (us)", "share of bursts", legend=False)
    right.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def rows_bursts(measures: Measures) -> list[Row]:
    """Throughput in bursts, and times until the long flow is slower."""
    found = dart_testbed.rows_throughput(measures)
    claims = {SOFTWARE: "dart-fig9b-convergence", HARDWARE: "dart-fig9b-hardware"}
    for case, claim in claims.items():
        times = pooled(measures, (case,), "slower_us")
        for share in (0.5, 0.9):
            ours = quantile(times, share)
            paper = (
                "about 12 us" if case == HARDWARE else f"{PAPER_US[share]:.0f} us" if share in PAPER_US else "not told"
            )
            what = f"time from a burst's start until the long flow is slower, p{100 * share:g} of {len(times)}: {case}"
            found.append(Row.of(claim, f"{what} | {paper} | {ours:.1f} us | none | calibrated"))
    return found


# Dart Fig. 10

CASES = (DASR, INFINIBAND, STEP_2)
FEW = "network.buffer={ policy = 'lossless', per_port = '64 KB' }"
"""Pauses that leave queues about as long as InfiniBand's credits do: 64 KB per port, of which headroom takes a half."""


def sweep_incast(quick: bool) -> dict[Key, Change]:
    """Both schemes at three degrees, and InfiniBand with steps of 2."""
    window = f"measure.window={8 if quick else 78} ms"
    found = {
        key: replace(change, set=(*change.set, window))
        for key, change in dart_testbed_incast.sweep(quick=True).items()
        if key[0] in CASES
    }
    return in_both(found, FEW)


def measure_incast(result: Result) -> Measured:
    """As in the simulator."""
    return compared(result, dart_testbed_incast.measure(result))


def rows_incast(measures: Measures) -> list[Row]:
    """Reduction and shape, with the proposed parameters of InfiniBand."""
    return [*dart_testbed_incast.rows_reduction(measures), *dart_testbed_incast.rows_shape(measures)]


def _experiment(
    id_: str,
    title: str,
    spec: str,
    parts: tuple[Callable[[bool], dict[Key, Change]], Callable[[Result], Measured], Draw, Rows],
    figures: tuple[str, ...],
) -> Experiment:
    sweep, measure, draw, rows = parts
    return Experiment(f"{id_}-wire", f"{title}, on a wire", spec, sweep, measure, draw_of(draw), rows_of(rows), figures)


_AB = (sweep_ab, measure_ab, hpcc_testbed.draw_ab, hpcc_testbed.rows_ab)
_CD = (sweep_cd, measure_cd, hpcc_testbed.draw_cd, hpcc_testbed.rows_cd)
_EF = (sweep_ef, measure_ef, hpcc_testbed.draw_ef, hpcc_testbed.rows_ef)
_GH = (sweep_gh, measure_gh, hpcc_testbed.draw_gh, hpcc_testbed.rows_gh)
_BURSTS = (sweep_bursts, measure_bursts, draw_bursts, rows_bursts)
_INCAST = (sweep_incast, measure_incast, dart_testbed_incast.draw, rows_incast)

EXPERIMENTS = (
    _experiment("dart-fig9", "Dart Fig. 8 and 9: convergence of DASR", "dart/fig9-testbed.toml", _BURSTS, ("9",)),
    _experiment("dart-fig10", "Dart Fig. 10: incasts on the testbed", "dart/fig10-testbed.toml", _INCAST, ("10",)),
    _experiment("hpcc-fig9ab", "a short flow joins a long one", "hpcc/fig9ab-longshort.toml", _AB, ("9ab",)),
    _experiment("hpcc-fig9cd", "an incast beside a long flow", "hpcc/fig9cd-incast.toml", _CD, ("9cd",)),
    _experiment("hpcc-fig9ef", "mice beside two elephants", "hpcc/fig9ef-mice.toml", _EF, ("9ef",)),
    _experiment("hpcc-fig9gh", "four flows join and leave", "hpcc/fig9gh-fairness.toml", _GH, ("9gh",)),
)
"""Dart's testbed and HPCC's, in the order of the papers."""

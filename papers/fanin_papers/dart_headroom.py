"""Shares that add up to the whole line never drain a queue: DASR in the NIC on the testbed of section V-A, with shares
of a little less (`line_share`).

Every burst begins at line rate, and adds what it sends until its share arrives to the queue in front of the receiver.
With shares of exactly C nothing of the line is left for that queue. In InfiniBand credits bound it; here is a network
with a buffer that is never full. Each case also runs on the wire (docs/wire.md).
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes
from fanin_papers import dart_testbed
from fanin_papers.common import picture, quantile
from fanin_papers.dart_testbed import HARDWARE, PAPER_RTT_US
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, strict
from fanin_papers.hpcc_runs import queued, watched
from fanin_papers.on_wire import EVERY_US, NO_PAUSES, SIMULATOR, WIRE, compared, in_both, slower

WHOLE = "1"
SHARES = (WHOLE, "0.98", "0.96")
CLAIM = "dart-fig9b-hardware"
ENOUGH = "0.98"


def sweep(quick: bool) -> dict[Key, Change]:
    """Bursts of the short flow beside the long one, with n told by the NIC, in both places."""
    series = ", ".join(
        [
            f"{{ what = 'queue', where = ['sw>r'], every = '{EVERY_US} us', zeros = true }}",
            f"{{ what = 'port', where = ['lfs>sw'], every = '{EVERY_US} us' }}",
            f"{{ what = 'port', where = ['sw>r'], every = '{EVERY_US} us' }}",
        ]
    )
    measured = f"measure={{ window = '{3 if quick else 10} ms', drain = false, series = [{series}] }}"
    plain = next(change for key, change in dart_testbed.sweep(quick).items() if key[0] == HARDWARE)
    kept = [text for text in plain.set if not text.startswith(("measure.", "traffic.lfs.scheme", "traffic.sfs.scheme"))]
    runs: dict[Key, Change] = {}
    for share in SHARES:
        schemes = [f"traffic.{one}.scheme={{ id = 'dart-dasr', line_share = {share} }}" for one in dart_testbed.BOTH]
        runs[share, 1] = Change(None, (*kept, *schemes, NO_PAUSES, measured))
    return in_both(runs)


def measure(result: Result) -> Measured:
    """The queue in KB every 0.5 us, the use of the last link, and when the long flow is slower after each burst."""
    time_us, queue = queued(result)
    sent_us, sent = watched(result, "sent_bytes", "lfs>sw")
    last_us, last = watched(result, "sent_bytes", "sw>r")
    used = (last[-1] - last[0]) * 8e-3 / (last_us[-1] - last_us[0]) / dart_testbed.GBPS
    starts = dart_testbed.starts_us(result)
    # The least queue of the last millisecond is what never drains.
    left = float(queue[time_us > time_us[-1] - 1000].min()) / 1e3
    found: Measured = {
        "time_ms": (time_us / 1e3).tolist(),
        "queue_kb": (queue / 1e3).tolist(),
        "slower_us": slower(sent_us, sent, starts),
        "left_kb": [left],
        "used": [float(used)],
    }
    return compared(result, found)


def draw(measures: Measures) -> Figure:
    """The queue over time, and the times until the long flow is slower, burst by burst."""
    figure = picture(12, 4.6, "DASR in the NIC with shares of the whole line, and of a little less")
    left, right = figure.subplots(1, 2)
    for number, share in enumerate(SHARES):
        run = measures[SIMULATOR, share, 1]
        label = f"shares add up to {share} C"
        left.plot(run["time_ms"], run["queue_kb"], color=f"C{number}", linewidth=0.8, label=label)
        on_wire = measures[WIRE, share, 1]["slower_us"]
        right.plot(run["slower_us"], color=f"C{number}", linewidth=1.2, label=label)
        right.plot(on_wire, color=f"C{number}", linestyle="none", marker="x", markersize=4)
    right.plot([], [], color="#444444", linestyle="none", marker="x", markersize=4, label="on the wire")
    right.axhline(PAPER_RTT_US, color="#888888", linewidth=1, linestyle=":", label="the paper's round trip, 15 us")
    left.set_ylim(0, None)
    right.set_ylim(0, None)
    label_axes(left, "queue in front of the receiver", "time (ms)", "KB")
    label_axes(right, "time until the long flow is slower", "burst", "us", legend=False)
    right.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def rows(measures: Measures) -> list[Row]:
    """The queue that stays, the time until the long flow is slower, and what of the line is used."""
    found = []
    for share in SHARES:
        simulated, wired = (measures[place, share, 1] for place in (SIMULATOR, WIRE))
        claim = f"{CLAIM} (shares of {share} C)"
        drains = simulated["left_kb"][0] == 0
        times = simulated["slower_us"]
        first, last = (float(np.mean(part)) for part in (times[:5], times[-5:]))
        told: tuple[tuple[str, str, str, bool], ...] = (
            (
                "least queue in the last millisecond",
                f"{simulated['left_kb'][0]:.0f} KB",
                "empty from 0.98 C on, and never at C",
                drains == (share != WHOLE),
            ),
            (
                "time until the long flow is slower, mean of the first and of the last 5 bursts; p99",
                f"{first:.1f}, {last:.1f} us; {quantile(times, 0.99):.1f} us",
                "longer at the end at C, and else not by more than 1 us",
                (last > first + 1) == (share == WHOLE),
            ),
            ("use of the last link", f"{simulated['used'][0]:.3f}", "at least 0.94", simulated["used"][0] >= 0.94),
            (
                "all numbers on the wire are the simulator's",
                "yes" if wired == simulated else "no",
                "to the picosecond",
                wired == simulated,
            ),
        )
        found += [
            Row.of(claim, f"{what} | not in the paper | {ours} | {accept} | ({strict(holds)})")
            for what, ours, accept, holds in told
        ]
    return found


EXPERIMENTS = (
    Experiment(
        "dart-headroom",
        "shares of the whole line, and of a little less",
        "dart/fig9-testbed.toml",
        sweep,
        measure,
        draw,
        rows,
    ),
)

"""DCTCP Fig. 14, 17 and 22 with the TCP of this machine's kernel, through the switches of kernel_tcp.toml.

    sudo chrt -f 1 python examples/wire/kernel_tcp.py --picture kernel-tcp.png

Each host is a process with a network namespace of its own; its frames pass through the simulator's switch, in real time
at 100 Mb/s, which drops at the end of its queue or marks above K = 20 packets. It prints for each of the kernel's
schemes, without and with ECN, what the figures show: the queue under two long flows (14), the fairness of five that
join and leave (17), and the completion times of transfers of 20 KB beside two long flows (22). Beside the queues are
those of the simulator with the same spec. It needs Linux and root.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import fanin
from fanin import wire_tcp
from fanin.measures import jain
from fanin.run_folder import RunError
from fanin.wire_tcp import Carried, Flow

SPEC = Path(__file__).parent / "kernel_tcp.toml"
PACKET = 1538
SCHEMES = {"reno": "newreno", "cubic": "cubic", "dctcp": "dctcp"}
"""The kernel's schemes, and what the simulator calls them."""
SETTLED_S = 2.0
LONG = [Flow(1, 0), Flow(2, 0)]
STEP_S = 4.0
LATE_US = 1000.0
"""A run is told to be no good if 1 % of its frames are later than this, twice the delay of its links."""


def told(name: str, run: Carried) -> str:
    """Its marks, drops and lateness."""
    late = run.counts["late_p99_us"]
    note = "; TOO LATE, other programs hold it up: use chrt -f 1" if late > LATE_US else ""
    return (
        f"{name:24} {run.counts['passed']:8.0f} frames, {run.counts['marked']:6.0f} marked, "
        f"{run.counts['dropped']:5.0f} dropped, p99 late by {late:.0f} us{note}"
    )


def queues(run: Carried) -> np.ndarray:
    """Samples of the queue in packets, once it has settled."""
    return np.array([queue for at, queue in zip(run.time_s, run.queue_bytes, strict=True) if at >= SETTLED_S]) / PACKET


def fig_14(cases: list[tuple[str, bool]], seconds: float) -> dict[str, np.ndarray]:
    """The queue under two long flows."""
    found = {}
    print("\nFig. 14: the queue of the receiver's port in packets (p5, median, p95), and goodput in Mb/s")
    for scheme, ecn in cases:
        run = wire_tcp.run(SPEC, LONG, seconds, scheme=scheme, ecn=ecn)
        name = named(scheme, ecn)
        found[name] = queues(run)
        goodput = sum(of[-1][1] * 8e-6 / of[-1][0] for of in run.delivered if of)
        print(f"{told(name, run)}; {shares(found[name])}; {goodput:.1f} Mb/s", flush=True)
    for scheme in ("newreno", "cubic", "dctcp"):
        result = fanin.run(SPEC, scheme=scheme, progress=False)
        name = f"simulator, {scheme}"
        found[name] = result.series(zeros=True)["queue_bytes"].to_numpy() / PACKET
        goodput = 1000 * (result.summary()["traffics"][0]["long_goodput_gbps"] or 0)
        print(f"{name:24} {shares(found[name])}; {goodput:.1f} Mb/s")
    return found


def named(scheme: str, ecn: bool) -> str:
    """As in tables and pictures."""
    return f"kernel, {scheme}, {'marks' if ecn else 'drops'}"


def shares(values: np.ndarray) -> str:
    """5th percentile, median and 95th percentile."""
    return ", ".join(f"{value:.0f}" for value in np.percentile(values, [5, 50, 95]))


def fig_17(cases: list[tuple[str, bool]]) -> dict[str, list[list[tuple[float, int]]]]:
    """Five flows join one after another and leave one after another."""
    found = {}
    print(f"\nFig. 17: five flows join and leave, one each {STEP_S:g} s; Jain's index of the flows that are there")
    flows = [Flow(n + 1, 0, n * STEP_S, stop_s=(9 - n) * STEP_S) for n in range(5)]
    for scheme, ecn in cases:
        run = wire_tcp.run(SPEC, flows, 9 * STEP_S, scheme=scheme, ecn=ecn, set=["network.topology.hosts=6"])
        fair = []
        for step in range(1, 8):
            # The second half of each step.
            at = [(step + 0.5) * STEP_S, (step + 1) * STEP_S]
            there = [n for n, flow in enumerate(flows) if flow.start_s < at[0] and (flow.stop_s or 0) >= at[1]]
            sent = [float(np.diff(total_at(run.delivered[n], at))[0]) for n in there]
            fair.append(jain(np.array(sent)) or 0.0)
        name = named(scheme, ecn)
        found[name] = run.delivered
        print(f"{told(name, run)}; {min(fair):.3f} to {max(fair):.3f}", flush=True)
    return found


def total_at(delivered: Sequence[tuple[float, int]], at: Sequence[float] | np.ndarray) -> np.ndarray:
    """The bytes that were there at some times."""
    times, totals = zip(*delivered, strict=True)
    return np.asarray(np.interp(at, times, totals))


def fig_22(cases: list[tuple[str, bool]], seconds: float) -> dict[str, np.ndarray]:
    """Transfers of 20 KB beside two long flows."""
    found = {}
    print("\nFig. 22: completion times in ms of transfers of 20 KB beside two long flows (p5, median, p95)")
    short = [Flow(3, 0, SETTLED_S + 0.05 * n, size=20_000) for n in range(int((seconds - SETTLED_S - 0.5) / 0.05))]
    for scheme, ecn in cases:
        run = wire_tcp.run(SPEC, [*LONG, *short], seconds, scheme=scheme, ecn=ecn)
        name = named(scheme, ecn)
        found[name] = 1e3 * np.array([took for took in run.completion_s if took is not None])
        print(f"{told(name, run)}; {shares(found[name])}, {found[name].size} of {len(short)} done", flush=True)
    return found


def draw(
    of_14: dict[str, np.ndarray], of_17: dict[str, list[list[tuple[float, int]]]], of_22: dict[str, np.ndarray]
) -> Figure:
    """The three, side by side."""
    figure = Figure(figsize=(15, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axes, curves in ((left, of_14), (right, of_22)):
        for name, values in curves.items():
            dashes = "-" if "drops" in name else "--" if "marks" in name else ":"
            colour = "C0" if "reno" in name else "C1" if "cubic" in name else "C2"
            share = np.arange(1, values.size + 1) / max(1, values.size)
            axes.step(np.sort(values), share, where="post", label=name, linestyle=dashes, color=colour)
        axes.set_ylabel("share")
        axes.legend(frameon=False, fontsize=8)
    left.set_title("Fig. 14: queue under two long flows")
    left.set_xlabel("packets")
    right.set_title("Fig. 22: transfers of 20 KB beside them")
    right.set_xlabel("completion time (ms)")
    name, delivered = next(iter(of_17.items()))
    for number, of in enumerate(delivered):
        at = np.arange(of[0][0], of[-1][0], 0.5)
        rate = np.diff(total_at(of, at)) * 8e-6 / 0.5
        middle.plot(at[:-1], rate, label=f"flow {number + 1}")
    middle.set_title(f"Fig. 17: five flows join and leave ({name})")
    middle.set_xlabel("time (s)")
    middle.set_ylabel("Mb/s in 0.5 s")
    middle.legend(frameon=False, fontsize=8)
    return figure


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=12.0, help="how long a run for Fig. 14 and 22 takes")
    parser.add_argument("--figures", default="14,17,22", help="which ones")
    parser.add_argument("--picture", help="where to draw them")
    asked = parser.parse_args()
    cases = []
    for scheme in SCHEMES:
        problem = wire_tcp.refused(scheme)
        if problem is None:
            cases += [(scheme, ecn) for ecn in (False, True)]
        else:
            print(f"SKIPPED {scheme}: {problem}")
    if not cases:
        sys.exit(1)
    figures = asked.figures.split(",")
    try:
        of_14 = fig_14(cases, asked.seconds) if "14" in figures else {}
        of_17 = fig_17([case for case in cases if case[0] == "reno"][::-1]) if "17" in figures else {}
        of_22 = fig_22(cases, asked.seconds) if "22" in figures else {}
    except RunError as error:
        sys.exit(f"error: {error}")
    if asked.picture and of_14 and of_17 and of_22:
        draw(of_14, of_17, of_22).savefig(asked.picture, dpi=110)
        print(f"written: {asked.picture}")


if __name__ == "__main__":
    main()

"""Fanin's side: the spec of a case, and the cost of running it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench import process
from bench.inputs import Inputs
from bench.scenarios import Case
from fanin import _core
from fanin.run_folder import RunError

HEADER, ACK, TELEMETRY = 48, 60, 42
"""Bytes of headers, of an ACK, and of the telemetry that HPCC's simulator adds to both."""
ENDLESS_WINDOW_PS = 2_000_000_000
"""The simulated time of endless flows, at scale 1."""
STEPS_PER_RTT_BPS = 50e6
"""HPCC's additive increase is this rate times the base round-trip time."""


def spec(case: Case, inputs: Inputs, scale: float) -> dict[str, object]:
    """The spec of a case, on the ordinary network."""
    return {
        "spec_version": 1,
        "name": case.id,
        "seed": 1,
        "network": network(case),
        "traffic": [traffic(case, inputs)],
        "measure": {
            "window": f"{ENDLESS_WINDOW_PS * scale:.0f} ps" if case.endless else "2 s",
            "stop_when_done": not case.endless,
            "drain": False,
        },
    }


def network(case: Case) -> dict[str, object]:
    """The fat tree, and the buffers and marking of its switches."""
    k = case.workload.k
    tree = {"kind": "fat-tree", "k": k, "link": "100 Gbps", "delay": "1 us"}
    topology = {"kind": "hpcc-fat-tree"} if k is None else tree
    if case.scheme == "dctcp":
        return {
            "topology": topology,
            "packet": {"payload": f"{case.payload - 40} B", "header": "40 B", "ack": "40 B"},
            "buffer": {"policy": "lossy", "per_port": "1.5 MB"},
            "marking": {"kind": "step", "above": "300 KB", "at": "enqueue"},
        }
    if case.uec:
        # The sizes that uet-htsim derives from a round-trip time of 14.02 us.
        return {
            "topology": topology,
            "packet": {"payload": f"{case.payload} B", "header": "64 B", "ack": "64 B"},
            "buffer": {"policy": "lossy", "per_port": "178450 B"},
            "trimming": {"size": "64 B", "headers": "356900 B", "cuts": "either"},
            "marking": {"kind": "red", "min": "37350 B", "max": "145250 B", "probability": 1.0, "at": "dequeue"},
            "balancing": "mixed",
            "paths": 128,
        }
    red = {"kind": "red", "min": "400 KB", "max": "1600 KB", "probability": 0.2, "at": "dequeue"}
    return {
        "topology": topology,
        "packet": {"payload": f"{case.payload} B", "header": f"{HEADER} B", "ack": f"{ACK} B"},
        "buffer": {"policy": "lossless", "pool": "32 MB", "pfc_alpha": 0.125},
        "marking": red if case.scheme == "dcqcn" else {"kind": "off"},
    }


def traffic(case: Case, inputs: Inputs) -> dict[str, object]:
    """The flows of the files, under the case's scheme, with an ACK for each packet."""
    scheme: object = case.scheme
    if case.scheme == "hpcc":
        step = STEPS_PER_RTT_BPS / 8 * base_rtt_s(case)
        scheme = {"id": "hpcc", "eta": 0.95, "max_stage": 0, "additive_increase": f"{step:.0f} B"}
    if case.endless:
        pattern = {"kind": "htsim", "file": str(inputs.endless)}
        tcp = {"ack_every": 1, "ack_class": "control"}
        return {"name": "flows", "scheme": scheme, "pattern": pattern, "tcp": tcp}
    pattern = {"kind": "hpcc", "file": str(inputs.flow_file), "from": "2 s"}
    if case.uec:
        rdma = {"recovery": "unordered", "ack_chunk": "16 KiB", "timeout": "100656 ns"}
        return {"name": "flows", "scheme": scheme, "pattern": pattern, "rdma": rdma}
    # Nothing is lost, so a timeout could only be a spurious one.
    return {"name": "flows", "scheme": scheme, "pattern": pattern, "rdma": {"timeout": "off"}}


def base_rtt_s(case: Case) -> float:
    """The longest round trip without queues: six links of 1 us each way, on each of which packet and ACK are sent
    whole."""
    rates = [100e9] * 6 if case.workload.k is not None else [100e9] + [400e9] * 4 + [100e9]
    both = case.payload + HEADER + ACK + 2 * TELEMETRY
    return 12e-6 + sum(both * 8 / rate for rate in rates)


def measure(case: Case, inputs: Inputs, folder: Path, *, repeat: int, scale: float) -> process.Measured:
    """Runs a case `repeat` times, each in a process of its own, and returns the run of least user CPU.

    Raises `RunError` if it fails, or if two runs of it differ.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    path.write_text(json.dumps(spec(case, inputs, scale), indent=1), encoding="utf-8")
    script = Path(__file__).with_name("_ours_run.py")
    command: list[str | Path] = [sys.executable, "-I", script, str(_core.__file__), path, str(case.times)]
    runs = []
    for _ in range(repeat):
        used = process.run(command, folder)
        if used.failure:
            raise RunError(f"{case.id}: Fanin: {used.failure}")
        runs.append(json.loads(used.said))
    if len({run["event_hash"] for run in runs}) > 1:
        raise RunError(f"{case.id}: equal runs gave different event hashes; the simulator is not deterministic")
    best = min(runs, key=lambda run: float(run["user_s"]))
    if best["errors"]:
        raise RunError(f"{case.id}: Fanin: {best['errors'][0]}")
    return process.Measured(
        user_s=best["user_s"],
        setup_s=best["setup_s"],
        peak_rss_bytes=best["peak_rss_bytes"],
        completions_us=best["completions_us"],
        packet_hops=best["packet_hops"],
        events=best["events"],
    )

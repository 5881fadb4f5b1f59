"""Start, speed and memory by size of the network (`python bench/scale.py`, or `make scale`), and memory by number of
threads (`python bench/scale.py --threads 1,2,4`, or `make scale-threads`).

Each row is a run of `bench/scale.toml` in a process of its own, including its table of flows, so that the peak is that
of a whole run. Prints a table and writes `bench/results/scale.json`, or `threads.json` there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from fanin._bench_case import peak_rss_bytes

HERE = Path(__file__).parent
WINDOWS = {8: "4 ms", 16: "1 ms", 32: "200 us", 64: "50 us", 128: "20 us"}
"""Simulated time by ports per switch: some ten million packet-hops each."""


LIMIT_BYTES = 16_000_000_000
LIMIT_S = 3600.0
"""Limits of the estimate, as for `fanin run`."""


@dataclass(frozen=True)
class Measured:
    """One size on one number of threads."""

    k: int
    """Ports per switch."""
    hosts: int
    """Hosts."""
    window: str
    """Simulated time, as a spec says it."""
    setup_s: float
    """Real seconds from the start of the program to the first event."""
    start_bytes: int
    """Memory after a tenth of a second of the run, or at its end if that is earlier: the network with few packets."""
    bytes_per_host: float
    """The same by host, without the memory of the program itself."""
    messages: int
    """Messages posted."""
    packet_hops: int
    """Packets sent over one link each."""
    run_s: float
    """Real seconds of the event loop."""
    packet_hops_per_s: float
    """The two above, divided."""
    peak_bytes: int
    """Peak memory of the process, results included."""
    estimated_peak_bytes: float
    """The same by the estimate before a run."""
    threads: int = 1
    """Most threads of the run."""
    ran_on: int = 1
    """Threads at its end: one where windows have too few events for more."""


def memory_bytes() -> int:
    """Memory of this process now."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return peak_rss_bytes()
    return int(status.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def run_one(k: int, window: str, threads: int) -> Measured:
    """Runs one size in this process."""
    began = time.perf_counter()
    from fanin import _core

    text = (HERE / "scale.toml").read_text(encoding="utf-8")
    changes = [f"network.topology.k={k}", f'measure.window="{window}"']
    # A Job of the package would import polars, whose memory would then be counted.
    names = {"text": text, "name": "scale.toml", "format": "toml", "folder": str(HERE), "overrides": changes}
    spec = cast("_core.Spec", SimpleNamespace(**names, scheme=None, seed=None))
    before = memory_bytes()
    started: list[tuple[float, int]] = []

    def watch(state: _core.Progress) -> bool:
        # Progress counts seconds from the first event.
        if not started:
            started.append((time.perf_counter() - began - state.wall_s, memory_bytes()))
        return True

    result = _core.run(spec, None, watch, LIMIT_BYTES, LIMIT_S, threads)
    with tempfile.TemporaryDirectory() as folder:
        result.write(f"{folder}/run", False)
    peak = peak_rss_bytes()
    summary, manifest = json.loads(result.summary_json), json.loads(result.manifest_json)
    cost = json.loads(_core.explain(spec))["cost"]
    hosts = k**3 // 4
    setup_s, start_bytes = started[0]
    run_s = float(manifest["wall_s"])
    hops = int(summary["network"]["packet_hops"])
    return Measured(
        k=k,
        hosts=hosts,
        window=window,
        setup_s=setup_s,
        start_bytes=start_bytes,
        bytes_per_host=(start_bytes - before) / hosts,
        messages=int(summary["traffics"][0]["started"]),
        packet_hops=hops,
        run_s=run_s,
        packet_hops_per_s=hops / run_s,
        peak_bytes=peak,
        estimated_peak_bytes=float(cost["memory_bytes"]),
        threads=threads,
        ran_on=int(manifest["threads"]),
    )


def measure(k: int, window: str, threads: int = 1) -> Measured:
    """Runs one size in a process of its own."""
    script = str(Path(__file__).resolve())
    command = [sys.executable, script, "--one", str(k), "--window", window, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"k = {k}: {done.stderr.strip() or f'ended with {done.returncode}'}")
    return Measured(**json.loads(done.stdout))


def table(rows: list[Measured]) -> str:
    """The rows as a Markdown table."""
    head = "| hosts | start s | network MB | bytes per host | M packet-hops | M hops/s | peak MB | estimated MB |"
    lines = [head, "|" + " ---: |" * 8]
    for row in rows:
        cells = (
            f"{row.hosts:,}",
            f"{row.setup_s:.2f}",
            f"{row.start_bytes / 1e6:,.0f}",
            f"{row.bytes_per_host:,.0f}",
            f"{row.packet_hops / 1e6:.1f}",
            f"{row.packet_hops_per_s / 1e6:.2f}",
            f"{row.peak_bytes / 1e6:,.0f}",
            f"{row.estimated_peak_bytes / 1e6:,.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def memory_table(rows: list[Measured]) -> str:
    """Memory by number of threads as a Markdown table; the first row of each size is the one to compare with."""
    lines = ["| hosts | threads | of these at work | peak MB | times the first |", "|" + " ---: |" * 5]
    for row in rows:
        first = next(other for other in rows if other.k == row.k)
        times = row.peak_bytes / first.peak_bytes
        lines.append(f"| {row.hosts:,} | {row.threads} | {row.ran_on} | {row.peak_bytes / 1e6:,.0f} | {times:.2f} |")
    return "\n".join(lines)


def numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    return [int(number) for number in text.split(",")]


def main() -> None:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, nargs="+", help=f"ports per switch (default: {[*WINDOWS]}; by threads: 64)")
    parser.add_argument("--window", help="simulated time (default: by size, some ten million packet-hops)")
    parser.add_argument("--threads", type=numbers, metavar="N,N,...", help="memory by these numbers of threads")
    parser.add_argument("--out", type=Path, help="default: scale.json or threads.json in bench/results")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(asdict(run_one(options.one, options.window, *options.threads))))
        return
    by_threads = options.threads is not None
    render = memory_table if by_threads else table
    rows: list[Measured] = []
    for k in options.k or ([64] if by_threads else WINDOWS):
        for threads in options.threads or [1]:
            rows.append(measure(k, options.window or WINDOWS.get(k, "50 us"), threads))
            lines = render(rows).splitlines()
            print("\n".join(lines if len(rows) == 1 else lines[-1:]), flush=True)
    out: Path = options.out or HERE / "results" / ("threads.json" if by_threads else "scale.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"measured": date.today().isoformat(), "processor": processor(), "cores": os.cpu_count()}
    record = {**machine, "sizes": [asdict(row) for row in rows]}
    out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"written to {out}")


def processor() -> str:
    """The processor's name, if the system reports it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    main()

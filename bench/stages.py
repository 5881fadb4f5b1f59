"""Where the time of a whole `fanin run` goes, by stage (`python -m bench stages`, or `make stages`).

Each row is `fanin run` in a process of its own, with its stages timed from within; the rest of the time of the process
is Python's own start and end, and what the command prints. Beside them are commands that a person waits for, and many
small runs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.scale import processor
from fanin.run_folder import RunError

HERE = Path(__file__).parent
STAGES = {
    "start": "the modules that the command needs",
    "spec": "reading and checking the spec",
    "network": "the estimate of memory and time, and all that happens before the first event",
    "simulation": "the event loop",
    "tables": "the tables and the summary of the run",
    "files": "writing its folder",
    "rest": "Python's start and end, and what the command prints",
}
"""What each covers."""
RUNS = {
    "128 hosts": ["network.topology.k=8", 'measure.window="4 ms"'],
    "8,192 hosts": ["network.topology.k=32", 'measure.window="200 us"'],
    "65,536 hosts": ["network.topology.k=64", 'measure.window="50 us"'],
    "5 M messages": [
        "network.topology.k=16",
        'measure.window="1 ms"',
        'traffic.hadoop.size={ fixed = "64 B" }',
        'traffic.hadoop.load={ share = 0.0428, of = "host-links" }',
    ],
}
"""Changes of `bench/scale.toml`. Messages of 64 B need 112 B of a link: 4.28 % of 1,024 links of 100 Gb/s in 1 ms."""
SMALL = """\
spec_version = 1
name = "small"
[network]
topology = { kind = "star", hosts = 32, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "lossless", per_port = "500 KB" }
marking = { kind = "step", above = "50 KB" }
[[traffic]]
name = "queries"
scheme = "dctcp-rate"
pattern = { kind = "incast", degree = 8, every = "100 us" }
size = { fixed = "10 KB" }
[measure]
window = "1 ms"
"""


@dataclass(frozen=True)
class Measured:
    """A whole `fanin run`."""

    wall_s: float
    """Real seconds of the process."""
    stages_s: dict[str, float]
    """Real seconds of each stage."""
    messages: int
    packet_hops: int


def measure(names: list[str], say: Callable[[str], None], small: int) -> dict[str, object]:
    """Runs by name, commands that a person waits for, and a sweep of `small` small runs. Raises `RunError` if one
    fails."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        runs: dict[str, object] = {}
        for name in names:
            say(name)
            runs[name] = asdict(_run(RUNS[name], work))
        spec = work / "small.toml"
        spec.write_text(SMALL, encoding="utf-8")
        say("commands")
        fanin = [sys.executable, "-m", "fanin"]
        commands = {
            "fanin --help": least_s([*fanin, "--help"], work),
            "fanin run of 1 ms": least_s([*fanin, "run", spec.name, "--out", "small", "--force"], work),
        }
        say(f"{small} small runs")
        return {
            "measured": datetime.now(UTC).date().isoformat(),
            "machine": f"{processor()}, {os.cpu_count()} cores",
            "runs": runs,
            "commands_s": commands,
            "sweep": _sweep(small, work),
        }


def _run(changes: list[str], work: Path) -> Measured:
    told = [word for change in changes for word in ("--set", change)]
    command = [sys.executable, "-m", "bench._stages_run", "run", str(HERE / "scale.toml"), *told]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--threads", "1", "--out", str(work / "run"), "--force"],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    wall_s = time.perf_counter() - began
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
    stages = json.loads(done.stderr.splitlines()[-1])
    stages["rest"] = wall_s - sum(stages.values())
    from fanin import load

    run = load(work / "run")
    totals = run.summary()
    return Measured(
        wall_s,
        {stage: stages.get(stage, 0.0) for stage in STAGES},
        int(totals["traffics"][0]["started"]),
        int(totals["network"]["packet_hops"]),
    )


def least_s(command: list[str], work: Path, repeat: int = 5) -> float:
    """Real seconds of a command, the least of several times."""
    spent = []
    for _ in range(repeat):
        began = time.perf_counter()
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        spent.append(time.perf_counter() - began)
        if done.returncode != 0:
            raise RunError(f"{' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
    return min(spent)


def _sweep(runs: int, work: Path) -> dict[str, float]:
    """A sweep of so many runs of 1 ms in two processes, and what it costs besides the simulations."""
    command = [sys.executable, "-m", "fanin", "sweep", "small.toml", "--seeds", str(runs), "--jobs", "2"]
    began = time.perf_counter()
    with subprocess.Popen(
        [*command, "--out", "sweep"], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        peak = [0, 0]
        while child.poll() is None:
            # Of the first half and of the second, to see whether memory grows with the number of runs.
            half = 0 if time.perf_counter() - began < 2.0 else 1
            peak[half] = max(peak[half], _resident(child.pid))
            time.sleep(0.1)
        said = child.stderr.read() if child.stderr else ""
    wall_s = time.perf_counter() - began
    if child.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {said.strip().splitlines()[-1:]}")
    from fanin import load

    loop_s = float(load(work / "small").manifest["wall_s"])
    return {
        "runs": runs,
        "wall_s": wall_s,
        "simulation_ms": 1000 * loop_s,
        "overhead_ms": 2000 * wall_s / runs - 1000 * loop_s,
        "early_rss_bytes": peak[0],
        "peak_rss_bytes": peak[1],
    }


def _resident(pid: int) -> int:
    """Memory of a process and of its children now; 0 where it is not known."""
    found = 0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for one in (str(pid), *children):
            pages = int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1])
            found += pages * resource.getpagesize()
    except OSError:
        pass
    return found


def section(path: Path) -> str:
    """The table of docs/performance.md, as Markdown."""
    record = json.loads(path.read_text(encoding="utf-8"))
    runs = record["runs"]
    lines = [
        f"Measured {record['measured']} on {record['machine']}, on one thread; seconds, and shares of the whole.",
        "",
        "| stage | " + " | ".join(runs) + " |",
        "|---|" + " ---: |" * len(runs),
    ]
    for stage, about in STAGES.items():
        cells = [
            f"{run['stages_s'][stage]:.2f} ({run['stages_s'][stage] / run['wall_s']:.0%})" for run in runs.values()
        ]
        lines.append(f"| {stage}: {about} | " + " | ".join(cells) + " |")
    lines.append("| whole | " + " | ".join(f"{run['wall_s']:.2f}" for run in runs.values()) + " |")
    lines += ["", "| command | seconds |", "|---|---: |"]
    lines += [f"| `{command}` | {seconds:.2f} |" for command, seconds in record["commands_s"].items()]
    of = record["sweep"]
    lines += [
        "",
        f"A sweep of {of['runs']:,} runs of 1 ms on 32 hosts in two processes takes {of['wall_s']:.1f} s: "
        f"{of['overhead_ms']:.1f} ms of a process for each run beside {of['simulation_ms']:.1f} ms of simulation; its "
        f"processes hold {of['early_rss_bytes'] / 1e6:.0f} MB after two seconds and at most "
        f"{of['peak_rss_bytes'] / 1e6:.0f} MB.",
    ]
    return "\n".join(lines)

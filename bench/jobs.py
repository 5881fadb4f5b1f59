"""Large jobs of AI clusters (`python -m bench jobs`): what the ring of many ranks and a training step cost."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import process
from bench.scale import processor
from fanin.run_folder import RunError

SPEC = """\
spec_version = 1
name = "job"
[network]
topology = TOPOLOGY
packet = { payload = "60 KB" }
buffer = { pool = "640 MB", policy = "lossless" }
[[traffic]]
name = "job"
scheme = "dcqcn"
rdma = { ack_chunk = "1 MB" }
pattern = PATTERN
[measure]
window = "10 s"
stop_when_done = true
"""
STAR = '{ kind = "star", hosts = 1024, link = "400 Gbps", delay = "500 ns" }'
RAILS = (
    '{ kind = "rails", servers = 128, gpus = 8, spines = 64, link = "400 Gbps", delay = "500 ns", '
    'nvlink = "2880 Gbps" }'
)
STEP = '{ kind = "simai", file = "layers.txt", server = 8 }'
LAYERS = 64
"""Of a model of 6.7e9 parameters with 32 layers of attention and as many of MLP."""
OF_LAYER = (4096 * 4096 * 2, int(6.7e9) * 2 // 8 // LAYERS)
"""Bytes of the activations of a sequence of 4,096 tokens in bf16, which eight tensor ranks add up, and of a rank's
gradients of a layer, which 128 data ranks add up."""


@dataclass(frozen=True)
class Job:
    """What is run."""

    what: str
    topology: str
    pattern: str
    layers: int = 0
    """Layers of the workload that the pattern names, if it names one."""


JOBS = {
    "ring": Job(
        "ring all-reduce of 1 GB in 8 channels",
        STAR,
        '{ kind = "all-reduce", algorithm = "ring", channels = 8, size = "1 GB" }',
    ),
    "step-4": Job(f"4 of {LAYERS} layers of a step of a 7B model", RAILS, STEP, 4),
    "step": Job(f"a step of a 7B model, {LAYERS} layers", RAILS, STEP, LAYERS),
}
"""Jobs of 1,024 ranks, by name."""
RUN = """\
import sys, fanin
run = fanin.run("job.toml", threads=int(sys.argv[1]), progress=False)
run.save("run")
"""


@dataclass(frozen=True)
class Measured:
    """One job."""

    threads: int
    """As many as the run used."""
    messages: int
    packet_hops: int
    job_us: float
    """Simulated time of the job."""
    loop_s: float
    """Real seconds of the event loop."""
    user_s: float
    """User CPU of the whole process, reading, results and files included."""
    peak_bytes: int


def workload(layers: int) -> str:
    """A step as AICB writes it: TP 8, DP 128."""
    activations, gradients = OF_LAYER
    layer = f"ALLREDUCE {activations} 300000 ALLREDUCE {activations} 300000 ALLREDUCE {gradients} 0"
    rows = [f"layer{number} -1 300000 {layer}" for number in range(layers)]
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1024"
    return "\n".join([head, str(layers), *rows]) + "\n"


def measure(
    names: Iterable[str], threads: Iterable[int], work: Path, say: Callable[[str], None]
) -> list[dict[str, object]]:
    """These jobs on so many threads, one after another. Raises `RunError` where one fails."""
    found: list[dict[str, object]] = []
    for name in names:
        for count in threads:
            say(f"{name} on {count} threads")
            one = {"job": name, **asdict(_one(JOBS[name], count, work))}
            # A single switch is not cut.
            if all((one["job"], one["threads"]) != (other["job"], other["threads"]) for other in found):
                found.append(one)
    return found


def _one(job: Job, threads: int, work: Path) -> Measured:
    import fanin

    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    spec = SPEC.replace("TOPOLOGY", job.topology).replace("PATTERN", job.pattern)
    (work / "job.toml").write_text(spec, encoding="utf-8")
    if job.layers:
        (work / "layers.txt").write_text(workload(job.layers), encoding="utf-8")
    done = process.run([sys.executable, "-c", RUN, str(threads)], work)
    if done.failure:
        raise RunError(f"{job.what}: {done.failure}: {done.said}")
    run = fanin.load(work / "run", verify=False)
    (traffic,) = run.summary()["traffics"]
    of_job = traffic["job"]
    if of_job is None or of_job["time_us"] is None:
        raise RunError(f"{job.what}: it did not end")
    return Measured(
        int(run.manifest["threads"]),
        traffic["started"],
        int(run.summary()["network"]["packet_hops"]),
        of_job["time_us"],
        float(run.manifest["wall_s"]),
        done.user_s,
        done.peak_rss_bytes,
    )


def section(path: Path) -> str:
    """The table of docs/performance.md."""
    record = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"Measured {record['measured']} on {record['machine']}: 1,024 ranks under DCQCN with packets of 60 KB, the "
        "ring on one switch and the steps on rails, with 8 GPUs in each of 128 servers.",
        "",
        "| job | threads | messages | M packet-hops | job ms | event loop s | user CPU s | us a message | peak MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {JOBS[row['job']].what} | {row['threads']} | {row['messages']:,} | {row['packet_hops'] / 1e6:.0f} | "
        f"{row['job_us'] / 1e3:.2f} | {row['loop_s']:.1f} | {row['user_s']:.1f} | "
        f"{row['loop_s'] * 1e6 / row['messages']:.1f} | {row['peak_bytes'] / 1e6:,.0f} |"
        for row in record["jobs"]
    ]
    return "\n".join(lines)


def save(jobs: list[dict[str, object]], path: Path) -> None:
    """Writes what was measured."""
    document = {"measured": datetime.now(UTC).date().isoformat(), "machine": processor(), "jobs": jobs}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

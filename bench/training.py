"""The training runs of the compiler's profile: every case of the benchmark, and a short run of every scheme.

Run with the instrumented module (`bench/profile.py`): `python -m bench.training FOLDER`, with a folder for its files.
Times do not matter, only execution counts: no code that users run must have a count of zero.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fanin
from fanin import _core, bench

SCALES = {"a": 0.15, "b": 0.08, "b-hpcc": 0.05, "c": 0.12, "d": 0.5, "e": 0.3, "e-hpcc": 0.15, "f": 0.08}
"""Less than a second each. Cases with many packets in flight or many messages also run on two threads."""
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Runs all of it."""
    folder = Path(sys.argv[1])
    for case, scale in SCALES.items():
        for threads in (1, 2) if case in "acf" else (1,):
            next(bench.measure([case], threads=threads, scale=scale))
    short = ["measure.warm_up=100 us", "measure.window=300 us", "measure.drain=false"]
    for scheme in (preset["id"] for preset in _core.schemes()):
        if scheme != "ndp":
            fanin.run(ROOT / "examples" / "incast.toml", scheme=scheme, set=short, threads=1, progress=False)
    own = 'network.buffer.by_rate=[{ rate = "10 Gbps", per_port = "225 KB" }]'
    fanin.run(ROOT / "examples" / "incast.toml", scheme="dcqcn", set=[*short, own], threads=1, progress=False)
    sprayed = Path(fanin.__file__).parent / "templates" / "spraying.toml"
    for scheme in ("ndp", "nscc", "rccc"):
        few = ["network.topology.k=4", 'traffic[0].rdma.ack_chunk="16 KB"', "traffic[0].size.fixed=500 KB"]
        fanin.run(sprayed, scheme=scheme, set=few, threads=1, progress=False)
    for threads in (1, 2):
        small = ['traffic[0].pattern.size="4 MB"']
        fanin.run(ROOT / "examples" / "collectives" / "all-reduce.toml", set=small, threads=threads, progress=False)
    for command in (
        "topology fat-tree --k 4 --rate 100Gbps --delay 1us -o topology.txt",
        "flows --topology topology.txt --cdf fbhadoop --load 0.5 --time 300us --seed 1 -o flow.txt",
        "config --cc hpcc --topology topology.txt --flows flow.txt -o config.txt",
    ):
        gen = [sys.executable, "-m", "fanin", "gen", *command.split()]
        subprocess.run(gen, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    fanin.run_hpcc("config.txt", folder=folder, progress=False)


if __name__ == "__main__":
    main()

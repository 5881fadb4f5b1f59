"""Ultra Ethernet on the ordinary network against the copy of uet-htsim's own (`python bench/spraying.py`, or
`make spraying`).

The same matrices under NSCC on both, over 20 seeds: last completion at the senders, trimmed packets and packets sent
again. A two-sample Kolmogorov-Smirnov test says whether the two distributions can be told apart: at a level of 0.01 and
20 runs on each side it notices a shift by 1.6 standard deviations in nine of ten cases. Prints a table and writes
`bench/results/spraying.json` and `docs/spraying.png`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from scipy.stats import ks_2samp

import fanin
from pages.marked import put

HERE = Path(__file__).parent
LEVEL = 0.01
BALANCERS = ("oblivious", "bitmap", "reps", "mixed")


MTU = 4150
RATE = 100_000_000_000
OVERSUBSCRIBED = """\
Nodes 128
Tiers 2
Podsize 128
Tier 0
Downlink_speed_Gbps 100
Radix_Down 16
Radix_Up 4
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed 4
Tier 1
Downlink_speed_Gbps 100
Radix_Down 8
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""
"""Eight leaves with 16 hosts each and four spines, in htsim's format."""


@dataclass(frozen=True)
class Network:
    """A network on both sides, with links of 100 Gb/s and 1 us."""

    hosts: int
    tiers: int
    topology: Mapping[str, object]
    """As in a spec."""
    file: str = ""
    """A `.topo` file; without it uet-htsim's fat tree."""
    slow: int = 0
    """Links at a quarter of the rate from cores down to the first aggregation switches (its `-failed`)."""

    def slow_links(self) -> list[tuple[str, str]]:
        """Those links in our fat tree, in which an aggregation switch has as many cores, each for itself."""
        half = round((4 * self.hosts) ** (1 / 3)) // 2
        return [(f"agg{at // half}", f"core{at}") for at in range(self.slow)]

    def spec(self) -> dict[str, Any]:
        """The spec, with the sizes of queues and marks that uet-htsim derives (its section of constants)."""
        hops = 2 * self.tiers
        rtt_s = 2 * hops * 1e-6 + hops * (MTU + 64) * 8 / RATE
        packets = math.ceil(rtt_s * RATE / 8 / MTU)
        low, high = math.ceil(packets * 0.2) * MTU, math.ceil(packets * 0.8) * MTU
        spec: dict[str, Any] = tomllib.loads((HERE / "spraying.toml").read_text(encoding="utf-8"))
        network = spec["network"]
        network["topology"] = {**self.topology, "link": "100 Gbps", "delay": "1 us"}
        network["buffer"]["per_port"] = f"{packets * MTU} B"
        network["trimming"]["headers"] = f"{2 * packets * MTU} B"
        network["marking"] |= {"min": f"{low} B", "max": f"{high} B"}
        if self.slow:
            network["buffer"]["by_rate"] = [{"rate": "25 Gbps", "per_port": f"{packets * MTU // 4} B"}]
            network["links"] = [{"between": list(ends), "speed": 0.25} for ends in self.slow_links()]
            marking = {**network["marking"], "min": f"{low // 4} B", "max": f"{high // 4} B"}
            network["marking_by_rate"] = [{"rate": "25 Gbps", "marking": marking}]
        # That of its topology, whatever is slow in it.
        spec["traffic"][0]["scheme"] = {"id": "nscc", "base_rtt": f"{round(rtt_s * 1e12)} ps"}
        # 15 us and six times a full queue.
        spec["traffic"][0]["rdma"]["timeout"] = f"{15_000_000 + packets * MTU * 6 * 8 * 10} ps"
        return spec


@dataclass(frozen=True)
class Case:
    """A matrix on a network."""

    name: str
    network: Network
    pairs: list[tuple[int, int]]
    size: int
    """Bytes of each message."""

    def matrix(self) -> str:
        """In htsim's format."""
        lines = [f"{a}->{b} id {at} start 0 size {self.size}" for at, (a, b) in enumerate(self.pairs, 1)]
        return "\n".join([f"Nodes {self.network.hosts}", f"Connections {len(lines)}", *lines, ""])


def permutation(hosts: int) -> list[tuple[int, int]]:
    """Each host sends to another one, and receives from one."""
    order = list(range(hosts))
    random.Random(hosts).shuffle(order)
    return [(order[at], order[at - 1]) for at in range(hosts)]


def into_first_pod(hosts: int, pod: int) -> list[tuple[int, int]]:
    """A permutation in which the hosts of the first pod receive only, so that its links upwards carry ACKs alone."""
    senders = list(range(pod, hosts))
    random.Random(hosts).shuffle(senders)
    receivers = [*range(pod), *senders[: len(senders) - pod]]
    return [(a, b) for a, b in zip(senders, receivers, strict=True) if a != b]


def fat_tree(k: int, slow: int = 0) -> Network:
    """The fat tree of switches with `k` ports."""
    return Network(k**3 // 4, 3, {"kind": "fat-tree", "k": k}, slow=slow)


def leaf_spine() -> Network:
    """128 hosts, four times as many as the fabric carries at once."""
    topology = {"kind": "leaf-spine", "leaves": 8, "hosts": 16, "spines": 4}
    return Network(128, 2, topology, OVERSUBSCRIBED)


def cases(*, large: bool) -> list[Case]:
    """The matrices."""
    small = fat_tree(8)
    known = [
        Case("permutation of 54", fat_tree(6), permutation(54), 2_000_000),
        Case("permutation of 128", small, permutation(128), 2_000_000),
        Case("incast of 8", small, [(8 + 13 * at % 120, 0) for at in range(8)], 500_000),
        Case("incast of 53", small, [(8 + 17 * at % 120, 0) for at in range(53)], 100_000),
        Case("oversubscribed 4 to 1", leaf_spine(), permutation(128), 500_000),
        Case("8 slow links", fat_tree(8, slow=8), into_first_pod(128, 16), 2_000_000),
    ]
    return [*known, Case("permutation of 1,024", fat_tree(16), permutation(1024), 2_000_000)] if large else known


@dataclass(frozen=True)
class Sample:
    """One run."""

    last_us: float
    """From the start to the last ACK at a sender."""
    trimmed: int
    resent: int


def sample(result: fanin.Result) -> Sample:
    """What is compared of a run."""
    flows = result.flows()
    summary = result.summary()
    # In runs of uet-htsim's files a completion ends at the sender.
    ends = flows["completion_ps"] if result.exact else flows["acked_ps"]
    resent = sum(traffic["packets_resent"] for traffic in summary["traffics"])
    if ends.null_count():
        raise SystemExit(f"{result.label}: {ends.null_count()} messages did not end")
    return Sample(float(str(ends.max())) / 1e6, summary["network"]["trimmed"], resent)


def of_fabric(case: Case, matrix: Path, balancer: str, seed: int) -> Sample:
    """On the ordinary network."""
    spec = case.network.spec()
    spec["network"]["balancing"] = balancer
    spec["traffic"][0]["pattern"]["file"] = str(matrix)
    return sample(fanin.run(spec, seed=seed, progress=False))


def of_uet(case: Case, matrix: Path, balancer: str, seed: int) -> Sample:
    """On uet-htsim's."""
    options = f"-sender_cc_only -paths 64 -end 5000 -load_balancing_algo {balancer} -seed {seed}"
    options += f" -failed {case.network.slow}" if case.network.slow else ""
    topology = matrix.with_suffix(".topo") if case.network.file else None
    if topology is not None:
        topology.write_text(case.network.file, encoding="utf-8")
    return sample(fanin.run_uec(matrix, topology=topology, options=options, progress=False))


@dataclass(frozen=True)
class Compared:
    """Both distributions of one case under one balancer."""

    case: str
    balancer: str
    uet: list[Sample]
    fabric: list[Sample]

    def p(self, of: Callable[[Sample], float]) -> float:
        """The probability of samples at least as different, were the distributions equal."""
        return float(ks_2samp([of(one) for one in self.uet], [of(one) for one in self.fabric]).pvalue)


def told(samples: Sequence[Sample], of: Callable[[Sample], float]) -> str:
    """The mean, and the smallest and the largest."""
    values = [of(one) for one in samples]
    return f"{sum(values) / len(values):,.1f} ({min(values):,.0f} to {max(values):,.0f})"


def table(rows: Sequence[Compared]) -> str:
    """The rows as a Markdown table."""
    lines = ["| case | balancer | quantity | uet-htsim's | ordinary | p | |", "|---|---|---|---:|---:|---:|---|"]
    quantities: dict[str, Callable[[Sample], float]] = {
        "last completion, us": lambda one: one.last_us,
        "trimmed packets": lambda one: one.trimmed,
        "packets sent again": lambda one: one.resent,
    }
    for row in rows:
        for name, of in quantities.items():
            p = row.p(of)
            verdict = "differs" if p < LEVEL else "not told apart"
            cells = (row.case, row.balancer, name, told(row.uet, of), told(row.fabric, of), f"{p:.2g}", verdict)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def brief(rows: Sequence[Compared]) -> list[str]:
    """A line for each case and balancer: means of both, and p where the distributions differ."""
    lines = [
        "| case | balancer | last completion (us): uet-htsim, here | trims: uet-htsim, here | told apart |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        cells, apart = [], []
        compared: dict[str, Callable[[Sample], float]] = {
            "last": lambda one: one.last_us,
            "trims": lambda one: one.trimmed,
        }
        for name, of in compared.items():
            means = [sum(of(one) for one in samples) / len(samples) for samples in (row.uet, row.fabric)]
            cells.append(", ".join(f"{mean:,.1f}" for mean in means))
            p = row.p(of)
            if p < LEVEL:
                apart.append(f"{name}, p = {p:.1g}")
        lines.append(f"| {row.case} | `{row.balancer}` | {' | '.join(cells)} | {'; '.join(apart) or 'no'} |")
    return lines


def draw(rows: Sequence[Compared], path: Path) -> None:
    """The last completions of both, case by case."""
    names = list(dict.fromkeys(row.case for row in rows))
    across = min(4, len(names))
    down = math.ceil(len(names) / across)
    figure, axes = plt.subplots(down, across, figsize=(3.2 * across, 3.2 * down), layout="constrained", squeeze=False)
    for spare in axes.flat[len(names) :]:
        spare.axis("off")
    for panel, name in zip(axes.flat, names, strict=False):
        mine = [row for row in rows if row.case == name]
        for at, row in enumerate(mine):
            for shift, samples, colour in ((-0.15, row.uet, "tab:gray"), (0.15, row.fabric, "tab:blue")):
                panel.plot([at + shift] * len(samples), [one.last_us for one in samples], ".", color=colour, alpha=0.6)
        panel.set_xticks(range(len(mine)), [row.balancer for row in mine], rotation=30)
        panel.set_title(name)
    for row in axes:
        row[0].set_ylabel("last completion, us")
    axes[0][0].plot([], [], ".", color="tab:gray", label="uet-htsim's network")
    axes[0][0].plot([], [], ".", color="tab:blue", label="ordinary network")
    axes[0][0].legend()
    figure.savefig(path, dpi=130)


def merged(record: Path, rows: Sequence[Compared]) -> list[Compared]:
    """These rows, and of the record those of cases that are still there and were not run now, in their order."""
    order = [case.name for case in cases(large=True)]
    kept = json.loads(record.read_text(encoding="utf-8"))["rows"] if record.exists() else []
    known = [
        Compared(row["case"], row["balancer"], *([Sample(**run) for run in row[side]] for side in ("uet", "fabric")))
        for row in kept
        if row["case"] in order and row["case"] not in {row.case for row in rows}
    ]
    return sorted([*known, *rows], key=lambda row: order.index(row.case))


def main() -> None:
    """Runs all and writes the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each, from seed 1 on")
    parser.add_argument("--large", action="store_true", help="1,024 hosts, too")
    parser.add_argument("--only", default="", help="only cases whose name begins so; the record keeps the others")
    arguments = parser.parse_args()
    rows = []
    chosen = [case for case in cases(large=arguments.large) if case.name.startswith(arguments.only)]
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(chosen):
            matrix = Path(scratch) / f"{number}.cm"
            matrix.write_text(case.matrix(), encoding="utf-8")
            for balancer in BALANCERS:
                seeds = range(1, arguments.seeds + 1)
                uet = [of_uet(case, matrix, balancer, seed) for seed in seeds]
                rows.append(Compared(case.name, balancer, uet, [of_fabric(case, matrix, balancer, s) for s in seeds]))
                print(f"{case.name}, {balancer}", flush=True)
    print(table(rows))
    record = HERE / "results" / "spraying.json"
    rows = merged(record, rows)
    draw(rows, HERE.parent / "docs" / "spraying.png")
    page = HERE.parent / "docs" / "ultra-ethernet.md"
    put(page, "spraying", brief(rows))
    document = {"measured": date.today().isoformat(), "level": LEVEL, "rows": [asdict(row) for row in rows]}
    record.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

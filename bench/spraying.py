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
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import matplotlib.pyplot as plt
from scipy.stats import ks_2samp

import fanin

HERE = Path(__file__).parent
LEVEL = 0.01
BALANCERS = ("oblivious", "bitmap", "reps", "mixed")


@dataclass(frozen=True)
class Case:
    """A matrix on a fat tree."""

    name: str
    k: int
    """Ports per switch; k^3/4 hosts."""
    pairs: list[tuple[int, int]]
    size: int
    """Bytes of each message."""

    def matrix(self) -> str:
        """In htsim's format."""
        hosts = self.k**3 // 4
        lines = [f"{a}->{b} id {at} start 0 size {self.size}" for at, (a, b) in enumerate(self.pairs, 1)]
        return "\n".join([f"Nodes {hosts}", f"Connections {len(lines)}", *lines, ""])


def permutation(hosts: int) -> list[tuple[int, int]]:
    """Each host sends to another one, and receives from one."""
    order = list(range(hosts))
    random.Random(hosts).shuffle(order)
    return [(order[at], order[at - 1]) for at in range(hosts)]


def cases(large: bool) -> list[Case]:
    """The matrices."""
    known = [
        Case("permutation of 54", 6, permutation(54), 2_000_000),
        Case("permutation of 128", 8, permutation(128), 2_000_000),
        Case("incast of 8", 8, [(8 + 13 * at % 120, 0) for at in range(8)], 500_000),
        Case("incast of 53", 8, [(8 + 17 * at % 120, 0) for at in range(53)], 100_000),
    ]
    return [*known, Case("permutation of 1,024", 16, permutation(1024), 2_000_000)] if large else known


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
    ends = flows["completion_ps"] if result.exact else flows["acked_ps"] - flows["start_ps"]
    resent = sum(traffic["packets_resent"] for traffic in summary["traffics"])
    if ends.null_count():
        raise SystemExit(f"{result.label}: {ends.null_count()} messages did not end")
    return Sample(float(str(ends.max())) / 1e6, summary["network"]["trimmed"], resent)


def of_fabric(case: Case, matrix: Path, balancer: str, seed: int) -> Sample:
    """On the ordinary network."""
    changes = [
        f"network.topology.k={case.k}",
        f'traffic.flows.pattern.file="{matrix}"',
        f"network.balancing={balancer}",
    ]
    return sample(fanin.run(HERE / "spraying.toml", seed=seed, set=changes, progress=False))


def of_uet(_case: Case, matrix: Path, balancer: str, seed: int) -> Sample:
    """On uet-htsim's."""
    options = f"-sender_cc_only -paths 64 -end 5000 -load_balancing_algo {balancer} -seed {seed}"
    return sample(fanin.run_uec(matrix, options=options, progress=False))


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


def draw(rows: Sequence[Compared], path: Path) -> None:
    """The last completions of both, case by case."""
    names = list(dict.fromkeys(row.case for row in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.4), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], names, strict=True):
        mine = [row for row in rows if row.case == name]
        for at, row in enumerate(mine):
            for shift, samples, colour in ((-0.15, row.uet, "tab:gray"), (0.15, row.fabric, "tab:blue")):
                panel.plot([at + shift] * len(samples), [one.last_us for one in samples], ".", color=colour, alpha=0.6)
        panel.set_xticks(range(len(mine)), [row.balancer for row in mine], rotation=30)
        panel.set_title(name)
    axes[0][0].set_ylabel("last completion, us")
    axes[0][0].plot([], [], ".", color="tab:gray", label="uet-htsim's network")
    axes[0][0].plot([], [], ".", color="tab:blue", label="ordinary network")
    axes[0][0].legend()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Runs all and writes the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each, from seed 1 on")
    parser.add_argument("--large", action="store_true", help="1,024 hosts, too")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(cases(arguments.large)):
            matrix = Path(scratch) / f"{number}.cm"
            matrix.write_text(case.matrix(), encoding="utf-8")
            for balancer in BALANCERS:
                seeds = range(1, arguments.seeds + 1)
                uet = [of_uet(case, matrix, balancer, seed) for seed in seeds]
                rows.append(Compared(case.name, balancer, uet, [of_fabric(case, matrix, balancer, s) for s in seeds]))
                print(f"{case.name}, {balancer}", flush=True)
    print(table(rows))
    results = HERE / "results"
    draw(rows, HERE.parent / "docs" / "spraying.png")
    document = {"measured": date.today().isoformat(), "level": LEVEL, "rows": [asdict(row) for row in rows]}
    (results / "spraying.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The cost of a packet-hop by stage, before and after: instructions, cache lines, mispredicted branches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

from bench import callgrind
from bench.callgrind import Cost
from fanin.run_folder import RunError

SCALES = {
    "a": (0.06, 0.12),
    "b": (0.015, 0.04),
    "b-hpcc": (0.015, 0.04),
    "c": (0.03, 0.08),
    "d": (0.3, 1.0),
    "e": (0.1, 0.3),
    "e-hpcc": (0.1, 0.3),
    "f": (0.04, 0.1),
}
"""A short and a longer run of each case. The short one is long enough to fill links and windows: (a)'s windows
have 50 packets, its short run 60 for each flow."""
SHOWN = {
    callgrind.ALL: "instructions",
    callgrind.LINES: "lines into the first level",
    callgrind.FAR_LINES: "into the second",
    callgrind.MISPREDICTED: "branches mispredicted",
}


class Side(TypedDict):
    """A case of one version."""

    packet_hops: int
    event_hash: str
    stages: dict[str, Cost]


class Budget(TypedDict):
    """`bench/results/budget.json`."""

    before_commit: str
    before: dict[str, Side]
    after: dict[str, Side]


def load(path: Path) -> Budget:
    """What was measured."""
    if not path.exists():
        return {"before_commit": "", "before": {}, "after": {}}
    budget: Budget = json.loads(path.read_text(encoding="utf-8"))
    return budget


def save(budget: Budget, path: Path) -> None:
    """Writes it, cases in their order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    in_order: Budget = {
        "before_commit": budget["before_commit"],
        "before": {case: budget["before"][case] for case in SCALES if case in budget["before"]},
        "after": {case: budget["after"][case] for case in SCALES if case in budget["after"]},
    }
    path.write_text(json.dumps(in_order, indent=1) + "\n", encoding="utf-8")


def named(cases: Sequence[str]) -> list[str]:
    """These cases, each possibly several with commas between, or all; raises `RunError` for an unknown one."""
    asked = [case for given in cases for case in given.split(",")]
    for case in asked:
        if case not in SCALES:
            raise RunError(f'no case "{case}"; the cases are {", ".join(SCALES)}')
    return asked or list(SCALES)


def measure(program: Path, cases: Sequence[str], say: Callable[[str], None]) -> dict[str, Side]:
    """Counts cases, as many at a time as the cores can."""

    def one(case: str) -> Side:
        with tempfile.TemporaryDirectory() as folder:
            counted = callgrind.per_hop(program, case, SCALES[case], Path(folder), caches=True)
        say(f"{case}: {whole(counted.stages, callgrind.ALL):.0f} instructions per packet-hop")
        rounded = {stage: {name: round(cost[name], 3) for name in SHOWN} for stage, cost in counted.stages.items()}
        return {"packet_hops": counted.packet_hops, "event_hash": counted.event_hash, "stages": rounded}

    # Each has two simultaneous runs.
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        return dict(zip(cases, pool.map(one, cases), strict=True))


def measure_commit(commit: str, cases: Sequence[str], work: Path, say: Callable[[str], None]) -> dict[str, Side]:
    """Builds another commit with the present compiler in temporary folders, and counts cases there."""
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(callgrind.ROOT), "worktree"]
        added = subprocess.run([*git, "add", "--detach", tree, commit], capture_output=True, text=True, check=False)
        if added.returncode != 0:
            raise RunError(f"{commit}: {added.stderr.strip().splitlines()[-1]}")
        try:
            say(f"building {commit}")
            shutil.copy(callgrind.ROOT / "rust-toolchain.toml", tree)
            return measure(callgrind.build(tree, Path(folder) / "target"), cases, say)
        finally:
            subprocess.run([*git, "remove", "--force", tree], capture_output=True, check=False)


def whole(stages: dict[str, Cost], measure: str) -> float:
    """All stages together."""
    return sum(cost[measure] for cost in stages.values())


def section(path: Path) -> str:
    """The budget as Markdown: before → after by stage and case, a table for each measure."""
    budget = load(path)
    before, after = budget["before"], budget["after"]
    same = [case for case in after if case in before and before[case]["event_hash"] == after[case]["event_hash"]]
    parts = [f"Before is commit {budget['before_commit']}. Event hashes are equal in {', '.join(same) or 'no case'}."]
    for measure, title in SHOWN.items():
        digits = 0 if measure == callgrind.ALL else 2
        lines = [f"| {title} | " + " | ".join(after) + " |", "|---|" + "---:|" * len(after)]
        for stage in callgrind.STAGES:
            cells = [_change(before.get(case), after[case], [stage], measure, digits) for case in after]
            lines.append(f"| {stage} | " + " | ".join(cells) + " |")
        cells = [f"**{_change(before.get(case), after[case], callgrind.STAGES, measure, digits)}**" for case in after]
        lines.append("| **all** | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _change(before: Side | None, after: Side, stages: Sequence[str], measure: str, digits: int) -> str:
    sums = [sum(side["stages"][stage][measure] for stage in stages) if side else None for side in (before, after)]
    return " → ".join("-" if amount is None else f"{amount:.{digits}f}" for amount in sums)

"""Connection matrices of uet-htsim, run unchanged on its own network (Ultra Ethernet); they leave the lines that it
prints."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fanin import _core, limits
from fanin.comparing import run_all
from fanin.comparison import Comparison
from fanin.result import Result
from fanin.runs import Watcher, cores, run_one

if TYPE_CHECKING:
    from fanin.explanation import Explanation

__all__ = ["UecJob", "compare_uec", "explain_uec", "run_uec"]

LONGEST_NAME = 60
"""Longest name of options, in letters; longer ones are numbered."""


@dataclass(frozen=True)
class UecJob:
    """One connection matrix to run."""

    matrix: str
    """The matrix's path."""
    topology: str | None = None
    """The topology's path; None is the fat tree of as many hosts."""
    options: str = ""
    """The options of that simulator's command line."""
    title: str = ""
    """What tells it from other runs of the same matrix."""
    max_memory: int | None = None
    """Most memory in bytes by the estimate; `None` is no limit."""
    max_time: float | None = None
    """Most real time in seconds by the estimate; `None` is no limit."""

    @classmethod
    def of(
        cls, matrix: str | os.PathLike[str], topology: str | os.PathLike[str] | None = None, options: str = ""
    ) -> UecJob:
        """The matrix and how it runs."""
        return cls(os.fspath(matrix), None if topology is None else os.fspath(topology), options)

    def with_seed(self, seed: int) -> UecJob:
        """The same with another seed, which its title names."""
        title = "-".join(filter(None, [self.title, f"seed-{seed}"]))
        return replace(self, options=f"{self.options} -seed {seed}", title=title)

    @property
    def label(self) -> str:
        """Names the run among others; fit for a folder name."""
        return "-".join(filter(None, [Path(self.matrix).stem, self.title]))

    def resolve(self) -> dict[str, object]:
        """A matrix has no spec; raises `SpecError` for files and options that cannot be used."""
        self.warnings()
        return {}

    def warnings(self) -> list[str]:
        """Warnings that are known before it runs; raises `SpecError`."""
        return _core.uec_warnings(self.matrix, self.topology, self.options)

    def explain(self) -> Explanation:
        """What it means before it runs; raises `SpecError`."""
        return cast("Explanation", json.loads(_core.uec_explain(self.matrix, self.topology, self.options)))

    def run(self, flows: object | None, watcher: Watcher | None) -> Result:
        """Runs it in this thread, without the GIL."""
        if flows is not None:
            raise ValueError("flows of a connection matrix are its own")
        made = _core.run_uec(self.matrix, self.topology, self.options, watcher, self.max_memory, self.max_time)
        return Result.of(made, label=self.label)


def run_uec(
    matrix: str | os.PathLike[str],
    *,
    topology: str | os.PathLike[str] | None = None,
    options: str = "",
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
) -> Result:
    """Runs a connection matrix of uet-htsim on that simulator's own network, event for event, and returns its result.

    `topology` is a `.topo` file; without it, it is the fat tree of as many hosts as the matrix has. `options` are those
    of that simulator's command line in one text, as "-sender_cc_only -paths 128 -end 1000"; see
    docs/ultra-ethernet.md. `Result.save` writes the lines that it prints to `uec.txt`, beside the usual tables.
    `max_memory` and `max_time` are those of `fanin.run`.

    Raises `SpecError`, which names file and line or the option, for what cannot be used.
    """
    memory, time = limits.within(max_memory, max_time)
    job = replace(UecJob.of(matrix, topology, options), max_memory=memory, max_time=time)
    return run_one(job, progress=progress)


def explain_uec(
    matrix: str | os.PathLike[str], *, topology: str | os.PathLike[str] | None = None, options: str = ""
) -> Explanation:
    """What a connection matrix of uet-htsim means before it runs: its round-trip times, queues, marks and cost. The
    arguments are those of `run_uec`, and the result is that of `fanin.explain`."""
    return UecJob.of(matrix, topology, options).explain()


def compare_uec(
    matrix: str | os.PathLike[str],
    options: Sequence[str],
    seeds: Sequence[int] | None = None,
    *,
    topology: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
) -> Comparison:
    """Runs a connection matrix of uet-htsim with several texts of options, each with every seed, and returns them side
    by side. The other arguments are those of `run_uec` and `fanin.compare`."""
    each = list(dict.fromkeys(options))
    base = UecJob.of(matrix, topology)
    jobs = [replace(base, options=one, title=name) for one, name in zip(each, names_of(each), strict=True)]
    if seeds:
        jobs = [job.with_seed(seed) for job in jobs for seed in dict.fromkeys(seeds)]
    at_once = max(1, min(workers or cores(), len(jobs)))
    memory, time = limits.within(max_memory, max_time)
    share = None if memory is None else memory // at_once
    return run_all([replace(job, max_memory=share, max_time=time) for job in jobs], at_once, progress=progress)


def names_of(options: Sequence[str]) -> list[str]:
    """For each text of options, a name from those that not all of them have; fit for a folder name."""
    each = [re.findall(r"-[A-Za-z_]\S*(?:\s+[^-\s]\S*)*", one) for one in options]
    shared = set.intersection(*(set(one) for one in each)) if len(each) > 1 else set()
    names = ["-".join(re.sub(r"[^\w.]+", "-", word[1:]) for word in one if word not in shared) for one in each]
    return [
        name if len(name) <= LONGEST_NAME else f"options-{number}"
        for number, name in enumerate((name or "default" if len(each) > 1 else name for name in names), 1)
    ]

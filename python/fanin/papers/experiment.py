"""An experiment of a paper: a sweep over a spec in `papers/`, a picture, and our numbers beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fanin.result import Result
from fanin.runs import Job, map_jobs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["holds", "close", "differs", "calibrated"]

Key = tuple[str | int, ...]
"""Names one run of a sweep; the last part is the seed."""

Measured = dict[str, list[float]]
"""The measurements of a run, by name: a list of one for a number."""

Measures = Mapping[Key, Measured]


@dataclass(frozen=True)
class Row:
    """One claim, or a part of one: the paper's result beside ours."""

    claim: str
    what: str
    paper: str
    ours: str
    accept: str
    """The criterion by which the claim holds."""
    verdict: Verdict
    judged: bool = True
    """False for a row that is shown beside the claim, which does not state it, and that decides nothing."""


@dataclass(frozen=True)
class Change:
    """One run of a sweep: a scheme, or None for the spec's own, and changes to the spec, as `key=value`."""

    scheme: str | None
    set: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper."""

    id: str
    """For example `dctcp-fig14`."""
    title: str
    spec: str
    """File of the spec, under the folder of specs."""
    sweep: Callable[[bool], Mapping[Key, Change]]
    """The runs; True for a short version, whose numbers prove nothing."""
    measure: Callable[[Result], Measured]
    draw: Callable[[Measures], Figure]
    rows: Callable[[Measures], list[Row]]


@dataclass(frozen=True)
class Study:
    """The results of an experiment."""

    experiment: Experiment
    measures: dict[Key, Measured]
    complete: bool
    """Every run of the sweep was completed."""

    def rows(self) -> list[Row]:
        """Our numbers beside the paper's."""
        return self.experiment.rows(self.measures)

    def save(self, folder: Path) -> list[Path]:
        """Writes the picture and the rows and returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        picture, table = folder / f"{self.experiment.id}.png", folder / f"{self.experiment.id}.json"
        self.experiment.draw(self.measures).savefig(picture, dpi=150)
        record = {"experiment": self.experiment.id, "rows": [asdict(row) for row in self.rows()]}
        table.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return [picture, table]


def run_experiment(
    experiment: Experiment, specs: Path, *, quick: bool = False, workers: int = 1, progress: bool = True
) -> Study:
    """Runs a whole sweep. After Ctrl-C the study has the runs that were done and is not complete."""
    base = Job.of(specs / experiment.spec)
    sweep = experiment.sweep(quick)
    jobs = [job(base, key, change) for key, change in sweep.items()]

    def take(result: Result) -> Measured | None:
        return None if result.cancelled else experiment.measure(result)

    taken = map_jobs(jobs, take, workers=workers, progress=progress)
    done = {key: measured for key, measured in zip(sweep, taken, strict=False) if measured is not None}
    return Study(experiment, done, complete=len(done) == len(sweep))


def job(base: Job, key: Key, change: Change) -> Job:
    """One run of a sweep."""
    title = "/".join(map(str, key))
    return replace(base, overrides=change.set, scheme=change.scheme, seed=int(key[-1]), title=title)


def pooled(measures: Measures, key: Key, name: str) -> list[float]:
    """The measurements of all seeds of a point of the sweep, concatenated; `key` is without the seed."""
    return [value for run, measured in measures.items() if run[:-1] == key for value in measured[name]]


def points(measures: Measures, scheme: str) -> list[int]:
    """The second parts of the keys of a scheme, in order."""
    return sorted({int(key[1]) for key in measures if key[0] == scheme})


def strict(holds: bool) -> Verdict:
    """For a claim without a margin."""
    return "holds" if holds else "differs"


def band(value: float, low: float, high: float) -> Verdict:
    """For ratios and positive quantities: holds inside the band; close outside it by a factor of at most 1.25."""
    if low <= value <= high:
        return "holds"
    return "close" if low / 1.25 <= value <= high * 1.25 else "differs"


def order(kept: Sequence[bool]) -> Verdict:
    """Holds if every point is in order; close if at most one in ten is not."""
    broken = sum(not point for point in kept)
    if broken == 0:
        return "holds"
    return "close" if broken * 10 <= len(kept) else "differs"


def gain_band(value: float, low: float, high: float) -> Verdict:
    """For gains, cuts and differences, with a band above 0: holds inside it; close outside it by at most a quarter of
    its width and above 0."""
    if low <= value <= high:
        return "holds"
    slack = (high - low) / 4
    return "close" if value > 0 and low - slack <= value <= high + slack else "differs"

"""A campaign: the runs of some experiments, longest first, in worker processes or on a Dask cluster."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from fanin.jobs import Job, Measured, Measurement, Outcome, run_all
from fanin_papers import claims
from fanin_papers.experiment import Experiment, Key, Study, Under, job, read_as

PACKET_HOPS_PER_S = 6.5e6
"""Speed of one core in a campaign of all papers (5e6 in Dart's experiments, 9e6 in the others), for the estimate of the
whole before anything has run."""

RUN_S = 0.03
"""Seconds of a run besides its packets: reading the spec, building the network, measuring."""


class _Part(NamedTuple):
    """A run that an experiment needs."""

    reading: str
    """The reading of what the paper leaves open; empty for the one used elsewhere."""
    key: Key
    run: str
    """Its name; where two readings mean the same spec it is that of the first of them."""


class Campaign:
    """The runs of some experiments."""

    def __init__(
        self,
        experiments: Sequence[Experiment],
        specs: Path,
        *,
        quick: bool = False,
        keep: Path | None = None,
        readings: bool = True,
    ) -> None:
        """Raises `SpecError` for a run that cannot start. `keep`: the folder of finished runs, which are not repeated;
        without one, all are run. `readings`: also under other readings of what the papers leave open, but in short
        versions."""
        self._quick = quick
        self._studies: list[tuple[Experiment, list[_Part]]] = []
        self._runs: dict[str, Measurement] = {}
        for one in experiments:
            base, sweep = Job.of(specs / one.spec), one.sweep(quick)
            again = (other for other in claims.readings().values() if other.instead_of is None)
            others = [other for other in again if readings and not quick and one.id in other.experiments]
            parts: list[_Part] = []
            jobs: dict[str, Job] = {}
            for key, change in sweep.items():
                plain = job(base, key, change)
                runs = {"": plain, **{other.name: read_as(plain, other.of(one.id)) for other in others}}
                alike: dict[str, str] = {}
                for reading, run in runs.items():
                    spec = json.dumps(run.resolve()) if others else ""
                    name = alike.setdefault(spec, f"{one.id}/{run.label}")
                    jobs.setdefault(name, run)
                    parts.append(_Part(reading, key, name))
            record = {} if quick else claims.measured().get(one.id, {})
            seconds = RUN_S + record.get("packet_hops", 0) / max(1, len(sweep)) / PACKET_HOPS_PER_S
            folder = None if keep is None else keep / one.id
            self._runs |= {name: Measurement(run, one.measure, folder, seconds) for name, run in jobs.items()}
            self._studies.append((one, parts))
        self._todo = [run for run in self._runs.values() if run.kept() is None]

    @property
    def runs(self) -> int:
        """How many runs are to do."""
        return len(self._todo)

    def seconds(self, workers: int) -> float:
        """The estimated real time of those runs, from the recorded packet-hops of their experiments."""
        return sum(run.seconds for run in self._todo) / workers

    def run(
        self,
        take: Callable[[Study], None],
        *,
        workers: int | None = None,
        executor: Executor | None = None,
        progress: bool = True,
    ) -> bool:
        """Runs them as `fanin.jobs.run_all` does, and hands over each study as soon as it is complete. Returns whether
        all are: after Ctrl-C not."""
        outcomes: dict[str, Outcome] = {}
        study_of = {part.run: number for number, (_, parts) in enumerate(self._studies) for part in parts}
        left = Counter(study_of.values())

        def land(name: str, outcome: Outcome) -> None:
            outcomes[name] = outcome
            number = study_of[name]
            left[number] -= 1
            if left[number] == 0:
                experiment, parts = self._studies[number]
                its = {run: outcomes.pop(run) for run in {part.run for part in parts}}
                take(self._study(experiment, parts, its))

        return run_all(self._runs, land, workers=workers, executor=executor, progress=progress)

    def _study(self, experiment: Experiment, parts: Sequence[_Part], outcomes: Mapping[str, Outcome]) -> Study:
        """The results of an experiment, by reading."""
        used = [part for part in parts if not part.reading]
        names = {part.run for part in used}

        def measures(some: Sequence[_Part]) -> dict[Key, Measured]:
            return {part.key: outcomes[part.run].measured for part in some}

        def hops(runs: Iterable[str]) -> int:
            return sum(outcomes[name].packet_hops for name in runs)

        readings = {}
        for reading in dict.fromkeys(part.reading for part in parts if part.reading):
            its = [part for part in parts if part.reading == reading]
            own = {part.run for part in its} - names
            readings[reading] = Under(measures(its), len(own), hops(own))
        return Study(experiment, measures(used), self._quick, hops(names), readings)

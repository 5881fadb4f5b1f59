"""A campaign: the runs of some experiments, longest first, in worker processes or on a Dask cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from fanin.jobs import Job, Measurement, Outcome, run_all
from fanin_papers import claims
from fanin_papers.experiment import Experiment, Key, Study, job

PACKET_HOPS_PER_S = 6.5e6
"""Speed of one core in a campaign of all papers (5e6 in Dart's experiments, 9e6 in the others), for the estimate of the
whole before anything has run."""

RUN_S = 0.03
"""Seconds of a run besides its packets: reading the spec, building the network, measuring."""


class Campaign:
    """The runs of some experiments."""

    def __init__(
        self, experiments: Sequence[Experiment], specs: Path, *, quick: bool = False, keep: Path | None = None
    ) -> None:
        """Raises `SpecError` for a run that cannot start. `keep`: the folder of finished runs, which are not repeated;
        without one, all are run."""
        self._quick = quick
        self._of: dict[str, tuple[Experiment, Key]] = {}
        self._runs: dict[str, Measurement] = {}
        for one in experiments:
            base, sweep = Job.of(specs / one.spec), one.sweep(quick)
            hops = 0 if quick else claims.measured().get(one.id, {}).get("packet_hops", 0)
            seconds = RUN_S + hops / max(1, len(sweep)) / PACKET_HOPS_PER_S
            folder = None if keep is None else keep / one.id
            for key, change in sweep.items():
                run = job(base, key, change)
                self._of[f"{one.id}/{run.label}"] = one, key
                self._runs[f"{one.id}/{run.label}"] = Measurement(run, one.measure, folder, seconds)
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
        left = Counter(one.id for one, _ in self._of.values())
        outcomes: dict[str, Outcome] = {}

        def land(name: str, outcome: Outcome) -> None:
            experiment, _ = self._of[name]
            outcomes[name] = outcome
            left[experiment.id] -= 1
            if left[experiment.id] == 0:
                its = {key: outcomes.pop(name) for name, (one, key) in self._of.items() if one is experiment}
                hops = sum(one.packet_hops for one in its.values())
                take(Study(experiment, {key: one.measured for key, one in its.items()}, self._quick, hops))

        return run_all(self._runs, land, workers=workers, executor=executor, progress=progress)

"""The command `sweep`: many runs of one spec."""

from __future__ import annotations

import shlex
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import stopping
from fanin.cli import folders
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    CommandError,
    complete_scheme,
    emit,
    error,
    few,
    need,
    schemes_of,
    seeds,
    show,
    stdout,
    warn,
)
from fanin.cli.options import AsJson, Bounds, Changes, Dask, SpecFile, grouped

if TYPE_CHECKING:
    from fanin.sweeps.sweeping import Sweep

SWEEP = "sweep.json"
"""The file that marks the folder of a sweep; named here so that other commands need not load the code of sweeps."""


def add_to(app: typer.Typer) -> None:
    """Adds this command."""
    app.command("sweep")(grouped(sweep))


@dataclass(frozen=True)
class Grid:
    """The runs of a sweep."""

    schemes: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Instead of the spec's own scheme.", autocompletion=complete_scheme),
    ] = None
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="L1,L2", help="Scale the load shares of all traffics, so that they add up to each of these."
        ),
    ] = None
    seeds_: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N", help="Runs of each, from the spec's seed on; or a list: 1,2,3."),
    ] = None
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary", metavar="KEY=V1,V2", help="Values of any key of the spec, each as in --set; repeatable."
        ),
    ] = None


@dataclass(frozen=True)
class SweepFolder:
    """Where a sweep's results go, and which are kept."""

    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The sweep's folder, instead of runs/NAME-sweep.")
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Start again: delete the results of an earlier sweep there.")
    ] = False
    keep_runs: Annotated[bool, typer.Option("--keep-runs", help="Keep the folder of each whole run too.")] = False


def sweep(
    spec: SpecFile,
    grid: Grid,
    kept: SweepFolder,
    given: Changes,
    limits: Bounds,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at once, a process each; one per processor by default.")
    ] = None,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Run a grid of schemes, loads, values of keys and seeds; leave one table, sweep.parquet and sweep.csv.

    Each run's numbers are saved in DIR as soon as it ends. After a sweep was stopped or killed, the same command
    continues it; a larger or another grid of the same spec adds to DIR. Runs that failed are repeated. The longest
    runs, by their estimate, go first.

    \b
    Examples:
      fanin sweep examples/incast.toml --schemes dart,dcqcn --loads 0.2,0.4 --seeds 5
      fanin sweep my.toml --vary "network.buffer.per_port=100 KB,225 KB" --vary traffic.queries.pattern.degree=8,16
      fanin sweep my.toml --schemes dcqcn --load my_policy.py:MyPolicy --vary network.balancing=random,my-policy
      fanin sweep my.toml --schemes dart,dcqcn --seeds 20 --dask tcp://10.0.0.1:8786 --out runs/many
    """
    from fanin.runs import Job
    from fanin.sweeps import pools
    from fanin.sweeps.grid import parse_loads, parse_vary
    from fanin.sweeps.sweeping import sweep as run_sweep

    need(dask is None or jobs is None, "--jobs and --dask: the cluster's workers say how many runs go on at once")
    changes = given.changes()
    each_scheme = schemes_of(grid.schemes, lambda: Job.of(spec, changes))
    each_load = parse_loads(grid.loads) if grid.loads is not None else None
    each_seed = seeds(grid.seeds_) if grid.seeds_ is not None else None
    keys = parse_vary(grid.vary or ())
    memory, time = limits.memory, limits.time
    named = folders.of_spec(Job.of(spec, changes))
    wanted = named.with_name(f"{named.name}-sweep")
    cluster = pools.dask(dask, warn) if dask is not None else nullcontext[Executor | None](None)

    def swept_in(folder: Path, executor: Executor | None) -> Sweep:
        return run_sweep(
            spec,
            each_scheme,
            each_load,
            each_seed,
            keys,
            out=folder,
            set=changes,
            executor=executor,
            jobs=jobs,
            keep_runs=kept.keep_runs,
            max_memory=memory,
            max_time=time,
            force=kept.force,
        )

    with stopping.stoppable(), cluster as executor:
        for folder in [kept.out] if kept.out is not None else folders.numbered(wanted):
            try:
                swept = swept_in(folder, executor)
            except FileExistsError:
                if kept.out is not None:
                    raise
                continue  # a sweep of another spec has that name; one of this spec is continued there
            folders.tell_other(kept.out or wanted, folder)
            report(swept, as_json=as_json)
            return


def report(swept: Sweep, *, as_json: bool) -> None:
    """Prints the table and its folder; exits with 1 if a run failed."""
    with stopping.printing(f"results: {swept.folder}"):
        if as_json:
            emit(document(swept))
        else:
            show(swept.text())
            stdout().print(f"results: {swept.folder}", highlight=False, markup=False, soft_wrap=True)
        all_of_them = f"fanin show {shlex.quote(str(swept.folder))} --json"
        few(swept.warnings, warn, "warnings", all_of_them)
        few(swept.errors, error, "errors", all_of_them)
    if swept.cancelled or stopping.received():
        raise CommandError("", INTERRUPTED)
    if swept.errors:
        raise typer.Exit(FAILED)


def show_sweep(folder: Path, *, as_json: bool) -> None:
    """Prints a sweep again."""
    from fanin import load_sweep

    swept = load_sweep(folder)
    if as_json:
        emit(document(swept))
    else:
        show(swept.text())


def document(swept: Sweep) -> dict[str, object]:
    """The document that `--json` prints of a sweep."""
    return {
        "ok": not (swept.cancelled or swept.errors),
        "name": swept.name,
        "folder": str(swept.folder),
        "complete": swept.complete,
        "errors": swept.errors,
        "warnings": swept.warnings,
        "runs": [run.to_json() for run in swept.runs],
    }

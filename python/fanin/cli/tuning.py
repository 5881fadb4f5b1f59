"""The command `tune`: a search of settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import stopping
from fanin.cli import folders
from fanin.cli.common import FAILED, INTERRUPTED, CommandError, emit, need, show, stdout
from fanin.cli.options import AsJson, Bounds, Changes, SpecFile, grouped

if TYPE_CHECKING:
    from fanin.tuning import Tuned


def add_to(app: typer.Typer) -> None:
    """Adds this command."""
    app.command("tune")(grouped(tune))


Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=V1,V2",
        help="Values of a key of the spec, or a range of them like 50 KB..800 KB, which is 9 values; repeatable.",
        show_default=False,
    ),
]
GoalText = Annotated[
    str,
    typer.Option(
        "--goal",
        metavar="NUMBER",
        help='What is to be good: a number of a sweep, like "slowdown_p99 of short" or "max goodput of long".',
        show_default=False,
    ),
]
KeepText = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="LIMIT",
        help='What must hold, like "drops <= 0", "queue_p99 of last-hop <= 300 KB" or "goodput of long >= 0.9", which '
        "is 0.9 of what the spec itself has; repeatable.",
    ),
]


@dataclass(frozen=True)
class Search:
    """How far a search goes, and where its results go."""

    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each point, from the spec's seed on; then as many more.")
    ] = 3
    points: Annotated[int, typer.Option(min=1, metavar="N", help="The most points that are tried.")] = 40
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at once, a process each; one per processor by default.")
    ] = None
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The search's folder, instead of runs/NAME-tune.")
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Start again: delete the results of an earlier search there.")
    ] = False


def tune(
    spec: SpecFile,
    goal: GoalText,
    search: Search,
    given: Changes,
    limits: Bounds,
    vary: Vary = None,
    keep: KeepText = None,
    as_json: AsJson = False,
) -> None:
    """Search the values of keys under which a number is best, while others keep their limits; draw the trade-off.

    Every point runs under the same seeds. Few points all run; of many, an evolution strategy (CMA-ES) chooses. The best
    one, and the spec as it is, run again under fresh seeds, which says how sure the gain is. DIR is the folder of a
    sweep: the same command continues it, and fanin plot sweep draws it.

    \b
    Examples:
      fanin tune my.toml --vary "network.marking.above=10 KB..200 KB" --goal "fct_p50 of queries"
      fanin tune my.toml --vary "network.marking.above=10 KB,50 KB" --goal "max goodput of updates" --keep "drops <= 0"
    """
    from fanin.runs import Job
    from fanin.sweeps.grid import parse_vary
    from fanin.tuning import tune as run_tune

    need(bool(vary), '--vary: which keys? Write it like --vary "network.marking.above=10 KB..200 KB"')
    changes = given.changes()
    named = folders.of_spec(Job.of(spec, changes))
    wanted = named.with_name(f"{named.name}-tune")

    def tuned_in(folder: Path) -> Tuned:
        return run_tune(
            spec,
            parse_vary(vary or ()),
            goal,
            keep or (),
            out=folder,
            seeds=search.seeds,
            points=search.points,
            set=changes,
            jobs=search.jobs,
            max_memory=limits.memory,
            max_time=limits.time,
            force=search.force,
        )

    with stopping.stoppable():
        for folder in [search.out] if search.out is not None else folders.numbered(wanted):
            try:
                tuned = tuned_in(folder)
            except FileExistsError:
                if search.out is not None:
                    raise
                continue  # a search of another spec has that name; one of this spec is continued there
            except KeyboardInterrupt:
                raise CommandError("", INTERRUPTED) from None
            folders.tell_other(search.out or wanted, folder)
            _report(tuned, as_json=as_json)
            return


def _report(tuned: Tuned, *, as_json: bool) -> None:
    """Prints what was found, and draws it; exits with 1 if no point keeps the limits."""
    with stopping.printing(f"results: {tuned.folder}"):
        picture = tuned.folder / "tune.png"
        drawn = any(point.goal_estimate.mean is not None for point in tuned.points)
        if drawn:
            tuned.plot(picture)
        if as_json:
            emit({**tuned.to_json(), **({"picture": str(picture)} if drawn else {})})
        else:
            show(tuned.text())
            for line in [*([f"written: {picture}"] if drawn else []), f"results: {tuned.folder}"]:
                stdout().print(line, highlight=False, markup=False, soft_wrap=True)
    if tuned.cancelled or stopping.received():
        raise CommandError("", INTERRUPTED)
    if tuned.best is None:
        raise typer.Exit(FAILED)

"""Commands that measure Fanin itself: `bench`, `paper`, `validate`, `version`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fanin import _core, stopping
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    WRONG_SPEC,
    AsJson,
    CommandError,
    Workers,
    emit,
    meant,
    need,
    show,
    stderr,
    stdout,
)

OVERVIEW = "overview"
"""The experiment that is no paper's: see `fanin.papers.overview`."""


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("bench")(bench_command)
    app.command("paper")(paper)
    app.command("validate")(validate_command)
    app.command("version")(version)


def bench_command(
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this case; repeatable.", autocompletion=lambda: [name for name, _ in _core.bench_cases()]
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Threads of one run.")] = 1,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs per case; the one of median time is shown.")
    ] = 1,
    scale: Annotated[float, typer.Option(metavar="FACTOR", help="Makes the cases shorter (below 1) or longer.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Measure packet-hops per second on fixed cases, each in a process of its own.

    \b
    Examples:
      fanin bench
      fanin bench --case a --repeat 5
      fanin bench --scale 0.1 --json
    """
    from fanin import bench

    known = bench.cases()
    unknown = [name for name in case or () if name not in known]
    if unknown:
        raise CommandError(f"--case {unknown[0]}: there is no such case; the cases are {', '.join(known)}", WRONG_SPEC)
    need(0 < scale <= 1000, f"--scale {scale:g}: it is above 0 and at most 1000")
    records = []
    with stopping.stoppable():
        for record in bench.measure(case or list(known), threads=threads, scale=scale, repeat=repeat):
            records.append(record)
            if not as_json:
                stderr().print(f"{record['case']}: {known[record['case']]}", highlight=False, markup=False)
    if as_json:
        emit({"cases": records})
    else:
        show(bench.table(records))


def validate_command(
    golden: Annotated[
        Path, typer.Argument(metavar="DIR", help="configs/, micro/ and traces/ with that simulator's results.")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for pictures and numbers.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare our results with those of the ns-3 HPCC simulator, flow by flow, and draw both.

    \b
    Examples:
      fanin validate results-of-that-simulator --out docs/validation
    """
    from fanin import validate

    with stopping.stoppable():
        rows, others = validate.validate(golden, out)
    if as_json:
        exact = [asdict(row) | {"within": row.within} for row in rows]
        emit({"exact": exact, "beside": [asdict(row) for row in others]})
    else:
        show(validate.table(rows))
        if others:
            show(validate.beside_table(others))
    if not all(row.within for row in rows):
        raise typer.Exit(FAILED)


def paper(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures and numbers go.")] = Path("runs/papers"),
    specs: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the papers' specs.")] = Path("papers"),
    quick: Annotated[
        bool, typer.Option(help="A short version, to test that it runs; its numbers prove nothing.")
    ] = False,
    workers: Workers = None,
) -> None:
    """Run experiments of the papers: a picture each, and our numbers beside the paper's. Without an ID, list them.

    overview runs every scheme in the same few scenarios and writes a page of tables.

    \b
    Examples:
      fanin paper
      fanin paper dctcp-fig14 --out runs/papers
      fanin paper overview
      fanin paper all
    """
    from fanin import papers, table
    from fanin.papers.experiment import run_experiment

    known = papers.EXPERIMENTS
    if not names:
        listed = [[e.id, e.title] for e in known.values()]
        show(table.plain(["experiment", "what it shows"], [*listed, [OVERVIEW, "every scheme in the same scenarios"]]))
        return
    names = [*known, OVERVIEW] if names == ["all"] else names
    for name in names:
        if name not in known and name != OVERVIEW:
            raise CommandError(
                f"{name}: there is no such experiment{meant(name, [*known, OVERVIEW, 'all'])}",
                WRONG_SPEC,
            )
    need(specs.is_dir(), f"--specs {specs}: there is no such folder; it is papers of Fanin's source tree")
    for name in names:
        if name == OVERVIEW:
            _overview(specs, out, quick=quick, workers=workers or os.cpu_count() or 1)
            continue
        with stopping.stoppable():
            studied = run_experiment(known[name], specs, quick=quick, workers=workers or os.cpu_count() or 1)
        if not studied.complete:
            raise CommandError(f"{name}: stopped; nothing was written", INTERRUPTED)
        show(table.claims(studied))
        for path in studied.save(out):
            stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)


def _overview(specs: Path, out: Path, *, quick: bool, workers: int) -> None:
    """Runs every scheme in the overview's scenarios and writes its page."""
    from fanin.papers import overview

    parts = []
    for scenario in overview.SCENARIOS:
        with stopping.stoppable():
            part = overview.run_part(scenario, specs, quick=quick, workers=workers)
        if part is None:
            raise CommandError(f"{OVERVIEW}: stopped; nothing was written", INTERRUPTED)
        show(part.table())
        parts.append(part)
    out.mkdir(parents=True, exist_ok=True)
    page = out / "overview.md"
    page.write_text(overview.page(parts), encoding="utf-8")
    stdout().print(f"written: {page}", highlight=False, markup=False, soft_wrap=True)


def version() -> None:
    """Print the version."""
    print(_core.__version__)

"""Commands that measure Fanin itself: `bench`, `validate`, `version`."""

from __future__ import annotations

import platform
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fanin import _core, stopping
from fanin.cli.common import FAILED, WRONG_SPEC, CommandError, emit, need, show, stderr
from fanin.cli.options import AsJson


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("bench")(bench_command)
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
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID|FILE",
            help="Under this scheme instead of the case's, or one of your own; repeatable, to compare.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure packet-hops per second on fixed cases, each in a process of its own.

    \b
    Examples:
      fanin bench
      fanin bench --case a --repeat 5
      fanin bench --scale 0.1 --json
      fanin bench --case e --scheme fixed-window --scheme dctcp-rate
      fanin bench --case python
    """
    from fanin import bench

    known = bench.cases()
    unknown = [name for name in case or () if name not in known]
    if unknown:
        raise CommandError(f"--case {unknown[0]}: there is no such case; the cases are {', '.join(known)}", WRONG_SPEC)
    need(0 < scale <= 1000, f"--scale {scale:g}: it is above 0 and at most 1000")
    records = []
    with stopping.stoppable():
        for record in bench.measure(
            case or list(known),
            threads=threads,
            scale=scale,
            repeat=repeat,
            schemes=scheme or (),
        ):
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


def version(as_json: AsJson = False) -> None:
    """Print the version, with --json also that of Python and the kind of machine."""
    if as_json:
        python = platform.python_version()
        emit({"version": _core.__version__, "python": python, "os": platform.system(), "arch": platform.machine()})
    else:
        print(_core.__version__)

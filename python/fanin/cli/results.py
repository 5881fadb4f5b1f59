"""Commands about results: `report`, `plot`, `why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import stopping
from fanin.cli.common import (
    FAILED,
    WRONG_SPEC,
    CommandError,
    check_image,
    emit,
    known_ideal,
    load_all,
    meant,
    need,
    need_kind,
    show,
    stdout,
)
from fanin.cli.options import AsJson, Ideal, Load
from fanin.cli.runs import read
from fanin.cli.sweeps import SWEEP as SWEEP_FILE

if TYPE_CHECKING:
    from fanin.result import Result

Image = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="The picture: .png, .svg or .pdf.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("report")(report)
    app.command("plot")(plot)
    app.command("why")(why)
    app.command("verify")(verify)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What run, compare or sweep has written.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Instead of DIR/report.html.")] = None,
    ideal: Ideal = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report of a run, a comparison or a sweep: one file that any browser opens.

    \b
    Examples:
      fanin report runs/incast
      fanin report runs/incast/dart -o dart.html
    """
    from fanin import report as written

    need_kind(folder, "results")
    need(out is None or not out.is_dir(), f"{out}: it is a folder; name a file in it, like {out}/report.html")
    path = written(folder, out, ideal=known_ideal(ideal))
    if as_json:
        emit({"ok": True, "report": str(path), "bytes": path.stat().st_size})
    else:
        _say_written(path)


SWEEP = "sweep"
"""The picture of the numbers of a sweep; all others are of whole runs."""

OLD_NAMES = {"completion": "fct"}


def _kinds() -> list[str]:
    from fanin import plot

    return [*plot.KINDS, SWEEP]


def plot(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="Which picture.", show_default=False, autocompletion=_kinds)
    ] = "",
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Runs, a comparison or a sweep.", show_default=False)
    ] = None,
    out: Image = None,
    x: Annotated[str | None, typer.Option("--x", metavar="KEY", help="Of a sweep: the column of the x axis.")] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y", metavar="NUMBER", help='Of a sweep: the number that is drawn, like "slowdown_p99 of short".'
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option("--map", metavar="KEY", help="Of a sweep: the column of a second axis; the number is in colours."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw one picture of runs, of a comparison or of a sweep. Without a KIND, list the pictures.

    Pictures show all seeds: pooled in a distribution, elsewhere as a mean with its interval.

    \b
    Examples:
      fanin plot
      fanin plot slowdown runs/incast -o slowdown.pdf
      fanin plot goodput runs/a/dart runs/b/dart
      fanin plot sweep runs/loads --x load --y slowdown_p99
      fanin plot sweep runs/buffers --x per_port --map degree --y "queue_max of last-hop"
    """
    from fanin import plot as pictures
    from fanin import table

    if not kind:
        rows = [[name, pictures.about(name)] for name in pictures.KINDS]
        rows.append([SWEEP, (pictures.along.__doc__ or "").split("\n")[0] + " With --map, a map over two columns."])
        if as_json:
            emit({"plots": [{"kind": name, "shows": shows} for name, shows in rows]})
        else:
            show(table.plain(["picture", "what it shows"], rows))
        return
    kind = OLD_NAMES.get(kind, kind)
    need(kind in _kinds(), f"no picture {kind}{meant(kind, _kinds())}")
    need(bool(folders), f"of which run? Write it like fanin plot {kind} runs/incast")
    of_sweep = x is not None or y is not None or over is not None
    need(kind == SWEEP or not of_sweep, f"--x, --y and --map: they are of fanin plot {SWEEP}, not of {kind}")
    path = out or (folders or [])[0] / f"{kind}.png"
    check_image(path)
    if kind == SWEEP:
        need(len(folders or []) == 1, f"{(folders or [])[-1]}: fanin plot {SWEEP} draws one sweep")
        labels = _draw_sweep((folders or [])[0], x, y, over, path)
    else:
        results = [result for folder in folders or [] for result in _results(folder)]
        pictures.KINDS[kind](results, path)
        labels = [result.label for result in results]
    if as_json:
        emit({"ok": True, "kind": kind, "picture": str(path), "runs": labels})
    else:
        _say_written(path)


def _results(folder: Path) -> list[Result]:
    """The runs of a run folder, a comparison or a sweep."""
    from fanin import load_sweep

    need_kind(folder, "results")
    return load_sweep(folder).results if (folder / SWEEP_FILE).is_file() else read(folder).results


def _draw_sweep(folder: Path, x: str | None, y: str | None, over: str | None, path: Path) -> list[str]:
    """Draws a number of one sweep, and returns the labels of its runs."""
    from fanin import load_sweep
    from fanin.sweeps.columns import label_of

    swept = load_sweep(folder)
    if over is None:
        swept.plot(x, y, path)
    else:
        swept.plot_map(x, over, y, path)
    return [label_of(run.settings) for run in swept.runs if run.numbers]


def why(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Its flow_id, or its name like queries:17; by default the slowest message."),
    ] = None,
    collective: Annotated[
        str | None,
        typer.Option(metavar="N", help="Of a collective instead: its number, or its traffic and number like job:0."),
    ] = None,
    own: Load = None,
    out: Image = None,
    as_json: AsJson = False,
) -> None:
    """Show why a message or a collective was slow: run its spec again, trace packets, draw what they waited for.

    \b
    Of a collective it names the rank that came late, or the messages and ports on its critical path that took long.

    \b
    Examples:
      fanin why runs/incast/dcqcn
      fanin why runs/incast/dcqcn --flow queries:17 -o why.png
      fanin why runs/all-reduce --collective 0
    """
    from fanin import Why, load, why_collective
    from fanin import why as asked
    from fanin.run_folder import is_run_folder

    load_all(own)
    need_kind(folder, "results")
    if out is not None:
        check_image(out)
    if not is_run_folder(folder):
        runs = [result.label for result in read(folder).results]
        raise CommandError(f"{folder}: a comparison; choose one of its runs: {', '.join(runs)}", WRONG_SPEC)
    need(flow is None or collective is None, "--flow and --collective: leave one out")
    result = load(folder)
    with stopping.stoppable():
        answer = asked(result, flow) if collective is None else why_collective(result, collective)
    of = answer.message if isinstance(answer, Why) else f"collective-{collective}"
    path = out or folder / f"why-{of.replace(':', '-').replace('/', '-')}.png"
    answer.plot(path)
    if as_json:
        emit({"ok": answer.repeated is not False, **answer.to_json(), "picture": str(path)})
    else:
        show(answer.text())
        _say_written(path)
    if answer.repeated is False:
        raise CommandError("", FAILED)


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What run has written.", show_default=False)],
    no_run: Annotated[bool, typer.Option("--no-run", help="Do not run the spec again.")] = False,
    own: Load = None,
    as_json: AsJson = False,
) -> None:
    """Check that a run folder is whole: its files, sums across its tables, and its results when its spec runs again.

    \b
    Examples:
      fanin verify runs/incast/dcqcn
      fanin verify runs/incast/dcqcn --no-run
    """
    from fanin.result import load
    from fanin.verifying import is_posted
    from fanin.verifying import verify as verified

    load_all(own)
    need_kind(folder, "results")
    with stopping.stoppable():
        wrong = verified(folder, again=not no_run)
    if as_json:
        emit({"ok": not wrong, "errors": wrong})
    if wrong:
        raise CommandError("" if as_json else "\n".join(wrong), FAILED)
    if not as_json:
        said = "its files are those that its run wrote"
        if is_posted(load(folder)):
            said += "; a program posted its messages, so its spec does not run by itself"
        elif not no_run:
            said += ", and its spec gives the same again"
        stdout().print(f"{folder}: {said}", highlight=False, markup=False, soft_wrap=True)


def _say_written(path: Path) -> None:
    stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)

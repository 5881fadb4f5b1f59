"""Commands about results: `report`, `plot`, `why`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanin import stopping
from fanin.cli.common import FAILED, WRONG_SPEC, AsJson, CommandError, emit, meant, need, show, stdout
from fanin.cli.runs import read

Image = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="The picture: .png, .svg or .pdf.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("report")(report)
    app.command("plot")(plot)
    app.command("why")(why)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What run or compare has written.", show_default=False)],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Instead of DIR/report.html.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report of a run or a comparison: one file, to open in any browser and to send to anybody.

    \b
    Examples:
      fanin report runs/incast
      fanin report runs/incast/dart -o dart.html
    """
    from fanin import report as written

    need(out is None or not out.is_dir(), f"{out}: it is a folder; name a file in it, like {out}/report.html")
    path = written(folder, out)
    if as_json:
        emit({"ok": True, "report": str(path), "bytes": path.stat().st_size})
    else:
        _say_written(path)


def _kinds() -> list[str]:
    from fanin import plot

    return list(plot.KINDS)


def plot(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="Which picture.", show_default=False, autocompletion=_kinds)
    ] = "",
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Runs, or a comparison.", show_default=False)
    ] = None,
    out: Image = None,
    as_json: AsJson = False,
) -> None:
    """Draw one picture of runs or of a comparison. Without a KIND, list the pictures.

    \b
    Examples:
      fanin plot
      fanin plot slowdown runs/incast -o slowdown.pdf
      fanin plot goodput runs/a/dart runs/b/dart
    """
    from fanin import plot as pictures
    from fanin import table

    if not kind:
        rows = [[name, pictures.about(name)] for name in pictures.KINDS]
        if as_json:
            emit({"plots": [{"kind": name, "shows": shows} for name, shows in rows]})
        else:
            show(table.plain(["picture", "what it shows"], rows))
        return
    need(kind in pictures.KINDS, f"no picture {kind}{meant(kind, list(pictures.KINDS))}")
    need(bool(folders), f"of which run? Write it like fanin plot {kind} runs/incast")
    path = out or (folders or [])[0] / f"{kind}.png"
    _check_image(path)
    results = [result for folder in folders or [] for result in read(folder).results]
    pictures.KINDS[kind](results, path)
    if as_json:
        emit({"ok": True, "kind": kind, "picture": str(path), "runs": [result.label for result in results]})
    else:
        _say_written(path)


def why(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Its flow_id, or its name like queries:17; by default the slowest message."),
    ] = None,
    out: Image = None,
    as_json: AsJson = False,
) -> None:
    """Show why a message was slow: run its spec once more, follow each of its packets, draw what they waited for.

    \b
    Examples:
      fanin why runs/incast/dcqcn
      fanin why runs/incast/dcqcn --flow queries:17 -o why.png
    """
    from fanin import load
    from fanin import why as asked
    from fanin.result import is_run_folder

    if out is not None:
        _check_image(out)
    if not is_run_folder(folder):
        runs = [result.label for result in read(folder).results]
        raise CommandError(f"{folder}: a comparison; choose one of its runs: {', '.join(runs)}", WRONG_SPEC)
    result = load(folder)
    with stopping.stoppable():
        answer = asked(result, flow)
    path = out or folder / f"why-{answer.message.replace(':', '-').replace('/', '-')}.png"
    answer.plot(path)
    if as_json:
        emit({"ok": answer.repeated is not False, **answer.to_json(), "picture": str(path)})
    else:
        show(answer.table())
        _say_written(path)
    if answer.repeated is False:
        raise CommandError("", FAILED)


def _check_image(path: Path) -> None:
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise CommandError(f"{path}: a picture is a .png, .svg or .pdf file", WRONG_SPEC)
    need(not path.is_dir(), f"{path}: it is a folder; name a file in it")


def _say_written(path: Path) -> None:
    stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)

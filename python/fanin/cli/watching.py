"""The command `watch`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fanin import own_schemes, stopping
from fanin.cli.common import FAILED, CommandError, emit, error, known_scheme, load_all, names, need, stdout, warn
from fanin.cli.options import AsJson, Own, grouped


def add_to(app: typer.Typer) -> None:
    """Adds this command."""
    app.command("watch")(grouped(watch))


def watch(
    scheme: Annotated[
        str, typer.Option("--scheme", metavar="FILE.py:CLASS", help="The scheme of your own.", show_default=False)
    ],
    own: Own,
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="[SPEC]", help="Instead of the one of fanin new --like join-leave.", show_default=False),
    ] = None,
    beside: Annotated[str | None, typer.Option("--beside", metavar="A,B", help="Draw these schemes beside it.")] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The picture: .png or .svg.")] = Path(
        "watch.png"
    ),
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page that reloads itself, for a browser."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Draw once and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a scheme of your own as a flow joins and leaves, anew whenever its file is saved: goodput, window, rate,
    queue, and what watch() of its senders, receivers and switches returns.

    An error in the file is printed with its line, and the watch goes on. Ctrl-C ends it.

    \b
    Examples:
      fanin watch --scheme my_scheme.py:MyScheme --beside hpcc --once
      fanin watch my.toml --scheme my_scheme.py:MyScheme --out my.svg --html my.html --once
    """
    from fanin import watching

    need(out.suffix in (".png", ".svg"), f"{out}: the picture is a .png or .svg file")
    need(page is None or page.suffix == ".html", f"--html {page}: a page is an .html file")
    need(once or not as_json, "--json: it goes with --once")
    for file in filter(None, (out, page)):
        need(file.parent.is_dir(), f"{file}: there is no folder {file.parent}; check its name, or make it")
    load_all(own.load)
    if not own_schemes.is_reference(scheme):
        known_scheme(scheme)
    others = names(beside, option="--beside") if beside is not None else []
    what = watching.Watch(
        scheme,
        spec or watching.JOIN_LEAVE,
        others,
        own.set_ or (),
        out,
        page,
        balancing=own.balancing,
        discipline=own.discipline,
    )
    for file in what.files:
        need(file.is_file(), f"{file}: there is no such file; check its name")

    def tell(problem: str | None) -> None:
        told = {"warnings": what.warnings}
        if as_json:
            emit({"ok": problem is None, "picture": str(out), "errors": problem.splitlines() if problem else []} | told)
            return
        for warning in what.warnings:
            warn(warning)
        for line in (problem or "").splitlines():
            error(line)
        if problem is None:
            at = "" if once else f"{time.strftime('%H:%M:%S')} "
            stdout().print(f"{at}written: {out}", highlight=False, markup=False, soft_wrap=True)

    with stopping.stoppable():
        if once:
            problem = what.draw()
            tell(problem)
            if problem is not None:
                raise CommandError("", FAILED)
            return
        stdout().print(f"watching {what.files[-1]}; Ctrl-C ends it", highlight=False, markup=False, soft_wrap=True)
        try:
            watching.watch(what, tell)
        except KeyboardInterrupt:
            return

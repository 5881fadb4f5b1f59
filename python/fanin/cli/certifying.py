"""The command `certify`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli.common import FAILED, CommandError, emit, need, need_kind, show, stdout
from fanin.cli.options import AsJson

if TYPE_CHECKING:
    from fanin.certifying import Certificate


def add_to(app: typer.Typer) -> None:
    """Adds this command."""
    app.command("certify")(certify)


def certify(
    path: Annotated[
        Path, typer.Argument(metavar="DIR", help="What run has written, or a trace of ns-3 HPCC.", show_default=False)
    ],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="For a trace (.tr): the configuration of its run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a run's capture against laws of networks, by a second program that knows nothing of the simulator.

    The run needs a capture of all links: --set "measure.capture={ links = 'all', max_size = '1 GB' }". The exit code is
    1 if a law does not hold.

    \b
    Examples:
      fanin certify runs/captured
      fanin certify runs/captured --json
    """
    from fanin.certifying import certify as certified

    if path.suffix == ".tr":
        need(config is not None, f"{path}: a trace; --config FILE names the configuration of its run")
    else:
        need_kind(path, "results")
        need(config is None, f"--config: it goes with a trace (.tr), and {path} is a run's folder")
    found = certified(path, config=config)
    if as_json:
        emit({"ok": found.ok, **asdict(found)})
    else:
        _show(found)
    if not found.ok:
        raise CommandError("", FAILED)


def _show(found: Certificate) -> None:
    """The laws as a table, and below it what was found."""
    from fanin import table

    def said(text: str) -> None:
        stdout().print(text, highlight=False, markup=False, soft_wrap=True)

    rows = [
        [law.law, "-" if law.not_checked else table.count(law.checked), *_result(law.violations, law.not_checked)]
        for law in found.laws
    ]
    show(table.plain(["law", "checked", "violations", "not checked, because"], rows, right=["checked", "violations"]))
    for law in found.laws:
        if law.violations:
            said(f"{law.law}: {law.says}")
            for violation in law.first:
                said(f"  {violation.time_ps:,} ps, {violation.place}: {violation.what}")
            if law.violations > len(law.first):
                said(f"  and {law.violations - len(law.first):,} more")
    for note in found.notes:
        said(f"note: {note}")
    if found.ok:
        said(f"{found.source}: no law is broken in {found.packets:,} packets")


def _result(violations: int, not_checked: str | None) -> tuple[str, str]:
    return ("-", not_checked) if not_checked else (f"{violations:,}", "")

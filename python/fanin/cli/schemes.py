"""Commands about schemes of one's own: `new-scheme`, `check-scheme`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from fanin import _core, own_schemes, stopping
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    WRONG_SPEC,
    CommandError,
    complete_scheme,
    emit,
    known_scheme,
    loaded_ids,
    meant,
    need,
)
from fanin.cli.options import AsJson


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("new-scheme")(new_scheme)
    app.command("check-scheme")(check_scheme)


def new_scheme(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its id: a-z, 0-9 and -, like my-scheme.", show_default=False)
    ],
    language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="What it is written in.", autocompletion=lambda: _languages())
    ] = "python",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to write it, instead of a new folder NAME.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a scheme of your own to start from, commented and with a test; it runs as it is.

    \b
    Examples:
      fanin new-scheme my-scheme
      fanin new-scheme my-scheme --language c --out schemes/my-scheme
    """
    from fanin import new_schemes

    need(
        language in new_schemes.LANGUAGES,
        f"--language {language}: there is no template for it{meant(language, _languages())}",
    )
    try:
        made = new_schemes.new_scheme(name, language)
    except ValueError as error:
        raise CommandError(str(error), WRONG_SPEC) from None
    written = made.write(Path(name) if out is None else out, replace=force)
    print(f"written: {', '.join(map(str, written))}", file=sys.stderr)
    print("next:", file=sys.stderr)
    for line in made.next_commands(Path(name) if out is None else out):
        print(f"  {line}", file=sys.stderr)


def _languages() -> list[str]:
    from fanin import new_schemes

    return list(new_schemes.LANGUAGES)


def check_scheme(
    scheme: Annotated[
        str,
        typer.Argument(
            metavar="SCHEME",
            help="FILE.py:CLASS or the path of a shared library like ./libmine.so, with a scheme, load balancing or a "
            "queue discipline; or the id of a built-in scheme.",
            show_default=False,
            autocompletion=complete_scheme,
        ),
    ],
    cases: Annotated[
        int, typer.Option(min=1, max=2**32 - 1, metavar="N", help="Random sequences of events to run.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, metavar="N", help="It draws the sequences.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter of the scheme in all sequences; repeatable. Without, some sequences have random ones.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check with random events that a scheme keeps its promises, and show the shortest sequence that breaks one.

    Hosts and a switch open and close flows, send, mark and lose packets, find losses, are idle and send again, and call
    timers, also unexpectedly. After each hook the rate is at most the line rate, and above 0 or with a timer that ends
    the rest; the window is at least 1 byte; the next timer is later than now; bytes are conserved. In the end every
    byte is acknowledged, and a replay gives the same answers. A quarter of the sequences scale some of the scheme's
    parameters by 1/4 to 4, as far as it accepts that; --set fixes them instead, and the others are the defaults.

    Load balancing answers with the index of a choice, or at senders with the number of a path; the empty queue of a
    discipline lets packets in; of both, a replay gives the same answers. A small network has the same events on one and
    on two threads.

    \b
    Examples:
      fanin check-scheme my_scheme.py:MyScheme
      fanin check-scheme my_scheme.py:MyScheme --set cut=0.9
      fanin check-scheme my_policy.py:MyBalancer
      fanin check-scheme my_scheme.py:MyScheme --cases 100000 --seed 7
      fanin check-scheme dctcp --cases 20 --json
    """
    from fanin.scheme_check import check_scheme as check

    if own_schemes.is_reference(scheme):
        loaded_ids(scheme, scheme)
    else:
        known_scheme(scheme, scheme)
    try:
        parameters = json.loads(_core.parameters_of(set_)) if set_ else None
    except ValueError as error:
        raise CommandError(str(error), WRONG_SPEC) from None
    with stopping.stoppable():
        report = check(scheme, parameters=parameters, cases=cases, seed=seed)
    if as_json:
        emit(report.as_dict())
    else:
        print(report)
    if report.broken is not None:
        raise typer.Exit(FAILED)
    if report.stopped:
        raise CommandError("", INTERRUPTED)

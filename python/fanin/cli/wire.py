"""`fanin wire`: what runs on a wire need, and their parts by hand."""

from __future__ import annotations

import secrets
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import _core, stopping
from fanin.cli import folders
from fanin.cli.common import FAILED, emit, known_scheme, load_all, need, show
from fanin.cli.options import AsJson, Force, Load, Out, Set, SpecFile, Under, grouped
from fanin.cli.runs import report
from fanin.run_folder import put_text

if TYPE_CHECKING:
    from fanin.wire_machine import Examination

app = typer.Typer(
    help="""Runs in processes that exchange frames: what this machine allows, and the parts by hand.

    \b
    Examples:
      fanin wire doctor
      fanin wire dissector -o fanin.lua
      fanin wire switch my.toml
      fanin wire host 0 --token 1f2e
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
PLACE = "127.0.0.1:4790"


@app.command()
def doctor(
    hosts: Annotated[
        int, typer.Option("--hosts", min=2, max=64, metavar="N", help="Hosts of the network that is tried.")
    ] = 4,
    quick: Annotated[bool, typer.Option("--quick", help="Try nothing in real time, which takes seconds.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what this machine allows, and which runs on a wire will work."""
    from fanin import wire_machine

    found = wire_machine.examine(hosts, measure=not quick)
    if as_json:
        emit(asdict(found))
    else:
        _print(found)


def _print(found: Examination) -> None:
    from rich.table import Table

    for title, rows in (
        ("This machine", [(check.ok, check.name, check.found) for check in found.checks]),
        ("What works", [(verdict.works, verdict.kind, verdict.why) for verdict in found.verdicts]),
    ):
        table = Table(title=title, title_justify="left", box=None, show_header=False)
        for ok, name, text in rows:
            table.add_row("yes" if ok else "no", name, text)
        show(table)


@app.command()
def dissector(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write; without it, print it.")
    ] = None,
) -> None:
    """Print a dissector for Wireshark and tshark: Dart's headers, HPCC's telemetry, credits, and the datagrams of runs.

    Its fields are `fanin.HEADER.FIELD` in display filters; the headers are in docs/traces.md.

    \b
    Examples:
      fanin wire dissector -o fanin.lua
    """
    from fanin.dissector import lua

    if out is None:
        typer.echo(lua(), nl=False)
    else:
        put_text(out, lua())


@app.command()
def parity(
    spec: SpecFile,
    clock: Annotated[str, typer.Option(metavar="CLOCK", help="slowed:N or real.")],
    link: Annotated[str, typer.Option(metavar="LINK", help="udp or veth.")] = "udp",
    members: Annotated[int, typer.Option(min=3, metavar="N", help="Simulations it is compared with.")] = 40,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Judge whether a run in real time lies inside an ensemble of simulations with starts moved by up to 0.2 us.

    Exits with 1 if it does not, and if the run is rejected.

    \b
    Examples:
      fanin wire parity my.toml --clock slowed:2000
    """
    from fanin import wire_parity

    judged, exact, on_wire = wire_parity.compare(spec, clock, link=link, members=members, set=list(set_ or ()))
    if as_json:
        emit({**asdict(judged), "inside": not judged.problems, "exact": exact, "wire": on_wire.manifest["wire"]})
    else:
        print(f"equal to the simulation of the spec itself: {'yes' if exact else 'no'}")
        print(f"messages outside the range of all members: {judged.outside:.1%}; most of a member: ", end="")
        print(f"{judged.outside_of_members:.1%}")
        for name, (of_run, least, most) in judged.totals.items():
            print(f"{name}: {of_run:.6g}, members from {least:.6g} to {most:.6g}")
        for problem in judged.problems:
            print(f"not inside: {problem}")
    if judged.problems:
        raise typer.Exit(FAILED)


def _number(token: str) -> int:
    try:
        number = int(token, 16)
    except ValueError:
        number = -1
    need(0 <= number < 2**64, f"--token {token}: it has up to 16 hexadecimal digits")
    return number


@app.command()
@grouped
def switch(
    spec: SpecFile,
    under: Under,
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Where hosts connect; loopback unless told.")
    ] = PLACE,
    token: Annotated[
        str | None, typer.Option("--token", metavar="HEX", help="What hosts show; one is drawn unless told.")
    ] = None,
    out: Out = None,
    set_: Set = None,
    load: Load = None,
    force: Force = False,
) -> None:
    """Be the switches of a spec in lockstep: wait for its hosts, run, leave a run folder.

    Whoever has the token and reaches the address can be a host; what hosts say is neither encrypted nor signed.

    \b
    Examples:
      fanin wire switch my.toml
      fanin wire switch my.toml --listen 192.0.2.1:4790
    """
    from fanin.comparison import Comparison
    from fanin.runs import Job, run_one

    load_all(load)
    scheme = known_scheme(under.scheme)
    number = _number(token) if token is not None else secrets.randbits(64)
    job = replace(Job.of(spec, list(set_ or ())).using(scheme, under.seed).on(1), wire=True, by_hand=(listen, number))
    job.resolve()
    place = folders.Place(out, folders.of_run(job), force=force)
    with place, stopping.stoppable():
        own = dict.fromkeys(f" --load {origin.reference}" for origin in job.own)
        start = f"fanin wire host N --switch {listen} --token {number:x}{''.join(own)}"
        print(f"waiting for each host N of the spec, from 0: {start}", file=sys.stderr, flush=True)
        result = run_one(job)
        with stopping.held():
            folder = place.keep(result, parquet=False)
            report(Comparison([replace(result, label=folder.name)], result.cancelled), folder, as_json=False)


@app.command()
def host(
    number: Annotated[int, typer.Argument(min=0, metavar="N", help="The host of the spec that this is, from 0.")],
    token: Annotated[str, typer.Option("--token", metavar="HEX", help="What fanin wire switch says.")],
    switches: Annotated[
        str, typer.Option("--switch", metavar="ADDRESS:PORT", help="Where fanin wire switch listens.")
    ] = PLACE,
    load: Load = None,
) -> None:
    """Be one host of a run whose switches wait for it, until it ends.

    \b
    Examples:
      fanin wire host 0 --token 1f2e
      fanin wire host 3 --switch 192.0.2.1:4790 --token 1f2e
    """
    from fanin.run_folder import RunError

    # It holds nothing that has to be kept, and waits in native code.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    load_all(load)
    try:
        _core.wire_host(switches, _number(token), number)
    except RuntimeError as error:
        raise RunError(str(error)) from None

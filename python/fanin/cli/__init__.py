"""The command `fanin`.

Exit codes: 0 success, 1 a run failed, 2 a spec or a command line is wrong, 130 after Ctrl-C, 143 after SIGTERM.

With `--json` a command prints one document; where it fails, `{"ok": false, "exit_code": ..., "errors": [...]}`.

Another package adds commands by an entry point of the group `fanin.commands`, a function that gets the Typer app:

```python
import typer

from fanin.cli import AsJson, emit, need, show
from fanin.table import plain


def length(spec: str, as_json: AsJson = False) -> None:
    need(spec.endswith(".toml"), f"{spec}: not a .toml file")
    letters = len(open(spec).read())
    emit({"letters": letters}) if as_json else show(plain(["spec", "letters"], [[spec, str(letters)]]))


def add_to(app: typer.Typer) -> None:
    app.command("length")(length)
```
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.metadata import entry_points
from typing import Annotated

import typer

from fanin import _core, own_schemes, run_files, stopping
from fanin.cli import (
    certifying,
    errors,
    gen,
    others,
    results,
    runs,
    schemes,
    specs,
    studies,
    sweeps,
    tuning,
    watching,
    wire,
)
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    WRONG_SPEC,
    CommandError,
    emit,
    meant,
    need,
    show,
    stderr,
    stdout,
    tell,
    warn,
)
from fanin.cli.options import AsJson, AtOnce, Workers, grouped
from fanin.stopping import stoppable

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "WRONG_SPEC",
    "AsJson",
    "AtOnce",
    "CommandError",
    "Workers",
    "emit",
    "grouped",
    "meant",
    "need",
    "show",
    "stderr",
    "stdout",
    "stoppable",
    "warn",
]

app = typer.Typer(
    cls=others.Commands,
    help="Packet-level simulation of datacenter congestion control.",
    epilog="Begin with: fanin new my.toml, fanin explain my.toml, fanin compare my.toml, fanin report runs/my",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"fanin {_core.__version__}")
        raise typer.Exit


@app.callback()
def _all(
    ctx: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print name and version.", is_eager=True, callback=_print_version),
    ] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Read files of results that have changed since they were written.")
    ] = False,
) -> None:
    if no_verify:
        ctx.with_resource(run_files.unverified())


for module in (runs, others, sweeps, tuning, specs, watching, schemes, results, certifying):
    module.add_to(app)
for installed in entry_points(group="fanin.commands"):
    installed.load()(app)
studies.add_to(app)
app.add_typer(gen.app, name="gen")
app.add_typer(wire.app, name="wire")


def main() -> None:
    """Runs the command line; each error is one readable message on stderr."""
    failure = _failure()
    if failure is None:
        return
    if failure.code == INTERRUPTED:
        failure.code = stopping.exit_code()
    tell(failure, as_json="--json" in sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if threading.active_count() > 1:
        # A run whose network is still being set up cannot be stopped, and a normal exit would wait for it.
        os._exit(failure.code)
    raise SystemExit(failure.code)


def _failure() -> CommandError | None:
    try:
        with own_schemes.each_id_once():
            code = app(prog_name="fanin", standalone_mode=False)
    except CommandError as failure:
        return failure
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
            print(error, file=sys.stderr)
            return CommandError("", WRONG_SPEC)
        return CommandError(errors.of_command_line(error, sys.argv[1:]), WRONG_SPEC)
    except _core.SpecError as error:
        return CommandError(errors.of_spec(error, sys.argv[1:]), WRONG_SPEC)
    except BrokenPipeError:
        # The reader of our output has closed it; the interpreter's flush at exit must not report that as an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CommandError("", FAILED)
    except (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        return CommandError(errors.of_system(error), WRONG_SPEC)
    except OSError as error:
        return CommandError(errors.of_system(error), FAILED)
    except MemoryError:
        return CommandError("there was not enough memory; fanin explain SPEC shows what a spec needs", FAILED)
    except Exception as error:
        from fanin.run_folder import RunError

        if isinstance(error, RunError):
            return CommandError(str(error), FAILED)
        if stopping.received():  # the library that was interrupted may have raised another error
            return CommandError("interrupted", INTERRUPTED)
        return CommandError(errors.of_ourselves(error), FAILED)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by the native module for a bug in itself
            raise
        return CommandError(f"a fault in the simulator: {error}. Please report it with the spec that shows it", FAILED)
    # Ctrl-C outside a run arrives here as this code.
    return (
        CommandError("", code)
        if code in (FAILED, WRONG_SPEC)
        else CommandError("interrupted", INTERRUPTED)
        if code
        else None
    )

"""Messages for errors: system errors with a remedy, a wrong command line with the option as it was typed."""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import typer

_ON_WIRE = {option: f"{option}: it goes with --on wire" for option in ("--clock", "--link")}
_CONFIGURATION = {
    option: f"{option}: it is of a configuration's files; it goes with --hpcc"
    for option in ("--dialect", "--topology", "--skip-unknown-keys")
}
_TRACES = {
    "--trace": "--trace: this trace is that of the ns-3 HPCC simulator; it goes with --hpcc",
    "--series": "--series: it goes with --hpcc; in a spec it is the key measure.series",
    "--skip-unknown-keys": "--skip-unknown-keys: these are a configuration's; it goes with --hpcc",
}
_HPCC = _TRACES | {"--topology": "--topology: it goes with --hpcc or --uec"}
_UEC = {"--uec-options": "--uec-options: these are uet-htsim's; it goes with --uec"}
_AS_IT_IS = {
    option: f"{option}: a connection matrix of uet-htsim runs as it is; --uec-options changes how"
    for option in ("--set", "--scheme", "--schemes", "--seed", "--ideal", "--load", "--balancing", "--discipline")
}
_FINISHED = {"--finished": "--finished: these lines are htsim's; it goes with --htsim"}
_DIALECT = {"--dialect": "--dialect: it is of files of other simulators; it goes with --htsim or --hpcc"}
_BOTH = {other: f"--hpcc and {other}: files are of one simulator" for other in ("--htsim", "--uec")}
_HTSIM_AND_UEC = {"--uec": "--htsim and --uec: files are of one simulator"}
OTHERS: dict[str | None, dict[str, str]] = {
    "run": _HPCC | _FINISHED | _DIALECT | _UEC,
    "run-hpcc": _ON_WIRE | _FINISHED | _BOTH | _UEC,
    "run-htsim": _ON_WIRE | _HPCC | _UEC | _HTSIM_AND_UEC,
    "run-uec": _ON_WIRE | _TRACES | _FINISHED | _DIALECT | _AS_IT_IS,
    "compare": _CONFIGURATION | _UEC,
    "compare-hpcc": _ON_WIRE | _BOTH | _UEC,
    "compare-htsim": _ON_WIRE | _CONFIGURATION | _UEC | _HTSIM_AND_UEC,
    "compare-uec": _ON_WIRE | _DIALECT | _AS_IT_IS,
}
"""For each command, the options that it does not take and another of its kind does: the whole message."""


def of_spec(error: Exception, typed: list[str]) -> str:
    """The lines of an error of a spec; where it does not know a scheme, with how to load one. `typed`: the command
    line."""
    hint = "; load one of your own with --load FILE.py:CLASS"
    unknown = re.compile(
        r"scheme\S*: \"[^\"]*\" is not known|network\.(balancing|discipline): a table is not valid here"
    )
    said = str(error)
    for option in {argument.partition("=")[0] for argument in typed} & {"--balancing", "--discipline"}:
        # They are changes of the spec with quotes around the value: see `common.policy_changes`.
        said = re.sub(rf'--set "network\.{option[2:]}="([^"]*)""', rf"{option} \1", said)
    return "\n".join(line + hint if unknown.search(line) else line for line in said.splitlines())


def of_system(error: OSError) -> str:
    """A sentence with the path and a remedy."""
    if not error.strerror:
        return str(error)
    if error.filename is None:
        return _plain(error)
    path = Path(os.fsdecode(error.filename))
    if error.strerror != os.strerror(error.errno or 0):
        return f"{path}: {error.strerror}"  # it has a message of ours already
    what = {
        errno.ENOENT: "there is no such file or folder; check its name",
        errno.EACCES: "you may not read or write it; ask for the right to, or choose another place",
        errno.EPERM: "you may not read or write it; ask for the right to, or choose another place",
        errno.EEXIST: "it is there already; choose another place",
        errno.EISDIR: "it is a folder; name a file",
        errno.ENOTDIR: "it is not a folder",
        errno.EROFS: "it can only be read; choose another place",
        errno.ENOSPC: "the disk is full; make room, or choose another place",
        errno.EDQUOT: "you may not use more of the disk; make room, or choose another place",
        errno.ENAMETOOLONG: "the name is too long",
    }.get(error.errno or 0, _plain(error))
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EEXIST):
        above = next((one for one in [*reversed(path.parents), path] if not one.is_dir()), None)
        above = None if error.errno == errno.ENOENT and above == path else above
        if above is not None and above.exists():
            what = f"{'it' if above == path else above} is a file and not a folder; choose another place"
        elif above is not None:
            what = f"there is no folder {above}; check its name, or make it"
    return f"{path}: {what}"


def _plain(error: OSError) -> str:
    """The system's own message, without its number."""
    said = error.strerror or type(error).__name__
    return said[:1].lower() + said[1:]


def of_ourselves(error: Exception) -> str:
    """A bug of the program: one line, and a file with the details for its developers."""
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="fanin-fault-", suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.write(f"fanin {' '.join(sys.argv[1:])}\n\n{''.join(traceback.format_exception(error))}")
    except OSError:
        return f"a fault in Fanin: {said}. Please report it with the command that shows it"
    return f"a fault in Fanin: {said}. Please report it with {file.name}, which has the details"


OF_PAPERS = ("paper", "claims")
"""Commands of the package `fanin-papers`, for those who have not installed it."""


def of_command_line(error: typer.TyperException, arguments: list[str]) -> str:
    """The error in the command line: the option or argument as it was typed, and what would be right."""
    wrong: Any = error
    context = getattr(wrong, "ctx", None)
    path = context.command_path if context is not None else "fanin"
    said = wrong.format_message().strip().rstrip(".")
    parameter = getattr(wrong, "param", None)
    unknown = re.fullmatch(r"No such command '(.*?)'.*", said)
    extra = re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", said)
    if unknown is not None and unknown[1] in OF_PAPERS:
        return f"{unknown[1]}: this command is in the package of the folder papers: pip install ./papers"
    if unknown is not None:
        known = context.command.list_commands(context) if context is not None else []
        said = f"{unknown[1]}: there is no such command{_nearest(unknown[1], known)}"
    elif getattr(wrong, "option_name", None) and said.startswith("No such option"):
        other = OTHERS.get(context.command.name if context is not None else None, {}).get(wrong.option_name)
        if other is not None:
            return other
        near = sorted(wrong.possibilities or ())
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        said = f"{wrong.option_name}: there is no such option{meant}"
    elif extra is not None:
        said = f"{extra[1]}: more than the command takes; a name with spaces needs quotes"
    elif said.endswith("requires an argument"):
        said = f"{wrong.option_name}: its value is missing"
    elif said.startswith("Missing ") and parameter is not None:
        said = f"{_name(parameter)} is missing{_about(parameter)}"
    elif parameter is not None:
        said = f"{_typed(parameter, arguments)}: {_right(wrong.message)}"
    else:
        said = said[:1].lower() + said[1:]
    return f"{said}{'' if said.endswith('?') else ';'} {path} --help shows how to write it"


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _name(parameter: Any) -> str:
    """SPEC, or --out."""
    if parameter.param_type_name == "argument":
        return str(parameter.make_metavar(None) if parameter.metavar is None else parameter.metavar).strip("[]{}.")
    return "/".join(parameter.opts)


def _about(parameter: Any) -> str:
    about = (getattr(parameter, "help", None) or "").strip().rstrip(".")
    return f" ({about[:1].lower() + about[1:]})" if about else ""


def _typed(parameter: Any, arguments: list[str]) -> str:
    """The option with its value, as it was typed in the command line."""
    for at, word in enumerate(arguments):
        for option in parameter.opts:
            if word == option:
                return " ".join(arguments[at : at + 2])
            if word.startswith(f"{option}="):
                return word
    return _name(parameter)


def _right(message: str) -> str:
    """The error message of typer about a value, reworded."""
    for pattern, words in (
        (r".*valid integer.*", "not a whole number"),
        (r".*valid number.*", "not a number"),
        (r".*greater than or equal to (.*)", r"too small, it is \1 or more"),
        (r".*less than or equal to (.*)", r"too large, it is \1 or less"),
    ):
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found is not None:
            return found.expand(words)
    return message[:1].lower() + message[1:].rstrip(".")

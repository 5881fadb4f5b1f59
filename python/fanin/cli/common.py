"""Shared by all commands: printing, errors, and what the values of options mean."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fanin import _core, files, own_schemes

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fanin.comparing import Comparable

IDEALS = ("store-and-forward", "hpcc", "lone-run")
"""The values of `--ideal`."""

FAILED = 1
"""The exit code after a run failed."""
WRONG_SPEC = 2
"""The exit code of a wrong spec or command line."""
INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class CommandError(Exception):
    """A command that ends with an exit code, and with a message unless all has been printed already."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def complete_scheme(incomplete: str) -> list[str]:
    """Schemes for shell completion; in a list, completions of its last item."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + row["id"] for row in _core.schemes() if row["id"].startswith(last)]


def emit(document: object) -> None:
    """Prints one JSON document."""
    print(json.dumps(document, indent=2))


def show(what: RenderableType) -> None:
    """Prints a table or styled text."""
    stdout().print(what)


def stdout() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    """Where progress, warnings and errors go."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def warn(text: str) -> None:
    """One line on stderr."""
    _line("warning:", "bold yellow", text)


def error(text: str) -> None:
    """The same, in red."""
    _line("error:", "bold red", text)


def _line(word: str, style: str, text: str) -> None:
    from rich.text import Text

    stderr().print(Text.assemble((word, style), " ", text))


MOST_LINES = 20
"""Warnings, or errors, that are printed."""


def few(lines: Sequence[str], print_line: Callable[[str], None], what: str, rest: str) -> None:
    """Prints the first of many errors or warnings, and how many there are besides and how to see them."""
    for line in lines[:MOST_LINES]:
        print_line(line)
    if len(lines) > MOST_LINES:
        print_line(f"and {len(lines) - MOST_LINES:,} {what} more: {rest}")


def tell(failure: CommandError, *, as_json: bool) -> None:
    """Reports why a command failed: lines on stderr, and with `--json` a document."""
    lines = str(failure).splitlines()
    few(lines, error, "errors", "--json prints all")
    if as_json and lines:
        emit({"ok": False, "exit_code": failure.code, "errors": lines})


def names(text: str, also: Sequence[str] = (), option: str = "--schemes") -> list[str]:
    """The schemes of `--schemes a,b`, or of another option; `also` has words besides schemes."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise _core.SpecError(f"{option}: names no scheme; write it like {option} dcqcn,none")
    return [name if name in also else str(known_scheme(name, f"{option} {text}")) for name in found]


def known_ideal(name: str | None) -> str | None:
    """The name of an ideal, or nothing; raises for another word."""
    need(name is None or name in IDEALS, f"--ideal {name}: there is no such ideal{meant(name or '', list(IDEALS))}")
    return name


def schemes_of(text: str | None, base: Callable[[], Comparable], also: Sequence[str] = ()) -> list[str] | None:
    """The schemes of `--schemes`; of `all` those that make sense for `base`, with a warning for each other one."""
    if text is None:
        return None
    if text != "all":
        return names(text, also)
    from fanin import comparing

    suits, unfit = comparing.schemes_of(base())
    for scheme, why in unfit.items():
        warn(f"{scheme} is left out: {why}")
    return suits


LOSS_POLICIES = ("pfc", "gbn", "gb0", "sr", "irn")
"""What may stand behind a scheme and `+`: see docs/loss.md."""


@contextmanager
def _loading(option: str) -> Iterator[None]:
    """Says of which option a file is that cannot be read."""
    try:
        yield
    except OSError as error:
        raise _core.SpecError(f"{option}: {error.filename}: {error.strerror}") from None


def load_own(reference: str, option: str) -> str:
    """Loads a scheme of one's own, and returns its id."""
    with _loading(option):
        return str(own_schemes.resolved(reference))


def loaded_ids(reference: str, option: str) -> dict[own_schemes.Kind, str]:
    """Loads what is one's own, and returns its ids by kind."""
    with _loading(option):
        return own_schemes.loaded_ids(reference)


def load_all(references: list[str] | None) -> None:
    """Loads the schemes and policies of `--load`."""
    for reference in references or ():
        loaded_ids(reference, f"--load {reference}")


def policy_changes(balancing: str | None, discipline: str | None) -> list[str]:
    """The changes of the spec that `--balancing` and `--discipline` stand for; those of one's own are loaded."""
    with _loading(f"--balancing {balancing}"):
        changes = own_schemes.policy_changes(balancing, None)
    with _loading(f"--discipline {discipline}"):
        return changes + own_schemes.policy_changes(None, discipline)


def known_scheme(name: str | None, option: str | None = None) -> str | None:
    """The scheme of `--scheme a`, if it is one; one's own is loaded, and its id returned."""
    if name is not None and own_schemes.is_reference(name):
        return load_own(name, option or f"--scheme {name}")
    known = [row["id"] for row in _core.schemes()]
    scheme, plus, policy = (name or "").partition("+")
    if name is not None and plus and scheme in known and policy not in LOSS_POLICIES:
        said = f"after + stands a loss policy, and there is no {policy!r}{meant(policy, list(LOSS_POLICIES))}"
        raise _core.SpecError(f"{option or f'--scheme {name}'}: {said}")
    if name is not None and scheme not in known:
        raise _core.SpecError(f'{option or f"--scheme {name}"}: there is no scheme "{name}"{meant_scheme(name)}')
    return name


def meant(word: str, known: list[str], lists: str | None = None) -> str:
    """The end of a message about an unknown word: the known word closest to it, or all of them; where a command `lists`
    them, only those that are somewhat close, and the command."""
    # Acronyms are known in capitals.
    of_lower = {one.lower(): one for one in reversed(known)}
    near = difflib.get_close_matches(word.lower(), of_lower, n=1, cutoff=0.75)
    if near:
        return f'; did you mean "{of_lower[near[0]]}"?'
    if lists is None:
        return f"; known: {', '.join(sorted(known))}"
    close = difflib.get_close_matches(word, known, n=4, cutoff=0.5)
    nearer = f"; close to it: {', '.join(close)}" if close else ""
    return f"{nearer}; {lists} lists all"


_BALANCING = 'which path packets take is network.balancing, here "{}" (docs/load-balancing.md)'
_COLLECTIVE = 'it is a pattern of traffic: pattern = {{ kind = "{}" }} (docs/collectives.md)'
_RECORDED = "traces of training are patterns of traffic (docs/collectives.md), and collectives are, like all-reduce"
NO_SCHEMES = {
    "ecmp": _BALANCING.format("flow-hash"),
    "spray": _BALANCING.format("random"),
    "spraying": _BALANCING.format("random"),
    "packetspraying": _BALANCING.format("random"),
    "flowlet": _BALANCING.format("flowlets"),
    "letflow": _BALANCING.format("flowlets"),
    "nccl": _RECORDED,
    **{
        name.replace("-", ""): _COLLECTIVE.format(name)
        for name in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast")
    },
    "pfc": "it is how lossless classes are protected: network.buffer.policy and network.pfc (docs/pfc.md)",
    "irn": "it is a loss policy, which stands behind a scheme: hpcc+irn (docs/loss.md)",
}
"""What people look for among schemes and is none, and where it is."""


def meant_scheme(name: str) -> str:
    """The same about an unknown scheme."""
    other = NO_SCHEMES.get(re.sub(r"[\W_]+", "", name.lower()))
    if other is not None:
        return f": {other}"
    return meant(name, [row["id"] for row in _core.schemes()], "fanin schemes")


def seeds(text: str) -> int | list[int]:
    """`5` is the number of seeds; `1,2,3` are the seeds themselves."""
    if not re.fullmatch(r"\d{1,18}(,\d{1,18})*,?", text) or text == "0":
        raise _core.SpecError(
            f"--seeds: {text!r} is neither how many, like --seeds 5, nor a list of seeds, like --seeds 1,2,3"
        )
    numbers = [int(number) for number in text.rstrip(",").split(",")]
    return numbers[0] if len(numbers) == 1 and not text.endswith(",") else numbers


def need(holds: bool, message: str) -> None:
    """Fails as a wrong command line does unless the condition holds."""
    if not holds:
        raise CommandError(message, WRONG_SPEC)


def check_image(path: Path) -> None:
    """Fails where a picture cannot be written under this name."""
    need(path.suffix in (".png", ".svg", ".pdf"), f"{path}: a picture is a .png, .svg or .pdf file")
    need(not path.is_dir(), f"{path}: it is a folder; name a file in it")


def need_kind(path: Path, kind: files.Kind) -> None:
    """Fails for a file of another kind, with what it is and the command that takes it."""
    said = files.instead(path, kind)
    need(said is None, said or "")


def is_terminal() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()

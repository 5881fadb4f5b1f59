"""Where results go when nobody says so: each run into a folder of its own, named after what it is."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fanin.cli.common import stderr

if TYPE_CHECKING:
    from fanin.runs import Job

ROOT = Path("runs")

LONGEST = 80
"""Most letters of the spec's name, and of what was changed in it: a file name has 255 at most."""

_NOT_TOLD = ("name", "measure.allow_drops")
"""Keys that change nothing of what happens."""


def of_run(job: Job) -> Path:
    """The folder of one run: its scheme with what was changed, in the folder of its spec."""
    return ROOT / _name(job) / (job.label + changed(job.overrides))


def of_spec(job: Job) -> Path:
    """The folder of all runs of a spec with what was changed in it."""
    return ROOT / (_name(job) + changed(job.overrides))


def _name(job: Job) -> str:
    return _short(re.sub(r"[^a-z0-9]+", "-", str(job.resolve()["name"]).lower()).strip("-") or "unnamed")


def changed(changes: Sequence[str]) -> str:
    """What `--set` changed, as the end of a name: `-marking.above=50KB`.

    The last two words of a key say enough, unless two agree.
    """
    values = {key.strip(): value for key, _, value in (change.partition("=") for change in changes)}
    values = {key: value for key, value in values.items() if key not in _NOT_TOLD}
    ends = {key: ".".join(key.split(".")[-2:]) for key in values}
    told = [f"{end if list(ends.values()).count(end) == 1 else key}={_plain(values[key])}" for key, end in ends.items()]
    return "-" + _short(_plain(",".join(told))) if told else ""


def _plain(text: str) -> str:
    """What needs no quotes in a shell."""
    text = re.sub(r"\[(\d+)\]", r"\1", text)
    text = re.sub(r"[\s\"']+", "", text.replace("\u00b5", "u").replace("\u03bc", "u"))
    return re.sub(r"[^A-Za-z0-9.,=_+-]+", "-", text).strip("-")


def _short(text: str) -> str:
    """The text, or its beginning and a number that stands for all of it."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def numbered(folder: Path) -> Iterator[Path]:
    """The folder, and those beside it: `runs/incast`, `runs/incast-2`, `runs/incast-3`."""
    yield folder
    for number in count(2):
        yield folder.with_name(f"{folder.name}-{number}")


class Results(Protocol):
    """What can be kept: a run or a comparison."""

    def save(self, folder: str | os.PathLike[str], *, parquet: bool = False, force: bool = False) -> Path:
        """Raises `FileExistsError` where that would replace something and may not."""


class Place:
    """Where the results of a command go: where `--out` says, or into a folder that is free."""

    def __init__(self, out: Path | None, default: Path, *, force: bool, within: str = "") -> None:
        """Raises what is wrong with it, before anything has run. `within` is a folder that there will be in it."""
        from fanin.run_folder import check_target

        self._folder = default if out is None else out
        self._force = force
        if out is not None and within and not force and holds_something(out):
            raise FileExistsError(f"{out}: exists; choose another folder or allow replacing runs in it with --force")
        try:
            check_target(self._folder / within, force=force)
        except FileExistsError:
            if out is not None or force:
                raise
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self._folder)) from None

    def keep(self, results: Results, *, parquet: bool) -> Path:
        """Saves them and returns where. What came into the way since is not replaced, and what has run is not lost."""
        for folder in numbered(self._folder):
            try:
                results.save(folder, parquet=parquet, force=self._force)
            except FileExistsError:
                if self._force:
                    raise
                continue
            tell_other(self._folder, folder)
            return folder
        raise AssertionError("numbers have no end")


def tell_other(wanted: Path, folder: Path) -> None:
    """Says on stderr that results went elsewhere, and why."""
    if folder != wanted:
        text = f"{wanted} holds earlier results, so these go to {folder} (--force replaces them)"
        stderr().print(text, markup=False)


def holds_something(folder: Path) -> bool:
    """Whether anything is there but an empty folder."""
    return os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir()))

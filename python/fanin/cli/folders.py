"""Where results go by default: each run into a folder of its own, named after its spec and its changes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from fanin.cli.common import stderr
from fanin.run_folder import CLAIM, KEPT, WRITTEN

if TYPE_CHECKING:
    from fanin.comparing import Kept
    from fanin.run_folder import Claim
    from fanin.runs import Job

ROOT = Path("runs")

LONGEST = 80
"""Longest part of a folder name, in bytes of UTF-8: a file name has at most 255."""

_NOT_TOLD = ("name", "measure.allow_drops")
"""Keys that do not change the simulation."""


def of_run(job: Job) -> Path:
    """The folder of one run, named after its scheme and its changes, in the folder of its spec."""
    return ROOT / _name(job) / (job.label + changed(job.overrides))


def of_spec(job: Job) -> Path:
    """The folder of all runs of a spec with these changes."""
    return ROOT / (_name(job) + changed(job.overrides))


def _name(job: Job) -> str:
    return _short(slug(str(job.resolve()["name"])) or "unnamed")


def slug(name: str) -> str:
    """A name as that of a folder: its letters and digits, of any script, in lower case."""
    return re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", name).lower()).strip("-")


def changed(changes: Sequence[str]) -> str:
    """The changes of `--set` as the end of a name: `-marking.above=50KB`. Keys are shortened to their last two words,
    unless two keys share them.
    """
    values = {key.strip(): value for key, _, value in (change.partition("=") for change in changes)}
    values = {key: value for key, value in values.items() if key not in _NOT_TOLD}
    ends = {key: ".".join(key.split(".")[-2:]) for key in values}
    told = [f"{end if list(ends.values()).count(end) == 1 else key}={_plain(values[key])}" for key, end in ends.items()]
    return "-" + _short(_plain(",".join(told))) if told else ""


def _plain(text: str) -> str:
    """The text without characters that need quotes in a shell."""
    text = re.sub(r"\[(\d+)\]", r"\1", text)
    text = re.sub(r"[\s\"']+", "", text.replace("\u00b5", "u").replace("\u03bc", "u"))
    return re.sub(r"[^\w.,=+-]+", "-", text).strip("-")


def _short(text: str) -> str:
    """The text, or its beginning and a hash of the whole."""
    if len(text.encode()) <= LONGEST:
        return text
    return f"{text.encode()[: LONGEST - 9].decode(errors='ignore')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def numbered(folder: Path) -> Iterator[Path]:
    """The folder and its numbered alternatives: `runs/incast`, `runs/incast-2`, `runs/incast-3`."""
    yield folder
    for number in count(2):
        yield folder.with_name(f"{folder.name}-{number}")


class Results(Protocol):
    """Results that can be saved: a run or a comparison."""

    def save(self, folder: str | os.PathLike[str], *, parquet: bool = False, force: bool = False) -> Path:
        """Raises `FileExistsError` where that would replace something without `force`."""


class Place:
    """The folder for the results of a command: that of `--out`, or one that does not exist yet. Within, it is claimed,
    so that the work of a command cannot end in the place of another's.
    """

    def __init__(self, out: Path | None, default: Path, *, force: bool, within: str = "") -> None:
        """Raises an error if it cannot be written, before anything has run. `within` is a folder to be made in it,
        beside the results of other commands."""
        self._folder = default if out is None else out
        self._may_move = out is None and not force
        self._force, self._within = force, within
        self._claim: Claim | None = None
        # What a comparison that was killed has written into a folder of its own is written again.
        self._written = False
        self._kept: Kept | None = None
        self._clean(self._folder)
        self._goes_on = out is not None and bool(within) and (out / KEPT).is_dir() and not (out / WRITTEN).exists()
        if out is not None and within and not force and not self._goes_on and holds_something(out):
            raise FileExistsError(f"{out}: exists; choose another folder or allow replacing runs in it with --force")
        self._check(self._folder)

    @staticmethod
    def _clean(folder: Path) -> None:
        """Removes what a process that was killed has left beside the folder, and tells it."""
        from fanin.run_folder import clean

        for sentence in clean(folder):
            stderr().print(sentence, markup=False)

    def _check(self, folder: Path) -> bool:
        """Whether results can go there. Raises an error if they cannot, and may not go to another place either."""
        from fanin.run_folder import check_target

        self._clean(folder)
        try:
            check_target(folder / self._within, force=self._force)
        except FileExistsError:
            if not self._may_move:
                raise
            return False
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(folder)) from None
        return True

    def __enter__(self) -> Self:
        """Claims the folder, or the next free one. Raises `FileExistsError` if it is another's and must be this."""
        from fanin.run_folder import Claim, is_run_folder

        if self._force and is_run_folder(self._folder):
            return self  # it is replaced at the end, in one step
        for folder in numbered(self._folder):
            if not self._check(folder):
                continue
            try:
                self._claim = Claim(folder, shared=bool(self._within))
            except FileExistsError:
                if not self._may_move:
                    raise
                continue
            for sentence in self._claim.left:
                stderr().print(sentence, markup=False)
            tell_other(self._folder, folder)
            self._folder = folder
            break
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the claim back. What was kept until all is written goes, too, since it is."""
        if self._kept is not None:
            self._kept.close()
        if self._written and (self._folder / KEPT).exists():
            # Under its name it is whole, or not there.
            gone = self._folder.with_name(f".{self._folder.name}.{os.getpid()}.kept.new")
            with suppress(OSError):
                (self._folder / KEPT).rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        if self._claim is not None:
            self._claim.release()

    def kept(self, *, parquet: bool) -> Kept:
        """Where the runs of a comparison are kept as they end, until all are written; tells how many are there. Within
        the place."""
        from fanin.comparing import Kept

        there = sum(1 for _ in (self._folder / KEPT).glob("*/manifest.json"))
        if there:
            text = f"{self._folder}: goes on where it was stopped; runs that had ended: {there}"
            stderr().print(text, markup=False)
        self._kept = Kept(self._folder / KEPT, parquet)
        return self._kept

    def keep(self, results: Results, *, parquet: bool) -> Path:
        """Saves the results and returns their folder: another one if the wanted folder exists by now, so that nothing
        is replaced or lost."""
        for folder in numbered(self._folder):
            try:
                results.save(folder, parquet=parquet, force=self._force or self._goes_on)
            except FileExistsError:
                if self._force:
                    raise
                continue
            tell_other(self._folder, folder)
            self._written = True
            return folder
        raise AssertionError("numbers have no end")


def tell_other(wanted: Path, folder: Path) -> None:
    """Reports on stderr that results went to another folder, and why."""
    if folder != wanted:
        text = f"{wanted} holds earlier results, so these go to {folder} (--force replaces them)"
        stderr().print(text, markup=False)


def holds_something(folder: Path) -> bool:
    """Whether the path exists and is neither an empty folder nor one that a command has only claimed."""
    return os.path.lexists(folder) and not (folder.is_dir() and all(path.name == CLAIM for path in folder.iterdir()))

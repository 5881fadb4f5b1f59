"""The folder of a sweep. Each finished run is written into it atomically, so that a sweep that is killed loses no
finished run.

`sweep.json` lists the runs, `parts/KEY.json` has the outcome of one, `log.jsonl` the time of each start and end;
`sweep.parquet` and `sweep.csv` are made of the parts when a sweep ends, and `runs` has the run folders that are kept.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shutil
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict, cast

import polars as pl

from fanin import _core
from fanin.run_folder import RunError, check_target, naming, read_document
from fanin.sweeps.columns import Value
from fanin.sweeps.grid import Point, difference
from fanin.sweeps.work import Number

RECORD, PARTS, RUNS, LOG, LOCK = "sweep.json", "parts", "runs", "log.jsonl", ".lock"

BEGUN = (LOCK, PARTS, f".{RECORD}.tmp")
"""What there may be in the folder of a sweep that was killed before it had written its record."""

DONE, UNTRUSTED, FAILED, WAITING = "done", "untrusted", "failed", "waiting"
"""The status of a run. Runs that are `done` or `untrusted` have run; the others run when the sweep is continued."""


class Planned(TypedDict):
    """A run of the sweep, whether it has run or not."""

    key: str
    settings: dict[str, Value]


class Record(TypedDict):
    """The document `sweep.json`."""

    sweep: int
    name: str
    base: dict[str, object]
    runs: list[Planned]


@dataclass(frozen=True)
class Part:
    """The outcome of one run: the document `parts/KEY.json`."""

    key: str
    label: str
    status: str
    version: str
    errors: list[str] = field(default_factory=list)
    numbers: dict[str, Number] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def final(self) -> bool:
        """Whether it need not be repeated."""
        return self.status in (DONE, UNTRUSTED)


class Store:
    """The folder of a sweep, opened for writing by one sweep."""

    def __init__(self, root: Path, record: Record) -> None:
        self.root = root
        self.record = record
        self.parts = read_parts(root, (run["key"] for run in record["runs"]))

    def land(self, part: Part, packed: bytes | None = None) -> None:
        """Saves the outcome of a run; an earlier outcome is replaced."""
        if packed is not None:
            unpack(packed, self.run_folder(part.key, part.label))
        write(self.root / PARTS / f"{part.key}.json", json.dumps(asdict(part), indent=1).encode())
        self.parts[part.key] = part
        self.log(part.status, part.key, part.label)

    def log(self, event: str, key: str, label: str) -> None:
        """Adds a line to the log."""
        line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, "run": key, "label": label}
        with naming(self.root / LOG), (self.root / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def run_folder(self, key: str, label: str) -> Path:
        """The folder of the whole run, if it is kept."""
        return run_folder(self.root, key, label)

    def write_tables(self, frame: pl.DataFrame) -> None:
        """`sweep.parquet` and `sweep.csv`."""
        parquet, csv = io.BytesIO(), io.BytesIO()
        frame.write_parquet(parquet)
        frame.write_csv(csv)
        write(self.root / "sweep.parquet", parquet.getvalue())
        write(self.root / "sweep.csv", csv.getvalue())


@contextmanager
def opened(
    root: Path, name: str, base: dict[str, object], points: Sequence[Point], *, force: bool = False
) -> Iterator[Store]:
    """Opens the folder for this process alone and adds these runs to its own; with `force` it is emptied before.

    Raises `FileExistsError` for a folder of something else or of another spec, and `RunError` if another process has
    opened it.
    """
    fresh = not os.path.lexists(root)
    if fresh:
        check_target(root, force=False)
        root.mkdir(parents=True)
    elif not root.is_dir() or (
        not (root / RECORD).is_file() and any(path.name not in BEGUN for path in root.iterdir())
    ):
        raise FileExistsError(f"{root}: exists and is not a sweep; choose another folder with --out")
    with _locked(root):
        _clean(root)
        if force:
            _empty(root)
        record: Record = {"sweep": 1, "name": name, "base": base, "runs": []}
        if (root / RECORD).is_file():
            record = read_record(root)
            differs = difference(record["base"], json.loads(json.dumps(base)))
            if differs is not None:
                raise FileExistsError(
                    f"{root}: holds runs of another spec ({differs}), which one table could not tell apart; "
                    "choose another folder with --out, vary that key with --vary, or replace them with --force"
                )
        # An existing point keeps its row, with the run of this version of Fanin.
        places = {_place(run["settings"]): at for at, run in enumerate(record["runs"])}
        for point in points:
            planned: Planned = {"key": point.key, "settings": point.settings}
            at = places.get(_place(point.settings))
            if at is None:
                record["runs"].append(planned)
            else:
                record["runs"][at] = planned
        (root / PARTS).mkdir(exist_ok=True)
        write(root / RECORD, json.dumps(record, indent=1).encode())
        yield Store(root, record)


def read_record(root: Path) -> Record:
    """Reads `sweep.json`; raises `RunError` if there is none, or one that cannot be read."""
    if not (root / RECORD).is_file():
        raise RunError(f"{root}: not a sweep (no {RECORD} in it)")
    record: Any = read_document(root / RECORD, tuple(Record.__annotations__))
    try:
        known = record["sweep"] == 1 and all(isinstance(run["key"], str) for run in record["runs"])
    except (KeyError, TypeError):
        known = False
    if not known:
        raise RunError(f"{root}: damaged {RECORD}, or one of another version of Fanin")
    return cast("Record", record)


def read_parts(root: Path, keys: Iterable[str]) -> dict[str, Part]:
    """The outcomes of those runs that have run; raises `RunError` for a part that cannot be read."""
    found: dict[str, Part] = {}
    for key in keys:
        path = root / PARTS / f"{key}.json"
        if not path.exists():
            continue
        try:
            document: Any = read_document(path)
            found[key] = Part(**document)
        except RunError as error:
            raise RunError(f"{error}; delete it to run it again") from None
        except TypeError:
            raise RunError(f"{path}: damaged: its keys are not those of a run; delete it to run it again") from None
    return found


def is_sweep(root: Path) -> bool:
    """Whether a sweep was written there."""
    return (root / RECORD).is_file()


def run_folder(root: Path, key: str, label: str) -> Path:
    """The name of the folder of a whole run: its label and its key."""
    slug = re.sub(r"[^\w.]+", "-", label.replace("_", "-")).strip("-.").encode()[:100].decode(errors="ignore")
    return root / RUNS / f"{slug}-{key[:8]}"


def write(path: Path, content: bytes) -> None:
    """Writes a file atomically: under another name, synchronised to disk, then renamed."""
    scratch = path.with_name(f".{path.name}.tmp")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.rename(path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from None
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with naming(path.parent):
            os.fsync(folder)
    finally:
        os.close(folder)


def unpack(packed: bytes, folder: Path) -> None:
    """Unpacks the archive of a run folder atomically."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(scratch, ignore_errors=True)
    with naming(folder), tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as files:
        files.extractall(scratch, filter="data")
    if folder.exists():
        shutil.rmtree(folder)
    scratch.rename(folder)


def _place(settings: Mapping[str, Value]) -> str:
    return json.dumps(settings, sort_keys=True)


def _clean(root: Path) -> None:
    """Removes incomplete files of a sweep that was killed."""
    for folder in (root, root / PARTS):
        for path in folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)
    # Run folders are first written under hidden names.
    for path in (root / RUNS).glob(".*"):
        shutil.rmtree(path, ignore_errors=True)


def _empty(root: Path) -> None:
    """Removes an earlier sweep, but no other files."""
    for folder in (PARTS, RUNS):
        shutil.rmtree(root / folder, ignore_errors=True)
    for file in (RECORD, LOG, "sweep.parquet", "sweep.csv"):
        (root / file).unlink(missing_ok=True)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    with (root / LOCK).open("a+", encoding="utf-8") as file:
        try:
            # The system releases the lock when the process ends in any way.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            who = file.read().strip() or "another process"
            raise RunError(
                f"{root}: another sweep is using it ({who}); wait for it, or choose another folder with --out"
            ) from None
        with naming(root / LOCK):
            file.seek(0)
            file.truncate()
            file.write(f"process {os.getpid()} on {os.uname().nodename}")
            file.flush()
        yield


def part_of_failure(point: Point, error: str) -> Part:
    """The outcome of a run without a result."""
    return Part(point.key, point.label, FAILED, _core.__version__, [error])

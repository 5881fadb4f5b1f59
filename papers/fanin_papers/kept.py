"""Measurements of finished runs, kept in files, so that an interrupted list of experiments goes on where it stopped.

A file is used only for the same run: its name is a hash of the spec with every default, of whether it ran on a wire,
of the engine with its schemes, and of the code that measures.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fanin import _core
from fanin.runs import Job
from fanin.sweeps.work import Measured as Measured


@dataclass(frozen=True)
class Taken:
    """What is left of a run."""

    measured: Measured
    packet_hops: int


class Kept:
    """The finished runs of one experiment, in a folder of its own."""

    def __init__(self, folder: Path, measure: Callable[..., Measured]) -> None:
        self._folder = folder
        self._measured_by = _code_of(measure.__module__)

    def find(self, job: Job) -> Taken | None:
        """What was kept of this run; None if it was not, or if the file is damaged."""
        try:
            found = json.loads(self._file(job).read_text(encoding="utf-8"))
            return Taken(found["measured"], found["packet_hops"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, job: Job, taken: Taken) -> None:
        """Writes a file that is whole at any time."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._file(job)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps({"measured": taken.measured, "packet_hops": taken.packet_hops}), encoding="utf-8")
        part.replace(file)

    def _file(self, job: Job) -> Path:
        return self._folder / f"{self._key(job)}.json"

    def _key(self, job: Job) -> str:
        parts: list[Any] = [job.resolve(), job.wire, _engine(), self._measured_by]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _engine() -> str:
    """A hash of the native module: the engine and all schemes."""
    with Path(_core.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _code_of(module: str) -> str:
    """A hash of the text of a module."""
    return hashlib.sha256(inspect.getsource(import_module(module)).encode()).hexdigest()

"""Whether the files of a run folder are those that its manifest names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanin.run_folder import FileRecord, Manifest, RunError

_verifies: list[bool] = [True]
"""Whether files are compared with the manifest as they are read; the last entry counts."""


@contextmanager
def unverified() -> Iterator[None]:
    """Within, files are read as they are, whatever their manifest says."""
    _verifies.append(False)
    try:
        yield
    finally:
        _verifies.pop()


def record_of(path: Path, rows: int | None = None) -> FileRecord:
    """What a manifest says of this file: its size in bytes, its SHA-256, and the rows of a table."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    record: FileRecord = {"bytes": path.stat().st_size, "sha256": digest}
    if rows is not None:
        record["rows"] = rows
    return record


def problem(root: Path, manifest: Manifest, name: str) -> str | None:
    """What is wrong with a file of a run folder, in a sentence; None if it is as its manifest says, or if that is of an
    earlier version and says nothing."""
    said = manifest.get("files", {}).get(name)
    if said is None:
        return None
    path = root / name
    if not path.is_file():
        return f"{path}: damaged run folder: there is no such file"
    size = path.stat().st_size
    if size != said["bytes"]:
        return f"{path}: damaged: it has {size:,} bytes, and had {said['bytes']:,} when the run was written"
    if record_of(path)["sha256"] != said["sha256"]:
        return f"{path}: damaged: it has changed since the run was written"
    return None


def verify(root: Path, manifest: Manifest, name: str) -> None:
    """Raises `RunError` for a file that is not the one that the run wrote."""
    if not _verifies[-1]:
        return
    wrong = problem(root, manifest, name)
    if wrong is not None:
        raise RunError(
            f"{wrong}; run the spec again, or read it as it is: fanin --no-verify, fanin.load(..., verify=False)"
        )

"""Checks a run folder whole: its files, sums across its tables, and whether its spec gives the same results again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fanin import run_files
from fanin.result import Result, load
from fanin.run_folder import RunError
from fanin.runs import run
from fanin.spec import traffics_with

_NOT_RESULTS = ("README.md", "INCOMPLETE", "spec.resolved.toml")
"""Files that tell of a run and are no results of it."""


def verify(folder: str | os.PathLike[str], *, again: bool = True) -> list[str]:
    """What is wrong with a run folder, a sentence each; nothing if it is as its run wrote it.

    Compares each file with the manifest, adds up what two tables have, and unless `again` is False runs the spec again,
    on as many threads as there are cores, and compares all results bit by bit; but not a spec whose messages a program
    posted, which does not run by itself. Raises `RunError` if it is not a run folder, or of a version that left no
    hashes.
    """
    root = Path(folder)
    with run_files.unverified():
        result = load(root)
    files = result.manifest.get("files")
    if files is None:
        raise RunError(f"{root}: written by an earlier version, whose manifests do not name files; run it again")
    wrong = [found for name in files if (found := run_files.problem(root, result.manifest, name)) is not None]
    if wrong:
        return wrong
    if not result.exact:
        wrong += [f"{root}: {sentence}" for sentence in _sums(result)]
        if again and not wrong and not is_posted(result):
            wrong += [f"{root}: {sentence}" for sentence in _repeated(result)]
    return wrong


def is_posted(result: Result) -> bool:
    """Whether a program posted the messages of a run, over the C library."""
    return bool(traffics_with(result.spec, "posted"))


def _sums(result: Result) -> list[str]:
    """Sums that two tables share and that differ."""
    ports, classes = result.ports(), result.classes()
    wrong = []
    hops = int(ports["packets"].sum())
    if hops != result.manifest["packet_hops"]:
        wrong.append(f"the packets of all ports are {hops:,}, and the manifest has {result.manifest['packet_hops']:,}")
    for column in ("marked_packets", "dropped_packets", "trimmed_packets", "pauses"):
        of_ports, of_classes = int(ports[column].sum()), int(classes[column].sum())
        if of_ports != of_classes:
            wrong.append(f"{column} are {of_ports:,} in the table of ports, and {of_classes:,} in that of classes")
    return wrong


def _repeated(result: Result) -> list[str]:
    """How a run of the same spec differs."""
    if result.cancelled:
        return []
    repeated = run(result.spec, flows=result.given_flows, progress=False)
    if repeated.manifest["event_hash"] != result.manifest["event_hash"]:
        mine, theirs = result.manifest["event_hash"], repeated.manifest["event_hash"]
        return [f"its spec, run again by this version, has the event hash {theirs}, and the folder {mine}"]
    with tempfile.TemporaryDirectory() as scratch:
        parquet = "flows.parquet" in result.manifest.get("files", {})
        written = load(repeated.save(Path(scratch) / "again", parquet=parquet)).manifest.get("files", {})
    files = result.manifest.get("files", {})
    differs = [name for name in files if name not in _NOT_RESULTS and files[name] != written.get(name)]
    return [f"its spec, run again, writes another {name}" for name in differs]


__all__ = ["is_posted", "verify"]

"""htsim's files: connection matrices and fat trees as specs, and finished flows in the format of its programs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fanin import _core
from fanin.result import Result
from fanin.run_folder import put_text

FINISHED = "finished.txt"
"""The file in a run folder that `write_finished` leaves."""


@dataclass(frozen=True)
class Files:
    """A spec made of files of htsim."""

    spec: dict[str, object]
    """Fit for `fanin.run` and `fanin.compare`."""
    warnings: list[str]
    """Parts of the files that have no counterpart in a spec."""


def read(
    matrix: str | os.PathLike[str],
    topo: str | os.PathLike[str] | None = None,
    *,
    scheme: str,
    dialect: str | None = None,
) -> Files:
    """Reads a connection matrix (`.cm`) and its fat tree (`.topo`).

    `dialect` is the program of htsim that the matrix is for: "uec" and "swift" read `start` in microseconds, "ndp" and
    all others in picoseconds. Without it, it is the one that the matrix tells, which a warning names with the reason.
    Without a tree it is the default of htsim's programs for that number of nodes: k-ary, 100 Gb/s and 1 us a link.
    Raises `SpecError` with file and line.
    """
    tree = None if topo is None else os.fspath(topo)
    text, warnings = _core.htsim_spec(os.fspath(matrix), tree, scheme, dialect)
    return Files(json.loads(text), warnings)


def finished(result: Result) -> list[str]:
    """A line for each connection whose last ACK has arrived, in the order of these arrivals.

    As in htsim: `Flow NAME ID finished at MICROSECONDS total bytes BYTES`, where the name is the scheme with both
    hosts.
    """
    flows = result.flows().filter(pl.col("acked_ps").is_not_null())
    flows = flows.with_columns(pl.col("scheme").cast(pl.String), at=pl.col("start_ps") + pl.col("acked_ps"))
    columns = flows.sort("at", "flow_id").select("scheme", "src", "dst", "group", "at", "bytes")
    return [
        f"Flow {scheme}_{src}_{dst} {number} finished at {microseconds(at)} total bytes {size}"
        for scheme, src, dst, number, at, size in columns.iter_rows()
    ]


def microseconds(ps: int) -> str:
    """Picoseconds as microseconds, exact: `67`, `0.000001`."""
    whole, rest = divmod(ps, 10**6)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def write_finished(result: Result, folder: str | os.PathLike[str]) -> Path:
    """Writes the lines of `finished` into a run folder."""
    path = Path(folder) / FINISHED
    put_text(path, "".join(f"{line}\n" for line in finished(result)))
    return path

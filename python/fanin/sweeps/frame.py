"""The table of runs: a row each, with their settings and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

import polars as pl

from fanin.quantities import OF
from fanin.rows import Row, numbers
from fanin.sweeps.columns import Value

if TYPE_CHECKING:
    from fanin.run_tables import RunTables


class OfRun(Protocol):
    """What the table has of a run."""

    @property
    def settings(self) -> Mapping[str, Value]:
        """Its scheme, its seed and what else tells it from the others."""

    @property
    def status(self) -> str:
        """As of `fanin.SweepRun`."""

    @property
    def numbers(self) -> Mapping[str, float | str | int | None]:
        """By the names of the table's columns; empty without a result."""

    @property
    def errors(self) -> Sequence[str]:
        """What went wrong."""

    @property
    def key(self) -> str:
        """What identifies it."""


def frame(runs: Sequence[OfRun]) -> pl.DataFrame:
    """One row per run: its settings, `status`, `errors`, the numbers, `seconds`, `event_hash` and `run`, its key."""
    data: dict[str, pl.Series] = {}
    for column in dict.fromkeys(column for run in runs for column in run.settings):
        data[column] = _column(column, [run.settings.get(column) for run in runs])
    data["status"] = pl.Series("status", [run.status for run in runs], dtype=pl.String)
    data["errors"] = pl.Series("errors", ["; ".join(run.errors) or None for run in runs], dtype=pl.String)
    of_parts = dict.fromkeys(name for run in runs for name in run.numbers if OF in name)
    for name, dtype in (number_columns() | dict.fromkeys(of_parts, pl.Float64)).items():
        data[name] = pl.Series(name, [run.numbers.get(name) for run in runs], dtype=dtype, strict=False)
    data["run"] = pl.Series("run", [run.key for run in runs], dtype=pl.String)
    return pl.DataFrame(data)


def numbers_of_run(result: RunTables) -> dict[str, float | str | int | None]:
    """The numbers of a run by the names of their columns."""
    manifest = result.manifest
    return {
        **numbers(result),
        "simulated_us": manifest["simulated_ps"] / 1e6,
        "packet_hops": manifest["packet_hops"],
        "seconds": manifest["wall_s"],
        "event_hash": manifest["event_hash"],
    }


_COUNTS = (
    "started",
    "finished",
    "unfinished",
    "endless",
    "reported",
    "packets_resent",
    "trimmed",
    "timeouts",
    "given_up",
    "queries",
    "ranks",
    "drops",
    "pauses",
    "cnps",
)


def number_columns() -> dict[str, type[pl.DataType]]:
    """The table's columns for the numbers of a run, in order: those of a comparison's row, and those of its
    execution."""
    names = [one.name for one in fields(Row) if one.name not in ("scheme", "runs", "ci95", "on", "parts")]
    return {
        **{name: pl.Int64 if name in _COUNTS else pl.Float64 for name in names},
        "simulated_us": pl.Float64,
        "packet_hops": pl.Int64,
        "seconds": pl.Float64,
        "event_hash": pl.String,
    }


def _column(name: str, values: Sequence[Value | None]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    if len(kinds) > 1:
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(name, values)

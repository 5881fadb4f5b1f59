"""Runs side by side, with their table and picture, and their folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fanin.measures import group_names, ran_on
from fanin.rows import Compared, Row
from fanin.run_folder import WRITTEN, check_target, clean, is_run_folder, put_text

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from fanin.result import Result


MOST_LINES = 8
"""Most schemes in the text that stands for a comparison."""


@dataclass(frozen=True)
class _OfTable:
    """A run in the table of a comparison."""

    settings: dict[str, str | int | float | bool]
    status: str
    numbers: dict[str, float | str | int | None]
    errors: list[str]
    key: str

    @staticmethod
    def of(scheme: str, result: Result) -> _OfTable:
        from fanin.sweeps.frame import numbers_of_run

        errors = result.summary()["errors"]
        place: dict[str, str | int | float | bool] = {"scheme": scheme, "seed": result.manifest["seed"]}
        if ran_on(result) == "wire":
            place["on"] = "wire"
        return _OfTable(place, "untrusted" if errors else "done", numbers_of_run(result), errors, result.label)


@dataclass(frozen=True)
class Comparison(Compared):
    """Runs of one spec under several schemes and seeds."""

    results: list[Result]

    def with_ideal(self, ideal: str) -> Comparison:
        """The same runs with slowdowns by another ideal: see `Result.with_ideal`."""
        return Comparison([result.with_ideal(ideal) for result in self.results], self.cancelled)

    def __repr__(self) -> str:
        seeds = max((row.runs for row in self.rows), default=0)
        named = self.results[0].name if self.results else "without a run"
        shown = [f"  {row.scheme}: FCT p99 {_p99(row)}" for row in self.rows[:MOST_LINES]]
        more = [f"  and {len(self.rows) - MOST_LINES} schemes more"] if len(self.rows) > MOST_LINES else []
        return "\n".join([f"<Comparison {named}: {seeds} seed{'s' * (seeds != 1)}", *shown, *more]) + ">"

    def _repr_html_(self) -> str:
        from fanin import table

        return table.html_of(self)

    def table(self) -> pl.DataFrame:
        """One row per run, with the columns of `Sweep.table`: `scheme`, `seed`, `status`, `errors`, the numbers (units
        are in their names), `seconds` of real time, `event_hash` and `run`, its label. A number that a run does not
        have is null."""
        from fanin.sweeps.frame import frame

        groups = group_names(self.results)
        return frame([_OfTable.of(scheme, result) for scheme, result in zip(groups, self.results, strict=True)])

    def text(self, folder: str | os.PathLike[str] | None = None) -> RenderableType:
        """The comparison as a table for a terminal. `folder` is where it was saved, for the parts of it that the table
        has no room for."""
        from fanin import table

        return table.comparison(self, None if folder is None else os.fspath(folder))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws FCTs and queues of all schemes, to a file if a path is given."""
        from fanin import plot

        return plot.comparison(self, path)

    def save(self, folder: str | os.PathLike[str], *, parquet: bool = False, force: bool = False) -> Path:
        """Writes a run folder per run, `compare.json` and `compare.png` into a folder and returns its path.

        Raises `FileExistsError` if that would replace results, unless `force` is set.
        """
        root = Path(folder)
        record = root / WRITTEN
        if is_run_folder(root):
            raise FileExistsError(f"{root}: holds a run; choose another folder with --out")
        if record.exists() and not force:
            raise FileExistsError(
                f"{root}: holds a comparison; choose another folder or allow replacing it with --force"
            )
        for result in self.results:
            check_target(root / result.label, force=force)
        record.unlink(missing_ok=True)  # without it the folder is no comparison until everything is written
        for result in self.results:
            clean(root / result.label)
            result.save(root / result.label, parquet=parquet, force=force)
        self.plot(root / "compare.png")
        numbers = {
            "runs": [result.label for result in self.results],
            "cancelled": self.cancelled,
            "complete": not self.cancelled,
            "rows": [row.to_json() for row in self.rows],
        }
        written = record.with_suffix(".part")
        put_text(written, json.dumps(numbers, indent=2) + "\n")
        written.rename(record)
        return root


def _p99(row: Row) -> str:
    from fanin import table

    return table.with_interval(row, "fct_p99_us", table.time)

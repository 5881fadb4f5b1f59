"""What a report has of jobs: the ranks over time, and the slowest collectives."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fanin.measures import rank_times, scheme_name, size_text
from fanin.reporting.figures import Json, Panel, axis, figure, numbers, text
from fanin.result import Result
from fanin.run_tables import RunTables
from fanin.shown import number, time
from fanin.style import BLUE, GREEN

SLOWEST = 20
"""The number of the slowest collectives of a run that are listed."""

PARTS = 1000
"""A run is drawn in so many parts: shorter pauses are not seen."""


@dataclass(frozen=True)
class Collectives:
    """The slowest collectives of one run."""

    label: str
    scheme: str
    command: str
    head: list[str]
    rows: list[list[str]]
    left_out: int
    """Collectives that are faster than these."""
    unfinished: int


def collectives(result: Result, place: Path | None) -> Collectives:
    """The slowest collectives of a run that was saved to a folder, or to none."""
    table = result.collectives()
    ended = table.drop_nulls("time_ps").sort("time_ps", descending=True, maintain_order=True)
    rows = ended.head(SLOWEST).rows(named=True)
    several = table["traffic"].n_unique() > 1

    def name(row: Mapping[str, object]) -> str:
        return f"{row['traffic']}:{row['collective']}" if several else f"{row['collective']}"

    folder = shlex.quote(str(place)) if place else "FOLDER"
    return Collectives(
        label=result.label,
        scheme=scheme_name(result),
        command=f"fanin why {folder} --collective {name(rows[0]) if rows else 'N'}",
        head=["collective", "operation", "ranks", "size", "time", "algbw", "busbw", "last to enter", "late by"],
        rows=[
            [
                name(row),
                f"{row['operation']}, {row['algorithm']}",
                f"{row['ranks']}",
                size_text(row["bytes"]),
                time(row["time_ps"] / 1e6),
                f"{number(row['algbw_gbytes'])} GB/s",
                f"{number(row['busbw_gbytes'])} GB/s",
                f"rank {row['last_rank']}" if row["late_ps"] else "all at once",
                time(row["late_ps"] / 1e6),
            ]
            for row in rows
        ],
        left_out=ended.height - len(rows),
        unfinished=table.height - ended.height,
    )


def ranks_over_time(groups: Mapping[str, Sequence[RunTables]], most: int, unit: str, per_us: float) -> Json | None:
    """A panel per scheme, of its first run, with a row per rank; None where no run has a job."""
    panels = []
    for scheme, results in [(scheme, runs) for scheme, runs in groups.items() if not runs[0].ranks().is_empty()][:most]:
        run = results[0]
        table, computing, communicating = rank_times(run, PARTS)
        since = int(table["start_ps"].to_numpy().min())
        names = [
            f"rank {rank} on {host}" if table["traffic"].n_unique() == 1 else f"{traffic}: rank {rank} on {host}"
            for traffic, rank, host in table.select("traffic", "rank", pl.col("host").cast(pl.String)).rows()
        ]
        traces: list[Json] = []
        for what, parts, colour in (("communicates", communicating, BLUE), ("computes", computing, GREEN)):
            begin, end = (parts[column].cast(pl.Float64).to_numpy() for column in ("start_ps", "end_ps"))
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "base": numbers((begin - since) / 1e6 / per_us),
                    "x": numbers((end - begin) / 1e6 / per_us),
                    "y": parts["row"].to_list(),
                    "text": [names[row] for row in parts["row"].to_list()],
                    "textposition": "none",
                    "marker": {"color": colour, "line": {"width": 0}},
                    "width": 0.8,
                    "name": what,
                    "legendgroup": what,
                    "meta": {"scheme": scheme},
                    "hovertemplate": f"%{{text}} {what} from %{{base:,.6~r}} {unit} for %{{x:,.4~r}} {unit}"
                    f"<extra>{text(scheme)}</extra>",
                }
            )
        y = axis("rank", autorange="reversed", tickformat="d")
        panels.append(Panel(traces, y, scheme if len(groups) > 1 else ""))
    if not panels:
        return None
    return figure(panels, axis(f"time ({unit})", rangemode="tozero", tickformat=",~r"), barmode="overlay")

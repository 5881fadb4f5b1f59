"""The numbers of schemes, or of traffics, in columns beside each other, for terminals and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from fanin.measures import sizes_text
from fanin.quantities import OF, QUANTITIES, quantity
from fanin.shown import NONE, SHOWN, estimated, exact_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from fanin.rows import Compared, Row

MOST_COLUMNS = 20
"""Schemes or traffics that stand beside each other; of more, each is a row with its main numbers."""

MOST_ROWS = 60
"""Schemes, or points of a sweep, that a terminal shows; files have all."""


@dataclass(frozen=True)
class Line:
    """One number of a comparison under all its schemes."""

    name: str
    values: list[float | None]
    """One per scheme; None where there is no number."""
    cells: list[str]
    """The formatted values, with their unit and half of their 95 % interval."""
    best: int | None
    """The index of the best value, if its interval does not overlap with any other."""


SECTIONS: tuple[tuple[str, ...], ...] = (
    ("started", "finished", "unfinished"),
    ("reported", "fct_p50_us", "fct_p99_us", "fct_p999_us", "slowdown_p50", "slowdown_p99", "slowdown_p999"),
    ("queries", "query_p50_us", "query_p99_us", "query_timeout_share"),
    (
        "ranks",
        "job_us",
        "exposed_us",
        "critical_compute_us",
        "critical_serialisation_us",
        "critical_propagation_us",
        "critical_queueing_us",
        "critical_waiting_us",
        "algbw_gbytes",
        "busbw_gbytes",
        "late_us",
    ),
    (
        "endless",
        "long_goodput_gbps",
        "unfinished_goodput_gbps",
        "marked_share",
        "reordered_packets",
        "packets_resent",
        "trimmed",
        "timeouts",
        "given_up",
        "drops",
        "pauses",
        "paused_us",
        "credit_wait_us",
        "cnps",
    ),
)
RARE = (
    "critical_compute_us",
    "critical_waiting_us",
    "late_us",
    "algbw_gbytes",
    "busbw_gbytes",
    "endless",
    "long_goodput_gbps",
    "unfinished_goodput_gbps",
    "reordered_packets",
    "packets_resent",
    "trimmed",
    "given_up",
    "credit_wait_us",
)
"""Numbers without a line where they are zero, or none, under every scheme."""

OF_PARTS = (
    "goodput_gbps",
    "fct_p99_us",
    "slowdown_p99",
    "queue_p50_bytes",
    "queue_p99_bytes",
    "queue_max_bytes",
)
"""The numbers of traffics, classes of sizes and tiers that have a line where they vary."""

ONLY_ONE = {"fct_p50_us": "FCT", "slowdown_p50": "slowdown"}
"""The names of the median where every run has one message: it is that message's."""

MAIN = {
    "unfinished": "unfinished",
    "fct_p99_us": "FCT p99",
    "slowdown_p99": "slowdown p99",
    "long_goodput_gbps": "goodput",
    "drops": "drops",
    "paused_us": "paused",
}
"""The numbers of schemes that are too many to stand beside each other, and their headings."""


def lines(compared: Compared) -> list[list[Line]]:
    """The numbers of a comparison, in sections; the terminal and the report show the same."""
    rows = compared.rows
    size = sizes_text(compared.results[0]) or "all sizes"
    alone = only_one(compared)
    sections = []
    for names in SECTIONS:
        if names[0] in ("queries", "ranks") and not any(getattr(row, names[0]) for row in rows):
            continue
        of = f"{size}: " if names[0] == "reported" else ""
        shown = [name for name in names if _applies(name, compared)]
        if names[0] == "reported" and not any(row.reported for row in rows):
            # Nothing has finished, or there are long flows alone.
            shown = ["reported"] if any(row.started for row in rows) else []
        elif names[0] == "reported" and alone:
            shown = ["reported", *ONLY_ONE]
        sections.append(
            [
                Line(
                    of + ((alone and ONLY_ONE.get(name)) or QUANTITIES[name].row),
                    [getattr(row, name) for row in rows],
                    [_cell(row, name, alone=alone) for row in rows],
                    best(rows, name),
                )
                for name in shown
            ]
        )
    return [section for section in (*sections, of_parts(compared)) if section]


def of_parts(compared: Compared) -> list[Line]:
    """The numbers of traffics, classes of sizes and tiers that vary from scheme to scheme; those of a lone traffic are
    the numbers of the whole run."""
    rows = compared.rows
    traffics = [traffic["traffic"] for traffic in compared.results[0].summary()["traffics"]]
    names = dict.fromkeys(name for row in rows for name in row.parts)
    found = []
    for name in names:
        base, _, part = name.partition(OF)
        if base not in OF_PARTS or part in traffics[:1] == traffics:
            continue
        cells = [with_interval(row, name, SHOWN[quantity(name).unit]) for row in rows]
        if len(set(cells)) > 1:
            found.append(Line(quantity(name).row, [row.value(name) for row in rows], cells, best(rows, name)))
    return found


def only_one(compared: Compared) -> bool:
    """Whether every run has one finished message."""
    return all(run["reported"] == 1 for run in compared.numbers)


def _applies(name: str, compared: Compared) -> bool:
    """Whether a number means something in these runs: a zero of what cannot happen reads as if it had not happened."""
    if any(getattr(row, name) for row in compared.rows):
        return True
    if name == "timeouts":
        return not all(result.of_ns3 for result in compared.results)  # that simulator has no timeouts
    if name == "cnps":
        return any(row.cnps_in_acks for row in compared.rows)
    if name in ("pauses", "paused_us"):
        return any(result.classes()["lossless"].any() for result in compared.results)
    return name not in RARE


def _cell(row: Row, name: str, *, alone: bool) -> str:
    if alone and name == "fct_p50_us" and row.runs == 1:
        return exact_time(row.fct_p50_us)
    if name == "cnps" and row.cnps_in_acks:
        # In the network of the ns-3 HPCC simulator the notification is a bit in an ACK, and no packet of its own.
        in_acks = f"{with_interval(row, 'cnps_in_acks', SHOWN['count'])}, in ACKs"
        return f"{with_interval(row, name, SHOWN['count'])} and {in_acks}" if row.cnps else in_acks
    return with_interval(row, name, SHOWN[QUANTITIES[name].unit])


def with_interval(row: Row, field: str, show: Callable[[float | None], str]) -> str:
    """A number of a row, and half of its 95 % interval in the same unit where there are several runs."""
    return estimated(row.estimate(field), show)


def best(rows: Sequence[Row], name: str) -> int | None:
    """Which row has the best value of a number: its 95 % interval does not overlap with any other. None with one seed,
    which has no interval. Rows with unfinished messages are excluded for numbers over finished messages."""
    of = quantity(name)
    known = {
        place: row.estimate(name)
        for place, row in enumerate(rows)
        if row.value(name) is not None and not (of.of_finished and row.unfinished)
    }
    if of.better is None or len(known) < 2:
        return None
    sign = 1 if of.better == "low" else -1
    first = min(known, key=lambda place: sign * (rows[place].value(name) or 0.0))
    return first if all(known[first].apart(other) for place, other in known.items() if place != first) else None


@dataclass(frozen=True)
class SideBySide:
    """Lines as tables below each other, each with as many of their columns as the console has room for."""

    names: list[str]
    """Those of the columns: of schemes, or of traffics."""
    sections: list[list[Line]]

    @staticmethod
    def of(compared: Compared) -> SideBySide:
        """The lines of a comparison."""
        return SideBySide([row.scheme for row in compared.rows], lines(compared))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sections, names = self.sections, self.names
        every = [line for section in sections for line in section]
        widths = [max(len(name), *(len(line.cells[at]) for line in every)) + 3 for at, name in enumerate(names)]
        room = options.max_width - max(len(line.name) for line in every) - 4  # with padding, dividers and both edges
        at = 0
        while at < len(names):
            until = at + 1
            while until < len(names) and sum(widths[at : until + 1]) <= room:
                until += 1
            table = Table(box=SIMPLE_HEAD, pad_edge=False)
            table.add_column("", no_wrap=sum(widths[at:until]) <= room)
            for name in names[at:until]:
                table.add_column(name, justify="right")
            for section in sections:
                for line in section:
                    shown = range(at, until)
                    table.add_row(
                        line.name, *(Text(line.cells[one], "bold" if line.best == one else "") for one in shown)
                    )
                table.add_section()
            yield table
            at = until


def main_numbers(compared: Compared) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table with a row per scheme, for schemes that are too many to stand beside each
    other."""
    shown = [name for name in MAIN if _applies(name, compared)]
    rows = [
        # A cell stays on one line.
        [row.scheme, *(with_interval(row, name, SHOWN[QUANTITIES[name].unit]).replace(" ", "\u00a0") for name in shown)]
        for row in compared.rows
    ]
    return ["scheme", *(MAIN[name] for name in shown)], rows


def told(cells: Iterable[str]) -> bool:
    """Whether some cell has a number."""
    return any(cell not in ("", NONE) for cell in cells)

"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fanin import spec
from fanin.measures import sizes_text

if TYPE_CHECKING:
    from fanin.comparison import Comparison, Row
    from fanin.papers import Study
    from fanin.sweeps.sweeping import Sweep

NONE = "-"
"""Shown where there is no number."""


UNFINISHED = "messages unfinished"
DROPS = "drops"

LOW: Literal["low"] = "low"
HIGH: Literal["high"] = "high"


@dataclass(frozen=True)
class Line:
    """One number of a comparison under all its schemes."""

    name: str
    values: list[float | None]
    """One per scheme; None where there is no number."""
    cells: list[str]
    """The values as they are shown, with their unit."""
    better: Literal["low", "high"] | None
    """Which values are good; None where neither is."""
    of_finished: bool
    """It is over finished messages only, so that it flatters a scheme that left messages unfinished."""


def lines(compared: Comparison) -> list[list[Line]]:
    """The numbers of a comparison, in sections; the terminal and the report show the same."""
    rows = compared.rows
    size = sizes_text(compared.results[0]) or "all sizes"
    sections: list[list[Line]] = []

    def section() -> None:
        sections.append([])

    def line(
        name: str,
        field: str,
        show: Callable[[float | None], str],
        better: Literal["low", "high"] | None = None,
        *,
        of_finished: bool = False,
    ) -> None:
        values: list[float | None] = [getattr(row, field) for row in rows]
        cells = [with_interval(row, field, show) for row in rows]
        sections[-1].append(Line(name, values, cells, better, of_finished))

    section()
    line("messages started", "started", count)
    line("messages finished", "finished", count)
    line(UNFINISHED, "unfinished", count, LOW)
    section()
    line(f"{size}: finished", "reported", count)
    line(f"{size}: completion p50", "fct_p50_us", time, LOW, of_finished=True)
    line(f"{size}: completion p99", "fct_p99_us", time, LOW, of_finished=True)
    line(f"{size}: completion p99.9", "fct_p999_us", time, LOW, of_finished=True)
    line(f"{size}: slowdown p50", "slowdown_p50", number, LOW, of_finished=True)
    line(f"{size}: slowdown p99", "slowdown_p99", number, LOW, of_finished=True)
    line(f"{size}: slowdown p99.9", "slowdown_p999", number, LOW, of_finished=True)
    if any(row.queries for row in rows):
        section()
        line("queries: finished", "queries", count)
        line("queries: completion p50", "query_p50_us", time, LOW, of_finished=True)
        line("queries: completion p99", "query_p99_us", time, LOW, of_finished=True)
        line("queries: with a timeout", "query_timeout_share", share, LOW)
    section()
    line("long flows", "endless", count)
    line("long-flow goodput, sum", "long_goodput_gbps", gbps, HIGH)
    line("ECN-marked packets of messages", "marked_share", share)
    line("retransmission timeouts", "timeouts", count, LOW)
    line(DROPS, "drops", count, LOW)
    line("PFC pause time", "paused_us", time, LOW)
    line("CNPs", "cnps", count)
    return sections


def comparison(compared: Comparison) -> RenderableType:
    """One column per scheme, one line per number."""
    first = compared.results[0]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for row in compared.rows:
        table.add_column(row.scheme, justify="right")
    for section in lines(compared):
        for line in section:
            table.add_row(line.name, *line.cells)
        table.add_section()
    title = Text(f"{first.name}: {spec.describe(first.spec)}", style="bold")
    return Group(title, table, Text(caption(compared)))


def caption(compared: Comparison) -> str:
    """What must be known to read the numbers."""
    parts = [f"slowdown: completion time over its ideal, {compared.results[0].slowdown_ideal}"]
    runs = {row.runs for row in compared.rows}
    if runs != {1}:
        parts.append(
            f"mean over {'/'.join(str(count) for count in sorted(runs))} seeds per scheme, with half of its 95 % interval"
        )
    if compared.cancelled:
        parts.append(cancelled_note(compared))
    return "\n".join(parts)


def with_interval(row: Row, field: str, show: Callable[[float | None], str]) -> str:
    """A number of a row, and half of its 95 % interval in the same unit where there are several runs."""
    shown = show(getattr(row, field))
    width = row.ci95.get(field)
    if not width:
        return shown
    value, _, unit = shown.partition(" ")
    if show is time:
        width /= US_OF[unit]
    elif show is share:
        width *= 100
    return f"{value} \u00b1 {number(width)} {unit}".rstrip()


def cancelled_note(compared: Comparison) -> str:
    """Where the runs were when they were stopped."""
    stopped = [
        f"{result.label} cancelled at {result.simulated_ms:.2f} ms" for result in compared.results if result.cancelled
    ]
    return ", ".join(stopped) or "cancelled before every scheme had run"


def claims(studied: Study) -> RenderableType:
    """A line per claim: the paper's number beside ours."""
    rows = [[row.claim, row.what, row.paper, row.ours, row.accept, row.verdict] for row in studied.rows()]
    title = Text(f"{studied.experiment.id}: {studied.experiment.title}", style="bold")
    return Group(title, plain(["claim", "what", "paper", "ours", "counts as holding", "verdict"], rows))


MOST_ROWS = 60
"""Rows of a sweep that a terminal shows; its files have all."""


def swept(sweep: Sweep) -> RenderableType:
    """One line per run: its place in the grid, how it went, and the numbers most looked for."""
    columns = list(dict.fromkeys(column for run in sweep.runs for column in run.settings))
    shown: dict[str, tuple[str, Callable[[float | None], str]]] = {
        "fct_p50_us": ("fct p50", time),
        "fct_p99_us": ("fct p99", time),
        "slowdown_p99": ("slowdown", number),
        "unfinished": ("unfinished", count),
    }
    if any(run.numbers.get("drops") for run in sweep.runs):
        shown["drops"] = ("drops", count)
    told = any(run.status != "done" for run in sweep.runs)
    rows = [
        [
            *(str(run.settings.get(column, NONE)) for column in columns),
            *([run.status] if told else []),
            *(show(_real(run.numbers.get(name))).replace(" ", "\u00a0") for name, (_, show) in shown.items()),
        ]
        for run in sweep.runs[:MOST_ROWS]
    ]
    headings = [heading for heading, _ in shown.values()]
    grid = [*(_shortest(column, columns) for column in columns), *(["status"] if told else [])]
    parts: list[RenderableType] = [
        Text(sweep.name, style="bold"),
        plain([*grid, *headings], rows, headings),
        Text("fct: completion time of finished messages; slowdown: its 99th percentile"),
    ]
    left_out = len(sweep.runs) - len(rows)
    if left_out:
        parts.append(Text(f"and {left_out} runs more: {sweep.folder}/sweep.csv"))
    return Group(*parts)


def _shortest(key: str, others: Sequence[str]) -> str:
    """The last words of a key, as many as tell it from the others."""
    words = key.split(".")
    ends = [".".join(words[-count:]) for count in range(1, len(words) + 1)]
    return next(end for end in ends if sum(other == end or other.endswith(f".{end}") for other in others) == 1)


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def plain(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> Table:
    """A table of texts; columns named in `right` are aligned there."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def count(value: float | None) -> str:
    """How many; a small mean that is no whole number has one digit more."""
    return NONE if value is None else f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.1f}"


def gbps(value: float | None) -> str:
    """A rate in Gb/s."""
    return NONE if value is None else f"{number(value)} Gb/s"


def number(value: float | None) -> str:
    """Three significant digits, thousands separated."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


US_OF = {"s": 1e6, "ms": 1e3, "us": 1.0}


def time(us: float | None) -> str:
    """A time given in microseconds, in the unit that reads best."""
    if us is None:
        return NONE
    if us == 0:
        return "0"
    unit = next((unit for unit, scale in US_OF.items() if us >= scale), "us")
    return f"{number(us / US_OF[unit])} {unit}"


def share(value: float | None) -> str:
    """A share in percent."""
    return NONE if value is None else f"{value * 100:.2f} %"


def manual_title(manual: str) -> str:
    """What a scheme is, from the first line of its manual: `# id: what it is`."""
    line = manual.strip().partition("\n")[0].lstrip("# ")
    return line.partition(": ")[2] or line

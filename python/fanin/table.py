"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fanin import spec
from fanin.measures import sizes_text

if TYPE_CHECKING:
    from fanin.compare import Comparison, Row
    from fanin.papers import Study

NONE = "-"
"""Shown where there is no number."""


def comparison(compared: Comparison) -> RenderableType:
    """One column per scheme, one line per number."""
    rows = compared.rows
    first = compared.results[0]
    size = sizes_text(first) or "all sizes"
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for row in rows:
        table.add_column(row.scheme, justify="right")

    def line(name: str, show: Callable[[Row], str]) -> None:
        table.add_row(name, *(show(row) for row in rows))

    line("messages started", lambda row: f"{row.started:,}")
    line("messages finished", lambda row: f"{row.finished:,}")
    line("messages unfinished", lambda row: f"{row.unfinished:,}")
    table.add_section()
    line(f"{size}: finished", lambda row: f"{row.reported:,}")
    line(f"{size}: completion p50", lambda row: time(row.completion_p50_us))
    line(f"{size}: completion p99", lambda row: time(row.completion_p99_us))
    line(f"{size}: completion p99.9", lambda row: time(row.completion_p999_us))
    line(f"{size}: slowdown p50", lambda row: number(row.slowdown_p50))
    line(f"{size}: slowdown p99", lambda row: number(row.slowdown_p99))
    line(f"{size}: slowdown p99.9", lambda row: number(row.slowdown_p999))
    if any(row.queries for row in rows):
        table.add_section()
        line("queries: finished", lambda row: f"{row.queries:,}")
        line("queries: completion p50", lambda row: time(row.query_p50_us))
        line("queries: completion p99", lambda row: time(row.query_p99_us))
        line("queries: with a timeout", lambda row: share(row.query_timeout_share))
    table.add_section()
    line("long flows", lambda row: f"{row.endless:,}")
    line(
        "long-flow goodput, sum",
        lambda row: NONE if row.long_goodput_gbps is None else f"{number(row.long_goodput_gbps)} Gb/s",
    )
    line("ECN-marked packets of messages", lambda row: share(row.marked_share))
    line("retransmission timeouts", lambda row: f"{row.timeouts:,}")
    line("drops", lambda row: f"{row.drops:,}")
    line("PFC pause time", lambda row: time(row.paused_us))
    line("CNPs", lambda row: f"{row.cnps:,}")
    title = Text(f"{first.name}: {spec.describe(first.spec)}", style="bold")
    return Group(title, table, Text(caption(compared)))


def caption(compared: Comparison) -> str:
    """What must be known to read the numbers."""
    parts = [f"slowdown: completion time over its ideal, {compared.results[0].slowdown_ideal}"]
    runs = {row.runs for row in compared.rows}
    if runs != {1}:
        parts.append(f"over {'/'.join(str(count) for count in sorted(runs))} seeds per scheme")
    if compared.cancelled:
        parts.append(cancelled_note(compared))
    return "\n".join(parts)


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


def plain(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> Table:
    """A table of texts; columns named in `right` are aligned there."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def number(value: float | None) -> str:
    """Three significant digits, thousands separated."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def time(us: float | None) -> str:
    """A time given in microseconds, in the unit that reads best."""
    if us is None:
        return NONE
    if us == 0:
        return "0"
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if us >= scale:
            return f"{number(us / scale)} {unit}"
    return f"{number(us)} us"


def share(value: float | None) -> str:
    """A share in percent."""
    return NONE if value is None else f"{value * 100:.2f} %"


def manual_title(manual: str) -> str:
    """What a scheme is, from the first line of its manual: `# id: what it is`."""
    line = manual.strip().partition("\n")[0].lstrip("# ")
    return line.partition(": ")[2] or line

"""Tables for the terminal: texts in columns, and numbers as text, each in a unit that fits it.

```python
from rich import print

from fanin import table

rows = [["hpcc", table.time(31.4), table.share(0.0123)], ["dcqcn", table.time(1734.0), table.share(None)]]
print(table.plain(["scheme", "FCT p99", "marked"], rows, right=["FCT p99", "marked"]))
```
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, cast

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from fanin import spec, traffic_table
from fanin.ideals import OF_NS3
from fanin.measures import by_scheme, least_count, unfinished_gbps
from fanin.over_seeds import Estimate
from fanin.over_time import message_number
from fanin.quantities import OF, QUANTITIES, quantity
from fanin.shown import NONE, count, gbps, number, share, time
from fanin.shown import SHOWN as SHOWN
from fanin.shown import estimated as estimated
from fanin.side_by_side import MOST_COLUMNS, MOST_ROWS, SECTIONS, main_numbers, only_one
from fanin.side_by_side import Line as Line
from fanin.side_by_side import SideBySide as SideBySide
from fanin.side_by_side import best as best
from fanin.side_by_side import lines as lines
from fanin.side_by_side import with_interval as with_interval
from fanin.sweeps.columns import label_of
from fanin.sweeps.means import OfSweep, Point, points, value_text
from fanin.traffic_table import caption_of_traffics as caption_of_traffics
from fanin.traffic_table import lines_of_traffics as lines_of_traffics

if TYPE_CHECKING:
    from fanin.rows import Compared
    from fanin.run_tables import RunTables

__all__ = ["NONE", "count", "gbps", "number", "plain", "share", "time"]

UNFINISHED = QUANTITIES["unfinished"].row
DROPS = QUANTITIES["drops"].row


def comparison(compared: Compared, folder: str | None = None) -> RenderableType:
    """One column per scheme, one line per number; below them one column per traffic, where one scheme ran several.
    Schemes and traffics that are too many for that are rows of their main numbers, the first or the slowest of them;
    `folder` is where the others are."""
    first = compared.results[0]
    title = Text(f"{first.name}: {spec.describe(first.spec)}", style="bold")
    if len(compared.rows) > MOST_COLUMNS:
        head, rows = main_numbers(compared)
        notes = caption(compared)
        if len(rows) > MOST_ROWS:
            notes += f"\nand {len(rows) - MOST_ROWS} schemes more: {folder or 'DIR'}/compare.json"
        return Group(title, plain(head, rows[:MOST_ROWS], head[1:]), Text(notes))
    parts: list[RenderableType] = [title, SideBySide.of(compared), Text(caption(compared))]
    if len(compared.rows) == 1 and len(first.summary()["traffics"]) > 1:
        rest = None if folder is None else f"fanin show {shlex.quote(folder)} --traffics"
        parts += traffic_table.parts(compared.results, rest)
    return Group(*parts)


def caption(compared: Compared) -> str:
    """Notes on how to read the numbers."""
    parts = [
        f"FCT: flow completion time, of finished messages{fct_end(compared.results)}; slowdown: FCT over its ideal,"
    ]
    parts[0] += f" {ideal_of(compared.results)}"
    runs = {row.runs for row in compared.rows}
    if runs != {1}:
        count = "/".join(str(count) for count in sorted(runs))
        parts.append(f"mean over {count} seeds per scheme, with half of its 95 % interval")
        if len(compared.rows) > 1:
            parts.append("bold: the best value, if its interval does not overlap with any other")
    elif len(compared.rows) > 1:
        parts.append("one seed: there is no interval, so no value is marked as the best; add --seeds 5")
    if not only_one(compared):
        parts += too_few(compared)
    parts += unfinished(compared)
    parts += dropped(compared)
    if compared.cancelled:
        parts.append(cancelled_note(compared))
    return "\n".join(parts)


def fct_end(results: Sequence[RunTables]) -> str:
    """Where FCTs end, if that is not with the last byte at the receiver, to stand behind the word "messages"."""
    return ", up to the last ACK at the sender" if any(result.fct_ends_at_sender for result in results) else ""


def ideal_of(results: Sequence[RunTables]) -> str:
    """The ideal of the slowdowns of these runs; where they have several, that of each scheme."""
    told = {name: runs[0].slowdown_ideal for name, runs in by_scheme(results).items()}
    if set(told.values()) <= {"hpcc", OF_NS3} or len(set(told.values())) == 1:
        return max(told.values(), key=len)
    return ", ".join(f"{ideal} ({name})" for name, ideal in told.items())


MOST_UNFINISHED = 5
"""Unfinished messages of which the rates are told."""


def unfinished(compared: Compared) -> list[str]:
    """The goodput of the unfinished messages of a single run since their posts, of the slowest few."""
    if len(compared.results) > 1 or not compared.rows[0].unfinished:
        return []
    table = unfinished_gbps(compared.results[0]).sort("gbps", "flow_id")
    if table.is_empty():
        return []
    table = table.with_columns(message_number(table), pl.col("traffic").cast(pl.String))
    told = [
        f"{traffic}:{at} {gbps(rate)}"
        for traffic, at, rate in table.head(MOST_UNFINISHED).select("traffic", "number", "gbps").iter_rows()
    ]
    which = f", the slowest {len(told)} of {table.height:,}" if table.height > len(told) else ""
    return [f"goodput of unfinished messages since each was posted{which}: {', '.join(told)}"]


CAUSES = {
    "buffer": "no buffer",
    "lossless": "no buffer in a lossless class",
    "error": "link errors",
    "link_down": "a failed link",
    "no_route": "no route",
    "program": "the scheme's switch program",
    "blocked": "blocked by a failure",
    "wrong_host": "wrong host",
    "watchdog": "the storm watchdog",
    "receiver": "a slow receiver's buffer",
}
"""The causes of drops in words, by their names in `summary.json`, without credits, which are no loss."""


def dropped(compared: Compared) -> list[str]:
    """The drops by cause, of each scheme that has some, over all its seeds."""
    told = []
    for scheme, results in by_scheme(compared.results).items():
        drops = [result.summary()["network"]["drops"] for result in results]
        sums = {words: sum(cast("dict[str, int]", one).get(name, 0) for one in drops) for name, words in CAUSES.items()}
        said = ", ".join(f"{words} {times:,}" for words, times in sums.items() if times)
        if said:
            told.append(f"{scheme}: {said}" if len(compared.rows) > 1 else said)
    seeds = ", all seeds" if len(compared.results) > len(compared.rows) else ""
    return [f"drops by cause{seeds}: {'; '.join(told)}"] if told else []


LEVELS = {"p50": 500, "p99": 990, "p999": 999}


def too_few(compared: Compared) -> list[str]:
    """The reasons why percentiles are missing in runs that have messages."""
    found = []
    for what, of, prefix, end in (("reported", "messages", "fct", "_us"), ("queries", "queries", "query", "_us")):
        missing = [
            level
            for level in LEVELS
            if f"{prefix}_{level}{end}" in SECTIONS[1] + SECTIONS[2]
            and any(getattr(row, what) and getattr(row, f"{prefix}_{level}{end}") is None for row in compared.rows)
        ]
        if missing:
            fewest = min(int(run[what] or 0) for run in compared.numbers)
            found.append(_too_few(of, fewest, missing, runs=len(compared.results)))
    return found


def html_of(compared: Compared) -> str:
    """The comparison as a table for a notebook."""
    cells = [[line.name, *line.cells] for section in lines(compared) for line in section]
    bold = [line.best for section in lines(compared) for line in section]
    return html_table(["", *(row.scheme for row in compared.rows)], cells, caption(compared).splitlines(), bold)


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = (), bold: Sequence[int | None] = ()
) -> str:
    """A table for a notebook, the first column its names; `bold` is the place of a value among the others of each
    row."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    made = []
    for place, (name, *cells) in enumerate(rows):
        best = bold[place] if bold else None
        texts = [f"<b>{escape(cell)}</b>" if at == best else escape(cell) for at, cell in enumerate(cells)]
        made.append(f"<tr><th>{escape(name)}</th>{''.join(f'<td>{text}</td>' for text in texts)}</tr>")
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(made)}</tbody></table>{below}"


def cancelled_note(compared: Compared) -> str:
    """The simulated time at which runs were cancelled."""
    stopped = [stopped_note(result) for result in compared.results if result.cancelled]
    return ", ".join(stopped) or "cancelled before every scheme had run"


def stopped_note(result: RunTables) -> str:
    """The simulated time at which a run was cancelled, or at which a hook of a scheme failed, as the hook's error has
    it; the run ends a little later."""
    if result.failure is None:
        return f"{result.label} cancelled at {time(result.simulated_ms * 1e3)}"
    told = re.search(r" at ([\d.]+) (ps|ns|us|ms|s)\b", result.failure)
    at_us = float(told[1]) * spec.PS_OF_TIME[told[2]] / 1e6 if told else result.simulated_ms * 1e3
    return f"{result.label} failed at {time(at_us)}"


FEW_ROWS = 4
"""Errors of a run that a line shows in full."""


def swept(sweep: OfSweep) -> RenderableType:
    """One line per point of the grid: the status of its runs, and the main numbers over its seeds."""
    head, rows, numbers = grid_table(sweep)
    notes = grid_notes(sweep)
    if len(rows) > MOST_ROWS:
        notes.append(f"and {len(rows) - MOST_ROWS} points more: {sweep.folder}/sweep.csv")
    table = Blocks(head, rows[:MOST_ROWS], len(head) - len(numbers))
    return Group(Text(sweep.name, style="bold"), table, *map(Text, notes))


def html_of_sweep(sweep: OfSweep) -> str:
    """The same for a notebook."""
    head, rows, _ = grid_table(sweep)
    return html_table(head, rows[:MOST_ROWS], grid_notes(sweep))


GRID = ("fct_p50_us", "fct_p99_us", "slowdown_p99")
"""The main numbers of a sweep."""

IF_VARYING = ("long_goodput_gbps", "query_p99_us", "job_us", "marked_share", "timeouts", "pauses", "paused_us")
"""The numbers of whole runs that are shown where they vary from point to point."""

OF_PARTS = (
    "goodput_gbps",
    "slowdown_p99",
    "queue_p50_bytes",
    "queue_p99_bytes",
    "queue_max_bytes",
)
"""Those of traffics, classes of sizes and tiers, likewise."""

MOST_SHOWN = 12
"""Numbers that vary and that a terminal shows; files have all."""

MORE_OF_GRID = {
    "unfinished": "unfinished",
    "reordered_packets": "reordered",
    "packets_resent": "resent",
    "drops": "drops",
}
"""Its numbers that are shown where a run has any, and their headings: short, since a grid has many columns."""


def grid_table(sweep: OfSweep, shown: Sequence[str] = GRID) -> tuple[list[str], list[list[str]], list[str]]:
    """The head and the rows of a table of the points of a sweep, and which of its columns are numbers."""
    found = points(sweep)
    columns = list(dict.fromkeys(column for point in found for column in point.settings))
    more = [name for name in MORE_OF_GRID if any(run.numbers.get(name) for run in sweep.runs)]
    names = list(dict.fromkeys([*shown, *more, *varying_numbers(found)[:MOST_SHOWN]]))
    several = any(point.seeds > 1 for point in found)
    status = [", ".join(dict.fromkeys(run.status for run in point.runs)) for point in found]
    told = any(text != "done" for text in status)
    rows = [
        [
            *(value_text(column, point.settings.get(column)) for column in columns),
            *([f"{point.done} of {point.seeds}" if point.done < point.seeds else f"{point.seeds}"] if several else []),
            *([status[at]] if told else []),
            *(estimated(point.numbers.get(name, Estimate(None, None)), SHOWN[quantity(name).unit]) for name in names),
        ]
        for at, point in enumerate(found)
    ]
    headings = [MORE_OF_GRID.get(name, quantity(name).row) for name in names]
    grid = [_shortest(column, columns) for column in columns]
    return [*grid, *(["seeds"] if several else []), *(["status"] if told else []), *headings], rows, headings


def varying_numbers(found: Sequence[Point]) -> list[str]:
    """The numbers, besides the main ones, that differ from point to point: by a twentieth, or by more than their
    intervals."""
    names = list(dict.fromkeys(name for point in found for name in point.numbers))
    of_parts = [name for name in names if OF in name and name.partition(OF)[0] in OF_PARTS]
    wanted = [*(name for name in IF_VARYING if name in names), *of_parts]
    # Several names may be of one number: a lone traffic's are the run's.
    shown = {_means(found, name): name for name in GRID}
    for name in wanted:
        if _varies([point.numbers[name] for point in found if name in point.numbers]):
            shown.setdefault(_means(found, name), name)
    return [name for name in shown.values() if name not in GRID]


def _means(found: Sequence[Point], name: str) -> tuple[float | None, ...]:
    return tuple(point.numbers[name].mean if name in point.numbers else None for point in found)


def _varies(values: Sequence[Estimate]) -> bool:
    known = [one for one in values if one.mean is not None]
    if len(known) < 2:
        return False
    low, high = min(known, key=lambda one: one.mean or 0.0), max(known, key=lambda one: one.mean or 0.0)
    least, most = low.mean or 0.0, high.mean or 0.0
    return low.apart(high) or most - least > 0.05 * max(abs(least), abs(most))


def grid_notes(sweep: OfSweep, shown: Sequence[str] = GRID) -> list[str]:
    """Notes on how to read the numbers of a sweep."""
    found = points(sweep)
    notes = ["FCT: flow completion time, of finished messages; slowdown: FCT over its ideal"]
    if any(point.seeds > 1 for point in found):
        notes.append("mean over the seeds, with half of its 95 % interval")
    left = len(varying_numbers(found)) - MOST_SHOWN
    if left > 0:
        notes.append(f"{left} more numbers vary: {sweep.folder}/sweep.csv")
    fewest = min((int(run.numbers["reported"] or 0) for run in sweep.runs if "reported" in run.numbers), default=0)
    missing = [
        level
        for level in LEVELS
        if any(
            name.startswith(("fct_", "slowdown_")) and level in name.split("_") and _lacks(point.numbers.get(name))
            for name in shown
            for point in found
        )
    ]
    failed = sweep.failed
    if failed:
        errors = failed[0].errors
        more = f" and {len(errors) - FEW_ROWS:,} more" if len(errors) > FEW_ROWS else ""
        first = f"{label_of(failed[0].settings)}: {'; '.join(errors[:FEW_ROWS])}{more}"
        notes.append(f"{len(failed)} of {len(sweep.runs)} runs failed and have no numbers; the first is {first}")
    if any(point.done for point in found) and not any(run.numbers.get("unfinished") for run in sweep.runs):
        notes.append(f"no {'other ' if failed else ''}run left a message unfinished")
    return [*notes, *([_too_few("messages", fewest, missing, runs=len(sweep.runs))] if missing else [])]


def _lacks(found: Estimate | None) -> bool:
    return found is not None and found.mean is None


def _too_few(of: str, fewest: int, levels: Sequence[str], *, runs: int) -> str:
    needs = ", ".join(
        f"{'p99.9' if level == 'p999' else level} needs {least_count(LEVELS[level]):,}" for level in levels
    )
    where = " in the run with the fewest" if runs > 1 else ""
    return f"{NONE}: too few {of}: n={fewest:,}{where}, {needs}"


def _shortest(key: str, others: Sequence[str]) -> str:
    """The last words of a key, as many as tell it from the others; all of them where it ends another key."""
    words = key.split(".")
    ends = [".".join(words[-count:]) for count in range(1, len(words) + 1)]
    return next((end for end in ends if sum(other == end or other.endswith(f".{end}") for other in others) == 1), key)


def plain(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> Table:
    """A table of texts; columns named in `right` are aligned there."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(
            header, justify="right" if header in right else "left", overflow="fold", min_width=_longest_word(header)
        )
    for row in rows:
        table.add_row(*row)
    return table


def _longest_word(header: str) -> int:
    """Headers break between words alone."""
    return max(map(cell_len, header.split()), default=0)


@dataclass(frozen=True)
class Blocks:
    """A table with as many columns beside each other as the console has room for, and the others below, each block
    behind the first columns, which are words. Headers break between words alone, and cells never."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [
            max(_longest_word(title), *(cell_len(row[at]) for row in self.rows), 1)
            for at, title in enumerate(self.head)
        ]
        widths = [GAP + (min(width, LONGEST_WORDS) if at < self.words else width) for at, width in enumerate(widths)]
        at = self.words
        while at < len(self.head) or at == self.words:
            until = at + 1
            room = options.max_width + GAP - EDGES - sum(widths[: self.words])
            while until < len(self.head) and sum(widths[at : until + 1]) <= room:
                until += 1
            shown = [*range(self.words), *range(at, min(until, len(self.head)))]
            table = Table(box=SIMPLE_HEAD, pad_edge=False)
            for one in shown:
                justify: JustifyMethod = "left" if one < self.words else "right"
                table.add_column(self.head[one], justify=justify, width=widths[one] - GAP, overflow="fold")
            for row in self.rows:
                table.add_row(*(row[n] if n < self.words else row[n].replace(" ", "\u00a0") for n in shown))
            yield table
            at = until


LONGEST_WORDS = 32
"""The most letters of a column of words: a value of a key may be a whole table."""

GAP, EDGES = 3, 2
"""The letters between columns, two paddings and a divider, and those at both edges of a table."""


def manual_title(manual: str) -> str:
    """The title of a scheme, from the first line of its manual: `# id: title`."""
    line = manual.strip().partition("\n")[0].lstrip("# ")
    return line.partition(": ")[2] or line

"""Tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from fanin import spec
from fanin.by_traffic import DROPPED, NUMBERS, Traffic, busiest_port, by_traffic
from fanin.claims import PAPERS, VERDICTS, Claim, totals
from fanin.claims import Row as Part
from fanin.ideals import OF_NS3
from fanin.measures import by_scheme, least_count, sizes_text
from fanin.over_seeds import Estimate
from fanin.quantities import QUANTITIES, Unit

if TYPE_CHECKING:
    from fanin.comparison import Comparison, Row
    from fanin.papers.experiment import Study
    from fanin.result import Result
    from fanin.sweeps.sweeping import Sweep

NONE = "-"
"""Shown instead of a missing number."""


UNFINISHED = QUANTITIES["unfinished"].row
DROPS = QUANTITIES["drops"].row


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
        "endless",
        "long_goodput_gbps",
        "marked_share",
        "reordered_packets",
        "packets_resent",
        "timeouts",
        "given_up",
        "drops",
        "paused_us",
        "credit_wait_us",
        "cnps",
    ),
)
RARE = ("reordered_packets", "packets_resent", "given_up", "credit_wait_us")
"""Numbers without a line where they are zero under every scheme."""


def lines(compared: Comparison) -> list[list[Line]]:
    """The numbers of a comparison, in sections; the terminal and the report show the same."""
    rows = compared.rows
    size = sizes_text(compared.results[0]) or "all sizes"
    sections = []
    for names in SECTIONS:
        if names[0] == "queries" and not any(row.queries for row in rows):
            continue
        of = f"{size}: " if names[0] == "reported" else ""
        sections.append(
            [
                Line(
                    of + QUANTITIES[name].row,
                    [getattr(row, name) for row in rows],
                    [with_interval(row, name, SHOWN[QUANTITIES[name].unit]) for row in rows],
                    best(rows, name),
                )
                for name in names
                if name not in RARE or any(getattr(row, name) for row in rows)
            ]
        )
    return sections


def lines_of_traffics(traffics: Sequence[Traffic]) -> list[list[Line]]:
    """The numbers of the traffics of a run, in sections, and what each one's scheme did."""

    def line(name: str, cells: Sequence[str]) -> Line:
        return Line(name, [None] * len(cells), list(cells), None)

    def number(name: str) -> Line:
        quantity = QUANTITIES[name]
        return line(quantity.row, [estimated(one.numbers[name], SHOWN[quantity.unit]) for one in traffics])

    place = {one.name: at for at, one in enumerate(traffics)}
    counted_at = [min([at, *(place[other] for other in one.counted_with)]) for at, one in enumerate(traffics)]

    def shared(found: Sequence[Estimate | None]) -> list[str]:
        of_each = zip(counted_at, found, strict=True)
        return [
            f"with {traffics[first].name}" if first != at else "" if of is None else estimated(of, count)
            for at, (first, of) in enumerate(of_each)
        ]

    actions = dict.fromkeys(action for one in traffics for action in one.actions)
    return [
        [
            line("scheme", [one.scheme for one in traffics]),
            line("transport", [one.transport for one in traffics]),
            line("class", [one.class_name for one in traffics]),
        ],
        *([number(name) for name in names] for names in NUMBERS),
        [
            line(QUANTITIES[DROPPED].row, shared([one.numbers[DROPPED] for one in traffics])),
            *(
                line(action.replace("_", " "), shared([one.actions.get(action) for one in traffics]))
                for action in actions
            ),
        ],
    ]


def best(rows: Sequence[Row], name: str) -> int | None:
    """Which row has the best value of a number: its 95 % interval does not overlap with any other. None with one seed,
    which has no interval. Rows with unfinished messages are excluded for numbers over finished messages."""
    quantity = QUANTITIES[name]
    known = {
        place: row.estimate(name)
        for place, row in enumerate(rows)
        if getattr(row, name) is not None and not (quantity.of_finished and row.unfinished)
    }
    if quantity.better is None or len(known) < 2:
        return None
    sign = 1 if quantity.better == "low" else -1
    first = min(known, key=lambda place: sign * float(getattr(rows[place], name)))
    return first if all(known[first].apart(other) for place, other in known.items() if place != first) else None


@dataclass(frozen=True)
class SideBySide:
    """Lines as tables below each other, each with as many of their columns as the console has room for."""

    names: list[str]
    """Those of the columns: of schemes, or of traffics."""
    sections: list[list[Line]]

    @staticmethod
    def of(compared: Comparison) -> SideBySide:
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
                    cells = [Text(cell, "bold" if line.best == place else "") for place, cell in enumerate(line.cells)]
                    table.add_row(line.name, *cells[at:until])
                table.add_section()
            yield table
            at = until


def comparison(compared: Comparison) -> RenderableType:
    """One column per scheme, one line per number; below them one column per traffic, where one scheme ran several."""
    first = compared.results[0]
    title = Text(f"{first.name}: {spec.describe(first.spec)}", style="bold")
    parts: list[RenderableType] = [title, SideBySide.of(compared), Text(caption(compared))]
    if len(compared.rows) == 1 and len(first.summary()["traffics"]) > 1:
        traffics = by_traffic(compared.results)
        names = [one.name for one in traffics]
        parts += [SideBySide(names, lines_of_traffics(traffics)), Text(caption_of_traffics(compared.results))]
    return Group(*parts)


def caption_of_traffics(results: Sequence[Result]) -> str:
    """Notes on how to read the numbers of traffics."""
    parts = ["marks, retransmissions, timeouts, drops and actions of schemes: of all messages over the whole run"]
    busiest = busiest_port(results) if len(by_scheme(results)) == 1 else None
    if busiest is not None:
        parts.append(f"busiest port: {busiest[0]}, {share(busiest[1])} of its rate")
    if any(traffic["counted_with"] for traffic in results[0].summary()["traffics"]):
        parts.append(
            "with NAME: the same scheme and parameters as NAME, so drops and actions of both are counted there"
        )
    return "\n".join(parts)


def caption(compared: Comparison) -> str:
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
    parts += too_few(compared)
    if compared.cancelled:
        parts.append(cancelled_note(compared))
    return "\n".join(parts)


def fct_end(results: Sequence[Result]) -> str:
    """Where FCTs end, if that is not with the last byte at the receiver, to stand behind the word "messages"."""
    return ", up to the last ACK at the sender" if any(result.fct_ends_at_sender for result in results) else ""


def ideal_of(results: Sequence[Result]) -> str:
    """The ideal of the slowdowns of these runs; where they have several, that of each scheme."""
    told = {name: runs[0].slowdown_ideal for name, runs in by_scheme(results).items()}
    if set(told.values()) <= {"hpcc", OF_NS3} or len(set(told.values())) == 1:
        return max(told.values(), key=len)
    return ", ".join(f"{ideal} ({name})" for name, ideal in told.items())


LEVELS = {"p50": 500, "p99": 990, "p999": 999}


def too_few(compared: Comparison) -> list[str]:
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


def with_interval(row: Row, field: str, show: Callable[[float | None], str]) -> str:
    """A number of a row, and half of its 95 % interval in the same unit where there are several runs."""
    return estimated(row.estimate(field), show)


def estimated(found: Estimate, show: Callable[[float | None], str]) -> str:
    """A mean, and half of its 95 % interval in the same unit where it has one."""
    shown = show(found.mean)
    if found.mean is None or not found.half:
        return shown
    width = found.half
    value, _, unit = shown.partition(" ")
    if show is time:
        width /= US_OF[unit]
    elif show is share:
        width *= 100
    return f"{value} \u00b1 {number(width)} {unit}".rstrip()


def html_of(compared: Comparison) -> str:
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
    for number, (name, *cells) in enumerate(rows):
        best = bold[number] if bold else None
        texts = [f"<b>{escape(cell)}</b>" if at == best else escape(cell) for at, cell in enumerate(cells)]
        made.append(f"<tr><th>{escape(name)}</th>{''.join(f'<td>{text}</td>' for text in texts)}</tr>")
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(made)}</tbody></table>{below}"


def cancelled_note(compared: Comparison) -> str:
    """The simulated time at which runs were cancelled."""
    stopped = [stopped_note(result) for result in compared.results if result.cancelled]
    return ", ".join(stopped) or "cancelled before every scheme had run"


def stopped_note(result: Result) -> str:
    """The simulated time at which a run was cancelled, or at which a hook of a scheme failed, as the hook's error has
    it; the run ends a little later."""
    if result.failure is None:
        return f"{result.label} cancelled at {time(result.simulated_ms * 1e3)}"
    told = re.search(r" at ([\d.]+) (ps|ns|us|ms|s)\b", result.failure)
    at_us = float(told[1]) * spec.PS_OF_TIME[told[2]] / 1e6 if told else result.simulated_ms * 1e3
    return f"{result.label} failed at {time(at_us)}"


def claims(studied: Study) -> RenderableType:
    """A line per claim: the paper's number beside ours."""
    rows = [
        [row.claim, row.what, row.paper, row.ours, row.accept, row.verdict if row.judged else f"({row.verdict})"]
        for row in studied.rows()
    ]
    title = Text(f"{studied.experiment.id}: {studied.experiment.title}", style="bold")
    return Group(title, plain(["claim", "what", "paper", "ours", "counts as holding", "verdict"], rows))


def all_claims(of: Sequence[Claim]) -> RenderableType:
    """A line per claim, and totals by paper."""
    rows = [[claim.id, claim.where, claim.number or claim.says, ours_of(claim), claim.verdict] for claim in of]
    counts = [[paper, *map(str, found.values())] for paper, found in totals(of).items()]
    return Group(
        plain(["claim", "where", "the paper", "ours", "verdict"], rows),
        plain(["paper", *VERDICTS], counts, right=VERDICTS),
    )


FEW_ROWS = 4
"""Rows of a claim that its line shows in full."""


def ours_of(claim: Claim) -> str:
    """Our number in short; of many rows, how many hold, and two of those that do not."""
    judged = [row for row in claim.rows if row.judged]
    if claim.ours or not judged:
        return claim.ours or NONE
    if len(judged) <= FEW_ROWS:
        return "; ".join(of_row(row) for row in judged)
    not_held = [row for row in judged if row.verdict != "holds"]
    parts = [f"{len(judged) - len(not_held)} of {len(judged)} rows hold"]
    parts += [f"{row.verdict}: {of_row(row)}" for row in not_held[:2]]
    return "; ".join(parts)


def of_row(row: Part) -> str:
    """What was measured, and the number."""
    return f"{row.what}{f' ({row.setting})' if row.setting else ''}: {row.ours}"


def claim(of: Claim) -> RenderableType:
    """All about one claim."""
    facts = [
        ("where", f"{PAPERS[of.paper]}, {of.where} ({of.kind})"),
        ("it says", of.says),
        ("number", of.number),
        ("holds if", of.accept),
        ("ours", of.ours),
        ("verdict", of.verdict),
        ("cause", f"{of.cause} ({'proven' if of.proven else 'asserted'})" if of.cause else ""),
        ("shown by", "\n".join(of.commands)),
        ("version", of.version),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, text in facts:
        if text:
            grid.add_row(name, Text(text))
    rows = [
        [row.setting, row.what, row.paper, row.ours, row.accept, row.verdict if row.judged else f"({row.verdict})"]
        for row in of.rows
    ]
    measured = plain(["setting", "what", "paper", "ours", "counts as holding", "verdict"], rows)
    return Group(Text(of.id, style="bold"), grid, *([measured] if rows else []))


MOST_ROWS = 60
"""Points of a sweep that a terminal shows; its files have all runs."""


def swept(sweep: Sweep) -> RenderableType:
    """One line per point of the grid: the status of its runs, and the main numbers over its seeds."""
    head, rows, numbers = grid_table(sweep)
    notes = grid_notes(sweep)
    if len(rows) > MOST_ROWS:
        notes.append(f"and {len(rows) - MOST_ROWS} points more: {sweep.folder}/sweep.csv")
    shown = [[cell.replace(" ", "\u00a0") for cell in row] for row in rows[:MOST_ROWS]]
    return Group(Text(sweep.name, style="bold"), plain(head, shown, numbers), *map(Text, notes))


def html_of_sweep(sweep: Sweep) -> str:
    """The same for a notebook."""
    head, rows, _ = grid_table(sweep)
    return html_table(head, rows[:MOST_ROWS], grid_notes(sweep))


GRID = ("fct_p50_us", "fct_p99_us", "slowdown_p99")
"""The main numbers of a sweep."""

MORE_OF_GRID = {
    "unfinished": "unfinished",
    "reordered_packets": "reordered",
    "packets_resent": "resent",
    "drops": "drops",
}
"""Its numbers that are shown where a run has any, and their headings: short, since a grid has many columns."""


def grid_table(sweep: Sweep, shown: Sequence[str] = GRID) -> tuple[list[str], list[list[str]], list[str]]:
    """The head and the rows of a table of the points of a sweep, and which of its columns are numbers."""
    from fanin.sweeps.means import points, value_text

    found = points(sweep)
    columns = list(dict.fromkeys(column for point in found for column in point.settings))
    more = [name for name in MORE_OF_GRID if any(run.numbers.get(name) for run in sweep.runs)]
    names = list(dict.fromkeys([*shown, *more]))
    several = any(point.seeds > 1 for point in found)
    status = [", ".join(dict.fromkeys(run.status for run in point.runs)) for point in found]
    told = any(text != "done" for text in status)
    rows = [
        [
            *(value_text(column, point.settings.get(column)) for column in columns),
            *([f"{point.done} of {point.seeds}" if point.done < point.seeds else f"{point.seeds}"] if several else []),
            *([status[at]] if told else []),
            *(estimated(point.numbers.get(name, Estimate(None, None)), SHOWN[QUANTITIES[name].unit]) for name in names),
        ]
        for at, point in enumerate(found)
    ]
    headings = [MORE_OF_GRID.get(name, QUANTITIES[name].row) for name in names]
    grid = [_shortest(column, columns) for column in columns]
    return [*grid, *(["seeds"] if several else []), *(["status"] if told else []), *headings], rows, headings


def grid_notes(sweep: Sweep, shown: Sequence[str] = GRID) -> list[str]:
    """Notes on how to read the numbers of a sweep."""
    from fanin.sweeps.grid import label_of
    from fanin.sweeps.means import points

    found = points(sweep)
    notes = ["FCT: flow completion time, of finished messages; slowdown: FCT over its ideal"]
    if any(point.seeds > 1 for point in found):
        notes.append("mean over the seeds, with half of its 95 % interval")
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
        first = f"{label_of(failed[0].settings)}: {'; '.join(failed[0].errors)}"
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
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def count(value: float | None) -> str:
    """A count; a small mean that is no whole number has one digit more."""
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
    """A time given in microseconds, in a suitable unit."""
    if us is None:
        return NONE
    if us == 0:
        return "0"
    unit = next((unit for unit, scale in US_OF.items() if us >= scale), "us")
    return f"{number(us / US_OF[unit])} {unit}"


def share(value: float | None) -> str:
    """A share in percent."""
    return NONE if value is None else f"{value * 100:.2f} %"


SHOWN: dict[Unit, Callable[[float | None], str]] = {
    "us": time,
    "Gb/s": gbps,
    "share": share,
    "count": count,
    "ratio": number,
}
"""The formatting of numbers, by their unit."""


def manual_title(manual: str) -> str:
    """The title of a scheme, from the first line of its manual: `# id: title`."""
    line = manual.strip().partition("\n")[0].lstrip("# ")
    return line.partition(": ")[2] or line

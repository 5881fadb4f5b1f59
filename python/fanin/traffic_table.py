"""The table of the traffics of a run: all of them beside each other, or of many the slowest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fanin.by_traffic import DROPPED, LARGEST, NUMBERS, Traffic, busiest_port, by_traffic, slowest
from fanin.measures import by_scheme
from fanin.over_seeds import Estimate
from fanin.quantities import QUANTITIES
from fanin.shown import SHOWN, estimated, share
from fanin.side_by_side import MOST_COLUMNS, Line, SideBySide, told

if TYPE_CHECKING:
    from fanin.run_tables import RunTables

SLOWEST = 10
"""Of more traffics than stand beside each other, so many are shown."""

OF_SLOWEST = {
    "started": "messages",
    "unfinished": "unfinished",
    "unfinished_goodput_gbps": "their goodput",
    "fct_p50_us": "FCT p50",
    "fct_max_us": "slowest FCT",
    "slowdown_max": "largest slowdown",
    "goodput_gbps": "goodput",
}
"""The numbers of each, and their headings: short, so that they have room beside each other."""


def parts(results: Sequence[RunTables], rest: str | None) -> list[RenderableType]:
    """The traffics of runs that differ in their seeds alone, and notes on them. `rest` is how to see all of them."""
    traffics = by_traffic(results)
    if len(traffics) <= MOST_COLUMNS:
        sections = [[line for line in section if told(line.cells)] for section in lines_of_traffics(traffics)]
        names = [one.name for one in traffics]
        return [SideBySide(names, [section for section in sections if section]), Text(caption_of_traffics(results))]
    one_each = all(one.numbers["started"].mean == 1 for one in traffics)
    shown = {name: text for name, text in OF_SLOWEST.items() if not (one_each and name in ("started", "fct_p50_us"))}
    head, rows = rows_of(slowest(traffics, SLOWEST), shown)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        table.add_column(name, justify="left" if name in WORDS else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    title = f"The slowest {len(rows)} of {len(traffics):,} traffics, those with unfinished messages first:"
    return [Text(title), table, Text(f"all of them: {rest or 'fanin.by_traffic.by_traffic(results)'}")]


def lines_of_traffics(traffics: Sequence[Traffic]) -> list[list[Line]]:
    """The numbers of the traffics of a run, in sections, and what each one's scheme did."""

    def line(name: str, cells: Sequence[str]) -> Line:
        return Line(name, [None] * len(cells), list(cells), None)

    def number(name: str) -> Line:
        quantity = QUANTITIES[name]
        return line(quantity.row, [estimated(one.numbers[name], SHOWN[quantity.unit]) for one in traffics])

    # What several count together stands at the first of them that is here.
    at: dict[str, str] = {}
    for one in traffics:
        at.setdefault(one.counted_at, one.name)

    def shared(found: Sequence[Estimate | None]) -> list[str]:
        return [
            f"with {first}" if first != one.name else "" if of is None else estimated(of, SHOWN["count"])
            for one, first, of in zip(traffics, (at[one.counted_at] for one in traffics), found, strict=True)
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


def caption_of_traffics(results: Sequence[RunTables]) -> str:
    """Notes on how to read the numbers of traffics."""
    notes = ["marks, retransmissions, timeouts, drops and actions of schemes: of all messages over the whole run"]
    busiest = busiest_port(results) if len(by_scheme(results)) == 1 else None
    if busiest is not None:
        notes.append(f"busiest port: {busiest[0]}, {share(busiest[1])} of its rate")
    if any(traffic["counted_with"] for traffic in results[0].summary()["traffics"]):
        notes.append(
            "with NAME: the same scheme and parameters as NAME, so drops and actions of both are counted there"
        )
    return "\n".join(notes)


WORDS = ("traffic", "scheme")
"""The columns that are no numbers."""


def rows_of(traffics: Sequence[Traffic], names: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table with a row per traffic. `names` has the headings of its numbers; those that no
    traffic has are left out, and so is the scheme where all have the same."""
    columns = {
        text: [estimated(one.numbers[name], SHOWN[QUANTITIES[name].unit]) for one in traffics]
        for name, text in names.items()
    }
    schemes = [one.scheme for one in traffics]
    known = {
        "traffic": [one.name for one in traffics],
        **({"scheme": schemes} if len(set(schemes)) > 1 else {}),
        **{text: cells for text, cells in columns.items() if told(cells)},
    }
    return list(known), [list(row) for row in zip(*known.values(), strict=True)]


def every_traffic(results: Sequence[RunTables]) -> Iterator[str]:
    """Every traffic of every scheme as lines of text, one each, below a line with the names of the columns. They are as
    wide as their widest cells, and made by hand: there may be ten thousands."""
    groups = by_scheme(results)
    names = {name: QUANTITIES[name].row for name in (*(name for section in NUMBERS for name in section), *LARGEST)}
    for scheme, runs in groups.items():
        if len(groups) > 1:
            yield f"{scheme}:"
        head, rows = rows_of(by_traffic(runs), names)
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            padded = [
                cell.ljust(width) if name in WORDS else cell.rjust(width)
                for name, cell, width in zip(head, row, widths, strict=True)
            ]
            yield "  ".join(padded).rstrip()

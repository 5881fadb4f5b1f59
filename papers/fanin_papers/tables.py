"""Tables of experiments and claims for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fanin import table
from fanin_papers.claims import PAPERS, VERDICTS, Claim, Reading, Row, Verdict, totals
from fanin_papers.experiment import Study


def study(studied: Study) -> RenderableType:
    """A line per claim: the paper's number beside ours."""
    rows = [
        [row.claim, row.what, row.paper, row.ours, row.accept, row.verdict if row.judged else f"({row.verdict})"]
        for row in studied.rows()
    ]
    title = Text(f"{studied.experiment.id}: {studied.experiment.title}", style="bold")
    return Group(title, table.plain(["claim", "what", "paper", "ours", "counts as holding", "verdict"], rows))


def counts(of: Sequence[Claim]) -> RenderableType:
    """Claims by paper and verdict."""
    found = [[paper, *map(str, verdicts.values())] for paper, verdicts in totals(of).items()]
    return table.plain(["paper", *VERDICTS], found, right=VERDICTS)


def all_claims(of: Sequence[Claim]) -> RenderableType:
    """Totals by paper, and a line per claim."""
    rows = [[claim.id, claim.where, claim.number or claim.says, ours_of(claim), claim.verdict] for claim in of]
    return Group(counts(of), table.plain(["claim", "where", "the paper", "ours", "verdict"], rows))


FEW_ROWS = 4
"""Rows of a claim that a line shows in full."""


def ours_of(claim: Claim) -> str:
    """Our number in short; of many rows, how many hold, and two of those that do not."""
    judged = [row for row in claim.rows if row.judged and not row.reading]
    if claim.depends is not None:
        its = [row for row in claim.rows if row.reading == claim.depends.name]
        return f"{parts_in_short(judged)}; under {claim.depends.name}: {parts_in_short(its)}"
    if claim.ours or not judged:
        return claim.ours or table.NONE
    return parts_in_short(judged)


def parts_in_short(judged: Sequence[Row]) -> str:
    """Numbers of few rows; of many, how many hold, and two of those that do not."""
    if len(judged) <= FEW_ROWS:
        return "; ".join(of_row(row) for row in judged)
    not_held = [row for row in judged if row.verdict != "holds"]
    parts = [f"{len(judged) - len(not_held)} of {len(judged)} rows hold"]
    parts += [f"{row.verdict}: {of_row(row)}" for row in not_held[:2]]
    return "; ".join(parts)


def of_row(row: Row) -> str:
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
        *depends(of),
        ("cause", why(of)),
        ("shown by", "\n".join(of.commands)),
        ("version", of.version),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, text in facts:
        if text:
            grid.add_row(name, Text(text))
    rows = [
        [
            setting_of(row),
            row.what,
            row.paper,
            row.ours,
            row.accept,
            row.verdict if row.judged else f"({row.verdict})",
        ]
        for row in of.rows
    ]
    measured = table.plain(["setting", "what", "paper", "ours", "counts as holding", "verdict"], rows)
    return Group(Text(of.id, style="bold"), grid, *([measured] if rows else []))


def why(claim: Claim) -> str:
    """Why a claim differs: proven by what switches it on and off, or not known, with what is suspected."""
    if not claim.cause:
        return ""
    return f"{claim.cause} (proven)" if claim.proven else f"not known; suspected: {claim.cause}"


def setting_of(row: Row) -> str:
    """A row's setting, and its reading before it if it is another than the one used elsewhere."""
    return ": ".join(filter(None, (row.reading, row.setting)))


def depends(claim: Claim) -> list[tuple[str, str]]:
    """What a claim that depends depends on."""
    reading = claim.depends
    if reading is None:
        return []
    return [
        ("open", f"{reading.question} {reading.where}: {reading.words}. Used elsewhere: {reading.used}."),
        ("holds with", f"{reading.name}: {reading.says} {'; '.join(reading.keys)}"),
    ]


def readings(of: Sequence[Reading]) -> RenderableType:
    """A line per reading: what the paper leaves open, the answer used elsewhere, and this one."""
    rows = [[one.name, PAPERS[one.paper], one.question, one.used, one.says.strip()] for one in of]
    return table.plain(["reading", "paper", "open", "used elsewhere", "under it"], rows)


def reading(of: Reading, verdicts: Mapping[str, tuple[Verdict, Verdict]]) -> RenderableType:
    """All about one reading, and a line per claim that is measured whole under it."""
    facts = [
        ("open", f"{of.question} {PAPERS[of.paper]}, {of.where}: {of.words}"),
        ("used elsewhere", of.used),
        ("under it", of.says.strip()),
        ("changes", "; ".join(of.keys)),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, text in facts:
        grid.add_row(name, Text(text))
    rows = [[id_, used, its if its != used else ""] for id_, (used, its) in verdicts.items()]
    return Group(Text(of.name, style="bold"), grid, table.plain(["claim", "used elsewhere", "under it"], rows))

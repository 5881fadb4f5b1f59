"""Texts and tables of a report of runs, for its template."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from fanin import _core, spec, table
from fanin.by_traffic import by_traffic, counted_at, slowest
from fanin.comparison import Comparison
from fanin.measures import by_scheme, group_names, messages, scheme_name, size_text
from fanin.reporting.job_parts import Collectives, collectives
from fanin.result import Result
from fanin.rows import mixed_transports
from fanin.run_folder import Machine
from fanin.side_by_side import MOST_COLUMNS, told
from fanin.style import styles_of

SLOWEST = 20
"""The number of the slowest messages of a run that are listed."""

STROKES = {
    "solid": "none",
    "dash": "6 4",
    "dashdot": "6 3 2 3",
    "dot": "2 3",
    "longdash": "10 4",
    "longdashdot": "10 3 2 3",
}
"""How the samples of curves beside the names of schemes are dashed, by the names of `fanin.style.DASHES`."""


@dataclass(frozen=True)
class Scheme:
    """A scheme of the report and the style of its curves."""

    name: str
    colour: str
    stroke: str


@dataclass(frozen=True)
class Cell:
    """A value of the comparison."""

    text: str
    mark: Literal["", "best", "unfinished", "lost"]
    """`lost` for drops in a lossless class."""


@dataclass(frozen=True)
class Slowest:
    """The slowest messages of one run."""

    label: str
    scheme: str
    command: str
    head: list[str]
    rows: list[list[str]]
    unfinished: int


@dataclass(frozen=True)
class Page:
    """Everything but the charts."""

    title: str
    kind: Literal["Run", "Comparison"]
    facts: list[tuple[str, str]]
    errors: list[str]
    cautions: list[str]
    schemes: list[Scheme]
    sections: list[list[tuple[str, list[Cell]]]]
    marked: bool
    """Whether some value is marked as the best."""
    caption: list[str]
    slowest: list[Slowest]
    collectives: list[Collectives]
    """Of runs that have some."""
    traffics_head: list[tuple[str, str]]
    """Name and scheme of each column; none where every run has one traffic."""
    traffics: list[list[tuple[str, list[str]]]]
    traffics_caption: list[str]
    actions_head: list[tuple[str, str]]
    """Title and scheme of each column."""
    actions: list[tuple[str, list[str]]]
    runs_head: list[str]
    runs: list[tuple[str, list[str]]]
    """Scheme and cells of each run."""
    documents: list[tuple[str, str, str, str]]
    """Label and scheme of each run, its spec and its summary."""


def page(compared: Comparison, places: Sequence[Path] | None) -> Page:
    """Collects it."""
    first = compared.results[0]
    traffics_head, traffics, traffics_caption = _traffics(compared.results)
    actions_head, actions = _actions(compared.results)
    several = len(compared.results) > 1
    sections = [[(line.name, _cells(line, compared)) for line in section] for section in table.lines(compared)]
    return Page(
        title=first.name,
        kind="Comparison" if several else "Run",
        facts=_facts(compared, several),
        errors=compared.errors,
        cautions=[
            *([table.cancelled_note(compared)] if compared.cancelled else []),
            *_warnings(compared.results),
            *mixed_transports(compared.results),
        ],
        schemes=[
            Scheme(name, style.colour, STROKES[style.dash])
            for name, style in styles_of(list(by_scheme(compared.results))).items()
        ],
        sections=sections,
        marked=any(cell.mark == "best" for section in sections for _, cells in section for cell in cells),
        caption=[line for line in table.caption(compared).splitlines() if not line.startswith("bold")],
        slowest=[_slowest(result, places[index] if places else None) for index, result in enumerate(compared.results)],
        collectives=[
            collectives(result, places[index] if places else None)
            for index, result in enumerate(compared.results)
            if not result.collectives().is_empty()
        ],
        traffics_head=traffics_head,
        traffics=traffics,
        traffics_caption=traffics_caption,
        actions_head=actions_head,
        actions=actions,
        runs_head=["run", "seed", "state", "simulated", "packet-hops", "wall time", "packet-hops/s", "event hash"],
        runs=[(scheme_name(result), _run(result)) for result in compared.results],
        documents=[
            (result.label, scheme_name(result), _json(result.spec), _json(result.summary()))
            for result in compared.results
        ],
    )


def _warnings(results: Sequence[Result]) -> list[str]:
    """The warnings of runs, each once, with the names of the runs unless all have it."""
    told: dict[str, list[str]] = {}
    for result in results:
        for detail in dict.fromkeys(result.events().filter(pl.col("kind") == "warning")["detail"]):
            told.setdefault(detail, []).append(result.label)
    return [
        detail if len(labels) == len(results) else f"{detail} ({', '.join(labels)})" for detail, labels in told.items()
    ]


LONGEST = 200_000
"""Letters of a document that are shown."""


def _json(document: Mapping[str, object]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... the whole is in the folder of the run"


def _facts(compared: Comparison, several: bool) -> list[tuple[str, str]]:
    first = compared.results[0]
    manifests = [result.manifest for result in compared.results]
    measure = spec.section(first.spec, "measure")
    hops = sum(manifest["packet_hops"] for manifest in manifests)
    wall_s = sum(manifest["wall_s"] for manifest in manifests)
    return [
        ("Network", spec.describe_topology(spec.section(first.spec, "network").get("topology"))),
        ("Traffic", _listed([_traffic(traffic) for traffic in spec.traffics(first.spec)])),
        ("Measured", f"{_time(measure['window'])} after {_time(measure['warm_up'])} of warm-up"),
        # With several schemes their names are beside the checkboxes.
        *([] if several else [("Scheme", scheme_name(first))]),
        ("Seeds", ", ".join(str(seed) for seed in dict.fromkeys(manifest["seed"] for manifest in manifests))),
        ("Fanin", ", ".join(dict.fromkeys(manifest["version"] for manifest in manifests))),
        ("Machine", "; ".join(dict.fromkeys(_machine(manifest["machine"]) for manifest in manifests))),
        ("Cost", f"{hops:,} packet-hops in {wall_s:.2f} s of wall time: {_speed(hops, wall_s)}"),
    ]


def _listed(texts: Sequence[str]) -> str:
    """The first of them, and how many there are besides."""
    more = f"; and {len(texts) - MOST_COLUMNS:,} more" if len(texts) > MOST_COLUMNS else ""
    return "; ".join(texts[:MOST_COLUMNS]) + more


def _traffic(traffic: spec.Spec) -> str:
    """For example `queries (incast, 16 % of tor-uplinks)`."""
    parts = [spec.kind(traffic.get("pattern", "")), spec.describe_load({"traffic": [traffic]}).removeprefix("load ")]
    told = ", ".join(filter(None, parts))
    return f"{traffic['name']} ({told})" if told else str(traffic["name"])


def _time(text: object) -> str:
    """A time of a resolved spec in the largest unit that it is at least one of."""
    ps = spec.time_ps(str(text))
    unit, scale = next(((unit, scale) for unit, scale in spec.PS_OF_TIME.items() if ps >= scale), ("s", 1))
    return f"{ps / scale:.12g} {unit}"


def _machine(machine: Machine) -> str:
    return f"{machine['cpu'] or machine['arch']}, {machine['cores']} cores, {machine['os']}"


def _speed(hops: int, wall_s: float) -> str:
    return f"{table.number(hops / wall_s / 1e6)} million a second" if wall_s > 0 else table.NONE


def _cells(line: table.Line, compared: Comparison) -> list[Cell]:
    lossless = dict.fromkeys((row.scheme for row in compared.rows), 0)
    for name, result in zip(group_names(compared.results), compared.results, strict=True):
        lossless[name] += result.summary()["network"]["drops"]["lossless"]
    cells = []
    for index, (text, value, row) in enumerate(zip(line.cells, line.values, compared.rows, strict=True)):
        mark: Literal["", "best", "unfinished", "lost"] = ""
        if line.name == table.DROPS and lossless[row.scheme]:
            mark = "lost"
        elif line.name == table.UNFINISHED and value:
            mark = "unfinished"
        elif line.best == index:
            mark = "best"
        cells.append(Cell(text, mark))
    return cells


def _slowest(result: Result, place: Path | None) -> Slowest:
    posted = messages(result)
    slow = posted.filter(pl.col("slowdown").is_not_null()).sort(["slowdown", "flow_id"], descending=[True, False])
    rows = slow.head(SLOWEST).rows(named=True)
    folder = shlex.quote(str(place)) if place else "FOLDER"
    return Slowest(
        label=result.label,
        scheme=scheme_name(result),
        command=f"fanin why {folder} --flow {rows[0]['flow_id'] if rows else 'ID'}",
        head=["flow", "traffic", "from", "to", "size", "FCT", "slowdown", "timeouts", "resent"],
        rows=[
            [
                f"{row['flow_id']}",
                row["traffic"],
                # Folders of older versions have numbers only.
                row.get("src_name") or f"h{row['src']}",
                row.get("dst_name") or f"h{row['dst']}",
                size_text(row["bytes"]),
                table.time(row["completion_ps"] / 1e6),
                table.number(row["slowdown"]),
                f"{row['timeouts']:,}",
                f"{row['packets_resent']:,}",
            ]
            for row in rows
        ],
        unfinished=posted["completion_ps"].null_count(),
    )


def _traffics(
    results: Sequence[Result],
) -> tuple[list[tuple[str, str]], list[list[tuple[str, list[str]]]], list[str]]:
    """The traffics of each scheme side by side, and notes on them, where some run has several."""
    every = {name: by_traffic(runs) for name, runs in by_scheme(results).items()}
    if all(len(traffics) == 1 for traffics in every.values()):
        return [], [], []
    most = max(map(len, every.values()))
    # Of many, those that suffered most.
    groups = {name: slowest(of, MOST_COLUMNS) if most > MOST_COLUMNS else of for name, of in every.items()}
    several = len(groups) > 1
    head = [(f"{name}: {one.name}" if several else one.name, name) for name, of in groups.items() for one in of]
    found = [table.lines_of_traffics(of) for of in groups.values()]
    # The actions have a table of their own.
    parts = [[*sections[:-1], sections[-1][:1]] for sections in found]
    sections = [
        [(lines[0].name, [cell for line in lines for cell in line.cells]) for lines in zip(*of_each, strict=True)]
        for of_each in zip(*parts, strict=True)
    ]
    sections = [[line for line in section if told(line[1])] for section in sections]
    notes = table.caption_of_traffics(results).splitlines()
    if most > MOST_COLUMNS:
        notes.insert(0, f"the slowest {MOST_COLUMNS} of {most:,} traffics; fanin show DIR --traffics prints all")
    return head, sections, notes


def _actions(results: Sequence[Result]) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """The counts of each scheme's actions, over all its runs; actions that never occurred are left out, and so are
    traffics beyond the first few with parameters of their own."""
    columns: dict[tuple[str, str], dict[str, int]] = {}
    for result in results:
        traffics = result.summary()["traffics"]
        # Traffics of one scheme and set of parameters share their counts.
        firsts = [
            one for at, (one, place) in enumerate(zip(traffics, counted_at(traffics), strict=True)) if at == place
        ]
        times_named = Counter(traffic["scheme"] for traffic in firsts)
        for traffic in firsts[:MOST_COLUMNS]:
            scheme, of = traffic["scheme"], [traffic["traffic"], *traffic["counted_with"]]
            title = scheme if times_named[scheme] == 1 else f"{scheme} ({', '.join(of)})"
            into = columns.setdefault((title, scheme_name(result)), {})
            for action, times in traffic["actions"].items():
                into[action] = into.get(action, 0) + times
    taken = sorted({action for column in columns.values() for action, times in column.items() if times})
    rows = [
        (action.replace("_", " "), [f"{column[action]:,}" if column.get(action) else "" for column in columns.values()])
        for action in taken
    ]
    return list(columns), rows


def _run(result: Result) -> list[str]:
    manifest = result.manifest
    return [
        result.label,
        str(manifest["seed"]),
        "cancelled" if result.cancelled else "complete",
        f"{result.simulated_ms:,.3f} ms",
        f"{manifest['packet_hops']:,}",
        f"{manifest['wall_s']:.2f} s",
        f"{manifest['packet_hops_per_second']:,.0f}",
        manifest["event_hash"],
    ]


WRITTEN_BY = f"Fanin {_core.__version__}"

"""Fanin and other simulators on the same work: measurements as rows of a table."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from bench import inputs as files
from bench import ours, peers
from bench.process import Measured
from bench.scenarios import CASES, Case
from fanin.run_folder import RunError
from fanin.table import NONE, plain

if TYPE_CHECKING:
    from rich.table import Table

OURS = "Fanin"
Source = Literal["ours", "binary", "earlier"]
"""Measured now: ours, or the program of a peer; or measured earlier: `peers.toml`."""


class Row(TypedDict):
    """The cost of one case for one simulator."""

    case: str
    who: str
    source: Source
    packet_hops: int
    hops_by: str
    """Who counted the hops."""
    user_s: float
    """User CPU of the event loop, seconds."""
    setup_s: float | None
    """User CPU of set-up, not included in the above; None if it is not known."""
    peak_rss_bytes: int
    events: int | None
    flows: int
    """The number of packet-hops; 0 if it is not known."""
    finished: int
    fct_us: list[float]
    """Completion times until the last ACK: smallest, median, largest; empty without any."""
    note: str
    measured: NotRequired[str]
    """Date, UTC, where that is not the report's."""


class Report(TypedDict):
    """All of one measurement."""

    measured: str
    """Date, UTC."""
    machine: str
    inputs: str
    """The origin of the files."""
    scale: float
    repeat: int
    rows: list[Row]
    problems: list[str]
    """Cases that failed, and why."""


def measure(
    cases: Sequence[Case],
    others: Sequence[peers.Peer],
    work: Path,
    *,
    given: Path | None = None,
    scale: float = 1.0,
    repeat: int = 3,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Runs all cases with ours and with each other simulator that has them; failures are recorded as problems, and the
    others continue.

    `work` is the folder for files, `given` one with inputs to use instead of making them. `say` is called with each
    case and each problem.
    """
    rows: list[Row] = []
    problems: list[str] = []
    origins: list[str] = []

    def problem(error: Exception) -> None:
        problems.append(str(error))
        say(f"error: {error}")

    for peer in others:
        if not any(peer.has(case) for case in cases):
            problem(RunError(f"{peer.name}: its program runs none of these cases"))
    for case in cases:
        folder = work.resolve() / case.id
        try:
            made = files.make(case.workload, folder, given, scale)
            origins.append(made.origin.partition(" as ")[0])
            say(f"{case.id}: {OURS}; flows {made.origin}")
            own = ours.measure(case, made, folder / "fanin", repeat=repeat, scale=scale)
        except (RunError, OSError, ValueError) as error:
            problem(error)
            continue
        assert own.packet_hops is not None
        rows.append(_row(case, OURS, "ours", own, len(made.flows), own.packet_hops, OURS))
        for peer in others:
            if not peer.has(case):
                continue
            say(f"{case.id}: {peer.name}")
            try:
                theirs = peers.measure(peer, case, made, folder / peer.name.replace(" ", "-"), repeat=repeat)
            except (RunError, OSError, ValueError) as error:
                problem(error)
                continue
            # They print no hops by themselves. It is the same work, so they are as many as ours but for how they are
            # queued.
            hops, by = (own.packet_hops, OURS) if theirs.packet_hops is None else (theirs.packet_hops, peer.name)
            rows.append(_row(case, peer.name, "binary", theirs, len(made.flows), hops, by))
        # Those are of the whole work.
        rows += [_earlier(figure) for figure in peers.figures() if figure["case"] == case.id and scale == 1]
    return Report(
        measured=datetime.now(UTC).date().isoformat(),
        machine=machine(),
        inputs=", ".join(sorted(set(origins))),
        scale=scale,
        repeat=repeat,
        rows=rows,
        problems=problems,
    )


def _row(case: Case, who: str, source: Source, measured: Measured, flows: int, hops: int, by: str) -> Row:
    times = measured.completions_us
    return Row(
        case=case.id,
        who=who,
        source=source,
        packet_hops=hops,
        hops_by=by,
        user_s=measured.user_s,
        setup_s=measured.setup_s,
        peak_rss_bytes=measured.peak_rss_bytes,
        events=measured.events,
        flows=flows,
        finished=len(times),
        fct_us=[min(times), statistics.median(times), max(times)] if times else [],
        note="",
    )


def _earlier(figure: peers.Figure) -> Row:
    return Row(
        case=figure["case"],
        who=figure["peer"],
        source="earlier",
        packet_hops=round(figure["hops_m"] * 1e6),
        hops_by=figure["peer"],
        user_s=figure["user_s"],
        setup_s=None,
        peak_rss_bytes=round(figure["rss_mb"] * 1e6),
        events=None,
        flows=0,
        finished=0,
        fct_us=[float(us) for us in figure["fct_us"]],
        note=figure["note"],
    )


def machine() -> str:
    """The processor, and how many of it there are."""
    names = [line.partition(": ")[2] for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    return f"{names[0] if names else 'processor unknown'}, {os.cpu_count()} cores"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def ns_per_hop(row: Row) -> float | None:
    """Nanoseconds of user CPU for each packet-hop; None where a run was too short to time."""
    return row["user_s"] * 1e9 / row["packet_hops"] if row["user_s"] > 0 and row["packet_hops"] else None


def ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """The ratio of the user CPU of a packet-hop to ours; None if one of them is not known."""
    own = next(
        (ns_per_hop(other) for other in rows if other["case"] == row["case"] and other["source"] == "ours"), None
    )
    theirs = ns_per_hop(row)
    return theirs / own if own and theirs else None


HEADERS = [
    "case",
    "who",
    "measured",
    "M hops",
    "hops counted by",
    "user CPU s",
    "M hops/s",
    "times ours",
    "set-up s",
    "peak MB",
    "completion us: min, median, max",
]
RIGHT = ["M hops", "user CPU s", "M hops/s", "times ours", "set-up s", "peak MB", "completion us: min, median, max"]


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """A row of the table."""
    cost, times = ns_per_hop(row), ratio(row, rows)
    return [
        row["case"],
        row["who"] + (" (NDP)" if row["note"].startswith("NDP") else ""),
        "earlier" if row["source"] == "earlier" else "now",
        f"{row['packet_hops'] / 1e6:,.2f}",
        row["hops_by"],
        f"{row['user_s']:.3f}" if row["user_s"] < 1 else f"{row['user_s']:.2f}",
        NONE if cost is None else f"{1000 / cost:.2f}",
        NONE if times is None else f"{times:.2f}",
        NONE if row["setup_s"] is None else f"{row['setup_s']:.3f}",
        f"{row['peak_rss_bytes'] / 1e6:,.0f}",
        ", ".join(f"{us:,.0f}" for us in row["fct_us"]) or NONE,
    ]


def table(report: Report) -> Table:
    """All rows for a terminal."""
    return plain(HEADERS, [cells(row, report["rows"]) for row in report["rows"]], right=RIGHT)


def load(path: Path) -> Report:
    """Reads an earlier measurement; raises `OSError` if there is none."""
    report: Report = json.loads(path.read_text(encoding="utf-8"))
    return report


def joined(earlier: Report, now: Report) -> Report:
    """A new measurement with the rows of an earlier one whose cases it has not, in the order of the cases."""
    cases = {row["case"] for row in now["rows"]}
    date = earlier["measured"]
    kept = [Row(**{"measured": date, **row}) for row in earlier["rows"] if row["case"] not in cases]
    order = list(CASES)
    rows = sorted([*kept, *now["rows"]], key=lambda row: order.index(row["case"]))
    return Report(**{**now, "rows": rows})


def save(report: Report, path: Path) -> None:
    """Writes it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def named(names: Sequence[str]) -> list[Case]:
    """The cases of these names, where a name also means all that begin with it and "-"; raises `RunError` for an
    unknown one."""
    found = []
    for name in names:
        fitting = [case for case in CASES.values() if case.id == name or case.id.startswith(f"{name}-")]
        if not fitting:
            raise RunError(f'no case "{name}"; the cases are {", ".join(CASES)}')
        found += fitting
    return [case for case in CASES.values() if case in found]

"""An experiment of a paper: a sweep over a spec in `papers/`, a picture, and our numbers beside the paper's."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from matplotlib.figure import Figure

from fanin import Result, __version__
from fanin.jobs import Job
from fanin.jobs import Measured as Measured
from fanin_papers import claims
from fanin_papers.pictures import write

Verdict = Literal["holds", "close", "differs", "calibrated"]

Key = tuple[str | int, ...]
"""Names one run of a sweep; the last part is the seed."""

Measures = Mapping[Key, Measured]


@dataclass(frozen=True)
class Row:
    """One claim, or a part of one: the paper's result beside ours."""

    claim: str
    what: str
    paper: str
    ours: str
    accept: str
    """The criterion by which the claim holds."""
    verdict: Verdict
    judged: bool = True
    """False for a row that is shown beside the claim, which does not state it, and that decides nothing."""

    @classmethod
    def table(cls, text: str, judged: bool = True) -> list[Row]:
        """Rows as they are printed, one a line: `what | the paper's result | ours | when it counts as holding |
        verdict`. A verdict in brackets decides nothing. A line without `|` is the claim of the rows below it, and one
        that begins with `|` continues the row above it.

        Raises `ValueError` for a row with other columns, and for an unknown verdict.
        """
        rows: list[Row] = []
        claim = ""
        for line in re.sub(r"\n *\|", " |", text.strip()).splitlines():
            if "|" in line:
                rows.append(cls.of(claim, line, judged))
            else:
                claim = line.strip()
        return rows

    @classmethod
    def of(cls, claim: str, line: str, judged: bool = True) -> Row:
        """One row of such a table."""
        *cells, last = (cell.strip() for cell in line.split("|"))
        verdict = last.strip("()")
        if len(cells) != 4 or verdict not in get_args(Verdict):
            raise ValueError(f'"{line.strip()}" is not a row: what | the paper | ours | accept | verdict')
        what, paper, ours, accept = cells
        return cls(claim, what, paper, ours, accept, cast("Verdict", verdict), judged and verdict == last)


_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
_CRITERION = re.compile(rf"(at most|at least|above|below|) ?({_NUMBER})(?: to ({_NUMBER}))?")
_COMPARISONS = {
    "at most": operator.le,
    "at least": operator.ge,
    "above": operator.gt,
    "below": operator.lt,
    "": operator.eq,
}


@dataclass(frozen=True)
class Change:
    """One run of a sweep: a scheme, or None for the spec's own, and changes to the spec, as `key=value`."""

    scheme: str | None
    set: tuple[str, ...] = ()
    wire: bool = False
    """Whether it runs on a wire, in virtual time, instead of in the simulator."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper."""

    id: str
    """For example `dctcp-fig14`."""
    title: str
    spec: str
    """File of the spec, under the folder of specs."""
    sweep: Callable[[bool], Mapping[Key, Change]]
    """The runs; True for a short version, whose numbers prove nothing."""
    measure: Callable[[Result], Measured]
    draw: Callable[[Measures], Figure]
    rows: Callable[[Measures], list[Row]]
    figures: tuple[str, ...] = ()
    """The paper's figures that it draws, such as `11a`; without any, the one that its id names."""

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.partition("-")[0]

    @property
    def on_wire(self) -> bool:
        """Whether some of its runs are on a wire, where a packet takes a hundred times longer."""
        return any(change.wire for change in self.sweep(True).values())

    def draws(self, figure: str) -> bool:
        """Whether it draws this figure of its paper: `12` is all panels of Fig. 12, `12b` one of them."""
        number, panels = _split(figure)
        shown = self.figures or (self.id.partition("-fig")[2],)
        return any(
            number == its and (not panels or not parts or set(panels) <= set(parts))
            for its, parts in map(_split, shown)
        )


def _split(figure: str) -> tuple[str, str]:
    """`12ab` is figure 12, panels a and b."""
    number = figure.rstrip("abcdefghijklmnopqrstuvwxyz")
    return number, figure[len(number) :]


class Under(NamedTuple):
    """The runs of an experiment under a reading."""

    measures: dict[Key, Measured]
    """Those that the reading does not change are those of the reading used elsewhere."""
    runs: int
    """How many it changes."""
    packet_hops: int
    """Of these."""


@dataclass(frozen=True)
class Study:
    """The results of an experiment."""

    experiment: Experiment
    measures: dict[Key, Measured]
    quick: bool = False
    """Its runs are those of the short version."""
    packet_hops: int = 0
    """Of all its runs."""
    readings: Mapping[str, Under] = field(default_factory=dict)
    """The same runs under other readings of what the paper leaves open, by their names."""

    def rows(self) -> list[Row]:
        """Our numbers beside the paper's; those under other readings below, as far as they would decide."""
        rows = self.experiment.rows(self.measures)
        for name, under in self.readings.items():
            its = self.experiment.rows(under.measures)
            rows += [replace(row, claim=claims.under(name, row.claim)) for row in its if _decides(row)]
        return rows

    def save(self, folder: Path) -> list[Path]:
        """Writes the picture and the rows and returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        picture, table = folder / f"{self.experiment.id}.png", folder / f"{self.experiment.id}.json"
        write(self.picture(), picture)
        table.write_text(json.dumps(self.record(), indent=2) + "\n", encoding="utf-8")
        return [picture, table]

    def picture(self) -> Figure:
        """Its figure; that of a short version says so."""
        figure = self.experiment.draw(self.measures)
        if self.quick:
            figure.text(0.5, 0.5, "short version", fontsize=54, color="0.5", alpha=0.35, rotation=25, ha="center")
        return figure

    def record(self) -> dict[str, object]:
        """Its rows, and what they were measured with."""
        counts = {name: {"runs": one.runs, "packet_hops": one.packet_hops} for name, one in self.readings.items()}
        return {
            "experiment": self.experiment.id,
            "title": self.experiment.title,
            "version": __version__,
            "quick": self.quick,
            "runs": len(self.measures),
            "packet_hops": self.packet_hops,
            **({"readings": counts} if counts else {}),
            "rows": [asdict(row) for row in self.rows()],
        }


def _decides(row: Row) -> bool:
    """Whether a row decides its claim."""
    claim, setting = claims.split_label(row.claim)
    return row.judged and any(fnmatchcase(setting, pattern) for pattern in claims.counting().get(claim, ()))


def job(base: Job, key: Key, change: Change) -> Job:
    """One run of a sweep."""
    title = "/".join(map(str, key))
    return replace(base, overrides=change.set, scheme=change.scheme, seed=int(key[-1]), title=title, wire=change.wire)


def read_as(run: Job, reading: claims.Reading) -> Job:
    """A run with the changes of a reading to its spec, and to those of its traffics that have its schemes. Raises
    `SpecError` if its spec has nothing that they could change."""
    changes = list(reading.set)
    if reading.of_scheme:
        traffics = cast("list[dict[str, Any]]", run.resolve()["traffic"])
        changes += [
            f"traffic.{traffic['name']}.scheme.{change}"
            for traffic in traffics
            for change in reading.of_scheme.get(_id_of(traffic["scheme"]), ())
        ]
    return replace(run, overrides=(*run.overrides, *changes), title=f"{run.title}/{reading.name}")


def _id_of(scheme: str | Mapping[str, Any]) -> str:
    """The id of a scheme of a resolved spec; one without parameters is its id alone."""
    return scheme if isinstance(scheme, str) else scheme["id"]


def judge(rule: Literal["strict", "band", "gain"], value: float, form: str, accept: str, also: str = "") -> str:
    """The last three columns of a row about one number, which is judged by what `accept` says of it: `at most 5`, `at
    least 5`, `above 5`, `below 5`, `5`, or `2 to 5`, and what follows. The rule is the function `strict`, `band` or
    `gain_band`.

    `form` is the number's format with its unit, as `.1f us`; if it is one of per cent, as `.1%`, limits are in per
    cent too. `also` is shown after the number. Raises `ValueError` if `accept` does not begin like that."""
    spec, blank, unit = form.partition(" ")
    found = _CRITERION.match(accept)
    if found is None:
        raise ValueError(f'"{accept}" is no criterion; such are "2 to 5", "at most 5", "above 5", "5"')
    how, *ends = found.groups()
    scale = 100 if spec.endswith("%") else 1
    limit, other = (float((end or "inf").replace(",", "")) / scale for end in ends)
    low, high = (0.0, limit) if how in ("at most", "below") else (limit, other)
    if rule == "strict":
        verdict = strict(_COMPARISONS[how](value, limit))
    else:
        verdict = (band if rule == "band" else gain_band)(value, low, high)
    return f"{value:{spec}}{blank}{unit}{also} | {accept} | {verdict}"


def strict(holds: bool) -> Verdict:
    """For a claim without a margin."""
    return "holds" if holds else "differs"


def band(value: float, low: float, high: float) -> Verdict:
    """For ratios and positive quantities: holds inside the band; close outside it by a factor of at most 1.25."""
    if low <= value <= high:
        return "holds"
    return "close" if low / 1.25 <= value <= high * 1.25 else "differs"


def order(kept: Sequence[bool]) -> Verdict:
    """Holds if every point is in order; close if at most one in ten is not."""
    broken = sum(not point for point in kept)
    if broken == 0:
        return "holds"
    return "close" if broken * 10 <= len(kept) else "differs"


def gain_band(value: float, low: float, high: float) -> Verdict:
    """For gains, cuts and differences, with a band above 0: holds inside it; close outside it by at most a quarter of
    its width and above 0."""
    if low <= value <= high:
        return "holds"
    slack = (high - low) / 4
    return "close" if value > 0 and low - slack <= value <= high + slack else "differs"

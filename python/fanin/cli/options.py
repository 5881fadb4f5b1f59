"""The options that commands share, each declared once, and the groups that a command takes as one parameter."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from fanin import limits
from fanin.cli.common import IDEALS, complete_scheme, known_ideal, load_all, policy_changes


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of those of its parameters that are groups, which are dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command).parameters.values():
        options = [one.replace(annotation=hints[one.name])]
        if one.name in groups:
            of_fields = get_type_hints(groups[one.name], include_extras=True)
            named = inspect.signature(groups[one.name]).parameters.values()
            options = [field.replace(annotation=of_fields[field.name]) for field in named]
        parameters += [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A spec, .toml or .json.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='Change one key of the spec, as "measure.window=10 ms"; repeatable.'
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where results go, instead of a new folder in runs.")
]
Parquet = Annotated[bool, typer.Option("--parquet", help="Write tables as Parquet instead of Arrow IPC.")]
Force = Annotated[bool, typer.Option("--force", help="Replace results of earlier runs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
"""The option `--json` of a command."""
Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs at once; one per processor by default.")]
"""The option `--workers`."""
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Most threads of a run; by default the processors there are, with a scheme in Python 1. The result is the "
        "same.",
    ),
]
OneScheme = Annotated[
    str | None,
    typer.Option(
        "--scheme", metavar="SCHEME", help="Put all traffics under this scheme.", autocompletion=complete_scheme
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        metavar="FILE",
        help="Process groups that Chakra traces name and do not define: JSON, as ASTRA-sim reads it.",
    ),
]
Ideal = Annotated[
    str | None,
    typer.Option(
        "--ideal",
        metavar="IDEAL",
        help="The ideal FCT of slowdowns: store-and-forward, hpcc or lone-run; see docs/results.md.",
        autocompletion=lambda: list(IDEALS),
    ),
]
Load = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="FILE.py:CLASS",
        help="Load a scheme, load balancing or a queue discipline of your own, which the spec or an option then names "
        "by its id; repeatable.",
    ),
]
Balancing = Annotated[
    str | None,
    typer.Option(
        "--balancing",
        metavar="POLICY",
        help="Instead of the spec's network.balancing: an id, or one of your own as FILE.py:CLASS or ./libmine.so.",
    ),
]
Discipline = Annotated[
    str | None,
    typer.Option("--discipline", metavar="POLICY", help="Instead of the spec's network.discipline, likewise."),
]
AllowDrops = Annotated[
    bool, typer.Option("--allow-drops", help="A drop in a lossless class is no error: measure.allow_drops = true.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help='Refuse what would take more by its estimate, like "8 GB"; by default 80 % of what is free.',
    ),
]
MaxTime = Annotated[
    str | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        help='Refuse a run that would take longer by its estimate, like "2 h"; by default a day.',
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Instead of the spec's seed.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler, like tcp://10.0.0.1:8786."),
]
FromHpcc = Annotated[
    bool, typer.Option("--hpcc", help="SPEC is an unchanged configuration of the ns-3 HPCC simulator.")
]
UecTopology = Annotated[
    Path | None,
    typer.Option(
        "--topology", metavar="TOPO", help="The network, a .topo file; by default a fat tree of as many hosts."
    ),
]
UecOptions = Annotated[
    str,
    typer.Option(
        "--uec-options",
        metavar="OPTIONS",
        help='The options of uet-htsim\'s command line in quotes, like "-sender_cc_only -paths 128".',
    ),
]
InSimulator = Annotated[str, typer.Option("--on", metavar="WHERE", hidden=True)]
"""Where files of other simulators run: they cannot run elsewhere."""


@dataclass(frozen=True)
class Kept:
    """Where results go, and how."""

    out: Out = None
    parquet: Parquet = False
    force: Force = False


@dataclass(frozen=True)
class Under:
    """The scheme and the seed of one run."""

    scheme: OneScheme = None
    seed: Seed = None


@dataclass(frozen=True)
class Own:
    """Changes of the spec, and schemes and policies of one's own."""

    set_: Set = None
    load: Load = None
    balancing: Balancing = None
    discipline: Discipline = None

    def changes(self) -> list[str]:
        """Loads what is one's own; the changes of the spec that these options stand for."""
        load_all(self.load)
        return [*(self.set_ or ()), *policy_changes(self.balancing, self.discipline)]


@dataclass(frozen=True)
class Changes(Own):
    """The same, with whether drops are errors."""

    allow_drops: AllowDrops = False

    def changes(self) -> list[str]:
        """Adds whether drops are errors."""
        return [*super().changes(), *(["measure.allow_drops=true"] if self.allow_drops else [])]


@dataclass(frozen=True)
class ChangesAndIdeal(Changes):
    """The same, with the ideal of slowdowns."""

    ideal: Ideal = None

    def changes(self) -> list[str]:
        """Adds the ideal of slowdowns."""
        found = super().changes()
        return found if known_ideal(self.ideal) is None else [*found, f"measure.slowdown={self.ideal}"]


@dataclass(frozen=True)
class Bounds:
    """What is refused by its estimate."""

    max_memory: MaxMemory = None
    max_time: MaxTime = None

    @property
    def memory(self) -> int | None:
        """In bytes."""
        return limits.memory(self.max_memory) if self.max_memory is not None else None

    @property
    def time(self) -> float | None:
        """In seconds."""
        return limits.time(self.max_time) if self.max_time is not None else None


@dataclass(frozen=True)
class Limits(Bounds):
    """The same, with threads."""

    threads: Threads = None


@dataclass(frozen=True)
class LimitsOfAll(Limits):
    """The same of several runs, with how many of them go on at once."""

    workers: Workers = None


@dataclass(frozen=True)
class AtOnce:
    """Where many runs go on at once, and how many."""

    dask: Dask = None
    workers: Workers = None


@dataclass(frozen=True)
class HpccFiles:
    """How a configuration of the ns-3 HPCC simulator is read."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="FORK",
            help="The fork that the configuration is of: original, powertcp, astra, simai or conweave. Default: what "
            "its files show.",
        ),
    ] = None
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            metavar="FILE",
            help="The configuration's topology, instead of that of TOPOLOGY_FILE; SimAI's configurations name none.",
        ),
    ] = None
    skip_unknown_keys: Annotated[
        bool,
        typer.Option(
            "--skip-unknown-keys",
            help="Skip keys of the configuration that no known fork has; they are errors otherwise, except with a "
            "scheme.",
        ),
    ] = False

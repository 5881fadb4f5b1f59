"""Commands that run files of other simulators: `run-hpcc`, `run-htsim`, `run-uec`, and `compare-` of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fanin import stopping
from fanin.cli import folders
from fanin.cli.common import CommandError, known_ideal, known_scheme, need, need_kind, schemes_of, seeds, warn
from fanin.cli.options import (
    AsJson,
    Bounds,
    ChangesAndIdeal,
    HpccFiles,
    InSimulator,
    Kept,
    Limits,
    LimitsOfAll,
    UecOptions,
    UecTopology,
    Under,
    Workers,
    grouped,
)
from fanin.cli.runs import Several, keep, keep_run, need_seed, report

if TYPE_CHECKING:
    from fanin.runs import SpecLike

Configuration = Annotated[
    list[Path],
    typer.Argument(metavar="CONFIG", help="A configuration of the ns-3 HPCC simulator.", show_default=False),
]
HtsimFiles = Annotated[
    list[Path], typer.Argument(metavar="[TOPO] CM", help="A fat tree and a connection matrix.", show_default=False)
]

UecFiles = Annotated[
    list[Path], typer.Argument(metavar="CM", help="A connection matrix of uet-htsim.", show_default=False)
]


class Commands(TyperGroup):
    """Takes `fanin run --hpcc` as `fanin run-hpcc`, and likewise the other commands of this file."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command's own name stays that of the command line, for messages."""
        name, *words = args
        for option in ("--hpcc", "--htsim", "--uec"):
            command = self.commands.get(f"{name}{option[1:]}")
            if command is not None and option in words:
                return name, command, [word for word in words if word != option]
        return super().resolve_command(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("run-hpcc")(grouped(run_hpcc))
    app.command("run-htsim")(grouped(run_htsim))
    app.command("run-uec")(grouped(run_uec))
    app.command("compare-hpcc")(grouped(compare_hpcc))
    app.command("compare-htsim")(grouped(compare_htsim))
    app.command("compare-uec")(grouped(compare_uec))


@dataclass(frozen=True)
class HpccRun(HpccFiles):
    """How a configuration is read, and what of its own network is written."""

    trace: Annotated[bool, typer.Option("--trace", help="Also write its binary trace, trace.tr.")] = False
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="TIME",
            help='Sample queues, goodput, rates and windows so often, like "10 us", for fanin plot.',
        ),
    ] = None
    on: InSimulator = "simulator"


def run_hpcc(
    files: Configuration,
    kept: Kept,
    given: ChangesAndIdeal,
    under: Under,
    hpcc: HpccRun,
    limits: Limits,
    as_json: AsJson = False,
) -> None:
    """Run a configuration of the ns-3 HPCC simulator on that simulator's own network, event for event.

    Paths in it start at this folder, and fct.txt, pfc.txt and qlen.txt go into the run folder. With --scheme, its
    topology, flows, buffer and thresholds run on our network under that scheme, and leave fct.txt; --set, --seed,
    --ideal, --allow-drops, --balancing and --discipline need it, and --trace and --series cannot be with it. The same
    is written fanin run --hpcc.

    \b
    Examples:
      fanin run-hpcc config.txt
      fanin run-hpcc config.txt --series "10 us"
      fanin run-hpcc config.txt --scheme dart --set measure.slowdown=hpcc
      fanin run --hpcc SimAI.conf --topology topology.txt --scheme dcqcn
    """
    from fanin import hpcc as simulator

    _in_simulator(hpcc.on)
    need_seed(under.seed)
    if under.scheme is None and known_ideal(given.ideal) == "hpcc":
        given = replace(given, ideal=None)  # it has no other one
    changes, scheme, config = given.changes(), known_scheme(under.scheme), files[0]
    memory, time = limits.memory, limits.time
    need(len(files) == 1, f"{files[-1]}: --hpcc runs one configuration")
    need_kind(config, "hpcc")
    need(
        scheme is not None or not (changes or under.seed is not None),
        "--hpcc runs a configuration as it is: --set, --seed, --ideal, --allow-drops, --balancing and --discipline "
        "need a --scheme to go with them",
    )
    need(
        scheme is None or hpcc.series is None,
        "--series: a run under --scheme is a spec's, which has --set 'measure.series=[...]' for it",
    )
    need(
        scheme is None or not hpcc.trace,
        "--trace: a run under --scheme has no trace of that simulator; leave one of them out",
    )
    label = simulator.HpccJob(str(config), ".", scheme=scheme, seed=under.seed).label
    place = folders.Place(kept.out, folders.ROOT / (label + folders.changed(changes)), force=kept.force)
    with place, stopping.stoppable():
        result = simulator.run_hpcc(
            config,
            trace=hpcc.trace,
            scheme=scheme,
            set=changes,
            seed=under.seed,
            dialect=hpcc.dialect,
            topology=hpcc.topology,
            skip_unknown_keys=hpcc.skip_unknown_keys,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
            series=hpcc.series,
        )
        keep_run(result, place, parquet=kept.parquet, as_json=as_json, threads=limits.threads)


@dataclass(frozen=True)
class HtsimRun:
    """How files of htsim are read, and what is printed of them."""

    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="PROGRAM",
            help="The program that the matrix is for: uec or swift, in microseconds; or ndp, which stands for all "
            "others, in picoseconds. Default: what the files show.",
        ),
    ] = None
    show_finished: Annotated[
        bool, typer.Option("--finished", help="Print htsim's lines of finished flows instead of the summary.")
    ] = False
    on: InSimulator = "simulator"


def run_htsim(
    files: HtsimFiles,
    kept: Kept,
    given: ChangesAndIdeal,
    under: Under,
    htsim: HtsimRun,
    limits: Limits,
    as_json: AsJson = False,
) -> None:
    """Run htsim's files on our network, under a --scheme. The same is written fanin run --htsim.

    \b
    Examples:
      fanin run-htsim tree.topo matrix.cm --scheme dcqcn
      fanin run --htsim tree.topo matrix.cm --scheme dcqcn --finished
    """
    from fanin import htsim as simulator
    from fanin.comparison import Comparison
    from fanin.runs import Job, run

    need(not (htsim.show_finished and as_json), "--finished and --json: choose one")
    _in_simulator(htsim.on)
    need_seed(under.seed)
    changes, scheme = given.changes(), known_scheme(under.scheme)
    memory, time = limits.memory, limits.time
    spec, told = _spec_of(files, scheme, htsim.dialect)
    default = folders.of_run(Job.of(spec, changes).using(scheme, under.seed))
    place = folders.Place(kept.out, default, force=kept.force)
    with place, stopping.stoppable():
        result = run(
            spec,
            scheme=scheme,
            seed=under.seed,
            set=changes,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
        )
        with stopping.held():
            folder = place.keep(result, parquet=kept.parquet)
            result = replace(result, label=folder.name)
            simulator.write_finished(result, folder)
            report(
                Comparison([result], result.cancelled),
                folder,
                as_json=as_json,
                threads=limits.threads,
                lines=simulator.finished(result) if htsim.show_finished else None,
                told=told,
            )


@dataclass(frozen=True)
class UecRun:
    """How a connection matrix runs."""

    topology: UecTopology = None
    options: UecOptions = ""
    on: InSimulator = "simulator"


def run_uec(files: UecFiles, kept: Kept, uec: UecRun, bounds: Bounds, as_json: AsJson = False) -> None:
    """Run a connection matrix of uet-htsim on that simulator's own network (Ultra Ethernet), event for event.

    The lines that it prints go into the run folder, as uec.txt. Without --topology, the network is the fat tree of as
    many hosts as the matrix has. The same is written fanin run --uec.

    \b
    Examples:
      fanin run-uec matrix.cm
      fanin run-uec matrix.cm --topology tree.topo --uec-options "-sender_cc_only -paths 128 -end 1000"
      fanin run --uec matrix.cm --uec-options "-load_balancing_algo reps"
    """
    from fanin import uec as of

    _in_simulator(uec.on)
    matrix, memory, time = files[0], bounds.memory, bounds.time
    need(len(files) == 1, f"{files[-1]}: --uec runs one connection matrix; a topology goes with --topology")
    need_kind(matrix, "htsim")
    (name,) = of.names_of([uec.options])
    place = folders.Place(kept.out, folders.ROOT / "-".join(filter(None, [matrix.stem, name])), force=kept.force)
    with place, stopping.stoppable():
        result = of.run_uec(matrix, topology=uec.topology, options=uec.options, max_memory=memory, max_time=time)
        keep_run(result, place, parquet=kept.parquet, as_json=as_json, threads=None)


@dataclass(frozen=True)
class UecRuns:
    """The runs of a comparison."""

    topology: UecTopology = None
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--uec-options", metavar="OPTIONS", help="The options of one run, as for run-uec; repeat it for each run."
        ),
    ] = None
    seeds_: Annotated[
        str | None, typer.Option("--seeds", metavar="N", help="Runs with each, from seed 1 on; or a list: 1,2,3.")
    ] = None
    workers: Workers = None
    on: InSimulator = "simulator"


def compare_uec(files: UecFiles, kept: Kept, uec: UecRuns, bounds: Bounds, as_json: AsJson = False) -> None:
    """Run a connection matrix of uet-htsim with several options on that simulator's own network; print one table, draw
    one picture, leave a folder each. The same is written fanin compare --uec.

    \b
    Examples:
      fanin compare-uec matrix.cm --uec-options "-load_balancing_algo reps" --uec-options "-load_balancing_algo mixed"
    """
    from fanin import uec as of

    _in_simulator(uec.on)
    matrix, memory, time = files[0], bounds.memory, bounds.time
    need(len(files) == 1, f"{files[-1]}: --uec compares runs of one connection matrix; a topology goes with --topology")
    need_kind(matrix, "htsim")
    need(bool(uec.options), "--uec-options is missing: repeat it for each run that is compared")
    each_seed = None if uec.seeds_ is None else seeds(uec.seeds_)
    place = folders.Place(kept.out, folders.ROOT / matrix.stem, force=kept.force, within="a-run")
    with place, stopping.stoppable():
        compared = of.compare_uec(
            matrix,
            uec.options or (),
            range(1, each_seed + 1) if isinstance(each_seed, int) else each_seed,
            topology=uec.topology,
            workers=uec.workers,
            max_memory=memory,
            max_time=time,
        )
        keep(compared, place, parquet=kept.parquet, as_json=as_json, threads=None)


def _in_simulator(on: str) -> None:
    need(on in ("simulator", "wire"), f"--on {on}: it is simulator or wire")
    need(on == "simulator", "--on wire runs specs, no files of other simulators")


def compare_hpcc(
    files: Configuration,
    several: Several,
    kept: Kept,
    given: ChangesAndIdeal,
    hpcc: HpccFiles,
    limits: LimitsOfAll,
    on: InSimulator = "simulator",
    as_json: AsJson = False,
) -> None:
    """Run a configuration of the ns-3 HPCC simulator on our network under several schemes; print one table.

    The scheme as-is is that simulator's own network. The same is written fanin compare --hpcc.

    \b
    Examples:
      fanin compare-hpcc config.txt --schemes as-is,hpcc,dcqcn
    """
    from fanin import hpcc as simulator

    changes, memory, time, each_seed = given.changes(), limits.memory, limits.time, several.seeds
    need(len(files) == 1, f"{files[-1]}: compare takes one spec, and several schemes with --schemes")
    config = files[0]
    need_kind(config, "hpcc")
    need(on == "simulator", "--on: a configuration of the ns-3 HPCC simulator runs in the simulator")
    need(
        several.schemes is not None,
        "--hpcc: a configuration names no schemes to compare; add --schemes hpcc,dcqcn or all",
    )
    base = simulator.HpccJob.of(config, ".", changes, hpcc.dialect, hpcc.topology)
    each_scheme = schemes_of(several.schemes, lambda: base, (simulator.AS_IS,)) or []
    default = folders.ROOT / (config.stem + folders.changed(changes))
    place = folders.Place(kept.out, default, force=kept.force, within="a-run")
    with place, stopping.stoppable():
        compared = simulator.compare_hpcc(
            config,
            each_scheme,
            [*range(1, each_seed + 1)] if isinstance(each_seed, int) else each_seed,
            set=changes,
            dialect=hpcc.dialect,
            topology=hpcc.topology,
            skip_unknown_keys=hpcc.skip_unknown_keys,
            workers=limits.workers,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
            keep=place.kept(parquet=kept.parquet),
        )
        keep(compared, place, parquet=kept.parquet, as_json=as_json, threads=limits.threads)


def compare_htsim(
    files: HtsimFiles,
    several: Several,
    kept: Kept,
    given: ChangesAndIdeal,
    limits: LimitsOfAll,
    on: InSimulator = "simulator",
    as_json: AsJson = False,
) -> None:
    """Run htsim's files on our network under several schemes; print one table. The same is written fanin compare
    --htsim.

    \b
    Examples:
      fanin compare-htsim tree.topo matrix.cm --schemes hpcc,dcqcn
    """
    from fanin.comparing import compare
    from fanin.runs import Job

    changes, memory, time, each_seed = given.changes(), limits.memory, limits.time, several.seeds
    need(on == "simulator", "--on: htsim's files run in the simulator")
    need(
        several.schemes is not None,
        "--htsim: its files name no schemes to compare; add --schemes hpcc,dcqcn or all",
    )
    # Every scheme replaces this one.
    spec, told = _spec_of(files, "none", None)
    each_scheme = schemes_of(several.schemes, lambda: Job.of(spec, changes))
    place = folders.Place(kept.out, folders.of_spec(Job.of(spec, changes)), force=kept.force, within="a-run")
    with place, stopping.stoppable():
        compared = compare(
            spec,
            each_scheme,
            each_seed,
            set=changes,
            workers=limits.workers,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
            keep=place.kept(parquet=kept.parquet),
        )
        keep(
            compared,
            place,
            parquet=kept.parquet,
            as_json=as_json,
            threads=limits.threads,
            told=told,
            finished=True,
        )


def _spec_of(files: Sequence[Path], scheme: str | None, dialect: str | None) -> tuple[SpecLike, list[str]]:
    """The spec of htsim's files, and warnings about them."""
    from fanin import htsim

    need(len(files) <= 2, f"{files[-1]}: --htsim takes a .topo file and a .cm file, or a .cm file alone")
    for file in files:
        need_kind(file, "htsim")
    if scheme is None:
        raise CommandError("--htsim: its files name no scheme; add one, like --scheme dcqcn", 2)
    *topo, matrix = files
    made = htsim.read(matrix, topo[0] if topo else None, scheme=scheme, dialect=dialect)
    for warning in made.warnings:
        warn(warning)
    return made.spec, made.warnings

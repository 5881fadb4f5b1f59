"""Commands that run specs: `run`, `compare`; and `show`, which prints their tables again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import stopping
from fanin.cli import folders
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    CommandError,
    complete_scheme,
    emit,
    error,
    few,
    known_ideal,
    known_scheme,
    need,
    need_kind,
    schemes_of,
    seeds,
    show,
    stdout,
    warn,
)
from fanin.cli.options import (
    AsJson,
    ChangesAndIdeal,
    Groups,
    Ideal,
    Kept,
    Limits,
    LimitsOfAll,
    Under,
    grouped,
)
from fanin.cli.sweeps import SWEEP, show_sweep

if TYPE_CHECKING:
    from fanin.comparison import Comparison
    from fanin.result import Result
    from fanin.runs import SpecLike


Specs = Annotated[list[Path], typer.Argument(metavar="SPEC", help="A spec, .toml or .json.", show_default=False)]


@dataclass(frozen=True)
class Where:
    """The network of a run, and how one on a wire goes."""

    network: Annotated[
        Path | None,
        typer.Option(
            "--network",
            metavar="NET",
            help="The network of a GOAL schedule, of Chakra traces, of a workload of SimAI, of an algorithm of "
            "MSCCL or of a flow table of SimCCL: a spec, a file with its table network, or a topology file of SimAI, "
            "ASTRA-sim (.yml), ns-3 or htsim.",
        ),
    ] = None

    groups: Groups = None

    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            metavar="CLOCK",
            help="With --on wire: lockstep, virtual time; slowed:N, a network N times slower; or real.",
        ),
    ] = None
    link: Annotated[
        str | None,
        typer.Option(
            "--link", metavar="LINK", help="With --on wire: udp; or veth, which needs root: see fanin wire doctor."
        ),
    ] = None

    def check(self, places: Sequence[str]) -> None:
        """Fails where these options are given and no run is on a wire."""
        for name, given in (("--clock", self.clock), ("--link", self.link)):
            need(given is None or "wire" in places, f"{name}: it goes with --on wire")


@dataclass(frozen=True)
class Several:
    """The runs of a comparison."""

    schemes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Instead of the spec's compare.schemes; all: every scheme that makes sense there.",
            autocompletion=complete_scheme,
        ),
    ] = None
    seeds_: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N", help="Runs per scheme, from the spec's seed on; or a list: 1,2,3."),
    ] = None

    @property
    def seeds(self) -> int | list[int] | None:
        """How many, or which."""
        return seeds(self.seeds_) if self.seeds_ is not None else None


def _given(file: Path, where: Where) -> SpecLike:
    """A spec, or what a schedule or traces are on a network."""
    network = where.network
    if network is None:
        need(where.groups is None, "--groups: it goes with Chakra traces and --network")
        return file
    from fanin import graphs

    kinds = "a GOAL schedule, a Chakra trace, a workload of SimAI, an algorithm of MSCCL or a flow table of SimCCL"
    need(graphs.is_one(file), f"--network: it goes with {kinds}, and {file} is none of these")
    return graphs.spec(file, network, groups=where.groups)


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("run")(grouped(run))
    app.command("compare")(grouped(compare))
    app.command("show")(show_command)


def run(
    files: Specs,
    kept: Kept,
    given: ChangesAndIdeal,
    under: Under,
    limits: Limits,
    wire: Where,
    on: Annotated[
        str,
        typer.Option("--on", metavar="WHERE", help="simulator; or wire: in processes that exchange frames."),
    ] = "simulator",
    as_json: AsJson = False,
) -> None:
    """Run one spec; print its summary and leave a run folder.

    A GOAL schedule (.goal, .bin), the Chakra traces of all ranks given the one of any (.et), a workload of SimAI, a
    flow table of SimCCL, or an algorithm of MSCCL (.xml) for 1 MiB runs with --network.
    Files of other simulators run with fanin run-hpcc, run-htsim and run-uec, also written fanin run --hpcc, --htsim and
    --uec.

    \b
    Examples:
      fanin run examples/incast.toml --scheme dart
      fanin run my.toml --set "measure.window=10 ms" --out runs/short
      fanin run my.toml --scheme my_scheme.py:MyScheme
      fanin run my.toml --scheme dcqcn --balancing my_policy.py:MyPolicy
      fanin run examples/wire/incast.toml --on wire --clock lockstep
      fanin run step.goal --network examples/collectives/all-reduce.toml --scheme dcqcn
      fanin run examples/collectives/ring.xml --network examples/collectives/all-reduce.toml --scheme dcqcn
      fanin run examples/collectives/layers.txt --network examples/collectives/simai-topology.txt
    """
    from fanin.runs import Job
    from fanin.runs import run as run_spec

    need(on in ("simulator", "wire"), f"--on {on}: it is simulator or wire")
    wire.check([on])
    need_seed(under.seed)
    changes, scheme, spec = given.changes(), known_scheme(under.scheme), _given(files[0], wire)
    memory, time = limits.memory, limits.time
    need(len(files) == 1, f"{files[-1]}: run takes one spec; compare runs it under several schemes")
    default = folders.of_run(Job.of(spec, changes).using(scheme, under.seed))
    place = folders.Place(kept.out, default, force=kept.force)
    with place, stopping.stoppable():
        result = run_spec(
            spec,
            scheme=scheme,
            seed=under.seed,
            set=changes,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
            on=on,
            clock=wire.clock or "lockstep",
            link=wire.link or "udp",
        )
        keep_run(result, place, parquet=kept.parquet, as_json=as_json, threads=limits.threads)


def need_seed(seed: int | None) -> None:
    """Fails for a seed that a spec cannot have."""
    need(seed is None or seed < 2**63, f"--seed {seed}: too large, it is {2**63 - 1} or less")


def keep_run(result: Result, place: folders.Place, *, parquet: bool, as_json: bool, threads: int | None) -> None:
    """Saves a run and prints it."""
    from fanin.comparison import Comparison

    with stopping.held():
        folder = place.keep(result, parquet=parquet)
        result = replace(result, label=folder.name)
        report(Comparison([result], result.cancelled), folder, as_json=as_json, threads=threads)


def compare(
    files: Specs,
    several: Several,
    kept: Kept,
    given: ChangesAndIdeal,
    limits: LimitsOfAll,
    wire: Where,
    on: Annotated[
        str,
        typer.Option("--on", metavar="WHERE", help="simulator; wire: see run; or simulator,wire: both, side by side."),
    ] = "simulator",
    as_json: AsJson = False,
) -> None:
    """Run one spec under several schemes; print one table, draw one picture, leave a folder each.

    With several seeds each number is a mean with half of its 95 % confidence interval. With a --clock of real time one
    run is made after another, and if one is rejected there is no comparison. Each run is kept as it ends: when a
    comparison was killed, the same command goes on. Files of other simulators are compared with fanin compare-hpcc,
    compare-htsim and compare-uec, also written fanin compare --hpcc, --htsim and --uec.

    \b
    Examples:
      fanin compare examples/incast.toml
      fanin compare my.toml --schemes dart,dcqcn,hpcc --seeds 5
      fanin compare my.toml --schemes all
      fanin compare my.toml --schemes my_scheme.py:MyScheme,dcqcn
      fanin compare examples/wire/incast.toml --schemes dart --on simulator,wire
      fanin compare examples/wire/incast.toml --schemes dart --on simulator,wire --clock slowed:5000
      fanin compare my.toml --set "traffic.queries.load.share=0.3" --json
    """
    from fanin.comparing import compare as compare_schemes
    from fanin.runs import PLACES, Job

    changes, memory, time, each_seed = given.changes(), limits.memory, limits.time, several.seeds
    need(len(files) == 1, f"{files[-1]}: compare takes one spec, and several schemes with --schemes")
    spec = _given(files[0], wire)
    each_scheme = schemes_of(several.schemes, lambda: Job.of(spec, changes))
    places = on.split(",")
    need(
        {*places} <= {*PLACES} and len(places) == len({*places}),
        f"--on {on}: it is simulator, wire or simulator,wire",
    )
    wire.check(places)
    place = folders.Place(kept.out, folders.of_spec(Job.of(spec, changes)), force=kept.force, within="a-run")
    with place, stopping.stoppable():
        compared = compare_schemes(
            spec,
            each_scheme,
            each_seed,
            set=changes,
            workers=limits.workers,
            max_memory=memory,
            max_time=time,
            threads=limits.threads,
            on=places,
            clock=wire.clock or "lockstep",
            link=wire.link or "udp",
            keep=place.kept(parquet=kept.parquet),
        )
        keep(compared, place, parquet=kept.parquet, as_json=as_json, threads=limits.threads)


def keep(
    compared: Comparison,
    place: folders.Place,
    *,
    parquet: bool,
    as_json: bool,
    threads: int | None,
    told: Sequence[str] = (),
    finished: bool = False,
) -> None:
    """Saves a comparison and prints it. `finished` also leaves htsim's lines of finished flows for each run, and `told`
    are warnings that have been printed already."""
    if not compared.results:
        raise CommandError("stopped before anything had run", INTERRUPTED)
    with stopping.held():
        folder = place.keep(compared, parquet=parquet)
        if finished:
            from fanin import htsim

            for result in compared.results:
                htsim.write_finished(result, folder / result.label)
        report(compared, folder, as_json=as_json, threads=threads, told=told)


def show_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What run, compare or sweep has written.", show_default=False)
    ],
    ideal: Ideal = None,
    every_traffic: Annotated[
        bool, typer.Option("--traffics", help="Print every traffic instead, one line each; a run may have thousands.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the table of a run folder, of a comparison or of a sweep again.

    \b
    Examples:
      fanin show runs/incast
      fanin show runs/incast/dart --traffics
      fanin show runs/incast --ideal hpcc
      fanin show runs/incast/dart --json
    """
    need_kind(folder, "results")
    need(not (every_traffic and as_json), "--traffics and --json: the JSON document has every traffic; leave one out")
    if (folder / SWEEP).is_file():
        need(not every_traffic, "--traffics: a sweep keeps no traffics; it is of a run or of a comparison")
        need(ideal is None, "--ideal: a sweep keeps no messages; choose it as it runs: --set measure.slowdown=hpcc")
        show_sweep(folder, as_json=as_json)
        return
    compared = read(folder, ideal)
    if every_traffic:
        from fanin.traffic_table import every_traffic as lines_of

        for line in lines_of(compared.results):
            print(line)
    elif as_json:
        emit(document(compared, folder))
    else:
        show(compared.text(folder))


def read(folder: Path, ideal: str | None = None) -> Comparison:
    """A comparison, or a run as one, with slowdowns by another ideal if one is named."""
    from fanin.comparing import load_comparison
    from fanin.comparison import Comparison
    from fanin.result import load
    from fanin.run_folder import is_run_folder

    if is_run_folder(folder):
        result = load(folder)
        compared = Comparison([result], result.cancelled)
    else:
        compared = load_comparison(folder)
    return compared if known_ideal(ideal) is None else compared.with_ideal(str(ideal))


def report(
    compared: Comparison,
    folder: Path,
    *,
    as_json: bool,
    threads: int | None = None,
    lines: Sequence[str] | None = None,
    told: Sequence[str] = (),
) -> None:
    """Prints the results, or `lines` instead, and their folder; exits with 1 if a run failed. `threads` is the number
    that was asked for, and `told` are warnings that have been printed already."""
    with stopping.printing(f"results: {folder}"):
        if as_json:
            found = document(compared, folder)
            emit({**found, "warnings": [*told, *compared.warnings]})
        else:
            if lines is None:
                show(compared.text(folder))
            for line in lines or ():
                print(line)
            stdout().print(f"results: {folder}", highlight=False, markup=False, soft_wrap=True)
        rest = f"fanin show {shlex.quote(str(folder))} --json"
        few([*compared.warnings, *fewer_threads(compared, threads)], warn, "warnings", rest)
        few(compared.errors, error, "errors", rest)
    # A run that its scheme ended, by an exception, is incomplete too.
    ended = any(result.failure for result in compared.results)
    if stopping.received() or (compared.cancelled and not ended):
        raise CommandError("", INTERRUPTED)
    if compared.errors:
        raise typer.Exit(FAILED)


def fewer_threads(compared: Comparison, threads: int | None) -> list[str]:
    """For runs with fewer threads than were asked for: how many they had and why, each message once."""
    told: dict[str, None] = {}
    for result in compared.results:
        used, why = result.manifest["threads"], result.manifest["threads_reason"]
        if threads is not None and used < threads:
            told[f"--threads {threads}: it ran on {used}, since {why}" if why else f"it ran on {used}"] = None
    return list(told)


def document(compared: Comparison, folder: Path) -> dict[str, object]:
    """The document that `--json` prints of runs."""
    from fanin.run_folder import is_run_folder

    alone = is_run_folder(folder)
    return {
        "ok": not (compared.cancelled or compared.errors),
        "name": compared.results[0].name,
        "folder": str(folder),
        "complete": not compared.cancelled,
        "errors": compared.errors,
        "warnings": compared.warnings,
        "rows": [row.to_json() for row in compared.rows],
        "runs": [
            {
                "label": result.label,
                "folder": str(folder if alone else folder / result.label),
                "manifest": {key: value for key, value in result.manifest.items() if key != "files"},
                "summary": result.summary(),
            }
            for result in compared.results
        ],
    }

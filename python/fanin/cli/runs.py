"""Commands that run specs: `run`, `compare`; and `show`, which prints their tables again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import stopping
from fanin.cli import folders
from fanin.cli.common import (
    FAILED,
    INTERRUPTED,
    AllowDrops,
    AsJson,
    Balancing,
    CommandError,
    Dialect,
    Discipline,
    Force,
    FromHpcc,
    Ideal,
    Load,
    MaxMemory,
    MaxTime,
    OneScheme,
    Out,
    Parquet,
    Set,
    SkipUnknownKeys,
    Threads,
    Topology,
    Workers,
    complete_scheme,
    emit,
    error,
    few,
    known_ideal,
    known_scheme,
    load_all,
    need,
    need_kind,
    policy_changes,
    schemes_of,
    seeds,
    show,
    stdout,
    warn,
)
from fanin.cli.sweeps import SWEEP, show_sweep

if TYPE_CHECKING:
    from fanin.comparison import Comparison
    from fanin.runs import SpecLike


Clock = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="CLOCK",
        help="With --on wire: lockstep, virtual time; slowed:N, a network N times slower; or real.",
    ),
]
Link = Annotated[
    str | None,
    typer.Option(
        "--link", metavar="LINK", help="With --on wire: udp; or veth, which needs root: see fanin wire doctor."
    ),
]


FromHtsim = Annotated[
    bool, typer.Option("--htsim", help="SPEC is htsim's: [TOPO] CM, a fat tree and a connection matrix.")
]


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("run")(run)
    app.command("compare")(compare)
    app.command("show")(show_command)


def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SPEC", help="A spec, .toml or .json; or files of another simulator.", show_default=False
        ),
    ],
    out: Out = None,
    parquet: Parquet = False,
    set_: Set = None,
    scheme: OneScheme = None,
    load: Load = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Instead of the spec's seed.")] = None,
    force: Force = False,
    allow_drops: AllowDrops = False,
    ideal: Ideal = None,
    from_hpcc: FromHpcc = False,
    trace: Annotated[bool, typer.Option("--trace", help="With --hpcc: also write its binary trace, trace.tr.")] = False,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="TIME",
            help='With --hpcc: sample queues, goodput, rates and windows so often, like "10 us", for fanin plot.',
        ),
    ] = None,
    from_htsim: FromHtsim = False,
    dialect: Dialect = None,
    topology: Topology = None,
    skip_unknown_keys: SkipUnknownKeys = False,
    show_finished: Annotated[
        bool, typer.Option("--finished", help="With --htsim: print its lines of finished flows instead of the summary.")
    ] = False,
    on: Annotated[
        str,
        typer.Option("--on", metavar="WHERE", help="simulator; or wire: in processes that exchange frames."),
    ] = "simulator",
    clock: Clock = None,
    link: Link = None,
    balancing: Balancing = None,
    discipline: Discipline = None,
    threads: Threads = None,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    as_json: AsJson = False,
) -> None:
    """Run one spec; print its summary and leave a run folder.

    With --hpcc, run a configuration of the ns-3 HPCC simulator on that simulator's own network; paths in it start at
    this folder, and fct.txt, pfc.txt and qlen.txt go into the run folder. With --hpcc and --scheme, its topology,
    flows, buffer and thresholds run on ours under that scheme, and leave fct.txt. With --htsim, run htsim's files on
    ours.

    \b
    Examples:
      fanin run examples/incast.toml --scheme dart
      fanin run my.toml --set "measure.window=10 ms" --out runs/short
      fanin run my.toml --scheme my_scheme.py:MyScheme
      fanin run my.toml --scheme dcqcn --balancing my_policy.py:MyPolicy
      fanin run examples/wire/incast.toml --on wire --clock lockstep
      fanin run --hpcc config.txt
      fanin run --hpcc SimAI.conf --topology topology.txt --scheme dcqcn
      fanin run --hpcc config.txt --series "10 us"
      fanin run --htsim tree.topo matrix.cm --scheme dcqcn
    """
    from fanin import htsim, limits
    from fanin.comparison import Comparison
    from fanin.hpcc import HpccJob, run_hpcc
    from fanin.runs import Job
    from fanin.runs import run as run_spec

    need(not show_finished or from_htsim, "--finished: these lines are htsim's; it goes with --htsim")
    need(not trace or from_hpcc, "--trace: this trace is that of the ns-3 HPCC simulator; it goes with --hpcc")
    need(series is None or from_hpcc, "--series: it goes with --hpcc; in a spec it is the key measure.series")
    need(not (from_hpcc and from_htsim), "--hpcc and --htsim: files are of one simulator")
    need(
        dialect is None or from_htsim or from_hpcc,
        "--dialect: it is of files of other simulators; it goes with --htsim or --hpcc",
    )
    need(topology is None or from_hpcc, "--topology: it is that of a configuration; it goes with --hpcc")
    need(not skip_unknown_keys or from_hpcc, "--skip-unknown-keys: these are a configuration's; it goes with --hpcc")
    need(not (show_finished and as_json), "--finished and --json: choose one")
    need(on in ("simulator", "wire"), f"--on {on}: it is simulator or wire")
    need(on == "simulator" or not (from_hpcc or from_htsim), "--on wire runs specs, no files of other simulators")
    _need_wire([on], clock, link)
    need(seed is None or seed < 2**63, f"--seed {seed}: too large, it is {2**63 - 1} or less")
    if from_hpcc and scheme is None and known_ideal(ideal) == "hpcc":
        ideal = None  # it has no other one
    load_all(load)
    changes = _changes(set_, balancing, discipline, allow_drops=allow_drops, ideal=ideal)
    scheme = known_scheme(scheme)
    memory = limits.memory(max_memory) if max_memory is not None else None
    time = limits.time(max_time) if max_time is not None else None
    if from_hpcc:
        need(len(files) == 1, f"{files[-1]}: --hpcc runs one configuration")
        need_kind(files[0], "hpcc")
        need(
            scheme is not None or not (changes or seed is not None),
            "--hpcc runs a configuration as it is: --set, --seed, --ideal, --allow-drops, --balancing and --discipline "
            "need a --scheme to go with them",
        )
        need(
            scheme is None or series is None,
            "--series: a run under --scheme is a spec's, which has --set 'measure.series=[...]' for it",
        )
        need(
            scheme is None or not trace,
            "--trace: a run under --scheme has no trace of that simulator; leave one of them out",
        )
        label = HpccJob(str(files[0]), ".", scheme=scheme, seed=seed).label
        place = folders.Place(out, folders.ROOT / (label + folders.changed(changes)), force=force)
        with stopping.stoppable():
            result = run_hpcc(
                files[0],
                trace=trace,
                scheme=scheme,
                set=changes,
                seed=seed,
                dialect=dialect,
                topology=topology,
                skip_unknown_keys=skip_unknown_keys,
                max_memory=memory,
                max_time=time,
                threads=threads,
                series=series,
            )
            with stopping.held():
                folder = place.keep(result, parquet=parquet)
                result = replace(result, label=folder.name)
                report(Comparison([result], result.cancelled), folder, as_json=as_json, threads=threads)
        return
    spec, told = _htsim(files, scheme, dialect) if from_htsim else (files[0], [])
    need(from_htsim or len(files) == 1, f"{files[-1]}: run takes one spec; compare runs it under several schemes")
    place = folders.Place(out, folders.of_run(Job.of(spec, changes).using(scheme, seed)), force=force)
    with stopping.stoppable():
        result = run_spec(
            spec,
            scheme=scheme,
            seed=seed,
            set=changes,
            max_memory=memory,
            max_time=time,
            threads=threads,
            on=on,
            clock=clock or "lockstep",
            link=link or "udp",
        )
        with stopping.held():
            folder = place.keep(result, parquet=parquet)
            result = replace(result, label=folder.name)
            if from_htsim:
                htsim.write_finished(result, folder)
            report(
                Comparison([result], result.cancelled),
                folder,
                as_json=as_json,
                threads=threads,
                lines=htsim.finished(result) if show_finished else None,
                told=told,
            )


def _changes(
    set_: list[str] | None, balancing: str | None, discipline: str | None, *, allow_drops: bool, ideal: str | None
) -> list[str]:
    """The changes of `--set`, and those that other options stand for."""
    changes = [*(set_ or ()), *policy_changes(balancing, discipline)]
    changes += ["measure.allow_drops=true"] if allow_drops else []
    return changes if known_ideal(ideal) is None else [*changes, f"measure.slowdown={ideal}"]


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SPEC", help="A spec, .toml or .json; or files of another simulator.", show_default=False
        ),
    ],
    schemes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Instead of the spec's compare.schemes; all: every scheme that makes sense there.",
            autocompletion=complete_scheme,
        ),
    ] = None,
    seeds_: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N", help="Runs per scheme, from the spec's seed on; or a list: 1,2,3."),
    ] = None,
    out: Out = None,
    parquet: Parquet = False,
    set_: Set = None,
    load: Load = None,
    force: Force = False,
    allow_drops: AllowDrops = False,
    ideal: Ideal = None,
    from_hpcc: Annotated[
        bool,
        typer.Option(
            "--hpcc",
            help="SPEC is a configuration of the ns-3 HPCC simulator, run on our network under each scheme; the scheme "
            "as-is is that simulator's own network.",
        ),
    ] = False,
    from_htsim: FromHtsim = False,
    dialect: Dialect = None,
    topology: Topology = None,
    skip_unknown_keys: SkipUnknownKeys = False,
    workers: Workers = None,
    on: Annotated[
        str,
        typer.Option("--on", metavar="WHERE", help="simulator; wire: see run; or simulator,wire: both, side by side."),
    ] = "simulator",
    clock: Clock = None,
    link: Link = None,
    balancing: Balancing = None,
    discipline: Discipline = None,
    threads: Threads = None,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    as_json: AsJson = False,
) -> None:
    """Run one spec under several schemes; print one table, draw one picture, leave a folder each.

    With several seeds each number is a mean with half of its 95 % confidence interval. With a --clock of real time one
    run is made after another, and if one is rejected there is no comparison.

    \b
    Examples:
      fanin compare examples/incast.toml
      fanin compare my.toml --schemes dart,dcqcn,hpcc --seeds 5
      fanin compare my.toml --schemes all
      fanin compare --hpcc config.txt --schemes as-is,hpcc,dcqcn
      fanin compare --htsim tree.topo matrix.cm --schemes hpcc,dcqcn
      fanin compare my.toml --schemes my_scheme.py:MyScheme,dcqcn
      fanin compare examples/wire/incast.toml --schemes dart --on simulator,wire
      fanin compare examples/wire/incast.toml --schemes dart --on simulator,wire --clock slowed:5000
      fanin compare my.toml --set "traffic.queries.load.share=0.3" --json
    """
    from fanin import limits
    from fanin.comparing import compare as compare_schemes
    from fanin.hpcc import AS_IS, HpccJob, compare_hpcc
    from fanin.runs import PLACES, Job

    options = [("--dialect", dialect), ("--topology", topology), ("--skip-unknown-keys", skip_unknown_keys or None)]
    for option, value in options:
        need(value is None or from_hpcc, f"{option}: it is of a configuration's files; it goes with --hpcc")
    load_all(load)
    changes = _changes(set_, balancing, discipline, allow_drops=allow_drops, ideal=ideal)
    memory = limits.memory(max_memory) if max_memory is not None else None
    time = limits.time(max_time) if max_time is not None else None
    each_seed = seeds(seeds_) if seeds_ is not None else None
    need(not (from_hpcc and from_htsim), "--hpcc and --htsim: files are of one simulator")
    need(
        dialect is None or from_htsim or from_hpcc,
        "--dialect: it is of files of other simulators; it goes with --htsim or --hpcc",
    )
    need(from_htsim or len(files) == 1, f"{files[-1]}: compare takes one spec, and several schemes with --schemes")
    spec = files[0]
    if from_hpcc:
        need_kind(spec, "hpcc")
        need(on == "simulator", "--on: a configuration of the ns-3 HPCC simulator runs in the simulator")
        _need_wire([on], clock, link)
        need(
            schemes is not None, "--hpcc: a configuration names no schemes to compare; add --schemes hpcc,dcqcn or all"
        )
        base = HpccJob(
            str(spec),
            ".",
            overrides=tuple(changes),
            dialect=dialect,
            topology=None if topology is None else str(topology),
        )
        of_config = schemes_of(schemes, lambda: base, (AS_IS,)) or []
        place = folders.Place(out, folders.ROOT / (spec.stem + folders.changed(changes)), force=force, within="a-run")
        with stopping.stoppable():
            compared = compare_hpcc(
                spec,
                of_config,
                [*range(1, each_seed + 1)] if isinstance(each_seed, int) else each_seed,
                set=changes,
                dialect=dialect,
                topology=topology,
                skip_unknown_keys=skip_unknown_keys,
                workers=workers,
                max_memory=memory,
                max_time=time,
                threads=threads,
            )
            _keep(compared, place, parquet=parquet, as_json=as_json, threads=threads)
        return
    source: SpecLike = spec
    told: list[str] = []
    if from_htsim:
        need(on == "simulator", "--on: htsim's files run in the simulator")
        need(schemes is not None, "--htsim: its files name no schemes to compare; add --schemes hpcc,dcqcn or all")
        # Every scheme replaces this one.
        source, told = _htsim(files, "none", dialect)
    each_scheme = schemes_of(schemes, lambda: Job.of(source, changes))
    places = on.split(",")
    need(
        {*places} <= {*PLACES} and len(places) == len({*places}),
        f"--on {on}: it is simulator, wire or simulator,wire",
    )
    _need_wire(places, clock, link)
    place = folders.Place(out, folders.of_spec(Job.of(source, changes)), force=force, within="a-run")
    with stopping.stoppable():
        compared = compare_schemes(
            source,
            each_scheme,
            each_seed,
            set=changes,
            workers=workers,
            max_memory=memory,
            max_time=time,
            threads=threads,
            on=places,
            clock=clock or "lockstep",
            link=link or "udp",
        )
        _keep(compared, place, parquet=parquet, as_json=as_json, threads=threads, told=told, finished=from_htsim)


def _keep(
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
        show(compared.table(folder))


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


def _need_wire(places: Sequence[str], clock: str | None, link: str | None) -> None:
    for name, given in (("--clock", clock), ("--link", link)):
        need(given is None or "wire" in places, f"{name}: it goes with --on wire")


def _htsim(files: Sequence[Path], scheme: str | None, dialect: str | None) -> tuple[SpecLike, list[str]]:
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
                show(compared.table(folder))
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
                "manifest": result.manifest,
                "summary": result.summary(),
            }
            for result in compared.results
        ],
    }

"""The command `fanin`. Exit codes: 0 well, 1 a run failed, 2 a spec or a command line is wrong, 130 after Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markdown import Markdown

import fanin
from fanin import _core, bench, gen, htsim, papers, table, validate
from fanin.compare import Comparison, load_comparison
from fanin.hpcc import HpccJob, run_hpcc
from fanin.result import RunError, check_target, is_run_folder
from fanin.run import Job, SpecLike

WRONG_SPEC = 2
FAILED = 1
INTERRUPTED = 130

app = typer.Typer(
    help="Packet-level simulation of datacenter congestion control.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(gen.app, name="gen")

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A spec, .toml or .json.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='Change one key of the spec, as "measure.window=10 ms"; repeatable.'
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where results go, instead of runs/NAME.")]
Parquet = Annotated[bool, typer.Option("--parquet", help="Write tables as Parquet instead of Arrow IPC.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left in --out DIR.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Runs the command line; each error is one readable message on stderr."""
    try:
        app(prog_name="fanin")
    except _core.SpecError as error:
        _fail(str(error), WRONG_SPEC)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), WRONG_SPEC)
    except FileExistsError as error:
        _fail(str(error), WRONG_SPEC)
    except (RunError, OSError) as error:
        _fail(str(error), FAILED)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)


@app.command()
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
    scheme: Annotated[str | None, typer.Option(help="Run all traffics under this scheme.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the spec's seed.")] = None,
    force: Force = False,
    from_hpcc: Annotated[
        bool, typer.Option("--hpcc", help="SPEC is an unchanged configuration of the ns-3 HPCC simulator.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="With --hpcc: also write its binary trace, trace.tr.")] = False,
    from_htsim: Annotated[
        bool, typer.Option("--htsim", help="SPEC is htsim's: [TOPO] CM, a fat tree and a connection matrix.")
    ] = False,
    show_finished: Annotated[
        bool, typer.Option("--finished", help="With --htsim: print its lines of finished flows instead of the summary.")
    ] = False,
) -> None:
    """Run one spec; print its summary and leave a run folder.

    With --hpcc, run a configuration of the ns-3 HPCC simulator on that simulator's own network; paths in it start at this
    folder, and fct.txt, pfc.txt and qlen.txt go into the run folder. With --hpcc and --scheme, its topology, flows, buffer
    and thresholds run on ours under that scheme, and leave fct.txt. With --htsim, run htsim's files on ours.
    """
    if show_finished and not from_htsim:
        _fail("--finished: these lines are htsim's; it goes with --htsim", WRONG_SPEC)
    if trace and not from_hpcc:
        _fail("--trace: this trace is that of the ns-3 HPCC simulator; it goes with --hpcc", WRONG_SPEC)
    if from_hpcc and from_htsim:
        _fail("--hpcc and --htsim: files are of one simulator", WRONG_SPEC)
    if from_hpcc:
        if len(files) > 1:
            _fail(f"{files[1]}: --hpcc runs one configuration", WRONG_SPEC)
        if scheme is None and (set_ or seed is not None):
            _fail("--hpcc runs a configuration as it is: --set and --seed need a --scheme to go with it", WRONG_SPEC)
        if scheme is not None and trace:
            _fail("--trace: a run under --scheme has no trace of that simulator; leave one of both out", WRONG_SPEC)
        folder = out or Path("runs") / HpccJob(str(files[0]), ".", scheme=scheme, seed=seed).label
        force = force or out is None
        check_target(folder, force=force)
        result = run_hpcc(files[0], trace=trace, scheme=scheme, set=set_ or (), seed=seed)
        result.save(folder, parquet=parquet, force=force)
        _report(Comparison([result], result.cancelled), folder)
        return
    spec = _htsim(files, scheme) if from_htsim else _one_spec(files)
    job = Job.of(spec, set_ or ()).using(scheme, seed)
    folder = out or default_folder(job) / job.label
    force = force or out is None
    check_target(folder, force=force)
    result = fanin.run(spec, scheme=scheme, seed=seed, set=set_ or ())
    result.save(folder, parquet=parquet, force=force)
    if from_htsim:
        htsim.write_finished(result, folder)
    _report(Comparison([result], result.cancelled), folder, htsim.finished(result) if show_finished else None)


@app.command()
def compare(
    spec: SpecFile,
    schemes: Annotated[str | None, typer.Option(metavar="A,B", help="Instead of the spec's compare.schemes.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="1,2,3", help="Run each scheme under each of these.")] = None,
    out: Out = None,
    parquet: Parquet = False,
    set_: Set = None,
    force: Force = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at once; one per processor by default.")] = None,
) -> None:
    """Run one spec under several schemes; print one table, draw one picture."""
    folder = out or default_folder(Job.of(spec, set_ or ()))
    if out is not None and not force and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out}: exists; choose another folder or allow replacing runs in it with --force")
    compared = fanin.compare(
        spec,
        _names(schemes) if schemes is not None else None,
        _numbers(seeds) if seeds is not None else None,
        set=set_ or (),
        workers=workers,
    )
    if not compared.results:
        _fail("cancelled before anything had run", INTERRUPTED)
    compared.save(folder, parquet=parquet, force=True)
    _report(compared, folder)


@app.command("bench")
def bench_command(
    case: Annotated[list[str] | None, typer.Option(help="Only this case; repeatable.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of one run.")] = 1,
    repeat: Annotated[int, typer.Option(min=1, help="Runs per case; the one of median time is shown.")] = 1,
    scale: Annotated[float, typer.Option(min=0.0, help="Makes the cases shorter (below 1) or longer.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Measure packet-hops per second on fixed cases, each in a process of its own."""
    known = bench.cases()
    unknown = [name for name in case or () if name not in known]
    if unknown:
        _fail(f"no benchmark case {unknown[0]}; the cases are {', '.join(known)}", WRONG_SPEC)
    records = []
    for record in bench.measure(case or list(known), threads=threads, scale=scale, repeat=repeat):
        records.append(record)
        if not as_json:
            _stderr().print(f"{record['case']}: {known[record['case']]}", highlight=False, markup=False)
    if as_json:
        print(json.dumps(records, indent=2))
    else:
        _stdout().print(bench.table(records))


@app.command("validate")
def validate_command(
    golden: Annotated[
        Path, typer.Argument(metavar="DIR", help="configs/, micro/ and traces/ with that simulator's results.")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where pictures and rows go.")] = None,
    as_json: AsJson = False,
) -> None:
    """Hold our results against those of the ns-3 HPCC simulator, flow by flow, and draw both."""
    rows, others = validate.validate(golden, out)
    if as_json:
        exact = [asdict(row) | {"within": row.within} for row in rows]
        print(json.dumps({"exact": exact, "beside": [asdict(row) for row in others]}, indent=2))
    else:
        _stdout().print(validate.table(rows))
        if others:
            _stdout().print(validate.beside_table(others))
    if not all(row.within for row in rows):
        raise typer.Exit(FAILED)


@app.command()
def paper(
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures and numbers go.")] = Path("runs/papers"),
    specs: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the papers' specs.")] = Path("papers"),
    quick: Annotated[
        bool, typer.Option(help="A short version, to see that it runs; its numbers prove nothing.")
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at once; one per processor by default.")] = None,
) -> None:
    """Run experiments of the papers: a picture each, and our numbers beside the paper's. Without an ID, list them."""
    known = papers.experiments()
    if not names:
        _stdout().print(table.plain(["experiment", "what it shows"], [[e.id, e.title] for e in known.values()]))
        return
    names = list(known) if names == ["all"] else names
    for name in names:
        if name not in known:
            _fail(f"no experiment {name}; the experiments are {', '.join(known)}, and all", WRONG_SPEC)
    for name in names:
        studied = papers.study(known[name], specs, quick=quick, workers=workers or os.cpu_count() or 1)
        if not studied.complete:
            _fail(f"{name}: stopped; nothing was written", INTERRUPTED)
        _stdout().print(table.claims(studied))
        for path in studied.save(out):
            _stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def explain(scheme: Annotated[str, typer.Argument(metavar="SCHEME", show_default=False)]) -> None:
    """Show the manual of a scheme: its idea, control law, parameters and sources."""
    for row in _core.schemes():
        if row["id"] == scheme:
            _stdout().print(Markdown(row["manual"]) if sys.stdout.isatty() else row["manual"], markup=False)
            return
    known = [row["id"] for row in _core.schemes()]
    _fail(f"no scheme {scheme}; the schemes are {', '.join(known)}", WRONG_SPEC)


@app.command()
def schemes() -> None:
    """List the schemes."""
    files = {row["file"]: row for row in _core.schemes()}
    rows = [[", ".join(row["presets"]), table.manual_title(row["manual"])] for row in files.values()]
    _stdout().print(table.plain(["scheme", "what it is"], rows))


@app.command()
def schema() -> None:
    """Print the JSON schema of specs."""
    print(_core.schema())


@app.command()
def check(
    spec: SpecFile,
    set_: Set = None,
    scheme: Annotated[str | None, typer.Option(help="As if all traffics had this scheme.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the spec with every default shown.")] = False,
) -> None:
    """Check a spec without running it."""
    resolved = Job.of(spec, set_ or ()).using(scheme, None).resolve()
    if as_json:
        print(json.dumps(resolved, indent=2))
    else:
        print(f"{spec}: ok, {fanin.spec.describe(resolved)}")


@app.command()
def show(folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False)]) -> None:
    """Print the table of a run folder or of a comparison again."""
    if is_run_folder(folder):
        result = fanin.load(folder)
        _print(Comparison([result], result.cancelled))
    else:
        _print(load_comparison(folder))


@app.command()
def version() -> None:
    """Print the version."""
    print(fanin.__version__)


def default_folder(job: Job) -> Path:
    """`runs/NAME`, after the spec's name."""
    name = re.sub(r"[^a-z0-9]+", "-", str(job.resolve()["name"]).lower()).strip("-")
    return Path("runs") / (name or "unnamed")


def _one_spec(files: list[Path]) -> Path:
    if len(files) > 1:
        _fail(f"{files[1]}: run takes one spec; compare runs it under several schemes", WRONG_SPEC)
    return files[0]


def _htsim(files: list[Path], scheme: str | None) -> SpecLike:
    if len(files) > 2:
        _fail(f"{files[2]}: --htsim takes a .topo file and a .cm file, or a .cm file alone", WRONG_SPEC)
    if scheme is None:
        _fail("--htsim: its files name no scheme; add one, like --scheme dcqcn", WRONG_SPEC)
    *topo, matrix = files
    made = htsim.read(matrix, topo[0] if topo else None, scheme=scheme)
    for warning in made.warnings:
        _stderr().print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    return made.spec


def _report(compared: Comparison, folder: Path, lines: list[str] | None = None) -> None:
    """Prints what came out, or lines instead, and where it lies; exits as it went."""
    if lines is None:
        _print(compared)
    for line in lines or ():
        print(line)
    _stdout().print(f"results: {folder}", highlight=False, markup=False, soft_wrap=True)
    for warning in compared.warnings:
        _stderr().print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    for error in compared.errors:
        _stderr().print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
    if compared.cancelled:
        raise typer.Exit(INTERRUPTED)
    if compared.errors:
        raise typer.Exit(FAILED)


def _print(compared: Comparison) -> None:
    _stdout().print(compared.table())


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise _core.SpecError("--schemes: names no scheme; write it like --schemes dcqcn,none")
    return names


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise _core.SpecError(
            f"--seeds: {text!r} is not a list of whole numbers; write it like --seeds 1,2,3"
        ) from None


def _stdout() -> Console:
    return Console(highlight=False)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)


def _fail(message: str, code: int) -> NoReturn:
    for line in message.splitlines():
        print(f"error: {line}", file=sys.stderr)
    raise SystemExit(code)

"""The command line: `python -m bench --help`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import budget, callgrind, graphs, jobs, peers, profile, report, side_by_side, speed, stages
from bench.scenarios import CASES
from fanin import bench
from fanin._core import SpecError
from fanin.run_folder import RunError

HERE = Path(__file__).parent
app = typer.Typer(
    help="Measurements of this checkout.", no_args_is_help=True, rich_markup_mode=None, add_completion=False
)


@app.command("side-by-side")
def side_by_side_command(
    ns3: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM",
            help="The built ns-3 HPCC simulator: the program that takes a configuration. Its libraries must be found "
            "(LD_LIBRARY_PATH).",
        ),
    ] = None,
    htsim: Annotated[
        Path | None,
        typer.Option(metavar="DIR|PROGRAM", help="The folder with htsim_hpcc and htsim_roce, or one of them."),
    ] = None,
    uec: Annotated[
        Path | None, typer.Option(metavar="PROGRAM", help="The built uet-htsim: its program htsim_uec.")
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Topologies and flows to use, with the names of `--list`, instead of making them."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="CASE", help="Only this case, or all that begin so, like s1; repeatable."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the one of least user CPU counts.")] = 3,
    scale: Annotated[float, typer.Option(min=1e-6, max=1.0, help="Makes all shorter.")] = 1.0,
    work: Annotated[Path, typer.Option(metavar="DIR", help="Where files of the runs lie.")] = HERE / "work",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where side-by-side.json goes.")] = HERE / "results",
    doc: Annotated[
        bool, typer.Option("--doc", help="Write the section and the picture of docs/performance.md, too.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="Only say which cases there are, and which files they read.")
    ] = False,
) -> None:
    """Fanin and other packet simulators on the same networks and flows: user CPU of the event loop for each
    packet-hop."""
    if listed:
        for one in CASES.values():
            print(f"{one.id}: {one.workload.about}; {one.workload.topology}, {one.workload.flows}")
        return
    if doc and scale != 1.0:
        raise RunError("--doc is about cases as they are; leave --scale out")
    others: list[peers.Peer] = []
    if ns3 is not None:
        others.append(peers.Ns3(ns3.resolve()))
    if htsim is not None:
        others.append(peers.Htsim(htsim.resolve()))
    cases = side_by_side.named(case or list(CASES))
    if any(one.uec for one in cases):
        others.append(peers.Uec())
    if uec is not None:
        others.append(peers.Uec(uec.resolve()))
    to_stderr = Console(stderr=True, soft_wrap=True)
    on_one_core()
    measured = side_by_side.measure(
        cases,
        others,
        work,
        given=inputs,
        scale=scale,
        repeat=repeat,
        say=lambda text: to_stderr.print(text, highlight=False, markup=False),
    )
    if case and (out / report.SIDE_BY_SIDE).exists():
        measured = side_by_side.joined(side_by_side.load(out / report.SIDE_BY_SIDE), measured)
    side_by_side.save(measured, out / report.SIDE_BY_SIDE)
    Console(width=None if sys.stdout.isatty() else 200).print(side_by_side.table(measured), highlight=False)
    print(f"inputs {measured['inputs'] or 'none'}; written to {out / report.SIDE_BY_SIDE}")
    if doc:
        report.write()
    if measured["problems"]:
        raise typer.Exit(1)


@app.command("speed")
def speed_command(
    case: Annotated[
        list[str] | None, typer.Option(metavar="CASE", help="Only this case of `fanin bench`; repeatable.")
    ] = None,
    threads: Annotated[int, typer.Option(min=2, help="Threads beside one.")] = 2,
    repeat: Annotated[int, typer.Option(min=1, help="Pairs of runs of each; the medians count.")] = 5,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="On a shared machine, repeat a case for at most so long until as many pairs were undisturbed.",
        ),
    ] = 0,
    scale: Annotated[float, typer.Option(min=1e-6, help="Makes all shorter or longer.")] = 0.5,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where speed.json goes.")] = HERE / "results",
    doc: Annotated[bool, typer.Option("--doc", help="Write the section of docs/performance.md, too.")] = False,
) -> None:
    """Packet-hops per second of each case of the benchmark, alternately on one thread and on many."""
    if doc and case:
        raise RunError("--doc is about all cases; leave --case out")
    to_stderr = Console(stderr=True, soft_wrap=True)
    measured = speed.measure(
        case or [name for name in bench.cases() if name != bench.PYTHON],
        threads=threads,
        scale=scale,
        repeat=repeat,
        patience=patience,
        say=lambda text: to_stderr.print(text, highlight=False, markup=False),
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / report.SPEED).write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    if doc:
        report.write()


@app.command("budget")
def budget_command(
    case: Annotated[
        list[str] | None, typer.Option(metavar="CASE", help="Only this case of `fanin bench`, or a,b,c; repeatable.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT", help="Count this commit, too, as what is held beside; else that stays as it was."
        ),
    ] = None,
    work: Annotated[Path, typer.Option(metavar="DIR", help="Where another commit is built.")] = HERE / "work",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where budget.json goes.")] = HERE / "results",
    doc: Annotated[bool, typer.Option("--doc", help="Write the section of docs/performance.md, too.")] = False,
) -> None:
    """Instructions, cache lines and mispredicted branches of a packet-hop by stage, counted under callgrind."""
    need = callgrind.missing()
    if need:
        raise RunError(need)
    cases = budget.named(case or [])
    path = out / report.BUDGET
    to_stderr = Console(stderr=True, soft_wrap=True)

    def say(text: str) -> None:
        to_stderr.print(text, highlight=False, markup=False)

    counted = budget.load(path)
    if before:
        if before != counted["before_commit"]:
            counted["before"] = {}
        counted["before"] |= budget.measure_commit(before, cases, work, say)
        counted["before_commit"] = before
    counted["after"] |= budget.measure(callgrind.build(), cases, say)
    budget.save(counted, path)
    print(budget.section(path))
    print(f"\nwritten to {path}")
    if doc:
        report.write()


@app.command("stages")
def stages_command(
    run: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Only this run, like 128 hosts; repeatable.")
    ] = None,
    small: Annotated[int, typer.Option(min=2, help="How many small runs.")] = 2000,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where stages.json goes.")] = HERE / "results",
    doc: Annotated[bool, typer.Option("--doc", help="Write the section of docs/performance.md, too.")] = False,
) -> None:
    """Where the time of a whole `fanin run` goes, and what many small runs cost besides the simulations."""
    if doc and run:
        raise RunError("--doc is about all runs; leave --run out")
    for name in run or ():
        if name not in stages.RUNS:
            raise RunError(f"--run {name}: there is no such run; the runs are {', '.join(stages.RUNS)}")
    say = Console(stderr=True, soft_wrap=True).print
    measured = stages.measure(list(run or stages.RUNS), say, small)
    path = out / report.STAGES
    path.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(f"{stages.section(path)}\n\nwritten to {path}")
    if doc:
        report.write()


@app.command("graphs")
def graphs_command(
    work: Annotated[Path, typer.Option(metavar="DIR", help="Where files of the runs lie.")] = HERE / "work" / "graphs",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where graphs.json goes.")] = HERE / "results",
    doc: Annotated[bool, typer.Option("--doc", help="Write the section of docs/performance.md, too.")] = False,
) -> None:
    """What it costs that messages wait for each other: a ring all-reduce beside the same messages as a list, and
    posted by a program in C."""
    need = callgrind.missing()
    if need:
        raise RunError(need)
    graphs.save(graphs.measure(work), out / report.GRAPHS)
    print(graphs.section(out / report.GRAPHS))
    if doc:
        report.write()


@app.command("jobs")
def jobs_command(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help=f"Only this: {', '.join(jobs.JOBS)}.")
    ] = None,
    threads: Annotated[
        list[int] | None, typer.Option("--threads", help="On so many threads; may be repeated (default: 1 and 2).")
    ] = None,
    work: Annotated[Path, typer.Option(metavar="DIR", help="Where files of the runs lie.")] = HERE / "work" / "jobs",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where jobs.json goes.")] = HERE / "results",
    doc: Annotated[bool, typer.Option("--doc", help="Write the section of docs/performance.md, too.")] = False,
) -> None:
    """What large jobs of AI clusters cost: a ring of 1,024 ranks and a training step. Takes a quarter of an hour."""
    for name in only or ():
        if name not in jobs.JOBS:
            raise RunError(f"--only {name}: there is no such job; the jobs are {', '.join(jobs.JOBS)}")
    say = Console(stderr=True, soft_wrap=True).print
    path = out / report.JOBS
    jobs.save(jobs.measure(only or list(jobs.JOBS), threads or [1, 2], work, say), path)
    print(jobs.section(path))
    if doc:
        report.write()


@app.command("profile")
def profile_command() -> None:
    """Renew the compiler's profile, for the next build: with the cases of `fanin bench` and short runs of every
    scheme."""
    to_stderr = Console(stderr=True, soft_wrap=True)
    made = profile.make(lambda text: to_stderr.print(text, highlight=False, markup=False))
    print(f"{made}: {made.stat().st_size / 1e3:,.0f} kB; `make setup` builds with it")


@app.command("doc")
def doc_command() -> None:
    """Renew docs/performance.md and its pictures from the latest measurements."""
    report.write()


def on_one_core() -> None:
    """Binds this process, and all that it starts, to one core, so that none uses more or migrates while it is timed."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main() -> None:
    """Runs a command; errors of the user are one line."""
    try:
        app(prog_name="python -m bench")
    except (RunError, SpecError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

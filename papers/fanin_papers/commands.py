"""Commands about the papers: `paper`, `claims`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin.cli import (
    FAILED,
    INTERRUPTED,
    WRONG_SPEC,
    AsJson,
    AtOnce,
    CommandError,
    Workers,
    emit,
    grouped,
    meant,
    need,
    show,
    stderr,
    stdout,
    stoppable,
    warn,
)
from fanin_papers import SPECS
from fanin_papers.claims import PAPERS, VERDICTS

if TYPE_CHECKING:
    from fanin_papers.experiment import Experiment, Measures, Study

OVERVIEW = "overview"
"""The experiment that is no paper's: see `fanin_papers.overview`."""

MATRIX = "matrix"
"""Every scheme on every paper's home ground: see `fanin_papers.matrix`."""

KEPT = ".finished"
"""Below the folder of results: the measurements of finished runs."""

QUICK_HOPS = 60_000_000
"""Packet-hops of an experiment that `claims --check quick` runs: about 5 s on one core at most."""

Papers = Annotated[
    list[str] | None,
    typer.Option("--paper", metavar="NAME", help="Only this paper: dart, dctcp, hpcc or rcc; repeatable."),
]


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("paper")(grouped(paper))
    app.command("claims")(claims_command)


def paper(
    at_once: AtOnce,
    names: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="N", help="What draws this figure, as 11a; repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures and numbers go.")] = Path("runs/papers"),
    specs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the papers' specs, instead of Fanin's own.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="A short version, to test that it runs; its numbers prove nothing.")
    ] = False,
    again: Annotated[bool, typer.Option(help="Run also what has been run before and is unchanged.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run experiments of the papers: a picture each, and our numbers beside the paper's. Without an ID, list them.

    An ID is that of an experiment, the name of a paper (dart, dctcp, hpcc, rcc) for all of its experiments, or all.
    Finished runs are kept: after Ctrl-C the same command goes on, and an unchanged experiment is not run again. The
    longest runs go first, so a list of experiments keeps all processors busy.
    overview runs every scheme in the same few scenarios and writes a page of tables; matrix runs every scheme on every
    paper's home ground, at two loads.

    \b
    Examples:
      fanin paper
      fanin paper dctcp-fig14 --out runs/papers
      fanin paper rcc
      fanin paper dart --figure 11a
      fanin paper overview
      fanin paper matrix
      fanin paper all
    """
    from fanin_papers import tables

    if not names and not figure:
        _list(as_json=as_json)
        return
    experiments = chosen(names or [], figure or [])
    folder = SPECS if specs is None else specs
    need(folder.is_dir(), f"--specs {folder}: there is no such folder")
    keep = None if again else out / KEPT
    workers, dask = at_once.workers, at_once.dask
    studies = {}

    def take(study: Study) -> None:
        saved = study.save(out)
        studies[study.experiment.id] = study.record()
        if as_json:
            return
        show(tables.study(study))
        for path in saved:
            stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)

    _campaign(experiments, folder, take, quick=quick, keep=keep, workers=workers, dask=dask)
    pages: dict[str, list[Path]] = {}
    if OVERVIEW in (names or []) or names == ["all"]:
        pages[OVERVIEW] = _overview(
            folder, out, quick=quick, workers=workers or os.cpu_count() or 1, tables=not as_json
        )
    if MATRIX in (names or []) or names == ["all"]:
        pages[MATRIX] = _matrix(folder, out, quick=quick, keep=keep, workers=workers, dask=dask)
    if as_json:
        written = [{"id": name, "files": [str(path) for path in paths]} for name, paths in pages.items()]
        emit([*(studies[one.id] for one in experiments), *written])
        return
    for path in (path for paths in pages.values() for path in paths):
        stdout().print(f"written: {path}", highlight=False, markup=False, soft_wrap=True)


def _list(*, as_json: bool) -> None:
    """Prints the experiments that there are."""
    from fanin import table
    from fanin_papers.catalogue import EXPERIMENTS

    if as_json:
        emit([{"id": one.id, "title": one.title, "spec": one.spec} for one in EXPERIMENTS.values()])
        return
    listed = [[one.id, one.title] for one in EXPERIMENTS.values()]
    listed += [[OVERVIEW, "every scheme in the same scenarios"], [MATRIX, "every scheme on every paper's home ground"]]
    show(table.plain(["experiment", "what it shows"], listed))


def chosen(names: Sequence[str], figures: Sequence[str]) -> list[Experiment]:
    """The experiments of these ids, papers and figures; raises for one that is not there."""
    from fanin_papers.catalogue import EXPERIMENTS

    known = EXPERIMENTS
    words = [*known, *PAPERS, OVERVIEW, MATRIX, "all"]
    for name in names:
        if name not in words:
            raise CommandError(f"{name}: there is no such experiment or paper{meant(name, words)}", WRONG_SPEC)
    found = {
        id_: one
        for id_, one in known.items()
        if "all" in names or id_ in names or one.paper in names or (figures and not names)
    }
    for figure in figures:
        its = [one.paper for one in found.values() if one.draws(figure)]
        if not its:
            there = ", ".join(found) or "none"
            raise CommandError(f"--figure {figure}: no experiment draws it; those there are: {there}", WRONG_SPEC)
        if len(set(its)) > 1:
            text = f"--figure {figure}: more than one paper has it; name one: fanin paper {its[0]} --figure {figure}"
            raise CommandError(text, WRONG_SPEC)
    return [one for one in found.values() if not figures or any(one.draws(figure) for figure in figures)]


def _campaign(
    experiments: Sequence[Experiment],
    specs: Path,
    take: Callable[[Study], None],
    *,
    quick: bool = False,
    keep: Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    readings: bool = True,
) -> None:
    """Runs experiments, and hands over the study of each as soon as it is complete; raises after Ctrl-C."""
    from fanin import jobs
    from fanin_papers.campaign import Campaign

    need(dask is None or workers is None, "--workers and --dask: the cluster's workers say how many runs go on at once")
    plan = Campaign(experiments, specs, quick=quick, keep=keep, readings=readings)
    cluster = jobs.dask(dask, warn) if dask is not None else nullcontext[Executor | None](None)
    count = workers or os.cpu_count() or 1
    if plan.runs and not quick and dask is None:
        text = f"{plan.runs:,} runs, about {_clock(plan.seconds(count))} on {count} cores"
        stderr().print(text, highlight=False, markup=False, soft_wrap=True)
    with stoppable(), cluster as executor:
        complete = plan.run(take, workers=count, executor=executor)
    if not complete:
        raise CommandError("stopped; finished runs are kept, and the same command goes on from there", INTERRUPTED)


def _clock(seconds: float) -> str:
    """Hours and minutes."""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _overview(specs: Path, out: Path, *, quick: bool, workers: int, tables: bool) -> list[Path]:
    """Runs every scheme in the overview's scenarios and writes its page, whose path it returns; prints the tables."""
    from fanin_papers import overview

    parts = []
    for scenario in overview.SCENARIOS:
        with stoppable():
            part = overview.run_part(scenario, specs, quick=quick, workers=workers)
        if part is None:
            raise CommandError(f"{OVERVIEW}: stopped; nothing was written", INTERRUPTED)
        if tables:
            show(part.text())
        parts.append(part)
    out.mkdir(parents=True, exist_ok=True)
    page = out / "overview.md"
    page.write_text(overview.page(parts), encoding="utf-8")
    return [page]


def _matrix(
    specs: Path, out: Path, *, quick: bool, keep: Path | None, workers: int | None, dask: str | None
) -> list[Path]:
    """Runs the matrix, and writes its picture, its tables and its numbers; returns their paths."""
    from fanin_papers import matrix, matrix_page
    from fanin_papers.pictures import write

    grounds = matrix.GROUNDS
    found: dict[str, Measures] = {}

    def take(study: Study) -> None:
        found[study.experiment.id.removeprefix("matrix-")] = study.measures

    _campaign(matrix_page.experiments(), specs, take, quick=quick, keep=keep, workers=workers, dask=dask)
    out.mkdir(parents=True, exist_ok=True)
    changed = {one.id: found.get(f"causes-{one.id}", {}) for one in grounds}
    picture, page = out / "matrix.png", out / "matrix.md"
    write(matrix_page.draw(grounds, found), picture, dpi=110)
    page.write_text(matrix_page.page(grounds, found, changed), encoding="utf-8")
    return [picture, page]


def claims_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    papers: Papers = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option("--verdict", metavar="VERDICT", help=f"Only these: {', '.join(VERDICTS)}; repeatable."),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What becomes of the claims under this reading of what a paper leaves open; ? lists all.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="quick|all", help="Run the experiments again, quick: the short ones, and compare every verdict."
        ),
    ] = None,
    as_json: AsJson = False,
    workers: Workers = None,
) -> None:
    """Show what the papers claim beside what was measured here: totals; with --paper or --verdict, claim by claim; with
    an ID, all about it.

    holds: by the claim's own criterion; depends: only under one reading of what the paper leaves open; close: by the
    rule of margins; calibrated: a free parameter was fitted to it.
    --check runs experiments again and exits with 1 if a verdict is not the one that is recorded.

    \b
    Examples:
      fanin claims
      fanin claims --paper dart --verdict differs
      fanin claims dctcp-fig14-queue
      fanin claims --reading "PFC by rate"
      fanin claims --check quick
    """
    from fanin_papers import claims as of
    from fanin_papers import tables

    if check is not None:
        _check(check, papers or [], workers, as_json=as_json)
        return
    if reading is not None:
        _reading(reading, as_json=as_json)
        return
    known = {claim.id: claim for claim in of.claims()}
    for name in ids or []:
        need(name in known, f"{name}: there is no such claim{meant(name, list(known))}")
    for name in papers or []:
        names = {claim.paper for claim in known.values()}
        need(name in names, f"--paper {name}: there is no such paper; there are {', '.join(sorted(names))}")
    for name in verdicts or []:
        need(name in VERDICTS, f"--verdict {name}: there is no such verdict; there are {', '.join(VERDICTS)}")
    chosen = [
        claim
        for claim in known.values()
        if (not ids or claim.id in ids)
        and (not papers or claim.paper in papers)
        and (not verdicts or claim.verdict in verdicts)
    ]
    if as_json:
        emit([asdict(claim) | {"commands": claim.commands} for claim in chosen])
        return
    if ids:
        for claim in chosen:
            show(tables.claim(claim))
        return
    if papers or verdicts:
        show(tables.all_claims(chosen))
        return
    show(tables.counts(chosen))
    text = (
        "--paper NAME and --verdict VERDICT list claims, an ID shows one whole, --reading ? what the papers leave open"
    )
    stdout().print(text, highlight=False, markup=False, soft_wrap=True)


def _reading(name: str, *, as_json: bool) -> None:
    """Shows the verdicts under a reading beside those of the one used elsewhere; `?` lists the readings."""
    from fanin_papers import claims as of
    from fanin_papers import tables

    known = of.readings()
    if name == "?":
        if as_json:
            emit([asdict(one) for one in known.values()])
        else:
            show(tables.readings(list(known.values())))
        return
    need(
        name in known,
        f"--reading {name}: there is no such reading{meant(name, list(known))}; there are {', '.join(known)}",
    )
    found = of.under_reading(known[name])
    if as_json:
        emit(
            {**asdict(known[name]), "claims": {id_: {"used": used, "under": its} for id_, (used, its) in found.items()}}
        )
        return
    show(tables.reading(known[name], found))


def _check(which: str, papers: Sequence[str], workers: int | None, *, as_json: bool) -> None:
    """Runs experiments again in full and compares the verdicts of their rows with the recorded ones; the short ones
    only under the reading used elsewhere."""
    from fanin_papers import claims as of
    from fanin_papers.catalogue import EXPERIMENTS

    need(which in ("quick", "all"), f"--check {which}: quick or all")
    recorded = of.measured()
    if which == "quick":
        recorded = {name: of.without_readings(record) for name, record in recorded.items()}
    chosen = [
        one
        for one in EXPERIMENTS.values()
        if (not papers or one.paper in papers)
        and one.id in recorded
        and (which == "all" or (0 < recorded[one.id].get("packet_hops", 0) <= QUICK_HOPS and not one.on_wire))
    ]
    changed: list[dict[str, str]] = []

    def take(study: Study) -> None:
        changed.extend(of.changes(recorded[study.experiment.id], study.record()))

    _campaign(chosen, SPECS, take, workers=workers, readings=which == "all")
    rows = sum(len(recorded[one.id]["rows"]) for one in chosen)
    if as_json:
        emit({"experiments": [one.id for one in chosen], "rows": rows, "changed": changed})
    else:
        for row in changed:
            text = f"{row['claim']}, {row['what']}: {row['before']} ({row['ours_before']}), "
            text += f"now {row['now']} ({row['ours']})"
            stdout().print(text, highlight=False, markup=False, soft_wrap=True)
        stdout().print(f"{len(chosen)} experiments, {rows} verdicts, {len(changed)} changed", highlight=False)
    if changed:
        raise typer.Exit(FAILED)

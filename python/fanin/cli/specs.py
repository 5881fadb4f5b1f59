"""Commands about specs and schemes: `new`, `check`, `explain`, `schemes`, `schema`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanin import _core, own_schemes
from fanin.cli.common import (
    WRONG_SPEC,
    CommandError,
    check_image,
    complete_scheme,
    emit,
    few,
    is_terminal,
    known_scheme,
    load_all,
    loaded_ids,
    meant,
    meant_scheme,
    need,
    need_kind,
    show,
    stdout,
    warn,
)
from fanin.cli.options import AsJson, FromHpcc, Groups, HpccFiles, Load, OneScheme, Set, SpecFile, UecOptions, grouped
from fanin.run_folder import put_text

if TYPE_CHECKING:
    from fanin import graphs
    from fanin.hpcc import HpccJob
    from fanin.uec import UecJob


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""
    app.command("new")(new)
    app.command("check")(grouped(check))
    app.command("explain")(grouped(explain))
    app.command("schemes")(schemes)
    app.command("schema")(schema)


def new(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Where to write it; standard output by default.", show_default=False),
    ] = None,
    like: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What it is like.",
            autocompletion=lambda: list(_templates()),
        ),
    ] = "incast",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, which has no comments.")] = False,
) -> None:
    """Write a commented spec to start from.

    \b
    Examples:
      fanin new my.toml
      fanin new --like web-search
      fanin new --like fairness --json my.json
    """
    known = _templates()
    if like not in known:
        raise CommandError(f"--like {like}: there is no such spec{meant(like, list(known))}", WRONG_SPEC)
    text = known[like].read_text(encoding="utf-8")
    if as_json:
        import tomllib

        text = json.dumps(tomllib.loads(text), indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    kind = ".json" if as_json else ".toml"
    if file.suffix != kind:
        raise CommandError(f"{file}: {'with --json' if as_json else 'without --json'} it is a {kind} file", WRONG_SPEC)
    if file.exists() and not force:
        raise FileExistsError(f"{file}: exists; choose another file or allow replacing it with --force")
    put_text(file, text)
    print(f"written: {file}; what it is about: fanin explain {file}", file=sys.stderr)


@dataclass(frozen=True)
class OfGraphs:
    """How a schedule or traces are explained."""

    loggp: Annotated[
        str | None,
        typer.Option("--loggp", metavar="L=NS,...", help="When each rank of a schedule has finished by LogGOPS."),
    ] = None

    groups: Groups = None


@dataclass(frozen=True)
class OtherFiles(HpccFiles):
    """Files of another simulator, and how they are read."""

    from_hpcc: FromHpcc = False
    from_uec: Annotated[bool, typer.Option("--uec", help="SPEC is a connection matrix of uet-htsim.")] = False
    uec_options: UecOptions = ""

    def job(self, file: Path, scheme: str | None, changes: list[str] | None) -> HpccJob | UecJob | None:
        """The file as one of that simulator; None for a spec."""
        need(not (self.from_hpcc and self.from_uec), "--hpcc and --uec: files are of one simulator")
        need(self.from_uec or not self.uec_options, "--uec-options: these are uet-htsim's; it goes with --uec")
        if self.from_uec:
            from fanin.uec import UecJob

            need(scheme is None and not changes, "--uec: a connection matrix runs as it is, without --set and --scheme")
            need_kind(file, "htsim")
            return UecJob.of(file, self.topology, self.uec_options)
        if self.from_hpcc:
            from fanin.hpcc import HpccJob

            scheme = known_scheme(scheme)
            need(
                scheme is not None or not changes,
                "--hpcc: a configuration runs as it is; --set changes the spec made of it, and needs a --scheme to go "
                "with it",
            )
            need_kind(file, "hpcc")
            reading = (self.dialect, self.topology, self.skip_unknown_keys)
            return HpccJob.of(file, ".", changes or (), *reading).using(scheme, None)
        return None


def check(
    spec: SpecFile,
    of: OtherFiles,
    set_: Set = None,
    scheme: OneScheme = None,
    load: Load = None,
    groups: Groups = None,
    as_json: AsJson = False,
) -> None:
    """Check a spec without running it, and warn as a run would. With --json, print it with every default shown.

    With --hpcc, check a configuration of the ns-3 HPCC simulator and the files that it names, on that simulator's own
    network, or with --scheme on ours. With --uec, check a connection matrix of uet-htsim, its --topology and its
    --uec-options.

    Of a GOAL schedule (.goal, .bin), of the Chakra traces of all ranks given the one of any (.et), of a workload of
    SimAI, of a flow table of SimCCL, or of an algorithm of MSCCL (.xml), find what could not run: nodes that wait for
    each other, receives without a send, sizes and collectives that differ.

    \b
    Examples:
      fanin check my.toml
      fanin check my.toml --scheme dart --json
      fanin check --hpcc config.txt
      fanin check step.goal
      fanin check trace.0.et
      fanin check trace.0.et --groups groups.json
      fanin check --uec matrix.cm --topology tree.topo --uec-options "-paths 128"
    """
    from fanin import graphs

    if graphs.is_one(spec):
        _need_plain(spec, set_, scheme)
        ranks, warnings = graphs.check(spec, groups)
        if as_json:
            emit({"ok": True, "ranks": ranks, "warnings": warnings})
        else:
            print(f"{spec}: ok, {ranks} ranks")
        few(warnings, warn, "warnings", "--json prints all")
        return
    need(groups is None, f"--groups: it goes with Chakra traces, and {spec} is none")
    import fanin.spec
    from fanin.runs import Job

    load_all(load)
    scheme = known_scheme(scheme)
    job: Job | HpccJob | UecJob = of.job(spec, scheme, set_) or Job.of(spec, set_ or ()).using(scheme, None)
    resolved, warnings = job.resolve(), job.warnings()
    if as_json:
        emit({"ok": True, "spec": resolved or None, "warnings": warnings})
    elif resolved:
        print(f"{spec}: ok, {fanin.spec.describe(resolved)}")
    elif of.from_uec:
        print(f"{spec}: ok, a connection matrix of uet-htsim that runs on its own network")
    else:
        print(f"{spec}: ok, a configuration of the ns-3 HPCC simulator that runs on its own network")
    few(warnings, warn, "warnings", "--json prints all")


def _need_plain(path: Path, changes: list[str] | None, scheme: str | None) -> None:
    need(not changes and scheme is None, f"{path}: --set and --scheme go with a spec, a .toml or .json file")


def _complete_explained(incomplete: str) -> list[str]:
    return [*complete_scheme(incomplete), *(str(path) for path in Path().glob(f"{incomplete}*.toml"))]


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SPEC|SCHEME",
            help="A spec, .toml or .json, or a scheme: its id, or FILE.py:CLASS.",
            show_default=False,
            autocompletion=_complete_explained,
        ),
    ],
    of: OtherFiles,
    graph: OfGraphs,
    set_: Set = None,
    scheme: OneScheme = None,
    load: Load = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the network of a spec: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a spec means before it runs, or the manual of a scheme. Of a spec: its paths and round-trip times,
    thresholds and headroom, the load of each tier, and the cost of running it. Of a scheme: its idea, control law,
    parameters and sources.

    With --hpcc, show it of a configuration of the ns-3 HPCC simulator on that simulator's own network, or with --scheme
    on ours, and whether PFC could act at all. With --uec, show it of a connection matrix of uet-htsim.

    Of a GOAL schedule (.goal, .bin), of the Chakra traces of all ranks given the one of any (.et), of a workload of
    SimAI, of a flow table of SimCCL, or of an algorithm of MSCCL (.xml) for 1 MiB, show its ranks, messages, groups and
    critical path. With --loggp and the parameters L, o, g, G, O (ns) and S (bytes), messages of that path take their
    time, and it shows when each rank of a schedule has finished, equal to LogGOPSim.

    \b
    Examples:
      fanin explain examples/incast.toml
      fanin explain my.toml --scheme hpcc --json
      fanin explain my.toml --picture network.png
      fanin explain dart
      fanin explain my_scheme.py:MyScheme
      fanin explain my_policy.py:MyPolicy
      fanin explain --hpcc config.txt
      fanin explain trace.0.et
      fanin explain step.goal --loggp L=1000,o=0,g=0,G=1,O=0,S=65535 --json
      fanin explain --uec matrix.cm --topology tree.topo
    """
    from fanin import graphs

    if graphs.is_one(what) and Path(what).is_file():
        _need_plain(Path(what), set_, scheme)
        overview = graphs.overview(what, graph.loggp, graph.groups)
        _explain_graphs(overview, _finish(what, graph.loggp, overview), as_json=as_json)
        return
    need(graph.loggp is None, f"{what}: --loggp goes with a GOAL schedule, a .goal or .bin file")
    need(graph.groups is None, f"--groups: it goes with Chakra traces, and {what} is none")
    from fanin.explanation import table

    load_all(load)
    job = of.job(Path(what), scheme, set_)
    if picture is not None:
        check_image(picture)
    need(picture is None or (job is None and Path(what).suffix in (".toml", ".json")), "--picture: it goes with a spec")
    if job is not None:
        explained = job.explain()
        if as_json:
            emit(explained)
        else:
            show(table(explained))
        return
    if Path(what).suffix in (".toml", ".json"):
        _explain_spec(Path(what), set_ or [], scheme, picture, as_json=as_json)
        return
    if not own_schemes.is_reference(what) or Path(what).suffix not in (".py", ".so", ".dylib", ".dll"):
        need_kind(Path(what), "spec")
    if set_ or scheme is not None:
        raise CommandError(f"{what}: --set and --scheme go with a spec, a .toml or .json file", WRONG_SPEC)
    own = loaded_ids(what, what) if own_schemes.is_reference(what) else None
    found: list[Mapping[str, object]] = []
    for kind, rows in own_schemes.all_known().items():
        named = what if own is None else own.get(kind)
        found += [row for row in rows if row["id"] == named]
    if not found:
        said = "neither a spec, which is a .toml or .json file, nor a scheme"
        raise CommandError(f"{what}: {said}{meant_scheme(what)}", WRONG_SPEC)
    manual = "\n".join(str(row["manual"]) for row in found)
    if as_json:
        emit({**found[0], "manual": manual})
    elif is_terminal():
        from rich.markdown import Markdown

        show(Markdown(manual))
    else:
        print(manual)


def _finish(path: str, loggp: str | None, overview: graphs.Overview) -> list[int] | None:
    """When each rank has finished by LogGOPS, which does not time collectives."""
    from fanin import graphs

    return None if loggp is None or overview["groups"] else graphs.finish(path, loggp)


def _explain_graphs(overview: graphs.Overview, finished: list[int] | None, *, as_json: bool) -> None:
    from fanin import table

    if as_json:
        times = {} if finished is None else {"ranks": finished, "job_ns": max(finished, default=0)}
        emit({**times, "overview": overview})
        return
    rows = [["ranks", f"{overview['ranks']:,}"], ["messages", f"{overview['messages']:,}"]]
    rows += [["bytes", f"{overview['bytes']:,}"], ["computations", f"{overview['computations']:,}"]]
    rows += [["computing, all ranks (ns)", f"{overview['computing_ns']:,}"]]
    path = overview["critical_path"]
    if path is None:
        rows += [["critical path", "none: a node never ends"]]
    else:
        rows += [["critical path (ns)", f"{path['ns']:,}"], ["  computing (ns)", f"{path['computing_ns']:,}"]]
        rows += [["  messages", f"{path['messages']:,}"], ["  their bytes", f"{path['bytes']:,}"]]
    rows += [["memory of a run (MB)", f"{overview['memory_bytes'] / 1e6:,.1f}"]]
    stdout().print(table.plain(["", ""], rows))
    if overview["groups"]:
        head = ["collectives", "algorithm", "times", "ranks", "of ranks", "bytes"]
        stdout().print(table.plain(head, [_group(group) for group in overview["groups"][:GROUPS]]))
        if overview["groups"][GROUPS:]:
            print(f"and {len(overview['groups']) - GROUPS} more groups; --json prints all")
    if finished is not None:
        rows = [[str(rank), f"{time:,}"] for rank, time in enumerate(finished)]
        stdout().print(table.plain(["rank", "finished (ns)"], rows))


GROUPS = 20
"""Groups of collectives that are shown as text."""


def _group(group: graphs.Collectives) -> list[str]:
    ranks = group["ranks"]
    some = ", ".join(str(rank) for rank in ranks[:6]) + (", ..." if ranks[6:] else "")
    count = [f"{group['collectives']:,}", str(len(ranks)), some, f"{group['bytes']:,}"]
    return [group["operation"], group["algorithm"], *count]


def _explain_spec(path: Path, changes: list[str], scheme: str | None, picture: Path | None, *, as_json: bool) -> None:
    from fanin.explanation import explain as explained
    from fanin.explanation import table

    explanation = explained(path, scheme=known_scheme(scheme), set=changes)
    if picture is not None:
        from fanin.drawing import draw

        draw(explanation, picture)
        print(f"written: {picture}", file=sys.stderr)
    if as_json:
        emit(explanation)
    else:
        show(table(explanation))


def schemes(load: Load = None, as_json: AsJson = False) -> None:
    """List the schemes.

    \b
    Examples:
      fanin schemes
      fanin schemes --json
    """
    from fanin import table

    load_all(load)
    files = {row["file"]: row for row in _core.schemes()}
    if as_json:
        emit(
            {
                "schemes": [
                    {"id": row["id"], "file": row["file"], "title": table.manual_title(row["manual"])}
                    for row in _core.schemes()
                ]
            }
        )
        return
    rows = [[", ".join(row["presets"]), table.manual_title(row["manual"])] for row in files.values()]
    stdout().print(table.plain(["scheme", "what it is"], rows))


def schema(
    as_json: Annotated[bool, typer.Option("--json", help="The same: a schema is JSON.")] = False,
) -> None:
    """Print the JSON schema of specs.

    \b
    Examples:
      fanin schema > spec.schema.json
    """
    del as_json
    print(_core.schema())


def _templates() -> dict[str, Path]:
    folder = Path(__file__).parents[1] / "templates"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}

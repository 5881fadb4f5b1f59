"""Every example of a help text runs unchanged, on small stand-ins for the files that it names."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import ROOT
from fanin import bench, cli
from fanin_papers import claims
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.commands import MATRIX as MATRIX_ID
from fanin_papers.commands import OVERVIEW
from forked import Forked

SPEC = """
spec_version = 1
name = "NAME"
seed = 1
[network]
topology = { kind = "star", hosts = 18, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "225 KB", policy = "lossless" }
marking = { kind = "step", above = "50 KB" }
[[traffic]]
name = "queries"
scheme = "dart"
pattern = { kind = "incast", degree = 4, jitter = "1 us" }
size = { fixed = "2 KB" }
load = { share = 0.2, of = "host-links" }
[[traffic]]
name = "updates"
scheme = "dart"
pattern = { kind = "long", count = 2 }
[measure]
warm_up = "0 s"
window = "100 us"
series = [
  { what = "traffic", where = ["queries", "updates"], every = "5 us" },
  { what = "flow", where = ["updates:0"], every = "5 us" },
]
[compare]
schemes = ["dart", "dcqcn"]
"""
MATRIX = "Nodes 16\nConnections 1\n0->5 id 1 start 0 size 3000\n"
TREE = """Nodes 16
Tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 4
Downlink_Latency_ns 500
Radix_Up 1
"""

NOT_RUN = {
    "fanin sweep my.toml --schemes dart,dcqcn --seeds 20 --dask tcp://10.0.0.1:8786 --out runs/many": "needs a cluster",
    "fanin validate results-of-that-simulator --out docs/validation": "needs results of another simulator",
    "fanin bench": "takes minutes",
    "fanin bench --case python": "takes half a minute",
    "fanin bench --case a --repeat 5": "takes minutes",
    "fanin bench --scale 0.1 --json": "takes minutes",
    "fanin paper dctcp-fig14 --out runs/papers": "takes minutes",
    "fanin paper rcc": "takes minutes",
    "fanin paper dart --figure 11a": "takes minutes",
    "fanin claims --check quick": "is in make test-claims",
    "fanin paper overview": "takes minutes",
    "fanin paper matrix": "takes minutes",
    "fanin paper all": "takes hours",
    "fanin new-scheme my-scheme --language c --out schemes/my-scheme": "test_new_scheme.py builds and tests it",
    "fanin check-scheme my_scheme.py:MyScheme --cases 100000 --seed 7": "takes a minute",
    "fanin check-scheme my_policy.py:MyBalancer": "test_check_scheme.py checks some",
    "fanin wire parity my.toml --clock slowed:2000": "needs an idle machine",
    "fanin wire doctor": "takes half a minute; test_wire_real_time.py looks at what it says",
    "fanin wire switch my.toml": "waits for its hosts",
    "fanin wire switch my.toml --listen 192.0.2.1:4790": "waits for its hosts, at an address of another machine",
    "fanin wire host 0 --token 1f2e": "waits for its switches",
    "fanin wire host 3 --switch 192.0.2.1:4790 --token 1f2e": "waits for its switches, on another machine",
}
"""Examples of which only the command line is looked at, and why."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with their names."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


APP = typer.main.get_command(cli.app)
ALL = list(commands(APP))


def examples() -> list[str]:
    """The lines below "Examples:" in each help text, and those of the first page."""
    found = re.findall(r"fanin [^,]+", str(APP.epilog))
    for _, command in ALL:
        text = command.help or ""
        if "Examples:" in text:
            lines = [line.strip() for line in text[text.index("Examples:") :].splitlines()[1:]]
            found += [line for line in lines if line]
    return list(dict.fromkeys(found))


EXAMPLES = examples()


def parse(words: list[str]) -> None:
    """Reads a command line without doing it; raises `TyperException` where it is wrong."""
    command: Any = APP
    context = APP.context_class(APP, info_name="fanin", **APP.context_settings)
    while getattr(command, "commands", None):
        name, command, words = command.resolve_command(context, words)
        context = command.context_class(command, info_name=name, parent=context)
    command.make_context(command.name, list(words), parent=context.parent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, forked: Forked) -> Path:
    """What the examples name: specs, results, files of other simulators."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "examples").mkdir()
    for file, name in (("examples/incast.toml", "incast"), ("my.toml", "my")):
        (folder / file).write_text(SPEC.replace("NAME", name))
    shutil.copytree(ROOT / "examples/collectives", folder / "examples/collectives")
    (folder / "examples/wire").mkdir()
    shutil.copy(ROOT / "examples/wire/incast.toml", folder / "examples/wire")
    (folder / "tree.topo").write_text(TREE)
    (folder / "matrix.cm").write_text(MATRIX)
    graphs = ROOT / "crates" / "formats" / "tests" / "data"
    shutil.copy(graphs / "goal" / "gather_8_4096.goal", folder / "step.goal")
    for rank in range(4):
        shutil.copy(graphs / "all_reduce" / f"all_reduce.{rank}.et", folder / f"trace.{rank}.et")
    (folder / "groups.json").write_text('{"1": [0, 1, 2, 3]}')
    choose = "def choose(self, packet, hash, choices):\n        return 0\n"
    (folder / "my_policy.py").write_text(f"import fanin\nclass MyPolicy(fanin.Balancer):\n    {choose}")
    for line in (
        "fanin compare examples/incast.toml --out runs/incast",
        "fanin compare examples/incast.toml --out runs/a",
        "fanin compare examples/incast.toml --out runs/b",
        "fanin compare my.toml --out runs/my",
        "fanin run my.toml --set 'measure.window=200 us' --set 'measure.drain_limit=1 ms' "
        "--set \"measure.capture={ links = 'all', max_size = '100 MB' }\" --out runs/captured",
        "fanin run examples/collectives/all-reduce.toml --set 'traffic[0].pattern.size=400 KB' --out runs/all-reduce",
        "fanin sweep my.toml --loads 0.2,0.4 --set 'measure.window=1 ms' --out runs/loads",
        "fanin sweep my.toml --vary 'network.buffer.per_port=100 KB,225 KB' --vary traffic.queries.pattern.degree=2,4 "
        "--out runs/buffers",
        "fanin new-scheme my-scheme --out .",
        "fanin gen topology star --hosts 4 -o topology.txt",
        "fanin gen permutation --hosts 4 --size 1KB -o flow.txt",
        "fanin gen config --cc hpcc --topology topology.txt --flows flow.txt -o config.txt",
    ):
        done = run(forked, folder, line)
        assert done.returncode == 0, done.stderr
    lines = (folder / "config.txt").read_text().splitlines(keepends=True)
    simai = "".join(line for line in lines if not line.startswith("TOPOLOGY_FILE"))
    (folder / "SimAI.conf").write_text(simai + "MON_START 0\n")
    return folder


def run(forked: Forked, folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line as a shell does."""
    words = shlex.split(line)[1:]
    into = words.index(">") if ">" in words else len(words)
    done = forked.run(words[:into], folder, COLUMNS="200")
    if into < len(words):
        (folder / words[-1]).write_text(done.stdout)
    return done


def test_each_command_has_examples_that_were_found() -> None:
    with_examples = {tuple(line.split()[1:2]) for line in EXAMPLES}
    without = [path for path, _ in ALL if path and path[:1] not in with_examples]
    assert without == [("version",)]
    assert set(NOT_RUN) <= set(EXAMPLES), "an example that is gone"


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_runs(folder: Path, forked: Forked, tmp_path: Path, line: str) -> None:
    words = shlex.split(line.partition(" > ")[0])[1:]
    parse(words)
    if line in NOT_RUN:
        return
    here = shutil.copytree(folder, tmp_path / "here")
    if words[0] in ("new", "gen"):
        (here / words[-1]).unlink(missing_ok=True)  # the file to be made
    done = run(forked, here, line)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_what_is_only_parsed_names_what_there_is() -> None:
    ids = [line.split()[2] for line in NOT_RUN if line.startswith("fanin paper") and "all" not in line]
    assert ids
    assert set(ids) <= {*EXPERIMENTS, OVERVIEW, MATRIX_ID, *claims.PAPERS}
    cases = [case for line in NOT_RUN for case in re.findall(r"--case (\S+)", line)]
    assert set(cases) <= set(bench.cases())


@pytest.mark.parametrize("path", [" ".join(path) for path, _ in ALL])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_each_command_tells_how_it_is_written(path: str, option: str) -> None:
    with pytest.raises(typer.Exit) as left:
        parse_help([*path.split(), option])
    assert left.value.exit_code == 0


def parse_help(words: list[str]) -> None:
    APP.main(words, prog_name="fanin", standalone_mode=False)
    raise typer.Exit(0)


def test_the_readme_and_quick_start_name_options_that_there_are() -> None:
    for page in ("README.md", "docs/quick-start.md", "docs/sweeps.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL):
            for line in block.splitlines():
                if line.startswith("fanin "):
                    parse(shlex.split(line, comments=True)[1:])

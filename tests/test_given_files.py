"""Files of another kind than a command takes: one sentence says what they are, and the command that it names works."""

import re
import shutil
from pathlib import Path

import pytest

import configurations
from conftest import Command
from fanin import graphs

ADVISED = re.compile(r"fanin (?:run|show|new) [^;,:]*?(?=$|;|,| prints| writes)")


@pytest.fixture
def folder(tmp_path: Path, tiny: Path) -> Path:
    """One file of each kind."""
    configurations.write(tmp_path, ["0 1 3 100 1000 2"])
    shutil.copy(tiny, tmp_path / "spec.toml")
    matrix = "Nodes 16\nConnections 1\n0->1 id 1 start 0 size 1000\n"
    for name, text in {
        "matrix.cm": matrix,
        "tree.topo": "Nodes 16\n",
        "all.goal": "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 0\n}\nrank 1 {\nrecv 8b from 0 tag 0\n}\n",
        "project.toml": '[project]\nname = "x"\n',
        "scheme.py": "class Mine: ...\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    graphs.write(tmp_path / "all.goal", tmp_path / "trace")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run trace.0.et", "trace.0.et: a Chakra execution trace, which runs with fanin run trace.0.et --network"),
        ("run all.goal", "all.goal: a GOAL schedule, which runs with fanin run all.goal --network"),
        ("run matrix.cm", "matrix.cm: a connection matrix of htsim"),
        ("explain tree.topo", "tree.topo: a topology of htsim, which runs with its matrix"),
        ("run config.txt", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("check config.txt", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("explain config.txt", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("compare config.txt", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("sweep config.txt", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("run --htsim config.txt --scheme dcqcn", "config.txt: a configuration of the ns-3 HPCC simulator"),
        ("run topo.txt", "topo.txt: a topology file of the ns-3 HPCC simulator"),
        ("run --hpcc flow.txt", "flow.txt: a flow file of the ns-3 HPCC simulator"),
        ("run --hpcc spec.toml", "spec.toml: a spec, which runs with"),
        ("run --htsim spec.toml --scheme dcqcn", "spec.toml: a spec, which runs with"),
        ("compare --hpcc spec.toml --schemes dcqcn", "spec.toml: a spec, which runs with"),
        ("show spec.toml", "spec.toml: a spec, which runs with"),
        ("report spec.toml", "spec.toml: a spec, which runs with"),
        ("plot fct spec.toml", "spec.toml: a spec, which runs with"),
        ("why spec.toml", "spec.toml: a spec, which runs with"),
        ("run project.toml", "project.toml: no spec, since it has neither network nor traffic"),
        ("run scheme.py", "scheme.py: a program, no spec"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_it_is_told_what_a_file_is(command_here: Command, line: str, said: str) -> None:
    done = command_here(*line.split())
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"error: {said}")
    advice = ADVISED.findall(done.stderr.strip())
    assert bool(advice) == ("fanin " in done.stderr)
    for advised in advice:
        words = (
            advised.replace("CONFIG", "config.txt")
            .replace("MATRIX.cm", "matrix.cm")
            .replace("NET.toml", "spec.toml")
            .split()[1:]
        )
        if "SPEC" in words or "tree.topo" in words:
            continue
        followed = command_here(*words)
        assert followed.returncode == 0, f"{advised}: {followed.stderr}"


@pytest.mark.usefixtures("folder")
def test_results_are_shown_and_not_run(command_here: Command) -> None:
    assert command_here("run", "--hpcc", "config.txt", "--out", "r").returncode == 0
    for given in ("r", "r/summary.json"):
        done = command_here("run", given)
        assert done.returncode == 2
        assert done.stderr.strip().endswith("which fanin show r prints")
    assert command_here("show", "r").returncode == 0

"""The tutorial runs unchanged: its blocks, one after another, in one folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

TUTORIAL = ROOT / "docs" / "ns3-hpcc.md"
KEPT = ROOT / "tests" / "data" / "hpcc" / "theirs.txt"
"""What exact mode wrote for these files when the page was made."""
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the tutorial has run, empty before."""
    folder = tmp_path_factory.mktemp("tutorial")
    # `fanin` is this one, wherever it is installed.
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\n'
    for language, code in BLOCKS:
        line = ["sh", "-c", prelude + code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return folder


def test_it_has_what_it_promises() -> None:
    assert [language for language, _ in BLOCKS] == ["sh", "sh", "sh", "python", "sh", "python", "sh", "sh", "sh"]


def test_pictures_are_drawn(folder: Path) -> None:
    for name in ("slowdown.png", "beside.png", "goodput.png", "rates.png"):
        assert (folder / name).stat().st_size > 20_000


def test_each_run_has_all_flows(folder: Path) -> None:
    flows = int((folder / "flow.txt").read_text().split()[0])
    assert flows > 500
    for run in ("config", "compared/config-dcqcn", "compared/config-dart"):
        assert len((folder / "runs" / run / "fct.txt").read_text().splitlines()) == flows


def test_a_slow_flow_is_explained(folder: Path) -> None:
    (picture,) = (folder / "runs" / "config").glob("why-*.png")
    assert picture.stat().st_size > 20_000


def test_exact_mode_writes_what_it_wrote_before(folder: Path) -> None:
    assert (folder / "runs" / "config" / "fct.txt").read_bytes() == KEPT.read_bytes()


def test_results_of_ns3_that_are_there_stay(folder: Path) -> None:
    """The step that makes a file to compare with where there is none leaves the reader's own alone."""
    (line,) = (line for _, code in BLOCKS for line in code.splitlines() if line.startswith("test -e theirs.txt"))
    (folder / "theirs.txt").write_text("mine\n")
    subprocess.run(["sh", "-c", line], cwd=folder, check=True)
    assert (folder / "theirs.txt").read_text() == "mine\n"

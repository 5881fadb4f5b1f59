"""The papers' experiments are a distribution of their own: the product does not need it, and finds its commands."""

import os
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from test_wheel import imports

COMMANDS = ("paper", "claims")


def test_nothing_of_the_product_imports_it(root: Path) -> None:
    for path in (root / "python" / "fanin").rglob("*.py"):
        assert "fanin_papers" not in imports(path), path


def test_its_version_is_that_of_the_product(root: Path) -> None:
    project = tomllib.loads((root / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workspace = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    version = workspace["package"]["version"]
    assert project["version"] == version
    assert f"fanin=={version}" in project["dependencies"]


def test_its_commands_are_found_by_their_entry_point() -> None:
    (found,) = entry_points(group="fanin.commands")
    assert found.value == "fanin_papers.commands:add_to"


@pytest.mark.parametrize("command", COMMANDS)
def test_without_it_a_command_says_what_to_install(command: str, root: Path, tmp_path: Path) -> None:
    """Only the product is on the path of this interpreter, and what it needs."""
    said = f"import sys; sys.path = [p for p in sys.path if 'papers' not in p]; sys.argv = ['fanin', {command!r}]\n"
    said += "import importlib.metadata as found\nfound.entry_points = lambda **_: ()\n"
    said += "from fanin import cli; cli.main()"
    path = os.pathsep.join([str(root / "python"), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-c", said],
        env=os.environ | {"PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == f"error: {command}: this command is in a package of its own: pip install fanin-papers\n"

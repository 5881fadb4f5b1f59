"""The papers' experiments are a distribution of their own: the product does not need it, and finds its commands."""

import ast
import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import fanin
from pages import api
from test_wheel import imports

COMMANDS = ("paper", "claims")


def test_nothing_of_the_product_imports_it(root: Path) -> None:
    for path in (root / "python" / "fanin").rglob("*.py"):
        assert "fanin_papers" not in imports(path), path


def test_it_imports_what_the_product_documents_alone(root: Path) -> None:
    """Names in the `__all__` of `fanin` and of its modules that `docs/python-api.md` describes."""
    public = {"fanin": set(fanin.__all__) | set(api.MODULES)}
    public |= {f"fanin.{name}": set(import_module(f"fanin.{name}").__all__) for name in api.MODULES}
    private = []
    for path in (root / "papers" / "fanin_papers").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = [*imported(tree), *attributes(tree)]
        private += [f"{path.name}: {of}.{name}" for of, name in used if name not in public.get(of, ())]
    assert not private, "\n".join(private)


def test_other_imports_are_seen() -> None:
    tree = ast.parse("import fanin.runs\nfrom fanin import table as t, run\ndef f():\n    return t.swept, run.x")
    assert {*imported(tree), *attributes(tree)} == {
        ("fanin.runs", ""),
        ("fanin", "table"),
        ("fanin", "run"),
        ("fanin.table", "swept"),
    }
    assert list(attributes(ast.parse("import fanin\nfanin.y"))) == [("fanin", "y")]


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The modules of the product that are imported, each with a name; without one, the module as it is."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Import):
            yield from ((each.name, "") for each in one.names if each.name.startswith("fanin."))
        elif isinstance(one, ast.ImportFrom) and (one.module or "").split(".")[0] == "fanin":
            yield from ((str(one.module), each.name) for each in one.names)


def attributes(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that are used of modules of the product."""
    called: dict[str, str] = {}
    for one in ast.walk(tree):
        if isinstance(one, ast.Import):
            called |= {each.asname or each.name: each.name for each in one.names if each.name == "fanin"}
        elif isinstance(one, ast.ImportFrom) and one.module == "fanin":
            modules = [each for each in one.names if each.name in api.MODULES]
            called |= {each.asname or each.name: f"fanin.{each.name}" for each in modules}
    for one in ast.walk(tree):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in called:
            yield called[one.value.id], one.attr


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
    what = "this command is in the package of the folder papers: pip install ./papers"
    assert done.stderr == f"error: {command}: {what}\n"

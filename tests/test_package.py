"""The package as a whole: its stub, its lock files."""

import ast
import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

from fanin import _core


def test_the_stub_names_what_the_native_module_has(root: Path) -> None:
    stub = ast.parse((root / "python" / "fanin" / "_core.pyi").read_text(encoding="utf-8"))
    made_up = {"SchemeRow", "Spec"}  # exist for type checkers only
    for node in stub.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in made_up:
            assert hasattr(_core, node.name), node.name
        if isinstance(node, ast.ClassDef) and node.name not in made_up:
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            missing = members - set(dir(getattr(_core, node.name)))
            assert not missing, f"{node.name}: {missing}"


def locked(root: Path, name: str) -> dict[str, set[str]]:
    """What a lock file pins: the hashes of each `package==version`."""
    text = (root / name).read_text(encoding="utf-8")
    pins = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
    return {pin.split()[0]: set(re.findall(r"--hash=sha256:(\w{64})", pin)) for pin in pins}


def names(pins: Iterable[str]) -> set[str]:
    """The packages of requirements, as lock files write them."""
    return {re.split(r"[^A-Za-z0-9_.-]", pin)[0].replace("_", "-").replace(".", "-").lower() for pin in pins}


def test_each_lock_pins_its_dependencies_with_hashes(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    needed = names([*project["dependencies"], *optional["build"]])
    run, every = locked(root, "requirements.lock"), locked(root, "requirements-dev.lock")
    assert needed <= names(run)
    assert names(line for extra in optional.values() for line in extra) | needed <= names(every)
    assert all(run.values())
    assert all(every.values())


def test_what_running_needs_is_part_of_what_work_needs_and_complete(root: Path) -> None:
    run, every = locked(root, "requirements.lock"), locked(root, "requirements-dev.lock")
    assert run.items() <= every.items()
    assert not names(run) & {"mypy", "pytest", "ruff", "hypothesis", "ipykernel", "distributed", "playwright"}
    here = {Requirement(pin).name for pin in run} & {one.metadata["Name"].lower() for one in distributions()}
    for package in here:
        wanted = [Requirement(line) for line in requires(package) or ()]
        missing = names(one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})) - names(
            run
        )
        assert not missing, f"{package} needs {missing}"

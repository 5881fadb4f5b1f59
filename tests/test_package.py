"""The package as a whole: its stub, its lock file."""

import ast
import re
import tomllib
from pathlib import Path

from fanin import _core


def test_the_stub_names_what_the_native_module_has(root: Path) -> None:
    stub = ast.parse((root / "python" / "fanin" / "_core.pyi").read_text(encoding="utf-8"))
    made_up = {"Scheme"}  # exists for type checkers only
    for node in stub.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in made_up:
            assert hasattr(_core, node.name), node.name
        if isinstance(node, ast.ClassDef) and node.name not in made_up:
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            missing = members - set(dir(getattr(_core, node.name)))
            assert not missing, f"{node.name}: {missing}"


def test_the_lock_pins_every_dependency_with_hashes(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *optional["dask"], *optional["dev"]]
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9-]+)==\S+.*\\\n    --hash=sha256:", lock, re.MULTILINE))
    assert {re.split(r"[<>=]", line)[0] for line in wanted} <= pinned
    assert len(pinned) == len(set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE)))

"""The compiler's profile: execution counts by which it optimises the code that runs often."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from fanin import _core
from fanin.run_folder import RunError

ROOT = Path(__file__).resolve().parent.parent
PROFILE = Path("crates", "fanin.profdata")
"""Its path in a tree, as in the Makefile."""

CRATES = ("units", "engine", "cc", "endpoint", "fabric", "ns3")
"""Crates with code that runs for each packet. Only their functions are kept; a profile of all has 4 MB."""

RECORD = Path("crates", "fanin.profdata.json")
"""The functions of these crates when the profile was made: for each file their hashes; and the compiler's name of the
event loop. Such names follow from the dependencies and features of crates, and the profile has its counts by name."""

EVENT_LOOP = re.compile(r"_ZN12fanin_fabric3sim19Simulation\S*7advance17h[0-9a-f]{16}E")

FUNCTION = re.compile(r"(pub(\([a-z]+\))? )?(const |unsafe )*fn ")

MOST_CHANGED = 0.25
"""The share of their lines that may be in functions that have changed since."""


def flags(root: Path) -> str:
    """Options of rustc for a tree, in `RUSTFLAGS`; none without a profile."""
    if not (root / PROFILE).exists():
        return ""
    return f"-Cprofile-use={root.resolve() / PROFILE} -Cllvm-args=-no-pgo-warn-mismatch"


def make(say: Callable[[str], None]) -> Path:
    """Builds an instrumented native module, runs the training cases, and writes their counts into the tree."""
    merge = tool()
    work = ROOT / "bench" / "work"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as of_all:
        folder = Path(of_all)
        counts, package, files = folder / "counts", folder / "package", folder / "files"
        for one in (counts, package, files):
            one.mkdir()
        say("building a module that counts")
        target = folder / "target"
        run(
            ["cargo", "build", "--locked", "--quiet", "--release", "-p", "fanin-python"],
            {
                "RUSTFLAGS": f"-Cprofile-generate={counts}",
                "CARGO_TARGET_DIR": str(target),
                "PYO3_PYTHON": sys.executable,
            },
        )
        of_package = Path(_core.__file__)
        shutil.copytree(of_package.parent, package / "fanin", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        shutil.copy(target / "release" / "lib_core.so", package / "fanin" / of_package.name)
        say("counting")
        run([sys.executable, "-m", "bench.training", str(files)], {"PYTHONPATH": f"{package}{os.pathsep}{ROOT}"})
        say("adding up")
        made = folder / "all.profdata"
        run(
            [str(merge), "merge", "--sparse", f"--function=fanin_({'|'.join(CRATES)})", "-o", str(made), str(counts)],
            {},
        )
        shutil.copy(made, ROOT / PROFILE)
    name = EVENT_LOOP.search(run([str(merge), "show", "--all-functions", str(ROOT / PROFILE)], {}))
    if name is None:
        raise RunError(f"{PROFILE} has no counts of the event loop, like {EVENT_LOOP.pattern}")
    (ROOT / RECORD).write_text(record(functions(ROOT), name.group()), encoding="utf-8")
    return ROOT / PROFILE


def known(record: str) -> str:
    """The name of the event loop when the profile was made."""
    return str(json.loads(record)["event loop"])


def functions(root: Path) -> dict[str, dict[str, int]]:
    """The hash of each function of a tree and its lines of code, by file; comments, spaces and tests do not count."""
    found = {}
    for crate in CRATES:
        for path in sorted((root / "crates" / crate / "src").rglob("*.rs")):
            if "tests" in path.with_suffix("").parts:
                continue
            text = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0]
            lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("//")]
            begins = [0, *(number for number, line in enumerate(lines) if number and FUNCTION.match(line)), len(lines)]
            parts = [lines[begin:end] for begin, end in pairwise(begins)]
            found[str(path.relative_to(root))] = {digest(part): len(part) for part in parts}
    return found


def digest(lines: Sequence[str]) -> str:
    """A short hash of lines of code."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def record(code: Mapping[str, Mapping[str, int]], name: str) -> str:
    """The text of `RECORD`: the name of the event loop, and a line for each file."""
    rows = {"event loop": name, **{path: " ".join(hashes) for path, hashes in code.items()}}
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())
    return f"{{\n{lines}\n}}\n"


def changed(now: Mapping[str, Mapping[str, int]], recorded: str) -> float:
    """The share of the lines of code that are in changed functions."""
    then = {path: set(hashes.split()) for path, hashes in json.loads(recorded).items()}
    every = [(count, hashed in then.get(path, ())) for path, hashes in now.items() for hashed, count in hashes.items()]
    return sum(count for count, same in every if not same) / sum(count for count, _ in every)


def run(command: Sequence[str], more: Mapping[str, str]) -> str:
    """Runs a program in the tree and returns its output; raises `RunError` with its errors if it fails."""
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def tool() -> Path:
    """The program that merges counts, of the pinned compiler."""
    path = Path(run(["rustc", "--print", "target-libdir"], {}).strip()).parent / "bin" / "llvm-profdata"
    if not path.exists():
        raise RunError(f"{path} is missing: rustup component add llvm-tools")
    return path

"""The compiler's profile: how often each part of the program runs, so that what runs often is laid out to run fast."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fanin import _core
from fanin.run_folder import RunError

ROOT = Path(__file__).resolve().parent.parent
PROFILE = Path("crates", "fanin.profdata")
"""Where a tree has it. The Makefile names it, too."""

HOT = "fanin_(units|engine|cc|endpoint|fabric|ns3)"
"""Functions that are kept: those of crates of which something runs for each packet. All together would be 4 MB."""


def flags(root: Path) -> str:
    """What rustc is told in a tree, in `RUSTFLAGS`: nothing where that has no profile."""
    return f"-Cprofile-use={root.resolve() / PROFILE}" if (root / PROFILE).exists() else ""


def make(say: Callable[[str], None]) -> Path:
    """Builds the native module so that it counts, runs what people run, and leaves what was counted in the tree."""
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
        run([str(merge), "merge", "--sparse", f"--function={HOT}", "-o", str(made), str(counts)], {})
        shutil.copy(made, ROOT / PROFILE)
    return ROOT / PROFILE


def run(command: Sequence[str], more: Mapping[str, str]) -> str:
    """Runs a program in the tree and returns what it said; raises `RunError` with its words if it fails."""
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def tool() -> Path:
    """The program that adds counts up, of the compiler that is pinned."""
    path = Path(run(["rustc", "--print", "target-libdir"], {}).strip()).parent / "bin" / "llvm-profdata"
    if not path.exists():
        raise RunError(f"{path} is missing: rustup component add llvm-tools")
    return path

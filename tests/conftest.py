"""What all tests share."""

import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

import fanin

ROOT = Path(__file__).parents[1]


class Command(Protocol):
    """Runs the command `fanin` in the test's folder."""

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def command(tmp_path: Path) -> Command:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "fanin", *map(str, arguments)]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def tiny() -> Path:
    """A spec that runs in well under a second: an incast and long flows on a star of 4 hosts."""
    return ROOT / "tests" / "data" / "tiny.toml"


@pytest.fixture(scope="session")
def result(tiny: Path) -> fanin.Result:
    """A run of the tiny spec."""
    return fanin.run(tiny, progress=False)


@pytest.fixture(scope="session")
def compared(tiny: Path) -> fanin.Comparison:
    """The tiny spec under two schemes."""
    return fanin.compare(tiny, ["dcqcn", "none"], progress=False)

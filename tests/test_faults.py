"""Calls of the operating system that fail, are cut short or kill the process: results are whole, absent, or known to be
incomplete, and the next command goes on. See `faults/shim.c` and `faults/driver.py`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

HOWS = ("error", "full", "short", "kill", "half")
CASES = int(os.environ.get("FANIN_CASES", "64"))
MOST = 0 if CASES >= 10_000 else 1
"""Cases of each way to fail and command; 0 is every call (`make soak`)."""


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets calls fail."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    made = tmp_path_factory.mktemp("shim") / "faults.so"
    source = ROOT / "tests" / "faults" / "shim.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.mark.parametrize("operation", ["run", "parquet", "capture", "force", "compare", "sweep", "report"])
def test_what_is_there_after_a_fault_is_whole(shim: Path, tmp_path: Path, operation: str) -> None:
    asked = {"under": str(tmp_path), "operations": [operation], "hows": HOWS, "most": MOST}
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "faults" / "driver.py", json.dumps(asked)],
        env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100_000 if MOST == 0 else 600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["ran"] >= len(HOWS)
    assert told["found"] == []

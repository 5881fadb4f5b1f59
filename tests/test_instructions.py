"""Instructions per packet-hop: a measure of speed that does not depend on how busy the machine is.

The recorded counts are from one compiler; another may differ by a few per cent, so a case fails only well above its record.
`UPDATE=1 pytest tests/test_instructions.py` records anew.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "data" / "instructions.json"
SCALES = {"a": (0.01, 0.04), "c": (0.01, 0.03), "e": (0.005, 0.02), "e-hpcc": (0.005, 0.02), "f": (0.02, 0.05)}
"""A short and a longer run per case: the difference leaves set-up out."""
MOST = 1.15


@pytest.fixture(scope="session")
def program() -> Path:
    """The benchmark without Python around it."""
    if shutil.which("valgrind") is None:
        message = "valgrind is missing (make setup prints how to install it): instructions are not counted"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    command = ["cargo", "build", "--locked", "--quiet", "--release", "-p", "fanin-experiment", "--example", "case"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "case"


def count(program: Path, case: str, scale: float, folder: Path) -> tuple[int, int]:
    """Instructions and packet-hops of a run. The queue that the case times alone counts too, but is as long in both."""
    out = folder / f"{case}-{scale}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=*run_until*"]
    done = subprocess.run([*command, program, case, str(scale)], check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1]), json.loads(done.stdout)["packet_hops"]


@pytest.mark.parametrize("case", SCALES)
def test_instructions_per_packet_hop(program: Path, case: str, tmp_path: Path) -> None:
    (short, few), (long, many) = (count(program, case, scale, tmp_path) for scale in SCALES[case])
    assert many > 2 * few
    now = (long - short) / (many - few)
    recorded: dict[str, float] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get("UPDATE") == "1":
        RECORD.write_text(json.dumps(dict(sorted({**recorded, case: round(now, 1)}.items())), indent=1) + "\n")
        return
    assert now <= MOST * recorded[case], (
        f"{now:.0f} instructions per packet-hop in case {case}, recorded {recorded[case]:.0f}"
    )

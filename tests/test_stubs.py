"""The stub of the native module equals the module: names, signatures, base classes."""

import subprocess
import sys
from pathlib import Path


def test_the_stub_is_what_the_native_module_is(root: Path) -> None:
    line = [sys.executable, "-m", "mypy.stubtest", "fanin._core"]
    allowed = root / "tests" / "stubtest-allowlist.txt"
    done = subprocess.run(
        [*line, "--concise", "--allowlist", allowed], cwd=root, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr

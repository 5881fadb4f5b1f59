"""The quick start runs as it stands: its blocks, one after another, in one folder."""

import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PAGE = ROOT / "docs" / "quick-start.md"


def test_it_goes_from_a_spec_to_a_picture(tmp_path: Path) -> None:
    blocks = re.findall(r"```(sh|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [language for language, _ in blocks] == [*5 * ["sh"], "python", "sh", "sh"]
    # `fanin` is this one, wherever it is installed.
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\n'
    printed = ""
    for language, code in blocks:
        line = ["sh", "-c", prelude + code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        printed += done.stdout
    assert (tmp_path / "runs" / "first" / "compare.png").stat().st_size > 20_000
    assert (tmp_path / "runs" / "first" / "report.html").stat().st_size > 1_000_000
    assert list((tmp_path / "runs" / "first" / "dcqcn").glob("why-answers-*.png"))
    assert "base RTT" in printed
    # What the page says about it: under `none` the two long flows make PFC pause, and nothing is dropped.
    pauses = re.findall(r"PFC pause time +(.*)", printed)[-1].split("  ")
    assert pauses[-1].strip() not in ("", "0")
    assert "0 drops" in printed

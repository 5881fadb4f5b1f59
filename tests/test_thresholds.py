"""The page on choosing thresholds: its commands run, one after another, on a small network."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

from conftest import ROOT, Command
from fanin.runs import Job

PAGE = ROOT / "docs" / "choosing-thresholds.md"
SPEC = ROOT / "examples" / "thresholds.toml"
SMALLER = {
    "leaves = 32": "leaves = 4",
    "hosts = 16,": "hosts = 8,",
    "count = 512": "count = 32",
    'warm_up = "200 us"': 'warm_up = "20 us"',
    'window = "400 us"': 'window = "80 us"',
    'drain_limit = "5 ms"': 'drain_limit = "300 us"',
}
"""Of the spec, so that a run takes a hundredth of a second."""
FEWER = {
    "--seeds 3": "--seeds 1",
    "--seeds 5": "--seeds 1",
    "--points 30": "--points 3 --seeds 1",
    "25 KB,50 KB,100 KB,200 KB,400 KB": "25 KB,400 KB",
    "400 KB,800 KB,1600 KB": "400 KB,1600 KB",
    "per-link,5 KB,20 KB,60 KB": "per-link,5 KB",
}
"""Of the commands."""


def replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def test_the_commands_of_the_page_run(command: Command, tmp_path: Path) -> None:
    text = SPEC.read_text(encoding="utf-8")
    assert all(old in text for old in SMALLER)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "thresholds.toml").write_text(replaced(text, SMALLER), encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert [line.split()[1] for line in lines] == [
        "explain",
        "sweep",
        "plot",
        "plot",
        "tune",
        "sweep",
        "sweep",
        "sweep",
    ]
    for line in lines:
        words = shlex.split(replaced(line, FEWER))
        done = command(*words[1:])
        # A search in so small a network need not find a point that keeps the limit.
        assert done.returncode == 0 or (words[1] == "tune" and "no point keeps the limits" in done.stdout), (
            f"{line}\n{done.stdout}\n{done.stderr}"
        )
        # The commands are those of the whole network too.
        changes = [value for option, value in pairwise(words) if option == "--set"]
        Job.of(SPEC, changes).resolve()
    for picture in ("grid/sweep.png", "grid/long.png", "tuned/tune.png"):
        assert (tmp_path / "runs" / picture).stat().st_size > 10_000

"""Pages that answer questions: their commands run one after another, and every fragment of a spec in their text is
one."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT
from fanin import _core
from fanin.runs import Job

PAGES = [ROOT / "docs" / name for name in ("faq.md", "terms.md", "which-scheme.md")]
FILES = {
    "flow.txt": "1\n0 1 3 100 1000 2.0\n",
    "matrix.cm": "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n",
}
"""What fragments name."""

BASE = """
spec_version = 1
name = "base"

[network]
topology = { kind = "star", hosts = 4, link = "100 Gbps", delay = "1 us" }
buffer = { policy = "lossless", per_port = "500 KB" }

[[traffic]]
name = "answers"
scheme = "hpcc"
pattern = { kind = "incast", degree = 1 }
size = { fixed = "100 KB" }

[measure]
window = "1 ms"
"""
"""What fragments change."""


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def spans(page: Path) -> list[str]:
    """The code in a page's sentences and tables."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", read(page), flags=re.DOTALL | re.MULTILINE))


def in_pages(wanted: Callable[[str], object]) -> list[object]:
    """These spans of all pages, each once."""
    found = {(span, page.stem) for page in PAGES for span in spans(page) if wanted(span)}
    return [pytest.param(span, id=f"{page}: {span}") for span, page in sorted(found)]


FRAGMENT = re.compile(r"[a-z_.]+ = |\{ id = |--set \"")


@pytest.mark.parametrize("page", [page for page in PAGES if "```" in read(page)], ids=lambda page: page.stem)
def test_its_commands_run(page: Path, tmp_path: Path) -> None:
    # `fanin` is this one, wherever it is installed.
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\n'
    for language, code in re.findall(r"```(sh|python)\n(.*?)```", read(page), re.DOTALL):
        line = ["sh", "-c", prelude + code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("fragment", in_pages(FRAGMENT.match))
def test_a_fragment_of_a_spec_fits(fragment: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    base = tmp_path / "base.toml"
    # A file of flows has sizes of its own.
    base.write_text(BASE if "file =" not in fragment else BASE.replace('size = { fixed = "100 KB" }', ""))
    Job.of(base, (as_change(fragment),)).using(None, None).resolve()


def as_change(fragment: str) -> str:
    """A fragment as for `--set`; keys of a traffic, and `topology`, are without their path in the text."""
    if fragment.startswith("--set"):
        return shlex.split(fragment)[1]
    if fragment.startswith("{"):
        return f"traffic.answers.scheme={fragment}"
    key, _, value = fragment.partition(" = ")
    if key == "topology":
        return f"network.topology={value}"
    return f"{key}={value}" if "." in key or key == "seed" else f"traffic.answers.{key}={value}"


@pytest.mark.parametrize("line", in_pages(lambda span: span.startswith("fanin ")))
def test_a_command_in_a_sentence_exists(line: str) -> None:
    """By the page of commands, which is made from them."""
    words = re.match(r"(fanin(?: [a-z]+(?:-[a-z]+)*)+)", line)
    assert words is not None
    sections = re.split(r"^## ", read(ROOT / "docs" / "commands.md"), flags=re.MULTILINE)
    helps = {section.partition("\n")[0]: section for section in sections}
    name = max((name for name in helps if f"{words[1]} ".startswith(f"{name} ")), key=len, default=None)
    assert name is not None, f"there is no {words[1]}"
    for option in re.findall(r" (--[a-z-]+|-[a-z])\b", line):
        assert re.search(rf"^ .*{option}\b", helps[name], re.MULTILINE), f"{name} has no {option}"


def test_every_scheme_has_a_question() -> None:
    page = ROOT / "docs" / "which-scheme.md"
    named = set(spans(page))
    for row in _core.schemes():
        assert named & set(row["presets"]), f"{row['file']}: none of its schemes is on the page"
    known = {row["id"] for row in _core.schemes()}
    cells = re.findall(r"^\| [^|]+\| ([^|]+)\|", read(page), re.MULTILINE)
    offered = set(re.findall(r"`([\w-]+)`", " ".join(cells)))
    assert len(offered) > 20
    assert offered <= known

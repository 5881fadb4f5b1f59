"""The quick start runs unchanged: its blocks, one after another, in one folder."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fanin
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
    assert "0 drops" in printed
    schemes_differ_as_said(tmp_path / "runs" / "first")


def schemes_differ_as_said(folder: Path) -> None:
    """The table of the page: the order of schemes in FCT and goodput is clear, and its numbers are those of the
    runs."""
    rows = {row["scheme"]: row for row in json.loads((folder / "compare.json").read_text())["rows"]}
    told = re.findall(r"^\| `([\w-]+)` \| (\d+) us \| (\d+) Gb/s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [scheme for scheme, _, _ in told] == list(rows)
    for scheme, fct_us, goodput_gbps in told:
        assert float(fct_us) == pytest.approx(rows[scheme]["fct_p99_us"], rel=0.1)
        assert float(goodput_gbps) == pytest.approx(rows[scheme]["long_goodput_gbps"], rel=0.1)
    fct = [row["fct_p99_us"] for row in rows.values()]
    assert list(rows) == ["dcqcn", "hpcc", "dctcp-rate", "dart", "none"]
    assert all(earlier * 1.05 < later for earlier, later in itertools.pairwise(fct))
    goodput = {scheme: row["long_goodput_gbps"] for scheme, row in rows.items()}
    assert (
        2 * goodput["dcqcn"] < goodput["hpcc"] < 0.9 * min(goodput[scheme] for scheme in ("dctcp-rate", "dart", "none"))
    )
    assert [scheme for scheme, row in rows.items() if row["paused_us"]] == ["dart", "none"]
    assert all(row["drops"] == 0 for row in rows.values())
    queue = {
        scheme: fanin.load(folder / scheme).summary()["network"]["peak_queue_bytes"] for scheme in ("dart", "none")
    }
    assert queue["dart"] == pytest.approx(1e6, rel=0.1)
    assert queue["none"] == pytest.approx(2.3e6, rel=0.1)

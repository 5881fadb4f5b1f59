"""Networks of thousands of hosts start in a process of their own, in memory that grows with hosts and not with pairs of
them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "bench" / "scale.py"


def measured(out: Path, *arguments: str) -> list[dict[str, float]]:
    command = [sys.executable, str(SCRIPT), "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("| hosts |")
    sizes: list[dict[str, float]] = json.loads(out.read_text(encoding="utf-8"))["sizes"]
    return sizes


def test_each_size_is_a_row_of_the_table(tmp_path: Path) -> None:
    (row,) = measured(tmp_path / "scale.json", "--k", "8", "--window", "50 us")
    assert (row["k"], row["hosts"]) == (8, 128)
    # 128 hosts of 100 Gb/s at 30 % offer 24,000 packets of 1,000 B in 50 us, over up to six links, and as many ACKs
    # come back.
    assert 20_000 < row["packet_hops"] < 300_000
    assert row["packet_hops_per_s"] == pytest.approx(row["packet_hops"] / row["run_s"])
    assert 0 < row["setup_s"] < row["run_s"] + 60
    assert row["start_bytes"] <= row["peak_bytes"]


def test_8192_hosts_start_without_memory_for_each_pair(tmp_path: Path) -> None:
    (row,) = measured(tmp_path / "scale.json", "--k", "32", "--window", "1 us")
    assert row["hosts"] == 8192
    assert row["messages"] > 0
    assert row["packet_hops"] > 0
    # 49,152 ports, 1,280 switches. A byte for each pair of hosts alone would be 67 MB, a route for each switch and host
    # 42 MB.
    assert row["bytes_per_host"] < 6_000
    assert row["peak_bytes"] < 150e6


def test_threads_share_the_network_between_them(tmp_path: Path) -> None:
    one, four = measured(tmp_path / "threads.json", "--k", "32", "--window", "20 us", "--threads", "1,4")
    assert (one["threads"], four["threads"]) == (1, 4)
    assert (one["ran_on"], four["ran_on"]) == (1, 4)
    assert one["packet_hops"] == four["packet_hops"] > 0
    # The network of 8,192 hosts takes some 50 MB: three copies of it would more than double the peak.
    assert four["peak_bytes"] < 1.4 * one["peak_bytes"]

"""Warnings about runs that tell nothing about congestion control."""

from pathlib import Path
from typing import Any

import pytest

import fanin
from conftest import ROOT
from fanin.cli.runs import document

SPEC: dict[str, Any] = {
    "spec_version": 1,
    "name": "small",
    "network": {
        "topology": {"kind": "star", "hosts": 8, "link": "100 Gbps", "delay": "1 us"},
        "buffer": {"policy": "lossless", "per_port": "500 KB"},
        "marking": {"kind": "step", "above": "400 KB"},
    },
    "traffic": [
        {
            "name": "pairs",
            "scheme": "dcqcn",
            "pattern": {"kind": "list", "file": "flows.csv"},
        }
    ],
    "measure": {"window": "1 ms"},
}


def warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flows: str, *changes: str) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows.csv").write_text(f"src,dst,bytes,start_us\n{flows}")
    run = fanin.run(SPEC, set=changes, progress=False)
    told = document(fanin.Comparison([run], run.cancelled), tmp_path)["warnings"]
    assert isinstance(told, list)
    return told


def test_queues_that_never_fill_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = "1,0,100000,0\n2,3,100000,0\n"
    (told,) = warnings(tmp_path, monkeypatch, apart)
    assert "nothing was congested, so this run tells little about congestion control" in told
    # Two to one, and a single message, of which nobody expects a queue.
    assert warnings(tmp_path, monkeypatch, "1,0,100000,0\n2,0,100000,0\n") == []
    assert warnings(tmp_path, monkeypatch, "1,0,100000,0\n") == []
    # Two packets that meet are no congestion.
    assert len(warnings(tmp_path, monkeypatch, "1,0,1000,0\n2,0,1000,0\n")) == 1


def test_a_window_below_a_round_trip_is_told_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = "1,0,100000,0\n2,0,100000,0\n"
    # Four links of 1 us, and the transmission of packets and ACKs.
    (told,) = warnings(tmp_path, monkeypatch, both, "measure.window=4 us")
    assert told.startswith("measure.window = 4 us is shorter than a round trip of the network, 4254.08 ns")
    assert warnings(tmp_path, monkeypatch, both, "measure.window=5 us") == []
    (tmp_path / "small.toml").write_text("")
    from fanin.runs import Job

    assert Job.of(SPEC, ["measure.window=4 us"]).warnings() == [told]


@pytest.mark.parametrize(
    ("spec", "changes"),
    [
        ("incast", ["measure.window=1 ms"]),
        ("coexistence", ["measure.window=3 ms"]),
        ("own-network", []),
        ("pause-storm", []),
    ],
)
def test_examples_do_not_warn(spec: str, changes: list[str]) -> None:
    run = fanin.run(ROOT / "examples" / f"{spec}.toml", set=changes, progress=False)
    told = fanin.Comparison([run], run.cancelled).warnings
    assert [one for one in told if "congest" in one] == []

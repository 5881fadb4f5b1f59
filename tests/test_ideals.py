"""Slowdowns by ideals other than the network's: the formula of the ns-3 HPCC simulator, and messages alone."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fanin
from conftest import Command
from fanin.cli.common import CommandError, known_ideal

SPEC: dict[str, Any] = {
    "spec_version": 1,
    "name": "two to one",
    "network": {
        "topology": {"kind": "star", "hosts": 4, "link": "100 Gbps", "delay": "1 us"},
        "packet": {"payload": "1000 B", "header": "48 B"},
        "buffer": {"policy": "lossless", "per_port": "500 KB"},
        "marking": {"kind": "step", "above": "50 KB"},
    },
    "traffic": [
        {
            "name": "answers",
            "scheme": "dctcp",
            "pattern": {"kind": "incast", "degree": 3, "every": "200 us", "receivers": ["h0"]},
            "size": {"fixed": "30 KB"},
        },
        {"name": "long", "scheme": "dctcp", "pattern": {"kind": "long", "count": 1}, "size": "endless"},
    ],
    "measure": {"window": "400 us"},
}

ALONE: dict[str, Any] = {
    **SPEC,
    "traffic": [
        {
            "name": "answers",
            "scheme": "dctcp",
            "pattern": {"kind": "list", "file": "flows.csv"},
        }
    ],
}


@pytest.fixture(scope="module")
def run() -> fanin.Result:
    return fanin.run(SPEC, progress=False)


def test_the_formula_of_hpcc(run: fanin.Result) -> None:
    flows = run.with_ideal("hpcc").flows().filter("measured")
    # Two links of 1 us at 100 Gb/s: twice the delays, 1000 B at each link, and 30 packets with their headers.
    expected = 4_000_000 + 2 * 80_000 + (30_000 + 30 * 48) * 80
    assert set(flows["ideal_ps"]) == {expected}
    assert flows["slowdown"].to_list() == [took / expected for took in flows["completion_ps"]]


def test_a_lone_run_is_the_message_in_a_simulation_of_its_own(
    run: fanin.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_us\n1,0,30000,0\n")
    alone = fanin.run(ALONE, progress=False).flows()["completion_ps"][0]
    flows = run.with_ideal("lone-run").flows()
    answers = flows.filter("measured")
    assert set(answers["ideal_ps"]) == {alone}
    # The handshake of TCP and its slow start are in the ideal, unlike in that of the network.
    assert alone > 1.5 * run.flows().filter("measured")["ideal_ps"][0]
    assert flows.filter(pl.col("traffic").cast(pl.String) == "long")["ideal_ps"].to_list() == [None]
    assert all(slowdown >= 1 for slowdown in answers["slowdown"])


@pytest.mark.parametrize("ideal", ["hpcc", "lone-run", "store-and-forward"])
def test_it_is_the_same_chosen_in_the_spec_and_afterwards(run: fanin.Result, tmp_path: Path, ideal: str) -> None:
    within = fanin.run(SPEC, set=[f"measure.slowdown={ideal}"], progress=False)
    after = run.with_ideal(ideal)
    assert after.slowdown_ideal == within.slowdown_ideal == after.summary()["slowdown_ideal"] == ideal
    assert_frame_equal(after.flows(), within.flows(), check_exact=True)
    assert after.summary() == within.summary()
    assert within.manifest["event_hash"] == run.manifest["event_hash"]
    # Of a folder, and back.
    loaded = fanin.load(within.save(tmp_path / ideal))
    assert_frame_equal(loaded.with_ideal("store-and-forward").flows(), run.flows(), check_exact=True)


def test_the_summary_is_of_the_reported_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_us\n1,0,30000,0\n2,0,500,0\n3,0,90000,0\n")
    size = "measure.report_size=30 KB"
    run, within = (
        fanin.run(ALONE, set=[size, f"measure.slowdown={ideal}"], progress=False)
        for ideal in ("store-and-forward", "hpcc")
    )
    after = run.with_ideal("hpcc").summary()
    assert after["traffics"][0]["slowdown"]["count"] == 1
    assert after == within.summary()


def test_flows_of_a_table_have_ideals_too(tmp_path: Path) -> None:
    table = pl.DataFrame({"src": ["h1", "h2"], "dst": ["h3", "h3"], "bytes": [500, 70_000], "start_us": [1.5, 2.0]})
    loaded = fanin.load(fanin.run(SPEC, flows=table, progress=False).save(tmp_path / "run"))
    flows = loaded.with_ideal("hpcc").flows().filter(pl.col("dst_name") == "h3", ~pl.col("ideal_ps").is_null())
    assert flows["ideal_ps"].to_list() == [4_160_000 + 548 * 80, 4_160_000 + (70_000 + 70 * 48) * 80]


def test_the_commands_take_an_ideal(command: Command, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SPEC))
    done = command("compare", "s.json", "--schemes", "dctcp", "--ideal", "hpcc", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["runs"][0]["summary"]["slowdown_ideal"] == "hpcc"
    shown = json.loads(command("show", "out", "--ideal", "store-and-forward", "--json").stdout)
    assert shown["runs"][0]["summary"]["slowdown_ideal"] == "store-and-forward"
    assert shown["rows"][0]["slowdown_p50"] != told["rows"][0]["slowdown_p50"]
    assert fanin.load_comparison(tmp_path / "out").results[0].slowdown_ideal == "hpcc"
    report = fanin.report(tmp_path / "out", tmp_path / "r.html", ideal="lone-run").read_text(encoding="utf-8")
    assert "over its ideal, lone-run" in report
    with pytest.raises(CommandError, match="--ideal alone: there is no such ideal"):
        known_ideal("alone")

"""`fanin validate` on a small folder of results: ours, and ours with a line and a packet changed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from fanin import cli, hpcc, validate
from fanin.cli.common import FAILED

CONFIGS = {"micro_2to1_dcqcn": "dcqcn", "FbHdp_l3_t02_hp": "hpcc"}


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two configurations with the results of our exact network."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def fanin(*words: str) -> None:
        result = runner.invoke(cli.app, list(words))
        assert result.exit_code == 0, result.output

    fanin("gen", "topology", "star", "--hosts", "4", "--rate", "100Gbps", "--delay", "1us", "-o", "topo.txt")
    Path("flow.txt").write_text("2\n1 0 3 100 200000 2.0\n2 0 3 100 200000 2.0\n")
    Path("trace.txt").write_text("1\n4\n")
    for folder in ("configs", "micro", "traces"):
        Path(folder).mkdir()
    for tag, scheme in CONFIGS.items():
        files = ["--topology", "topo.txt", "--flows", "flow.txt", "--trace", "trace.txt"]
        fanin("gen", "config", "--cc", scheme, *files, "-o", f"configs/{tag}.txt")
        micro = tag.startswith("micro")
        saved = hpcc.run_hpcc(f"configs/{tag}.txt", trace=micro, progress=False).save(tmp_path / "runs" / tag)
        Path("micro" if micro else "traces", f"{tag}.fct").write_text((saved / "fct.txt").read_text())
        if micro:
            validate.joined(saved / "trace.tr").write_csv(f"micro/{tag}.queue.csv")
    return tmp_path


def test_equal_results_are_told_and_drawn(golden: Path) -> None:
    out = golden / "out"
    result = CliRunner().invoke(cli.app, ["validate", str(golden), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    exact, micro = json.loads(result.stdout)["exact"]
    assert (exact["flows"], exact["equal"], exact["queue"]) == (2, 2, None)
    assert (micro["flows"], micro["equal"], micro["queue"], micro["queue_equal"]) == (2, 2, 400, 400)
    assert set(micro["worst"].values()) == {0.0}
    beside = json.loads((out / "ns3-hpcc.json").read_text())["beside"]
    assert [row["how"] for row in beside] == [validate.ACKS_FIRST, "hpcc-ns3", "hpcc"]
    assert {path.name for path in out.iterdir()} == {"ns3-hpcc.json", "ns3-slowdown.png", "ns3-ordinary.png"}


def test_what_differs_is_counted_and_fails(golden: Path) -> None:
    fct, queue = golden / "micro/micro_2to1_dcqcn.fct", golden / "micro/micro_2to1_dcqcn.queue.csv"
    words = fct.read_text().split(" ")
    words[6] = str(int(words[6]) * 2)
    fct.write_text(" ".join(words))
    frame = pl.read_csv(queue)
    name = frame.columns[1]
    changed = pl.when(pl.int_range(pl.len()) == 7).then(pl.col(name) + 1).otherwise(pl.col(name)).alias(name)
    frame.with_columns(changed).write_csv(queue)
    result = CliRunner().invoke(cli.app, ["validate", str(golden), "--json"])
    assert result.exit_code == FAILED
    row = json.loads(result.stdout)["exact"][1]
    assert (row["equal"], row["queue_equal"], row["within"]) == (1, 399, False)


def test_a_folder_without_configurations_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["validate", str(tmp_path)])
    assert result.exit_code != 0

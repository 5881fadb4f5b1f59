"""One run on several threads: the same tables, and a manifest with their number and the reason."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fanin
from conftest import Command
from fanin import own_schemes, runs
from fanin.runs import Job, cores, threads_of

PERMUTATION = """
spec_version = 1
name = "permutation"
seed = 3
[network]
topology = { kind = "fat-tree", k = 8, link = "10 Gbps", delay = "5 us" }
buffer = { policy = "lossless", per_port = "225 KB" }
marking = { kind = "step", above = "22.5 KB", at = "dequeue" }
[[traffic]]
name = "permutation"
scheme = "dcqcn"
pattern = { kind = "permutation" }
size = { fixed = "300 KB" }
[measure]
warm_up = "0 s"
window = "500 us"
drain = true
series = [{ what = "queue", where = "last-hop", every = "50 us" }]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "permutation.toml"
    path.write_text(PERMUTATION, encoding="utf-8")
    return path


MAY_BE_EMPTY = (
    *("events.arrow", "hops.arrow", "host_waits.arrow", "watch.arrow", "pauses.arrow"),
    *("ranks.arrow", "collectives.arrow", "nodes.arrow", "critical.arrow"),
)
"""Tables of what a run may not have."""


def test_tables_are_equal_for_any_number_of_threads(spec: Path, tmp_path: Path, command: Command) -> None:
    folders = [tmp_path / f"on-{threads}" for threads in (1, 2)]
    for threads, folder in enumerate(folders, start=1):
        done = command("run", spec, "--threads", str(threads), "--out", folder)
        assert done.returncode == 0, done.stderr
    one, two = (fanin.load(folder) for folder in folders)
    assert (one.manifest["threads"], one.manifest["threads_reason"]) == (1, None)
    assert (two.manifest["threads"], two.manifest["threads_reason"]) == (2, None)
    assert one.manifest["event_hash"] == two.manifest["event_hash"]
    assert one.manifest["events"] == two.manifest["events"] > 300_000
    tables = sorted(path.name for path in folders[0].glob("*.arrow"))
    assert {"flows.arrow", "ports.arrow", "series.arrow"} <= set(tables)
    for table in tables:
        frames = [pl.read_ipc(folder / table) for folder in folders]
        assert frames[0].height > 0 or table in MAY_BE_EMPTY
        assert frames[0].equals(frames[1]), table
    summaries = [json.loads((folder / "summary.json").read_text(encoding="utf-8")) for folder in folders]
    assert summaries[0] == summaries[1]


def test_the_manifest_says_why_there_is_one_thread(tiny: Path, spec: Path) -> None:
    small = fanin.run(tiny, threads=2, progress=False)
    assert small.manifest["threads"] == 1
    assert small.manifest["threads_reason"] == "all hosts are at one switch"
    drawn = fanin.run(spec, set=["measure.perfetto = {}"], threads=2, progress=False)
    assert drawn.manifest["threads"] == 1
    assert "timelines" in str(drawn.manifest["threads_reason"])


LEAF_SPINE = 'kind = "leaf-spine", leaves = 2, hosts = 64, spines = 2, fabric_link = "400 Gbps"'
TWO_RACKS = (
    "--set",
    f'network.topology={{ {LEAF_SPINE}, link = "10 Gbps", delay = "5 us" }}',
    "--set",
    "network.buffer.per_port=4 MB",
)


def test_fewer_threads_than_asked_for_are_told(spec: Path, command: Command, tmp_path: Path) -> None:
    done = command("run", spec, "--threads", "4", *TWO_RACKS, "--out", "run")
    assert done.returncode == 0, done.stderr
    reason = "the network is partitioned by racks, and has 2"
    manifest = fanin.load(tmp_path / "run").manifest
    assert (manifest["threads"], manifest["threads_reason"]) == (2, reason)
    assert f"warning: --threads 4: it ran on 2, since {reason}\n" in done.stderr
    # The default: all cores.
    assert "threads" not in command("run", spec, *TWO_RACKS).stderr
    one = command("compare", spec, "--schemes", "dcqcn,none", "--threads", "4", "--set", "measure.perfetto={}")
    assert one.stderr.count("warning: --threads 4: it ran on 1, since captures, traces and timelines") == 1


def test_a_run_with_python_in_it_has_one_thread_by_default(
    spec: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ours(fanin.Balancer):
        """The first port."""

        def choose(self, packet: fanin.Packet, hash: int, choices: list[fanin.Choice]) -> int:  # noqa: A002, ARG002
            """It has one at least."""
            return 0

    monkeypatch.setattr(runs, "cores", lambda: 2)
    window = str(root / "examples" / "own" / "window.py:Window")

    def threads(**arguments: Any) -> int:
        return fanin.run(spec, progress=False, **arguments).manifest["threads"]

    assert threads() == 2
    assert (threads(scheme=window), threads(scheme=window, threads=2)) == (1, 2)
    compared = fanin.compare(spec, ["dcqcn", window], workers=1, progress=False)
    assert [run.manifest["threads"] for run in compared.results] == [2, 1], "only a run that uses it"
    ours = Job.of(spec, own_schemes.policy_changes(Ours, None)).using(None, None)
    assert runs.default_threads(ours.resolve, 2) == 1
    assert not own_schemes.Origin("scheme", "of-c", "/tmp/libmine.so", "").in_python


def test_runs_at_once_share_the_cores() -> None:
    assert threads_of(None, 1) == cores()
    assert threads_of(None, 1000) == 1
    assert threads_of(3, 1000) == 3
    with pytest.raises(ValueError, match="1 thread or more, not 0"):
        threads_of(0)

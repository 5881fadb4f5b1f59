"""A run without a message in the measured window has a warning, and so has an explanation of its spec."""

from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin.runs import Job

ALL_AT_ZERO = """
spec_version = 1
name = "once"
seed = 1
[network]
topology = { kind = "star", hosts = 4, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "225 KB", policy = "lossless" }
[[traffic]]
name = "shuffle"
scheme = "hpcc"
pattern = { kind = "permutation" }
size = { fixed = "30 KB" }
[measure]
warm_up = "200 us"
window = "100 us"
"""
BEFORE = (
    "no message is posted in the measured window, 200 us to 300 us: all 4 are posted before it, the last at 0 ps; "
    "lower measure.warm_up"
)
LONG = """
[[traffic]]
name = "backup"
scheme = "hpcc"
pattern = { kind = "long", count = 1 }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "once.toml"
    path.write_text(ALL_AT_ZERO, encoding="utf-8")
    return path


def test_messages_before_the_window_are_told_by_all_commands(spec: Path, command: Command) -> None:
    assert command("check", spec).stderr == f"warning: {BEFORE}\n"
    done = command("run", spec)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"warning: {BEFORE}\n") == 1
    done = command("compare", spec, "--schemes", "hpcc,none")
    assert done.stderr.count(f"warning: {BEFORE}\n") == 1, "once, not once per scheme"


def test_messages_behind_the_window_are_told(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start_us,src,dst,bytes\n900,0,1,1000\n")
    late = ALL_AT_ZERO.replace('kind = "permutation"', 'kind = "list", file = "flows.csv"')
    path = tmp_path / "late.toml"
    path.write_text(late.replace('size = { fixed = "30 KB" }\n', ""), encoding="utf-8")
    told = "no message is posted before the end of the measured window, 200 us to 300 us: there is nothing to report"
    assert Job.of(path).warnings() == [told]
    assert fanin.run(path, progress=False).events()["detail"].to_list() == [told]


@pytest.mark.parametrize("change", ["measure.warm_up=0 s", "traffic.shuffle.start=250 us"])
def test_a_window_with_messages_is_not_told(spec: Path, change: str) -> None:
    assert Job.of(spec, [change]).warnings() == []
    told = fanin.run(spec, set=[change], progress=False).events()["detail"].to_list()
    # Its few messages fill no queue, which is told.
    assert [detail for detail in told if not detail.startswith("no queue of a switch")] == []


def test_long_flows_alone_are_measured_by_their_goodput(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    head, tail = ALL_AT_ZERO.split("[[traffic]]")
    path.write_text(head + LONG + tail[tail.index("[measure]") :], encoding="utf-8")
    assert Job.of(path).warnings() == []
    assert fanin.run(path, progress=False).events().is_empty()

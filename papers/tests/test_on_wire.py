"""The papers' testbeds on a wire beside the simulator, and the TCP of the kernel through the simulator's switches."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conftest import study_of
from fanin import runs, wire_tcp
from fanin.run_folder import RunError
from fanin.wire_tcp import Flow
from fanin_papers import dart_testbed, on_wire
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.experiment import Measures, Row, job
from fanin_papers.hpcc_runs import DCQCN


def test_a_testbed_on_the_wire_is_the_simulators(root: Path, tmp_path: Path) -> None:
    one = EXPERIMENTS["hpcc-fig9ab-wire"]
    base = runs.Job.of(root / "papers" / "specs" / one.spec)
    places = [(key[0], job(base, key, change).wire) for key, change in one.sweep(True).items()]
    assert places == [("simulator", False), ("wire", True)] * 2
    study = study_of(one, root / "papers" / "specs", quick=True)
    first, *rest = study.rows()
    assert (first.ours, first.verdict) == ("2", "holds")
    assert [row.claim for row in rest] == ["hpcc-fig9ab-longshort (on the wire)"] * 3
    assert not any(row.judged for row in [first, *rest])
    picture, table = study.save(tmp_path)
    assert picture.stat().st_size > 50_000
    assert json.loads(table.read_text())["rows"][0]["ours"] == "2"
    # A difference in one sample is seen.
    measures = dict(study.measures)
    key = ("wire", "hpcc", 1)
    measures[key] = {**measures[key], "long": [*measures[key]["long"][:-1], 0.0]}
    assert on_wire.rows_of(EXPERIMENTS["hpcc-fig9ab"].rows)(measures)[0].verdict == "differs"


def test_what_is_compared_sees_every_message_and_counter(root: Path) -> None:
    """Also what no measurement of the experiment shows."""
    base = root / "papers" / "specs" / "hpcc" / "fig9cd-incast.toml"
    changes = on_wire.sweep_cd(quick=True)["simulator", DCQCN, 1].set
    one, other = (
        on_wire.compared(runs.run(base, set=[*changes, *more], seed=1, progress=False), {})
        for more in ((), ("network.marking.min=90 KB",))
    )
    assert one.keys() == {"hashes"}
    assert all(a != b for a, b in zip(one["hashes"], other["hashes"], strict=True))


def test_the_rows_of_both_are_told_and_named_for_the_wire() -> None:
    def rows(measures: Measures) -> list[Row]:
        return [Row("a-b (fast)", "x", "1", f"{measures['k', 1]['v'][0]:g}", "any", "holds")]

    found = on_wire.rows_of(rows)({("simulator", "k", 1): {"v": [1.0]}, ("wire", "k", 1): {"v": [2.0]}})
    assert [(row.claim, row.ours) for row in found] == [
        ("a-b (fast, on the wire)", "0"),
        ("a-b (fast, on the wire)", "2; simulator: 1"),
    ]


def test_a_sender_is_slower_from_its_first_long_gap_on() -> None:
    """Packets each 0.762 us until 30 us, then each 1.524 us, seen every half of a microsecond."""
    packet = dart_testbed.PACKET_US
    begins = np.concatenate([np.arange(0, 30, packet), np.arange(30, 100, 2 * packet)])
    time_us = np.arange(0, 100, on_wire.EVERY_US)
    sent = np.searchsorted(begins, time_us).astype(float) * 4142
    (took,) = on_wire.slower(time_us, sent, np.array([10.0]))
    assert took == pytest.approx(20, abs=2 * packet + on_wire.EVERY_US)
    assert on_wire.slower(time_us[:60], sent[:60], np.array([10.0])) == [], "all at full rate"


def test_shares_of_less_than_the_line_drain_queues(root: Path) -> None:
    one = EXPERIMENTS["dart-headroom"]
    simulated = {key: change for key, change in one.sweep(False).items() if key[0] == "simulator"}
    study = study_of(replace(one, sweep=lambda _: simulated), root / "papers" / "specs")
    of = {str(key[1]): measured for key, measured in study.measures.items()}
    assert of["1"]["left_kb"][0] > 100
    assert of["0.98"]["left_kb"] == of["0.96"]["left_kb"] == [0]
    assert of["0.98"]["used"][0] == pytest.approx(0.98, abs=0.01)
    assert max(of["0.98"]["slower_us"]) < 16 < 40 < max(of["1"]["slower_us"])


# The TCP of the kernel


def kernel(scheme: str = "reno") -> None:
    """Skips the test loudly where this machine does not permit it, after a look at the error."""
    problem = wire_tcp.refused(scheme)
    if problem is not None:
        with pytest.raises(RunError) as raised:
            wire_tcp.run(Path("nowhere.toml"), [Flow(1, 0)], 0.1, scheme=scheme)
        assert str(raised.value) == problem
        pytest.skip(f"SKIPPED: {problem}")


def test_a_scheme_that_the_kernel_does_not_have_is_refused() -> None:
    problem = wire_tcp.refused("no-such")
    assert problem is not None
    assert "no-such" in problem or "needs Linux" in problem


@pytest.mark.parametrize("ecn", [False, True])
def test_the_kernels_tcp_passes_through_the_switches(root: Path, *, ecn: bool) -> None:
    """Whatever the load of the machine: what arrives is in order, and losses are repaired; frames are dropped where the
    queue is full, or marked before.

    The links of senders are faster, so that each of them fills the queue whether or not the other one sends.
    """
    kernel()
    links = [("h0", "20 Mbps"), ("h1", "1 Gbps"), ("h2", "1 Gbps")]
    each = ", ".join(f"{{ between = ['{host}', 'sw0'], rate = '{rate}', delay = '250 us' }}" for host, rate in links)
    network = f"kind = 'graph', hosts = ['h0', 'h1', 'h2'], switches = ['sw0'], links = [{each}]"
    small = ["network.buffer.per_port=23 KB", "network.marking.above=8 KB", f"network.topology={{ {network} }}"]
    flows = [Flow(1, 0, size=400_000), Flow(2, 0, size=400_000)]
    done = wire_tcp.run(root / "examples" / "wire" / "kernel_tcp.toml", flows, 2.5, ecn=ecn, set=small)
    arrived = [of[-1][1] if of else 0 for of in done.delivered]
    # Where the machine is too busy for all of it in this time, what is there is in order all the same.
    assert sum(arrived) > 0
    assert [took is not None for took in done.completion_s] == [total == 400_000 for total in arrived]
    counts = done.counts
    assert counts["passed"] * 1460 > sum(arrived)
    assert max(done.queue_bytes) <= 23_000
    assert (counts["marked"] > 0) == ecn
    assert counts["dropped"] > 0 or ecn
    assert counts["late_p50_us"] <= counts["late_p99_us"] <= counts["late_max_us"]


def test_the_example_says_what_was_too_late(root: Path) -> None:
    example = loaded(root / "examples" / "wire" / "kernel_tcp.py")
    late = {"late_p99_us": 1001.0, "passed": 1.0, "marked": 2.0, "dropped": 3.0}
    run = wire_tcp.Carried([1.0, 3.0], [1538, 3076], late, [], [])
    assert "TOO LATE" in example.told("x", run)
    assert example.queues(run).tolist() == [2], "samples of the first seconds do not count"
    assert example.total_at([(0.0, 0), (2.0, 200)], [0.5, 1.0]).tolist() == [50, 100]


def loaded(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

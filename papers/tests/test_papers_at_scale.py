"""Analysis of the experiments at scale: DCTCP's benchmark and RCC's datacenter."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fanin.runs import Job
from fanin_papers import dctcp_benchmark_runs as benchmark
from fanin_papers import rcc_datacenter_runs as datacenter
from fanin_papers.experiment import Change, job


def resolved(root: Path, spec: str, change: Change) -> Any:
    """The whole spec of a run."""
    return job(Job.of(root / "papers" / "specs" / spec), ("run", 1), change).resolve()


def test_the_benchmarks_spec_has_the_flows_and_queries_that_are_told(root: Path) -> None:
    plain = resolved(root, "dctcp/fig23-benchmark.toml", Change(None))
    changes = (*benchmark.background(benchmark.SIZES, 1), *benchmark.queries(100))
    told = resolved(root, "dctcp/fig23-benchmark.toml", Change(None, changes))
    for written, computed in zip(plain["traffic"], told["traffic"], strict=True):
        assert written["size"] == computed["size"]
        assert written["load"]["share"] == pytest.approx(computed["load"]["share"], rel=1e-4)


def test_ten_times_the_sizes_above_1_mb_leave_the_others_and_all_shares() -> None:
    found = benchmark.scaled(benchmark.SIZES, 10)
    small = [point for point in found if point[0] <= 1e6]
    assert small == [point for point in benchmark.SIZES if point[0] <= 1e6]
    assert found[len(small) :] == ((10e6, 75), (20e6, 92), (50e6, 98.8), (100e6, 99.8), (500e6, 100))
    large = benchmark.mean_size(benchmark.SIZES) - benchmark.mean_size((*small, (1e6, 100)))
    assert benchmark.mean_size(found) == pytest.approx(
        benchmark.mean_size(benchmark.SIZES) + 9 * (large + 0.25 * 1e6), rel=1e-12
    )


def test_a_flow_is_counted_at_both_its_servers_in_each_window_it_touches() -> None:
    ms = 1_000_000_000
    flows = pl.DataFrame(
        {
            "src_name": ["h0", "h1", "rest", "h2"],
            "dst_name": ["h1", "h0", "h0", "h1"],
            "start_ps": [60 * ms, 140 * ms, 190 * ms, 260 * ms],
            "completion_ps": [30 * ms, 20 * ms, None, 10 * ms],
        }
    )
    found = benchmark.concurrent(flows, 3, 50.0 * ms)  # windows from 50, 100 and 150 ms
    servers = [found[3 * server : 3 * server + 3] for server in range(benchmark.SERVERS)]
    assert servers[0] == [1, 1, 2]
    assert servers[1] == [1, 1, 1]
    assert servers[2:] == [[0, 0, 0]] * (benchmark.SERVERS - 2)


def test_the_load_of_the_authors_code_is_a_shorter_queue(root: Path) -> None:
    spec = "rcc/fig8-as-coded.toml"
    coded = resolved(root, spec, datacenter.as_coded('"rcc"', 60, 1))["network"]
    assert coded == resolved(root, spec, Change(None))["network"]
    none = resolved(root, spec, datacenter.as_coded('"rcc"', 0, 1))["network"]
    assert (none["buffer"]["per_port"], none["marking"]["above"]) == ("120 KB", "60 KB")
    assert (none["topology"]["delay"], none["topology"]["fabric_delay"]) == ("40 us", "40 us")

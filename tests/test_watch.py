"""Samples of schemes over time, and traces of single messages, from the spec to the tables."""

import itertools
from pathlib import Path

import polars as pl
import pytest

import fanin
from fanin import over_time

SPEC = """
spec_version = 1
name = "watched"
seed = 1

[network]
topology = { kind = "leaf-spine", leaves = 2, hosts = 2, spines = 1, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "225 KB", policy = "lossless" }
marking = { kind = "step", above = "10 KB" }

[[traffic]]
name = "queries"
scheme = "dcqcn"
start = "100 us"
pattern = { kind = "incast", degree = 2, senders = ["h1", "h2"], receivers = ["h0"] }
size = { fixed = "8 KB" }

[[traffic]]
name = "long"
scheme = "dcqcn"
pattern = { kind = "long", count = 1, senders = ["h3"], receivers = ["h0"] }

[[traffic]]
name = "web"
scheme = "dctcp"
pattern = { kind = "long", count = 2, senders = ["h2", "h3"], receivers = ["h1"] }

[measure]
window = "500 us"
"""

WATCH = """
series = [
  { what = "flow", where = ["long:0", "web:1"], every = "10 us" },
  { what = "queue", where = "last-hop", every = "10 us" },
]
trace = ["queries:0", "queries:1"]
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("watch") / "watched.toml"
    path.write_text(SPEC + WATCH)
    return path


@pytest.fixture(scope="module")
def watched(spec: Path) -> fanin.Result:
    return fanin.run(spec, progress=False)


def test_what_senders_show_is_a_row_per_value(watched: fanin.Result) -> None:
    table = watched.watch()
    assert table.columns == ["time_ps", "what", "where", "traffic", "name", "value"]
    assert table["what"].unique().to_list() == ["flow"]
    shown = table.group_by("where").agg(pl.col("name").unique().sort()).sort("where")
    assert shown.rows() == [
        ("long:0", ["delivered_bytes", "rate_bps", "window_bytes"]),
        ("web:1", ["alpha", "delivered_bytes", "peer_window_bytes", "rate_bps", "window_bytes"]),
    ]
    rates = table.filter(pl.col("where") == "long:0", pl.col("name") == "rate_bps")
    assert rates["traffic"].unique().to_list() == ["long"]
    # The instant of the start is before the first packet; then every 10 us.
    assert rates["time_ps"].to_list() == [us * 1_000_000 for us in range(10, 500, 10)]
    # It starts at line rate, and the incast makes it slow down.
    assert rates["value"][0] == 10e9
    assert rates["value"].to_numpy().min() < 6e9


def test_hops_lead_from_host_to_host(watched: fanin.Result) -> None:
    hops, flows = watched.hops(), watched.flows()
    for row in flows.filter(pl.col("traffic") == "queries").iter_rows(named=True):
        way = hops.filter(pl.col("flow_id") == row["flow_id"])
        assert way.height == row["packets_arrived"] * (row["hops"] + 1)
        for _, packet in way.group_by("seq_bytes", "attempt"):
            assert packet["time_ps"].is_sorted()
            nodes = {1: ["h1", "leaf0", "h0"], 2: ["h2", "leaf1", "spine0", "leaf0", "h0"]}[row["src"]]
            assert packet["node"].to_list() == nodes
            assert packet["port"].to_list() == [f"{a}>{b}" for a, b in itertools.pairwise(nodes)] + [None]
            assert packet.select("tokens", "lane", "deflections").sum().row(0) == (0, 0, 0)
    # Both messages come out of one port, at which the long flow waits too.
    last = hops.filter(pl.col("port") == "leaf0>h0")
    assert sorted(last["message"].unique().to_list()) == ["queries:0", "queries:1"]
    assert last["queued_bytes"].to_numpy().max() > 1000


def test_to_look_changes_nothing(watched: fanin.Result, tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text(SPEC)
    alone = fanin.run(tmp_path / "alone.toml", progress=False)
    assert alone.manifest["event_hash"] == watched.manifest["event_hash"]
    assert alone.watch().is_empty()
    assert alone.hops().is_empty()
    assert alone.watch().schema == watched.watch().schema
    assert alone.hops().schema == watched.hops().schema


def test_a_network_without_detours_says_so(watched: fanin.Result) -> None:
    network = watched.summary()["network"]
    assert network["link_bytes"] == watched.ports()["bytes"].sum() > 0
    assert (network["detour_bytes"], network["load_increase"], network["reordered"]) == (0, 0.0, 0)
    queries, _, web = watched.summary()["traffics"]
    assert (queries["path_dilation"], queries["deflected"], queries["dart"]) == (0.0, 0, None)
    assert web["path_dilation"] is None
    flows = watched.flows().filter(pl.col("traffic") == "queries")
    assert flows["links"].to_list() == flows["hops"].to_list()
    assert sorted(flows["hops"].to_list()) == [2, 4]
    assert flows.select("deflections", "attempts", "reordered").rows() == [(0, 1, 0)] * 2


TWO_SWITCHES = """
spec_version = 1
name = "two switches"
seed = 1

[network]
topology = { kind = "dumbbell", left = 2, right = 1, link = "10 Gbps", delay = "1 us", bottleneck = "5 Gbps" }
buffer = { per_port = "225 KB", policy = "lossless" }

[[traffic]]
name = "long"
scheme = "rcp"
pattern = { kind = "long", count = 2, senders = ["h0", "h1"], receivers = ["h2"] }

[measure]
window = "500 us"
series = [
  { what = "switch", where = ["right", "left"], every = "10 us" },
  { what = "queue", where = ["left>right", "right>h2"], every = "10 us" },
]
"""


def test_of_switches_the_one_with_the_longest_queue_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO_SWITCHES)
    run = fanin.run(tmp_path / "two.toml", progress=False)
    assert over_time.own_values([run], "switch") == ["least_rate_bps"]
    assert over_time.bottleneck_switch([run]) == "left"
    curve = over_time.switch_curve([run], "least_rate_bps")
    left = run.watch().filter(pl.col("where") == "left")
    assert curve["mean"].to_list() == left["value"].to_list()
    assert curve["mean"][-1] < run.watch().filter(pl.col("where") == "right")["value"][-1]
    # Without queues the first one; nothing where no scheme watches anything there.
    series = 'measure.series=[{ what = "switch", where = ["right", "left"], every = "10 us" }]'
    alone = fanin.run(tmp_path / "two.toml", set=[series], progress=False)
    assert over_time.bottleneck_switch([alone]) == "right"
    other = fanin.run(tmp_path / "two.toml", scheme="hpcc", progress=False)
    assert over_time.bottleneck_switch([other]) is None
    assert over_time.switch_curve([other], "least_rate_bps").is_empty()


@pytest.mark.parametrize(
    ("change", "key", "right"),
    [
        ("measure.trace=['querys:0']", "measure.trace[0]", 'did you mean "queries"?'),
        ("measure.trace=['queries']", "measure.trace[0]", 'like "queries:0"'),
        ("measure.series[0].where=['long:0', 'logn:0']", "measure.series[0].where[1]", 'did you mean "long"?'),
        ("measure.series[0].where='last-hop'", "measure.series[0].where", 'name each message, like ["queries:0"]'),
    ],
)
def test_names_that_are_not_there_are_refused(spec: Path, change: str, key: str, right: str) -> None:
    with pytest.raises(fanin.SpecError) as refused:
        fanin.run(spec, set=[change], progress=False)
    assert f"{key}: " in str(refused.value)
    assert right in str(refused.value)


def test_a_message_that_never_came_is_told(spec: Path) -> None:
    run = fanin.run(spec, set=["measure.trace=['queries:2']"], progress=False)
    warnings = run.events().filter(pl.col("kind") == "warning")["detail"].to_list()
    assert warnings == ['measure names the message "queries:2", but there was none']

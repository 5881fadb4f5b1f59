"""TCP, queries and classes, from the spec to the tables."""

import io
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints, is_typeddict

import polars as pl
import polars.testing
import pytest
from rich.console import Console

import fanin
from fanin import measures
from fanin.measures import completion_us, nearest_rank
from fanin.run_folder import TABLES, Manifest, QuerySummary, Summary
from fanin.spec import time_ps, window_ps

NETWORK = """
spec_version = 1
name = "asked"
seed = 1

[network]
topology = { kind = "star", hosts = 5, link = "10 Gbps", delay = "1 us" }
"""

QUERIES = """
[[traffic]]
name = "queries"
scheme = "dctcp"
pattern = { kind = "query", clients = ["h0"], rounds = 20, total = "100 KB" }
tcp = { persistent = true, min_rto = "1 ms", ack_every = 1 }

[measure]
window = "1 s"
stop_when_done = true
"""

ROOMY = 'buffer = { policy = "lossless", per_port = "150 KB" }\nmarking = { kind = "step", above = "30 KB" }\n'
"""The answers to a query fit in, and are marked."""

TIGHT = 'buffer = { policy = "lossy", per_port = "12 KB" }\n'
"""Eight packets: four servers that answer at once lose whole windows."""

CLASSES = """
buffer = { policy = "lossy", per_port = "100 KB" }
classes = [
  { name = "rdma", lossless = true, share = 0.5, marking = { kind = "step", above = "10 KB" } },
  { name = "tcp", lossless = false, share = 0.5, marking = { kind = "step", above = "30 KB" } },
]

[[traffic]]
name = "storage"
scheme = "dcqcn"
class = "rdma"
pattern = { kind = "long", count = 2, senders = ["h1", "h2"], receivers = ["h0"] }

[[traffic]]
name = "web"
scheme = "dctcp"
class = "tcp"
pattern = { kind = "long", count = 2, senders = ["h3", "h4"], receivers = ["h0"] }

[measure]
window = "5 ms"
"""


def write(folder: Path, text: str) -> Path:
    """A spec file with this text."""
    spec = folder / "spec.toml"
    spec.write_text(text, encoding="utf-8")
    return spec


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries to four servers through a port with room."""
    return write(tmp_path_factory.mktemp("asked"), NETWORK + ROOMY + QUERIES)


@pytest.fixture(scope="module")
def answered(asked: Path) -> fanin.Result:
    """A run of them."""
    return fanin.run(asked, progress=False)


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> fanin.Comparison:
    """The same queries, over a connection each that is never marked, through a port of few packets."""
    spec = write(tmp_path_factory.mktemp("lossy"), NETWORK + TIGHT + QUERIES)
    return fanin.compare(spec, ["newreno"], progress=False)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> fanin.Result:
    """RDMA and TCP into one port, in a class each."""
    return fanin.run(write(tmp_path_factory.mktemp("mixed"), NETWORK + CLASSES), progress=False)


def queries_of(result: fanin.Result, traffic: int = 0) -> QuerySummary:
    """The queries in the summary of a traffic that has some."""
    queries = result.summary()["traffics"][traffic]["queries"]
    assert queries is not None
    return queries


def assert_agree(result: fanin.Result) -> None:
    """The table of queries agrees with the summary."""
    table, summary = measures.queries(result), queries_of(result)
    times_us = completion_us(table.drop_nulls("completion_ps"))
    assert table.height == summary["started"]
    assert times_us.size == summary["finished"] == summary["completion_us"]["count"]
    assert (table["timeouts"] > 0).sum() == summary["timed_out"]
    assert nearest_rank(times_us, 500) == summary["completion_us"]["p50"]
    assert nearest_rank(times_us, 990) == summary["completion_us"]["p99"]


def lines_of(compared: fanin.Comparison) -> dict[str, list[str]]:
    """The lines of the table for the terminal by their names."""
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(compared.text())
    parts = [[part for part in line.split("  ") if part] for line in console.export_text().splitlines()]
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in parts if line}


def test_queries_finish_and_one_begins_when_the_last_is_answered(answered: fanin.Result) -> None:
    summary = queries_of(answered)
    assert (summary["started"], summary["finished"], summary["timed_out"]) == (20, 20, 0)
    assert_agree(answered)
    table = measures.queries(answered)
    assert table["group"].to_list() == list(range(20))
    assert (table["messages"] == 4).all()
    assert (table["bytes"] == 100_000).all()
    assert (table["start_ps"] + table["completion_ps"]).to_list()[:-1] == table["start_ps"].to_list()[1:]
    # 100 KB of payload at 10 Gb/s, and a window ends when all is done.
    assert table["completion_ps"].to_numpy().min() > 80e6
    assert answered.simulated_ms < 3


def test_requests_are_flows_but_never_measured(answered: fanin.Result) -> None:
    flows = answered.flows()
    requests, answers = flows.filter("request"), flows.filter(pl.col("request").not_())
    assert requests.height == answers.height == answered.summary()["traffics"][0]["started"] == 80
    assert not requests["measured"].any()
    assert answers["measured"].all()
    assert (requests["bytes"] == 1600).all()
    assert (requests["src"] == 0).all()
    assert (answers["dst"] == 0).all()
    for _, query in flows.group_by("group"):
        assert sorted(query.filter("request")["dst"]) == sorted(query.filter(~pl.col("request"))["src"]) == [1, 2, 3, 4]


def test_groups_of_two_clients_are_numbered_once(asked: Path) -> None:
    two = fanin.run(asked, set=['traffic.queries.pattern.clients=["h0","h1"]'], progress=False)
    table = measures.queries(two)
    assert sorted(table["group"]) == list(range(40))
    asking = two.flows().filter("request").group_by("group").agg(pl.col("src").n_unique(), pl.len())
    assert (asking["src"] == 1).all()
    assert (asking["len"] == 4).all()
    assert_agree(two)


def test_a_query_counts_by_its_first_request(asked: Path) -> None:
    # A query lasts about 290 us, of which its server thinks 200: the first begins before the window and is answered in
    # it, the second begins in it and is answered after it.
    late = ["traffic.queries.pattern.service_time=200 us", "measure.warm_up=205 us", "measure.window=245 us"]
    result = fanin.run(asked, set=[*late, "measure.stop_when_done=false"], progress=False)
    flows = result.flows()
    assert flows.filter("measured")["group"].unique().to_list() == [0]
    assert window_ps(result.spec) == (205_000_000, 450_000_000)
    assert measures.queries(result)["group"].to_list() == [1]
    assert_agree(result)


def test_a_query_without_its_answers_is_not_finished(asked: Path) -> None:
    # It ends while the servers think: the requests have arrived, and the answers are no messages yet.
    result = fanin.run(
        asked,
        set=["traffic.queries.pattern.service_time=200 us", "measure.window=100 us", "measure.drain=false"],
        progress=False,
    )
    flows = result.flows()
    assert flows["request"].all()
    assert flows["completion_ps"].null_count() == 0
    (query,) = measures.queries(result).to_dicts()
    assert (query["messages"], query["completion_ps"]) == (0, None)


def test_groups_without_requests_count_by_their_messages(tiny: Path) -> None:
    # Some incasts have a first message before the window and others in it.
    result = fanin.run(tiny, set=["traffic.queries.pattern.jitter=300 us"], progress=False)
    assert all(traffic["queries"] is None for traffic in result.summary()["traffics"])
    incasts = measures.queries(result)
    measured = measures.messages(result).filter(pl.col("group").is_not_null())
    assert sorted(incasts["group"]) == sorted(measured["group"].unique())
    assert incasts["start_ps"].to_numpy().min() < 500_000_000
    # Whoever would have come after the window never did.
    assert incasts["messages"].unique().sort().to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "ps"),
    [("0 ps", 0), ("1.1 ms", 1_100_000_000), ("1.001 ms", 1001000000), ("2.001 ns", 2001), ("3 s", 3 * 10**12)],
)
def test_times_of_specs_are_exact(text: str, ps: int) -> None:
    assert time_ps(text) == ps


def test_a_small_buffer_costs_newreno_timeouts_and_the_table_says_so(lossy: fanin.Comparison) -> None:
    (result,) = lossy.results
    (row,) = lossy.rows
    (traffic,) = result.summary()["traffics"]
    assert traffic["timeouts"] > 0
    assert result.summary()["network"]["drops"]["buffer"] > 0
    assert row.timeouts == result.summary()["network"]["timeouts"] == result.flows()["timeouts"].sum()
    assert traffic["timeouts"] == measures.messages(result)["timeouts"].sum()
    assert_agree(result)
    queries = queries_of(result)
    assert 0 < queries["timed_out"] < queries["started"] == 20
    # A timeout takes a millisecond, and no ACK waits for another segment.
    table = measures.queries(result)
    assert table.filter(pl.col("timeouts") > 0)["completion_ps"].to_numpy().min() > 1e9
    assert table.filter(pl.col("timeouts") == 0)["completion_ps"].to_numpy().max() < 1e9
    lines = lines_of(lossy)
    assert lines["queries: finished"] == ["20"]
    assert lines["queries: with a timeout"] == [f"{queries['timed_out'] * 5}.00 %"]
    assert lines["retransmission timeouts"] == [str(row.timeouts)]
    assert row.query_p50_us == queries["completion_us"]["p50"]
    assert row.query_p99_us is None, "20 queries are too few for a p99"


def test_without_queries_the_table_has_no_lines_for_them(compared: fanin.Comparison) -> None:
    lines = lines_of(compared)
    assert "retransmission timeouts" in lines
    assert not [name for name in lines if name.startswith("queries")]


def test_rdma_and_tcp_compare_on_one_spec(asked: Path) -> None:
    compared = fanin.compare(asked, ["dcqcn", "dctcp", "newreno"], progress=False)
    ran = [cast("list[dict[str, str]]", result.spec["traffic"])[0]["transport"] for result in compared.results]
    assert ran == ["rdma", "tcp", "tcp"]
    assert [row.scheme for row in compared.rows] == ["dcqcn", "dctcp", "newreno"]
    assert [row.queries for row in compared.rows] == [20, 20, 20]
    dcqcn, dctcp, newreno = compared.rows
    assert dcqcn.cnps > 0 == dctcp.cnps == newreno.cnps
    assert (dcqcn.marked_share or 0) > 0 < (dctcp.marked_share or 0)
    assert newreno.marked_share == 0, "its packets may not be marked"
    for result in compared.results:
        assert_agree(result)
    assert lines_of(compared)["queries: finished"] == ["20", "20", "20"]


def by_class(result: fanin.Result, port: str) -> dict[str, dict[str, int]]:
    """The counters of each class at one port."""
    rows = result.classes().filter(pl.col("port") == port)
    assert rows["class"].to_list() == list(range(rows.height))
    return {str(row["class_name"]): row for row in rows.to_dicts()}


def test_classes_are_told_apart_at_each_port(mixed: fanin.Result) -> None:
    assert mixed.summary()["errors"] == []
    assert mixed.classes().height == 3 * mixed.ports().height
    storage, web = mixed.summary()["traffics"]
    assert 0 < storage["long_goodput_gbps"] < 10 > web["long_goodput_gbps"] > 0
    port = by_class(mixed, "sw0>h0")
    assert [bool(port[name]["lossless"]) for name in ("control", "rdma", "tcp")] == [False, True, False]
    assert port["rdma"]["marked_packets"] > 0 < port["tcp"]["marked_packets"]
    assert port["control"]["marked_packets"] == 0
    assert port["rdma"]["peak_queue_bytes"] > 10_000
    assert 30_000 < port["tcp"]["peak_queue_bytes"] <= 50_000
    marked = mixed.classes()["marked_packets"].sum()
    assert marked == mixed.summary()["network"]["marked"] == mixed.ports()["marked_packets"].sum()


def test_only_the_lossy_class_drops(tmp_path: Path) -> None:
    # Web packets that may not be marked fill their half; storage keeps its own.
    spec = write(tmp_path, NETWORK + CLASSES)
    result = fanin.run(spec, set=["traffic.web.ecn=false"], progress=False)
    port = by_class(result, "sw0>h0")
    assert port["tcp"]["marked_packets"] == 0 < port["tcp"]["dropped_packets"]
    assert port["rdma"]["dropped_packets"] == 0 < port["rdma"]["marked_packets"]
    assert result.classes()["dropped_packets"].sum() == result.summary()["network"]["drops"]["total"]
    assert result.summary()["errors"] == []


@pytest.mark.parametrize("parquet", [False, True])
def test_queries_and_classes_read_back_equal(
    mixed: fanin.Result, lossy: fanin.Comparison, tmp_path: Path, parquet: bool
) -> None:
    for result in (mixed, lossy.results[0]):
        back = fanin.load(result.save(tmp_path / result.label / result.manifest["event_hash"], parquet=parquet))
        for name in TABLES:
            pl.testing.assert_frame_equal(getattr(back, name)(), getattr(result, name)())
        assert back.summary() == result.summary()
        pl.testing.assert_frame_equal(measures.queries(back), measures.queries(result))
    loaded = fanin.load_comparison(lossy.save(tmp_path / "compared", parquet=parquet))
    assert loaded.rows == lossy.rows


def test_equal_seeds_run_equally(asked: Path) -> None:
    drawn = ["traffic.queries.pattern.degree=2"]
    hashes = [fanin.run(asked, seed=seed, set=drawn, progress=False).manifest["event_hash"] for seed in (1, 1, 2)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_example_of_coexistence_runs(root: Path) -> None:
    short = ["measure.window=8 ms", "measure.warm_up=1 ms"]
    result = fanin.run(root / "examples" / "coexistence.toml", set=short, progress=False)
    assert result.summary()["errors"] == []
    assert measures.scheme_name(result) == "dcqcn+dctcp"
    storage, web, queries = result.summary()["traffics"]
    assert storage["finished"] > 0 < web["finished"]
    assert queries_of(result, 2)["finished"] > 0
    assert queries["started"] % 16 == 0
    classes = result.classes().group_by("class_name").agg(pl.col("marked_packets", "dropped_packets", "pauses").sum())
    counted = {str(row["class_name"]): row for row in classes.to_dicts()}
    assert counted["rdma"]["marked_packets"] > 0 < counted["tcp"]["marked_packets"]
    assert counted["rdma"]["dropped_packets"] == 0
    assert counted["tcp"]["pauses"] == 0


def assert_typed(value: object, expected: object, place: str) -> None:
    """A value that was read has exactly the keys of its TypedDict, with values of their types."""
    origin, arguments = get_origin(expected), get_args(expected)
    if is_typeddict(expected):
        assert isinstance(value, dict), place
        hints = get_type_hints(expected)
        if expected is Manifest:
            del hints["files"]  # only in a folder
        assert value.keys() == hints.keys(), place
        for key, hint in hints.items():
            assert_typed(value[key], hint, f"{place}.{key}")
    elif origin in (Union, UnionType):
        if value is not None:
            (inner,) = (argument for argument in arguments if argument is not type(None))
            assert_typed(value, inner, place)
        else:
            assert type(None) in arguments, place
    elif origin is list:
        assert isinstance(value, list), place
        for number, item in enumerate(value):
            assert_typed(item, arguments[0], f"{place}[{number}]")
    elif origin is dict:
        assert isinstance(value, Mapping), place
        for key, item in value.items():
            assert isinstance(key, arguments[0]), place
            assert_typed(item, arguments[1], f"{place}.{key}")
    else:
        assert type(value) is expected, f"{place}: {value!r}"


def test_summaries_and_manifests_are_what_their_types_say(
    answered: fanin.Result, mixed: fanin.Result, result: fanin.Result
) -> None:
    for run in (answered, mixed, result):
        assert_typed(run.summary(), Summary, "summary")
        assert_typed(run.manifest, Manifest, "manifest")
        assert run.summary()["slowdown_ideal"] == run.slowdown_ideal

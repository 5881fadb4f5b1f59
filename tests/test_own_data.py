"""Networks and messages from files and tables of one's own."""

import tomllib
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fanin
from conftest import Command

HOSTS = ["web-1", "web-2", "web-3", "web-4", "cache-1", "cache-2", "db-1", "db-2"]

SPEC = """
spec_version = 1
name = "own"
[network]
topology = {{ file = "{topology}" }}
buffer = {{ policy = "lossless", per_port = "500 KB" }}
marking = {{ kind = "step", above = "100 KB" }}
[[traffic]]
name = "sent"
scheme = "dcqcn"
{pattern}
[measure]
window = "1 ms"
stop_when_done = true
"""

PERMUTATION = 'pattern = { kind = "permutation" }\nsize = { fixed = "20 KB" }'

LINKS = """a,b,rate,delay
web-1,leaf-0,100 Gbps,1 us
web-2,leaf-0,100 Gbps,1 us
db,leaf-1,100 Gbps,1 us
leaf-0,leaf-1,100 Gbps,1 us
"""

NS3 = "5 2 4\n1 3\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n4 3 100Gbps 1us 0\n1 3 100Gbps 1us 0.02\n"

TREE = """Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""


def write(folder: Path, topology: str, text: str, pattern: str = PERMUTATION) -> Path:
    """A spec on a network that a file describes."""
    (folder / topology).write_text(text)
    spec = folder / "own.toml"
    spec.write_text(SPEC.format(topology=topology, pattern=pattern))
    return spec


def warnings(run: fanin.Result) -> list[str]:
    """The warnings of a run but for that of queues which never fill: these are small runs."""
    told = run.events().filter(pl.col("kind") == "warning")["detail"].to_list()
    return [warning for warning in told if not warning.startswith("no queue of a switch")]


@pytest.fixture(scope="module")
def own(root: Path) -> fanin.Result:
    """The example with a table of links and one of messages."""
    return fanin.run(root / "examples" / "own-network.toml", progress=False)


def test_the_example_runs_and_its_results_name_its_hosts(own: fanin.Result, root: Path) -> None:
    assert warnings(own) == []
    flows = own.flows().filter("measured")
    listed = pl.read_csv(root / "examples" / "own-network-flows.csv")
    columns = ["src", "dst", "bytes", "group"]
    mine = flows.select(pl.col("src_name", "dst_name").cast(pl.String), "bytes", "group", "completion_ps")
    assert mine["completion_ps"].null_count() == 0
    assert mine.drop("completion_ps").rows() == listed.sort("start_us", maintain_order=True).select(columns).rows()
    # The numbers stay, in the order in which the table of links names the hosts.
    assert flows["src"].to_list() == [HOSTS.index(name) for name in mine["src_name"]]
    assert {"web-1>rack-a", "rack-a>spine-2", "rack-data>db-1"} <= set(own.ports()["port"])
    assert own.series()["port"].cast(pl.String).unique().to_list() == ["rack-data>db-1"]


def test_why_and_reports_use_the_names(own: fanin.Result, tmp_path: Path) -> None:
    flows = own.flows().filter("measured")
    worst = flows.sort("slowdown", descending=True)["src_name"][0]
    why = fanin.why(own, progress=False)
    assert why.repeated is True
    assert worst in set(why.run.hops()["node"].cast(pl.String))
    page = tmp_path / "page.html"
    fanin.report(own, page)
    text = page.read_text(encoding="utf-8")
    assert f">{worst}</td>" in text
    assert "graph (8 hosts, 5 switches)" in text


def test_the_resolved_spec_stands_alone(own: fanin.Result, tmp_path: Path) -> None:
    folder = own.save(tmp_path / "run") or tmp_path / "run"
    resolved = tomllib.loads((Path(folder) / "spec.resolved.toml").read_text())
    assert resolved["network"]["topology"]["hosts"] == HOSTS
    again = fanin.run(resolved, progress=False)
    assert again.manifest["event_hash"] == own.manifest["event_hash"]


def test_a_topology_file_of_ns3_is_a_network(tmp_path: Path) -> None:
    run = fanin.run(write(tmp_path, "topology.txt", NS3), progress=False)
    flows = run.flows()
    assert sorted(flows["src_name"].cast(pl.String)) == ["h0", "h2", "h4"]
    assert flows["completion_ps"].null_count() == 0
    # Losses of the file's link, and of no other.
    assert run.summary()["network"]["drops"]["error"] > 0
    sound = fanin.run(write(tmp_path, "topology.txt", NS3.replace("0.02", "0")), progress=False)
    assert sound.summary()["network"]["drops"]["error"] == 0


def test_a_tree_of_htsim_is_a_network(tmp_path: Path) -> None:
    run = fanin.run(write(tmp_path, "tree.topo", TREE), progress=False)
    assert run.flows().height == 16
    assert {"h15>tor7", "agg3>core3"} <= set(run.ports()["port"])
    explained = fanin.explain(tmp_path / "own.toml")
    assert explained["network"]["hosts"] == 16


TABLE = {
    "src": ["web-1", "db", "web-2"],
    "dst": ["db", "web-2", "web-1"],
    "bytes": [1000, 2000, 3000],
    "start_us": [1.0, 2.5, 4.0],
    "group": [7, None, 7],
    "app": ["a", "b", "c"],
    "note": ["", "", "x"],
}


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
def test_tables_of_flows_may_name_hosts_and_have_further_columns(tmp_path: Path, frame: object) -> None:
    assert callable(frame)
    spec = write(tmp_path, "links.csv", LINKS)
    table = {**TABLE, "group": [7, 8, 7]} if frame is pd.DataFrame else TABLE
    run = fanin.run(spec, flows=frame(table), progress=False)
    mine = run.flows().filter(pl.col("bytes") < 4000)
    names = mine.select(pl.col("src_name", "dst_name").cast(pl.String), "bytes")
    assert names.rows() == [("web-1", "db", 1000), ("db", "web-2", 2000), ("web-2", "web-1", 3000)]
    assert mine["group"].to_list() == table["group"]
    assert warnings(run) == ["flows: columns app, note are not used"]


def test_numbers_of_hosts_stay_valid_in_tables_of_flows(tmp_path: Path) -> None:
    spec = write(tmp_path, "links.csv", LINKS)
    by_name = pl.DataFrame({key: TABLE[key] for key in ("src", "dst", "bytes", "start_us")})
    by_number = by_name.with_columns(pl.col("src", "dst").replace_strict({"web-1": 0, "web-2": 1, "db": 2}))
    runs = [fanin.run(spec, flows=table, progress=False) for table in (by_name, by_number)]
    assert runs[0].manifest["event_hash"] == runs[1].manifest["event_hash"]
    assert warnings(runs[0]) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"src": ["web-1", "web-9", "db"]}, 'flows.src, row 1: there is no host "web-9"; did you mean "web-'),
        ({"dst": [2, 0, 3]}, "flows.dst, row 2: there is no host 3; hosts are 0 to 2"),
        ({"dst": [1.5, 0.0, 1.0]}, "flows.dst must be names of hosts, or their numbers from 0"),
        ({"src": ["web-1", None, "db"]}, "flows.src, row 1: no host is given; write its name or its number"),
        ({"group": [-1, 2, 3]}, "flows.group must be whole numbers"),
        (
            {"start_us": None},
            "flows: no column start_us: the table has src, dst, bytes, group, app, note; it needs src, dst",
        ),
    ],
)
def test_what_is_wrong_with_a_table_of_flows_is_said(tmp_path: Path, change: dict[str, object], says: str) -> None:
    table = {key: value for key, value in {**TABLE, **change}.items() if value is not None}
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are what is tested
        fanin.run(write(tmp_path, "links.csv", LINKS), flows=pl.DataFrame(table), progress=False)
    assert str(caught.value).startswith(says)


def test_a_file_of_flows_warns_of_columns_once(tmp_path: Path) -> None:
    rows = "src,dst,bytes,start_us,app,note\nweb-1,db,1000,0,a,\n1,0,2000,3,b,\n"
    (tmp_path / "flows.csv").write_text(rows)
    spec = write(tmp_path, "links.csv", LINKS, 'pattern = { kind = "list", file = "flows.csv" }')
    run = fanin.run(spec, progress=False)
    [warning] = warnings(run)
    assert warning.endswith("flows.csv:1: columns app, note are not used")
    assert run.flows().select(pl.col("src_name", "dst_name").cast(pl.String)).rows() == [
        ("web-1", "db"),
        ("web-2", "web-1"),
    ]
    (tmp_path / "flows.csv").write_text(rows.replace("bytes", "size"))
    with pytest.raises(
        fanin.SpecError, match=r"flows\.csv:1: column bytes is missing: the file has src, dst, size, start_us, app"
    ):
        fanin.run(spec, progress=False)


def test_messages_that_cannot_be_measured_are_said_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes,start_us\nweb-1,db,1000,10\n")
    spec = write(tmp_path, "links.csv", LINKS, 'pattern = { kind = "list", file = "flows.csv" }')
    late = ["measure.warm_up=11 us"]
    [told] = fanin.explain(spec, set=late)["warnings"]
    assert told.startswith(
        "no message is posted in the measured window, 11 us to 1.011 ms: the only message is posted at 10 us"
    )
    [once_more] = warnings(fanin.run(spec, set=late, progress=False))
    assert "the only message is posted at 10 us" in once_more
    assert fanin.explain(spec, set=["measure.warm_up=10 us"])["warnings"] == []


@pytest.mark.parametrize(
    ("topology", "says"),
    [
        (LINKS.replace("db,leaf-1,100 Gbps", "db,leaf-1,fast"), "links.csv:4: rate: "),
        (LINKS.replace("leaf-0,leaf-1,", "leaf-0,leaf-2,"), 'links.csv: no way leads from host "web-1" to host "db"'),
        (
            LINKS.replace("a,b,", "from,to,"),
            "links.csv:1: columns a, b are missing: the file has from, to, rate, delay",
        ),
        ("hello\n", "own.toml:5: network.topology.file: "),
    ],
)
def test_a_network_that_cannot_be_read_is_refused_in_a_line(
    tmp_path: Path, command: Command, topology: str, says: str
) -> None:
    write(tmp_path, "links.csv", topology)
    checked = command("check", "own.toml")
    assert checked.returncode != 0
    assert says in checked.stdout + checked.stderr
    assert "Traceback" not in checked.stderr

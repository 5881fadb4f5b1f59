"""Two schemes through one bottleneck: every pair of those over TCP, and each of these beside each over RDMA, in one
class and in classes of their own. And what a user is shown of it."""

from itertools import combinations_with_replacement, product
from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import Command
from fanin import table
from fanin.by_traffic import busiest_port, by_traffic
from test_report import Reader

TCP = {
    "newreno": "increases",
    "cubic": "increases",
    "cubic-ecn": "increases",
    "dctcp": "echo_flips",
    "rcc": "increases",
    "rcc-ecn": "increases",
    "rcc-ns3": "increases",
    "ictcp": "increases",
}
"""A counter that each scheme has whatever is beside it."""
RDMA = {"dcqcn": "cnps_sent", "hpcc": "reference_updates", "dart": "shares_told"}
COUNTERS = TCP | RDMA
PAIRS = [*combinations_with_replacement(TCP, 2), *product(TCP, RDMA)]
CLASSES = ["one", "own"]
PORT = "leaf0>h0"
PER_PORT = 200_000
STEP = {"kind": "step", "above": "60 KB"}


def pair(first: str, second: str, classes: str) -> dict[str, object]:
    """Four flows of 1 MB from the other rack into h0 at 10 Gb/s, two under each scheme; the second two join later."""
    schemes = (first, second)
    lossless = [classes == "own" and scheme in RDMA for scheme in schemes]
    named = [
        {"name": f"class{at}", "lossless": lossless[at], "share": 0.5, "marking": STEP}
        if classes == "own"
        else {"name": "all", "lossless": False, "marking": STEP}
        for at in range(2 if classes == "own" else 1)
    ]
    traffics = [
        {
            "name": f"of{at}",
            "scheme": scheme,
            "class": named[at % len(named)]["name"],
            "start": f"{500 * at} us",
            "pattern": {
                "kind": "long",
                "count": 2,
                "senders": [f"h{4 + 2 * at}", f"h{5 + 2 * at}"],
                "receivers": ["h0"],
            },
            "size": {"fixed": "1 MB"},
            "tcp": {"min_rto": "2 ms", "initial_rto": "4 ms"},
        }
        for at, scheme in enumerate(schemes)
    ]
    link = {"link": "10 Gbps", "delay": "2 us", "fabric_link": "40 Gbps"}
    return {
        "spec_version": 1,
        "name": "pair",
        "network": {
            "topology": {"kind": "leaf-spine", "leaves": 2, "hosts": 4, "spines": 1, **link},
            "buffer": {"policy": "lossy", "per_port": f"{PER_PORT} B"},
            "classes": named,
        },
        "traffic": traffics,
        "measure": {
            "window": "5 ms",
            "drain_limit": "200 ms",
            "series": [{"what": "queue", "where": [PORT], "every": "10 us"}],
        },
    }


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_pair_shares_a_bottleneck(first: str, second: str, classes: str) -> None:
    spec = pair(first, second, classes)
    result = fanin.run(spec, threads=1, progress=False)
    summary = result.summary()
    assert summary["errors"] == []
    flows = result.flows()
    assert flows["completion_ps"].null_count() == 0
    assert flows["delivered_bytes"].to_list() == flows["bytes"].to_list() == [1_000_000] * 4
    assert summary["network"]["given_up"] == 0
    # What waits for the bottleneck stays within the share of its class, whatever lane of Dart's it is in. A lossless
    # class has its share at each ingress.
    limits = {"all": PER_PORT, "class0": PER_PORT // 2, "class1": PER_PORT // 2}
    counted = result.classes().filter(pl.col("port").is_in([PORT, "spine0>leaf0", "leaf1>spine0"]))
    for row in counted.filter((pl.col("class") > 0) & pl.col("lossless").not_()).to_dicts():
        assert row["peak_queue_bytes"] <= limits[str(row["class_name"]).partition(".")[0]], row
    assert counted.filter("lossless")["dropped_packets"].sum() == 0
    for traffic, scheme in zip(summary["traffics"], (first, second), strict=True):
        assert (traffic["scheme"], traffic["transport"]) == (scheme, "rdma" if scheme in RDMA else "tcp")
        assert traffic["actions"][COUNTERS[scheme]] > 0, scheme
        of_others = {"reference_updates": "hpcc", "shares_told": "dart"}
        assert not any(traffic["actions"][name] for name, of in of_others.items() if of != scheme)
    assert sum(counts_once(result, "packets_dropped")) == summary["network"]["drops"]["total"]
    again = fanin.run(spec, threads=2, progress=False)
    # It is cut in two in any case; one thread may run both parts.
    assert again.manifest["threads_reason"] in (None, "too few events per synchronisation window")
    assert again.manifest["event_hash"] == result.manifest["event_hash"]
    assert again.summary() == summary


def counts_once(result: fanin.Result, name: str) -> list[float]:
    """A number of each traffic, where those that share it count once."""
    seen: set[str] = set()
    found = []
    for traffic in by_traffic([result]):
        if not seen & set(traffic.counted_with):
            found.append(traffic.numbers[name].mean or 0.0)
        seen.add(traffic.name)
    return found


@pytest.fixture(scope="module")
def mixed() -> fanin.Result:
    """NewReno, DCTCP and DCTCP again beside DCQCN."""
    spec = pair("newreno", "dcqcn", "own")
    traffics = spec["traffic"]
    assert isinstance(traffics, list)
    for name, scheme in (("web", "dctcp"), ("more", "dctcp")):
        one = {"kind": "long", "count": 1, "senders": ["h1"], "receivers": ["h0"]}
        traffics.append({**traffics[0], "name": name, "scheme": scheme, "pattern": one})
    return fanin.run(spec, progress=False)


def test_the_traffics_of_a_mixed_run_are_told_apart(mixed: fanin.Result) -> None:
    traffics = {one.name: one for one in by_traffic([mixed])}
    assert [(one.scheme, one.transport, one.class_name) for one in traffics.values()] == [
        ("newreno", "tcp", "class0"),
        ("dcqcn", "rdma", "class1"),
        ("dctcp", "tcp", "class0"),
        ("dctcp", "tcp", "class0"),
    ]
    assert [one.counted_with for one in traffics.values()] == [[], [], ["more"], ["web"]]
    goodput = [one.numbers["goodput_gbps"].mean or 0 for one in traffics.values()]
    assert all(rate > 0 for rate in goodput)
    assert [one.numbers["goodput_share"].mean for one in traffics.values()] == pytest.approx(
        [rate / sum(goodput) for rate in goodput]
    )
    # Over the window of 5 ms: all but the 2 MB of DCQCN arrived in it.
    assert [goodput[0], *goodput[2:]] == pytest.approx([3.2, 1.6, 1.6])
    assert 1 < goodput[1] < 3.2
    flows = mixed.flows()
    for name, one in traffics.items():
        of = flows.filter(pl.col("traffic") == name)
        assert one.numbers["packets_resent"].mean == of["packets_resent"].sum()
        assert one.numbers["message_timeouts"].mean == of["timeouts"].sum()
        assert one.numbers["marked_packets"].mean == float(of["packets_marked"].sum()) / float(
            of["packets_arrived"].sum()
        )
    dropped = {
        str(name): int(sum_)
        for name, sum_ in mixed.classes().group_by("class_name").agg(pl.col("dropped_packets").sum()).rows()
    }
    assert sum(counts_once(mixed, "packets_dropped")) == sum(dropped.values()) > 0
    assert traffics["of1"].numbers["packets_dropped"].mean == dropped["class1"] == 0
    assert traffics["web"].actions == traffics["more"].actions
    port = busiest_port([mixed])
    assert port is not None
    assert port[0] == PORT
    assert port[1] == mixed.ports().filter(pl.col("port") == PORT)["utilisation"].item()


def test_the_table_has_a_column_per_traffic(mixed: fanin.Result) -> None:
    traffics = by_traffic([mixed])
    lines = {line.name: line.cells for section in table.lines_of_traffics(traffics) for line in section}
    assert lines["scheme"] == ["newreno", "dcqcn", "dctcp", "dctcp"]
    assert lines["class"] == ["class0", "class1", "class0", "class0"]
    assert lines["messages started"] == ["2", "2", "1", "1"]
    assert lines["drops"][3] == "with web"
    assert lines["drops"][1] == "0"
    assert lines["cnps sent"] == ["", f"{mixed.summary()['network']['cnps']:,}", "", "with web"]
    assert lines["echo flips"][:2] == ["", ""]
    assert lines["echo flips"][3] == "with web"


def test_the_report_has_these_columns_for_every_run(mixed: fanin.Result, tmp_path: Path) -> None:
    alone = fanin.run(pair("rcc", "rcc", "one"), progress=False)
    path = fanin.report(fanin.Comparison([mixed, alone], False), tmp_path / "report.html")
    tables = Reader(path.read_text(encoding="utf-8")).tables
    rows = {name: cells for name, *cells in tables["traffics"]}
    of_mixed = [f"newreno+dcqcn+dctcp: {name}" for name in ("of0", "of1", "web", "more")]
    assert rows[""] == [*of_mixed, "rcc: of0", "rcc: of1"]
    assert rows["scheme"] == ["newreno", "dcqcn", "dctcp", "dctcp", "rcc", "rcc"]
    assert rows["drops"][3:] == ["with web", "0", "with of0"]
    assert "cnps sent" not in rows, "actions have a table of their own"
    assert tables["actions"][0] == ["", "newreno", "dcqcn", "dctcp", "rcc"]
    # A run of one traffic needs no such table.
    single = {**pair("rcc", "rcc", "one")}
    single["traffic"] = single["traffic"][:1]  # type: ignore[index]
    path = fanin.report(fanin.run(single, progress=False), tmp_path / "single.html")
    assert "traffics" not in Reader(path.read_text(encoding="utf-8")).tables


def test_run_and_show_print_it_where_a_run_has_several_traffics(command: Command, root: Path) -> None:
    short = ["--set", "measure.window=2 ms", "--set", "measure.warm_up=0 ms"]
    done = command("run", root / "examples" / "coexistence.toml", *short, "--out", "out")
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, command("show", "out").stdout):
        assert "share of all goodput" in text
        assert "with web" in text
        assert "busiest port:" in text
    # A comparison has a column per scheme instead.
    compared = command("compare", root / "examples" / "coexistence.toml", *short, "--out", "both")
    assert compared.returncode == 0, compared.stderr
    assert "share of all goodput" not in compared.stdout
    assert "share of all goodput" in command("show", "both/dcqcn").stdout


def test_connections_that_gave_up_are_told() -> None:
    # Hardly a segment arrives.
    spec = pair("newreno", "newreno", "one")
    network = spec["network"]
    assert isinstance(network, dict)
    network["links"] = [{"between": ["leaf0", "h0"], "error_rate": 0.999999}]
    result = fanin.run(spec, set=["traffic[0].tcp.retries=2", "traffic[1].tcp.retries=2"], progress=False)
    assert result.summary()["network"]["given_up"] == 4
    compared = fanin.Comparison([result], False)
    assert compared.rows[0].given_up == 4
    lines = {line.name: line.cells for section in table.lines(compared) for line in section}
    assert lines["connections given up"] == ["4"]


def test_no_line_for_connections_given_up_where_there_are_none(mixed: fanin.Result) -> None:
    lines = [line.name for section in table.lines(fanin.Comparison([mixed], False)) for line in section]
    assert "connections given up" not in lines

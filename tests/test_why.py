"""Where the time of a message went: parts that add up, in networks small enough to work out by hand, and asked of old
runs."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle
from rich.console import Console

import fanin
from fanin import own_schemes, plot
from fanin.delay_breakdown import STEPS, Link, breakdown, by_port, follow, headline, hop_delays, traced

LONE = """
spec_version = 1
name = "lone"
seed = 1

[network]
topology = { kind = "star", hosts = 4, link = "10 Gbps", delay = "1 us" }
packet = { payload = "1000 B", header = "48 B" }
buffer = { per_port = "225 KB", policy = "lossless" }
marking = { kind = "step", above = "20 KB" }

[[traffic]]
name = "queries"
scheme = "none"
start = "10 us"
pattern = { kind = "incast", degree = 1, every = "10 ms", senders = ["h1"], receivers = ["h0"] }
size = { fixed = "1 KB" }

[measure]
window = "1 ms"
trace = ["queries:0"]
"""

TX = 1048 * 800
"""Picoseconds of a full packet on 10 Gb/s."""

DELAY = 1_000_000


def lone(tmp_path: Path, *changes: str) -> fanin.Result:
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    return fanin.run(tmp_path / "lone.toml", set=changes, progress=False)


def test_a_lone_packet_waits_nowhere(tmp_path: Path) -> None:
    run = lone(tmp_path)
    table = hop_delays(run)
    assert table.columns == list(STEPS)
    posted = int(run.flows()["start_ps"][0])
    at_switch = posted + TX + DELAY
    assert table.drop("port").rows() == [
        (0, 0, 0, 0, 0, "h1", 1048, posted, 0, TX, DELAY, at_switch),
        (0, 0, 0, 0, 1, "sw0", 1048, at_switch, 0, TX, DELAY, at_switch + TX + DELAY),
    ]
    known = breakdown(run)
    assert [(part.what, part.where, part.ps) for part in known.parts] == [
        ("send", "h1", TX),
        ("wait", "sw0>h0", 0),
        ("wire", "", TX + 2 * DELAY),
    ]
    assert known.total_ps == known.completion_ps == known.ideal_ps == run.flows()["completion_ps"][0]
    assert "It waited nowhere." in headline(run, known)


def test_two_senders_at_once_make_the_later_packets_wait(tmp_path: Path) -> None:
    both = lone(
        tmp_path,
        "traffic.queries.pattern={ kind='incast', degree=2, every='10 ms', senders=['h1','h2'], receivers=['h0'] }",
        "traffic.queries.size={ fixed='3 KB' }",
        "measure.trace=['queries:0','queries:1']",
    )
    assert traced(both) == ["queries:0", "queries:1"]
    # Six packets leave one after the other from when the first was there, so the last one has waited for three of them.
    longest = []
    for name in traced(both):
        table = hop_delays(both, name)
        assert table.filter(pl.col("hop") == 0)["wait_ps"].to_list() == [0, 0, 0]
        longest.append(table.filter(pl.col("hop") == 1)["wait_ps"].max())
        known = breakdown(both, name, table)
        assert known.total_ps == known.completion_ps
        assert known.last == 2
    assert sorted(cast("list[int]", longest)) == [2 * TX, 3 * TX]
    worst = [breakdown(both, name).worst() for name in traced(both)]
    assert {(part.what, part.where) for part in worst if part is not None} == {("wait", "sw0>h0")}


CROWD = (
    "traffic.queries.pattern={ kind='incast', degree=3, every='100 us', senders=['h1','h2','h3'], receivers=['h0'] }",
    "traffic.queries.size={ fixed='40 KB' }",
)


@pytest.mark.parametrize("scheme", ["none", "dcqcn", "hpcc", "dart", "dctcp", "timely-ns3"])
def test_parts_add_up_to_the_completion_time_under_every_kind_of_scheme(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    names = [f"queries:{number}" for number in range(0, 30, 3)]
    changes = [*CROWD, f"measure.trace={json.dumps(names)}"]
    run = fanin.run(tmp_path / "lone.toml", scheme=scheme, set=changes, progress=False)
    assert traced(run) == sorted(names)
    for name in names:
        table = hop_delays(run, name)
        known = breakdown(run, name, table)
        flow = run.flows().row(int(name.split(":")[1]), named=True)
        assert known.completion_ps == flow["completion_ps"] == known.total_ps
        assert all(part.ps >= 0 for part in known.parts)
        assert (table["wait_ps"].drop_nulls() >= 0).all()
        assert (known.packets, known.resent) == (flow["packets_sent"], flow["packets_resent"])
        # Steps are a chain: where one ends the next begins.
        for _, packet in table.group_by("packet", maintain_order=True):
            assert packet["end_ps"].to_list()[:-1] == packet["begin_ps"].to_list()[1:]
        assert [part.what for part in known.parts][-1] in ("wire", "after")
        assert known.total_ps - sum(p.ps for p in known.parts if p.what == "after") >= 0.99 * known.total_ps


def test_lost_packets_and_those_sent_again_are_told_apart(tmp_path: Path) -> None:
    small = ("network.buffer={ per_port='8 KB', policy='lossy' }", "network.marking={ kind='off' }")
    names = [f"queries:{number}" for number in range(30)]
    run = lone(tmp_path, *CROWD, *small, f"measure.trace={json.dumps(names)}")
    known = [breakdown(run, name) for name in names]
    flows = run.flows()
    assert [one.resent for one in known] == flows["packets_resent"].to_list()
    assert sum(one.resent for one in known) > 0
    assert sum(one.lost for one in known) > 0
    for one in known:
        assert one.total_ps == one.completion_ps
        # Packets after the completion of the message are no part of it.
        assert all(part.ps >= 0 and part.what != "after" for part in one.parts)
        assert ("retransmission" in {part.what for part in one.parts}) == bool(one.resent)
        # What was lost was lost at the one full queue.
        table = hop_delays(run, one.message)
        gone = table.filter(pl.col("end_ps").is_null())
        assert set(gone["port"].to_list()) <= {"sw0>h0"}
        assert gone.height == one.lost
        assert one.flow["packets_arrived"] == one.packets - one.lost


def test_what_hosts_take_before_they_send_is_a_part_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    changes = [*CROWD, "traffic.queries.tcp.overhead='7 us'"]
    for scheme, expected_ps in (("dctcp", 7_000_000), ("dcqcn", 0)):
        run = fanin.run(tmp_path / "lone.toml", scheme=scheme, set=changes, progress=False)
        known = breakdown(run)
        assert sum(part.ps for part in known.parts if part.what == "overhead") == expected_ps
        assert known.total_ps == known.completion_ps


def test_copies_of_the_same_bytes_are_followed_one_by_one() -> None:
    links = {"a>s": Link("s", 10**12, 5), "s>b": Link("b", 10**12, 5)}
    size = 125  # 1,000 ps on the wire
    rows = [
        (0, 0, 0, "a", "a>s"),
        (1005, 0, 0, "s", "s>b"),  # is dropped there
        (9000, 0, 0, "a", "a>s"),
        (10005, 0, 0, "s", "s>b"),
        (11310, 0, 0, "b", None),
    ]
    columns = ["time_ps", "seq_bytes", "attempt", "node", "port"]
    hops = pl.DataFrame(rows, schema=columns, orient="row").with_columns(wire_bytes=pl.lit(size))
    steps = follow(hops, links, 0)
    assert [(step.packet, step.copy, step.hop, step.wait, step.end) for step in steps] == [
        (0, 0, 0, 0, 1005),
        (0, 0, 1, None, None),
        (1, 1, 0, 8000, 10005),
        (1, 1, 1, 300, 11310),
    ]


def test_waits_by_port(tmp_path: Path) -> None:
    table = hop_delays(lone(tmp_path, *CROWD))
    ports = by_port(table)
    assert ports.select("node", "port", "hop").rows() == [("h3", "h3>sw0", 0), ("sw0", "sw0>h0", 1)]
    assert ports["packets"].to_list() == [40, 40]
    at = table.filter(pl.col("hop") == 1)["wait_ps"]
    assert ports["total_wait_us"][1] == pytest.approx(int(at.sum()) / 1e6)
    assert ports["max_wait_us"][1] == pytest.approx(int(cast("int", at.max())) / 1e6)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (None, 'trace = ["queries:0"]'),
        ("queries:1", 'the packets of queries:1 were not traced; add to measure: trace = ["queries:1"]'),
    ],
)
def test_what_was_not_traced_is_said_with_the_line_that_traces_it(
    tmp_path: Path, message: str | None, told: str
) -> None:
    run = lone(tmp_path, *CROWD, "measure.trace=[]")
    with pytest.raises(fanin.RunError) as refused:
        plot.timeline(run, message)
    assert told in str(refused.value)
    two = lone(tmp_path, *CROWD, "measure.trace=['queries:0','queries:1']")
    with pytest.raises(fanin.RunError, match="no message was chosen \\(the run traced queries:0, queries:1\\)"):
        plot.timeline(two)


def test_the_timeline_has_a_row_per_packet(tmp_path: Path) -> None:
    run = lone(tmp_path, *CROWD)
    figure = plot.timeline(run, path=tmp_path / "life.png")
    assert (tmp_path / "life.png").stat().st_size > 20_000
    top, below = figure.axes
    widths = [bar.get_width() for bar in top.patches if isinstance(bar, Rectangle)]
    assert sum(widths) == pytest.approx(run.flows()["completion_ps"][0] / 1e6)
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown[:3] == ["waiting at sw0>h0", "sending", "on the way"], "at line rate nothing waits at the host"
    paths = [path for bars in below.collections for path in bars.get_paths()]
    assert {round(float(np.mean(np.asarray(path.vertices)[:4, 1]))) for path in paths} == set(range(40))
    # The third packet leaves 1.7 us after the post, and before 2 us no other one does.
    below = plot.timeline(run, between=(0, 2)).axes[1]
    assert below.get_xlim() == (0, 2)
    assert below.get_ylim() == (2.6, -0.6)


# Asking an old run.


def test_the_slowest_message_is_found_and_run_again(tmp_path: Path) -> None:
    run = lone(tmp_path, *CROWD, "measure.trace=[]")
    answer = fanin.why(run.save(tmp_path / "run"), progress=False)
    slowest = run.flows().filter("measured").sort("slowdown", descending=True).row(0, named=True)
    assert answer.breakdown.flow["flow_id"] == slowest["flow_id"]
    assert answer.repeated is True
    assert answer.run.manifest["event_hash"] == run.manifest["event_hash"]
    assert answer.breakdown.completion_ps == slowest["completion_ps"]
    rows = answer.rows()
    assert sum(row.took_us for row in rows) == pytest.approx(slowest["completion_ps"] / 1e6)
    assert sum(row.share for row in rows) == pytest.approx(1)
    document = json.loads(json.dumps(answer.to_json()))
    assert document["completion_us"] == slowest["completion_ps"] / 1e6
    assert len(document["places"]) == len(rows)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(answer.text())
    text = console.export_text()
    assert "waiting at sw0>h0" in text
    assert "same event hash" in text
    assert answer.plot(tmp_path / "why.svg").axes


class Kept(fanin.Balancer):
    """The first of the ports, by a parameter."""

    @dataclass(frozen=True)
    class Params:
        """One that is not used."""

        port: int = 0

    def choose(self, packet: fanin.Packet, hash: int, choices: list[fanin.Choice]) -> int:  # noqa: A002, ARG002
        """The first."""
        return 0


def test_a_run_that_cannot_be_repeated_is_named(tiny: Path) -> None:
    result = fanin.run(tiny, balancing=Kept, progress=False)
    assert fanin.why(result, progress=False).repeated
    own_schemes.forget_schemes()
    with pytest.raises(fanin.SpecError, match='"kept" is not loaded; load it with --load'):
        fanin.why(result, progress=False)
    fanin.load_scheme(Kept)
    result = replace(result, label="mine", spec=result.spec | {"seeed": 1})
    with pytest.raises(fanin.SpecError, match=r"^mine/spec.resolved.toml: seeed: unknown key"):
        fanin.why(result, progress=False)


def test_a_message_is_named_by_its_row_or_by_its_number(tmp_path: Path) -> None:
    run = lone(tmp_path, *CROWD, "measure.trace=[]")
    for flow in (4, "4", "queries:4"):
        answer = fanin.why(run, flow, progress=False)
        assert (answer.message, answer.breakdown.flow["flow_id"]) == ("queries:4", 4)
    for flow, told in (
        ("400", "no flow 400; it has 30"),
        ("querys:4", "traffics: queries"),
        ("queries:77", "end with queries:29"),
    ):
        with pytest.raises(fanin.RunError, match=told):
            fanin.why(run, flow, progress=False)


def test_messages_that_were_never_posted_are_counted(root: Path) -> None:
    # Rounds that were not reached when the run stops are not in the table, and yet have numbers.
    asked = "{ kind='query', clients=['h0','h1','h2'], degree=4, rounds=10, request='100 B', total='20 KB' }"
    changes = [f"traffic.queries.pattern={asked}", "measure.window='2 ms'"]
    run = fanin.run(root / "papers" / "specs" / "dctcp" / "fig19-incast.toml", set=changes, progress=False)
    flows = run.flows().with_columns(rank=pl.int_range(pl.len()).over("traffic"))
    behind = flows.filter(pl.col("number") != pl.col("rank")).filter(pl.col("completion_ps").is_not_null())
    assert not behind.is_empty()
    row = behind.row(0, named=True)
    answer = fanin.why(run, row["flow_id"], progress=False)
    assert answer.breakdown.flow["flow_id"] == row["flow_id"]
    assert answer.repeated


def test_a_run_with_a_table_of_flows_keeps_it(tmp_path: Path) -> None:
    given = pl.DataFrame(
        {"src": ["h1", "h2"], "dst": ["h3", "h3"], "bytes": [8000, 3000], "start_us": [12.0, 14.000067]},
        schema={"src": pl.String, "dst": pl.String, "bytes": pl.UInt64, "start_us": pl.Float64},
    )
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    run = fanin.run(tmp_path / "lone.toml", set=CROWD, flows=given, progress=False)
    assert fanin.why(run, "queries:0", progress=False).repeated is True
    loaded = fanin.load(run.save(tmp_path / "kept"))
    # The given flows are messages of the first traffic.
    of_table = loaded.flows().filter(pl.col("dst_name") == "h3", pl.col("bytes") == 3000)
    answer = fanin.why(loaded, of_table["flow_id"][0], progress=False)
    assert answer.repeated is True
    assert answer.breakdown.completion_ps == of_table["completion_ps"][0]
    another = fanin.why(loaded, "queries:0", flows=given.head(1), progress=False)
    assert another.repeated is False
    assert "ANOTHER event hash" in another.note()


def test_a_cancelled_run_is_asked_up_to_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "lone.toml").write_text(LONE, encoding="utf-8")
    changes = [*CROWD, "measure.window='3 s'", "measure.trace=[]"]
    run = fanin.run(tmp_path / "lone.toml", set=changes, progress=lambda state: state.simulated_s < 0.001)
    assert run.cancelled
    answer = fanin.why(run, progress=False)
    assert answer.repeated is None
    assert answer.run.cancelled, "it stops where that one did"
    assert "cancelled" in answer.note()
    assert answer.breakdown.total_ps == answer.breakdown.completion_ps

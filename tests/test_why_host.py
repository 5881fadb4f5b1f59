"""What a message waits for inside its host: scenarios whose cause is known and whose amounts are worked out by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import fanin
from fanin import plot
from fanin.delay_breakdown import HOST_CAUSES, LABELS, at_host, breakdown, hop_delays, traced
from fanin.plot.timeline import PAINT

STAR = """
spec_version = 1
name = "star"
seed = 1

[network]
topology = { kind = "star", hosts = 4, link = "100 Gbps", delay = "1 us" }
packet = { payload = "1000 B", header = "50 B", ack = "50 B" }
buffer = { per_port = "1 MB", policy = "lossless" }
marking = { kind = "off" }

[[traffic]]
name = "load"
scheme = "none"
PATTERN

[measure]
warm_up = "0 s"
window = "50 us"
trace = ["load:0"]
"""

INCAST = """pattern = { kind = "incast", degree = 3, every = "20 us", senders = ["h1", "h2", "h3"], receivers = ["h0"] }
size = { fixed = "61300 B" }"""

TX = 84_000
"""Picoseconds of a full packet of 1,050 B at 100 Gb/s."""
ACK = 4_000
DELAY = 1_000_000
Message = tuple[int, int, float, float]
"""Source, destination, size in packets and start in microseconds."""

RTT = 2 * (TX + DELAY) + 2 * (ACK + DELAY)
"""From when a packet starts to leave until its ACK is there."""


def star(
    tmp_path: Path, messages: list[Message], *changes: str, scheme: str | type[fanin.Scheme] = "none"
) -> fanin.Result:
    """Runs messages, all of them traced."""
    rows = "\n".join(f"{src},{dst},{round(1000 * packets)},{at_us}" for src, dst, packets, at_us in messages)
    (tmp_path / "messages.csv").write_text(f"src,dst,bytes,start_us\n{rows}\n", encoding="utf-8")
    listed = STAR.replace("PATTERN", 'pattern = { kind = "list", file = "messages.csv" }')
    (tmp_path / "star.toml").write_text(listed, encoding="utf-8")
    trace = json.dumps([f"load:{number}" for number in range(len(messages))])
    changes = (f"measure.trace={trace}", *changes)
    if not isinstance(scheme, str):
        return fanin.run(tmp_path / "star.toml", scheme=scheme, set=changes, progress=False)
    how = f"traffic.load.scheme={{ {scheme} }}" if "=" in scheme else f"traffic.load.scheme='{scheme}'"
    return fanin.run(tmp_path / "star.toml", set=(how, *changes), progress=False)


def window(packets: int) -> str:
    """A window of so many packets."""
    return f"id='fixed-window', packets={packets}"


def host_parts(run: fanin.Result, message: str = "load:0") -> dict[str, int]:
    """What a message lost at its host. Checks that all its parts add up to its completion time."""
    known = breakdown(run, message)
    assert known.total_ps == known.completion_ps is not None
    return {part.what: part.ps for part in known.parts if part.what in (*HOST_CAUSES, "send")}


def test_two_messages_of_one_nic_take_turns(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 100, 1), (1, 2, 100, 1)])
    both = [host_parts(run, name) for name in traced(run)]
    # They leave in turn, but for the second packet of the message that was posted first: it stands in line before the
    # other.
    assert sorted(parts["nic"] for parts in both) == [98 * TX, 100 * TX]
    assert all(set(parts) == {"nic", "send"} and parts["send"] == 100 * TX for parts in both)
    worst = breakdown(run, "load:0").worst()
    assert worst is not None
    assert (worst.what, worst.where) == ("nic", "h1")


def test_a_message_is_held_up_by_the_acks_that_its_nic_sends(tmp_path: Path) -> None:
    # h1 acknowledges data of h2, and an ACK has priority: 4 ns for each of the ACKs that leave meanwhile.
    run = star(tmp_path, [(1, 0, 100, 1), (2, 1, 100, 1)])
    departures = hop_delays(run, "load:0").filter(hop=0)["begin_ps"]
    assert host_parts(run, "load:0")["nic"] % ACK == 0
    assert 50 * ACK < host_parts(run, "load:0")["nic"] < 100 * ACK
    assert departures.is_sorted()


def test_a_window_below_the_bandwidth_delay_product_waits_for_acks(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 100, 1)], scheme=window(5))
    # Twenty windows, each from when the first ACK of the one before is there.
    assert host_parts(run) == {"window": 19 * (RTT - 5 * TX), "send": 100 * TX}
    assert 5 * TX < RTT


RATE = "id='fixed-rate', rate='25 Gbps'"
"""A quarter of the line rate."""


class OneAtATime(fanin.Sender):
    """Paced at a quarter of the line rate, with one packet in flight."""

    def open(self, path: fanin.PathInfo) -> None:
        """A flow opens."""
        self.window = path.payload
        self.rate = path.line_rate // 4


class Paced(fanin.Scheme):
    """As its sender."""

    Sender = OneAtATime


def test_a_rate_below_that_of_the_nic_is_pacing(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 40, 1)], scheme=RATE)
    assert host_parts(run) == {"pacing": 39 * 3 * TX, "send": 40 * TX}


def test_where_causes_hold_at_once_the_first_of_the_list_counts(tmp_path: Path) -> None:
    # The window is full for longer than the pacer delays the packet.
    run = star(tmp_path, [(1, 0, 40, 1)], scheme=Paced)
    assert host_parts(run) == {"window": 39 * (RTT - TX), "send": 40 * TX}
    # Others leave while it waits for its rate. Only delay beyond that is attributed to them, and its credit makes that
    # up: the pacer waits less by as much, but for at most two packets.
    many = star(tmp_path, [(1, 0, 40, 1), (1, 2, 40, 1)], scheme=RATE)
    paced = host_parts(many, "load:0")
    assert 0 < paced["nic"] < 40 * TX
    assert 0 <= paced["pacing"] + paced["nic"] - 39 * 3 * TX <= 2 * TX


def test_a_paused_port_is_pfc(tmp_path: Path) -> None:
    # Two senders at line rate into one link: PFC halves both.
    run = star(
        tmp_path, [(1, 0, 1000, 1), (2, 0, 1000, 1)], "network.buffer.per_port='100 KB'", "measure.window='1 ms'"
    )
    pauses = run.events().filter(kind="pause", where="h1>sw0")["time_ps"].to_list()
    assert len(pauses) > 3
    left = run.hops().filter(pl.col("port").cast(pl.String) == "h1>sw0")["time_ps"].to_list()
    # From the pause, or from when the packet on the wire has left, until the next one leaves.
    held = 0
    for pause in pauses:
        after = next((time for time in left if time > pause), None)
        before = max(time for time in left if time <= pause)
        held += 0 if after is None else after - max(pause, before + TX)
    assert host_parts(run) == {"pfc": held, "send": 1000 * TX}
    paused = run.ports().filter(port="h1>sw0")["paused_ps"][0]
    assert paused - len(pauses) * TX < held <= paused
    assert held > 500 * TX


def test_a_pause_counts_before_a_full_window(tmp_path: Path) -> None:
    messages: list[Message] = [(1, 0, 1000, 1), (2, 0, 300, 1), (3, 0, 300, 1)]
    changes = ("network.buffer.per_port='100 KB'", "measure.window='1 ms'")
    run = star(tmp_path, messages, *changes, scheme=window(100))
    pauses = run.events().filter(kind="pause", where="h1>sw0")["time_ps"].to_list()
    left = run.hops().filter((pl.col("port") == "h1>sw0") & (pl.col("message") == "load:0"))["time_ps"].to_list()
    assert len(pauses) > 3
    assert max(pauses) < left[-1] - 100 * TX
    # The time of all pauses except for the packets on the wire as they began, although the window was full in between.
    sending = sum(max(0, max(time for time in left if time <= pause) + TX - pause) for pause in pauses)
    parts = host_parts(run)
    assert parts["pfc"] == run.ports().filter(port="h1>sw0")["paused_ps"][0] - sending
    assert parts["window"] > 0
    held = run.host_waits().filter((pl.col("message") == "load:0") & (pl.col("cause") == "pfc"))
    full = run.host_waits().filter((pl.col("message") == "load:0") & (pl.col("cause") == "window"))
    assert set(full["end_ps"]) & set(held["begin_ps"]), "the window was full, and then there was a pause as well"


def test_the_handshake_of_tcp(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 5, 1)], scheme="newreno")
    # A SYN and its answer, over two links each; then the ACK of that leaves first.
    handshake = 4 * (ACK + DELAY)
    assert host_parts(run) == {"handshake": handshake, "nic": ACK, "send": 5 * TX}
    assert "handshake of its TCP connection" in plot.timeline(run).get_suptitle()


def test_on_a_connection_that_is_open_there_is_none(tmp_path: Path) -> None:
    again = star(tmp_path, [(1, 0, 5, 1), (1, 0, 5, 30)], "traffic.load.tcp.persistent=true", scheme="newreno")
    assert host_parts(again, "load:0")["handshake"] == 4 * (ACK + DELAY)
    assert host_parts(again, "load:1") == {"send": 5 * TX}
    # Each has its own packets, although they are of one stream.
    assert [breakdown(again, name).packets for name in ("load:0", "load:1")] == [5, 5]


@pytest.mark.parametrize(("scheme", "change"), [("none", "rdma.persistent"), ("newreno", "tcp.persistent")])
def test_messages_of_a_connection_wait_for_those_before(tmp_path: Path, scheme: str, change: str) -> None:
    messages: list[Message] = [(1, 0, 1, 1), (1, 0, 6, 20), (1, 0, 3, 20.05)]
    run = star(tmp_path, messages, f"traffic.load.{change}=true", scheme=scheme)
    assert host_parts(run, "load:1") == {"send": 6 * TX}
    assert host_parts(run, "load:2") == {"earlier": 6 * TX - 50_000, "send": 3 * TX}


def test_a_packet_that_two_messages_share_is_of_both(tmp_path: Path) -> None:
    # Of one stream, which is not open yet: the second segment holds the end of the first message and all of the second
    # one.
    run = star(tmp_path, [(1, 0, 1.5, 1), (1, 0, 0.3, 1.05)], "traffic.load.tcp.persistent=true", scheme="newreno")
    first, second = (breakdown(run, name) for name in traced(run))
    assert (first.packets, second.packets) == (2, 1)
    assert first.total_ps == first.completion_ps
    assert second.total_ps == second.completion_ps == first.completion_ps - 50_000
    earlier = {part.what: part.ps for part in second.parts}["earlier"]
    # The ACK that ends the handshake, then the first segment.
    assert earlier == ACK + TX


def test_an_answer_has_its_own_packets_on_the_connection_of_its_request(tmp_path: Path) -> None:
    pattern = (
        "pattern = { kind = 'query', clients = ['h0'], degree = 2, rounds = 4, request = '2 KB', total = '20 KB' }"
    )
    (tmp_path / "star.toml").write_text(STAR.replace("PATTERN", pattern), encoding="utf-8")
    for persistent in ("true", "false"):
        changes = [f"traffic.load.tcp.persistent={persistent}", "measure.trace=[]", "measure.window='1 ms'"]
        run = fanin.run(tmp_path / "star.toml", scheme="newreno", set=changes, progress=False)
        for flow in run.flows().iter_rows(named=True):
            known = fanin.why(run, flow["flow_id"], progress=False).breakdown
            assert known.packets == flow["packets_sent"] == flow["bytes"] // 1000
            assert known.total_ps == flow["completion_ps"]
            assert known.host == f"h{flow['src']}"
            # The request came over the same connection, so it is open.
            assert ("handshake" in {part.what for part in known.parts}) <= flow["request"]


def test_what_hosts_take_is_overhead_before_anything_else(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 5, 1)], "traffic.load.tcp.overhead='7 us'", scheme="newreno")
    assert host_parts(run) == {
        "overhead": 7_000_000,
        "handshake": 4 * (ACK + DELAY),
        "nic": ACK,
        "send": 5 * TX,
    }


def test_a_lost_packet_costs_its_timeout(tmp_path: Path) -> None:
    # Three packets meet at a queue that has room for one: one leaves at once, one waits, one is lost.
    changes = ("network.buffer={ per_port='1050 B', policy='lossy' }", "traffic.load.rdma.timeout='20 us'")
    run = star(tmp_path, [(1, 0, 1, 1), (2, 0, 1, 1), (3, 0, 1, 1)], *changes)
    lost = [name for name in traced(run) if breakdown(run, name).resent]
    assert len(lost) == 1
    # From its first departure to the end of its retransmission.
    assert host_parts(run, lost[0]) == {"send": TX, "retransmission": 20_000_000}
    known = breakdown(run, lost[0])
    assert (known.packets, known.resent, known.lost) == (2, 1, 1)
    assert known.completion_ps == 20_000_000 + 2 * (TX + DELAY)


def test_what_waits_for_its_window_before_a_timeout_is_retransmission(tmp_path: Path) -> None:
    # The whole window is lost while there is more to send: it is the timeout that costs, not the window.
    changes = ("network.buffer={ per_port='1050 B', policy='lossy' }", "traffic.load.rdma.timeout='20 us'")
    run = star(tmp_path, [(1, 0, 3, 1), (2, 0, 3, 1), (3, 0, 3, 1)], *changes, scheme=window(1))
    (lost,) = (name for name in traced(run) if breakdown(run, name).resent == 1)
    assert host_parts(run, lost) == {"send": 3 * TX, "retransmission": 20_000_000, "window": 2 * (RTT - TX)}


def test_the_rate_of_dart_is_pacing(tmp_path: Path) -> None:
    # Three messages into one host: each gets a third of its line.
    run = star(tmp_path, [(1, 0, 400, 1), (2, 0, 400, 1), (3, 0, 400, 1)], "measure.window='1 ms'", scheme="dart")
    for name in traced(run):
        parts = host_parts(run, name)
        assert set(parts) == {"pacing", "send"}
        assert parts["send"] == 400 * (TX + 12 * 80)
        # At line rate until the receiver has said so, which takes about a round trip; the first to arrive is the first
        # to be done.
        assert 1.6 < parts["pacing"] / parts["send"] < 2


@pytest.mark.parametrize("connection", [False, True])
@pytest.mark.parametrize("lossy", [False, True])
@pytest.mark.parametrize(
    "scheme", ["none", "dcqcn-win", "hpcc", "dart", "dctcp", "newreno", "timely-ns3", "fixed-window"]
)
def test_nothing_is_left_over_and_tracing_changes_nothing(
    tmp_path: Path, scheme: str, lossy: bool, connection: bool
) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace("PATTERN", INCAST), encoding="utf-8")
    buffer = "{ per_port='40 KB', policy='lossy' }" if lossy else "{ per_port='150 KB', policy='lossless' }"
    yes = "true" if connection and scheme != "dart" else "false"
    changes = [
        f"network.buffer={buffer}",
        f"traffic.load.rdma.persistent={yes}",
        f"traffic.load.tcp.persistent={yes}",
        "network.marking={ kind='step', above='20 KB' }",
        "measure.window='100 us'",
    ]
    names = [f"load:{number}" for number in range(12)]
    run = fanin.run(
        tmp_path / "star.toml", scheme=scheme, set=[*changes, f"measure.trace={json.dumps(names)}"], progress=False
    )
    without = fanin.run(tmp_path / "star.toml", scheme=scheme, set=[*changes, "measure.trace=[]"], progress=False)
    assert run.manifest["event_hash"] == without.manifest["event_hash"]
    assert run.flows().equals(without.flows())
    assert without.host_waits().is_empty()
    for name in names:
        steps = hop_delays(run, name)
        pieces = at_host(run, name, steps)
        # Every wait at the host has its cause, to the picosecond.
        took = pieces.group_by("packet").agg((pl.col("end_ps") - pl.col("begin_ps")).sum().alias("took"))
        waited = steps.filter((pl.col("hop") == 0) & (pl.col("wait_ps") > 0)).select("packet", "wait_ps")
        assert took.sort("packet").rows() == waited.rows()
        assert not {"host", "acks"} & set(pieces["what"])
        assert (breakdown(run, name).resent > 0) == (
            "retransmission" in {part.what for part in breakdown(run, name).parts}
        )
        assert breakdown(run, name).total_ps == breakdown(run, name).completion_ps
        # The table itself has no two causes at once.
        table = run.host_waits().filter(pl.col("message").cast(pl.String) == name)
        assert all(one <= other for (_, one), (other, _) in pairwise(table.select("begin_ps", "end_ps").rows()))


def test_rows_of_the_answer_name_each_cause(tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR.replace("PATTERN", INCAST), encoding="utf-8")
    changes = ["traffic.load.tcp.overhead='2 us'", "measure.trace=[]"]
    run = fanin.run(tmp_path / "star.toml", scheme="newreno", set=changes, progress=False)
    answer = fanin.why(run, progress=False)
    document = json.loads(json.dumps(answer.to_json()))
    rows = {row["what"]: row for row in document["places"]}
    assert list(rows)[:3] == ["overhead", "handshake", "window"]
    assert rows["overhead"]["where"].startswith("overhead of h")
    # Once per message, before its first packet.
    assert (rows["overhead"]["packets"], rows["overhead"]["mean_wait_us"], rows["overhead"]["took_us"]) == (1, 2, 2)
    assert rows["handshake"]["took_us"] == rows["handshake"]["max_wait_us"]
    assert rows["window"]["packets"] > 1
    assert sum(row["took_us"] for row in document["places"]) == pytest.approx(document["completion_us"])
    # Each of them has its colour and its name in the picture.
    figure = answer.plot()
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    named = [row["where"] for row in document["places"] if row["what"] in HOST_CAUSES]
    assert shown[: len(named)] == named
    below = figure.axes[1]
    drawn = [bars for bars in below.collections if len(bars.get_paths())]
    assert len(drawn) >= len(named) + 2


def test_every_cause_has_a_name_and_a_colour_of_its_own() -> None:
    of_core = {"overhead", "handshake", "earlier", "acks", "link", "pfc", "credits", "window", "pacing", "nic"}
    assert set(HOST_CAUSES) == of_core | {"host", "retransmission"}
    assert set(PAINT) == set(LABELS) - {"wait"}
    colours = [PAINT[what] for what in HOST_CAUSES if what != "host"]
    assert len(set(colours)) == len(colours)


def test_a_folder_of_an_earlier_version_is_not_taken_apart(tmp_path: Path) -> None:
    run = star(tmp_path, [(1, 0, 100, 1), (1, 2, 100, 1)])
    folder = run.save(tmp_path / "old")
    (folder / "host_waits.arrow").unlink()
    old = fanin.load(folder, verify=False)
    assert host_parts(old, "load:0") == {
        "host" if what == "nic" else what: ps for what, ps in host_parts(run, "load:0").items()
    }
    assert plot.timeline(old, "load:0").axes

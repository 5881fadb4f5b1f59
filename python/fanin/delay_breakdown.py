"""Breaks down the FCT of one message: the delay of each of its packets at each hop, and their parts of the FCT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fanin.measures import size_text
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from fanin.run_tables import RunTables

__all__ = [
    "Breakdown",
    "Link",
    "Part",
    "Step",
    "at_host",
    "breakdown",
    "by_cause",
    "by_port",
    "flow_row",
    "follow",
    "headline",
    "hop_delays",
    "parts_of",
    "pick",
    "traced",
    "verdict",
]

STEPS = {
    "packet": pl.Int64,
    "seq_bytes": pl.Int64,
    "attempt": pl.Int64,
    "copy": pl.Int64,
    "hop": pl.Int64,
    "node": pl.String,
    "port": pl.String,
    "wire_bytes": pl.Int64,
    "begin_ps": pl.Int64,
    "wait_ps": pl.Int64,
    "serialisation_ps": pl.Int64,
    "propagation_ps": pl.Int64,
    "end_ps": pl.Int64,
}
"""The columns of `hop_delays`."""


PIECES = {"packet": pl.Int64, "what": pl.String, "begin_ps": pl.Int64, "end_ps": pl.Int64}
"""The columns of `at_host`."""

LABELS = {
    "overhead": "overhead of {where}",
    "handshake": "handshake",
    "earlier": "earlier messages of its connection",
    "link": "link of {where} down",
    "pfc": "{where} paused by PFC",
    "credits": "{where} without credits",
    "window": "window full",
    "pacing": "pacing",
    "nic": "other flows of {where}'s NIC",
    "acks": "waiting for ACKs",
    "host": "before leaving {where}",
    "retransmission": "retransmission",
    "send": "sending",
    "wait": "waiting at {where}",
    "wire": "on the way",
    "after": "after the last arrival",
}
"""The label of each part of an FCT in pictures and tables, in the order in which parts are shown: see `Part.what`."""

HOST_CAUSES = tuple(LABELS)[:12]
"""The causes of waiting at the sending host."""


class Link(NamedTuple):
    """A port, as the table of ports has it."""

    to: str
    rate_bps: int
    delay_ps: int

    def tx_ps(self, wire_bytes: int) -> int:
        """Time to put so many bytes on the wire, rounded up as the simulator does."""
        return -(-wire_bytes * 8 * 10**12 // self.rate_bps)


@dataclass
class Step:
    """One packet at one node, until it arrives at the next."""

    packet: int
    seq: int
    attempt: int
    copy: int
    hop: int
    node: str
    port: str
    wire: int
    begin: int
    wait: int | None
    tx: int
    delay: int
    end: int | None = None

    @property
    def soonest(self) -> int:
        """Its earliest arrival at the next node: after the wait that is known."""
        return self.begin + (self.wait or 0) + self.tx + self.delay

    def row(self) -> tuple[object, ...]:
        """In the order of `STEPS`."""
        who = (self.packet, self.seq, self.attempt, self.copy, self.hop, self.node, self.port, self.wire)
        return (*who, self.begin, self.wait, self.tx, self.delay, self.end)


def traced(result: RunTables) -> list[str]:
    """The messages whose packets were traced, as the spec names them."""
    return sorted(result.hops()["message"].cast(pl.String).unique().to_list())


def pick(result: RunTables, message: str | None) -> str:
    """The traced message of this name, or the only one. Raises `RunError` where there is none."""
    names = traced(result)
    if message is None and len(names) == 1:
        return names[0]
    if message in names:
        return str(message)
    wanted = message or next((f"{traffic['traffic']}:0" for traffic in result.summary()["traffics"]), "NAME:0")
    which = (
        f"the packets of {message} were not traced"
        if message
        else "no message was chosen"
        if names
        else "no message was traced"
    )
    has = f" (the run traced {', '.join(names[:8])}{', ...' if len(names) > 8 else ''})" if names else ""
    raise RunError(f'{result.label}: {which}{has}; add to measure: trace = ["{wanted}"]')


def flow_row(result: RunTables, message: str) -> dict[str, object]:
    """The row of the table of flows that a traced message has."""
    of = result.hops().filter(pl.col("message").cast(pl.String) == message)["flow_id"][0]
    return result.flows().row(int(of), named=True)


def hop_delays(result: RunTables, message: str | None = None) -> pl.DataFrame:
    """The delays of every packet of a traced message at every node that it left, in the order in which packets left
    their host.

    Columns: `packet` (0 left first), `seq_bytes` (its offset), `attempt`, `copy` (how often the same bytes had been
    sent before), `hop` (0 is the host), `node`, `port`, `wire_bytes`, and in picoseconds: `begin_ps`, its arrival at
    the node; `wait_ps` until its first bit left; `serialisation_ps` until its last bit had left; `propagation_ps` along
    the link; `end_ps`, its arrival at the next node. A packet has arrived at a switch with its last bit. At its host
    its wait begins when the message was posted, or when the previous packet of the message had left; `at_host` breaks
    this wait down by cause.

    `wait_ps` (at switches) and `end_ps` are null where a packet was lost, or in flight when the run stopped. Raises
    `RunError` if the message was not traced.
    """
    name = pick(result, message)
    hops = result.hops()
    if "wire_bytes" not in hops.columns:
        raise RunError(f"{result.label}: its table of hops has no sizes of packets; run it again with this version")
    ports = result.ports().select("port", "to", "rate_bps", "delay_ps")
    links = {port: Link(to, rate, delay) for port, to, rate, delay in ports.iter_rows()}
    flow = flow_row(result, name)
    # The ns-3 HPCC simulator truncates the time of each transmission to nanoseconds.
    short_ps = 2000 if result.of_ns3 else 0
    mine = hops.filter(pl.col("message").cast(pl.String) == name)
    steps = follow(mine, links, int(str(flow["start_ps"])), short_ps)
    steps.sort(key=lambda step: (step.packet, step.hop))
    return pl.DataFrame([step.row() for step in steps], schema=STEPS, orient="row")


def follow(hops: pl.DataFrame, links: dict[str, Link], posted_ps: int, short_ps: int = 0) -> list[Step]:
    """Joins the rows of one message: a packet that left by a port is the next one with the same bytes at the other end.

    Of two copies of the same bytes that could both have arrived, the one that left last is taken, since the earlier one
    was most probably lost. A transmission may have taken up to `short_ps` less than its bytes need.
    """
    steps: list[Step] = []
    under_way: dict[tuple[int, int, str], list[Step]] = {}
    copies: dict[int, int] = {}
    packets, free, furthest = 0, posted_ps, -1
    columns = ("time_ps", "seq_bytes", "attempt", "node", "port", "wire_bytes")
    for time, seq, attempt, node, port, wire in hops.select(columns).iter_rows():
        came = under_way.get((seq, attempt, node), [])
        before = next((step for step in reversed(came) if step.soonest - short_ps <= time), None)
        if before is not None:
            came.remove(before)
            before.end = time
            if before.hop > 0:
                before.wait = max(0, time - before.soonest)
        if port is None:
            continue
        link = links[port]
        tx = link.tx_ps(wire)
        if before is None:
            # TCP may segment the same bytes differently, so that a packet begins at a new offset.
            copy = max(copies.get(seq, 0), int(seq < furthest))
            copies[seq], furthest = copy + 1, max(furthest, seq)
            begin = min(free, time)
            step = Step(packets, seq, attempt, copy, 0, node, port, wire, begin, time - begin, tx, link.delay_ps)
            packets, free = packets + 1, time + tx
        else:
            hop = before.hop + 1
            step = Step(before.packet, seq, attempt, before.copy, hop, node, port, wire, time, None, tx, link.delay_ps)
        steps.append(step)
        under_way.setdefault((seq, attempt, link.to), []).append(step)
    return steps


def at_host(result: RunTables, message: str, steps: pl.DataFrame) -> pl.DataFrame:
    """The causes for which each packet of a traced message waited at its host, in intervals that add up to its wait in
    `steps`.

    Columns: `packet`, `what` (the cause, as in `Part`), `begin_ps`, `end_ps`. The cause is "retransmission" for all
    packets whose bytes had been sent before, and "host" where an earlier version recorded no causes.
    """
    table = result.host_waits().filter(pl.col("message").cast(pl.String) == message)
    known = table.select(pl.col("cause").cast(pl.String), "begin_ps", "end_ps").rows()
    pieces: list[tuple[int, str, int, int]] = []
    at = 0
    for packet, copy, begin, wait in steps.filter(hop=0).select("packet", "copy", "begin_ps", "wait_ps").iter_rows():
        end = begin + wait
        if copy > 0:
            pieces.append((packet, "retransmission", begin, end))
            continue
        while at < len(known) and known[at][2] <= begin:
            at += 1
        here = at
        while begin < end:
            what, since, until = known[here] if here < len(known) else ("host", end, end)
            if since > begin:
                pieces.append((packet, "host", begin, min(since, end)))
                begin = min(since, end)
            if since < end:
                pieces.append((packet, what, begin, min(until, end)))
                begin = min(until, end)
            here += 1
    frame = pl.DataFrame(pieces, schema=PIECES, orient="row")
    return frame.filter(pl.col("begin_ps") < pl.col("end_ps"))


def by_cause(pieces: pl.DataFrame) -> pl.DataFrame:
    """The waits of a message's packets at their host by cause, in the order of `LABELS`.

    Columns: `what` (the cause), `packets` (that waited for it), `mean_wait_us`, `max_wait_us`, `total_wait_us` over
    these.
    """
    took = (pl.col("end_ps") - pl.col("begin_ps")).sum() / 1e6
    waited = pieces.group_by("packet", "what").agg(took.alias("wait"))
    grouped = waited.group_by("what").agg(
        pl.len().alias("packets"),
        pl.col("wait").mean().alias("mean_wait_us"),
        pl.col("wait").max().alias("max_wait_us"),
        pl.col("wait").sum().alias("total_wait_us"),
    )
    return grouped.sort(pl.col("what").replace_strict({what: number for number, what in enumerate(LABELS)}))


def by_port(steps: pl.DataFrame) -> pl.DataFrame:
    """The waits of a message's packets by port, in the order of their path.

    Columns: `node`, `port`, `hop` (the lowest of a packet there), `packets`, `mean_wait_us`, `max_wait_us`,
    `total_wait_us`.
    """
    wait = pl.col("wait_ps") / 1e6
    grouped = steps.group_by("node", "port", maintain_order=True).agg(
        pl.col("hop").min(),
        pl.len().alias("packets"),
        wait.mean().alias("mean_wait_us"),
        wait.max().alias("max_wait_us"),
        wait.sum().alias("total_wait_us"),
    )
    return grouped.sort("hop", maintain_order=True)


@dataclass(frozen=True)
class Part:
    """A piece of an FCT."""

    what: str
    """At its host, where several causes hold at once the first of: "overhead" (of the host, as the spec has it for
    TCP), "handshake" (the TCP connection was not open yet), "earlier" (messages of its connection), "link" (it was
    down), "pfc" (the port was paused), "credits" (it had none for a full packet), "window" (it was full: that of the
    congestion control, or the receiver's), "pacing" (the rate of its scheme), "nic" (the port sent other packets).
    "retransmission" is the whole delay there of bytes that had been sent before: waiting for a NACK or a timeout,
    waiting for any other cause, and sending them again; "send" is sending each byte once.

    Then "wait" (at a switch), "wire" (serialisation and propagation on the path), "after" (between the last arrival and
    the completion). "host" is waiting at the host for which an earlier version recorded no cause."""
    where: str
    """The host, or the port of a switch; empty for a part of the whole path."""
    ps: int


@dataclass(frozen=True)
class Breakdown:
    """The parts of the FCT of a traced message; they add up to it exactly.

    They are the delays of the message's packets at their host, one after the other, up to the packet whose arrival
    completed the message, and then the delays of this last packet on its path.
    """

    message: str
    flow: dict[str, object]
    """Its row in the table of flows."""
    host: str
    """The host that sends it."""
    last: int
    """The last packet, by its number in `hop_delays`."""
    packets: int
    resent: int
    """Packets whose bytes had been sent before."""
    lost: int
    """Packets that arrived nowhere."""
    completion_ps: int | None
    """None if the message was not complete; the parts then add up to its last arrival."""
    ideal_ps: int | None
    """The ideal FCT, of which its slowdown is a multiple."""
    parts: list[Part]
    pieces: pl.DataFrame
    """The causes for which its packets waited at their host: see `at_host`."""

    @property
    def total_ps(self) -> int:
        """The sum of the parts."""
        return sum(part.ps for part in self.parts)

    def worst(self) -> Part | None:
        """The longest part except sending and propagation."""
        return max((part for part in self.parts if part.what not in ("send", "wire")), key=lambda p: p.ps, default=None)


def breakdown(result: RunTables, message: str | None = None, steps: pl.DataFrame | None = None) -> Breakdown:
    """Breaks down the FCT of a traced message. `steps` is the result of `hop_delays` for it, if that is known
    already."""
    name = pick(result, message)
    table = hop_delays(result, name) if steps is None else steps
    flow = flow_row(result, name)
    start = int(str(flow["start_ps"]))
    took = flow["completion_ps"]
    completion = None if took is None else int(str(took))
    slowdown = flow["slowdown"]
    ideal = round(completion / float(str(slowdown))) if completion is not None and slowdown is not None else None
    # At its host if its last known step ended there: only the host that a message is for is no node with a further
    # step.
    ends = table.group_by("packet", maintain_order=True).agg(pl.col("end_ps").last(), pl.col("copy").first())
    arrived = ends.drop_nulls("end_ps")
    if completion is not None:
        arrived = arrived.filter(pl.col("end_ps") <= start + completion)
    resent = ends.filter(pl.col("copy") > 0).height
    lost = ends["end_ps"].null_count()
    counts = (ends.height, resent, lost, completion, ideal)
    host = str(table["node"][0])
    pieces = at_host(result, name, table)
    if arrived.is_empty():
        return Breakdown(name, flow, host, -1, *counts, [], pieces)
    last = arrived.row(int(arrived["end_ps"].arg_max() or 0), named=True)
    parts = parts_of(table, pieces, last, completion)
    return Breakdown(name, flow, host, int(last["packet"]), *counts, parts, pieces)


def parts_of(table: pl.DataFrame, pieces: pl.DataFrame, last: dict[str, int], completion: int | None) -> list[Part]:
    """See `Breakdown`."""
    left = table.filter((pl.col("hop") == 0) & (pl.col("packet") <= last["packet"]))
    host = str(left["node"][0])
    way = table.filter(pl.col("packet") == last["packet"])
    took = dict.fromkeys((*HOST_CAUSES, "send"), 0)
    for what, begin, end in (
        pieces.filter(pl.col("packet") <= last["packet"]).select("what", "begin_ps", "end_ps").rows()
    ):
        took[what] += end - begin
    for copy, tx in left.select("copy", "serialisation_ps").iter_rows():
        took["retransmission" if copy > 0 else "send"] += tx
    parts = [Part(what, host, ps) for what, ps in took.items()]
    beyond = way.filter(pl.col("hop") > 0)
    parts += [Part("wait", str(port), int(wait)) for port, wait in beyond.select("port", "wait_ps").iter_rows()]
    parts.append(Part("wire", "", int(way["propagation_ps"].sum()) + int(beyond["serialisation_ps"].sum())))
    if completion is not None:
        parts.append(Part("after", "", completion - sum(part.ps for part in parts)))
    return [part for part in parts if part.ps != 0 or part.what in ("send", "wait", "wire")]


def headline(run: RunTables, parts: Breakdown) -> str:
    """Two lines: the message, and its FCT with the largest cause of delay."""
    from fanin.shown import time

    flow = parts.flow
    names = f"{parts.message} under {flow['scheme']}: {size_text(int(str(flow['bytes'])))}"
    took = (
        f"{time(parts.completion_ps / 1e6)}" if parts.completion_ps is not None else "Not complete when the run stopped"
    )
    if parts.ideal_ps is not None and parts.completion_ps is not None:
        took += (
            f", {parts.completion_ps / parts.ideal_ps:.3g} times the {time(parts.ideal_ps / 1e6)} of an empty network"
        )
    sent = f"{parts.packets} packet{'s' if parts.packets != 1 else ''}"
    if parts.resent:
        sent += f", {parts.resent} sent again"
    if parts.lost:
        sent += f", {parts.lost} {'lost' if parts.completion_ps is not None else 'lost or under way'}"
    return f"{run.name}: {names} in {sent}\n{took}. {verdict(parts)}"


def verdict(parts: Breakdown) -> str:
    """The largest cause of delay, as a sentence."""
    from fanin.shown import time

    if not parts.parts:
        return "None of its packets had arrived."
    worst = parts.worst()
    if worst is None or worst.ps == 0:
        return "It waited nowhere."
    share = f"{time(worst.ps / 1e6)} ({worst.ps / max(1, parts.total_ps):.0%})"
    return {
        "overhead": f"Most is the overhead of its host {worst.where} that the spec has: {share}.",
        "handshake": f"Most was lost to the handshake of its TCP connection: {share}.",
        "earlier": f"Most was lost behind earlier messages of its connection: {share}.",
        "link": f"Most was lost while the link of its host {worst.where} was down: {share}.",
        "pfc": f"Most was lost while PFC paused the port of its host {worst.where}: {share}.",
        "credits": f"Most was lost while the port of its host {worst.where} had no credits: {share}.",
        "window": f"Most was lost with its window full, waiting for ACKs: {share}.",
        "pacing": f"Most was lost to pacing by its scheme at {worst.where}: {share}.",
        "nic": f"Most was lost behind other flows of {worst.where}'s NIC: {share}.",
        "acks": f"Most was lost by waiting for ACKs: {share}.",
        "host": f"Most was lost at its host {worst.where}, before packets left: {share}.",
        "retransmission": f"Most was lost to retransmission by {worst.where}: {share}.",
        "wait": f"Most was lost by waiting at {worst.where}: {share}.",
        "after": f"Most was lost after its last packet had arrived: {share}.",
    }[worst.what]

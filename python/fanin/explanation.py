"""What a spec means before it runs: paths, thresholds, loads, and the cost of running it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from fanin import _core
from fanin.runs import Job, SchemeLike, SpecLike

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


class RateOf(TypedDict):
    """Links of one rate."""

    rate_bps: int
    links: int


class Tier(TypedDict):
    """Ports of one tier: one direction of its links."""

    tier: str
    links: int
    rates: list[RateOf]
    capacity_bps: float


class Lengths(TypedDict):
    """Paths of one length. Numbers of equal paths and round-trip times are the least and the largest of these pairs."""

    links: int
    host_pairs: int
    share: float
    paths_min: int
    paths_max: int
    base_rtt_min_us: float
    base_rtt_max_us: float
    bdp_max_bytes: int


class Paths(TypedDict):
    """Shortest paths between hosts. `counted` says how round-trip times and BDPs are counted; `exact` whether all pairs
    were counted."""

    counted: str
    packet_bytes: int
    ack_bytes: int
    host_pairs: int
    exact: bool
    lengths: list[Lengths]
    mean_links: float
    base_rtt_min_us: float
    base_rtt_max_us: float
    bdp_max_bytes: int


class NodeKind(TypedDict):
    """Nodes whose names begin with the same letters. `level`: links to the nearest host; 0 of hosts, and -1 of switches
    that join hosts alone while others lead further."""

    name: str
    nodes: int
    level: int


class LinkKind(TypedDict):
    """Links of one rate and delay between two kinds, given by their places in the list of kinds."""

    between: list[int]
    links: int
    rate_bps: int
    delay_ps: int


class Network(TypedDict):
    """Nodes, links, tiers, paths; what `fanin.drawing` draws."""

    hosts: int
    switches: int
    links: int
    tiers: list[Tier]
    paths: Paths
    kinds: list[NodeKind]
    between: list[LinkKind]


class Threshold(TypedDict):
    """A threshold of a queue: its key in the spec, as a share of the largest BDP, and how long the port takes to send
    it."""

    key: str
    bytes: int
    share_of_bdp: float
    drain_us: float


class Marking(TypedDict):
    """How queues of a class mark at ports of one rate."""

    rate_bps: int
    ports: int
    kind: str
    at: str | None
    thresholds: list[Threshold]
    probability: float | None
    weight: float | None
    gains: tuple[float, float] | None
    every_us: float | None


class Headroom(TypedDict):
    """The thresholds of PFC for links of one kind: XOFF and XON, and the headroom above XOFF."""

    rate_bps: int
    delay_us: float
    ports: int
    headroom_bytes: int
    needed_bytes: int
    enough: bool
    xoff_bytes: int
    xon_bytes: int


class BufferOf(TypedDict):
    """The buffer of a class at ports of one rate."""

    rate_bps: int
    buffer_bytes: int | None
    alpha: float | None


class Class(TypedDict):
    """The queues and buffers of a class. `buffer_bytes` is that of each port, or of its pool at each switch;
    `buffer_by_rate`, if there, has the limits at ports of rates with others. `weight` is None where ports send a packet
    of each class in turn."""

    name: str
    lossless: bool
    trimmed_bytes: int | None
    """Bytes that switches leave of packets which find no room; None where they drop or never lose them."""
    traffics: list[str]
    buffer: str
    buffer_bytes: int | None
    alpha: float | None
    buffer_by_rate: NotRequired[list[BufferOf]]
    priority: int | None
    weight: int | None
    marking: list[Marking]
    pfc: list[Headroom]


class TierLoad(TypedDict):
    """The load that is offered to a tier in the measured window, as payload and as shares of its capacity without and
    with headers."""

    tier: str
    payload_bps: float
    share: float
    wire_share: float


Traffic = TypedDict(
    "Traffic",
    {
        "name": str,
        "scheme": str,
        "transport": str,
        "parameters": dict[str, object],
        "class": str,
        "messages": float,
        "endless_messages": int,
        "bytes": float,
        "mean_bytes": float | None,
        "load": list[TierLoad],
        "extrapolated": bool,
    },
)
"""The messages of a traffic. Endless ones have no load of their own."""


class Share(TypedDict):
    """A part of a cost, in the unit of the whole."""

    what: str
    amount: float


class Cost(TypedDict):
    """The estimated cost of a run, without the parts that `not_counted` names. `packet_hops_per_s` is from a trial on
    this machine."""

    messages: float
    endless_messages: int
    packet_hops: float
    events: float
    simulated_s: float
    packet_hops_per_s: float
    setup_s: float
    wall_s: float
    memory_bytes: float
    packet_hops_of: list[Share]
    memory_of: list[Share]
    extrapolated: bool
    not_counted: str


class JobAlone(TypedDict):
    """A job in an empty network, where no message waits for another: no run of it is faster. The parts of its critical
    path add up to its time."""

    traffic: str
    ranks: int
    time_us: float
    compute_us: float
    serialisation_us: float
    propagation_us: float
    waiting_us: float
    messages: int


class Pauses(TypedDict):
    """Whether PFC could act on the flows of a configuration: `why` is the answer as a sentence, and the numbers are
    those of the `ingress` that comes nearest to its XOFF; None where no port can get more than it sends on."""

    possible: bool
    why: str
    ingress: str | None
    most_bytes: int | None
    xoff_bytes: int | None


class Explanation(TypedDict):
    """The meaning of a spec, before it runs."""

    name: str
    seed: int
    network: Network
    classes: list[Class]
    traffics: list[Traffic]
    load: list[TierLoad]
    cost: Cost
    jobs: list[JobAlone]
    """Jobs of at most a million nodes."""
    pauses: Pauses | None
    """Of a configuration of the ns-3 HPCC simulator; None for a spec."""
    remarks: list[str]
    warnings: list[str]


def explain(
    spec: SpecLike,
    *,
    scheme: SchemeLike | None = None,
    seed: int | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
) -> Explanation:
    """Paths, thresholds, loads and cost of a spec before it runs; takes about a second for any spec.

    `scheme`, `seed` and `set` change the spec as `fanin.run` does. Raises `SpecError` for a spec that cannot run and
    `OSError` for a file that cannot be read.
    """
    job = Job.of(spec, set).using(scheme, seed)
    text = _core.explain(job)
    return cast("Explanation", json.loads(text))


def table(explained: Explanation) -> RenderableType:
    """All of it for a terminal."""
    from rich.console import Group
    from rich.text import Text

    network = explained["network"]
    heading = (
        f"{explained['name']}: {network['hosts']:,} hosts, {network['switches']:,} switches, {network['links']:,} links"
    )
    parts: list[RenderableType] = [Text(heading, style="bold"), Text(), _tiers(explained), _paths(network["paths"])]
    parts.extend([_marking(explained), *_buffers(explained), _traffics(explained)])
    if explained["jobs"]:
        parts.append(_jobs(explained["jobs"]))
    parts.append(_cost(explained["cost"]))
    if explained["pauses"] is not None:
        parts.append(Text(f"{explained['pauses']['why']}.", style="bold"))
    parts.extend(Text(remark, style="dim") for remark in explained["remarks"])
    warnings = explained["warnings"]
    parts.extend(Text(f"warning: {warning}", style="yellow") for warning in warnings[:MOST_ROWS])
    if len(warnings) > MOST_ROWS:
        parts.append(Text(f"and {len(warnings) - MOST_ROWS:,} warnings more: --json has all", style="yellow"))
    return Group(*parts)


_WORDS = {"class", "ports", "rule", "protected", "policy", "traffic", "scheme", "most of it for", ""}
"""Columns of words; all others have numbers and are aligned to the right."""


def _new(title: str, *columns: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        words = number == 0 or column in _WORDS
        made.add_column(column, justify="left" if words else "right", overflow="fold")
    return made


MOST_ROWS = 20
"""Rows of a table, and names in a line."""


def _fill(made: Table, rows: Sequence[Sequence[str]]) -> Table:
    """Adds the first rows, and says how many there are besides."""
    for row in rows[:MOST_ROWS]:
        made.add_row(*row)
    if len(rows) > MOST_ROWS:
        made.caption = f"and {len(rows) - MOST_ROWS:,} more: --json has all"
        made.caption_justify = "left"
    return made


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - MOST_ROWS:,} more" if len(names) > MOST_ROWS else ""
    return ", ".join(names[:MOST_ROWS]) + more


def _tiers(explained: Explanation) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    offered = {load["tier"]: load for load in explained["load"]}
    made = _new("Tiers", "tier", "links", "rate", "load")
    rows = []
    for tier in explained["network"]["tiers"]:
        rates = _listed([rate(of["rate_bps"]) for of in tier["rates"]])
        load = offered.get(tier["tier"])
        share = "-" if load is None else percent(load["share"])
        rows.append([tier["tier"], f"{tier['links']:,}", rates, share])
    note = "Load: payload of messages, as a share of the links; headers come on top."
    if any(traffic["endless_messages"] for traffic in explained["traffics"]):
        note += " Long flows have none of their own: they take what is left."
    return Group(_fill(made, rows), Text(note, style="dim"), Text())


def _paths(paths: Paths) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    made = _new("Shortest paths between hosts", "links", "pairs", "equal paths", "base RTT", "BDP")
    rows = []
    for of in paths["lengths"]:
        least, most = duration(of["base_rtt_min_us"] / 1e6), duration(of["base_rtt_max_us"] / 1e6)
        rtt = least if least == most else f"{least} to {most}"
        rows.append([str(of["links"]), percent(of["share"]), equal_paths(of), rtt, size(of["bdp_max_bytes"])])
    sampled = "" if paths["exact"] else f" From {paths['host_pairs']:,} pairs that stand for all."
    note = f"Mean {paths['mean_links']:.2f} links.{sampled} RTT: {paths['counted']}."
    return Group(_fill(made, rows), Text(note, style="dim"), Text())


def equal_paths(of: Lengths) -> str:
    """How many shortest paths two hosts have that are so far apart."""
    least, most = of["paths_min"], of["paths_max"]
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _marking(explained: Explanation) -> Table:
    made = _new("Marking", "class", "ports", "rule", "threshold", "of BDP", "drains in")
    rows: list[list[str]] = []
    for of in explained["classes"]:
        for marking in of["marking"]:
            ports = f"{marking['ports']:,} at {rate(marking['rate_bps'])}"
            rule = marking["kind"] if marking["at"] is None else f"{marking['kind']} at {marking['at']}"
            if marking["kind"].startswith("red") and marking["probability"] is not None:
                rule += f", up to {percent(marking['probability'])}"
            thresholds = marking["thresholds"]
            if not thresholds:
                rows.append([of["name"], ports, rule, "-", "-", "-"])
            for number, threshold in enumerate(thresholds):
                rows.append(
                    [
                        *((of["name"], ports, rule) if number == 0 else ("", "", "")),
                        f"{threshold['key']} {size(threshold['bytes'])}",
                        percent(threshold["share_of_bdp"]),
                        duration(threshold["drain_us"] / 1e6),
                    ]
                )
    return _fill(made, rows)


def _room(limit: int | None, alpha: float | None) -> tuple[str, str]:
    return "no limit" if limit is None else size(limit), "-" if alpha is None else f"{alpha:g}"


def _buffers(explained: Explanation) -> list[Table]:
    weighted = any(of["weight"] is not None for of in explained["classes"])
    columns = ("priority", "weight") if weighted else ()
    made = _new("Buffers", "class", "protected", "policy", "bytes", "alpha", *columns)
    rows = []
    for of in explained["classes"]:
        turns = ["-" if of["priority"] is None else str(of["priority"]), str(of["weight"])] if weighted else []
        left = of["trimmed_bytes"]
        lost = "no (drops)" if left is None else f"no (cuts to {size(left)})"
        kept = "PFC" if of["lossless"] else lost
        rows.append([of["name"], kept, of["buffer"], *_room(of["buffer_bytes"], of["alpha"]), *turns])
        for own in of.get("buffer_by_rate", []):
            at = f"at {rate(own['rate_bps'])}"
            rows.append([at, kept, of["buffer"], *_room(own["buffer_bytes"], own["alpha"]), *turns])
    _fill(made, rows)
    if not any(of["pfc"] for of in explained["classes"]):
        return [made]
    pfc = _new("PFC, by ingress", "class", "ports", "delay", "XOFF", "XON", "headroom", "needed")
    rows = []
    for of in explained["classes"]:
        for link in of["pfc"]:
            needed = size(link["needed_bytes"]) + ("" if link["enough"] else " [red]not enough[/red]")
            rows.append(
                [
                    of["name"],
                    f"{link['ports']:,} at {rate(link['rate_bps'])}",
                    duration(link["delay_us"] / 1e6),
                    size(link["xoff_bytes"]),
                    size(link["xon_bytes"]),
                    size(link["headroom_bytes"]),
                    needed,
                ]
            )
    return [made, _fill(pfc, rows)]


def _traffics(explained: Explanation) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    made = _new("Traffics", "traffic", "scheme", "messages", "mean size", "payload")
    rows = []
    for traffic in explained["traffics"]:
        scheme = f"{traffic['scheme']} over {traffic['transport']}"
        about = "about " if traffic["extrapolated"] else ""
        if traffic["messages"] or not traffic["endless_messages"]:
            mean = "-" if traffic["mean_bytes"] is None else size(traffic["mean_bytes"])
            rows.append([traffic["name"], scheme, f"{about}{traffic['messages']:,.0f}", mean, size(traffic["bytes"])])
        if traffic["endless_messages"]:
            rows.append([traffic["name"], scheme, f"{traffic['endless_messages']:,}", "endless", "-"])
    # Traffics under one scheme mostly have the same parameters, which are shown once.
    alike: dict[str, list[str]] = {}
    for traffic in explained["traffics"]:
        values = ", ".join(f"{name} = {_value(value)}" for name, value in traffic["parameters"].items())
        alike.setdefault(f"{traffic['scheme']}: {values}" if values else "", []).append(traffic["name"])
    alike.pop("", None)
    lines = [Text(f"{_listed(names)} under {values}", style="dim") for values, names in alike.items()]
    if len(lines) > MOST_ROWS:
        lines[MOST_ROWS:] = [Text(f"and {len(lines) - MOST_ROWS:,} more: --json has all", style="dim")]
    return Group(_fill(made, rows), *lines, Text())


def _jobs(jobs: list[JobAlone]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    columns = ("time", "computation", "serialisation", "propagation", "slots", "messages")
    made = _new("Jobs in an empty network, and their critical path", "traffic", *columns)
    rows = []
    for job in jobs:
        parts = [job["time_us"], job["compute_us"], job["serialisation_us"], job["propagation_us"], job["waiting_us"]]
        rows.append([job["traffic"], *(duration(us / 1e6) for us in parts), f"{job['messages']:,}"])
    note = "No run is faster: each message takes its time alone, whatever else is under way."
    return Group(_fill(made, rows), Text(note, style="dim"), Text())


def _value(value: object) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)


def _cost(cost: Cost) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    made = _new("Cost, estimated", "", "about", "most of it for")

    def most(parts: list[Share], show: str) -> str:
        return f"{parts[0]['what']}, {show}" if parts else "-"

    hops, memory = cost["packet_hops_of"], cost["memory_of"]
    part = percent(hops[0]["amount"] / cost["packet_hops"]) if hops else ""
    made.add_row("packet-hops", count(cost["packet_hops"]), most(hops, part))
    made.add_row("events", count(cost["events"]), "-")
    made.add_row("simulated time", duration(cost["simulated_s"]), "-")
    speed = f"{cost['packet_hops_per_s'] / 1e6:.2g} M packet-hops a second here"
    made.add_row("real time", duration(cost["wall_s"]), speed)
    made.add_row("memory", size(cost["memory_bytes"]), most(memory, size(memory[0]["amount"])) if memory else "-")
    about = "Only a part of the messages was counted. " if cost["extrapolated"] else ""
    return Group(made, Text(f"{about}Not counted: {cost['not_counted']}.", style="dim"))


def count(value: float) -> str:
    """A count with three digits: 4.74 M."""
    return _scaled(value, ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")), "")


def size(value: float) -> str:
    """Bytes with a unit: 22.5 KB."""
    return _scaled(value, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")), "B")


def rate(value: float) -> str:
    """Bits per second with a unit: 10 Gb/s."""
    return _scaled(value, ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "Kb/s")), "b/s")


def duration(seconds: float) -> str:
    """Seconds with a unit: 67.3 us, 12.5 s, 1.5 h."""
    if seconds >= 3600:
        return f"{seconds / 3600:,.3g} h"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    return _scaled(seconds * 1e9, ((1e9, "s"), (1e6, "ms"), (1e3, "us")), "ns")


def percent(share: float) -> str:
    """A share in percent: 16.1 %."""
    value = float(f"{share * 100:.3g}")
    return f"{value:,.0f} %" if abs(value) >= 1000 else f"{value:.3g} %"


def _scaled(value: float, units: tuple[tuple[float, str], ...], base: str) -> str:
    # By the rounded value: 999.96 KB is 1 MB.
    rounded = float(f"{value:.3g}")
    for scale, unit in units:
        if rounded >= scale:
            return f"{_digits(value / scale)} {unit}"
    return f"{_digits(value)} {base}".rstrip()


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"

"""Quantities over time: queues, goodput and fairness, rates and windows, pauses.

Every function returns a frame. It raises `RunError` if the spec did not sample what it needs, with the line of the spec
that would. Samples are taken from `measure.warm_up` to the end of the window, every `every` of their series. Functions
of several runs return their mean with a band, as `over_seeds.mean_curve` does.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from fanin.measures import jain
from fanin.over_seeds import coarser, mean_curve
from fanin.run_folder import RunError
from fanin.spec import Spec, section, time_ps, traffics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanin.run_tables import RunTables

__all__ = [
    "Pauses",
    "bottleneck_switch",
    "failures",
    "fairness_curve",
    "fairness_over_time",
    "goodput_curve",
    "goodput_over_time",
    "how_to_measure",
    "message_number",
    "missing",
    "none_of_watched",
    "own_values",
    "pause_counts",
    "pauses_left_out",
    "pauses_of",
    "pauses_over_time",
    "queue_curve",
    "queue_over_time",
    "queue_samples",
    "queues_by_tier",
    "rates_curve",
    "rates_over_time",
    "receiver_curve",
    "sender_curve",
    "switch_curve",
]

NO_WINDOW = 2.0**62
"""From this value on a window stands for none."""

FAILURES = {
    "link_down": "{where} down",
    "link_up": "{where} up",
    "reroute": "new routes",
    "fault": "{where}: {detail}",
    "storm": "watchdog at {where}",
    "storm_end": "watchdog at {where} ends",
}
"""The kinds of events that pictures over time mark, and what is written beside their lines."""

MOST_MARKS = 8
"""The most of them in a panel; there may be thousands."""


def failures(runs: Sequence[RunTables]) -> list[tuple[int, str]]:
    """When something failed or came back in any of these runs, in picoseconds, and what: of several things at one time
    the first three."""
    wanted = pl.col("kind").is_in(list(FAILURES))
    found = pl.concat([run.events().filter(wanted).select("time_ps", "kind", "where", "detail") for run in runs])
    texts: dict[int, dict[str, None]] = {}
    for at_ps, kind, where, detail in found.unique(maintain_order=True).sort("time_ps", maintain_order=True).rows():
        texts.setdefault(at_ps, {})[FAILURES[kind].format(where=where, detail=detail)] = None
    return [
        (at_ps, ", ".join(list(said)[:3]) + (f" and {len(said) - 3:,} more" if len(said) > 3 else ""))
        for at_ps, said in texts.items()
    ]


def queue_samples(result: RunTables) -> pl.DataFrame:
    """Every sample of a queue, those of empty ones as 0 bytes: the columns of the table `series`, in order of time and
    port.

    Where the limit on samples cut the table off, samples after its last row are unknown and are left out.
    """
    table = result.series().unique(["time_ps", "port"], maintain_order=True)
    ports = pl.Series("port", result.ports()["port"].cast(pl.String))
    grids = []
    for series in _series(result, "queue"):
        instants = pl.DataFrame(
            {"time_ps": _known_instants(result, series)}, schema={"time_ps": table.schema["time_ps"]}
        )
        here = ports.filter(ports.is_in(list(_ports(result, series)))).to_frame()
        grids.append(instants.join(here, how="cross"))
    if not grids:
        return table
    whole = pl.concat(grids).unique(maintain_order=True).sort("time_ps", maintain_order=True)
    seen = table.with_columns(pl.col("port").cast(pl.String))
    found = whole.join(seen, on=["time_ps", "port"], how="left", maintain_order="left")
    return found.with_columns(pl.col("queue_bytes").fill_null(0)).select(table.columns)


def queues_by_tier(result: RunTables) -> dict[str, tuple[NDArray[np.int64], int]]:
    """The sampled queues of each tier of links: the lengths in bytes that were not zero, rising, and how many samples
    there are with those of empty queues. A port that several series sample is in that of the first."""
    ports = result.ports().select(pl.col("port", "tier").cast(pl.String))
    samples = result.series().with_columns(pl.col("port").cast(pl.String)).unique(["time_ps", "port"])
    found: dict[str, tuple[NDArray[np.int64], int]] = {}
    seen: set[str] = set()
    for series in _series(result, "queue"):
        instants = _known_instants(result, series)
        here = ports.filter(pl.col("port").is_in(list(_ports(result, series) - seen)))
        seen |= set(here["port"])
        at = samples.filter(pl.col("time_ps").is_in(instants), pl.col("queue_bytes") > 0).join(here, on="port")
        for (tier,), some in here.group_by("tier", maintain_order=True):
            before, count = found.get(str(tier), (np.zeros(0, np.int64), 0))
            lengths = at.filter(pl.col("tier") == tier)["queue_bytes"].to_numpy().astype(np.int64)
            found[str(tier)] = np.sort(np.concatenate([before, lengths])), count + instants.size * some.height
    return found


def queue_over_time(result: RunTables, port: str | None = None) -> pl.DataFrame:
    """The queues that the spec's first series of queues samples, or that of one port, one row per instant.

    Columns: `time_us`, `total_bytes` over the sampled ports, `longest_bytes` at any of them. Empty queues that the
    series left out count as 0.
    """
    every_queue = _series(result, "queue")
    if not every_queue:
        raise missing(result, "queues were", '{ what = "queue", where = "last-hop", every = "10 us" }')
    table = result.series().unique(["time_ps", "port"], maintain_order=True)
    chosen = every_queue[0]
    if port is not None:
        entry = next((series for series in every_queue if port in _ports(result, series)), None)
        if entry is None:
            wanted = f'{{ what = "queue", where = ["{port}"], every = "10 us" }}'
            raise missing(result, f"the queue of port {port} was", wanted)
        chosen = entry
        table = table.filter(pl.col("port") == port)
    elif len(every_queue) > 1:
        table = table.filter(pl.col("port").is_in(list(_ports(result, chosen))))
    instants = _known_instants(result, chosen)
    summed = table.group_by("time_ps").agg(
        pl.col("queue_bytes").sum().alias("total_bytes"), pl.col("queue_bytes").max().alias("longest_bytes")
    )
    whole = pl.DataFrame({"time_ps": instants}).join(summed, on="time_ps", how="left", maintain_order="left")
    return whole.select(
        (pl.col("time_ps") / 1e6).alias("time_us"), pl.col("total_bytes", "longest_bytes").fill_null(0).cast(pl.Int64)
    )


def queue_curve(runs: Sequence[RunTables], port: str | None = None, column: str = "longest_bytes") -> pl.DataFrame:
    """A column of `queue_over_time` over the seeds, at the instants that all runs have."""
    return mean_curve([queue_over_time(run, port) for run in runs], ["time_us"], column, whole=True)


INTERVAL = ("begin_us", "end_us")


def _over(
    runs: Sequence[RunTables], measure: Callable[[RunTables], pl.DataFrame], at: Sequence[str], value: str
) -> pl.DataFrame:
    """A measure over the seeds. Of several, samples are averaged over intervals of time first."""
    frames = [measure(run) for run in runs]
    return mean_curve(coarser(frames, at, value) if len(runs) > 1 else frames, at, value)


GOODPUT = {"begin_us": pl.Float64, "end_us": pl.Float64, "what": pl.String, "where": pl.String, "traffic": pl.String}


def goodput_over_time(result: RunTables) -> pl.DataFrame:
    """Payload that arrived in order between samples, of watched messages and traffics.

    Columns: `begin_us` and `end_us` of the interval, `what` ("flow" or "traffic"), `where` ("long:0" or the traffic's
    name), `traffic`, `gbps`. A message has a row for every interval in which it was active, also where none of it
    arrived; a rate is over the whole interval.
    """
    if not _series(result, "flow") and not _series(result, "traffic"):
        name = next((str(traffic["name"]) for traffic in traffics(result.spec)), "NAME")
        raise missing(result, "goodput was", f'{{ what = "traffic", where = ["{name}"], every = "10 us" }}')
    watched = _delivered(result)
    rows: dict[tuple[int, int, str], tuple[float, float, str, str, str, float]] = {}
    lives = _lives(result)
    for what in ("traffic", "flow"):
        for series in _series(result, what):
            instants = _instants(result, series)
            for name in _names(series):
                seen = watched.get((what, name), {})
                if what == "flow" and name not in lives:
                    continue  # it was never posted
                start, end, size = lives[name] if what == "flow" else (0, None, 0)
                values = [_delivered_by(int(at), seen, start, end, size) for at in instants]
                traffic = name.rpartition(":")[0] if what == "flow" else name
                for begin, until, before, after in zip(instants, instants[1:], values, values[1:], strict=False):
                    open_then = start < until and (end is None or end > begin)
                    if not open_then or before is None or after is None:
                        continue
                    gbps = (after - before) * 8 / (int(until - begin) / 1e3)
                    row = (begin / 1e6, until / 1e6, what, name, traffic, gbps)
                    rows.setdefault((int(begin), int(until), f"{what} {name}"), row)
    return pl.DataFrame(list(rows.values()), schema=GOODPUT | {"gbps": pl.Float64}, orient="row")


def goodput_curve(runs: Sequence[RunTables]) -> pl.DataFrame:
    """`goodput_over_time` over the seeds; that of a message over those in which it was active."""
    frames = [goodput_over_time(run) for run in runs]
    at = [*INTERVAL, "what", "where", "traffic"]
    if len(frames) == 1:
        return mean_curve(frames, at, "gbps")
    # Each message has its own intervals.
    names = pl.concat(frames).select("what", "where").unique(maintain_order=True).rows()
    parts = [[frame.filter(what=what, where=where) for frame in frames] for what, where in names]
    curves = [mean_curve(coarser(part, at, "gbps"), at, "gbps") for part in parts]
    return pl.concat(curves) if curves else mean_curve(frames, at, "gbps")


def fairness_over_time(result: RunTables) -> pl.DataFrame:
    """Jain's index over the goodput of the watched messages that were active in each interval.

    Columns: `begin_us`, `end_us`, `flows` (how many), `jain` (null where nothing arrived). Needs a series of the
    quantity "flow".
    """
    if not _series(result, "flow"):
        raise missing(result, "goodput of single messages was", _flow_line(result))
    flows = goodput_over_time(result).filter(pl.col("what") == "flow")
    rows = [
        (begin, end, part.height, jain(part["gbps"]))
        for (begin, end), part in flows.group_by("begin_us", "end_us", maintain_order=True)
    ]
    schema = {"begin_us": pl.Float64, "end_us": pl.Float64, "flows": pl.Int64, "jain": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("begin_us", "end_us")


def fairness_curve(runs: Sequence[RunTables]) -> pl.DataFrame:
    """`fairness_over_time` over the seeds in which something arrived."""
    return _over(runs, fairness_over_time, INTERVAL, "jain")


def rates_over_time(result: RunTables) -> pl.DataFrame:
    """Rate and window of each watched message's sender while it sends, one row per message and instant.

    Columns: `time_us`, `where` ("long:0"), `traffic`, `rate_bps` (under Dart the smaller of DCQCN's rate and the
    receiver's share), `window_bytes` (over TCP the smaller of the sender's own and its receiver's; null where there is
    no window).
    """
    table = result.watch().filter(pl.col("what") == "flow")
    if not _series(result, "flow"):
        raise missing(result, "rates and windows were", _flow_line(result))
    known = pl.col("name").is_in([name for both in _LIMITS.values() for name in both])
    kept = table.filter(known).with_columns(pl.col("where", "traffic", "name").cast(pl.String))
    wide = kept.unique(["time_ps", "where", "name"], maintain_order=True).pivot(
        "name", index=["time_ps", "where", "traffic"], values="value"
    )
    of_each = {name: [one for one in both if one in wide.columns] for name, both in _LIMITS.items()}
    smaller = [
        (pl.min_horizontal(have) if have else pl.lit(None, pl.Float64)).alias(name) for name, have in of_each.items()
    ]
    limited = pl.when(pl.col("window_bytes") < NO_WINDOW).then(pl.col("window_bytes")).alias("window_bytes")
    return wide.select((pl.col("time_ps") / 1e6).alias("time_us"), "where", "traffic", *smaller).with_columns(limited)


_LIMITS = {"rate_bps": ("rate_bps", "cap_bps"), "window_bytes": ("window_bytes", "peer_window_bytes")}
"""The values of a flow of which the smaller one limits it."""


def rates_curve(runs: Sequence[RunTables], column: str) -> pl.DataFrame:
    """A column of `rates_over_time` over the seeds in which the message was being sent and had such a value."""
    return _over(runs, rates_over_time, ["time_us", "where", "traffic"], column)


COMMON = ("delivered_bytes", "rate_bps", "window_bytes", "cap_bps", "peer_window_bytes")
"""What is watched at senders under every scheme."""


def own_values(runs: Sequence[RunTables], what: str) -> list[str]:
    """The names of the values that schemes themselves watch at senders (`what` = "flow"), at receivers ("receiver") or
    at switches ("switch")."""
    names = (
        run.watch().filter(pl.col("what") == what)["name"].cast(pl.String).unique(maintain_order=True) for run in runs
    )
    return list(dict.fromkeys(name for some in names for name in some if name not in COMMON))


def sender_curve(runs: Sequence[RunTables], name: str) -> pl.DataFrame:
    """A value that schemes watch at senders, over the seeds.

    Columns: those of `over_seeds.mean_curve` over `time_us`, `where` ("long:0") and `traffic`.
    """

    def measure(result: RunTables) -> pl.DataFrame:
        table = result.watch().filter((pl.col("what") == "flow") & (pl.col("name") == name))
        return table.select(
            (pl.col("time_ps") / 1e6).alias("time_us"), pl.col("where", "traffic").cast(pl.String), "value"
        ).unique(["time_us", "where"], maintain_order=True)

    return _over(runs, measure, ["time_us", "where", "traffic"], "value")


def receiver_curve(runs: Sequence[RunTables], name: str) -> pl.DataFrame:
    """A value that schemes watch at receivers, over the seeds: the sum over the sampled hosts; no rows where it was not
    sampled.

    Columns: those of `over_seeds.mean_curve` over `time_us`.
    """

    def measure(result: RunTables) -> pl.DataFrame:
        # Traffics that share an instance of their scheme watch the same.
        traffics = result.summary()["traffics"]
        number = {traffic["traffic"]: at for at, traffic in enumerate(traffics)}
        first = [one["traffic"] for at, one in enumerate(traffics) if all(number[o] > at for o in one["counted_with"])]
        table = result.watch().filter((pl.col("what") == "receiver") & (pl.col("name") == name))
        table = table.filter(pl.col("traffic").cast(pl.String).is_in(first))
        of_instant = table.group_by("time_ps", maintain_order=True).agg(pl.col("value").sum())
        return of_instant.select((pl.col("time_ps") / 1e6).alias("time_us"), "value")

    return _over(runs, measure, ["time_us"], "value")


def bottleneck_switch(runs: Sequence[RunTables]) -> str | None:
    """Of the switches whose schemes were sampled, the one with the longest queue among the sampled ports; the first one
    where no queue of theirs was sampled, and None where no scheme watches anything at a switch."""
    of_switch = pl.col("what") == "switch"
    found = pl.concat([run.watch().filter(of_switch).select(pl.col("where").cast(pl.String)) for run in runs])
    switches = found["where"].unique(maintain_order=True).to_list()
    of_port = pl.col("port").cast(pl.String).str.split(">").list.first()
    queues = pl.concat([run.series().select(of_port.alias("switch"), "queue_bytes") for run in runs])
    longest = dict(queues.group_by("switch").agg(pl.col("queue_bytes").max()).iter_rows())
    return max(switches, key=lambda switch: longest.get(switch, -1), default=None)


def switch_curve(runs: Sequence[RunTables], name: str) -> pl.DataFrame:
    """A value that schemes watch at switches, over the seeds, at the switch `bottleneck_switch`; of several traffics
    whose schemes have such a value there, that of the first.

    Columns: those of `over_seeds.mean_curve` over `time_us`.
    """
    switch = bottleneck_switch(runs) or ""

    def measure(result: RunTables) -> pl.DataFrame:
        here = (pl.col("what") == "switch") & (pl.col("name") == name) & (pl.col("where") == switch)
        table = result.watch().filter(here).unique("time_ps", keep="first", maintain_order=True)
        return table.select((pl.col("time_ps") / 1e6).alias("time_us"), "value")

    return _over(runs, measure, ["time_us"], "value")


def pauses_over_time(result: RunTables) -> pl.DataFrame:
    """The number of the watched ports' queues that were paused by PFC, or without credits where these are the flow
    control, on average over each interval between samples.

    Columns: `begin_us`, `end_us`, `paused` (0 to the number of watched ports, times classes). Needs a series of the
    quantity "port"; `pause_counts` needs none.
    """
    every_port = _series(result, "port")
    if not every_port:
        raise missing(result, "the time paused was", '{ what = "port", where = "switch-ports", every = "10 us" }')
    ports = _ports(result, every_port[0])
    held = (
        result.watch()
        .filter((pl.col("what") == "port") & pl.col("name").is_in(["paused_us", "credit_wait_us"]))
        .filter(pl.col("where").cast(pl.String).is_in(list(ports)))
        .unique(["time_ps", "where"])
        .group_by("time_ps")
        .agg(pl.col("value").sum(), pl.len())
        .filter(pl.col("len") == len(ports))  # the last instant may be cut off by the limit on samples
    )
    # Another series of ports may have other instants.
    at = held.filter(pl.col("time_ps").is_in(_instants(result, every_port[0]))).sort("time_ps")
    time_us, paused_us = at["time_ps"].to_numpy() / 1e6, at["value"].to_numpy()
    spans = np.diff(time_us)
    return pl.DataFrame({"begin_us": time_us[:-1], "end_us": time_us[1:], "paused": np.diff(paused_us) / spans})


def pause_counts(result: RunTables, bins: int = 100, until_us: float | None = None) -> pl.DataFrame:
    """The number of pauses that began in each of so many equal parts of the run, or of the time `until_us`, from its
    table of events.

    Columns: `begin_us`, `end_us`, `pauses`. That table keeps the first events only: `pauses_left_out` counts the
    others, and the rows then end with the last pause that was kept.
    """
    began_us = result.events().filter(pl.col("kind") == "pause")["time_ps"].to_numpy() / 1e6
    stopped_us = result.manifest["simulated_ps"] / 1e6
    known_us = float(began_us.max()) if pauses_left_out(result) and began_us.size else None
    stopped_us = until_us or known_us or stopped_us
    counts, edges = np.histogram(began_us, bins=bins, range=(0.0, max(stopped_us, 1e-6)))
    table = pl.DataFrame({"begin_us": edges[:-1], "end_us": edges[1:], "pauses": counts})
    return table if known_us is None else table.filter(pl.col("end_us") <= known_us * (1 + 1e-9))


@dataclass(frozen=True)
class Pauses:
    """Pauses by PFC over time, in the runs of several schemes."""

    curves: dict[str, pl.DataFrame]
    """By the name of the scheme: queues paused at once, or pauses begun, over its seeds."""
    counted: bool
    """The curves are pauses begun in each hundredth of the longest run, since the time paused was not sampled in every
    run."""
    left_out: dict[str, int]
    """Pauses beyond the limit of the tables of events, where pauses were counted."""


def pauses_of(groups: Mapping[str, Sequence[RunTables]]) -> Pauses:
    """The number of the watched ports' queues that were paused, or else the number of pauses that began."""
    try:
        curves = {name: _over(runs, pauses_over_time, INTERVAL, "paused") for name, runs in groups.items()}
        return Pauses(curves, False, {})
    except RunError:
        pass
    until_us = max(run.manifest["simulated_ps"] for runs in groups.values() for run in runs) / 1e6
    curves = {}
    for name, runs in groups.items():
        counts = [pause_counts(run, until_us=until_us) for run in runs]
        curves[name] = mean_curve(counts, INTERVAL, "pauses", whole=True)
    left = {name: sum(map(pauses_left_out, runs)) for name, runs in groups.items()}
    return Pauses(curves, True, {name: count for name, count in left.items() if count})


def none_of_watched(results: Sequence[RunTables]) -> str:
    """What is said where no watched port was paused, though others may have been, or these before the window."""
    begun = sum(result.summary()["network"]["pauses"] for result in results)
    others = f"; {begun:,} pauses began at others or outside of the measured window" if begun else ""
    return f"PFC paused none of the watched ports{others}"


def pauses_left_out(result: RunTables) -> int:
    """Pauses beyond the limit of the table of events."""
    return result.summary()["network"]["events_left_out"].get("pause", 0)


def missing(result: RunTables, what: str, line: str) -> RunError:
    """The error for a quantity that was not measured, with the line of the spec that would."""
    return RunError(f"{result.label}: {what} not measured; {how_to_measure(result, line)}")


def how_to_measure(result: RunTables, line: str) -> str:
    """What makes a run measure a quantity: a line of its spec, or an option where it has none."""
    if (file := result.spec.get("hpcc_file")) and "series" not in section(result.spec, "measure"):
        return f'run it again with a series: fanin run --hpcc {shlex.quote(str(file))} --series "10 us"'
    if result.exact and not result.of_ns3:
        return "runs of uet-htsim's files have no series"
    return f"add to measure.series: {line}"


def _flow_line(result: RunTables) -> str:
    name = next((str(traffic["name"]) for traffic in traffics(result.spec)), "NAME")
    return f'{{ what = "flow", where = ["{name}:0", "{name}:1"], every = "10 us" }}'


def _series(result: RunTables, what: str) -> list[Spec]:
    """The spec's series of a quantity."""
    series = cast("Sequence[Spec]", section(result.spec, "measure").get("series", []))
    return [one for one in series if one.get("what") == what]


def _names(series: Spec) -> list[str]:
    where = series["where"]
    return list(dict.fromkeys(cast("list[str]", where))) if isinstance(where, list) else []


def _ports(result: RunTables, series: Spec) -> set[str]:
    """The names of the ports that a series samples."""
    if names := _names(series):
        return set(names)
    ports = result.ports()
    if "tier" not in ports.columns:
        raise RunError(f"{result.label}: its table of ports has no tiers; run it again with this version")
    tier = pl.col("tier").cast(pl.String)
    kinds: Mapping[object, pl.Expr] = {
        "last-hop": tier == "last-hop",
        "tor-uplinks": tier.is_in(["tor-uplink", "tor-across"]),
    }
    return set(ports.filter(kinds.get(series["where"], tier != "host-uplink"))["port"].to_list())


def _instants(result: RunTables, series: Spec) -> NDArray[np.int64]:
    """The instants of a series, in picoseconds."""
    measure = section(result.spec, "measure")
    begin = time_ps(str(measure["warm_up"]))
    end = min(begin + time_ps(str(measure["window"])), result.manifest["simulated_ps"])
    return np.arange(begin, end, time_ps(str(series["every"])), dtype=np.int64)


def _known_instants(result: RunTables, series: Spec) -> NDArray[np.int64]:
    """The instants at which the queues of a series were sampled, up to the last sample that was kept."""
    instants = _instants(result, series)
    if not _left_out(result, "of the series"):
        return instants
    return instants[instants <= cast("int", result.series()["time_ps"].max() or 0)]


def _left_out(result: RunTables, of: str) -> bool:
    """Whether a run exceeded the limit on samples, so that some are missing."""
    told = result.events().filter(pl.col("kind") == "warning")["detail"].to_list()
    return any("were left out" in detail and of in detail for detail in told)


def _delivered(result: RunTables) -> dict[tuple[str, str], dict[int, int]]:
    """The samples of delivered bytes of each `what` and `where`: picoseconds to bytes."""
    table = result.watch().filter((pl.col("name") == "delivered_bytes") & pl.col("what").is_in(["flow", "traffic"]))
    found: dict[tuple[str, str], dict[int, int]] = {}
    for time, what, where, value in table.select("time_ps", "what", "where", "value").iter_rows():
        found.setdefault((what, where), {})[time] = int(value)
    return found


def _delivered_by(at: int, seen: Mapping[int, int], start: int, end: int | None, size: int) -> int | None:
    """The bytes of a message or traffic that had arrived at an instant; None where that is not known."""
    if at in seen:
        return seen[at]
    if at <= start:
        return 0
    return size if end is not None and at >= end else None


def _lives(result: RunTables) -> dict[str, tuple[int, int | None, int]]:
    """For each watched message the times of its post and of its arrival (picoseconds), and its payload."""
    wanted = {name for series in _series(result, "flow") for name in _names(series)}
    if not wanted:
        return {}
    flows = result.flows()
    name = pl.format("{}:{}", pl.col("traffic").cast(pl.String), "number").alias("name")
    end = pl.col("start_ps") + pl.col("completion_ps")
    known = flows.with_columns(message_number(flows)).select(name, "start_ps", end.alias("end_ps"), "bytes")
    found = known.filter(pl.col("name").is_in(list(wanted)))
    return {name: (start, end, size) for name, start, end, size in found.iter_rows()}


def message_number(flows: pl.DataFrame) -> pl.Expr:
    """The column `number`: which message of its traffic each is. Specs know the message as `traffic:number`."""
    if "number" in flows.columns:
        return pl.col("number")
    # Runs of earlier versions. Wrong after a message that was never posted, which the table leaves out.
    return pl.int_range(pl.len()).over("traffic").alias("number")

"""Runs side by side: the numbers of each, and their means over the seeds of a scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from fanin.by_traffic import counted_at
from fanin.measures import (
    completion_us,
    group_names,
    messages,
    percentile,
    queries,
    ran_on,
    reported,
    scheme_name,
    unfinished_gbps,
)
from fanin.over_seeds import Estimate, estimate
from fanin.parts import numbers_of_parts
from fanin.quantities import OF
from fanin.run_tables import with_flows
from fanin.spec import traffics as traffics_of
from fanin.spec import traffics_with

if TYPE_CHECKING:
    from fanin.run_folder import TrafficSummary
    from fanin.run_tables import RunTables

Numbers = dict[str, float | None]
"""The numbers of one run, by the names of the fields of a row."""


@dataclass(frozen=True)
class Row:
    """One scheme of a comparison. With several seeds each number is the mean over its runs."""

    scheme: str
    """Its id; those of several traffics joined by `+`."""
    runs: int
    """Seeds."""
    started: float
    """Messages posted in the measured window; flows that are meant to last as long as the run are not counted."""
    finished: float
    """Of these, messages whose last byte arrived."""
    unfinished: float
    """Of these, messages that had not arrived when the run stopped."""
    endless: float
    """Flows that are meant to last as long as the run."""
    reported: float
    """Finished messages of the reported sizes: what the percentiles are over."""
    fct_p50_us: float | None
    """Median of their flow completion times (FCT), each from its post to its last byte at the receiver. A percentile
    that some run has too few messages for is None: p50 needs 1, p99 100, p99.9 1,000."""
    fct_p99_us: float | None
    """99th percentile of the same."""
    fct_p999_us: float | None
    """99.9th percentile of the same."""
    slowdown_p50: float | None
    """Median of their slowdowns: FCT over its ideal, which the spec names."""
    slowdown_p99: float | None
    """99th percentile of the same."""
    slowdown_p999: float | None
    """99.9th percentile of the same."""
    long_goodput_gbps: float | None
    """Payload that endless flows delivered in the measured window, all together; None without any."""
    unfinished_goodput_gbps: float | None
    """Of the unfinished messages, the mean of the goodput of each since its post; None without any."""
    marked_share: float | None
    """Share of the messages' data packets that arrived with an ECN mark; None if none arrived."""
    reordered_packets: float | None
    """Share of the data packets of all messages that arrived after a packet further on, over the whole run."""
    packets_resent: float
    """Data packets of all messages that were sent again, over the whole run."""
    trimmed: float
    """Packets cut to their headers at full queues, in runs of uet-htsim's files."""
    timeouts: float
    """Retransmission timeouts."""
    given_up: float
    """Connections given up after `tcp.retries` retransmissions of a segment, and queue pairs after `rdma.retries`
    timeouts in a row; their messages are unfinished."""
    queries: float
    """Finished queries: rounds of requests whose answers have all arrived. Zero where no traffic has the pattern."""
    query_p50_us: float | None
    """Median of the times from the first request of a query to its last answer."""
    query_p99_us: float | None
    """99th percentile of the same."""
    query_timeout_share: float | None
    """Share of the queries of which some message had a retransmission timeout."""
    ranks: float
    """Ranks of jobs: of collectives, GOAL schedules and Chakra traces. Zero where no traffic is one."""
    job_us: float | None
    """From the start of a job to its last node's end, of the slowest job; None where one did not end."""
    exposed_us: float | None
    """Time of a rank from start to finish less its computations, the mean over ranks of all jobs."""
    algbw_gbytes: float | None
    """Bytes of collectives over their times, in GB/s, as nccl-tests counts them; of several jobs, the mean."""
    busbw_gbytes: float | None
    """The same times nccl-tests' factor of each operation."""
    late_us: float | None
    """How long after the first rank the last one entered a collective, the mean over collectives; of several jobs, the
    mean."""
    critical_compute_us: float | None
    """Computation on the critical path of the slowest job. This and the next four add up to `job_us`."""
    critical_serialisation_us: float | None
    """Serialisation of the messages on it, as in an empty network."""
    critical_propagation_us: float | None
    """Delays of links on it."""
    critical_queueing_us: float | None
    """What the messages on it took longer than in an empty network."""
    critical_waiting_us: float | None
    """Waiting for slots of ranks on it."""
    drops: float
    """Packets dropped in the whole run, whatever the cause."""
    pauses: float
    """Pauses of ports by PFC."""
    paused_us: float
    """Time that ports spent paused by PFC, summed over ports and classes."""
    credit_wait_us: float
    """Time that ports spent without credits, summed over ports and classes."""
    cnps: float
    """Congestion notification packets that receivers sent."""
    cnps_in_acks: float
    """Congestion notifications that reached senders as a bit in an ACK, without a packet of their own: those of the
    scheme dcqcn-ns3, and of DCQCN in the network of the ns-3 HPCC simulator."""
    ci95: dict[str, float]
    """Half the width of the 95 % confidence interval of each mean, by Student's t over the seeds; empty for one run."""
    on: str = "simulator"
    """Where its runs ran: simulator or wire."""
    parts: dict[str, float | None] = field(default_factory=dict)
    """The numbers of its traffics, of their messages by size, and of the tiers of its links: `fanin.parts`."""

    def value(self, name: str) -> float | None:
        """A number by its name, of the whole run or of a part."""
        return self.parts[name] if name in self.parts else getattr(self, name, None)

    def estimate(self, name: str) -> Estimate:
        """The same with its interval."""
        return Estimate(self.value(name), self.ci95.get(name))

    def to_json(self) -> dict[str, object]:
        """Its numbers by name; half an interval's width is called `fct_p99_us_ci95`. The numbers of its parts are a
        list of their own, since the names of parts are words of the spec."""
        numbers = asdict(self)
        intervals, parts = numbers.pop("ci95"), numbers.pop("parts")
        widths = {f"{name}_ci95": width for name, width in intervals.items() if name not in parts}
        listed = [{"number": name, "value": value, "ci95": intervals.get(name)} for name, value in parts.items()]
        return {**numbers, **widths, "parts": listed}


@dataclass(frozen=True)
class Compared:
    """Runs of one spec under several schemes and seeds, as numbers."""

    results: Sequence[RunTables]
    cancelled: bool
    """Some run was stopped before its end, or never started."""

    @cached_property
    def rows(self) -> list[Row]:
        """One row per scheme, in the order of the runs."""
        of_scheme: dict[tuple[str, str], list[Numbers]] = {}
        for scheme, result, found in zip(group_names(self.results), self.results, self.numbers, strict=True):
            of_scheme.setdefault((scheme, ran_on(result)), []).append(found)
        return [replace(row(scheme, runs), on=on) for (scheme, on), runs in of_scheme.items()]

    @cached_property
    def numbers(self) -> list[Numbers]:
        """The numbers of each run and of its parts, by name."""
        return [numbers(result) for result in self.results]

    @property
    def errors(self) -> list[str]:
        """Errors of single runs, whose results are not to be trusted."""
        return [f"{result.label}: {error}" for result in self.results for error in result.summary()["errors"]]

    @property
    def warnings(self) -> list[str]:
        """Warnings about the spec and about single runs, each once."""
        told: dict[str, None] = {}
        for result in self.results:
            for row in result.events().filter(pl.col("kind") == "warning").iter_rows(named=True):
                told[row["detail"] if row["where"] == "spec" else f"{result.label}: {row['detail']}"] = None
        return [*told, *mixed_transports(self.results), *self._idle_seeds()]

    def _idle_seeds(self) -> list[str]:
        """A warning about schemes whose runs differ in their seeds and in no number."""
        runs: dict[tuple[str, str], list[tuple[int, Numbers]]] = {}
        for scheme, result, found in zip(group_names(self.results), self.results, self.numbers, strict=True):
            runs.setdefault((scheme, ran_on(result)), []).append((result.manifest["seed"], found))
        several = {name: of for (name, _), of in runs.items() if len({seed for seed, _ in of}) == len(of)}
        return idle_seeds([(name, [found for _, found in of]) for name, of in several.items()])


def idle_seeds(groups: Sequence[tuple[str, Sequence[Mapping[str, object]]]]) -> list[str]:
    """A warning where all runs of a group, whose seeds differ, have the same numbers; `groups` have names."""
    idle = {name: len(runs) for name, runs in groups if len(runs) > 1 and all(run == runs[0] for run in runs)}
    if not idle:
        return []
    shown = [*idle][:SHOWN]
    more = f" and {len(idle) - SHOWN} more" if len(idle) > SHOWN else ""
    return [
        f"seeds change nothing under {', '.join(shown)}{more}: all {max(idle.values())} runs have the same numbers, "
        "since their messages are given and nothing else in them is random; one seed is enough, and ± 0 is no precision"
    ]


SHOWN = 8
"""Most groups of runs that a warning names."""


def mixed_transports(results: Sequence[RunTables]) -> list[str]:
    """A warning where runs of one spec use different transports, since the schemes are then not the only difference."""
    over: dict[str, dict[str, None]] = {"tcp": {}, "rdma": {}}
    for result in results:
        transports = {str(traffic["transport"]) for traffic in traffics_of(result.spec) if "transport" in traffic}
        if (
            len(transports) == 1 and transports <= over.keys()
        ):  # a spec with traffics over both compares them on purpose
            over[transports.pop()][scheme_name(result)] = None
    tcp, rdma = list(over["tcp"]), list(over["rdma"])
    if not tcp or not rdma:
        return []
    runs = "runs" if len(tcp) == 1 else "run"
    hint = "; dctcp-rate is DCTCP's law over RDMA" if "dctcp" in tcp else ""
    return [
        f"{_listed(tcp)} {runs} over TCP with its handshake, acknowledgements and timers, {_listed(rdma)} over RDMA: "
        f"the transports differ too{hint}"
    ]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def row(scheme: str, runs: Sequence[Numbers]) -> Row:
    """Sums up the runs of one scheme."""
    # A run in which no message was of a class of sizes has no numbers of that class.
    names = dict.fromkeys(name for run in runs for name in run)
    found = {name: estimate([run.get(name) for run in runs]) for name in names}
    ci95 = {name: one.half for name, one in found.items() if one.half is not None}
    means = {name: one.mean for name, one in found.items() if OF not in name}
    parts = {name: one.mean for name, one in found.items() if OF in name}
    return Row(scheme=scheme, runs=len(runs), ci95=ci95, parts=parts, **cast("dict[str, Any]", means))


def numbers(result: RunTables) -> Numbers:
    """The numbers of one run, by the names of a row's fields, and those of its parts."""
    # They are read several times, and made once.
    once = replace(result, _arrow=with_flows(result, result.flows(_OF_FLOWS)))
    return of_whole(once) | numbers_of_parts(once)


_OF_FLOWS = (
    *("traffic", "scheme", "bytes", "start_ps", "completion_ps", "slowdown", "delivered_bytes", "group", "request"),
    *("measured", "packets_arrived", "packets_marked", "packets_resent", "reordered", "timeouts"),
)
"""The columns of flows that these numbers come from."""


def of_whole(result: RunTables) -> Numbers:
    """The numbers of one run, by the names of a row's fields."""
    posted = messages(result)
    sample = reported(result)
    times_us = completion_us(sample)
    slowdown = sample["slowdown"].drop_nulls().to_numpy()
    arrived = int(posted["packets_arrived"].sum())
    every = result.flows().select(pl.col("packets_arrived", "reordered", "packets_resent").sum()).row(0)
    traffics = result.summary()["traffics"]
    network = result.summary()["network"]
    asked = queries(result).filter(pl.col("traffic").is_in(traffics_with(result.spec, "query")))
    answered_us = completion_us(asked.drop_nulls("completion_ps"))
    endless = sum(traffic["endless"] for traffic in traffics)
    return {
        "started": sum(traffic["started"] for traffic in traffics),
        "finished": sum(traffic["finished"] for traffic in traffics),
        "unfinished": sum(traffic["unfinished"] for traffic in traffics),
        "endless": endless,
        "reported": sample.height,
        "fct_p50_us": percentile(times_us, 500),
        "fct_p99_us": percentile(times_us, 990),
        "fct_p999_us": percentile(times_us, 999),
        "slowdown_p50": percentile(slowdown, 500),
        "slowdown_p99": percentile(slowdown, 990),
        "slowdown_p999": percentile(slowdown, 999),
        "long_goodput_gbps": sum(t["long_goodput_gbps"] for t in traffics) if endless else None,
        "unfinished_goodput_gbps": cast("float | None", unfinished_gbps(result)["gbps"].mean()),
        "marked_share": int(posted["packets_marked"].sum()) / arrived if arrived else None,
        "reordered_packets": every[1] / every[0] if every[0] else None,
        "packets_resent": every[2],
        "trimmed": network.get("trimmed", 0),
        "timeouts": network["timeouts"],
        "given_up": network["given_up"],
        "queries": answered_us.size,
        "query_p50_us": percentile(answered_us, 500),
        "query_p99_us": percentile(answered_us, 990),
        "query_timeout_share": float((asked["timeouts"] > 0).sum() / asked.height) if asked.height else None,
        **_of_jobs(traffics),
        # Credits beyond a queue are a signal and no loss.
        "drops": network["drops"]["total"] - network["drops"].get("credits", 0),
        "pauses": network["pauses"],
        "paused_us": network["paused_us"],
        "credit_wait_us": network.get("credit_wait_us", 0.0),
        "cnps": network["cnps"],
        "cnps_in_acks": _cnps_in_acks(traffics),
    }


def _of_jobs(traffics: Sequence[TrafficSummary]) -> Numbers:
    """The numbers of jobs."""
    jobs = [job for traffic in traffics if (job := traffic.get("job")) is not None]
    ranks = sum(job["ranks"] for job in jobs)
    times = [job["time_us"] for job in jobs]
    known = [time for time in times if time is not None]

    slowest = times.index(max(known)) if known and len(known) == len(times) else None
    path = None if slowest is None else jobs[slowest].get("critical")

    def mean(values: Sequence[float | None]) -> float | None:
        found = [value for value in values if value is not None]
        return sum(found) / len(found) if found else None

    return {
        "ranks": ranks,
        "job_us": None if slowest is None else times[slowest],
        "exposed_us": sum(job["exposed_us"] * job["ranks"] for job in jobs) / ranks if ranks else None,
        "algbw_gbytes": mean([job["algbw_gbytes"] for job in jobs]),
        "busbw_gbytes": mean([job["busbw_gbytes"] for job in jobs]),
        "late_us": mean([job.get("late_us") for job in jobs]),
        "critical_compute_us": path["compute_us"] if path else None,
        "critical_serialisation_us": path["serialisation_us"] if path else None,
        "critical_propagation_us": path["propagation_us"] if path else None,
        "critical_queueing_us": path["queueing_us"] if path else None,
        "critical_waiting_us": path["waiting_us"] if path else None,
    }


def _cnps_in_acks(traffics: Sequence[TrafficSummary]) -> int:
    """Notifications that arrived under schemes that sent no packets for them."""
    first = [traffics[at] for at in dict.fromkeys(counted_at(traffics))]
    return sum(one["actions"].get("cnps_received", 0) for one in first if not one["actions"].get("cnps_sent", 0))

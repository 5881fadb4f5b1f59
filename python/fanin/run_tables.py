"""The tables of a run, for all that measures and draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from fanin import _core
from fanin.run_folder import TABLES, Manifest, Summary, TableName
from fanin.spec import section


class ArrowStream(Protocol):
    """Columns that are exported by the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with an ArrowArrayStream."""


class TablesByName(Protocol):
    """Gives a table by its name."""

    def __call__(self, name: TableName, columns: Sequence[str] | None = None) -> ArrowStream:
        """The table; that of flows with all columns, or with these."""


@dataclass(frozen=True)
class RunTables:
    """One run. Its tables are Polars frames whose column names carry units; a missing value is null."""

    label: str
    """Names the run among others of the same spec."""
    manifest: Manifest
    spec: dict[str, object]
    """The spec that ran, with every default."""
    _summary: Summary
    _arrow: TablesByName
    _core_result: _core.RunResult | None
    given_flows: object | None = None
    """The table of flows that the run was given besides its spec, if any."""
    _as_ns3: bool = False
    """Its completion times are up to the last ACK: see `fanin.ideals.alike`."""

    @property
    def name(self) -> str:
        """The spec's name."""
        return self.manifest["name"]

    @property
    def slowdown_ideal(self) -> str:
        """The ideal by which flow completion times (FCT) are divided for slowdowns."""
        return str(section(self.spec, "measure")["slowdown"])

    @property
    def exact(self) -> bool:
        """Whether another simulator's files ran as they are, on that simulator's own network, and not a spec."""
        return "spec_version" not in self.spec

    @property
    def of_ns3(self) -> bool:
        """Whether they are a configuration of the ns-3 HPCC simulator."""
        return "hpcc_config" in self.spec

    @property
    def fct_ends_at_sender(self) -> bool:
        """Its completion times end when the sender knows that all bytes arrived, and not with the last byte at the
        receiver: those of another simulator's files that ran as they are, and of runs beside them."""
        return self._as_ns3 or self.exact

    @property
    def cancelled(self) -> bool:
        """The run was stopped before its end; the result is that up to there."""
        return self.manifest["cancelled"]

    @property
    def failure(self) -> str | None:
        """What a scheme of one's own did wrong, which ended the run; None for a run that was read from its folder,
        whose summary has it among its errors."""
        return None if self._core_result is None else self._core_result.failure

    @property
    def simulated_ms(self) -> float:
        """The simulated time."""
        return self.manifest["simulated_ps"] / 1e9

    def summary(self) -> Summary:
        """The run in numbers: the document `summary.json` of its folder."""
        return self._summary

    def arrow(self, table: TableName) -> ArrowStream:
        """A table for any library that reads Arrow, without a copy: `pyarrow.table(run.arrow("flows"))`,
        `pandas.DataFrame.from_arrow(...)`, `polars.DataFrame(...)`, or a variable that DuckDB queries by its name."""
        if table not in TABLES:
            raise ValueError(f"no table {table!r}; the tables are {', '.join(TABLES)}")
        return self._arrow(table)

    def _table(self, name: TableName, columns: Sequence[str] | None = None) -> pl.DataFrame:
        table = self._arrow(name, columns)
        return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)

    def flows(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One row per message; `completion_ps` counts from its post to its last byte at the receiver.

        All columns, or these: a run of millions of messages has a table of gigabytes otherwise.
        """
        return self._table("flows", columns)

    def ports(self) -> pl.DataFrame:
        """One row per port, that is per direction of a link."""
        return self._table("ports")

    def classes(self) -> pl.DataFrame:
        """One row per port and class: marks, drops, pauses and the longest queue. Class 0 is control."""
        return self._table("classes")

    def series(self) -> pl.DataFrame:
        """The samples of queues as the run recorded them: see `Result.series`."""
        return self._table("series")

    def histograms(self) -> pl.DataFrame:
        """The number of samples of each queue by its length."""
        return self._table("histograms")

    def events(self) -> pl.DataFrame:
        """Drops, pauses and warnings."""
        return self._table("events")

    @property
    def warnings(self) -> list[str]:
        """The warnings of the run, each once."""
        warned = self.events().filter(pl.col("kind") == "warning")
        return [*dict.fromkeys(warned["detail"].to_list())]

    def watch(self) -> pl.DataFrame:
        """The samples of the spec's `measure.series` of all quantities except queues, one row per value.

        `what` is the quantity (flow, receiver, switch, port, traffic), `where` the message, node, port or traffic, and
        `name` the value with its unit: `rate_bps`, `delivered_bytes`, `paused_us`.
        """
        return self._table("watch")

    def hops(self) -> pl.DataFrame:
        """The packets of the messages that `measure.trace` names: one row per packet and node, in order of time.

        The first row of a packet is at its own host, when its first bit left. `port` is the egress port, null at the
        receiving host; `flow_id` is the message's row in `flows`.
        """
        return self._table("hops")

    def host_waits(self) -> pl.DataFrame:
        """The causes of waiting at the sending hosts, of the messages that `measure.trace` names.

        One row per interval from `begin_ps` to `end_ps`, message by message, each in order of time. `cause` is one of
        "overhead", "handshake", "earlier", "acks", "link", "pfc", "window", "pacing" and "nic"; between the intervals
        the message was sending. Empty for a folder of an earlier version.
        """
        return self._table("host_waits")

    def pauses(self) -> pl.DataFrame:
        """Each pause of a class of a port by PFC, in order of their begin, if the spec has `measure.pauses = true`.

        `cause` is "congestion", "pause", "receiver" or "storm", `parent` the pause that led to it, `tree` and `depth`
        its place among the pauses of one origin. Empty for a folder of an earlier version.
        """
        return self._table("pauses")

    def ranks(self) -> pl.DataFrame:
        """One row per rank of a job: its times of computation, of exposed communication and of neither.

        Empty where no traffic is a collective or has a job from a file (GOAL, Chakra, SimAI, SimCCL, MSCCL), and for a
        folder of an earlier version.
        """
        return self._table("ranks")

    def collectives(self) -> pl.DataFrame:
        """One row per collective operation of a job, with algbw and busbw as nccl-tests defines them.

        Empty as `ranks` is.
        """
        return self._table("collectives")

    def nodes(self) -> pl.DataFrame:
        """One row per send, receive, computation or collective of a job that ended, with its times.

        Empty as `ranks` is.
        """
        return self._table("nodes")

    def critical(self) -> pl.DataFrame:
        """The critical path of each job, where `path_of` is null, and of each collective, in order of time.

        One row per computation, message or wait, with what its time was spent on. Empty as `ranks` is.
        """
        return self._table("critical")


class HasResults(Protocol):
    """A comparison, or a sweep whose runs were kept."""

    @property
    def results(self) -> Sequence[RunTables]:
        """Its runs."""


def with_flows(run: RunTables, flows: pl.DataFrame) -> TablesByName:
    """The tables of a run, but this one of flows."""

    def table(name: TableName, columns: Sequence[str] | None = None) -> ArrowStream:
        if name != "flows":
            return run.arrow(name)
        return flows if columns is None else flows.select(columns)

    return table

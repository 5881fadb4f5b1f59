"""The result of a run: tables, a summary and a manifest, in memory or in a folder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import polars as pl

from fanin import _core
from fanin.run_folder import TABLES, Manifest, RunError, Summary, TableName, check_target, is_run_folder, read_document
from fanin.spec import read_toml, section

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ArrowStream(Protocol):
    """Columns that are exported by the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with an ArrowArrayStream."""


@dataclass(frozen=True)
class Result:
    """One run. Its tables are Polars frames whose column names carry units; a missing value is null."""

    label: str
    """Names the run among others of the same spec."""
    manifest: Manifest
    spec: dict[str, object]
    """The spec that ran, with every default."""
    _summary: Summary
    _arrow: Callable[[TableName], ArrowStream]
    _core_result: _core.RunResult | None
    given_flows: object | None = None
    """The table of flows that the run was given besides its spec, if any."""
    _as_ns3: bool = False
    """Its completion times are up to the last ACK: see `fanin.ideals.alike`."""

    @staticmethod
    def of(core: _core.RunResult, *, label: str, given: object | None = None) -> Result:
        """Wraps the result of the native module. `given` is the table of flows that the run was given, if any."""
        return Result(
            label=label,
            manifest=cast("Manifest", json.loads(core.manifest_json)),
            spec=read_toml(core.resolved_toml),
            _summary=cast("Summary", json.loads(core.summary_json)),
            _arrow=lambda name: cast("ArrowStream", core.table(name)),
            _core_result=core,
            given_flows=given,
        )

    def __repr__(self) -> str:
        from fanin import table
        from fanin.comparison import Comparison
        from fanin.measures import scheme_name

        row = Comparison([self], self.cancelled).rows[0]
        said = f"{row.finished:,} of {row.started:,} messages finished, FCT p99 {table.time(row.fct_p99_us)}"
        stopped = ", cancelled" if self.cancelled else ""
        return f"<Result {self.name}: {scheme_name(self)}, seed {self.manifest['seed']}, {said}{stopped}>"

    def _repr_html_(self) -> str:
        from fanin import table
        from fanin.comparison import Comparison

        return table.html_of(Comparison([self], self.cancelled))

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
        """Whether it is a configuration of the ns-3 HPCC simulator that ran as it is, on that simulator's own network,
        and no spec."""
        return "spec_version" not in self.spec

    @property
    def fct_ends_at_sender(self) -> bool:
        """Its completion times end when the sender knows that all bytes arrived, and not with the last byte at the
        receiver: those of a configuration of the ns-3 HPCC simulator that ran as it is, and of runs beside it."""
        return self._as_ns3 or self.exact

    def with_ideal(self, ideal: str) -> Result:
        """The same run with slowdowns by another ideal: "store-and-forward", "hpcc" or "lone-run", as in the spec's
        `measure.slowdown` (docs/results.md). "lone-run" simulates every message once more, alone.

        Raises `RunError` for a run of a foreign configuration, whose spec is not known.
        """
        from fanin import ideals

        return ideals.with_ideal(self, ideal)

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

    def _table(self, name: TableName) -> pl.DataFrame:
        table = self._arrow(name)
        return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)

    def flows(self) -> pl.DataFrame:
        """One row per message; `completion_ps` counts from its post to its last byte at the receiver."""
        return self._table("flows")

    def ports(self) -> pl.DataFrame:
        """One row per port, that is per direction of a link."""
        return self._table("ports")

    def classes(self) -> pl.DataFrame:
        """One row per port and class: marks, drops, pauses and the longest queue. Class 0 is control."""
        return self._table("classes")

    def series(self, *, zeros: bool = False) -> pl.DataFrame:
        """The queues that the spec's `measure.series` samples, one row per sample: `time_ps`, `port`,
        `queue_bytes`.

        Samples of empty queues are left out, as in the table on disk, unless their series has `zeros = true`: a mean
        over these rows is a mean over the times at which the queue was not empty. `zeros=True` adds them as rows of 0
        bytes.
        """
        if not zeros:
            return self._table("series")
        from fanin.over_time import queue_samples

        return queue_samples(self)

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

    def pause_trees(self) -> pl.DataFrame:
        """One row per tree of pauses: its origin, depth, ports, and the largest share of capacity that it suppressed at
        once; see `fanin.pause_trees`. Raises `RunError` if pauses were not recorded."""
        from fanin import pause_trees

        return pause_trees.trees(self)

    def suppressed(self, tree: int | None = None) -> pl.DataFrame:
        """The shares of capacity that pauses suppress from each `time_us` on, of all trees or of one: of all links
        (`capacity`) and of the links from hosts (`senders`)."""
        from fanin import pause_trees

        return pause_trees.suppressed(self, tree)

    def save(self, folder: str | os.PathLike[str], *, parquet: bool = False, force: bool = False) -> Path:
        """Writes the run folder atomically and returns its path.

        Tables are Arrow IPC files, or Parquet files if asked. Raises `FileExistsError` for a folder that exists, unless
        it is a run folder and `force` is set; a folder that holds anything else is never replaced.
        """
        target = Path(folder)
        if self._core_result is None:
            raise RunError("this run was loaded from a folder; copy that folder instead")
        check_target(target, force=force)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not parquet:
            self._core_result.write(str(target), force)
            return target
        import pyarrow as pa
        import pyarrow.parquet as pq

        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            made = Path(scratch) / "made"
            self._core_result.write(str(made), False)
            for name in TABLES:
                pq.write_table(pa.table(self._core_result.table(name)), made / f"{name}.parquet")
                (made / f"{name}.arrow").unlink()
            if target.exists():
                target.rename(Path(scratch) / "old")
            made.rename(target)
        return target

    def plot_completion(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the distribution of flow completion times (FCT), to a file if a path is given."""
        from fanin import plot

        return plot.completion(self, path)

    def plot_slowdown_by_size(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws slowdowns by message size, to a file if a path is given."""
        from fanin import plot

        return plot.slowdown_by_size(self, path)

    def plot_queues(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the distribution of the lengths of switch queues, to a file if a path is given."""
        from fanin import plot

        return plot.queues(self, path)

    def plot_queue_over_time(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the longest of the sampled queues over time, to a file if a path is given."""
        from fanin import plot

        return plot.queue_over_time(self, path)

    def plot_goodput(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws goodput over time, with Jain's index of fairness, to a file if a path is given."""
        from fanin import plot

        return plot.goodput(self, path)

    def plot_rates(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws rate and window of watched messages over time, to a file if a path is given."""
        from fanin import plot

        return plot.rates(self, path)

    def plot_flows(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the goodput of the watched messages, what limits each, and the queue."""
        from fanin import plot

        return plot.flows(self, path)

    def plot_pauses(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the pauses by PFC over time, to a file if a path is given."""
        from fanin import plot

        return plot.pauses(self, path)

    def plot_pause_trees(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the trees of pauses and the capacity that they suppress, to a file if a path is given."""
        from fanin import plot

        return plot.pause_trees(self, path)

    def plot_utilisation(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the utilisation of links by tier, to a file if a path is given."""
        from fanin import plot

        return plot.utilisation(self, path)

    def plot_timeline(self, message: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the timeline of a traced message packet by packet, to a file if a path is given."""
        from fanin import plot

        return plot.timeline(self, message, path)


def load(folder: str | os.PathLike[str]) -> Result:
    """Reads a run folder; its tables are read when they are used. Raises `RunError` if it is not a run folder."""
    root = Path(folder)
    if not is_run_folder(root):
        raise RunError(f"{root}: not a run folder (no manifest.json in it)")
    manifest = cast("Manifest", read_document(root / "manifest.json", _OF_MANIFEST))
    summary = cast("Summary", read_document(root / "summary.json", tuple(Summary.__annotations__)))
    # Earlier versions called it a spec.
    configuration = root / CONFIGURATION
    spec = read_document(configuration if configuration.is_file() else root / "spec.resolved.toml")

    def table(name: TableName) -> pl.DataFrame:
        parquet, arrow = root / f"{name}.parquet", root / f"{name}.arrow"
        if name == "host_waits" and not parquet.exists() and not arrow.exists():
            # Earlier versions wrote none.
            text = dict.fromkeys(("message", "cause"), pl.String)
            return pl.DataFrame(schema={"flow_id": pl.UInt64, **text, "begin_ps": pl.UInt64, "end_ps": pl.UInt64})
        if name == "pauses" and not parquet.exists() and not arrow.exists():
            text = dict.fromkeys(("cause", "by"), pl.String)
            return pl.DataFrame(schema={"pause": pl.UInt32, "port": pl.String, "class": pl.UInt32, **text})
        if not parquet.exists() and not arrow.exists():
            raise RunError(f"{root}: damaged run folder: there is no {name}.arrow in it")
        try:
            return pl.read_parquet(parquet) if parquet.exists() else pl.read_ipc(arrow)
        except (OSError, pl.exceptions.PolarsError):
            file = parquet if parquet.exists() else arrow
            raise RunError(f"{root}: damaged run folder: {file.name} is no table that can be read") from None

    given = root / GIVEN_FLOWS
    return Result(
        label=root.name or root.resolve().name,
        manifest=manifest,
        spec=spec,
        _summary=summary,
        _arrow=table,
        _core_result=None,
        given_flows=pl.read_csv(given, schema_overrides=_OF_GIVEN) if given.exists() else None,
    )


CONFIGURATION = "configuration.toml"
"""The file in a run folder with the configuration of the ns-3 HPCC simulator that ran as it is, instead of a spec."""

GIVEN_FLOWS = "given_flows.csv"
"""The file in a run folder with the flows that the run was given as a table."""

_OF_GIVEN = {"src": pl.String, "dst": pl.String, "bytes": pl.UInt64, "start_ps": pl.UInt64, "group": pl.UInt32}

_OF_MANIFEST = tuple(key for key in Manifest.__annotations__ if key not in ("threads_reason", "wire"))
# Older versions lack these keys.

"""The result of a run: tables, a summary and a manifest, in memory or in a folder."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from fanin import _core, run_files
from fanin.arguments import need_path
from fanin.run_folder import (
    TABLES,
    Manifest,
    RunError,
    Summary,
    TableName,
    check_target,
    is_run_folder,
    put_text,
    read_document,
)
from fanin.run_tables import ArrowStream, RunTables
from fanin.spec import read_toml

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Result(RunTables):
    """One run. Its tables are Polars frames whose column names carry units; a missing value is null."""

    loaded_from: Path | None = None
    """The run folder that it was read from; None for a run of this process."""

    @staticmethod
    def of(core: _core.RunResult, *, label: str, given: object | None = None) -> Result:
        """Wraps the result of the native module. `given` is the table of flows that the run was given, if any."""
        return Result(
            label=label,
            manifest=cast("Manifest", json.loads(core.manifest_json)),
            spec=read_toml(core.resolved_toml),
            _summary=cast("Summary", json.loads(core.summary_json)),
            _arrow=lambda name, columns=None: cast("ArrowStream", core.table(name, columns)),
            _core_result=core,
            given_flows=given,
        )

    def __repr__(self) -> str:
        from fanin import table
        from fanin.measures import scheme_name
        from fanin.rows import Compared

        row = Compared([self], self.cancelled).rows[0]
        said = f"{row.finished:,} of {row.started:,} messages finished, FCT p99 {table.time(row.fct_p99_us)}"
        stopped = ", cancelled" if self.cancelled else ""
        return f"<Result {self.name}: {scheme_name(self)}, seed {self.manifest['seed']}, {said}{stopped}>"

    def _repr_html_(self) -> str:
        from fanin import table
        from fanin.rows import Compared

        return table.html_of(Compared([self], self.cancelled))

    def with_ideal(self, ideal: str) -> Result:
        """The same run with slowdowns by another ideal: "store-and-forward", "hpcc" or "lone-run", as in the spec's
        `measure.slowdown` (docs/results.md). "lone-run" simulates every message once more, alone.

        Raises `RunError` for a run of a foreign configuration, whose spec is not known.
        """
        from fanin import ideals

        return ideals.with_ideal(self, ideal)

    def series(self, *, zeros: bool = False) -> pl.DataFrame:
        """The queues that the spec's `measure.series` samples, one row per sample: `time_ps`, `port`,
        `queue_bytes`.

        Samples of empty queues are left out, as in the table on disk, unless their series has `zeros = true`: a mean
        over these rows is a mean over the times at which the queue was not empty. `zeros=True` adds them as rows of 0
        bytes.
        """
        if not zeros:
            return super().series()
        from fanin.over_time import queue_samples

        return queue_samples(self)

    def numbers(self) -> dict[str, float | None]:
        """The numbers of the run as in the table of a comparison, by the names of its columns: counts of messages, FCTs
        and slowdowns, marks, drops, pauses. None for a number that makes no sense here, or a percentile of too few
        messages."""
        from fanin.rows import numbers

        return numbers(self)

    def packets(self) -> pl.DataFrame:
        """The packets of the spec's `measure.capture`, one row each, in order of time.

        `port` is the port that sent it and `time_ps` the time of its first bit; `wire_bytes` is its length on the wire;
        `sender` and `receiver` are the numbers of its hosts; `marked` is its CE codepoint. Null for packets of another
        kind: under TCP `payload_bytes`, the numbers `seq` and `ack` in bytes, and the flag ECE as `echo`; under RoCEv2
        the `opcode` and the packet number `psn` of the BTH; of Dart's ACKs the share of the line, `parts` out of `of`.
        PFC's frames and credits are no IP packets and are left out, and so is what `max_size` cut off: see
        docs/traces.md.

        Raises `RunError` if packets were not captured, or if their file is damaged.
        """
        from fanin.packets import packets

        try:
            if self.loaded_from is not None:
                return packets((self.loaded_from / CAPTURE).read_bytes())
            with tempfile.TemporaryDirectory() as scratch:
                return packets((self.save(Path(scratch) / "run") / CAPTURE).read_bytes())
        except FileNotFoundError:
            said = 'packets were not captured; set measure.capture = { links = ["h0>tor0"] }'
            raise RunError(f"{self.label}: {said}") from None
        except ValueError as wrong:
            raise RunError(f"{self.label}: {CAPTURE} is damaged: {wrong}") from None

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
        it is a run folder and `force` is set; a folder that holds anything else is never replaced. A run that was
        loaded is copied, in the format that it has; another one is a `RunError`.
        """
        target = Path(folder)
        if self._core_result is None and (
            self.loaded_from is None or (self.loaded_from / f"{TABLES[0]}.parquet").exists() != parquet
        ):
            raise RunError("this run was loaded from a folder; copy that folder instead")
        check_target(target, force=force)
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._core_result is not None and not parquet:
            self._core_result.write(str(target), force)
            return target
        # Named so that what a killed process leaves is known as such; see `run_folder.clean`.
        hidden = f".{target.name}.{os.getpid()}."
        with tempfile.TemporaryDirectory(prefix=hidden, suffix=".new", dir=target.parent) as scratch:
            made = Path(scratch) / "made"
            if self.loaded_from is not None:
                shutil.copytree(self.loaded_from, made)
            else:
                self._write_parquet(made)
            _core.put_folder(made, target, force)
        return target

    def _write_parquet(self, made: Path) -> None:
        """Writes the run folder with Parquet files in place of Arrow files."""
        assert self._core_result is not None
        self._core_result.write(str(made), False)
        manifest = cast("Manifest", read_document(made / "manifest.json", ("files",)))
        for name in TABLES:
            columns = self._core_result.table(name)
            table = pl.DataFrame(columns)
            table.write_parquet(made / f"{name}.parquet", metadata=columns.descriptions())
            (made / f"{name}.arrow").unlink()
            del manifest["files"][f"{name}.arrow"]
            manifest["files"][f"{name}.parquet"] = run_files.record_of(made / f"{name}.parquet", table.height)
        put_text(made / "manifest.json", json.dumps(manifest, indent=2) + "\n")

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

    def plot_ranks(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws what the ranks of jobs do over time, to a file if a path is given."""
        from fanin import plot

        return plot.ranks(self, path)

    def plot_utilisation(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the utilisation of links by tier, to a file if a path is given."""
        from fanin import plot

        return plot.utilisation(self, path)

    def plot_timeline(self, message: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the timeline of a traced message packet by packet, to a file if a path is given."""
        from fanin import plot

        return plot.timeline(self, message, path)


OF_JOBS: dict[str, dict[str, type[pl.DataType]]] = {
    "ranks": {"traffic": pl.String, "rank": pl.UInt32, "finish_ps": pl.UInt64},
    "collectives": {"traffic": pl.String, "collective": pl.UInt32, "time_ps": pl.UInt64},
    "nodes": {"traffic": pl.String, "rank": pl.UInt32, "start_ps": pl.UInt64, "end_ps": pl.UInt64},
    "critical": {"traffic": pl.String, "path_of": pl.UInt32, "kind": pl.String, "rank": pl.UInt32},
}
"""Columns of tables that earlier versions did not write."""


def load(folder: str | os.PathLike[str], *, verify: bool = True) -> Result:
    """Reads a run folder; its tables are read when they are used.

    Each file is compared with what the manifest says of it, unless `verify` is False. Raises `RunError` if it is not a
    run folder, or if a file has changed since the run was written.
    """
    need_path("folder", folder, "the path of a run folder")
    root = Path(folder)
    if not is_run_folder(root):
        raise RunError(f"{root}: not a run folder (no manifest.json in it)")
    manifest = cast("Manifest", read_document(root / "manifest.json", _OF_MANIFEST))
    check = run_files.verify if verify else _trust
    check(root, manifest, "summary.json")
    summary = cast("Summary", read_document(root / "summary.json", tuple(Summary.__annotations__)))
    # Earlier versions called it a spec.
    configuration = root / CONFIGURATION
    for name in (CONFIGURATION, "spec.resolved.toml"):
        check(root, manifest, name)
    spec = read_document(configuration if configuration.is_file() else root / "spec.resolved.toml")

    def table(name: TableName, columns: Sequence[str] | None = None) -> pl.DataFrame:
        parquet, arrow = root / f"{name}.parquet", root / f"{name}.arrow"
        for file in (parquet, arrow):
            check(root, manifest, file.name)
        if name == "host_waits" and not parquet.exists() and not arrow.exists():
            # Earlier versions wrote none.
            text = dict.fromkeys(("message", "cause"), pl.String)
            return pl.DataFrame(schema={"flow_id": pl.UInt64, **text, "begin_ps": pl.UInt64, "end_ps": pl.UInt64})
        if name == "pauses" and not parquet.exists() and not arrow.exists():
            text = dict.fromkeys(("cause", "by"), pl.String)
            return pl.DataFrame(schema={"pause": pl.UInt32, "port": pl.String, "class": pl.UInt32, **text})
        if name in OF_JOBS and not parquet.exists() and not arrow.exists():
            return pl.DataFrame(schema=OF_JOBS[name])
        if not parquet.exists() and not arrow.exists():
            raise RunError(f"{root}: damaged run folder: there is no {name}.arrow in it")
        try:
            wanted = None if columns is None else list(columns)
            if parquet.exists():
                return pl.read_parquet(parquet, columns=wanted)
            return pl.read_ipc(arrow, columns=wanted)
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
        loaded_from=root,
    )


def _trust(_root: Path, _manifest: Manifest, _name: str) -> None:
    """Reads any file as it is."""


CONFIGURATION = "configuration.toml"
"""The file in a run folder with the configuration of the ns-3 HPCC simulator that ran as it is, instead of a spec."""

CAPTURE = "capture.pcapng"
"""The file in a run folder with the packets of the links of `measure.capture`."""

GIVEN_FLOWS = "given_flows.csv"
"""The file in a run folder with the flows that the run was given as a table."""

_OF_GIVEN = {"src": pl.String, "dst": pl.String, "bytes": pl.UInt64, "start_ps": pl.UInt64, "group": pl.UInt32}

_OF_MANIFEST = tuple(key for key in Manifest.__annotations__ if key not in ("threads_reason", "wire", "files"))
# Older versions lack these keys.

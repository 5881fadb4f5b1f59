"""Configurations of the ns-3 HPCC simulator, run unchanged; they leave the files that its users' scripts read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from fanin import _core, limits
from fanin.comparing import Kept, run_all, schemes_of
from fanin.comparison import Comparison
from fanin.result import Result
from fanin.runs import Watcher, cores, default_threads, run_one, threads_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.explanation import Explanation

__all__ = [
    "HpccJob",
    "compare_hpcc",
    "explain_hpcc",
    "plot_slowdown",
    "read_fct",
    "read_trace",
    "run_hpcc",
    "slowdown_by_size",
]


@dataclass(frozen=True)
class HpccJob:
    """One configuration to run."""

    config: str
    """The configuration's path, from `folder`."""
    folder: str
    """The folder of relative paths inside the configuration."""
    trace: bool = False
    scheme: str | None = None
    """The scheme of a run on the ordinary network; None to run the configuration exactly."""
    overrides: tuple[str, ...] = ()
    """`key=value`, applied to the spec of the ordinary network."""
    seed: int | None = None
    """The seed of a run on the ordinary network."""
    max_memory: int | None = None
    """Most memory in bytes by the estimate; `None` is no limit."""
    max_time: float | None = None
    """Most real time in seconds by the estimate; `None` is no limit."""
    acks_first: bool = False
    """Without a scheme: ACKs have priority at switches, for which that simulator has no key."""
    threads: int = 1
    """Most threads of a run under a scheme; that simulator's own network has one."""
    threads_asked: bool = True
    """As of `fanin.runs.Job`."""
    dialect: str | None = None
    """The fork that its files are of; None is what they show."""
    topology: str | None = None
    """The topology's path, from `folder`, instead of that of TOPOLOGY_FILE."""
    skip_unknown_keys: bool = False
    """Without a scheme: unknown keys are skipped, with a warning."""
    follow: int | None = None
    """Without a scheme: the `flow_id` of a message whose packets are to be in the table of hops."""

    series: str | None = None
    """Without a scheme: the time between samples of its queues and flows, as "10 us"."""

    @classmethod
    def of(
        cls,
        config: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        changes: Sequence[str] = (),
        dialect: str | None = None,
        topology: str | os.PathLike[str] | None = None,
        skip_unknown_keys: bool = False,
    ) -> HpccJob:
        """The configuration and how it is read; `changes` are its `overrides`."""
        return cls(
            os.fspath(config),
            os.fspath(folder),
            overrides=tuple(changes),
            dialect=dialect,
            topology=None if topology is None else os.fspath(topology),
            skip_unknown_keys=skip_unknown_keys,
        )

    @property
    def label(self) -> str:
        """Names the run among others; fit for a folder name."""
        seed = "" if self.seed is None else f"-seed-{self.seed}"
        return (
            Path(self.config).stem
            + ("" if self.scheme is None else f"-{self.scheme}")
            + ("-acks-first" if self.acks_first else "")
            + seed
        )

    def using(self, scheme: str | None, seed: int | None) -> HpccJob:
        """The same configuration under a scheme of the ordinary network; None is as it is, on its own network."""
        return replace(self, scheme=scheme, seed=None if scheme is None else seed)

    def resolve(self) -> dict[str, object]:
        """The spec that it runs as under a scheme; raises `SpecError`. A configuration that runs as it is has none: its
        run begins by reading the files and raises their errors."""
        return {} if self.scheme is None else json.loads(self._spec(self.scheme)[0])

    def warnings(self) -> list[str]:
        """Warnings that are known before it runs; raises `SpecError`."""
        if self.scheme is None:
            return _core.hpcc_warnings(self.config, self.folder, self._reading)
        return self._spec(self.scheme)[1]

    def explain(self) -> Explanation:
        """What it means before it runs; raises `SpecError`."""
        changes = list(self.overrides)
        text = _core.hpcc_explain(self.config, self.folder, self._reading, self.scheme, changes, self.seed)
        return cast("Explanation", json.loads(text))

    @property
    def _reading(self) -> tuple[str | None, str | None, bool]:
        return self.dialect, self.topology, self.skip_unknown_keys

    def _spec(self, scheme: str) -> tuple[str, list[str]]:
        return _core.hpcc_spec(self.config, self.folder, self._reading, scheme, list(self.overrides), self.seed)

    def run(self, flows: object | None, watcher: Watcher | None) -> Result:
        """Runs it in this thread, without the GIL."""
        if flows is not None:
            raise ValueError("flows of a configuration come from its FLOW_FILE")
        if self.scheme is None:
            return Result.of(
                _core.run_hpcc(
                    self.config,
                    self.folder,
                    self._reading,
                    self.trace,
                    self.acks_first,
                    watcher,
                    self.max_memory,
                    self.max_time,
                    self.follow,
                    self.series,
                ),
                label=self.label,
            )
        return Result.of(
            _core.run_hpcc_under(
                self.config,
                self.folder,
                self._reading,
                self.scheme,
                list(self.overrides),
                self.seed,
                watcher,
                self.max_memory,
                self.max_time,
                self.threads if self.threads_asked else default_threads(self.resolve, self.threads),
            ),
            label=self.label,
        )


def run_hpcc(
    config: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] = ".",
    trace: bool = False,
    scheme: str | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    seed: int | None = None,
    dialect: str | None = None,
    topology: str | os.PathLike[str] | None = None,
    skip_unknown_keys: bool = False,
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    series: str | None = None,
) -> Result:
    """Runs a configuration of the ns-3 HPCC simulator and returns its result.

    Paths in the configuration, and `config` itself, are relative to `folder`: for that simulator the folder in which it
    is started. `Result.save` writes `fct.txt`, `pfc.txt` and `qlen.txt` beside the usual tables, and with `trace` also
    `trace.tr`, the packets at the nodes of its TRACE_FILE.

    With `scheme`, its topology, flows, buffer and thresholds run on the ordinary network under that scheme; `set` and
    `seed` change the spec made of them, and `fct.txt` is the only file besides the tables.

    `dialect` is the fork that the files are of: "original", "powertcp", "astra", "simai" or "conweave"; without it,
    what they show. `topology` is a file instead of that of TOPOLOGY_FILE, which SimAI's configurations do not have.
    Without a scheme, `skip_unknown_keys` skips keys of one's own, which are errors otherwise; a scheme skips them
    always.

    `max_memory`, `max_time` and, with `scheme`, `threads` are those of `fanin.run`. Without a scheme, `series` is the
    time between samples of the queues of switches, and of goodput, rate and window of the first 1,000 flows, as
    "10 us"; with one, that is a key of the spec, `measure.series`.

    Raises `SpecError`, which names file and line, for files that cannot be used.
    """
    if scheme is None and (set or seed is not None):
        raise ValueError("set and seed change a run under a scheme; without a scheme a configuration runs as it is")
    if scheme is not None and trace:
        raise ValueError("trace is of that simulator's own network; a run under a scheme has none")
    if scheme is not None and series is not None:
        raise ValueError("series are of that simulator's own network; under a scheme set measure.series")
    memory, time = limits.within(max_memory, max_time)
    job = replace(
        HpccJob.of(config, folder, set, dialect, topology, skip_unknown_keys).using(scheme, seed),
        trace=trace,
        max_memory=memory,
        max_time=time,
        threads=threads_of(threads),
        threads_asked=threads is not None,
        series=series,
    )
    return run_one(job, progress=progress)


def explain_hpcc(
    config: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] = ".",
    scheme: str | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    seed: int | None = None,
    dialect: str | None = None,
    topology: str | os.PathLike[str] | None = None,
    skip_unknown_keys: bool = False,
) -> Explanation:
    """What a configuration of the ns-3 HPCC simulator means before it runs: its round-trip times, thresholds and PFC,
    and whether PFC could act at all (`pauses`).

    The arguments are those of `run_hpcc`, and the result is that of `fanin.explain`. Raises `SpecError`, which names
    file and line, for files that cannot be used.
    """
    if scheme is None and (set or seed is not None):
        raise ValueError("set and seed change a run under a scheme; without a scheme a configuration runs as it is")
    return HpccJob.of(config, folder, set, dialect, topology, skip_unknown_keys).using(scheme, seed).explain()


AS_IS = "as-is"
"""Among the schemes of `compare_hpcc`: the configuration as it is, on that simulator's own network."""


def compare_hpcc(
    config: str | os.PathLike[str],
    schemes: Sequence[str] | str,
    seeds: Sequence[int] | None = None,
    *,
    folder: str | os.PathLike[str] = ".",
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    dialect: str | None = None,
    topology: str | os.PathLike[str] | None = None,
    skip_unknown_keys: bool = False,
    workers: int | None = None,
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    keep: Kept | None = None,
) -> Comparison:
    """Runs a configuration of the ns-3 HPCC simulator under several schemes, and returns them side by side.

    Its topology, flows, buffer and thresholds run on the ordinary network, as with `run_hpcc(config, scheme=...)`; the
    arguments are those of `run_hpcc` and `fanin.compare`. `schemes` is a list, or "all" for those that make sense
    there. Among them "as-is" is the configuration as it is, under the law that it names, on that simulator's own
    network, once for all seeds; all schemes beside it are measured as there: FCTs up to the last ACK, and slowdowns by
    the ideal hpcc, unless `set` names another.
    """
    # What comes last counts.
    changes = ("measure.slowdown=hpcc", *set) if AS_IS in schemes and not isinstance(schemes, str) else tuple(set)
    base = HpccJob.of(config, folder, changes, dialect, topology, skip_unknown_keys)
    if isinstance(schemes, str):
        if schemes != "all":
            raise _core.SpecError(f'schemes: "{schemes}" is neither a list of schemes nor "all"')
        schemes = schemes_of(base)[0]
    each_seed: Sequence[int | None] = [None] if seeds is None else seeds
    wanted: list[tuple[str | None, int | None]] = []
    for scheme in dict.fromkeys(schemes):
        if scheme == AS_IS:
            wanted.append((None, None))
        else:
            wanted.extend((scheme, seed) for seed in dict.fromkeys(each_seed))
    at_once = max(1, min(workers or cores(), len(wanted)))
    memory, time = limits.within(max_memory, max_time)
    limited = replace(
        base,
        max_memory=None if memory is None else memory // at_once,
        max_time=time,
        threads=threads_of(threads, at_once),
        threads_asked=threads is not None,
    )
    return run_all([limited.using(*one) for one in wanted], at_once, progress=progress, keep=keep)


def read_fct(path: str | os.PathLike[str]) -> pl.DataFrame:
    """The completed flows of an `fct.txt`, that simulator's or ours, in its order, one row each.

    Columns: src, dst (node numbers), sport, dport, bytes, start_ns, fct_ns, standalone_ns, slowdown (at least 1).
    """
    names = ["sip", "dip", "sport", "dport", "bytes", "start_ns", "fct_ns", "standalone_ns"]
    types = dict.fromkeys(names[2:], pl.Int64) | {"sip": pl.String, "dip": pl.String}
    frame = pl.read_csv(
        Path(path), separator=" ", has_header=False, new_columns=names, schema_overrides=types, raise_if_empty=False
    )
    if frame.is_empty():
        frame = pl.DataFrame(schema={name: types[name] for name in names})

    def node(column: str) -> pl.Expr:
        return pl.col(column).str.to_integer(base=16).floordiv(256).mod(65_536)

    slowdown = (pl.col("fct_ns") / pl.col("standalone_ns")).clip(lower_bound=1.0)
    return frame.select(node("sip").alias("src"), node("dip").alias("dst"), *names[2:], slowdown.alias("slowdown"))


TRACE_RECORD = np.dtype(
    {
        "names": ["time_ns", "node", "port", "queue", "queue_bytes", "sip", "dip", "bytes", "protocol", "event", "ecn"],
        "formats": ["<u8", "<u2", "u1", "u1", "<u4", "<u4", "<u4", "<u2", "u1", "u1", "u1"],
        "offsets": [0, 8, 10, 11, 12, 16, 20, 24, 26, 27, 28],
        "itemsize": 56,
    }
)
"""The fields that all records of a `.tr` file share; those of single packet types are left to that simulator's
reader."""

EVENTS = ("received", "enqueued", "dequeued", "dropped")


def read_trace(path: str | os.PathLike[str]) -> pl.DataFrame:
    """The packets of a `.tr` file, one row per event at a traced node, in order.

    `queue_bytes` are the bytes in the packet's queue, before it joins or after it has left.
    """
    data = Path(path).read_bytes()
    if len(data) < 4:
        raise ValueError(f"{path}: {len(data)} bytes are no trace")
    begin = 4 + 11 * int.from_bytes(data[:4], "little") + 4
    if len(data) < begin:
        raise ValueError(f"{path}: ends within its table of port speeds")
    whole = (len(data) - begin) // TRACE_RECORD.itemsize
    records = np.frombuffer(data, TRACE_RECORD, whole, begin)
    return pl.DataFrame({name: records[name] for name in TRACE_RECORD.names or ()}).with_columns(
        pl.col("event").replace_strict(dict(enumerate(EVENTS)), default=None, return_dtype=pl.String)
    )


PERCENTILES = (50, 95, 99)
FLOWS_PER_BIN = 100
"""The least where there is more than one bin, so that p99 is not merely the largest."""


def slowdown_by_size(flows: pl.DataFrame, bins: int = 20) -> pl.DataFrame:
    """Slowdown p50, p95 and p99 in bins of equally many flows by size, as that simulator's own analysis cuts them.

    `flows` is what `read_fct` returns. A percentile is the value at place floor(n p) of the bin's n slowdowns in order.
    """
    ordered = flows.sort("bytes", "start_ns", "src", "dst", "sport")
    rows = []
    for number in range(bins):
        first, end = number * len(ordered) // bins, (number + 1) * len(ordered) // bins
        part = ordered[first:end]
        if part.is_empty():
            continue
        values = np.sort(part["slowdown"].to_numpy())
        at = {f"p{p}": float(values[min(len(values) - 1, len(values) * p // 100)]) for p in PERCENTILES}
        rows.append({"largest_bytes": int(part["bytes"][-1]), "flows": len(part)} | at)
    kinds = {"largest_bytes": pl.Int64, "flows": pl.Int64} | {f"p{p}": pl.Float64 for p in PERCENTILES}
    return pl.DataFrame(rows, schema=kinds)


def plot_slowdown(frames: Mapping[str, pl.DataFrame], ax: Axes | None = None, *, bins: int = 20) -> Axes:
    """Draws slowdown p50, p95 and p99 by flow size, in one colour for each of the named frames of `read_fct`; a scheme
    has its own colour.

    Sizes are cut as `slowdown_by_size` does. Without `ax` a new figure is made: `ax.figure.savefig(path)`.
    """
    from fanin import hpcc_plot

    cuts = [slowdown_by_size(flows, min(bins, max(1, len(flows) // FLOWS_PER_BIN))) for flows in frames.values()]
    return hpcc_plot.slowdown({name: len(flows) for name, flows in frames.items()}, cuts, ax)

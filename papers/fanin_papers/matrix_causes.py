"""Why schemes are where they are in the matrix: runs with one change each (`fanin paper matrix`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanin_papers.common import seeds
from fanin_papers.experiment import Change, Key, Measures
from fanin_papers.matrix import DART, DCTCP, HADOOP, RCC, WEBSEARCH, Ground, Load


@dataclass(frozen=True)
class Cause:
    """One change to a run of the matrix."""

    ground: Ground
    load: Load
    scheme: str
    """Whose run is changed."""
    what: str
    """The change, as a reader would say it."""
    numbers: tuple[str, ...]
    """Names of the measurements that it is about."""
    set: tuple[str, ...] = ()
    """Changes to the spec."""
    preset: str | None = None
    """Runs with this preset instead."""
    parameters: dict[str, str | int] = field(default_factory=dict)
    """Runs with these parameters of the scheme."""

    def change(self, quick: bool) -> Change:
        """The run."""
        of_scheme: tuple[str, ...] = ()
        if self.parameters:
            pairs = ", ".join(
                f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
                for key, value in self.parameters.items()
            )
            text = f'{{ id = "{self.scheme}", {pairs} }}'
            of_scheme = tuple(f"traffic.{name}.scheme={text}" for name in self.ground.traffics)
        short = self.ground.quick if quick else ()
        changes = (*self.ground.changes(self.scheme), *self.load.set, *of_scheme, *self.set, *short)
        return Change(None if self.parameters else self.preset or self.scheme, changes)


SHORT, LONG, LONG_P99, GOODPUT = "slowdown-0-990", "slowdown-2-500", "slowdown-2-990", "goodput_gbps"
PAUSED, DROPS, TIMEOUTS = "paused_us", "drops", "timeouts"

CAUSES: tuple[Cause, ...] = (
    Cause(
        DART,
        DART.loads[1],
        "cubic",
        "lossless network",
        (SHORT, LONG_P99, DROPS, TIMEOUTS, PAUSED),
        set=("network.buffer.policy=lossless",),
    ),
    Cause(HADOOP, HADOOP.loads[0], "dart", "one lane for all sizes", (SHORT, PAUSED), parameters={"lanes": "one"}),
    Cause(
        HADOOP,
        HADOOP.loads[0],
        "dcqcn",
        "unlimited buffers",
        (SHORT, PAUSED),
        set=('network.buffer={ policy = "unlimited" }',),
    ),
    Cause(HADOOP, HADOOP.loads[0], "dcqcn", "with HPCC's window", (SHORT, PAUSED, GOODPUT), preset="dcqcn-win"),
    Cause(WEBSEARCH, WEBSEARCH.loads[0], "dcqcn", "with HPCC's window", (SHORT, PAUSED), preset="dcqcn-win"),
    Cause(
        HADOOP,
        HADOOP.loads[0],
        "rcc",
        "300 segments in flight, not 40",
        (SHORT, LONG, GOODPUT),
        parameters={"queue_maxsize": 300},
    ),
    Cause(
        RCC,
        RCC.loads[1],
        "newreno",
        "10 MB of buffer a port",
        (SHORT, DROPS, TIMEOUTS),
        set=("network.buffer.per_port=10 MB",),
    ),
    Cause(
        RCC,
        RCC.loads[1],
        "timely",
        "gradients by the idle path's RTT, not 20 us",
        (GOODPUT, LONG, SHORT),
        parameters={"min_rtt": "0 s"},
    ),
    Cause(
        DCTCP,
        DCTCP.loads[0],
        "rcc",
        "timeouts of at least 100 ms",
        (SHORT, DROPS, TIMEOUTS),
        set=tuple(f"traffic.{name}.tcp.min_rto=100 ms" for name in DCTCP.traffics),
    ),
)


def sweep(ground: Ground, quick: bool) -> dict[Key, Change]:
    """The changed runs on a ground."""
    return {
        (cause.scheme, cause.load.name, cause.what, seed): cause.change(quick)
        for cause in CAUSES
        if cause.ground is ground
        for seed in seeds(quick)
    }


def undone(found: Measures, cause: Cause) -> Measures:
    """The changed runs of a cause, keyed as those of the matrix."""
    key = (cause.scheme, cause.load.name, cause.what)
    return {(*key[:2], run[-1]): measured for run, measured in found.items() if run[:-1] == key}

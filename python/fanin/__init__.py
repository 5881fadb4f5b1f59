"""Packet-level simulation of datacenter congestion control.

`run` simulates a spec, `compare` simulates it under several schemes, `sweep` runs a grid of specs, `tune` searches
settings in one, `load` reads a run folder. `plot` draws results, `report` writes them as a page, `why` explains why a
message was slow and `why_collective` why a collective was; `explain` shows paths, thresholds, load and cost of a spec
before it runs. `wire` sends messages between hosts under the same schemes. `Scheme`, with `Sender`, `Receiver` and
`SwitchProgram`, is what one's own schemes derive from; `check_scheme` checks them with random events.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fanin import plot, wire
    from fanin._core import (
        Ack,
        AckFields,
        Balancer,
        Choice,
        Data,
        Discipline,
        Feedback,
        FlowInfo,
        IntHop,
        LimitError,
        Loss,
        MessageStart,
        NicInfo,
        Notice,
        Packet,
        PathInfo,
        PathSelector,
        PortView,
        Queued,
        Receiver,
        SelectorInfo,
        Sender,
        Sent,
        SpecError,
        SwitchInfo,
        SwitchProgram,
        Trim,
        Verdict,
        __version__,
        schemes,
    )
    from fanin.causes import Why, why
    from fanin.certifying import Certificate, certify
    from fanin.comparing import compare, every_scheme, load_comparison
    from fanin.comparison import Comparison
    from fanin.explanation import explain
    from fanin.hpcc import run_hpcc
    from fanin.own_schemes import Scheme, bytes_in, load_scheme, tx_time
    from fanin.reporting import report
    from fanin.result import Result, load
    from fanin.run_folder import RunError
    from fanin.runs import run
    from fanin.scheme_check import SchemeReport, check_scheme
    from fanin.slow_collectives import WhyCollective, why_collective
    from fanin.spec_types import Spec
    from fanin.sweeps.display import SweepState
    from fanin.sweeps.sweeping import Sweep, SweepRun, load_sweep, sweep
    from fanin.tuning import Tuned, tune
    from fanin.uec import run_uec
    from fanin.verifying import verify

__all__ = [
    "Ack",
    "AckFields",
    "Balancer",
    "Certificate",
    "Choice",
    "Comparison",
    "Data",
    "Discipline",
    "Feedback",
    "FlowInfo",
    "IntHop",
    "LimitError",
    "Loss",
    "MessageStart",
    "NicInfo",
    "Notice",
    "Packet",
    "PathInfo",
    "PathSelector",
    "PortView",
    "Queued",
    "Receiver",
    "Result",
    "RunError",
    "Scheme",
    "SchemeReport",
    "SelectorInfo",
    "Sender",
    "Sent",
    "Spec",
    "SpecError",
    "Sweep",
    "SweepRun",
    "SweepState",
    "SwitchInfo",
    "SwitchProgram",
    "Trim",
    "Tuned",
    "Verdict",
    "Why",
    "WhyCollective",
    "__version__",
    "bytes_in",
    "certify",
    "check_scheme",
    "compare",
    "every_scheme",
    "explain",
    "load",
    "load_comparison",
    "load_scheme",
    "load_sweep",
    "plot",
    "report",
    "run",
    "run_hpcc",
    "run_uec",
    "schemes",
    "sweep",
    "tune",
    "tx_time",
    "verify",
    "why",
    "why_collective",
    "wire",
]

# No module has the name of a function of the package: importing the module would replace the function.
_HOME = {
    "Ack": "_core",
    "AckFields": "_core",
    "Balancer": "_core",
    "Certificate": "certifying",
    "Choice": "_core",
    "Comparison": "comparison",
    "Data": "_core",
    "Discipline": "_core",
    "Feedback": "_core",
    "FlowInfo": "_core",
    "IntHop": "_core",
    "LimitError": "_core",
    "Loss": "_core",
    "MessageStart": "_core",
    "NicInfo": "_core",
    "Notice": "_core",
    "Packet": "_core",
    "PathInfo": "_core",
    "PathSelector": "_core",
    "PortView": "_core",
    "Queued": "_core",
    "Receiver": "_core",
    "Result": "result",
    "RunError": "run_folder",
    "Scheme": "own_schemes",
    "SchemeReport": "scheme_check",
    "SelectorInfo": "_core",
    "Sender": "_core",
    "Sent": "_core",
    "Spec": "spec_types",
    "SpecError": "_core",
    "Sweep": "sweeps.sweeping",
    "SweepRun": "sweeps.sweeping",
    "SweepState": "sweeps.display",
    "SwitchInfo": "_core",
    "SwitchProgram": "_core",
    "Trim": "_core",
    "Tuned": "tuning",
    "Verdict": "_core",
    "Why": "causes",
    "WhyCollective": "slow_collectives",
    "__version__": "_core",
    "bytes_in": "own_schemes",
    "certify": "certifying",
    "check_scheme": "scheme_check",
    "compare": "comparing",
    "every_scheme": "comparing",
    "explain": "explanation",
    "load": "result",
    "load_comparison": "comparing",
    "load_scheme": "own_schemes",
    "load_sweep": "sweeps.sweeping",
    "report": "reporting",
    "run": "runs",
    "run_hpcc": "hpcc",
    "run_uec": "uec",
    "schemes": "_core",
    "sweep": "sweeps.sweeping",
    "tune": "tuning",
    "tx_time": "own_schemes",
    "verify": "verifying",
    "why": "causes",
    "why_collective": "slow_collectives",
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first used, so that `fanin --help` does not load Polars and Matplotlib."""
    if name in ("plot", "wire", "hpcc", "uec", "_core"):
        return import_module(f"fanin.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"fanin.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

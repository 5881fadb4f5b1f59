"""Packet-level simulation of datacenter congestion control.

`run` simulates a spec, `compare` simulates it under several schemes, `load` reads back what a run wrote, `plot` draws.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fanin._core import SpecError, __version__

if TYPE_CHECKING:
    from fanin.comparison import Comparison, compare, load_comparison
    from fanin.hpcc import run_hpcc
    from fanin.result import Result, RunError, load
    from fanin.runs import run

__all__ = [
    "Comparison",
    "Result",
    "RunError",
    "SpecError",
    "__version__",
    "compare",
    "load",
    "load_comparison",
    "run",
    "run_hpcc",
]

_HOME = {
    "Comparison": "comparison",
    "Result": "result",
    "RunError": "result",
    "compare": "comparison",
    "load": "result",
    "load_comparison": "comparison",
    "run": "runs",
    "run_hpcc": "hpcc",
}


def __getattr__(name: str) -> object:
    """Imports what is asked for when it is: `fanin --help` need not wait for libraries of data frames and pictures."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"fanin.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

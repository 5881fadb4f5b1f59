"""Packet-level simulation of datacenter congestion control.

`run` simulates a spec, `compare` simulates it under several schemes, `load` reads back what a run wrote.
"""

from fanin._core import SpecError, __version__
from fanin.compare import Comparison, compare, load_comparison
from fanin.hpcc import run_hpcc
from fanin.result import Result, RunError, load
from fanin.run import run

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

"""Runs a spec in a process of its own: `python _ours_run.py MODULE SPEC.json TIMES`.

MODULE is the file of the native module, and the package and its dependencies are not loaded. Prints the measurements as
JSON. The user CPU of the event loop is that from the call to the loop's end, less that of a run with an empty window,
which is the set-up.
"""

from __future__ import annotations

import json
import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fanin._core import Progress, RunResult


class Runs:
    """Runs of one spec."""

    def __init__(self, module: str, spec: Path) -> None:
        found = spec_from_file_location("fanin._core", module)
        assert found is not None
        assert found.loader is not None
        self.core = module_from_spec(found)
        found.loader.exec_module(self.core)
        self.spec = spec
        self.text = spec.read_text(encoding="utf-8")
        self.loop_ended_s = 0.0

    def watch(self, _: Progress) -> bool:
        """Called periodically, the last time as the event loop ends, before any table is made."""
        self.loop_ended_s = user_s()
        return True

    def one(self, *changes: str) -> tuple[RunResult, float]:
        """The result of a run, and its user CPU in seconds from the call to the end of its event loop."""
        began_s = user_s()
        names = {"text": self.text, "name": str(self.spec), "format": "json", "folder": str(self.spec.parent)}
        spec = SimpleNamespace(**names, overrides=list(changes), scheme=None, seed=None)
        result = self.core.run(spec, None, self.watch)
        return result, self.loop_ended_s - began_s


def user_s() -> float:
    """User CPU of this process so far, seconds."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def peak_rss_bytes() -> int:
    """Peak memory of this process."""
    # On Linux a program inherits ru_maxrss from its parent; VmHWM is its own.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def completions_us(result: RunResult) -> list[float]:
    """Microseconds from the start of each finished message to its last ACK."""
    import polars as pl

    acked = pl.DataFrame(result.table("flows"))["acked_ps"].drop_nulls()
    return [ps / 1e6 for ps in acked]


def main() -> None:
    """Runs the spec that the arguments name."""
    module, spec, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    try:
        runs = Runs(module, spec)
        setups = [runs.one("measure.window=1 ps")[1] for _ in range(max(3, times))]
        pairs = [runs.one() for _ in range(times)]
    except ValueError as error:
        sys.exit(str(error))
    # The system counts user CPU in ticks, so short runs are averaged.
    setup_s = sum(setups) / len(setups)
    result = pairs[-1][0]
    peak = peak_rss_bytes()
    manifest = json.loads(result.manifest_json)
    measured = {
        "packet_hops": manifest["packet_hops"],
        "events": manifest["events"],
        "event_hash": manifest["event_hash"],
        "wall_s": manifest["wall_s"],
        "user_s": sum(used for _, used in pairs) / times - setup_s,
        "setup_s": setup_s,
        "peak_rss_bytes": peak,
        "errors": json.loads(result.summary_json)["errors"],
        "completions_us": completions_us(result),
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()

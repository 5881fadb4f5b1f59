"""One `fanin run` with its stages timed, for `bench/stages.py`: prints them as JSON on the last line of stderr."""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import json  # noqa: E402 - what is imported before is not counted
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402


def main() -> None:
    """Runs the command of the arguments."""
    from fanin import _core, cli
    from fanin.result import Result
    from fanin.runs import Job

    spent = {"start": time.perf_counter() - BEGAN}

    def timed(stage: str, of: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            at = time.perf_counter()
            try:
                return of(*given, **named)
            finally:
                spent[stage] = spent.get(stage, 0.0) + time.perf_counter() - at

        return call

    simulate = _core.run

    def run(spec: Any, flows: Any, watch: Callable[[Any], bool], *rest: Any) -> Any:
        at = time.perf_counter()
        first: list[float] = []

        def look(state: Any) -> bool:
            # Progress counts seconds from the first event.
            if not first:
                first.append(time.perf_counter() - state.wall_s)
            return watch(state)

        result = simulate(spec, flows, look, *rest)
        all_s = time.perf_counter() - at
        made = json.loads(result.manifest_json)
        loop_s = float(made["wall_s"])
        network_s = first[0] - at if first else 0.0
        spent.update(network=network_s, simulation=loop_s, tables=all_s - network_s - loop_s)
        return result

    _core.run = run  # type: ignore[assignment]
    Job.resolve = timed("spec", Job.resolve)  # type: ignore[method-assign]
    Result.save = timed("files", Result.save)  # type: ignore[method-assign]
    sys.argv = ["fanin", *sys.argv[1:]]
    try:
        cli.main()
    finally:
        print(json.dumps(spent), file=sys.stderr)


if __name__ == "__main__":
    main()

"""Runs one benchmark case in a process that holds nothing else: `python _bench_case.py MODULE CASE THREADS SCALE`.

MODULE is the file of the native module, so that the package and its dependencies stay out of this process's memory.
Prints the case's record as JSON.
"""

import json
import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def peak_rss_bytes() -> int:
    """Most memory this process ever held."""
    # Linux hands the ru_maxrss of the parent down to the program that it starts; VmHWM is of this program alone.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Runs the case that the arguments name."""
    module, case, threads, scale = sys.argv[1:]
    found = spec_from_file_location("fanin._core", module)
    assert found is not None
    assert found.loader is not None
    core = module_from_spec(found)
    found.loader.exec_module(core)
    try:
        record = json.loads(core.bench(case, int(threads), float(scale)))
    except ValueError as error:
        sys.exit(str(error))
    record["peak_rss_bytes"] = peak_rss_bytes()
    print(json.dumps(record))


if __name__ == "__main__":
    main()

"""Runs one benchmark case in a process of its own: `python _bench_case.py MODULE CASE THREADS SCALE [SCHEME]`.

SCHEME is an id, the path of a shared library, or FILE.py:CLASS. MODULE is the file of the native module; the package
and its dependencies are not loaded, so that memory is the simulator's, unless the scheme is in Python. Prints the
case's record as JSON.
"""

import json
import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


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


def scheme_of(library: str, core: ModuleType) -> str:
    """Loads a shared library and returns the id of its scheme."""
    ids = core.load_library(library)
    if "scheme" not in ids:
        raise ValueError(f"{library}: it has no scheme, which is what is measured; it has {' and '.join(ids)}")
    return str(ids["scheme"])


def main() -> None:
    """Runs the case that the arguments name."""
    module, case, threads, scale, *schemes = sys.argv[1:]
    found = spec_from_file_location("fanin._core", module)
    assert found is not None
    assert found.loader is not None
    core = module_from_spec(found)
    found.loader.exec_module(core)
    try:
        if any(".py:" in scheme for scheme in schemes):
            # A scheme in Python needs the package, which is the folder of this file.
            sys.path.insert(0, str(Path(__file__).parent.parent))
            from fanin import _core, own_schemes

            core = _core
            schemes = [own_schemes.load_scheme(scheme) if ".py:" in scheme else scheme for scheme in schemes]
        ids = [scheme_of(scheme, core) if scheme.endswith((".so", ".dylib", ".dll")) else scheme for scheme in schemes]
        record = json.loads(core.bench(case, int(threads), float(scale), *ids))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        sys.exit(str(error))
    record["peak_rss_bytes"] = peak_rss_bytes()
    print(json.dumps(record))


if __name__ == "__main__":
    main()

"""The instructions of a run by stage: callgrind counts them by address, and line tables map addresses to source
files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench import profile
from fanin.run_folder import RunError

ROOT = Path(__file__).parents[1]
STAGES = ("event queue", "switch pipeline", "endpoint", "scheme", "record", "other")
"""The stages of a packet-hop. The last one is shared by all: messages drawn from traffic patterns."""
ALL, OWN, CALLS, LINES, FAR_LINES, MISPREDICTED = MEASURES = (
    "instructions",
    "own_instructions",
    "c_calls",
    "lines",
    "far_lines",
    "mispredicted",
)
"""Instructions; those of the program itself, without the C library's, which depend on the processor; calls of the C
library; misses of the first and the second level of cache, of data and of instructions; mispredicted branches."""
EVENTS = {
    ALL: ("Ir",),
    LINES: ("I1mr", "D1mr", "D1mw"),
    FAR_LINES: ("ILmr", "DLmr", "DLmw"),
    MISPREDICTED: ("Bcm", "Bim"),
}
"""What callgrind calls them."""
CACHES = ("--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The caches that callgrind models: 32 KB each for instructions and data, and a second level of 1 MB; 64 B a line."""
EVENT_LOOP = "*Simulation*advance*"
"""Counting is on within it. It must not match a function that calls another match."""

Cost = dict[str, float]
"""By measure."""
_Function = tuple[str, str]
"""Its file and its name."""

_OF_CRATE = {
    "engine": "event queue",
    "fabric": "switch pipeline",
    "endpoint": "endpoint",
    "cc": "scheme",
    "record": "record",
}
_OF_FABRIC = {
    "world": "endpoint",
    **dict.fromkeys(("flows", "message", "messages", "probes", "query", "results", "table", "tap"), "record"),
}
"""Exceptions from the crate's stage."""
_OF_WHO_ASKS = {"units", "engine/random", "engine/prefetch", "experiment"}
"""Arithmetic, random draws, prefetching, memory management: part of the stage of their caller."""
_SOURCE = re.compile(r"(?:^|/)crates/(\w+)/src/(\w+)")
_SYMBOL = re.compile(r"<?fanin_(\w+)::(\w+)")


def stage_of(crate: str, module: str) -> str | None:
    """The stage of a source file of ours, by its crate and its first module; None for the stage of its caller."""
    if crate in _OF_WHO_ASKS or f"{crate}/{module}" in _OF_WHO_ASKS:
        return None
    if crate == "fabric":
        return _OF_FABRIC.get(module, _OF_CRATE[crate])
    # Crates of others also have folders of such names.
    return _OF_CRATE.get(crate, "other" if (ROOT / "crates" / crate).is_dir() else None)


@dataclass
class Profile:
    """What callgrind wrote."""

    costs: dict[_Function, dict[int, Cost]] = field(default_factory=lambda: defaultdict(dict))
    """The own cost of each instruction: function, address, cost."""
    calls: dict[_Function, list[tuple[_Function, int, Cost]]] = field(default_factory=lambda: defaultdict(list))
    """The calls of each function: calling function, address, inclusive cost."""


def read(text: Iterable[str], program: str) -> Profile:
    """Reads callgrind's file with costs by instruction (`--dump-instr=yes`)."""
    profile = Profile()
    names: dict[tuple[str, str], str] = {}
    columns: list[str | None] = []
    measure_of = {event: measure for measure, events in EVENTS.items() for event in events}
    here, called_file, called, count, address = ("", ""), "", ("", ""), 0, 0

    def name(kind: str, value: str) -> str:
        number, _, rest = value.partition(" ")
        return names.setdefault((kind, number), rest)

    for line in text:
        key, found, value = line.rstrip("\n").partition("=")
        if not found and line[:1] in tuple("0+-*"):
            at, _line, *numbers = line.split()
            address = address if at == "*" else address + int(at, 0) if at[0] in "+-" else int(at, 16)
            cost = dict.fromkeys(MEASURES, 0.0)
            # Trailing zeros are left out.
            for measure, number in zip(columns, numbers, strict=False):
                if measure:
                    cost[measure] += int(number)
            if count:
                profile.calls[called].append((here, address, cost))
                if here[0] == program != called[0]:
                    _add(profile.costs[here].setdefault(address, dict.fromkeys(MEASURES, 0.0)), {CALLS: count})
                called_file, count = "", 0
                continue
            if here[0] == program:
                cost[OWN] = cost[ALL]
            _add(profile.costs[here].setdefault(address, dict.fromkeys(MEASURES, 0.0)), cost)
        elif key == "ob":
            here = (name("ob", value), here[1])
        elif key == "fn":
            here = (here[0], name("fn", value))
        elif key == "cob":
            called_file = name("ob", value)
        elif key == "cfn":
            called = (called_file or here[0], name("fn", value))
        elif key == "calls":
            count = int(value.split()[0])
        elif line.startswith("events: "):
            columns = [measure_of.get(event) for event in line.split()[1:]]
    return profile


def _add(to: Cost, cost: Mapping[str, float], share: float = 1.0) -> None:
    for measure, amount in cost.items():
        to[measure] += amount * share


def stages_of(program: Path, places: Mapping[_Function, Iterable[int]]) -> dict[tuple[_Function, int], str | None]:
    """The stage of each instruction of the program: that of the innermost source line of ours that it was inlined from,
    else that of the function it is in, else None."""
    ours = sorted({address for (file, _), addresses in places.items() if file == str(program) for address in addresses})
    command = ["addr2line", "--addresses", "--inlines", "--exe", str(program)]
    asked = "\n".join(map(hex, ours))
    said = subprocess.run(command, input=asked, check=True, capture_output=True, text=True).stdout
    by_line: dict[int, str | None] = {}
    address = 0
    for line in said.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
        elif by_line.get(address) is None:
            source = _SOURCE.search(line)
            by_line[address] = stage_of(source[1], source[2]) if source else None
    found: dict[tuple[_Function, int], str | None] = {}
    for function, addresses in places.items():
        symbol = _SYMBOL.match(function[1])
        of_function = stage_of(symbol[1], symbol[2]) if symbol else None
        for address in addresses:
            found[function, address] = (by_line.get(address) if function[0] == str(program) else None) or of_function
    return found


def by_stage(profile: Profile, program: Path) -> dict[str, Cost]:
    """The cost of each stage. Code without a stage (the standard library where it is not inlined, the C library) is
    attributed to the stages that call it, in proportion to the cost of their calls."""
    places = {function: set(costs) for function, costs in profile.costs.items()}
    for arcs in profile.calls.values():
        for caller, address, _ in arcs:
            places.setdefault(caller, set()).add(address)
    stages = stages_of(program, places)
    shares = _shares(profile, stages)
    total = {stage: dict.fromkeys(MEASURES, 0.0) for stage in STAGES}
    for function, costs in profile.costs.items():
        for address, cost in costs.items():
            stage = stages[function, address]
            for measure, amount in cost.items():
                parts = {stage: 1.0} if stage else shares[function][measure if measure in EVENTS else ALL]
                for part, share in parts.items():
                    total[part][measure] += amount * share
    return total


def _shares(
    profile: Profile, stages: Mapping[tuple[_Function, int], str | None]
) -> dict[_Function, dict[str, dict[str, float]]]:
    """By function and measure, the shares of the stages that called it."""
    functions = {function for function, _ in stages}
    shares = {function: {measure: {"other": 1.0} for measure in EVENTS} for function in functions}
    for _ in range(20):  # Deeper than such calls are nested; functions in between inherit from their callers.
        for function in functions:
            for measure in EVENTS:
                asked: dict[str, float] = defaultdict(float)
                for caller, address, cost in profile.calls[function]:
                    stage = stages[caller, address]
                    if stage is None and caller == function:
                        continue
                    for part, share in ({stage: 1.0} if stage else shares[caller][measure]).items():
                        asked[part] += cost[measure] * share
                whole = sum(asked.values())
                if whole > 0:
                    shares[function][measure] = {part: amount / whole for part, amount in asked.items()}
    return shares


def target(root: Path = ROOT) -> Path:
    """Cargo's folder for a checkout."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")


def build(root: Path = ROOT, into: Path | None = None) -> Path:
    """Builds the benchmark without Python around it and returns the program. Raises `RunError` with the compiler's
    words."""
    # In the package whose crates are compiled like the module's, so that the profile fits; older trees have it
    # elsewhere.
    here = (root / "crates" / "python" / "examples" / "case.rs").exists()
    package = "fanin-python" if here else "fanin-experiment"
    command = ["cargo", "build", "--locked", "--quiet", "--release", "-p", package, "--example", "case"]
    into = into or target(root)
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "CARGO_TARGET_DIR": str(into), "RUSTFLAGS": profile.flags(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RunError(f"{root}: {' '.join(command)} failed: {done.stderr.strip()}")
    return (into / "release" / "examples" / "case").resolve()


def missing() -> str | None:
    """The missing programs, as one line."""
    for tool, package in (("valgrind", "valgrind"), ("addr2line", "binutils")):
        if shutil.which(tool) is None:
            return f"{tool} is missing (sudo apt-get install -y {package}): instructions are not counted"
    return None


@dataclass(frozen=True)
class Counted:
    """A run under callgrind."""

    packet_hops: int
    event_hash: str
    stages: dict[str, Cost]


def count(program: Path, case: str, scale: float, folder: Path, *, caches: bool) -> Counted:
    """Runs a case and counts its event loop. Raises `RunError` if it fails."""
    out = folder / f"{case}-{scale}.callgrind"
    options = [f"--callgrind-out-file={out}", f"--toggle-collect={EVENT_LOOP}", "--dump-instr=yes"]
    valgrind = shutil.which("valgrind") or "valgrind"
    command = [valgrind, "--tool=callgrind", *options, *(CACHES if caches else ()), str(program), case, str(scale)]
    # Without the environment, whose size changes addresses on the stack.
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
    said = json.loads(done.stdout)
    with out.open(encoding="utf-8") as text:
        profile = read(text, str(program))
    out.unlink()
    stages = by_stage(profile, program)
    if not any(cost["instructions"] for cost in stages.values()):
        raise RunError(f"case {case}: nothing was counted; no function that runs is called {EVENT_LOOP}")
    return Counted(said["packet_hops"], said["event_hash"], stages)


@dataclass(frozen=True)
class PerHop:
    """The cost of a packet-hop in a case."""

    packet_hops: int
    """The packet-hops over which it was measured."""
    event_hash: str
    """Of the longer run."""
    stages: dict[str, Cost]


def per_hop(program: Path, case: str, scales: tuple[float, float], folder: Path, *, caches: bool) -> PerHop:
    """A short and a longer run, and the difference of their costs over that of their packet-hops: set-up is left
    out."""
    with ThreadPoolExecutor(2) as pool:
        short, long = pool.map(lambda scale: count(program, case, scale, folder, caches=caches), scales)
    hops = long.packet_hops - short.packet_hops
    if hops < short.packet_hops / 2:
        raise RunError(f"case {case}: {scales[0]:g} and {scales[1]:g} are too near to each other, or beyond its end")
    stages = {
        stage: {measure: (cost[measure] - short.stages[stage][measure]) / hops for measure in MEASURES}
        for stage, cost in long.stages.items()
    }
    return PerHop(hops, long.event_hash, stages)

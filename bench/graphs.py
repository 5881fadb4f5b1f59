"""What it costs that messages wait for each other: a collective beside the same messages as a list
(`python -m bench graphs`).

The messages of a ring all-reduce are run twice: as the collective, whose graph posts each message when those that it
waits for have arrived, and as a list that posts each at the time at which the first run posted it. Both send the same
packets at the same times, so the difference of instructions is what the graph costs. A third time a program in C posts
them over `fanin.h`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import process
from bench.callgrind import EVENT_LOOP
from bench.scale import processor
from fanin.run_folder import RunError

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "target" / "release" / "libfanin.so"
RANKS = 128
BLOCK = 65_536
SPEC = """\
spec_version = 1
name = "ring"
[network]
topology = { kind = "fat-tree", k = 8, link = "100 Gbps", delay = "1 us" }
packet = { payload = "4 KB", header = "64 B", ack = "64 B" }
buffer = { policy = "lossless", per_port = "400 KB" }
[[traffic]]
name = "job"
scheme = "none"
pattern = PATTERN
[measure]
window = "1 s"
stop_when_done = true
"""
COLLECTIVE = f'{{ kind = "all-reduce", algorithm = "ring", size = "{RANKS * BLOCK} B" }}'
LIST = '{ kind = "list", file = "flows.csv" }'
POSTED = '{ kind = "posted" }'
CALLS = ("fanin_post", "fanin_next")
"""The functions of the library that are counted ..."""
WITHIN = ("*Simulation*run_with_actors*", "*Simulation*start_message*")
"""... without these within them: the simulation itself."""
RUN = "import sys, fanin; fanin.run(sys.argv[1], threads=1, progress=False).save('runs/' + sys.argv[2])"


@dataclass(frozen=True)
class Measured:
    """One form of the same messages."""

    messages: int
    packet_hops: int
    end_us: float
    """When the last message was complete."""
    instructions: int
    """Of the event loop."""
    user_s: float
    """User CPU of a whole run, Python and results included."""


def measure(work: Path, repeat: int = 3) -> dict[str, Measured]:
    """Both forms, by name. Raises `RunError` where they differ in what they send."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    forms = {}
    for name, pattern in (("collective", COLLECTIVE), ("list", LIST)):
        spec = work / f"{name}.toml"
        spec.write_text(SPEC.replace("PATTERN", pattern), encoding="utf-8")
        forms[name] = _one(spec, name, work, repeat)
        if name == "collective":
            _write_list(work / "runs" / name, work / "flows.csv")
    forms["posted"] = _posted(work, repeat)
    one, other, posted = forms.values()
    # The program numbers its messages otherwise, so they take other ones of the equal paths.
    if (one.messages, one.packet_hops) != (posted.messages, posted.packet_hops) or (
        (one.messages, one.packet_hops, one.end_us) != (other.messages, other.packet_hops, other.end_us)
    ):
        raise RunError(f"the forms are not the same work: {forms}")
    return forms


def _write_list(run: Path, out: Path) -> None:
    import fanin

    flows = fanin.load(run).flows().sort("start_ps", maintain_order=True)
    flows.select("src", "dst", "bytes", "start_ps").write_csv(out)


def _one(spec: Path, name: str, work: Path, repeat: int) -> Measured:
    used = []
    for _ in range(repeat):
        shutil.rmtree(work / "runs" / name, ignore_errors=True)
        done = process.run([sys.executable, "-c", RUN, spec.name, name], work)
        if done.failure:
            raise RunError(f"{spec}: {done.failure}: {done.said}")
        used.append(done.user_s)
    return _of_run(work / "runs" / name, _instructions(spec, work), min(used))


def _posted(work: Path, repeat: int) -> Measured:
    """The same messages, posted by a program in C over the library of `make library`; the instructions are those of
    its calls besides the simulation."""
    if not LIBRARY.is_file():
        raise RunError(f"{LIBRARY} is missing; `make library` makes it")
    source = ROOT / "crates" / "backend"
    spec, program = work / "posted.toml", work / "program"
    spec.write_text(SPEC.replace("PATTERN", POSTED), encoding="utf-8")
    line = ["cc", "-O2", f"-I{source}/include", f"{source}/tests/program.c", "-o", str(program), str(LIBRARY)]
    subprocess.run([*line, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    command = [str(program), spec.name, "", str(BLOCK)]
    used = []
    for _ in range(repeat):
        shutil.rmtree(work / "runs" / "posted", ignore_errors=True)
        done = process.run([*command, "runs/posted"], work)
        if done.failure:
            raise RunError(f"{spec}: {done.failure}: {done.said}")
        used.append(done.user_s)
    within = sum(_counted(command, [function], work) for function in WITHIN)
    seam = _counted(command, CALLS, work) - within
    return _of_run(work / "runs" / "posted", seam, min(used))


def _of_run(folder: Path, instructions: int, user_s: float) -> Measured:
    import fanin

    run = fanin.load(folder)
    flows = run.flows()
    end = (flows["start_ps"] + flows["completion_ps"]).max()
    assert isinstance(end, int)
    return Measured(flows.height, int(run.summary()["network"]["packet_hops"]), end / 1e6, instructions, user_s)


def _instructions(spec: Path, work: Path) -> int:
    shutil.rmtree(work / "runs" / "counted", ignore_errors=True)
    return _counted([sys.executable, "-c", RUN, spec.name, "counted"], [EVENT_LOOP], work)


def _counted(program: Sequence[str | Path], functions: Sequence[str], work: Path) -> int:
    """The instructions of a program within functions."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise RunError("valgrind is missing (sudo apt-get install -y valgrind): instructions are not counted")
    out = work / "callgrind.out"
    options = ["--tool=callgrind", f"--callgrind-out-file={out}", *(f"--toggle-collect={of}" for of in functions)]
    command = [valgrind, *options, *map(str, program)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
    totals = [line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("totals:")]
    counted = int(totals[-1].split()[1])
    if counted == 0:
        raise RunError(f"nothing was counted; no function that runs is called {' or '.join(functions)}")
    return counted


def section(path: Path) -> str:
    """The words of docs/performance.md."""
    record = json.loads(path.read_text(encoding="utf-8"))
    forms = {name: Measured(**of) for name, of in record["forms"].items()}
    one, other, posted = forms["collective"], forms["list"], forms["posted"]
    each = [
        f"{of.instructions / of.packet_hops:.1f} instructions a packet-hop and {of.user_s:.2f} s as a {name}"
        for name, of in forms.items()
        if of is not posted
    ]
    more = one.instructions / other.instructions - 1
    return (
        f"Measured {record['measured']} on {record['machine']}: a ring all-reduce of {RANKS} ranks with blocks of "
        f"{BLOCK >> 10} KiB, {one.messages:,} messages and {one.packet_hops:,} packet-hops in {one.end_us / 1000:.2f} "
        f"ms of simulated time, took {', and '.join(each)} of the same messages at the same times: that they wait for "
        f"each other costs {more:.1%} of the instructions. Seconds are the user CPU of the whole process, Python and "
        f"results included. A program in C that posts the messages over the [C library](astra-sim.md) took "
        f"{posted.user_s:.2f} s with its results; its calls cost {posted.instructions / posted.messages:,.0f} "
        "instructions for each message besides the simulation."
    )


def save(forms: dict[str, Measured], path: Path) -> None:
    """Writes what was measured."""
    document = {
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": processor(),
        "forms": {name: asdict(of) for name, of in forms.items()},
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

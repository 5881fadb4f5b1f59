"""Runs commands in which one call of the operating system fails, and says what does not hold afterwards.

The process has `shim.c` preloaded. It has imported Fanin once; each command runs in a child of it, so that a case takes
a fraction of a second. This process itself starts no thread and reads no table.

Its argument is a JSON object: `under` (a folder), `operations` (names), `hows`, `most` (cases of each operation and
way to fail, spread evenly; 0 for all calls). It prints a JSON list of what went wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fanin
from fanin import _core, cli
from fanin.cli import results, runs, sweeps
from forked import status_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "tests" / "data" / "tiny.toml"
SHORT = ("--set", "measure.window=0.2 ms", "--set", "measure.warm_up=0 ms")
CAPTURE = ("--set", 'measure.capture={ links = "all" }', "--set", 'measure.perfetto={ queues = "all" }')
IMPORTED = (cli, results, runs, sweeps, _core)
"""What a child need not import again."""


@dataclass(frozen=True)
class Operation:
    """A command, and what must hold after it."""

    words: tuple[str, ...]
    check: Callable[[Path, bool], str | None]
    """What is wrong in the folder of its results, given whether the command said that all is well."""
    again: bool = False
    """Run once more it must go on, and end with what it would have had."""
    before: tuple[str, ...] = ()
    """The command before it, in which nothing fails."""


def whole(folder: Path, well: bool) -> str | None:
    """A run is there as a whole, or not at all."""
    if not folder.exists():
        return "the command ended well, and there is no folder" if well else None
    if not (folder / "manifest.json").exists() and not well:
        left = sorted(path.name for path in folder.iterdir())
        return None if left == ["RUNNING"] else f"a part of a run is there: {left}"
    wrong = fanin.verify(folder, again=False)
    result = fanin.load(folder)
    return "; ".join(wrong) or (None if result.flows().height > 10 and not result.cancelled else "it is not whole")


def all_whole(folder: Path, well: bool) -> str | None:
    """Each run of a comparison is whole; if it ended well, both are there."""
    places = [place for place in folder.iterdir() if not place.name.startswith(".")] if folder.exists() else []
    found = [place for place in places if (place / "manifest.json").exists()]
    if well and (len(found) != 2 or not (folder / "compare.png").exists()):
        return f"the command ended well with {len(found)} runs"
    wrong = [whole(place, True) for place in found]
    if well:
        fanin.load_comparison(folder)
    return next((text for text in wrong if text), None)


def sweep_whole(folder: Path, well: bool) -> str | None:
    """A sweep that ended well has its table with all runs."""
    if not well:
        return None
    states = fanin.load_sweep(folder).table()["status"].to_list()
    return None if states == ["done"] * 4 else f"the command ended well with {states}"


def report_whole(folder: Path, well: bool) -> str | None:
    """The page is there to its end, or not at all."""
    page = folder / "page.html"
    if not page.exists():
        return "the command ended well, and there is no page" if well else None
    return None if page.read_text(encoding="utf-8").rstrip().endswith("</html>") else "half a page is there"


OPERATIONS = {
    "run": Operation(("run", str(SPEC), *SHORT, "--out", "out"), whole),
    "parquet": Operation(("run", str(SPEC), *SHORT, "--out", "out", "--parquet"), whole),
    "capture": Operation(("run", str(SPEC), *SHORT, *CAPTURE, "--out", "out"), whole),
    "force": Operation(
        ("run", str(SPEC), *SHORT, "--seed", "2", "--out", "out", "--force"),
        lambda folder, _: whole(folder, True),
        before=("run", str(SPEC), *SHORT, "--out", "out"),
    ),
    "compare": Operation(
        ("compare", str(SPEC), *SHORT, "--schemes", "dcqcn,none", "--out", "out"), all_whole, again=True
    ),
    "sweep": Operation(
        ("sweep", str(SPEC), *SHORT, "--schemes", "dcqcn,none", "--seeds", "2", "--jobs", "1", "--out", "out"),
        sweep_whole,
        again=True,
    ),
    "report": Operation(
        ("report", "out", "-o", "out/page.html"), report_whole, before=("run", str(SPEC), *SHORT, "--out", "out")
    ),
}


def in_child(act: Callable[[], int], said: Path) -> int | None:
    """The exit status of a function in a child, minus the signal that ended it, or None if it hangs."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            with said.open("w") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            status = act()
        except SystemExit as left:
            status = int(left.code or 0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(status)
    return status_of(child)


def checked(operation: Operation, out: Path, well: bool = True) -> int:
    """Says what is wrong with results, if anything is."""
    text = operation.check(out, well)
    if text is not None:
        os.write(1, text.encode())
    return int(text is not None)


@dataclass
class Cases:
    """All cases of one folder."""

    under: Path
    shim: ctypes.CDLL

    def command(self, words: Sequence[str], at: int = 0, how: str = "none") -> tuple[int | None, str, int]:
        """Runs a command with a fault: its exit status, what it said, and the calls that it made."""
        said, counted = self.under.with_name("said"), self.under.with_name("counted")
        counted.unlink(missing_ok=True)

        def act() -> int:
            os.chdir(self.under)
            sys.argv = ["fanin", *words]
            self.shim.fault_arm(str(self.under).encode(), at, how.encode())
            status = 0
            try:
                cli.main()
            except SystemExit as left:
                status = int(left.code or 0)
            finally:
                count = self.shim.fault_count()
                self.shim.fault_arm(b"", 0, b"none")
                counted.write_text(str(count))
            return status

        status = in_child(act, said)
        return status, said.read_text(errors="replace"), int(counted.read_text()) if counted.exists() else 0

    def fresh(self, operation: Operation) -> None:
        """An empty folder with what the command needs."""
        shutil.rmtree(self.under, ignore_errors=True)
        self.under.mkdir(parents=True)
        if operation.before:
            status, said, _ = self.command(operation.before)
            assert status == 0, said

    def wrong(self, operation: Operation, at: int, how: str) -> str | None:
        """What does not hold after a fault."""
        self.fresh(operation)
        status, said, _ = self.command(operation.words, at, how)
        if status is None:
            return "it hangs"
        if status not in (0, 1, 2, 130, -signal.SIGKILL) or "Traceback" in said:
            return f"it ended with {status}: {said[-600:]}"
        if status in (1, 2) and "out" not in said and "No space" not in said:
            return f"its error names nothing: {said[-300:]}"
        # Where a folder cannot take its place, results go to the next name, and the command says so.
        out = self.under / ("out-2" if "results: out-2" in said else "out")
        found = self.under.with_name("found")

        if in_child(lambda: checked(operation, out, status == 0), found) != 0:
            return f"after {status} ({said[-200:].strip()!r}): {found.read_text()[-500:]}"
        # One that was killed after all was written has nothing to go on with.
        complete = status == -signal.SIGKILL and in_child(lambda: checked(operation, out), found) == 0
        if operation.again and status != 0 and not complete:
            status, said, _ = self.command(operation.words)
            if status != 0 or in_child(lambda: checked(operation, out), found) != 0:
                return f"again: {status} {said[-300:]} {found.read_text()[-300:]}"
            hidden = sorted(path.name for path in out.rglob(".*") if path.name not in (".lock",))
            if hidden:
                return f"again: {hidden} is left in the folder"
        if not (out / "manifest.json").exists() and out.exists() and not operation.again:
            if status != -signal.SIGKILL:
                return f"after {status} a folder is left: {sorted(path.name for path in out.iterdir())}"
            # What was left of it goes with the next command, which takes its place.
            status, said, _ = self.command(operation.words)
            if status != 0 or in_child(lambda: checked(operation, out), found) != 0:
                return f"once more: {status} {said[-300:]} {found.read_text()[-300:]}"
        left = sorted(path.name for path in self.under.iterdir() if path.name not in ("out", out.name))
        if left and (status == -signal.SIGKILL or how == "error"):
            # It goes with the next command about this folder, even if that refuses to replace what is there.
            _, said, _ = self.command(operation.words)
            left = sorted(path.name for path in self.under.iterdir() if path.name != "out")
        return f"it leaves {left} (status {status}): {said[-200:]}" if left else None


def main() -> None:
    """Runs the cases that its argument asks for."""
    asked = json.loads(sys.argv[1])
    cases = Cases(Path(asked["under"]).resolve() / "work", ctypes.CDLL(None))
    found: list[str] = []
    ran = 0
    for name in asked["operations"]:
        operation = OPERATIONS[name]
        cases.fresh(operation)
        status, said, calls = cases.command(operation.words)
        if status != 0:
            raise SystemExit(f"{name}: {said}")
        for number, how in enumerate(asked["hows"]):
            most = min(calls, asked["most"] or calls)
            # The ways to fail take different calls.
            places = {1 + (calls * place + calls * number // len(asked["hows"])) // most for place in range(most)}
            for at in sorted(place for place in places if place <= calls):
                ran += 1
                text = cases.wrong(operation, at, how)
                if text is not None:
                    found.append(f"{name}: call {at} of {calls}, {how}: {text}")
    print(json.dumps({"ran": ran, "found": found}))


if __name__ == "__main__":
    main()

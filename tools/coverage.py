"""How much of each crate its tests in Rust run: `make coverage`.

Regions are the pieces of code between branches, so a region that never runs is a branch that is never taken; the stable
compiler counts no branches as such. What only the Python tests reach counts as not run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "target" / "coverage"
LEAST = 10
"""Files with the most regions that never run."""


def tool(name: str) -> str:
    """A program of the compiler's own LLVM; exits if it is missing."""
    library = subprocess.run(
        ["rustc", "--print", "target-libdir"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    path = Path(library).parent / "bin" / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: rustup component add llvm-tools")
    return str(path)


TESTS = ["cargo", "test", "--locked", "--workspace", "--lib", "--bins", "--tests", "--quiet"]


def programs(environment: dict[str, str]) -> list[str]:
    """The test programs, built to count."""
    command = [*TESTS, "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line["executable"] for line in lines if line.get("executable") and line["reason"] == "compiler-artifact"]


def regions(files: list[dict[str, object]]) -> dict[str, tuple[int, int]]:
    """By file of a crate's sources: regions that run, and all."""
    found: dict[str, tuple[int, int]] = {}
    for file in files:
        name = str(file["filename"])
        if name.startswith(f"{ROOT}/crates/") and "/src/" in name and not name.endswith("tests.rs"):
            summary: dict[str, dict[str, int]] = file["summary"]  # type: ignore[assignment]
            found[name.removeprefix(f"{ROOT}/crates/")] = (summary["regions"]["covered"], summary["regions"]["count"])
    return found


def told(found: dict[str, tuple[int, int]]) -> list[str]:
    """A line for each crate, and the files with the most that never runs."""
    crates: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, (ran, count) in found.items():
        crate = crates[name.split("/")[0]]
        crate[0] += ran
        crate[1] += count
    lines = ["| crate | regions | run by its tests |", "|---|---:|---:|"]
    total = [sum(of[at] for of in crates.values()) for at in (0, 1)]
    for crate_name, (ran, count) in [*sorted(crates.items()), ("all", (total[0], total[1]))]:
        lines.append(f"| {crate_name} | {count:,} | {100 * ran / max(count, 1):.1f} % |")
    lines += ["", "| file | regions that never run | of |", "|---|---:|---:|"]
    least = sorted(found.items(), key=lambda item: item[1][0] - item[1][1])
    lines += [f"| `{name}` | {count - ran:,} | {count:,} |" for name, (ran, count) in least[:LEAST]]
    return lines


def main() -> None:
    """Builds, runs and counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", type=int, default=20, help="random cases of each property test")
    cases = parser.parse_args().cases
    raw = TARGET / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for old in raw.glob("*.profraw"):
        old.unlink()
    environment = {
        **os.environ,
        "RUSTFLAGS": "-Cinstrument-coverage",
        "CARGO_TARGET_DIR": str(TARGET),
        "LLVM_PROFILE_FILE": str(raw / "%m-%8m.profraw"),
        "FANIN_CASES": str(cases),
        "PROPTEST_RNG_SEED": "1",
    }
    print("compiling with counters, then running the tests: half an hour on two cores", flush=True)
    tests = programs(environment)
    failed = subprocess.run([*TESTS, "--no-fail-fast"], cwd=ROOT, env=environment, check=False).returncode
    merged = TARGET / "all.profdata"
    files = [str(path) for path in raw.glob("*.profraw")]
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", merged, *files], check=True)
    objects = [word for test in tests[1:] for word in ("-object", test)]
    command = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", tests[0], *objects]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print("\n".join(told(regions(json.loads(done.stdout)["data"][0]["files"]))))
    if failed:
        raise SystemExit("some tests failed; what they ran counts all the same")


if __name__ == "__main__":
    main()

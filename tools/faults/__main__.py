"""Plants each fault of `faults.toml` in a copy of the simulator, runs the specs beside it and certifies them.

`make certify-faults`; with ONLY="part of a name" those alone. Prints a line per fault, and writes `result.json` if all
have run. The copy is `target/faults/tree`, and is built with little optimisation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULT = HERE / "result.json"
SETTINGS = {"OPT_LEVEL": "0", "DEBUG": "0", "DEBUG_ASSERTIONS": "false", "OVERFLOW_CHECKS": "false"}
LONGEST = 300
"""Seconds that a run may take; a fault can let it go on for ever."""


class Copy:
    """The copy of the simulator, in which a file at a time is changed."""

    def __init__(self, target: Path) -> None:
        self.tree = target / "tree"
        self.target = target / "build"

    def renew(self) -> None:
        """Brings the copy to the state of the sources; files that are the same keep their time."""
        wanted = {Path(name) for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml")}
        wanted |= {path.relative_to(ROOT) for path in (ROOT / "crates").rglob("*") if path.is_file()}
        for name in sorted(wanted):
            text, there = (ROOT / name).read_bytes(), self.tree / name
            if not there.exists() or there.read_bytes() != text:
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_bytes(text)

    def plant(self, fault: dict[str, str]) -> None:
        """Changes the file of a fault. Raises `ValueError` if the place is not there once."""
        path = self.tree / "crates" / fault["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(fault["old"]) != 1:
            raise ValueError(f"{fault['file']} has the place of {fault['name']!r} {text.count(fault['old'])} times")
        path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")

    def build(self) -> Path:
        """The program that runs and certifies."""
        settings = {f"CARGO_PROFILE_DEV_{key}": value for key, value in SETTINGS.items()}
        command = ["cargo", "build", "--locked", "--quiet", "-p", "fanin-certify", "--example", "faulty"]
        env = {**os.environ, **settings, "CARGO_TARGET_DIR": str(self.target), "RUSTFLAGS": "-Awarnings"}
        subprocess.run(command, cwd=self.tree, check=True, env=env)
        return self.target / "debug" / "examples" / "faulty"


def certified(program: Path) -> list[dict[str, object]]:
    """What was found of each spec."""
    found = []
    for spec in sorted((HERE / "specs").glob("*.toml")):
        try:
            done = subprocess.run(
                [program, spec], capture_output=True, text=True, check=False, timeout=LONGEST, stdin=subprocess.DEVNULL
            )
            lines = done.stdout.splitlines()
            of = json.loads(lines[0])["found"] if lines else {"failed": f"it ended with {done.returncode}"}
        except subprocess.TimeoutExpired:
            of = {"failed": f"it took more than {LONGEST} s"}
        found.append({"spec": spec.stem, **of})
    return found


def broken(found: list[dict[str, object]]) -> dict[str, int]:
    """The violations by law."""
    sums: dict[str, int] = {}
    for of in found:
        laws = of.get("broken", [])
        assert isinstance(laws, list)
        for law, violations in laws:
            sums[law] = sums.get(law, 0) + violations
    return sums


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name has this")
    parser.add_argument("--target", type=Path, default=ROOT / "target" / "faults", help="where to build")
    options = parser.parse_args()
    faults = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["fault"]
    copy = Copy(options.target)
    copy.renew()
    clean = certified(copy.build())
    wrong = [of for of in clean if of.get("broken") or of.get("failed")]
    if wrong:
        print(f"without a fault: {wrong}")
        return 1
    rows = []
    for fault in (fault for fault in faults if options.only in fault["name"]):
        copy.renew()
        copy.plant(fault)
        found = certified(copy.build())
        laws = broken(found)
        failed = sorted({str(of["failed"]) for of in found if "failed" in of})
        first = next((str(of["first"]) for of in found if of.get("first")), None)
        rows.append({"fault": fault["name"], "found": bool(laws), "laws": laws, "first": first, "failed": failed})
        print(f"{'found ' if laws else 'MISSED'} {fault['name']}: {laws or failed or 'nothing'}", flush=True)
    copy.renew()
    seen = sum(bool(row["found"]) for row in rows)
    print(f"{seen} of {len(rows)} faults are found")
    if not options.only:
        packets = sum(int(str(of["packets"])) for of in clean)
        RESULT.write_text(
            json.dumps({"packets": packets, "found": seen, "faults": rows}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

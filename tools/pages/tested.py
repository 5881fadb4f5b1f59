"""The rows of claims that the tests in Rust reported, beside those that are recorded in the package.

`make test-rust` lets the tests report into a folder and compares (`--check`); `make tested` records them.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fanin import _core
from fanin_papers import claims

RECORD = claims.FOLDER / "tested.json"

ABOUT = "Rows that tests in Rust measured; `make tested` gathers them from the last `make test-rust`."


def gathered(folder: Path) -> list[dict[str, Any]]:
    """The rows that tests left in a folder, by claim in the order of the table, then by test."""
    order = {claim.id: place for place, claim in enumerate(claims.claims())}
    files = sorted(folder.glob("*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    unknown = {row["claim"] for row in rows if claims.split_label(row["claim"])[0] not in order}
    if unknown:
        raise ValueError(f"there is no claim {', '.join(sorted(unknown))}; the names in claim!() are those of claims")
    return sorted(rows, key=lambda row: (order[claims.split_label(row["claim"])[0]], row["test"]))


def differences(recorded: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> list[str]:
    """What changed, row by row, in words."""
    before, after = ({(row["claim"], row["test"], row["what"]): row for row in rows} for rows in (recorded, now))
    found = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        claim, test, what = key
        if new is None:
            found.append(f"{claim}, {what}: {test} did not report it")
        elif old is None:
            found.append(f"{claim}, {what}: {new['ours']} ({new['verdict']}) is not recorded")
        elif old != new:
            was, is_ = (f"{row['ours']} ({row['verdict']}; {row['accept']})" for row in (old, new))
            found.append(f"{claim}, {what}: {was}, now {is_}")
    return found


def main() -> None:
    """Exits with 1 if --check finds a row that is not the recorded one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the tests left their rows")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a row is not as recorded")
    options = parser.parse_args()
    if not options.folder.is_dir():
        sys.exit(f"{options.folder}: no rows; run make test-rust first")
    rows = gathered(options.folder)
    if options.check:
        found = differences(claims.tested()["rows"], rows)
        print("\n".join([*found, f"{len(rows)} rows of claims by tests, {len(found)} not as recorded"]))
        if found:
            sys.exit("if that is meant: make tested, then make docs")
        return
    record = {"about": ABOUT, "version": _core.__version__, "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {RECORD}, {len(rows)} rows")


if __name__ == "__main__":
    main()

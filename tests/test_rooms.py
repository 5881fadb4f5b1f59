"""The crates of ARCHITECTURE.md: which may depend on which, and which of them are pure."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

USES: dict[str, set[str]] = {
    "units": set(),
    "cc": {"units"},
    "endpoint": {"cc", "units"},
    "wire": {"units"},
    "engine": {"units"},
    "graph": set(),
    "fabric": {"engine", "endpoint", "graph", "cc", "wire", "units"},
    "workload": {"engine", "graph", "units"},
    "record": {"fabric", "graph", "cc", "units"},
    "formats": {"graph", "wire", "units"},
    "ns3": {"formats", "cc", "units"},
    "uet": {"engine", "cc"},
    "experiment": {
        "record",
        "workload",
        "fabric",
        "engine",
        "graph",
        "endpoint",
        "cc",
        "wire",
        "units",
        "formats",
        "ns3",
        "uet",
        "transport",
    },
    "own": {"experiment", "cc", "units"},
    "backend": {"experiment", "record", "units"},
    "check": {"cc", "units"},
    "python": {
        "certify",
        "check",
        "own",
        "wirelab",
        "experiment",
        "record",
        "transport",
        "formats",
        "graph",
        "cc",
        "units",
    },
    "transport": {"engine", "endpoint", "cc", "wire", "units"},
    "wirelab": {"experiment", "record", "transport", "fabric", "engine", "endpoint", "cc", "units"},
    "fuzz": {"experiment", "formats", "record", "transport", "uet", "units", "wire"},
    "claims": set(),
    "certify": {"units", "wire", "formats"},
}
PURE = ["units", "cc", "endpoint", "wire"]


def used_by_each() -> dict[str, set[str]]:
    """The rooms that each room names in its manifest, tests left out."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    return {
        package["name"].removeprefix("fanin-"): {
            dependency["name"].removeprefix("fanin-")
            for dependency in package["dependencies"]
            if dependency["name"].startswith("fanin-") and dependency["kind"] != "dev"
        }
        for package in packages
    }


def test_arrows_point_only_down() -> None:
    used = used_by_each()
    assert set(used) == set(USES), "a room came or went: draw it in ARCHITECTURE.md and here"
    wrong = {room: names - USES[room] for room, names in used.items() if names - USES[room]}
    assert not wrong, f"rooms that know what they may not: {wrong}"


def test_no_room_uses_one_that_uses_it() -> None:
    used = used_by_each()

    def reach(room: str) -> set[str]:
        below = set(used[room])
        for name in used[room]:
            below |= reach(name)
        return below

    assert not [room for room in used if room in reach(room)]


def test_the_pure_rooms_are_no_std_and_without_unsafe_code() -> None:
    for room in PURE:
        text = (ROOT / "crates" / room / "src" / "lib.rs").read_text()
        assert re.search(r"^#!\[(cfg_attr\(not\(feature = \"spec\"\), no_std\)|no_std)\]$", text, re.M), room
        assert "#![forbid(unsafe_code)]" in text, room


def test_no_standard_logarithm_or_power_in_the_simulator() -> None:
    # Their last bit differs between machines; libm's does not.
    pattern = re.compile(r"\.(exp|ln|log2|log10|powf|powi|sin|cos|exp_m1|ln_1p|mul_add)\(")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for room in [*PURE, "engine", "fabric", "workload"]
        for path in (ROOT / "crates" / room / "src").rglob("*.rs")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, found


def test_schemes_are_named_in_their_own_room_alone() -> None:
    # The others ask the hooks of a scheme and its roles, so that a new scheme changes crates/cc alone.
    registry = (ROOT / "crates" / "cc" / "src" / "registry.rs").read_text()
    # The last one stands for schemes that are loaded, which others do handle.
    *listed, loaded = re.findall(r"^    (\w+)::(\w+),$", registry, re.M)
    assert loaded == ("own", "Own")
    assert ("dart", "Dart") in listed
    files, types = ("|".join(names) for names in zip(*listed, strict=True))
    scheme = rf"\b(schemes::({files})|(Settings|Instance)::({types}))\b"
    named_after = rf"\b({types.replace('None|', '')})\w*"
    # Packet formats of papers, and files and networks of other simulators, have the same names.
    shared = {"wire", "formats", "experiment", "transport", "fuzz", "uet"}
    found = []
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        room, *rest = path.relative_to(ROOT / "crates").parts
        if room == "cc" or "tests" in rest or path.name == "tests.rs":
            continue
        code = re.sub(r"//.*", "", path.read_text()).partition("#[cfg(test)]\nmod tests {")[0]
        if hit := re.search(scheme if room in shared else f"{scheme}|{named_after}", code):
            found.append(f"{path.relative_to(ROOT)}: {hit[0]}")
    assert not found, found


def test_the_reading_order_can_be_read_in_an_afternoon() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 120, "two pages"
    files = re.findall(r"`([\w/]+\.rs)`", text[text.index("## Reading order") :])
    assert len(files) >= 8
    lines = sum((ROOT / "crates" / file).read_text(encoding="utf-8").count("\n") for file in files)
    assert lines <= 1800, f"{lines} lines"


def test_every_file_of_tests_is_built() -> None:
    # Cargo finds files of tests by itself, except where a crate names them in tests/all.rs.
    for main in sorted(ROOT.glob("crates/*/tests/all.rs")):
        named = re.findall(r"^mod (\w+);", main.read_text(), re.MULTILINE)
        there = [path.stem for path in main.parent.iterdir() if path != main]
        assert sorted(named) == sorted(there), main

"""What a file is that a command was given, where it is not what the command takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Literal

Kind = Literal["spec", "hpcc", "htsim", "results"]
"""What commands take: a spec, a configuration of the ns-3 HPCC simulator, htsim's files, or what a run has left."""

SNIFFED = 65_536
"""Bytes of a file that are looked at."""

_OF_SPEC = ("spec_version", "network", "traffic", "measure", "compare")
_SPEC_KEY = re.compile(rf'(?:^|[{{,])\s*(\[+\s*)?"?({"|".join(_OF_SPEC)})"?\s*[.=:\]]', re.MULTILINE)
_OF_HPCC = ("TOPOLOGY_FILE", "FLOW_FILE", "CC_MODE", "ENABLE_QCN", "SIMULATOR_STOP_TIME", "FCT_OUTPUT_FILE")
_HPCC_KEY = re.compile(rf"^\s*({'|'.join(_OF_HPCC)})\s", re.MULTILINE)
_NEWLY_WRITTEN = "; fanin new my.toml writes a spec to start from"


def instead(path: Path, wanted: Kind) -> str | None:
    """One sentence about a file that is not of the kind that is wanted: what it is, and which command takes it. None
    for what is or may be of that kind, and for what is not there."""
    kind, said = _told(path)
    return None if kind == wanted or said is None else f"{path}: {said}"


def _told(path: Path) -> tuple[Kind | None, str | None]:
    """The kind of a file, and what is said of it to a command that takes another one."""
    name = shlex.quote(str(path))
    if path.is_dir():
        if any((path / one).is_file() for one in ("manifest.json", "compare.json", "sweep.json")):
            return "results", f"the results of earlier runs, which fanin show {name} prints"
        return "results", None
    if not path.is_file():
        return None, None
    suffix = path.suffix.lower()
    if suffix == ".et":
        return None, f"a Chakra execution trace, which runs with fanin run {name} --network NET.toml --scheme dcqcn"
    if suffix == ".goal":
        return None, f"a GOAL schedule, which runs with fanin run {name} --network NET.toml --scheme dcqcn"
    if suffix in (".py", ".so", ".dylib", ".dll"):
        return None, f"a program, no spec; a scheme of your own goes with a spec: fanin run SPEC --scheme {name}"
    with path.open("rb") as file:
        text = file.read(SNIFFED).decode(errors="replace")
        whole = not file.read(1) and "\ufffd" not in text
    if suffix == ".cm" or re.search(r"^Connections\s+\d", text, re.MULTILINE):
        return "htsim", f"a connection matrix of htsim, which runs with fanin run --htsim {name} --scheme dcqcn"
    if suffix == ".topo":
        return (
            "htsim",
            f"a topology of htsim, which runs with its matrix: fanin run --htsim {name} MATRIX.cm --scheme dcqcn",
        )
    if _HPCC_KEY.search(text):
        return "hpcc", f"a configuration of the ns-3 HPCC simulator, which runs with fanin run --hpcc {name}"
    part = _part_of_hpcc(text) if suffix in (".txt", "") else None
    if part is not None:
        key, what = part
        return None, (
            f"a {what} file of the ns-3 HPCC simulator, which its configuration names as {key}; "
            "that one runs with fanin run --hpcc CONFIG"
        )
    if suffix in (".toml", ".json"):
        return _of_document(path, text, whole=whole)
    return None, None


def _of_document(path: Path, text: str, *, whole: bool) -> tuple[Kind | None, str | None]:
    """The same of a TOML or JSON file."""
    name = shlex.quote(str(path))
    if path.name in ("manifest.json", "summary.json", "compare.json", "sweep.json"):
        folder = shlex.quote(str(path.parent))
        return None, f"a part of the results of earlier runs, which fanin show {folder} prints"
    if whole and text.strip() and not _SPEC_KEY.search(text):
        return None, f"no spec, since it has neither network nor traffic{_NEWLY_WRITTEN}"
    return "spec", f"a spec, which runs with fanin run {name}"


def _part_of_hpcc(text: str) -> tuple[str, str] | None:
    """The key of a configuration under which it names such a file, and what the file has."""
    lines = [line.split() for line in text.splitlines() if line.strip()][:4]
    if len(lines) < 2 or not all(word.isdigit() for word in lines[0]):
        return None
    if len(lines[0]) in (3, 4) and re.search(r"\d[GMK]?bps\b", text):
        return "TOPOLOGY_FILE", "topology"
    if len(lines[0]) == 1 and len(lines[1]) in (5, 6) and all(re.fullmatch(r"[\d.e+-]+", word) for word in lines[1]):
        return "FLOW_FILE", "flow"
    return None

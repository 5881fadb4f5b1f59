"""The results of a run, from the code: columns of tables, and the keys of the JSON documents.

The types of keys are those of `fanin.run_folder`; their meanings are the comments of the Rust structures that are
serialised.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import cast

import griffe

from fanin import _core
from pages import api
from pages.markdown import deeper, table


def tables() -> str:
    """Every table with its columns."""
    columns = cast("Callable[[], str] | None", getattr(_core, "columns", None))
    if columns is None:
        return "What each column means stands in the `README.md` of every run folder."
    text = columns().strip()
    top = min((len(line) - len(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")), default=3)
    return deeper(text, 3 - top)


def manifest() -> str:
    """The keys of `manifest.json`."""
    return fields("run_folder", ["Manifest", "Machine"])


def summary() -> str:
    """The keys of `summary.json`."""
    inside_out = [name for name in typed_dicts() if name not in ("Manifest", "Machine")]
    return fields("run_folder", inside_out[::-1])


def comparison() -> str:
    """The keys of a row of `compare.json`."""
    return fields("comparison", ["Row"])


def typed_dicts() -> list[str]:
    """The documents that `fanin.run_folder` describes, in its order."""
    found = api.package()["run_folder"].classes.items()
    return [name for name, one in found if any(str(base) == "TypedDict" for base in one.bases)]


def fields(module: str, names: list[str]) -> str:
    """A table of keys for each of these classes."""
    parts = []
    for name in names:
        found = cast("griffe.Class", api.package()[f"{module}.{name}"])
        keys = {key: one for key, one in found.attributes.items() if "property" not in one.labels}
        meant = meanings(frozenset(keys))
        rows = [[f"`{key}`", f"`{one.annotation}`", api.text(one) or meant.get(key, "")] for key, one in keys.items()]
        parts += [f"### {name}", api.text(found), table(["key", "type", "meaning"], rows)]
    return "\n\n".join(parts)


def meanings(keys: frozenset[str]) -> dict[str, str]:
    """What each of these keys means, by the structure with almost the same fields: a key may be a flattened field."""
    alike = {names: len(names & keys) / len(names | keys) for names in comments()}
    best = max(alike, key=lambda names: alike[names])
    return comments()[best] if alike[best] >= 0.8 else {}


@cache
def comments() -> dict[frozenset[str], dict[str, str]]:
    """What each field of a structure of the crates `record` and `cc` means; structures are known by their fields."""
    found = {}
    for path in sorted(
        path for crate in ("record", "cc") for path in (api.ROOT / "crates" / crate / "src").rglob("*.rs")
    ):
        for body in re.findall(
            r"^pub struct \w+ \{\n(.*?)^\}", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            fields = re.findall(r"((?: *///.*\n)+)(?: *#.*\n)* *pub (\w+):", body)
            meant = {name: " ".join(re.sub(r" */// ?", " ", text).split()) for text, name in fields}
            found[frozenset(meant)] = {name: text.replace("`None`", "null") for name, text in meant.items()}
    return found

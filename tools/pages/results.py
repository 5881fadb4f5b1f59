"""What a run leaves, from the code: columns of tables, and the keys of the JSON documents."""

from __future__ import annotations

from collections.abc import Callable
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
    return fields("result", ["Manifest", "Machine"])


def summary() -> str:
    """The keys of `summary.json`."""
    return fields("result", [name for name in typed_dicts() if name not in ("Manifest", "Machine")][::-1])


def comparison() -> str:
    """The keys of a row of `compare.json`."""
    return fields("compare", ["Row"])


def typed_dicts() -> list[str]:
    """The documents that `fanin.result` describes, in its order."""
    found = api.package()["result"].classes.items()
    return [name for name, one in found if any(str(base) == "TypedDict" for base in one.bases)]


def fields(module: str, names: list[str]) -> str:
    """A table of keys for each of these classes."""
    parts = []
    for name in names:
        found = cast("griffe.Class", api.package()[f"{module}.{name}"])
        rows = [
            [f"`{key}`", f"`{one.annotation}`", api.text(one)]
            for key, one in found.attributes.items()
            if "property" not in one.labels
        ]
        if not any(row[2] for row in rows):
            rows = [row[:2] for row in rows]
        headers = ["key", "type", "meaning"]
        parts += [f"### {name}", api.text(found), table(headers[: len(rows[0])], rows)]
    return "\n\n".join(parts)

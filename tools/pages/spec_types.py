"""The types of a spec in Python, from the JSON schema: a `TypedDict` per table."""

from __future__ import annotations

import json
import keyword
import textwrap
from collections.abc import Mapping

from pages.spec import Schema, bounds, choices, followed, name_of, properties, required, schema

HEAD = '''"""The types of a spec that is a dict, for completion in editors and for type checkers; made by `make docs`.

`spec: Spec = {"spec_version": 1, ...}` and `fanin.run(spec)`. Each table is a type, each kind of a table one of its
own. Values with units are text. The keys are those of docs/spec.md, where their defaults and bounds are.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict'''

OPEN = {"SchemeChoice": "str | Mapping[str, object]", "SchemeId": "str", "Balancing": "str | Mapping[str, object]"}
OPEN["Discipline"] = OPEN["Balancing"]
"""Definitions that also name what was loaded, with its parameters."""

WORDS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


class Module:
    """Writes the types, each behind those that it needs."""

    def __init__(self, root: Schema) -> None:
        self.parts: list[str] = []
        """The types so far."""
        self.known = set(OPEN)
        """Their names, those of the open ones included."""
        self.table("Spec", root)

    def text(self) -> str:
        """The module."""
        return "\n\n\n".join([HEAD, *self.parts]) + "\n"

    def typed(self, node: Schema, name: str) -> str:
        """The type of a value. A table without a definition of its own gets this name."""
        defined = name_of(node)
        if defined is not None:
            self.define(defined)
            return OPEN.get(defined, defined)
        if "const" in node:
            return f"Literal[{json.dumps(node['const'])}]"
        if choices(node):
            kinds = [self.typed(one, name + suffix(one)) for one in choices(node)]
            words = [kind[8:-1] for kind in kinds if kind.startswith("Literal[")]
            others = dict.fromkeys(kind for kind in kinds if not kind.startswith("Literal["))
            return " | ".join(([f"Literal[{', '.join(words)}]"] if words else []) + list(others))
        if "properties" in node:
            self.table(name, node)
            return name
        kinds_of = node.get("type")
        kind = next(k for k in kinds_of if k != "null") if isinstance(kinds_of, list) else str(kinds_of)
        if kind == "array":
            items = node["items"]
            assert isinstance(items, Mapping)
            return f"Sequence[{self.typed(items, name)}]"
        return WORDS[kind]

    def define(self, name: str) -> None:
        """Writes the definition of this name, once."""
        if name in self.known:
            return
        self.known.add(name)
        node = followed({"$ref": f"#/$defs/{name}"})
        if "properties" in node:
            self.table(name, node)
            return
        written = f"{name} = {self.typed(node, name)}"
        if len(written) > 120:
            written = f"{name} = (\n    {written[len(name) + 3 :].replace(' | ', chr(10) + '    | ')}\n)"
        self.parts.append(written + doc(node))

    def table(self, name: str, node: Schema) -> None:
        """A table as a type."""
        keys = {key: self.typed(inner, name + suffix({"const": key})) for key, inner in properties(node).items()}
        keys = {key: f"Required[{kind}]" if key in required(node) else kind for key, kind in keys.items()}
        # A class cannot have the key "from".
        if any(keyword.iskeyword(key) for key in keys):
            rows = "".join(f'        "{key}": {kind},\n' for key, kind in keys.items())
            call = f'TypedDict(\n    "{name}",\n    {{\n{rows}    }},\n    total=False,\n)'
            self.parts.append(f"{name} = {call}{doc(node)}")
            return
        lines = [f"    {key}: {kind}{doc(properties(node)[key], '    ')}" for key, kind in keys.items()]
        about = doc(node, "    ")
        head = f"class {name}(TypedDict, total=False):{about}"
        self.parts.append("\n".join([f"{head}\n" if about else head, *lines]))


def suffix(node: Schema) -> str:
    """What tells the type of a kind of table from the others: its kind, or its first required key."""
    node = followed(node)
    word = node.get("const") or properties(node).get("kind", {}).get("const") or next(iter(required(node)), "")
    return "".join(part.capitalize() for part in str(word).replace("-", "_").split("_"))


def doc(node: Schema, indent: str = "") -> str:
    """The meaning and the bounds of a table or a key, as the text on the lines below it."""
    text = " ".join(str(node.get("description", "")).split()).rstrip(".")
    sentences = [part for part in (text, bounds(node)) if part]
    if not sentences:
        return ""
    told = " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)
    return "\n" + textwrap.indent(textwrap.fill(f'"""{told}"""', 120 - len(indent)), indent)


def module() -> str:
    """The text of `python/fanin/spec_types.py`."""
    return Module(schema()).text()

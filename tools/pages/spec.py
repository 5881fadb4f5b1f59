"""The spec reference, from the JSON schema: a section per table, a row per key."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from jsonschema import Draft202012Validator

from fanin import _core
from pages.markdown import link, table

Schema = Mapping[str, object]

ROOT = Path(__file__).parents[2]

UNITS = {"Bytes": "size", "Rate": "rate", "Time": "time"}
"""Values with units; the page has a heading for each in the plural."""

ORDER = (
    *("spec_version", "name", "seed", "network", "traffic", "measure", "compare"),
    *("topology", "buffer", "scheme", "pattern", "size", "load", "what", "where"),
)
"""Keys that come first; the others follow by name."""

EXAMPLE_OF_TYPE = {"Bytes": "64 KB", "Rate": "10 Gbps", "Time": "5 us"}

INVENTED: Mapping[str, object] = tomllib.loads((Path(__file__).parent / "examples.toml").read_text(encoding="utf-8"))
"""Examples that are better than what a spec in the tree sets, or than the default."""

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "broadcast")
ALSO = {
    "training": "data",
    "slow-receiver": "share",
    "graph": "switches",
    "long": "count",
    **dict.fromkeys(COLLECTIVES, "size"),
}
"""A key of a kind of table that has an alternative or is not always needed, and is in its smallest example."""

LOAD, SIZE = 'load = { share = 0.4, of = "host-links" }', 'size = { fixed = "64 KB" }'
BESIDE = {
    "poisson": (LOAD, SIZE),
    **dict.fromkeys(("incast", "permutation", "all-to-all", "query"), (SIZE,)),
}
"""What a traffic with the smallest example of a pattern needs besides a name and a scheme."""

Found = dict[str, list[object]]
"""Values of keys by their path, the shortest first."""


@cache
def schema() -> Schema:
    """The JSON schema of specs."""
    return cast("Schema", json.loads(_core.schema()))


def definition(name: str) -> Schema:
    """A named part of it."""
    return cast("Mapping[str, Schema]", schema()["$defs"])[name]


def of(value: object) -> list[Schema]:
    """A list of schemas."""
    return cast("list[Schema]", value)


def properties(node: Schema) -> Mapping[str, Schema]:
    """The keys of an object."""
    return cast("Mapping[str, Schema]", node.get("properties", {}))


def required(node: Schema) -> list[str]:
    """Its required keys."""
    return cast("list[str]", node.get("required", []))


def name_of(node: Schema) -> str | None:
    """The definition that a schema refers to."""
    reference = node.get("$ref")
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


def followed(node: Schema) -> Schema:
    """The schema itself, or what it refers to."""
    name = name_of(node)
    return definition(name) if name else node


def choices(node: Schema) -> list[Schema]:
    """The alternatives of a value, without null, which means to leave the key out."""
    listed = of(node.get("oneOf") or node.get("anyOf") or [])
    return [one for one in listed if one.get("type") != "null"]


def has_tables(node: Schema) -> bool:
    """Whether it gets a section: it is a table, or one of its alternatives is a table with keys of its own."""
    node = followed(node)
    return "properties" in node or any(has_tables(one) for one in choices(node))


def text_of(node: Schema) -> tuple[str, str]:
    """The meaning and the default of a key, from its description."""
    meaning, _, default = str(node.get("description", "")).replace("\n", " ").partition("Default: ")
    return meaning.strip(), default.strip().rstrip(".")


class Reference:
    """Writes the sections, each table once, at its first reference."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        """Definitions by the heading of their section."""
        self.waiting: list[tuple[str, str]] = []
        """Definitions that have no section yet, with their headings; the next one first."""
        self.named: list[tuple[str, str]] = []
        """Those that the current section refers to."""
        self.set_somewhere = found_in_specs()
        self.examples: dict[str, tuple[object, Schema]] = {}
        """The examples that were given, with what they have to fit, by path and kind."""

    def write(self) -> str:
        """All sections in the order of their references."""
        parts = ["## Top level", self.keys("", schema())]
        self.waiting, self.named = self.named, []
        while self.waiting:
            name, path = self.waiting.pop(0)
            parts.append(self.section(name, path))
            self.waiting, self.named = self.named + self.waiting, []
        return "\n\n".join(parts)

    def section(self, name: str, path: str) -> str:
        """The section of one definition."""
        node = definition(name)
        parts = [f"## {path}", str(node.get("description", "")).replace("\n", " ")]
        if name == "SchemeChoice":
            parts.append(
                'An id as text, `scheme = "hpcc"`, or a table with the id and parameters that are to differ, '
                '`scheme = { id = "hpcc", eta = 0.9 }`. The ids and their parameters: [schemes](schemes/README.md).'
            )
        elif "properties" in node:
            parts.append(self.keys(path, node))
        else:
            shared = set.intersection(*(set(required(followed(one))) for one in choices(node)))
            parts.extend(self.variant(path, one, shared) for one in choices(node))
        return "\n\n".join(parts)

    def variant(self, path: str, one: Schema, shared: set[str]) -> str:
        """One way to write a value that has several; all have the `shared` keys."""
        node = followed(one)
        about = text_of(one)[0] or text_of(node)[0]
        key = path.rpartition(".")[2]
        if "const" in node:
            return f"`{key} = {toml(node['const'])}`: {about}"
        if not properties(node):
            return f"`{key} = {toml(self.made_up(one))}`: {about}"
        kind = properties(node).get("kind", {}).get("const")
        if kind is not None:
            title = f'### {path}: kind = "{kind}"'
        elif len(properties(node)) == 1:
            (only, inner) = next(iter(properties(node).items()))
            example = toml({only: self.example(f"{path}.{only}", inner)})
            more = f" Its keys: {self.sort(f'{path}.{only}', inner)[0]}." if has_tables(inner) else ""
            return f"`{key} = {example}`: {about}{more}"
        else:
            title = f"### {path} with {' and '.join(k for k in required(node) if k not in shared)}"
        return "\n\n".join([title, about, self.keys(path, node, kind)])

    def keys(self, path: str, node: Schema, kind: object = None) -> str:
        """A table with a row per key, required keys first, and an example of these."""
        listed = [key for key in properties(node) if key != "kind"]
        listed.sort(key=lambda key: (ORDER.index(key) if key in ORDER else len(ORDER), key))
        must = [key for key in listed if key in required(node)]
        rows = []
        smallest: dict[str, object] = {} if kind is None else {"kind": kind}
        for key in [*must, *(key for key in listed if key not in must)]:
            inner = properties(node)[key]
            whole = f"{path}.{key}".lstrip(".")
            meaning, otherwise = text_of(inner)
            sort, options = self.sort(whole, inner)
            example = self.example(whole, inner, kind)
            if key in must:
                smallest[key] = example
                default = "required"
            elif isinstance(inner.get("default"), dict) and "properties" in followed(inner):
                default = "those of its keys"
            elif "default" in inner:
                default = f"`{toml(inner['default'])}`"
            else:
                default = otherwise or "none"
            shown = "" if has_tables(inner_of(inner)) else f"`{toml(example)}`"
            rows.append([f"`{key}`", f"{sort} {bounds(inner)}".strip(), default, shown, f"{meaning} {options}"])
        grid = table(["key", "type", "default", "example", "meaning"], rows) if rows else "No keys besides."
        if kind is None:
            return grid
        also = ALSO.get(str(kind))
        if also is not None:
            smallest[also] = self.example(f"{path}.{also}", properties(node)[also], kind)
        name = path.rpartition(".")[2]
        listed_in = name.removesuffix("[]")
        least = f"{listed_in} = [{toml(smallest)}]" if name.endswith("[]") else f"{name} = {toml(smallest)}"
        beside = [f"`{one}`" for one in BESIDE.get(str(kind), ())]
        return f"{grid}\n\nThe shortest form: `{least}`" + (f", beside it {' and '.join(beside)}" if beside else "")

    def sort(self, path: str, node: Schema) -> tuple[str, str]:
        """The type of a value, and the meanings of its words; a table becomes a link to its section."""
        name = name_of(node)
        if name in UNITS:
            return f"[{UNITS[name]}](#{UNITS[name]}s)", ""
        if name is not None and has_tables(node):
            return self.place(name, path), ""
        node = followed(node)
        options = choices(node)
        if options:
            sorts = [self.sort(path, one) for one in options]
            if len(options) == 1:
                return sorts[0]
            told = [
                more or f"{sort}: {text_of(one)[0]}"
                for one, (sort, more) in zip(options, sorts, strict=True)
                if more or text_of(one)[0]
            ]
            return " or ".join(sort for sort, _ in sorts), " ".join(told)
        if "const" in node:
            return f"`{toml(node['const'])}`", ""
        if "enum" in node:
            return "[id of a scheme](schemes/README.md)", ""
        kinds = node.get("type")
        kind = next(k for k in kinds if k != "null") if isinstance(kinds, list) else kinds
        if kind == "array":
            inner, more = self.sort(f"{path}[]", cast("Schema", node["items"]))
            count = node.get("minItems")
            return (f"list of {count} x {inner}" if count else f"list of {inner}"), more
        words = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}
        return words[str(kind)], ""

    def place(self, name: str, path: str) -> str:
        """A link to the section of a definition, which is written later if it is new."""
        if name not in self.places:
            self.places[name] = path
            self.named.append((name, path))
        return link(self.places[name])

    def example(self, path: str, node: Schema, kind: object = None) -> object:
        """A value for a key."""
        value = self.find_example(path, node, kind)
        self.examples[f"{path}@{kind}"] = (value, node)
        return value

    def find_example(self, path: str, node: Schema, kind: object) -> object:
        """A chosen value, or that of a spec in the tree, or the default, or an arbitrary one."""
        for key in (f"{path}@{kind}", path):
            if key in INVENTED:
                return INVENTED[key]
        for key in (f"{path}@{kind}", path):
            for value in self.set_somewhere.get(key, []):
                if fits(value, node):
                    return value
        if node.get("default") not in (None, [], {}):
            return node["default"]
        return self.made_up(node)

    def made_up(self, node: Schema) -> object:
        """A value of the right type."""
        name = name_of(node)
        if name in EXAMPLE_OF_TYPE:
            return EXAMPLE_OF_TYPE[name]
        node = followed(node)
        options = choices(node)
        if options:
            return self.made_up(options[0])
        if "const" in node:
            return node["const"]
        if "properties" in node:
            return {key: self.made_up(properties(node)[key]) for key in required(node)}
        kinds = node.get("type")
        kind = next(k for k in kinds if k != "null") if isinstance(kinds, list) else kinds
        if kind == "array":
            return [self.made_up(cast("Schema", node["items"]))] * cast("int", node.get("minItems", 1))
        values: Mapping[str, object] = {"integer": 4, "number": 0.5, "string": "h0", "boolean": True}
        return values[str(kind)]


def bounds(node: Schema) -> str:
    """The bounds of a key, in words: those of numbers and those of values with units."""
    words = {
        "above": node.get("exclusiveMinimum", node.get("above")),
        "at least": node.get("least", node.get("minimum")),
        "below": node.get("exclusiveMaximum", node.get("below")),
        "at most": node.get("maximum", node.get("most")),
    }
    if None not in (words["at least"], words["at most"]):
        return f"from {words['at least']} to {words['at most']}"
    if str(node.get("format")).startswith("uint") and words["at least"] == 0:
        del words["at least"]  # as every whole number of a spec
    return " and ".join(f"{word} {limit}" for word, limit in words.items() if limit is not None)


def inner_of(node: Schema) -> Schema:
    """The elements of a list, or the value itself."""
    return cast("Schema", node["items"]) if "items" in node else node


def found_in_specs() -> Found:
    """The values of the specs in the tree, by path, and by path and kind of their table."""
    found: Found = {}
    specs = [*sorted((ROOT / "examples").glob("*.toml")), *sorted((ROOT / "papers" / "specs").rglob("*.toml"))]
    for path in specs:
        for key, value in walk("", tomllib.loads(path.read_text(encoding="utf-8"))):
            found.setdefault(key, []).append(value)
    return {key: sorted(values, key=lambda value: len(toml(value))) for key, values in found.items()}


def fits(value: object, node: Schema) -> bool:
    """Whether the schema allows this value of a key."""
    return bool(Draft202012Validator({**node, "$defs": schema()["$defs"]}).is_valid(value))


def walk(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Every nested value, with its path."""
    if isinstance(value, dict):
        kind = value.get("kind")
        for key, inner in value.items():
            whole = f"{path}.{key}".lstrip(".")
            yield (whole, inner) if kind is None else (f"{whole}@{kind}", inner)
            yield from walk(whole, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(f"{path}[]", inner)


def toml(value: object) -> str:
    """A value as a spec has it, on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    return json.dumps(value)


def parameters(preset: str) -> Mapping[str, Schema]:
    """The parameters of a scheme by the table that chooses it, without its id."""
    for one in choices(definition("SchemeChoice")):
        if properties(one).get("id", {}).get("const") == preset:
            return {key: node for key, node in properties(one).items() if key != "id"}
    raise ValueError(f"the schema has no scheme {preset}")


def reference() -> str:
    """The part of `docs/spec.md` that is made."""
    return Reference().write()

"""The Python API, from signatures and docstrings."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import cast

import griffe

from pages.markdown import link, table

ROOT = Path(__file__).parents[2]

LINE = 110
"""Longer signatures have a line per parameter."""

CLASSES = [
    "fanin._core.Progress",
    "fanin._core.ArrowTable",
    "fanin._core.SchemeRow",
    "fanin.certifying.Law",
    "fanin.certifying.Violation",
]
"""Classes of objects that the package passes to callers."""

TYPES = [
    "fanin.runs.SpecLike",
    "fanin.runs.Watcher",
    "fanin.sweeps.sweeping.SweepWatcher",
    "fanin.run_folder.TableName",
]
"""Names in signatures that are short for a longer type."""

INTERNAL = {"Result": ("of",)}
"""Public members that only the package itself can use."""

MODULES = [
    "plot",
    "measures",
    "by_traffic",
    "over_time",
    "delay_breakdown",
    "style",
    "table",
    "parts",
    "jobs",
    "hpcc",
    "uec",
    "oitcp",
    "wire",
    "cli",
]
"""Modules for users, besides the package itself."""


GROUPS: dict[str, tuple[str, ...]] = {
    "Run, compare, search, and read again": (
        "run",
        "compare",
        "sweep",
        "tune",
        "load",
        "load_comparison",
        "load_sweep",
    ),
    "Before a run, and after": (
        "explain",
        "plot",
        "report",
        "why",
        "why_collective",
        "verify",
        "every_scheme",
        "schemes",
    ),
    "What they return and raise": (
        "Result",
        "Comparison",
        "Sweep",
        "SweepRun",
        "SweepState",
        "Tuned",
        "Why",
        "WhyCollective",
        "Spec",
        "SpecError",
        "LimitError",
        "RunError",
    ),
    "Files of other simulators, and wires": ("run_hpcc", "run_uec", "wire"),
    "Schemes and policies of one's own": (),
}
"""The names of the package by what they are for, in the order of the page; the last group has all others."""


@cache
def package() -> griffe.Module:
    """The package as its source has it."""
    return cast("griffe.Module", griffe.load("fanin", search_paths=[ROOT / "python"], resolve_aliases=True))


def reference() -> str:
    """The part of `docs/python-api.md` that is made."""
    exported = sorted((str(name) for name in package().exports or [] if not str(name).startswith("__")), key=str)
    grouped = {name for listed in GROUPS.values() for name in listed}
    groups = {
        title: [f"fanin.{name}" for name in listed or (name for name in exported if name not in grouped)]
        for title, listed in GROUPS.items()
    }
    names = [name for listed in groups.values() for name in listed]
    modules = {f"fanin.{name}": members(f"fanin.{name}") for name in MODULES if name in package().members}
    parts = [
        *(part for title, listed in groups.items() for part in (f"**{title}**", index(listed))),
        *(entry(name, name) for name in [*names, *CLASSES]),
        "## Types",
        table(["name", "is", "meaning"], [kind(name) for name in TYPES]),
    ]
    for name, listed in modules.items():
        parts += [f"## {name}", text(found(name)), *(entry(member, member, 3) for member in listed)]
    return "\n\n".join(part for part in parts if part)


def found(name: str) -> griffe.Object:
    """The object with this name, wherever it is defined."""
    path = name.removeprefix("fanin").lstrip(".")
    thing: griffe.Object | griffe.Alias = package()[path] if path else package()
    return thing.final_target if isinstance(thing, griffe.Alias) else thing


def members(module: str) -> list[str]:
    """The interface of a module: its exports, or else its own public functions and classes."""
    there = found(module)
    exports = [str(name) for name in there.exports or []]
    own = [
        name
        for name, one in there.members.items()
        if not name.startswith("_") and not one.is_alias and (one.is_function or one.is_class)
    ]
    return [f"{module}.{name}" for name in exports or own]


def index(names: list[str]) -> str:
    """A line for each."""
    return table(["name", "what it is"], [[link(name), text(found(name)).partition("\n\n")[0]] for name in names])


def kind(name: str) -> list[str]:
    """A row about a named type."""
    one = found(name)
    return [f"`{name.rpartition('.')[2]}`", f"`{getattr(one, 'value', '')}`", text(one)]


def entry(name: str, heading: str, level: int = 2) -> str:
    """A function or a class with its public members."""
    one = found(name)
    parts = [f"{'#' * level} {heading}"]
    if isinstance(one, griffe.Function):
        return "\n\n".join([*parts, code(signature(one)), text(one)])
    if not isinstance(one, griffe.Class):
        return "\n\n".join([*parts, text(one)])
    parts.append(text(one))
    # Those of a base class of the package, too; griffe has them as aliases.
    there = {key: part.final_target for key, part in one.inherited_members.items()} | one.members
    public = {key: part for key, part in there.items() if not key.startswith("_") or key == "__arrow_c_stream__"}
    for key in INTERNAL.get(one.name, ()):
        public.pop(key)
    rows = [
        [f"`{key}`", f"`{part.annotation}`", text(part)]
        for key, part in public.items()
        if isinstance(part, griffe.Attribute)
    ]
    if rows:
        parts.append(table(["attribute", "type", "meaning"], rows))
    for part in public.values():
        if isinstance(part, griffe.Function):
            parts += [code(signature(part, owner=one.name)), text(part)]
    return "\n\n".join(part for part in parts if part)


def signature(one: griffe.Function, owner: str = "") -> str:
    """How it is called, on one line or with a line per parameter."""
    listed: list[str] = []
    starred = False
    for parameter in one.parameters:
        if owner and parameter.name in ("self", "cls"):
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not starred:
            starred = True
            listed.append("*")
        starred = starred or parameter.kind is griffe.ParameterKind.var_positional
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
        shown = star.get(parameter.kind or griffe.ParameterKind.positional_only, "") + parameter.name
        if parameter.annotation is not None:
            shown += f": {parameter.annotation}"
        if parameter.default is not None and parameter.kind not in star:
            shown += f" = {parameter.default}"
        listed.append(shown)
    name = f"{owner}.{one.name}" if owner else one.name
    end = f" -> {one.returns}" if one.returns is not None else ""
    line = f"{name}({', '.join(listed)}){end}"
    if len(line) <= LINE:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in listed) + f"){end}"


def code(line: str) -> str:
    """A signature; not marked as Python, so that tests do not run it."""
    return f"```py\n{line}\n```"


def text(one: griffe.Object | griffe.Alias) -> str:
    """Its docstring, which is Markdown."""
    return one.docstring.value.strip() if one.docstring is not None else ""

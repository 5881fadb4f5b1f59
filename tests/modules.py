"""Which file of a package or a crate depends on which other one, and where these dependencies form a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Graph = dict[str, set[str]]
"""For each file the others that it depends on."""


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of files each of which depends, directly or through others, on all others of its group."""
    reached: Graph = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += graph.get(at, ())
        reached[start] = seen
    groups = {
        tuple(sorted(other for other in reached[one] | {one} if one in reached.get(other, ()))) for one in reached
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def report(graph: Mapping[str, set[str]]) -> str:
    """Each circle with its dependencies, for the message of a test that fails; empty without any circle."""
    return "\n".join(
        f"{len(group)} files:\n"
        + "\n".join(f"  {one} -> {', '.join(sorted(graph[one] & set(group)))}" for one in group)
        for group in circles(graph)
    )


# Python


def python_graph(sources: Mapping[str, str], package: str, attributes: Mapping[str, str]) -> Graph:
    """`sources` are texts by the name of their module, packages by their own name; `attributes` names the module from
    which the package loads each of its attributes. Imports in functions and those for type checkers count."""

    def targets(importer: str, module: str, name: str | None) -> Iterator[str]:
        home = f"{module}.{name}"
        if name is not None and home not in sources and module == package and name in attributes:
            home = f"{package}.{attributes[name]}"
        module = home if name is not None and home in sources else module
        # Importing a module runs the packages that it is in, but for those that are being imported already.
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            at = ".".join(parts[:end])
            if at in sources and (end == len(parts) or not f"{importer}.".startswith(f"{at}.")):
                yield at

    graph: Graph = {}
    for importer, text in sources.items():
        found = {at for module, name in _imports(ast.parse(text)) for at in targets(importer, module, name)}
        if importer == package:
            found |= {f"{package}.{home}" for home in attributes.values()}
        graph[importer] = (found & sources.keys()) - {importer}
    return graph


def _imports(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(node, ast.Import):
        yield from ((one.name, None) for one in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        yield from ((node.module or "", one.name) for one in node.names)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _imports(child)


# Rust

Path_ = tuple[str, ...]
"""The segments of a path: `crate::a::B`."""

ITEMS = ("fn", "struct", "enum", "union", "trait", "type", "const", "static")
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\])'""",
    re.DOTALL,
)
"""Comments, strings and characters."""
TOKENS = re.compile(r"'?[A-Za-z_]\w*|::|->|=>|\d\w*|[^\s\w]")


@dataclass
class Use:
    """One name of a `use` declaration."""

    path: Path_
    name: str
    """Under which it is known; `*` for all that is in the module."""
    public: bool


@dataclass
class Impl:
    """An `impl` block."""

    type: Path_
    inherent: bool
    methods: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    """Methods that it calls by `self.name(` or `Self::name(`."""


@dataclass
class Module:
    """A module of a crate, in a file of its own or within one."""

    path: Path_
    file: str
    items: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    paths: set[Path_] = field(default_factory=set)
    """Of several segments, in its code."""
    words: set[str] = field(default_factory=set)
    impls: list[Impl] = field(default_factory=list)


def rust_graph(sources: Mapping[str, str]) -> Graph:
    """`sources` are the texts of a crate by their path in its `src`. Tests and comments do not count.

    A file depends on the files of the items that it names, not on those that pass them on by `pub use`; on the file of
    a type that it has an `impl` block of; and on the file of each method that such a block calls by `self.name(`.
    """
    modules = _modules(sources)
    crate = _Crate(modules)
    graph: Graph = {file: set() for file in sources if file in {module.file for module in modules.values()}}
    homes: dict[tuple[str, str], dict[str, set[str]]] = {}  # of a type, each method's files
    typed: list[tuple[Module, Impl, tuple[str, str]]] = []
    for module in modules.values():
        found = graph[module.file]
        for use in module.uses:
            if use.name == "*":
                if use.public:
                    continue
                source = crate.module(module, use.path)
                names = crate.names(source) & module.words if source is not None else set()
                found |= {home for name in names if source and (home := crate.home(source, (name,)))}
            elif not use.public or use.name in module.words:
                found |= crate.home_of(module, use.path)
        for path in module.paths:
            found |= crate.home_of(module, path)
        for block in module.impls:
            for home in crate.home_of(module, block.type):
                found.add(home)
                typed.append((module, block, (home, block.type[-1])))
                if block.inherent:
                    for name in block.methods:
                        homes.setdefault((home, block.type[-1]), {}).setdefault(name, set()).add(module.file)
    for module, block, of in typed:
        for name in block.calls:
            files = homes.get(of, {}).get(name, set())
            if module.file not in files:
                graph[module.file] |= files
    return {file: found - {file} for file, found in graph.items()}


class _Crate:
    """Resolves paths to files."""

    def __init__(self, modules: dict[Path_, Module]) -> None:
        self.modules = modules

    def home_of(self, module: Module, path: Path_) -> set[str]:
        home = self.home(module, path)
        return set() if home is None else {home}

    def home(self, module: Module, path: Path_) -> str | None:
        """The file of the item that a path in a module names, or None if it is of another crate."""
        return self._find(module, path, frozenset())

    def module(self, module: Module, path: Path_) -> Module | None:
        """The module that a path names."""
        at: Module | None = module
        for segment in path:
            if at is None:
                return None
            known = self._start(at, segment)
            if known is None and segment not in at.modules:
                use = next((use for use in at.uses if use.name == segment), None)
                known = None if use is None or use.path == path else self.module(at, use.path)
            at = known if known is not None else self.modules.get((*at.path, segment))
        return at

    def names(self, module: Module, seen: frozenset[Path_] = frozenset()) -> set[str]:
        """Every name in the scope of a module."""
        names = module.items | module.modules | {use.name for use in module.uses}
        for use in module.uses:
            source = self.module(module, use.path) if use.name == "*" else None
            if source is not None and source.path not in seen:
                names |= self.names(source, seen | {module.path})
        return names

    def _start(self, at: Module, segment: str) -> Module | None:
        if segment == "crate":
            return self.modules[()]
        if segment == "super":
            return self.modules[at.path[:-1]]
        return at if segment == "self" else None

    def _find(self, at: Module, path: Path_, seen: frozenset[tuple[Path_, Path_]]) -> str | None:
        if (at.path, path) in seen:
            return None
        seen |= {(at.path, path)}
        first, rest = path[0], path[1:]
        start = self._start(at, first)
        if start is not None:
            return (self._find(start, rest, seen) or start.file) if rest else start.file
        if first in at.modules:
            below = self.modules.get((*at.path, first))
            if below is None:
                return None
            return (self._find(below, rest, seen) or below.file) if rest else below.file
        if first in at.items:
            return at.file
        for use in at.uses:
            if use.name == first and (found := self._find(at, (*use.path, *rest), seen)):
                return found
        for use in at.uses:
            if use.name == "*" and (source := self.module(at, use.path)) is not None and source is not at:
                found = self._find(source, path, seen)
                if found:
                    return found
        return None


def _modules(sources: Mapping[str, str]) -> dict[Path_, Module]:
    root = "lib.rs" if "lib.rs" in sources else "main.rs"
    found: dict[Path_, Module] = {}
    waiting: list[tuple[Path_, str]] = [((), root)]
    while waiting:
        path, file = waiting.pop()
        parsed = _Parser(_tokens(sources[file]), file)
        parsed.module(path)
        for module in parsed.found:
            found[module.path] = module
        for module in parsed.found:
            for name in module.modules:
                below = (*module.path, name)
                stem = "/".join(below)
                near = next((one for one in (f"{stem}.rs", f"{stem}/mod.rs") if one in sources), None)
                if below not in found and near is not None:
                    waiting.append((below, near))
    return found


def _tokens(text: str) -> list[str]:
    return TOKENS.findall(NO_CODE.sub(" ", text))


class _Parser:
    """Reads the modules of one file."""

    def __init__(self, tokens: Sequence[str], file: str) -> None:
        self.tokens = tokens
        self.file = file
        self.at = 0
        self.found: list[Module] = []

    def module(self, path: Path_) -> None:
        """Reads until the module's closing brace, or the end of the file."""
        module = Module(path, self.file)
        self.found.append(module)
        self.block(module, items=True)

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def block(self, module: Module, *, items: bool, impl: Impl | None = None) -> None:
        """Reads until the brace that closes a block; with `items`, its items are those of the module."""
        while self.at < len(self.tokens):
            token = self.peek()
            self.at += 1
            if token == "}":
                return
            if token == "{":
                self.block(module, items=False, impl=None if items else impl)
            elif token == "#" and self.peek() in "[!":
                self.attribute()
            elif token == "mod" and items and self.peek(1) in (";", "{"):
                name = self.peek()
                module.modules.add(name)
                self.at += 2
                if self.peek(-1) == "{":
                    self.module((*module.path, name))
            elif token == "use" and self.peek() != "<":
                public = (
                    self.tokens[self.at - 2] in ("pub", ")") and "pub" in self.tokens[max(0, self.at - 7) : self.at]
                )
                module.uses += [Use(use_path, name, public) for use_path, name in self.use(())]
            elif token == "impl" and items and self.tokens[self.at - 2] in ("}", ";", "]", "{", "unsafe", "impl"):
                self.impl(module)
            elif token == "macro_rules" and self.peek() == "!":
                module.items.add(self.peek(1))
            elif token in ITEMS and re.match(r"\w", self.peek()):
                name = self.peek(1) if self.peek() in ("fn", "mut") else self.peek()
                if items:
                    module.items.add(name)
                elif impl is not None and token == "fn":
                    impl.methods.add(name)
            elif re.match(r"[A-Za-z_]", token):
                self.word(module, token, impl)

    def word(self, module: Module, first: str, impl: Impl | None) -> None:
        """A name or a path, of which the first segment has been read."""
        module.words.add(first)
        if self.tokens[self.at - 2 : self.at - 1] == ["."]:
            if impl is not None and self.tokens[self.at - 3] == "self" and self.peek() in ("(", "::"):
                impl.calls.add(first)
            return
        path = [first]
        while self.peek() == "::" and re.match(r"[A-Za-z_]", self.peek(1)):
            path.append(self.peek(1))
            module.words.add(self.peek(1))
            self.at += 2
        if impl is not None and first == "Self" and len(path) > 1:
            impl.calls.add(path[1])
        elif len(path) > 1:
            module.paths.add(tuple(path))

    def attribute(self) -> None:
        """Reads an attribute, and its item if that is for tests only."""
        if self.peek() == "!":
            self.at += 1
        begin = self.at
        self.group()
        words = self.tokens[begin : self.at]
        if words[1:4] != ["cfg", "(", "test"] and words[1:6] != ["cfg", "(", "all", "(", "test"]:
            return
        while self.peek() == "#":
            self.at += 1
            self.group()
        while self.peek() not in (";", "{", ""):
            self.group()
        self.group()

    def group(self) -> None:
        """Reads a token, or brackets with all that is in them."""
        depth = 0
        while self.at < len(self.tokens):
            depth += (self.peek() in "([{") - (self.peek() in ")]}")
            self.at += 1
            if depth == 0:
                return

    def use(self, prefix: Path_) -> list[tuple[Path_, str]]:
        """Reads a tree of names, up to the comma or the bracket behind it."""
        path = prefix
        found: list[tuple[Path_, str]] = []
        name = ""
        while self.at < len(self.tokens) and self.peek() not in (";", ",", "}"):
            token = self.peek()
            self.at += 1
            if token == "{":
                while self.peek() not in ("}", ""):
                    found += self.use(path)
                    if self.peek() == ",":
                        self.at += 1
                self.at += 1
                return found
            if token == "as":
                name = self.peek()
                self.at += 1
            elif token == "*":
                return [(path, "*")]
            elif token == "self" and path:
                name = path[-1]
            elif token != "::":
                path = (*path, token)
        return [(path, name or path[-1])]

    def impl(self, module: Module) -> None:
        """Reads an `impl` block, from behind the word."""
        flat: list[str] = []
        depth = 0
        while self.peek() not in ("{", ""):
            begin = self.at
            self.at += 1
            if re.match(r"[A-Za-z_]", self.tokens[begin]):
                self.word(module, self.tokens[begin], None)
            depth -= self.tokens[begin] == ">"
            flat += self.tokens[begin : self.at] if depth == 0 else []
            depth += self.tokens[begin] == "<"
        flat = flat[: flat.index("where")] if "where" in flat else flat
        inherent = "for" not in flat
        name = flat if inherent else flat[flat.index("for") + 1 :]
        block = Impl(tuple(word for word in name if re.match(r"[A-Za-z_]", word) and word != "mut"), inherent)
        if block.type:
            module.impls.append(block)
        self.at += 1
        self.block(module, items=False, impl=block)


def read_python(package: Path) -> dict[str, str]:
    """The texts of a package, by the names of its modules."""
    return {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path.read_text()
        for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")])
    }


def read_rust(crate: Path) -> dict[str, str]:
    """The texts of a crate, by their path in its `src`."""
    source = crate / "src"
    return {str(path.relative_to(source)): path.read_text() for path in sorted(source.rglob("*.rs"))}

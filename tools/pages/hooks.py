"""Tables of the hooks of one's own schemes, from the stubs of the native module."""

import ast
from pathlib import Path

from fanin import own_schemes
from pages.markdown import table

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "python" / "fanin" / "_core.pyi"

ROLES = {
    "Sender": "per flow, at its sender",
    "Receiver": "per receiving host",
    "SwitchProgram": "per switch",
    "Balancer": "load balancing, per switch",
    "PathSelector": "load balancing, per sender",
    "Discipline": "a queue discipline, per switch",
}


def classes() -> dict[str, ast.ClassDef]:
    """The classes of the native module."""
    tree = ast.parse(STUBS.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def said(node: ast.AST) -> str:
    """A docstring in one line."""
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return " ".join((ast.get_docstring(node) or "").split())


def arguments(function: ast.FunctionDef) -> str:
    """`flow: int, id: int`, without self."""
    names = function.args.args[1:]
    return ", ".join(f"{one.arg}: {ast.unparse(one.annotation)}" if one.annotation else one.arg for one in names)


def is_property(function: ast.FunctionDef) -> bool:
    """Whether it is read like a field."""
    return any(isinstance(one, ast.Name) and one.id == "property" for one in function.decorator_list)


def functions(of: ast.ClassDef) -> list[ast.FunctionDef]:
    """The methods and properties of a class, except those with underscores."""
    return [node for node in of.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def fields(of: ast.ClassDef) -> list[tuple[str, str]]:
    """Names and meanings of what is read or set: annotated fields and properties."""
    found = []
    for node, following in zip(of.body, [*of.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            meaning = " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""
            found.append((node.target.id, meaning))
    return found + [(one.name, said(one)) for one in functions(of) if is_property(one)]


def tables() -> str:
    """A table per role, and one of the arguments."""
    known = classes()
    parts: list[str] = []
    used: list[str] = []
    for role, per in ROLES.items():
        methods = [one for one in functions(known[role]) if not is_property(one)]
        rows = [[f"`{one.name}({arguments(one)})`", said(one)] for one in methods]
        parts += [f"### fanin.{role}: {per}", table(["hook or call", "meaning"], rows)]
        for one in methods:
            text = arguments(one) + (ast.unparse(one.returns) if one.returns else "")
            used += [name for name in known if name in text and name not in ROLES]
    rows = []
    for name in dict.fromkeys([*used, "Packet", "PortView", "IntHop"]):
        rows += [[f"`{name}.{field}`", meaning] for field, meaning in fields(known[name])]
    parts += ["### Fields of arguments", table(["field", "meaning"], rows)]
    return "\n\n".join(parts)


def facts() -> str:
    """The fields of `fanin.Scheme`."""
    tree = ast.parse(Path(own_schemes.__file__).read_text(encoding="utf-8"))
    (scheme,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Scheme"]
    rows = [[f"`{name}`", f"`{getattr(own_schemes.Scheme, name)!r}`", meaning] for name, meaning in fields(scheme)]
    return table(["field", "default", "meaning"], rows)

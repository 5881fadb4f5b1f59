"""Schemes of one's own to start from: the files that `fanin new-scheme` writes."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from fanin import _core, own_schemes
from fanin.run_folder import put_text

LANGUAGES = ("python", "c", "rust")

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST_NAME = 40

FOLDER = Path(__file__).parent / "templates" / "scheme"
"""Templates, in which the scheme is called `my-scheme`."""


@dataclass(frozen=True)
class NewScheme:
    """A scheme that is not yet written."""

    files: dict[str, str]
    """Texts by file name."""
    reference: str
    """How commands name it, from its folder."""
    build: str | None
    """The command that makes a library of it."""
    test: str
    """The file of its tests."""

    def write(self, folder: Path, *, replace: bool = False) -> list[Path]:
        """Writes the files; raises `FileExistsError` for one that is there, unless it may be replaced."""
        paths = [folder / name for name in self.files]
        for path in paths:
            if path.exists() and not replace:
                raise FileExistsError(f"{path}: exists; choose another folder or allow replacing it with --force")
        for path, text in zip(paths, self.files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            put_text(path, text)
        return paths

    def next_commands(self, folder: Path) -> list[str]:
        """What to do with it in that folder."""
        lines = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
        if self.build is not None:
            lines.append(self.build)
        return [
            *lines,
            f"fanin check-scheme {self.reference}",
            "fanin new my.toml",
            f"fanin compare my.toml --schemes {self.reference},dcqcn,hpcc",
            f"pytest {self.test}",
        ]


def new_scheme(name: str, language: str = "python") -> NewScheme:
    """The files of a scheme of this name; raises `ValueError` for a name that is none."""
    if NAME.fullmatch(name) is None or len(name) > LONGEST_NAME:
        raise ValueError(f'"{name}" is no name of a scheme: at most {LONGEST_NAME} of a-z, 0-9 and -, like my-scheme')
    built_in = {row["id"] for row in _core.schemes()} - {
        origin.id for origin in own_schemes.origins() if origin.kind == "scheme"
    }
    if name in built_in:
        raise ValueError(f'there is a built-in scheme "{name}": give yours a name of its own')
    module = name.replace("-", "_")
    test = f"test_{module}.py"
    here = "Path(__file__).parent"
    build = None
    if language == "python":
        reference = f"{module}.py:{_class(name)}"
        of_test = f"f\"{{{here} / '{module}.py'}}:{_class(name)}\""
        files = {f"{module}.py": _text("scheme.py.txt", name)}
    elif language == "c":
        reference = f"./{module}.so"
        of_test = f'{here} / "{module}.so"'
        build = "make"
        files = {
            f"{module}.c": _text("scheme.c", name),
            "fanin_scheme.h": _core.scheme_header(),
            "Makefile": _text("Makefile.txt", name),
        }
    else:
        reference = f"./target/release/lib{module}{_LIBRARY}"
        of_test = f'{here} / "target" / "release" / "lib{module}{_LIBRARY}"'
        build = "cargo build --release"
        files = {
            "Cargo.toml": _text("Cargo.toml.txt", name),
            "src/lib.rs": _text("lib.rs", name),
            "src/fanin.rs": _text("fanin.rs", name),
            "fanin_scheme.h": _core.scheme_header(),
        }
    files[test] = _text("test_scheme.py.txt", name).replace("SCHEME_REFERENCE", of_test)
    return NewScheme(files, reference, build, test)


_LIBRARY = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def _class(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _text(template: str, name: str) -> str:
    text = (FOLDER / template).read_text(encoding="utf-8")
    for ours, theirs in (("my-scheme", name), ("my_scheme", name.replace("-", "_")), ("MyScheme", _class(name))):
        text = text.replace(ours, theirs)
    return text

"""Names each line of code and prose that is longer than 120 columns, and exits with 1 if there is one.

Lines of tables, of code blocks in Markdown and of pages that are made from the code may be longer; links do not count.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120
CODE = {".rs", ".py", ".pyi", ".js", ".css"}
FOLDERS = ("crates", "python", "tests", "tools", "bench")
MADE = ("docs/schemes/",)
"""Pages that are made whole."""

TABLE = re.compile(r"\s*(//[!/] )?\|")
LINK = re.compile(r"\]\([^)]*\)|https?://\S+")
PART = re.compile(
    r"<!-- made by .*?<!-- end: .*?-->|<!-- (\w+) -->.*?<!-- /\1 -->|^ *```.*?^ *```$", re.DOTALL | re.MULTILINE
)
"""A part of a page that is made from the code, or a block of code."""


def too_long(text: str, *, prose: bool) -> Iterator[tuple[int, int]]:
    """The number and the width of each line that is too long."""
    if prose:
        text = PART.sub(lambda part: "\n" * part[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        width = len(LINK.sub("]", line) if prose else line)
        if width > WIDTH and not TABLE.match(line):
            yield number, width


def files(root: Path) -> Iterator[Path]:
    """All that is checked."""
    for folder in FOLDERS:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.suffix in CODE)
    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]:
        if not str(path.relative_to(root)).startswith(MADE):
            yield path


def main() -> None:
    """Checks the tree."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {width} columns"
        for path in files(ROOT)
        for number, width in too_long(path.read_text(encoding="utf-8"), prose=path.suffix == ".md")
    ]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

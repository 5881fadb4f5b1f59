"""Markdown, as far as the pages need it."""

import re
from collections.abc import Sequence


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; characters that would end a cell or a line are escaped."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)


def cell(text: str) -> str:
    """A text inside a table."""
    return " ".join(text.split()).replace("|", "\\|")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def link(heading: str) -> str:
    """A link to a heading of the same page."""
    return f"[{heading}](#{slug(heading)})"


def deeper(text: str, levels: int) -> str:
    """The same Markdown with its headings so many levels below."""
    return re.sub(r"^(#+) ", lambda found: "#" * (len(found[1]) + levels) + " ", text, flags=re.MULTILINE)

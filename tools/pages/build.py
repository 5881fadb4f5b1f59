"""The sources of pages. Pages with prose have a generated part between two marks, manuals are generated completely."""

from collections.abc import Callable
from pathlib import Path

from pages import api, claims, commands, headers, headline, hooks, manuals, results, spec, spec_types
from pages.sbom import SBOM, sbom

ROOT = Path(__file__).parents[2]
"""The repository."""

PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "spec": ("docs/spec.md", spec.reference),
    "commands": ("docs/commands.md", commands.reference),
    "api": ("docs/python-api.md", api.reference),
    "facts of schemes": ("docs/own-scheme.md", hooks.facts),
    "hooks": ("docs/own-scheme.md", hooks.tables),
    "headers": ("docs/traces.md", headers.tables),
    "tables": ("docs/results.md", results.tables),
    "manifest": ("docs/results.md", results.manifest),
    "summary": ("docs/results.md", results.summary),
    "comparison": ("docs/results.md", results.comparison),
    "totals": ("docs/claims.md", claims.totals),
    "open questions": ("docs/claims.md", claims.open_questions),
    "readings": (headline.PAGE, headline.readings),
    "switches of the text": (headline.PAGE, headline.of_the_text),
    "switches of connections": (headline.PAGE, headline.of_connections),
}
"""The generated parts of pages: the name of the marks, the page, the function."""


def made() -> dict[str, str]:
    """The present text of every page with generated parts, by its path in the repository."""
    pages = {**manuals.pages(), **claims.pages(), "python/fanin/spec_types.py": spec_types.module(), SBOM: sbom()}
    for name, (page, make) in PARTS.items():
        text = pages.get(page) or (ROOT / page).read_text(encoding="utf-8")
        pages[page] = filled(text, name, make())
    return pages


def filled(text: str, name: str, part: str) -> str:
    """The page with this part between its marks; raises `ValueError` if it has no such marks."""
    begin, end = f"<!-- made by `make docs`: {name} -->", f"<!-- end: {name} -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"no marks for the part {name}: {begin} ... {end}")
    return f"{before}{begin}\n\n{part.strip()}\n\n{end}{after}"


def stale() -> list[str]:
    """The pages that are out of date, by their path in the repository."""
    wanted = made()
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "schemes").glob("*.md")}
    differ = {name for name, text in wanted.items() if not is_text(ROOT / name, text)}
    return sorted(differ | (there - wanted.keys()))


def is_text(path: Path, text: str) -> bool:
    """Whether a file has exactly this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text

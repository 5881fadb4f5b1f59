"""Tables in pages, between a comment that names each and one that ends it."""

from collections.abc import Sequence
from pathlib import Path


def put(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replaces what stands between `<!-- table of NAME -->` and `<!-- end of table of NAME -->`."""
    begin, end = f"<!-- table of {name} -->\n", f"<!-- end of table of {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ends, after = rest.partition(end)
    if not found or not ends:
        raise SystemExit(f"{page}: no place for the table of {name}")
    table = "\n".join(lines)
    page.write_text(f"{before}{begin}{table}\n{end}{after}", encoding="utf-8")

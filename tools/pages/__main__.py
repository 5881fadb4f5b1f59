"""Writes every page that is made from the code; with --check, only says which are stale."""

import sys

from pages.build import ROOT, made, stale


def main() -> None:
    """Exits with 1 if --check finds a stale page."""
    if "--check" in sys.argv[1:]:
        names = stale()
        for name in names:
            print(f"{name}: stale; renew it with: make docs")
        sys.exit(1 if names else 0)
    written = made()
    for old in (ROOT / "docs" / "schemes").glob("*.md"):
        if str(old.relative_to(ROOT)) not in written:
            old.unlink()
    for name, text in written.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

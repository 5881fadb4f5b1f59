"""Commands about results: `report`, `plot`, `why`."""

from __future__ import annotations

import typer


def add_to(app: typer.Typer) -> None:
    """Adds these commands."""

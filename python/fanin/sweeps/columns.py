"""The columns of a grid."""

from __future__ import annotations

from collections.abc import Mapping

Value = str | int | float | bool
"""A value in a column of a grid."""

SCHEME, LOAD, SEED = "scheme", "load", "seed"
"""The columns that are not keys of the spec."""


def label_of(settings: Mapping[str, Value]) -> str:
    """A readable name of a run by its place in the grid."""
    return " ".join(str(value) if column == SCHEME else f"{column}={value}" for column, value in settings.items())

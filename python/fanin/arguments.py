"""Errors of Python functions that name the argument, what was given, and what is right."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fanin._core import SpecError

EXAMPLE_OF_SET = '["measure.window=10 ms"]'
"""How changes of a spec are given."""


def given(value: object) -> str:
    """What a value is, in an error."""
    if callable(value) and not isinstance(value, type):
        return f"the function {getattr(value, '__name__', 'without a name')}"
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    text = repr(value)
    return f"the {type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def need_path(name: str, value: object, what: str) -> None:
    """Raises `TypeError` for what is no path and no text."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}: {given(value)} is not {what}")


def need_whole(name: str, value: object, what: str) -> None:
    """Raises `TypeError` for what is no whole number; None is right."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise TypeError(f"{name}: {given(value)} is not {what}")


def need_number(name: str, value: object, what: str) -> None:
    """Raises `TypeError` for what is no number; None is right."""
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise TypeError(f"{name}: {given(value)} is not {what}")


def need_list(name: str, value: object, what: str) -> None:
    """Raises `TypeError` for what is no list; a text would be taken for its letters. None is right."""
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if value is not None and not listed and not hasattr(value, "__array__"):
        raise TypeError(f"{name}: {given(value)} is not a list; write {what}")


def need_lists(name: str, value: object, what: str) -> None:
    """Raises `TypeError` for what is no dictionary of lists; None is right."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise TypeError(f"{name}: {given(value)} is not a dictionary; write {what}")
    for key, listed in value.items():
        need_list(f"{name}[{key!r}]", listed, what)


def need_limits(max_memory: object, max_time: object, threads: object = None) -> None:
    """Checks the limits that several functions take."""
    need_whole("max_memory", max_memory, "a number of bytes, like 8_000_000_000")
    need_number("max_time", max_time, "a time in seconds, like 3600")
    need_whole("threads", threads, "a number of threads, like 2")


def need_seeds(value: object) -> None:
    """Raises `TypeError` for what is neither a number of seeds nor a list of them, `SpecError` for none."""
    if value is None:
        return
    right = "how many, like seeds=5, or a list, like seeds=[1, 2, 3]"
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise SpecError(f"seeds: {value} is no number of runs; give {right}")
        return
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(one, int) for one in value):
        raise TypeError(f"seeds: {given(value)} is neither; give {right}")

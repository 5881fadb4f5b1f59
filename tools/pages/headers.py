"""The headers that no standard has, as tables."""

from __future__ import annotations

from itertools import accumulate

from fanin import _core
from pages.markdown import table


def tables() -> str:
    """A table for each header: bits, name and meaning of its fields."""
    parts = []
    for key, about, little_endian, fields in _core.wire_layouts():
        ends = list(accumulate(bits for _, bits, _ in fields))
        rows = [
            (f"{end - bits}" if bits == 1 else f"{end - bits}-{end - 1}", f"`fanin.{key}.{name}`", meaning)
            for end, (name, bits, meaning) in zip(ends, fields, strict=True)
        ]
        order = ", lowest byte of numbers first" if little_endian else ""
        parts.append(
            f"{about[0].upper()}{about[1:]}; {ends[-1] // 8} B{order}:\n\n{table(('bits', 'field', 'meaning'), rows)}"
        )
    return "\n\n".join(parts)

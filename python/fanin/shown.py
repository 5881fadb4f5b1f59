"""Numbers as text, each in a unit that fits it: the same in tables, pictures and reports."""

from __future__ import annotations

from collections.abc import Callable

from fanin.over_seeds import Estimate
from fanin.quantities import BYTES_OF, GBPS_OF, Unit, fitting

NONE = "-"
"""Shown instead of a missing number."""


def count(value: float | None) -> str:
    """A count; a small mean that is no whole number has one digit more."""
    return NONE if value is None else f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.1f}"


def gbps(value: float | None) -> str:
    """A rate given in Gb/s, in a suitable unit."""
    return _in_unit(value, GBPS_OF)


def number(value: float | None) -> str:
    """Three significant digits, thousands separated; two of a number so small that these would hide it."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


US_OF = {"s": 1e6, "ms": 1e3, "us": 1.0}


def time(us: float | None) -> str:
    """A time given in microseconds, in a suitable unit."""
    return _in_unit(us, US_OF)


def exact_time(us: float | None) -> str:
    """A time given in microseconds, to the nanosecond: of a single message, which is no estimate."""
    return NONE if us is None else f"{us:,.3f} us"


def size(value: float | None) -> str:
    """A size given in bytes, in a suitable unit."""
    return _in_unit(value, BYTES_OF)


def share(value: float | None) -> str:
    """A share in percent."""
    if value is None:
        return NONE
    return f"{value * 100:.2g} %" if 0 < value < 0.00005 else f"{value * 100:.2f} %"


def _in_unit(value: float | None, units: dict[str, float]) -> str:
    if value is None:
        return NONE
    if value == 0:
        return "0"
    unit, scale = fitting(value, units)
    return f"{number(value / scale)} {unit}"


SHOWN: dict[Unit, Callable[[float | None], str]] = {
    "us": time,
    "Gb/s": gbps,
    "B": size,
    "share": share,
    "count": count,
    "ratio": number,
}
"""The formatting of numbers, by their unit."""

_SCALES = {**US_OF, **GBPS_OF, **BYTES_OF, "%": 0.01}


def estimated(found: Estimate, show: Callable[[float | None], str]) -> str:
    """A mean, and half of its 95 % interval in the same unit where it has one."""
    shown = show(found.mean)
    if found.mean is None or not found.half:
        return shown
    value, _, unit = shown.partition(" ")
    return f"{value} \u00b1 {number(found.half / _SCALES.get(unit, 1.0))} {unit}".rstrip()

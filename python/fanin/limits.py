"""Limits of the memory and the time of a run, and their defaults."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

from fanin import _core

MEMORY_SHARE = 0.8
"""The share of the free memory that a run may take by default."""

DEFAULT_TIME_S = 24 * 3600.0
"""Real time that a run may take by default."""

_SIZES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_TIMES = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_OTHER_NAMES = {"kB": "KB", "kiB": "KiB", "sec": "s", "hour": "h", "hours": "h", "day": "d", "days": "d"}
_QUANTITY = re.compile(r"\s*(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)


def memory(text: str) -> int:
    """Bytes of a text like "16 GB" or "512MiB". Raises `SpecError` for any other text."""
    return int(_quantity("--max-memory", text, _SIZES, "a size", "16 GB"))


def time(text: str) -> float:
    """Seconds of a text like "90 s", "30min", "2 h" or "1 d". Raises `SpecError` for any other text."""
    return float(_quantity("--max-time", text, _TIMES, "a time", "2 h"))


def _quantity(option: str, text: str, units: dict[str, int], what: str, example: str) -> Decimal:
    found = _QUANTITY.fullmatch(text)
    unit = _OTHER_NAMES.get(found[2], found[2]) if found is not None else ""
    if found is None or unit not in units:
        known = ", ".join(units)
        raise _core.SpecError(f'{option} "{text}": not {what}; write a number and a unit ({known}), like "{example}"')
    value = Decimal(found[1].replace("_", "")) * units[unit]
    if value <= 0 or value >= 2**63:
        raise _core.SpecError(f'{option} "{text}": no limit; write {what} above zero, like "{example}"')
    return value


def default_memory() -> int:
    """80 % of the memory in bytes that is available to this process: in the machine, or in its control group if that is
    less."""
    return int(MEMORY_SHARE * max(available(), 0))


def within(max_memory: int | None, max_time: float | None) -> tuple[int, float]:
    """Both limits, bytes and seconds, with defaults for None."""
    return (
        default_memory() if max_memory is None else max_memory,
        DEFAULT_TIME_S if max_time is None else max_time,
    )


def available() -> int:
    """Memory in bytes that is available to this process, as far as the system reports it."""
    known = [free for free in (_machine(), _group(Path("/sys/fs/cgroup"))) if free is not None]
    # If the system does not report it, no limit is better than a wrong one.
    return min(known, default=2**62)


def _machine() -> int | None:
    """Available memory of the machine."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        # The total where the available memory is not reported.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _group(root: Path) -> int | None:
    """Available memory of the control group, from the files of version 2 or 1; `None` without a limit."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            most = int((root / limit).read_text(encoding="ascii"))
            now = int((root / used).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        # The page cache counts as used, and is reclaimed when memory is needed.
        return max(0, most - now + _files(root / Path(limit).parent))
    return None


def _files(group: Path) -> int:
    try:
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith(("inactive_file ", "total_inactive_file ")):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return 0

"""How a scheme looks: one colour, dash and marker for each, the same in every picture.

A family of schemes shares a colour of the palette of Okabe and Ito, which is told apart under every common colour
blindness; where markers are drawn they tell families apart in grey, too. Its members differ by dash.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import Any

from fanin import _core

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)

FAMILIES = {
    "dart": BLUE,
    "dcqcn": VERMILLION,
    "hpcc": GREEN,
    "timely": PURPLE,
    "dctcp": ORANGE,
    "newreno": SKY,
    "none": BLACK,
    "fixed": BLACK,
}
"""By the first word of a scheme's name. A family that is not here gets a colour by its name."""

DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot")
"""As Plotly calls them."""

MARKERS = ("circle", "square", "triangle-up", "diamond", "cross", "x")
"""As Plotly calls them."""


@dataclass(frozen=True)
class Look:
    """How the curve of a scheme is drawn."""

    colour: str
    """`#rrggbb`."""
    dash: str
    """One of `DASHES`."""
    marker: str
    """One of `MARKERS`."""

    def for_matplotlib(self) -> dict[str, Any]:
        """Keyword arguments of a Matplotlib line."""
        return {"color": self.colour, "linestyle": _LINESTYLES[self.dash]}

    def marker_for_matplotlib(self) -> str:
        """The marker as Matplotlib calls it."""
        return dict(zip(MARKERS, "os^DPX", strict=True))[self.marker]


_LINESTYLES: dict[str, str | tuple[int, tuple[float, ...]]] = {
    "solid": "-",
    "dash": "--",
    "dashdot": "-.",
    "dot": ":",
    "longdash": (0, (9.0, 3.0)),
    "longdashdot": (0, (9.0, 3.0, 1.0, 3.0)),
}


def look(scheme: str) -> Look:
    """The look of a scheme, or of several joined by `+` that share a network."""
    known = _looks()
    if scheme in known:
        return known[scheme]
    dashes = DASHES[1:]  # solid is for the first of a family
    return Look(_colour(scheme), dashes[zlib.crc32(scheme.encode()) % len(dashes)], MARKERS[-1])


def colours(names: Sequence[str]) -> list[str]:
    """A colour for each name: that of the scheme if it is the id of one, in any case, and else the next one left."""
    looks = _looks()
    known = [looks[name.lower()].colour if name.lower() in looks else None for name in names]
    left = cycle([colour for colour in COLOURS if colour not in known] or COLOURS)
    return [colour or next(left) for colour in known]


@cache
def _looks() -> dict[str, Look]:
    """Of every preset. Members of a family take dashes in the order of the registry; when those are used up, the next marker."""
    used: dict[str, int] = {}
    looks: dict[str, Look] = {}
    for row in _core.schemes():
        colour = _colour(row["id"])
        turn, place = divmod(used.get(colour, 0), len(DASHES))
        used[colour] = used.get(colour, 0) + 1
        looks[row["id"]] = Look(colour, DASHES[place], MARKERS[(COLOURS.index(colour) + turn) % len(MARKERS)])
    return looks


def _colour(scheme: str) -> str:
    family = re.split(r"[^a-z0-9]", scheme)[0]
    return FAMILIES.get(family) or COLOURS[zlib.crc32(family.encode()) % len(COLOURS)]

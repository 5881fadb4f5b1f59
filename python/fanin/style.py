"""The style of a scheme: one colour, dash and marker for each, the same in every picture.

A family of schemes shares a hue of the palette of Okabe and Ito, which can be told apart under every common form
of colour blindness. Its members differ by shade, dash and marker.

```python
from fanin.style import style_of, styles_of

print(style_of("hpcc").colour, style_of("hpcc").dash)
print({name: style.marker for name, style in styles_of(["hpcc", "hpcc (load=50 %)", "my-own"]).items()})
```
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from math import dist, inf
from typing import Any

from fanin import _core, own_schemes

__all__ = ["COLOURS", "MORE_COLOURS", "Style", "colours", "style_of", "styles_of"]

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
"""The palette: blue, vermillion, green, purple, orange, sky blue, black, as `#rrggbb`."""

FAMILIES = {
    "dart": BLUE,
    "dcqcn": VERMILLION,
    "hpcc": GREEN,
    "timely": PURPLE,
    "rcp": SKY,
    "expresspass": BLACK,
    "infiniband": ORANGE,
    "dctcp": ORANGE,
    "newreno": SKY,
    "cubic": BLACK,
    "rcc": PURPLE,
    "ictcp": GREEN,
    "none": BLACK,
    "fixed": BLACK,
    "ndp": SKY,
}
"""By the first word of a scheme's name. Other families have a colour by the hash of their name."""

MORE_COLOURS = ("#8C564B", "#7A7A7A", "#7A6F00", "#5B3A8C", "#A6D854")
"""For curves beyond those that the palette has colours for."""

GREY = MORE_COLOURS[1]
"""Of what stands back behind the others."""

MARK_COLOUR = "#aa0000"
"""Of the lines at which something fails."""

DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot")
"""As Plotly calls them."""

MARKERS = ("circle", "square", "triangle-up", "diamond", "cross", "x")
"""As Plotly calls them."""


@dataclass(frozen=True)
class Style:
    """The style of a scheme's curve."""

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


def style_of(scheme: str) -> Style:
    """The style of a scheme, or of several joined by `+` that share a network, where it is drawn alone."""
    known = _styles()
    if scheme in known:
        return known[scheme]
    dashes = DASHES[1:]  # solid is for the first of a family
    return Style(_colour(scheme), dashes[zlib.crc32(scheme.encode()) % len(dashes)], MARKERS[-1])


def styles_of(names: Sequence[str]) -> dict[str, Style]:
    """The styles of curves that are drawn together, the same for the same names in the same order.

    A name is the id of a scheme, alone or with a distinguishing setting, such as "dart (load=20 %)". A built-in scheme
    has its own colour and dash (alone it is solid), and one of one's own those that are unlike all others here. Where a
    scheme has several curves, the first has the style of the scheme, and each of the others a colour of its own.
    Markers differ while there are enough.
    """
    schemes = {name: name.split(" (")[0] for name in names}
    built_in = _styles()
    if len(schemes) == 1:
        # Nothing is to be told apart from it.
        (name,) = schemes
        return {name: replace(built_in.get(schemes[name]) or style_of(schemes[name]), dash=DASHES[0])}
    firsts = {scheme: built_in[scheme] for scheme in schemes.values() if scheme in built_in}
    for scheme in schemes.values():
        if scheme not in firsts:
            firsts[scheme] = _unlike(style_of(scheme), list(firsts.values()))
    taken = {one.colour for one in firsts.values()}
    left = [colour for colour in (*COLOURS, *MORE_COLOURS) if colour not in taken]
    found: dict[str, Style] = {}
    others = 0
    for name, scheme in schemes.items():
        if scheme in firsts:
            style = firsts.pop(scheme)
        else:
            turn, place = divmod(others, max(1, len(left)))
            colour = left[place] if left else COLOURS[others % len(COLOURS)]
            style = Style(colour, DASHES[turn % len(DASHES)], "")
            others += 1
        used = Counter([one.marker for one in found.values()])
        if style.marker not in MARKERS or used[style.marker]:
            used.update(one.marker for one in firsts.values())
            style = replace(style, marker=min(MARKERS, key=lambda marker: used[marker]))
        found[name] = style
    return found


ALIKE = 100.0
"""Colours that are closer in RGB are too alike for a scheme of one's own beside others."""


def _unlike(style: Style, others: Sequence[Style]) -> Style:
    """The style, with another colour and dash where these are like those of others."""

    def apart(colour: str) -> float:
        return min((dist(_rgb(colour), _rgb(one.colour)) for one in others), default=inf)

    dashes = Counter(one.dash for one in others)
    return replace(
        style,
        colour=style.colour if apart(style.colour) >= ALIKE else max((*COLOURS, *MORE_COLOURS), key=apart),
        dash=style.dash if not dashes[style.dash] else min(DASHES[1:], key=lambda dash: dashes[dash]),
    )


def colours(names: Sequence[str]) -> list[str]:
    """A colour for each name: that of the scheme if it is the id of one, in any case, and else the next one left."""
    styles = _styles()
    known = [styles[name.lower()].colour if name.lower() in styles else None for name in names]
    left = cycle([colour for colour in COLOURS if colour not in known] or COLOURS)
    return [colour or next(left) for colour in known]


SHADES = (0.0, -0.4, 0.45, -0.65)
"""Of the members of a family, in order: darker below zero, paler above. Black has none darker, so its members are
greys."""


@cache
def _styles() -> dict[str, Style]:
    """Of every built-in preset. Presets of one colour take shades, dashes and markers in turn: first the first of each
    family, so that these do not change with the number of variants, then the others, in the order of the registry."""
    own = {origin.id for origin in own_schemes.origins() if origin.kind == "scheme"}
    presets = [row["id"] for row in _core.schemes() if row["id"] not in own]
    firsts = list({_family(preset): preset for preset in reversed(presets)}.values())[::-1]
    used: dict[str, int] = {}
    styles: dict[str, Style] = {}
    for preset in dict.fromkeys([*firsts, *presets]):
        colour = _colour(preset)
        place = used.get(colour, 0)
        used[colour] = place + 1
        shade = SHADES[place % len(SHADES)]
        shown = _shaded(colour, abs(shade) if colour == BLACK else shade)
        marker = MARKERS[(COLOURS.index(colour) + place) % len(MARKERS)]
        styles[preset] = Style(shown, DASHES[place % len(DASHES)], marker)
    return styles


def _shaded(colour: str, by: float) -> str:
    """Towards white above zero, towards black below."""
    mixed = [part + (255 - part) * by if by > 0 else part * (1 + by) for part in _rgb(colour)]
    return "#" + "".join(f"{round(part):02X}" for part in mixed)


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _family(scheme: str) -> str:
    return re.split(r"[^a-z0-9]", scheme)[0]


def _colour(scheme: str) -> str:
    family = _family(scheme)
    return FAMILIES.get(family) or COLOURS[zlib.crc32(family.encode()) % len(COLOURS)]

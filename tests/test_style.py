"""One style per scheme."""

import colorsys
import math
from pathlib import Path

import pytest

from fanin import _core, load_scheme
from fanin.style import (
    BLUE,
    COLOURS,
    DASHES,
    FAMILIES,
    GREEN,
    MARKERS,
    PURPLE,
    VERMILLION,
    _styles,
    colours,
    style_of,
    styles_of,
)


def test_no_two_schemes_share_a_style() -> None:
    ids = [row["id"] for row in _core.schemes()]
    styles = [style_of(scheme) for scheme in ids]
    assert len(set(styles)) == len(ids)


def hue(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def test_members_of_a_family_share_a_hue_and_differ_in_shade_and_the_first_is_solid() -> None:
    assert style_of("dcqcn").colour == FAMILIES["dcqcn"]
    members = [style_of(scheme) for scheme in ("dcqcn", "dcqcn-win", "dcqcn-priq", "dcqcn-vendor")]
    assert [hue(one.colour) for one in members] == pytest.approx([hue(FAMILIES["dcqcn"])] * 4, abs=0.01)
    assert len({one.colour for one in members}) == len({one.marker for one in members}) == 4
    # Dots and bars have no dash, only colours.
    assert style_of("dctcp").colour != style_of("dctcp-rate").colour
    assert style_of("none").colour != style_of("fixed-window").colour
    assert style_of("dart").dash == style_of("dcqcn").dash == style_of("hpcc").dash == "solid"
    assert style_of("dcqcn") != style_of("dcqcn-win")
    in_grey = [style_of(scheme).marker for scheme in ("dart", "dcqcn", "hpcc", "dctcp", "timely")]
    assert len(set(in_grey)) == len(in_grey)


def test_unknown_and_joined_schemes_have_a_stable_style() -> None:
    assert style_of("dart+newreno") == style_of("dart+newreno")
    assert style_of("nonesuch").colour in COLOURS


def test_each_style_is_known_to_matplotlib() -> None:
    from matplotlib.lines import Line2D

    for scheme in (row["id"] for row in _core.schemes()):
        shown = style_of(scheme)
        assert shown.dash in DASHES
        assert shown.marker in MARKERS
        Line2D([0], [0], marker=shown.marker_for_matplotlib(), **shown.for_matplotlib())


def test_other_names_take_the_colours_that_are_left() -> None:
    assert colours(["theirs", "DCQCN", "dart", "ours"]) == [GREEN, VERMILLION, BLUE, PURPLE]
    assert len(colours([f"run {number}" for number in range(20)])) == 20


def test_curves_of_one_scheme_have_colours_of_their_own() -> None:
    names = [f"{scheme} (degree={degree})" for scheme in ("dart", "dcqcn") for degree in (4, 8, 16)]
    styles = styles_of(names)
    assert len({one.colour for one in styles.values()}) == len(names)
    assert styles[names[0]] == style_of("dart"), "the first curve has the style of its scheme"
    assert styles[names[3]] == style_of("dcqcn")
    assert styles_of(["dart", "dcqcn-win"]) == {"dart": style_of("dart"), "dcqcn-win": style_of("dcqcn-win")}
    many = styles_of([f"dart (load={number})" for number in range(40)])
    assert len(set(many.values())) == 40


def test_a_scheme_of_ones_own_is_unlike_those_beside_it() -> None:
    beside = ["dart", "rcp", "dcqcn", "timely", "hpcc"]
    alone = style_of("dart-mine")
    assert alone.colour == style_of("dart").colour, "of a family that has this colour"
    together = styles_of(["rcpish", "dart-mine", *beside])
    rgb = {name: [int(one.colour[at : at + 2], 16) for at in (1, 3, 5)] for name, one in together.items()}
    for mine in ("rcpish", "dart-mine"):
        assert min(math.dist(rgb[mine], rgb[other]) for other in rgb if other != mine) > 60
        assert [one.dash for one in together.values()].count(together[mine].dash) == 1
    assert len({one.marker for one in together.values()}) == len(MARKERS), "each at least once"
    assert [together[name].colour for name in beside] == [style_of(name).colour for name in beside]
    assert len({one.marker for one in styles_of(["rcpish", *beside]).values()}) == 6


def test_a_scheme_of_ones_own_changes_no_style_once_it_is_loaded(root: Path) -> None:
    before = style_of("window"), style_of("rcp")
    _styles.cache_clear()
    load_scheme(root / "examples" / "own" / "window.py:Window")
    assert (style_of("window"), style_of("rcp")) == before


def test_a_lone_scheme_is_solid() -> None:
    assert style_of("dctcp").dash != "solid"
    (alone,) = styles_of(["dctcp"]).values()
    assert (alone.dash, alone.colour) == ("solid", style_of("dctcp").colour)
    assert styles_of(["dctcp", "hpcc"])["dctcp"].dash == style_of("dctcp").dash

"""One look per scheme."""

import colorsys

import pytest

from fanin import _core
from fanin.looks import BLUE, COLOURS, DASHES, FAMILIES, GREEN, MARKERS, PURPLE, VERMILLION, among, colours, look


def test_no_two_schemes_look_alike() -> None:
    ids = [row["id"] for row in _core.schemes()]
    looks = [look(scheme) for scheme in ids]
    assert len(set(looks)) == len(ids)


def hue(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def test_members_of_a_family_share_a_hue_and_differ_in_shade_and_the_first_is_solid() -> None:
    assert look("dcqcn").colour == FAMILIES["dcqcn"]
    members = [look(scheme) for scheme in ("dcqcn", "dcqcn-win", "dcqcn-priq", "dcqcn-vendor")]
    assert [hue(one.colour) for one in members] == pytest.approx([hue(FAMILIES["dcqcn"])] * 4, abs=0.01)
    assert len({one.colour for one in members}) == len({one.marker for one in members}) == 4
    # Dots and bars have no dash to tell them apart.
    assert look("dctcp").colour != look("dctcp-rate").colour
    assert look("none").colour != look("fixed-window").colour
    assert look("dart").dash == look("dcqcn").dash == look("hpcc").dash == "solid"
    assert look("dcqcn") != look("dcqcn-win")
    in_grey = [look(scheme).marker for scheme in ("dart", "dcqcn", "hpcc", "dctcp", "timely-ns3")]
    assert len(set(in_grey)) == len(in_grey)


def test_unknown_and_joined_schemes_have_a_look_that_stays() -> None:
    assert look("dart+newreno") == look("dart+newreno")
    assert look("nonesuch").colour in COLOURS


def test_each_look_is_known_to_matplotlib() -> None:
    from matplotlib.lines import Line2D

    for scheme in (row["id"] for row in _core.schemes()):
        shown = look(scheme)
        assert shown.dash in DASHES
        assert shown.marker in MARKERS
        Line2D([0], [0], marker=shown.marker_for_matplotlib(), **shown.for_matplotlib())


def test_other_names_take_the_colours_that_are_left() -> None:
    assert colours(["theirs", "DCQCN", "dart", "ours"]) == [GREEN, VERMILLION, BLUE, PURPLE]
    assert len(colours([f"run {number}" for number in range(20)])) == 20


def test_curves_of_one_scheme_have_colours_of_their_own() -> None:
    names = [f"{scheme} (degree={degree})" for scheme in ("dart", "dcqcn") for degree in (4, 8, 16)]
    looks = among(names)
    assert len({one.colour for one in looks.values()}) == len(names)
    assert looks[names[0]] == look("dart"), "the first looks as its scheme does"
    assert looks[names[3]] == look("dcqcn")
    assert among(["dart", "dcqcn-win"]) == {"dart": look("dart"), "dcqcn-win": look("dcqcn-win")}
    many = among([f"dart (load={number})" for number in range(40)])
    assert len(set(many.values())) == 40

"""One look per scheme."""

from fanin import _core
from fanin.looks import BLUE, COLOURS, DASHES, FAMILIES, GREEN, MARKERS, PURPLE, VERMILLION, colours, look


def test_no_two_schemes_look_alike() -> None:
    ids = [row["id"] for row in _core.schemes()]
    looks = [look(scheme) for scheme in ids]
    assert len(set(looks)) == len(ids)
    assert {one.colour for one in looks} <= set(COLOURS)


def test_families_share_a_colour_and_the_first_is_solid() -> None:
    assert look("dcqcn").colour == look("dcqcn-win").colour == FAMILIES["dcqcn"]
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

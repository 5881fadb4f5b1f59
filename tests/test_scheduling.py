"""Weights and priorities of classes as users write them: a test plan for switches."""

from typing import Any

import pytest

import fanin

NETWORK = {
    "topology": {
        "kind": "dumbbell",
        "left": 2,
        "right": 2,
        "link": "100 Gbps",
        "delay": "1 us",
        "bottleneck": "100 Gbps",
    },
    "buffer": {"policy": "lossless", "per_port": "500 KB"},
    "classes": [{"name": "a"}, {"name": "b"}],
}
TRAFFIC: list[dict[str, Any]] = [
    {
        "name": name,
        "scheme": "none",
        "class": name,
        "pattern": {"kind": "long", "senders": [f"h{at}"], "receivers": [f"h{at + 2}"], "count": 1},
    }
    for at, name in enumerate("ab")
]
TWO = {
    "spec_version": 1,
    "name": "classes",
    "network": NETWORK,
    "traffic": TRAFFIC,
    "measure": {"warm_up": "100 us", "window": "1 ms"},
}
"""Two flows of two classes, each at the rate of the one link that both cross."""
PAYLOAD = 100 * 1460 / 1522
"""What a link carries of payload, in Gb/s."""


@pytest.mark.parametrize(
    ("a", "b", "shares"),
    [
        ("", "", (1 / 2, 1 / 2)),
        (", weight=15", ", weight=5", (3 / 4, 1 / 4)),
        ("", ", weight=4", (1 / 5, 4 / 5)),
        (", priority=1", ", priority=2", (1, 0)),
        ("", ", priority=7", (0, 1)),
        (", priority=3, weight=2", ", priority=3, weight=3", (2 / 5, 3 / 5)),
    ],
)
def test_weights_and_priorities_divide_a_link(a: str, b: str, shares: tuple[float, float]) -> None:
    found = fanin.run(TWO, set=[f'network.classes=[{{name="a"{a}}}, {{name="b"{b}}}]'], progress=False)
    goodputs = [traffic["goodput_gbps"] for traffic in found.summary()["traffics"]]
    assert goodputs == pytest.approx([share * PAYLOAD for share in shares], rel=0.002, abs=0.001)


def test_explain_shows_whose_turn_is_when() -> None:
    classes = 'network.classes=[{name="a", priority=1}, {name="b", weight=3}]'
    turns = [(of["priority"], of["weight"]) for of in fanin.explain(TWO, set=[classes])["classes"]]
    assert turns == [(1, 1), (None, 3)]
    assert [(of["priority"], of["weight"]) for of in fanin.explain(TWO)["classes"]] == [(None, None)] * 2


def test_a_host_on_a_wire_chooses_as_in_the_simulator() -> None:
    traffic = [{**of, "pattern": {**of["pattern"], "senders": ["h0"]}} for of in TRAFFIC]
    classes = [{"name": "a", "weight": 3}, {"name": "b", "weight": 2}]
    spec = {**TWO, "traffic": traffic, "network": {**NETWORK, "classes": classes}, "measure": {"window": "100 us"}}
    places = [fanin.run(spec, on=on, progress=False) for on in ("simulator", "wire")]
    one, other = (found.flows() for found in places)
    assert one.equals(other)
    a, b = one["delivered_bytes"] / 1460
    assert abs(2 * a - 3 * b) < 6, "within a turn of three packets and two"

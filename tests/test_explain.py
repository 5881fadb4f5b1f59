"""What can be known of a run before it runs."""

import threading
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console

from fanin import SpecError
from fanin.drawing import draw
from fanin.explanation import count, duration, explain, percent, rate, size, table

ROOT = Path(__file__).resolve().parent.parent
INCAST = ROOT / "examples" / "incast.toml"
COEXISTENCE = ROOT / "examples" / "coexistence.toml"


def test_an_example_is_explained_without_running_it() -> None:
    explained = explain(INCAST, set=["measure.window=2 ms"])
    network = explained["network"]
    assert (network["hosts"], network["switches"], network["links"]) == (1024, 144, 1536)
    assert [length["links"] for length in network["paths"]["lengths"]] == [2, 4, 6]
    assert sum(length["host_pairs"] for length in network["paths"]["lengths"]) == 1024 * 1023
    # The spec offers 16 % of the ToR uplinks in messages with an end.
    uplinks = next(load for load in explained["load"] if load["tier"] == "tor-uplink")
    assert uplinks["share"] == pytest.approx(0.16, rel=0.05)
    queries, updates = explained["traffics"]
    assert (queries["endless_messages"], updates["messages"]) == (0, 0)
    assert updates["endless_messages"] == 61
    assert explained["cost"]["packet_hops"] == pytest.approx(
        sum(part["amount"] for part in explained["cost"]["packet_hops_of"])
    )


def test_scheme_seed_and_keys_can_be_changed() -> None:
    explained = explain(COEXISTENCE, scheme="dctcp", seed=7, set=["measure.window=1 ms"])
    assert explained["seed"] == 7
    assert {(traffic["scheme"], traffic["transport"]) for traffic in explained["traffics"]} == {("dctcp", "tcp")}


def test_the_table_fits_a_terminal_and_says_the_main_numbers() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table(explain(COEXISTENCE, set=["measure.window=2 ms"])))
    text = captured.get()
    assert max(len(line) for line in text.splitlines()) <= 100
    for words in ("32 hosts", "tor-uplink", "min 20 KB", "XOFF", "packet-hops", "dcqcn over rdma", "Not counted"):
        assert words in text, words


def test_a_headroom_that_is_too_small_is_told() -> None:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table(explain(INCAST, set=["measure.window=1 ms", "network.buffer.headroom=1 KB"])))
    assert "not enough" in captured.get()


def test_faults_are_told_as_anywhere(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"measure\.window"):
        explain(INCAST, set=["measure.window=0 s"])
    with pytest.raises(OSError, match=r"missing\.toml"):
        explain(tmp_path / "missing.toml")


def test_other_threads_go_on_meanwhile() -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    # A million messages to count, without the interpreter's lock.
    explain(INCAST, set=["measure.window=200 ms"])
    done.set()
    thread.join()
    assert len(ticks) > 20


def test_numbers_are_shown_with_three_digits() -> None:
    assert [count(0), count(999), count(4_739_756), count(12e9)] == ["0", "999", "4.74 M", "12 G"]
    assert [size(1), size(22_500), size(999_960)] == ["1 B", "22.5 KB", "1 MB"]
    assert [rate(10e9), rate(2.5e12)] == ["10 Gb/s", "2.5 Tb/s"]
    assert [duration(67.5e-6), duration(0), duration(1.5), duration(600), duration(7200)] == [
        "67.5 us",
        "0 ns",
        "1.5 s",
        "10 min",
        "2 h",
    ]
    assert [percent(0.16149), percent(1)] == ["16.1 %", "100 %"]


def overprinted(figure: Figure) -> list[str]:
    """Texts of a drawing that lie over one another, or beyond it."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in figure.axes[0].texts]
    beyond = [f"{said} beyond" for said, box in boxes if box.x0 < figure.bbox.x0 or box.x1 > figure.bbox.x1]
    return beyond + [f"{one} over {two}" for (one, box), (two, other) in combinations(boxes, 2) if box.overlaps(other)]


def test_a_network_is_drawn_by_kinds_of_nodes(tmp_path: Path) -> None:
    rails = {"kind": "rails", "servers": 4, "gpus": 8, "spines": 4, "link": "400 Gbps", "delay": "500 ns"}
    spec: dict[str, Any] = {
        "spec_version": 1,
        "name": "rails",
        "network": {"topology": {**rails, "nvlink": "2880 Gbps"}, "buffer": {"policy": "unlimited"}},
        "traffic": [{"name": "job", "scheme": "none", "pattern": {"kind": "all-reduce", "size": "1 MB"}}],
        "measure": {"window": "1 s", "stop_when_done": True},
    }
    explained = explain(spec)
    network = explained["network"]
    found = [(kind["level"], kind["nodes"], kind["name"]) for kind in network["kinds"]]
    assert found == [(-1, 4, "nv"), (0, 32, "gpu"), (1, 8, "leaf"), (2, 4, "spine")]
    between = {tuple(of["between"]): (of["links"], of["rate_bps"], of["delay_ps"]) for of in network["between"]}
    assert between == {
        (0, 1): (32, 2_880_000_000_000, 25_000),
        (1, 2): (32, 400_000_000_000, 500_000),
        (2, 3): (32, 400_000_000_000, 500_000),
    }
    figure = draw(explained, tmp_path / "rails.png")
    said = {text.get_text() for text in figure.axes[0].texts}
    assert {"4 nv", "32 gpu", "8 leaf", "4 spine", "32 links\n2.88 Tb/s, 25 ns"} <= said
    # From each GPU: 7 of its server, 3 of its rail, and 21 over four spines.
    assert "32.3 % of pairs are 2 links apart\n67.7 % of pairs are 4 links apart, by 4 paths" in said
    assert (tmp_path / "rails.png").stat().st_size > 10_000
    # Without spines the leaves and NVLink are two kinds above one.
    apart: dict[str, Any] = {**rails, "gpus": 4, "spines": 0, "nvlink": "900 Gbps"}
    pattern = {"kind": "all-to-all", "size": "1 MB", "pxn": True, "server": 4}
    alone = {
        **spec,
        "network": {**spec["network"], "topology": apart},
        "traffic": [{**spec["traffic"][0], "pattern": pattern}],
    }
    torus = {"file": str(ROOT / "examples" / "collectives" / "torus.yml")}
    among = {**spec, "network": {**spec["network"], "topology": torus}}
    for one in (spec, alone, among, INCAST):
        assert overprinted(draw(explain(one))) == []
    # Of many kinds of names, hosts and switches by level remain.
    many = {f"h{letter}1" for letter in "abcdefghijklmnopqrst"}
    links = [{"between": [host, "top"], "rate": "1 Gbps", "delay": "1 us"} for host in sorted(many)]
    spec["network"]["topology"] = {"kind": "graph", "hosts": sorted(many), "switches": ["top"], "links": links}
    kinds = explain(spec)["network"]["kinds"]
    assert [(kind["level"], kind["nodes"], kind["name"]) for kind in kinds] == [(0, 20, "host"), (1, 1, "switch")]

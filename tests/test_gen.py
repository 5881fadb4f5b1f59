"""`fanin gen`: files in the format of the ns-3 HPCC simulator, and errors for impossible options."""

from pathlib import Path

import pytest

from conftest import Command


def made(command_here: Command, *arguments: str | Path) -> str:
    """The standard output of a command that succeeds."""
    done = command_here("gen", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def flows(text: str) -> list[tuple[int, int, int, int, int, float]]:
    """Source, destination, group, port, bytes and start of each flow; the first line has to count them."""
    count, *lines = text.splitlines()
    assert int(count) == len(lines)
    words = [line.split() for line in lines]
    return [(int(w[0]), int(w[1]), int(w[2]), int(w[3]), int(w[4]), float(w[5])) for w in words]


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        (["star", "--hosts", "5"], "6 1 5", "4 5 100Gbps 1000ns 0.000000"),
        (["star", "--hosts", "2", "--rate", "25 Gbps", "--delay", "500ns"], "3 1 2", "1 2 25Gbps 500ns 0.000000"),
        (["fat-tree", "--k", "4"], "36 20 48", "31 35 100Gbps 1000ns 0.000000"),
        (["hpcc-320"], "376 56 480", "359 375 400Gbps 1000ns 0.000000"),
    ],
)
def test_topologies(command_here: Command, tmp_path: Path, arguments: list[str], first: str, last: str) -> None:
    text = made(command_here, "topology", *arguments, "-o", "-")
    lines = text.splitlines()
    nodes, switches, links = map(int, lines[0].split())
    assert (lines[0], lines[-1]) == (first, last)
    assert len(lines) == 2 + links
    assert lines[1].split() == [str(node) for node in range(nodes - switches, nodes)]
    assert made(command_here, "topology", *arguments, "-o", "topo.txt") == ""
    assert (tmp_path / "topo.txt").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["topo.txt"]


def test_background_traffic_has_its_load_and_repeats(command_here: Command) -> None:
    wishes = ["flows", "--cdf", "fbhadoop", "--hosts", "16", "--load", "0.5", "--bandwidth", "10Gbps", "-o", "-"]
    text = made(command_here, *wishes, "--time", "20ms")
    rows = flows(text)
    assert text == made(command_here, *wishes, "--time", "20ms", "--seed", "1")
    assert text != made(command_here, *wishes, "--time", "20ms", "--seed", "2")
    assert all(src != dst and 0 <= src < 16 and 0 <= dst < 16 and size >= 1 for src, dst, _, _, size, _ in rows)
    assert {row[2:4] for row in rows} == {(3, 100)}
    starts = [row[5] for row in rows]
    assert starts == sorted(starts)
    assert 2.0 <= starts[0] < 2.001
    assert 2.019 < starts[-1] <= 2.02
    # 16 hosts at 5 Gb/s of payload for 20 ms are 200 MB; the sizes have a long tail.
    assert sum(row[4] for row in rows) == pytest.approx(200e6, rel=0.25)


def test_sizes_come_from_a_file_too(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000 0\n2000 50 # half\n3000 100\n")
    wishes = ["--hosts", "4", "--load", "0.3", "--bandwidth", "100Gbps", "--time", "100us", "-o", "-"]
    rows = flows(made(command_here, "flows", "--cdf", "sizes.txt", *wishes))
    assert rows
    assert all(1000 <= row[4] < 3000 for row in rows)


def test_hosts_are_those_of_the_topology(command_here: Command, tmp_path: Path) -> None:
    # Switch 0, so that no host has its number in a row of hosts as its id; the rate is theirs.
    links = "".join(f"{host} 0 40Gbps 1us 0\n" for host in range(1, 6))
    (tmp_path / "topo.txt").write_text("6 1 5\n0\n" + links)
    of = ["--topology", "topo.txt", "-o", "-"]
    rows = flows(made(command_here, "flows", "--cdf", "websearch", "--load", "0.8", "--time", "10ms", *of))
    assert {row[0] for row in rows} == {1, 2, 3, 4, 5} == {row[1] for row in rows}
    rows = flows(made(command_here, "permutation", *of))
    assert sorted(row[0] for row in rows) == sorted(row[1] for row in rows) == [1, 2, 3, 4, 5]
    rows = flows(made(command_here, "incast", "--receiver", "3", "--senders", "4", "--size", "8 KB", *of))
    assert sorted(row[0] for row in rows) == [1, 2, 4, 5]
    assert {row[1:] for row in rows} == {(3, 3, 200, 8000, 2.0)}


LAWS = {
    "hpcc": {"CC_MODE": "3", "RATE_AI": "40Mb/s", "INT_MULTI": "4", "ACK_HIGH_PRIO": "0", "VAR_WIN": "1"},
    "dcqcn": {"CC_MODE": "1", "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s", "HAS_WIN": "0", "ACK_HIGH_PRIO": "1"},
    "dcqcn-win": {"CC_MODE": "1", "RP_TIMER": "300", "HAS_WIN": "1", "VAR_WIN": "1", "ACK_HIGH_PRIO": "0"},
    "dcqcn-paper": {"ALPHA_RESUME_INTERVAL": "50", "RATE_DECREASE_INTERVAL": "50", "RP_TIMER": "55"},
    "dcqcn_paper_vwin": {"ALPHA_RESUME_INTERVAL": "50", "HAS_WIN": "1"},
    "timely": {"CC_MODE": "7", "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s", "HAS_WIN": "0", "ACK_HIGH_PRIO": "1"},
    "timely-win": {"CC_MODE": "7", "HAS_WIN": "1", "ACK_HIGH_PRIO": "1"},
    "dctcp": {"CC_MODE": "8", "DCTCP_RATE_AI": "615Mb/s", "EWMA_GAIN": "0.0625"},
}


@pytest.mark.parametrize("law", LAWS)
def test_configurations_are_those_of_its_script(command_here: Command, law: str) -> None:
    assert made(command_here, "topology", "star", "-o", "topo.txt") == ""
    assert made(command_here, "incast", "--topology", "topo.txt", "--senders", "2", "-o", "flow.txt") == ""
    text = made(command_here, "config", "--cc", law, "--topology", "topo.txt", "--flows", "flow.txt", "-o", "-")
    keys = dict(line.split(" ", 1) for line in text.splitlines())
    assert {key: keys[key] for key in LAWS[law]} == LAWS[law]
    assert (keys["TOPOLOGY_FILE"], keys["FLOW_FILE"], keys["BUFFER_SIZE"]) == ("topo.txt", "flow.txt", "32")
    kmin = "300 400000000000 1200" if law == "dctcp" else "400 400000000000 1600"
    assert keys["KMIN_MAP"] == f"2 100000000000 {kmin}"
    # It has no key without effect, so no run warns.
    assert not {"PINT_PROB", "DATA_RATE", "USE_DYNAMIC_PFC_THRESHOLD"} & keys.keys()


WRONG = [
    (["topology", "fat-tree", "--k", "5"], "k is even"),
    (["topology", "fat-tree", "--rate", "100"], '--rate: "100" is not a rate: the unit is missing'),
    (["topology", "star", "--delay", "0.5ns"], "not a whole number of ns"),
    (["topology", "star", "--hosts", "1"], "at least 2 hosts"),
    (["topology", "star", "--rate", "0 bps"], "above 0 bps"),
    (["topology", "star", "--delay", "11s"], "more than 10 s"),
    (["flows", "--cdf", "nowhere.txt", "--load", "0.3", "--hosts", "4"], "WebSearch, FB_Hadoop, AliStorage"),
    (["flows", "--cdf", "websearch", "--load", "0.3"], "give their number, like --hosts 16, or a topology"),
    (["flows", "--cdf", "websearch", "--load", "0.3", "--hosts", "4"], "like --bandwidth 100Gbps"),
    (["flows", "--cdf", "websearch", "--load", "-1", "--hosts", "4", "--bandwidth", "1Gbps"], "a load of -1"),
    (["flows", "--cdf", "bad.txt", "--load", "1", "--hosts", "4"], "bad.txt:2: "),
    (["permutation", "--hosts", "1"], "--hosts 1: flows are for 2 to 65536"),
    (["permutation", "--hosts", "4", "--topology", "topo.txt"], "leave --hosts out"),
    (["permutation", "--topology", "nowhere.txt"], "nowhere.txt: cannot be read"),
    (["permutation", "--hosts", "4", "--size", "2000000 TB"], "less than 2^60 B"),
    (["incast", "--hosts", "4", "--senders", "4"], "of 4 hosts 1 to 3 can send"),
    (["incast", "--hosts", "4", "--senders", "1", "--receiver", "4"], "hosts are 0 to 3"),
    (["config", "--cc", "pint", "--topology", "topo.txt", "--flows", "flow.txt"], "known: hpcc, dcqcn"),
    (["config", "--cc", "hpcc", "--topology", "topo.txt", "--flows", "nowhere.txt"], "nowhere.txt: cannot be read"),
    (["config", "--cc", "hpcc", "--topology", "a b.txt", "--flows", "flow.txt"], "have no spaces"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG)
def test_what_cannot_be_is_told(command_here: Command, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "bad.txt").write_text("0 0\nmany 100\n")
    for name in ("topo.txt", "a b.txt"):
        (tmp_path / name).write_text("3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0\n")
    (tmp_path / "flow.txt").write_text("1\n0 1 3 100 5 2\n")
    done = command_here("gen", *arguments, "-o", "out.txt")
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert told in done.stderr
    assert not (tmp_path / "out.txt").exists()


def test_a_file_is_not_replaced_unasked(command_here: Command, tmp_path: Path) -> None:
    out = tmp_path / "topo.txt"
    out.write_text("mine")
    done = command_here("gen", "topology", "star", "-o", out)
    assert done.returncode == 2
    assert f"{out}: exists; choose another file or allow replacing it with --force" in done.stderr
    assert out.read_text() == "mine"
    made(command_here, "topology", "star", "-o", out, "--force")
    assert out.read_text().startswith("18 1 17\n")
    assert command_here("gen", "topology", "star", "-o", tmp_path, "--force").returncode == 2
    assert command_here("gen", "topology", "star", "-o", tmp_path / "no" / "topo.txt").returncode == 2

"""`python -m bench side-by-side`: ours measured, others run on the same files, and failures reported in a line."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fanin
from bench import inputs, ours, peers, report, side_by_side
from bench.__main__ import side_by_side_command
from bench.scenarios import CASES, WORKLOADS, Case
from conftest import ROOT
from fanin import hpcc
from fanin.run_folder import RunError

NS3 = """\
import sys
keys = dict(line.split(" ", 1) for line in open(sys.argv[1]).read().splitlines())
assert len(sys.argv) == 2 and open(keys["TRACE_FILE"]).read() == "0\\n"
assert (keys["CC_MODE"], keys["RATE_AI"], keys["U_TARGET"], keys["MI_THRESH"]) == ("3", "50Mb/s", "0.95", "0"), keys
assert (keys["ENABLE_TRACE"], keys["L2_ACK_INTERVAL"]) == ("0", "1")
nodes, switches, links = map(int, open(keys["TOPOLOGY_FILE"]).readline().split())
flows = [line.split() for line in open(keys["FLOW_FILE"]).read().splitlines()[1:]]
payload = int(keys["PACKET_PAYLOAD_SIZE"])
total = 0
with open(keys["FCT_OUTPUT_FILE"], "w") as out:
    for src, dst, _, port, size, start in flows:
        took = int(size) // 10
        for _ in range(int(size) // payload * 800):
            total += 1
        address = lambda node: format(0x0B000001 + int(node) * 256, "08x")
        out.write(f"{address(src)} {address(dst)} 10000 {port} {size} 2000000000 {took} 100\\n")
"""
"""What the ns-3 HPCC simulator does with a configuration, as far as can be seen from outside."""

HTSIM = """\
import re, sys
told = dict(zip(sys.argv[1::2], sys.argv[2::2]))
wanted = {"-nodes": "128", "-strat": "ecmp_host", "-linkspeed": "100000", "-hop_latency": "1"}
assert wanted.items() <= told.items(), told
text = open(told["-tm"]).read().splitlines()
assert text[0] == "Nodes 128"
assert text[1] == f"Connections {len(text) - 2}"
total = 0
for line in text[2:]:
    numbers = re.fullmatch(r"(\\d+)->(\\d+) id (\\d+) start (\\d+) size (\\d+)", line).groups()
    src, dst, number, start, size = map(int, numbers)
    for _ in range(size // int(told["-mtu"]) * 800):
        total += 1
    print(f"CWND1 1 ACKNO {size} at 3 src x")
    print(f"Flow Hpcc_{src}_{dst} finished at {start / 1e6 + 5.25} total bytes {size}")
"""


def program(path: Path, text: str) -> Path:
    """A program that behaves like a peer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -I\n{text}")
    path.chmod(0o755)
    return path


def bench(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in the repository, with its files in `folder`."""
    line = [sys.executable, "-m", "bench", "side-by-side", "--work", folder / "work", "--out", folder, *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def read(folder: Path) -> side_by_side.Report:
    """What the command left."""
    return side_by_side.load(folder / report.SIDE_BY_SIDE)


def test_ours_and_both_peers_run_the_same_work(tmp_path: Path) -> None:
    ns3 = program(tmp_path / "third", NS3)
    htsim = program(tmp_path / "htsim" / "htsim_hpcc", HTSIM).parent
    told = ["--case", "s1-hpcc-4000", "--case", "s2-hpcc-1000", "--scale", "0.01", "--repeat", "1"]
    done = bench(tmp_path, *told, "--ns3", ns3, "--htsim", htsim)
    assert done.returncode == 0, done.stderr
    rows = read(tmp_path)["rows"]
    who = [(row["case"], row["who"], row["source"]) for row in rows]
    assert who == [
        ("s1-hpcc-4000", "Fanin", "ours"),
        ("s1-hpcc-4000", "ns-3 HPCC", "binary"),
        ("s1-hpcc-4000", "htsim", "binary"),
        ("s2-hpcc-1000", "Fanin", "ours"),
        ("s2-hpcc-1000", "ns-3 HPCC", "binary"),
    ]
    own, ns3_row, htsim_row = rows[:3]
    # 128 flows of 100 kB are 25 packets each, with an ACK for every one, over 2, 4 or 6 links.
    assert 128 * 25 * 2 * 2 < own["packet_hops"] < 128 * 25 * 2 * 6
    assert own["packet_hops"] == ns3_row["packet_hops"] == htsim_row["packet_hops"]
    assert [row["hops_by"] for row in rows] == ["Fanin"] * 5
    assert [row["finished"] for row in rows] == [128, 128, 128, 64, 64]
    assert ns3_row["fct_us"] == [10.0, 10.0, 10.0]
    assert htsim_row["fct_us"] == [5.25, 5.25, 5.25]
    # 128 flows of 25 packets of 800 steps took some time, which starting Python is no part of.
    assert ns3_row["user_s"] > 0.02
    assert ns3_row["setup_s"] is not None
    # Programs are measured by themselves, not with the memory of who starts them.
    assert 2e6 < ns3_row["peak_rss_bytes"] < 40e6
    assert "made with seed 1" in done.stderr
    assert "times ours" in done.stdout


def test_a_program_that_counts_hops_is_believed(tmp_path: Path) -> None:
    folder = program(tmp_path / "htsim_hpcc", HTSIM + '\nprint("link hops: 1234567")\n').parent
    case = CASES["s1-hpcc-4000"]
    measured = side_by_side.measure([case], [peers.Htsim(folder)], tmp_path / "work", scale=0.001, repeat=1)
    row = measured["rows"][1]
    assert (row["packet_hops"], row["hops_by"]) == (1_234_567, "htsim")


def test_one_program_of_htsim_runs_its_cases_only(tmp_path: Path) -> None:
    only = peers.Htsim(program(tmp_path / "htsim_roce", HTSIM))
    assert [case.id for case in CASES.values() if only.has(case)] == ["s1-roce-1500", "s2-roce-1500", "s4-roce-1500"]
    measured = side_by_side.measure([CASES["s3a-hpcc-1000"]], [only], tmp_path / "work", scale=0.01, repeat=1)
    assert measured["problems"] == ["htsim: its program runs none of these cases"]
    assert len(measured["rows"]) == 1


def test_what_fails_is_a_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    abort = textwrap.indent(
        'import os, sys\nsys.stdout.flush()\nprint("queue.cpp:502", file=sys.stderr, flush=True)\nos.abort()\n', "    "
    )
    crashing = program(tmp_path / "htsim_hpcc", HTSIM + "\nif len(text) > 3:\n" + abort).parent
    told = ["--case", "s1-hpcc-4000", "--case", "s1-roce", "--scale", "0.001", "--repeat", "1"]
    done = bench(tmp_path, *told, "--ns3", tmp_path / "no-such", "--htsim", crashing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [f"error: {problem}" for problem in read(tmp_path)["problems"]]
    missing, crashed, none = errors
    assert (
        missing
        == f"error: {tmp_path / 'no-such'}: cannot be started (No such file or directory); it must be a built program"
    )
    assert crashed == "error: s1-hpcc-4000: htsim: killed by SIGABRT: queue.cpp:502, after 128 of 128 flows"
    assert str(tmp_path / "htsim_roce") in none
    assert [row["case"] for row in read(tmp_path)["rows"]] == ["s1-hpcc-4000", "s1-roce-1500"]


def test_flows_that_did_not_finish_are_no_result(tmp_path: Path) -> None:
    case = CASES["s1-hpcc-1000"]
    lazy = peers.Ns3(program(tmp_path / "third", NS3.replace("in flows:", "in flows[:100]:")))
    made = inputs.make(case.workload, tmp_path / "work", None, 0.001)
    with pytest.raises(RunError, match="s1-hpcc-1000: ns-3 HPCC: ended well, but only 100 of 128 flows finished"):
        peers.measure(lazy, case, made, tmp_path / "work" / "ns-3", repeat=1)


def test_files_that_are_given_are_used(tmp_path: Path) -> None:
    work = WORKLOADS["s2"]
    made = inputs.make(work, tmp_path / "made", None, 1.0)
    given = tmp_path / "given"
    given.mkdir()
    (given / work.topology).write_bytes(made.topology.read_bytes())
    (given / work.flows).write_text("2 \n5 0 3 100 3000 2.000000000\n6 0 3 100 4000 2.000000067\n")
    used = inputs.make(work, tmp_path / "used", given, 1.0)
    assert [(flow.src, flow.bytes, flow.start_ns) for flow in used.flows] == [(5, 3000, 0), (6, 4000, 67)]
    assert used.matrix.read_text().splitlines()[2:] == [
        "5->0 id 1 start 0 size 3000",
        "6->0 id 2 start 67000 size 4000",
    ]
    assert used.flow_file.read_text().splitlines()[2] == "6 0 3 100 4000 2.000000067"
    assert used.origin == "given as topo_k8_128.txt and flow_k8_incast64.txt"
    (given / work.flows).write_text("1\n5 0 3 lots\n")
    with pytest.raises(RunError, match=r'flow_k8_incast64\.txt:2: "5 0 3 lots" is no flow; right is: src dst'):
        inputs.make(work, tmp_path / "used", given, 1.0)
    with pytest.raises(RunError, match=r"topo_k16_1024\.txt: cannot be read"):
        inputs.make(WORKLOADS["s4"], tmp_path / "used", given, 1.0)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every_case_is_a_spec_that_simulates_its_flows(case: Case, tmp_path: Path) -> None:
    made = inputs.make(case.workload, tmp_path, None, 0.002)
    result = fanin.run(ours.spec(case, made, 0.002), progress=False)
    flows = result.flows()
    assert len(flows) == len(made.flows)
    assert flows["acked_ps"].null_count() == (len(flows) if case.endless else 0)
    # An ACK for every packet: each flow has one packet at least, over two links there and back.
    assert result.manifest["packet_hops"] >= 4 * len(flows)


def test_set_up_is_a_run_of_no_packet(tmp_path: Path) -> None:
    case = CASES["s1-hpcc-1000"]
    made = inputs.make(case.workload, tmp_path, None, 0.05)
    got = ours.measure(case, made, tmp_path / "fanin", repeat=1, scale=0.05)
    assert got.user_s > got.setup_s


def test_the_configuration_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = inputs.make(CASES["s1-dcqcn-1500"].workload, tmp_path, None, 0.001)
    (tmp_path / "config.txt").write_text(peers.configuration(CASES["s1-dcqcn-1500"], made))
    (tmp_path / "trace.txt").write_text("0\n")
    monkeypatch.chdir(tmp_path)
    result = hpcc.run_hpcc("config.txt", progress=False)
    assert len(result.flows()) == 128


def test_one_packet_is_on_the_same_network(tmp_path: Path) -> None:
    made = inputs.make(WORKLOADS["s2"], tmp_path, None, 1.0)
    one = made.one_packet()
    assert one.topology.read_text() == made.topology.read_text()
    assert one.flow_file.read_text().splitlines()[0] == "1"


def test_unknown_cases_are_refused(tmp_path: Path) -> None:
    done = bench(tmp_path, "--case", "s9")
    assert done.returncode == 2
    assert done.stderr.startswith('error: no case "s9"; the cases are s1-hpcc-4000, ')


def test_the_page_is_about_cases_as_they_are() -> None:
    with pytest.raises(RunError, match="leave --scale out"):
        side_by_side_command(doc=True, scale=0.5)


def test_cases_that_were_not_run_keep_their_rows_and_date() -> None:
    earlier = side_by_side.load(report.RESULTS / report.SIDE_BY_SIDE)
    again = [row for row in earlier["rows"] if row["case"] == "s2-hpcc-1000"]
    joined = side_by_side.joined(earlier, side_by_side.Report(**{**earlier, "measured": "2030-01-01", "rows": again}))
    assert [row["case"] for row in joined["rows"]] == [row["case"] for row in earlier["rows"]]
    dates = {row["case"]: row.get("measured", joined["measured"]) for row in joined["rows"]}
    assert dates.pop("s2-hpcc-1000") == again[0].get("measured", "2030-01-01")
    assert set(dates.values()) <= {earlier["measured"], *(row.get("measured", "") for row in earlier["rows"])}


def test_figures_are_of_cases_and_say_what_the_survey_says() -> None:
    figures = peers.figures()
    assert {figure["case"] for figure in figures} <= set(CASES)
    assert {figure["peer"] for figure in figures} == {peers.NS3, peers.HTSIM}
    rates = {(figure["case"], figure["peer"]): figure["hops_m"] / figure["user_s"] for figure in figures}
    assert rates["s1-hpcc-4000", peers.HTSIM] == pytest.approx(1.71, abs=0.01)
    assert rates["s1-dctcp-1500", peers.HTSIM] == pytest.approx(3.48, abs=0.01)
    assert rates["s4-hpcc-1000", peers.NS3] == pytest.approx(0.23, abs=0.01)


def test_the_ratio_is_of_user_cpu_for_each_hop() -> None:
    row = side_by_side.Row(
        case="s1-hpcc-4000",
        who="Fanin",
        source="ours",
        packet_hops=2_000_000,
        hops_by="Fanin",
        user_s=0.5,
        setup_s=0.1,
        peak_rss_bytes=20_000_000,
        events=1,
        flows=1,
        finished=1,
        fct_us=[],
        note="",
    )
    other = row | side_by_side.Row(
        **(row | {"who": "htsim", "source": "binary", "packet_hops": 1_000_000, "user_s": 2.0})
    )
    assert side_by_side.ratio(other, [row, other]) == 8.0
    too_short = side_by_side.Row(**(row | {"user_s": 0.0}))
    assert side_by_side.ratio(other, [too_short, other]) is None
    assert "-" in side_by_side.cells(too_short, [too_short])


def test_the_page_is_what_was_measured() -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    begin, end = (page.index(mark) for mark in ("<!-- made by `python -m bench doc`: side-by-side", "<!-- end: side"))
    empty = page[: page.index("\n", begin)] + page[end:]
    assert report.made(empty) == page, "renew it with: python -m bench doc"
    measured = side_by_side.load(report.RESULTS / report.SIDE_BY_SIDE)
    assert (measured["scale"], measured["problems"]) == (1, [])
    assert {row["case"] for row in measured["rows"]} == set(CASES)


def test_a_page_without_marks_says_what_to_put() -> None:
    with pytest.raises(RunError, match="put <!-- made by `python -m bench doc`: side-by-side --> and"):
        report.filled("# Performance\n", "side-by-side", "")


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    measured = json.loads((report.RESULTS / report.SIDE_BY_SIDE).read_text())
    report.picture(measured["rows"], tmp_path / "bars.png")
    assert (tmp_path / "bars.png").stat().st_size > 20_000

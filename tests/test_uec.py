"""uet-htsim's connection matrices from the command line: lines, tables, comparisons, warnings and errors."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import ROOT, Command
from fanin import uec

RECORDED = ROOT / "crates" / "uet" / "tests" / "data"
PAGE = ROOT / "docs" / "ultra-ethernet.md"
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

PAIR = "Nodes 16\nConnections 2\n0->5 id 1 start 0 size 408600\n1->5 id 2 start 3 size 204300\n"
LATE = (
    "Nodes 16\nConnections 3\nTriggers 1\n0->5 id 1 start 0 size 4086 send_done_trigger 1\n"
    "5->9 id 2 trigger 1 size 4086\n6->9 id 3 start 1 size 4086 prio 2\ntrigger id 1 barrier count 2\n"
)
TOPO = (
    "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"
    "Downlink_Latency_ns 1000\nOversubscribed 2\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n"
    "Downlink_Latency_ns 500\n"
)


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    (tmp_path / "pair.cm").write_text(PAIR)
    return tmp_path / "pair.cm"


@pytest.mark.parametrize("name", ["two_to_one_both", "perm32_tiny_both", "trig_barrier_nscc", "ctrl_loss_both"])
def test_lines_are_those_of_the_recorded_run(command_here: Command, tmp_path: Path, name: str) -> None:
    parts = re.split(r"^\[(\w+)\]\n", (RECORDED / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
    of = dict(zip(parts[::2], parts[1::2], strict=True))
    (tmp_path / "m.cm").write_text(of["matrix"])
    words = ["run-uec", "m.cm", "--uec-options", of["options"].strip(), "--out", "out"]
    if "topology" in of:
        (tmp_path / "t.topo").write_text(of["topology"])
        words += ["--topology", "t.topo"]
    done = command_here(*words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "uec.txt").read_text() == of["lines"]


def test_a_run_folder_has_the_tables_of_its_lines(command_here: Command, pair: Path, tmp_path: Path) -> None:
    done = command_here("run", "--uec", pair, "--uec-options", "-q 4 -ecn 1 3 -seed 5", "--json")
    assert done.returncode == 0, done.stderr
    result = fanin.load(tmp_path / "runs" / "pair-q-4-ecn-1-3-seed-5")
    lines = (tmp_path / "runs" / "pair-q-4-ecn-1-3-seed-5" / "uec.txt").read_text().splitlines()
    ended = {int(of): float(at) for of, at in re.findall(r"flowId (\d+) .* finished at ([\d.]+) ", "\n".join(lines))}
    rows = list(result.flows().iter_rows(named=True))
    assert [(row["src"], row["dst"], row["bytes"], row["start_ps"]) for row in rows] == [
        (0, 5, 408_600, 0),
        (1, 5, 204_300, 3_000_000),
    ]
    for row in rows:
        at_us = (row["start_ps"] + row["completion_ps"]) / 1e6
        assert float(f"{at_us:.6g}") == ended[row["group"]]
        assert row["slowdown"] == row["completion_ps"] / row["ideal_ps"] > 1
    sums = dict(re.findall(r"(\w+): (\d+)", lines[-1]))
    assert sum(row["packets_resent"] for row in rows) == int(sums["Rtx"]) > 0
    network = result.summary()["network"]
    assert network["nacks"] == network["trimmed"] == int(sums["NACKs"])
    assert max(result.ports()["peak_queue_bytes"].to_list()) <= 4 * 4150
    assert (result.manifest["seed"], result.exact, result.slowdown_ideal) == (5, True, "empty-network")
    with pytest.raises(fanin.RunError, match="has only the ideal empty-network, not hpcc"):
        result.with_ideal("hpcc")


def test_ports_have_the_rates_of_slow_links_and_what_they_cut(pair: Path) -> None:
    # Two senders meet at a queue of four packets; the first two links from cores downwards are slow.
    result = fanin.run_uec(pair, options="-failed 2 -q 4 -ecn 1 3 -sender_cc_only", progress=False)
    ports = result.ports()
    down = pl.col("from").str.starts_with("core")
    slow = ports.filter(pl.col("rate_bps") == 25_000_000_000)
    assert slow.select("from", "to").rows() == ports.filter(down).select("from", "to").rows()[:2]
    assert set(ports.filter(~down)["rate_bps"].to_list()) == {100_000_000_000}
    assert ports["trimmed_packets"].sum() == result.summary()["network"]["trimmed"] > 0


def test_a_lone_message_has_slowdown_1(pair: Path) -> None:
    for options, size in (("-sender_cc_only", 100 * 4086), ("-linkspeed 400000 -mtu 9064 -tiers 3", 50 * 9000)):
        pair.write_text(f"Nodes 16\n0->5 id 1 start 7 size {size}\n")
        result = fanin.run_uec(pair, options=options, progress=False)
        assert result.flows()["slowdown"].to_list() == [1.0]


def test_what_shows_other_runs_shows_these(command_here: Command, pair: Path, tmp_path: Path) -> None:
    done = command_here("run-uec", pair, "--uec-options", "-q 4 -ecn 1 3", "--out", "r")
    assert "FCT: flow completion time, of finished messages, up to the last ACK at the" in done.stdout
    assert re.search(r"trimmed packets +\d", done.stdout)
    assert command_here("show", "r").stdout in done.stdout
    for words in (("report", "r"), ("plot", "fct", "r"), ("plot", "utilisation", "r")):
        assert command_here(*words).returncode == 0, words
    for words, told in (
        (("why", "r"), "why follows no packets on the network of uet-htsim"),
        (("plot", "goodput", "r"), "runs of uet-htsim's files have no series"),
    ):
        done = command_here(*words)
        assert done.returncode != 0
        assert told in done.stderr, done.stderr
    assert "| `uec.txt` |" in (tmp_path / "r" / "README.md").read_text()


def test_options_stand_side_by_side(command_here: Command, pair: Path, tmp_path: Path) -> None:
    same = "-q 4 -ecn 1 3"
    each = [f"{same} -load_balancing_algo reps", f"-load_balancing_algo reps {same} -paths 8", same]
    words = [word for one in each for word in ("--uec-options", one)]
    done = command_here("compare", "--uec", pair, *words, "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["scheme"], row["runs"]) for row in rows] == [
        ("nscc-reps (paths=none)", 2),
        ("nscc-reps (paths=8)", 2),
        ("nscc-mixed", 2),
    ]
    folder = tmp_path / "runs" / "pair"
    assert {path.name for path in folder.iterdir()} >= {
        "compare.png",
        "pair-load_balancing_algo-reps-seed-1",
        "pair-load_balancing_algo-reps-paths-8-seed-2",
        "pair-default-seed-1",
    }
    hashes = [json.loads(path.read_text())["event_hash"] for path in folder.glob("*/manifest.json")]
    assert len(set(hashes)) == 6
    assert fanin.load_comparison(folder).rows[0].trimmed > 0


def test_what_a_matrix_means_is_known_before_it_runs(command_here: Command, pair: Path) -> None:
    explained = uec.explain_uec(pair, options="-q 20 -ecn 2 8 -seed 3")
    (of_class,) = explained["classes"]
    assert of_class["buffer_bytes"] == 20 * 4150
    assert [one["bytes"] for one in of_class["marking"][0]["thresholds"]] == [2 * 4150, 8 * 4150]
    assert (explained["seed"], explained["traffics"][0]["bytes"], explained["network"]["switches"]) == (3, 612_900, 20)
    assert "one round-trip time for all, 14022.72 ns" in explained["remarks"][0]
    run = fanin.run_uec(pair, options="-q 20 -ecn 2 8 -seed 3", progress=False)
    # Marked packets are acknowledged one by one, others several at once.
    assert 0.5 < explained["cost"]["packet_hops"] / run.summary()["network"]["packet_hops"] < 1.5
    done = command_here("explain", "--uec", pair, "--uec-options", "-q 50")
    assert done.returncode == 0, done.stderr
    assert "14022.72 ns" in " ".join(done.stdout.split())


def test_names_of_options_are_fit_for_folders() -> None:
    assert uec.names_of(["-paths 8 -o a/b"]) == ["paths-8-o-a-b"]
    assert uec.names_of(["-ecn 1 3 -q 4", "-q 4"]) == ["ecn-1-3", "default"]
    assert uec.names_of(["-cwnd 1 " * 30, ""]) == ["options-1", "default"]


@pytest.mark.parametrize("door", ["check", "explain", "run", "run_uec", "explain_uec"])
def test_every_door_tells_what_is_to_be_known(command_here: Command, tmp_path: Path, door: str) -> None:
    (tmp_path / "late.cm").write_text(LATE)
    options = "-o log.out -paths 8"
    if door in ("check", "explain", "run"):
        done = command_here(door, "--uec", "late.cm", "--uec-options", options, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)["warnings"]
    elif door == "run_uec":
        told = fanin.run_uec(tmp_path / "late.cm", options=options, progress=False).warnings
    else:
        told = uec.explain_uec(tmp_path / "late.cm", options=options)["warnings"]
    assert [re.sub(r"^\S*late.cm", "late.cm", one.removeprefix("spec: ")) for one in told] == [
        "--uec-options: -o has no effect here",
        "late.cm:6: prio has no effect, as in the original",
        "late.cm:5: 5->9 will not start; trigger 1 needs 2 activations by send_done_trigger 1, and gets 1",
    ]


def test_where_the_original_aborts_a_run_has_no_reference(pair: Path) -> None:
    pair.write_text(PAIR + "failure switch_type AGG switch_id 0 link_id 0\n")
    result = fanin.run_uec(pair, progress=False)
    assert result.warnings[0].endswith("pair.cm:5: failed links abort the original, so this run has no reference")
    sent = {row["port"]: row["packets"] for row in result.ports().iter_rows(named=True)}
    assert sent["agg0>core0"] == 0 < sent["agg0>core2"]
    pair.write_text("Nodes 16\n0->5 id 1 start 0 size 40860\n0->5 id 1 start 500 size 40860\n")
    result = fanin.run_uec(pair, options="-conn_reuse", progress=False)
    assert "there is no reference: uet-htsim aborts there, since all messages so far" in result.warnings[0]
    (row,) = result.flows().iter_rows(named=True)
    assert (row["bytes"], row["completion_ps"] > 500_000_000, row["slowdown"]) == (81_720, True, None)
    first, second = "0->5 id 1 start 0 size 40860 send_done_trigger 1\n", "0->5 id 1 trigger 1 size 40860\n"
    pair.write_text(f"Nodes 16\n{first}{second}trigger id 1 oneshot\n")
    result = fanin.run_uec(pair, options="-conn_reuse", progress=False)
    assert "uet-htsim aborts there, since" in result.warnings[0]
    (row,) = result.flows().iter_rows(named=True)
    # Twice what one of them takes, as the second starts when the first is acknowledged.
    assert (row["bytes"], row["completion_ps"] == pytest.approx(2 * 17_010_720, rel=0.02)) == (81_720, True)


def test_loss_recovery_has_no_reference(pair: Path) -> None:
    result = fanin.run_uec(pair, options="-sleek -disable_trim", progress=False)
    assert "no run of uet-htsim with -sleek was recorded, so this run has no reference" in result.warnings[0]
    result = fanin.run_uec(pair, options="-sleek", progress=False)
    assert "-sleek has no effect here" in result.warnings[0]


BROKEN: dict[str, tuple[str | bytes, str | None, str, str]] = {
    "option": (PAIR, None, "-load_balancing reps", "--uec-options: -load_balancing is not known; did you mean -load_"),
    "pcie": (PAIR, None, "-pcie", "--uec-options: -pcie is not supported; leave it out"),
    "trim": (PAIR, None, "-trimsize 5000", "--uec-options: -trimsize 5000 is larger than a packet; it is at most"),
    "paths": (PAIR, None, "-paths 100", "--uec-options: -paths 100 is not a power of two; the next one is 128"),
    "ecn": (PAIR, None, "-ecn 1 50 -q 40", "--uec-options: -ecn: marks reach up to 50 packets and a queue has 40;"),
    "files": (PAIR, None, "-tm pair.cm", "--uec-options: -tm names a file; matrix and topology are given beside"),
    "line": (PAIR + "7->x start 1\n", None, "", "pair.cm:5: the receiver has x; it needs a number"),
    "cut": (PAIR[: PAIR.index("1->5")], None, "", "pair.cm: Connections says 2 and 1 lines follow"),
    "half": (PAIR[:-8], None, "", "pair.cm:4: size has nothing; it needs a number"),
    "huge": ("Nodes 99999999999\n", None, "", "pair.cm:1: Nodes has 99999999999; it needs a number"),
    "utf8": (PAIR.encode() + b"\xff\n", None, "", "pair.cm:5: this is not a text file; save the file as UTF-8"),
    "hosts": (PAIR, TOPO, "", "pair.cm: Nodes is 16 and the topology has 8 hosts; they must be at most as many"),
    "topology": (PAIR, TOPO.replace("Tiers 2", "Tiers two"), "", "t.topo:2: Tiers has two; it needs a whole number"),
    "failure": (PAIR + "failure switch_type AGG switch_id 0 link_id 1\n", None, "", "pair.cm:5: AGG 0 has no link 1"),
    "empty": ("", None, "", "pair.cm: Nodes is 0; it is from 2 to 32768"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_run_is_told_with_what_would_be_right(command_here: Command, tmp_path: Path, case: str) -> None:
    matrix, topology, options, told = BROKEN[case]
    (tmp_path / "pair.cm").write_bytes(matrix if isinstance(matrix, bytes) else matrix.encode())
    words = ["pair.cm", "--uec-options", options]
    if topology is not None:
        (tmp_path / "t.topo").write_text(topology)
        words += ["--topology", "t.topo"]
    for command in ("run-uec", "check --uec"):
        done = command_here(*command.split(), *words)
        assert (done.returncode, done.stderr.startswith(f"error: {told}")) == (2, True), done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_command_line_that_is_wrong_names_the_option(command_here: Command, pair: Path) -> None:
    for words, told in (
        (("run-uec", pair, "--set", "a=1"), "--set: a connection matrix of uet-htsim runs as it is; --uec-options"),
        (("run-uec", pair, pair), "--uec runs one connection matrix; a topology goes with --topology"),
        (("run", "--uec", pair, "--on", "wire"), "--on wire runs specs, no files of other simulators"),
        (("run", pair, "--uec-options", "-q 4"), "--uec-options: these are uet-htsim's; it goes with --uec"),
        (("run", "--htsim", pair, "--uec"), "--htsim and --uec: files are of one simulator"),
        (("compare-uec", pair), "--uec-options is missing: repeat it for each run that is compared"),
        (("run-uec", "none.cm"), "none.cm: cannot be read: there is no such file"),
        (("run-uec", pair, "--max-memory", "1MB"), "pair: this run needs about "),
    ):
        done = command_here(*words)
        assert done.returncode == 2, (words, done.stderr)
        assert told in done.stderr, (words, done.stderr)


def test_a_run_that_is_stopped_keeps_what_it_has(tmp_path: Path) -> None:
    lines = "".join(f"{host}->{(host + 64) % 128} id {host + 1} start 0 size 200000000\n" for host in range(128))
    (tmp_path / "long.cm").write_text(f"Nodes 128\nConnections 128\n{lines}")
    states: list[fanin._core.Progress] = []

    def watch(state: fanin._core.Progress) -> bool:
        states.append(state)
        return len(states) < 2

    result = fanin.run_uec(tmp_path / "long.cm", options="-end 100000", progress=watch)
    assert result.cancelled
    assert 0 < states[0].simulated_s < states[1].simulated_s < states[1].end_s == 0.1
    assert result.simulated_ms / 1e3 == pytest.approx(states[1].simulated_s)
    assert (states[1].started, states[1].finished, states[1].packet_hops > 0) == (128, 0, True)
    folder = result.save(tmp_path / "out")
    assert (folder / "INCOMPLETE").is_file()
    kept = (folder / "uec.txt").read_text().splitlines()
    assert len(kept) > 128
    assert kept[-1].startswith("New: ")
    delivered = pl.read_ipc(folder / "flows.arrow")["delivered_bytes"]
    assert delivered.sum() > 0


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the first half of the page has run, with the examples in it."""
    folder = tmp_path_factory.mktemp("ultra-ethernet")
    (folder / "examples").symlink_to(ROOT / "examples")
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\n'
    for language, code in BLOCKS:
        line = ["sh", "-c", prelude + code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return folder


def test_the_page_runs_and_draws_its_picture(page: Path) -> None:
    assert (page / "balancers.png").stat().st_size > 20_000
    compared = {name: fanin.load_comparison(page / "runs" / name).rows for name in ("healthy", "broken")}
    for rows in compared.values():
        assert [row.scheme for row in rows] == ["nscc-oblivious", "nscc-bitmap", "nscc-reps", "nscc-mixed"]
        assert all(row.unfinished == 0 and row.finished == 128 for row in rows)
    for healthy, broken in zip(compared["healthy"], compared["broken"], strict=True):
        assert healthy.fct_p99_us is not None
        assert broken.fct_p99_us is not None
        assert healthy.fct_p99_us < broken.fct_p99_us, healthy.scheme
    # What the page says of them: who knows which paths are bad loses least.
    tails = {row.scheme.removeprefix("nscc-"): row.fct_p99_us or 0 for row in compared["broken"]}
    assert tails["mixed"] < tails["bitmap"] < tails["reps"] < tails["oblivious"]

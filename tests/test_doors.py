"""Warnings that are known before a run: every door tells each of them."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin import hpcc

SPEC = """
spec_version = 1
name = "doors"

[network]
topology = {{ kind = "leaf-spine", leaves = 2, hosts = 2, spines = 2, link = "{link}", delay = "1 us" }}
buffer = {{ policy = "lossless", pool = "4 MB"{buffer} }}
{network}

[[traffic]]
name = "one"
scheme = "{scheme}"
pattern = {{ kind = "long", senders = ["h0"], receivers = ["h2"], count = 1 }}
size = {{ fixed = "10 KB" }}

[compare]
schemes = ["{scheme}"]

[measure]
window = "{window}"
drain = false
"""

OF_SPECS: dict[str, tuple[dict[str, str], str]] = {
    "telemetry": ({"scheme": "hpcc-ns3", "link": "800 Gbps"}, "those of 800 Gb/s are taken by hpcc-ns3 for 25 Gb/s"),
    "unmarked": ({"scheme": "dcqcn"}, "no packet of class"),
    "forgotten": (
        {
            "scheme": "dcqcn",
            "network": 'marking_by_rate = [{ rate = "400 Gbps", marking = { kind = "step", above = "9 KB" } }]',
            "fabric": "400 Gbps",
        },
        "ports of 100 Gb/s never mark",
    ),
    "pauses": (
        {"scheme": "dcqcn", "network": 'marking = { kind = "step", above = "2 MB" }'},
        "at ports of 100 Gb/s PFC pauses first",
    ),
    "headroom": ({"buffer": ', headroom = "3 KB"'}, "network.buffer.headroom = 3 KB may lose packets"),
    "spraying": ({"network": 'balancing = "random"'}, "a packet that is overtaken counts as lost"),
    "failure": (
        {"network": 'links = [{ between = ["h0", "leaf0"], down = [["20 ms", "30 ms"]] }]'},
        "a failure has no effect, since the measured window ends at 100 us",
    ),
    "window": ({"window": "2 us"}, "measure.window = 2 us is shorter than a round trip"),
}


def spec(folder: Path, changes: dict[str, str]) -> Path:
    """A small spec with a mistake of this kind."""
    keys = {"link": "100 Gbps", "buffer": "", "network": "", "scheme": "none", "window": "100 us"} | changes
    text = SPEC.format(**{key: value for key, value in keys.items() if key != "fabric"})
    if "fabric" in keys:
        text = text.replace('delay = "1 us" }', f'delay = "1 us", fabric_link = "{keys["fabric"]}" }}', 1)
    (folder / "doors.toml").write_text(text)
    return folder / "doors.toml"


def of_python(call: Callable[[Path], list[str]]) -> Callable[[Command, Path], str]:
    return lambda _, path: "\n".join(call(path))


def of_command(*arguments: str) -> Callable[[Command, Path], str]:
    def run(command: Command, path: Path) -> str:
        done = command(arguments[0], path, *arguments[1:], "--json")
        assert done.returncode == 0, done.stderr
        return "\n".join(json.loads(done.stdout)["warnings"])

    return run


def swept(path: Path) -> list[str]:
    with ThreadPoolExecutor(1) as executor:
        return fanin.sweep(path, out=path.parent / "runs", executor=executor, progress=False).warnings


DOORS: dict[str, Callable[[Command, Path], str]] = {
    "check": of_command("check"),
    "explain": of_command("explain"),
    "run": of_command("run"),
    "compare": of_command("compare"),
    "fanin.run": of_python(lambda path: fanin.run(path, progress=False).warnings),
    "fanin.compare": of_python(lambda path: fanin.compare(path, progress=False).warnings),
    "fanin.sweep": of_python(swept),
    "fanin.explain": of_python(lambda path: fanin.explain(path)["warnings"]),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_tells_what_is_wrong_with_a_spec(command_here: Command, tmp_path: Path, door: str) -> None:
    for name, (changes, told) in OF_SPECS.items():
        found = DOORS[door](command_here, spec(tmp_path, changes))
        assert told in found, (name, found)
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)


CONFIG = {
    "ENABLE_QCN": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "TOPOLOGY_FILE": "topo.txt",
    "FLOW_FILE": "flow.txt",
    "SIMULATOR_STOP_TIME": "2.1",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "RP_TIMER": "300",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "HAS_WIN": "0",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "RATE_AI": "40Mb/s",
    "RATE_HAI": "200Mb/s",
    "MIN_RATE": "100Mb/s",
    "ENABLE_TRACE": "0",
    "KMAX_MAP": "1 100000000000 1600",
    "KMIN_MAP": "1 100000000000 400",
    "PMAX_MAP": "1 100000000000 0.2",
    "BUFFER_SIZE": "32",
    "QLEN_MON_START": "2000000000",
    "QLEN_MON_END": "2010000000",
}


def configuration(
    folder: Path,
    changes: dict[str, str],
    *,
    link: str = "100Gbps",
    flows: tuple[str, ...] = ("0 2 3 100 10000 2", "1 2 3 100 10000 2"),
    errors: str = "0",
) -> Path:
    """A star of three hosts and a configuration of it."""
    bps = int(link.removesuffix("Gbps")) * 10**9
    lines = [f"{key} {value}" for key, value in (CONFIG | changes).items()]
    text = "\n".join(lines).replace(" 100000000000 ", f" {bps} ")
    (folder / "c.txt").write_text(f"{text}\n")
    (folder / "topo.txt").write_text(f"4 1 3\n3\n0 3 {link} 1us {errors}\n1 3 {link} 1us 0\n2 3 {link} 1us 0\n")
    (folder / "flow.txt").write_text("\n".join([str(len(flows)), *flows, ""]))
    return folder / "c.txt"


OF_CONFIGURATIONS: dict[str, tuple[dict[str, str], str, str]] = {
    "telemetry": (
        {"CC_MODE": "3", "HAS_WIN": "1"},
        "40Gbps",
        "those of 40 Gb/s are taken by that simulator for 25 Gb/s",
    ),
    "whole-ns": (
        {},
        "400Gbps",
        "a packet of 1048 B takes 20.96 ns, which that simulator counts as 20: the link is 4.8 %",
    ),
    "pauses": (
        {"KMIN_MAP": "1 100000000000 7000", "KMAX_MAP": "1 100000000000 8000"},
        "100Gbps",
        "KMIN_MAP: dcqcn-ns3 slows down by congestion marks, and at ports of 100 Gb/s PFC pauses first",
    ),
    "unmarked": ({"ENABLE_QCN": "0"}, "100Gbps", "ENABLE_QCN 0: dcqcn-ns3 slows down by congestion marks"),
    "failure": ({"LINK_DOWN": "100000 0 3"}, "100Gbps", "LINK_DOWN 100000 0 3 has no effect"),
    "queue-lengths": (
        {"QLEN_MON_START": "2001000000", "QLEN_MON_END": "2004000000"},
        "100Gbps",
        "qlen.txt will be empty: that simulator writes it at multiples of 100 ms",
    ),
}

EXACT_DOORS: dict[str, Callable[[Command, Path], str]] = {
    "check": of_command("check", "--hpcc"),
    "explain": of_command("explain", "--hpcc"),
    "run": of_command("run", "--hpcc"),
    "compare": of_command("compare", "--hpcc", "--schemes", "as-is"),
    "run_hpcc": of_python(lambda path: hpcc.run_hpcc(path, folder=path.parent, progress=False).warnings),
    "explain_hpcc": of_python(lambda path: hpcc.explain_hpcc(path, folder=path.parent)["warnings"]),
}


@pytest.mark.parametrize("door", EXACT_DOORS)
def test_every_door_tells_what_is_wrong_with_a_configuration(command_here: Command, tmp_path: Path, door: str) -> None:
    for name, (changes, link, told) in OF_CONFIGURATIONS.items():
        found = EXACT_DOORS[door](command_here, configuration(tmp_path, changes, link=link))
        assert told in found, (name, found)
    assert EXACT_DOORS[door](command_here, configuration(tmp_path, {})) == ""


@pytest.mark.parametrize("door", ["check", "explain", "run"])
def test_under_a_scheme_a_configuration_passes_the_checks_of_specs(
    command_here: Command, tmp_path: Path, door: str
) -> None:
    def told(changes: dict[str, str], link: str, scheme: str) -> str:
        arguments = ("--hpcc", "--scheme", scheme)
        return of_command(door, *arguments)(command_here, configuration(tmp_path, changes, link=link))

    assert "those of 40 Gb/s are taken by hpcc-ns3" in told({}, "40Gbps", "hpcc-ns3")
    assert "telemetry" not in told({"CC_MODE": "3", "HAS_WIN": "1"}, "40Gbps", "dcqcn"), (
        "it is of the law that does not run"
    )
    assert "no effect, since the measured window ends" in told({"LINK_DOWN": "200000 0 3"}, "100Gbps", "dcqcn")
    assert "slows down by congestion marks" in told({"ENABLE_QCN": "0"}, "100Gbps", "dcqcn")


def test_a_sweep_tells_the_warnings_of_its_runs_once(command_here: Command, tmp_path: Path) -> None:
    path = spec(tmp_path, {"scheme": "dcqcn"})
    done = command_here("sweep", path, "--schemes", "dcqcn,none", "--seeds", "2", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    (unmarked,) = [line for line in done.stderr.splitlines() if "no packet of class" in line]
    assert unmarked.startswith("warning: dcqcn seed=1 and 1 more: traffic[0].scheme: dcqcn slows down")
    (seeds,) = [line for line in done.stderr.splitlines() if "seeds change nothing" in line]
    assert "under dcqcn, none: all 2 runs have the same numbers" in seeds


def test_seeds_that_change_nothing_are_told(command_here: Command, tmp_path: Path) -> None:
    path = spec(tmp_path, {})
    done = command_here("compare", path, "--schemes", "none", "--seeds", "3")
    assert "seeds change nothing under none: all 3 runs have the same numbers" in done.stderr
    done = command_here("compare", path, "--schemes", "none", "--out", "one")
    assert "seeds" not in done.stderr
    # Where the messages are drawn, they differ.
    drawn = path.read_text().replace(
        'kind = "long", senders = ["h0"], receivers = ["h2"], count = 1', 'kind = "all-to-all"'
    )
    drawn = drawn.replace(
        'size = { fixed = "10 KB" }', 'size = { fixed = "10 KB" }\nload = { share = 0.5, of = "host-links" }'
    )
    path.write_text(drawn.replace('"all-to-all"', '"poisson"'))
    done = command_here("compare", path, "--schemes", "none", "--seeds", "3", "--out", "drawn")
    assert done.returncode == 0, done.stderr
    assert "seeds" not in done.stderr


def test_htsims_files_are_compared_under_schemes(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "m.cm").write_text("Nodes 4\nConnections 2\n0->1 start 7 size 100000\n2->1 start 7 size 100000\n")
    (tmp_path / "t.topo").write_text(
        "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 800\nRadix_Down 2\nRadix_Up 1\n"
        "Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 800\nRadix_Down 2\nDownlink_Latency_ns 500\nRadix_Up 1\n"
    )
    alone = command_here("compare", "--htsim", "m.cm")
    assert alone.returncode == 2
    assert "add --schemes hpcc,dcqcn or all" in alone.stderr
    done = command_here(
        "compare", "--htsim", "t.topo", "m.cm", "--schemes", "hpcc-ns3,dcqcn", "--json", "--out", "both"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [row["scheme"] for row in told["rows"]] == ["hpcc-ns3", "dcqcn"]
    assert all((tmp_path / "both" / label / "finished.txt").is_file() for label in ("hpcc-ns3", "dcqcn"))
    # A warning of the list of checks.
    assert any("those of 800 Gb/s are taken by hpcc-ns3" in warning for warning in told["warnings"])
    run = command_here("run", "--htsim", "t.topo", "m.cm", "--scheme", "hpcc-ns3")
    assert "those of 800 Gb/s are taken by hpcc-ns3" in run.stderr


def test_whether_pfc_could_act_is_answered(command_here: Command, tmp_path: Path) -> None:
    def answer(flows: tuple[str, ...], *more: str) -> dict[str, object]:
        configuration(tmp_path, {}, flows=flows)
        done = command_here("explain", "--hpcc", "c.txt", "--json", *more)
        assert done.returncode == 0, done.stderr
        pauses = json.loads(done.stdout)["pauses"]
        assert isinstance(pauses, dict)
        return pauses

    # One flow gets through a switch as fast as it comes.
    alone = answer(("0 2 3 100 4000000000 2",))
    assert alone["possible"] is False
    assert alone["why"] == (
        "PFC cannot act, so pfc.txt will be empty: no port of a switch can get more than it sends on"
    )
    # 32 MiB less three times 37,500 B of headroom and 4,096 B of reserve are 33,429,644 B. What two ports may hold
    # before a pause is a tenth of it each (X = (S - 2 X) / 8), and the reserve.
    small = answer(("0 2 3 100 1000000 2", "1 2 3 100 1000000 2"))
    assert (small["possible"], small["most_bytes"]) == (False, 1_048_000)
    # The other holds its 1,048,000 B less the reserve, so that the threshold is X = (S - 1,043,904 - X) / 8 or more.
    assert small["xoff_bytes"] == pytest.approx((33_429_644 - 2 * 1_043_904) / 8 + 4096, abs=2)
    large = answer(("0 2 3 100 4000000 2", "1 2 3 100 4000000 2"))
    assert large["possible"] is True
    assert large["xoff_bytes"] == pytest.approx(3_342_964 + 4096, abs=2)
    assert "PFC could act: up to 4.192 MB may wait at s3 that came from h0" in str(large["why"])
    under = answer(("0 2 3 100 1000000 2", "1 2 3 100 1000000 2"), "--scheme", "dcqcn")
    assert under["possible"] is False
    assert "nothing will be paused" in str(under["why"])


def test_a_pause_is_possible_only_where_it_was_foreseen(tmp_path: Path) -> None:
    """The exact network agrees, on both sides of the limit."""
    for size, possible in ((3_000_000, False), (5_000_000, True)):
        path = configuration(tmp_path, {"ENABLE_QCN": "0"}, flows=(f"0 2 3 100 {size} 2", f"1 2 3 100 {size} 2"))
        pauses = hpcc.explain_hpcc(path, folder=tmp_path)["pauses"]
        assert pauses is not None
        assert pauses["possible"] is possible
        out = hpcc.run_hpcc(path, folder=tmp_path, progress=False).save(tmp_path / str(size))
        if not possible:
            assert (out / "pfc.txt").read_text() == ""


def test_a_flow_that_will_never_finish_is_named(command_here: Command, tmp_path: Path) -> None:
    configuration(tmp_path, {}, flows=("0 2 3 100 1000000 2", "1 2 3 100 1000000 2"), errors="0.1")
    done = command_here("run", "--hpcc", "c.txt", "--out", "r")
    (told,) = [line for line in done.stderr.splitlines() if "never finish" in line]
    assert told.startswith(
        "warning: r: background:0 (h0 to h2, 1 MB): its sender has sent everything and knows of 1 KB"
    )
    assert "that simulator has no retransmission timeout: it will never finish" in told
    # Of the ordinary network without a timeout, whose losses are others.
    arguments = ("--scheme", "none", "--seed", "3")
    done = command_here("run", "--hpcc", "c.txt", *arguments, "--set", "traffic.background.rdma.timeout=off")
    stuck = fanin.load(tmp_path / "runs" / next(path.name for path in (tmp_path / "runs").iterdir()))
    unfinished = stuck.flows().filter(stuck.flows()["completion_ps"].is_null()).height
    assert unfinished == 1
    (told,) = [line for line in done.stderr.splitlines() if "never finish" in line]
    assert 'rdma.timeout is "off": it will never finish' in told
    assert "background:0 (h0 to h2, 1 MB)" in told
    done = command_here("run", "--hpcc", "c.txt", *arguments, "--out", "timed")
    assert "never finish" not in done.stderr


def test_a_failure_after_the_last_message_is_told(command_here: Command, tmp_path: Path) -> None:
    failing = {"network": 'links = [{ between = ["h0", "leaf0"], down = [["50 ms", "60 ms"]] }]', "window": "100 ms"}
    path = spec(tmp_path, failing)
    done = command_here("run", path, "--set", "measure.stop_when_done=true")
    assert "a failure has no effect, since the run has ended at" in done.stderr


def test_what_an_exact_run_leaves_is_no_spec(command_here: Command, tmp_path: Path) -> None:
    configuration(tmp_path, {})
    assert command_here("run", "--hpcc", "c.txt", "--out", "r").returncode == 0
    folder = tmp_path / "r"
    assert not (folder / "spec.resolved.toml").exists()
    readme = (folder / "README.md").read_text()
    assert "| `configuration.toml` | The configuration of the ns-3 HPCC simulator that ran" in readme
    assert "spec.resolved.toml" not in readme
    for command in ("run", "check", "explain"):
        done = command_here(command, "r/configuration.toml")
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert "this is a configuration of the ns-3 HPCC simulator as a run of it left it, and no spec" in line
        assert line.endswith(f"fanin run --hpcc {tmp_path}/c.txt")
    # Earlier versions called it a spec; their folders are read all the same.
    (folder / "configuration.toml").rename(folder / "spec.resolved.toml")
    assert fanin.load(folder, verify=False).spec["name"] == "c"
    assert command_here("--no-verify", "show", "r").returncode == 0


def test_an_exact_run_has_series_on_request(command_here: Command, tmp_path: Path) -> None:
    flows = ("0 2 3 100 1000000 2", "1 2 3 100 1000000 2.00002")
    configuration(tmp_path, {}, flows=flows)
    assert command_here("run", "--hpcc", "c.txt", "--out", "plain").returncode == 0
    done = command_here("plot", "goodput", "plain", "--out", "x.png")
    assert done.returncode == 2 or done.returncode == 1
    assert "run it again with a series: fanin run --hpcc" in done.stderr
    done = command_here("run", "--hpcc", "c.txt", "--series", "2 us", "--out", "sampled")
    assert done.returncode == 0, done.stderr
    for name in ("fct.txt", "pfc.txt", "qlen.txt"):
        assert (tmp_path / "sampled" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    plain, sampled = (fanin.load(tmp_path / name) for name in ("plain", "sampled"))
    assert plain.manifest["event_hash"] == sampled.manifest["event_hash"]
    assert plain.flows().equals(sampled.flows())
    # Two hosts send to one: the excess waits at the switch, 100 Gb/s or 25 KB in 2 us at most.
    queue = sampled.series().filter(sampled.series()["port"].cast(str) == "s3>h2").sort("time_ps")["queue_bytes"]
    assert queue.diff().to_numpy()[1:].max() <= 25_000 + 2 * 1048
    assert queue.to_numpy().max() == pytest.approx(sampled.ports()["peak_queue_bytes"].to_numpy().max(), rel=0.1)
    from fanin import over_time

    goodput = over_time.goodput_over_time(sampled)
    for name in ("background:0", "background:1"):
        of = goodput.filter(where=name)
        arrived = (of["gbps"] * (of["end_us"] - of["begin_us"])).to_numpy().sum() * 1e3 / 8
        assert arrived == pytest.approx(1_000_000, rel=1e-6), "all of it, in its intervals"
    rates = over_time.rates_over_time(sampled)
    assert rates["rate_bps"].max() == 1e11
    assert rates["window_bytes"].null_count() == rates.height, "HAS_WIN 0"
    for kind in ("goodput", "queues", "rates"):
        done = command_here("plot", kind, "sampled", "--out", f"{kind}.png")
        assert done.returncode == 0, done.stderr
    # What is too often, what is no time, and where a spec has a key for it.
    for arguments, told in (
        (["--series", "0 ns"], "it is a whole number of ns, here 11 ns or more"),
        (["--series", "often"], "--series often: "),
        (["--series", "1 us", "--scheme", "none"], "measure.series"),
    ):
        done = command_here("run", "--hpcc", "c.txt", *arguments)
        assert done.returncode == 2
        assert told in done.stderr, done.stderr

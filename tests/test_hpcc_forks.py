"""Configurations of forks of the ns-3 HPCC simulator from the command line."""

import json
import shlex
from pathlib import Path

import fanin
from conftest import Command

LINKS = "0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 5 100Gbps 1us 0\n"
CONFIG = """TOPOLOGY_FILE topo.txt
FLOW_FILE flow.txt
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RP_TIMER 300
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
BUFFER_SIZE 2
SIMULATOR_STOP_TIME 3
KMAX_MAP 1 100000000000 400
KMIN_MAP 1 100000000000 100
PMAX_MAP 1 100000000000 0.2
"""


def put(folder: Path, config: str = CONFIG, header: str = "6 2 5", flows: str = "1\n0 2 3 100 3000 2\n") -> None:
    (folder / "c.txt").write_text(config)
    (folder / "topo.txt").write_text(f"{header}\n4 5\n{LINKS}")
    (folder / "flow.txt").write_text(flows)


def test_a_dialect_is_recognised_or_named_and_said(command_here: Command, tmp_path: Path) -> None:
    put(tmp_path, header="6 2 2 5")
    done = command_here("run", "--hpcc", "c.txt", "--scheme", "dcqcn", "--json")
    assert done.returncode == 0, done.stderr
    told = "c.txt: read in the dialect of PowerTCP (powertcp), since topo.txt begins with four numbers"
    assert sum(told in warning for warning in json.loads(done.stdout)["warnings"]) == 1
    done = command_here("run", "--hpcc", "c.txt", "--dialect", "powertcp", "--out", "exact")
    assert done.returncode == 0, done.stderr
    assert "the dialect of PowerTCP (powertcp), as asked for; it runs as the original simulator would" in done.stderr
    done = command_here("run", "--hpcc", "c.txt", "--dialect", "original")
    assert done.returncode == 2
    assert "error: topo.txt:1: " in done.stderr
    done = command_here("run", "--hpcc", "c.txt", "--dialect", "powertc")
    assert done.returncode == 2
    assert "there are original, powertcp, astra, simai, conweave" in done.stderr
    for option in (["--dialect", "powertcp"], ["--topology", "topo.txt"], ["--skip-unknown-keys"]):
        done = command_here("run", "c.toml", *option)
        assert done.returncode == 2
        assert "--hpcc" in done.stderr


def test_what_is_refused_names_the_command_that_runs_it(command_here: Command, tmp_path: Path) -> None:
    mistakes = "LB_MODE 3\nENABLE_IRN 1\nMINE 5\nRATE_AI 40Mbs\n"
    put(tmp_path, CONFIG.replace("CC_MODE 1", "CC_MODE 12") + mistakes, flows="1\n0 2 3 3000 2\n")
    done = command_here("run", "--hpcc", "c.txt", "--dialect", "conweave")
    assert done.returncode == 2
    places = [line.split(" ")[1] for line in done.stderr.splitlines() if "c.txt:" in line]
    assert places == ["c.txt:3:", "c.txt:13:", "c.txt:14:", "c.txt:15:", "c.txt:16:"]
    assert not (tmp_path / "runs").exists()
    command = done.stderr.split("on the ordinary network: ", 1)[1].splitlines()[0]
    assert command == "fanin run --hpcc c.txt --dialect conweave --scheme dcqcn"
    done = command_here(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    for key in ("MINE", "RATE_AI", "LB_MODE 3 (CONGA)"):
        assert done.stderr.count(key) == 1, done.stderr
    times = fanin.load(tmp_path / "runs" / "c-dcqcn").flows()["completion_ps"]
    assert (len(times), times.null_count()) == (1, 0)


def test_keys_of_ones_own_are_skipped_where_that_is_asked_for(command_here: Command, tmp_path: Path) -> None:
    put(tmp_path, CONFIG + "MINE 5\n")
    assert command_here("run", "--hpcc", "c.txt").returncode == 2
    done = command_here("run", "--hpcc", "c.txt", "--skip-unknown-keys")
    assert done.returncode == 0, done.stderr
    assert "warning: c.txt: unknown keys, skipped: MINE\n" in done.stderr
    # It is repeated as it was run.
    assert command_here("why", "runs/c").returncode == 0


def test_simais_topology_is_an_option(command_here: Command, tmp_path: Path) -> None:
    put(tmp_path, CONFIG.replace("TOPOLOGY_FILE topo.txt\n", "MON_START 0\n"), header="6 1 1 1 5 H100")
    done = command_here("run", "--hpcc", "c.txt", "--scheme", "dcqcn")
    assert done.returncode == 2
    assert "SimAI takes it as an argument: --topology FILE" in done.stderr
    for arguments in (["run", "--scheme", "dcqcn"], ["compare", "--schemes", "as-is,dcqcn"]):
        done = command_here(arguments[0], "--hpcc", "c.txt", "--topology", "topo.txt", *arguments[1:])
        assert done.returncode == 0, done.stderr
        assert "the dialect of SimAI (simai), since c.txt has MON_START" in done.stderr


def test_generators_have_no_limits_of_its_own_network(command_here: Command, tmp_path: Path) -> None:
    star = command_here("gen", "topology", "star", "--hosts", "300", "-o", "topo.txt")
    assert star.returncode == 0, star.stderr
    flows = command_here("gen", "permutation", "--topology", "topo.txt", "--size", "5 GB", "-o", "flow.txt")
    assert flows.returncode == 0, flows.stderr
    (tmp_path / "flow.txt").write_text("1\n0 299 3 100 1000 2\n")
    made = command_here(
        "gen", "config", "--cc", "dcqcn", "--topology", "topo.txt", "--flows", "flow.txt", "-o", "c.txt"
    )
    assert made.returncode == 0, made.stderr
    done = command_here("run", "--hpcc", "c.txt")
    assert done.returncode == 2
    assert "node 300 has 300 links; in that simulator at most 256 are possible" in done.stderr
    # The cdf of another generator.
    (tmp_path / "cdf.txt").write_text("0 0\n1000 0.5\n9000 1\n")
    done = command_here(
        "gen", "flows", "--cdf", "cdf.txt", "--load", "0.3", "--hosts", "4", "--bandwidth", "1Gbps", "-o", "x"
    )
    assert done.returncode == 2
    assert "cdf.txt:3: " in done.stderr
    assert "multiply by 100" in done.stderr

"""ASTRA-sim on Fanin: specs whose messages a program posts, and the real program where ASTRA_SIM names a checkout."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fanin
from fanin import _core
from fanin.runs import Job
from fanin.verifying import verify

ROOT = Path(__file__).parents[1]
CHECKOUT = os.environ.get("ASTRA_SIM", "")
SPEC = """\
spec_version = 1
name = "mine"
[network]
topology = { kind = "star", hosts = 4, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "unlimited" }
[[traffic]]
name = "job"
scheme = "dcqcn"
pattern = { kind = "posted" }
[measure]
window = "10 ms"
"""


def refused(text: str, tmp_path: Path) -> str:
    spec = tmp_path / "mine.toml"
    spec.write_text(text, encoding="utf-8")
    with pytest.raises(_core.SpecError) as error:
        fanin.run(spec, progress=False)
    return str(error.value)


def test_a_spec_of_posted_messages_does_not_run_by_itself_and_has_no_others(tmp_path: Path) -> None:
    said = refused(SPEC, tmp_path)
    assert "mine.toml:9: traffic[0].pattern: its messages are posted by a program while the run goes on" in said
    other = '[[traffic]]\nname = "o"\nscheme = "none"\nsize = { fixed = "1 KB" }\npattern = { kind = "all-to-all" }\n'
    assert "there are other traffics beside those messages" in refused(SPEC + other, tmp_path)
    assert "is measured from its start" in refused(SPEC + 'warm_up = "1 ms"\n', tmp_path)
    for key in ('size = { fixed = "1 KB" }', 'load = { share = 0.5, of = "host-links" }'):
        assert "leave it out" in refused(SPEC.replace('"dcqcn"\n', f'"dcqcn"\n{key}\n'), tmp_path)
    # It can be checked and explained.
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    assert not [said for said in _core.warnings(Job.of(tmp_path / "mine.toml", [])) if "no message is posted" in said]
    assert "posted" in _core.resolve(Job.of(tmp_path / "mine.toml", []))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of bindings/astra-sim, made against the checkout."""
    if not CHECKOUT:
        pytest.skip("ASTRA_SIM names no checkout of ASTRA-sim with its submodules: the real program is not tried")
    built = tmp_path_factory.mktemp("astra-sim")
    cmake = ["cmake", "-DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS", f"-DASTRA_SIM={Path(CHECKOUT).resolve()}"]
    for command in (
        ["make", "library"],
        [*cmake, "-S", "bindings/astra-sim", "-B", str(built)],
        ["cmake", "--build", str(built), "-j", "2"],
    ):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return built / "AstraSim_Fanin"


def run(program: Path, workload: str, *options: str) -> subprocess.CompletedProcess[str]:
    examples = Path(CHECKOUT).resolve() / "examples"
    given = {
        "workload-configuration": examples / "workload" / "microbenchmarks" / workload,
        "system-configuration": examples / "system" / "native_collectives" / "Ring_4chunks.json",
        "remote-memory-configuration": examples / "remote_memory" / "analytical" / "no_memory_expansion.json",
        "network-configuration": examples / "network" / "analytical" / "Ring_8npus.yml",
    }
    flags = [f"--{name}={value}" for name, value in given.items()]
    return subprocess.run(
        [program, *flags, *options], cwd=program.parent, capture_output=True, text=True, check=False, timeout=300
    )


def test_astra_sim_runs_its_examples_on_a_ring(program: Path, tmp_path: Path) -> None:
    for workload in ("all_reduce", "all_gather", "reduce_scatter"):
        folder = tmp_path / workload
        done = run(program, f"{workload}/8npus_1MB/{workload}", "--fanin-folder", str(folder))
        assert done.returncode == 0, done.stderr
        finished = {int(ns) for ns in re.findall(r"finished, (\d+) cycles", done.stdout)}
        assert len(finished) == 1
        assert verify(folder) == []
        ran = fanin.load(folder)
        flows = ran.flows()
        # 4 chunks of 7 steps at 8 ranks each, twice for an all-reduce; every rank ends with its last receive.
        assert flows.height == 4 * 7 * 8 * (2 if workload == "all_reduce" else 1)
        last = (flows["start_ps"] + flows["completion_ps"]).max()
        assert isinstance(last, int)
        assert last / 1000 <= finished.pop()
    shutil.rmtree(tmp_path)


def test_whole_messages_take_what_they_take_on_the_analytical_network(program: Path, tmp_path: Path) -> None:
    system = json.loads((Path(CHECKOUT) / "examples/system/native_collectives/Ring_4chunks.json").read_text())
    system |= {"preferred-dataset-splits": 1, "local-mem-bw": 1_000_000_000}
    (tmp_path / "system.json").write_text(json.dumps(system))
    whole = ["--fanin-set=network.packet.header=0 B", "--fanin-set=network.packet.payload=65535 B"]
    done = run(program, "all_reduce/8npus_1MB/all_reduce", f"--system-configuration={tmp_path}/system.json", *whole)
    assert done.returncode == 0, done.stderr
    # 41,324 there, where each of 14 hops is rounded down to whole nanoseconds.
    assert {int(ns) for ns in re.findall(r"finished, (\d+) cycles", done.stdout)} == {41_329}


def test_what_cannot_run_has_a_status_and_a_reason(program: Path) -> None:
    for options, reason in (
        (["--network-configuration=none.yml"], "none.yml: there is no such file"),
        (["--num-queue-per-dim=1"], "--num-queue-per-dim: there is no such option"),
        (["--fanin-arrival=late"], "write receiver or sender-ack"),
        (["--fanin-set=network.nothing=1"], "network.nothing"),
        (["--comm-scale=much"], "this is no number"),
    ):
        done = run(program, "all_reduce/8npus_1MB/all_reduce", *options)
        assert done.returncode == 1
        assert reason in done.stderr

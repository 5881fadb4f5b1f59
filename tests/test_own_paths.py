"""Senders' choice of paths by classes in Python: the same bits as the built-in one, its errors, and its check; and
links that are slow, which it goes around."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import fanin
from conftest import Command, compiled

ROOT = Path(__file__).parents[1]
REPS = str(ROOT / "examples" / "own" / "reps.py:Reps")
SLOW = {"at": "spine1", "speed": 0.1, "error_rate": 0.02}


def spec(**network: Any) -> dict[str, Any]:
    """An incast across spines, one of them slow, with short queues that mark, cut and drop packets, for longer than the
    10 ms for which a timeout freezes REPS."""
    return {
        "spec_version": 1,
        "name": "paths",
        "seed": 3,
        "network": {
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "hosts": 4,
                "spines": 4,
                "link": "10 Gbps",
                "delay": "1 us",
            },
            "buffer": {"policy": "lossy", "per_port": "30 KB"},
            "marking": {"kind": "step", "above": "10 KB"},
            "trimming": {"headers": "2 KB"},
            "links": [SLOW],
        }
        | network,
        "traffic": [
            {
                "name": "in",
                "scheme": "dctcp-rate",
                "pattern": {"kind": "incast", "degree": 7, "every": "100 ms"},
                "size": {"fixed": "3 MB"},
                "rdma": {"recovery": "unordered", "timeout": "100 us"},
            }
        ],
        "measure": {"window": "1 ms", "drain": True},
    }


def run(threads: int = 1, **changes: Any) -> fanin.Result:
    """A run of the spec."""
    return fanin.run(spec(), progress=False, threads=threads, **changes)


def test_reps_in_python_has_the_bits_of_the_built_in_one_on_any_number_of_threads() -> None:
    theirs = run(balancing="reps")
    network = theirs.summary()["network"]
    assert network["trimmed"] > 0
    assert network["timeouts"] > 0, "every feedback occurs"
    for threads in (1, 2, 3):
        ours = run(threads, balancing=REPS)
        assert ours.manifest["event_hash"] == theirs.manifest["event_hash"], threads
        assert ours.summary()["errors"] == theirs.summary()["errors"]
    few = [run(balancing=balancing, set=["network.paths=8"]) for balancing in ("reps", REPS)]
    assert few[0].manifest["event_hash"] == few[1].manifest["event_hash"] != theirs.manifest["event_hash"]


def selector(tmp_path: Path, body: str) -> str:
    """A file with a selector whose class has this body."""
    file = tmp_path / "paths.py"
    file.write_text(f"import fanin\n\n\nclass MyPaths(fanin.PathSelector):\n    {body}\n")
    return f"{file}:MyPaths"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def next_path(self, number, window): return 65536", "it returned 65536; right is the number of a path"),
        ("def next_path(self, number, window): return 1 / 0", "ZeroDivisionError: division by zero"),
        (
            "next_path = lambda self, number, window: 1\n    def feedback(self, path, feedback): path.x",
            "AttributeError",
        ),
    ],
)
def test_a_failure_names_the_flow_the_time_and_the_line(tmp_path: Path, body: str, said: str) -> None:
    (error,) = run(balancing=selector(tmp_path, body)).summary()["errors"]
    assert error.startswith("MyPaths.")
    assert "of flow " in error
    assert said in error
    assert "paths.py, line " in error


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", r"it has no next_path: write def next_path\(self, number, window\)"),
        ("def nextpath(self, number, window): return 0", "did you mean next_path"),
        ("def next_path(self): yield 1", "has a yield"),
    ],
)
def test_a_class_that_cannot_be_one_is_refused(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(fanin.SpecError, match=said):
        run(balancing=selector(tmp_path, body))


def test_it_is_refused_on_a_wire_and_is_no_discipline() -> None:
    with pytest.raises(fanin.SpecError, match="paths that senders choose have no field in RoCEv2's headers"):
        fanin.run(spec(), progress=False, balancing=REPS, on="wire")
    with pytest.raises(fanin.SpecError, match="it is not a queue discipline, but load balancing"):
        fanin.run(spec(), progress=False, discipline=REPS)


class Writes(fanin.Discipline):
    """Writes where senders put the number of a path."""

    def on_enqueue(self, queued: fanin.Queued) -> None:
        """Of data and of ACKs."""
        queued.packet.cc_feedback = 7


def test_no_switch_may_write_where_senders_put_the_number_of_a_path() -> None:
    (error,) = run(balancing="reps", discipline=Writes).summary()["errors"]
    assert error.startswith("Writes.on_enqueue of switch ")
    assert "it wrote cc_feedback, where senders put the number of a packet's path" in error
    assert run(balancing="random", discipline=Writes).summary()["errors"] == []


def test_the_check(tmp_path: Path, command: Command) -> None:
    good = fanin.check_scheme(REPS, cases=50, progress=False)
    assert good.ok, good
    assert (good.scheme, good.kind, good.cases, good.threads) == ("own-reps", "balancing", 50, 2)
    shared = selector(
        tmp_path, "turn = []\n    def next_path(self, *_): self.turn.append(0); return len(self.turn) % 9"
    )
    done = command("check-scheme", shared)
    assert done.returncode == 1, done.stderr
    assert "my-paths: a promise is not kept: a replay gives the same answers" in done.stdout
    assert "in the replay, one sender after the other" in done.stdout
    wrong = selector(tmp_path, "def next_path(self, number, window): return -1")
    broken = fanin.check_scheme(wrong, cases=50, progress=False).broken
    assert broken is not None
    assert (broken.rule, len(broken.events)) == ("no hook fails", 1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_one_in_c_is_run_and_checked(tmp_path: Path) -> None:
    library = compiled(ROOT / "examples" / "own" / "reps.c", tmp_path)
    assert run(2, balancing=library).manifest["event_hash"] == run(balancing="reps").manifest["event_hash"]
    assert fanin.check_scheme(library, cases=50, progress=False).ok


def test_explain_sees_slow_links_and_who_chooses_paths(command: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(spec(balancing="reps", paths=64)))
    done = command("explain", "spec.json", "--json")
    assert done.returncode == 0, done.stderr
    explained = json.loads(done.stdout)
    tiers = {tier["tier"]: tier["rates"] for tier in explained["network"]["tiers"]}
    slow, fast = {"rate_bps": 10**9, "links": 2}, {"rate_bps": 10**10, "links": 6}
    assert tiers["tor-uplink"] == tiers["tor-downlink"] == [slow, fast]
    (remark,) = explained["remarks"]
    assert "senders of RDMA choose one of 64 paths for each packet" in remark


def test_reps_goes_around_a_slow_spine() -> None:
    mean_us: dict[str, float] = {}
    for balancing in ("reps", "oblivious"):
        alone = spec(buffer={"policy": "unlimited"}, links=[{"at": "spine1", "speed": 0.1}], balancing=balancing)
        del alone["network"]["trimming"]
        alone["traffic"][0] |= {"pattern": {"kind": "permutation"}, "size": {"fixed": "1 MB"}}
        alone["measure"]["drain"] = True
        flows = fanin.run(alone, progress=False).flows()
        assert (flows["slowdown"] >= 1).all(), "no message is faster than its ideal"
        times = flows["completion_ps"].to_list()
        mean_us[balancing] = sum(times) / len(times) / 1e6
    assert mean_us["reps"] < 0.7 * mean_us["oblivious"], mean_us

"""Schemes and policies of one's own on a wire: the results of the simulator, from classes, files and libraries."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fanin
from conftest import compiled
from test_own_schemes import INCAST, NETWORK, AllRoles, Flow, failing, spec

SMALL = {"topology": NETWORK["topology"] | {"hosts": 2}}
"""Four hosts: five processes."""

FEW = INCAST | {"pattern": {"kind": "incast", "degree": 3}, "rdma": {"timeout": "500 us"}}


def same(scheme: Any, on_switches: dict[str, Any] | None = None) -> fanin.Result:
    """Runs it in both places, which must not differ in a bit; returns the wire's result."""
    simulated, wired = (
        fanin.run(spec(FEW, window="1 ms", **SMALL), scheme=scheme, progress=False, on=on, **(on_switches or {}))
        for on in ("simulator", "wire")
    )
    assert simulated.summary()["errors"] == wired.summary()["errors"] == []
    assert wired.manifest["packet_hops"] > 500
    assert wired.flows().equals(simulated.flows())
    assert wired.summary()["network"]["marked"] == simulated.summary()["network"]["marked"]
    return wired


def test_a_class_with_every_role_runs_on_a_wire_as_in_the_simulator() -> None:
    wired = same(AllRoles)
    # Its switches drop a packet each, and mark.
    assert wired.summary()["network"]["marked"] > 0
    assert wired.summary()["network"]["drops"]["program"] == 4


def test_a_file_and_policies_of_switches_do(root: Path, tmp_path: Path) -> None:
    own = root / "examples" / "own"
    policies = {
        "balancing": compiled(own / "two_choices.c", tmp_path),
        "discipline": compiled(own / "step_mark.c", tmp_path),
    }
    wired = same(f"{own / 'dctcp_rate.py'}:DctcpRate", policies)
    assert wired.summary()["network"]["marked"] > 0


def test_a_library_does(root: Path, tmp_path: Path) -> None:
    assert same(compiled(root / "examples" / "own" / "marked_share.c", tmp_path)).summary()["network"]["marked"] > 0


def test_a_class_that_other_processes_cannot_load_is_named() -> None:
    class Here(fanin.Scheme):
        """Of this function alone."""

        Sender = Flow

    with pytest.raises(fanin.SpecError, match=r"Here: other processes cannot load a class of a session"):
        fanin.run(spec(FEW, **SMALL), scheme=Here, progress=False, on="wire")
    # That it is loaded is nothing to a run without it.
    other = fanin.run(spec(FEW, window="1 ms", **SMALL), scheme="dcqcn", progress=False, on="wire")
    assert other.manifest["packet_hops"] > 500


def test_a_hook_that_fails_on_a_wire_names_its_line(tmp_path: Path) -> None:
    scheme = failing(tmp_path, "def on_ack(self, ack):\n    1 / 0")
    result = fanin.run(spec(FEW, window="1 ms", **SMALL), scheme=scheme, progress=False, on="wire")
    assert any("line 6): ZeroDivisionError: division by zero" in error for error in result.summary()["errors"])


def test_a_program_runs_its_own_class_on_a_wire(tmp_path: Path, root: Path) -> None:
    program = tmp_path / "program.py"
    example = (root / "examples" / "own" / "window.py").read_text(encoding="utf-8")
    runs = f"    print(fanin.run({spec(FEW, window='1 ms', **SMALL)!r}, scheme=Window, progress=False, on='wire'))"
    program.write_text(f"{example}\n\nif __name__ == '__main__':\n{runs}\n", encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "window" in done.stdout

"""`fanin check-scheme`: schemes that keep their promises pass; each broken one is found, and shown in a few events."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fanin
from conftest import ROOT, Command
from fanin.scheme_check import SchemeReport

OWN = [
    f"{path}:{name}"
    for path in sorted((ROOT / "examples" / "own").glob("*.py"))
    for name in re.findall(r"^class (\w+)\(fanin\.Scheme\)", path.read_text(encoding="utf-8"), re.M)
]

FRAME = """
import random
import fanin

class Flow(fanin.Sender):
    seen = 0
    def open(self, path):
        self.window = 20_000
        self.losses = 0
        self.packet = path.payload
        self.line = path.line_rate
{hooks}

class Broken(fanin.Scheme):
    Sender = Flow
"""


def broken(folder: Path, *hooks: str) -> str:
    """A scheme with these lines as its hooks."""
    path = folder / "broken.py"
    path.write_text(FRAME.format(hooks="\n".join("    " + line for line in hooks)), encoding="utf-8")
    return f"{path}:Broken"


def check(reference: str, cases: int = 500) -> SchemeReport:
    return fanin.check_scheme(reference, cases=cases, progress=False)


@pytest.mark.parametrize("reference", OWN, ids=lambda reference: reference.rpartition(":")[2])
def test_examples_keep_their_promises(reference: str) -> None:
    report = check(reference, cases=16)
    assert report.ok, report
    assert report.broken is None
    assert (report.cases, report.threads) == (16, 2), "all sequences, and the small network on two threads"


def test_there_are_examples() -> None:
    assert len(OWN) >= 3


def test_a_built_in_scheme_can_be_checked() -> None:
    assert check("dctcp", cases=8).ok


BROKEN = {
    "a window that ends at 0": (
        ["def on_loss(self, loss):", "    self.window //= 2"],
        "window at least 1 byte",
        "window 0 B",
        ["flow 0 opens", "finds a loss and goes back to it, 15 times"],
    ),
    "a rate that ends at 0": (
        ["def on_ack(self, ack):", "    self.rate = 0 if ack.ecn_echo else self.rate"],
        "rate above 0, or a timer that ends the rest",
        "no timer",
        ["echo of a mark"],
    ),
    "a rate without bounds": (
        ["def on_ack(self, ack):", "    self.rate = self.rate + 1_000_000"],
        "rate at most the line rate",
        "the line rate is 10 Gbps",
        ["an ACK reaches"],
    ),
    "a pause without end": (
        ["def on_timeout(self, loss):", "    self.not_before = 2**63"],
        "a flow with data and nothing in flight can send",
        "nothing before",
        ["the retransmission timer of flow 0 runs out", "may not send"],
    ),
    "a timer in the past": (
        ["def on_send(self, sent):", "    self.wake_at = self.now"],
        "no hook fails",
        "ValueError: wake_at = ",
        ["flow 0 sends a packet"],
    ),
    "a timer that never rests": (
        ["def on_timer(self):", "    self.wake_at = self.now + 1"],
        "timers leave time between them",
        "10000 of them",
        ["on_timer of flow 0 is called though", "the timer that flow 0 set runs out, 10000 times"],
    ),
    "state in the class": (
        ["def on_ack(self, ack):", "    Flow.seen += 1", "    self.window = 20_000 + Flow.seen"],
        "a replay gives the same answers",
        "and in the replay flow 0 has window",
        ["an ACK reaches"],
    ),
    "random numbers": (
        ["def on_loss(self, loss):", "    self.window = random.randint(10_000, 1_000_000_000)"],
        "a replay gives the same answers",
        "and in the replay flow 0 has window",
        ["finds a loss"],
    ),
    "an exception at the third loss": (
        ["def on_loss(self, loss):", "    self.losses += 1", "    self.packet // (3 - self.losses)"],
        "no hook fails",
        "ZeroDivisionError",
        ["finds a loss and goes back to it, 3 times"],
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_scheme_is_found_and_shown_in_a_few_events(what: str, tmp_path: Path) -> None:
    hooks, rule, detail, events = BROKEN[what]
    report = check(broken(tmp_path, *hooks))
    assert not report.ok
    assert report.broken is not None, report
    assert report.broken.rule == rule
    assert detail in report.broken.detail
    told = [event.what for event in report.broken.events]
    assert 2 <= len(told) <= 6, report
    for event in events:
        assert any(event in line for line in told), report
    times = [event.at_us for event in report.broken.events]
    assert times == sorted(times)
    assert times[0] == 1.0


def test_an_exception_is_shown_with_hook_line_and_events(tmp_path: Path, command: Command) -> None:
    hooks, *_ = BROKEN["an exception at the third loss"]
    reference = broken(tmp_path, *hooks)
    line = 1 + (tmp_path / "broken.py").read_text(encoding="utf-8").splitlines().index(f"    {hooks[2]}")
    done = command("check-scheme", reference)
    assert done.returncode == 1
    assert "broken: a promise is not kept: no hook fails" in done.stdout
    assert re.search(rf"Flow\.on_loss of flow 0 at \S+ \S+ \(\S*broken\.py, line {line}\): ZeroDivision", done.stdout)
    assert re.search(r"^ +1\.000000 us  flow 0 opens$", done.stdout, re.M)
    asked = command("check-scheme", reference, "--json")
    assert asked.returncode == 1
    document = json.loads(asked.stdout)
    assert document["ok"] is False
    assert document["broken"]["events"][0]["what"] == "flow 0 opens"
    assert document == fanin.check_scheme(reference, progress=False).as_dict(), "the same seed, the same answer"


def test_a_seed_draws_other_sequences(tmp_path: Path) -> None:
    hooks = ["def on_loss(self, loss):", "    self.losses += 1", "    self.window = 0 if self.losses > 30 else 5000"]
    reference = broken(tmp_path, *hooks)
    found = {fanin.check_scheme(reference, cases=200, seed=seed, progress=False).cases for seed in range(6)}
    assert len(found) > 1, "each seed finds it at the same sequence"


def test_ctrl_c_stops_a_check_and_says_what_was_run(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "fanin", "check-scheme", OWN[0], "--cases", "100000000", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path, env=dict(os.environ)) as running:
        assert running.stderr is not None
        running.stderr.readline()  # "running ...": it has begun
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    document = json.loads(out)
    assert (document["stopped"], document["ok"], document["broken"]) == (True, False, None)
    assert document["cases"] < 100_000_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py:Nothing"], "nothing.py"),
        (["dctpc"], 'did you mean "dctcp"'),
        (["dctcp", "--cases", "0"], "--cases"),
    ],
)
def test_what_cannot_be_checked_is_an_error(command: Command, arguments: list[str], message: str) -> None:
    done = command("check-scheme", *arguments)
    assert done.returncode == 2
    assert message in done.stderr

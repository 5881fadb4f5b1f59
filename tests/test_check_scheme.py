"""`fanin check-scheme`: what keeps its promises passes; what breaks one is found, and shown in a few events."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fanin
from conftest import ROOT, Command, compiled
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


def told(report: SchemeReport) -> list[str]:
    """What happened, of a report about a broken promise."""
    assert report.broken is not None, report
    return [event.what for event in report.broken.events]


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
        ["cuts the payload of a packet"],  # a loss, as the scheme has no on_trim
    ),
    "an exception at the third loss": (
        ["def on_loss(self, loss):", "    self.losses += 1", "    self.packet // (3 - self.losses)"],
        "no hook fails",
        "ZeroDivisionError",
        ["finds a loss and goes back to it", "cuts the payload of a packet"],  # three in all, as a trim is a loss too
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
    assert 2 <= len(told) <= 7, report
    for event in events:
        assert any(event in line for line in told), report
    times = [event.at_us for event in report.broken.events]
    assert times == sorted(times)
    assert times[0] == 1.0


IDLE = {
    "a window of 0": (["self.window = 0"], "window at least 1 byte", "window 0 B"),
    "a timer in the past": (["self.wake_at = self.now - 1"], "no hook fails", "wake_at"),
    "a pause without end": (
        ["self.not_before = 2**63"],
        "a flow with data and nothing in flight can send",
        "nothing before",
    ),
}


@pytest.mark.parametrize("what", IDLE)
@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_what_a_scheme_does_when_it_is_idle_is_checked(what: str, transport: str, tmp_path: Path) -> None:
    lines, rule, detail = IDLE[what]
    reference = broken(tmp_path, "def on_idle(self):", *("    " + line for line in lines))
    with (tmp_path / "broken.py").open("a", encoding="utf-8") as file:
        file.write(f'    transport = "{transport}"\n')
    report = check(reference)
    events = told(report)
    assert report.broken is not None
    assert report.broken.rule == rule
    assert detail in report.broken.detail
    idle = "which was idle" if transport == "tcp" else "is acknowledged: it is idle"
    assert any(idle in line for line in events), report
    assert len(events) <= 16, report


def library(folder: Path, name: str, text: str) -> str:
    """The path of a library of this C program."""
    source = folder / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    return compiled(source, folder)


def test_an_idle_hook_in_c_is_checked(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "own" / "fixed_window.c").read_text(encoding="utf-8")
    hook = "static void on_idle(void *me, fanin_control *control, fanin_cx *cx) {{ (void)me, (void)cx; {} }}\n\n"
    for name, body in {"kept": "(void)control;", "broken": "control->window = 0;"}.items():
        changed = text.replace(
            "static const struct fanin_scheme scheme", hook.format(body) + "static const struct fanin_scheme scheme"
        )
        changed = changed.replace(".on_ack = on_ack}", ".on_ack = on_ack, .on_idle = on_idle}")
        assert changed.count("on_idle") == 3
        report = fanin.check_scheme(library(tmp_path, name, changed), cases=40, progress=False)
        assert report.ok == (name == "kept"), report
    assert report.broken is not None
    assert report.broken.rule == "window at least 1 byte"
    assert any("it is idle" in line for line in told(report)), report


GAIN = """
from dataclasses import dataclass, field
import fanin

@dataclass(frozen=True)
class Params:
    gain: float = 0.5
    packets: int = 20
    period: int = field(default=5_000_000, metadata={{"unit": "time"}})

    def __post_init__(self):
{check}

class Flow(fanin.Sender):
    def open(self, path):
        self.window = self.params.packets * path.payload

    def on_loss(self, loss):
        self.window = max(self.window - int(self.params.gain * self.window), 0 if self.params.gain > 1 else 1000)

class Gain(fanin.Scheme):
    Params = Params
    Sender = Flow
"""


def gain(folder: Path, *checks: str) -> str:
    path = folder / "gain.py"
    lines = "\n".join("        " + line for line in checks or ("pass",))
    path.write_text(GAIN.format(check=lines), encoding="utf-8")
    return f"{path}:Gain"


def test_random_parameters_are_tried_shown_and_shrunk(tmp_path: Path, command: Command) -> None:
    reference = gain(tmp_path)
    report = check(reference)
    assert report.broken is not None
    assert report.broken.parameters == {"gain": 1.5}, (
        "of the factors, 3 is the mildest that fails; nothing else changes"
    )
    again = fanin.check_scheme(reference, parameters=report.broken.parameters, progress=False)
    assert again.broken is not None
    assert (again.broken.rule, again.broken.parameters) == (report.broken.rule, {"gain": 1.5})
    assert fanin.check_scheme(reference, parameters={}, cases=200, progress=False).ok, "the defaults are good"
    done = command("check-scheme", reference, "--cases", "500")
    assert done.returncode == 1
    assert "not with its defaults, but with --set gain=1.5\n" in done.stdout
    done = command("check-scheme", reference, "--set", "gain=1.5", "--set", "period=20 us", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["parameters"] == document["broken"]["parameters"] == {"gain": 1.5, "period": "20 us"}


def test_parameters_that_the_scheme_refuses_are_not_tried(tmp_path: Path) -> None:
    reference = gain(tmp_path, "if self.gain > 1:", '    raise ValueError(f"gain is {self.gain}: at most 1")')
    assert check(reference).ok
    with pytest.raises(fanin.SpecError, match=r"gain is 1\.5: at most 1"):
        fanin.check_scheme(reference, parameters={"gain": 1.5}, progress=False)


def test_most_sequences_have_the_default_parameters(tmp_path: Path) -> None:
    note = [f"with open({str(tmp_path / 'made')!r}, 'a') as made:"]
    note += ["    print(self.gain, self.packets, self.period, file=made)"]
    refuse = ["if self.gain > 1:", '    raise ValueError("at most 1")']
    assert check(gain(tmp_path, *refuse, *note), cases=200).ok
    made = (tmp_path / "made").read_text(encoding="utf-8").splitlines()
    assert len(made) / 2 < made.count("0.5 20 5000000") < len(made)
    assert len(set(made)) > 20, "the others are of many kinds"


POLICIES = """
import fanin

class Shortest(fanin.Balancer):
    def choose(self, packet, hash, choices):
        return min(range(len(choices)), key=lambda at: choices[at].queued)

class Seventh(fanin.Balancer):
    def choose(self, packet, hash, choices):
        return 7

class Shared(fanin.Balancer):
    turn = 0
    def choose(self, packet, hash, choices):
        Shared.turn += 1
        return Shared.turn % len(choices)

class Above(fanin.Discipline):
    def on_enqueue(self, queued):
        if queued.packet.kind != "data":
            return None
        if queued.view.lane_queued > 60_000:
            return fanin.Verdict.DROP
        return fanin.Verdict.MARK if queued.view.lane_queued > 20_000 else None

class Closed(fanin.Discipline):
    def on_enqueue(self, queued):
        return fanin.Verdict.DROP

class Late(fanin.Discipline):
    def on_dequeue(self, queued):
        return fanin.Verdict.DROP if queued.packet.flow == 3 else None
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    path = tmp_path / "policies.py"
    path.write_text(POLICIES, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "kind"), [("Shortest", "balancing"), ("Above", "discipline")])
def test_good_policies_pass(name: str, kind: str, policies: Path, command: Command) -> None:
    report = check(f"{policies}:{name}", cases=50)
    assert report.ok, report
    assert (report.scheme, report.kind, report.cases, report.threads) == (name.lower(), kind, 50, 2)
    done = command("check-scheme", f"{policies}:{name}", "--cases", "20")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name.lower()}: ok, its promises were kept in 20 random sequences")


@pytest.mark.parametrize(
    ("name", "rule", "detail"),
    [
        ("Seventh", "no hook fails", "it chose 7 of "),
        ("Shared", "a replay gives the same answers", "it takes "),
        ("Closed", "an empty queue lets packets in", "port 0 is empty"),
        ("Late", "no hook fails", "cannot be dropped or trimmed any more"),
    ],
)
def test_broken_policies_are_found_and_shown_in_a_few_events(
    name: str, rule: str, detail: str, policies: Path, command: Command
) -> None:
    report = check(f"{policies}:{name}")
    events = told(report)
    assert report.broken is not None
    assert report.broken.rule == rule
    assert detail in report.broken.detail
    assert 1 <= len(events) <= 3, report
    assert all(re.match(r"switch [0-2]: ", line) for line in events), report
    done = command("check-scheme", f"{policies}:{name}")
    assert done.returncode == 1
    assert f"{name.lower()}: a promise is not kept: {rule}" in done.stdout


def test_a_class_of_a_policy_is_checked_too() -> None:
    class Some(fanin.Balancer):
        """One of them."""

        def choose(self, packet: fanin.Packet, hash: int, choices: list[fanin.Choice]) -> int:  # noqa: A002
            return (hash + packet.wire) % len(choices)

    assert fanin.check_scheme(Some, cases=20, progress=False).ok


def test_policies_in_c_are_checked_with_their_parameters(tmp_path: Path, command: Command) -> None:
    example = {
        name: (ROOT / "examples" / "own" / f"{name}.c").read_text("utf-8") for name in ("two_choices", "step_mark")
    }
    balancer = library(tmp_path, "balancer", example["two_choices"])
    assert fanin.check_scheme(balancer, cases=50, progress=False).ok
    wrong = example["two_choices"].replace("draw(at, count - 1)", "draw(at, count)")
    found = check(library(tmp_path, "wrong", wrong.replace('"two-choices"', '"wrong-choices"')))
    assert found.broken is not None
    assert (found.kind, found.scheme, found.broken.rule) == ("balancing", "wrong-choices", "no hook fails")

    dropping = example["step_mark"].replace("of_class > (", "of_class >= (").replace("? FANIN_MARK", "? FANIN_DROP")
    discipline = library(tmp_path, "discipline", dropping)
    assert fanin.check_scheme(discipline, cases=50, progress=False).ok, "by default a queue may have 30,000 bytes"
    done = command("check-scheme", discipline, "--set", "above=0", "--json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["parameters"] == {"above": 0}
    assert report["broken"]["rule"] == "an empty queue lets packets in"
    for set_, message in (("below=1", 'has no parameter "below"; it has above'), ("above=-1", "above")):
        done = command("check-scheme", discipline, "--set", set_)
        assert done.returncode == 2
        assert message in done.stderr


def test_of_a_library_with_several_programs_the_scheme_is_checked(tmp_path: Path) -> None:
    several = (ROOT / "crates" / "own" / "tests" / "own" / "c" / "policies.c").read_text("utf-8")
    found = fanin.check_scheme(library(tmp_path, "several", several), cases=5, progress=False)
    assert (found.kind, found.scheme, found.ok) == ("scheme", "beside", True)
    policies = several.replace("const struct fanin_scheme *fanin_scheme(void)", "static const void *none(void)")
    found = fanin.check_scheme(library(tmp_path, "policies", policies), cases=5, progress=False)
    assert (found.kind, found.scheme, found.ok) == ("balancing", "first", True)


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


def test_a_network_that_needs_no_second_thread_is_told(tmp_path: Path) -> None:
    text = FRAME.replace("self.window = 20_000", "self.rate = 10_000_000").format(hooks="")
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    report = check(f"{tmp_path}/slow.py:Broken", cases=20)
    assert (report.ok, report.threads) == (True, 0)
    assert "not run in a network: on two threads: too few events" in str(report)


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
        (["dctcp", "--set", "gg=1"], 'dctcp has no parameter "gg"; it has '),
        (["dctcp", "--set", "g=2"], "dctcp: g"),
        (["dctcp", "--set", "g"], 'no "="'),
        (["none", "--set", "g=2"], "it has none"),
        (["gone.py:Gone"], "gone.py"),
    ],
)
def test_what_cannot_be_checked_is_an_error(command: Command, arguments: list[str], message: str) -> None:
    done = command("check-scheme", *arguments)
    assert done.returncode == 2
    assert message in done.stderr

"""Hooks of own schemes and policies that fail: what is said, and that it does not depend on the number of threads."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

import fanin
from fanin.table import stopped_note
from test_own_schemes import ACROSS, NETWORK, bits, spec

FRAME = """\
import fanin
class S(fanin.Sender):
    pass
class R(fanin.Receiver):
    pass
class W(fanin.SwitchProgram):
    pass
class {base}(fanin.{kind}):
{body}
class Scheme(fanin.Scheme):
    id = "fails"
    credits = {credits}
    Sender, Receiver, Switch = {roles}
"""


def failure(tmp_path: Path, base: str, body: str, network: dict[str, Any] | None = None, credits_: str = "None") -> str:
    """The error of a run in which the body of a role's class fails: "S", "R", "W", or a policy, "B" or "D"."""
    kinds = {"S": "Sender", "R": "Receiver", "W": "SwitchProgram", "B": "Balancer", "D": "Discipline"}
    roles = f"S, {'R' if base == 'R' else None}, {'W' if base == 'W' else None}"
    file = tmp_path / "own.py"
    body = textwrap.indent(body, "    ")
    file.write_text(FRAME.format(base=base, kind=kinds[base], body=body, credits=credits_, roles=roles))
    own: dict[str, Any] = {"scheme": f"{file}:Scheme"}
    if base in "BD":
        own = {"scheme": "none", {"B": "balancing", "D": "discipline"}[base]: f"{file}:{base}"}
    result = fanin.run(spec(ACROSS, **(network or {})), progress=False, threads=1, **own)
    assert result.cancelled
    (error,) = result.summary()["errors"]
    return str(error)


NOT_OPEN = "which is not open towards this host: keep the numbers of on_open"
SENT = "def on_data(self, data):\n    {}\n    return fanin.AckFields()"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (SENT.format("self.send_ack(999, fanin.AckFields())"), f"ValueError: send_ack of flow 999, {NOT_OPEN}"),
        (SENT.format("self.send_cnp(77)"), f"ValueError: send_cnp of flow 77, {NOT_OPEN}"),
        (SENT.format("self.send_credit(data.flow, 1, 84)"), "set credits = (size, burst, limit)"),
        (
            "def on_close(self, flow):\n    self.of, self.wake_at = flow, self.now + 1\n"
            "def on_timer(self, received):\n    self.send_ack(self.of, fanin.AckFields())",
            NOT_OPEN,
        ),
        ("def on_close(self, flow):\n    self.send_cnp(flow)", NOT_OPEN),
    ],
)
def test_a_receiver_sends_only_what_it_can(tmp_path: Path, body: str, said: str) -> None:
    error = failure(tmp_path, "R", body)
    assert said in error
    assert "own.py, line " in error
    assert error.startswith("R.on_")


def test_credits_have_a_size(tmp_path: Path) -> None:
    for call, said in (("1, 0", "wire = 0: it is 1 to 9000 bytes"), ("-1, 84", "-1 is no whole number from 0 to 2^32")):
        body = SENT.format(f"self.send_credit(data.flow, {call})")
        assert said in failure(tmp_path, "R", body, credits_="(84, 1000, 2000)")


@pytest.mark.parametrize(
    ("base", "body", "said"),
    [
        (
            "S",
            "def on_send(self, sent):\n    return 'no'",
            "TypeError: it returned 'no'; right is a whole number from 0",
        ),
        ("R", "def on_data(self, data):\n    return 3", "it returned 3; right is fanin.AckFields, None, or a pair of"),
        (
            "R",
            SENT.format("fanin.AckFields(cc_feedback=-1)"),
            "-1 is no whole number from 0 to 2^32 - 1 (while processing 'cc_feedback')",
        ),
        (
            "W",
            "def route(self, packet, ingress, minimal, ports):\n    return -1",
            "it returned -1; right is the number",
        ),
        ("W", "def on_enqueue(self, queued):\n    return True", "it returned True; right is fanin.Verdict.ADMIT, MARK"),
        (
            "B",
            "def choose(self, packet, hash, choices):\n    return None",
            "returned None; right is an index in choices",
        ),
        ("D", "def on_enqueue(self, queued):\n    return 'x' * 99", "'xxx"),
        ("D", "def on_enqueue(self, queued):\n    queued.packet.cc_feedback = 2**32", "4294967296 is no whole number"),
    ],
)
def test_a_wrong_result_is_told_with_what_is_right_and_where(tmp_path: Path, base: str, body: str, said: str) -> None:
    error = failure(tmp_path, base, body)
    assert said in error
    assert "own.py, line " in error
    assert len(error) < 400


def test_what_a_role_shows_are_finite_numbers_with_names(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    measure = {"window": "1 ms", "series": [{"what": "flow", "where": ["across:0"], "every": "50 us"}]}
    for shown, said in (
        ("{'x': float('nan')}", 'it reports "x" as NaN: report a finite number'),
        ("{'': 1}", "it reports 1 without a name"),
        ("[1, 2]", "it returned [1, 2]; right is a dictionary of numbers by name"),
    ):
        body = f"def watch(self):\n    return {shown}"
        roles = "S, None, None"
        file.write_text(
            FRAME.format(base="S", kind="Sender", body=textwrap.indent(body, "    "), credits=None, roles=roles)
        )
        result = fanin.run(spec(ACROSS) | {"measure": measure}, scheme=f"{file}:Scheme", progress=False)
        (error,) = result.summary()["errors"]
        assert error.startswith("S.watch of flow 0 at "), error
        assert said in error


def test_a_failure_is_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text(
        "import fanin\nclass S(fanin.Sender):\n    def on_ack(self, ack):\n"
        "        assert self.now < 1_500_000_000, 'late'\nclass Late(fanin.Scheme):\n    Sender = S\n"
    )
    long = {"topology": NETWORK["topology"] | {"hosts": 32, "delay": "20 us"}}
    runs = [fanin.run(spec(**long), scheme=f"{file}:Late", progress=False, threads=threads) for threads in (1, 2, 2)]
    assert [run.manifest["threads"] for run in runs] == [1, 2, 2]
    assert len({str(bits(run)) for run in runs}) == 1
    assert len({run.manifest["simulated_ps"] for run in runs}) == 1
    (error,) = runs[0].summary()["errors"]
    assert "at 150" in error, "the earliest failure"
    assert runs[0].manifest["simulated_ps"] < 1_600_000_000, "the run ends soon"


def test_how_much_a_closed_flow_may_send_is_not_asked(tmp_path: Path) -> None:
    file = tmp_path / "shared.py"
    file.write_text(
        "import fanin\nclass S(fanin.Sender):\n"
        "    def open(self, path):\n        self.shared['n'] = self.shared.get('n', 0) + 1\n"
        "    def control(self):\n        self.rate = 10_000_000_000 // self.shared['n']\n"
        "    def close(self):\n        self.shared['n'] -= 1\n        self.share_changed()\n"
        "class Shared(fanin.Scheme):\n    sharing = 'pair'\n    Sender = S\n"
    )
    result = fanin.run(spec(ACROSS), scheme=f"{file}:Shared", progress=False)
    assert result.summary()["errors"] == []
    assert result.summary()["traffics"][0]["unfinished"] == 0
    assert fanin.check_scheme(f"{file}:Shared", cases=20, progress=False).ok


def test_no_ack_of_a_check_comes_sooner_than_after_a_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "delay.py"
    file.write_text(
        "import fanin\nclass S(fanin.Sender):\n"
        "    def open(self, path):\n        self.base, self.window = path.base_rtt, 10_000\n"
        "    def on_ack(self, ack):\n        assert ack.rtt > 0.9 * self.base, (ack.rtt, self.base)\n"
        "class Delay(fanin.Scheme):\n    Sender = S\n"
    )
    report = fanin.check_scheme(f"{file}:Delay", cases=40, progress=False)
    assert report.ok, report


def test_the_note_of_a_stopped_run_has_the_time_of_the_failure(tmp_path: Path) -> None:
    file = tmp_path / "note.py"
    for at, said in ((500_000_000, "500 us"), (1_000_000_000, "1.00 ms")):
        file.write_text(
            "import fanin\nclass S(fanin.Sender):\n"
            f"    def on_ack(self, ack):\n        self.wake_at = max({at}, self.now + 1)\n"
            "    def on_timer(self):\n        1 / 0\nclass Note(fanin.Scheme):\n    Sender = S\n"
        )
        result = fanin.run(spec(), scheme=f"{file}:Note", progress=False)
        assert stopped_note(result) == f"{result.label} failed at {said}"

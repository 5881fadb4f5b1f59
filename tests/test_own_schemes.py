"""Schemes that are Python classes: the same bits as built-in ones, every hook of every role, and errors."""
# ruff: noqa: ARG002 - hooks have arguments that they do not need

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import fanin
from conftest import Command
from fanin import own_schemes
from fanin.runs import Job

NETWORK: dict[str, Any] = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 6, "link": "10 Gbps", "delay": "1 us"},
    "buffer": {"per_port": "225 KB", "policy": "lossless"},
    "marking": {"kind": "step", "above": "20 KB"},
}
INCAST: dict[str, Any] = {
    "name": "incast",
    "scheme": "none",
    "pattern": {"kind": "incast", "degree": 5},
    "size": {"fixed": "150 KB"},
    "load": {"share": 0.4, "of": "host-links"},
}


def spec(*traffics: dict[str, Any], window: str = "2 ms", **changes: Any) -> dict[str, Any]:
    """A small network with these traffics, by default an incast."""
    return {
        "spec_version": 1,
        "name": "own",
        "seed": 3,
        "network": NETWORK | changes,
        "traffic": list(traffics or (INCAST,)),
        "measure": {"window": window, "drain": True},
    }


def bits(result: fanin.Result) -> tuple[object, ...]:
    """What equal runs have in common."""
    return result.manifest["event_hash"], result.manifest["packet_hops"], result.summary()["errors"]


@pytest.mark.parametrize(
    ("built_in", "own"),
    [("fixed-window", "window.py:Window"), ("dctcp-rate", "dctcp_rate.py:DctcpRate"), ("timely", "timely.py:Timely")],
)
def test_a_port_of_a_built_in_scheme_has_its_bits_and_its_actions(root: Path, built_in: str, own: str) -> None:
    reference = str(root / "examples" / "own" / own)
    theirs = fanin.run(spec(), scheme=built_in, progress=False, threads=1)
    ours = fanin.run(spec(), scheme=reference, progress=False, threads=1)
    assert bits(ours) == bits(theirs)
    assert ours.summary()["traffics"][0]["actions"] == theirs.summary()["traffics"][0]["actions"]
    assert sum(ours.summary()["traffics"][0]["actions"].values()) > 0


def test_threads_and_repeats_change_nothing(root: Path) -> None:
    reference = str(root / "examples" / "own" / "dctcp_rate.py:DctcpRate")
    # Long links: the threads need not wait for each other often.
    long = {"topology": NETWORK["topology"] | {"hosts": 32, "delay": "20 us"}}
    runs = [fanin.run(spec(**long), scheme=reference, progress=False, threads=threads) for threads in (1, 2, 2)]
    assert [run.manifest["threads"] for run in runs] == [1, 2, 2]
    assert len({str(bits(run)) for run in runs}) == 1


@dataclass(frozen=True)
class Params:
    """Parameters of the schemes below."""

    packets: int = 4
    gain: float = 0.5
    eager: bool = False

    def __post_init__(self) -> None:
        if self.packets < 1:
            raise ValueError("packets must be at least 1: a window of 0 never sends")


called: set[str] = set()


class Flow(fanin.Sender):
    """Notes each hook."""

    params: Params

    def open(self, path: fanin.PathInfo) -> None:
        """Checks the path."""
        called.add("open")
        assert path.line_rate == 10_000_000_000
        assert path.src != path.dst
        self.window = self.params.packets * path.payload
        self.wake_at = self.now + 5_000_000
        self.acks = 0
        self.asked_at = -1

    def on_send(self, sent: fanin.Sent) -> int:
        """The tag reaches switches and the receiver."""
        called.add("on_send")
        assert sent.wire > sent.payload > 0
        return 7

    def on_ack(self, ack: fanin.Ack) -> None:
        """The receiver's and the switches' numbers arrive."""
        called.add("on_ack")
        if ack.telemetry:
            called.add("telemetry")
            assert all(hop.rate == 10_000_000_000 for hop in ack.telemetry)
        if ack.cc_feedback:
            called.add(f"feedback {ack.cc_feedback}")
        self.acks += 1

    def on_notice(self, notice: fanin.Notice) -> None:
        """A CNP."""
        called.add(notice.kind)

    def on_timer(self) -> None:
        """Its time has come."""
        called.add("on_timer")
        assert self.wake_at is None

    def on_loss(self, loss: fanin.Loss) -> None:
        """Go-back-N found a loss."""
        called.add("on_loss")
        assert loss.sent_to > loss.first

    def on_timeout(self, loss: fanin.Loss) -> None:
        """A timer ran out."""
        called.add("on_timeout")

    def on_idle(self) -> None:
        """All is acknowledged."""
        called.add("on_idle")

    def poll_request(self, left: int) -> int | None:
        """A request per time."""
        called.add("poll_request")
        if self.asked_at == self.now or left <= 50_000:
            return None
        self.asked_at = self.now
        return 9

    def watch(self) -> dict[str, float]:
        """Internal state."""
        called.add("sender watch")
        return {"acks": self.acks}

    def close(self) -> None:
        """The end."""
        called.add("close")


class Host(fanin.Receiver):
    """Notes each hook of a receiver."""

    def open(self, nic: fanin.NicInfo) -> None:
        """The host comes up."""
        called.add("receiver open")
        assert nic.line_rate == 10_000_000_000
        self.seen = 0

    def on_open(self, flow: fanin.FlowInfo) -> None:
        """A flow comes."""
        called.add("on_open")
        self.wake_at = self.now + 3_000_000

    def on_message_start(self, message: fanin.MessageStart) -> None:
        """Its first packet."""
        called.add("on_message_start")

    def on_message_end(self, flow: int, id: int) -> None:  # noqa: A002
        """Its last."""
        called.add("on_message_end")

    def on_data(self, data: fanin.Data) -> fanin.AckFields | None:
        """Answers with a number; a mark makes a CNP."""
        called.add("on_data")
        assert data.cc_tag == 7
        self.seen += 1
        if data.cc_feedback:
            called.add("written by a switch")
        if data.ce:
            called.add("ce")
            self.send_cnp(data.flow)
        return fanin.AckFields(cc_feedback=42) if data.ack_due else None

    def on_request(self, request: fanin.Data) -> fanin.AckFields | None:
        """A request."""
        called.add("on_request")
        assert request.cc_tag == 9
        return fanin.AckFields(cc_feedback=43)

    def on_timer(self, received: int) -> None:
        """Its time has come."""
        called.add("receiver on_timer")
        assert received > 0

    def on_close(self, flow: int) -> None:
        """The end."""
        called.add("on_close")

    def watch(self) -> dict[str, float]:
        """Internal state."""
        called.add("receiver watch")
        return {"seen": self.seen}


class Program(fanin.SwitchProgram):
    """Notes each hook of a switch."""

    def open(self, switch: fanin.SwitchInfo) -> None:
        """The switch comes up."""
        called.add("switch open")
        self.ports = len(switch.ports)
        self.drops = 0
        self.wake_at = self.now + 1_000_000

    def route(self, packet: fanin.Packet, ingress: int, minimal: int, ports: list[fanin.PortView]) -> int:
        """Leaves packets on their path."""
        called.add("route")
        assert len(ports) == self.ports
        assert ports[minimal].up
        return minimal

    def on_enqueue(self, queued: fanin.Queued) -> fanin.Verdict | None:
        """Marks above 10 KB, and drops a packet once."""
        called.add("on_enqueue")
        if queued.own and queued.packet.kind == "data" and queued.packet.seq > 20_000 and self.drops < 1:
            self.drops += 1
            return fanin.Verdict.DROP
        return fanin.Verdict.MARK if queued.view.queued > 10_000 else None

    def on_dequeue(self, queued: fanin.Queued) -> None:
        """Writes a number for the receiver."""
        called.add("on_dequeue")
        if queued.own:
            queued.packet.cc_feedback = 11

    def on_timer(self, ports: list[fanin.PortView]) -> None:
        """Its time has come."""
        called.add("switch on_timer")
        assert len(ports) == self.ports

    def watch(self) -> dict[str, float]:
        """Internal state."""
        called.add("switch watch")
        return {"drops": self.drops}


class AllRoles(fanin.Scheme):
    """Every hook of every role."""

    Params = Params
    Sender = Flow
    Receiver = Host
    Switch = Program
    telemetry = True


def test_every_hook_of_every_role_is_called() -> None:
    called.clear()
    lossy = {"buffer": {"per_port": "225 KB", "policy": "lossy"}}
    traffic = INCAST | {"rdma": {"recovery": "go-back-n", "timeout": "500 us"}}
    document = spec(traffic, window="1 ms", **lossy)
    result = fanin.run(document, scheme=AllRoles, progress=False, threads=1)
    assert result.summary()["errors"] == []
    expected = {
        *("open", "on_send", "on_ack", "telemetry", "feedback 42", "feedback 43", "cnp", "on_timer", "on_loss"),
        *("poll_request", "close", "receiver open", "on_open", "on_message_start", "on_message_end", "on_data"),
        *("written by a switch", "ce", "on_request", "receiver on_timer", "on_close", "switch open", "route"),
        *("on_enqueue", "on_dequeue", "switch on_timer"),
    }
    assert expected - called == set()
    assert result.summary()["traffics"][0]["unfinished"] == 0


def test_parameters_are_keys_of_the_spec_and_are_checked() -> None:
    fanin.load_scheme(AllRoles)
    job = Job.of(spec(INCAST | {"scheme": {"id": "all-roles", "packets": 9}})).using(None, None)
    traffic = job.resolve()["traffic"][0]  # type: ignore[index]
    assert traffic["scheme"] == {"id": "all-roles", "packets": 9, "gain": 0.5, "eager": False}
    for parameters, said in (
        ({"packet": 9}, 'did you mean "packets"?'),
        ({"packets": 0}, "traffic[0].scheme.packets: packets must be at least 1; a window of 0 never sends"),
        ({"packets": 1.5}, "traffic[0].scheme.packets"),
        ({"eager": 1}, "traffic[0].scheme.eager"),
    ):
        wrong = INCAST | {"scheme": {"id": "all-roles", **parameters}}
        with pytest.raises(fanin.SpecError) as error:
            fanin.run(spec(wrong), progress=False)
        assert said in str(error.value)


def test_it_runs_beside_a_built_in_scheme_in_one_network(root: Path) -> None:
    fanin.load_scheme(root / "examples" / "own" / "window.py:Window")
    others = INCAST | {"name": "others", "scheme": "dcqcn"}
    result = fanin.run(spec(INCAST | {"scheme": "window"}, others), progress=False)
    assert [traffic["scheme"] for traffic in result.summary()["traffics"]] == ["window", "dcqcn"]
    alone = fanin.run(spec(INCAST | {"scheme": "fixed-window"}, others), progress=False)
    assert bits(result) == bits(alone)


class Shortest(fanin.Balancer):
    """The shortest queue, the first of several."""

    def choose(self, packet: fanin.Packet, hash: int, choices: list[fanin.Choice]) -> int:  # noqa: A002
        """At two ports at least."""
        assert len(choices) == 2
        return min(range(len(choices)), key=lambda at: choices[at].queued)


class Above(fanin.Discipline):
    """Marks above 20 KB."""

    def on_enqueue(self, queued: fanin.Queued) -> fanin.Verdict | None:
        """Data has a class of its own."""
        full = queued.packet.kind == "data" and queued.view.lane_queued > 20_000
        return fanin.Verdict.MARK if full else None


ACROSS: dict[str, Any] = {
    "name": "across",
    "scheme": "none",
    "pattern": {"kind": "permutation"},
    "size": {"fixed": "500 KB"},
    "rdma": {"recovery": "selective-repeat"},
}


def test_load_balancing_of_ones_own_spreads_packets_and_repeats() -> None:
    runs = [
        fanin.run(spec(ACROSS), scheme="fixed-window", progress=False, balancing=Shortest, threads=threads)
        for threads in (1, 2)
    ]
    by_hash = fanin.run(spec(ACROSS), scheme="fixed-window", progress=False)
    assert bits(runs[0]) == bits(runs[1]) != bits(by_hash)
    assert runs[0].summary()["traffics"][0]["unfinished"] == 0
    assert runs[0].summary()["network"]["reordered"] > 0 == by_hash.summary()["network"]["reordered"]


def test_a_queue_discipline_of_ones_own_has_the_bits_of_the_built_in_one() -> None:
    marking = {"kind": "step", "above": "20 KB", "at": "enqueue"}
    theirs = fanin.run(spec(marking=marking), scheme="dctcp-rate", progress=False)
    ours = fanin.run(spec(marking={"kind": "off"}), scheme="dctcp-rate", progress=False, discipline=Above)
    assert bits(ours) == bits(theirs)
    assert ours.summary()["network"]["marked"] == theirs.summary()["network"]["marked"] > 0


def test_a_failure_of_these_names_switch_and_line(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import fanin\nclass B(fanin.Balancer):\n    def choose(self, packet, hash, choices):\n        return 2\n"
        "class D(fanin.Discipline):\n    def on_dequeue(self, queued):\n        return fanin.Verdict.DROP\n"
    )
    result = fanin.run(spec(ACROSS), scheme="none", progress=False, balancing=f"{file}:B")
    (error,) = result.summary()["errors"]
    assert error.startswith("B.choose of switch ")
    assert "it chose 2 of 2 ports" in error
    result = fanin.run(spec(), scheme="none", progress=False, discipline=f"{file}:D")
    (error,) = result.summary()["errors"]
    assert "cannot be dropped any more" in error
    with pytest.raises(fanin.SpecError, match="was loaded into this process alone"):
        fanin.run(spec(), scheme=AllRoles, progress=False, on="wire")
    for key, name in (("balancing", "B"), ("discipline", "D")):
        said = f'network.{key} = "{name.lower()}" was loaded into this process alone'
        with pytest.raises(fanin.SpecError, match=said):
            fanin.run(spec(), progress=False, on="wire", set=[f"network.{key}={name.lower()}"])
    with pytest.raises(fanin.SpecError, match='D: it is not load balancing, but a queue discipline, "d"'):
        fanin.run(spec(), progress=False, balancing=f"{file}:D")


def failing(tmp_path: Path, body: str) -> str:
    """A file with a scheme whose sender has this body."""
    file = tmp_path / "failing.py"
    text = "import fanin\n\n\nclass Flow(fanin.Sender):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    file.write_text(text + "\n\nclass Failing(fanin.Scheme):\n    Sender = Flow\n")
    return f"{file}:Failing"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def on_ack(self, ack):\n    1 / 0", "line 6): ZeroDivisionError: division by zero"),
        ("def open(self, path):\n    self.rate = None", "line 6): TypeError: rate = None: it is a number"),
        ("def open(self, path):\n    self.window = float('nan')", "ValueError: window = NaN: it is 0 or more"),
        ("def on_ack(self, ack):\n    self.wake_at = self.now", "is not later than now ="),
        ("def on_ack(self, ack):\n    self.count('cutz')", 'there is no action "cutz"; known: cuts, '),
        ("def on_send(self, sent):\n    return -1", "ValueError: it returned -1; right is a whole number"),
        ("def poll_request(self, left):\n    return 1", "it has asked 1000 times at one instant"),
        ("def __init__(self, more):\n    pass", "TypeError"),
    ],
)
def test_a_failure_names_hook_flow_time_and_line_and_keeps_what_was_measured(
    tmp_path: Path, body: str, said: str
) -> None:
    result = fanin.run(spec(), scheme=failing(tmp_path, body), progress=False)
    hook = body.split("(")[0].removeprefix("def ").replace("__init__", "open")
    (error,) = result.summary()["errors"]
    assert error.startswith(f"Flow.{hook} of flow ")
    assert said in error
    assert result.cancelled
    assert not result.manifest["complete"]
    assert str(tmp_path) in error or "line" not in said


def test_the_command_runs_it_and_ends_with_1_after_a_failure(tmp_path: Path, command: Command) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(spec()))
    good = failing(tmp_path, "def open(self, path):\n    self.window = 10 * path.payload")
    done = command("compare", "spec.json", "--schemes", f"dcqcn,{good}", "--out", "both")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "both" / "failing" / "flows.arrow").is_file()
    bad = failing(tmp_path, "def on_ack(self, ack):\n    1 / 0")
    own = tmp_path / "net.py"
    own.write_text("import fanin\nclass B(fanin.Balancer):\n    pass\nclass D(fanin.Discipline):\n    pass\n")
    done = command("run", "spec.json", "--balancing", f"{own}:B", "--discipline", f"{own}:D", "--out", "net")
    assert done.returncode == 0, done.stderr
    assert 'balancing = "b"\n' in (tmp_path / "net" / "spec.resolved.toml").read_text()
    done = command("run", "spec.json", "--scheme", bad, "--out", "bad")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("ZeroDivisionError") == 1
    assert (tmp_path / "bad" / "INCOMPLETE").is_file()


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (
            "class A:\n    pass\n",
            "A",
            "A is no subclass of fanin.Scheme, fanin.Balancer or fanin.Discipline; write one",
        ),
        ("import fanin\nclass B(fanin.Scheme):\n    pass\n", "B", "it has no Sender: write one"),
        ("import fanin\nclass C(fanin.Scheme):\n    Sender = int\n", "C", "Sender = int: it derives from fanin.Sender"),
        ("x = 1\ndef f(:\n", "D", "own.py:2: SyntaxError"),
        ("import fanin\n1 / 0\n", "E", "own.py:2: ZeroDivisionError"),
        (
            "import fanin\nclass F(fanin.Scheme):\n    id = 'dcqcn'\n    Sender = fanin.Sender\n",
            "F",
            "a built-in scheme",
        ),
        ("import fanin\nclass G(fanin.Scheme):\n    id = 'A b'\n    Sender = fanin.Sender\n", "G", "no id of a scheme"),
        (
            "import fanin\nclass H(fanin.Scheme):\n    transport = 'udp'\n    Sender = fanin.Sender\n",
            "H",
            'transport = "udp": it is "rdma" or "tcp"',
        ),
        (
            "import fanin\nclass I(fanin.Scheme):\n    Sender = fanin.Sender\n",
            "J",
            "there is no class J in it; it has I",
        ),
        (
            "import fanin\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    a: list\n"
            "class K(fanin.Scheme):\n    Params = P\n    Sender = fanin.Sender\n",
            "K",
            "Params.a is a ",
        ),
    ],
)
def test_what_is_no_scheme_is_a_clear_error(tmp_path: Path, text: str, name: str, said: str) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(fanin.SpecError) as error:
        fanin.load_scheme(f"{tmp_path / 'own.py'}:{name}")
    assert said in str(error.value)


def test_a_file_that_is_saved_again_is_loaded_anew(tmp_path: Path) -> None:
    def hops(packets: int) -> object:
        reference = failing(tmp_path, f"def open(self, path):\n    self.window = {packets} * path.payload")
        return fanin.run(spec(), scheme=reference, progress=False).manifest["event_hash"]

    assert hops(2) != hops(3)
    assert hops(2) == hops(2)


def test_a_worker_loads_what_the_job_names(tmp_path: Path) -> None:
    reference = failing(tmp_path, "def open(self, path):\n    self.window = 2 * path.payload")
    job = Job.of(spec()).using(reference, None)
    forget: Callable[[], None] = own_schemes._loaded.clear
    forget()
    assert job.resolve()["traffic"]
    assert ("scheme", "failing") in own_schemes._loaded
    failing(tmp_path, "def open(self, path):\n    self.window = 3 * path.payload")
    forget()
    with pytest.raises(fanin.SpecError, match="has changed since the run was planned"):
        replace(job, threads=1).resolve()

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
    replaced = Job.of(spec(), ["traffic.incast.scheme.packets=9"]).using("all-roles", None).resolve()
    assert replaced["traffic"][0]["scheme"] == traffic["scheme"]  # type: ignore[index]
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


@dataclass(frozen=True)
class Level:
    """Parameters of a discipline."""

    above: int = 20_000


class AboveLevel(fanin.Discipline):
    """As `Above`, with the level as its parameter."""

    Params = Level

    def on_enqueue(self, queued: fanin.Queued) -> fanin.Verdict | None:
        """Marks data."""
        full = queued.packet.kind == "data" and queued.view.lane_queued > self.params.above
        return fanin.Verdict.MARK if full else None


def test_parameters_are_those_of_the_policy_that_an_option_chooses() -> None:
    marked = [
        fanin.run(
            spec(marking={"kind": "off"}), scheme="dctcp-rate", progress=False, discipline=AboveLevel, set=changes
        ).summary()["network"]["marked"]
        for changes in ([], ["network.discipline.above=20000"], ["network.discipline.above=60000"])
    ]
    assert marked[0] == marked[1] > marked[2] > 0


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
    assert "cannot be dropped or trimmed any more" in error
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
    balancer = "class B(fanin.Balancer):\n    def choose(self, packet, hash, choices):\n        return 0\n"
    own.write_text(
        f"import fanin\n{balancer}class D(fanin.Discipline):\n    def on_enqueue(self, queued):\n        pass\n"
    )
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
            "A is no subclass of fanin.Scheme, fanin.Balancer, fanin.PathSelector or fanin.Discipline; write one",
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


HEAD = "import sys\nfrom dataclasses import dataclass, field\n\nimport fanin\n\n\n"

PARAMS = HEAD + "@dataclass\nclass P:\n    {}\n\n\nclass S(fanin.Scheme):\n    Params = P\n    Sender = fanin.Sender\n"
FIELDS = HEAD + "class Flow(fanin.Sender):\n    pass\n\n\nclass S(fanin.Scheme):\n    Sender = Flow\n    {}\n"
SENDER = HEAD + "class Flow(fanin.Sender):\n    {}\n\n\nclass S(fanin.Scheme):\n    Sender = Flow\n"
POLICY = HEAD + "class S(fanin.{}):\n    {}\n"
POST = "a: int = 1\n\n    def __post_init__(self) -> None:\n        "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # What one's own code raises, with its line.
        (PARAMS.format(POST + "raise RuntimeError('why')"), "its parameters, P (FILE, line 12) raised RuntimeError: "),
        (PARAMS.format(POST + "assert self.a > 1"), "its parameters, P (FILE, line 12) raised AssertionError"),
        (PARAMS.format(POST + "sys.exit(4)"), "P (FILE, line 12) called sys.exit(4), which would end Fanin"),
        ("import sys\nsys.exit()\n", "FILE:2: called sys.exit(), which would end Fanin; raise an error instead"),
        ("raise MemoryError\n", "FILE:1: MemoryError"),
        # Parameters.
        (PARAMS.format("a: 'E' = 1"), "the types in Params cannot be read: NameError: name 'E' is not defined"),
        (PARAMS.format("id: int = 1"), "Params.id: a spec has the id of the scheme under this name"),
        (PARAMS.format("a: int = 0.5"), "Params.a has the default 0.5: it must be a whole number"),
        (PARAMS.format("a: int = 2**70"), "Params.a has the default 1180591620717411303424: a whole number is below"),
        (PARAMS.format("a: float = float('nan')"), "Params.a has the default nan: a spec has finite numbers only"),
        (PARAMS.format("a: int = field(default='5 us', metadata={'unit': 'time'})"), "write a number of picoseconds, "
         "like 5000000 for 5 us"),
        (PARAMS.format("a: str = field(default='x', metadata={'unit': 'time'})"), 'has the unit "time", and so it is'),
        (PARAMS.format("a: int = field(default=1, metadata={'units': 'time'})"), 'did you mean "unit"?'),
        (PARAMS.format("a: dict = 1"), "Params.a is a dict: it is an int"),
        # Fields of a scheme.
        (FIELDS.format("Params = Flow()"), "Params is an object of Flow: it is the class itself, Params = Flow"),
        (FIELDS.format("Sender = Flow()"), "Sender is an object of Flow: it is the class itself, Sender = Flow"),
        (FIELDS.format("credits = (84, 100, 50)"), "credits = (84, 100, 50): it is the bytes of a credit, 1 to 9000"),
        (FIELDS.format("header_data = -1"), "header_data = -1: it is a whole number from 0 to 1000"),
        (FIELDS.format("wants_ecn = 'no'"), "wants_ecn = 'no': it is True or False"),
        (FIELDS.format("id = 5"), "id = 5: it is a text"),
        (FIELDS.format("want_ecn = False"), "it has a field want_ecn, but a scheme has none of this name; did you mean "
         "wants_ecn?"),
        (FIELDS.format("Reciever = fanin.Receiver"), "did you mean Receiver?"),
        (FIELDS.format("def on_ack(self, ack): pass"), "it has a hook on_ack, which belongs into its Sender"),
        # Hooks that would never be called, or do nothing.
        (SENDER.format("def on_akc(self, ack): pass"), "Flow has a method on_akc, but fanin.Sender has no hook of this "
         "name; did you mean on_ack? Call a helper of your own _on_akc"),
        (SENDER.format("def onAck(self, ack): pass"), "did you mean on_ack?"),
        (SENDER.format("def on_data(self, data): pass"), "a hook of fanin.Receiver, but none of fanin.Sender"),
        (SENDER.format("def on_ack(self, ack): yield"), "Flow.on_ack has a yield"),
        (SENDER.format("async def on_ack(self, ack): pass"), "Flow.on_ack is async"),
        (SENDER.format("on_ack = 5"), "Flow.on_ack is 5: a hook is a function"),
        (SENDER.format("window = 5"), "Flow.window in the class would hide that of each object: set self.window"),
        (POLICY.format("Balancer", "def chose(self, packet, hash, choices): return 0"), "did you mean choose?"),
        (POLICY.format("Balancer", "pass"), "it has no choose: write def choose(self, packet, hash, choices)"),
        (POLICY.format("Discipline", "pass"), "it has no on_enqueue and no on_dequeue: write def on_enqueue"),
        (POLICY.format("Discipline", "id = 5"), "id = 5: it is a text"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_class_is_told_when_it_is_loaded(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "own.py"
    file.write_text(text)
    with pytest.raises(fanin.SpecError) as error:
        fanin.load_scheme(f"{file}:S")
    assert str(error.value).startswith(str(file))
    assert said.replace("FILE", str(file)) in str(error.value)
    assert not str(error.value).endswith(": ")


def test_names_of_ones_own_are_no_slips(tmp_path: Path) -> None:
    helpers = ("reopen", "lose", "batch", "routes", "closed", "counter", "update_rate", "on_tick", "on_mark", "_on_akc")
    methods = "\n\n".join(f"    def {name}(self): yield" for name in helpers)
    text = HEAD + f"class Flow(fanin.Sender):\n    rates = (1, 2)\n\n{methods}\n\n\nclass S(fanin.Scheme):\n"
    (tmp_path / "own.py").write_text(text + "    Sender = Flow\n    version = name = telemetries = 3\n")
    assert fanin.load_scheme(f"{tmp_path / 'own.py'}:S") == "s"


def test_what_the_class_of_parameters_refuses_is_told_with_the_key_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(PARAMS.format(POST + "assert self.a < 9"))
    fanin.load_scheme(f"{file}:S")
    with pytest.raises(fanin.SpecError) as error:
        fanin.run(spec(INCAST | {"scheme": {"id": "s", "a": 9}}), progress=False)
    assert f"traffic[0].scheme.a: its parameters, P ({file}, line 12) raised AssertionError" in str(error.value)


def test_two_classes_that_are_compared_need_ids_of_their_own(tmp_path: Path, command_here: Command) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(spec(window="20 us")))
    mine = (
        "class Mine(fanin.Scheme):\n    Sender = fanin.Sender\n\n\nclass D(fanin.Discipline):\n    on_enqueue = print"
    )
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(HEAD + mine + "\n")
    one, other = (f"{tmp_path}/{folder}/mine.py:Mine" for folder in "ab")
    said = f'{other} and {one} both have the id "mine": give one of them another one, like id = "mine-2"'
    for line in (
        ["compare", "spec.json", "--schemes", f"{one},b/mine.py:Mine"],
        ["sweep", "spec.json", "--schemes", f"a/mine.py:Mine,{other}"],
        ["run", "spec.json", "--load", one, "--load", other],
    ):
        done = command_here(*line)
        assert (done.returncode, done.stderr) == (2, f"error: {said}\n")
    done = command_here("run", "spec.json", "--load", "a/mine.py:D", "--discipline", "b/mine.py:D")
    assert 'mine.py:D both have the id "d"' in done.stderr
    with pytest.raises(fanin.SpecError, match="both have the id"):
        fanin.compare(spec(), [one, other], progress=False)
    # One after the other is how notebooks work; the same one twice is one.
    assert [fanin.load_scheme(own) for own in (one, other, one)] == ["mine"] * 3
    done = command_here("check", "spec.json", "--load", one, "--load", "a/mine.py:Mine", "--scheme", "mine")
    assert done.returncode == 0, done.stderr


def test_a_path_is_no_id(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("int x;")
    with pytest.raises(
        fanin.SpecError, match=r"mine\.c: a scheme of your own is FILE.py:CLASS, or a shared library like"
    ):
        fanin.load_scheme(tmp_path / "mine.c")
    assert own_schemes.is_reference(f"{tmp_path}/lib.so.1.2")
    assert own_schemes.is_reference("./nonesuch")
    assert not own_schemes.is_reference("dcqcn+irn")


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

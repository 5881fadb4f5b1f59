"""Runs on a wire: the folder of the simulator's run, side by side with it, errors, and nothing left behind."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin import comparing, runs

SHORT = ("measure.warm_up=0 ms", "measure.window=0.2 ms")
OF_TIME = ("wall_s", "packet_hops_per_second", "threads", "threads_reason", "wire")


def short() -> list[str]:
    """Options that shorten the tiny spec."""
    return [text for change in SHORT for text in ("--set", change)]


def documents(folder: Path) -> dict[str, object]:
    """Every file of a run folder, without what depends on real time."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        found[path.name] = content
        if path.name == "manifest.json":
            found[path.name] = {key: value for key, value in json.loads(content).items() if key not in OF_TIME}
    return found


def test_the_run_folder_is_the_simulators(command: Command, tiny: Path, tmp_path: Path) -> None:
    for on in ("simulator", "wire"):
        more = ("--set", 'measure.capture={ links = "all" }', "--on", on, "--out", on, "--json")
        done = command("run", tiny, *short(), "--scheme", "hpcc", *more)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["ok"], told["errors"]
        assert (told["runs"][0]["manifest"]["wire"] is None) == (on == "simulator")
    simulated, wired = documents(tmp_path / "simulator"), documents(tmp_path / "wire")
    for files in (simulated, wired):
        # Packets of one instant stand in the order of events, or of ports.
        del files["capture.pcapng"]
        del files["manifest.json"]["files"]["capture.pcapng"]  # type: ignore[index]
    packets = [fanin.load(tmp_path / on).packets() for on in ("simulator", "wire")]
    assert packets[0].sort(packets[0].columns).equals(packets[1].sort(packets[1].columns))
    assert packets[1].height > 100
    certified = fanin.certify(tmp_path / "wire")
    assert certified.ok
    assert wired.keys() == simulated.keys()
    assert [name for name in simulated if wired[name] != simulated[name]] == []
    assert fanin.load(tmp_path / "wire").flows().height > 0


def test_a_comparison_has_both_side_by_side(command: Command, tiny: Path, tmp_path: Path) -> None:
    done = command("compare", tiny, *short(), "--schemes", "dcqcn", "--on", "simulator,wire", "--out", "both", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["on"] for row in rows] == ["simulator", "wire"]
    assert [row["scheme"] for row in rows] == ["dcqcn (on=simulator)", "dcqcn (on=wire)"]
    differ = [key for key in rows[0] if rows[0][key] != rows[1][key]]
    assert differ == ["scheme", "on"], "in lockstep all numbers are equal"
    both = tmp_path / "both"
    assert (both / "compare.png").stat().st_size > 10_000
    assert [path.name for path in sorted(both.iterdir()) if path.is_dir()] == ["dcqcn-on-simulator", "dcqcn-on-wire"]
    shown = command("show", "both")
    assert "on=simulator" in shown.stdout
    assert "on=wire" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--on", "moon"], "--on moon: it is simulator or wire"),
        (["run", "--clock", "lockstep"], "--clock: it goes with --on wire"),
        (["run", "--on", "wire", "--clock", "sundial"], "sundial"),
        (["compare", "--on", "wire,moon"], "--on wire,moon: it is simulator, wire or simulator,wire"),
        (["compare", "--on", "wire,wire"], "--on wire,wire: it is simulator, wire or simulator,wire"),
        (["run", "--on", "wire", "--scheme", "dctcp"], "is over TCP; only RDMA runs on the wire"),
        (["compare", "--on", "wire", "--schemes", "dctcp"], "is over TCP; only RDMA runs on the wire"),
        (["compare", "--clock", "real"], "--clock: it goes with --on wire"),
        (["compare", "--link", "udp"], "--link: it goes with --on wire"),
        (["compare", "--on", "simulator,wire", "--clock", "sundial"], "sundial"),
        (["compare", "--on", "simulator,wire", "--link", "string"], "string"),
        (["wire", "switch", "--token", "moon"], "--token moon: it has up to 16 hexadecimal digits"),
    ],
)
def test_what_cannot_be_is_said(command: Command, tiny: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    at = 2 if arguments[0] == "wire" else 1
    done = command(*arguments[:at], tiny, *arguments[at:])
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_python_refuses_other_places(tiny: Path) -> None:
    with pytest.raises(ValueError, match='not "moon"'):
        fanin.run(tiny, on="moon", progress=False)
    with pytest.raises(ValueError, match="each place once"):
        fanin.compare(tiny, on=["wire", "wire"], progress=False)
    with pytest.raises(fanin.SpecError, match="write them into the spec"):
        fanin.run(tiny, on="wire", flows={"src": [0]}, progress=False)


def members(parent: int) -> list[int]:
    """The processes of a run on a wire that this one has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            state, above = status.rsplit(")", 1)[1].split()[:2]
            if int(above) == parent and state != "Z":
                found.append(int(entry.name))
    return found


def alive(processes: list[int]) -> list[int]:
    """Those that have not ended."""
    return [process for process in processes if Path(f"/proc/{process}").exists()]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no list of processes in /proc")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_an_interrupted_run_leaves_no_processes(tiny: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    line = [sys.executable, "-m", "fanin", "run", str(tiny), "--on", "wire", "--set", "measure.window=100 s"]
    with subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while len(started := members(process.pid)) < 5:
                assert time.monotonic() < deadline, "the processes of the run"
                time.sleep(0.02)
            time.sleep(1)
            # As a terminal does: to all of its group.
            os.killpg(process.pid, number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code, err
    assert "Traceback" not in err
    deadline = time.monotonic() + 5
    while alive(started) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(started) == []
    if number != signal.SIGKILL:
        assert "cancelled at " in out
        (folder,) = (tmp_path / "runs" / "tiny-incast").iterdir()
        assert (folder / "INCOMPLETE").is_file()
        assert fanin.load(folder).flows().height > 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no list of processes in /proc")
def test_a_part_that_dies_is_an_error_and_the_others_end(tiny: Path, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "fanin", "run", str(tiny), "--on", "wire", "--set", "measure.window=100 s"]
    with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while len(started := members(process.pid)) < 5:
                assert time.monotonic() < deadline, "the processes of the run"
                time.sleep(0.02)
            time.sleep(1)
            os.kill(started[-1], signal.SIGKILL)
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 1, err
    assert "ended before the run did: signal: 9 (SIGKILL)" in err
    assert "Traceback" not in err
    assert alive(started) == []
    assert not (tmp_path / "runs").exists()


def test_a_comparison_takes_the_clock_and_the_link_of_a_run(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[runs.Job] = []
    at_once: list[int] = []

    def note(all_: list[runs.Job], *, workers: int, **_: object) -> list[fanin.Result]:
        jobs.extend(all_)
        at_once.append(workers)
        return []

    monkeypatch.setattr(comparing, "run_jobs", note)
    for clock, link in (("lockstep", "udp"), ("slowed:5000", "veth")):
        fanin.compare(tiny, ["dcqcn"], on=["simulator", "wire"], clock=clock, link=link, workers=2, progress=False)
    assert [(job.wire, job.clock, job.link) for job in jobs if job.wire] == [
        (True, "lockstep", "udp"),
        (True, "slowed:5000", "veth"),
    ]
    assert at_once == [2, 1], "runs in real time make each other late"


class Parts:
    """`fanin wire switch` and hosts that the test starts by hand, on loopback, perhaps with a scheme of one's own."""

    def __init__(self, spec: Path, folder: Path, own: str | None = None) -> None:
        self.folder = folder
        under, self.load = ([], []) if own is None else (["--scheme", own], ["--load", own])
        self.started: list[subprocess.Popen[str]] = []
        self.address = f"127.0.0.1:{free_port()}"
        self.switch = self.start("switch", str(spec), *short(), "--listen", self.address, "--token", "1f2e", *under)
        assert self.switch.stderr is not None
        line = " ".join(["--switch", self.address, "--token", "1f2e", *self.load])
        assert f"{line}\n" in self.switch.stderr.readline()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "fanin", "wire", *arguments]
        pipe = subprocess.PIPE
        self.started.append(subprocess.Popen(line, cwd=self.folder, stdout=pipe, stderr=pipe, text=True))
        return self.started[-1]

    def host(self, number: int, token: str = "1f2e") -> subprocess.Popen[str]:
        return self.start("host", str(number), "--switch", self.address, "--token", token, *self.load)

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            process.kill()
            process.communicate()


def connected(address: str) -> socket.socket:
    """A connection to what is about to listen there."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection((host, int(port)))
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.02)


def free_port() -> int:
    """One below those that the system gives to connections, so that none takes it in between."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


def test_parts_by_hand_leave_the_run_folder_of_the_simulator(
    command: Command, tiny: Path, tmp_path: Path, root: Path
) -> None:
    own = f"{root / 'examples' / 'own' / 'timely.py'}:Timely"
    assert command("run", tiny, *short(), "--out", "simulator", "--scheme", own).returncode == 0
    with Parts(tiny, tmp_path, own) as parts:
        stranger = parts.host(0, "1f2f")
        _, err = stranger.communicate(timeout=60)
        assert stranger.returncode == 1
        assert "do not let this host take part: another token" in err
        hosts = [parts.host(number) for number in range(4)]
        out, err = parts.switch.communicate(timeout=60)
        assert parts.switch.returncode == 0, err
        assert [host.wait(60) for host in hosts] == [0] * 4
    (folder,) = (tmp_path / "runs" / "tiny-incast").iterdir()
    assert folder.name in out
    simulated, wired = documents(tmp_path / "simulator"), documents(folder)
    assert [name for name in simulated if wired.get(name) != simulated[name]] == []


def test_a_host_by_hand_that_dies_ends_the_run_with_an_error(tiny: Path, tmp_path: Path) -> None:
    with Parts(tiny, tmp_path) as parts:
        hosts = [parts.host(number) for number in range(3)]
        # It has said who it is, and hears nothing of the run any more.
        with connected(parts.address) as last:
            last.sendall(b"fanin-w1" + (0x1F2E).to_bytes(8, "little") + (3).to_bytes(4, "little"))
            assert last.recv(1) == b"\1"
        out, err = parts.switch.communicate(timeout=60)
        assert parts.switch.returncode == 1, out
        assert "host 3 ended before the run did" in err
        assert "Traceback" not in err
        for host in hosts:
            host.wait(60)
    assert not (tmp_path / "runs").exists()

"""Messages between hosts: `fanin.wire`, on loopback."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanin import wire


@pytest.fixture
def server() -> Iterator[wire.Endpoint]:
    with wire.listen(port=0, scheme="dart", host=0) as endpoint:
        yield endpoint


def content(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def to(server: wire.Endpoint, *, answering: bool = True, **settings: object) -> wire.Connection:
    """A connection to an endpoint of this process, which answers meanwhile."""
    done = threading.Event()

    def answer() -> None:
        while answering and not done.is_set():
            server.wait(0.01)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with_scheme = {"scheme": "dart", **settings}
        return wire.connect("127.0.0.1", server.address[1], 5.0, **with_scheme)  # type: ignore[arg-type]
    finally:
        done.set()
        thread.join()


def test_messages_arrive_whole_in_both_directions(server: wire.Endpoint) -> None:
    client = to(server, host=1)
    assert server.address[0] == "127.0.0.1", "nothing is bound to other addresses unless told"
    sent = [content(seed, size) for seed, size in enumerate([1, 1024, 1025, 200_000])]
    posted = [client.post(one, incast=3, senders=[1]) for one in sent]
    assert posted == [0, 1, 2, 3]
    got: dict[int, wire.Message] = {}
    while len(got) < len(sent):
        client.endpoint.wait(0.001)
        server.wait(0.001)
        while server._arrived:
            message = wire.recv(server, 0)
            got[message.number] = message
    assert [got[number].content for number in posted] == sent
    answer = got[3].connection.post(b"thanks")
    while not client.endpoint._arrived:
        client.endpoint.wait(0.001)
        server.wait(0.001)
    assert wire.recv(client).content == b"thanks"
    got[3].connection.finish(answer, 5)
    assert (client.rtt() or 1) < 1
    assert server.counts()["arrived"] > 200
    assert server.counts()["forged"] == 0
    client.close()
    server.wait(0.01)
    assert server.connections == []
    with pytest.raises(wire.WireError, match="closed here"):
        wire.send(client, b"late")


def test_errors_say_what_is_wrong(server: wire.Endpoint) -> None:
    with pytest.raises(ValueError, match="no scheme"):
        wire.listen(port=0, scheme="dcqn")
    with pytest.raises(ValueError, match="has no parameter"):
        wire.listen(port=0, scheme="dcqcn", parameters={"gg": 1})
    with pytest.raises(ValueError, match="RDMA"):
        wire.listen(port=0, scheme="ictcp")
    with pytest.raises(OSError, match="in use"):
        wire.listen(port=server.address[1])
    with pytest.raises(wire.WireError, match="another scheme"):
        to(server, scheme="dcqcn")
    with pytest.raises(TimeoutError, match="nobody has answered"):
        wire.connect("127.0.0.1", server.address[1], 0.2)
    with pytest.raises(TimeoutError, match="no message"):
        server.recv(0.05)


def test_a_secret_keeps_others_out() -> None:
    with wire.listen(port=0, scheme="dart", secret="ab" * 16) as server:
        assert to(server, secret="ab" * 16).open
        with pytest.raises((TimeoutError, wire.WireError)):
            to(server, secret="ac" * 16, quiet=0.3)
        assert server.counts()["forged"] > 0


def test_waiting_ends_at_ctrl_c_and_leaves_the_interpreter_to_others(server: wire.Endpoint) -> None:
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=count)
    thread.start()
    threading.Timer(0.2, over.set).start()
    with pytest.raises(KeyboardInterrupt):
        server.recv(30)
    thread.join()
    assert turns > 10, "other threads ran meanwhile"


SENDER = """
import hashlib, sys
from fanin import wire
port, number = int(sys.argv[1]), int(sys.argv[2])
data = bytes(i * number % 251 for i in range(100_000 + number))
client = wire.connect("127.0.0.1", port, 20, scheme="dart", host=number)
wire.send(client, data, 30)
print(hashlib.sha256(data).hexdigest())
"""


def test_processes_send_to_one(server: wire.Endpoint, tmp_path: Path) -> None:
    script = tmp_path / "sender.py"
    script.write_text(SENDER)
    line = [sys.executable, str(script), str(server.address[1])]
    senders = [subprocess.Popen([*line, str(n)], stdout=subprocess.PIPE, text=True) for n in range(1, 4)]
    got = {hashlib.sha256(server.recv(40).content).hexdigest() for _ in senders}
    # Their last ACKs.
    while any(one.poll() is None for one in senders):
        server.wait(0.05)
    assert got == {one.communicate(timeout=30)[0].strip() for one in senders}


def test_the_example_of_many_to_one_runs_with_and_without_dart(root: Path) -> None:
    script = root / "examples" / "wire" / "many_to_one.py"
    line = [sys.executable, str(script), "--senders", "8", "--kb", "200"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["dcqcn", "dart"]
    assert lines[-1] == "all contents are what was sent"
    for told in lines[2:4]:
        passed, _, _ = (int(word.strip(",")) for word in told.split()[4:])
        assert 8 * 200 < passed < 2 * 8 * 200, "all went through the bottleneck, and not again and again"

"""The display of running simulations: a bar or a line per run, and one for all if there are many."""

import io
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

import fanin
from fanin import _core, progress
from fanin.progress import LINE_EVERY_S, MOST_BARS, ProgressDisplay
from fanin.runs import _stop


@dataclass
class Clock:
    """Stands in for the module `time`."""

    now_s: float = 100.0

    def monotonic(self) -> float:
        return self.now_s


@dataclass(frozen=True)
class State:
    """A stand-in for the progress that the native module reports."""

    simulated_s: float
    end_s: float = 0.01
    packet_hops: int = 0
    wall_s: float = 0.0
    started: int = 0
    finished: int = 0
    expected_packet_hops: float | None = None
    expected_s: float | None = None


def state(share: float, *, packet_hops: int = 0, wall_s: float = 0.0) -> _core.Progress:
    """A run of 10 ms that has this share behind it."""
    return cast("_core.Progress", State(share * 0.01, packet_hops=packet_hops, wall_s=wall_s))


def labels(count: int) -> list[str]:
    """Names of runs."""
    return [f"run-{number}" for number in range(count)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that is advanced by the test."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def console(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> io.StringIO:
    """Captures the display from now on."""
    shown = io.StringIO()

    def make(*, stderr: bool, highlight: bool) -> Console:
        assert stderr, "stdout is for results"
        return Console(file=shown, highlight=highlight, force_terminal=terminal, width=100)

    monkeypatch.setattr(progress, "Console", make)
    return shown


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is shown where no terminal is."""
    return console(monkeypatch, terminal=False)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is shown on a terminal."""
    return console(monkeypatch, terminal=True)


def test_each_of_few_runs_says_now_and_then_where_it_is(clock: Clock, lines: io.StringIO) -> None:
    with ProgressDisplay(labels(2)) as display:
        display.update(0, state(0.1))
        clock.now_s += LINE_EVERY_S
        display.update(1, state(0.25, packet_hops=6_000_000, wall_s=2.0))
        display.update(1, state(0.3))
        display.update(0, state(0.5))
    assert lines.getvalue().splitlines() == [
        "running run-0, run-1",
        "run-1: 2.50 of 10.00 ms, 3.0 M packet-hops/s, 0:06 left",
        "run-0: 5.00 of 10.00 ms",
    ]


def test_many_runs_share_one_line(clock: Clock, lines: io.StringIO) -> None:
    count = MOST_BARS + 2
    with ProgressDisplay(labels(count)) as display:
        clock.now_s += LINE_EVERY_S / 2
        display.update(0, state(1.0, packet_hops=30_000_000))
        display.finished(0)
        clock.now_s += LINE_EVERY_S / 2
        display.update(1, state(0.5, packet_hops=20_000_000))
        display.update(2, state(0.5))
        clock.now_s += LINE_EVERY_S
        display.finished(1)
    # A run and a half of ten took 10 s, two and a half took 20 s; 50 M packet-hops in all.
    assert lines.getvalue().splitlines() == [
        "running 10 runs",
        "1 of 10 runs done, 5.0 M packet-hops/s, 0:56 left",
        "2 of 10 runs done, 2.5 M packet-hops/s, 1:00 left",
    ]


@pytest.mark.usefixtures("clock")
def test_many_runs_share_one_bar(screen: io.StringIO) -> None:
    with ProgressDisplay(labels(MOST_BARS + 2)) as display:
        display.update(0, state(0.5))
        display.finished(1)
        display.finished(2)
        assert display._bars is not None
        (task,) = display._bars.tasks
        assert task.completed == pytest.approx(0.25)
    assert "10 runs" in screen.getvalue()
    assert "2 of 10 runs done" in screen.getvalue()
    assert "run-0" not in screen.getvalue()


@pytest.mark.usefixtures("clock")
def test_each_of_few_runs_has_a_bar(screen: io.StringIO) -> None:
    with ProgressDisplay(labels(MOST_BARS)) as display:
        display.update(3, state(0.5))
        assert display._bars is not None
        assert [task.completed for task in display._bars.tasks] == [0, 0, 0, 0.5, 0, 0, 0, 0]
    for label in labels(MOST_BARS):
        assert label in screen.getvalue()
    assert "waiting" in screen.getvalue()
    assert "5.00 of 10.00 ms" in screen.getvalue()


@pytest.mark.parametrize("count", [1, MOST_BARS + 1])
@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_shown_unasked(clock: Clock, monkeypatch: pytest.MonkeyPatch, count: int, terminal: bool) -> None:
    shown = console(monkeypatch, terminal=terminal)
    with ProgressDisplay(labels(count), visible=False) as display:
        clock.now_s += 2 * LINE_EVERY_S
        display.update(0, state(0.5))
        display.finished(0)
        display.say("anything")
    assert shown.getvalue() == ""


@pytest.mark.parametrize("stop", [False, True])
def test_a_run_that_was_stopped_is_not_counted_as_done(tiny: Path, monkeypatch: pytest.MonkeyPatch, stop: bool) -> None:
    done: list[int] = []
    monkeypatch.setattr(ProgressDisplay, "finished", lambda _, index: done.append(index))
    window = "100 s" if stop else "1 ms"
    result = fanin.run(tiny, set=[f"measure.window={window}"], progress=lambda _: not stop)
    assert result.cancelled == stop
    assert done == ([] if stop else [0])


def test_what_is_left_out_after_ctrl_c_are_the_last_runs() -> None:
    # A worker falls free after each job that is taken out of the queue, and takes the first that is still in it.
    queue = ["a", "b", "c", "d"]
    ran: list[str] = []

    class Waiting:
        def __init__(self, name: str) -> None:
            self.name = name

        def cancel(self) -> bool:
            if self.name not in queue:
                return False
            queue.remove(self.name)
            if queue:
                ran.append(queue.pop(0))
            return True

    stopped = threading.Event()
    _stop(cast("list[Future[None]]", [Waiting(name) for name in list(queue)]), stopped)
    assert stopped.is_set()
    assert ran == ["a", "b"]

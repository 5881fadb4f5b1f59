"""The display of running simulations: a bar or a line per run, and one for all if there are many."""

import io
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

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
        display.starting(4)
        assert display._bars is not None
        assert [task.completed for task in display._bars.tasks] == [0, 0, 0, 0.5, 0, 0, 0, 0]
    for label in labels(MOST_BARS):
        assert label in screen.getvalue()
    assert "waiting" in screen.getvalue()
    assert screen.getvalue().count("starting") == 1
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


class Recorded(NamedTuple):
    """A run of the past."""

    took_s: float
    expected_packet_hops: float
    expected_s: float | None
    seen: list[tuple[float, float, float, int]]
    """Real time, simulated time, its end, packet-hops."""


RECORDED = {
    "until-done": Recorded(
        1.166,
        1_627_968,
        0.000814,
        [
            (0.122, 0.0002, 1.2048, 156_402),
            (0.348, 0.0007, 1.2048, 380_355),
            (0.609, 0.0017, 1.2048, 733_323),
            (0.94, 0.0045, 1.2048, 1_242_095),
        ],
    ),
    "ns3-hpcc": Recorded(
        18.909,
        10_900_420,
        None,
        [
            (2.038, 0.0004, 0.0021, 1_122_808),
            (4.88, 0.00074, 0.0021, 2_373_841),
            (9.531, 0.00112, 0.0021, 4_046_748),
            (14.279, 0.0017, 0.0021, 6_837_107),
        ],
    ),
    "tcp-and-rdma": Recorded(
        2.78,
        5_275_822,
        0.094918,
        [
            (0.306, 0.00914, 0.062, 505_843),
            (0.734, 0.01998, 0.062, 1_290_887),
            (1.466, 0.03824, 0.062, 2_637_962),
            (2.09, 0.05098, 0.062, 3_745_884),
        ],
    ),
    "websearch-drains": Recorded(
        4.349,
        9_674_176,
        0.059384,
        [
            (0.459, 0.0064, 0.025, 905_903),
            (1.088, 0.01165, 0.025, 2_172_975),
            (2.248, 0.02135, 0.025, 4_772_178),
            (3.323, 0.0298, 0.0298, 7_110_288),
        ],
    ),
    "newreno-drains": Recorded(
        2.453,
        3_141_782,
        0.063158,
        [
            (0.333, 0.00728, 0.042, 337_040),
            (0.66, 0.01416, 0.042, 760_715),
            (1.292, 0.0256, 0.042, 1_536_296),
            (1.918, 0.0377, 0.042, 2_352_167),
        ],
    ),
    "dart-typical": Recorded(
        1.325,
        2_614_137,
        0.00813,
        [
            (0.171, 0.001032, 0.008, 334_717),
            (0.347, 0.002195, 0.008, 671_165),
            (0.688, 0.004363, 0.008, 1_341_375),
            (1.14, 0.007153, 0.008, 2_233_859),
        ],
    ),
    "incast": Recorded(
        5.528,
        6_856_813,
        0.011117,
        [
            (0.706, 0.002013, 0.011, 1_166_409),
            (1.407, 0.003758, 0.011, 2_166_920),
            (2.785, 0.00725, 0.011, 4_263_543),
            (4.22, 0.00905, 0.011, 5_355_391),
        ],
    ),
}
"""Progress of runs, as measured: a tenth, a quarter, half and three quarters through."""


@pytest.mark.parametrize("name", RECORDED)
def test_the_time_left_is_right_within_a_factor_of_two(name: str) -> None:
    took_s, hops, until_s, seen = RECORDED[name]
    for wall_s, simulated_s, end_s, packet_hops in seen:
        state = State(simulated_s, end_s, packet_hops, wall_s, expected_packet_hops=hops, expected_s=until_s)
        told = progress.time_left_s(cast("_core.Progress", state))
        assert told is not None
        assert 0.5 < told / (took_s - wall_s) < 2.0


def test_without_an_estimate_simulated_time_tells_the_time_left() -> None:
    assert progress.time_left_s(state(0.25, packet_hops=5, wall_s=2.0)) == pytest.approx(6.0)
    assert progress.time_left_s(state(0.0)) is None


def test_messages_tell_at_first_and_time_at_last() -> None:
    # 100 of 600 packet-hops and a quarter of the time took 1 s: 5 s are left by the former, 3 s by the latter.
    quarter = State(0.0025, 0.01, 100, 1.0, expected_packet_hops=600.0, expected_s=0.01)
    assert progress.time_left_s(cast("_core.Progress", quarter)) == pytest.approx(0.75 * 5 + 0.25 * 3)


def test_a_run_that_drains_longer_than_expected_tells_nothing() -> None:
    late = State(0.02, 0.02, 1000, 3.0, expected_packet_hops=900.0, expected_s=0.03)
    assert progress.time_left_s(cast("_core.Progress", late)) is None

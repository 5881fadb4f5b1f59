"""The display of running simulations: a bar per run on stderr, or periodic lines if stderr is no terminal.

In a notebook a line per run in the output of the cell is updated in place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fanin import _core

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

LINE_EVERY_S = 10.0
"""Time between lines if stderr is no terminal."""

MOST_BARS = 8
"""More runs than this share one bar."""

BAR = 16
"""Characters of a bar."""

NEARLY = 0.1
"""A run whose estimated end differs from that of its window by less than this share of it ends with the window."""


class ProgressDisplay:
    """Shows the progress of several runs. Use it as a context; `update` may come from any thread."""

    def __init__(self, labels: Sequence[str], *, visible: bool = True) -> None:
        self._labels = labels
        self._visible = visible
        self._console = Console(stderr=True, highlight=False)
        self._lock = threading.Lock()
        self._together = len(labels) > MOST_BARS
        self._began_s = time.monotonic()
        self._last_line_s = [self._began_s] * (1 if self._together else len(labels))
        self._done = [0.0] * len(labels)
        self._hops = [0] * len(labels)
        self._bars: Progress | None = None
        self._cell: NotebookLines | None = None
        self._tasks: list[TaskID] = []
        if visible and self._console.is_jupyter:
            self._cell = NotebookLines([f"{len(labels)} runs"] if self._together else labels)
        elif visible and self._console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=BAR),
                TextColumn("{task.fields[state]}"),
                console=self._console,
            )
            named = [f"{len(labels)} runs"] if self._together else labels
            self._tasks = [self._bars.add_task(label, total=1.0, state="waiting") for label in named]

    def __enter__(self) -> ProgressDisplay:
        if self._bars is not None:
            self._bars.start()
        elif self._cell is not None:
            self._cell.show()
        else:
            self.say(f"running {len(self._labels)} runs" if self._together else f"running {', '.join(self._labels)}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def starting(self, index: int) -> None:
        """The network of this run is being built, which takes seconds where it has half a million hosts."""
        if not self._together:
            self._show(index, "starting")

    def update(self, index: int, state: _core.Progress) -> None:
        """Shows the progress of the run with this index."""
        self._done[index] = share_done(state)
        self._hops[index] = state.packet_hops
        self._show(0 if self._together else index, self._describe_all() if self._together else describe(state))

    def show(self, index: int, done: float, text: str) -> None:
        """The same for work that is no run: the share that is done, and the text beside it."""
        self._done[index] = done
        self._show(index, text)

    def finished(self, index: int) -> None:
        """The run of this index is done."""
        self._done[index] = 1.0
        if self._together:
            self._show(0, self._describe_all())
        elif self._cell is not None:
            self._cell.set(index, 1.0)

    def _show(self, line: int, text: str) -> None:
        done = sum(self._done) / len(self._done) if self._together else self._done[line]
        if self._bars is not None:
            self._bars.update(self._tasks[line], completed=done, state=text)
            return
        if self._cell is not None:
            self._cell.set(line, done, text)
            return
        with self._lock:
            now = time.monotonic()
            if now - self._last_line_s[line] < LINE_EVERY_S:
                return
            self._last_line_s[line] = now
        self.say(text if self._together else f"{self._labels[line]}: {text}")

    def _describe_all(self) -> str:
        """The number of runs done, speed and time left, over all of them."""
        spent_s = time.monotonic() - self._began_s
        done = sum(self._done)
        parts = [f"{sum(share == 1.0 for share in self._done)} of {len(self._done)} runs done"]
        if spent_s > 0 and any(self._hops):  # runs of a tenth of a second do not report theirs
            parts.append(f"{sum(self._hops) / spent_s / 1e6:.1f} M packet-hops/s")
        left_s = at_pace_s(done, len(self._done), spent_s)
        if left_s is not None:
            parts.append(left(left_s))
        return ", ".join(parts)

    def say(self, text: str) -> None:
        """One line above the bars."""
        if self._cell is not None:
            self._cell.say(text)
        elif self._visible:
            self._console.print(text, soft_wrap=True, markup=False)


class NotebookLines:
    """A line per run in the output of a notebook cell."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._done = [0.0] * len(labels)
        self._texts = ["waiting"] * len(labels)
        self._said: list[str] = []
        self._lock = threading.Lock()
        self._shown: DisplayHandle | None = None

    def show(self) -> None:
        """Puts the lines into the output of the cell that runs now."""
        from IPython.display import display

        # As text, which is the same in every notebook program, without widgets.
        self._shown = display(self._content(), raw=True, display_id=True)

    def set(self, line: int, done: float, text: str | None = None) -> None:
        """The share of a run that is done, and the text beside it."""
        with self._lock:
            self._done[line] = done
            self._texts[line] = text or self._texts[line]
            self._renew()

    def say(self, text: str) -> None:
        """A line below those of the runs."""
        with self._lock:
            self._said.append(text)
            self._renew()

    def _renew(self) -> None:
        if self._shown is not None:
            self._shown.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        width = max(len(label) for label in self._labels)
        lines = [
            f"{label:{width}} {'█' * round(done * BAR):░<{BAR}} {text}"
            for label, done, text in zip(self._labels, self._done, self._texts, strict=True)
        ]
        return {"text/plain": "\n".join([*lines, *self._said])}


def describe(state: _core.Progress) -> str:
    """Simulated time, speed and time left, as one line."""
    parts = [f"{state.simulated_s * 1e3:.2f} of {state.end_s * 1e3:.2f} ms"]
    if state.wall_s > 0:
        parts.append(f"{state.packet_hops / state.wall_s / 1e6:.1f} M packet-hops/s")
    left_s = time_left_s(state)
    if left_s is not None:
        parts.append(left(left_s))
    return ", ".join(parts)


def left(seconds: float) -> str:
    """For example `1:05 left`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} left"


def share_done(state: _core.Progress) -> float:
    """The share of a run's work that is done."""
    left_s = time_left_s(state)
    if left_s is not None:
        return state.wall_s / (state.wall_s + left_s)
    return min(1.0, state.simulated_s / state.end_s) if state.end_s > 0 else 0.0


def at_pace_s(done: float, total: float, spent_s: float) -> float | None:
    """Seconds of wall time until all is done at the pace so far, or None before there is a pace."""
    if done <= 0 or spent_s <= 0:
        return None
    return spent_s * max(0.0, total - done) / done


def time_left_s(state: _core.Progress) -> float | None:
    """Seconds of wall time to the end of a run at its pace so far, or None where nothing tells.

    Work is counted in packet-hops. How many are left follows from an estimate made before the run, which knows its
    messages. Where the run ends at a known simulated time, how much of that is behind it counts more and more.
    """
    if state.simulated_s <= 0 or state.wall_s <= 0:
        return None
    share = min(1.0, state.simulated_s / state.end_s)
    by_time = at_pace_s(share, 1.0, state.wall_s)
    hops, expected = state.packet_hops, state.expected_packet_hops
    if expected is None or hops == 0 or by_time is None:
        return by_time
    ends_s = state.end_s if state.expected_s is None else state.expected_s
    by_messages = state.wall_s * max(0.0, expected - hops) / hops
    if abs(ends_s - state.end_s) <= NEARLY * state.end_s:
        return by_messages * (1.0 - share) + by_time * share
    # It stops when all is done, or drains after its window: only its messages tell when.
    return by_messages if by_messages > 0 else None

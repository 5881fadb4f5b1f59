"""The display of a running sweep: one bar over all runs, above the runs in progress."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from fanin.progress import BAR, LINE_EVERY_S, MOST_BARS, NotebookLines, at_pace_s


@dataclass(frozen=True)
class SweepState:
    """The progress of a sweep, for a function that watches it; the sweep stops if that returns False."""

    done: int
    """Runs that have ended since it began, with or without success."""
    total: int
    """Runs that it had to do when it began."""
    running: tuple[str, ...]
    """The runs in progress, as far as its executor reports them."""
    packet_hops: int
    """Packets sent over one link each since it began."""
    seconds: float
    """Real time since it began."""
    left_s: float | None
    """Remaining real time by the estimated costs; None until a run has progressed."""


class SweepDisplay:
    """One display for all runs. Use it as a context; `update` comes from one thread."""

    def __init__(self, costs: Mapping[str, float], labels: Mapping[str, str], there: int, *, visible: bool) -> None:
        self._costs = costs
        self._labels = labels
        self._there = there
        self._visible = visible
        self._console = Console(stderr=True, highlight=False)
        self._began_s = self._last_line_s = time.monotonic()
        self._done: set[str] = set()
        self._hops = 0
        self._bars: Progress | None = None
        self._cell: NotebookLines | None = None
        self._all = TaskID(0)
        self._each: dict[str, TaskID] = {}
        if visible and self._console.is_jupyter:
            self._cell = NotebookLines([f"{len(costs)} runs"])
        elif visible and self._console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(bar_width=BAR), TextColumn("{task.fields[state]}"))
            self._bars = Progress(*columns, console=self._console)
            self._all = self._bars.add_task(f"{len(costs)} runs", total=1.0, state="waiting")

    def __enter__(self) -> SweepDisplay:
        there = f", {self._there} are there already" if self._there else ""
        if self._bars is not None:
            self._bars.start()
            if there:
                self.say(f"running {len(self._costs)} runs{there}")
        elif self._cell is not None:
            self._cell.show()
        else:
            self.say(f"running {len(self._costs)} runs{there}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def finished(self, key: str, hops: int) -> None:
        """A run has ended."""
        self._done.add(key)
        self._hops += hops

    def update(self, running: Mapping[str, tuple[float, int]]) -> SweepState:
        """Shows the progress of the running runs: the share of each that is done, and its packet-hops."""
        under_way = {key: state for key, state in running.items() if key not in self._done}
        total = sum(self._costs.values())
        cost = sum(self._costs[key] for key in self._done)
        cost += sum(self._costs[key] * share for key, (share, _) in under_way.items())
        spent_s = time.monotonic() - self._began_s
        state = SweepState(
            done=len(self._done),
            total=len(self._costs),
            running=tuple(self._labels[key] for key in under_way),
            packet_hops=self._hops + sum(hops for _, hops in under_way.values()),
            seconds=spent_s,
            left_s=at_pace_s(cost, total, spent_s),
        )
        self._show(state, under_way, cost / total if total > 0 else 1.0)
        return state

    def _show(self, state: SweepState, under_way: Mapping[str, tuple[float, int]], share: float) -> None:
        text = describe(state)
        if self._bars is not None:
            self._bars.update(self._all, completed=share, state=text)
            shown = list(under_way)[:MOST_BARS]
            for key in [key for key in self._each if key not in shown]:
                self._bars.remove_task(self._each.pop(key))
            for key in shown:
                done, hops = under_way[key]
                if key not in self._each:
                    self._each[key] = self._bars.add_task(f"  {self._labels[key]}", total=1.0, state="")
                self._bars.update(
                    self._each[key], completed=done, state=f"{hops / 1e6:.1f} M packet-hops" if hops else ""
                )
        elif self._cell is not None:
            self._cell.set(0, share, text)
        elif self._visible and time.monotonic() - self._last_line_s >= LINE_EVERY_S:
            self._last_line_s = time.monotonic()
            running = ", ".join(state.running[:MOST_BARS])
            self.say(f"{text}; running {running}" if running else text)

    def say(self, text: str) -> None:
        """One line above the bars."""
        if self._cell is not None:
            self._cell.say(text)
        elif self._visible:
            self._console.print(text, soft_wrap=True, markup=False)


def describe(state: SweepState) -> str:
    """The number of runs done, speed and time left, as one line."""
    parts = [f"{state.done} of {state.total} runs done"]
    if state.seconds > 0:
        parts.append(f"{state.packet_hops / state.seconds / 1e6:.1f} M packet-hops/s")
    if state.left_s is not None:
        seconds = int(state.left_s)
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02d}" if seconds >= 3600 else f"{seconds // 60}"
        parts.append(f"{clock}:{seconds % 60:02d} left")
    return ", ".join(parts)

"""Ctrl-C and SIGTERM, which schedulers of clusters send: both stop the runs, whose results up to there are kept.

The command line chooses the handling of signals; a program that imports the package keeps Python's own behaviour.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)

_received: list[int] = []
"""The signals since the process began, in order."""


def exit_code() -> int:
    """128 and the number of the first signal, as a shell counts: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def received() -> bool:
    """Whether there was a signal."""
    return bool(_received)


def leave_at_once() -> None:
    """From here on a signal ends the process without a message, for there is nothing to keep, as while modules load."""
    _handle(_leave)


@contextmanager
def stoppable() -> Iterator[None]:
    """Within, a signal raises `KeyboardInterrupt`: runs stop and return their results up to there."""
    before = _handle(_stop)
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Within, signals are deferred, so that files are written completely. The function tells whether one arrived.

    A second Ctrl-C is not deferred. SIGTERM is not handled unless the program is `stoppable`.
    """
    mine: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        _received.append(number)
        mine.append(number)
        # SIGTERM may be sent twice, to the process and to its group; a second Ctrl-C is by a person.
        if mine.count(signal.SIGINT) > 1:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # Python handles signals in the main thread
        return
    ours = signal.getsignal(signal.SIGTERM) in (_stop, _leave)
    before = _handle(note, NUMBERS if ours else (signal.SIGINT,))
    try:
        yield lambda: bool(mine)
    finally:
        _restore(before)


@contextmanager
def printing(last: str) -> Iterator[None]:
    """Within, a signal ends the process at once, and `last` is its last line on stderr: what is being printed has been
    kept already, and may be long. A SIGTERM that is sent again, to the group of the process, does not. For the command
    line alone: it handles SIGTERM too."""

    def end(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGTERM and number in _received:
            return
        os.write(2, f"{last}\n".encode())
        os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread
        return
    before = _handle(end)
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def for_others() -> Iterator[None]:
    """Processes that start within ignore both signals, which a terminal sends to all: this process decides."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave(number: int, _frame: FrameType | None) -> None:
    os._exit(128 + number)


def _stop(number: int, _frame: FrameType | None) -> None:
    again = number == signal.SIGTERM and number in _received
    _received.append(number)
    if not again:
        raise KeyboardInterrupt


_Handler = Callable[[int, FrameType | None], object] | int | None


def _handle(handler: _Handler, numbers: tuple[signal.Signals, ...] = NUMBERS) -> dict[int, _Handler]:
    """The previous handlers; signals that are ignored, as in the background of a shell, stay ignored."""
    before: dict[int, _Handler] = {}
    for number in numbers:
        was = signal.getsignal(number)
        if was is not signal.SIG_IGN:
            before[number] = was
            signal.signal(number, handler)
    return before


def _restore(before: dict[int, _Handler]) -> None:
    for number, was in before.items():
        signal.signal(number, was)

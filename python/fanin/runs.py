"""Reading specs and running them, one or several at a time."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from fanin import _core, files, limits, own_schemes, spec_types
from fanin.arguments import EXAMPLE_OF_SET, given, need_limits, need_list, need_path, need_whole
from fanin.progress import ProgressDisplay
from fanin.result import Result
from fanin.run_folder import RunError
from fanin.spec import Spec, used

T = TypeVar("T")

SpecLike = str | os.PathLike[str] | spec_types.Spec | Mapping[str, object]
"""The path of a `.toml` or `.json` file, or the spec itself as a mapping."""

SchemeLike = str | os.PathLike[str] | type[own_schemes.Scheme]
"""The id of a scheme; or one's own: a class, `FILE.py:CLASS`, or the path of a shared library."""

P = TypeVar("P", _core.Balancer, _core.Discipline)

PolicyLike = str | os.PathLike[str] | type[P]
"""The id of a policy; or one's own: a class, `FILE.py:CLASS`, or the path of a shared library."""

BalancingLike = PolicyLike[_core.Balancer] | type[_core.PathSelector]
"""Load balancing of switches or of senders, likewise."""

Watcher = Callable[[_core.Progress], bool]
"""Called about 10 times a second during a run; the run stops when it returns False."""


LARGEST_SPEC_BYTES = 16_000_000


class Runnable(Protocol):
    """A job that returns a result."""

    @property
    def label(self) -> str:
        """Names the run among others; fit for a folder name."""

    def resolve(self) -> object:
        """Raises the errors that can be found before anything runs."""

    def run(self, flows: object | None, watcher: Watcher | None) -> Result:
        """Runs it in this thread, without the GIL."""


def _as_json(spec: Mapping[str, object]) -> str:
    """The text of a spec that is a dictionary."""

    def unfit(value: object) -> object:
        raise _core.SpecError(
            f"spec: {given(value)} is no value of a spec; give text, a number, a list or a dictionary"
        )

    return json.dumps(spec, default=unfit)


@dataclass(frozen=True)
class Job:
    """One run: a spec's text and its changes."""

    text: str
    name: str
    """The file's name in error messages."""
    format: Literal["toml", "json"]
    folder: str
    """The folder of relative paths inside the spec."""
    overrides: tuple[str, ...] = ()
    """`key=value`, applied to the text in this order."""
    scheme: str | None = None
    """Replaces the scheme that the spec names."""
    seed: int | None = None
    title: str | None = None
    """Its label among others, instead of its scheme and seed."""
    max_memory: int | None = None
    """Most memory in bytes by the estimate; `None` is no limit."""
    max_time: float | None = None
    """Most real time in seconds by the estimate; `None` is no limit."""
    threads: int = 1
    """Most threads of the run. Its result does not depend on it."""
    threads_asked: bool = True
    """That number was asked for; otherwise a run with Python in it has one."""
    wire: bool = False
    """Whether it runs on a wire, in processes, instead of in the simulator."""
    clock: str = "lockstep"
    """On a wire: `lockstep`, `slowed:N` or `real`."""
    link: str = "udp"
    """On a wire: `udp` or `veth`."""
    moved: tuple[int, int] | None = None
    """In the simulator: messages start up to so many ps later, drawn for a member with this number."""
    own: tuple[own_schemes.Origin, ...] = ()
    """Where the schemes and policies that are no built-in ones came from."""
    by_hand: tuple[str, int] | None = None
    """On a wire: where hosts that were started by hand connect, as ADDRESS:PORT, and their token."""

    @staticmethod
    def of(spec: SpecLike, overrides: Sequence[str] = ()) -> Job:
        """Reads a spec; raises `OSError` for a file that cannot be read, `SpecError` for one that is not a spec
        file."""
        if isinstance(overrides, str):
            raise TypeError(f"set: {given(overrides)} is not a list; write {EXAMPLE_OF_SET}")
        if isinstance(spec, Mapping):
            return Job(_as_json(spec), "<mapping>", "json", str(Path.cwd()), tuple(overrides))
        need_path("spec", spec, "a spec: the path of a .toml or .json file, or a dictionary")
        path = Path(spec)
        if said := files.instead(path, "spec"):
            raise _core.SpecError(said)
        if path.suffix not in (".toml", ".json"):
            raise _core.SpecError(f"{path}: a spec is a .toml or a .json file")
        size_bytes = path.stat().st_size
        if not path.is_file():
            raise _core.SpecError(f"{path}: not a file; a spec is a .toml or a .json file")
        if size_bytes > LARGEST_SPEC_BYTES:
            raise _core.SpecError(
                f"{path}: {size_bytes:,} bytes; a spec has at most {LARGEST_SPEC_BYTES:,}: "
                "put long lists into a file of their own"
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise _core.SpecError(f"{path}: byte {error.start} is not UTF-8 text; save the file as UTF-8") from None
        return Job(
            text, str(path), "toml" if path.suffix == ".toml" else "json", str(path.parent.resolve()), tuple(overrides)
        )

    def using(self, scheme: SchemeLike | None, seed: int | None) -> Job:
        """The same spec under another scheme or seed; `None` leaves the spec's own."""
        need_whole("seed", seed, "a whole number, like seed=1")
        return replace(self, scheme=own_schemes.resolved(scheme), seed=seed, own=own_schemes.origins())

    def within(self, max_memory: int | None = None, max_time: float | None = None) -> Job:
        """The same spec with limits in bytes and real seconds; `None` is the default of `fanin.limits`."""
        memory, time = limits.within(max_memory, max_time)
        return replace(self, max_memory=memory, max_time=time)

    def on(self, threads: int | None, *, at_once: int = 1) -> Job:
        """The same spec on so many threads; `None` shares the cores among so many runs at once."""
        return replace(self, threads=threads_of(threads, at_once), threads_asked=threads is not None)

    def at(self, place: str, *, named: bool) -> Job:
        """The same spec in the simulator or on the wire; `named` puts that into its label."""
        placed = replace(self, wire=place == "wire")
        return replace(placed, title=f"{self.label}-on-{place}") if named else placed

    @property
    def label(self) -> str:
        """Names the run among others of the same spec; fit for a folder name."""
        if self.title is not None:
            return self.title
        seed = "" if self.seed is None else f"-seed-{self.seed}"
        return (self.scheme or "as-written") + seed

    def resolve(self) -> dict[str, object]:
        """The checked spec with every default shown; raises `SpecError`."""
        own_schemes.load_again(self.own)
        resolved: dict[str, object] = json.loads(_core.resolve(self))
        return resolved

    def warnings(self) -> list[str]:
        """Warnings that are known before it runs; raises `SpecError`."""
        own_schemes.load_again(self.own)
        return _core.warnings(self)

    def run(self, flows: object | None, watcher: Watcher | None) -> Result:
        """Runs it in this thread, without the GIL; on a wire in processes that it starts."""
        own_schemes.load_again(self.own)
        if self.wire:
            if flows is not None:
                raise _core.SpecError("flows of the caller's do not run on the wire: write them into the spec")
            try:
                result = _core.run_wire(
                    self,
                    wire_member(own_schemes.used_of(self.own, self.resolve()) if self.own else ()),
                    watcher,
                    self.clock,
                    self.link,
                    self.by_hand,
                )
            except RuntimeError as error:
                raise RunError(str(error)) from None
            return Result.of(result, label=self.label)
        if self.moved is not None:
            most_ps, draw = self.moved
            return Result.of(
                _core.run_moved(
                    self,
                    most_ps,
                    draw,
                ),
                label=self.label,
            )
        return Result.of(
            _core.run(
                self,
                flows,
                watcher,
                self.max_memory,
                self.max_time,
                self.threads if self.threads_asked else default_threads(self.resolve, self.threads),
            ),
            label=self.label,
            given=flows,
        )


def wire_member(own: tuple[own_schemes.Origin, ...]) -> list[str]:
    """The command of a process of a run on a wire, which loads these schemes and policies first.

    Raises `SpecError` for a class that another process could not load: one of a notebook or of a session.
    """
    if not own:
        return [sys.executable, "-c", "from fanin import _core; _core.wire_member()"]
    load = "import sys; from fanin import _core, own_schemes; own_schemes.load_packed(sys.argv[1]); _core.wire_member()"
    return [sys.executable, "-c", load, own_schemes.packed(own)]


PLACES = ("simulator", "wire")
"""Where a spec can run."""


def check_places(on: Sequence[str]) -> None:
    """Raises `ValueError` unless these are places where a spec can run, each once."""
    for place in on:
        if place not in PLACES:
            raise ValueError(f'on is "simulator" or "wire", not "{place}"')
    if not on or len(on) > len({*on}):
        raise ValueError("on names each place once, and one at least")


def threads_of(threads: int | None, at_once: int = 1) -> int:
    """Threads of each of so many runs at once: those that are asked for, or its share of the cores."""
    if threads is None:
        return max(1, cores() // max(1, at_once))
    if threads < 1:
        raise ValueError(f"a run has 1 thread or more, not {threads}")
    return threads


def default_threads(resolve: Callable[[], Spec], share: int) -> int:
    """The threads of a run for which no number was asked: its share of the cores, or one if a scheme, load balancing or
    a queue discipline of the spec is a class in Python, since Python runs one hook at a time and threads that wait for
    each other take several times as long."""
    mine = [origin for origin in own_schemes.origins() if origin.in_python]
    if share == 1 or not mine:
        return share
    ids = used(resolve())
    return 1 if any(origin.id in ids[origin.kind] for origin in mine) else share


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    spec: SpecLike,
    *,
    scheme: SchemeLike | None = None,
    seed: int | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    flows: object | None = None,
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    on: str = "simulator",
    clock: str = "lockstep",
    link: str = "udp",
    balancing: BalancingLike | None = None,
    discipline: PolicyLike[_core.Discipline] | None = None,
) -> Result:
    """Runs one spec and returns its result, in memory.

    `scheme` and `seed` replace the spec's own. A scheme of your own is a class that derives from `fanin.Scheme`,
    "FILE.py:CLASS", or the path of a shared library: see docs/own-scheme.md. `set` changes single keys:
    `["measure.window=10 ms"]`. `flows` adds messages from any table with columns src, dst (names or numbers of hosts),
    bytes, start_us (microseconds) or start_ps (whole picoseconds), and optionally group, such as a Polars frame; other
    columns are not used, and a warning names them. `progress` shows a bar on stderr, or is a function that is called
    about 10 times a second and stops the run by returning False.

    `max_memory` (bytes) and `max_time` (real seconds) refuse a run whose estimate is higher, before anything is built;
    the defaults are 80 % of the memory that is free now, and a day. See `fanin.limits`.

    The run has at most so many `threads`, by default one per core, and fewer where more would not make it faster: its
    manifest has the number and the reason. With a scheme or a policy that is a class in Python the default is one. The
    result is the same for any number.

    `on="wire"` runs it in processes that exchange frames over a `link`, "udp" or "veth": see docs/wire.md. Its `clock`
    is "lockstep", with the same result; "slowed:N", real time with a network that is N times slower; or "real". A run
    in real time on a machine that is too slow for it has no result, and raises `RunError`.

    `balancing` and `discipline` replace the spec's `network.balancing` and `network.discipline`: the id of a built-in
    one or of one that was loaded; or one of your own: a class that derives from `fanin.Balancer` or
    `fanin.PathSelector`, or from `fanin.Discipline`, "FILE.py:CLASS", or the path of a shared library: see
    docs/load-balancing.md.

    Ctrl-C stops the run; the result is then that up to there and `cancelled` is True.

    Raises `SpecError` for a spec that cannot run, its subclass `LimitError` for one above its limits, and `OSError`
    for a file that cannot be read.
    """
    check_places([on])
    need_list("set", set, EXAMPLE_OF_SET)
    need_limits(max_memory, max_time, threads)
    changes = [*set, *own_schemes.policy_changes(balancing, discipline)]
    job = Job.of(spec, changes).using(scheme, seed).within(max_memory, max_time).on(threads)
    job = replace(job.at(on, named=False), clock=clock, link=link)
    return run_one(job, flows=flows, progress=progress)


def run_one(job: Runnable, *, flows: object | None = None, progress: bool | Watcher = True) -> Result:
    """Runs one job; Ctrl-C before its start is raised, since there is no result."""
    results = run_jobs([job], workers=1, flows=flows, progress=progress)
    if not results:
        raise KeyboardInterrupt
    return results[0]


def run_jobs(
    jobs: Sequence[Runnable], *, workers: int, flows: object | None = None, progress: bool | Watcher = True
) -> list[Result]:
    """Runs several specs, `workers` at a time, and returns their results in order.

    After Ctrl-C the runs in progress stop and return their results up to there; those that had not started are left
    out.
    """
    return map_jobs(jobs, lambda result: result, workers=workers, flows=flows, progress=progress)


def map_jobs(
    jobs: Sequence[Runnable],
    take: Callable[[Result], T],
    *,
    workers: int,
    flows: object | None = None,
    progress: bool | Watcher = True,
) -> list[T]:
    """The same, but keeps only the value of `take` for each result, so that a long sweep fits into memory."""
    stop = threading.Event()
    begun = [False] * len(jobs)
    # Everything runs in other threads: Python raises Ctrl-C in the main thread, which waits.
    pool = ThreadPoolExecutor(max_workers=max(1, workers))
    try:
        # An error in the last spec is raised before the first has run for minutes.
        checks = [pool.submit(job.resolve) for job in jobs]
        _wait(checks)
        for check in checks:
            check.result()
        with ProgressDisplay([job.label for job in jobs], visible=progress is True) as display:

            def watcher(index: int) -> Watcher:
                def watch(state: _core.Progress) -> bool:
                    begun[index] = True
                    display.update(index, state)
                    go_on = progress(state) if callable(progress) else True
                    return go_on and not stop.is_set()

                return watch

            def one(index: int) -> T:
                display.starting(index)
                result = jobs[index].run(flows, watcher(index))
                begun[index] = True
                taken = take(result)
                if not result.cancelled:
                    display.finished(index)
                return taken

            futures: list[Future[T]] = []
            try:
                futures.extend(pool.submit(one, index) for index in range(len(jobs)))
                _wait(futures)
            except KeyboardInterrupt:
                _stop(futures, stop)
                if len(futures) < len(jobs):
                    raise  # so early that a run may have started whose future is not in the list
                # One whose network is still being set up, or whose first hook does not return, has no result and cannot
                # be stopped.
                stopped = [future for index, future in enumerate(futures) if begun[index]]
                kept = "the results up to here are kept" if stopped else "no run has a result yet, so nothing is kept"
                display.say(f"stopping: {kept}")
                _wait(stopped)
            except BaseException:
                _stop(futures, stop)
                raise
            finally:
                if any(_failed(future) for future in futures):
                    _stop(futures, stop)
        done = [future.result() for future in futures if future.done() and not future.cancelled()]
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)
        return done
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _wait(futures: Sequence[Future[T]]) -> None:
    """Waits until all are done or one has failed; wakes up periodically, since a signal that another thread received
    does not interrupt a wait."""
    while not _settled(futures):
        wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)


def _stop(futures: Sequence[Future[T]], stop: threading.Event) -> None:
    stop.set()
    # From the end, so that the first jobs have run: a worker that becomes free meanwhile takes the next one.
    for future in reversed(futures):
        future.cancel()


def _settled(futures: Sequence[Future[T]]) -> bool:
    return all(future.done() for future in futures) or any(_failed(future) for future in futures)


def _failed(future: Future[T]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None

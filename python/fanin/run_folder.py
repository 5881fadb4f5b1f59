"""The run folder: its tables and documents, and how errors in it are reported."""

from __future__ import annotations

import errno
import fcntl
import glob
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, get_args

from fanin.spec import read_toml

TableName = Literal[
    "flows",
    "ports",
    "classes",
    "series",
    "histograms",
    "events",
    "watch",
    "hops",
    "host_waits",
    "pauses",
    "ranks",
    "collectives",
    "nodes",
    "critical",
]

TABLES: tuple[TableName, ...] = get_args(TableName)
"""The tables of a run; each is a file of its own in the run folder."""


class Percentiles(TypedDict):
    """Nearest-rank percentiles over finished messages; None where none finished."""

    count: int
    p50: float | None
    p99: float | None
    p999: float | None
    mean: float | None
    max: float | None


class SizeRange(TypedDict):
    """Payload sizes in bytes, both ends included; `max` is None where no size is too large."""

    min: int
    max: int | None


class QuerySummary(TypedDict):
    """Queries whose first request was posted in the measured window; times run from there to the last answer's last
    byte.

    Those that `timed_out` had a retransmission timeout in some message.
    """

    started: int
    finished: int
    timed_out: int
    completion_us: Percentiles


class DartSummary(TypedDict):
    """The actions of Dart over the whole run; traffics with the same scheme and parameters share them.

    `sender_count` is the mean n in ACKs, the times in its three states are sums over hosts, and `table_entries` is the
    mean number of entries that were freed, over the deflected flow tables of all switches.
    """

    sender_count: float | None
    no_congestion_us: float
    receiver_congestion_us: float
    non_receiver_congestion_us: float
    table_entries: float | None
    table_peak: int | None


class CriticalSummary(TypedDict):
    """The critical path of a job; its parts add up to the time of the job."""

    compute_us: float
    serialisation_us: float
    propagation_us: float
    queueing_us: float
    waiting_us: float
    messages: int


class JobSummary(TypedDict):
    """The job of a traffic. `exposed_us` is the time of a rank from start to finish less its computations; it,
    `compute_us` and `waiting_us` are means over ranks. `time_us` is None where nodes did not end, and bandwidths, in
    GB/s, without collectives. `late_us` is how long after the first rank the last one entered a collective, the mean
    over these; it and `critical` are missing in folders of earlier versions."""

    ranks: int
    unfinished: int
    time_us: float | None
    compute_us: float
    exposed_us: float
    waiting_us: float
    collectives: int
    algbw_gbytes: float | None
    busbw_gbytes: float | None
    late_us: NotRequired[float | None]
    critical: NotRequired[CriticalSummary | None]


class TrafficSummary(TypedDict):
    """One entry of the spec's list of traffics. Messages count if they were posted in the measured window.

    `path_dilation` is the excess of first packets' path lengths over the shortest, as a share; `deflected` counts
    messages with a deflected packet; `dart` is None unless the scheme is one of Dart's.
    """

    traffic: str
    scheme: str
    transport: str
    class_name: str
    started: int
    finished: int
    unfinished: int
    endless: int
    sizes: SizeRange
    sized_started: int
    sized_unfinished: int
    completion_us: Percentiles
    slowdown: Percentiles
    queries: QuerySummary | None
    job: NotRequired[JobSummary | None]
    reordered: int
    reordered_share: float | None
    reorder_distance_bytes: int
    goodput_gbps: float | None
    long_goodput_gbps: float
    marked_share: float | None
    packets_resent: int
    timeouts: int
    path_dilation: float | None
    deflected: int
    counted_with: list[str]
    packets_dropped: int
    dart: DartSummary | None
    actions: dict[str, int]


class Drops(TypedDict):
    """Packets dropped in the whole run, by cause."""

    total: int
    buffer: int
    lossless: int
    error: int
    link_down: int
    no_route: int
    program: int
    blocked: int
    wrong_host: int
    credits: int
    watchdog: int
    receiver: int


class NetworkSummary(TypedDict):
    """The network over the whole run. `load_increase` is the share that detours add to the bytes on all links."""

    stopped_us: float
    drops: Drops
    trimmed: int
    """Packets cut to their headers at full queues. Earlier versions have none."""
    paused_us: float
    pauses: int
    credit_wait_us: float
    storms: int
    cnps: int
    marked: int
    peak_queue_bytes: int
    timeouts: int
    given_up: int
    nacks: int
    duplicates: int
    """Data packets of RDMA whose bytes had all arrived before."""
    packet_hops: int
    reordered: int
    reorder_distance_bytes: int
    link_bytes: int
    detour_bytes: int
    load_increase: float | None
    events_left_out: dict[str, int]


class Summary(TypedDict):
    """The run in numbers; `errors` has the reasons not to trust it."""

    slowdown_ideal: str
    errors: list[str]
    traffics: list[TrafficSummary]
    network: NetworkSummary


class Machine(TypedDict):
    """The machine of a run."""

    os: str
    arch: str
    cpu: str | None
    cores: int


class WirePart(TypedDict):
    """How one part of a network on a wire kept up with real time."""

    name: str
    behind_p99_us: float
    behind_max_us: float
    gap_max_us: float


class WireTiming(TypedDict):
    """How a run on a wire kept up with real time."""

    frames: int
    lateness_p50_us: float
    lateness_p99_us: float
    lateness_max_us: float
    late_share: float
    moved: int
    parts: list[WirePart]


class WireRun(TypedDict):
    """How a run on a wire ran."""

    clock: str
    link: str
    timing: WireTiming | None


class FileRecord(TypedDict):
    """What the manifest says of another file of its folder; `rows` only of tables."""

    bytes: int
    sha256: str
    rows: NotRequired[int]


class Manifest(TypedDict):
    """Origin and speed of a run."""

    version: str
    name: str
    seed: int
    threads: int
    threads_reason: str | None
    """Why these are fewer than it was allowed; None if it used them all."""
    wire: WireRun | None
    """How it ran on a wire; None in the simulator."""
    machine: Machine
    cancelled: bool
    complete: bool
    wall_s: float
    simulated_ps: int
    packet_hops: int
    packet_hops_per_second: float
    events: int
    event_hash: str
    files: NotRequired[dict[str, FileRecord]]
    """The other files, by name; only in a folder, and not of earlier versions."""


class RunError(Exception):
    """A run or a run folder that cannot be used as asked."""


def read_document(path: Path, keys: Sequence[str] = ()) -> dict[str, object]:
    """A JSON or TOML file of results, with these keys; raises `RunError` for a damaged one."""
    try:
        text = path.read_text(encoding="utf-8")
        document: object = read_toml(text) if path.suffix == ".toml" else json.loads(text)
    except UnicodeDecodeError:
        raise RunError(f"{path}: damaged: it is no text") from None
    except json.JSONDecodeError as error:
        raise RunError(f"{path}: damaged: it is no JSON from line {error.lineno} on") from None
    except tomllib.TOMLDecodeError as error:
        raise RunError(f"{path}: damaged: it is no TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except OSError as error:
        said = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise RunError(f"{path}: damaged run folder: {said}") from None
    if not isinstance(document, dict):
        raise RunError(f"{path}: damaged: it holds no table of keys")
    for key in keys:
        if key not in document:
            raise RunError(f'{path}: damaged: it has no key "{key}"')
    return document


def is_run_folder(folder: Path) -> bool:
    """Whether a run was written there."""
    return (folder / "manifest.json").is_file()


def check_target(folder: Path, *, force: bool) -> None:
    """Raises `FileExistsError` or another `OSError` if a run cannot be written there, to be called before it runs."""
    if not os.path.lexists(folder):
        above = next(path for path in folder.absolute().parents if os.path.lexists(path))
        if not above.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"no folder can be made here, since {above} is a file", str(folder))
        if not os.access(above, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"you may not write into {above}; choose another folder", str(folder))
        return
    if is_only_claimed(folder):
        return  # by this process, or by one that was killed: `Claim` finds out
    if not is_run_folder(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: exists and is not a run folder; choose another folder with --out")
    if not force:
        raise FileExistsError(f"{folder}: exists; choose another folder or allow replacing it with --force")


CLAIM = "RUNNING"
"""The file in a folder that a command has claimed before its work begins. Its first line is the number of the process;
the process holds a lock on it, which the system releases when it ends in any way."""


KEPT = ".kept"
"""The folder, in that of a comparison, with the runs that have ended, until it is written."""

WRITTEN = "compare.json"
"""The file of a comparison that is written last."""


def is_only_claimed(folder: Path) -> bool:
    """Whether there is nothing in the folder but the file of a claim."""
    return folder.is_dir() and [path.name for path in folder.iterdir()] == [CLAIM]


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets an error of the system that names no file name this one: what was opened before it failed."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def put_text(path: Path, text: str) -> None:
    """Writes a text file. Raises an `OSError` that names it."""
    with naming(path):
        path.write_text(text, encoding="utf-8")


class Claim:
    """A folder that belongs to this process before its work begins, so that no two runs end in one place."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        """Makes the folder. With `shared` there may be results of others in it, as beside the runs of a comparison.

        Raises `FileExistsError` if it is another's, and another `OSError` if it cannot be made.
        """
        self.folder = folder
        self.left = clean(folder)
        """Sentences on what a process that was killed had left there, and what became of it."""
        self._made = [above for above in folder.absolute().parents if not above.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = False
        if shared:
            folder.mkdir(exist_ok=True)
        else:
            with suppress(FileExistsError):
                # In one step with its file: it may replace an empty folder, but nothing else.
                _make(folder)
                new = True
        try:
            self._file = (folder / CLAIM).open("a+" if shared else "r+", encoding="ascii")
            if self._take():
                return
            self._file.close()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            if new:
                with suppress(OSError):
                    (folder / CLAIM).unlink()
                    for made in (folder, *self._made):
                        made.rmdir()
            raise
        raise FileExistsError(f"{folder}: another run is writing there; choose another folder with --out")

    def _take(self) -> bool:
        """Locks the file, unless a process that lives has done so, and writes this process into it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.fstat(self._file.fileno()).st_ino == (self.folder / CLAIM).stat().st_ino
        except OSError:
            return False
        if not same:
            return False  # the one that was opened has gone meanwhile
        with naming(self.folder / CLAIM):
            self._file.seek(0)
            before = self._file.readline().strip()
            if before not in ("", str(os.getpid())):
                self.left.append(f"{self.folder}: a run that was killed (process {before}) left no result here")
            self._file.seek(0)
            self._file.truncate()
            self._file.write(f"{os.getpid()}\na run of Fanin on {os.uname().nodename} is writing here\n")
            self._file.flush()
        return True

    def release(self) -> None:
        """Gives the folder back; without results it goes."""
        if not self._file.closed:
            path = self.folder / CLAIM
            with suppress(OSError):
                if os.fstat(self._file.fileno()).st_ino == path.stat().st_ino:
                    path.unlink()
                    for made in (self.folder, *self._made):
                        made.rmdir()
            self._file.close()


def _make(folder: Path) -> None:
    """A folder with the file of a claim in it and nothing else."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.{os.getpid()}.", suffix=".claim", dir=folder.parent))
    try:
        scratch.chmod(0o777 & ~_umask())
        (scratch / CLAIM).write_text(f"{os.getpid()}\n", encoding="ascii")
        scratch.rename(folder)
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise FileExistsError(str(error)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def clean(folder: Path) -> list[str]:
    """Removes what a run that was killed while it wrote this folder had left next to it, or restores what it was
    replacing. Returns a sentence on each."""
    said: list[str] = []
    if not folder.parent.is_dir():
        return said
    for left in sorted(folder.parent.glob(f".{glob.escape(folder.name)}.*")):
        found = re.fullmatch(r"(\d+)\.\w+\.(new|old|claim)", left.name[len(folder.name) + 2 :])
        if found is None or _lives(int(found[1])):
            continue
        if found[2] == "old" and not os.path.lexists(folder) and is_run_folder(left):
            left.rename(folder)
            said.append(f"{folder}: restored, since a run that was to replace it was killed (process {found[1]})")
        else:
            shutil.rmtree(left, ignore_errors=True)
            if found[2] != "claim":
                said.append(f"{left}: removed; a run that was killed (process {found[1]}) had left it")
    return said


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True

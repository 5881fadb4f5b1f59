"""What all tests share."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

import fanin
from fanin import own_schemes, stopping
from forked import Forked

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from fanin_papers.experiment import Experiment, Study

ROOT = Path(__file__).parent
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Command(Protocol):
    """Runs the command `fanin` in the test's folder."""

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]: ...


class Studied(Protocol):
    """The results of a paper's experiment, of its short version unless told."""

    def __call__(self, name: str, *, quick: bool = True) -> "Study": ...


def compiled(source: Path, folder: Path) -> str:
    """The shared library `libNAME.so` in a folder, of a scheme or a policy `NAME.c`."""
    made = folder / f"lib{source.stem}.so"
    include = ROOT / "crates" / "own" / "include"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", "-o", made, source], check=True)
    return str(made)


def study_of(one: "Experiment", specs: Path, *, quick: bool = False, keep: Path | None = None) -> "Study":
    """An experiment, run in threads of this process."""
    from fanin_papers.campaign import Campaign

    studies: list[Study] = []
    with ThreadPoolExecutor(2) as threads:
        assert Campaign([one], specs, quick=quick, keep=keep).run(studies.append, executor=threads, progress=False)
    (study,) = studies
    return study


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    """Commands in processes of their own, which start fast."""
    found = Forked(tmp_path_factory.mktemp("forked"))
    yield found
    found.close()


@pytest.fixture
def command(tmp_path: Path, forked: Forked) -> Command:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return forked.run([*map(str, arguments)], tmp_path)

    return run


@pytest.fixture
def command_anew(tmp_path: Path) -> Command:
    """The same from the start of Python on, for what depends on the environment in which it starts."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "fanin", *map(str, arguments)]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)

    return run


@pytest.fixture
def command_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """The same in the process of the test, which saves its start; not for what changes or ends a process."""
    from fanin import cli

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        line = ["fanin", *map(str, arguments)]
        capfd.readouterr()
        with monkeypatch.context() as within:
            within.chdir(tmp_path)
            within.setattr(sys, "argv", line)
            # The threads of pytest are none of the command's, which ends the process if there are some.
            within.setattr(threading, "active_count", lambda: 1)
            try:
                cli.main()
                code = 0
            except SystemExit as left:
                code = int(left.code or 0)
        return subprocess.CompletedProcess(line, code, *capfd.readouterr())

    return run


@pytest.fixture(autouse=True)
def forgets_loaded_schemes() -> Iterator[None]:
    """Tests share a process: the schemes that one loads must not be there in the next."""
    yield
    if own_schemes.origins():
        own_schemes.forget_schemes()


@pytest.fixture(autouse=True)
def forgets_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor may a signal that one sends to its process be the reason why a command of the next ends."""
    monkeypatch.setattr(stopping, "_received", [])


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def tiny() -> Path:
    """A spec that runs in well under a second: an incast and long flows on a star of 4 hosts."""
    return ROOT / "tests" / "data" / "tiny.toml"


@pytest.fixture(scope="session")
def result(tiny: Path) -> fanin.Result:
    """A run of the tiny spec."""
    return fanin.run(tiny, progress=False)


@pytest.fixture(scope="session")
def compared(tiny: Path) -> fanin.Comparison:
    """The tiny spec under two schemes."""
    return fanin.compare(tiny, ["dcqcn", "none"], progress=False)


@pytest.fixture(scope="session")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Studied:
    """Tests in all processes share the runs: what one has run no other runs again."""
    from fanin_papers import SPECS
    from fanin_papers.catalogue import EXPERIMENTS

    base = tmp_path_factory.getbasetemp()
    keep = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "studies"

    def run(name: str, *, quick: bool = True) -> "Study":
        return study_of(EXPERIMENTS[name], SPECS, quick=quick, keep=keep)

    return run


def installed(program: str, without: str) -> str:
    """The path of a program; without it tests are skipped, but not where all must be checked."""
    path = shutil.which(program)
    if path is None:
        message = f"{program} is missing (make setup prints how to install it): {without}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium; for a module only, since its event loop is in the way of others."""
    from playwright.sync_api import sync_playwright

    path = installed("chromium", "no page is opened")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=CHROMIUM)
        yield started
        started.close()


@pytest.fixture(scope="session")
def tshark() -> str:
    """The program tshark."""
    return installed("tshark", "captures are not dissected")

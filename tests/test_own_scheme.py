"""The page and the notebook about one's own scheme run as they stand; the commands that take one; the watch."""

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import polars as pl
import pytest
from nbclient import NotebookClient

import fanin
from conftest import ROOT, Command
from fanin import _core, cli, own_schemes, watching
from fanin.cli import errors
from fanin.plot import join_leave

PAGE = ROOT / "docs" / "own-scheme.md"
NOTEBOOK = ROOT / "docs" / "own-scheme.ipynb"
BLOCKS = re.findall(r"```(sh|python|toml|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

SMALLER = {'"fat-tree", k = 16': '"fat-tree", k = 4', "degree = 32": "degree = 8", 'k": 8': 'k": 4'}
"""The page's large networks with 16 hosts instead of 1,024 and 128, so that it takes seconds."""

SCHEME = """
from dataclasses import dataclass

import fanin


@dataclass(frozen=True)
class Params:
    packets: int = 20


class Flow(fanin.Sender):
    def open(self, path):
        self.window = self.params.packets * path.payload

    def on_ack(self, ack):
        self.last = ack.rtt

    def watch(self):
        return {"rtt_us": getattr(self, "last", 0) / 1e6}


class Mine(fanin.Scheme):
    Params, Sender = Params, Flow
"""
ROLES = SCHEME.replace("Sender = Params, Flow", "Sender, Receiver, Switch = Params, Flow, Host, Port").replace(
    "class Mine(",
    """class Host(fanin.Receiver):
    def open(self, nic):
        self.acks = 0

    def on_data(self, data):
        self.acks += data.ack_due
        return fanin.AckFields() if data.ack_due else None

    def watch(self):
        return {"acks": self.acks, "epoch": 2.5}


class Port(fanin.SwitchProgram):
    def open(self, switch):
        self.queue = 0

    def on_enqueue(self, queued):
        self.queue = queued.view.queued
        return fanin.Verdict.ADMIT

    def watch(self):
        return {"queue_at_port_zero_bytes": self.queue}


class Roles(""",
)
SHORT = ["measure.window=50 us", "traffic.joins.start=10 us"]
"""Changes of the watch's network, so that it takes no time."""
FAILING = SCHEME.replace("self.last = ack.rtt", "self.last = ack.rtt if self.now < 20_000_000 else 1 // 0")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    """The folder in which the page's blocks have run, one after another, and what each of them printed."""
    folder = tmp_path_factory.mktemp("page")
    # `fanin` and `python3` are these ones, wherever they are installed.
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\npython3() {{ "{sys.executable}" "$@"; }}\n'
    printed: dict[int, str] = {}
    for number, (language, code) in enumerate(BLOCKS):
        for large, small in SMALLER.items():
            code = code.replace(large, small)
        if (named := re.match(r"# (\w+\.(?:py|toml))\n", code)) is not None:
            (folder / named[1]).write_text(code, encoding="utf-8")
        elif language in ("sh", "python"):
            line = ["sh", "-c", prelude + code] if language == "sh" else [sys.executable, "-c", code]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
            printed[number] = done.stdout + done.stderr
    return folder, printed


def test_the_page_runs_and_leaves_what_it_says(page: tuple[Path, dict[int, str]]) -> None:
    folder, _ = page
    for name in ("watch.png", "told.png", "mistaken.png", "slowdown.png", "runs/large/compare.png"):
        assert (folder / name).stat().st_size > 20_000, name
    rows = json.loads((folder / "runs" / "large" / "compare.json").read_text())["rows"]
    assert [row["scheme"] for row in rows] == ["my-scheme", "hpcc", "dcqcn", "timely", "dctcp-rate"]
    assert all(row["finished"] == row["started"] > 0 for row in rows)
    two = fanin.load(folder / "runs" / "two" / "as-written").summary()["traffics"]
    assert [traffic["scheme"] for traffic in two] == ["my-scheme", "dcqcn"]
    swept = fanin.load_sweep(folder / "runs" / "two-sweep")
    assert swept.complete
    assert len({run.numbers["event_hash"] for run in swept.runs}) == 3, "the parameter changes the run"
    paths = fanin.load_sweep(folder / "runs" / "paths")
    assert paths.complete
    assert len({run.numbers["event_hash"] for run in paths.runs}) == 3, "each policy sends packets elsewhere"
    assert "my-paths" in (folder / "runs" / "my-paths" / "spec.resolved.toml").read_text()
    queue = fanin.load_comparison(folder / "runs" / "queue").results
    assert all(result.summary()["network"]["marked"] > 0 for result in queue)


def test_the_page_shows_what_its_commands_print(page: tuple[Path, dict[int, str]]) -> None:
    folder, printed = page
    shown = [at for at, (language, _) in enumerate(BLOCKS) if language == "text"]
    assert len(shown) == 2
    for number in shown:
        said = BLOCKS[number][1].replace("FOLDER", str(folder.resolve())).splitlines()
        told = [line.rstrip() for line in printed[number - 1].splitlines() if not line.startswith("running ")]
        assert sorted(said) == sorted(told)


def test_the_notebook_draws_each_step(tmp_path: Path) -> None:
    notebook: nbformat.NotebookNode = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "commit it without outputs"
        assert cell.get("execution_count") is None
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    steps = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.startswith("class ")]
    assert len(steps) == 4
    for cell in steps:
        assert any("image/png" in output.get("data", {}) for output in cell.outputs), cell.source


def test_a_failing_scheme_is_a_failed_run_and_is_told_once(command: Command, tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    done = command("run", tiny, "--scheme", "failing.py:Mine", "--out", "run")
    assert done.returncode == 1
    assert done.stderr.count("ZeroDivisionError") == 1, done.stderr
    kept = fanin.load(tmp_path / "run")
    assert kept.cancelled
    assert "failing.py, line 17): ZeroDivisionError" in kept.summary()["errors"][0]
    swept = fanin.sweep(tiny, [f"{tmp_path}/failing.py:Mine", "none"], out=tmp_path / "sweep", jobs=1, progress=False)
    assert [run.status for run in swept.runs] == ["failed", "done"]
    assert not swept.cancelled


def test_a_loaded_scheme_is_named_by_specs_and_known_to_commands(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # A name of its own: what other tests have loaded is known in this process.
    Path("named.py").write_text(SCHEME.replace("Mine", "Named"))

    def printed(*arguments: str | Path) -> dict[str, object]:
        cli.app([*map(str, arguments), "--json"], prog_name="fanin", standalone_mode=False)
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    named = ("--set", "traffic[0].scheme={ id = 'named', packets = 3 }")
    with pytest.raises(fanin.SpecError) as unknown:
        printed("check", tiny, *named)
    assert "load one of your own with --load FILE.py:CLASS" in errors.of_spec(unknown.value, [])
    with pytest.raises(fanin.SpecError, match=r"--load gone.py:Named: .*gone.py: No such file"):
        printed("check", tiny, "--load", "gone.py:Named")
    checked: Any = printed("check", tiny, *named, "--load", "named.py:Named")
    assert checked["spec"]["traffic"][0]["scheme"] == {"id": "named", "packets": 3}
    explained = printed("explain", "named.py:Named")
    assert explained["id"] == "named"
    assert "| `packets` | 20 |" in str(explained["manual"])
    assert printed("run", tiny, "--scheme", "named.py:Named", "--out", "run")["ok"]
    assert printed("why", "run", "--load", "named.py:Named")["ok"]


def test_a_class_that_other_processes_cannot_load_is_refused_at_once(tiny: Path, tmp_path: Path) -> None:
    class Here(fanin.Scheme):
        Sender = fanin.Sender

    with pytest.raises(fanin.SpecError, match="Here: other processes cannot load a class of a session"):
        fanin.sweep(tiny, [Here], out=tmp_path / "sweep", progress=False)


def test_the_watch_draws_what_limits_a_scheme_and_what_it_watches(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCHEME)
    short = ("measure.window=1.2 ms",)
    own = fanin.run(watching.JOIN_LEAVE, scheme=f"{tmp_path}/mine.py:Mine", set=short, progress=False)
    other = fanin.run(watching.JOIN_LEAVE, scheme="hpcc", set=short, progress=False)
    figure = join_leave.join_leave([own, other], tmp_path / "picture.svg")
    titles = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert titles[:4] == ["goodput (Gb/s)", "window (KB)", "rate (Gb/s)", "queue (KB)"]
    assert "rtt (us)" in titles
    assert "utilisation" in titles
    (panel,) = (axes for axes in figure.axes if axes.get_ylabel() == "rtt (us)")
    watched = own.watch().filter(name="rtt_us")["value"]
    drawn = max(float(np.asarray(line.get_ydata()).max()) for line in panel.get_lines())
    assert drawn == pytest.approx(watched.max())


def test_the_watch_draws_what_receivers_and_the_switch_tell(tmp_path: Path) -> None:
    (tmp_path / "roles.py").write_text(ROLES)
    run = fanin.run(watching.JOIN_LEAVE, scheme=f"{tmp_path}/roles.py:Roles", set=SHORT, progress=False)
    figure = join_leave.join_leave(run)
    panels = {axes.get_ylabel(): axes for axes in figure.axes}
    assert list(panels)[-2:] == ["acks,\nat the receiver", "queue at port\nzero (KB),\nat sw0"]
    for title, what, unit in (("acks,\nat the receiver", "receiver", 1), (list(panels)[-1], "switch", 1e3)):
        (line,) = (line for line in panels[title].get_lines() if line.get_linestyle() == "-")
        watched = run.watch().filter(pl.col("what") == what, pl.col("name") != "epoch", pl.col("traffic") == "stays")
        drawn = np.asarray(line.get_ydata(), float)
        assert drawn == pytest.approx(watched["value"].to_numpy() / unit)
        assert len(set(drawn)) > 2
    # A value that never changes has no panel.
    assert panels[list(panels)[-1]].get_xlabel() == "time (ms)\nepoch at the receiver: always 2.5"


def test_the_watch_goes_on_after_a_mistake_and_draws_anew(tmp_path: Path) -> None:
    file, said = tmp_path / "mine.py", list[str | None]()
    file.write_text(SCHEME.replace("self.window = ", "self.window = ="))
    what = watching.Watch(f"{file}:Mine", changes=SHORT, out=tmp_path / "watch.png", page=tmp_path / "watch.html")
    ends = time.monotonic() + 120

    def tell(problem: str | None) -> None:
        said.append(problem)
        page = what.page.read_text() if what.page is not None else ""
        assert ("<pre>" in page) == (problem is not None)
        if len(said) < 3:
            file.write_text([FAILING, SCHEME][len(said) - 1])

    watching.watch(what, tell, go_on=lambda: len(said) < 3 and time.monotonic() < ends)
    syntax, failed, well = said[:3]
    assert syntax is not None
    assert "mine.py:14: SyntaxError" in syntax
    assert failed is not None
    assert "ZeroDivisionError" in failed
    assert well is None
    assert (tmp_path / "watch.png").stat().st_size > 10_000
    assert not list(tmp_path.glob(".*.part"))


def test_the_watch_tells_warnings_and_when_a_hook_failed(tmp_path: Path) -> None:
    class Still(fanin.Sender):
        """Sends nothing."""

        def open(self, path: fanin.PathInfo) -> None:
            self.rate = 0
            self.window = path.payload

    class Late(Still):
        """Fails at its first ACK."""

        def open(self, path: fanin.PathInfo) -> None:
            self.rate, self.window = path.line_rate, path.payload

        def on_ack(self, ack: fanin.Ack) -> None:
            raise ValueError(f"oops at {ack.acked_to}")

    for sender in (Still, Late):
        fanin.load_scheme(type(sender.__name__, (fanin.Scheme,), {"Sender": sender}))
    still = watching.Watch("still", changes=SHORT, out=tmp_path / "still.svg")
    assert still.draw() is None
    assert [warning for warning in still.warnings if "nothing was congested" in warning] == still.warnings != []
    late = watching.Watch("late", changes=SHORT, out=tmp_path / "late.svg")
    at_ns = re.search(r" at ([\d.]+) ns ", late.draw() or "")
    assert late.warnings == []
    assert at_ns is not None
    drawn = (tmp_path / "late.svg").read_text()
    assert f"late failed at {float(at_ns[1]) / 1e3:.2f} us" in drawn
    assert "cancelled" not in drawn
    assert "no watched message was sampled" in drawn


def test_schemes_that_go_by_marks_see_some_in_the_watch() -> None:
    for scheme in (f"{ROOT / 'examples' / 'own' / 'dctcp_rate.py'}:DctcpRate", "dcqcn"):
        run = fanin.run(watching.JOIN_LEAVE, scheme=scheme, progress=False)
        assert (run.flows()["packets_marked"] > 0).all(), scheme


def test_other_schemes_run_anew_only_when_it_matters_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, marks = tmp_path / "mine.py", tmp_path / "marks.py"
    result = fanin.run(watching.JOIN_LEAVE, scheme="hpcc", set=SHORT, progress=False)
    ran: list[str] = []

    def run(*_: object, scheme: str, **__: object) -> fanin.Result:
        ran.append(scheme)
        return result

    monkeypatch.setattr("fanin.runs.run", run)
    mine = f"{scheme}:Mine"
    what = watching.Watch(mine, beside=["hpcc"], discipline=f"{marks}:Q", out=tmp_path / "watch.png")
    assert what.draw() is None
    assert what.draw() is None
    assert ran == [mine, "hpcc", mine]
    scheme.write_text("1")
    assert what.draw() is None
    marks.write_text("1")
    assert what.draw() is None
    assert ran[3:] == [mine, mine, "hpcc"]


def test_a_file_that_an_editor_replaces_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = tmp_path / "mine.py"
    scheme.write_text("1")
    what, polls, drawn = watching.Watch(f"{scheme}:Mine"), iter(range(10)), []

    def draw(_: watching.Watch) -> None:
        drawn.append(scheme.exists())

    def go_on() -> bool:
        match next(polls):
            case 1:
                scheme.unlink()
            case 3:
                scheme.write_text("22")
        return len(drawn) < 2

    monkeypatch.setattr(watching.Watch, "draw", draw)
    monkeypatch.setattr(watching, "POLL_S", 0)
    watching.watch(what, lambda _: None, go_on=go_on)
    assert drawn == [True, True]


def test_the_command_draws_once(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCHEME)
    short = (*(word for change in SHORT for word in ("--set", change)), "--once", "--json")
    done = command("watch", "--scheme", "mine.py:Mine", "--out", "mine.svg", *short)
    assert json.loads(done.stdout) == {"ok": True, "picture": "mine.svg", "errors": [], "warnings": []}, done.stderr
    assert b"<svg" in (tmp_path / "mine.svg").read_bytes()
    assert command("watch", "--scheme", "gone.py:Mine", "--once").returncode == 2
    # A queue discipline of one's own runs too, under any scheme, and its file is one of those that are looked at.
    text = "import fanin\nclass Q(fanin.Discipline):\n    def on_enqueue(self, queued):\n        1 / 0\n"
    (tmp_path / "marks.py").write_text(text)
    done = command("watch", "--scheme", "dctcp-rate", "--discipline", "marks.py:Q", "--out", "q.svg", *short)
    assert "Q.on_enqueue of switch " in json.loads(done.stdout)["errors"][0], done.stderr
    what = watching.Watch("mine.py:Mine", discipline="marks.py:Q", balancing="./libtwo.so")
    assert {file.name for file in what.files[1:]} == {"mine.py", "marks.py", "libtwo.so"}


def test_parameters_with_units_are_written_as_text(tiny: Path) -> None:
    for unit, text, number in (
        ("time", "5 us", 5_000_000),
        ("time", "0.25 ns", 250),
        ("rate", "10 Gbps", 10_000_000_000),
        ("rate", "1.5 Tbps", 1_500_000_000_000),
        ("bytes", "4 KB", 4_000),
        ("bytes", "1.5 KiB", 1_536),
        ("bytes", "2 GB", 2_000_000_000),
    ):
        assert own_schemes.in_units(unit, text) == number
        assert own_schemes.in_units(unit, own_schemes.as_text(unit, number)) == number
    for unit, text in (("time", "5 KB"), ("rate", "fast"), ("bytes", "0.5 B")):
        with pytest.raises(ValueError, match="write it like"):
            own_schemes.in_units(unit, text)
    seen: set[int] = set()

    @dataclass(frozen=True)
    class Params:
        aim: int = field(default=1_000_000, metadata={"unit": "time"})

    class Flow(fanin.Sender):
        def open(self, path: fanin.PathInfo) -> None:  # noqa: ARG002 - a hook has it
            seen.add(self.params.aim)

    Aiming = type("Aiming", (fanin.Scheme,), {"Params": Params, "Sender": Flow})  # noqa: N806 - it is a class
    fanin.load_scheme(Aiming)

    def run(aim: str) -> None:
        change = f"scheme={{ id = 'aiming', aim = {aim} }}"
        short = ["measure.window=20 us", *(f"traffic[{number}].{change}" for number in (0, 1))]
        fanin.run(tiny, set=short, progress=False)

    run("'5 us'")
    run("'7 ps'")
    assert seen == {5_000_000, 7}
    (row,) = (row for row in _core.schemes() if row["id"] == "aiming")
    assert "| `aim` | 1 us |" in row["manual"]
    with pytest.raises(fanin.SpecError, match=r'"5 KB"[:;] write it like "5 us"'):
        run("'5 KB'")

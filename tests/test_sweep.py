"""Grids of runs: their order, their results when they are stopped or killed, and their executors."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import fanin
from conftest import Command
from fanin import SpecError, SweepState, table
from fanin.sweeps import display, grid, means, pools

BUSY = "measure.window=200 ms"
"""A run of some tenths of a second, so that it can be interrupted."""


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    """An executor without processes to start."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def log(folder: Path) -> list[tuple[str, str]]:
    """What happened, in order: the event and the run's label."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(line["event"], line["label"]) for line in lines]


def parts(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The finished runs: the time and the text of each."""
    found = (folder / "parts").glob("*.json")
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def hashes(swept: fanin.Sweep) -> list[object]:
    return [run.numbers["event_hash"] for run in swept.runs]


def test_the_grid_is_the_product_with_seeds_fastest(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    out = tmp_path / "grid"
    vary = {"measure.window": ["2 ms", "3 ms"]}
    swept = fanin.sweep(
        tiny, ["dcqcn", "none"], [0.2, 0.5], 2, vary, out=out, executor=threads, progress=False, set=["seed=4"]
    )
    places = [(s, ld, w, n) for s in ("dcqcn", "none") for ld in (0.2, 0.5) for w in ("2 ms", "3 ms") for n in (4, 5)]
    table = swept.table()
    assert table.select("scheme", "load", "measure.window", "seed").rows() == places
    assert table.columns[:6] == ["scheme", "load", "measure.window", "seed", "status", "errors"]
    assert set(table["status"]) == {"done"}
    assert table["event_hash"].n_unique() == 16
    assert table["fct_p50_us"].null_count() == 0
    assert (table["fct_p99_us"].is_null() == (table["reported"] < 100)).all(), "too few messages for a p99"
    assert table["load"].dtype == pl.Float64
    # Each row has the numbers of its run.
    alone = fanin.run(
        tiny,
        scheme="none",
        seed=5,
        set=["measure.window=3 ms", "traffic.queries.load.share=0.25", "traffic.updates.load.share=0.25"],
        progress=False,
    )
    row = table.row(15, named=True)
    assert row["event_hash"] == alone.manifest["event_hash"]
    assert row["fct_p50_us"] == alone.summary()["traffics"][0]["completion_us"]["p50"]
    # The files hold the same, and any library reads them.
    assert pl.read_parquet(out / "sweep.parquet").equals(table)
    assert pl.read_csv(out / "sweep.csv")["event_hash"].to_list() == table["event_hash"].to_list()
    assert pa.table(swept.arrow()).num_rows == 16
    assert fanin.load_sweep(out).table().equals(table)


def test_loads_keep_the_mix_exactly() -> None:
    spec = {"seed": 1, "traffic": [{"load": {"share": share, "of": "tor-uplinks"}} for share in (0.16, 0.24)]}
    _, axis, _ = grid.axes(spec, None, [0.3], None, {})
    assert axis.changes == [("traffic[0].load.share=0.12", "traffic[1].load.share=0.18")]


def test_a_number_is_drawn_along_a_column(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    vary = {"measure.window": ["2 ms", "3 ms"]}
    swept = fanin.sweep(
        tiny, ["dcqcn", "none"], [0.4, 0.2], 2, vary, out=tmp_path / "out", executor=threads, progress=False
    )
    figure = swept.plot(path=tmp_path / "loads.png")
    assert (tmp_path / "loads.png").stat().st_size > 10_000
    (axes,) = figure.axes
    labels = [f"{scheme} (window={window} ms)" for scheme in ("dcqcn", "none") for window in (2, 3)]
    assert axes.get_legend_handles_labels()[1] == labels
    line = axes.lines[0]
    drawn = [line for line in axes.lines if line.get_label() in labels]
    assert len({line.get_color() for line in drawn}) == 4, "told apart by colour"
    assert len({line.get_marker() for line in drawn}) == 4
    assert axes.get_ylabel() == "Median FCT (us)", "some runs have too few messages for a p99"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["20 %", "40 %"]
    assert "mean over 2 seeds, bars: 95 % intervals" in figure.get_suptitle()
    table = swept.table().filter(scheme="dcqcn").filter(pl.col("measure.window") == "2 ms")
    # Slightly shifted, so that intervals are distinct.
    assert np.asarray(line.get_xdata()).tolist() == pytest.approx([0.2, 0.4], abs=0.01)
    assert np.asarray(line.get_ydata())[0] == pytest.approx(table.filter(load=0.2)["fct_p50_us"].mean())
    flat = swept.plot("load", "slowdown_p50").axes[0]
    highest = max(np.asarray(line.get_ydata(), float).max() for line in flat.lines)
    assert flat.get_ylim()[1] > 1.05 * highest, "room for its marker"
    by_window = swept.plot("measure.window", "slowdown_p99").axes[0]
    assert [text.get_text() for text in by_window.get_xticklabels()] == ["2 ms", "3 ms"]
    with pytest.raises(
        fanin.RunError,
        match=r"nonesuch: not a column with several values; those of this grid are: load, measure\.window",
    ):
        swept.plot("nonesuch")
    with pytest.raises(fanin.RunError, match="not a number of a sweep"):
        swept.plot(y="event_hash")
    with pytest.raises(fanin.RunError, match=r"did you mean fct_p99_us\?"):
        swept.plot(y="fct_p9_us")
    with pytest.raises(fanin.RunError, match="fct_p999_us: no run has enough messages for it"):
        swept.plot(y="fct_p999_us")
    assert repr(swept).startswith("<Sweep tiny incast: 16 of 16 runs done")
    assert repr(swept).endswith(
        "\n  scheme: dcqcn, none\n  load: 0.4, 0.2\n  measure.window: 2 ms, 3 ms\n  seed: 1, 2>"
    )
    assert repr(swept.runs[0]).startswith("<SweepRun dcqcn load=0.4 measure.window=2 ms seed=1: done, ")
    assert swept._repr_html_().count("<tr>") == 1 + 8


def test_the_commands_show_report_and_draw_a_sweep_over_its_seeds(command: Command, tiny: Path, tmp_path: Path) -> None:
    where = ("--out", "loads")
    ran = command("sweep", tiny, "--schemes", "dcqcn,none", "--loads", "0.2,0.4", "--seeds", "2", *where)
    assert ran.returncode == 0, ran.stderr
    swept = fanin.load_sweep(tmp_path / "loads")
    # At 80 columns the numbers stand in blocks below each other, each behind the columns of the grid.
    blocks = [line.split() for line in ran.stdout.splitlines() if line.strip().startswith(("dcqcn", "none"))]
    rows = blocks[:4]
    assert len(blocks) % 4 == 0
    assert [row[:4] for row in blocks] == [row[:4] for row in rows] * (len(blocks) // 4)
    assert [row[:4] for row in rows] == [[s, ld, "%", "2"] for s in ("dcqcn", "none") for ld in ("20", "40")]
    mean = swept.table().filter(scheme="dcqcn", load=0.2)["fct_p50_us"].mean()
    assert float(rows[0][4]) == pytest.approx(mean, rel=0.01)
    drawn = command("plot", "sweep", "loads", "--x", "load", "--y", "slowdown_p50")
    assert drawn.returncode == 0, drawn.stderr
    assert "loads/sweep.png" in drawn.stdout
    assert command("report", "loads").returncode == 0
    refused = command("plot", "queues", "loads")
    assert refused.returncode == 1
    assert "only the numbers were kept, which fanin plot sweep draws" in refused.stderr
    assert command("sweep", tiny, "--schemes", "dcqcn", "--seeds", "2", "--keep-runs", "--out", "kept").returncode == 0
    assert "kept/fct.png" in command("plot", "fct", "kept").stdout
    assert "kept/fct.png" in command("plot", "completion", "kept").stdout, "its earlier name"
    assert "are of fanin plot sweep" in command("plot", "fct", "kept", "--x", "load").stderr


def test_the_scheme_of_one_traffic_may_vary(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    vary = {"traffic.queries.scheme": ["hpcc", "none"]}
    swept = fanin.sweep(tiny, vary=vary, out=tmp_path / "out", executor=threads, progress=False)
    head, rows, _ = table.grid_table(swept)
    assert head[:3] == ["scheme", "queries.scheme", "seed"]
    assert [row[:2] for row in rows] == [["hpcc+dcqcn", "hpcc"], ["none+dcqcn", "none"]]


def test_runs_that_failed_are_told(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    (tmp_path / "bad.py").write_text(
        "import fanin\n"
        "class Flow(fanin.Sender):\n"
        "    def open(self, path): raise ValueError('oops')\n"
        "class Bad(fanin.Scheme):\n"
        "    Sender = Flow\n"
    )
    schemes = [str(tmp_path / "bad.py:Bad"), "none"]
    swept = fanin.sweep(tiny, schemes, seeds=2, out=tmp_path / "out", executor=threads, progress=False)
    told = [note for note in table.grid_notes(swept) if "run" in note]
    assert told[0].startswith("2 of 4 runs failed and have no numbers; the first is bad seed=1: Flow.open of flow 0")
    assert told[0].endswith("ValueError: oops")
    assert told[1] == "no other run left a message unfinished"


def test_values_are_in_order_and_read_well() -> None:
    assert means.in_order(["1 MB", "50 KB", "225 KB", "50 KB"]) == ["50 KB", "225 KB", "1 MB"]
    assert means.in_order(["10 us", "1 ms"]) == ["10 us", "1 ms"]
    assert means.in_order([16, 4, 8]) == [4, 8, 16]
    assert means.in_order(["red", "step"]) == ["red", "step"]
    assert [means.value_text("load", 0.35), means.value_text("k", 1000000), means.value_text("k", 2.5)] == [
        "35 %",
        "1,000,000",
        "2.5",
    ]


def test_the_display_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now_s = [100.0]
    monkeypatch.setattr("fanin.sweeps.display.time.monotonic", lambda: now_s[0])
    with display.SweepDisplay({"a": 3.0, "b": 1.0}, {"a": "one", "b": "two"}, 5, visible=True) as shown:
        now_s[0] += 10.0
        state = shown.update({"a": (0.5, 20_000_000)})
        assert state.left_s == pytest.approx(10 * 2.5 / 1.5), "by cost, not by the number of runs"
        shown.finished("a", 40_000_000)
        now_s[0] += 10.0
        state = shown.update({"a": (0.9, 30_000_000), "b": (0.0, 0)})
    assert (state.done, state.running, state.packet_hops) == (1, ("two",), 40_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "running 2 runs, 5 are there already",
        "0 of 2 runs done, 2.0 M packet-hops/s, 0:16 left; running one",
        "1 of 2 runs done, 2.0 M packet-hops/s, 0:06 left; running two",
    ]


def test_lists_of_values_are_split_outside_quotes_and_brackets() -> None:
    assert grid.parse_vary(["a.b=1 MB,2 MB", "c=[1, 2],[3]", 'd="x,y", {e = 1, f = 2},']) == {
        "a.b": ["1 MB", "2 MB"],
        "c": ["[1, 2]", "[3]"],
        "d": ['"x,y"', "{e = 1, f = 2}"],
    }


def test_values_may_be_pythons_own(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    vary: dict[str, Sequence[object]] = {
        "measure.drain": [True, False],
        "traffic[0].size": [{"fixed": "4 KB"}],
        "network.topology.hosts": [4, 5],
    }
    swept = fanin.sweep(tiny, vary=vary, out=tmp_path / "out", executor=threads, progress=False)
    table = swept.table()
    assert table["measure.drain"].to_list() == [True, True, False, False]
    assert table["network.topology.hosts"].to_list() == [4, 5, 4, 5]
    assert table["scheme"].to_list() == ["dcqcn"] * 4
    assert swept.complete


def test_the_longest_go_first(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    vary = {"measure.window": ["2 ms", "8 ms", "4 ms"]}
    with ThreadPoolExecutor(1) as one:
        fanin.sweep(tiny, seeds=[3, 1], vary=vary, out=out, executor=one, progress=False)
    begun = [label for event, label in log(out) if event == "begun"]
    assert begun == [f"dcqcn measure.window={w} ms seed={seed}" for w in (8, 4, 2) for seed in (3, 1)]


def test_another_grid_adds_and_runs_only_what_is_new(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    out = tmp_path / "out"
    first = fanin.sweep(tiny, ["none"], seeds=2, out=out, executor=threads, progress=False)
    there = parts(out)
    vary = {"measure.window": ["4 ms", "5 ms"]}
    both = fanin.sweep(tiny, ["none"], seeds=2, vary=vary, out=out, executor=threads, progress=False)
    assert Counter(event for event, _ in log(out)) == {"begun": 4, "done": 4}
    assert {name: kept for name, kept in parts(out).items() if name in there} == there
    # 4 ms is the value of the spec: the runs of the first grid are those of the second.
    assert both.table().select("measure.window", "seed").rows() == [
        ("4 ms", 1),
        ("4 ms", 2),
        ("5 ms", 1),
        ("5 ms", 2),
    ]
    assert hashes(both)[:2] == hashes(first)


def test_a_combination_that_cannot_run_is_a_row(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    # An incast of 5 needs 6 hosts.
    vary = {"network.topology.hosts": [4, 8], "traffic.queries.pattern.degree": [3, 5]}
    swept = fanin.sweep(tiny, vary=vary, out=tmp_path / "out", executor=threads, progress=False)
    assert [run.status for run in swept.runs] == ["done", "failed", "done", "done"]
    (error,) = swept.errors
    assert "network.topology.hosts=4" in error
    assert "degree" in error
    assert not swept.complete
    assert swept.table()["fct_p99_us"].null_count() == 1


def test_a_run_above_its_limits_is_a_row_and_runs_again(
    tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    out = tmp_path / "out"

    def swept(limit_s: float) -> fanin.Sweep:
        vary = {"measure.window": ["2 ms", "10 s"]}
        return fanin.sweep(tiny, ["none"], vary=vary, out=out, executor=threads, progress=False, max_time=limit_s)

    refused = swept(1.0)
    assert [run.status for run in refused.runs] == ["done", "failed"]
    assert "above the limit of 1 s" in refused.errors[0]
    assert fanin.load_sweep(out).runs[1].errors == refused.runs[1].errors
    before = parts(out)
    assert [run.status for run in swept(1.0).runs] == ["done", "failed"]
    after = parts(out)
    assert sum(after[name] == before[name] for name in before) == 1, "the failed one ran again, the other did not"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"vary": {"network.nonesuch": [1, 2]}}, "network: unknown key|nonesuch"),
        ({"schemes": ["none", "nonesuch"]}, "nonesuch"),
        ({"schemes": []}, "scheme: an empty list"),
        ({"vary": {"measure.window": []}}, r"measure\.window: an empty list"),
        ({"schemes": ["none", "none"]}, "none occurs twice"),
        ({"loads": [0.0]}, "0.0 is no load"),
        ({"loads": [0.3], "vary": {"traffic.queries.load.share": [0.1]}}, "--loads sets it too"),
        ({"vary": {"seed": [1, 2]}}, "write --seeds instead"),
        ({"seeds": 0}, "give 1 or more"),
        ({"vary": {"measure.window": [object()]}}, "not a value of a spec"),
    ],
)
def test_a_wrong_grid_is_told_before_anything_is_made(
    tiny: Path, tmp_path: Path, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(SpecError, match=says):
        fanin.sweep(tiny, out=tmp_path / "out", progress=False, **arguments)
    assert not (tmp_path / "out").exists()


def test_folders_of_something_else_are_left_alone(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious")
    with pytest.raises(FileExistsError, match="not a sweep"):
        fanin.sweep(tiny, out=tmp_path / "mine", progress=False)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(fanin.RunError, match="not a sweep"):
        fanin.load_sweep(tmp_path / "mine")
    out = tmp_path / "out"
    fanin.sweep(tiny, ["none"], out=out, executor=threads, progress=False)
    with pytest.raises(FileExistsError, match=r'measure.window is "4 ms" there and "5 ms" here'):
        fanin.sweep(tiny, ["none"], out=out, set=["measure.window=5 ms"], progress=False)


def test_a_file_that_the_spec_reads_is_part_of_the_run(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    spec = tmp_path / "listed.toml"
    spec.write_text(
        'spec_version = 1\nname = "listed"\n[network]\nbuffer = { policy = "unlimited" }\n'
        'topology = { kind = "star", hosts = 3, link = "10 Gbps", delay = "1 us" }\n[[traffic]]\nname = "a"\n'
        'scheme = "none"\npattern = { kind = "list", file = "flows.csv" }\n[measure]\nwindow = "1 ms"\n'
    )
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,bytes,start_us\n0,1,5000,1\n")
    fanin.sweep(spec, out=tmp_path / "out", executor=threads, progress=False)
    flows.write_text("src,dst,bytes,start_us\n0,1,6000,1\n")
    with pytest.raises(FileExistsError, match=r"pattern.file is .flows.csv .sha256 .* there and .flows.csv"):
        fanin.sweep(spec, out=tmp_path / "out", executor=threads, progress=False)


def test_two_sweeps_do_not_work_in_one_folder(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    out = tmp_path / "out"
    met: list[str] = []

    def again(_: SweepState) -> bool:
        if not met:
            with pytest.raises(fanin.RunError) as told:
                fanin.sweep(tiny, ["none"], out=out, progress=False)
            met.append(str(told.value))
        return True

    assert fanin.sweep(tiny, ["none"], out=out, executor=threads, progress=again).complete
    assert "another sweep is using it" in met[0]
    assert str(os.getpid()) in met[0]


def test_whole_runs_can_be_kept(tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    out = tmp_path / "out"
    swept = fanin.sweep(tiny, ["none"], seeds=2, out=out, executor=threads, progress=False)
    with pytest.raises(fanin.RunError, match="keep_runs"):
        swept.runs[0].load()
    kept = fanin.sweep(tiny, ["none"], seeds=2, out=out, executor=threads, keep_runs=True, progress=False)
    for run in kept.runs:
        assert run.load().manifest["event_hash"] == run.numbers["event_hash"]
    assert hashes(kept) == hashes(swept)
    begun = log(out)
    fanin.sweep(tiny, ["none"], seeds=2, out=out, executor=threads, keep_runs=True, progress=False)
    assert log(out) == begun


def test_a_watcher_sees_the_sweep_and_stops_it(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    seen: list[SweepState] = []

    def watch(state: SweepState) -> bool:
        seen.append(state)
        return len(seen) < 2

    with ThreadPoolExecutor(1) as one:
        swept = fanin.sweep(
            tiny, ["none"], seeds=3, out=out, set=["measure.window=100 s"], executor=one, progress=watch
        )
    assert swept.cancelled
    assert [run.status for run in swept.runs] == ["waiting"] * 3
    assert seen[-1].total == 3
    assert seen[-1].running == ("none seed=1",)
    assert swept.table().height == 3


def test_a_worker_that_is_killed_is_known_by_its_run(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shot: list[str] = []

    def shoot(state: SweepState) -> bool:
        for label, times in (("none seed=1", 1), ("none seed=2", 2)):
            if label in state.running and shot.count(label) < times:
                for worker in multiprocessing.active_children():
                    worker.kill()
                    worker.join()
                shot.append(label)
        return True

    swept = fanin.sweep(tiny, ["none"], seeds=3, out=out, set=[BUSY], jobs=1, progress=shoot)
    assert [run.status for run in swept.runs] == ["done", "failed", "done"]
    assert "killed twice" in swept.errors[0]
    assert Counter(log(out))["killed", "none seed=1"] == 1
    assert multiprocessing.active_children() == []


def test_a_given_executor_that_breaks_is_told_and_what_has_finished_is_kept(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def shoot(state: SweepState) -> bool:
        if state.done:
            for worker in multiprocessing.active_children():
                worker.kill()
        return True

    # With spawn: this process has threads.
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as one,
        pytest.raises(fanin.RunError, match="the executor broke"),
    ):
        fanin.sweep(tiny, ["none"], seeds=4, out=out, set=[BUSY], executor=one, progress=shoot)
    there = fanin.load_sweep(out)
    statuses = Counter(run.status for run in there.runs)
    assert statuses["done"] >= 1
    assert statuses["waiting"] >= 1
    assert pl.read_parquet(out / "sweep.parquet").equals(there.table())


def started(folder: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a shell starts it."""
    line = [sys.executable, "-m", "fanin", "sweep", *map(str, arguments)]
    return subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def until(holds: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_killed_in_the_middle_it_goes_on_with_nothing_lost_or_twice(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    line = (tiny, "--schemes", "dcqcn,none", "--seeds", "5", "--set", BUSY, "--jobs", "2", "--out", out)
    with started(tmp_path, *line) as process:
        until(lambda: len(parts(out)) >= 3, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    there = parts(out)
    assert 3 <= len(there) < 10
    statuses = Counter(run.status for run in fanin.load_sweep(out).runs)
    assert statuses == {"done": len(there), "waiting": 10 - len(there)}
    (out / "parts" / ".half.json.tmp").write_text('{"key"')
    killed_at = len(log(out))
    done = command("sweep", *line)
    assert done.returncode == 0, done.stderr
    assert f"{len(there)} are there already" in done.stderr
    assert {name: kept for name, kept in parts(out).items() if name in there} == there
    assert not list(out.rglob("*.tmp"))
    events = log(out)
    everything = {f"{scheme} seed={seed}" for scheme in ("dcqcn", "none") for seed in range(1, 6)}
    landed = {json.loads(content)["label"] for _, content in there.values()}
    # Finished runs are never repeated, all others start exactly once.
    assert Counter(label for event, label in events[killed_at:] if event == "begun") == Counter(everything - landed)
    assert max(Counter(label for event, label in events if event == "done").values()) == 1
    assert fanin.load_sweep(out).complete


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")
def test_ctrl_c_keeps_what_has_finished_and_no_worker_outlives_it(tiny: Path, tmp_path: Path) -> None:
    def alive(group: int) -> list[str]:
        stats = [path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
        return [state for state, _, its_group, *_ in stats if int(its_group) == group and state != "Z"]

    for at, (signal_number, only_the_first) in enumerate([(signal.SIGINT, False), (signal.SIGKILL, True)]):
        out = tmp_path / f"out-{at}"
        line = (tiny, "--vary", "measure.window=3 ms,100 s", "--jobs", "2", "--out", out)
        with started(tmp_path, *line) as process:
            until(partial(parts, out), process)
            (os.kill if only_the_first else os.killpg)(process.pid, signal_number)
            told, err = process.communicate(timeout=60)
        if signal_number == signal.SIGINT:
            assert process.returncode == 130, err
            assert "Traceback" not in err
            assert "the same command continues" in err
            assert [line.split()[:4] for line in told.splitlines() if "waiting" in line] == [["dcqcn", "100", "s", "1"]]
            assert pl.read_parquet(out / "sweep.parquet")["status"].to_list() == ["done", "waiting"]
        deadline = time.monotonic() + 20
        while alive(process.pid):
            assert time.monotonic() < deadline, "a worker outlived its sweep"
            time.sleep(0.02)


def test_the_command_tells_what_is_wrong(command: Command, tiny: Path, tmp_path: Path) -> None:
    told = command("sweep", tiny, "--vary", "network.nonesuch=1,2", "--out", "out")
    assert told.returncode == 2
    assert '--vary "network.nonesuch=1"' in told.stderr
    assert not (tmp_path / "out").exists()
    assert "write it like --loads 0.3" in command("sweep", tiny, "--loads", "much").stderr
    lost = ("--set", 'network.buffer.headroom="0 B"', "--set", 'network.buffer.per_port="6 KB"')
    document = command("sweep", tiny, "--schemes", "none", *lost, "--out", "lossy", "--json")
    assert document.returncode == 1
    (run,) = json.loads(document.stdout)["runs"]
    assert run["status"] == "untrusted"
    assert "lossless" in run["errors"][0]
    assert run["settings"] == {"scheme": "none", "seed": 1}
    assert json.loads(command("show", "lossy", "--json").stdout)["runs"] == [run]


FIRST = """
import fanin
class First(fanin.Balancer):
    def choose(self, packet, hash, choices):
        return 0
"""


def test_a_dask_cluster_gives_the_same_and_survives_a_worker(
    command: Command, root: Path, tiny: Path, tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    from distributed import Client, LocalCluster

    arguments = ("--schemes", "dcqcn,none", "--seeds", "2", "--set", "measure.window=20 ms")
    local = fanin.sweep(
        tiny, ["dcqcn", "none"], None, 2, set=[arguments[-1]], out=tmp_path / "local", executor=threads, progress=False
    )
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        done = command("sweep", tiny, *arguments, "--keep-runs", "--dask", cluster.scheduler_address, "--out", "far")
        assert done.returncode == 0, done.stderr
        far = fanin.load_sweep(tmp_path / "far")
        assert far.table().drop("seconds").equals(local.table().drop("seconds"))
        assert far.runs[3].load().manifest["event_hash"] == far.runs[3].numbers["event_hash"]
        # A scheme and load balancing of one's own, which the workers load from their files.
        (tmp_path / "first.py").write_text(FIRST)
        scheme, policy = f"{root}/examples/own/window.py:Window", f"{tmp_path}/first.py:First"
        spec, short = root / "examples" / "load-balancing.toml", "measure.window=100 us"
        names = ("--schemes", scheme, "--balancing", policy, "--set", short)
        done = command("sweep", spec, *names, "--dask", cluster.scheduler_address, "--out", "own")
        assert done.returncode == 0, done.stderr
        here = fanin.run(spec, scheme=scheme, balancing=policy, set=[short], progress=False)
        assert hashes(fanin.load_sweep(tmp_path / "own")) == [here.manifest["event_hash"]]
        with Client(cluster, set_as_default=False) as client:
            workers = list(client.run(os.getpid).values())
            shot: list[int] = []

            def shoot(state: SweepState) -> bool:
                if not shot and state.done:
                    shot.append(workers[0])
                    os.kill(workers[0], signal.SIGKILL)
                return True

            executor = client.get_executor(pure=False)
            survived = fanin.sweep(
                tiny, ["none"], None, 6, set=[BUSY], out=tmp_path / "shot", executor=executor, progress=shoot
            )
    assert shot
    assert survived.complete
    assert len(set(hashes(survived))) == 6


def test_a_dask_scheduler_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CONNECT_S", 0.3)
    with (
        pytest.raises(fanin.RunError, match=r"--dask tcp://127.0.0.1:9: no Dask scheduler answers"),
        pools.dask("tcp://127.0.0.1:9", print),
    ):
        pass
    with pytest.raises(fanin.RunError, match="--dask nonsense: "), pools.dask("nonsense", print):
        pass

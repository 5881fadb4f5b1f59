"""`fanin bench`: its record, and that equal runs are equal."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Command
from fanin import _core, bench
from fanin.bench import cases
from fanin.run_folder import RunError

FIELDS = {
    "case",
    "packet_hops",
    "seconds",
    "packet_hops_per_second",
    "events",
    "event_hash",
    "peak_rss_bytes",
    "threads",
}


def test_every_case_gives_its_record(command: Command) -> None:
    done = command("bench", "--json", "--scale", "0.01")
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)["cases"]
    assert [record["case"] for record in records] == list(cases())
    for record in records:
        assert set(record) >= FIELDS
        assert record["packet_hops"] > 0
        assert record["threads"] == 1
        # The process has loaded the native module, and neither NumPy nor Polars.
        assert 2e6 < record["peak_rss_bytes"] < 4e9


def test_repeats_are_equal_runs(command: Command) -> None:
    first = next(iter(cases()))
    (known,) = json.loads(command("bench", "--json", "--scale", "0.01", "--case", first).stdout)["cases"]
    done = command("bench", "--json", "--scale", "0.01", "--case", first, "--repeat", "3")
    (record,) = json.loads(done.stdout)["cases"]
    assert len(record["repeats_seconds"]) == 3
    assert sorted(record["repeats_seconds"])[1] == record["seconds"]
    assert record["event_hash"] == known["event_hash"]


def test_the_table_has_a_line_per_case(command: Command) -> None:
    done = command("bench", "--scale", "0.01")
    assert done.returncode == 0, done.stderr
    assert "M hops/s" in done.stdout


def test_schemes_are_compared_turn_by_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"first": iter([2.0, 1.0, 4.0]), "second": iter([4.0, 3.0, 2.0])}
    ran = []

    def one(name: str, threads: int, scale: float, scheme: str) -> bench.Record:
        ran.append((name, threads, scale, scheme))
        return {"scheme": scheme, "seconds": next(seconds[scheme]), "event_hash": scheme}

    monkeypatch.setattr(bench, "_one", one)
    first, second = bench.measure(["a"], threads=2, scale=0.5, repeat=3, schemes=list(seconds))
    assert ran == [("a", 2, 0.5, scheme) for _ in range(3) for scheme in seconds]
    assert (first["scheme"], first["seconds"], first["times_first"]) == ("first", 2.0, 1.0)
    # The ratios of the turns are 2, 3 and 0.5.
    assert (second["scheme"], second["seconds"], second["times_first"]) == ("second", 3.0, 2.0)
    assert second["repeats_seconds"] == [4.0, 3.0, 2.0]


def test_equal_runs_with_different_events_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = iter("abac")
    monkeypatch.setattr(bench, "_one", lambda *_: {"seconds": 1.0, "event_hash": next(hashes)})
    with pytest.raises(RunError, match="case e: equal runs gave different event hashes"):
        list(bench.measure(["e"], repeat=2, schemes=["x", "y"]))


def test_a_library_and_a_class_run_beside_a_built_in_scheme(command: Command, tmp_path: Path) -> None:
    (tmp_path / "fanin_scheme.h").write_text(_core.scheme_header())
    for library, source in (("libwindow.so", "fixed_window.c"), ("libchoices.so", "two_choices.c")):
        line = ["cc", "-O2", "-shared", "-fPIC", "-I", str(tmp_path), "-o", str(tmp_path / library)]
        subprocess.run([*line, str(ROOT / "examples" / "own" / source)], check=True)
    python = f"{ROOT / 'examples' / 'own' / 'window.py'}:Window"
    schemes = ("fixed-window", "./libwindow.so", python, "dctcp-rate")
    options = [word for scheme in schemes for word in ("--scheme", scheme)]
    done = command("bench", "--case", "e", "--scale", "0.03", "--json", *options)
    assert done.returncode == 0, done.stderr
    records = json.loads(done.stdout)["cases"]
    assert [record["scheme"] for record in records] == ["fixed-window", "fixed-window-c", "window", "dctcp-rate"]
    built_in, library, of_class, other = (record["event_hash"] for record in records)
    assert built_in == library == of_class != other
    shown = command("bench", "--case", "e", "--scale", "0.03", "--scheme", "fixed-window").stdout.splitlines()
    (row,) = (line.split() for line in shown if "fixed-window" in line)
    assert (row[:2], row[-2:]) == (["fixed-window", "e"], ["1.000", built_in])
    wrong = command("bench", "--case", "e", "--scheme", "fixed-windw")
    assert wrong.returncode == 1
    assert "fixed-windw" in wrong.stderr
    gone = command("bench", "--case", "e", "--scheme", "gone.py:Gone")
    assert (gone.returncode, gone.stderr.count("\n")) == (1, 1)
    assert gone.stderr.endswith("gone.py: No such file or directory\n")
    policy = command("bench", "--case", "e", "--scheme", "./libchoices.so")
    assert policy.returncode == 1
    assert "./libchoices.so: it has no scheme" in policy.stderr

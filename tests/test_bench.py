"""`fanin bench`: its record, and that equal runs are equal."""

import json

from conftest import Command
from fanin.bench import cases

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

"""The specs that `fanin new` writes: each runs, and measures the quantities of its pictures."""

from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import ROOT, Command
from fanin import _core
from fanin.runs import Job
from fanin.spec import schemes_to_compare
from fanin.watching import JOIN_LEAVE

TEMPLATES = {path.stem: path for path in (ROOT / "python" / "fanin" / "templates").glob("*.toml")}
PICTURES = {
    "incast": ("fct", "slowdown", "queue-over-time", "goodput", "rates", "pauses", "utilisation"),
    "web-search": ("fct", "slowdown", "queues", "goodput", "utilisation"),
    "fairness": ("queue-over-time", "goodput", "rates", "pauses"),
    "join-leave": ("queue-over-time", "goodput", "rates", "flows"),
    "spraying": ("fct", "slowdown"),
}
NDP = (
    "network.trimming={}",
    "network.buffer.policy=lossy",
    *(f"traffic.{name}.rdma.recovery=unordered" for name in ("stays", "joins")),
)
"""What that scheme needs of a network and its endpoints."""


def test_each_template_is_looked_at() -> None:
    assert set(TEMPLATES) == set(PICTURES)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_template_runs_and_is_drawn(name: str, tmp_path: Path) -> None:
    whole = {"fairness": "9 ms", "join-leave": "2 ms"}  # flows that start later are in it
    short = ["measure.warm_up=0 s", f"measure.window={whole.get(name, '1 ms')}"]
    run = fanin.run(TEMPLATES[name], set=short, progress=False)
    assert run.summary()["errors"] == []
    for kind in PICTURES[name]:
        fanin.plot.KINDS[kind](run, tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000
    for scheme in schemes_to_compare(run.spec):
        Job.of(TEMPLATES[name]).using(scheme, None).resolve()


def test_every_scheme_may_stand_beside_another_in_watch() -> None:
    for scheme in dict.fromkeys(name for row in _core.schemes() for name in row["presets"]):
        changes = NDP if scheme == "ndp" else ()
        job = Job.of(JOIN_LEAVE, changes).using(scheme, None)
        job.resolve()
        assert job.warnings() == [], scheme


def slowdown(run: fanin.Result, which: pl.Expr, share: float) -> float:
    """A quantile over the measured messages that `which` picks."""
    return run.flows().filter(pl.col("measured") & which)["slowdown"].quantile(share) or 0.0


def longest_queue(run: fanin.Result) -> int:
    bytes_: int = run.summary()["network"]["peak_queue_bytes"]
    return bytes_


def test_schemes_differ_in_incast_as_its_comments_say() -> None:
    compared = fanin.compare(TEMPLATES["incast"], progress=False)
    rows = {row.scheme: row for row in compared.rows}
    runs = {run.label: run for run in compared.results}
    median = {scheme: row.fct_p50_us or 0 for scheme, row in rows.items()}
    assert min(median["none"] / other for scheme, other in median.items() if scheme != "none") > 1.5
    updates = {scheme: row.long_goodput_gbps or 0 for scheme, row in rows.items()}
    assert 4 * updates["dcqcn"] < updates["hpcc"] < 0.9 * updates["dctcp-rate"] < updates["none"]
    paused = {scheme: row.paused_us for scheme, row in rows.items()}
    assert 10 * max(paused["hpcc"], paused["dctcp-rate"]) < paused["dcqcn"] < paused["none"]
    assert paused["dart"] > 0.3 * paused["none"]
    longest = {scheme: longest_queue(run) for scheme, run in runs.items()}
    assert min(longest, key=lambda scheme: longest[scheme]) == "hpcc"
    small = {scheme: slowdown(run, pl.col("bytes") == 2_000, 0.99) for scheme, run in runs.items()}
    assert small["dart"] < small["hpcc"] < small["dcqcn"] < small["none"]


def test_schemes_differ_in_web_search_as_its_comments_say() -> None:
    runs = {run.label: run for run in fanin.compare(TEMPLATES["web-search"], progress=False).results}
    tail = {scheme: slowdown(run, pl.col("bytes") <= 30_000, 0.99) for scheme, run in runs.items()}
    assert 1.2 * tail["hpcc"] < min(tail["dcqcn"], tail["dctcp-rate"])
    assert tail["none"] > 20 * max(tail["dcqcn"], tail["dctcp-rate"])
    median = {scheme: slowdown(run, pl.col("bytes") <= 30_000, 0.5) for scheme, run in runs.items()}
    assert max(median["hpcc"], median["dcqcn"]) < median["dctcp-rate"] < median["none"]
    longest = {scheme: longest_queue(run) for scheme, run in runs.items()}
    assert longest["hpcc"] < 100_000 < longest["dcqcn"] < longest["none"]
    long = {scheme: slowdown(run, pl.col("bytes") > 1_000_000, 0.5) for scheme, run in runs.items()}
    assert long["dctcp-rate"] < long["hpcc"] < long["dcqcn"]


def test_schemes_differ_in_fairness_as_its_comments_say() -> None:
    compared = fanin.compare(TEMPLATES["fairness"], progress=False)
    goodput = {row.scheme: row.long_goodput_gbps or 0 for row in compared.rows}
    assert 1.05 * goodput["hpcc"] < goodput["dart"] < 1.02 * goodput["dctcp-rate"]
    assert goodput["dcqcn"] < 0.95 * goodput["dctcp-rate"]
    runs = {run.label: run for run in compared.results}
    # The third flow's payload over its fair share of the last 12 ms, a third of 9.6 Gb/s.
    third = {
        scheme: run.flows().filter(pl.col("traffic") == "third")["delivered_bytes"][0] * 8 / 12e-3 / 3.2e9
        for scheme, run in runs.items()
    }
    assert abs(third["dart"] - 1) < 0.02
    assert third["dctcp-rate"] < 0.9 < 1.02 < third["hpcc"] < third["dcqcn"]
    assert third["dcqcn"] > 1.4
    late = pl.col("time_ps") > 12e9
    middle = {
        scheme: run.series().filter(late)["queue_bytes"].drop_nulls().quantile(0.5) or 0.0
        for scheme, run in runs.items()
    }
    assert middle["hpcc"] < 3_000 < 15_000 < middle["dctcp-rate"] < 25_000 < middle["dart"]


def test_schemes_differ_in_spraying_as_its_comments_say() -> None:
    compared = fanin.compare(TEMPLATES["spraying"], progress=False)
    last = {run.label: run.flows()["completion_ps"].cast(float).max() for run in compared.results}
    us = {scheme: float(str(time)) / 1e6 for scheme, time in last.items()}
    assert max(us["nscc"], us["none"]) < 200 < 250 < us["dcqcn"] < us["hpcc"]
    marked = {run.label: run.summary()["network"]["marked"] for run in compared.results}
    assert 1.5 * marked["nscc"] < marked["none"]
    # On one path per flow some meet, and take twice as long.
    hashed = fanin.run(TEMPLATES["spraying"], set=["network.balancing=flow-hash"], progress=False)
    assert float(str(hashed.flows()["completion_ps"].cast(float).max())) / 1e6 > 1.8 * us["nscc"]


def test_what_the_comments_offer_instead_is_possible(command: Command) -> None:
    offers = {
        "incast": ['network.marking={ kind = "red", min = "20 KB", max = "80 KB", probability = 0.1 }'],
        "web-search": [
            'network.buffer={ policy = "lossless", pool = "12 MB" }',
            'traffic.messages.size={ cdf = "FB_Hadoop" }',
            'traffic.messages.size={ cdf = "AliStorage" }',
        ],
    }
    for name, changes in offers.items():
        text = TEMPLATES[name].read_text(encoding="utf-8")
        for change in changes:
            assert change.partition("=")[2] in text or change.split('"')[-2] in text, "the comment says so"
            done = command("check", TEMPLATES[name], "--set", change)
            assert done.returncode == 0, done.stderr

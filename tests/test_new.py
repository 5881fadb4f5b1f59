"""The specs that `fanin new` writes: each runs, and measures what its pictures are drawn from."""

from pathlib import Path

import pytest

import fanin
from conftest import ROOT, Command
from fanin.runs import Job
from fanin.spec import schemes_to_compare

TEMPLATES = {path.stem: path for path in (ROOT / "python" / "fanin" / "templates").glob("*.toml")}
PICTURES = {
    "incast": ("fct", "slowdown", "queue-over-time", "goodput", "rates", "pauses", "utilisation"),
    "web-search": ("fct", "slowdown", "queues", "goodput", "utilisation"),
    "fairness": ("queue-over-time", "goodput", "rates", "pauses"),
}


def test_each_template_is_looked_at() -> None:
    assert set(TEMPLATES) == set(PICTURES)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_template_runs_and_is_drawn(name: str, tmp_path: Path) -> None:
    short = ["measure.warm_up=0 s", "measure.window=1 ms"] if name != "fairness" else ["measure.window=9 ms"]
    run = fanin.run(TEMPLATES[name], set=short, progress=False)
    assert run.summary()["errors"] == []
    for kind in PICTURES[name]:
        fanin.plot.KINDS[kind](run, tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").stat().st_size > 10_000
    for scheme in schemes_to_compare(run.spec):
        Job.of(TEMPLATES[name]).using(scheme, None).resolve()


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

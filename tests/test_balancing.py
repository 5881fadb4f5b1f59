"""Load balancing as users run it: the example, and a run that once did not end."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import Command, compiled
from fanin import table


def test_spraying_with_selective_repeat_ends(root: object) -> None:
    # A queue pair that was done kept its turn at the NIC, and its slot, in use again, had two.
    selective = '{ recovery = "selective-repeat" }'
    changes = [
        'network.balancing="random"',
        'measure.window="1 ms"',
        *(f"traffic[{at}].rdma={selective}" for at in (0, 1)),
    ]
    found = fanin.run(f"{root}/examples/load-balancing.toml", set=changes, progress=False, max_time=600)
    assert [traffic["unfinished"] for traffic in found.summary()["traffics"]] == [0, 0]
    assert found.summary()["network"]["reordered"] > 0


SPRAY = {
    "spec_version": 1,
    "name": "spray",
    "seed": 1,
    "network": {
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts": 4, "spines": 4, "link": "100 Gbps", "delay": "1 us"},
        "buffer": {"policy": "lossless", "pool": "4 MB"},
        "marking": {"kind": "step", "above": "100 KB"},
    },
    "traffic": [
        {
            "name": "shuffle",
            "scheme": "dcqcn",
            "pattern": {"kind": "permutation", "every": "50 us"},
            "size": {"fixed": "100 KB"},
        }
    ],
    "measure": {"window": "50 us"},
}


def test_reordering_and_what_was_sent_again_are_told_where_there_is_any(tmp_path: Path) -> None:
    random = "network.balancing=random"
    sprayed = fanin.compare(SPRAY, ["dcqcn"], set=[random], progress=False)
    hashed = fanin.compare(SPRAY, ["dcqcn"], progress=False)
    (row,) = sprayed.rows
    flows = sprayed.results[0].flows().select(pl.col("reordered", "packets_arrived", "packets_resent").sum())
    late, arrived, resent = flows.row(0)
    assert (row.reordered_packets, row.packets_resent) == (late / arrived, resent)
    assert min(late, resent) > 0
    named = {"reordered packets", "packets retransmitted"}
    told = [{line.name for section in table.lines(one) for line in section} for one in (sprayed, hashed)]
    assert [named & names for names in told] == [named, set()]
    swept = fanin.sweep(
        SPRAY,
        vary={"network.balancing": ["flow-hash", "random"]},
        out=tmp_path / "s",
        executor=ThreadPoolExecutor(1),
        progress=False,
    )
    head, rows, _ = table.grid_table(swept)
    # Numbers of parts that vary follow.
    at = list(head).index("reordered")
    assert head[at + 1] == "resent"
    assert rows[0][at : at + 2] == ["0.00 %", "0"]
    assert rows[1][at : at + 2] == [table.share(row.reordered_packets), table.count(resent)]
    assert swept.table()["packets_resent"].to_list() == [0, resent]


POLICY = """
import fanin
from dataclasses import dataclass, field


@dataclass
class Params:
    gap: int = field(default=0, metadata={"unit": "time", "doc": "time for which a switch keeps a path"})


class MyPolicy(fanin.Balancer):
    \"\"\"Paths in turn, each for a while.

    ## Idea
    Each switch keeps a path for `gap`.
    \"\"\"

    Params = Params

    def open(self, switch):
        self.at, self.since = 0, 0

    def choose(self, packet, hash, choices):
        if self.now - self.since >= self.params.gap:
            self.at, self.since = self.at + 1, self.now
        return self.at % len(choices)


class MyQueue(fanin.Discipline):
    id = "no-bursts"

    def on_enqueue(self, queued):
        return fanin.Verdict.DROP if queued.view.lane_queued > 30_000 else None
"""

SHORT = ["measure.window=60 us", "measure.warm_up=0 s", "measure.drain=false"]


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """The file of a policy and a queue discipline."""
    (tmp_path / "mine.py").write_text(POLICY)
    return str(tmp_path / "mine.py")


def hashes(table: pl.DataFrame) -> list[str]:
    """The runs of a sweep."""
    assert table["status"].to_list() == ["done"] * table.height
    return table["event_hash"].to_list()


def test_policies_of_ones_own_vary_in_a_sweep_over_processes(
    root: Path, tmp_path: Path, command: Command, policy: str
) -> None:
    spec = root / "examples" / "load-balancing.toml"
    set_ = [part for change in SHORT for part in ("--set", change)]
    grid = ["--load", f"{policy}:MyPolicy", "--vary", "network.balancing=flow-hash,random,my-policy", "--jobs", "2"]
    done = command("sweep", spec, *set_, *grid, "--out", "s")
    assert done.returncode == 0, done.stderr
    swept = fanin.load_sweep(tmp_path / "s").table()
    assert swept["network.balancing"].to_list() == ["flow-hash", "random", "my-policy"]
    by_hash, _, own = found = hashes(swept)
    assert len({*found}) == 3

    # The same alone, on two threads, in a comparison, by a table with the default of its parameter.
    here = fanin.run(spec, set=SHORT, balancing=f"{policy}:MyPolicy", threads=2, progress=False)
    assert here.manifest["event_hash"] == own
    done = command("compare", spec, "--schemes", "dcqcn", *set_, "--balancing", f"{policy}:MyPolicy", "--out", "c")
    assert done.returncode == 0, done.stderr
    assert fanin.load(tmp_path / "c" / "dcqcn").manifest["event_hash"] == own
    assert 'id = "my-policy"\ngap = "0 ps"' in (tmp_path / "c" / "dcqcn" / "spec.resolved.toml").read_text()
    fanin.load_scheme(f"{policy}:MyPolicy")
    gaps = ["0 s", "500 us"]
    tables = [f'{{ id = "my-policy", gap = "{gap}" }}' for gap in gaps]
    by_gap = hashes(
        fanin.sweep(
            spec, vary={"network.balancing": tables}, set=SHORT, out=tmp_path / "g", jobs=1, progress=False
        ).table()
    )
    assert by_gap[0] == own != by_gap[1]

    # Its file has changed since: the row of the old one is not taken for that of the new one.
    (tmp_path / "mine.py").write_text(POLICY.replace("self.at + 1", "self.at + 3"))
    done = command("sweep", spec, *set_, *grid, "--out", "s")
    assert done.returncode == 0, done.stderr
    again = hashes(fanin.load_sweep(tmp_path / "s").table())
    assert again[:2] == found[:2]
    assert len({*again, by_hash, own}) == 4


def test_a_queue_discipline_of_ones_own_in_a_comparison_and_a_sweep(root: Path, tmp_path: Path, policy: str) -> None:
    spec = root / "examples" / "load-balancing.toml"
    set_ = [*SHORT, "measure.allow_drops=true"]
    alone = fanin.run(spec, scheme="dctcp-rate", set=set_, discipline=f"{policy}:MyQueue", progress=False)
    assert alone.summary()["network"]["drops"]["program"] > 0
    compared = fanin.compare(spec, ["none", "dctcp-rate"], set=set_, discipline=f"{policy}:MyQueue", progress=False)
    assert compared.results[1].manifest["event_hash"] == alone.manifest["event_hash"]
    swept = fanin.sweep(
        spec,
        ["dctcp-rate"],
        set=set_,
        discipline=f"{policy}:MyQueue",
        out=tmp_path / "s",
        executor=ThreadPoolExecutor(1),
        progress=False,
    )
    assert hashes(swept.table()) == [alone.manifest["event_hash"]]


def test_a_policy_explains_itself_and_an_unknown_one_is_told(root: Path, command: Command, policy: str) -> None:
    done = command("explain", f"{policy}:MyPolicy")
    assert done.stdout.startswith("# my-policy: Paths in turn, each for a while\n\n## Idea\nEach switch keeps")
    assert "| `gap` | 0 ps | time for which a switch keeps a path |" in done.stdout
    done = command("explain", "no-bursts", "--load", f"{policy}:MyQueue")
    assert done.stdout.startswith("# no-bursts: a queue discipline of your own\n")
    spec = root / "examples" / "load-balancing.toml"
    for arguments, said in [
        (
            ["--balancing", "my-policy"],
            "is not known; known: bitmap, flow-hash, flowlets, least-queue, mixed, oblivious, random, reps, ",
        ),
        (["--set", "network.balancing=own"], "one of your own is loaded first, by --load FILE.py:CLASS"),
        (["--set", "network.discipline=own"], '"own" is not known; known: fifo; one of your own is loaded first'),
        (
            ["--balancing", f"{policy}:MyQueue"],
            'MyQueue: it is not load balancing, but a queue discipline, "no-bursts"',
        ),
        (["--scheme", f"{policy}:MyPolicy"], 'MyPolicy: it is not a scheme, but load balancing, "my-policy"'),
        (["--discipline", "none.py:A"], "--discipline none.py:A: "),
        (
            ["--load", f"{policy}:MyPolicy", "--set", 'network.balancing={ id = "my-policy", gap = "5 em" }'],
            'network.balancing.gap: gap is "5 em"; write it like "5 us"',
        ),
    ]:
        done = command("run", spec, *arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr.replace("\n", " "), done.stderr
    with pytest.raises(fanin.SpecError, match='there is a built-in policy of load balancing "random"'):
        fanin.load_scheme(type("Random", (fanin.Balancer,), {"choose": min}))
    odd = make_dataclass("P", [("a", list, None)])
    with pytest.raises(fanin.SpecError, match=r"Params\.a is a "):
        fanin.load_scheme(type("Odd", (fanin.Balancer,), {"choose": min, "Params": odd}))


def test_a_library_balances_and_marks(root: Path, tmp_path: Path, command: Command) -> None:
    for name in ("two_choices", "step_mark"):
        compiled(root / "examples" / "own" / f"{name}.c", tmp_path)
    spec = root / "examples" / "load-balancing.toml"
    set_ = [part for change in SHORT for part in ("--set", change)]
    own = ["--balancing", "./libtwo_choices.so", "--discipline", "./libstep_mark.so"]
    done = command("run", spec, *set_, *own, "--out", "both")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "both" / "spec.resolved.toml").read_text()
    assert 'balancing = "two-choices"\n' in written
    assert 'id = "step-mark"\nabove = 30000\n' in written
    grid = ["--vary", "network.balancing=two-choices,least-queue", "--load", "./libtwo_choices.so", "--jobs", "2"]
    done = command("sweep", spec, *set_, "--discipline", "./libstep_mark.so", *grid, "--out", "s")
    assert done.returncode == 0, done.stderr
    first, second = hashes(fanin.load_sweep(tmp_path / "s").table())
    assert first == fanin.load(tmp_path / "both").manifest["event_hash"] != second
    assert command("explain", "./libtwo_choices.so").stdout.startswith("# two-choices: the shorter of two")

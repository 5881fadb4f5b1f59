"""Names in any script, and words that people type and that mean something else here."""

from pathlib import Path

import pytest

from conftest import Command
from fanin import explanation
from fanin.cli import common, folders
from fanin.sweeps.store import run_folder


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("数据中心 一", "数据中心-一"),
        ("Сеть_два", "сеть-два"),
        ("réseau/trois", "réseau-trois"),
        ("A  b.C", "a-b-c"),
        ("!?", ""),
    ],
)
def test_a_name_keeps_its_letters_in_any_script(name: str, folder: str) -> None:
    assert folders.slug(name) == folder


def test_two_runs_named_in_chinese_have_a_folder_each(command: Command, tiny: Path, tmp_path: Path) -> None:
    for name in ("一号网络", "二号网络"):
        spec = tmp_path / f"{name}.toml"
        spec.write_text(tiny.read_text(encoding="utf-8").replace("tiny incast", name), encoding="utf-8")
        done = command("run", spec, "--set", "measure.window=100 us")
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "runs" / name).glob("as-written*/manifest.json"))) == 1


def test_long_names_are_cut_by_their_bytes() -> None:
    changes = [f"network.balancing={'网' * 40}"]
    end = folders.changed(changes)
    assert len(end.encode()) <= folders.LONGEST + 1
    assert end.startswith("-network.balancing=网网")
    assert end != folders.changed([f"network.balancing={'网' * 41}"])
    assert "网" in run_folder(Path("out"), "k" * 32, "dcqcn network.balancing=网").name


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("DCQCN", '; did you mean "dcqcn"?'),
        ("Swift", '; did you mean "swift"?'),
        ("ECMP", 'network.balancing, here "flow-hash" (docs/load-balancing.md)'),
        ("spray", 'network.balancing, here "random" (docs/load-balancing.md)'),
        ("nccl", "collectives are, like all-reduce"),
        ("all-reduce", 'pattern = { kind = "all-reduce" } (docs/collectives.md)'),
        ("AllReduce", 'pattern = { kind = "all-reduce" } (docs/collectives.md)'),
        ("pfc", "(docs/pfc.md)"),
    ],
)
def test_words_that_are_no_scheme_point_to_what_there_is(word: str, told: str, root: Path) -> None:
    said = common.meant_scheme(word)
    assert told in said
    for page in {part.strip("(),") for part in said.split() if "docs/" in part}:
        assert (root / page).is_file()


def test_shares_above_ten_read_well() -> None:
    assert [explanation.percent(share) for share in (15.549, 0.1613, 1.0, 9.996, 0.0)] == [
        "1,550 %",
        "16.1 %",
        "100 %",
        "1,000 %",
        "0 %",
    ]


def test_explain_has_one_load_for_each_tier(command: Command, tiny: Path) -> None:
    lines = command("explain", tiny).stdout.splitlines()
    (head,) = [line for line in lines if line.split()[:2] == ["tier", "links"]]
    assert head.split() == ["tier", "links", "rate", "load"]
    assert "they take what is left" in " ".join(" ".join(lines).split())

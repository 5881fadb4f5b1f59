"""No command replaces results without --force: new ones go to another folder, whose name describes them."""

import re
from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin.cli import folders


def went_to(command: Command, *arguments: str | Path) -> tuple[str, str]:
    """The folder of results that a command prints, and its stderr."""
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    (folder,) = re.findall(r"^results: (.*)$", done.stdout, re.MULTILINE)
    return folder, done.stderr


def contents(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """All files with their age."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_second_run_goes_beside_the_first(command: Command, tiny: Path, tmp_path: Path) -> None:
    first, told = went_to(command, "run", tiny)
    assert first == "runs/tiny-incast/as-written"
    assert "earlier" not in told
    before = contents(tmp_path / "runs")
    second, told = went_to(command, "run", tiny, "--seed", "1")
    assert second == "runs/tiny-incast/as-written-seed-1"
    third, told = went_to(command, "run", tiny)
    assert third == "runs/tiny-incast/as-written-2"
    assert f"{first} holds earlier results, so these go to {third} (--force replaces them)\n" in told
    after = contents(tmp_path / "runs")
    assert {path: after[path] for path in before} == before
    assert fanin.load(tmp_path / third).label == "as-written-2"
    forced, told = went_to(command, "run", tiny, "--force")
    assert forced == first
    assert contents(tmp_path / "runs")[tmp_path / first / "manifest.json"] != before[tmp_path / first / "manifest.json"]


def test_a_folder_says_what_was_changed(command: Command, tiny: Path) -> None:
    changed = ("--set", "network.marking.above=20 KB")
    assert went_to(command, "run", tiny, *changed)[0] == "runs/tiny-incast/as-written-marking.above=20KB"
    assert went_to(command, "run", tiny, "--scheme", "none", *changed)[0] == "runs/tiny-incast/none-marking.above=20KB"
    assert went_to(command, "compare", tiny, *changed)[0] == "runs/tiny-incast-marking.above=20KB"
    assert went_to(command, "sweep", tiny, *changed)[0] == "runs/tiny-incast-marking.above=20KB-sweep"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ((), ""),
        (("measure.window=10 ms", "seed=7"), "-measure.window=10ms,seed=7"),
        (("seed=7", " seed = 8"), "-seed=8"),
        (("a.load.share=1", "b.load.share=2"), "-a.load.share=1,b.load.share=2"),
        (('traffic[0].size={ fixed = "30 KB" }',), "-traffic0.size=fixed=30KB"),
        (("network.link.delay=5 \u00b5s",), "-link.delay=5us"),
        (("measure.allow_drops=true", "name=other"), ""),
        (('x.file="../../../etc/passwd"',), "-x.file=..-..-..-etc-passwd"),
    ],
)
def test_a_name_is_fit_for_a_file(changes: tuple[str, ...], name: str) -> None:
    assert folders.changed(changes) == name
    assert "/" not in folders.changed(changes)


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    long = [f"traffic.t{number}.pattern.degree={number}" for number in range(40)]
    name, other = folders.changed(long), folders.changed([*long, "seed=2"])
    assert len(name) == len(other) <= folders.LONGEST + 1
    assert name != other


def test_a_second_comparison_goes_beside_the_first(command: Command, tiny: Path, tmp_path: Path) -> None:
    # A run and a comparison of the same spec have different folders.
    went_to(command, "run", tiny)
    first, _ = went_to(command, "compare", tiny)
    assert first == "runs/tiny-incast"
    before = contents(tmp_path / "runs")
    second, told = went_to(command, "compare", tiny, "--schemes", "none")
    assert second == "runs/tiny-incast-2"
    assert "runs/tiny-incast holds earlier results" in told
    alone, _ = went_to(command, "run", tiny, "--scheme", "none")
    assert alone == "runs/tiny-incast/none-2"
    after = contents(tmp_path / "runs")
    assert {path: after[path] for path in before} == before
    assert went_to(command, "compare", tiny, "--force")[0] == first
    assert fanin.load_comparison(tmp_path / first).results


def test_a_comparison_does_not_mix_with_runs_of_its_schemes(command: Command, tiny: Path, tmp_path: Path) -> None:
    went_to(command, "run", tiny, "--scheme", "none", "--set", "seed=5", "--out", "runs/tiny-incast/none")
    assert went_to(command, "compare", tiny)[0] == "runs/tiny-incast-2"
    assert fanin.load(tmp_path / "runs" / "tiny-incast" / "none").manifest["seed"] == 5


def test_an_out_that_is_there_is_an_error_that_names_force(command: Command, tiny: Path, tmp_path: Path) -> None:
    for name in ("run", "compare"):
        went_to(command, name, tiny, "--out", name)
        before = contents(tmp_path / name)
        done = command(name, tiny, "--out", name)
        assert done.returncode == 2
        assert f"error: {name}: exists" in done.stderr
        assert "--force" in done.stderr
        assert "running" not in done.stderr, "it is told before anything has run"
        assert contents(tmp_path / name) == before
        assert went_to(command, name, tiny, "--out", name, "--force")[0] == name


def test_a_sweep_goes_on_in_its_folder_and_not_in_that_of_another_spec(
    command: Command, tiny: Path, tmp_path: Path
) -> None:
    first, _ = went_to(command, "sweep", tiny, "--schemes", "none")
    assert first == "runs/tiny-incast-sweep"
    table = (tmp_path / first / "sweep.csv").read_text()
    # A larger grid of the same spec continues: finished runs are not repeated.
    went, told = went_to(command, "sweep", tiny, "--schemes", "none,dcqcn")
    assert went == first
    assert "1 are there already" in told
    assert table.splitlines()[1] in (tmp_path / first / "sweep.csv").read_text()
    (tmp_path / "other.toml").write_text(tiny.read_text().replace('above = "10 KB"', 'above = "20 KB"'))
    before = contents(tmp_path / first)
    second, told = went_to(command, "sweep", "other.toml", "--schemes", "none")
    assert second == "runs/tiny-incast-sweep-2"
    assert f"{first} holds earlier results" in told
    assert contents(tmp_path / first) == before
    # It continues there, too.
    assert went_to(command, "sweep", "other.toml", "--schemes", "dcqcn")[0] == second
    done = command("sweep", "other.toml", "--out", first)
    assert done.returncode == 2
    assert "marking.above is" in done.stderr
    assert "--force" in done.stderr
    assert went_to(command, "sweep", "other.toml", "--schemes", "none", "--out", first, "--force")[0] == first
    assert len(fanin.load_sweep(tmp_path / first).runs) == 1


def test_what_has_run_is_kept_where_its_folder_was_taken_meanwhile(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = fanin.run(tiny, progress=False)
    place = folders.Place(Path("mine"), Path("runs/x"), force=False)
    result.save("mine")
    kept = place.keep(result, parquet=False)
    assert kept == Path("mine-2")
    assert fanin.load(kept).manifest["event_hash"] == result.manifest["event_hash"]
    assert "mine holds earlier results" in capsys.readouterr().err


def test_python_replaces_a_comparison_only_by_force(compared: fanin.Comparison, tmp_path: Path) -> None:
    compared.save(tmp_path / "both")
    (tmp_path / "both" / "none").rename(tmp_path / "none")
    (tmp_path / "both" / "dcqcn").rename(tmp_path / "dcqcn")
    with pytest.raises(FileExistsError, match="holds a comparison"):
        compared.save(tmp_path / "both")
    with pytest.raises(FileExistsError, match="holds a run"):
        compared.save(tmp_path / "none", force=True)
    assert compared.save(tmp_path / "both", force=True) == tmp_path / "both"

"""Run folders: written whole, read back equal, readable by others."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fanin
from fanin import _core
from fanin.cli import CommandError, app
from fanin.run_files import record_of, unverified
from fanin.run_folder import CLAIM, TABLES, Claim, RunError, clean

runner = CliRunner()


@pytest.mark.parametrize("parquet", [False, True])
def test_a_folder_reads_back_equal(result: fanin.Result, tmp_path: Path, parquet: bool) -> None:
    folder = result.save(tmp_path / "new" / "run", parquet=parquet)
    back = fanin.load(folder)
    for name in TABLES:
        pl.testing.assert_frame_equal(getattr(back, name)(), getattr(result, name)())
    some = ("completion_ps", "bytes")
    for run in (back, result):
        pl.testing.assert_frame_equal(run.flows(some), result.flows().select(some))
    assert back.summary() == result.summary()
    files = back.manifest.pop("files")
    assert back.manifest == result.manifest
    assert back.spec == result.spec
    assert not back.cancelled
    ending = "parquet" if parquet else "arrow"
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "manifest.json",
        "summary.json",
        "spec.resolved.toml",
        *(f"{name}.{ending}" for name in TABLES),
    }
    assert [path.name for path in folder.parent.iterdir()] == ["run"], "nothing is left beside it"
    assert files == {
        path.name: record_of(path, getattr(back, path.stem)().height if path.suffix[1:] == ending else None)
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }


def test_others_read_the_tables(result: fanin.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "arrow")
    with pa.memory_map(str(folder / "flows.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    assert table.num_rows == result.flows().height > 0
    parquet = result.save(tmp_path / "parquet", parquet=True)
    lazily = pl.scan_parquet(parquet / "flows.parquet").select(pl.col("bytes").sum()).collect().item()
    assert lazily == result.flows()["bytes"].sum()


def texts(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    """Metadata of a table or a column."""
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}


@pytest.mark.parametrize("parquet", [False, True])
def test_a_folder_says_what_its_columns_mean(result: fanin.Result, tmp_path: Path, parquet: bool) -> None:
    folder = result.save(tmp_path / "run", parquet=parquet)
    readme = (folder / "README.md").read_text()
    assert readme.endswith(_core.columns())
    for name in TABLES:
        if parquet:
            # Parquet's own metadata is of the file, in which columns are named.
            schema = pq.read_schema(folder / f"{name}.parquet")
            said = texts(pq.read_metadata(folder / f"{name}.parquet").metadata)
        else:
            schema = pa.ipc.open_file(str(folder / f"{name}.arrow")).schema
            said = texts(schema.metadata)
            said |= {f"{field.name}.{key}": value for field in schema for key, value in texts(field.metadata).items()}
        assert f"### {name}\n\n{said['description']}\n" in readme
        for column in schema.names:
            unit, meaning = said.get(f"{column}.unit", ""), said[f"{column}.description"]
            assert f"| `{column}` | {unit} | {meaning} |\n" in readme
    for key in result.manifest:
        assert f"| `{key}` | " in readme


def test_the_readme_reads_the_tables(result: fanin.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = result.save(tmp_path / "run")
    monkeypatch.chdir(folder)
    lines = (folder / "README.md").read_text().split("```python\n")[1].split("```")[0].splitlines()
    for module, line in zip(("fanin", "polars", "pandas", "duckdb"), lines, strict=True):
        if importlib.util.find_spec(module) is not None:
            names: dict[str, object] = {"flows": result.flows()}
            exec(line, names)
            assert len(cast("pl.DataFrame", names["flows"])) == result.flows().height


def test_a_folder_is_replaced_only_when_asked(result: fanin.Result, tmp_path: Path) -> None:
    for parquet in (False, True):
        folder = tmp_path / str(parquet)
        result.save(folder, parquet=parquet)
        with pytest.raises(FileExistsError, match="exists"):
            result.save(folder, parquet=parquet)
        result.save(folder, parquet=not parquet, force=True)
        assert (folder / "flows.parquet").exists() == (not parquet)
        assert (folder / "flows.arrow").exists() == parquet


def test_a_folder_of_something_else_is_never_replaced(result: fanin.Result, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("x")
    for parquet in (False, True):
        with pytest.raises(FileExistsError, match="not a run folder"):
            result.save(tmp_path / "letters", parquet=parquet, force=True)


def test_the_resolved_spec_runs_again_to_the_same_result(result: fanin.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    again = fanin.run(folder / "spec.resolved.toml", progress=False)
    assert again.manifest["event_hash"] == result.manifest["event_hash"]


def test_a_spec_may_be_a_mapping(result: fanin.Result) -> None:
    assert fanin.run(result.spec, progress=False).manifest["event_hash"] == result.manifest["event_hash"]


def test_damage_is_told(result: fanin.Result, tmp_path: Path) -> None:
    with pytest.raises(fanin.RunError, match="not a run folder"):
        fanin.load(tmp_path)
    folder = result.save(tmp_path / "run")
    (folder / "flows.arrow").write_bytes(b"ARROW1 cut short")
    with pytest.raises(fanin.RunError, match="flows"):
        fanin.load(folder).flows()
    (folder / "summary.json").write_text("{")
    with pytest.raises(fanin.RunError, match="damaged"):
        fanin.load(folder)


@pytest.fixture
def folder(result: fanin.Result, tmp_path: Path) -> Path:
    return result.save(tmp_path / "run")


def slower(folder: Path) -> None:
    """Completion times times ten, and half of the rows gone."""
    table = pa.ipc.open_file(str(folder / "flows.arrow")).read_all()
    at = table.schema.get_field_index("completion_ps")
    slow = pa.array([time and 10 * time for time in table.column(at).to_pylist()], table.schema.field(at).type)
    table = table.set_column(at, table.schema.field(at), slow).slice(0, table.num_rows // 2)
    with pa.ipc.new_file(str(folder / "flows.arrow"), table.schema) as file:
        file.write_table(table)


def test_a_file_that_has_changed_is_refused_by_name(folder: Path) -> None:
    slower(folder)
    changed = fanin.load(folder)
    with pytest.raises(
        RunError, match=r"flows\.arrow: damaged: it has [\d,]+ bytes, and had [\d,]+ when .*--no-verify"
    ):
        changed.flows()
    assert changed.ports().height > 0, "others are as they were"
    for command in (["show"], ["report"], ["plot", "fct"], ["why"]):
        done = runner.invoke(app, [*command, str(folder)])
        assert isinstance(done.exception, RunError), command
        assert "flows.arrow" in str(done.exception), command
    assert runner.invoke(app, ["--no-verify", "show", str(folder)]).exit_code == 0
    assert fanin.load(folder, verify=False).flows().height > 0
    with unverified():
        assert fanin.load(folder).flows().height > 0
    (folder / "summary.json").write_text((folder / "summary.json").read_text().replace("1", "2", 1))
    with pytest.raises(RunError, match=r"summary\.json: damaged: it has changed since"):
        fanin.load(folder)
    assert [found.split(": ")[0] for found in fanin.verify(folder)] == [
        str(folder / "flows.arrow"),
        str(folder / "summary.json"),
    ]
    (folder / "pauses.arrow").unlink()
    with pytest.raises(RunError, match=r"pauses\.arrow: damaged run folder: there is no such file"), unverified():
        raise RunError(fanin.verify(folder)[1])


def test_a_folder_is_verified_whole(folder: Path) -> None:
    assert fanin.verify(folder) == []
    # Tables that are changed and written into the manifest again: sums and a run of the spec tell.
    slower(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["flows.arrow"] = record_of(folder / "flows.arrow")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert fanin.load(folder).flows().height > 0
    assert fanin.verify(folder, again=False) == []
    assert fanin.verify(folder) == [f"{folder}: its spec, run again, writes another flows.arrow"]
    manifest["packet_hops"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (found,) = fanin.verify(folder, again=False)
    assert "the packets of all ports are" in found
    done = runner.invoke(app, ["verify", str(folder), "--no-run"])
    assert isinstance(done.exception, CommandError)
    assert found in str(done.exception)


def test_a_name_is_claimed_before_the_work(result: fanin.Result, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "run"
    mine = Claim(place)
    assert [path.name for path in place.iterdir()] == [CLAIM]
    with pytest.raises(FileExistsError, match="another run is writing there"):
        Claim(place)
    result.save(place)
    mine.release()
    assert fanin.load(place).flows().height > 0
    with pytest.raises(FileExistsError):
        Claim(place)
    other = Claim(tmp_path / "other")
    other.release()
    assert [path.name for path in tmp_path.iterdir()] == ["deep"], "without results it goes"


def test_what_a_killed_run_left_is_cleaned_or_restored(folder: Path) -> None:
    left = folder.with_name("late")
    script = "import os, sys, pathlib; from fanin.run_folder import Claim; c = Claim(pathlib.Path(sys.argv[1])); "
    script += "os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", script, str(left)], check=False).returncode == -9
    assert [path.name for path in left.iterdir()] == [CLAIM]
    claim = Claim(left)
    assert len(claim.left) == 1
    assert "a run that was killed (process" in claim.left[0]
    claim.release()
    assert not left.exists()
    # Killed between two renames, where the system cannot exchange names; and while it wrote.
    folder.rename(folder.with_name(".run.99999999.1.old"))
    folder.with_name(".run.99999999.0.new").mkdir()
    said = clean(folder)
    assert len(said) == 2
    assert "removed" in said[0]
    assert "restored" in said[1]
    assert [path.name for path in folder.parent.iterdir()] == ["run"]
    assert fanin.verify(folder, again=False) == []

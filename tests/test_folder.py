"""Run folders: written whole, read back equal, readable by others."""

import importlib.util
from pathlib import Path
from typing import cast

import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import fanin
from fanin import _core
from fanin.run_folder import TABLES


@pytest.mark.parametrize("parquet", [False, True])
def test_a_folder_reads_back_equal(result: fanin.Result, tmp_path: Path, parquet: bool) -> None:
    folder = result.save(tmp_path / "new" / "run", parquet=parquet)
    back = fanin.load(folder)
    for name in TABLES:
        pl.testing.assert_frame_equal(getattr(back, name)(), getattr(result, name)())
    assert back.summary() == result.summary()
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


def test_others_read_the_tables(result: fanin.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "arrow")
    with pa.memory_map(str(folder / "flows.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    assert table.num_rows == result.flows().height > 0
    parquet = result.save(tmp_path / "parquet", parquet=True)
    lazily = pl.scan_parquet(parquet / "flows.parquet").select(pl.col("bytes").sum()).collect().item()
    assert lazily == result.flows()["bytes"].sum()


@pytest.mark.parametrize("parquet", [False, True])
def test_a_folder_says_what_its_columns_mean(result: fanin.Result, tmp_path: Path, parquet: bool) -> None:
    folder = result.save(tmp_path / "run", parquet=parquet)
    readme = (folder / "README.md").read_text()
    assert readme.endswith(_core.columns())
    for name in TABLES:
        if parquet:
            schema = pq.read_schema(folder / f"{name}.parquet")
        else:
            schema = pa.ipc.open_file(str(folder / f"{name}.arrow")).schema
        assert f"### {name}\n\n{(schema.metadata or {})[b'description'].decode()}\n" in readme
        for field in schema:
            said = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
            assert f"| `{field.name}` | {said.get('unit', '')} | {said['description']} |\n" in readme
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

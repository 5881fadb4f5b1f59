"""Tables in and out: flows from Polars, pandas and pyarrow, results read by pandas, DuckDB and pyarrow."""

from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fanin

SIZES = [12_345, 54_321]
FLOWS = {"src": [1, 2], "dst": [0, 0], "bytes": SIZES, "start_us": [100.0, 250.5]}


@pytest.mark.parametrize(
    "table",
    [pl.DataFrame(FLOWS), pd.DataFrame(FLOWS), pa.table(FLOWS)],
    ids=["polars", "pandas", "pyarrow"],
)
def test_flows_come_from_any_table(tiny: Path, table: object) -> None:
    short = ["measure.warm_up=0 s", "measure.window=500 us"]
    run = fanin.run(tiny, set=short, flows=table, progress=False)
    mine = run.flows().filter(pl.col("bytes").is_in(SIZES)).sort("start_ps")
    assert mine.select("src", "dst", "bytes").rows() == [(1, 0, 12_345), (2, 0, 54_321)]
    assert mine["start_ps"].to_list() == [100_000_000, 250_500_000]
    assert mine["completion_ps"].null_count() == 0


@pytest.mark.parametrize("loaded", [False, True])
def test_results_go_to_any_library(result: fanin.Result, tmp_path: Path, loaded: bool) -> None:
    if loaded:
        result.save(tmp_path / "run")
    run = fanin.load(tmp_path / "run") if loaded else result
    finished = run.flows()["completion_ps"].drop_nulls()
    as_pandas = pd.DataFrame.from_arrow(run.arrow("flows"))
    assert len(as_pandas) == run.flows().height
    assert int(as_pandas["completion_ps"].max()) == finished.max()
    as_pyarrow = pa.table(run.arrow("flows"))
    assert as_pyarrow.column_names == run.flows().columns
    assert as_pyarrow.schema.field("completion_ps").type == pa.uint64()
    flows = run.arrow("flows")
    asked = duckdb.sql("select count(*), count(completion_ps), max(completion_ps) from flows")
    assert flows is not None, "DuckDB found it by its name"
    assert asked is not None
    assert asked.fetchall() == [(run.flows().height, len(finished), finished.max())]

//! The description of a run's folder.

use crate::columns::{FILES, TABLES, markdown};
use crate::{Run, RunFiles};
use fanin_units::Time;
use std::fmt::Write;

/// The `README.md` of a run's folder. It also applies to a folder whose tables are Parquet files.
pub fn readme(files: &RunFiles<'_>) -> String {
    let manifest = files.manifest;
    let mut text = format!(
        "# {}\n\nA run of Fanin {} with seed {}. `fanin.load(\".\")` reads this folder.\n",
        manifest.name, manifest.version, manifest.seed
    );
    if !manifest.complete {
        let _ = write!(text, "\n**This run is not complete.** {}\n", incomplete(files.run));
    }
    text.push_str("\n## Files\n\n| file | what it is |\n|---|---|\n");
    let written = |file: &str| match file {
        "summary.json" | "manifest.json" | "README.md" => true,
        "spec.resolved.toml" | "configuration.toml" => file == files.ran.file(),
        "INCOMPLETE" => !manifest.complete,
        file => files.run.files.iter().any(|spool| spool.name() == file),
    };
    for (file, meaning) in FILES.iter().filter(|(file, _)| written(file)) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{file}` | {meaning} |");
    }
    let tables: Vec<String> = TABLES.iter().map(|table| format!("`{}`", table.name)).collect();
    let _ = writeln!(
        text,
        "| {} | The tables below: Arrow IPC files (`.arrow`, Feather V2), or Parquet files (`.parquet`) where the run \
         was saved so. |",
        tables.join(", ")
    );
    text.push_str(READING);
    text.push('\n');
    text.push_str(&markdown());
    text
}

const READING: &str = "
## Reading the tables

```python
import fanin; flows = fanin.load(\".\").flows()                      # in this folder
import polars as pl; flows = pl.read_ipc(\"flows.arrow\")              # or pl.read_parquet(\"flows.parquet\")
import pandas as pd; flows = pd.read_feather(\"flows.arrow\")          # or pd.read_parquet(\"flows.parquet\")
import duckdb; duckdb.sql(\"select scheme, quantile_cont(slowdown, 0.99) from flows group by scheme\")
```

DuckDB sees the variable of one of the lines above; for a Parquet file it also accepts `from 'flows.parquet'`. The
meaning of a column is also in the metadata of its Arrow field (`description`, `unit`).
";

/// One line about a run that was stopped before its end.
pub fn incomplete(run: &Run) -> String {
    let of = match run.measured_to {
        Time::NEVER => "before its end".to_string(),
        end if run.stopped < end => format!("of {end}"),
        end => format!("after the end of the measured window at {end}, before all messages had arrived"),
    };
    let (started, finished) = (run.flows.len(), run.flows.iter().filter(|flow| flow.finished.is_some()).count());
    format!(
        "Stopped at {:.3} ms {of} of simulated time; percentiles are over what had finished by then: {finished} of \
         {started} messages that had begun.",
        run.stopped.as_secs_f64() * 1e3
    )
}

"""Reports: one HTML file about a run, a comparison or a sweep, that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from importlib import resources
from pathlib import Path

from fanin.comparing import load_comparison
from fanin.comparison import Comparison
from fanin.reporting import charts, page, sweep
from fanin.reporting.charts import Chart
from fanin.reporting.page import Page
from fanin.reporting.sweep import SweepPage
from fanin.result import Result, load
from fanin.run_folder import is_run_folder, put_text
from fanin.sweeps.store import is_sweep
from fanin.sweeps.sweeping import Sweep, load_sweep

NAME = "report.html"
"""The file name of a report in its folder."""


def report(
    runs: Result | Comparison | Sweep | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    ideal: str | None = None,
) -> Path:
    """Writes an HTML report of a run, a comparison or a sweep and returns its path.

    `runs` is one of these, or a folder that one was saved to. The default of `path` is `report.html` in that folder.
    `ideal` is another ideal of slowdowns than the run's: see `fanin.Result.with_ideal`.

    The file contains the library of its charts and loads nothing from the network; an earlier report is replaced.

    Raises `RunError` for a folder that is none of these, or is damaged, `ValueError` for runs in memory without a path,
    and `OSError` for a path that cannot be written.
    """
    swept = not isinstance(runs, Result | Comparison) and (isinstance(runs, Sweep) or is_sweep(Path(runs)))
    if swept and ideal is not None:
        raise ValueError("a sweep keeps no messages: choose the ideal of its slowdowns as it runs, by measure.slowdown")
    if not isinstance(runs, Result | Comparison | str | os.PathLike):
        return _write(Path(path or runs.folder / NAME), html_of_sweep(runs))
    folder = None if isinstance(runs, Result | Comparison) else Path(runs)
    if path is None:
        if folder is None:
            raise ValueError("these runs are in no folder: give the path of the report")
        path = folder / NAME
    if isinstance(runs, Comparison):
        compared, places = runs, None
    elif isinstance(runs, Result):
        compared, places = Comparison([runs], runs.cancelled), None
    elif folder is not None and is_run_folder(folder):
        result = load(folder)
        compared, places = Comparison([result], result.cancelled), [folder]
    elif folder is not None and is_sweep(folder):
        return _write(Path(path), html_of_sweep(load_sweep(folder)))
    else:
        compared = load_comparison(runs)
        places = [Path(runs) / result.label for result in compared.results]
    if ideal is not None:
        compared = compared.with_ideal(ideal)
    return _write(Path(path), html(compared, places))


def html(compared: Comparison, places: list[Path] | None = None) -> str:
    """The report as text. `places` are the folders of the runs, where they have some."""
    return _render("page.html", page.page(compared, places), charts.charts(compared.results))


def html_of_sweep(swept: Sweep) -> str:
    """The report of a sweep as text."""
    return _render("sweep.html", sweep.page(swept), sweep.charts(swept))


def _render(template: str, content: Page | SweepPage, made: list[Chart]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    scripts = {"plotly": get_plotlyjs(), "page": _text("page.js")}
    if any("</script" in text.lower() for text in scripts.values()):
        raise AssertionError("a script that ends itself early")
    environment = Environment(
        loader=PackageLoader("fanin.reporting", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template(template).render(
        page=content,
        charts=[chart for chart in made if chart.figure is not None],
        missing=[chart for chart in made if chart.figure is None],
        figures={chart.id: chart.figure for chart in made if chart.figure is not None},
        style=_text("page.css"),
        scripts=scripts,
        # Only these two scripts may run, so that no text of a spec can become one.
        hashes=" ".join(f"'sha256-{_hash(text)}'" for text in scripts.values()),
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(name: str) -> str:
    return resources.files("fanin.reporting").joinpath(name).read_text(encoding="utf-8")


def _write(path: Path, text: str) -> Path:
    """Writes it atomically: a full disk leaves an earlier report unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as scratch:
        made = Path(scratch) / "made"
        put_text(made, text)
        made.replace(path)
    return path

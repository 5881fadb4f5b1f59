"""The pictures and the tables of docs/collectives.md: schemes and load balancing under collectives.

`make clusters` makes those of 128 GPUs, in minutes; `make clusters K=16` those of 1,024 GPUs, whose all-reduces are of
64 MB, in an hour, and goes on in `OUT=DIR` where it was stopped. `--rails` makes only the part about servers on rails,
in seconds.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import polars as pl

import fanin
from fanin import drawing
from fanin.explanation import explain
from fanin.plot.base import label_axes
from pages.marked import put

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "examples" / "collectives" / "cluster.toml"
RAILS = ROOT / "examples" / "collectives" / "rails.toml"
PAGE = ROOT / "docs" / "collectives.md"
RAILS_PICTURE = ROOT / "docs" / "rails.png"
RESULTS = ROOT / "bench" / "results"

SCHEMES = ("dcqcn", "hpcc", "nscc")
BALANCING = ("flow-hash", "least-queue", "oblivious", "reps")
COLLECTIVES: dict[str, dict[str, object]] = {
    "all-to-all": {"kind": "all-to-all"},
    "ring all-reduce": {"kind": "all-reduce", "algorithm": "ring"},
    "tree all-reduce": {"kind": "all-reduce", "algorithm": "tree", "chunk": "1 MB"},
    "hierarchical all-reduce": {"kind": "all-reduce", "algorithm": "hierarchical", "server": 8},
}


@dataclass(frozen=True)
class Cluster:
    """A size of the network and of the messages, and the names of what is made of it."""

    exchange: str
    """What a rank has for all others in an all-to-all."""
    reduced: str
    """What is reduced."""
    table: str
    files: str

    def size(self, collective: str) -> str:
        """What a rank has in this collective."""
        return self.exchange if collective == "all-to-all" else self.reduced


CLUSTERS = {
    8: Cluster("16 MB", "16 MB", "clusters", "collectives"),
    16: Cluster("16 MB", "64 MB", "clusters of 1,024", "collectives-1024"),
}
"""By the number of ports of a switch, k: k^3/4 GPUs."""

LINKS: dict[str, list[dict[str, object]]] = {
    "all links": [],
    "a link fails": [{"between": ["agg0", "core0"], "down": [["100 us", "1 s"]]}],
}
"""From 100 us on one of the links between pods is gone; routes go around it at once."""


def measured(folder: Path, k: int, cluster: Cluster) -> pl.DataFrame:
    """A row for each collective, scheme, balancing and state of links."""
    found = []
    for collective, pattern in COLLECTIVES.items():
        for state, links in LINKS.items():
            spec = tomllib.loads(SPEC.read_text(encoding="utf-8"))
            spec["network"]["topology"]["k"] = k
            spec["network"]["links"] = links
            spec["traffic"][0]["pattern"] = pattern | {"size": cluster.size(collective)}
            out = folder / f"{collective}, {state}".replace(" ", "-")
            sweep = fanin.sweep(spec, SCHEMES, vary={"network.balancing": BALANCING}, out=out)
            rows = sweep.table().with_columns(collective=pl.lit(collective), links=pl.lit(state))
            found.append(rows.select("collective", "links", "scheme", "network.balancing", "job_us", "busbw_gbytes"))
    return pl.concat(found).rename({"network.balancing": "balancing"})


def told(times: pl.DataFrame) -> str:
    """The times of a cell in ms, with all links and where one fails."""
    by_state = dict(zip(times["links"].to_list(), times["job_us"].to_list(), strict=True))
    return " / ".join("not in 1 s" if by_state[state] is None else f"{by_state[state] / 1e3:,.2f}" for state in LINKS)


def table(rows: pl.DataFrame, cluster: Cluster) -> list[str]:
    """A row for each scheme and balancing, a column for each collective."""
    titles = [f"{collective}, {cluster.size(collective)}" for collective in COLLECTIVES]
    lines = ["| scheme | balancing | " + " | ".join(titles) + " |", "|---|---|" + "---|" * len(COLLECTIVES)]
    for scheme in SCHEMES:
        for balancing in BALANCING:
            mine = rows.filter((rows["scheme"] == scheme) & (rows["balancing"] == balancing))
            cells = [told(mine.filter(mine["collective"] == collective)) for collective in COLLECTIVES]
            lines.append(f"| `{scheme}` | `{balancing}` | " + " | ".join(cells) + " |")
    return lines


def draw(rows: pl.DataFrame, cluster: Cluster, picture: Path) -> None:
    """A panel for each collective: times by balancing, a colour for each scheme, hollow where a link fails."""
    figure, panels = plt.subplots(1, len(COLLECTIVES), figsize=(14, 4), layout="constrained")
    for panel, collective in zip(panels, COLLECTIVES, strict=True):
        for at, scheme in enumerate(SCHEMES):
            for state in LINKS:
                mine = rows.filter(
                    (rows["collective"] == collective) & (rows["scheme"] == scheme) & (rows["links"] == state)
                )
                places = [BALANCING.index(name) + 0.2 * (at - 1) for name in mine["balancing"]]
                times = [None if time is None else time / 1e3 for time in mine["job_us"]]
                face = f"C{at}" if state == "all links" else "none"
                label = scheme if state == "all links" and panel is panels[0] else None
                panel.scatter(places, times, s=45, facecolors=face, edgecolors=f"C{at}", label=label)
        panel.set_xticks(range(len(BALANCING)), BALANCING, rotation=25)
        highest = rows.filter(rows["collective"] == collective)["job_us"].max()
        panel.set_ylim(0, 1.1 * float(str(highest)) / 1e3)
        label_axes(panel, f"{collective}, {cluster.size(collective)}", "", "time (ms)" if panel is panels[0] else "")
    panels[0].scatter([], [], s=45, facecolors="none", edgecolors="gray", label="a link fails")
    panels[0].legend(loc="lower left")
    figure.savefig(picture, dpi=120)


PXN: dict[str, list[str]] = {
    "directly": ["traffic[0].pattern.pxn=false"],
    "`pxn = true, server = 8`": [],
    '`pxn = true, server = 8, chunk = "64 KB"`': ["traffic[0].pattern.chunk=64 KB"],
}
"""The forms of the exchange of `RAILS`, as changes of its spec."""


def rails() -> list[str]:
    """The drawing of the servers on rails, and a row for each form of their exchange."""
    drawing.draw(explain(RAILS), RAILS_PICTURE)
    lines = ["| | time | busbw | bytes to the spines |", "|---|---|---|---|"]
    for name, changes in PXN.items():
        run = fanin.run(RAILS, set=changes, progress=False)
        took = run.collectives().row(0, named=True)
        up = int(run.ports().filter(pl.col("to").str.starts_with("spine"))["bytes"].sum())
        us, busbw = took["time_ps"] / 1e6, took["busbw_gbytes"]
        lines.append(f"| {name} | {us:.1f} us | {busbw:.1f} GB/s | {up / 1e6:,.1f} MB |")
    return lines


def main() -> None:
    """Runs all, and writes the picture, the table in the page, and the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, help="the folder of the sweeps, which go on there if they were stopped")
    parser.add_argument("--k", type=int, default=8, choices=CLUSTERS, help="ports of a switch: k^3/4 hosts")
    parser.add_argument("--rails", action="store_true", help="only the part about servers on rails")
    arguments = parser.parse_args()
    if arguments.k == 8:
        put(PAGE, "pxn", rails())
    if arguments.rails:
        return
    cluster = CLUSTERS[arguments.k]
    with tempfile.TemporaryDirectory() as scratch:
        rows = measured(arguments.out or Path(scratch), arguments.k, cluster)
    rows.write_csv(RESULTS / f"{cluster.files}.csv")
    draw(rows, cluster, ROOT / "docs" / f"{cluster.files}.png")
    lines = table(rows, cluster)
    print("\n".join(lines))
    if f"<!-- table of {cluster.table} -->" in PAGE.read_text(encoding="utf-8"):
        put(PAGE, cluster.table, lines)


if __name__ == "__main__":
    main()

"""Pictures of runs, each with one call: `fanin.plot.completion(runs, "completion.png")`.

`runs` is a `Result`, a `Comparison`, a `Sweep` whose runs were kept, or a list of results; the suffix of the file
chooses the format (png, pdf, svg); without a file the figure is only returned. The curve of a scheme is over all its
seeds: pooled in a distribution, elsewhere their mean with an interval; the title says which. A scheme has the same
colour, dash and marker in every picture (`fanin.style`). A quantity that was not measured raises `RunError` with the
line of the spec that would measure it.

For pictures of one's own there are `scheme_line`, `indexed_line`, `label_axes` and others, on Matplotlib's axes:

```python
from matplotlib.figure import Figure

from fanin import plot

figure = Figure(figsize=(6, 4), layout="constrained")
axes = figure.subplots()
for scheme, goodput in {"dctcp": [9.1, 8.7, 8.0], "newreno": [9.0, 4.1, 0.7]}.items():
    axes.plot([8, 16, 32], goodput, label=scheme, **plot.scheme_line(scheme))
plot.label_axes(axes, "goodput of an incast", "senders", "goodput (Gb/s)")
figure.savefig("incast.png")
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fanin.plot.axes import set_axis
from fanin.plot.base import indexed_line, label_axes, legend_below, scheme_line, shades, thin
from fanin.plot.distributions import comparison, completion, queues, slowdown_by_size
from fanin.plot.flows import flows
from fanin.plot.network import utilisation
from fanin.plot.over_time import goodput, pauses, queue_over_time, rates
from fanin.plot.pause_trees import pause_trees
from fanin.plot.ranks import ranks
from fanin.plot.sweeps import along, map_of
from fanin.plot.timeline import timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fanin.plot.base import Path, Runs

__all__ = [
    "KINDS",
    "about",
    "along",
    "comparison",
    "completion",
    "flows",
    "goodput",
    "indexed_line",
    "label_axes",
    "legend_below",
    "map_of",
    "pause_trees",
    "pauses",
    "queue_over_time",
    "queues",
    "ranks",
    "rates",
    "scheme_line",
    "set_axis",
    "shades",
    "slowdown_by_size",
    "thin",
    "timeline",
    "utilisation",
]


class Draw(Protocol):
    """Draws runs, to a file if a path is given."""

    def __call__(self, runs: Runs, path: Path | None = None) -> Figure: ...


KINDS: dict[str, Draw] = {
    "fct": completion,
    "slowdown": slowdown_by_size,
    "queues": queues,
    "queue-over-time": queue_over_time,
    "goodput": goodput,
    "rates": rates,
    "flows": flows,
    "pauses": pauses,
    "pause-trees": pause_trees,
    "ranks": ranks,
    "utilisation": utilisation,
    "comparison": comparison,
}
"""The pictures of whole runs, by their name in the command line. The picture of a single message is `timeline`, that of
a sweep `along` or `map_of`."""


def about(kind: str) -> str:
    """A description of a kind of picture: the first paragraph of its docstring."""
    return " ".join((KINDS[kind].__doc__ or "").split("\n\n")[0].split())

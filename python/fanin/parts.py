"""The numbers of the parts of a run: of its traffics, of their messages by size, and of the tiers of its links.

A part's number is called `NUMBER of PART`, with the names of `quantities`: `slowdown_p99 of queries`,
`fct_p99_us of queries up to 10 KB`, `queue_p99_bytes of last-hop`. Tables, pictures and searches take all of them.

```python
import fanin
from fanin import parts

run = fanin.run("tests/data/tiny.toml", progress=False)
print(parts.numbers_of_parts(run)["queue_max_bytes of last-hop"])
```
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin.by_traffic import numbers_of_traffics
from fanin.measures import completion_us, least_count, messages, percentile, size_text, utilisation_by_tier
from fanin.over_time import queues_by_tier
from fanin.quantities import OF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanin.run_tables import RunTables

__all__ = ["OF_SIZE", "OF_TIER", "OF_TRAFFIC", "SIZES", "numbers_of_parts", "size_classes"]

OF_TRAFFIC = ("started", "unfinished", "goodput_gbps", "fct_p50_us", "fct_p99_us", "slowdown_p50", "slowdown_p99")
"""The numbers of a traffic: of its messages in the measured window, percentiles over those of the reported sizes."""

OF_SIZE = ("started", "unfinished", "fct_p50_us", "fct_p99_us", "slowdown_p50", "slowdown_p99")
"""The numbers of the messages of a traffic in a class of sizes, where its messages are of several classes."""

OF_TIER = ("queue_p50_bytes", "queue_p99_bytes", "queue_max_bytes", "pauses", "paused_us", "utilisation")
"""The numbers of a tier of links. The percentiles are over the samples of its queues, null where the spec's
`measure.series` samples none; the longest queue and the pauses are those of the whole run."""

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
"""The largest payloads of the classes of sizes, in bytes; above the last is one more class."""

MOST_TRAFFICS = 20
"""Of more traffics none has numbers of its own: they would be thousands of columns."""

Numbers = dict[str, float | None]


def numbers_of_parts(result: RunTables) -> Numbers:
    """The numbers of all parts of a run, by name."""
    found: Numbers = {}
    traffics = result.summary()["traffics"]
    if len(traffics) <= MOST_TRAFFICS:
        for traffic, numbers in zip(traffics, numbers_of_traffics(result), strict=True):
            name = traffic["traffic"]
            found |= {f"{key}{OF}{name}": numbers[key] for key in OF_TRAFFIC}
            found |= _of_sizes(result, name)
    return found | _of_tiers(result)


def size_classes(bytes_: NDArray[np.int64]) -> list[tuple[int, int | None, str]]:
    """The classes that these payloads are of, each with its bounds (above the first, up to the second) and its name."""
    bounds: Sequence[int | None] = (0, *SIZES, None)
    found = []
    for low, high in pairwise(bounds):
        inside = (bytes_ > (low or 0)) & (bytes_ <= high if high is not None else True)
        if np.any(inside):
            below = size_text(high) if high is not None else ""
            name = (
                f"up to {below}" if not low else f"{size_text(low)} to {below}" if below else f"above {size_text(low)}"
            )
            found.append((low or 0, high, name))
    return found


def _of_sizes(result: RunTables, traffic: str) -> Numbers:
    posted = messages(result).filter(pl.col("traffic").cast(pl.String) == traffic)
    classes = size_classes(posted["bytes"].to_numpy().astype(np.int64))
    if len(classes) < 2:
        return {}
    found: Numbers = {}
    for low, high, name in classes:
        here = posted.filter(pl.col("bytes") > low, pl.col("bytes") <= high if high is not None else pl.lit(True))
        done = here.filter(pl.col("completion_ps").is_not_null())
        times_us, slowdown = completion_us(done), done["slowdown"].drop_nulls().to_numpy()
        values = (
            here.height,
            here.height - done.height,
            percentile(times_us, 500),
            percentile(times_us, 990),
            percentile(slowdown, 500),
            percentile(slowdown, 990),
        )
        found |= {f"{key}{OF}{traffic} {name}": value for key, value in zip(OF_SIZE, values, strict=True)}
    return found


def _of_tiers(result: RunTables) -> Numbers:
    ports = result.ports()
    if "tier" not in ports.columns:  # a folder of an earlier version
        return {}
    used = dict(utilisation_by_tier(result).select("tier", "mean").iter_rows())
    sums = ports.group_by(pl.col("tier").cast(pl.String), maintain_order=True).agg(
        pl.col("peak_queue_bytes").max(), pl.col("pauses").sum(), pl.col("paused_ps").sum() / 1e6
    )
    sampled = queues_by_tier(result)
    found: Numbers = {}
    for tier, longest, pauses, paused_us in sums.iter_rows():
        queues = [_of_samples(*sampled[tier], level) if tier in sampled else None for level in (500, 990)]
        values = (*queues, longest, pauses, paused_us, used.get(tier))
        found |= {f"{key}{OF}{tier}": value for key, value in zip(OF_TIER, values, strict=True)}
    return found


def _of_samples(lengths: NDArray[np.int64], count: int, per_mille: int) -> float | None:
    """The percentile by nearest rank of so many samples, of which these, rising, are not zero."""
    if count < least_count(per_mille):
        return None
    rank = max(1, -(-count * per_mille // 1000)) - (count - lengths.size)
    return float(lengths[rank - 1]) if rank > 0 else 0.0

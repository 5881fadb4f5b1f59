"""Dart section VI-B: Fig. 11, 12 and 13 and Tables I and II for all three mixes, and the same under other readings.

What had to be assumed: a load is a share of what the ToR uplinks carry (row E11), short messages are 10, 40 and 70 % of
the bytes (Table II: load increase over path dilation), each incast has random senders and a random receiver anew, and
its messages start within 40 us (row E14). Long flows are as many endless ones as the load has line rates (row E15);
`dart-fig11-readings` has two other readings of them. TIMELY decides once per round trip. DCTCP has tail drop, and its
300 us pass before the first byte leaves. Shorter than the 50 ms of `dart-fig11a`: windows of 10 ms after 5 ms. Loads
that the paper does not print (80 % of the typical mix, 60 and 80 % of the heavy one) have one seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from fanin import Result
from fanin_papers.common import SEEDS, pooled, seeds
from fanin_papers.dart_headline import detours, marks
from fanin_papers.dart_mix import CALIBRATED_US, EVERY_SERVER, at, jitter, load, population, traffic
from fanin_papers.dart_typical import TCP
from fanin_papers.experiment import Change, Key, Measured, Measures

TYPICAL, LIGHT, HEAVY = "typical", "light", "heavy"

SHORT = {LIGHT: 0.1, TYPICAL: 0.4, HEAVY: 0.7}
"""Share of short messages in the bytes of each mix (row E12)."""

ALL_LOADS = (20, 40, 60, 80)
PAPER_LOADS = {LIGHT: ALL_LOADS, TYPICAL: (20, 40, 60), HEAVY: (20, 40)}
"""Per cent: what the tables have."""

MARKED = {
    "dcqcn": {TYPICAL: (17, 41, 67), LIGHT: (5, 14, 36, 48), HEAVY: (33, 70)},
    "dart": {TYPICAL: (6, 11, 14), LIGHT: (4, 9, 21, 28), HEAVY: (9, 18)},
}
"""Table I: per cent of the packets of short messages with a mark, at PAPER_LOADS."""

INCREASE = {TYPICAL: (3, 6, 9), LIGHT: (0.4, 0.8, 1.4, 3), HEAVY: (11, 15)}
DILATION = {TYPICAL: (8, 15, 23), LIGHT: (4, 8, 14, 26), HEAVY: (15, 21)}
"""Table II, in per cent."""

DCQCN, TIMELY, DCTCP, DART = "dcqcn", "timely-dart", "dctcp", "dart"
SCHEMES = (DCQCN, TIMELY, DCTCP, DART)
WITHOUT = "dctcp without the 300 us"
PARTS = ("dart-iofd", "dart-dasr-lookahead", "dart-lasthop")

STEADY = "steady state"
TEXT = "the text: a long flow from every server, from t = 0"
CARRIED = "long flows that carry their load: 100 KB pieces"

UPLINKS_GBPS = 2560
"""Of 64 racks with four uplinks of 10 Gb/s."""

NO_OVERHEAD = tuple(change.replace('overhead = "300 us", ', "") for change in TCP)


def reading(name: str) -> tuple[str, ...]:
    """What a reading changes; STEADY is the spec's, over a shorter window."""
    if name == TEXT:
        return (*population(EVERY_SERVER), *spans("0 s", "10 ms"))
    if name == CARRIED:
        pieces = 'traffic.long.pattern={ kind = "poisson", inter_rack_only = true }'
        return (pieces, 'traffic.long.size={ fixed = "100 KB" }', *spans("3 ms", "5 ms"))
    return spans("5 ms", "10 ms")


def spans(warm_up: str, window: str) -> tuple[str, ...]:
    """Warm-up, measured window, and how long messages of the window may take beyond it."""
    return (f"measure.warm_up={warm_up}", f"measure.window={window}", "measure.drain_limit=20 ms")


def small(quick: bool) -> tuple[str, ...]:
    """The network and window of the short version."""
    return ("network.topology.pods=2", *spans("1 ms", "1 ms")) if quick else ()


def change(scheme: str, mix: str, percent: int, name: str, quick: bool) -> Change:
    """One run."""
    tcp = {DCTCP: TCP, WITHOUT: NO_OVERHEAD}.get(scheme, ())
    mixed = (*load(percent, SHORT[mix]), *jitter(CALIBRATED_US), *reading(name))
    return Change(DCTCP if scheme == WITHOUT else scheme, (*mixed, *tcp, *small(quick)))


def printed(quick: bool) -> list[tuple[str, int]]:
    """Mixes and loads that the paper prints."""
    return [(mix, percent) for mix in SHORT for percent in ((20, 40) if quick else PAPER_LOADS[mix])]


def beyond(name: str, schemes: Iterable[str], quick: bool) -> list[Key]:
    """The other loads of each mix, with one seed: only the order of saturation needs them."""
    rest = [(mix, percent) for mix in SHORT for percent in ALL_LOADS if percent not in PAPER_LOADS[mix]]
    return [] if quick else [(name, scheme, mix, percent, SEEDS[0]) for mix, percent in rest for scheme in schemes]


def sweep(quick: bool) -> dict[Key, Change]:
    """All schemes at the loads that the paper prints; DCTCP without its overhead; the parts of Dart."""
    keys: list[Key] = [(STEADY, s, mix, p, seed) for seed in seeds(quick) for mix, p in printed(quick) for s in SCHEMES]
    keys += [(STEADY, WITHOUT, TYPICAL, p, seed) for seed in seeds(quick) for p in (20, 40)]
    keys += beyond(STEADY, (DCQCN, TIMELY, DART), quick)
    if not quick:
        # Those in the typical mix are in `dart-headline`.
        keys += [(STEADY, s, mix, p, SEEDS[0]) for mix in (LIGHT, HEAVY) for p in (20, 40) for s in PARTS]
    return changes(keys, quick)


def sweep_readings(quick: bool) -> dict[Key, Change]:
    """The schemes under the other readings, with one seed."""
    keys: list[Key] = [(r, s, mix, p, SEEDS[0]) for r in (TEXT, CARRIED) for mix, p in printed(quick) for s in SCHEMES]
    return changes([*keys, *beyond(CARRIED, (DCQCN, TIMELY, DART), quick)], quick)


def changes(keys: list[Key], quick: bool) -> dict[Key, Change]:
    """The runs of keys: reading, scheme, mix, load and seed."""
    return {key: change(str(key[1]), str(key[2]), int(key[3]), str(key[0]), quick) for key in keys}


def measure(result: Result) -> Measured:
    """Completion of messages by size, goodput, marks, detours, and the tables of deflected flows."""
    short, long = traffic(result, "short"), traffic(result, "long")
    rdma = short["transport"] == "rdma"
    flows = result.flows().with_columns((pl.col("traffic") == "long").alias("long"))
    timed = flows.filter(pl.col("measured") & ~pl.col("long")).select("bytes", "completion_ps")
    acted, actions = short["dart"], short["actions"]
    measured: dict[str, float | None] = {
        "p50_us": short["completion_us"]["p50"],
        "short_gbps": short["goodput_gbps"],
        "long_gbps": long["goodput_gbps"],
        "unfinished": short["sized_unfinished"],
        "deflected": actions["messages_deflected"],
        "refused": actions["table_full_refusals"],
        "messages": len(timed),
        "entries": acted["table_entries"] if acted else None,
        "peak": acted["table_peak"] if acted else None,
        **(marks(result, flows) if rdma else {"marked": 100 * (short["marked_share"] or 0.0)}),
        **(detours(result, flows.filter(~pl.col("long"))) if rdma else {}),
    }
    for size in (2, 4, 8):
        done = timed.filter(pl.col("bytes") == 1000 * size)["completion_ps"]
        tail = done.drop_nulls().quantile(0.99, "linear")
        measured["p99_us" if size == 8 else f"p99_{size}kb_us"] = None if tail is None else tail / 1e6
    return {name: [float("nan") if value is None else float(value)] for name, value in measured.items()}


@dataclass(frozen=True)
class View:
    """The measurements under one reading."""

    measures: Measures
    reading: str

    def at(self, scheme: str, mix: str, percent: int, name: str) -> float:
        """Mean over the seeds."""
        return at(self.measures, (self.reading, scheme, mix, percent), name)

    def each(self, scheme: str, mix: str, percent: int, name: str) -> list[float]:
        """By seed."""
        return pooled(self.measures, (self.reading, scheme, mix, percent), name)

    def loads(self, mix: str, scheme: str = DART) -> list[int]:
        """The loads that were run."""
        return sorted({int(key[3]) for key in self.measures if key[:3] == (self.reading, scheme, mix)})

    def printed(self, mix: str) -> list[int]:
        """Of these, the paper's."""
        return [percent for percent in self.loads(mix) if percent in PAPER_LOADS[mix]]


def offered_gbps(mix: str, percent: int) -> float:
    """Payload of long flows that the load stands for."""
    return (1 - SHORT[mix]) * percent / 100 * UPLINKS_GBPS

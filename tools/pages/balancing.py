"""The picture and the tables of docs/load-balancing.md: every policy on the example, and each transport under two.

`make balancing` makes all.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl

import fanin
from fanin import measures
from fanin.plot.base import label_axes
from pages.marked import put

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "examples" / "load-balancing.toml"
PAGE = ROOT / "docs" / "load-balancing.md"
PICTURE = ROOT / "docs" / "load-balancing.png"

POLICIES = ["flow-hash", "flowlets", "random", "round-robin", "least-queue"]
SEEDS = (1,)

TOLERANT = ('traffic[{n}].rdma={{ recovery = "selective-repeat", nack_threshold = 64 }}',)
TRANSPORTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "selective repeat after 64 NACKs": ("dcqcn", TOLERANT),
    "go-back-N": ("dcqcn", ('traffic[{n}].rdma={{ recovery = "go-back-n", nack_interval = "20 us" }}',)),
    "HPCC, selective repeat after 64 NACKs": ("hpcc", TOLERANT),
    "TCP (DCTCP)": ("dctcp", ()),
}
"""By name: the scheme, and what its two traffics change in the spec."""


@dataclass(frozen=True)
class Measured:
    """A policy under a transport."""

    long: list[float]
    """FCTs of the long messages in us."""
    short: list[float]
    """FCTs of the short ones."""
    reordered: float
    """Share of the long messages' packets that were reordered."""
    distance: int
    """The largest reordering distance in bytes."""
    resent: float
    """Packets of both that were sent again, as a share of those sent."""
    queue: int
    """The largest queue between switches in bytes."""

    def late(self, long: bool) -> float:
        """The 99th percentile FCT."""
        return float(np.quantile(self.long if long else self.short, 0.99))


def measured(policy: str, transport: str) -> Measured:
    """Runs the example."""
    scheme, changes = TRANSPORTS[transport]
    long: list[float] = []
    short: list[float] = []
    reordered = arrived = resent = sent = distance = queue = 0
    for seed in SEEDS:
        keys = [f'network.balancing="{policy}"', *(change.format(n=n) for change in changes for n in (0, 1))]
        result = fanin.run(SPEC, scheme=scheme, seed=seed, set=keys, progress=False)
        rows = measures.messages(result)
        for name, into in (("shuffle", long), ("queries", short)):
            of = rows.filter(rows["traffic"] == name)
            if of["completion_ps"].null_count():
                raise SystemExit(f"{policy} with {transport}: {of['completion_ps'].null_count()} messages unfinished")
            into.extend(measures.completion_us(of))
        shuffle = rows.filter(rows["traffic"] == "shuffle")
        reordered += int(shuffle["reordered"].sum())
        arrived += int(shuffle["packets_arrived"].sum())
        resent += int(rows["packets_resent"].sum())
        sent += int(rows["packets_sent"].sum())
        distance = max(distance, result.summary()["traffics"][0]["reorder_distance_bytes"])
        ports = result.ports()
        between = ports.filter(ports["from"].str.starts_with("leaf") & ports["to"].str.starts_with("spine"))
        queue = max(queue, int(between.select(pl.col("peak_queue_bytes").max()).item()))
    return Measured(long, short, reordered / arrived, distance, resent / sent, queue)


def table_of_policies(found: dict[str, Measured]) -> list[str]:
    """Every policy with NICs that tolerate reordering."""
    lines = [
        "| policy | FCT p99 of 1 MB (us) | FCT p99 of 16 KB (us) | longest queue to a spine (KB) | reordered packets "
        "| largest distance (KB) |",
        "|---|---|---|---|---|---|",
    ]
    for policy, of in found.items():
        lines.append(
            f"| `{policy}` | {of.late(long=True):,.0f} | {of.late(long=False):,.1f} | {of.queue / 1e3:,.0f} | "
            f"{of.reordered:.2%} | {of.distance / 1e3:,.1f} |"
        )
    return lines


def table_of_transports(found: dict[str, dict[str, Measured]]) -> list[str]:
    """What each transport makes of packets at random."""
    lines = [
        "| transport | policy | FCT p99 of 1 MB (us) | FCT p99 of 16 KB (us) | packets sent again |",
        "|---|---|---|---|---|",
    ]
    for transport, by_policy in found.items():
        for policy, of in by_policy.items():
            long, short = of.late(long=True), of.late(long=False)
            lines.append(f"| {transport} | `{policy}` | {long:,.0f} | {short:,.1f} | {of.resent:.2%} |")
    return lines


def draw(found: dict[str, Measured], transports: dict[str, dict[str, Measured]]) -> None:
    """FCTs of the long messages under each policy, of the short ones, and what each transport makes of it."""
    figure, (long, short, by_transport) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for policy, of in found.items():
        for axes, times in ((long, of.long), (short, of.short)):
            ordered = np.sort(times)
            axes.plot(ordered, 1 - np.arange(len(ordered)) / len(ordered), label=policy)
    for axes, title in ((long, "messages of 1 MB"), (short, "messages of 16 KB")):
        label_axes(axes, title, "FCT (us)", "share of messages that take longer")
        axes.set_yscale("log")
        axes.set_xscale("log")
        axes.set_ylim(bottom=1e-3)
    names = list(transports)
    places = np.arange(len(names))
    for policy, marker in (("flow-hash", "o"), ("random", "s")):
        values = [transports[name][policy].late(long=True) / 1e3 for name in names]
        by_transport.plot(values, places, marker, markersize=9, label=policy)
    by_transport.set_yticks(places, [name.replace(" after", "\nafter") for name in names])
    by_transport.invert_yaxis()
    by_transport.set_xscale("log")
    ticks = (0.1, 0.3, 1, 3, 10)
    by_transport.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    by_transport.set_xticks([], minor=True)
    label_axes(by_transport, "messages of 1 MB, by transport", "FCT, 99th percentile (ms)", "")
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    """Runs all, draws the picture and writes the tables."""
    transports = {
        transport: {policy: measured(policy, transport) for policy in ("flow-hash", "random")}
        for transport in TRANSPORTS
    }
    first = next(iter(TRANSPORTS))
    found = {policy: transports[first].get(policy) or measured(policy, first) for policy in POLICIES}
    draw(found, transports)
    put(PAGE, "policies", table_of_policies(found))
    put(PAGE, "transports", table_of_transports(transports))
    print(f"written: {PICTURE}, {PAGE}")


if __name__ == "__main__":
    main()

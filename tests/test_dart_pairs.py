"""Messages that share sender and receiver under Dart, in a leaf-spine with WebSearch sizes: `pytest -s` prints the
numbers."""

import polars as pl

import fanin

SPEC: dict[str, object] = {
    "spec_version": 1,
    "name": "pairs",
    "seed": 1,
    "network": {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "spines": 4,
            "hosts": 16,
            "link": "100 Gbps",
            "fabric_link": "400 Gbps",
            "delay": "1 us",
        },
        "buffer": {"policy": "lossless", "per_port": "500 KB"},
        "marking": {"kind": "step", "above": "100 KB"},
    },
    "traffic": [
        {
            "name": "web",
            "scheme": "dart",
            "pattern": {"kind": "poisson"},
            "size": {"cdf": "WebSearch"},
            "load": {"share": 0.6, "of": "host-links"},
        }
    ],
    "measure": {"warm_up": "1 ms", "window": "10 ms", "drain": True, "drain_limit": "30 ms"},
}


def by_pair(scheme: str) -> dict[bool, float]:
    """99th percentile of the slowdowns of messages posted while their pair had another one open (True), and of all
    others."""
    run = fanin.run(SPEC, scheme=scheme, progress=False)
    flows = run.flows().filter(pl.col("measured")).sort("start_ps")
    end = (pl.col("start_ps") + pl.col("completion_ps")).shift(1).cum_max().over("src", "dst")
    shared = flows.with_columns(shared=(end > pl.col("start_ps")).fill_null(False))
    found = shared.group_by("shared").agg(pl.len(), pl.col("slowdown").quantile(0.99, "higher").alias("p99"))
    found = found.sort("shared")
    for was_shared, count, p99 in found.iter_rows():
        print(f"{scheme}: {count} messages, pair {'busy' if was_shared else 'idle'}: p99 slowdown {p99:.1f}")
    return dict(zip(found["shared"], found["p99"], strict=True))


def test_who_shares_a_pair_is_no_slower_than_others_by_much() -> None:
    """Before messages of a pair took turns, those that met another one had 25 times the slowdown of all others under
    Dart."""
    p99 = {scheme: by_pair(scheme) for scheme in ("dart", "dcqcn", "hpcc")}
    assert p99["dart"][True] < 2 * p99["dart"][False]

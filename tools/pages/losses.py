"""The picture and the table of docs/loss.md: two schemes under each loss policy, in an incast and under random loss.

`make losses` makes both.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import fanin
from fanin import measures
from fanin.plot.base import label_axes, scheme_line
from fanin_papers.common import log_ticks

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "loss.md"
PICTURE = ROOT / "docs" / "loss.png"

SCHEMES = ["dcqcn-vendor", "hpcc"]
POLICIES = {
    "pfc": "PFC, go-back-N",
    "gbn": "go-back-N",
    "gb0": "go-back-0",
    "sr": "selective repeat",
    "irn": "IRN",
}

INCAST: dict[str, object] = {
    "name": "answers",
    "scheme": "dcqcn",
    "pattern": {"kind": "incast", "degree": 16, "jitter": "5 us", "every": "1 ms"},
    "size": {"fixed": "64 KB"},
    "rdma": {"timeout": "320 us", "nack_interval": "20 us"},
}
PAIRS: dict[str, object] = {
    **INCAST,
    "name": "pairs",
    "pattern": {"kind": "permutation", "every": "200 us", "jitter": "20 us"},
}
"""A NACK per 20 us, above the round-trip time, so that go-back-N asks again soon, and the timeout of IRN for all."""

CASES = {
    "incast of 16": (INCAST, 0.0),
    "1 packet in 1,000 lost": (PAIRS, 1e-3),
}


def spec(traffic: dict[str, object], error_rate: float) -> dict[str, object]:
    """Seventeen hosts at a switch, 100 Gb/s, with the dynamic threshold of HPCC 5.3."""
    links = [{"between": [f"h{host}", "sw0"], "error_rate": error_rate} for host in range(17)]
    return {
        "spec_version": 1,
        "name": "loss",
        "network": {
            "topology": {"kind": "star", "hosts": 17, "link": "100 Gbps", "delay": "1 us"},
            "buffer": {"policy": "lossy", "pool": "1 MB", "alpha": 1.0},
            "marking": {"kind": "red", "min": "100 KB", "max": "400 KB", "probability": 0.2},
            **({"links": links} if error_rate else {}),
        },
        "traffic": [traffic],
        "measure": {"window": "10 ms", "drain": True, "drain_limit": "100 ms"},
    }


def numbers(result: fanin.Result) -> tuple[float, float, int, int, int]:
    """FCT at the median and the 99th percentile in us, packets sent again, those without need, timeouts."""
    times = measures.completion_us(measures.messages(result).drop_nulls("completion_ps"))
    summary = result.summary()
    resent = sum(traffic["packets_resent"] for traffic in summary["traffics"])
    network = summary["network"]
    middle, late = (float(np.quantile(times, share)) for share in (0.5, 0.99))
    return middle, late, resent, network["duplicates"], network["timeouts"]


def draw(found: dict[tuple[str, str, str], tuple[float, float, int, int, int]]) -> None:
    """FCTs above, packets sent again below: logarithmic, so points and no bars."""
    figure, rows = plt.subplots(2, len(CASES), figsize=(9, 6), sharex=True, squeeze=False, layout="constrained")
    places = range(len(POLICIES))
    for column, case in enumerate(CASES):
        for scheme in SCHEMES:
            line = {**scheme_line(scheme), "linestyle": ":", "markersize": 8}
            for row, which in ((0, 1), (1, 2)):
                values = [found[case, scheme, policy][which] for policy in POLICIES]
                rows[row][column].plot(places, values, label=scheme, **{"marker": "o", **line})
        label_axes(rows[0][column], case, "", "FCT, 99th percentile (us)", legend=column == 0)
        rows[0][column].set_yscale("log")
        log_ticks(rows[0][column])
        label_axes(rows[1][column], "", "", "packets sent again", legend=False)
        rows[1][column].set_yscale("symlog", linthresh=10)
        rows[1][column].set_ylim(bottom=-2)
        rows[1][column].set_xticks(places, list(POLICIES.values()), rotation=25, ha="right")
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    """Runs all, draws the picture and writes the table."""
    lines = ["| case | scheme | losses | FCT median (us) | FCT p99 (us) | sent again | without need | timeouts |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    found = {}
    for case, (traffic, error_rate) in CASES.items():
        for scheme in SCHEMES:
            for policy, words in POLICIES.items():
                result = fanin.run(spec(traffic, error_rate), scheme=f"{scheme}+{policy}", progress=False)
                middle, late, *counts = found[case, scheme, policy] = numbers(result)
                told = " | ".join(f"{count:,}" for count in counts)
                lines.append(f"| {case} | `{scheme}` | {words} | {middle:,.1f} | {late:,.1f} | {told} |")
    draw(found)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- table -->\n")
    after = rest.partition("<!-- end of table -->")[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}<!-- table -->\n{table}\n<!-- end of table -->{after}", encoding="utf-8")
    print(f"written: {PICTURE}, {PAGE}")


if __name__ == "__main__":
    main()

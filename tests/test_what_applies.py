"""What tables and pictures say of a run: units that fit, nothing that does not apply, and what failed."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import configurations
import fanin
from conftest import Command
from fanin import plot, shown
from fanin.comparison import Comparison
from fanin.over_seeds import Estimate
from fanin.over_time import none_of_watched
from fanin.quantities import rate_unit, scaled

SLOW = """spec_version = 1
name = "slow links"
[network]
topology = { kind = "dumbbell", left = 2, right = 2, link = "10 Mbps", delay = "1 ms", bottleneck = "2 Mbps" }
buffer = { policy = "lossy", per_port = "50 KB" }
[[traffic]]
name = "one"
scheme = "newreno"
pattern = { kind = "long", senders = ["h0"], receivers = ["h2"], count = 1 }
[[traffic]]
name = "two"
scheme = "newreno"
pattern = { kind = "long", senders = ["h1"], receivers = ["h3"], count = 1 }
[measure]
window = "20 s"
series = [{ what = "flow", where = ["one:0", "two:0"], every = "500 ms" }]
"""

COPIED = """spec_version = 1
name = "copied law"
[network]
topology = { kind = "star", hosts = 9, link = "100 Gbps", delay = "1 us" }
buffer = { policy = "lossless", pool = "32 MB" }
marking = { kind = "red", min = "400 KB", max = "1600 KB", probability = 0.2 }
[[traffic]]
name = "fan-in"
scheme = "dcqcn-ns3"
pattern = { kind = "incast", degree = 8, receivers = ["h8"] }
size = { fixed = "1 MB" }
[measure]
window = "20 ms"
"""

FAILING = """spec_version = 1
name = "failing"
[network]
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts = 2, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "lossless", pool = "4 MB" }
marking = { kind = "step", above = "50 KB" }
links = [
  { between = ["leaf0", "spine0"], down = [["1 ms", "2 ms"]] },
  { between = ["leaf0", "spine1"], down = [["1500 us", "1600 us"], ["50 ms", "60 ms"]] },
]
failure_detection = "200 us"
faults = [{ kind = "slow-receiver", hosts = ["h3"], share = 0.3, from = "2500 us", to = "3 ms" }]
[[traffic]]
name = "long"
scheme = "dcqcn"
pattern = { kind = "long", senders = ["h0", "h1"], receivers = ["h2", "h3"], pairs = "one-to-one" }
[measure]
window = "4 ms"
series = [{ what = "flow", where = ["long:0", "long:1"], every = "20 us" }]
"""


def ran(text: str, folder: Path) -> fanin.Result:
    """A run of this spec."""
    file = folder / "spec.toml"
    file.write_text(text, encoding="utf-8")
    return fanin.run(file, progress=False)


def told(result: fanin.Result) -> dict[str, str]:
    """The lines of its table: the last cell of each, by its name."""
    text = io.StringIO()
    Console(file=text, width=100).print(Comparison([result], result.cancelled).text())
    cells = (line.strip().rsplit("  ", 1) for line in text.getvalue().splitlines() if "  " in line.strip())
    return {name.strip(): cell.strip() for name, cell in cells}


def axes_of(figure: Figure) -> set[str]:
    return {axes.get_ylabel() for axes in figure.axes}


def test_rates_have_a_unit_that_fits() -> None:
    assert [shown.gbps(value) for value in (0, 0.000835, 0.00105, 1.0, 12.3, 1500)] == [
        *("0", "835 Kb/s", "1.05 Mb/s", "1.00 Gb/s", "12.3 Gb/s", "1,500 Gb/s"),
    ]
    assert shown.estimated(Estimate(0.00105, 0.0001), shown.gbps) == "1.05 \u00b1 0.10 Mb/s"
    assert shown.share(0.00001) == "0.001 %"
    assert shown.number(0.0012) == "0.0012"
    assert rate_unit([0.0019, float("nan")]) == ("Mb/s", 1e-3)
    assert rate_unit([]) == rate_unit([0.0]) == ("Gb/s", 1.0)
    assert scaled("long_goodput_gbps", [0.5]) == (1e-3, "Goodput of long flows, sum (Mb/s)")


def test_slow_links_have_rates(tmp_path: Path) -> None:
    result = ran(SLOW, tmp_path)
    lines = told(result)
    assert lines["long-flow goodput, sum"] == "1.89 Mb/s"
    assert lines["goodput                   835 Kb/s"] == "1.05 Mb/s"
    # No message has an end, and no class is lossless.
    assert not any("FCT p50" in name or "PFC" in name or "CNP" in name for name in lines)
    assert "goodput (Mb/s)" in axes_of(plot.goodput(result)) & axes_of(plot.flows(result))


def test_notifications_that_are_no_packets_are_told(tmp_path: Path) -> None:
    result = ran(COPIED, tmp_path)
    assert told(result)["CNPs"] == "1,679, in ACKs"
    assert result.summary()["network"]["cnps"] == 0
    (row,) = Comparison([result], False).rows
    assert (row.cnps, row.cnps_in_acks) == (0, 1679)
    assert result.summary()["traffics"][0]["sizes"]["max"] is None
    # Without packets, without a line; with packets, their number.
    assert "CNPs" not in told(fanin.run(tmp_path / "spec.toml", scheme="none", progress=False))
    assert told(fanin.run(tmp_path / "spec.toml", scheme="dcqcn", progress=False))["CNPs"].isdigit()


def test_a_configuration_counts_its_notifications_too(tmp_path: Path) -> None:
    configurations.write(tmp_path, ["0 1 3 100 4000000 2"], hosts=2, rates=["400Gbps", "100Gbps"])
    result = fanin.run_hpcc("config.txt", folder=tmp_path, progress=False)
    lines = told(result)
    assert lines["CNPs"] == "77, in ACKs"
    assert "retransmission timeouts" not in lines, "that simulator has none"


def test_one_message_has_an_fct(tmp_path: Path) -> None:
    configurations.write(tmp_path, ["0 3 3 100 1000000 2"])
    lines = told(fanin.run_hpcc("config.txt", folder=tmp_path, progress=False))
    assert lines["all sizes: FCT"] == "87.091 us"
    assert not any("p99" in name for name in lines)


def test_unfinished_messages_have_a_goodput(tmp_path: Path) -> None:
    flows = [f"{n} 3 3 100 4000000000 2.00{n}" for n in range(3)]
    configurations.write(tmp_path, flows, changes={"SIMULATOR_STOP_TIME": "2.005"})
    result = fanin.run_hpcc("config.txt", folder=tmp_path, progress=False)
    (row,) = Comparison([result], False).rows
    # Delivered since each was posted, 5, 4 and 3 ms before the end.
    rates = [
        delivered * 8 / ms / 1e6
        for delivered, ms in zip(result.flows()["delivered_bytes"], (5.0, 4.0, 3.0), strict=True)
    ]
    assert [round(rate) for rate in rates] == [41, 33, 27]
    assert row.unfinished_goodput_gbps == pytest.approx(sum(rates) / 3, rel=1e-5), "it stops with its last event"
    text = io.StringIO()
    Console(file=text, width=200).print(Comparison([result], False).text())
    assert (
        f"since each was posted: background:2 {rates[2]:.1f} Gb/s, background:1 {rates[1]:.1f} Gb/s" in text.getvalue()
    )


def test_pauses_of_a_configuration_are_events_and_drawn(tmp_path: Path) -> None:
    flows = [f"{n} 7 3 100 2000000 2" for n in range(7)]
    # Without marks and with a small buffer PFC alone holds the senders.
    configurations.write(tmp_path, flows, hosts=8, changes={"ENABLE_QCN": "0", "BUFFER_SIZE": "2"})
    result = fanin.run_hpcc("config.txt", folder=tmp_path, progress=False)
    network = result.summary()["network"]
    assert network["paused_us"] > 0
    pauses = result.events().filter(kind="pause")
    assert pauses.height + network["events_left_out"]["pause"] == network["pauses"] > 0
    assert set(pauses["where"]) <= set(result.ports().filter(pl.col("pauses") > 0)["port"])
    assert all(axes.dataLim.ymax > 0 for axes in plot.pauses(result).axes)


def test_a_link_of_a_configuration_that_fails_is_an_event(tmp_path: Path) -> None:
    flows = ["0 3 3 100 2000000 2"]
    configurations.write(tmp_path, flows, changes={"LINK_DOWN": "10 3 4", "SIMULATOR_STOP_TIME": "2.001"})
    result = fanin.run_hpcc("config.txt", folder=tmp_path, progress=False)
    failed = result.events().filter(pl.col("kind").is_in(["link_down", "reroute"]))
    assert failed["time_ps"].to_list() == [2_000_010 * 10**6] * 2
    assert set(failed["where"]) == {"h3>s4"}
    causes = dict(result.events().filter(kind="drop")["cause"].value_counts().rows())
    network = result.summary()["network"]
    assert set(causes) == {name for name, count in network["drops"].items() if count and name != "total"}
    assert causes["link_down"] == network["drops"]["link_down"] == 25
    assert sum(causes.values()) + network["events_left_out"]["drop"] == network["drops"]["total"]


def test_what_fails_is_in_the_events_and_in_pictures(tmp_path: Path) -> None:
    result = ran(FAILING, tmp_path)
    rows = result.events().filter(~pl.col("kind").is_in(["drop", "pause", "warning"]))
    assert rows.select(pl.col("time_ps") // 10**6, "kind", "where").rows() == [
        (1000, "link_down", "leaf0>spine0"),
        (1200, "reroute", "leaf0>spine0"),
        (1500, "link_down", "leaf0>spine1"),
        (1600, "link_up", "leaf0>spine1"),  # up before its ends have found out
        (1600, "reroute", "leaf0>spine1"),
        (2000, "link_up", "leaf0>spine0"),
        (2000, "reroute", "leaf0>spine0"),
        (2500, "fault", "h3"),
        (3000, "fault", "h3"),
    ]
    drops = result.events().filter(kind="drop")
    assert set(drops["cause"]) == {"link_down"}
    assert drops.height == result.summary()["network"]["drops"]["link_down"]
    assert f"drops by cause: a failed link {drops.height}" in repr_of(result)
    panel = plot.rates(result).axes[0]
    names = [text.get_text() for text in panel.texts]
    assert names == [
        *("leaf0>spine0 down", "new routes", "leaf0>spine1 down", "leaf0>spine1 up, new routes"),
        *("leaf0>spine0 up, new routes", "h3: slow receiver begins", "h3: slow receiver ends"),
    ]


def repr_of(result: fanin.Result) -> str:
    """Its table as text."""
    text = io.StringIO()
    Console(file=text, width=200).print(Comparison([result], False).text())
    return text.getvalue()


def test_json_has_no_number_that_stands_for_none(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(COPIED, encoding="utf-8")
    for command in (["run", "spec.toml", "--out", "r"], ["explain", "spec.toml"], ["check", "spec.toml"]):
        done = command_here(*command, "--json")
        assert done.returncode == 0, done.stderr
        assert "18446744073709551615" not in done.stdout
        json.loads(done.stdout)
    assert not any("18446744073709551615" in file.read_text() for file in (tmp_path / "r").glob("*.json"))


def test_pauses_that_were_not_watched_are_told(result: fanin.Result) -> None:
    network = {**result.summary()["network"], "pauses": 1200}
    summary = cast("fanin.run_folder.Summary", {**result.summary(), "network": network})
    told = none_of_watched([replace(result, _summary=summary)])
    assert told.endswith("; 1,200 pauses began at others or outside of the measured window")
    network["pauses"] = 0
    assert none_of_watched([replace(result, _summary=summary)]) == "PFC paused none of the watched ports"

"""Trees of pauses: the capacity that they suppress, by numbers worked by hand; a storm with and without watchdog."""

from pathlib import Path

import polars as pl
import pytest

import fanin
from fanin import pause_trees
from fanin.result import Result
from fanin.run_folder import RunError

EXAMPLE = Path(__file__).parents[1] / "examples" / "pause-storm.toml"


@pytest.fixture(scope="module")
def storm() -> Result:
    return fanin.run(EXAMPLE, progress=False)


def test_a_port_counts_once_while_any_class_is_paused() -> None:
    port = {"rate_bps": 10, "tier": "host-uplink"}
    pauses = pl.DataFrame(
        [
            {"port": "h0>s", "begin_ps": 0, "end_ps": 5_000_000, **port},
            {"port": "h0>s", "begin_ps": 2_000_000, "end_ps": 8_000_000, **port},
            {"port": "s>t", "begin_ps": 4_000_000, "end_ps": 6_000_000, "rate_bps": 30, "tier": "tor-uplink"},
        ]
    )
    ports = pl.DataFrame({"rate_bps": [10, 10, 30, 50], "tier": ["host-uplink", "host-uplink", "tor-uplink", "other"]})
    shares = pause_trees.shares(pauses, ports)
    assert shares["time_us"].to_list() == [0, 4, 6, 8]
    assert shares["capacity"].to_list() == pytest.approx([0.1, 0.4, 0.1, 0])
    assert shares["senders"].to_list() == pytest.approx([0.5, 0.5, 0.5, 0])


def test_a_storm_pauses_the_whole_network(storm: Result) -> None:
    trees = storm.pause_trees()
    worst = trees.sort("ports", descending=True).row(0, named=True)
    assert (worst["cause"], worst["origin"], worst["depth"]) == ("storm", "h0", 4)
    assert worst["capacity"] > 0.4
    pauses = storm.pauses()
    assert pauses.height == trees["pauses"].sum()
    parents = pauses.join(pauses, left_on="parent", right_on="pause", suffix="_of_parent")
    assert parents.height == pauses["parent"].is_not_null().sum() > 50
    assert (parents["depth"] == parents["depth_of_parent"] + 1).all()
    assert (parents["tree"] == parents["tree_of_parent"]).all()


def test_a_watchdog_keeps_a_storm_at_its_port() -> None:
    watchdog = 'network.pfc.watchdog={ detect = "200 us", restore = "200 us" }'
    watched = fanin.run(EXAMPLE, set=[watchdog], progress=False)
    [found] = watched.events().filter(pl.col("kind") == "storm").iter_rows(named=True)
    assert found["where"] == "leaf0>h0"
    # The storm begins at 1 ms; a frame of 64 B takes 20.48 ns at 25 Gb/s, and 1 us; the watchdog looks 200 us later.
    assert found["time_ps"] == 1_000_000_000 + 20_480 + 1_000_000 + 200_000_000
    network = watched.summary()["network"]
    assert network["storms"] == 1
    assert network["drops"]["watchdog"] == network["drops"]["total"] > 0
    assert watched.pause_trees()["depth"].to_list() == [1] * watched.pause_trees().height


def test_pauses_that_were_not_recorded_are_an_error() -> None:
    plain = fanin.run(EXAMPLE, set=["measure.pauses=false"], progress=False)
    with pytest.raises(RunError, match=r"measure\.pauses = true"):
        plain.pause_trees()


def test_the_picture_is_drawn(storm: Result, tmp_path: Path) -> None:
    storm.plot_pause_trees(tmp_path / "storm.png")
    assert (tmp_path / "storm.png").stat().st_size > 10_000

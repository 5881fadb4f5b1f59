"""`--schemes all`: every scheme that makes sense under a spec, and why the others do not."""

import json
from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin import _core

SPEC = """
spec_version = 1
name = "all"
[network]
topology = { kind = "star", hosts = 5, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "lossless", per_port = "225 KB" }
MARKING
[[traffic]]
name = "asks"
scheme = "none"
pattern = { kind = "incast", degree = 4 }
size = { fixed = "20 KB" }
load = { share = 0.3, of = "host-links" }
TRANSPORT
[measure]
warm_up = "0 s"
window = "200 us"
"""
MARKS = 'marking = { kind = "step", above = "20 KB" }'
FAMILIES = list(dict.fromkeys(row["presets"][0] for row in _core.schemes()))
TRIMMED = "ndp"
"""Needs switches that trim packets, which those of this spec do not."""


def spec(folder: Path, *, marking: str = MARKS, transport: str = "") -> Path:
    """A small spec, with what is asked for. A transport that its scheme has anyway would change with the scheme."""
    path = folder / "all.toml"
    own = SPEC.replace('"none"', '"newreno"') if "rdma" in transport else SPEC
    path.write_text(own.replace("MARKING", marking).replace("TRANSPORT", transport))
    return path


def test_everything_suits_a_network_that_marks(tmp_path: Path) -> None:
    suits, unfit = fanin.every_scheme(spec(tmp_path))
    assert suits == [scheme for scheme in FAMILIES if scheme != TRIMMED]
    assert [*unfit] == [TRIMMED]
    assert "write network.trimming = {}" in unfit[TRIMMED]


def test_what_needs_marks_is_left_out_where_nothing_marks(tmp_path: Path) -> None:
    suits, unfit = fanin.every_scheme(spec(tmp_path, marking=""))
    assert {"dcqcn", "dcqcn-vendor", "dctcp", "dctcp-rate"} <= unfit.keys()
    assert all("congestion marks" in why for scheme, why in unfit.items() if scheme != TRIMMED)
    assert [scheme for scheme in FAMILIES if scheme not in unfit] == suits
    assert {"none", "newreno", "hpcc", "dart", "timely", "rcp", "rcc"} <= set(suits)


@pytest.mark.parametrize(
    ("transport", "out", "stays"),
    [("rdma", {"rcc", "ictcp"}, {"dart", "newreno"}), ("tcp", {"dart", "hpcc", "rcp"}, {"rcc", "newreno"})],
)
def test_a_transport_leaves_out_what_cannot_use_it(
    tmp_path: Path, transport: str, out: set[str], stays: set[str]
) -> None:
    suits, unfit = fanin.every_scheme(spec(tmp_path, transport=f'transport = "{transport}"'))
    assert out <= unfit.keys()
    assert stays <= set(suits)
    assert all("transport" in why for scheme, why in unfit.items() if scheme != TRIMMED)


def test_a_spec_that_is_wrong_whatever_the_scheme_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(fanin.SpecError, match="no class"):
        fanin.every_scheme(spec(tmp_path, transport='class = "gold"'))


def test_the_command_runs_them_all_and_says_what_it_leaves_out(command: Command, tmp_path: Path) -> None:
    path = spec(tmp_path, marking="")
    done = command("compare", path, "--schemes", "all", "--json")
    assert done.returncode == 0, done.stderr
    suits, unfit = fanin.every_scheme(path)
    assert [row["scheme"] for row in json.loads(done.stdout)["rows"]] == suits
    for scheme in unfit:
        assert f"{scheme} is left out: " in done.stderr


def test_python_compares_all_too(tmp_path: Path) -> None:
    path = spec(tmp_path)
    compared = fanin.compare(path, "all", progress=False)
    assert [row.scheme for row in compared.rows] == [scheme for scheme in FAMILIES if scheme != TRIMMED]
    with pytest.raises(fanin.SpecError, match='"every" is neither'):
        fanin.compare(path, "every", progress=False)

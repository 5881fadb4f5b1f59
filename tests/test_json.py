"""What programs read: one JSON document per command, also where it fails."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanin
from conftest import Command
from fanin import _core


def document(command: Command, *arguments: str | Path, code: int = 0) -> Any:
    """What a command prints with --json: one document and nothing else on stdout."""
    done = command(*arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_a_run_is_a_document(command: Command, tiny: Path) -> None:
    told = document(command, "run", tiny, "--scheme", "dcqcn")
    assert told["ok"]
    assert told["complete"]
    assert told["name"] == "tiny incast"
    assert told["folder"] == "runs/tiny-incast/dcqcn"
    (row,) = told["rows"]
    (run,) = told["runs"]
    assert row["fct_p99_us"] == run["summary"]["traffics"][0]["completion_us"]["p99"] > 0
    assert run["manifest"]["packet_hops"] > 0
    assert [key for key in keys(told) if not re.fullmatch(r"[a-z][a-z0-9_]*", key)] == []
    assert document(command, "show", "runs/tiny-incast/dcqcn") == told


def test_a_comparison_over_seeds_is_a_document(command: Command, tiny: Path) -> None:
    told = document(command, "compare", tiny, "--schemes", "none,dcqcn", "--seeds", "2")
    assert [(row["scheme"], row["runs"]) for row in told["rows"]] == [("none", 2), ("dcqcn", 2)]
    assert told["rows"][0]["fct_p99_us_ci95"] > 0
    assert [Path(run["folder"]).name for run in told["runs"]][:2] == ["none-seed-1", "none-seed-2"]
    assert document(command, "show", told["folder"]) == told


def test_schemes_and_manuals_are_documents(command: Command) -> None:
    listed = document(command, "schemes")["schemes"]
    assert [row["id"] for row in listed] == [row["id"] for row in _core.schemes()]
    assert all(row["title"] for row in listed)
    manual = document(command, "explain", "dart")
    assert manual["id"] == "dart"
    assert "## Control law" in manual["manual"]


def test_a_checked_spec_is_a_document(command: Command, tiny: Path) -> None:
    told = document(command, "check", tiny)
    assert told["ok"]
    assert told["spec"]["measure"]["drain_limit"] == "20 ms"


def test_a_new_spec_is_a_spec(command: Command, tmp_path: Path) -> None:
    (tmp_path / "my.json").write_text(json.dumps(document(command, "new")))
    assert document(command, "check", "my.json")["spec"]["name"] == "my incast"


def test_the_version_is_a_document(command: Command) -> None:
    told = document(command, "version")
    assert told["version"] == _core.__version__
    assert set(told) == {"version", "python", "os", "arch"}


def test_the_schema_is_a_document(command: Command) -> None:
    assert document(command, "schema") == json.loads(_core.schema())


def test_made_files_are_documents(command: Command, tmp_path: Path) -> None:
    told = document(command, "gen", "topology", "star", "--hosts", "4", "-o", "topo.txt")
    text = (tmp_path / "topo.txt").read_text()
    assert told == {"ok": True, "file": "topo.txt", "bytes": len(text), "lines": len(text.splitlines())}
    told = document(command, "gen", "incast", "--senders", "2", "--hosts", "4", "-o", "-")
    assert told["file"] is None
    assert told["text"].splitlines()[0] == "2"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "absent.toml"), 2, "absent.toml: there is no such file"),
        (("check", "bad.toml"), 2, "bad.toml:1: "),
        (("explain", "nonesuch"), 2, "close to it: none, nscc; fanin schemes lists all"),
        (("bench", "--case", "z"), 2, "the cases are"),
        (("show", "."), 1, "not a run folder"),
        (("run", "--no-such-option"), 2, "--no-such-option"),
    ],
)
def test_a_failure_is_a_document(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    (tmp_path / "bad.toml").write_text("spec_version =\n")
    told = document(command, *arguments, code=code)
    assert told["ok"] is False
    assert told["exit_code"] == code
    assert says in "\n".join(told["errors"])


def test_a_run_that_cannot_be_trusted_says_so(command: Command, tiny: Path) -> None:
    starved = ("--set", 'network.buffer.headroom="0 B"', "--set", 'network.buffer.per_port="6 KB"')
    told = document(command, "run", tiny, "--scheme", "none", *starved, code=1)
    assert not told["ok"]
    assert "lossless" in told["errors"][0]
    assert document(command, "run", tiny, "--scheme", "none", *starved, "--allow-drops")["ok"]


def test_the_document_agrees_with_python(command: Command, tiny: Path, compared: fanin.Comparison) -> None:
    told = document(command, "compare", tiny)
    assert told["rows"] == [row.to_json() for row in compared.rows]

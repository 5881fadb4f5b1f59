"""What commands print stays as long as a screen, however many traffics, schemes, errors and warnings there are."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from rich.console import Console, RenderableType

import configurations
import fanin
from conftest import Command
from fanin import explanation, stopping
from fanin.by_traffic import by_traffic, slowest
from fanin.cli import common
from fanin.cli.common import CommandError
from fanin.comparison import Comparison
from fanin.measures import reported
from fanin.reporting import page
from fanin.run_tables import with_flows
from fanin.side_by_side import MOST_COLUMNS, MOST_ROWS
from fanin.traffic_table import SLOWEST, every_traffic

SCREEN = 60

MANY = pytest.mark.parametrize("count", [1_000, 10_000])


def printed(what: RenderableType) -> list[str]:
    """Lines on a terminal of 80 columns."""
    text = io.StringIO()
    Console(file=text, width=80).print(what)
    return text.getvalue().splitlines()


def with_traffics(like: fanin.Result, count: int) -> fanin.Result:
    """The run with so many traffics, each with one of its finished messages; message `n` took `n + 1` us."""
    one = like.summary()["traffics"][0]
    names = [f"t{number}" for number in range(count)]
    first = reported(like).head(1)
    traffics = [
        {**one, "traffic": name, "started": 1, "finished": 1, "unfinished": 0, "counted_with": []} for name in names
    ]
    flows = pl.concat([first] * count).with_columns(
        pl.Series("traffic", names),
        pl.Series("flow_id", range(count), dtype=pl.UInt64),
        pl.Series("completion_ps", [(number + 1) * 10**6 for number in range(count)], dtype=pl.UInt64),
        pl.Series("slowdown", [number + 1.0 for number in range(count)]),
    )

    summary = {**like.summary(), "traffics": traffics}
    return replace(like, _summary=cast("fanin.run_folder.Summary", summary), _arrow=with_flows(like, flows))


@MANY
def test_of_many_traffics_the_slowest_are_shown(result: fanin.Result, count: int) -> None:
    run = with_traffics(result, count)
    lines = printed(Comparison([run], False).text("runs/a b"))
    assert len(lines) <= SCREEN
    shown = [line.split()[0] for line in lines if line.strip().startswith("t") and line.strip()[1].isdigit()]
    assert shown == [f"t{number}" for number in range(count - 1, count - 1 - SLOWEST, -1)]
    assert any(f"The slowest {SLOWEST} of {count:,} traffics" in line for line in lines)
    assert lines[-1] == "all of them: fanin show 'runs/a b' --traffics"
    every = [*every_traffic([run])]
    assert len(every) == count + 1
    assert every[1].split()[0] == "t0"
    assert every[1].split()[-3:] == ["1.00", "us", "1.00"]
    made = page.page(Comparison([run], False), None)
    assert len(made.traffics_head) == MOST_COLUMNS
    assert len(dict(made.facts)["Traffic"]) < 2000


def test_traffics_with_unfinished_messages_come_first(result: fanin.Result) -> None:
    run = with_traffics(result, 30)
    traffics = run.summary()["traffics"]
    traffics[3]["finished"], traffics[3]["unfinished"] = 0, 1
    assert [one.name for one in slowest(by_traffic([run]), 3)] == ["t3", "t29", "t28"]


@pytest.mark.parametrize("count", [100, 1_000])
def test_many_schemes_are_a_row_each(compared: fanin.Comparison, count: int) -> None:
    many = Comparison(compared.results, False)
    row = compared.rows[0]
    many.__dict__["rows"] = [replace(row, scheme=f"scheme-{number}") for number in range(count)]
    lines = printed(many.text("runs/many"))
    assert len(lines) <= SCREEN + MOST_ROWS
    assert sum("scheme-" in line for line in lines) == MOST_ROWS
    assert f"and {count - MOST_ROWS} schemes more: runs/many/compare.json" in lines


@MANY
def test_many_traffics_and_thresholds_are_explained_in_short(tiny: Path, count: int) -> None:
    made = explanation.explain(tiny)
    of = made["traffics"][0]
    made["traffics"] = [{**of, "name": f"t{n}", "parameters": {"number": n}} for n in range(count)]
    made["classes"] = [{**made["classes"][0], "name": f"c{n}", "traffics": []} for n in range(count)]
    made["warnings"] = ["this"] * count
    made["network"]["tiers"][0]["rates"] = [{"rate_bps": n, "links": 1} for n in range(count)]
    lines = printed(explanation.table(made))
    assert len(lines) < 4 * SCREEN
    assert "--json has all" in "".join(lines)


@MANY
@pytest.mark.parametrize("print_lines", [common.warn, common.error])
def test_many_errors_are_the_first_few(
    count: int, print_lines: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    common.few([f"number {n}" for n in range(count)], print_lines, "of them", "--json prints all")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == common.MOST_LINES + 1
    assert told[-1].endswith(f"and {count - common.MOST_LINES:,} of them more: --json prints all")
    common.tell(CommandError("\n".join("x" for _ in range(count)), 2), as_json=True)
    both = capsys.readouterr()
    assert len(both.err.splitlines()) == common.MOST_LINES + 1
    assert len(json.loads(both.out)["errors"]) == count


def test_a_port_for_each_flow_of_a_configuration(command_here: Command, tmp_path: Path) -> None:
    count = 300
    flows = [f"{n % 15} 15 3 {20_000 + n} 2000 {2 + n * 1e-6:.6f}" for n in range(count)]
    configurations.write(tmp_path, flows, hosts=16)
    ran = command_here("run", "--hpcc", "config.txt", "--out", "r")
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) <= SCREEN
    assert "all of them: fanin show r --traffics" in ran.stdout
    every = command_here("show", "r", "--traffics")
    assert len(every.stdout.splitlines()) == count + 1
    # All ports are under one law, so what it did is counted once.
    traffics = json.loads((tmp_path / "r" / "summary.json").read_text())["traffics"]
    assert traffics[0]["counted_with"] == [f"dport-{20_000 + n}" for n in range(1, 9)]
    assert command_here("show", "r", "--traffics", "--json").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_printing_at_once(number: signal.Signals) -> None:
    code = (
        "import time\nfrom fanin import stopping\n"
        "with stopping.stoppable(), stopping.held(), stopping.printing('results: here'):\n"
        "    print('begun', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert told == "results: here\n"


def test_printing_leaves_the_handling_of_signals_as_it_was() -> None:
    own = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with stopping.printing(""):
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, own)

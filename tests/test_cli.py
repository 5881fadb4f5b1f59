"""The command line: help, output, errors."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import fanin
from conftest import Command
from fanin import cli
from fanin.cli.errors import OTHERS

COMMANDS = (
    "run",
    "run-hpcc",
    "run-htsim",
    "run-uec",
    "compare",
    "compare-hpcc",
    "compare-htsim",
    "compare-uec",
    "show",
    "new",
    "check",
    "explain",
    "schemes",
    "schema",
    "report",
    "plot",
    "why",
    "bench",
    "new-scheme",
    "check-scheme",
    "paper",
    "validate",
    "version",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(command: Command, name: str) -> None:
    done = command(name, "--help")
    assert done.returncode == 0
    assert f"fanin {name}" in done.stdout
    if name != "version":
        assert f"Examples:\n    fanin {name}" in done.stdout


def test_help_of_gen_goes_from_files_to_a_run(command: Command, tmp_path: Path, root: Path) -> None:
    told = command("gen", "--help").stdout
    shutil.copytree(root / "examples" / "collectives", tmp_path / "examples" / "collectives")
    for line in told[told.index("Examples:") :].splitlines()[1:]:
        if line.strip().startswith("fanin "):
            done = command(*line.split()[1:])
            assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "runs" / "config" / "fct.txt").stat().st_size > 0


def test_help_lists_every_command(command: Command) -> None:
    listed = command("--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in listed] == []


def wrong(command: Command, *arguments: str | Path, code: int = 2) -> str:
    """Runs a command that must fail, and returns its message."""
    done = command(*arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    return done.stderr


def test_help_loads_no_library_of_tables_or_pictures() -> None:
    heavy = ("polars", "numpy", "matplotlib", "pydantic")
    loaded = f"import sys, fanin.cli; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_missing_spec_is_named(command: Command) -> None:
    assert wrong(command, "run", "absent.toml") == (
        "error: absent.toml: there is no such file or folder; check its name\n"
    )


def test_a_spec_must_be_toml_or_json(command: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("name: x")
    assert ".toml or a .json file" in wrong(command, "check", "spec.yaml")


def test_a_spec_must_be_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_bytes(b'name = "\xff"')
    assert "byte 8 is not UTF-8" in wrong(command, "check", "spec.toml")


def test_a_spec_must_be_a_file_of_some_size(command: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert "pipe.toml: not a file" in wrong(command, "check", "pipe.toml")
    with (tmp_path / "long.toml").open("wb") as file:
        file.truncate(10**10)
    assert "10,000,000,000 bytes" in wrong(command, "run", "long.toml")


def test_an_unknown_key_is_named_with_file_and_line(command: Command, tiny: Path, tmp_path: Path) -> None:
    text = tiny.read_text().replace("drain = true", "drian = true")
    (tmp_path / "typo.toml").write_text(text)
    line = 1 + text[: text.index("drian")].count("\n")
    message = wrong(command, "run", "typo.toml")
    assert f"typo.toml:{line}: " in message
    assert "drian" in message
    assert not (tmp_path / "runs").exists()


def test_a_missing_unit_is_an_error(command: Command, tiny: Path) -> None:
    assert "measure.window" in wrong(command, "check", tiny, "--set", "measure.window=4")


def test_an_unknown_scheme_is_an_error_that_says_what_lists_them(command: Command, tiny: Path) -> None:
    for arguments in (("run", tiny, "--scheme", "nonesuch"), ("compare", tiny, "--schemes", "none,nonesuch")):
        message = wrong(command, *arguments)
        assert "nonesuch" in message
        assert "fanin schemes lists all" in message
    assert "fanin schemes lists all" in wrong(command, "explain", "nonesuch")


def test_seeds_must_be_numbers(command: Command, tiny: Path) -> None:
    for seeds in ("1,x", "0", "-1", "", "1,,2", "9" * 30):
        assert "--seeds 1,2,3" in wrong(command, "compare", tiny, f"--seeds={seeds}")


def test_an_unknown_benchmark_case_is_an_error(command: Command) -> None:
    assert "the cases are" in wrong(command, "bench", "--case", "nonesuch")


def test_show_wants_a_run_folder(command: Command, tmp_path: Path) -> None:
    assert f"{tmp_path}: not a run folder" in wrong(command, "show", tmp_path, code=1)


def test_why_wants_one_run(command: Command, compared: fanin.Comparison, tmp_path: Path) -> None:
    compared.save(tmp_path / "both")
    assert "both: a comparison; choose one of its runs: dcqcn, none" in wrong(command, "why", "both")
    assert f"{tmp_path}: not a run folder" in wrong(command, "why", tmp_path, code=1)
    assert "a picture is a .png, .svg or .pdf file" in wrong(command, "why", "both/none", "-o", "why.txt")
    done = command("why", "both/none", "--json", "-o", "why.svg")
    told = json.loads(done.stdout)
    assert told["repeated"], done.stderr
    assert told["picture"] == "why.svg"
    assert (tmp_path / "why.svg").stat().st_size > 1000


def test_a_picture_and_a_report_are_written(command: Command, compared: fanin.Comparison, tmp_path: Path) -> None:
    compared.save(tmp_path / "both")
    assert command("plot", "queues", "both").stdout == "written: both/queues.png\n"
    assert json.loads(command("plot", "slowdown", "both/none", "both/dcqcn", "--json").stdout)["runs"] == [
        "none",
        "dcqcn",
    ]
    assert "known: comparison, fct, flows, goodput" in wrong(command, "plot", "nonesuch", "both")
    assert "of which run?" in wrong(command, "plot", "queues")
    message = wrong(command, "plot", "goodput", "both", code=1)
    assert "add to measure.series" in message
    told = json.loads(command("report", "both", "--json").stdout)
    assert told["report"] == "both/report.html"
    assert (tmp_path / "both" / "report.html").stat().st_size == told["bytes"]
    assert f"{tmp_path}: not a run folder" in wrong(command, "report", tmp_path, code=1)


def test_explain_shows_the_manual(command: Command) -> None:
    manual = command("explain", "dcqcn").stdout
    for heading in ("Idea", "Signals", "Control law", "Parameters", "References"):
        assert f"## {heading}\n" in manual


def test_schemes_lists_every_preset(command: Command) -> None:
    listed = command("schemes").stdout
    for scheme in ("none", "fixed-window", "dcqcn", "dcqcn-win"):
        assert scheme in listed


def test_schema_is_json(command: Command) -> None:
    assert "properties" in json.loads(command("schema").stdout)


def test_check_prints_every_default(command: Command, tiny: Path) -> None:
    resolved = json.loads(command("check", tiny, "--json", "--set", "seed=7").stdout)["spec"]
    assert resolved["name"] == "tiny incast"
    assert resolved["seed"] == 7
    assert "ok" in command("check", tiny).stdout


def overload(name: str) -> tuple[str, str]:
    return "--set", f"traffic.{name}.load.share=0.9"


def test_check_warns_as_run_does(command: Command, tiny: Path) -> None:
    warning = "the traffics offer 180 % of host-links: queues grow without bound"
    both = (*overload("queries"), *overload("updates"))
    done = command("check", tiny, *both)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"warning: {warning}\n"
    assert json.loads(command("check", tiny, *both, "--json").stdout)["warnings"] == [warning]
    assert f"warning: {warning}\n" in command("run", tiny, *both, "--set", "measure.window=100 us").stderr
    assert command("check", tiny).stderr == ""


def test_version(command: Command) -> None:
    assert command("version").stdout == f"{fanin.__version__}\n"


def test_run_leaves_a_folder_that_show_shows(command: Command, tiny: Path, tmp_path: Path) -> None:
    done = command("run", tiny, "--scheme", "none", "--seed", "5")
    assert done.returncode == 0, done.stderr
    folder = Path("runs/tiny-incast/none-seed-5")
    assert done.stdout.endswith(f"results: {folder}\n")
    assert fanin.load(tmp_path / folder).manifest["seed"] == 5
    assert command("show", folder).stdout == done.stdout.removesuffix(f"results: {folder}\n")


def test_a_folder_of_my_own_is_not_replaced_unasked(command: Command, tiny: Path) -> None:
    assert command("run", tiny, "--out", "mine").returncode == 0
    assert "mine: exists" in wrong(command, "run", tiny, "--out", "mine")
    assert command("run", tiny, "--out", "mine", "--force").returncode == 0


def test_a_folder_with_other_things_is_never_replaced(command: Command, tiny: Path, tmp_path: Path) -> None:
    thesis = tmp_path / "mine" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    wrong(command, "run", tiny, "--out", "mine", "--force")
    assert thesis.read_text() == "years of work"


def test_a_drop_in_a_lossless_class_fails_the_run_unless_allowed(command: Command, tiny: Path) -> None:
    # Without headroom for packets in flight after a PAUSE, PFC cannot protect an incast at line rate.
    starved = ("--set", 'network.buffer.headroom="0 B"', "--set", 'network.buffer.per_port="6 KB"')
    failed = command("run", tiny, "--scheme", "none", *starved)
    assert failed.returncode == 1
    assert "lossless" in failed.stderr
    assert "messages started" in failed.stdout
    assert command("run", tiny, "--scheme", "none", *starved, "--set", "measure.allow_drops=true").returncode == 0


def test_a_warning_of_the_spec_is_told_once(command: Command, root: Path) -> None:
    spec = root / "papers" / "specs" / "dctcp" / "fig20-incast-dynamic.toml"
    slow = "traffic.queries.tcp.ack_delay=20 ms"
    done = command(
        "compare", spec, "--schemes", "dctcp,newreno", "--set", slow, "--set", "traffic.queries.pattern.rounds=2"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: traffic[0].tcp: ack_delay = 20 ms") == 1


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("fanin ", {"run", "compare", "explain", "report", "why", "gen"}),
        ("fanin run --scheme dcq", {"dcqcn", "dcqcn-win"}),
        ("fanin compare my.toml --schemes dart,hp", {"dart,hpcc"}),
        ("fanin explain dar", {"dart"}),
        ("fanin new --like ", {"incast", "web-search", "fairness", "spraying"}),
        ("fanin plot ", {"slowdown", "goodput"}),
        ("fanin run --max", {"--max-memory", "--max-time"}),
    ],
)
def test_the_shell_completes(tmp_path: Path, line: str, offers: set[str]) -> None:
    words = line.split(" ")
    asked = {"_FANIN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    script = "import sys; sys.argv = ['fanin']; from fanin.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert offers <= set(done.stdout.split()), done.stderr


def test_a_fault_of_ours_is_one_line_and_a_file(
    command_anew: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import fanin._core as core\ndef broken(): raise KeyError('nobody knows')\ncore.schemes = broken\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = command_anew("schemes")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    found = re.fullmatch(
        r"error: a fault in Fanin: KeyError: 'nobody knows'. Please report it with (\S+), which.*", line
    )
    assert found is not None, line
    assert "Traceback" in Path(found[1]).read_text()


def callbacks(app: typer.Typer) -> Iterator[Callable[..., Any]]:
    """The functions of all commands, before their groups of options are taken apart."""
    yield from (inspect.unwrap(one.callback) for one in app.registered_commands if one.callback is not None)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from callbacks(group.typer_instance)


def test_no_command_is_a_function_of_more_than_eight_parameters() -> None:
    counts = {one.__name__: len(inspect.signature(one).parameters) for one in callbacks(cli.app)}
    assert counts["run"] > 1
    assert {name: count for name, count in counts.items() if count > 8} == {}


APP: Any = typer.main.get_command(cli.app)


@pytest.mark.parametrize("name", ["run-hpcc", "run-htsim", "run-uec", "compare-hpcc", "compare-htsim", "compare-uec"])
def test_the_older_spelling_is_the_same_command(name: str) -> None:
    context = APP.context_class(APP, info_name="fanin")
    word, option = name.split("-")
    for words in ([word, f"--{option}", "a", "--json"], [word, "a", "--json", f"--{option}"]):
        told, command, rest = APP.resolve_command(context, words)
        assert (told, command.name, rest) == (word, name, ["a", "--json"]), "messages name the command as it was typed"


def test_options_of_another_command_are_told() -> None:
    def options(name: str) -> set[str]:
        return {option for one in APP.commands[name].params for option in one.opts}

    for name, told in OTHERS.items():
        others = set().union(*(options(str(one)) for one in OTHERS if one != name)) | {"--htsim", "--uec"}
        assert not options(str(name)) & set(told), name
        assert set(told) <= others, name


def test_options_that_another_command_has_are_errors(command: Command) -> None:
    for line, told in (
        ("run a.toml --trace", "--trace: this trace is that of the ns-3 HPCC simulator; it goes with --hpcc"),
        ("run --hpcc c.txt --clock real", "--clock: it goes with --on wire"),
        ("run --hpcc c.txt --htsim", "--hpcc and --htsim: files are of one simulator"),
        ("run --htsim m.cm --on wire", "--on wire runs specs, no files of other simulators"),
        ("compare --htsim m.cm --dialect uec", "--dialect: it is of a configuration's files; it goes with --hpcc"),
        ("compare-hpcc c.txt --on wire", "--on: a configuration of the ns-3 HPCC simulator runs in the simulator"),
    ):
        done = command(*line.split())
        assert (done.returncode, done.stderr) == (2, f"error: {told}\n"), line

"""Errors quote the option as it was typed, with a remedy; never the message of a library."""

import json
import shutil
from pathlib import Path

import pytest

import fanin
from conftest import Command

RAW = ("Traceback", "[Errno", "(os error", "Error(", "Input should be", "Expecting", "list indices", "argument ")
"""Messages of Python, Rust and their libraries."""


@pytest.fixture
def command(command_here: Command) -> Command:
    """Each of these errors is one of a process that goes on."""
    return command_here


def told(command: Command, *arguments: str | Path, code: int = 2) -> str:
    """Runs a command that must fail before anything has run, and returns its message."""
    done = command(*arguments)
    assert done.returncode == code, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("running ")]
    assert all(line.startswith("error: ") for line in lines), done.stderr
    assert not any(raw in done.stderr for raw in RAW), done.stderr
    return "\n".join(lines)


@pytest.fixture
def here(tmp_path: Path, tiny: Path) -> Path:
    """A spec, and things of the wrong kind."""
    shutil.copy(tiny, tmp_path / "tiny.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "bad.json").write_text('{"spec_version": 1,')
    return tmp_path


@pytest.mark.parametrize(
    ("line", "says"),
    [
        # The command line.
        ("rum tiny.toml", 'rum: there is no such command; did you mean run'),
        ("check", "SPEC is missing (a spec, .toml or .json); fanin check --help"),
        ("check tiny.toml more", "more: more than the command takes"),
        ("run tiny.toml --treads 3", "--treads: there is no such option; did you mean --threads"),
        ("run tiny.toml --seed x", "--seed x: not a whole number"),
        ("run tiny.toml --seed=-1", "--seed=-1: too small, it is 0 or more"),
        ("run tiny.toml --seed 99999999999999999999", "--seed 99999999999999999999: too large"),
        ("run tiny.toml --threads 0", "--threads 0: too small, it is 1 or more"),
        ("gen topology fat-tree", "-o/--out is missing"),
        ("bench --scale 0", "--scale 0: it is above 0"),
        ("run tiny.toml --max-memory 8", '--max-memory "8": not a size; write a number and a unit'),
        ("run tiny.toml --max-time 5m", '--max-time "5m": not a time; write a number and a unit'),
        # Schemes.
        ("run tiny.toml --scheme dcqn", '--scheme dcqn: there is no scheme "dcqn"; did you mean "dcqcn"?'),
        ("compare tiny.toml --schemes none,dcqn", '--schemes none,dcqn: there is no scheme "dcqn"; did you mean'),
        ("compare tiny.toml --schemes dcqcn+irm", "--schemes dcqcn+irm: after + stands a loss policy, and there is no"),
        ("sweep tiny.toml --schemes dcqn", '--schemes dcqn: there is no scheme "dcqn"; did you mean "dcqcn"?'),
        ("run tiny.toml --scheme ./nonesuch", "--scheme ./nonesuch: nonesuch: No such file or directory"),
        ("run tiny.toml --scheme spam", '--scheme spam: there is no scheme "spam"; fanin schemes lists all'),
        ("run tiny.toml --balancing spray", '--balancing spray: network.balancing: "spray" is not known; known: '),
        ('run tiny.toml --set network.balancing="spray"', '--set "network.balancing="spray"": network.balancing: '),
        ("run tiny.toml --discipline qu", '--discipline qu: network.discipline: "qu" is not known; known: fifo'),
        ("check tiny.toml --set network.balancing={id='x'}", '"mixed"; load one of your own with --load'),
        ("watch --scheme dcqcn --beside dcqn --once", '--beside dcqn: there is no scheme "dcqn"; did you mean "dcqcn"'),
        ("watch --scheme dcqcn -o absent/a.png --once", "absent/a.png: there is no folder absent; check its name"),
        ("explain dcqn", 'dcqn: neither a spec, which is a .toml or .json file, nor a scheme; did you mean "dcqcn"?'),
        ("plot queus runs", 'no picture queus; did you mean "queues"?'),
        ("new --like fairnes", '--like fairnes: there is no such spec; did you mean "fairness"?'),
        ("paper dctcp-fig99", 'dctcp-fig99: there is no such experiment or paper; did you mean "dctcp-fig'),
        # Changes.
        ("check tiny.toml --set measure.windw=4ms", '--set "measure.windw=4ms": measure.windw: unknown key; '
         'did you mean "window"?'),
        ("check tiny.toml --set mesure.window=4ms", '--set "mesure.window=4ms": mesure: unknown key; '
         'did you mean "measure"?'),
        ("check tiny.toml --set window=4ms", '--set "window=4ms": window: unknown key; '
         'did you mean "measure.window"?'),
        ("check tiny.toml --set measure.window", '--set "measure.window": no "="; write it like --set'),
        ("sweep tiny.toml --vary measure.windw=1ms", '--vary "measure.windw=1ms": measure.windw: unknown key'),
        ("sweep tiny.toml --loads 30", "--loads 30: traffic[1].load.share: 60 long flows"),
        ("check tiny.toml --set network.topology.link=10GB/s", 'write "80 Gbps" for 10 GB a second, or "10 Gbps"'),
        # Files.
        ("run absent.toml", "absent.toml: there is no such file"),
        ("run folder.toml", "folder.toml: not a file"),
        ("run file", "file: a spec is a .toml or a .json file"),
        ("check bad.json", "bad.json:1: this is not valid JSON: it ends in the middle, in column 19"),
        ("run --hpcc absent", "absent: cannot be read: there is no such file"),
        ("run --hpcc folder.toml", "folder.toml: cannot be read: it is a folder"),
        ("run --htsim absent.cm --scheme dcqcn", "absent.cm: cannot be read: there is no such file"),
        ("new absent/my.toml", "absent/my.toml: there is no folder absent; check its name, or make it"),
        ("new file/my.toml", "file/my.toml: file is a file and not a folder"),
        ("new folder.toml --force", "folder.toml: it is a folder; name a file"),
        ("gen topology star -o absent/x", "absent/x: there is no folder absent"),
        ("gen topology star -o file/x", "file/x: file is a file and not a folder"),
        ("gen config --cc hpcc --topology absent --flows absent -o x", "absent: cannot be read: there is no such file"),
        ("gen flows --cdf absent --load 0.3 --hosts 4 -o x", "--cdf absent: cannot be read: there is no such file"),
        ("gen incast --senders 2 --receiver 9 --hosts 4 -o x", "--receiver 9: there is no such host"),
        ("gen topology star --rate 100GBps -o x", '--rate: "100GBps" is not a rate'),
        ("run tiny.toml --out file/x", "file/x: no folder can be made here, since"),
        ("compare tiny.toml --out file/x", "file/x: no folder can be made here, since"),
        ("run tiny.toml --out file", "file: exists and is not a run folder"),
        ("sweep tiny.toml --out file", "file: exists and is not a sweep"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_as_it_was_typed(command: Command, here: Path, line: str, says: str) -> None:
    assert says in told(command, *line.split())
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("manifest.json", "{\n", "manifest.json: damaged: it is no JSON from line 2 on"),
        ("manifest.json", "{}", 'manifest.json: damaged: it has no key "version"'),
        ("manifest.json", "[]", "manifest.json: damaged: it holds no table of keys"),
        ("summary.json", None, "summary.json: damaged run folder: there is no such file"),
        ("spec.resolved.toml", "x = \n", "spec.resolved.toml: damaged: it has 5 bytes"),
        ("flows.arrow", None, "flows.arrow: damaged run folder: there is no such file"),
        ("flows.arrow", "x", "flows.arrow: damaged: it has 1 bytes"),
        ("../compare.json", "[]", "compare.json: damaged: it holds no table of keys"),
    ],
)
def test_damaged_results_are_told(
    command: Command, compared: fanin.Comparison, tmp_path: Path, file: str, content: str | None, says: str
) -> None:
    compared.save(tmp_path / "both")
    path = tmp_path / "both" / "none" / file
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    for line in (("show", "both"), ("report", "both"), ("plot", "completion", "both")):
        assert says in told(command, *line, code=1)
    if "compare" not in file:
        assert says in told(command, "why", "both/none", code=1)


def test_where_pictures_and_reports_cannot_go_is_told(
    command: Command, compared: fanin.Comparison, tmp_path: Path
) -> None:
    compared.save(tmp_path / "both")
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.png").mkdir()
    assert "it is a folder; name a file" in told(command, "report", "both", "-o", "both")
    assert "file: it is a file and not a folder" in told(command, "report", "both", "-o", "file/x.html")
    assert "file is a file and not a folder" in told(command, "plot", "queues", "both", "-o", "file/x.png")
    assert "folder.png: it is a folder" in told(command, "plot", "queues", "both", "-o", "folder.png")
    assert "absent: not a run folder" in told(command, "report", "absent", code=1)
    assert "file: not a run folder" in told(command, "show", "file", code=1)
    assert "there is nothing of this name" in told(command, "why", "absent", code=1)


def test_a_sweep_is_told_from_a_run(command: Command, tiny: Path) -> None:
    assert command("sweep", tiny, "--schemes", "none", "--out", "grid").returncode == 0
    assert "it is a sweep, which fanin show prints" in told(command, "why", "grid", code=1)
    # A sweep keeps its numbers, and its runs only if asked to.
    assert "--keep-runs" in told(command, "plot", "queues", "grid", code=1)


def test_names_of_distributions_are_found_in_any_case(command: Command, here: Path) -> None:
    def cdf(name: str) -> str:
        size = f'traffic.queries.size={{ cdf = "{name}" }}'
        done = command("check", "tiny.toml", "--set", size, "--set", "traffic.queries.load.share=0.1", "--json")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["spec"]["traffic"][0]["size"])

    for name in ("WebSearch", "websearch", "WEBSEARCH", "web-search", "Web_Search"):
        assert cdf(name) == "{'cdf': 'WebSearch'}"
    assert cdf("fb_hadoop") == cdf("FbHadoop") == "{'cdf': 'FB_Hadoop'}"
    # A file of that name has priority.
    (here / "websearch").write_text("1000 0\n2000 100\n")
    assert "cdf_points" in cdf("websearch")
    assert cdf("WebSearch") == "{'cdf': 'WebSearch'}"


@pytest.mark.usefixtures("here")
def test_units_are_what_people_write(command: Command) -> None:
    for change, shown in (
        ("measure.window=4 \u00b5s", "4 us"),
        ("measure.window=4\u03bcs", "4 us"),
        ("measure.window=4 usec", "4 us"),
    ):
        done = command("check", "tiny.toml", "--set", change, "--json")
        assert json.loads(done.stdout)["spec"]["measure"]["window"] == shown, done.stderr
    for change in ("10 Gbit/s", "10 gbps", "10Gb/s"):
        done = command("check", "tiny.toml", "--set", f"network.topology.link={change}", "--json")
        assert json.loads(done.stdout)["spec"]["network"]["topology"]["link"] == "10 Gbps", done.stderr
    assert 'write "64 KB"' in told(command, "check", "tiny.toml", "--set", "network.marking.above=64 kb")


def test_version_is_name_and_version(command: Command) -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"fanin {fanin.__version__}\n")

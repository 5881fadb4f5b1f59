"""`fanin new-scheme`: what it writes passes its own test, the check, ruff and mypy, and runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fanin
from conftest import ROOT, Command
from fanin.new_schemes import new_scheme


def run(folder: Path, *line: str) -> subprocess.CompletedProcess[str]:
    # cargo builds in the folder itself.
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=300, env=environment)


def passes(folder: Path, *line: str) -> None:
    done = run(folder, *line)
    assert done.returncode == 0, f"{' '.join(line)}\n{done.stdout}{done.stderr}"


def test_a_python_scheme_is_checked_typed_and_tested(command: Command, tmp_path: Path) -> None:
    made = command("new-scheme", "half-window")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "half-window"
    assert sorted(path.name for path in folder.iterdir()) == ["half_window.py", "test_half_window.py"]
    assert "fanin check-scheme half_window.py:HalfWindow" in made.stderr
    assert "cd half-window" in made.stderr
    text = (folder / "half_window.py").read_text(encoding="utf-8")
    assert not any(word in text for word in ("my-scheme", "MyScheme", "my_scheme"))
    python = sys.executable
    passes(folder, python, "-m", "ruff", "check", "--isolated", "--line-length=120", "--select=E,F,I,N,UP,B,RUF", ".")
    passes(folder, python, "-m", "ruff", "format", "--isolated", "--line-length=120", "--check", ".")
    passes(folder, python, "-m", "mypy", "--strict", f"--cache-dir={ROOT / '.mypy_cache'}", ".")
    passes(folder, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_half_window.py")
    report = fanin.check_scheme(f"{folder / 'half_window.py'}:HalfWindow", cases=32, progress=False)
    assert report.ok, report


@pytest.mark.parametrize(("language", "build"), [("c", ["make"]), ("rust", ["cargo", "build", "--release"])])
def test_a_library_is_built_and_has_the_bits_of_the_class(
    language: str, build: list[str], command: Command, tiny: Path, tmp_path: Path
) -> None:
    made = command("new-scheme", "half-window", "--language", language, "--out", "own")
    assert made.returncode == 0, made.stderr
    assert " ".join(build) in made.stderr
    built = run(tmp_path / "own", *build)
    assert built.returncode == 0, built.stderr
    assert "warning" not in built.stderr
    library = str(tmp_path / "own" / new_scheme("half-window", language).reference)
    report = fanin.check_scheme(library, cases=32, progress=False)
    assert report.ok, report
    new_scheme("half-window").write(tmp_path / "class")
    references = (library, f"{tmp_path / 'class' / 'half_window.py'}:HalfWindow")
    runs = [fanin.run(tiny, scheme=reference, progress=False) for reference in references]
    assert runs[0].manifest["event_hash"] == runs[1].manifest["event_hash"]
    assert runs[0].summary()["traffics"][0]["actions"]["cuts"] > 0


@pytest.mark.parametrize("name", ["My-Scheme", "my_scheme", "-x", "x-", "a--b", "1st", "", "a" * 41, "dctcp"])
def test_a_name_is_checked(name: str, command: Command, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scheme"):
        new_scheme(name)
    done = command("new-scheme", "--out", "there", "--", name)
    assert done.returncode == 2
    assert not (tmp_path / "there").exists()


def test_nothing_is_overwritten_unless_it_may_be(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    mine = tmp_path / "own" / "test_my_law.py"
    mine.write_text("mine", encoding="utf-8")
    done = command("new-scheme", "my-law", "--out", "own")
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert mine.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "own" / "my_law.py").exists(), "all or nothing"
    assert command("new-scheme", "my-law", "--out", "own", "--force").returncode == 0
    assert "my-law" in mine.read_text(encoding="utf-8")


def test_a_language_without_a_template_is_an_error(command: Command) -> None:
    done = command("new-scheme", "my-law", "--language", "fortran")
    assert done.returncode == 2
    assert "python" in done.stderr

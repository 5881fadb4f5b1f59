"""How much memory and time a run may take."""

from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin import _core, limits

ROOT = Path(__file__).resolve().parent.parent
INCAST = ROOT / "examples" / "incast.toml"


def test_limits_are_written_with_units() -> None:
    assert [limits.memory(text) for text in ("16 GB", "512MiB", "1.5 KB")] == [16 * 10**9, 512 * 2**20, 1500]
    assert [limits.time(text) for text in ("90 s", "30min", "2 h", "1d")] == [90, 1800, 7200, 86400]


@pytest.mark.parametrize("text", ["", "16", "GB", "-1 GB", "16 parsecs", "0 GB", "1e3 GB", "9999999999999 TB", "٣ GB"])
def test_any_other_text_is_told(text: str) -> None:
    with pytest.raises(_core.SpecError, match="16 GB"):
        limits.memory(text)


def test_a_default_is_a_part_of_what_is_free() -> None:
    assert 0 < limits.default_memory() <= limits.available()


def test_a_control_group_may_have_less(tmp_path: Path) -> None:
    assert limits._group(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert limits._group(tmp_path) is None
    (tmp_path / "memory.max").write_text("10000\n")
    assert limits._group(tmp_path) == 9000
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 700\n")
    assert limits._group(tmp_path) == 9700


def test_a_run_above_its_limit_is_refused_with_what_it_needs() -> None:
    with pytest.raises(
        _core.LimitError, match=r"needs about .* of memory, above the limit of 1 MB.*--max-memory"
    ) as told:
        fanin.run(INCAST, max_memory=10**6, progress=False)
    assert "\n" not in str(told.value)
    assert isinstance(told.value, fanin.SpecError)
    with pytest.raises(_core.LimitError, match=r"takes about .*, above the limit of .*--max-time"):
        fanin.run(INCAST, set=["measure.window=2 s"], max_memory=10**12, max_time=1.0, progress=False)


def test_a_run_below_its_limits_runs() -> None:
    spec = ROOT / "tests" / "data" / "tiny.toml"
    result = fanin.run(spec, max_memory=10**9, max_time=3600.0, progress=False)
    assert not result.cancelled


def test_the_command_refuses_with_the_estimate_and_writes_nothing(command: Command, tmp_path: Path) -> None:
    done = command("run", INCAST, "--max-memory", "1 MB")
    assert done.returncode == 2
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "needs about" in error
    assert "above the limit of 1 MB" in error
    assert list(tmp_path.iterdir()) == []
    both = command("compare", INCAST, "--schemes", "none,dcqcn", "--max-memory", "2 MB", "--workers", "2")
    assert both.returncode == 2
    assert "above the limit of 1 MB" in both.stderr
    assert "for each of 2 runs at once" in both.stderr
    long = command("run", INCAST, "--set", "measure.window=2 s", "--max-time", "1 s", "--max-memory", "1 TB")
    assert long.returncode == 2
    assert "above the limit of 1 s" in long.stderr
    assert 'like "16 GB"' in command("run", INCAST, "--max-memory", "much").stderr

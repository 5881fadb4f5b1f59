"""The documents' Python examples run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "ns3-hpcc.md"
"""Its examples build on each other; `test_tutorial.py` runs them."""
DOCUMENTS = [path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if path != TUTORIAL]
EXAMPLES = [
    pytest.param(code, id=f"{document.relative_to(ROOT)}-{number}")
    for document in sorted(DOCUMENTS)
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL))
]


def test_the_readme_has_an_example() -> None:
    assert any(str(example.id).startswith("README.md") for example in EXAMPLES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code: str, tmp_path: Path) -> None:
    for folder in ("examples", "papers", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr

"""The documents: their Python examples run unchanged, their links are valid, and generated parts are up to date."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fanin
from fanin import _core
from fanin.runs import Job
from fanin_papers import claims
from fanin_papers.catalogue import EXPERIMENTS
from pages import spec, spec_types
from pages.build import stale
from pages.markdown import slug

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "ns3-hpcc.md"
"""Its examples build on each other; `test_tutorial.py` runs them."""
QUICK_START = ROOT / "docs" / "quick-start.md"
"""So do these; `test_quick_start.py` runs them."""
FAQ = ROOT / "docs" / "faq.md"
"""And these; `test_answers.py` runs them."""
OWN_SCHEME = ROOT / "docs" / "own-scheme.md"
"""And these; `test_own_scheme.py` runs them."""
ULTRA_ETHERNET = ROOT / "docs" / "ultra-ethernet.md"
"""And these; `test_uec.py` runs them."""
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
ALL = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DOCUMENTS = [path for path in ALL if path not in (TUTORIAL, QUICK_START, FAQ, OWN_SCHEME, ULTRA_ETHERNET)]
EXAMPLES = [
    pytest.param(code, id=f"{document.relative_to(ROOT)}-{number}")
    for document in DOCUMENTS
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


def test_pages_that_are_made_from_the_code_are_up_to_date() -> None:
    pages = stale()
    assert not pages, f"renew {', '.join(pages)} with: make docs"


@pytest.mark.parametrize("page", [*ALL, *NOTEBOOKS], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = without_code(prose(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), f"{page.name}: nothing is at {target}"
        if anchor:
            assert anchor in anchors(aim), f"{page.name}: no heading for {target}"


@pytest.mark.parametrize("page", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_there_is_one_name_for_completion_time(page: Path) -> None:
    """FCT, which concepts.md defines; elsewhere the long form is in brackets at most, except in generated parts."""
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md" or text.startswith("<!-- made by"):
        return
    text = without_code(re.sub(r"<!-- made by.*?<!-- end[^>]*-->", "", text, flags=re.DOTALL))
    text = re.sub(r"FCTs?\*{0,2} \(flow completion times?\)", "", text)
    assert not re.search(r"completion\s+times?", text, re.IGNORECASE)


def prose(page: Path) -> str:
    """The Markdown of a page or a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def without_code(text: str) -> str:
    """The text without blocks and spans of code, in which brackets mean something else."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """What can follow # in a link to the page."""
    text = re.sub(r"^```.*?^```", "", prose(page), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.*"):
        if page.suffix in (".md", ".ipynb") and page.name != "README.md":
            assert f"]({page.name})" in index, page.name


ROW = r"[A-E]\d{1,2}\b"


def test_rows_that_are_cited_are_defined() -> None:
    """Decisions about Dart that code and pages cite by letter and number, as "row B9", are on a page."""
    page = (ROOT / "docs" / "dart-rows.md").read_text(encoding="utf-8")
    defined = re.findall(rf"^\| ({ROW}) \|", page, re.MULTILINE)
    assert len(defined) == len(set(defined))
    cited = set()
    for path in sources(".rs", ".py", ".md", ".toml"):
        text = path.read_text(encoding="utf-8")
        for some in re.findall(rf"\b[Rr]ows? {ROW}(?:(?:,| and| to) {ROW})*", text):
            cited |= {(row, path.relative_to(ROOT)) for row in re.findall(ROW, some)}
        if path.name in ("dart.rs", "dart.md"):  # the scheme's manual names them without the word
            cited |= {(row, path.relative_to(ROOT)) for row in re.findall(rf"\b{ROW}", text)}
    assert {row[0] for row, _ in cited} == set("ABCDE")
    unknown = sorted((row, str(path)) for row, path in cited if row not in defined)
    assert not unknown, "define them in docs/dart-rows.md"


def test_claims_that_are_cited_are_defined() -> None:
    """Claims of papers that pages and results cite by an id are in the table of claims."""
    defined = {claim.id for claim in claims.claims()}
    others = {row["id"] for row in _core.schemes()} | set(EXPERIMENTS)
    others |= {path.stem for path in ROOT.glob("papers/specs/*/*.toml")}
    identifier = re.compile(r"\b(?:dart|dctcp|hpcc|rcc)(?:-[A-Za-z0-9]+)+\b(?!\.md)")
    texts = [(ROOT / "VALIDATION.md").read_text(encoding="utf-8")]
    for record in claims.measured().values():
        texts += [row["claim"] for row in record["rows"]]
    cited = {name for text in texts for name in identifier.findall(text)}
    assert len(cited) > 60
    assert not cited - others - defined, "define them in papers/fanin_papers/claims"


def sources(*kinds: str) -> list[Path]:
    """Files of these kinds."""
    folders = ("crates", "docs", "examples", "papers", "python", "tests")
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.*"))
    return [path for path in (*ALL, *files) if path.suffix in kinds]


def test_references_in_the_schema_lead_somewhere() -> None:
    text = _core.schema()
    assert set(re.findall(r"#/\$defs/(\w+)", text)) == set(json.loads(text)["$defs"])


def test_a_key_that_is_declared_is_in_the_reference_and_in_the_types() -> None:
    size = {"$ref": "#/$defs/Bytes", "least": "1 KB", "below": "1 MB", "default": "2 KB", "description": "Its size."}
    count = {"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 9, "description": "Its count."}
    node = {"properties": {"size": size, "from": count}, "required": ["from"], "description": "A shelf."}
    assert spec.Reference().keys("shelf", node).splitlines()[2:] == [
        "| `from` | whole number from 0 to 9 | required | `4` | Its count. |",
        '| `size` | [size](#sizes) at least 1 KB and below 1 MB | `"2 KB"` | `"2 KB"` | Its size. |',
    ]
    text = spec_types.Module({**node, "properties": {"size": size}, "required": ["size"]}).text()
    key = '    size: Required[Bytes]\n    """Its size. At least 1 KB and below 1 MB."""\n'
    assert text.endswith(f'class Spec(TypedDict, total=False):\n    """A shelf."""\n\n{key}')
    assert '        "from": Required[int],\n' in spec_types.Module(node).text()


def test_the_types_of_a_spec_fit_the_specs_of_the_tree(root: Path, tmp_path: Path) -> None:
    lines = ["from fanin.spec_types import Spec"]
    for number, path in enumerate(sorted((root / "examples").glob("*.toml"))):
        lines.append(f"s{number}: Spec = {tomllib.loads(path.read_text(encoding='utf-8'))!r}")
    lines.append('wrong: Spec = {"spec_version": 1, "nam": "x"}')
    (tmp_path / "specs.py").write_text("\n".join(lines), encoding="utf-8")
    line = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*line, str(tmp_path / "specs.py")], cwd=root, capture_output=True, text=True, check=False, timeout=300
    )
    errors = [told for told in done.stdout.splitlines() if ": error:" in told]
    assert len(errors) == 2, done.stdout + done.stderr
    assert all(f"specs.py:{len(lines)}: " in told for told in errors), done.stdout
    assert 'Extra key "nam"' in done.stdout, done.stdout


def test_examples_in_the_spec_reference_fit_the_schema() -> None:
    reference = spec.Reference()
    reference.write()
    assert len(reference.examples) > 100
    for path, (value, node) in reference.examples.items():
        assert spec.fits(value, node), f"{path} = {value}; give an example in tools/pages/examples.toml"


def test_the_smallest_spec_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "smallest.toml").write_text(found[1], encoding="utf-8")
    assert fanin.run(tmp_path / "smallest.toml", progress=False).flows().height == 3


LEAST = """spec_version = 1
name = "least"
network = { topology = { kind = "star", hosts = 4, link = "10 Gbps", delay = "1 us" } }
measure = { window = "1 ms" }

[[traffic]]
name = "one"
scheme = "dcqcn"
"""

FILES = {
    "flows.csv": "src,dst,bytes,start_us\nh0,h1,1000,0\n",
    "flow.txt": "1\n0 1 3 100 1000 0\n",
    "step.goal": "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n",
    "layers.txt": "DATA all_gpus: 4\n1\nlayer -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 4096 0\n",
    "ring.xml": (ROOT / "examples" / "collectives" / "ring.xml").read_text(encoding="utf-8"),
    "flow-table.csv": "flow_id,src,dest,flow_size,parent_flow_ids\n0,0,1,8,\n1,1,0,8,0\n",
    "matrix.cm": "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n",
}
"""The files that the examples name."""


def test_the_shortest_form_of_everything_in_the_reference_of_specs_passes_the_check(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for trace in (ROOT / "crates" / "formats" / "tests" / "data" / "all_reduce").glob("*.et"):
        shutil.copy(trace, tmp_path / trace.name.replace("all_reduce", "trace"))
    found = [*re.finditer(r"^The shortest form: (.*)$", page, re.MULTILINE)]
    assert len(found) > 20
    for one in found:
        heading = re.findall(r"^### ([^\s:]+)", page[: one.start()], re.MULTILINE)[-1]
        spec = tomllib.loads(LEAST)
        spec["network"]["buffer"] = {"policy": "lossless", "pool": "32 MB"}
        traffic = spec["traffic"][0]
        if not heading.startswith("traffic"):
            traffic.update(pattern={"kind": "long", "count": 1})
        place = traffic if heading.startswith("traffic") else spec["network"]
        for line in re.findall(r"`([^`]*)`", one[1]):
            place.update(tomllib.loads(line))
        file = tmp_path / "least.json"
        file.write_text(json.dumps(spec), encoding="utf-8")
        Job.of(file).resolve()

"""The wheel works where nothing of the source tree is: in a bare virtual environment, from another folder."""

import ast
import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
import yaml
from packaging.metadata import Metadata

C_LIBRARY = (2, 34)
"""The newest C library that the wheel may need."""
SUFFIXES_OF_THE_TREE = {".so", ".pyc"}
"""Generated files in the package's folder."""


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `make wheel` left, or one built now if the sources are newer."""
    sources = [*packaged(root), *(root / "crates").rglob("*.rs"), root / "pyproject.toml", root / "README.md"]
    newest = max(path.stat().st_mtime for path in sources)
    for made in (root / "dist").glob("*.whl"):
        if made.stat().st_mtime > newest:
            return made
    return build(root, "build", "--release", "--compatibility", "pypi", "--out", str(tmp_path_factory.mktemp("dist")))


@pytest.fixture(scope="module")
def bare(wheel: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtual environment in which this wheel and that of the papers are all that was installed.

    Its dependencies are those of the present environment: downloading 300 MB would test other packages.
    """
    folder = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    programs = folder / "bin"
    papers = papers_wheel(root, tmp_path_factory.mktemp("papers"))
    install = ("-m", "pip", "--python", programs / "python", "install", "--no-deps", "--no-index")
    run(sys.executable, *install, wheel, papers)
    (site,) = folder.glob("lib/python*/site-packages")
    assert (site / "fanin").is_dir()
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return programs


def papers_wheel(root: Path, folder: Path) -> Path:
    """The wheel of the papers' experiments, built in a copy of its sources, where nothing else is."""
    sources = folder / "sources"
    left_out = shutil.ignore_patterns("*.egg-info", "__pycache__", "build", "tests")
    shutil.copytree(root / "papers", sources, symlinks=True, ignore=left_out)
    built = ("wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, sources)
    run(sys.executable, "-m", "pip", *built)
    (made,) = folder.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = sources / "fanin_papers"
    assert held == {str(path.relative_to(sources)) for path in package.rglob("*") if path.is_file()}
    return made


def packaged(root: Path) -> list[Path]:
    """The files of the package that are sources."""
    files = [path for path in (root / "python" / "fanin").rglob("*") if path.is_file()]
    return [path for path in files if path.suffix not in SUFFIXES_OF_THE_TREE]


def build(root: Path, *arguments: str) -> Path:
    """Runs maturin, which shares cargo's folder with `make setup`, and returns the file in `--out`."""
    env = os.environ | {"PYO3_PYTHON": os.environ.get("PYO3_PYTHON", sys.executable)}
    run(sys.executable, "-m", "maturin", *arguments, cwd=root, env=env)
    (made,) = Path(arguments[-1]).iterdir()
    return made


def run(*line: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Runs a program that must succeed and returns its output."""
    done = subprocess.run(line, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_one_wheel_serves_all_pythons_from_3_11(wheel: Path) -> None:
    # Maturin looks at the symbols that the module needs, and names the oldest C library that has them. A package index
    # takes no wheel that is for Linux without such a name.
    assert re.fullmatch(r"fanin-\d+\.\d+\.\d+-cp311-abi3-(?!linux_)\w+\.whl", wheel.name)
    if sys.platform == "linux":
        newest = re.search(r"-(?:many|musl)linux_(\d+)_(\d+)_", wheel.name)
        assert newest is not None
        assert (int(newest[1]), int(newest[2])) <= C_LIBRARY, "newer than that of Ubuntu 22.04, Debian 12 and RHEL 9"


def test_it_holds_the_whole_package_and_nothing_else(wheel: Path, root: Path) -> None:
    python = root / "python"
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.startswith("fanin-")}
    assert held == {str(path.relative_to(python)) for path in packaged(root)} | {"fanin/_core.abi3.so"}
    assert {"fanin/py.typed", "fanin/_core.pyi"} <= held


def test_the_declared_dependencies_are_what_it_imports(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        required = email.message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    declared = {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in required if "extra ==" not in line}
    imported = {name for path in packaged(root) if path.suffix == ".py" for name in imports(path)}
    owners = packages_distributions()
    third = {owners[name][0].lower() for name in imported - sys.stdlib_module_names - {"fanin"}}
    # IPython is there wherever a notebook runs, distributed where a sweep is sent to a cluster; nothing else needs
    # them.
    assert declared == third - {"ipython", "distributed"}


def test_its_description_is_what_a_package_index_takes(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        said = Metadata.from_email(archive.read(name))  # raises if it is not by the rules
    assert said.summary
    assert (said.description or "").strip() == (root / "README.md").read_text(encoding="utf-8").strip()
    assert said.description_content_type == "text/markdown; charset=UTF-8; variant=GFM"
    assert said.license_expression == "Apache-2.0"
    assert said.requires_python == ">=3.11"
    least = re.findall(r":: (3\.\d+)'", str(said.classifiers))
    assert least[0] == "3.11"
    # None is known, so none is made up.
    assert not said.project_urls


def test_the_citation_is_of_this_version(root: Path) -> None:
    """By version 1.2.0 of the Citation File Format: the keys that it asks for, and no unknown ones."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= cited.keys() <= CITATION_KEYS
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert all(author.keys() == {"name"} and author["name"] for author in cited["authors"])
    assert str(cited["version"]) == version("fanin")
    assert (cited["license"], cited["keywords"]) == (project["license"], project["keywords"])


CITATION_KEYS = {
    *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords"),
    *("license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact"),
    *("repository-code", "title", "type", "url", "version"),
}


def imports(path: Path) -> set[str]:
    """The top packages that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def test_it_runs_where_no_source_tree_is(bare: Path, tiny: Path, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    spec = tmp_path / "tiny.toml"
    spec.write_bytes(tiny.read_bytes())
    where = run(bare / "python", "-c", "import fanin; print(fanin.__file__)", cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(bare.parent)
    version = run(bare / "fanin", "version", cwd=tmp_path, env=env)
    assert version.strip() == run(bare / "python", "-c", VERSION, cwd=tmp_path, env=env).strip()
    assert "messages finished" in run(bare / "fanin", "run", spec, cwd=tmp_path, env=env)
    loaded = "import fanin; print(fanin.load('runs/tiny-incast/as-written').flows().height)"
    assert int(run(bare / "python", "-c", loaded, cwd=tmp_path, env=env)) > 100
    written = run(bare / "fanin", "paper", "rcc", "--figure", "12b", "--quick", cwd=tmp_path, env=env)
    assert "written: runs/papers/rcc-fig12ab.png" in written
    assert "dctcp-fig13-pi" in run(bare / "fanin", "claims", "--paper", "dctcp", cwd=tmp_path, env=env)


VERSION = "from importlib.metadata import version; print(version('fanin'))"


def test_the_source_archive_holds_what_a_build_needs(root: Path, tmp_path: Path) -> None:
    archive = build(root, "sdist", "--out", str(tmp_path / "sdist"))
    with tarfile.open(archive) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
        cargo = files.extractfile(f"{archive.name.removesuffix('.tar.gz')}/Cargo.toml")
        assert cargo is not None
        members = tomllib.loads(cargo.read().decode())["workspace"]["members"]
    assert {"Cargo.lock", "pyproject.toml", "README.md", "LICENSE"} <= held
    assert {f"{member}/Cargo.toml" for member in members} <= held
    assert not {
        name for name in held if name.endswith((".so", ".pyc")) or name.startswith(("target/", "dist/", "site/"))
    }
    assert {str(path.relative_to(root)) for path in packaged(root)} <= held
    # Files that a crate includes at compile time are inside that crate, so they are there, too.
    for member in members:
        for path in (root / member / "src").rglob("*"):
            if path.is_file():
                assert str(path.relative_to(root)) in held

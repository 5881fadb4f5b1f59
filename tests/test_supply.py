"""What Fanin is made of: licences and sources of crates and packages, and the bill of materials."""

import json
import re
import subprocess
import tomllib
from importlib.metadata import metadata

from conftest import ROOT
from pages.sbom import SBOM, TARGET

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
DENY = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
FREE = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|HPND|0BSD|Zlib|CC0|MPL|Matplotlib)\b", re.I)


def allows(expression: str, licences: set[str]) -> bool:
    """Whether these licences are enough for an SPDX expression."""

    def value(found: re.Match[str]) -> str:
        return found[0].lower() if found[0] in ("AND", "OR") else str(found[0] in licences)

    return bool(eval(re.sub(r"[\w.+-]+(?: WITH [\w.-]+)?", value, expression.replace("/", " OR "))))


def test_an_expression_is_read_as_spdx_has_it() -> None:
    assert allows("MIT OR GPL-3.0", {"MIT"})
    assert not allows("MIT AND GPL-3.0", {"MIT"})
    assert allows("(MIT OR Apache-2.0) AND Unicode-3.0", {"Apache-2.0", "Unicode-3.0"})
    assert not allows("Apache-2.0 WITH LLVM-exception", {"Apache-2.0"})
    assert allows("MIT/Apache-2.0", {"Apache-2.0"})


def test_crates_have_known_licences_and_sources() -> None:
    # Those of this system: a machine has downloaded no others.
    command = ["cargo", "metadata", "--locked", "--offline", "--filter-platform", TARGET, "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    others = [package for package in json.loads(done.stdout)["packages"] if package["source"] is not None]
    licences = {*DENY["licenses"]["allow"]}
    assert len(others) > 50
    assert [p["name"] for p in others if p["source"] != CRATES_IO] == []
    assert [(p["name"], p["license"]) for p in others if not allows(p["license"] or "none", licences)] == []


def test_packages_have_free_licences_and_are_pinned_by_their_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = [block for block in re.split(r"^(?=\w)", lock, flags=re.MULTILINE) if "==" in block.split("\n")[0]]
    assert len(blocks) > 20
    for block in blocks:
        name, version = re.split("==|[ ;]", block)[:2]
        assert "--hash=sha256:" in block, name
        try:
            known = metadata(name)
        except ModuleNotFoundError:
            continue  # of another system or Python
        if known["Version"] != version:
            continue
        said = [
            *(known.get_all("License-Expression") or []),
            *(known.get_all("Classifier") or []),
            *(text[:200] for text in known.get_all("License") or []),
        ]
        assert any(FREE.search(one) for one in said if one and "Classifier" not in one), f"{name}: {said}"


def test_the_bill_of_materials_has_what_the_lock_has() -> None:
    document = json.loads((ROOT / SBOM).read_text(encoding="utf-8"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    components = {one["name"]: one for one in document["components"]}
    assert components["fanin-fabric"]["licenses"] == [{"expression": "Apache-2.0"}]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    (arrow,) = [package for package in lock if package["name"] == "arrow-array"]
    hashes = [{"alg": "SHA-256", "content": arrow["checksum"]}]
    assert components["arrow-array"]["hashes"] == hashes
    assert components["arrow-array"]["purl"] == f"pkg:cargo/arrow-array@{arrow['version']}"

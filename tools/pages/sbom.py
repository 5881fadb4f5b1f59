"""The software bill of materials of the native module, in the format of CycloneDX: the crates that are in it, with
their licences and checksums. Wheels have it as `sboms/fanin.cdx.json`."""

import json
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SBOM = "crates/python/fanin.cdx.json"
TARGET = "x86_64-unknown-linux-gnu"
"""On others a few crates differ."""


def sbom() -> str:
    """The document; it depends on Cargo.lock alone."""
    command = ["cargo", "tree", "--locked", "--offline", "--target", TARGET, "-p", "fanin-python", "-e", "normal"]
    done = subprocess.run(
        [*command, "--prefix", "none", "--format", "{p}|{l}"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    sums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    found: dict[tuple[str, str], str] = {}
    for line in done.stdout.splitlines():
        crate, licence = line.removesuffix(" (*)").split("|")
        name, version = crate.split()[:2]
        found[name, version.removeprefix("v")] = licence.replace("/", " OR ")
    own = found.pop(("fanin-python", _version(found)))
    fanin = _component("fanin", _version(found), own, None)
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": fanin}}
    components = [_component(*crate, licence, sums[crate]) for crate, licence in sorted(found.items())]
    # A line for each crate.
    lines = ",\n".join(json.dumps(component) for component in components)
    return f'{json.dumps(head)[:-1]}, "components": [\n{lines}\n]}}\n'


def _version(found: dict[tuple[str, str], str]) -> str:
    return next(version for name, version in found if name.startswith("fanin-"))


def _component(name: str, version: str, licence: str, checksum: str | None) -> dict[str, object]:
    known: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
    }
    if checksum is not None:
        known["purl"] = f"pkg:cargo/{name}@{version}"
        known["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return known

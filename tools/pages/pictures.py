"""A picture for the page of each scheme: flows that join and leave, from `examples/join-leave.toml`.

`make pictures` draws them all. A page shows the picture that lies beside it.
"""

from pathlib import Path

import fanin

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "examples" / "join-leave.toml"

SCHEMES = {
    "newreno": ["newreno"],
    "cubic": ["cubic", "cubic-ecn"],
    "dctcp": ["dctcp"],
    "rcc": ["rcc", "rcc-ecn", "rcc-ns3"],
    "ictcp": ["ictcp"],
    "dcqcn": ["dcqcn"],
    "dctcp-rate": ["dctcp-rate"],
    "hpcc": ["hpcc"],
    "hpcc-alpha": ["hpcc-alpha"],
    "timely": ["timely-patched", "timely-hpcc", "timely-dart"],
    "rcp": ["rcp"],
    "expresspass": ["expresspass", "expresspass-ns2"],
    "infiniband": ["infiniband", "infiniband-gran"],
    "dart": ["dart"],
    "nscc": ["nscc"],
    "rccc": ["rccc"],
    "nscc-rccc": ["nscc-rccc"],
    "ndp": ["ndp"],
    "swift": ["swift"],
    "powertcp": ["powertcp"],
}
"""The presets on the page of each scheme."""

CHANGES = {"rcc-ecn": "{ id = 'rcc-ecn', max_window = '65535 B' }"}
"""Schemes with parameters of their own: without Algorithm 1 nothing else bounds RCC's windows."""


LOSSLESS = "network.buffer={ policy = 'lossless', per_port = '2 MB' }"
"""For TIMELY, whose queues may be as long as its higher threshold."""

CREDITS = "network.buffer={ credits = 'per-link' }"
"""For InfiniBand."""


TRIMMED = "network.trimming={}"
"""For those whose switches cut packets that have no room, and whose receivers ask for what was cut."""
CUT = ("nscc", "rccc", "nscc-rccc", "ndp")


def network(preset: str) -> list[str]:
    """The change of the network under one preset."""
    if preset in CUT:
        return [TRIMMED, *(f"traffic[{number}].rdma.recovery='unordered'" for number in range(3))]
    return [LOSSLESS] if preset.startswith("timely") else [CREDITS] if preset.startswith("infiniband") else []


def picture(page: str) -> Path:
    """Where the picture of a page lies."""
    return ROOT / "docs" / "schemes" / f"{page}.png"


def run(preset: str) -> fanin.Result:
    """The spec under one preset."""
    scheme = CHANGES.get(preset, f"'{preset}'")
    changes = [f"traffic[{number}].scheme={scheme}" for number in range(3)]
    return fanin.run(SPEC, set=[*changes, *network(preset)], progress=False)


def main() -> None:
    """Draws them all."""
    for page, presets in SCHEMES.items():
        fanin.plot.flows([run(preset) for preset in presets], picture(page))
        print(f"written: {picture(page)}")


if __name__ == "__main__":
    main()

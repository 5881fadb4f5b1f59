"""Access to a resolved spec for tables and plots. Specs are checked by the native module."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import cast

from fanin import _core

Spec = Mapping[str, object]
"""A resolved spec, with all defaults."""

DEFAULT_SCHEMES = ("dcqcn", "none")
"""The schemes for a spec without `compare.schemes`."""


LONG_TOML = 300_000
"""From so many letters on the native module reads a document; its keys are then in alphabetical order."""


def read_toml(text: str) -> dict[str, object]:
    """A TOML document; raises `tomllib.TOMLDecodeError`. Python's own reader takes seconds for the resolved spec of a
    run with thousands of traffics."""
    read = _core.toml_as_json(text) if len(text) > LONG_TOML else None
    return tomllib.loads(text) if read is None else cast("dict[str, object]", json.loads(read))


def section(spec: Spec, name: str) -> Spec:
    """A table of the spec, empty if it has none of this name."""
    value = spec.get(name)
    return cast("Spec", value) if isinstance(value, dict) else {}


def traffics(spec: Spec) -> list[Spec]:
    """The list of traffics."""
    return cast("list[Spec]", spec.get("traffic", []))


def traffics_with(spec: Spec, pattern: str) -> list[str]:
    """The names of the traffics with this kind of pattern."""
    return [str(traffic["name"]) for traffic in traffics(spec) if kind(traffic.get("pattern")) == pattern]


def window_ps(spec: Spec) -> tuple[int, int]:
    """The measured window in picoseconds, its end excluded. It ends earlier if no message is left to post."""
    measure = section(spec, "measure")
    warm_up = time_ps(str(measure["warm_up"]))
    return warm_up, warm_up + time_ps(str(measure["window"]))


PS_OF_TIME = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}


def time_ps(text: str) -> int:
    """A time of a resolved spec, such as `1.5 ms`, in picoseconds."""
    number, _, unit = text.partition(" ")
    # Exact: as a binary fraction, 1.1 ms would not be a whole number of picoseconds.
    return int(Fraction(number) * PS_OF_TIME[unit])


def kind(choice: object) -> str:
    """The alternative of a tagged value."""
    return str(choice.get("kind", "")) if isinstance(choice, dict) else str(choice)


def named(choice: object) -> str:
    """The id of a scheme or a policy, which is a table where it has parameters."""
    return str(choice.get("id", "")) if isinstance(choice, dict) else str(choice)


def used(spec: Spec) -> dict[str, list[str]]:
    """The ids of its schemes, by traffic, of its load balancing and of its queue discipline."""
    network = section(spec, "network")
    policies = {kind: [named(network.get(kind))] for kind in ("balancing", "discipline")}
    return {"scheme": [named(traffic["scheme"]) for traffic in traffics(spec)], **policies}


def schemes_to_compare(spec: Spec) -> Sequence[str]:
    """The schemes under which the spec is to be compared."""
    return cast("list[str] | None", section(spec, "compare").get("schemes")) or DEFAULT_SCHEMES


def describe(spec: Spec) -> str:
    """The topology and the load, in words."""
    topology = section(spec, "network").get("topology")
    return ", ".join(filter(None, [describe_topology(topology), describe_load(spec)]))


SHOWN_OF_TOPOLOGY = ("k", "pods", "tors", "leaves", "spines", "switches", "left", "right", "hosts", "uplinks", "link")
"""The parameters of a topology that a title names; the resolved spec has them all."""


def describe_topology(topology: object) -> str:
    """For example `clos (pods 16, tors 4, hosts 16, uplinks 4, link 10 Gbps)`, or `graph (8 hosts, 5 switches)`."""
    if not isinstance(topology, dict):
        return str(topology)
    parts = [f"{key} {topology[key]}" for key in SHOWN_OF_TOPOLOGY if isinstance(topology.get(key), str | int)]
    listed = {key: topology.get(key) for key in ("hosts", "switches")}
    parts.extend(f"{len(names)} {key}" for key, names in listed.items() if isinstance(names, list))
    return f"{kind(topology)} ({', '.join(parts)})" if parts else kind(topology)


def describe_load(spec: Spec) -> str:
    """For example `load 40 % of tor-uplinks`; shares of the same capacity are added up."""
    shares: dict[str, float] = {}
    for traffic in traffics(spec):
        load = traffic.get("load")
        if isinstance(load, dict) and isinstance(load.get("share"), int | float):
            of = str(load.get("of"))
            shares[of] = shares.get(of, 0.0) + float(load["share"])
    if not shares:
        return ""
    return "load " + " and ".join(f"{round(share * 100, 1):g} % of {of}" for of, share in shares.items())

"""The cases of the comparison: four workloads, each with the schemes and packet sizes that a peer has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scheme = Literal["hpcc", "none", "dcqcn", "dctcp", "nscc"]
Shape = Literal["permutation", "incast", "poisson"]
"""The pattern of traffic: each host to one other, many to one, or random pairs at random times."""


@dataclass(frozen=True)
class Workload:
    """A network and its flows. Its files have the same names as in a folder of `--inputs`."""

    id: str
    about: str
    topology: str
    """File of the topology, in the format of the ns-3 HPCC simulator."""
    flows: str
    """File of the flows, in that format."""
    hosts: int
    k: int | None
    """Ports of each switch of the fat tree; None is HPCC's network of 320 hosts."""
    shape: Shape
    size: str = ""
    """Of each flow, if all are equal."""


K8 = "topo_k8_128.txt"
WORKLOADS = {
    work.id: work
    for work in (
        Workload(
            "s1", "permutation of 10 MB, 128 hosts", K8, "flow_k8_perm10MB.txt", 128, 8, "permutation", size="10 MB"
        ),
        Workload("s2", "64 to 1 of 1 MB, 128 hosts", K8, "flow_k8_incast64.txt", 128, 8, "incast", size="1 MB"),
        Workload("s3a", "Hadoop sizes at 30 % for 2 ms, 128 hosts", K8, "flow_k8_FbHdp_l3_t02.txt", 128, 8, "poisson"),
        Workload(
            "s3b",
            "the same on HPCC's 320 hosts, fabric at 400 Gb/s",
            "topo_fat320.txt",
            "flow_FbHdp_l3_t02.txt",
            320,
            None,
            "poisson",
        ),
        Workload(
            "s4",
            "permutation of 500 KB, 1,024 hosts",
            "topo_k16_1024.txt",
            "flow_k16_perm500KB.txt",
            1024,
            16,
            "permutation",
            size="500 KB",
        ),
        Workload(
            "s5",
            "permutation of 2 MB, 1,024 hosts, sprayed over 128 paths",
            "topo_k16_1024.txt",
            "flow_k16_perm2MB.txt",
            1024,
            16,
            "permutation",
            size="2 MB",
        ),
    )
}


@dataclass(frozen=True)
class Case:
    """A workload under one scheme with one size of packets."""

    id: str
    workload: Workload
    scheme: Scheme
    """Ours; `none` sends at line rate, as htsim's RoCE."""
    payload: int
    """Most payload of a packet, bytes."""
    ns3: str | None = None
    """The control law of the ns-3 HPCC simulator, as `fanin gen config` calls it; None where it has no such case."""
    htsim: str | None = None
    """The program of htsim; None if it has none, or if it is known to abort."""
    uec: bool = False
    """Whether uet-htsim runs it, and the copy of its network here."""
    times: int = 1
    """Runs of ours in one process, if one is too short to time."""

    @property
    def endless(self) -> bool:
        """Whether flows never end, so that a fixed time is simulated."""
        return self.scheme == "dctcp"


def _case(work: str, scheme: Scheme, payload: int, **more: str) -> Case:
    name = {"none": "roce"}.get(scheme, scheme)
    return Case(
        f"{work}-{name}-{payload}",
        WORKLOADS[work],
        scheme,
        payload,
        ns3=more.get("ns3"),
        htsim=more.get("htsim"),
        uec=scheme == "nscc",
        times=20 if work == "s2" else 1,
    )


CASES = {
    case.id: case
    for case in (
        _case("s1", "hpcc", 4000, ns3="hpcc", htsim="htsim_hpcc"),
        _case("s1", "hpcc", 1000, ns3="hpcc"),
        _case("s1", "none", 1500, htsim="htsim_roce"),
        _case("s1", "dcqcn", 1500, ns3="dcqcn"),
        # No unchanged program of htsim runs DCTCP flows for a fixed time, so there are only earlier measurements.
        _case("s1", "dctcp", 1500),
        _case("s2", "hpcc", 1000, ns3="hpcc"),
        _case("s2", "hpcc", 4000, htsim="htsim_hpcc"),
        _case("s2", "none", 1500, htsim="htsim_roce"),
        # htsim's HPCC and RoCE abort on this trace.
        _case("s3a", "hpcc", 1000, ns3="hpcc"),
        _case("s3b", "hpcc", 1000, ns3="hpcc"),
        _case("s4", "hpcc", 1000, ns3="hpcc"),
        _case("s4", "hpcc", 4000, htsim="htsim_hpcc"),
        _case("s4", "none", 1500, htsim="htsim_roce"),
        _case("s5", "nscc", 4086),
    )
}
"""All cases by their id, in the order of tables."""

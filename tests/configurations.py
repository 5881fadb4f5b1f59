"""Configurations of the ns-3 HPCC simulator for tests: a star of hosts, with 100 Gb/s and 1 us a link."""

from collections.abc import Sequence
from pathlib import Path

KEYS = {
    "ENABLE_QCN": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "TOPOLOGY_FILE": "topo.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "trace.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "SIMULATOR_STOP_TIME": "3",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "300",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "40Mb/s",
    "RATE_HAI": "200Mb/s",
    "MIN_RATE": "100Mb/s",
    "ERROR_RATE_PER_LINK": "0",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "0",
    "GLOBAL_T": "1",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "LINK_DOWN": "0 0 0",
    "ENABLE_TRACE": "0",
    "KMAX_MAP": "2 100000000000 1600 400000000000 6400",
    "KMIN_MAP": "2 100000000000 400 400000000000 1600",
    "PMAX_MAP": "2 100000000000 0.2 400000000000 0.2",
    "BUFFER_SIZE": "32",
    "QLEN_MON_FILE": "qlen.txt",
    "QLEN_MON_START": "2000000000",
    "QLEN_MON_END": "2010000000",
}


def write(
    folder: Path,
    flows: Sequence[str],
    *,
    hosts: int = 4,
    rates: Sequence[str] = (),
    changes: dict[str, str] | None = None,
) -> Path:
    """Writes `config.txt` and its files; a flow is a line of a flow file, `rates` are those of the hosts' links."""
    links = [f"{host} {hosts} {rates[host] if rates else '100Gbps'} 1us 0" for host in range(hosts)]
    (folder / "topo.txt").write_text("\n".join([f"{hosts + 1} 1 {hosts}", str(hosts), *links, ""]), encoding="utf-8")
    (folder / "flow.txt").write_text("\n".join([str(len(flows)), *flows, ""]), encoding="utf-8")
    (folder / "trace.txt").write_text("0\n", encoding="utf-8")
    keys = KEYS | (changes or {})
    config = folder / "config.txt"
    config.write_text("".join(f"{key} {value}\n" for key, value in keys.items()), encoding="utf-8")
    return config

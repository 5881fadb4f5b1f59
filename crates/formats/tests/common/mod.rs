//! Small files, and where the results of that simulator's own runs are, if they are at hand.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

/// A configuration with every key.
pub const CONFIG: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1

PACKET_PAYLOAD_SIZE 1000

TOPOLOGY_FILE in/topology.txt
FLOW_FILE in/flows.txt
TRACE_FILE in/trace.txt
TRACE_OUTPUT_FILE out/mix.tr
FCT_OUTPUT_FILE out/fct.txt
PFC_OUTPUT_FILE out/pfc.txt

SIMULATOR_STOP_TIME 4.00

CC_MODE 3
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s

ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0

HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0

RATE_BOUND 1

ACK_HIGH_PRIO 0

LINK_DOWN 0 0 0

ENABLE_TRACE 0

KMAX_MAP 2 100000000000 1600 400000000000 6400
KMIN_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.2 400000000000 0.20
BUFFER_SIZE 32
QLEN_MON_FILE out/qlen.txt
QLEN_MON_START 2000000000
QLEN_MON_END 3000000000
";

/// Two switches, four hosts.
pub const TOPOLOGY: &str = "\
6 2 5
4 5
0 4 100Gbps 1000ns 0.000000
1 4 100Gbps 1us 0
2 5 100Gbps 0.001ms 0.000000
3 5 100000Mb/s 1000ns 0.000000
4 5 400Gbps 1000ns 0.000000
";

/// Three flows on it.
pub const FLOWS: &str = "\
3
0 2 3 100 1000 2.000000000
1 3 3 100 4294967295 2.000000067
3 0 3 200 1 2.000001000
";

/// The folder with that simulator's files and results, from `FANIN_GOLDEN`.
pub fn golden(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FANIN_GOLDEN").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("{test} SKIPPED: FANIN_GOLDEN does not name the folder with that simulator's files and results");
    }
    folder
}

/// The bytes of a file that has to be there.
pub fn bytes(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

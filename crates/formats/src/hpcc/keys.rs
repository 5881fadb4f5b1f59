//! The keys of a configuration: the schemes that they affect, and their defaults.

use super::dialect::FORK_KEYS;

/// A key.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// The `CC_MODE`s under which it has an effect.
    pub(super) modes: &'static [u32],
    /// The effect of its absence, if that is probably a mistake.
    pub(super) missing: &'static str,
}

const ALL: &[u32] = &[1, 3, 7, 8];
const DCQCN: &[u32] = &[1];
const HPCC: &[u32] = &[3];
const NONE: &[u32] = &[];

const fn key(name: &'static str, modes: &'static [u32]) -> Key {
    Key { name, modes, missing: "" }
}

/// A key whose absence is probably a mistake.
const fn wanted(name: &'static str, modes: &'static [u32], missing: &'static str) -> Key {
    Key { name, modes, missing }
}

/// All of them, in the order of that simulator's manual.
pub(super) const KEYS: &[Key] = &[
    key("ENABLE_QCN", ALL),
    key("USE_DYNAMIC_PFC_THRESHOLD", NONE),
    key("PACKET_PAYLOAD_SIZE", ALL),
    key("TOPOLOGY_FILE", ALL),
    key("FLOW_FILE", ALL),
    key("TRACE_FILE", ALL),
    key("TRACE_OUTPUT_FILE", ALL),
    key("FCT_OUTPUT_FILE", ALL),
    key("PFC_OUTPUT_FILE", ALL),
    wanted("SIMULATOR_STOP_TIME", ALL, "3.01 s"),
    wanted("CC_MODE", ALL, "1, DCQCN"),
    key("ALPHA_RESUME_INTERVAL", DCQCN),
    key("RATE_DECREASE_INTERVAL", DCQCN),
    key("CLAMP_TARGET_RATE", DCQCN),
    key("RP_TIMER", DCQCN),
    wanted("EWMA_GAIN", &[1, 8], "0: the estimate of marks never changes"),
    key("FAST_RECOVERY_TIMES", DCQCN),
    wanted("RATE_AI", &[1, 3, 7], "0: no additive increase"),
    wanted("RATE_HAI", &[1, 7], "0: no hyper increase"),
    key("MIN_RATE", ALL),
    key("DCTCP_RATE_AI", &[8]),
    key("ERROR_RATE_PER_LINK", ALL),
    key("L2_CHUNK_SIZE", ALL),
    key("L2_ACK_INTERVAL", ALL),
    key("L2_BACK_TO_ZERO", ALL),
    key("HAS_WIN", ALL),
    key("GLOBAL_T", ALL),
    wanted("VAR_WIN", ALL, "0: windows stay as large as at the start"),
    key("FAST_REACT", HPCC),
    key("U_TARGET", HPCC),
    key("MI_THRESH", HPCC),
    key("INT_MULTI", HPCC),
    wanted("MULTI_RATE", HPCC, "1: a rate for each hop, while the paper has one for all"),
    key("SAMPLE_FEEDBACK", HPCC),
    key("PINT_LOG_BASE", NONE),
    key("PINT_PROB", NONE),
    key("RATE_BOUND", ALL),
    key("ACK_HIGH_PRIO", ALL),
    key("LINK_DOWN", ALL),
    key("ENABLE_TRACE", ALL),
    key("KMAX_MAP", ALL),
    key("KMIN_MAP", ALL),
    key("PMAX_MAP", ALL),
    wanted("BUFFER_SIZE", ALL, "16 MiB per switch"),
    key("QLEN_MON_FILE", ALL),
    key("QLEN_MON_START", ALL),
    key("QLEN_MON_END", ALL),
    key("PAUSE_TIME", NONE),
    key("DATA_RATE", NONE),
    key("LINK_DELAY", NONE),
];

/// The most similar key to a word, if any is close.
pub(super) fn nearest(word: &[u8]) -> Option<&'static str> {
    if word.len() > 40 {
        return None;
    }
    let word = word.to_ascii_uppercase();
    let names = KEYS.iter().map(|key| key.name).chain(FORK_KEYS.iter().map(|key| key.name));
    let near = names.map(|name| (distance(&word, name.as_bytes()), name)).min()?;
    (near.0 <= (word.len() / 3).max(1)).then_some(near.1)
}

/// Edit distance: letters to change, add or remove.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The table of the tutorial.
    fn table() -> String {
        let laws = |modes: &[u32]| match modes {
            ALL => "all".to_string(),
            [] => "none".to_string(),
            some => {
                let name = |mode: &u32| match mode {
                    1 => "DCQCN (1)",
                    3 => "HPCC (3)",
                    7 => "TIMELY (7)",
                    _ => "DCTCP (8)",
                };
                some.iter().map(name).collect::<Vec<_>>().join(", ")
            }
        };
        let mut table =
            "| key | has an effect under | where it is missing, with one warning |\n|---|---|---|\n".to_string();
        for key in KEYS {
            table += &format!("| `{}` | {} | {} |\n", key.name, laws(key.modes), key.missing);
        }
        table
    }

    #[test]
    fn the_tutorial_has_all_keys() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ns3-hpcc.md");
        let there = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = there.split_once("<!-- keys -->\n").unwrap();
        let (keys, after) = rest.split_once("<!-- /keys -->").unwrap();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, format!("{before}<!-- keys -->\n{}<!-- /keys -->{after}", table())).unwrap();
        } else {
            assert!(keys == table(), "docs/ns3-hpcc.md is stale; run the tests of fanin-formats with UPDATE=1");
        }
    }
}

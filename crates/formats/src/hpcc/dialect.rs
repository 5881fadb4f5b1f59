//! The forks of that simulator whose files are read, and all that their files do differently.

use crate::text::Words;

/// The simulator that a file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The public ns-3 HPCC simulator itself.
    Original,
    /// PowerTCP's, in ns3-datacenter.
    PowerTcp,
    /// ASTRA-sim's network backend.
    Astra,
    /// SimAI's.
    SimAi,
    /// ConWeave's.
    ConWeave,
}

/// The numbers in the first line of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Nodes, switches, links.
    Three,
    /// Nodes, switches, racks, links.
    Four,
    /// Nodes, GPUs per server, NVLink switches, other switches, links, type of the GPUs.
    Six,
}

/// What differs in the files of a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The dialect.
    pub dialect: Dialect,
    /// The word for it on command lines.
    pub name: &'static str,
    /// The name in messages.
    pub title: &'static str,
    /// The first line of its topologies.
    pub header: Header,
    /// Whether its flows have a column with the destination port.
    pub port: bool,
    /// Whether its topology is an argument of the program instead of a key.
    pub topology_is_argument: bool,
    /// Whether flows are posted by its front end while it runs, so that there is no flow file.
    pub front_end: bool,
}

const ORIGINAL: Facts = Facts {
    dialect: Dialect::Original,
    name: "original",
    title: "the ns-3 HPCC simulator",
    header: Header::Three,
    port: true,
    topology_is_argument: false,
    front_end: false,
};

/// All dialects.
pub const DIALECTS: [Facts; 5] = [
    ORIGINAL,
    Facts { dialect: Dialect::PowerTcp, name: "powertcp", title: "PowerTCP", header: Header::Four, ..ORIGINAL },
    Facts { dialect: Dialect::Astra, name: "astra", title: "ASTRA-sim", front_end: true, ..ORIGINAL },
    Facts {
        dialect: Dialect::SimAi,
        name: "simai",
        title: "SimAI",
        header: Header::Six,
        topology_is_argument: true,
        front_end: true,
        ..ORIGINAL
    },
    Facts { dialect: Dialect::ConWeave, name: "conweave", title: "ConWeave", port: false, ..ORIGINAL },
];

impl Dialect {
    /// The dialect of this name.
    ///
    /// # Errors
    /// The known names.
    pub fn of(name: &str) -> Result<Self, String> {
        let found = DIALECTS.iter().find(|facts| facts.name == name);
        found.map(|facts| facts.dialect).ok_or_else(|| {
            let known: Vec<&str> = DIALECTS.iter().map(|facts| facts.name).collect();
            format!("there is no dialect \"{name}\" of that simulator's files; there are {}", known.join(", "))
        })
    }

    /// What differs in its files.
    pub fn facts(self) -> &'static Facts {
        DIALECTS.iter().find(|facts| facts.dialect == self).unwrap_or(&DIALECTS[0])
    }

    /// The dialect that the first line of a topology shows.
    pub fn of_topology(text: &[u8]) -> Option<Self> {
        match Header::of(text) {
            Header::Three => None,
            header => DIALECTS.iter().find(|facts| facts.header == header).map(|facts| facts.dialect),
        }
    }

    /// The dialect that the first flow of a file shows.
    pub fn of_flows(text: &[u8]) -> Option<Self> {
        (columns(text) == Some(5)).then_some(Self::ConWeave)
    }
}

impl Header {
    /// The one that a topology has. Numbers in other lines belong to it only if there are less than four in the first.
    pub fn of(text: &[u8]) -> Self {
        match in_first_line(text) {
            6 => Self::Six,
            4 => Self::Four,
            _ => Self::Three,
        }
    }

    /// Its numbers, for a message.
    pub fn names(self) -> &'static str {
        match self {
            Self::Three => "three numbers: nodes, switches, links",
            Self::Four => "four numbers: nodes, switches, racks, links",
            Self::Six => {
                "six entries: nodes, GPUs per server, NVLink switches, other switches, links, type of the GPUs"
            }
        }
    }
}

/// The number of words in the first line that has any.
fn in_first_line(text: &[u8]) -> usize {
    let mut words = Words::new("", text);
    words.next().map_or(0, |_| 1 + words.on_line().count())
}

/// The number of columns of a flow file whose flows have a line each: that of the first line of five or six words, of
/// the first three below the count.
pub(super) fn columns(text: &[u8]) -> Option<usize> {
    let mut words = Words::new("", text);
    words.next()?;
    if words.on_line().next().is_some() {
        return None;
    }
    (0..3).find_map(|_| {
        words.next()?;
        let columns = 1 + words.on_line().count();
        words.skip_line();
        [5, 6].contains(&columns).then_some(columns)
    })
}

/// What a key of forks does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It names an output, says when to look, or acts under a mode that is not here: no result depends on it.
    Silent,
    /// It is read, and has a value with which the fork does what the original does.
    Read,
}

/// A key that only forks have.
pub(super) struct ForkKey {
    pub(super) name: &'static str,
    pub(super) of: Dialect,
    pub(super) effect: Effect,
}

const fn fork(of: Dialect, name: &'static str, effect: Effect) -> ForkKey {
    ForkKey { name, of, effect }
}

/// The keys of forks. ConWeave's own parameters act under `LB_MODE 9` alone.
#[rustfmt::skip]
pub(super) const FORK_KEYS: &[ForkKey] = &[
    fork(Dialect::Astra, "NIC_TOTAL_PAUSE_TIME", Effect::Silent),
    fork(Dialect::Astra, "HEADROOM_FACTOR", Effect::Read),
    fork(Dialect::SimAi, "BW_MON_FILE", Effect::Silent),
    fork(Dialect::SimAi, "RATE_MON_FILE", Effect::Silent),
    fork(Dialect::SimAi, "CNP_MON_FILE", Effect::Silent),
    fork(Dialect::SimAi, "MON_START", Effect::Silent),
    fork(Dialect::SimAi, "MON_END", Effect::Silent),
    fork(Dialect::SimAi, "QP_MON_INTERVAL", Effect::Silent),
    fork(Dialect::SimAi, "QLEN_MON_INTERVAL", Effect::Silent),
    fork(Dialect::SimAi, "BW_MON_INTERVAL", Effect::Silent),
    fork(Dialect::ConWeave, "LB_MODE", Effect::Read),
    fork(Dialect::ConWeave, "ENABLE_PFC", Effect::Read),
    fork(Dialect::ConWeave, "ENABLE_IRN", Effect::Read),
    fork(Dialect::ConWeave, "RANDOM_SEED", Effect::Read),
    fork(Dialect::ConWeave, "FLOWGEN_STOP_TIME", Effect::Read),
    fork(Dialect::ConWeave, "FLOWGEN_START_TIME", Effect::Silent),
    fork(Dialect::ConWeave, "LOAD", Effect::Silent),
    fork(Dialect::ConWeave, "FLOW_INPUT_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "CNP_OUTPUT_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "EST_ERROR_MON_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "VOQ_MON_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "VOQ_MON_DETAIL_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "UPLINK_MON_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "CONN_MON_FILE", Effect::Silent),
    fork(Dialect::ConWeave, "SW_MONITORING_INTERVAL", Effect::Silent),
    fork(Dialect::ConWeave, "CONWEAVE_TX_EXPIRY_TIME", Effect::Silent),
    fork(Dialect::ConWeave, "CONWEAVE_REPLY_TIMEOUT_EXTRA", Effect::Silent),
    fork(Dialect::ConWeave, "CONWEAVE_EXTRA_VOQ_FLUSH_TIME", Effect::Silent),
    fork(Dialect::ConWeave, "CONWEAVE_PATH_PAUSE_TIME", Effect::Silent),
    fork(Dialect::ConWeave, "CONWEAVE_DEFAULT_VOQ_WAITING_TIME", Effect::Silent),
];

/// Names of the values of `LB_MODE`.
pub(super) const BALANCING: [(u32, &str); 5] =
    [(0, "flow hash"), (2, "DRILL"), (3, "CONGA"), (6, "LetFlow"), (9, "ConWeave")];

//! Configurations as that simulator's `run.py` writes them for a rate of the hosts' links.

use crate::hpcc::Config;

/// Largest threshold in a file: bytes have 32 bits in that simulator.
const MOST_KB: u32 = 4_294_967;

/// A control law with the settings of `run.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Its `hp`: HPCC.
    Hpcc,
    /// Its `dcqcn`, with the vendor's parameters: DCQCN without a window. Its ACKs go first.
    Dcqcn,
    /// Its `dcqcn_vwin`: with HPCC's window. Its ACKs queue with data.
    DcqcnWin,
    /// Its `dcqcn_paper`: with timers of the DCQCN paper.
    DcqcnPaper,
    /// Its `dcqcn_paper_vwin`.
    DcqcnPaperWin,
    /// Its `timely`.
    Timely,
    /// Its `timely_vwin`: with HPCC's window. Its ACKs still go first.
    TimelyWin,
    /// Its `dctcp`, by rates.
    Dctcp,
}

impl Law {
    /// All of them: the name here, and that in `run.py`.
    pub const NAMES: [(&'static str, &'static str, Self); 8] = [
        ("hpcc", "hp", Self::Hpcc),
        ("dcqcn", "dcqcn", Self::Dcqcn),
        ("dcqcn-win", "dcqcn_vwin", Self::DcqcnWin),
        ("dcqcn-paper", "dcqcn_paper", Self::DcqcnPaper),
        ("dcqcn-paper-win", "dcqcn_paper_vwin", Self::DcqcnPaperWin),
        ("timely", "timely", Self::Timely),
        ("timely-win", "timely_vwin", Self::TimelyWin),
        ("dctcp", "dctcp", Self::Dctcp),
    ];

    /// The law of a name, either ours or that in `run.py`.
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(here, there, _)| *here == name || *there == name).map(|(.., law)| *law)
    }

    /// The configuration for hosts with links of `rate` (bits per second). `rates` are those of all links: each gets
    /// thresholds, and so does four times `rate`, as in the script. Values between the script's steps are rounded down,
    /// as in the script.
    pub fn config(self, rate: u64, rates: &[u64]) -> Config {
        const M: u64 = 1_000_000;
        let gbps = rate / 1_000_000_000;
        let paper = matches!(self, Self::DcqcnPaper | Self::DcqcnPaperWin);
        let windowed = !matches!(self, Self::Dcqcn | Self::DcqcnPaper | Self::Timely);
        let (cc_mode, ai, hai) = match self {
            Self::Hpcc => (3, 10 * gbps / 25, 10 * gbps / 25),
            Self::Dctcp => (8, 10, 10),
            Self::Timely | Self::TimelyWin => (7, 10 * gbps / 10, 50 * gbps / 10),
            _ => (1, 5 * gbps / 25, 50 * gbps / 25),
        };
        let mut rates: Vec<u64> = rates.iter().copied().chain([rate, rate.saturating_mul(4)]).collect();
        rates.sort_unstable();
        rates.dedup();
        // KB by rate: 30 of each 10 Gb/s for DCTCP, 100 and 400 of each 25 Gb/s otherwise.
        let kb = |per: u64, of: u64| -> Vec<(u64, u32)> {
            let kb = |rate: u64| u32::try_from(rate as u128 * per as u128 / of as u128 / 1_000_000_000);
            rates.iter().map(|rate| (*rate, kb(*rate).map_or(MOST_KB, |kb| kb.min(MOST_KB)))).collect()
        };
        let dctcp = self == Self::Dctcp;
        Config {
            cc_mode,
            stop: 4.0,
            alpha_resume_interval: if paper { 50.0 } else { 1.0 },
            rate_decrease_interval: if paper { 50.0 } else { 4.0 },
            rp_timer: if paper { 55.0 } else { 300.0 },
            fast_recovery_times: 1,
            ewma_gain: if dctcp { 0.0625 } else { 0.00390625 },
            rate_ai: ai * M,
            rate_hai: hai * M,
            min_rate: 1000 * M,
            dctcp_rate_ai: if dctcp { 615 * M } else { 1000 * M },
            l2_chunk_size: 4000,
            l2_ack_interval: 1,
            has_win: windowed,
            var_win: windowed,
            fast_react: self == Self::Hpcc,
            mi_thresh: 0,
            // The script has 0, with which telemetry would have no unit.
            int_multi: if self == Self::Hpcc { (gbps / 25).clamp(1, 65_536) as u32 } else { 1 },
            multi_rate: false,
            ack_high_prio: !windowed || self == Self::TimelyWin,
            kmin: if dctcp { kb(30, 10) } else { kb(100, 25) },
            kmax: if dctcp { kb(30, 10) } else { kb(400, 25) },
            pmax: rates.iter().map(|rate| (*rate, if dctcp { 1.0 } else { 0.2 })).collect(),
            // At least 1; the script has 0.
            buffer_mib: (16 * gbps / 50).clamp(1, 4095) as u32,
            // That simulator opens these even if they have no name.
            trace_output_file: "trace.tr".into(),
            qlen_file: "qlen.txt".into(),
            enable_trace: false,
            qlen_start: 2_000_000_000,
            qlen_end: 2_010_000_000,
            ..Config::default()
        }
    }
}

//! The options of uet-htsim's command line that decide about results.
//!
//! Source: uet-htsim's program for UEC. The files of `-tm` and `-topo` are arguments of [`crate::simulate`] instead.

use std::str::FromStr;

use crate::error::{Error, Place};
use fanin_cc::paths::PathsKind;
use fanin_cc::uet::Law;

/// The laws of windows, by the names of the original.
const LAWS: [(&str, Law); 3] = [("nscc", Law::Nscc), ("dctcp", Law::Dctcp), ("constant", Law::Constant)];

/// How senders choose paths, by the names of the original.
const BALANCING: [(&str, PathsKind); 5] = [
    ("oblivious", PathsKind::Oblivious),
    ("bitmap", PathsKind::Bitmap),
    ("reps", PathsKind::Reps),
    ("reps_legacy", PathsKind::RepsLegacy),
    ("mixed", PathsKind::Mixed),
];

/// The size of queues, if it is not the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// As many packets.
    Packets(u64),
    /// So many times the product of rate and round-trip time.
    Products(u64),
}

/// The options; [`Options::default`] is an empty command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-end`: the end in microseconds.
    pub end_us: u64,
    /// `-mtu`: bytes of a full packet.
    pub mtu: u32,
    /// `-trimsize`: bytes of a trimmed packet.
    pub trim_size: u16,
    /// `-linkspeed`: Mb/s of NICs and, without a topology, of all links.
    pub link_speed: u64,
    /// `-hop_latency`: latency of links without a topology, in microseconds.
    pub hop_latency: f64,
    /// `-switch_latency`: latency of switches without a topology, in microseconds.
    pub switch_latency: f64,
    /// `-tiers`: of the default topology.
    pub tiers: u32,
    /// `-seed`.
    pub seed: u32,
    /// `-paths`: number of entropies.
    pub paths: u32,
    /// `-sack_threshold`: bytes that make a receiver acknowledge.
    pub sack_threshold: u32,
    /// `-disable_trim`: full queues drop.
    pub disable_trim: bool,
    /// `-q`, `-queue_size_bdp_factor`.
    pub queue: Option<QueueSize>,
    /// `-ecn LOW HIGH` in packets.
    pub ecn: Option<(u64, u64)>,
    /// NSCC is on.
    pub nscc: bool,
    /// RCCC is on.
    pub rccc: bool,
    /// Whether RCCC reacts to oversubscription whatever the topology says: `-oversubscribed_cc`, or never:
    /// `-force_disable_oversubscribed_cc`.
    pub oversubscribed: Option<bool>,
    /// `-sender_cc_algo`.
    pub law: Law,
    /// `-target_q_delay` in microseconds.
    pub target_delay: Option<f64>,
    /// `-qa_gate`.
    pub gate: u32,
    /// `-cwnd`: first window in packets.
    pub window: Option<u32>,
    /// `-enable_accurate_base_rtt`.
    pub accurate_rtt: bool,
    /// `-disable_base_rtt_update_on_nack`.
    pub no_rtt_of_nacks: bool,
    /// `-load_balancing_algo`.
    pub balancing: PathsKind,
    /// `-failed`: number of slow links.
    pub slow_links: u32,
    /// `-conn_reuse`.
    pub reuse: bool,
    /// `-sleek`: loss recovery where nothing is trimmed.
    pub sleek: bool,
    /// Options that were given and have no effect on results.
    pub without_effect: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            end_us: 1000,
            mtu: 4150,
            trim_size: 64,
            link_speed: 100_000,
            hop_latency: 1.0,
            switch_latency: 0.0,
            tiers: 3,
            seed: 13,
            paths: 64,
            sack_threshold: 16_384,
            disable_trim: false,
            queue: None,
            ecn: None,
            nscc: true,
            rccc: false,
            oversubscribed: None,
            law: Law::Nscc,
            target_delay: None,
            gate: 3,
            window: None,
            accurate_rtt: false,
            no_rtt_of_nacks: false,
            balancing: PathsKind::Mixed,
            slow_links: 0,
            reuse: false,
            sleek: false,
            without_effect: Vec::new(),
        }
    }
}

/// Options that change results.
const KNOWN: [&str; 30] = [
    "-end",
    "-mtu",
    "-trimsize",
    "-linkspeed",
    "-hop_latency",
    "-switch_latency",
    "-tiers",
    "-seed",
    "-paths",
    "-sack_threshold",
    "-disable_trim",
    "-q",
    "-queue_size_bdp_factor",
    "-ecn",
    "-sender_cc",
    "-receiver_cc",
    "-sender_cc_only",
    "-receiver_cc_only",
    "-oversubscribed_cc",
    "-force_disable_oversubscribed_cc",
    "-sender_cc_algo",
    "-target_q_delay",
    "-qa_gate",
    "-cwnd",
    "-enable_accurate_base_rtt",
    "-disable_base_rtt_update_on_nack",
    "-load_balancing_algo",
    "-failed",
    "-conn_reuse",
    "-sleek",
];

/// Options that change no result here, and whether a value follows: files and logs of the original, a number of hosts
/// that the matrix has in any case, and adaptive routing, which only `-strat` turns on.
const WITHOUT_EFFECT: [(&str, bool); 9] = [
    ("-o", true),
    ("-log", true),
    ("-logtime", true),
    ("-logtime_us", true),
    ("-debug", false),
    ("-nodes", true),
    ("-ar_sticky_delta", true),
    ("-ar_granularity", true),
    ("-ar_method", true),
];

/// Options of the original that would change results and are not supported.
const REFUSED: [&str; 8] = ["-pcie", "-planes", "-strat", "-queue_type", "-host_queue_type", "-Ai", "-Md", "-alpha"];

fn error<T>(what: impl Into<String>) -> Result<T, Error> {
    crate::error::error(Place::Options, what)
}

fn within<T: FromStr + PartialOrd + std::fmt::Display + Copy>(
    option: &str,
    value: Option<&str>,
    least: T,
    most: T,
) -> Result<T, Error> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| (least..=most).contains(number));
    match (number, value) {
        (Some(number), _) => Ok(number),
        (None, Some(value)) => {
            error(format!("{option} {value} is out of range; it needs a number from {least} to {most}"))
        }
        (None, None) => error(format!("{option} has no value; it needs a number from {least} to {most}")),
    }
}

/// One of some words.
fn one_of<T: Copy>(option: &str, value: Option<&str>, words: &[(&str, T)]) -> Result<T, Error> {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    match words.iter().find(|(word, _)| Some(*word) == value) {
        Some((_, meant)) => Ok(*meant),
        None => error(format!("{option} {} is not known; it is one of {}", value.unwrap_or(""), known.join(", "))),
    }
}

impl Options {
    /// Reads options, each word an item.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let mut o = Self::default();
        let (mut sender, mut receiver, mut only) = (false, false, None);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word {
                "-end" => o.end_us = within(word, words.next(), 1, 1_000_000_000)?,
                "-mtu" => o.mtu = within(word, words.next(), 65, 65_535)?,
                "-trimsize" => o.trim_size = within(word, words.next(), 64, 65_535)?,
                "-linkspeed" => o.link_speed = within(word, words.next(), 1, 8_000_000)?,
                "-hop_latency" => o.hop_latency = within(word, words.next(), 0.0, 1e6)?,
                "-switch_latency" => o.switch_latency = within(word, words.next(), 0.0, 1e6)?,
                "-tiers" => o.tiers = within(word, words.next(), 2, 3)?,
                "-seed" => o.seed = within(word, words.next(), 0, u32::MAX)?,
                "-paths" => o.paths = within(word, words.next(), 1, 65_536)?,
                "-sack_threshold" => o.sack_threshold = within(word, words.next(), 0, 1 << 24)?,
                "-disable_trim" => o.disable_trim = true,
                "-q" => o.queue = Some(QueueSize::Packets(within(word, words.next(), 1, 1 << 20)?)),
                "-queue_size_bdp_factor" => {
                    o.queue = Some(QueueSize::Products(within(word, words.next(), 1, 1000)?));
                }
                "-ecn" => {
                    let low = within(word, words.next(), 0, 1 << 20)?;
                    o.ecn = Some((low, within(word, words.next(), low, 1 << 20)?));
                }
                "-sender_cc" => sender = true,
                "-receiver_cc" => receiver = true,
                "-sender_cc_only" => only = Some((true, false)),
                "-receiver_cc_only" => only = Some((false, true)),
                "-oversubscribed_cc" => o.oversubscribed = o.oversubscribed.or(Some(true)),
                "-force_disable_oversubscribed_cc" => o.oversubscribed = Some(false),
                "-sender_cc_algo" => o.law = one_of(word, words.next(), &LAWS)?,
                "-target_q_delay" => o.target_delay = Some(within(word, words.next(), 0.001, 1e6)?),
                "-qa_gate" => o.gate = within(word, words.next(), 0, 62)?,
                "-cwnd" => o.window = Some(within(word, words.next(), 1, 1 << 20)?),
                "-enable_accurate_base_rtt" => o.accurate_rtt = true,
                "-disable_base_rtt_update_on_nack" => o.no_rtt_of_nacks = true,
                "-load_balancing_algo" => o.balancing = one_of(word, words.next(), &BALANCING)?,
                "-failed" => o.slow_links = within(word, words.next(), 0, 1 << 20)?,
                "-conn_reuse" => o.reuse = true,
                "-sleek" => o.sleek = true,
                _ => o.other(word, &mut words)?,
            }
        }
        (o.nscc, o.rccc) = only.unwrap_or((sender || !receiver, receiver));
        o.check()?;
        if o.sleek && !o.disable_trim {
            // As in the original: trimming finds losses.
            o.sleek = false;
            o.without_effect.push("-sleek".to_owned());
        }
        Ok(o)
    }

    /// What controls senders, and how they choose paths: "nscc-rccc-mixed".
    pub fn scheme(&self) -> String {
        let law = LAWS.iter().find(|(_, law)| *law == self.law && self.nscc).map(|(name, _)| *name);
        let balancing = BALANCING.iter().find(|(_, of)| *of == self.balancing).map(|(name, _)| *name);
        let parts = [law, self.rccc.then_some("rccc"), balancing];
        parts.into_iter().flatten().collect::<Vec<_>>().join("-")
    }

    /// An option without effect; otherwise an error.
    fn other<'a>(&mut self, word: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<(), Error> {
        if let Some((_, valued)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == word) {
            if *valued && words.next().is_none() {
                return error(format!("{word} has no value; it needs one"));
            }
            self.without_effect.push(word.to_owned());
            return Ok(());
        }
        if REFUSED.contains(&word) {
            return error(format!("{word} is not supported; leave it out"));
        }
        if word == "-tm" || word == "-topo" {
            return error(format!("{word} names a file; matrix and topology are given beside the options"));
        }
        let all = KNOWN.iter().copied().chain(WITHOUT_EFFECT.iter().map(|(known, _)| *known));
        let near = all.map(|known| (strsim::normalized_damerau_levenshtein(word, known), known));
        match near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(alike, _)| *alike >= 0.5) {
            Some((_, known)) => error(format!("{word} is not known; did you mean {known}?")),
            None => error(format!("{word} is not known; known are {}", KNOWN.join(" "))),
        }
    }

    fn check(&self) -> Result<(), Error> {
        if !self.paths.is_power_of_two() {
            let near = self.paths.next_power_of_two();
            return error(format!("-paths {} is not a power of two; the next one is {near}", self.paths));
        }
        if u32::from(self.trim_size) > self.mtu {
            let (trim, mtu) = (self.trim_size, self.mtu);
            return error(format!("-trimsize {trim} is larger than a packet; it is at most the {mtu} of -mtu"));
        }
        if self.balancing == PathsKind::Reps && self.disable_trim {
            return error("-load_balancing_algo reps needs trimming; leave out -disable_trim");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_follows_from_four_options() {
        let mode = |text: &str| {
            let o = Options::parse(text.split_whitespace()).unwrap();
            (o.nscc, o.rccc)
        };
        assert_eq!(mode(""), (true, false));
        assert_eq!(mode("-sender_cc_only"), (true, false));
        assert_eq!(mode("-receiver_cc_only"), (false, true));
        assert_eq!(mode("-sender_cc -receiver_cc"), (true, true));
        let scheme = |text: &str| Options::parse(text.split_whitespace()).unwrap().scheme();
        assert_eq!(scheme("-sender_cc -receiver_cc"), "nscc-rccc-mixed");
        assert_eq!(scheme("-receiver_cc_only -load_balancing_algo reps"), "rccc-reps");
        assert_eq!(scheme("-sender_cc_algo dctcp"), "dctcp-mixed");
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let refused = |text: &str| Options::parse(text.split_whitespace()).unwrap_err().to_string();
        for (options, right) in [
            ("-mtu 64", "-mtu 64 is out of range; it needs a number from 65 to 65535"),
            ("-end", "-end has no value; it needs a number from 1 to 1000000000"),
            ("-paths 48", "-paths 48 is not a power of two; the next one is 64"),
            ("-hop_latency nan", "-hop_latency nan is out of range; it needs a number from 0 to 1000000"),
            ("-trimsize 128 -mtu 100", "-trimsize 128 is larger than a packet; it is at most the 100 of -mtu"),
            (
                "-load_balancing_algo rep",
                "-load_balancing_algo rep is not known; it is one of oblivious, bitmap, reps,",
            ),
            ("-load_balancing reps", "-load_balancing is not known; did you mean -load_balancing_algo?"),
            ("-pcie", "-pcie is not supported; leave it out"),
            ("--x 3", "--x is not known; known are -end -mtu"),
        ] {
            assert!(refused(options).starts_with(&format!("options: {right}")), "{}", refused(options));
        }
    }

    #[test]
    fn options_without_effect_are_told() {
        let o = Options::parse("-o log.out -debug -logtime 0.1".split_whitespace()).unwrap();
        assert_eq!(o.without_effect, ["-o", "-debug", "-logtime"]);
        let sleek = |text: &str| {
            let o = Options::parse(text.split_whitespace()).unwrap();
            (o.sleek, o.without_effect)
        };
        assert_eq!(sleek("-sleek"), (false, vec!["-sleek".to_owned()]));
        assert_eq!(sleek("-sleek -disable_trim"), (true, Vec::new()));
    }
}

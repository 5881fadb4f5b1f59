//! The options of uet-htsim's command line that decide about results.
//!
//! Source: uet-htsim's program for UEC. The files of `-tm` and `-topo` are arguments of [`crate::simulate`] instead.

use std::str::FromStr;

use crate::error::{Error, error};

/// The law of a sender's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// NSCC.
    Nscc,
    /// That of `dctcp`: windows follow marks.
    Marks,
    /// A constant window.
    Constant,
}

/// How senders choose the paths of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balancing {
    /// All paths in turn.
    Oblivious,
    /// All paths in turn, those with penalties skipped.
    Bitmap,
    /// Good paths again.
    Reps,
    /// Good paths again, the older way.
    RepsLegacy,
    /// Good paths again; the bitmap's choice without such.
    Mixed,
}

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
    pub trim_size: u32,
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
    /// `-oversubscribed_cc`: RCCC reacts to oversubscription whatever the topology says.
    pub oversubscribed: bool,
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
    pub balancing: Balancing,
    /// `-failed`: number of slow links.
    pub slow_links: u32,
    /// `-conn_reuse`.
    pub reuse: bool,
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
            oversubscribed: false,
            law: Law::Nscc,
            target_delay: None,
            gate: 3,
            window: None,
            accurate_rtt: false,
            no_rtt_of_nacks: false,
            balancing: Balancing::Mixed,
            slow_links: 0,
            reuse: false,
            without_effect: Vec::new(),
        }
    }
}

const KNOWN: &str = "-end -mtu -trimsize -linkspeed -hop_latency -switch_latency -tiers -seed -paths -sack_threshold \
    -disable_trim -q -queue_size_bdp_factor -ecn -sender_cc -receiver_cc -sender_cc_only -receiver_cc_only \
    -oversubscribed_cc -sender_cc_algo -target_q_delay -qa_gate -cwnd -enable_accurate_base_rtt \
    -disable_base_rtt_update_on_nack -load_balancing_algo -failed -conn_reuse, and without effect -o -log";

fn within<T: FromStr + PartialOrd + std::fmt::Display + Copy>(
    option: &str,
    value: Option<&str>,
    least: T,
    most: T,
) -> Result<T, Error> {
    let wanted = || Error(format!("{option} needs a number from {least} to {most}"));
    let number = value.ok_or_else(wanted)?.parse().map_err(|_| wanted())?;
    if number >= least && number <= most { Ok(number) } else { Err(wanted()) }
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
                "-oversubscribed_cc" => o.oversubscribed = true,
                "-sender_cc_algo" => {
                    o.law = match words.next() {
                        Some("nscc") => Law::Nscc,
                        Some("dctcp") => Law::Marks,
                        Some("constant") => Law::Constant,
                        _ => return error("-sender_cc_algo needs nscc, dctcp or constant"),
                    }
                }
                "-target_q_delay" => o.target_delay = Some(within(word, words.next(), 0.001, 1e6)?),
                "-qa_gate" => o.gate = within(word, words.next(), 0, 62)?,
                "-cwnd" => o.window = Some(within(word, words.next(), 1, 1 << 20)?),
                "-enable_accurate_base_rtt" => o.accurate_rtt = true,
                "-disable_base_rtt_update_on_nack" => o.no_rtt_of_nacks = true,
                "-load_balancing_algo" => {
                    o.balancing = match words.next() {
                        Some("oblivious") => Balancing::Oblivious,
                        Some("bitmap") => Balancing::Bitmap,
                        Some("reps") => Balancing::Reps,
                        Some("reps_legacy") => Balancing::RepsLegacy,
                        Some("mixed") => Balancing::Mixed,
                        _ => {
                            return error("-load_balancing_algo needs oblivious, bitmap, reps, reps_legacy or mixed");
                        }
                    }
                }
                "-failed" => o.slow_links = within(word, words.next(), 0, 1 << 20)?,
                "-conn_reuse" => o.reuse = true,
                "-o" | "-log" => match words.next() {
                    Some(value) => o.without_effect.push(format!("{word} {value}")),
                    None => return error(format!("{word} needs a value")),
                },
                "-sleek" | "-pcie" | "-planes" | "-strat" => return error(format!("{word} is not supported")),
                "-tm" | "-topo" => return error(format!("{word}: matrix and topology are given as text, not here")),
                _ => return error(format!("unknown option {word}; known are {KNOWN}")),
            }
        }
        (o.nscc, o.rccc) = only.unwrap_or((sender || !receiver, receiver));
        o.check()?;
        Ok(o)
    }

    fn check(&self) -> Result<(), Error> {
        if !self.paths.is_power_of_two() {
            return error(format!("-paths needs a power of two, not {}", self.paths));
        }
        if self.trim_size > self.mtu {
            return error(format!("-trimsize {} is larger than -mtu {}", self.trim_size, self.mtu));
        }
        if self.balancing == Balancing::Reps && self.disable_trim {
            return error("-load_balancing_algo reps needs trimming: leave out -disable_trim");
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
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let refused = |text: &str| Options::parse(text.split_whitespace()).unwrap_err().to_string();
        assert_eq!(refused("-mtu 64"), "-mtu needs a number from 65 to 65535");
        assert_eq!(refused("-end"), "-end needs a number from 1 to 1000000000");
        assert_eq!(refused("-paths 48"), "-paths needs a power of two, not 48");
        assert_eq!(refused("-hop_latency nan"), "-hop_latency needs a number from 0 to 1000000");
        assert!(refused("-speed 3").starts_with("unknown option -speed; known are -end -mtu"));
    }
}

//! That simulator's text output: completed flows, pauses, queue lengths.

use crate::Error;
use crate::text::{Word, Words, is_space, quote};
use core::fmt;

/// The address of a node: 11.x.y.1, with the id in x and y.
pub const fn node_ip(node: u32) -> u32 {
    0x0b00_0001 + (node / 256) * 0x1_0000 + (node % 256) * 0x100
}

/// The node with this address.
pub const fn ip_node(ip: u32) -> u32 {
    (ip >> 8) & 0xffff
}

/// A line of the FCT file: a completed flow. `Display` writes it as that simulator does, without the line's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fct {
    /// Sender's address, see [`node_ip`].
    pub sip: u32,
    /// Receiver's address.
    pub dip: u32,
    /// UDP source port: 10000 and up by the flows before it between these two hosts.
    pub sport: u16,
    /// UDP destination port.
    pub dport: u16,
    /// Bytes of the flow.
    pub bytes: u64,
    /// Start, ns.
    pub start: u64,
    /// From the start to the arrival of the last ACK at the sender, ns.
    pub fct: u64,
    /// The same without any other flow, by [`standalone_fct`], ns.
    pub standalone: u64,
}

impl fmt::Display for Fct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sip, dip, sport, dport, bytes, start, fct, standalone } = self;
        write!(f, "{sip:08x} {dip:08x} {sport} {dport} {bytes} {start} {fct} {standalone}")
    }
}

/// Reads a file of completed flows.
///
/// # Errors
/// The problem with its line.
pub fn read_fct(file: &str, text: &[u8]) -> Result<Vec<Fct>, Error> {
    const RIGHT: &str = "a line is sip dip sport dport bytes start fct standalone";
    let mut all = Vec::new();
    for_lines(file, text, |words, first| {
        let sip = address(words, first, RIGHT)?;
        let dip = words.need(format_args!("an address"))?;
        let dip = address(words, dip, RIGHT)?;
        let sport = words.whole("a source port", u16::MAX as u64)? as u16;
        let dport = words.whole("a destination port", u16::MAX as u64)? as u16;
        let bytes = words.whole("a size", u64::MAX)?;
        let start = words.whole("a start", u64::MAX)?;
        let fct = words.whole("a completion time", u64::MAX)?;
        let standalone = words.whole("a completion time alone", u64::MAX)?;
        all.push(Fct { sip, dip, sport, dport, bytes, start, fct, standalone });
        at_end(words, RIGHT)
    })?;
    Ok(all)
}

/// A line of the PFC file, written where a pause or resume frame arrives. `Display` writes it without the line's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// When, ns.
    pub time: u64,
    /// The node that is paused or resumed.
    pub node: u32,
    /// Whether that is a switch (1) or a host (0).
    pub is_switch: bool,
    /// Its interface, by order of its links in the topology, from 1.
    pub interface: u32,
    /// Whether it is paused (1) or resumed (0).
    pub pause: bool,
}

impl fmt::Display for Pfc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, node, is_switch, interface, pause } = self;
        write!(f, "{time} {node} {} {interface} {}", *is_switch as u8, *pause as u8)
    }
}

/// Reads a file of pauses.
///
/// # Errors
/// The problem with its line.
pub fn read_pfc(file: &str, text: &[u8]) -> Result<Vec<Pfc>, Error> {
    let mut all = Vec::new();
    for_lines(file, text, |words, first| {
        let time = words.whole_of(first, "a time", u64::MAX)?;
        let node = words.whole("a node", u32::MAX as u64)? as u32;
        let is_switch = words.whole("a node's type", 1)? == 1;
        let interface = words.whole("an interface", u32::MAX as u64)? as u32;
        let pause = words.whole("pause or resume", 1)? == 1;
        all.push(Pfc { time, node, is_switch, interface, pause });
        at_end(words, "a line is time node type interface pause")
    })?;
    Ok(all)
}

/// One dump of the queue lengths: all samples until then. `Display` writes it with all its lines' ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlenDump {
    /// When, ns.
    pub time: u64,
    /// Switch ports, ascending by switch and interface.
    pub ports: Vec<QlenPort>,
}

/// Histogram of the queue of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QlenPort {
    /// The switch.
    pub switch: u32,
    /// Its interface, from 1.
    pub interface: u32,
    /// At `k`: samples in which the port held from `k` KB to less than `k + 1` KB, of 1000 bytes.
    pub counts: Vec<u32>,
}

impl fmt::Display for QlenDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "time: {}", self.time)?;
        for QlenPort { switch, interface, counts } in &self.ports {
            write!(f, "{switch} {interface}")?;
            counts.iter().try_for_each(|count| write!(f, " {count}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Reads a file of queue lengths.
///
/// # Errors
/// The problem with its line.
pub fn read_qlen(file: &str, text: &[u8]) -> Result<Vec<QlenDump>, Error> {
    let mut all: Vec<QlenDump> = Vec::new();
    for_lines(file, text, |words, first| {
        if first.bytes == b"time:" {
            let time = words.whole("a time", u64::MAX)?;
            all.push(QlenDump { time, ports: Vec::new() });
            return at_end(words, "a line is time: and the time, or a port's counts");
        }
        let switch = words.whole_of(first, "a switch", u32::MAX as u64)? as u32;
        let interface = words.whole("an interface", u32::MAX as u64)? as u32;
        let mut counts = Vec::new();
        while let Some(word) = words.next() {
            counts.push(words.whole_of(word, "a count", u32::MAX as u64)? as u32);
        }
        let Some(dump) = all.last_mut() else {
            return Err(words.error(words.line(), "a port's counts before any line with a time"));
        };
        dump.ports.push(QlenPort { switch, interface, counts });
        Ok(())
    })?;
    Ok(all)
}

/// The ideal completion time of a flow, ns, as that simulator writes it next to each measured one: in integers, each
/// step rounded down. `links` are those on a shortest path, rate in bits per second and delay in ns.
///
/// It omits telemetry and the ACK's transmission and counts the last packet at the bottleneck twice.
pub fn standalone_fct(payload: u32, bytes: u32, links: &[(u64, u64)]) -> u64 {
    let hop = |&(rate, delay): &(u64, u64)| {
        let once = (payload as u64 * 8_000_000_000).checked_div(rate).unwrap_or(0);
        delay.wrapping_mul(2).wrapping_add(once)
    };
    let base = links.iter().map(hop).fold(0u64, u64::wrapping_add);
    let slowest = links.iter().map(|(rate, _)| *rate).min().unwrap_or(0);
    // 48 bytes of headers on each packet, in 32 bits.
    let packets = bytes.saturating_sub(1).checked_div(payload).unwrap_or(0) + 1;
    let total = bytes.wrapping_add(packets.wrapping_mul(48));
    let transmission = (total as u64).wrapping_mul(8_000_000_000).checked_div(slowest).unwrap_or(0);
    base.wrapping_add(transmission)
}

/// Calls `read` for each non-empty line with its first word and a reader of the rest of the line.
fn for_lines<'a>(
    file: &'a str,
    text: &'a [u8],
    mut read: impl FnMut(&mut Words<'a>, Word<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    for (at, line) in text.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(|b| is_space(*b)) {
            continue;
        }
        let mut words = Words::of_line(file, line, at as u32 + 1);
        if let Some(first) = words.next() {
            read(&mut words, first)?;
        }
    }
    Ok(())
}

fn address(words: &Words<'_>, word: Word<'_>, right: &str) -> Result<u32, Error> {
    let text = core::str::from_utf8(word.bytes).unwrap_or("-");
    match u32::from_str_radix(text, 16) {
        Ok(ip) if !text.starts_with('+') => Ok(ip),
        _ => Err(words.error(word.line, format!("{} is not an address; {right}", quote(word.bytes)))),
    }
}

fn at_end(words: &mut Words<'_>, right: &str) -> Result<(), Error> {
    match words.next() {
        Some(word) => Err(words.error(word.line, format!("{} is superfluous; {right}", quote(word.bytes)))),
        None => Ok(()),
    }
}

//! Topology files.

use super::{Link, Topology, delay, rate};
use crate::text::{Words, quote};
use crate::{Error, Warning};
use core::fmt::Write as _;

/// Number of nodes with an address: a node's id is 16 bits of it.
pub(super) const MAX_NODES: usize = 1 << 16;

impl Topology {
    /// Reads a topology file: node, switch and link count; the switches' ids; the links, `a b rate delay error_rate`.
    ///
    /// # Errors
    /// The problem with its line and a correction.
    pub fn read(file: &str, text: &[u8]) -> Result<(Self, Vec<Warning>), Error> {
        let mut words = Words::new(file, text);
        let mut warnings = Vec::new();
        let nodes = words.whole("the number of nodes", u64::MAX)?;
        let switches = words.whole("the number of switches", u64::MAX)?;
        let links = words.whole("the number of links", u64::MAX)?;
        // No memory is allocated before the file is known to be long enough for its counts.
        let line = words.line();
        if nodes > MAX_NODES as u64 {
            return Err(words.error(line, format!("{nodes} nodes; addresses exist for {MAX_NODES}")));
        }
        if switches > nodes {
            return Err(words.error(line, format!("{switches} switches among {nodes} nodes")));
        }
        // "0 1 1 0 0" is the shortest link, "0" the shortest id; and each has one more byte before it.
        let needs = links.saturating_mul(10).saturating_add(switches * 2);
        if needs > words.left() as u64 {
            let problem =
                format!("{switches} switches and {links} links need more than the file's {} bytes", text.len());
            return Err(words.error(line, problem));
        }
        if nodes - switches > links * 2 {
            let hosts = nodes - switches;
            return Err(words.error(line, format!("{hosts} hosts on {links} links; each host needs one")));
        }
        let mut is_switch = vec![false; nodes as usize];
        for _ in 0..switches {
            let id = node(&mut words, "a switch", nodes)?;
            if core::mem::replace(&mut is_switch[id as usize], true) {
                return Err(words.error(words.line(), format!("switch {id} is named twice")));
            }
        }
        let mut topology = Self { is_switch, links: Vec::with_capacity(links as usize) };
        for _ in 0..links {
            let link = read_link(&mut words, nodes)?;
            topology.links.push(link);
        }
        if let Some(word) = words.next() {
            let odd = format!("{} and the rest of the file are ignored: there are {links} links", quote(word.bytes));
            warnings.push(words.warning(word.line, odd));
        }
        topology.check_nodes().map_err(|what| words.error(0, what))?;
        if let Some((a, b)) = topology.parallel_links() {
            let odd = format!("parallel links between {a} and {b}: only the last of them carries packets");
            warnings.push(words.warning(0, odd));
        }
        Ok((topology, warnings))
    }

    /// Whether this node is a host of the topology.
    pub fn is_host(&self, node: u32) -> bool {
        self.is_switch.get(node as usize) == Some(&false)
    }

    /// Host ids, ascending.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        self.is_switch.iter().enumerate().filter(|(_, switch)| !**switch).map(|(id, _)| id as u32)
    }

    /// The file: rates in whole gigabits if possible, delays in nanoseconds, error rates with six digits if exact.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(64 + self.is_switch.len() * 5 + self.links.len() * 34);
        let switches = self.is_switch.iter().filter(|switch| **switch).count();
        let _ = writeln!(text, "{} {switches} {}", self.is_switch.len(), self.links.len());
        let mut gap = "";
        for (id, _) in self.is_switch.iter().enumerate().filter(|(_, switch)| **switch) {
            let _ = write!(text, "{gap}{id}");
            gap = " ";
        }
        text.push('\n');
        for link in &self.links {
            let _ = write!(text, "{} {} ", link.a, link.b);
            let _ = match link.rate {
                rate if rate % 1_000_000_000 == 0 => write!(text, "{}Gbps", rate / 1_000_000_000),
                rate if rate % 1_000_000 == 0 => write!(text, "{}Mbps", rate / 1_000_000),
                rate => write!(text, "{rate}bps"),
            };
            let _ = write!(text, " {}ns ", link.delay);
            let six = format!("{:.6}", link.error_rate);
            let _ = match six.parse() == Ok(link.error_rate) {
                true => writeln!(text, "{six}"),
                false => writeln!(text, "{}", link.error_rate),
            };
        }
        text
    }

    /// Checks of nodes and links from any source.
    pub(super) fn check_nodes(&self) -> Result<(), String> {
        let nodes = self.is_switch.len();
        if nodes > MAX_NODES {
            return Err(format!("{nodes} nodes; addresses exist for {MAX_NODES}"));
        }
        let mut ports = vec![0u32; nodes];
        for link in &self.links {
            for end in [link.a, link.b] {
                *ports.get_mut(end as usize).ok_or_else(|| format!("a link to node {end} of {nodes}"))? += 1;
            }
        }
        for (id, ports) in ports.iter().enumerate() {
            match (self.is_switch[id], *ports) {
                (false, 0) => return Err(format!("node {id} is a host without a link; take it out or connect it")),
                // That simulator's tables have 257 ports, of which 0 is unused.
                (_, 257..) => return Err(format!("node {id} has {ports} links; at most 256 are possible")),
                _ => {}
            }
        }
        Ok(())
    }

    fn parallel_links(&self) -> Option<(u32, u32)> {
        let mut ends: Vec<_> = self.links.iter().map(|link| (link.a.min(link.b), link.a.max(link.b))).collect();
        ends.sort_unstable();
        ends.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

fn node(words: &mut Words<'_>, what: &str, nodes: u64) -> Result<u32, Error> {
    let id = words.whole(what, u64::MAX)?;
    if id >= nodes {
        return Err(words.error(words.line(), format!("{what} is {id}; nodes are 0 to {}", nodes.saturating_sub(1))));
    }
    Ok(id as u32)
}

fn read_link(words: &mut Words<'_>, nodes: u64) -> Result<Link, Error> {
    let a = node(words, "a link's first end", nodes)?;
    let b = node(words, "a link's second end", nodes)?;
    if a == b {
        return Err(words.error(words.line(), format!("a link from node {a} to itself")));
    }
    let word = words.need(format_args!("a link's rate"))?;
    let rate = match core::str::from_utf8(word.bytes).map_err(|_| "no rate".into()).and_then(rate) {
        Ok(rate) if rate > 0 => rate,
        Ok(_) => return Err(words.error(word.line, "a link's rate is 0; it is like 100Gbps")),
        Err(what) => return Err(words.error(word.line, format!("a link's rate {} is {what}", quote(word.bytes)))),
    };
    let word = words.need(format_args!("a link's delay"))?;
    let delay = match core::str::from_utf8(word.bytes).map_err(|_| "no delay".into()).and_then(delay) {
        Ok(delay) => delay,
        Err(what) => return Err(words.error(word.line, format!("a link's delay {} is {what}", quote(word.bytes)))),
    };
    let error_rate = words.real("a link's error rate")?;
    if !(0.0..=1.0).contains(&error_rate) {
        return Err(words.error(words.line(), format!("a link's error rate is {error_rate}; it is 0 to 1")));
    }
    Ok(Link { a, b, rate, delay, error_rate })
}

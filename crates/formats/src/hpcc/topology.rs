//! Topology files.

use super::{Header, Link, Topology, delay, rate};
use crate::text::{Words, quote};
use crate::{Error, Errors, Warning};
use core::fmt::Write as _;

impl Topology {
    /// Reads a topology file: node, switch and link count, and what forks add to them ([`Header`]); the switches' ids;
    /// the links, `a b rate delay error_rate`.
    ///
    /// # Errors
    /// All problems with their lines and corrections.
    pub fn read(file: &str, text: &[u8]) -> Result<(Self, Vec<Warning>), Errors> {
        let mut words = Words::new(file, text);
        let mut warnings = Vec::new();
        let Counts { nodes, switches, links } = Counts::read(&mut words, Header::of(text), text.len())?;
        check_ids(&words, switches)?;
        let mut errors = Errors::default();
        let mut is_switch = vec![false; nodes as usize];
        for _ in 0..switches {
            let id = match node(&mut words, "a switch", nodes) {
                Ok(id) => id,
                Err(error) if words.peek().is_none() => return Err(error.into()),
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            if core::mem::replace(&mut is_switch[id as usize], true) {
                errors.push(words.error(words.line(), format!("switch {id} is named twice")));
            }
        }
        // With each link in a line of its own, an error ends with the line.
        let mut ahead = words.clone();
        let by_line = ahead.next().is_some() && ahead.on_line().count() == 4;
        let mut topology = Self { is_switch, links: Vec::with_capacity(links as usize) };
        for _ in 0..links {
            let there = words.peek();
            match read_link(&mut words, nodes, by_line) {
                Ok(link) => topology.links.push(link),
                Err(error) => {
                    errors.push(error);
                    let Some(first) = there.filter(|_| by_line) else { break };
                    if words.line() < first.line {
                        words.next();
                    }
                    if words.line() == first.line {
                        words.skip_line();
                    }
                }
            }
        }
        if !errors.is_empty() {
            return errors.or((topology, warnings));
        }
        if let Some(word) = words.next() {
            let odd = format!("{} and the rest of the file are ignored: there are {links} links", quote(word.bytes));
            warnings.push(words.warning(word.line, odd));
        }
        topology.check_nodes().map_err(|what| words.error(0, what))?;
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

    /// The file: rates in whole gigabits if possible, delays in nanoseconds or else picoseconds, error rates with six
    /// digits if exact.
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
            let _ = match link.delay.ps % 1000 {
                0 => write!(text, " {}ns ", link.delay.ps / 1000),
                _ => write!(text, " {}ps ", link.delay.ps),
            };
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
        for (id, ports) in self.ports()?.iter().enumerate() {
            if !self.is_switch[id] && *ports == 0 {
                return Err(format!("node {id} is a host without a link; take it out or connect it"));
            }
        }
        Ok(())
    }

    /// The number of links of each node.
    pub(super) fn ports(&self) -> Result<Vec<u32>, String> {
        let nodes = self.is_switch.len();
        let mut ports = vec![0u32; nodes];
        for link in &self.links {
            for end in [link.a, link.b] {
                *ports.get_mut(end as usize).ok_or_else(|| format!("a link to node {end} of {nodes}"))? += 1;
            }
        }
        Ok(ports)
    }

    pub(super) fn parallel_links(&self) -> Option<(u32, u32)> {
        let mut ends: Vec<_> = self.links.iter().map(|link| (link.a.min(link.b), link.a.max(link.b))).collect();
        ends.sort_unstable();
        ends.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

/// Checks the count of switches against their ids, where these have a line of their own and a link has the next.
fn check_ids(words: &Words<'_>, switches: u64) -> Result<(), Error> {
    let mut ahead = words.clone();
    let Some(first) = ahead.next().filter(|first| first.line > words.line() && switches > 0) else { return Ok(()) };
    let ids = 1 + ahead.on_line().count() as u64;
    ahead.skip_line();
    let is_link = ahead.next().is_some() && ahead.on_line().count() == 4;
    if ids == switches || !is_link {
        return Ok(());
    }
    Err(words.error(first.line, format!("{ids} ids of switches; the first line says {switches} switches")))
}

/// The numbers at the beginning of a topology.
struct Counts {
    nodes: u64,
    switches: u64,
    links: u64,
}

impl Counts {
    /// Reads them, and checks that the rest of the file is long enough: no memory is allocated before.
    fn read(words: &mut Words<'_>, header: Header, bytes: usize) -> Result<Self, Error> {
        let nodes = words.whole("the number of nodes", u64::MAX)?;
        let of_servers = match header {
            Header::Six => {
                words.whole("the number of GPUs per server", u64::MAX)?;
                words.whole("the number of NVLink switches", u32::MAX as u64)?
            }
            Header::Three | Header::Four => 0,
        };
        let switches = words.whole("the number of switches", u64::MAX)?.saturating_add(of_servers);
        let racks = match header {
            Header::Four => Some(words.whole("the number of racks", u64::MAX)?),
            Header::Three | Header::Six => None,
        };
        let links = words.whole("the number of links", u64::MAX)?;
        if header == Header::Six {
            words.need(format_args!("the type of the GPUs"))?;
        }
        let line = words.line();
        if racks.is_some_and(|racks| racks > switches) {
            let what = format!(
                "{} racks among {switches} switches; a first line has three numbers, nodes, switches and links; with \
                 four, those of PowerTCP, the number of racks comes before the links",
                racks.unwrap_or(0)
            );
            return Err(words.error(line, what));
        }
        if switches > nodes {
            return Err(words.error(line, format!("{switches} switches among {nodes} nodes")));
        }
        if nodes > u32::MAX as u64 {
            return Err(words.error(line, format!("{nodes} nodes; at most {} are possible", u32::MAX)));
        }
        // "0 1 1 0 0" is the shortest link, "0" the shortest id; and each has one more byte before it.
        let needs = links.saturating_mul(10).saturating_add(switches * 2);
        if needs > words.left() as u64 {
            let problem = format!("{switches} switches and {links} links need more than the file's {bytes} bytes");
            return Err(words.error(line, problem));
        }
        if nodes - switches > links * 2 {
            let hosts = nodes - switches;
            return Err(words.error(line, format!("{hosts} hosts on {links} links; each host needs one")));
        }
        Ok(Self { nodes, switches, links })
    }
}

fn node(words: &mut Words<'_>, what: &str, nodes: u64) -> Result<u32, Error> {
    let id = words.whole(what, u64::MAX)?;
    if id >= nodes {
        return Err(words.error(words.line(), format!("{what} is {id}; nodes are 0 to {}", nodes.saturating_sub(1))));
    }
    Ok(id as u32)
}

fn read_link(words: &mut Words<'_>, nodes: u64, by_line: bool) -> Result<Link, Error> {
    if let Some(first) = words.peek().filter(|_| by_line) {
        let mut ahead = words.clone();
        ahead.next();
        let there = 1 + ahead.on_line().count();
        if there != 5 {
            let what = format!("a link of {there} columns; it has 5, a b rate delay error_rate");
            return Err(words.error(first.line, what));
        }
    }
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

//! Tables of links and nodes.

use super::csv::Csv;
use crate::text::quote;
use crate::{Error, Warning};
use fanin_units::{Rate, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const LINK_COLUMNS: [&str; 4] = ["a", "b", "rate", "delay"];
const LINK_NEEDS: &str = "a, b (names of nodes), rate (like 100 Gbps) and delay (like 1 us)";
const NODE_COLUMNS: [&str; 2] = ["name", "kind"];
const NODE_NEEDS: &str = "name and kind (host or switch)";

/// A network as a table of links, and optionally a table of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTable {
    /// Names of the hosts, in the order of the table of nodes, or else of their first occurrence in links.
    pub hosts: Vec<String>,
    /// Names of the switches, in the same order.
    pub switches: Vec<String>,
    /// The links in the order of the file.
    pub links: Vec<LinkRow>,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Warning>,
}

/// One bidirectional link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Its line in the file.
    pub line: u32,
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Time,
}

impl LinkTable {
    /// Reads a table of links with the columns `a`, `b`, `rate` and `delay`, and one of nodes with `name` and `kind`,
    /// each with the name of its file. Without a table of nodes, a node with a single neighbour is a host.
    ///
    /// # Errors
    /// The file, the line and a correction.
    pub fn read(file: &str, text: &str, nodes: Option<(&str, &str)>) -> Result<Self, Error> {
        let csv = Csv::read(file, text, LINK_NEEDS)?;
        csv.check_twice(&LINK_COLUMNS)?;
        let columns = csv.need(LINK_COLUMNS, LINK_NEEDS)?;
        let links = csv.rows().map(|row| row.and_then(|(line, fields)| link(&csv, line, columns.map(|at| fields[at]))));
        let mut table = Self { links: links.collect::<Result<_, _>>()?, ..Self::default() };
        table.warnings.extend(csv.ignored(&LINK_COLUMNS));
        match nodes {
            Some((file, text)) => table.kinds_from(file, text, &csv)?,
            None => table.kinds_by_links(file),
        }
        table.warnings.extend(table.both_directions(file));
        Ok(table)
    }

    /// Hosts and switches from a table of nodes, which must contain every node of a link.
    fn kinds_from(&mut self, file: &str, text: &str, links: &Csv<'_>) -> Result<(), Error> {
        let csv = Csv::read(file, text, NODE_NEEDS)?;
        csv.check_twice(&NODE_COLUMNS)?;
        let [name, kind] = csv.need(NODE_COLUMNS, NODE_NEEDS)?;
        let mut seen = HashMap::new();
        for row in csv.rows() {
            let (line, fields) = row?;
            let (name, kind) = (fields[name], fields[kind]);
            if name.is_empty() {
                return Err(csv.error(line, "the node has no name; give it one"));
            }
            if let Some(before) = seen.insert(name, line) {
                let what = format!("node {} is in line {before} too; leave one out", quote(name.as_bytes()));
                return Err(csv.error(line, what));
            }
            match kind {
                "host" => self.hosts.push(name.into()),
                "switch" => self.switches.push(name.into()),
                _ => {
                    let what = format!("kind {} is not known; it is host or switch", quote(kind.as_bytes()));
                    return Err(csv.error(line, what));
                }
            }
        }
        self.warnings.extend(csv.ignored(&NODE_COLUMNS));
        let ends = self.links.iter().flat_map(|link| [(link.line, &link.a), (link.line, &link.b)]);
        let unknown = ends.into_iter().find(|(_, name)| !seen.contains_key(name.as_str()));
        if let Some((line, name)) = unknown {
            let what = format!("node {} is not in {file}; add it there, or correct the name", quote(name.as_bytes()));
            return Err(links.error(line, what));
        }
        let linked: BTreeSet<&str> = self.links.iter().flat_map(|link| [&*link.a, &*link.b]).collect();
        let alone = seen.iter().filter(|(name, _)| !linked.contains(*name)).min_by_key(|(_, line)| **line);
        if let Some((name, line)) = alone {
            let what = format!("node {} has no link; give it one in {}", quote(name.as_bytes()), links.file);
            return Err(csv.error(*line, what + ", or leave it out"));
        }
        Ok(())
    }

    /// Hosts are the nodes with a single neighbour.
    fn kinds_by_links(&mut self, file: &str) {
        let mut neighbours: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        let mut order = Vec::new();
        for link in &self.links {
            for (one, other) in [(&*link.a, &*link.b), (&*link.b, &*link.a)] {
                let known = neighbours.entry(one).or_insert_with(|| {
                    order.push(one);
                    BTreeSet::new()
                });
                known.insert(other);
            }
        }
        let (hosts, switches): (Vec<&str>, Vec<&str>) = order.iter().partition(|name| neighbours[**name].len() == 1);
        let warning = alike(&hosts, &switches).map(|(host, switch)| {
            let what = format!(
                "\"{host}\" is linked to one node and counts as a host, \"{switch}\" to {} and counts as a switch; if \
                 this is wrong, list the hosts in a table of nodes",
                neighbours[switch].len()
            );
            Warning { file: file.into(), line: 0, what }
        });
        let owned = |names: Vec<&str>| names.into_iter().map(String::from).collect();
        (self.hosts, self.switches) = (owned(hosts), owned(switches));
        self.warnings.extend(warning);
    }

    /// A warning if links between the same nodes are listed from either end: that may mean one line per direction,
    /// which would count twice.
    fn both_directions(&self, file: &str) -> Option<Warning> {
        let mut first: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let mut pairs = Vec::new();
        for link in &self.links {
            if let Some(line) = first.get(&(&*link.b, &*link.a)) {
                pairs.push((*line, link));
            }
            first.entry((&link.a, &link.b)).or_insert(link.line);
        }
        let (before, link) = pairs.first()?;
        let more = match pairs.len() {
            1 => String::new(),
            count => format!(", and so for {} more", count - 1),
        };
        let what = format!(
            "line {before} joins \"{}\" and \"{}\" too{more}; each line is a link for both directions, so these are \
             parallel links: list one line where one link is meant",
            link.a, link.b
        );
        Some(Warning { file: file.into(), line: link.line, what })
    }
}

/// A host and a switch whose names differ only in a number.
fn alike<'a>(hosts: &[&'a str], switches: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let stem = |name: &'a str| name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let of_host: HashMap<&str, &str> = hosts.iter().rev().map(|name| (stem(name), *name)).collect();
    let mut pairs = switches.iter().filter_map(|switch| of_host.get(stem(switch)).map(|host| (*host, *switch)));
    pairs.find(|(host, _)| !stem(host).is_empty())
}

fn link(csv: &Csv<'_>, line: u32, [a, b, rate, delay]: [&str; 4]) -> Result<LinkRow, Error> {
    for (column, name) in [("a", a), ("b", b)] {
        if name.is_empty() {
            return Err(csv.error(line, format!("{column} is empty; write the name of a node")));
        }
    }
    if a == b {
        let what = format!("both ends are {}; join two different nodes", quote(a.as_bytes()));
        return Err(csv.error(line, what));
    }
    // A unit's error already has the form "problem; correction".
    let rate = rate.parse().map_err(|error| csv.error(line, format!("rate: {error}")))?;
    let delay = delay.parse().map_err(|error| csv.error(line, format!("delay: {error}")))?;
    Ok(LinkRow { line, a: a.into(), b: b.into(), rate, delay })
}

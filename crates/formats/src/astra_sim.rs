//! Networks of ASTRA-sim's analytical backend, as YAML: for each dimension its topology, ranks, bandwidth and latency.
//!
//! There, ranks pass on messages of others, and a message crosses a link as a whole. Here hosts pass on nothing: where
//! ranks have to, each is a host at a switch of its own, over a link without delay on which a packet takes a
//! picosecond.

use crate::tables::{LinkRow, LinkTable};
use crate::text::{quote, real};
use crate::{Error, Warning};
use fanin_units::{Rate, Time};
use saphyr_parser::{Event, Parser, Span};

/// Most nodes of a network, and most links: a few bytes of a file may ask for any number.
const MOST: u64 = 1_000_000;
/// Largest bandwidth in 2^30 bytes per second, far below that of the links of ranks to their own switches.
const FASTEST: f64 = 1e6;
/// Longest latency in nanoseconds: Fanin's links are at most a second long.
const LONGEST_NS: f64 = 1e9;
/// A host's link to its own switch: a packet of 65,535 bytes takes 1 ps.
const OWN: Rate = Rate::from_bps(1_000_000_000_000_000_000);
/// Most keys of a file, of which four are known.
const MOST_KEYS: usize = 64;
const KEYS: [&str; 4] = ["topology", "npus_count", "bandwidth", "latency"];
const LISTS: &str = "for each dimension: topology: [ Ring ], npus_count: [ 8 ], bandwidth: [ 50.0 ] (2^30 B/s) and \
                     latency: [ 500.0 ] (ns)";

/// How the ranks of a line along a dimension are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `Ring`: each with the next, and the last with the first.
    Ring,
    /// `FullyConnected`: each with each other.
    FullyConnected,
    /// `Switch`: each with a switch.
    Switch,
}

/// A dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dimension {
    /// How its lines are joined.
    pub shape: Shape,
    /// Ranks of a line.
    pub ranks: u32,
    /// Rate of each link and direction: `bandwidth`, in 2^30 bytes per second.
    pub rate: Rate,
    /// Delay of each link: `latency`, in nanoseconds.
    pub delay: Time,
}

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The dimensions. Ranks that are neighbours along the first have consecutive numbers.
    pub dimensions: Vec<Dimension>,
    /// The line of the key `npus_count`.
    line: u32,
    /// Keys that are not used.
    warnings: Vec<Warning>,
}

/// A value of a list, with its line.
struct Value {
    line: u32,
    text: String,
}

/// A key with its values.
struct List {
    line: u32,
    key: String,
    values: Vec<Value>,
}

impl Network {
    /// Reads a network; `file` is the name in errors.
    ///
    /// # Errors
    /// The line, and a correction.
    pub fn read(file: &str, text: &str) -> Result<Self, Error> {
        let error = |(line, what)| Error { file: file.into(), line, what };
        let lists = lists(text).map_err(error)?;
        let mut network = Self::of(&lists).map_err(error)?;
        let unknown = lists.iter().filter(|list| !KEYS.contains(&&*list.key));
        network.warnings = unknown
            .map(|list| Warning {
                file: file.into(),
                line: list.line,
                what: format!("key {} is not used", quote(list.key.as_bytes())),
            })
            .collect();
        network.check_size().map_err(error)?;
        Ok(network)
    }

    /// The hosts h0, h1, ..., one for each rank, with their switches and links.
    ///
    /// Switches are called r0, r1, ... where each rank has one of its own, and `sw{dimension}.{line}` in the dimensions
    /// that have switches.
    pub fn table(&self) -> LinkTable {
        let relays = self.relays();
        let ranks = self.ranks() as u32;
        let mut table = LinkTable { warnings: self.warnings.clone(), ..LinkTable::default() };
        table.hosts = (0..ranks).map(|rank| format!("h{rank}")).collect();
        let node = |rank: u32| if relays { format!("r{rank}") } else { format!("h{rank}") };
        if relays {
            table.switches = (0..ranks).map(node).collect();
            let own = |rank| self.row(format!("h{rank}"), node(rank), OWN, Time::ZERO);
            table.links = (0..ranks).map(own).collect();
        }
        let mut stride = 1;
        for (number, dimension) in self.dimensions.iter().enumerate() {
            let Dimension { ranks: along, rate, delay, .. } = *dimension;
            let firsts = (0..ranks).filter(|rank| rank / stride % along == 0);
            for (line, first) in firsts.enumerate() {
                let member = |place: u32| node(first + place * stride);
                let mut link = |a: String, b: String| table.links.push(self.row(a, b, rate, delay));
                match dimension.shape {
                    _ if along == 1 => {}
                    Shape::Switch => {
                        let switch = format!("sw{number}.{line}");
                        (0..along).for_each(|place| link(member(place), switch.clone()));
                        table.switches.push(switch);
                    }
                    Shape::Ring => pairs_of_ring(along).for_each(|(a, b)| link(member(a), member(b))),
                    Shape::FullyConnected => {
                        (0..along)
                            .flat_map(|b| (0..b).map(move |a| (a, b)))
                            .for_each(|(a, b)| link(member(a), member(b)));
                    }
                }
            }
            stride *= along;
        }
        table
    }

    /// Whether some two ranks meet only over others.
    fn relays(&self) -> bool {
        let mut longer = self.dimensions.iter().filter(|dimension| dimension.ranks > 1);
        let first = longer.next();
        longer.next().is_some() || first.is_some_and(|only| only.shape == Shape::Ring && only.ranks > 3)
    }

    fn row(&self, a: String, b: String, rate: Rate, delay: Time) -> LinkRow {
        LinkRow { line: self.line, a, b, rate, delay }
    }

    fn ranks(&self) -> u64 {
        self.dimensions.iter().fold(1, |ranks, dimension| ranks.saturating_mul(dimension.ranks.into()))
    }

    fn of(lists: &[List]) -> Result<Self, (u32, String)> {
        let find = |key: &str| {
            let found = lists.iter().find(|list| list.key == key);
            found.ok_or_else(|| (0, format!("key {key} is missing; the file has {LISTS}")))
        };
        let [shapes, ranks, rates, delays] = [find(KEYS[0])?, find(KEYS[1])?, find(KEYS[2])?, find(KEYS[3])?];
        let count = shapes.values.len();
        if count == 0 {
            return Err((shapes.line, format!("topology is empty; write {LISTS}")));
        }
        if let Some(other) = [ranks, rates, delays].into_iter().find(|list| list.values.len() != count) {
            let what = format!(
                "{} has {} entries, and topology {count}; each has one for each dimension",
                other.key,
                other.values.len()
            );
            return Err((other.line, what));
        }
        let dimension = |at: usize| {
            Ok(Dimension {
                shape: shape(&shapes.values[at])?,
                ranks: count_of(&ranks.values[at])?,
                rate: {
                    let least = 1.0 / (1u64 << 33) as f64;
                    let what = "bandwidth, in 2^30 bytes per second";
                    Rate::from_bps(
                        (number(&rates.values[at], what, least, FASTEST)? * (1u64 << 33) as f64).round() as u64
                    )
                },
                delay: {
                    let ns = number(&delays.values[at], "latency, in ns", 0.0, LONGEST_NS)?;
                    Time::from_ps((ns * 1000.0).round() as u64)
                },
            })
        };
        let dimensions = (0..count).map(dimension).collect::<Result<_, _>>()?;
        Ok(Self { dimensions, line: ranks.line, warnings: Vec::new() })
    }

    /// Whether the network is of a possible size, which is known before anything is allocated for it.
    fn check_size(&self) -> Result<(), (u32, String)> {
        let ranks = self.ranks();
        if ranks < 2 {
            return Err((self.line, format!("{ranks} rank; a network has at least 2")));
        }
        let own = if self.relays() { ranks } else { 0 };
        let (mut nodes, mut links) = (ranks.saturating_add(own), own);
        for dimension in &self.dimensions {
            let along = u64::from(dimension.ranks);
            let (switches, of_line) = match dimension.shape {
                _ if along == 1 => (0, 0),
                Shape::Switch => (1, along),
                Shape::Ring => (0, along),
                Shape::FullyConnected => (0, along * (along - 1) / 2),
            };
            let lines = ranks / along;
            nodes = nodes.saturating_add(lines.saturating_mul(switches));
            links = links.saturating_add(lines.saturating_mul(of_line));
        }
        for (count, what) in [(nodes, "nodes"), (links, "links")] {
            if count > MOST {
                let count = if count == u64::MAX { "2^64 or more".to_string() } else { count.to_string() };
                return Err((self.line, format!("the ranks make {count} {what}; at most {MOST} are possible")));
            }
        }
        Ok(())
    }
}

/// Whether a line of a text looks like one of such a network: a key with a list.
pub fn is_line(line: &str) -> bool {
    let key = line.split_once(':').map(|(key, _)| key.trim());
    key.is_some_and(|key| KEYS.contains(&key))
}

/// The neighbours of a ring; two ranks have one link.
fn pairs_of_ring(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    let pairs = if ranks == 2 { 1 } else { ranks };
    (0..pairs).map(move |rank| (rank, (rank + 1) % ranks))
}

fn shape(value: &Value) -> Result<Shape, (u32, String)> {
    match &*value.text {
        "Ring" => Ok(Shape::Ring),
        "FullyConnected" => Ok(Shape::FullyConnected),
        "Switch" => Ok(Shape::Switch),
        other => {
            let known = "it is Ring, FullyConnected or Switch";
            Err((value.line, format!("topology {} is not known; {known}", quote(other.as_bytes()))))
        }
    }
}

fn count_of(value: &Value) -> Result<u32, (u32, String)> {
    let count = value.text.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.map(|count| count as u32).ok_or_else(|| {
        (value.line, format!("npus_count is {}; it is a whole number from 1 to {MOST}", quote(value.text.as_bytes())))
    })
}

fn number(value: &Value, what: &str, least: f64, most: f64) -> Result<f64, (u32, String)> {
    real(value.text.as_bytes()).filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let least = if least > 0.0 { "above 0" } else { "at least 0" };
        let text = quote(value.text.as_bytes());
        (value.line, format!("{text} is no {what}; it is a number {least} and at most {most}"))
    })
}

/// The keys of a text, each with a list or a single value.
fn lists(text: &str) -> Result<Vec<List>, (u32, String)> {
    let mut events = Parser::new_from_str(text).filter(|event| !matches!(event, Ok((Event::StreamStart, _))));
    let mut next = || match events.next() {
        Some(Ok((event, span))) => Ok((event, line_of(&span))),
        Some(Err(error)) => Err((error.marker().line() as u32, format!("{}; write YAML {LISTS}", error.info()))),
        None => Ok((Event::StreamEnd, 0)),
    };
    let wrong = |line: u32| Err((line, format!("this is not a list of single values under a key; write {LISTS}")));
    let mut lists: Vec<List> = Vec::new();
    match (next()?.0, next()?) {
        (Event::DocumentStart(_), (Event::MappingStart(..), _)) => {}
        (_, (_, line)) => return wrong(line),
    }
    loop {
        let (key, line) = match next()? {
            (Event::Scalar(key, ..), line) => (key.into_owned(), line),
            (Event::MappingEnd, _) => break,
            (_, line) => return wrong(line),
        };
        if let Some(before) = lists.iter().find(|list| list.key == key) {
            let what = format!("key {} is in line {} too; leave one out", quote(key.as_bytes()), before.line);
            return Err((line, what));
        }
        if lists.len() == MOST_KEYS {
            return Err((line, format!("more than {MOST_KEYS} keys; write {LISTS}")));
        }
        let mut values = Vec::new();
        match next()? {
            (Event::Scalar(text, ..), line) => values.push(Value { line, text: text.into_owned() }),
            (Event::SequenceStart(..), _) => loop {
                match next()? {
                    (Event::Scalar(text, ..), line) => values.push(Value { line, text: text.into_owned() }),
                    (Event::SequenceEnd, _) => break,
                    (_, line) => return wrong(line),
                }
            },
            (_, line) => return wrong(line),
        }
        lists.push(List { line, key, values });
    }
    Ok(lists)
}

fn line_of(span: &Span) -> u32 {
    span.start.line() as u32
}

/// For fuzzing: any bytes are a network or an error with a place and a correction.
pub fn fuzz(bytes: &[u8]) {
    match Network::read("f", &String::from_utf8_lossy(bytes)) {
        Ok(network) => assert!(network.ranks() >= 2),
        Err(error) => assert!(error.file == "f" && error.what.contains("; ")),
    }
}

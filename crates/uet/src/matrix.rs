//! The connection matrix: who sends how much to whom, and when.
//!
//! Source: uet-htsim's connection matrix.

use std::str::FromStr;

use crate::error::{Error, Place};

/// A line of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its line in the file.
    pub line: u32,
    /// Sending host.
    pub from: u32,
    /// Receiving host.
    pub to: u32,
    /// Flow number, if given.
    pub id: Option<u32>,
    /// Start in microseconds; `None` if a trigger starts it.
    pub start_us: Option<u64>,
    /// Payload in bytes.
    pub size: u64,
    /// Trigger to activate when the sender has all acknowledged, as an index.
    pub done: Option<u32>,
}

/// What a trigger does when it is activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firing {
    /// The first activation starts all targets.
    Once,
    /// Each activation starts one target.
    Each,
    /// The last of so many activations starts all targets.
    Barrier(u32),
}

/// A trigger.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// Its line in the file.
    pub line: u32,
    /// Its number in the file.
    pub id: u32,
    /// What it does.
    pub firing: Firing,
    /// The connections it starts.
    pub targets: Vec<u32>,
}

/// A link between the second tier and a core that has failed, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// Its line in the file.
    pub line: u32,
    /// The switch of the second tier.
    pub switch: u32,
    /// The number of the link, which decides which core it leads to.
    pub link: u32,
}

/// The matrix.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// Number of hosts.
    pub nodes: u32,
    /// Connections in file order.
    pub connections: Vec<Connection>,
    /// Triggers in file order.
    pub triggers: Vec<Trigger>,
    /// Links that have failed.
    pub failures: Vec<Failure>,
    /// What is in the file and changes nothing, and what is to be known before a run.
    pub warnings: Vec<Error>,
}

/// As many hosts as a matrix may have.
pub const MOST_NODES: u32 = 32_768;
const MOST_BYTES: u64 = 1 << 40;

fn error<T>(line: u32, what: impl Into<String>) -> Result<T, Error> {
    crate::error::error(Place::Matrix(line), what)
}

fn number<T: FromStr>(line: u32, key: &str, word: Option<&str>) -> Result<T, Error> {
    let found = word.unwrap_or("nothing");
    found.parse().or_else(|_| error(line, format!("{key} has {found}; it needs a number")))
}

/// What the numbers of triggers refer to, until all triggers are read.
#[derive(Default)]
struct Wanted {
    starts: Option<u32>,
    done: Option<u32>,
}

impl Matrix {
    /// Reads a matrix.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut matrix = Self::default();
        let mut wanted = Vec::new();
        let mut expected = None;
        for (at, line) in text.lines().enumerate() {
            let at = at as u32 + 1;
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            match first.to_ascii_lowercase().as_str() {
                _ if first.starts_with('#') => {}
                "nodes" => matrix.nodes = number(at, "Nodes", words.next())?,
                "connections" => expected = Some(number::<usize>(at, "Connections", words.next())?),
                "triggers" => {}
                "failures" => {}
                "failure" => matrix.failures.push(Self::failure(at, words)?),
                "trigger" => matrix.triggers.push(Self::trigger(at, words)?),
                _ if first.contains("->") => {
                    let (connection, wants) = matrix.connection(at, first, words)?;
                    matrix.connections.push(connection);
                    wanted.push(wants);
                }
                _ => {
                    return error(
                        at,
                        format!(
                            "{first} is not known; a line begins with Nodes, Connections, Triggers, Failures, \
                             FROM->TO, trigger or failure"
                        ),
                    );
                }
            }
        }
        matrix.resolve(&wanted)?;
        matrix.check(expected)?;
        matrix.find_unfired();
        if let Some(first) = matrix.failures.first() {
            let what = "failed links abort the original, so this run has no reference".to_owned();
            matrix.warnings.push(Error { place: Place::Matrix(first.line), what });
        }
        Ok(matrix)
    }

    fn failure<'a>(at: u32, words: impl Iterator<Item = &'a str>) -> Result<Failure, Error> {
        let words: Vec<&str> = words.collect();
        let ["switch_type", "AGG", "switch_id", switch, "link_id", link] = words[..] else {
            return error(at, "a failure is written as failure switch_type AGG switch_id 0 link_id 0");
        };
        let (switch, link) = (number(at, "switch_id", Some(switch))?, number(at, "link_id", Some(link))?);
        Ok(Failure { line: at, switch, link })
    }

    fn trigger<'a>(at: u32, mut words: impl Iterator<Item = &'a str>) -> Result<Trigger, Error> {
        if words.next() != Some("id") {
            return error(at, "a trigger has no id; it is written as trigger id 1 oneshot");
        }
        let id = number(at, "id", words.next())?;
        let firing = match words.next() {
            Some("oneshot") => Firing::Once,
            Some("multishot") => Firing::Each,
            Some("barrier") if words.next() == Some("count") => {
                Firing::Barrier(number::<u32>(at, "count", words.next())?.max(1))
            }
            _ => return error(at, format!("trigger {id} has no kind; it is oneshot, multishot or barrier count N")),
        };
        Ok(Trigger { line: at, id, firing, targets: Vec::new() })
    }

    fn connection<'a>(
        &mut self,
        at: u32,
        ends: &str,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Result<(Connection, Wanted), Error> {
        let (from, to) = ends.split_once("->").unwrap_or((ends, ""));
        let mut connection = Connection {
            line: at,
            from: number(at, "the sender", Some(from))?,
            to: number(at, "the receiver", Some(to))?,
            id: None,
            start_us: None,
            size: 0,
            done: None,
        };
        let mut wanted = Wanted::default();
        while let Some(key) = words.next() {
            match key {
                "id" => connection.id = Some(number(at, key, words.next())?),
                "msg" => {}
                "start" => {
                    let start: f32 = number(at, key, words.next())?;
                    if !(0.0..1e9).contains(&start) {
                        return error(at, format!("start {start} is out of range; it is from 0 to 1000000000 us"));
                    }
                    connection.start_us = Some(start as u64);
                }
                "size" => connection.size = number(at, key, words.next())?,
                "trigger" => wanted.starts = Some(number(at, key, words.next())?),
                "send_done_trigger" => wanted.done = Some(number(at, key, words.next())?),
                "recv_done_trigger" | "prio" => {
                    number::<u32>(at, key, words.next())?;
                    if self.warnings.iter().all(|warning| !warning.what.starts_with(key)) {
                        let what = format!("{key} has no effect, as in the original");
                        self.warnings.push(Error { place: Place::Matrix(at), what });
                    }
                }
                _ => {
                    return error(
                        at,
                        format!(
                            "{key} is not known; known are id, msg, start, size, trigger, send_done_trigger, \
                             recv_done_trigger and prio"
                        ),
                    );
                }
            }
        }
        if connection.size == 0 || connection.size > MOST_BYTES {
            return error(at, format!("size {} is out of range; it is from 1 to {MOST_BYTES} bytes", connection.size));
        }
        if connection.start_us.is_none() == wanted.starts.is_none() {
            return error(at, "start or trigger: there must be one of them; leave out the other");
        }
        Ok((connection, wanted))
    }

    fn resolve(&mut self, wanted: &[Wanted]) -> Result<(), Error> {
        let mut by_id: Vec<(u32, u32)> = (0..).zip(&self.triggers).map(|(at, t)| (t.id, at)).collect();
        by_id.sort_unstable();
        if let Some(twice) = by_id.windows(2).find(|two| two[0].0 == two[1].0) {
            let (id, at) = twice[1];
            return error(self.triggers[at as usize].line, format!("trigger {id} is there twice; leave one out"));
        }
        for (at, (connection, wants)) in (0..).zip(self.connections.iter_mut().zip(wanted)) {
            let find = |id: u32| match by_id.binary_search_by_key(&id, |&(id, _)| id) {
                Ok(at) => Ok(by_id[at].1),
                Err(_) => {
                    error(connection.line, format!("there is no trigger {id}; add a line trigger id {id} oneshot"))
                }
            };
            if let Some(id) = wants.starts {
                self.triggers[find(id)? as usize].targets.push(at);
            }
            connection.done = wants.done.map(find).transpose()?;
        }
        Ok(())
    }

    fn check(&self, expected: Option<usize>) -> Result<(), Error> {
        if self.nodes < 2 || self.nodes > MOST_NODES {
            return error(0, format!("Nodes is {}; it is from 2 to {MOST_NODES}", self.nodes));
        }
        let count = self.connections.len();
        if let Some(expected) = expected.filter(|expected| *expected != count) {
            return error(
                0,
                format!("Connections says {expected} and {count} lines follow; correct it, or the file is not whole"),
            );
        }
        for c in &self.connections {
            if c.from >= self.nodes || c.to >= self.nodes || c.from == c.to {
                let (from, to, last) = (c.from, c.to, self.nodes - 1);
                return error(c.line, format!("{from}->{to} cannot be; hosts are two different ones from 0 to {last}"));
            }
        }
        Ok(())
    }

    /// Warns of triggers that will not start all of their connections, even if all others finish.
    fn find_unfired(&mut self) {
        let mut starts: Vec<bool> = self.connections.iter().map(|c| c.start_us.is_some()).collect();
        let mut activated = vec![0u32; self.triggers.len()];
        let mut begun: Vec<u32> = (0..).zip(&starts).filter(|(_, starts)| **starts).map(|(at, _)| at).collect();
        while let Some(at) = begun.pop() {
            let Some(done) = self.connections[at as usize].done else { continue };
            let count = &mut activated[done as usize];
            *count += 1;
            for &target in self.triggers[done as usize].started_by(*count) {
                starts[target as usize] = true;
                begun.push(target);
            }
        }
        for (trigger, count) in self.triggers.iter().zip(activated) {
            let mut waiting = trigger.targets.iter().filter(|target| !starts[**target as usize]);
            let Some(&first) = waiting.next() else { continue };
            let c = &self.connections[first as usize];
            let needed = match trigger.firing {
                Firing::Once => 1,
                Firing::Each => trigger.targets.len() as u32,
                Firing::Barrier(all) => all,
            };
            let (id, from, to, more) = (trigger.id, c.from, c.to, waiting.count());
            let others = if more > 0 { format!(" and {more} more") } else { String::new() };
            let what = format!(
                "{from}->{to}{others} will not start; trigger {id} needs {needed} activations by send_done_trigger \
                 {id}, and gets {count}"
            );
            self.warnings.push(Error { place: Place::Matrix(c.line), what });
        }
    }
}

impl Trigger {
    /// The connections that an activation starts, by its number from 1.
    pub fn started_by(&self, activation: u32) -> &[u32] {
        let last = match self.firing {
            Firing::Once => 1,
            Firing::Each => {
                let at = activation as usize - 1;
                return self.targets.get(at..=at).unwrap_or_default();
            }
            Firing::Barrier(all) => all,
        };
        if activation == last { &self.targets } else { &[] }
    }
}

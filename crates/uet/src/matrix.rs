//! The connection matrix: who sends how much to whom, and when.
//!
//! Source: uet-htsim's connection matrix.

use std::str::FromStr;

use crate::error::{Error, error};

/// A line of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
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
    /// Its number in the file.
    pub id: u32,
    /// What it does.
    pub firing: Firing,
    /// The connections it starts.
    pub targets: Vec<u32>,
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
}

/// As many hosts as a matrix may have.
pub const MOST_NODES: u32 = 32_768;
const MOST_BYTES: u64 = 1 << 40;

fn number<T: FromStr>(line: usize, what: &str, word: Option<&str>) -> Result<T, Error> {
    let found = word.unwrap_or("nothing");
    found.parse().map_err(|_| Error(format!("line {line} of the matrix: {what} needs a number, not {found}")))
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
            let at = at + 1;
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            match first.to_ascii_lowercase().as_str() {
                _ if first.starts_with('#') => {}
                "nodes" => matrix.nodes = number(at, "Nodes", words.next())?,
                "connections" => expected = Some(number::<usize>(at, "Connections", words.next())?),
                "triggers" => {}
                "failures" | "failure" => {
                    return error(format!("line {at} of the matrix: failed links abort the original, so none may be"));
                }
                "trigger" => matrix.triggers.push(Self::trigger(at, words)?),
                _ if first.contains("->") => {
                    let (connection, wants) = Self::connection(at, first, words)?;
                    matrix.connections.push(connection);
                    wanted.push(wants);
                }
                _ => {
                    return error(format!(
                        "line {at} of the matrix begins with {first}; it needs Nodes, Connections, Triggers, FROM->TO \
                         or trigger"
                    ));
                }
            }
        }
        matrix.resolve(&wanted)?;
        matrix.check(expected)?;
        Ok(matrix)
    }

    fn trigger<'a>(at: usize, mut words: impl Iterator<Item = &'a str>) -> Result<Trigger, Error> {
        if words.next() != Some("id") {
            return error(format!("line {at} of the matrix: a trigger needs its id first"));
        }
        let id = number(at, "id", words.next())?;
        let firing = match words.next() {
            Some("oneshot") => Firing::Once,
            Some("multishot") => Firing::Each,
            Some("barrier") if words.next() == Some("count") => {
                Firing::Barrier(number::<u32>(at, "count", words.next())?.max(1))
            }
            _ => return error(format!("line {at} of the matrix: a trigger is oneshot, multishot or barrier count N")),
        };
        Ok(Trigger { id, firing, targets: Vec::new() })
    }

    fn connection<'a>(
        at: usize,
        ends: &str,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Result<(Connection, Wanted), Error> {
        let (from, to) = ends.split_once("->").unwrap_or((ends, ""));
        let mut connection = Connection {
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
                        return error(format!("line {at} of the matrix: start is from 0 to 1000000000 microseconds"));
                    }
                    connection.start_us = Some(start as u64);
                }
                "size" => connection.size = number(at, key, words.next())?,
                "trigger" => wanted.starts = Some(number(at, key, words.next())?),
                "send_done_trigger" => wanted.done = Some(number(at, key, words.next())?),
                "recv_done_trigger" | "prio" => {
                    number::<u32>(at, key, words.next())?;
                }
                _ => {
                    return error(format!(
                        "line {at} of the matrix has {key}; known are id, msg, start, size, trigger, \
                         send_done_trigger, recv_done_trigger and prio"
                    ));
                }
            }
        }
        if connection.size == 0 || connection.size > MOST_BYTES {
            return error(format!("line {at} of the matrix needs a size from 1 to {MOST_BYTES} bytes"));
        }
        if connection.start_us.is_none() == wanted.starts.is_none() {
            return error(format!("line {at} of the matrix needs either start or trigger"));
        }
        Ok((connection, wanted))
    }

    fn resolve(&mut self, wanted: &[Wanted]) -> Result<(), Error> {
        let mut by_id: Vec<(u32, u32)> = (0..).zip(&self.triggers).map(|(at, t)| (t.id, at)).collect();
        by_id.sort_unstable();
        let find = |id: u32| match by_id.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(at) => Ok(by_id[at].1),
            Err(_) => error(format!("the matrix has no trigger id {id}")),
        };
        for (at, (connection, wants)) in (0..).zip(self.connections.iter_mut().zip(wanted)) {
            if let Some(id) = wants.starts {
                self.triggers[find(id)? as usize].targets.push(at);
            }
            connection.done = wants.done.map(find).transpose()?;
        }
        Ok(())
    }

    fn check(&self, expected: Option<usize>) -> Result<(), Error> {
        if self.nodes < 2 || self.nodes > MOST_NODES {
            return error(format!("the matrix needs Nodes from 2 to {MOST_NODES}, not {}", self.nodes));
        }
        if let Some(expected) = expected
            && expected != self.connections.len()
        {
            return error(format!(
                "the matrix has {} lines of connections, and its head says {expected}",
                self.connections.len()
            ));
        }
        for c in &self.connections {
            if c.from >= self.nodes || c.to >= self.nodes || c.from == c.to {
                return error(format!(
                    "connection {}->{}: hosts are two different ones from 0 to {}",
                    c.from,
                    c.to,
                    self.nodes - 1
                ));
            }
        }
        Ok(())
    }
}

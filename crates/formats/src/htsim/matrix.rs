//! Connection matrices: senders, receivers, sizes, and start times or triggers.

use super::words::{MOST, Wrong, lines, number, number32, only, quote};
use crate::Error;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;

/// Latest start, in picoseconds: more than a day, and far from overflow.
const LATEST_START: u64 = 100_000_000_000_000_000;
/// Picoseconds of a microsecond.
const MICROSECOND: u64 = 1_000_000;
/// Largest size; larger ones are reserved for endless flows.
const LARGEST: u64 = (1 << 60) - 1;

/// The program of htsim for which a matrix was written. Its programs differ in the unit of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// NDP, EQDS and others: picoseconds.
    Ndp,
    /// Swift: whole microseconds.
    Swift,
    /// UEC: whole microseconds, and messages of one connection.
    Uec,
}

impl Dialect {
    /// The unit of `start`, in picoseconds and as a word.
    fn unit(self) -> (u64, &'static str) {
        match self {
            Self::Ndp => (1, "picoseconds"),
            Self::Swift | Self::Uec => (MICROSECOND, "microseconds"),
        }
    }

    /// The latest start, in its unit.
    fn latest(self) -> u64 {
        match self {
            Self::Ndp => LATEST_START,
            // These programs count microseconds in 32 bits.
            Self::Swift | Self::Uec => u32::MAX.into(),
        }
    }
}

/// A connection matrix that can run: every trigger is defined and fires often enough that each connection starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The program for which it was written: the caller's, or what its words tell, or [`Dialect::Ndp`].
    pub dialect: Dialect,
    /// Why this dialect was assumed; `None` if the caller named it, or if nothing depends on it.
    pub assumed: Option<String>,
    /// `Nodes`: how many hosts there are.
    pub nodes: u32,
    /// Connections in the order of the file.
    pub connections: Vec<Connection>,
    /// Triggers in the order of the file.
    pub triggers: Vec<Trigger>,
    /// Failed links in the order of the file.
    pub failures: Vec<Failure>,
}

/// One connection: `SRC->DST`, then words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Its line in the file.
    pub line: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// `id`, 1 or above; messages of one connection share it. Connections without one are numbered from the largest id
    /// on, in the order of the file.
    pub id: u32,
    /// `start` or `trigger`.
    pub start: Start,
    /// `size` in bytes; 0 never ends.
    pub bytes: u64,
    /// `send_done_trigger`: the id of the trigger that it activates when its sender knows that all data arrived.
    pub send_done: Option<u32>,
    /// `recv_done_trigger`: the same when its receiver has all data.
    pub recv_done: Option<u32>,
    /// `prio`: the order in which a receiver-driven transport serves its connections.
    pub priority: Option<u32>,
    /// `msg`: it is a message of the connection that has its id. Its number, or 0 without one.
    pub message: Option<u32>,
}

/// Start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time, in picoseconds.
    At(u64),
    /// When the trigger of this id fires.
    Trigger(u32),
}

/// One trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its line in the file.
    pub line: u32,
    /// Its id, 1 or above.
    pub id: u32,
    /// Its kind.
    pub kind: TriggerKind,
}

/// Kinds of triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// `oneshot`: fires at its only activation, for all waiting connections.
    Oneshot,
    /// `multishot`: fires at each activation, for the next waiting connection, in the order of the file.
    Multishot,
    /// `barrier count N`: fires at the N-th activation, for all waiting connections.
    Barrier(u32),
}

/// A failed link: `failure switch_type AGG switch_id S link_id L`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its line in the file.
    pub line: u32,
    /// Number of the aggregation switch. (The grammar has TOR and CORE too, but htsim itself fails none of their
    /// links.)
    pub switch: u32,
    /// Number of the link.
    pub link: u32,
}

impl Matrix {
    /// Reads a matrix of a dialect, or of the one that its words tell; `file` is the name in errors.
    ///
    /// # Errors
    /// The line and a correction.
    pub fn read(bytes: &[u8], file: &str, dialect: Option<Dialect>) -> Result<Self, Error> {
        let error = |line: u32, what: String| Error { file: file.to_string(), line, what };
        let all: Vec<(u32, Vec<&str>)> = lines(bytes, file)?.collect();
        let has_messages = |words: &[&str]| words[0].contains("->") && words[1..].contains(&"msg");
        let messages = all.iter().find(|(_, words)| has_messages(words)).map(|(line, _)| *line);
        let (assumed, why) = match messages {
            Some(line) => (Dialect::Uec, format!("line {line} has \"msg\", which only its UEC program reads")),
            None => (Dialect::Ndp, "most of its programs do, and no word of the file tells".into()),
        };
        let mut reader = Reader::new(dialect.unwrap_or(assumed));
        let mut last = 0;
        for (line, words) in all {
            reader.line(line, &words).map_err(|what| error(line, what))?;
            last = line;
        }
        let mut read = reader.finish().map_err(|(line, what)| error(line.unwrap_or(last), what))?;
        read.check().map_err(|(line, what)| error(line, what))?;
        let matters = messages.is_some() || read.connections.iter().any(|c| matches!(c.start, Start::At(1..)));
        read.assumed = (dialect.is_none() && matters).then_some(why);
        Ok(read)
    }

    /// Whether some connections carry several messages.
    pub fn reuses_connections(&self) -> bool {
        self.connections.iter().any(|c| c.message.is_some())
    }

    /// The matrix as a file that reads the same in its dialect.
    pub fn to_text(&self) -> String {
        let (unit, _) = self.dialect.unit();
        let mut text = format!("Nodes {}\nConnections {}\n", self.nodes, self.connections.len());
        for (name, count) in [("Triggers", self.triggers.len()), ("Failures", self.failures.len())] {
            if count > 0 {
                let _ = writeln!(text, "{name} {count}");
            }
        }
        for c in &self.connections {
            let _ = match c.start {
                Start::At(ps) => {
                    write!(text, "{}->{} id {} start {} size {}", c.src, c.dst, c.id, ps / unit, c.bytes)
                }
                Start::Trigger(id) => write!(text, "{}->{} id {} trigger {id} size {}", c.src, c.dst, c.id, c.bytes),
            };
            let words = [("send_done_trigger", c.send_done), ("recv_done_trigger", c.recv_done), ("prio", c.priority)];
            for (name, value) in words.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
                let _ = write!(text, " {name} {value}");
            }
            text.push_str(if c.message.is_some() { " msg" } else { "" });
            if let Some(number @ 1..) = c.message {
                let _ = write!(text, " {number}");
            }
            text.push('\n');
        }
        for t in &self.triggers {
            let _ = match t.kind {
                TriggerKind::Oneshot => writeln!(text, "trigger id {} oneshot", t.id),
                TriggerKind::Multishot => writeln!(text, "trigger id {} multishot", t.id),
                TriggerKind::Barrier(count) => writeln!(text, "trigger id {} barrier count {count}", t.id),
            };
        }
        for f in &self.failures {
            let _ = writeln!(text, "failure switch_type AGG switch_id {} link_id {}", f.switch, f.link);
        }
        text
    }

    /// Index of the trigger with each id in `triggers`.
    pub fn places(&self) -> HashMap<u32, u32> {
        self.triggers.iter().map(|trigger| trigger.id).zip(0..).collect()
    }

    fn check(&self) -> Result<(), (u32, Wrong)> {
        // The hosts of each connection, by its id.
        let mut hosts_of = HashMap::with_capacity(self.connections.len());
        let reuses = self.reuses_connections();
        let mut seen = 0;
        let places = self.places();
        let mut activations = vec![0u32; self.triggers.len()];
        for c in &self.connections {
            for host in [c.src, c.dst] {
                if host >= self.nodes {
                    let right = format!("there is no host {host}; hosts are 0 to {}", i64::from(self.nodes) - 1);
                    return Err((c.line, right));
                }
            }
            if c.src == c.dst {
                return Err((c.line, format!("host {} sends to itself; use two different hosts", c.src)));
            }
            let (src, dst) = *hosts_of.entry(c.id).or_insert((c.src, c.dst));
            let again = hosts_of.len() < seen + 1;
            seen = hosts_of.len();
            if again && c.message.is_none() {
                let what = format!("another connection has the id {}; give each its own", c.id);
                let or = if reuses { ", or add \"msg\" to a further message of the same connection" } else { "" };
                return Err((c.line, what + or));
            }
            if (src, dst) != (c.src, c.dst) {
                let what = format!("connection {} is {src}->{dst}; its messages have the same hosts", c.id);
                return Err((c.line, what));
            }
            if reuses && c.bytes == 0 {
                return Err((c.line, "an endless message blocks its connection; give it a size".into()));
            }
            let waits_for = if let Start::Trigger(id) = c.start { Some(id) } else { None };
            for id in [waits_for, c.send_done, c.recv_done].into_iter().flatten() {
                if !places.contains_key(&id) {
                    return Err((c.line, format!("there is no trigger {id}; add a line \"trigger id {id} oneshot\"")));
                }
            }
            for id in [c.send_done, c.recv_done].into_iter().flatten() {
                let count = &mut activations[places[&id] as usize];
                *count += 1;
                let trigger = self.triggers[places[&id] as usize];
                let (most, instead) = match trigger.kind {
                    TriggerKind::Oneshot => (1, "make it a multishot or a barrier"),
                    TriggerKind::Barrier(most) => (most, "raise its count"),
                    TriggerKind::Multishot => continue,
                };
                if *count > most {
                    let what =
                        format!("trigger {id} is activated more often than {most} times, at which it fires; {instead}");
                    return Err((c.line, what));
                }
            }
        }
        self.check_all_start(&places)
    }

    /// Checks that every connection starts: its trigger is activated often enough, by connections that start without
    /// it.
    fn check_all_start(&self, places: &HashMap<u32, u32>) -> Result<(), (u32, Wrong)> {
        let mut waiting = vec![VecDeque::new(); self.triggers.len()];
        let mut missing: Vec<u32> =
            self.triggers.iter().map(|t| if let TriggerKind::Barrier(count) = t.kind { count } else { 1 }).collect();
        let mut started = vec![false; self.connections.len()];
        let mut starts: Vec<usize> = Vec::new();
        for (i, c) in self.connections.iter().enumerate() {
            match c.start {
                Start::At(_) => starts.push(i),
                Start::Trigger(id) => waiting[places[&id] as usize].push_back(i),
            }
        }
        while let Some(i) = starts.pop() {
            started[i] = true;
            let c = &self.connections[i];
            // Endless connections activate nothing.
            for id in [c.send_done, c.recv_done].into_iter().flatten().filter(|_| c.bytes > 0) {
                let place = places[&id] as usize;
                if self.triggers[place].kind == TriggerKind::Multishot {
                    starts.extend(waiting[place].pop_front());
                } else {
                    missing[place] -= 1;
                    if missing[place] == 0 {
                        starts.extend(waiting[place].drain(..));
                    }
                }
            }
        }
        match self.connections.iter().zip(started).find(|(_, started)| !started) {
            Some((Connection { line, start: Start::Trigger(id), .. }, _)) => {
                let what = format!("it never starts: trigger {id} does not fire for it; activate it often enough, by ");
                Err((*line, what + "send_done_trigger or recv_done_trigger of connections that start without it"))
            }
            _ => Ok(()),
        }
    }
}

struct Reader {
    dialect: Dialect,
    nodes: Option<u32>,
    /// `Connections`, `Triggers` and `Failures`, and their lines.
    counts: [Option<(u32, u32)>; 3],
    connections: Vec<Connection>,
    triggers: Vec<Trigger>,
    trigger_ids: HashSet<u32>,
    failures: Vec<Failure>,
}

const COUNTS: [&str; 3] = ["Connections", "Triggers", "Failures"];

impl Reader {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            nodes: None,
            counts: [None; 3],
            connections: Vec::new(),
            triggers: Vec::new(),
            trigger_ids: HashSet::new(),
            failures: Vec::new(),
        }
    }

    fn line(&mut self, line: u32, words: &[&str]) -> Result<(), Wrong> {
        let first = words[0];
        if first.contains("->") {
            self.connections.push(connection(line, words, self.dialect)?);
            return Ok(());
        }
        match first {
            "trigger" => {
                let trigger = trigger(line, words)?;
                if !self.trigger_ids.insert(trigger.id) {
                    return Err(format!("trigger {} is listed twice; give each its own id", trigger.id));
                }
                self.triggers.push(trigger);
            }
            "failure" => self.failures.push(failure(line, words)?),
            _ => return self.header(line, words),
        }
        Ok(())
    }

    fn header(&mut self, line: u32, words: &[&str]) -> Result<(), Wrong> {
        let first = words[0];
        let count = COUNTS.iter().position(|name| *name == first);
        if first != "Nodes" && count.is_none() {
            let right = "a line begins with Nodes, Connections, Triggers, Failures, SRC->DST, trigger or failure";
            return Err(format!("{} is not known; {right}", quote(first)));
        }
        if !(self.connections.is_empty() && self.triggers.is_empty() && self.failures.is_empty()) {
            return Err(format!("{first} comes after the lines that it is about; write it at the top"));
        }
        let twice = format!("{first} is listed twice; leave one out");
        match count {
            Some(i) if self.counts[i].is_some() => Err(twice),
            Some(i) => {
                self.counts[i] = Some((only(words, 0, MOST)?, line));
                Ok(())
            }
            None if self.nodes.is_some() => Err(twice),
            None => {
                self.nodes = Some(only(words, 2, MOST)?);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> Result<Matrix, (Option<u32>, Wrong)> {
        let Some(nodes) = self.nodes else {
            return Err((None, "Nodes is missing; write it like \"Nodes 128\" at the top".into()));
        };
        let there = [self.connections.len(), self.triggers.len(), self.failures.len()];
        for ((name, count), there) in COUNTS.iter().zip(self.counts).zip(there) {
            let (said, line) = count.map_or((0, None), |(said, line)| (said, Some(line)));
            if there as u64 != u64::from(said) {
                return Err((line, format!("there are {there} of them; write \"{name} {there}\"")));
            }
        }
        let mut next = self.connections.iter().map(|c| c.id).max().unwrap_or(0);
        for c in self.connections.iter_mut().filter(|c| c.id == 0) {
            next += 1;
            if next > MOST {
                return Err((Some(c.line), format!("no id above {MOST} is left for it; give it one")));
            }
            c.id = next;
        }
        let Self { dialect, connections, triggers, failures, .. } = self;
        Ok(Matrix { dialect, assumed: None, nodes, connections, triggers, failures })
    }
}

fn connection(line: u32, words: &[&str], dialect: Dialect) -> Result<Connection, Wrong> {
    let (src, dst) = words[0].split_once("->").unwrap_or((words[0], ""));
    let src = number32("the host", Some(&src), 0, MOST)?;
    let dst = number32("the host", Some(&dst), 0, MOST)?;
    let (mut start, mut bytes) = (None, None);
    let mut c = Connection {
        line,
        src,
        dst,
        id: 0,
        start: Start::At(0),
        bytes: 0,
        send_done: None,
        recv_done: None,
        priority: None,
        message: None,
    };
    let mut rest = words[1..].iter().peekable();
    while let Some(&name) = rest.next() {
        if name == "msg" {
            if dialect != Dialect::Uec {
                return Err("msg is known to htsim's UEC program only; choose the dialect uec, or leave it out".into());
            }
            // Its number may be left out.
            let numbered = rest.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            c.message = Some(numbered.map_or(Ok(0), |word| number32(name, Some(word), 1, MOST))?);
            continue;
        }
        let value = rest.next();
        let id = || number32(name, value, 1, MOST);
        match name {
            "id" => c.id = id()?,
            "start" if matches!(start, Some(Start::Trigger(_))) => {
                return Err("both a trigger and a start; leave one out".into());
            }
            "start" => start = Some(Start::At(time(value, dialect)?)),
            // htsim accepts a trigger after a start, and uses the trigger.
            "trigger" => start = Some(Start::Trigger(id()?)),
            "size" => bytes = Some(number(name, value, 0, LARGEST)?),
            "send_done_trigger" => c.send_done = Some(id()?),
            "recv_done_trigger" => c.recv_done = Some(id()?),
            "prio" => c.priority = Some(number32(name, value, 0, MOST)?),
            "addon" => {
                let only = "addon exists only in some versions of htsim and has no counterpart here";
                return Err(format!("{only}; leave it out"));
            }
            _ => {
                let right = "known: id, start, trigger, size, send_done_trigger, recv_done_trigger, prio, msg";
                return Err(format!("{} is not known; {right}", quote(name)));
            }
        }
    }
    c.start = start.ok_or("its start is missing; add \"start 0\" or a trigger")?;
    c.bytes = bytes.ok_or("its size is missing; write it like \"size 2000000\"")?;
    if c.message.is_some() && c.id == 0 {
        return Err("msg is a message of a connection, which has no id here; add one, like \"id 1\"".into());
    }
    Ok(c)
}

/// Words two by two.
fn pairs<'a>(words: &'a [&'a str]) -> impl Iterator<Item = (&'a str, Option<&'a &'a str>)> {
    words.chunks(2).map(|pair| (pair[0], pair.get(1)))
}

/// A start in picoseconds; htsim also accepts decimals, and truncates them in the unit of the dialect.
fn time(word: Option<&&str>, dialect: Dialect) -> Result<u64, Wrong> {
    let ((unit, name), latest) = (dialect.unit(), dialect.latest());
    let decimal = word.filter(|word| word.parse::<u64>().is_err()).and_then(|word| word.parse::<f64>().ok());
    let whole = match decimal {
        Some(start) if (0.0..=latest as f64).contains(&start) => start as u64,
        _ => number("start", word, 0, latest).map_err(|wrong| format!("{wrong} (of {name})"))?,
    };
    Ok(whole * unit)
}

fn trigger(line: u32, words: &[&str]) -> Result<Trigger, Wrong> {
    let (mut id, mut kind, mut count) = (None, None, None);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        match *word {
            "id" => id = Some(number32(word, rest.next(), 1, MOST)?),
            "count" => count = Some(number32(word, rest.next(), 1, MOST)?),
            "oneshot" | "multishot" | "barrier" if kind.is_some() => {
                return Err("it has two kinds; leave one out".into());
            }
            "oneshot" => kind = Some(TriggerKind::Oneshot),
            "multishot" => kind = Some(TriggerKind::Multishot),
            "barrier" => kind = Some(TriggerKind::Barrier(0)),
            _ => return Err(format!("{} is not known; known: id, oneshot, multishot, barrier, count", quote(word))),
        }
    }
    let id = id.ok_or("it has no id; write it like \"trigger id 1 oneshot\"")?;
    let kind = match (kind.ok_or("it has no kind; add oneshot, multishot or barrier")?, count) {
        (TriggerKind::Barrier(_), Some(count)) => TriggerKind::Barrier(count),
        (TriggerKind::Barrier(_), None) => return Err("a barrier has a count; add one, like \"count 4\"".into()),
        (kind, _) => kind,
    };
    Ok(Trigger { line, id, kind })
}

fn failure(line: u32, words: &[&str]) -> Result<Failure, Wrong> {
    let (mut tier, mut switch, mut link) = (None, None, None);
    for (name, value) in pairs(&words[1..]) {
        match name {
            "switch_type" => tier = value.copied(),
            "switch_id" => switch = Some(number32(name, value, 0, MOST)?),
            "link_id" => link = Some(number32(name, value, 0, MOST)?),
            _ => return Err(format!("{} is not known; known: switch_type, switch_id, link_id", quote(name))),
        }
    }
    match (tier, switch, link) {
        (Some("AGG"), Some(switch), Some(link)) => Ok(Failure { line, switch, link }),
        (Some("TOR" | "CORE"), ..) => Err("htsim fails only uplinks of AGG switches; write switch_type AGG".into()),
        _ => Err("write it like \"failure switch_type AGG switch_id 0 link_id 0\"".into()),
    }
}

//! A process of a run: one part of the network, with channels to its neighbours.
//!
//! Time is virtual and conservative. Each part promises each neighbour a time before which nothing that it has not sent
//! yet arrives there: the time it has reached, and the shortest time in which a packet crosses their link. It runs all
//! events before the least of its neighbours' promises. In real time it runs by the clock instead (`timed.rs`).
//!
//! The process that started it speaks to it over its standard input, and it answers over its standard output: a length
//! of 4 bytes, a kind of 1 byte, and [`Words`].

use crate::channel::Channel;
use crate::node::{HostNode, Item, Node, SwitchNode, lookahead};
use crate::options::Stall;
use crate::pace::{MOST_BEHIND, Timing};
use crate::report::Report;
use crate::timed::Timed;
use crate::veth;
use crate::words::{Reader, Wire, Words};
use fanin_experiment::{OwnPrograms, Spec};
use fanin_transport::os;
use fanin_units::{NodeId, Time};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Kinds of messages to a process.
pub(crate) mod command {
    pub const INIT: u8 = 1;
    pub const PEERS: u8 = 2;
    pub const RUN: u8 = 3;
    pub const STOP_POSTING: u8 = 4;
    pub const REPORT: u8 = 5;
    pub const TIMING: u8 = 6;
    /// The name of a file for the capture.
    pub const CAPTURE: u8 = 7;
    pub const END_CAPTURE: u8 = 8;
}

/// Kinds of answers.
pub(crate) mod answer {
    pub const PORTS: u8 = 1;
    pub const DONE: u8 = 2;
    pub const REPORT: u8 = 3;
    pub const ERROR: u8 = 4;
    pub const TIMING: u8 = 5;
    /// Instead of DONE: it is so late that the run is hopeless. With its timing.
    pub const LATE: u8 = 6;
    /// It has not done it yet, and has reached this time.
    pub const ALIVE: u8 = 7;
    /// The capture has ended: 1 and a warning, if there is one, or 0 and what went wrong.
    pub const CAPTURED: u8 = 8;
}

/// Most bytes of a message between processes.
const MOST: usize = 1 << 31;
/// How long a process waits for a datagram before it looks after lost ones.
const PATIENCE: Duration = Duration::from_millis(5);
/// Longest wait of a process in real time, after which it looks after lost datagrams.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
/// Longest wait for what neighbours have sent, at the end of a run.
const LONGEST_SILENCE: Duration = Duration::from_secs(2);
/// How often a process that runs says so.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_millis(250);

/// Writes a message.
pub(crate) fn write(to: &mut impl Write, kind: u8, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u32).to_le_bytes())?;
    to.write_all(&[kind])?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads a message.
pub(crate) fn read(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if len > MOST {
        return Err(io::Error::other("a message that is too long"));
    }
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes)?;
    Ok((head[4], bytes))
}

/// What a process is told first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Init {
    /// 0 are the switches, 1 + n is host n.
    pub number: u32,
    pub token: u64,
    /// The process that started the run.
    pub run: u64,
    /// Where its sockets are, on UDP.
    pub address: Ipv4Addr,
    /// Whether links are pairs of virtual interfaces.
    pub veth: bool,
    /// How many times slower the network is, or 0 in virtual time.
    pub slowdown: u64,
    pub stall: Option<Stall>,
    /// Whether it ends where it is hopelessly late.
    pub impatient: bool,
}

impl Init {
    pub fn write(&self, words: &mut Words) {
        let stall = self.stall.unwrap_or(Stall { part: u32::MAX, at: Time::ZERO, lasts: Duration::ZERO });
        let address = self.address.to_bits();
        words.all([self.number.into(), self.token, self.run, address.into(), self.veth.into(), self.slowdown]);
        words.all([stall.part.into(), stall.at.as_ps(), stall.lasts.as_nanos() as u64, self.impatient.into()]);
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        let [number, token, run, address, veth, slowdown, part, at, lasts, impatient] = words.words()?;
        let address = Ipv4Addr::from_bits(address as u32);
        let stall = Stall { part: part as u32, at: Time::from_ps(at), lasts: Duration::from_nanos(lasts) };
        let stall = (part == number).then_some(stall);
        Some(Self {
            number: number as u32,
            token,
            run,
            address,
            veth: veth != 0,
            slowdown,
            stall,
            impatient: impatient != 0,
        })
    }
}

/// One part of a network and its channels.
struct Member {
    node: Box<dyn Node>,
    channels: Vec<Channel>,
    /// What each neighbour has promised, and was promised.
    bounds: Vec<Time>,
    promised: Vec<Time>,
    lookahead: Vec<Time>,
    /// What is to be sent to each.
    pending: Vec<Vec<Item>>,
    now: Time,
    /// Where time is real.
    timed: Option<Timed>,
    /// Schemes and policies of one's own, which may fail.
    own: OwnPrograms,
    init: Init,
    /// When it last said how far it is.
    said: Instant,
}

impl Member {
    /// The part that an INIT message asks for.
    fn new(init: &[u8]) -> Result<Self, String> {
        let mut words = Reader(init);
        let init = Init::read(&mut words).ok_or("a message that is cut")?;
        let text = std::str::from_utf8(words.0).map_err(|error| error.to_string())?;
        let spec = Spec::from_toml(text, "spec", Path::new("")).map_err(|problems| problems.to_string())?;
        let spec = spec.check().map_err(|problems| problems.to_string())?;
        let built = spec.build();
        let own = OwnPrograms::of(&built.network, &built.traffics);
        let graph = &built.network.graph;
        let hosts = graph.hosts;
        let delays: Vec<Time> = graph.links.iter().map(|link| link.delay).collect();
        let all: Vec<Time> = (0..hosts).map(|host| lookahead(&built, NodeId(host))).collect();
        let (node, lookahead): (Box<dyn Node>, Vec<Time>) = match init.number.checked_sub(1) {
            None => (Box::new(SwitchNode::new(&built)?), all),
            Some(host) => (Box::new(HostNode::new(built, NodeId(host))?), vec![all[host as usize]]),
        };
        let channels = if init.veth {
            // They come with the pairs of interfaces.
            veth::enter()?;
            Vec::new()
        } else {
            let channels: io::Result<Vec<Channel>> =
                lookahead.iter().map(|_| Channel::bind(init.token, init.address)).collect();
            channels.map_err(|error| error.to_string())?
        };
        let real = init.slowdown > 0;
        if real {
            os::precise_timers();
        }
        let neighbours = lookahead.len();
        Ok(Self {
            node,
            channels: channels.into_iter().map(|of| if real { of.in_real_time() } else { of }).collect(),
            bounds: lookahead.clone(),
            promised: lookahead.clone(),
            lookahead,
            pending: vec![Vec::new(); neighbours],
            now: Time::ZERO,
            timed: real.then(|| Timed::new(init.slowdown, delays, init.stall)),
            own,
            init,
            said: Instant::now(),
        })
    }

    /// What its neighbours need to know: its ports, or its process where links are pairs of interfaces.
    fn address(&self) -> Result<Vec<u64>, String> {
        if self.init.veth {
            return Ok(vec![std::process::id().into()]);
        }
        let ports: io::Result<Vec<u64>> = self.channels.iter().map(|of| of.port().map(u64::from)).collect();
        ports.map_err(|error| error.to_string())
    }

    /// Connects it to its neighbours: their ports, or their processes.
    fn connect(&mut self, neighbours: &[u64]) -> Result<(), String> {
        let Init { veth, run, token, .. } = self.init;
        if !veth {
            for (channel, place) in self.channels.iter().zip(neighbours) {
                let (address, port) = (Ipv4Addr::from_bits((place >> 16) as u32), *place as u16);
                channel.connect(SocketAddrV4::new(address, port)).map_err(|error| error.to_string())?;
            }
            return Ok(());
        }
        let sockets = match self.init.number.checked_sub(1) {
            None => veth::make_pairs(run, neighbours)?,
            Some(host) => vec![veth::attach(run, host as usize)?],
        };
        let real = self.timed.is_some();
        let channels = sockets.into_iter().map(|socket| Channel::over(socket, &veth::FRONT, token));
        self.channels = channels.map(|of| if real { of.in_real_time() } else { of }).collect();
        Ok(())
    }

    /// Takes a datagram from a neighbour.
    fn take(&mut self, neighbour: usize, timeout: Duration) -> io::Result<bool> {
        let (node, timed, now) = (&mut self.node, &mut self.timed, self.now);
        let promise = self.channels[neighbour].receive(timeout, |item| {
            node.deliver(match timed {
                Some(timed) => timed.admit(item, now),
                None => item,
            });
        })?;
        if let Some(promise) = promise {
            self.bounds[neighbour] = self.bounds[neighbour].max(promise);
        }
        Ok(promise.is_some())
    }

    /// Takes what has come, and sends again what was lost.
    fn tend(&mut self) -> io::Result<()> {
        for neighbour in 0..self.channels.len() {
            while self.take(neighbour, Duration::ZERO)? {}
            self.channels[neighbour].repeat()?;
        }
        Ok(())
    }

    /// Says now and then how far it is, so that one that hangs is seen.
    fn live(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.said.elapsed() < ALIVE_EVERY {
            return Ok(());
        }
        self.said = Instant::now();
        write(out, answer::ALIVE, &self.now.as_ps().to_le_bytes())
    }

    /// Runs to a time.
    fn run_until(&mut self, stop: Time, out: &mut impl Write) -> io::Result<()> {
        loop {
            let bound = self.bounds.iter().copied().min().unwrap_or(Time::NEVER);
            let to = bound.min(stop);
            let Self { node, pending, .. } = self;
            node.run_until(to, &mut |neighbour, item| pending[neighbour].push(item));
            self.now = to;
            for neighbour in 0..self.channels.len() {
                let promise = to.saturating_add(self.lookahead[neighbour]);
                let before = self.promised[neighbour];
                // Half of the lookahead at least: smaller steps cost more than they win.
                let half = Time::from_ps(self.lookahead[neighbour].as_ps() / 2);
                if promise >= before.saturating_add(half) || to == stop && promise > before {
                    self.channels[neighbour].send(&mut self.pending[neighbour], promise, before)?;
                    self.promised[neighbour] = promise;
                }
            }
            if to >= stop {
                return Ok(());
            }
            while self.bounds.iter().copied().min() == Some(bound) {
                let slowest = self.bounds.iter().position(|of| *of == bound).unwrap_or(0);
                if !self.take(slowest, PATIENCE)? {
                    self.tend()?;
                }
                self.live(out)?;
            }
        }
    }

    /// Runs to a time by the clock. It ends when the neighbours have reached it too, and what they sent before is here.
    fn run_by_clock(&mut self, stop: Time, out: &mut impl Write) -> io::Result<()> {
        loop {
            let Some(timed) = &mut self.timed else { return Err(io::Error::other("there is no clock")) };
            let now = timed.clock.now();
            if let Some(stall) = timed.stall.take_if(|stall| stall.at <= now) {
                std::thread::sleep(stall.lasts);
            }
            for neighbour in 0..self.channels.len() {
                while self.take(neighbour, Duration::ZERO)? {}
            }
            self.run_to(now, stop)?;
            self.live(out)?;
            if self.init.impatient && self.timed.as_ref().is_some_and(Timed::is_hopeless) {
                return Ok(());
            }
            if self.now >= stop && self.bounds.iter().all(|bound| *bound >= stop) {
                return self.settle();
            }
            self.wait(stop)?;
        }
    }

    /// Handles all events before now, and sends what leaves.
    fn run_to(&mut self, now: Time, stop: Time) -> io::Result<()> {
        // No more at once, so that it is seen early how far behind it gets.
        let to = now.min(stop).min(self.now.saturating_add(MOST_BEHIND));
        let next = self.node.next_at();
        if let Some(timed) = &mut self.timed
            && next < to
        {
            // By the clock as it is by now.
            timed.timing.behind.add(timed.clock.now().saturating_sub(next).as_ps());
            if self.init.impatient && timed.is_hopeless() {
                return Ok(());
            }
        }
        let Self { node, pending, .. } = self;
        node.run_until(to, &mut |neighbour, item| pending[neighbour].push(item));
        self.now = to;
        for neighbour in 0..self.channels.len() {
            let (promise, before) = (to.saturating_add(self.lookahead[neighbour]), self.promised[neighbour]);
            if !self.pending[neighbour].is_empty() || to == stop && promise > before {
                self.channels[neighbour].send(&mut self.pending[neighbour], promise, before)?;
                self.promised[neighbour] = promise;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        for channel in &mut self.channels {
            channel.settle()?;
            channel.repeat()?;
        }
        Ok(())
    }

    /// Waits for a datagram or for the next event.
    fn wait(&mut self, stop: Time) -> io::Result<()> {
        let next = self.node.next_at().min(stop);
        let Some(timed) = &mut self.timed else { return Ok(()) };
        let timeout = match self.now >= stop {
            true => LONGEST_WAIT,
            // Events at a time are handled when the clock is behind it.
            false => (timed.clock.until(next) + Duration::from_nanos(1)).min(LONGEST_WAIT),
        };
        self.settle()?;
        let before = os::monotonic();
        os::wait_readable(self.channels.iter().map(|channel| channel.socket()), timeout)?;
        let late = os::monotonic().saturating_sub(before).saturating_sub(timeout);
        if let Some(timed) = &mut self.timed
            && self.now < stop
        {
            timed.timing.gap = timed.timing.gap.max(timed.clock.network(late));
        }
        Ok(())
    }

    /// Waits for what neighbours sent before now, which they have all reached.
    fn hear_all(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let late =
            |of: &Self| (0..of.bounds.len()).find(|at| of.bounds[*at] < of.now.saturating_add(of.lookahead[*at]));
        while let Some(neighbour) = late(self)
            && began.elapsed() < LONGEST_SILENCE
        {
            if !self.take(neighbour, PATIENCE)? {
                self.tend()?;
            }
        }
        Ok(())
    }

    fn tell_timing(&self, kind: u8, out: &mut impl Write) -> Result<(), String> {
        let mut answer = Words::default();
        self.timed.as_ref().map(|of| &of.timing).unwrap_or(&Timing::default()).write(&mut answer);
        write(out, kind, answer.bytes()).map_err(|error| error.to_string())
    }

    fn obey(&mut self, kind: u8, bytes: &[u8], out: &mut impl Write) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        let mut words = Reader(bytes);
        match kind {
            command::PEERS => {
                let neighbours = words.list().ok_or("a message that is cut")?;
                self.connect(&neighbours)?;
            }
            command::RUN => {
                let [until, begins] = words.words().ok_or("a message that is cut")?;
                let (until, now) = (Time::from_ps(until), self.now);
                if let Some(timed) = &mut self.timed {
                    (timed.clock.begins, timed.clock.from) = (Duration::from_nanos(begins), now);
                    self.run_by_clock(until, out).map_err(failed)?;
                    if self.now < until {
                        return self.tell_timing(answer::LATE, out);
                    }
                } else {
                    self.run_until(until, out).map_err(failed)?;
                }
            }
            command::TIMING => {
                return self.tell_timing(answer::TIMING, out);
            }
            command::STOP_POSTING => self.node.stop_posting(),
            command::CAPTURE => {
                let file = File::options().write(true).open(OsStr::from_bytes(bytes)).map_err(failed)?;
                // Whoever speaks to this process made it for that: nothing is written over.
                if file.metadata().map_err(failed)?.len() > 0 {
                    return Err("the file for the capture is not empty".to_string());
                }
                self.node.begin_capture(Box::new(BufWriter::new(file))).map_err(failed)?;
            }
            command::END_CAPTURE => {
                self.hear_all().map_err(failed)?;
                let (well, text) = match self.node.end_capture() {
                    Ok(warning) => (1, warning.unwrap_or_default()),
                    Err(error) => (0, error.to_string()),
                };
                let answer = [&[well], text.as_bytes()].concat();
                return write(out, answer::CAPTURED, &answer).map_err(failed);
            }
            command::REPORT => {
                let full = words.word() == Some(1);
                let mut answer = Words::default();
                let report = Report { failure: self.own.failure(), ..self.node.report(full) };
                report.write(&mut answer);
                return write(out, answer::REPORT, answer.bytes()).map_err(failed);
            }
            _ => return Err("a message of an unknown kind".to_string()),
        }
        write(out, answer::DONE, &[]).map_err(failed)
    }

    /// Obeys until the other end has gone.
    fn serve(&mut self, commands: &Receiver<(u8, Vec<u8>)>, out: &mut impl Write) -> Result<(), String> {
        loop {
            match commands.recv_timeout(PATIENCE) {
                Ok((kind, bytes)) => self.obey(kind, &bytes, out)?,
                Err(RecvTimeoutError::Timeout) => self.tend().map_err(|error| error.to_string())?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}

/// Runs one part of a network as the process at the other end of these pipes says, until it closes them.
pub fn serve(mut input: impl Read + Send + 'static, mut output: impl Write) {
    let (send, commands) = channel();
    std::thread::spawn(move || {
        while let Ok(message) = read(&mut input) {
            if send.send(message).is_err() {
                break;
            }
        }
        // Whoever started this process has gone, and what a neighbour waits for will not come.
        std::process::exit(0);
    });
    let Ok((command::INIT, init)) = commands.recv() else { return };
    let ended = Member::new(&init).and_then(|mut member| {
        let mut address = Words::default();
        address.list(&member.address()?);
        write(&mut output, answer::PORTS, address.bytes()).map_err(|error| error.to_string())?;
        member.serve(&commands, &mut output)
    });
    if let Err(problem) = ended {
        // Whoever reads it may have gone.
        let _ = write(&mut output, answer::ERROR, problem.as_bytes());
    }
}

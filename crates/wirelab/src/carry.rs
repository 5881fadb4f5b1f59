//! The switches of an experiment between hosts that are programs of others, such as the TCP of the kernel: IPv4 frames
//! pass through them over pairs of virtual interfaces, in real time, and are marked or dropped as in the simulator.
//!
//! Hosts are processes with a network namespace each. Number n has the address 10.0.0.(n + 1); all interfaces have one
//! Ethernet address, so that nobody asks for it. The links of hosts are here: a host's frames wait for each other as
//! they would at a NIC of the link's rate.

use crate::veth;
use fanin_cc::{Header, Kind, flags};
use fanin_experiment::CheckedSpec;
use fanin_fabric::outside::{OnLink, Paths, Switches};
use fanin_transport::os;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::UdpSocket;
use std::time::Duration;

/// Preamble, checksum and gap of an Ethernet frame, which are on the wire and not in the bytes of a socket.
const AROUND: u32 = 24;
/// Ethernet header, and the shortest IPv4 header.
const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// Longest frame.
const LONGEST: usize = 1514;
/// Frames that are kept at most: of those that switches drop nobody says so.
const KEPT: u64 = 65_536;
/// Longest time without a look around.
const LOOK: Duration = Duration::from_millis(1);
/// Frames of a host that are taken at once, so that others have their turn.
const AT_ONCE: usize = 64;

/// What is observed meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The port whose queue is sampled.
    pub port: PortId,
    /// The time between two samples.
    pub every: Duration,
    /// How long it runs.
    pub lasts: Duration,
}

/// What has happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// Bytes in the queue at each sample, and its time in seconds.
    pub queue: Vec<(f64, u64)>,
    /// Frames that reached a host.
    pub passed: u64,
    /// Of those, with a mark of these switches.
    pub marked: u64,
    /// Frames that switches dropped.
    pub dropped: u64,
    /// Frames to no host of the network, or too long.
    pub refused: u64,
    /// How much later than it should a frame left for its host: median, 99th percentile, most, in microseconds.
    pub late_us: [f64; 3],
}

/// What cannot be carried, said before anything starts.
///
/// # Errors
/// The reason.
pub fn check(spec: &CheckedSpec) -> Result<(), String> {
    let graph = &spec.network().graph;
    let to_hosts = graph.links.iter().filter(|link| graph.is_host(link.a) || graph.is_host(link.b));
    if to_hosts.count() != graph.hosts as usize || graph.hosts > 200 {
        return Err("switches between programs of others have up to 200 hosts with one link each".to_string());
    }
    veth::permitted()
}

/// Carries frames between these processes, host by host, each in a network namespace of its own. `ready` is called when
/// their interfaces are there, named `f{run}h{host}`, and `go_on` now and then: false ends it.
///
/// # Errors
/// What this machine does not permit.
pub fn carry(
    spec: &CheckedSpec,
    run: u64,
    processes: &[u64],
    watch: &Watch,
    ready: impl FnOnce() + Send,
    go_on: impl FnMut() -> bool + Send,
) -> Result<Carried, String> {
    check(spec)?;
    if processes.len() != spec.network().graph.hosts as usize {
        return Err(format!("{} processes for {} hosts", processes.len(), spec.network().graph.hosts));
    }
    // A thread of its own: it moves into a network of its own.
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            veth::enter()?;
            let sockets = veth::make_pairs_for_ipv4(run, processes)?;
            let mut carrier = Carrier::new(spec, sockets)?;
            ready();
            os::precise_timers();
            carrier.run(watch, go_on).map_err(|error| format!("a frame: {error}"))
        });
        carrying.join().unwrap_or_else(|_| Err("the switches failed".to_string()))
    })
}

struct Carrier {
    switches: Switches,
    paths: Paths,
    sockets: Vec<UdpSocket>,
    /// The port of each host, and when its link is free.
    links: Vec<(PortId, Time)>,
    /// Frames inside the switches, by number.
    frames: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// Frames on the last link, with their arrivals.
    out: Vec<VecDeque<(Time, Vec<u8>)>>,
    began: Duration,
    late: Vec<u64>,
    found: Carried,
}

impl Carrier {
    fn new(spec: &CheckedSpec, sockets: Vec<UdpSocket>) -> Result<Self, String> {
        let built = spec.build();
        let switches = Switches::new(built.network.clone(), &built.traffics)?;
        let paths = switches.paths();
        for socket in &sockets {
            socket.set_nonblocking(true).map_err(|error| error.to_string())?;
        }
        let link = |host: u32| paths.ports_of(NodeId(host)).next().map(|port| (port, Time::ZERO));
        let links: Option<Vec<_>> = (0..sockets.len() as u32).map(link).collect();
        Ok(Self {
            switches,
            links: links.ok_or("a host without a link")?,
            paths,
            out: sockets.iter().map(|_| VecDeque::new()).collect(),
            sockets,
            frames: BTreeMap::new(),
            next: 0,
            began: os::monotonic(),
            late: Vec::new(),
            found: Carried::default(),
        })
    }

    fn now(&self) -> Time {
        Time::from_ps((os::monotonic() - self.began).as_nanos() as u64 * 1000)
    }

    fn run(&mut self, watch: &Watch, mut go_on: impl FnMut() -> bool) -> std::io::Result<Carried> {
        let ps = |of: Duration| Time::from_ps(of.as_nanos() as u64 * 1000);
        let (end, every) = (ps(watch.lasts), ps(watch.every.max(Duration::from_micros(10))));
        let mut sample_at = every;
        self.began = os::monotonic();
        let mut looked = Time::ZERO;
        loop {
            let now = self.now();
            for host in 0..self.sockets.len() {
                self.take(host, now)?;
            }
            // The queue as it is at that time, however late this is.
            while sample_at <= now {
                self.advance(sample_at);
                self.found.queue.push((sample_at.as_ps() as f64 / 1e12, self.switches.queued(watch.port)));
                sample_at = sample_at.saturating_add(every);
            }
            self.advance(now);
            self.send()?;
            if now >= end {
                break;
            }
            if now >= looked.saturating_add(Time::from_ms(100)) {
                looked = now;
                if !go_on() {
                    break;
                }
            }
            let leaves = self.out.iter().filter_map(|of| of.front()).map(|(at, _)| *at).min();
            let next = self.switches.next_at().min(leaves.unwrap_or(Time::NEVER)).min(sample_at).min(end);
            let wait = Duration::from_nanos(next.saturating_sub(self.now()).as_ps() / 1000 + 1);
            os::wait_readable(self.sockets.iter(), wait.min(LOOK))?;
        }
        self.late.sort_unstable();
        let of =
            |share: f64| self.late.get((share * self.late.len() as f64) as usize).map_or(0.0, |ps| *ps as f64 / 1e6);
        self.found.late_us = [of(0.5), of(0.99), self.late.last().map_or(0.0, |ps| *ps as f64 / 1e6)];
        self.found.dropped = self.switches.totals().drops.total();
        Ok(std::mem::take(&mut self.found))
    }

    /// Takes frames of a host, which begin to leave it now, or when those before them have left.
    fn take(&mut self, host: usize, now: Time) -> std::io::Result<()> {
        let mut bytes = [0; LONGEST + 1];
        for _ in 0..AT_ONCE {
            let len = match self.sockets[host].recv(&mut bytes) {
                Ok(len) => len,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let frame = &bytes[..len];
            let Some((to, ecn)) = read(frame).filter(|(to, _)| *to < self.sockets.len() && len <= LONGEST) else {
                self.found.refused += 1;
                continue;
            };
            let (from, to) = (NodeId(host as u32), NodeId(to as u32));
            let (port, free) = self.links[host];
            let (rate, delay) = self.paths.link(port);
            let wire = len as u32 + AROUND;
            let left = free.max(now).saturating_add(rate.tx_time(u64::from(wire)));
            self.links[host].1 = left;
            let key = self.paths.key(u64::from(from.0) << 32 | u64::from(to.0), false);
            let header = Header {
                seq: self.next,
                flow: MessageId(from.0),
                src: from,
                dst: to,
                wire: wire as u16,
                payload: (len - ETHERNET - IPV4) as u16,
                kind: Kind::Data,
                class: 1,
                flags: if ecn == 0 { 0 } else { flags::ECT } | if ecn == 3 { flags::CE } else { 0 },
                ..Header::default()
            };
            self.switches.expect(&OnLink {
                link: port,
                arrives: left.saturating_add(delay),
                header,
                path: self.paths.path(from, to, key),
                scheme: 0,
                deflections: 0,
                telemetry: None,
            });
            self.frames.insert(self.next, frame.to_vec());
            self.next += 1;
            if self.frames.len() as u64 > 2 * KEPT {
                self.frames = self.frames.split_off(&(self.next - KEPT));
            }
        }
        Ok(())
    }

    /// Runs the switches to a time.
    fn advance(&mut self, to: Time) {
        let Self { switches, frames, out, found, .. } = self;
        switches.run_until(to, |of| {
            let Some(mut frame) = frames.remove(&of.header.seq) else { return };
            if of.header.has(flags::CE) {
                found.marked += u64::from(mark(&mut frame));
            }
            out[of.header.dst.ix()].push_back((of.arrives, frame));
        });
    }

    /// Hands over what has arrived.
    fn send(&mut self) -> std::io::Result<()> {
        for host in 0..self.out.len() {
            loop {
                let now = self.now();
                if self.out[host].front().is_none_or(|(at, _)| *at > now) {
                    break;
                }
                let Some((at, frame)) = self.out[host].pop_front() else { break };
                // A host that has gone takes nothing.
                if self.sockets[host].send(&frame).is_ok() {
                    self.found.passed += 1;
                    self.late.push((now - at).as_ps());
                }
            }
        }
        Ok(())
    }
}

/// The host that a frame is for, and the ECN bits of its IPv4 header.
fn read(frame: &[u8]) -> Option<(usize, u8)> {
    let ip = frame.get(ETHERNET..).filter(|ip| ip.len() >= IPV4 && frame[12..14] == [8, 0] && ip[0] >> 4 == 4)?;
    let host = ip[19].checked_sub(1)?;
    (ip[16..19] == [10, 0, 0]).then_some((usize::from(host), ip[1] & 3))
}

/// Writes a mark into the IPv4 header. Returns whether it had none.
fn mark(frame: &mut [u8]) -> bool {
    let ip = &mut frame[ETHERNET..];
    if ip[1] & 3 == 3 {
        return false;
    }
    ip[1] |= 3;
    let end = usize::from(ip[0] & 15) * 4;
    ip[10..12].fill(0);
    let sum: u32 = ip[..end.min(ip.len())].chunks_exact(2).map(|of| u32::from(of[0]) << 8 | u32::from(of[1])).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let sum = !((folded & 0xFFFF) + (folded >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071's sum that is in common use: 192.168.0.1 to 192.168.0.199, with checksum B861.
    fn frame() -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0]);
        frame.extend([0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xB8, 0x61]);
        frame.extend([192, 168, 0, 1, 192, 168, 0, 199]);
        frame
    }

    #[test]
    fn a_mark_keeps_the_checksum_of_the_header_right() {
        let mut marked = frame();
        marked[15] = 2;
        assert!(mark(&mut marked));
        // One's complement arithmetic: 3 more in the data, 3 less in its checksum.
        assert_eq!((marked[15], &marked[24..26]), (3, &[0xB8, 0x5E][..]));
        assert!(!mark(&mut marked), "it has one");
    }

    #[test]
    fn frames_are_for_the_host_that_their_address_names() {
        let mut to = frame();
        assert_eq!(read(&to), None, "another network");
        to[30..34].copy_from_slice(&[10, 0, 0, 3]);
        to[15] = 1;
        assert_eq!(read(&to), Some((2, 1)));
        assert_eq!(read(&to[..33]), None, "cut");
        to[33] = 0;
        assert_eq!(read(&to), None, "no host");
        to[12] = 0x86;
        assert_eq!(read(&to), None, "not IPv4");
    }
}

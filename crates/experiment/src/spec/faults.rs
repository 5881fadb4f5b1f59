//! Faults of hosts and options of PFC in a spec: validates them and converts them to the fabric's.

use super::checker::Checker;
use super::document::{Buffer, HostFault, LONGEST_RESPONSE, Network, WatchdogAction};
use super::shape::advice;
use fanin_fabric::pauses::{self, Drain, FaultKind, PauseOptions, Watchdog};
use fanin_fabric::topology::Graph;
use fanin_fabric::{ClassConfig, PacketSizes, pfc};
use fanin_units::{Bytes, Time};
use std::collections::HashMap;

/// The largest number of faults of hosts, each host of a list counted.
const MAX_FAULTS: usize = 10_000;
/// The longest pause that a frame can ask for, in quanta.
const MAX_QUANTA: u32 = 65_535;

/// What a spec says of faults and options of PFC. `wire` is the largest packet.
pub fn check_pauses(
    network: &Network,
    graph: &Graph,
    classes: &[ClassConfig],
    packet: &PacketSizes,
    wire: u64,
    checker: &mut Checker<'_>,
) -> PauseOptions {
    let lossless = classes.iter().any(|class| class.lossless);
    let none = "give some class policy = \"lossless\" or lossless = true, or leave it out";
    if !lossless && !network.pfc.is_default() {
        checker.fail("network.pfc", "no class is lossless, so nothing is paused", none);
    }
    let credits = matches!(network.buffer, Buffer::Credits(_));
    if credits && !network.pfc.is_default() {
        let problem = "it is about pauses of PFC, and network.buffer has credits instead";
        checker.fail("network.pfc", problem, "leave it out, or write policy = \"lossless\" in network.buffer");
        return PauseOptions::default();
    }
    let quanta = network.pfc.expiry.and_then(|quanta| check_expiry(quanta, wire + u64::from(packet.pause), checker));
    let watchdog = network.pfc.watchdog.as_ref().map(|watchdog| {
        checker.bounds("network.pfc.watchdog", watchdog);
        let action = match watchdog.action {
            WatchdogAction::Drop => pauses::WatchdogAction::Drop,
            WatchdogAction::Forward => pauses::WatchdogAction::Forward,
        };
        Watchdog { detect: watchdog.detect, restore: watchdog.restore, action }
    });
    let response = network.pfc.response.unwrap_or(Time::ZERO).min(LONGEST_RESPONSE);
    checker.bounds("network.pfc", &network.pfc);
    let mut faults = Faults { graph, number_of: HashMap::new(), found: Vec::new() };
    faults.number_of = graph.names[..graph.hosts as usize].iter().map(String::as_str).zip(0..).collect();
    for (i, fault) in network.faults.iter().enumerate() {
        let path = format!("network.faults[{i}]");
        match fault {
            HostFault::PauseStorm { .. } if credits => {
                let problem = "links with credits are not paused: who takes nothing returns no credits";
                checker.fail(&path, problem, "write kind = \"slow-receiver\" with a low rate");
            }
            HostFault::PauseStorm { hosts, from, to, every } => {
                if !lossless {
                    checker.fail(&path, "no class is lossless, so there is nothing to pause", none);
                }
                checker.bounds(&path, fault);
                faults.add(hosts, (*from, *to), FaultKind::PauseStorm { every: *every }, &path, checker);
            }
            HostFault::SlowReceiver { hosts, from, to, buffer, .. } => {
                let Some(drain) = check_drain(fault, &path, checker) else { continue };
                let kind = FaultKind::SlowReceiver { drain, buffer: buffer.get() };
                let added = faults.add(hosts, (*from, *to), kind, &path, checker);
                if credits {
                    continue;
                }
                let least = least_buffer(graph, added, (wire, u64::from(packet.pause), response), lossless);
                if buffer.get() < least {
                    let problem = format!("{buffer} is too small");
                    let right = if lossless {
                        format!("the headroom of the link and a full packet need {}", Bytes(least))
                    } else {
                        format!("a full packet needs {}", Bytes(least))
                    };
                    checker.fail(&format!("{path}.buffer"), problem, right);
                }
            }
        }
    }
    PauseOptions { quanta, watchdog, response, faults: faults.found, record: false }
}

/// A pause has to be repeated before it expires: the frame waits for a packet on the wire, in half of the time.
fn check_expiry(quanta: u32, bytes: u64, checker: &mut Checker<'_>) -> Option<u16> {
    // A quantum is 64 bytes.
    let least = bytes.div_ceil(32);
    if u64::from(quanta) < least || quanta > MAX_QUANTA {
        let problem = format!("{quanta} quanta are not possible");
        let right = format!(
            "it is {least} to {MAX_QUANTA}: a pause is repeated after half of its time, and the frame may wait for a \
             full packet"
        );
        checker.fail("network.pfc.expiry", problem, right);
        return None;
    }
    u16::try_from(quanta).ok()
}

/// How fast a slow receiver is.
fn check_drain(fault: &HostFault, path: &str, checker: &mut Checker<'_>) -> Option<Drain> {
    let HostFault::SlowReceiver { rate, share, .. } = fault else { return None };
    match (*rate, *share) {
        (Some(rate), None) => Some(Drain::Rate(rate)),
        (None, Some(share)) => checker.bounds(path, fault).then_some(Drain::Share(share)),
        (None, None) => {
            checker.fail(
                path,
                "it does not say how fast the host is",
                "give a rate, like rate = \"1 Gbps\", or a share",
            );
            None
        }
        (Some(_), Some(_)) => {
            checker.fail(&format!("{path}.share"), "there is a rate too", "give a rate or a share");
            None
        }
    }
}

/// The least receive buffer of these hosts.
fn least_buffer(
    graph: &Graph,
    hosts: &[pauses::HostFault],
    (wire, pause, response): (u64, u64, Time),
    lossless: bool,
) -> u64 {
    let faulty = |node: fanin_units::NodeId| hosts.iter().any(|fault| fault.host == node.0);
    let links = graph.links.iter().filter(|link| lossless && (faulty(link.a) || faulty(link.b)));
    links.map(|link| pfc::headroom(link.rate, (link.delay, response), wire, pause)).max().unwrap_or(0) + wire
}

/// The faults found so far.
struct Faults<'a> {
    graph: &'a Graph,
    number_of: HashMap<&'a str, u32>,
    found: Vec<pauses::HostFault>,
}

impl Faults<'_> {
    /// Adds a fault of several hosts. Returns those added.
    fn add(
        &mut self,
        hosts: &[String],
        (from, to): (Time, Option<Time>),
        kind: FaultKind,
        path: &str,
        checker: &mut Checker<'_>,
    ) -> &[pauses::HostFault] {
        let (before, to) = (self.found.len(), to.unwrap_or(Time::NEVER));
        if from >= to {
            let problem = format!("it lasts from {from} to {to}");
            checker.fail(&format!("{path}.to"), problem, "its end is later than its begin");
            return &[];
        }
        if hosts.is_empty() || before + hosts.len() > MAX_FAULTS {
            let right = format!("name at least one; at most {MAX_FAULTS} faults are possible");
            checker.fail(&format!("{path}.hosts"), format!("it names {} hosts", hosts.len()), right);
            return &[];
        }
        for (j, name) in hosts.iter().enumerate() {
            if checker.has_enough() {
                break;
            }
            let path = format!("{path}.hosts[{j}]");
            let Some(&host) = self.number_of.get(name.as_str()) else {
                let names = self.graph.names[..self.graph.hosts as usize].iter();
                let right = advice(name, names.map(String::as_str));
                checker.fail(&path, format!("there is no host \"{name}\""), right);
                continue;
            };
            let same = |other: &&pauses::HostFault| {
                let kinds = [&other.kind, &kind].map(std::mem::discriminant);
                other.host == host && kinds[0] == kinds[1] && other.from < to && from < other.to
            };
            if let Some(other) = self.found.iter().find(same) {
                let problem = format!("\"{name}\" has the same fault from {} to {}", other.from, other.to);
                checker.fail(&path, problem, "faults of one kind at one host do not overlap");
                continue;
            }
            self.found.push(pauses::HostFault { host, from, to, kind });
        }
        &self.found[before..]
    }
}

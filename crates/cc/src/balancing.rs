//! Load balancing: which of several equally short paths a packet takes at a switch. Pure, like a scheme, and
//! independent of it.
//!
//! A network has one policy, a [`Balancing`]. Flow hash needs no state; every other policy is a [`Balancer`] at each
//! switch, which is asked about every packet that has a choice there: data, ACKs and other control packets, but not the
//! frames of the link itself (pauses, credits of InfiniBand's flow control). The choices are the ports of the shortest
//! paths to the packet's destination, as the switch knows them: a link that has failed is among them until its failure
//! is detected.
//!
//! With [`Balancing::Senders`] switches hash a number that the sender puts into each packet: see [`crate::paths`].
//!
//! A policy of one's own is a [`BalancerProgram`], which builds a [`Balancer`] for each switch. Results are the same on
//! any number of threads if a balancer draws only on what it is given: [`SwitchInfo::seed`] and the arguments of
//! [`Balancer::choose`].

use crate::paths::{PathsKind, SelectorProgram, Spraying};
use crate::random::Random;
use crate::schemes::own::Failure;
use crate::{Header, SwitchInfo};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use fanin_units::{Rate, Time};

/// A port that leads to a packet's destination on a shortest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its number at the switch, which does not change.
    pub port: u16,
    /// Rate of its link.
    pub rate: Rate,
    /// Bytes that wait there in the packet's class; a packet on the wire does not count.
    pub queued: u64,
    /// Whether the packet's class must not be sent there now: the peer has paused it, or credits are missing.
    pub paused: bool,
}

/// A policy at one switch.
pub trait Balancer: Send {
    /// The index in `choices` of the port that a packet takes. There are two choices at least, in the order of their
    /// ports' numbers. `hash` is the same for all packets of one direction of a flow, at every switch; flows on one
    /// connection share it.
    fn choose(&mut self, now: Time, packet: &Header, hash: u32, choices: &[Choice]) -> usize;
}

/// A policy of one's own: builds the balancer of each switch.
pub trait BalancerProgram: Send + Sync + Debug {
    /// The balancer of a switch that comes up.
    fn build(&self, switch: &SwitchInfo<'_>) -> Box<dyn Balancer>;
    /// Whether it runs in an interpreter that one thread at a time may enter.
    fn interpreted(&self) -> bool {
        false
    }
    /// The first failure, after which the run should end.
    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// Load balancing of one's own: of switches, or of senders.
#[derive(Clone, Debug)]
pub enum OwnBalancing {
    /// Switches choose.
    Switches(Arc<dyn BalancerProgram>),
    /// Senders choose.
    Senders(Arc<dyn SelectorProgram>),
}

impl OwnBalancing {
    /// See [`BalancerProgram::interpreted`].
    pub fn interpreted(&self) -> bool {
        match self {
            Self::Switches(program) => program.interpreted(),
            Self::Senders(program) => program.interpreted(),
        }
    }
}

/// The policy of a network.
#[derive(Clone, Debug, Default)]
pub enum Balancing {
    /// By a hash of the flow at each switch: all packets of one direction of a flow take one path (ECMP).
    #[default]
    FlowHash,
    /// Each packet at random.
    Random,
    /// The packets of a switch in turn over each set of equal ports.
    RoundRobin,
    /// The port where fewest bytes wait in the packet's class; among several, one at random.
    LeastQueue,
    /// Flowlets: a flow takes another path, at random, after a pause.
    Flowlets {
        /// The pause: packets of a flow that follow each other within it take the same path.
        gap: Time,
    },
    /// Senders choose a path for each packet, by a number in it that switches hash.
    Senders(Spraying),
    /// A policy of one's own.
    Own(Arc<dyn BalancerProgram>),
}

/// The policies of switches, the default first, and what each does.
const AT_SWITCHES: [(&str, &str); 5] = [
    ("flow-hash", "By a hash of the flow at each switch (ECMP): all packets of one direction of a flow take one path."),
    ("random", "Each packet at random (random packet spraying)."),
    ("round-robin", "Packets in turn, at each switch over each set of equal ports."),
    ("least-queue", "The port with the fewest bytes queued in the packet's class; one of several at random."),
    (
        "flowlets",
        "A flow takes another path, at random, after a pause of `flowlet_gap` (Kandula et al. 2007; LetFlow 2017).",
    ),
];

impl Balancing {
    /// The ids of the built-in policies in specs, those of switches and then those of senders, the default first, and
    /// what each does.
    pub const NAMES: [(&'static str, &'static str); AT_SWITCHES.len() + PathsKind::NAMES.len()] = {
        let mut names = [("", ""); AT_SWITCHES.len() + PathsKind::NAMES.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = if at < AT_SWITCHES.len() { AT_SWITCHES[at] } else { PathsKind::NAMES[at - AT_SWITCHES.len()] };
            at += 1;
        }
        names
    };

    /// The built-in policy of this id; `gap` is that of flowlets, and `paths` the number among which senders choose.
    pub fn named(id: &str, gap: Time, paths: u32) -> Option<Self> {
        if let Some(kind) = PathsKind::named(id) {
            return Some(Self::Senders(Spraying::by(kind, paths)));
        }
        Some(match id {
            "flow-hash" => Self::FlowHash,
            "random" => Self::Random,
            "round-robin" => Self::RoundRobin,
            "least-queue" => Self::LeastQueue,
            "flowlets" => Self::Flowlets { gap },
            _ => return None,
        })
    }

    /// Whether all packets of a flow take one path.
    pub const fn is_by_flow(&self) -> bool {
        matches!(self, Self::FlowHash)
    }

    /// Whether switches decide, other than by a hash.
    pub const fn is_at_switches(&self) -> bool {
        !matches!(self, Self::FlowHash | Self::Senders(_))
    }

    /// Whether the policy looks at [`Choice::queued`] or [`Choice::paused`]. Where it does not, these may be out of
    /// date.
    pub const fn sees_queues(&self) -> bool {
        matches!(self, Self::LeastQueue | Self::Own(_))
    }

    /// What of it is one's own.
    pub fn own(&self) -> Option<OwnBalancing> {
        match self {
            Self::Own(program) => Some(OwnBalancing::Switches(program.clone())),
            Self::Senders(spraying) => spraying.own().cloned().map(OwnBalancing::Senders),
            _ => None,
        }
    }

    /// The balancer of a switch; none for flow hash.
    pub fn build(&self, switch: &SwitchInfo<'_>) -> Option<Box<dyn Balancer>> {
        let random = Random::new(switch.seed);
        Some(match self {
            Self::FlowHash | Self::Senders(_) => return None,
            Self::Random => Box::new(AtRandom { random }),
            Self::RoundRobin => Box::new(RoundRobin { sets: Vec::new(), random }),
            Self::LeastQueue => Box::new(LeastQueue { random }),
            Self::Flowlets { gap } => Box::new(Flowlets { gap: *gap, table: Vec::new(), random }),
            Self::Own(program) => program.build(switch),
        })
    }
}

/// Each packet at random, every choice equally often. Known as random packet spraying (Dixit et al., On the impact of
/// packet spraying in data center networks, INFOCOM 2013).
struct AtRandom {
    random: Random,
}

impl Balancer for AtRandom {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        self.random.below(choices.len())
    }
}

/// In turn over each set of equal ports. The first turn of each set is random, so that switches do not move in step.
struct RoundRobin {
    /// Sets of ports, sorted, and the index whose turn is next.
    sets: Vec<(Vec<u16>, usize)>,
    random: Random,
}

impl Balancer for RoundRobin {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        let ports = || choices.iter().map(|choice| choice.port);
        let found = self.sets.binary_search_by(|(set, _)| set.iter().copied().cmp(ports()));
        let at = found.unwrap_or_else(|at| {
            self.sets.insert(at, (ports().collect(), self.random.below(choices.len())));
            at
        });
        let next = &mut self.sets[at].1;
        let chosen = *next;
        *next = (chosen + 1) % choices.len();
        chosen
    }
}

/// The shortest queue; among several of them one at random, each equally often.
struct LeastQueue {
    random: Random,
}

impl Balancer for LeastQueue {
    fn choose(&mut self, _: Time, _: &Header, _: u32, choices: &[Choice]) -> usize {
        let least = choices.iter().map(|choice| choice.queued).min().unwrap_or(0);
        let shortest = || (0..choices.len()).filter(|at| choices[*at].queued == least);
        let drawn = match shortest().count() {
            1 => 0,
            several => self.random.below(several),
        };
        shortest().nth(drawn).unwrap_or(0)
    }
}

/// Flowlets (Kandula et al., Dynamic load balancing without packet reordering, CCR 2007), with a new path at random
/// (LetFlow: Vanini et al., Let it flow: resilient asymmetric load balancing with flowlet switching, NSDI 2017). If the
/// gap is longer than the difference of the paths' delays, nothing is reordered.
struct Flowlets {
    gap: Time,
    /// By the hash of the flow; [`ENTRIES`], once there was a packet.
    table: Vec<Flowlet>,
    random: Random,
}

/// Entries in a switch's table of flowlets. Flows whose hashes meet in an entry are one, as in a switch's hardware
/// (LetFlow has 64 K entries): their common pauses are fewer, and their packets take one path.
pub const ENTRIES: usize = 1 << 12;

/// The last packet of a flow.
#[derive(Clone, Copy)]
struct Flowlet {
    last: Time,
    port: u16,
}

impl Balancer for Flowlets {
    fn choose(&mut self, now: Time, _: &Header, hash: u32, choices: &[Choice]) -> usize {
        if self.table.is_empty() {
            self.table = alloc::vec![Flowlet { last: Time::NEVER, port: 0 }; ENTRIES];
        }
        // The upper bits: the hash of a switch's hosts may be by the lower ones.
        let entry = &mut self.table[hash as usize >> (u32::BITS - ENTRIES.ilog2())];
        let known = choices.iter().position(|choice| choice.port == entry.port);
        let goes_on = entry.last != Time::NEVER && now.saturating_sub(entry.last) <= self.gap;
        entry.last = now;
        if let Some(known) = known.filter(|_| goes_on) {
            return known;
        }
        let chosen = self.random.below(choices.len());
        entry.port = choices[chosen].port;
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_units::NodeId;
    use proptest::prelude::*;

    fn balancer(policy: &Balancing, seed: u64) -> Box<dyn Balancer> {
        policy.build(&SwitchInfo { seed, ..SwitchInfo::new(NodeId(9), &[]) }).unwrap()
    }

    fn choices(queued: impl IntoIterator<Item = (u16, u64)>) -> Vec<Choice> {
        let choice = |(port, queued)| Choice { port, rate: Rate::from_gbps(100), queued, paused: false };
        queued.into_iter().map(choice).collect()
    }

    /// Pearson's statistic of counts that should all be equal.
    fn chi_square(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let squared = |count: &u32| (f64::from(*count) - mean) * (f64::from(*count) - mean);
        counts.iter().map(|count| squared(count) / mean).sum()
    }

    /// Counts of chosen indices of 40,000 packets.
    fn counts(policy: &Balancing, choices: &[Choice]) -> Vec<u32> {
        let mut balancer = balancer(policy, 7);
        let mut counts = alloc::vec![0; choices.len()];
        for packet in 0..40_000 {
            counts[balancer.choose(Time::from_ns(packet), &Header::default(), 5, choices)] += 1;
        }
        counts
    }

    #[test]
    fn every_name_is_that_of_a_policy() {
        let named =
            Balancing::NAMES.map(|(id, _)| Balancing::named(id, Time::ZERO, 1).map(|policy| policy.is_by_flow()));
        assert!(named[0] == Some(true) && named[1..].iter().all(|by_flow| *by_flow == Some(false)));
        let of_senders = |(id, _)| matches!(Balancing::named(id, Time::ZERO, 8), Some(Balancing::Senders(_)));
        let at_switches = AT_SWITCHES.len();
        assert!(Balancing::NAMES.iter().enumerate().all(|(at, name)| of_senders(*name) == (at >= at_switches)));
        assert!(Balancing::named("own", Time::ZERO, 1).is_none());
    }

    #[test]
    fn random_packets_are_uniform_and_independent() {
        // The 99.9th percentile of chi-square with 7 degrees of freedom is 24.3, with 63 it is 103.4.
        let eight = choices((0..8).map(|port| (port, 1000 * u64::from(port))));
        assert!(chi_square(&counts(&Balancing::Random, &eight)) < 24.3);
        let mut random = balancer(&Balancing::Random, 3);
        let mut pairs = alloc::vec![0; 64];
        let mut before = 0;
        for _ in 0..40_000 {
            let at = random.choose(Time::ZERO, &Header::default(), 0, &eight);
            pairs[8 * before + at] += 1;
            before = at;
        }
        assert!(chi_square(&pairs) < 103.4, "{pairs:?}");
    }

    #[test]
    fn ties_of_the_least_queue_are_broken_evenly() {
        // Indices 1, 2 and 4 hold the least; the 99.9th percentile with 2 degrees of freedom is 13.8.
        let counts = counts(&Balancing::LeastQueue, &choices([(0, 9), (3, 4), (4, 4), (6, 5), (7, 4)]));
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!(chi_square(&[counts[1], counts[2], counts[4]]) < 13.8, "{counts:?}");
    }

    #[test]
    fn a_seed_decides_every_draw() {
        let same = choices((0..16).map(|port| (port, 0)));
        let draws = |policy: &Balancing, seed| {
            let mut balancer = balancer(policy, seed);
            let at = |n: u64| balancer.choose(Time::from_us(60 * n), &Header::default(), n as u32, &same);
            (0..20).map(at).collect::<Vec<_>>()
        };
        let gap = Time::from_us(50);
        for policy in [Balancing::Random, Balancing::RoundRobin, Balancing::LeastQueue, Balancing::Flowlets { gap }] {
            assert_eq!(draws(&policy, 1), draws(&policy, 1), "{policy:?}");
            assert!((2..8).any(|seed| draws(&policy, seed) != draws(&policy, 1)), "{policy:?}");
        }
    }

    proptest! {
        #[test]
        fn the_least_queue_is_never_longer_than_another(
            packets in proptest::collection::vec(proptest::collection::vec(0u64..4, 2..9), 1..50),
            seed: u64,
        ) {
            let mut balancer = balancer(&Balancing::LeastQueue, seed);
            for queues in packets {
                let choices = choices((0..).zip(queues.iter().copied()));
                let at = balancer.choose(Time::ZERO, &Header::default(), 0, &choices);
                prop_assert!(queues.iter().all(|queue| queues[at] <= *queue));
            }
        }

        #[test]
        fn round_robin_counts_of_a_set_differ_by_one_at_most(
            which in proptest::collection::vec(0usize..3, 1..200),
            seed: u64,
        ) {
            // The sets share ports and a length; each has turns of its own.
            let ports = [&[0, 1, 5][..], &[0, 2, 5], &[0, 5]];
            let sets = ports.map(|ports| choices(ports.iter().map(|port| (*port, 0))));
            let mut balancer = balancer(&Balancing::RoundRobin, seed);
            let mut counts = [[0; 3]; 3];
            for set in which {
                counts[set][balancer.choose(Time::ZERO, &Header::default(), 0, &sets[set])] += 1;
                let counts = &counts[set][..sets[set].len()];
                prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
            }
        }

        #[test]
        fn a_flowlet_keeps_its_path_within_the_gap(
            packets in proptest::collection::vec((0u32..4, 0u64..60, any::<bool>()), 1..300),
            seed: u64,
        ) {
            let gap = Time::from_us(50);
            let mut balancer = balancer(&Balancing::Flowlets { gap }, seed);
            let (all, fewer) = (choices([(2, 0), (4, 0), (7, 0), (9, 0)]), choices([(2, 0), (7, 0), (9, 0)]));
            let mut now = Time::ZERO;
            // By flow: time and port of the last packet. The flows have entries of their own.
            let mut last = [(Time::NEVER, 0); 4];
            for (flow, after, port_down) in packets {
                now += Time::from_us(after);
                let choices = if port_down { &fewer } else { &all };
                let at = balancer.choose(now, &Header::default(), flow << 30, choices);
                let (before, port) = last[flow as usize];
                if before != Time::NEVER && now - before <= gap && choices.iter().any(|choice| choice.port == port) {
                    prop_assert_eq!(choices[at].port, port);
                }
                last[flow as usize] = (now, choices[at].port);
            }
        }
    }

    #[test]
    fn a_flowlet_may_change_its_path_after_the_gap() {
        let gap = Time::from_us(50);
        let mut balancer = balancer(&Balancing::Flowlets { gap }, 1);
        let four = choices((0..4).map(|port| (port, 0)));
        let mut counts = alloc::vec![0; 4];
        for n in 0..10_000 {
            let late = Time::from_ps(50_000_001);
            counts[balancer.choose(late.saturating_mul(n), &Header::default(), 77, &four)] += 1;
        }
        // The 99.9th percentile with 3 degrees of freedom.
        assert!(chi_square(&counts) < 16.3, "{counts:?}");
    }
}

//! The hosts of a traffic, and random choices among them.

use crate::{Places, WorkloadError};
use fanin_engine::Stream;

/// The possible pairs of hosts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Hosts {
    /// Hosts that may send; all when none are given.
    pub senders: Option<Vec<u32>>,
    /// Hosts that may receive; all when none are given.
    pub receivers: Option<Vec<u32>>,
    /// Whether sender and receiver must be in different racks. The default is false, except for long flows whose load
    /// is a share of ToR uplinks.
    pub inter_rack_only: Option<bool>,
}

impl Hosts {
    /// Pairs whose sender is drawn first, and then its receiver.
    pub(crate) fn sender_first(&self, places: &Places, inter_rack_default: bool) -> Result<Pairs, WorkloadError> {
        let inter_rack = self.inter_rack_only.unwrap_or(inter_rack_default);
        Pairs::new(places, self.resolve_senders(places)?, self.resolve_receivers(places)?, inter_rack)
    }

    /// Pairs whose receiver is drawn first, and then its senders.
    pub(crate) fn receiver_first(&self, places: &Places) -> Result<Pairs, WorkloadError> {
        let inter_rack = self.inter_rack_only.unwrap_or(false);
        Pairs::new(places, self.resolve_receivers(places)?, self.resolve_senders(places)?, inter_rack)
    }

    fn resolve_senders(&self, places: &Places) -> Result<Vec<u32>, WorkloadError> {
        resolve("pattern.senders", self.senders.as_deref(), places)
    }

    fn resolve_receivers(&self, places: &Places) -> Result<Vec<u32>, WorkloadError> {
        resolve("pattern.receivers", self.receivers.as_deref(), places)
    }
}

/// The named hosts, or all; in order, each once.
pub(crate) fn resolve(key: &'static str, hosts: Option<&[u32]>, places: &Places) -> Result<Vec<u32>, WorkloadError> {
    let Some(hosts) = hosts else {
        return Ok((0..places.hosts()).collect());
    };
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    let Some(&last) = sorted.last() else {
        return Err(WorkloadError::key(key, "no host is given", "name at least one, or leave the key out for all"));
    };
    if last >= places.hosts() {
        let right = format!("hosts are 0 to {}", places.hosts() - 1);
        return Err(WorkloadError::key(key, format!("there is no host {last}"), right));
    }
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(WorkloadError::key(key, format!("host {} is named twice", twice[0]), "name each host once"));
    }
    Ok(sorted)
}

/// The named hosts in the order they are named, or all; each once.
pub(crate) fn in_order(key: &'static str, hosts: Option<&[u32]>, places: &Places) -> Result<Vec<u32>, WorkloadError> {
    let sorted = resolve(key, hosts, places)?;
    Ok(hosts.map_or(sorted, <[u32]>::to_vec))
}

/// A host and its excluded candidates, which are contiguous: itself, or its rack.
#[derive(Clone, Copy)]
struct Chooser {
    host: u32,
    excluded_from: u32,
    excluded_to: u32,
}

/// Pairs of a host and a partner, both drawn in constant time.
pub(crate) struct Pairs {
    choosers: Vec<Chooser>,
    /// Possible partners in order of their rack.
    candidates: Vec<u32>,
    /// Indices into `candidates`, in the order left by earlier draws.
    order: Vec<u32>,
    /// The probability that a pair crosses racks, for a uniform chooser and a uniform partner.
    inter_rack: f64,
}

impl Pairs {
    fn new(
        places: &Places,
        choosers: Vec<u32>,
        mut candidates: Vec<u32>,
        inter_rack_only: bool,
    ) -> Result<Self, WorkloadError> {
        let key = |host: u32| (places.rack_of[host as usize], host);
        candidates.sort_unstable_by_key(|host| key(*host));
        let total = candidates.len();
        let mut crossing = 0.0;
        // Where the candidates of the last chooser's rack are: the next one is mostly of the same.
        let mut last: Option<(u32, usize, usize)> = None;
        let choosers: Vec<Chooser> = choosers
            .into_iter()
            .filter_map(|host| {
                let rack = places.rack_of[host as usize];
                let (_, rack_from, rack_to) = *match &mut last {
                    Some(known) if known.0 == rack => known,
                    other => {
                        let from = candidates.partition_point(|c| key(*c) < (rack, 0));
                        other.insert((rack, from, candidates.partition_point(|c| key(*c) <= (rack, u32::MAX))))
                    }
                };
                let (from, to) = if inter_rack_only {
                    (rack_from, rack_to)
                } else {
                    let at = candidates.partition_point(|c| key(*c) < key(host));
                    (at, at + usize::from(candidates.get(at) == Some(&host)))
                };
                let partners = total - (to - from);
                if partners == 0 {
                    return None;
                }
                crossing += (total - (rack_to - rack_from)) as f64 / partners as f64;
                Some(Chooser { host, excluded_from: from as u32, excluded_to: to as u32 })
            })
            .collect();
        if choosers.is_empty() {
            let (problem, right) = if inter_rack_only {
                ("no sender has a receiver in another rack", "name other hosts or set inter_rack_only = false")
            } else {
                ("the only sender is the only receiver", "name other hosts")
            };
            return Err(WorkloadError::key("pattern.receivers", problem, right));
        }
        let inter_rack = crossing / choosers.len() as f64;
        Ok(Self { choosers, order: (0..total as u32).collect(), candidates, inter_rack })
    }

    /// The probability that a pair crosses racks.
    pub fn inter_rack(&self) -> f64 {
        self.inter_rack
    }

    /// Number of hosts that are drawn first.
    pub fn choosers(&self) -> usize {
        self.choosers.len()
    }

    /// The hosts that are drawn first.
    pub fn choosing_hosts(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.choosers.iter().map(|c| c.host)
    }

    /// The hosts that may be their partners.
    pub fn candidates(&self) -> impl Iterator<Item = u32> + '_ {
        self.candidates.iter().copied()
    }

    /// The chooser with the fewest partners, and their number.
    pub fn fewest_partners(&self) -> (u32, usize) {
        let partners = |c: &Chooser| (c.host, self.candidates.len() - (c.excluded_to - c.excluded_from) as usize);
        self.choosers.iter().map(partners).min_by_key(|p| p.1).unwrap_or((0, 0))
    }

    /// A uniformly random chooser: its number and the host.
    pub fn chooser(&self, stream: &mut Stream) -> (usize, u32) {
        let number = stream.below(self.choosers.len() as u64) as usize;
        (number, self.choosers[number].host)
    }

    /// `count` distinct choosers in random order.
    pub fn distinct_choosers(&self, count: usize, stream: &mut Stream) -> Vec<(usize, u32)> {
        let mut all: Vec<(usize, u32)> = self.choosing_hosts().enumerate().collect();
        stream.shuffle(&mut all);
        all.truncate(count);
        all
    }

    /// A uniformly random partner of a chooser.
    pub fn partner(&self, chooser: usize, stream: &mut Stream) -> u32 {
        let Chooser { excluded_from, excluded_to, .. } = self.choosers[chooser];
        let excluded = excluded_to - excluded_from;
        let drawn = stream.below(self.candidates.len() as u64 - u64::from(excluded)) as u32;
        self.candidates[(if drawn < excluded_from { drawn } else { drawn + excluded }) as usize]
    }

    /// Passes `count` distinct partners of a chooser, in random order, to `each`. There must be that many.
    pub fn distinct_partners(&mut self, chooser: usize, count: usize, stream: &mut Stream, mut each: impl FnMut(u32)) {
        let Chooser { excluded_from, excluded_to, .. } = self.choosers[chooser];
        let excluded = |at: u32| (excluded_from..excluded_to).contains(&at);
        distinct(&mut self.order, count, stream, excluded, |at| each(self.candidates[at as usize]));
    }
}

/// Passes `count` distinct entries of `order` that are not `excluded`, in random order, to `each`. There must be that
/// many. Changes the order of `order`.
pub(crate) fn distinct(
    order: &mut [u32],
    count: usize,
    stream: &mut Stream,
    excluded: impl Fn(u32) -> bool,
    mut each: impl FnMut(u32),
) {
    let total = order.len();
    let mut found = 0;
    // A partial shuffle: any previous order is a valid start.
    for i in 0..total {
        if found == count {
            return;
        }
        order.swap(i, i + stream.below((total - i) as u64) as usize);
        let at = order[i];
        if !excluded(at) {
            found += 1;
            each(at);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fanin_engine::Streams;
    use fanin_units::Rate;
    use proptest::prelude::*;

    /// Random cases of a property: `FANIN_CASES`, or 64.
    pub(crate) fn cases() -> ProptestConfig {
        let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
    }

    /// Hosts at 10 Gb/s in these racks.
    pub(crate) fn racks(rack_of: Vec<u32>) -> Places {
        let hosts = rack_of.len() as u64;
        Places {
            nic_rate: vec![Rate::from_gbps(10); rack_of.len()],
            rack_of,
            host_links: Rate::from_gbps(10 * hosts),
            tor_uplinks: Rate::from_gbps(10 * hosts / 4 + 1),
        }
    }

    /// Dart's 1,024 hosts: 64 racks of 16.
    pub(crate) fn dart() -> Places {
        Places { tor_uplinks: Rate::from_gbps(2560), ..racks((0..1024).map(|h| h / 16).collect()) }
    }

    #[test]
    fn the_share_of_pairs_between_racks_is_exact() {
        let share = |hosts: Hosts, places: &Places| hosts.sender_first(places, false).unwrap().inter_rack();
        assert!((share(Hosts::default(), &dart()) - 1008.0 / 1023.0).abs() < 1e-12);
        assert_eq!(share(Hosts { inter_rack_only: Some(true), ..Hosts::default() }, &dart()), 1.0);
        // Host 0 alone in its rack: 0 -> {1, 2} always crosses; 1 -> {0, 2} and 2 -> {0, 1} in half.
        assert!((share(Hosts::default(), &racks(vec![7, 3, 3])) - 2.0 / 3.0).abs() < 1e-12);
        // Senders that receive nothing have one partner more.
        let hosts = Hosts { senders: Some(vec![2]), receivers: Some(vec![0, 1]), inter_rack_only: None };
        assert_eq!(share(hosts, &racks(vec![7, 3, 3])), 0.5);
    }

    #[test]
    fn partners_are_uniform_and_never_excluded() {
        let places = racks(vec![1, 0, 1, 0, 2]);
        for inter_rack in [false, true] {
            let hosts = Hosts { inter_rack_only: Some(inter_rack), ..Hosts::default() };
            let mut pairs = hosts.sender_first(&places, false).unwrap();
            let mut stream = Streams::new(3).stream("test", 0);
            for chooser in 0..5 {
                let src = chooser as u32;
                let allowed = |dst: &u32| src != *dst && (!inter_rack || places.crosses_racks(src, *dst));
                let expected = 20_000 / (0..5).filter(allowed).count();
                let mut one = [0usize; 5];
                let mut two = [0usize; 5];
                for _ in 0..20_000 {
                    one[pairs.partner(chooser, &mut stream) as usize] += 1;
                    let mut drawn = Vec::new();
                    pairs.distinct_partners(chooser, 2, &mut stream, |p| drawn.push(p));
                    assert!(drawn.len() == 2 && drawn[0] != drawn[1], "{drawn:?}");
                    drawn.iter().for_each(|p| two[*p as usize] += 1);
                }
                for dst in 0..5 {
                    let expected = if allowed(&dst) { expected } else { 0 };
                    assert!(one[dst as usize].abs_diff(expected) < 350, "{src}: {one:?}");
                    assert!(two[dst as usize].abs_diff(2 * expected) < 500, "{src}: {two:?}");
                }
            }
        }
    }

    #[test]
    fn impossible_hosts_are_named() {
        let places = racks(vec![0, 0, 1]);
        let with = |senders: Vec<u32>, receivers: Vec<u32>, inter_rack| {
            let hosts = Hosts { senders: Some(senders), receivers: Some(receivers), inter_rack_only: Some(inter_rack) };
            hosts.sender_first(&places, false).map(|_| ()).unwrap_err().to_string()
        };
        assert!(with(vec![3], vec![0], false).contains("no host 3; hosts are 0 to 2"));
        assert!(with(vec![1], vec![1, 1], false).contains("host 1 is named twice"));
        assert!(with(vec![], vec![1], false).starts_with("pattern.senders: no host is given"));
        assert!(with(vec![1], vec![1], false).contains("the only sender is the only receiver"));
        assert!(with(vec![1], vec![0], true).contains("no sender has a receiver in another rack"));
    }
}

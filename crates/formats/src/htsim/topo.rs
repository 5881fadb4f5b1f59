//! Fat trees of two or three tiers.

use super::words::{MOST, Wrong, lines, number, number32, only, quote};
use crate::Error;

/// A fat tree with consistent counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Topo {
    /// `Nodes`: how many hosts there are.
    pub nodes: u32,
    /// `Podsize`: hosts of a pod.
    pub pod: u32,
    /// `Tiers`: ToRs, aggregation switches and, of three tiers, cores.
    pub tiers: Vec<Tier>,
}

/// The switches of a tier, and the links below them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tier {
    /// Its line in the file; 0 where there is no file.
    pub line: u32,
    /// `Downlink_speed_Gbps`.
    pub speed_gbps: u32,
    /// `Downlink_Latency_ns`: propagation delay of each link below.
    pub latency_ns: u32,
    /// `Switch_Latency_ns`: latency of a packet in the switch before it may join a queue. Default: 0.
    pub switch_latency_ns: u32,
    /// `Radix_Down`: links down of each switch.
    pub radix_down: u32,
    /// `Radix_Up`: links up of each switch; 0 where it is not given.
    pub radix_up: u32,
    /// `Bundle`: parallel links between a switch and each one below it. Default: 1.
    pub bundle: u32,
    /// `Oversubscribed`: the ratio of capacity from below to capacity upwards; 0 if not given.
    pub oversubscribed: u32,
    /// `Queue_Down`, in bytes.
    pub queue_down: Option<u64>,
    /// `Queue_Up`, in bytes.
    pub queue_up: Option<u64>,
}

/// Numbers of pods and nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Pods.
    pub pods: u32,
    /// ToRs of a pod.
    pub tors: u32,
    /// Hosts of a ToR.
    pub hosts: u32,
    /// Aggregation switches of a pod.
    pub aggs: u32,
    /// Cores; none of two tiers.
    pub cores: u32,
}

/// A node of the tree, numbered within its tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host.
    Host(u32),
    /// A ToR.
    Tor(u32),
    /// An aggregation switch.
    Agg(u32),
    /// A core.
    Core(u32),
}

/// One bidirectional link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its lower end, then its upper one.
    pub between: [Node; 2],
    /// Index among the parallel links of the two nodes.
    pub of_bundle: u32,
}

impl Topo {
    /// Reads a tree; `file` is the name in errors.
    ///
    /// # Errors
    /// The line and a correction.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Error> {
        let error = |line: u32, what: String| Error { file: file.to_string(), line, what };
        let mut reader = Reader::default();
        let mut last = 0;
        for (line, words) in lines(bytes, file)? {
            reader.line(line, &words).map_err(|what| error(line, what))?;
            last = line;
        }
        reader.finish().map_err(|(line, what)| error(line.unwrap_or(last), what))
    }

    /// The tree that htsim's programs use for a number of nodes: a k-ary fat tree of three tiers, 100 Gb/s and 1 us per
    /// link. `None` if no even k has k^3/4 hosts.
    pub fn of_nodes(nodes: u32) -> Option<Self> {
        // 2047^3/4 exceeds 31 bits.
        let k = (2..2047u32).step_by(2).find(|k| u64::from(*k).pow(3) / 4 >= nodes.into())?;
        if u64::from(k).pow(3) / 4 != u64::from(nodes) {
            return None;
        }
        let tier = |radix_down, radix_up| Tier {
            speed_gbps: 100,
            latency_ns: 1000,
            radix_down,
            radix_up,
            bundle: 1,
            ..Tier::default()
        };
        let tiers = vec![tier(k / 2, k / 2), tier(k / 2, k / 2), tier(k, 0)];
        Some(Self { nodes, pod: k * k / 4, tiers })
    }

    /// Numbers of pods and nodes.
    pub fn counts(&self) -> Counts {
        let [tor, agg, ..] = self.tiers[..] else { unreachable!("a tree has two tiers or three") };
        let aggs = tor.radix_up / agg.bundle;
        // Every aggregation switch of a pod has its own cores, the same in all pods.
        let cores = self.tiers.get(2).map_or(0, |core| aggs * (agg.radix_up / core.bundle));
        Counts { pods: self.nodes / self.pod, tors: self.pod / tor.radix_down, hosts: tor.radix_down, aggs, cores }
    }

    /// Number of links.
    pub fn link_count(&self) -> u64 {
        let Counts { pods, tors, aggs, .. } = self.counts();
        let tors = u64::from(pods) * u64::from(tors) * u64::from(self.tiers[0].radix_up);
        let aggs = u64::from(pods) * u64::from(aggs) * u64::from(self.tiers[1].radix_up);
        u64::from(self.nodes) + tors + if self.tiers.len() > 2 { aggs } else { 0 }
    }

    /// All links from the hosts up, connected and numbered as in htsim: the hosts of a ToR and the switches of a pod
    /// have consecutive numbers, and the j-th aggregation switch of a pod is connected to cores j, j + aggs, j + 2
    /// aggs, ...
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        let Counts { pods, tors, hosts, aggs, cores } = self.counts();
        let bundle = |tier: usize| self.tiers.get(tier).map_or(0, |tier| tier.bundle);
        let bundled = move |between: [Node; 2], of: u32| (0..of).map(move |of_bundle| Link { between, of_bundle });
        let host_links =
            (0..self.nodes).map(move |h| Link { between: [Node::Host(h), Node::Tor(h / hosts)], of_bundle: 0 });
        let tor_links = (0..pods * tors).flat_map(move |tor| {
            let first = tor / tors * aggs;
            (first..first + aggs).flat_map(move |agg| bundled([Node::Tor(tor), Node::Agg(agg)], bundle(1)))
        });
        let agg_links = (0..pods * aggs).flat_map(move |agg| {
            let cores = (agg % aggs..cores).step_by(aggs as usize);
            cores.flat_map(move |core| bundled([Node::Agg(agg), Node::Core(core)], bundle(2)))
        });
        host_links.chain(tor_links).chain(agg_links)
    }
}

#[derive(Default)]
struct Reader {
    nodes: Option<u32>,
    pod: Option<u32>,
    count: Option<u32>,
    tiers: [Option<Tier>; 3],
    /// The current tier, and its keys so far.
    current: usize,
    seen: Vec<String>,
}

const KEYS: [&str; 9] = [
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "switch_latency_ns",
    "radix_down",
    "radix_up",
    "bundle",
    "oversubscribed",
    "queue_down",
    "queue_up",
];
/// Longest delay: Fanin's links are at most a second long.
const LONGEST_NS: u32 = 100_000_000;
/// Fastest link: well above any existing one.
const FASTEST_GBPS: u32 = 10_000;

impl Reader {
    fn line(&mut self, line: u32, words: &[&str]) -> Result<(), Wrong> {
        // htsim ignores letter case as well.
        let key = words[0].to_ascii_lowercase();
        match key.as_str() {
            "tier" => {
                let tier = only(words, 0, 2)?;
                self.current = tier as usize;
                self.seen.clear();
                if self.tiers[self.current].is_some() {
                    return Err(format!("tier {tier} is listed twice; leave one out"));
                }
                self.tiers[self.current] = Some(Tier { line, bundle: 1, ..Tier::default() });
            }
            "nodes" | "tiers" | "podsize" => {
                if self.tiers.iter().any(Option::is_some) {
                    return Err(format!("{} comes after a tier; write it at the top", words[0]));
                }
                let (slot, min, max) = match key.as_str() {
                    "nodes" => (&mut self.nodes, 2, MOST),
                    "tiers" => (&mut self.count, 2, 3),
                    _ => (&mut self.pod, 1, MOST),
                };
                let value = only(words, min, max)?;
                if slot.replace(value).is_some() {
                    return Err(format!("{} is listed twice; leave one out", words[0]));
                }
            }
            key => self.tier(key, words)?,
        }
        Ok(())
    }

    fn tier(&mut self, key: &str, words: &[&str]) -> Result<(), Wrong> {
        if !KEYS.contains(&key) {
            let right = format!("known: Nodes, Tiers, Podsize, Tier and, of a tier, {}", KEYS.join(", "));
            return Err(format!("{} is not known; {right}", quote(words[0])));
        }
        let Some(tier) = &mut self.tiers[self.current] else {
            return Err(format!("{} belongs to a tier; write \"Tier 0\" above it", words[0]));
        };
        if self.seen.iter().any(|seen| seen == key) {
            return Err(format!("{} is listed twice in this tier; leave one out", words[0]));
        }
        self.seen.push(key.to_string());
        if self.current == 2 && matches!(key, "radix_up" | "queue_up") {
            return Err(format!("there is no tier above tier 2; leave {} out", words[0]));
        }
        if words.len() > 2 {
            return only(words, 0, MOST).map(|_| ());
        }
        let value = |min, max| number32(words[0], words.get(1), min, max);
        match key {
            "downlink_speed_gbps" => tier.speed_gbps = value(1, FASTEST_GBPS)?,
            "downlink_latency_ns" => tier.latency_ns = value(1, LONGEST_NS)?,
            "switch_latency_ns" => tier.switch_latency_ns = value(0, LONGEST_NS)?,
            "radix_down" => tier.radix_down = value(1, MOST)?,
            "radix_up" => tier.radix_up = value(1, MOST)?,
            "bundle" => tier.bundle = value(1, MOST)?,
            "oversubscribed" => tier.oversubscribed = value(1, MOST)?,
            "queue_down" => tier.queue_down = Some(number(words[0], words.get(1), 1, MOST.into())?),
            _ => tier.queue_up = Some(number(words[0], words.get(1), 1, MOST.into())?),
        }
        Ok(())
    }

    fn finish(self) -> Result<Topo, (Option<u32>, Wrong)> {
        let need = |name: &str, value: Option<u32>| {
            value.ok_or_else(|| (None, format!("{name} is missing; write it at the top")))
        };
        let nodes = need("Nodes", self.nodes)?;
        let count = need("Tiers", self.count)? as usize;
        let pod = need("Podsize", self.pod)?;
        if let Some(tier) = self.tiers[count..].iter().flatten().next() {
            return Err((
                Some(tier.line),
                format!("there are {count} tiers, from 0 on; raise Tiers, or leave this out"),
            ));
        }
        let mut tiers = Vec::with_capacity(count);
        for (number, tier) in self.tiers[..count].iter().enumerate() {
            let tier =
                tier.ok_or_else(|| (None, format!("Tier {number} is missing; describe each of the {count} tiers")))?;
            let mut needed = vec![
                ("Downlink_speed_Gbps", tier.speed_gbps),
                ("Downlink_Latency_ns", tier.latency_ns),
                ("Radix_Down", tier.radix_down),
            ];
            if number + 1 < count {
                needed.push(("Radix_Up", tier.radix_up));
            }
            if let Some((name, _)) = needed.iter().find(|(_, value)| *value == 0) {
                return Err((Some(tier.line), format!("tier {number} has no {name}; add it")));
            }
            tiers.push(tier);
        }
        let topo = Topo { nodes, pod, tiers };
        topo.check().map_err(|(tier, what)| (Some(topo.tiers[tier].line), what))?;
        Ok(topo)
    }
}

impl Topo {
    /// Whether the counts are consistent; otherwise the inconsistent tier and the reason.
    fn check(&self) -> Result<(), (usize, Wrong)> {
        let Self { nodes, pod, tiers } = self;
        if nodes % pod != 0 {
            return Err((0, format!("Podsize {pod} does not divide Nodes {nodes}; make all pods equal")));
        }
        if tiers.len() == 2 && pod != nodes {
            return Err((0, format!("two tiers are one pod; write Podsize {nodes}")));
        }
        if tiers[0].bundle != 1 {
            return Err((0, "a host has one link; leave Bundle of tier 0 out".into()));
        }
        if pod % tiers[0].radix_down != 0 {
            let what =
                format!("Radix_Down {} does not divide Podsize {pod}; make all racks equal", tiers[0].radix_down);
            return Err((0, what));
        }
        for (number, pair) in tiers.windows(2).enumerate() {
            let (below, above) = (&pair[0], &pair[1]);
            if below.radix_up % above.bundle != 0 {
                let what =
                    format!("its bundles of {} do not divide the Radix_Up {} below", above.bundle, below.radix_up);
                return Err((number + 1, what + "; a switch below has whole bundles only"));
            }
            // Products of 31-bit numbers: compared as 64-bit ones.
            let joined = if number == 0 { pod / tiers[0].radix_down } else { nodes / pod };
            if u64::from(above.radix_down) != u64::from(joined) * u64::from(above.bundle) {
                let what =
                    format!("each of its switches has {joined} switches below it, {} links to each", above.bundle);
                return Err((
                    number + 1,
                    format!(
                        "{what}: Radix_Down is {}, not {}",
                        u64::from(joined) * u64::from(above.bundle),
                        above.radix_down
                    ),
                ));
            }
            // Oversubscribed says again what the radixes say: by ports, or by what these carry.
            let said = u64::from(below.oversubscribed);
            let (down, up) = (u64::from(below.radix_down), u64::from(below.radix_up));
            let carries = |radix: u64, speed: u32| radix * u64::from(speed);
            let by_rate = carries(down, below.speed_gbps) == said * carries(up, above.speed_gbps);
            if said > 0 && !by_rate && down / up != said {
                let what = format!(
                    "{down} links of {} Gb/s down and {up} of {} Gb/s up are not",
                    below.speed_gbps, above.speed_gbps
                );
                return Err((number, format!("{what} Oversubscribed {said}; leave it out, or correct the radixes")));
            }
        }
        let [aggs, cores] = [(0, 1), (1, 2)].map(|(low, high)| {
            let up = u64::from(tiers[low].radix_up);
            tiers.get(high).map_or(0, |tier| up / u64::from(tier.bundle))
        });
        let pods = u64::from(nodes / pod);
        if pods.saturating_mul(aggs) > u64::from(MOST) || aggs.saturating_mul(cores) > u64::from(MOST) {
            return Err((0, "its switches are beyond counting; make it smaller".into()));
        }
        Ok(())
    }
}

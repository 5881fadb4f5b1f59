//! Fat trees of two or three tiers: their shape, and their links.
//!
//! Source: uet-htsim's fat tree topology.

use crate::error::{Error, Place, error};
use crate::matrix::MOST_NODES;
use crate::options::Options;

/// What a tier's links downwards and its switches are like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tier {
    pub(crate) speed_gbps: u64,
    radix_down: u32,
    radix_up: u32,
    pub(crate) latency: u64,
    switch_latency: u64,
    oversubscribed: u32,
    bundle: u32,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host.
    Host(u32),
    /// A switch of the lowest tier.
    Tor(u32),
    /// A switch of the second tier.
    Aggregation(u32),
    /// A switch of the third tier.
    Core(u32),
}

/// A link in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// Where it begins.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
    /// Its number among those of the same ends.
    pub bundle: u32,
    /// Its latency in picoseconds.
    pub latency: u64,
    /// Its rate in bits per second.
    pub rate: u64,
}

/// The shape of a network.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of pods.
    pub pods: u32,
    /// Two or three.
    pub tiers: u32,
    /// Hosts of a pod.
    pub pod_hosts: u32,
    /// Switches of the lowest tier in each pod.
    pub pod_tors: u32,
    /// Switches of the second tier in each pod.
    pub pod_aggregations: u32,
    /// Switches of the third tier.
    pub cores: u32,
    /// Core switches that each switch of the second tier has links to.
    pub cores_each: u32,
    /// The product of all tiers' oversubscription.
    pub oversubscription: f64,
    tier: [Tier; 3],
}

fn misfit<T>(what: impl Into<String>) -> Result<T, Error> {
    error(Place::Topology(0), what)
}

/// The most links in one direction.
const MOST_LINKS: u64 = 1 << 21;
/// The most links of a switch to cores: lists of ways have numbers of 16 bits.
const MOST_UP: u32 = u16::MAX as u32;

impl Topology {
    /// The fat tree of so many hosts.
    pub fn fat_tree(hosts: u32, options: &Options) -> Result<Self, Error> {
        let (tiers, part) = if options.tiers == 2 { (2, 2) } else { (3, 4) };
        let Some(k) = (2..=400u32).step_by(2).find(|k| u64::from(*k).pow(tiers) / part == u64::from(hosts)) else {
            return error(
                Place::Matrix(0),
                format!(
                    "no fat tree of {tiers} tiers has the {hosts} hosts of Nodes; K^{tiers}/{part} with an even K are \
                     possible, like {}, or give a topology",
                    if tiers == 2 { "8, 32 or 128" } else { "16, 128 or 1024" }
                ),
            );
        };
        let us = |us: f64| (us * 1e6) as u64;
        let tier = Tier {
            speed_gbps: 0,
            radix_down: k / 2,
            radix_up: k / 2,
            latency: us(options.hop_latency),
            switch_latency: us(options.switch_latency),
            oversubscribed: 1,
            bundle: 1,
        };
        let pods = if tiers == 2 { 1 } else { k };
        Ok(Self {
            hosts,
            pods,
            tiers,
            pod_hosts: hosts / pods,
            pod_tors: hosts / pods / (k / 2),
            pod_aggregations: k / 2,
            cores: if tiers == 2 { 0 } else { k * k / 4 },
            cores_each: if tiers == 2 { 0 } else { k / 2 },
            oversubscription: 1.0,
            tier: [tier; 3],
        })
    }

    /// Reads a topology.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (mut hosts, mut tiers, mut pod_hosts) = (0u32, 0u32, 0u32);
        let mut tier = [Tier { oversubscribed: 1, bundle: 1, ..Tier::default() }; 3];
        let mut current = None;
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let Some(key) = words.next().filter(|key| !key.starts_with('#')) else { continue };
            let place = Place::Topology(at as u32 + 1);
            let value = words.next().unwrap_or("nothing");
            let needs = || Error { place, what: format!("{key} has {value}; it needs a whole number below 2^32") };
            let value: u32 = value.parse().map_err(|_| needs())?;
            match (key.to_ascii_lowercase().as_str(), current) {
                ("nodes", None) => hosts = value,
                ("tiers", None) => tiers = value,
                ("podsize", None) => pod_hosts = value,
                ("tier", _) if value < 3 => current = Some(value as usize),
                ("downlink_speed_gbps", Some(t)) => tier[t].speed_gbps = u64::from(value),
                ("radix_down", Some(t)) => tier[t].radix_down = value,
                ("radix_up", Some(t)) => tier[t].radix_up = value,
                ("downlink_latency_ns", Some(t)) => tier[t].latency = u64::from(value) * 1000,
                ("switch_latency_ns", Some(t)) => tier[t].switch_latency = u64::from(value) * 1000,
                ("oversubscribed", Some(t)) => tier[t].oversubscribed = value,
                ("bundle", Some(t)) => tier[t].bundle = value,
                ("queue_up" | "queue_down", Some(_)) => {}
                _ => {
                    return error(
                        place,
                        format!(
                            "{key} {value} may not be here; Nodes, Tiers and Podsize come first, then Tier 0 to 2 each \
                             with Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, \
                             Oversubscribed, Bundle, Queue_Up, Queue_Down"
                        ),
                    );
                }
            }
        }
        Self::shape(hosts, tiers, pod_hosts, tier)
    }

    fn shape(hosts: u32, tiers: u32, pod_hosts: u32, tier: [Tier; 3]) -> Result<Self, Error> {
        if !(2..=3).contains(&tiers) || !(2..=MOST_NODES).contains(&hosts) {
            return misfit(format!(
                "Tiers {tiers} and Nodes {hosts} cannot be; Tiers is 2 or 3, and Nodes from 2 to {MOST_NODES}"
            ));
        }
        for (at, t) in tier.iter().take(tiers as usize).enumerate() {
            if t.speed_gbps == 0 || t.speed_gbps > 8000 || t.oversubscribed == 0 || t.bundle == 0 || t.bundle > 1024 {
                return misfit(format!(
                    "tier {at} is not whole; it needs Downlink_speed_Gbps from 1 to 8000, Oversubscribed from 1 and \
                     Bundle from 1 to 1024"
                ));
            }
            if t.radix_down == 0 || (at + 1 < tiers as usize && t.radix_up == 0) {
                return misfit(format!("tier {at} is not whole; it needs Radix_Down and, below the highest, Radix_Up"));
            }
        }
        let [t0, t1, t2] = tier;
        let divides = |whole: u64, part: u64, what: &str| match whole.checked_rem(part) {
            Some(0) if whole > 0 => Ok((whole / part) as u32),
            _ => misfit(format!("{whole} by {part} does not fit; {what}")),
        };
        let pods = divides(u64::from(hosts), u64::from(pod_hosts), "Nodes must be a multiple of Podsize")?;
        let pod_tors =
            divides(u64::from(pod_hosts), u64::from(t0.radix_down), "Podsize must be a multiple of Radix_Down")?;
        let uplinks = u64::from(hosts) * t0.speed_gbps / (t1.speed_gbps * u64::from(t0.oversubscribed));
        let pod_aggregations = divides(
            uplinks,
            u64::from(pods) * u64::from(t1.radix_down),
            "uplinks must be a multiple of pods times Radix_Down of tier 1",
        )?;
        if u64::from(pod_aggregations) * u64::from(t1.bundle) != u64::from(t0.radix_up)
            || u64::from(pod_tors) * u64::from(t1.bundle) != u64::from(t1.radix_down)
        {
            return misfit("links between tier 0 and 1 do not fit; both sides must have as many");
        }
        let mut oversubscription = f64::from(t0.oversubscribed);
        let (mut cores, mut cores_each) = (0, 0);
        if tiers == 3 {
            oversubscription *= f64::from(t1.oversubscribed);
            let up = uplinks * t1.speed_gbps / (t2.speed_gbps * u64::from(t1.oversubscribed));
            cores = divides(up, u64::from(t2.radix_down), "links to the cores must be a multiple of their Radix_Down")?;
            cores_each =
                divides(u64::from(t1.radix_up), u64::from(t2.bundle), "Radix_Up must be a multiple of Bundle")?;
            if u64::from(cores_each) * u64::from(pod_aggregations) != u64::from(cores) {
                return misfit("links to the cores do not fit; each pod must reach all cores");
            }
        } else if pods != 1 {
            return misfit("a topology of two tiers has one pod; Podsize must be Nodes");
        }
        let topology = Self {
            hosts,
            pods,
            tiers,
            pod_hosts,
            pod_tors,
            pod_aggregations,
            cores,
            cores_each,
            oversubscription,
            tier,
        };
        if topology.links() > MOST_LINKS {
            return misfit(format!("it has more than {MOST_LINKS} links; make it smaller"));
        }
        if topology.upper_links() > MOST_UP {
            let links = topology.upper_links();
            return misfit(format!("a switch of tier 1 has {links} links to cores; at most {MOST_UP} are possible"));
        }
        Ok(topology)
    }

    /// Number of links, each direction for itself.
    pub fn links(&self) -> u64 {
        let lower = u64::from(self.pods * self.pod_tors) * u64::from(self.pod_aggregations * self.tier[1].bundle);
        let upper = u64::from(self.aggregations()) * u64::from(self.cores_each) * u64::from(self.tier[2].bundle);
        2 * (u64::from(self.hosts) + lower + upper)
    }

    /// Links of a packet's longest way.
    pub fn diameter(&self) -> u32 {
        2 * self.tiers
    }

    /// Latency of the longest way.
    pub fn latency(&self) -> u64 {
        let [t0, t1, t2] = self.tier;
        let two = 2 * (t0.latency + t1.latency) + 2 * t0.switch_latency + t1.switch_latency;
        if self.tiers == 2 { two } else { two + 2 * t2.latency + t1.switch_latency + t2.switch_latency }
    }

    /// Latency of the way between two hosts.
    pub fn pair_latency(&self, from: u32, to: u32) -> u64 {
        let [t0, t1, _] = self.tier;
        if self.tor_of(from) == self.tor_of(to) {
            2 * t0.latency + t0.switch_latency
        } else if self.pod_of(from) == self.pod_of(to) {
            2 * (t0.latency + t1.latency) + 2 * t0.switch_latency + t1.switch_latency
        } else {
            self.latency()
        }
    }

    /// The links of the way between two hosts: the tier of each, and the latency of the switch behind it.
    pub fn way(&self, from: u32, to: u32) -> Vec<(Tier, u64)> {
        let [t0, t1, t2] = self.tier;
        let switch = |tier: Tier| tier.switch_latency;
        if self.tor_of(from) == self.tor_of(to) {
            vec![(t0, switch(t0)), (t0, 0)]
        } else if self.pod_of(from) == self.pod_of(to) {
            vec![(t0, switch(t0)), (t1, switch(t1)), (t1, switch(t0)), (t0, 0)]
        } else {
            let up = [(t0, switch(t0)), (t1, switch(t1)), (t2, switch(t2))];
            let down = [(t2, switch(t1)), (t1, switch(t0)), (t0, 0)];
            up.into_iter().chain(down).collect()
        }
    }

    /// The switch of a host.
    pub fn tor_of(&self, host: u32) -> u32 {
        host / (self.pod_hosts / self.pod_tors)
    }

    /// The pod of a host.
    pub fn pod_of(&self, host: u32) -> u32 {
        host / self.pod_hosts
    }

    /// Switches of the lowest tier.
    pub fn tors(&self) -> u32 {
        self.pods * self.pod_tors
    }

    /// Switches of the second tier.
    pub fn aggregations(&self) -> u32 {
        self.pods * self.pod_aggregations
    }

    /// Latencies of all switches, in their order: lowest tier first.
    pub fn switch_latencies(&self) -> Vec<u64> {
        let counts = [self.tors(), self.aggregations(), self.cores];
        let each = |(count, tier): (u32, &Tier)| std::iter::repeat_n(tier.switch_latency, count as usize);
        counts.into_iter().zip(&self.tier).flat_map(each).collect()
    }

    /// All links. `rate` is that of NICs, and of all links if the file has none.
    pub fn cables(&self, rate: u64) -> Vec<Cable> {
        let mut cables = Vec::with_capacity(self.links() as usize);
        let mut add = |from, to, tier: &Tier, bundle, own: bool| {
            let rate = if own || tier.speed_gbps == 0 { rate } else { tier.speed_gbps * 1_000_000_000 };
            cables.push(Cable { from, to, bundle, latency: tier.latency, rate });
        };
        let [t0, t1, t2] = &self.tier;
        for h in 0..self.hosts {
            add(Node::Host(h), Node::Tor(self.tor_of(h)), t0, 0, true);
        }
        for h in 0..self.hosts {
            add(Node::Tor(self.tor_of(h)), Node::Host(h), t0, 0, false);
        }
        for tor in 0..self.tors() {
            for a in 0..self.pod_aggregations {
                for b in 0..t1.bundle {
                    let a = tor / self.pod_tors * self.pod_aggregations + a;
                    add(Node::Tor(tor), Node::Aggregation(a), t1, b, false);
                }
            }
        }
        for a in 0..self.aggregations() {
            for t in 0..self.pod_tors {
                for b in 0..t1.bundle {
                    let tor = a / self.pod_aggregations * self.pod_tors + t;
                    add(Node::Aggregation(a), Node::Tor(tor), t1, b, false);
                }
            }
        }
        for a in 0..self.aggregations() {
            for l in 0..self.cores_each {
                for b in 0..t2.bundle {
                    let core = l * self.pod_aggregations + a % self.pod_aggregations;
                    add(Node::Aggregation(a), Node::Core(core), t2, b, false);
                }
            }
        }
        for core in 0..self.cores {
            for pod in 0..self.pods {
                for b in 0..t2.bundle {
                    let a = pod * self.pod_aggregations + core % self.pod_aggregations;
                    add(Node::Core(core), Node::Aggregation(a), t2, b, false);
                }
            }
        }
        cables
    }

    /// Links between a core and each switch of the second tier.
    pub fn core_bundle(&self) -> u32 {
        self.tier[2].bundle
    }

    fn after_hosts(&self) -> u32 {
        2 * self.hosts
    }

    fn tor_links(&self) -> u32 {
        self.pod_aggregations * self.tier[1].bundle
    }

    /// Links between a switch of the lowest tier and one of the second.
    pub fn rack_bundle(&self) -> u32 {
        self.tier[1].bundle
    }

    fn lower_links(&self) -> u32 {
        self.tors() * self.tor_links()
    }

    fn upper_links(&self) -> u32 {
        self.cores_each * self.tier[2].bundle
    }

    /// The link of a switch down to a host.
    pub fn to_host(&self, host: u32) -> u32 {
        self.hosts + host
    }

    /// The links of a switch of the lowest tier upwards: the first, and how many.
    pub fn up_from_tor(&self, tor: u32) -> (u32, u32) {
        (self.after_hosts() + tor * self.tor_links(), self.tor_links())
    }

    /// The links of a switch of the second tier to the host's switch.
    pub fn down_from_aggregation(&self, aggregation: u32, host: u32) -> (u32, u32) {
        let bundle = self.tier[1].bundle;
        let tor = self.tor_of(host) % self.pod_tors;
        (self.after_hosts() + self.lower_links() + (aggregation * self.pod_tors + tor) * bundle, bundle)
    }

    /// The links of a switch of the second tier to the cores.
    pub fn up_from_aggregation(&self, aggregation: u32) -> (u32, u32) {
        let first = self.after_hosts() + 2 * self.lower_links();
        (first + aggregation * self.upper_links(), self.upper_links())
    }

    /// The links between a switch of the second tier and a core, upwards and downwards, if they have some: the first
    /// of each bundle.
    pub fn between(&self, aggregation: u32, core: u32) -> Option<[u32; 2]> {
        let (each, bundle) = (self.pod_aggregations, self.core_bundle());
        let linked = aggregation < self.aggregations() && core < self.cores && core % each == aggregation % each;
        let up = || self.up_from_aggregation(aggregation).0 + core / each * bundle;
        linked.then(|| [up(), self.down_from_core(core, aggregation / each).0])
    }

    /// The core that a link upwards leads to.
    pub fn core_of(&self, aggregation: u32, link: u32) -> u32 {
        let place = (link - self.up_from_aggregation(aggregation).0) / self.core_bundle();
        place * self.pod_aggregations + aggregation % self.pod_aggregations
    }

    /// The links of a switch of the second tier upwards that lead to a pod, if some have failed.
    pub fn ways_up(&self, aggregation: u32, pod: u32, failed: &[u32]) -> Vec<u32> {
        let (first, count) = self.up_from_aggregation(aggregation);
        let leads = |link: u32| self.ways_down(self.core_of(aggregation, link), pod, failed).1 > 0;
        let usable = |link: &u32| failed.is_empty() || !failed.contains(link) && leads(*link);
        (first..first + count).filter(usable).collect()
    }

    /// The links of a core to a pod: the first, and how many. Of a bundle, only the first one can fail.
    pub fn ways_down(&self, core: u32, pod: u32, failed: &[u32]) -> (u32, u32) {
        let (first, count) = self.down_from_core(core, pod);
        if failed.contains(&first) { (first + 1, count - 1) } else { (first, count) }
    }

    /// The links of a core switch to a pod.
    fn down_from_core(&self, core: u32, pod: u32) -> (u32, u32) {
        let bundle = self.tier[2].bundle;
        let first = self.after_hosts() + 2 * self.lower_links() + self.aggregations() * self.upper_links();
        (first + (core * self.pods + pod) * bundle, bundle)
    }
}

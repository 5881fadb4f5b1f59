//! What fits into the buffers of a spec's network: headroom, credits, and thresholds of marking.

use super::checker::Checker;
use super::document::Network;
use fanin_fabric::credits::{BLOCK, buffer_for};
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::topology::{Graph, Link};
use fanin_fabric::{BufferPolicy, ClassConfig, pfc};
use fanin_units::{Bytes, NodeId, Rate, Time};
use std::collections::HashMap;

/// Most rates with their own marking per class; all classes together stay below the number that a port can distinguish.
const MAX_RATES: usize = 16;
/// Most bytes that credits can tell to be free: 2048 blocks.
const MOST_CREDITS: u64 = 2048 * BLOCK;
/// Shortest sampling interval of a controller: about the interval of packets of 64 B at 400 Gb/s.
const SHORTEST_SAMPLE: Time = Time::from_ns(1);

/// Capacities of the buffers of a network.
pub struct Room<'a> {
    pub graph: &'a Graph,
    pub wire: u64,
    pub pause: u64,
    /// How late ports obey pauses.
    pub response: Time,
    pub buffer: BufferPolicy,
    pub plan: Plan,
}

impl Room<'_> {
    /// Whether lossless ingress ports have some buffer besides their headroom.
    pub fn check_headroom(&self, classes: &[ClassConfig], checker: &mut Checker<'_>) {
        let lossless = classes.iter().filter(|class| class.lossless).count() as u64;
        let pfc = match self.buffer {
            BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } if lossless > 0 => pfc,
            _ => return,
        };
        let mut worst = (0, 0);
        let mut of_node = vec![0u128; self.graph.names.len()];
        // There are many links, but few kinds.
        let mut kind = (Rate::ZERO, Time::NEVER, 0);
        for (i, link) in self.graph.links.iter().enumerate() {
            if (kind.0, kind.1) != (link.rate, link.delay) {
                kind = (
                    link.rate,
                    link.delay,
                    pfc::headroom(link.rate, (link.delay, self.response), self.wire, self.pause),
                );
            }
            let needed = pfc.headroom.unwrap_or(kind.2);
            worst = worst.max((needed, i));
            for end in [link.a, link.b] {
                of_node[end.ix()] += u128::from(needed);
            }
        }
        let right = "give more buffer, a smaller headroom, shorter or slower links, or policy = \"lossy\"";
        let own = |i: usize| format!("network.classes[{i}].share");
        let mut common_done = false;
        for (i, class) in classes.iter().enumerate().filter(|(_, class)| class.lossless) {
            // Classes without a share have the same limits, so the first represents all.
            if class.share.is_none() && std::mem::replace(&mut common_done, true) {
                continue;
            }
            match self.plan.limits[i + 1] {
                Limit::Port { bytes, .. } if worst.0 >= bytes => {
                    let common = classes.iter().filter(|class| class.lossless && class.share.is_none()).count();
                    let (path, whom) = match class.share {
                        Some(_) => (own(i), format!("class \"{}\"", class.name)),
                        None => ("network.buffer.per_port".to_string(), format!("each of {common} lossless classes")),
                    };
                    let (from, to) = self.ends(worst.1);
                    let problem = format!(
                        "an ingress port has {} for {whom}, but the link between \"{from}\" and \"{to}\" needs {} of \
                         headroom alone",
                        Bytes(bytes),
                        Bytes(worst.0)
                    );
                    checker.fail(&path, problem, right);
                }
                Limit::Pool { pool, .. } => {
                    let (bytes, lossless) = self.plan.pools[pool];
                    let switches = (0..).map(NodeId).zip(&of_node).filter(|(node, _)| !self.graph.is_host(*node));
                    let all = switches.map(|(node, needed)| (needed * u128::from(lossless.count_ones()), node)).max();
                    if let Some((needed, node)) = all
                        && needed >= u128::from(bytes)
                    {
                        let name = &self.graph.names[node.ix()];
                        let problem = format!("the lossless ingresses of \"{name}\" need {needed} B of headroom alone");
                        let path = if class.share.is_some() { own(i) } else { "network.buffer.pool".to_string() };
                        checker.fail(&path, problem, right);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether credits are the flow control of all classes, and enough for each link.
    pub fn check_credits(&self, network: &Network, checker: &mut Checker<'_>) {
        let BufferPolicy::Credits { bytes } = self.buffer else { return };
        for (i, class) in network.classes.iter().flatten().enumerate() {
            if class.lossless == Some(false) {
                let problem =
                    "with credits a packet is sent only where it fits, so no class loses any for lack of buffer";
                let right = "leave it out, or use per_port or pool";
                checker.fail(&format!("network.classes[{i}].lossless"), problem, right);
            }
        }
        let lanes = network.classes.iter().flatten().count() as u64;
        let needed = |link: &Link| buffer_for(link.rate, link.delay, self.wire, lanes);
        let Some((needed, link)) = self.graph.links.iter().map(needed).zip(0..).max() else { return };
        let most = bytes.unwrap_or(needed).min(MOST_CREDITS);
        if needed > most {
            let (from, to) = self.ends(link);
            let why =
                if bytes.is_none_or(|bytes| bytes > most) { "more than credits can tell" } else { "more than it has" };
            checker.warnings.push(format!(
                "network.buffer.credits: the link between \"{from}\" and \"{to}\" needs {} to carry full packets at \
                 its rate, {why}; it will be idle at times",
                Bytes(needed),
            ));
        }
    }

    fn ends(&self, link: usize) -> (&str, &str) {
        let link = &self.graph.links[link];
        (&self.graph.names[link.a.ix()], &self.graph.names[link.b.ix()])
    }

    /// Most bytes that a queue of a class can hold.
    fn most_queued(&self, number: usize, class: &ClassConfig) -> u64 {
        match self.plan.limits[number + 1] {
            Limit::Port { bytes, .. } if !class.lossless => bytes,
            // The ingress ports are limited, not the egress: it may hold the bytes of all of them.
            Limit::Port { bytes, .. } => {
                let mut ports: HashMap<NodeId, u64> = HashMap::new();
                for end in self.graph.links.iter().flat_map(|link| [link.a, link.b]) {
                    *ports.entry(end).or_default() += 1;
                }
                let most = ports.into_iter().filter(|(node, _)| !self.graph.is_host(*node)).map(|(_, n)| n).max();
                bytes.saturating_mul(most.unwrap_or(0))
            }
            // A single queue settles at q = alpha (pool - q).
            Limit::Pool { pool, alpha } if !class.lossless => {
                (self.plan.pools[pool].0 as f64 * alpha / (1.0 + alpha)) as u64
            }
            Limit::Pool { pool, .. } => self.plan.pools[pool].0,
            Limit::None | Limit::Credits => u64::MAX,
        }
    }

    /// Whether the thresholds of all classes are possible. `inherits` says which ones have the network's marking.
    pub fn check_markings(
        &self,
        network: &Network,
        classes: &[ClassConfig],
        inherits: &[bool],
        checker: &mut Checker<'_>,
    ) {
        for (i, (class, inherits)) in classes.iter().zip(inherits).enumerate() {
            let of = if *inherits { "network".to_string() } else { format!("network.classes[{i}]") };
            self.check_marking(i, class, &class.marking, &format!("{of}.marking"), checker);
            // A class may have its own list together with the network's marking.
            let listed = network.classes.iter().flatten().nth(i).map(|class| &class.marking_by_rate);
            let of = if listed == Some(&network.marking_by_rate) { of } else { format!("network.classes[{i}]") };
            for (j, (rate, marking)) in class.marking_by_rate.iter().enumerate() {
                let path = format!("{of}.marking_by_rate[{j}]");
                self.check_rate(*rate, &class.marking_by_rate[..j], &path, checker);
                self.check_marking(i, class, marking, &format!("{path}.marking"), checker);
            }
        }
    }

    /// Whether a rate with its own marking occurs in the network, and only once in the list.
    fn check_rate(&self, rate: Rate, before: &[(Rate, fanin_fabric::Marking)], path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.rate");
        let mut rates: Vec<Rate> = self.graph.links.iter().map(|link| link.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        if !rates.contains(&rate) {
            let known: Vec<String> = rates.iter().take(10).map(Rate::to_string).collect();
            checker.fail(&path, format!("no link has the rate {rate}"), format!("the rates are {}", known.join(", ")));
        } else if before.iter().any(|(other, _)| *other == rate) {
            checker.fail(&path, format!("{rate} is listed twice"), "give each rate one marking");
        } else if before.len() >= MAX_RATES {
            checker.fail(&path, "the list is too long", format!("it has at most {MAX_RATES} rates"));
        }
    }

    fn check_marking(
        &self,
        number: usize,
        class: &ClassConfig,
        marking: &fanin_fabric::Marking,
        path: &str,
        checker: &mut Checker<'_>,
    ) {
        let most = self.most_queued(number, class);
        let never = |bytes: u64| {
            format!(
                "no queue of class \"{}\" holds more than {}: a threshold of {} never marks",
                class.name,
                Bytes(most),
                Bytes(bytes)
            )
        };
        match *marking {
            fanin_fabric::Marking::Off => {}
            fanin_fabric::Marking::Step { above, .. } => {
                if above >= most {
                    checker.fail(&format!("{path}.above"), never(above), "lower the threshold, or give more buffer");
                }
            }
            fanin_fabric::Marking::Red { min, max, max_probability, .. } => {
                if min > max {
                    let problem = format!("{} is above max = {}", Bytes(min), Bytes(max));
                    checker.fail(&format!("{path}.min"), problem, "swap them");
                } else if min >= most {
                    checker.fail(&format!("{path}.min"), never(min), "lower the threshold, or give more buffer");
                }
                if !(0.0..=1.0).contains(&max_probability) {
                    let problem = format!("{max_probability} is not a probability");
                    checker.fail(&format!("{path}.probability"), problem, "it is 0 to 1, like 0.01");
                }
            }
            fanin_fabric::Marking::RedAverage(red) => {
                if red.min >= red.max {
                    let problem = format!("{} is not below max = {}", Bytes(red.min), Bytes(red.max));
                    checker.fail(&format!("{path}.min"), problem, "give a larger max, like 3 times min");
                } else if red.min >= most {
                    checker.fail(&format!("{path}.min"), never(red.min), "lower the threshold, or give more buffer");
                }
                let parts = [("probability", red.max_probability, 0.1), ("weight", red.weight, 0.002)];
                for (key, value, like) in parts {
                    if !(value > 0.0 && value <= 1.0) {
                        let right = format!("it is above 0 and at most 1, like {like}");
                        checker.fail(&format!("{path}.{key}"), format!("{value} is not possible"), right);
                    }
                }
                check_packet_size(path, "mean_packet", red.mean_packet, checker);
                check_packet_size(path, "idle_packet", red.idle_packet, checker);
            }
            fanin_fabric::Marking::Pi(pi) => {
                if pi.target >= most {
                    checker.fail(&format!("{path}.target"), never(pi.target), "lower the target, or give more buffer");
                }
                if !(pi.a > 0.0 && pi.a <= 1.0) {
                    let right = "it is above 0 and at most 1, like 1.822e-5";
                    checker.fail(&format!("{path}.a"), format!("{} is not a possible gain", pi.a), right);
                } else if !(pi.b >= 0.0 && pi.b < pi.a) {
                    let problem =
                        format!("{} is not below a = {}: a constant deviation would have no effect", pi.b, pi.a);
                    checker.fail(&format!("{path}.b"), problem, "it is 0 or more and below a, like 1.816e-5");
                }
                if pi.every < SHORTEST_SAMPLE {
                    let right = format!("it is at least {SHORTEST_SAMPLE}, like \"5882 us\"");
                    checker.fail(&format!("{path}.every"), format!("{} is too short", pi.every), right);
                }
                check_packet_size(path, "mean_packet", pi.mean_packet, checker);
            }
        }
    }
}

fn check_packet_size(path: &str, key: &str, bytes: u32, checker: &mut Checker<'_>) {
    if bytes == 0 || bytes > u32::from(u16::MAX) {
        let right = format!("it is 1 to {} B; leave it out for a full packet", u16::MAX);
        checker.fail(&format!("{path}.{key}"), "this is not a possible packet size", right);
    }
}

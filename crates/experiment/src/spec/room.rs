//! What fits into the buffers of a spec's network: headroom, credits, and thresholds of marking.

use super::checker::Checker;
use super::document::{Marking, MarkingOfRate, Network};
use fanin_fabric::credits::{BLOCK, buffer_for};
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::topology::{Graph, Link};
use fanin_fabric::{BufferPolicy, ClassConfig, pfc};
use fanin_units::{Bytes, NodeId, Rate, Time};

/// Most rates with their own marking per class; all classes together stay below the number that a port can distinguish.
const MAX_RATES: usize = 16;
/// Most bytes that credits can tell to be free: 2048 blocks.
const MOST_CREDITS: u64 = 2048 * BLOCK;

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
        // By the row of the limits that a link's ports have.
        let mut worst = vec![(0, 0); self.plan.by_rate.len() + 1];
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
            let of_row = &mut worst[self.plan.row(link.rate)];
            *of_row = (*of_row).max((needed, i));
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
            for (row, &(needed, link)) in worst.iter().enumerate() {
                let Limit::Port { bytes, .. } = self.plan.limits_of(row)[i + 1] else { continue };
                if needed < bytes {
                    continue;
                }
                let common = classes.iter().filter(|class| class.lossless && class.share.is_none()).count();
                let (path, whom) = match (class.share, row.checked_sub(1)) {
                    (Some(_), _) => (own(i), format!("class \"{}\"", class.name)),
                    (None, None) => {
                        ("network.buffer.per_port".to_string(), format!("each of {common} lossless classes"))
                    }
                    (None, Some(of_rate)) => (
                        format!("network.buffer.by_rate[{of_rate}].per_port"),
                        format!("each of {common} lossless classes"),
                    ),
                };
                let (from, to) = self.ends(link);
                let problem = format!(
                    "an ingress port has {} for {whom}, but the link between \"{from}\" and \"{to}\" needs {} of \
                     headroom alone",
                    Bytes(bytes),
                    Bytes(needed)
                );
                checker.fail(&path, problem, right);
            }
            // The pool is the same at ports of all rates.
            if let Limit::Pool { pool, .. } = self.plan.limits[i + 1] {
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

    /// Most bytes that a queue of a class at a port of a rate can hold.
    fn most_queued(&self, number: usize, class: &ClassConfig, rate: Rate) -> u64 {
        match self.plan.limit(number + 1, rate) {
            Limit::Port { bytes, .. } if !class.lossless => bytes,
            // The ingress ports are limited, not the egress: it may hold the bytes of all of them.
            Limit::Port { .. } => {
                let mut held = vec![0u64; self.graph.names.len()];
                for link in &self.graph.links {
                    let Limit::Port { bytes, .. } = self.plan.limit(number + 1, link.rate) else { continue };
                    for end in [link.a, link.b] {
                        held[end.ix()] = held[end.ix()].saturating_add(bytes);
                    }
                }
                let switches = (0..).map(NodeId).zip(held).filter(|(node, _)| !self.graph.is_host(*node));
                switches.map(|(_, bytes)| bytes).max().unwrap_or(0)
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
        let declared = network.classes.iter().flatten();
        for (i, ((class, declared), inherits)) in classes.iter().zip(declared).zip(inherits).enumerate() {
            let of = if *inherits { "network".to_string() } else { format!("network.classes[{i}]") };
            if let Some(marking) = &declared.marking {
                // Some port has to be able to mark.
                let rates = std::iter::once(Rate::ZERO).chain(self.plan.by_rate.iter().map(|(rate, _)| *rate));
                let most = rates.map(|rate| self.most_queued(i, class, rate)).max().unwrap_or(0);
                check_marking((&class.name, most), marking, &format!("{of}.marking"), checker);
            }
            // A class may have its own list together with the network's marking.
            let listed = declared.marking_by_rate == network.marking_by_rate;
            let of = if listed { of } else { format!("network.classes[{i}]") };
            for (j, MarkingOfRate { rate, marking }) in declared.marking_by_rate.iter().enumerate() {
                let path = format!("{of}.marking_by_rate[{j}]");
                let before: Vec<Rate> = declared.marking_by_rate[..j].iter().map(|own| own.rate).collect();
                check_rate(self.graph, *rate, &before, &path, checker);
                let most = self.most_queued(i, class, *rate);
                check_marking((&class.name, most), marking, &format!("{path}.marking"), checker);
            }
        }
    }
}

/// Whether a rate with values of its own, after those `before` it in the list, occurs in the network, and only once in
/// the list.
pub fn check_rate(graph: &Graph, rate: Rate, before: &[Rate], path: &str, checker: &mut Checker<'_>) {
    let path = format!("{path}.rate");
    let mut rates: Vec<Rate> = graph.links.iter().map(|link| link.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    if !rates.contains(&rate) {
        let known: Vec<String> = rates.iter().take(10).map(Rate::to_string).collect();
        checker.fail(&path, format!("no link has the rate {rate}"), format!("the rates are {}", known.join(", ")));
    } else if before.contains(&rate) {
        checker.fail(&path, format!("{rate} is listed twice"), "list each rate once");
    } else if before.len() >= MAX_RATES {
        checker.fail(&path, "the list is too long", format!("it has at most {MAX_RATES} rates"));
    }
}

/// Whether the thresholds of a class, in whose queues at most so many bytes wait, are possible.
fn check_marking((class, most): (&str, u64), marking: &Marking, path: &str, checker: &mut Checker<'_>) {
    let never = |threshold: Bytes| {
        let most = Bytes(most);
        format!("no queue of class \"{class}\" holds more than {most}: a threshold of {threshold} never marks")
    };
    checker.bounds(path, marking);
    match *marking {
        Marking::Off => {}
        Marking::Step { above, .. } => {
            if above.get() >= most {
                checker.fail(&format!("{path}.above"), never(above), "lower the threshold, or give more buffer");
            }
        }
        Marking::Red { min, max, .. } => {
            if min > max {
                checker.fail(&format!("{path}.min"), format!("{min} is above max = {max}"), "swap them");
            } else if min.get() >= most {
                checker.fail(&format!("{path}.min"), never(min), "lower the threshold, or give more buffer");
            }
        }
        Marking::RedAverage { min, max, .. } => {
            if let Some(max) = max.filter(|max| min >= *max) {
                let problem = format!("{min} is not below max = {max}");
                checker.fail(&format!("{path}.min"), problem, "give a larger max, like 3 times min");
            } else if min.get() >= most {
                checker.fail(&format!("{path}.min"), never(min), "lower the threshold, or give more buffer");
            }
        }
        Marking::Pi { target, a, b, .. } => {
            if let Some(target) = target.filter(|target| target.get() >= most) {
                checker.fail(&format!("{path}.target"), never(target), "lower the target, or give more buffer");
            }
            if a > 0.0 && a <= 1.0 && !(b >= 0.0 && b < a) {
                let problem = format!("{b} is not below a = {a}: a constant deviation would have no effect");
                checker.fail(&format!("{path}.b"), problem, "it is 0 or more and below a, like 1.816e-5");
            }
        }
    }
}

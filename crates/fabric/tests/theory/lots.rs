//! Parking lots, and the max-min fair rates of any network.

use crate::common::*;
use fanin_fabric::*;
use fanin_units::{Rate, Time};

/// A chain of links between switches, with flows that each have two hosts of their own.
#[derive(Clone, Debug)]
pub struct Lot {
    /// Rates of the chain's links in Gb/s.
    pub chain: Vec<u64>,
    /// Flows: over the links from the first number up to the second one.
    pub flows: Vec<(u32, u32)>,
    /// Rate of the hosts' links in Gb/s.
    pub hosts: u64,
    /// Delay of each link.
    pub delay: Time,
}

impl Lot {
    /// One flow over all of `links` equal links, and one over each.
    pub fn even(links: u32, gbps: u64, delay: Time) -> Self {
        let flows = std::iter::once((0, links)).chain((0..links).map(|link| (link, link + 1))).collect();
        Self { chain: vec![gbps; links as usize], flows, hosts: gbps, delay }
    }

    /// Host 2i sends flow i to host 2i + 1.
    pub fn graph(&self) -> topology::Graph {
        let n = 2 * self.flows.len() as u32;
        let ends = self.flows.iter().flat_map(|(from, to)| [*from, *to]);
        let hosts = (0..).zip(ends).map(|(host, switch)| (host, n + switch, gbps(self.hosts), self.delay));
        let chain = (0..).zip(&self.chain).map(|(i, rate)| (n + i, n + i + 1, gbps(*rate), self.delay));
        graph(n, self.chain.len() as u32 + 1, &hosts.chain(chain).collect::<Vec<_>>())
    }

    /// A round trip over the whole chain, without what packets take on links.
    pub fn rtt(&self) -> Time {
        self.delay.saturating_mul(2 * (self.chain.len() as u64 + 2))
    }

    /// Flows without end, all from time 0.
    pub fn messages(&self) -> Vec<Message> {
        (0..self.flows.len() as u32).map(|i| message(Time::ZERO, 2 * i, 2 * i + 1, Message::ENDLESS)).collect()
    }

    /// Max-min fair rates in Gb/s when `share` of each link may be used; a host's link bounds its flow too.
    pub fn max_min(&self, share: f64) -> Vec<f64> {
        let own = (0..self.flows.len()).map(|i| (share * self.hosts as f64, vec![i]));
        let over = |link: u32| {
            let on = |flow: &usize| (self.flows[*flow].0..self.flows[*flow].1).contains(&link);
            (0..self.flows.len()).filter(on).collect::<Vec<_>>()
        };
        let chain = (0..).zip(&self.chain).map(|(link, rate)| (share * *rate as f64, over(link)));
        water_filling(&chain.chain(own).collect::<Vec<_>>(), self.flows.len())
    }
}

/// Max-min fair rates: all rise together, and a flow stops where a link of its path is full. Links are capacities with
/// the flows over them.
pub fn water_filling(links: &[(f64, Vec<usize>)], flows: usize) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; flows];
    while rates.iter().any(Option::is_none) {
        let level = |(capacity, over): &(f64, Vec<usize>)| {
            let fixed: f64 = over.iter().filter_map(|flow| rates[*flow]).sum();
            let rising = over.iter().filter(|flow| rates[**flow].is_none()).count();
            (rising > 0).then(|| (capacity - fixed) / rising as f64)
        };
        let full = links.iter().enumerate().filter_map(|(i, link)| Some((level(link)?, i)));
        let (level, first) = full.min_by(|a, b| a.0.total_cmp(&b.0)).expect("each flow has a link");
        for flow in &links[first].1 {
            rates[*flow].get_or_insert(level);
        }
    }
    rates.into_iter().map(|rate| rate.expect("all are set")).collect()
}

/// Payload per second in Gb/s that each message delivers from `from` to `to`.
pub fn goodput(sim: &mut Simulation, from: Time, to: Time) -> Vec<f64> {
    run_to(sim, from);
    let delivered = |sim: &Simulation| sim.flows().iter().map(|flow| flow.delivered).collect::<Vec<_>>();
    let before = delivered(sim);
    run_to(sim, to);
    let bits = |(now, before): (&u64, &u64)| (now - before) as f64 * 8.0 / (to - from).as_secs_f64() / 1e9;
    delivered(sim).iter().zip(&before).map(bits).collect()
}

/// Jain's index.
pub fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    sum * sum / squares / rates.len() as f64
}

/// A rate in Gb/s as packets' payload, of `payload` bytes in `wire`.
pub fn of_payload(rate: Rate, payload: u64, wire: u64) -> f64 {
    rate.as_bps() as f64 / 1e9 * payload as f64 / wire as f64
}

#[test]
fn water_filling_gives_the_rates_of_known_lots() {
    let rates = |lot: &Lot| lot.max_min(1.0);
    assert_eq!(rates(&Lot::even(2, 10, us(1))), [5.0, 5.0, 5.0]);
    // The second link is the narrow one: 4 Gb/s for two; the first flow leaves 8 for the other two.
    let lot = Lot { chain: vec![10, 4], flows: vec![(0, 2), (0, 1), (0, 1), (1, 2)], hosts: 10, delay: us(1) };
    assert_eq!(rates(&lot), [2.0, 4.0, 4.0, 2.0]);
    // A host's link is the narrowest.
    let lot = Lot { chain: vec![10], flows: vec![(0, 1); 2], hosts: 3, delay: us(1) };
    assert_eq!(rates(&lot), [3.0, 3.0]);
}

//! The balancers of switches, where packets do not take their paths by flow.

use super::parts::{Switch, with_info};
use crate::plan::Plan;
use crate::port::Port;
use fanin_cc::{Balancer, Choice};
use fanin_units::PortId;

/// The balancers of the switches of a partition.
pub(super) struct Balance {
    /// By the row of the switch.
    pub balancers: Vec<Box<dyn Balancer>>,
    /// Whether they look at queues, which must be up to date then.
    pub sees_queues: bool,
    /// The equal paths of one packet, kept for their memory.
    pub equal: Vec<PortId>,
    pub choices: Vec<Choice>,
}

impl Balance {
    /// Those of these switches; none where packets go by flow.
    pub fn new(plan: &Plan, ports: &[Port], switches: &[Switch]) -> Option<Box<Self>> {
        let balancing = &plan.config.balancing;
        if !balancing.is_at_switches() {
            return None;
        }
        let of = |switch: &Switch| with_info(plan, ports, switch, "balancing", |info| balancing.build(info));
        Some(Box::new(Self {
            balancers: switches.iter().filter_map(of).collect(),
            sees_queues: balancing.sees_queues(),
            equal: Vec::new(),
            choices: Vec::new(),
        }))
    }
}

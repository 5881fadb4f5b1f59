//! What schemes that send credits require of the network: queues of credits, and symmetric routes.

use super::checker::Checker;
use super::document::{Buffer, CreditQueues, Network, Routing};
use fanin_cc::{CreditQueue, Settings};
use fanin_fabric::{ClassConfig, Marking, NetworkConfig, Shaper};
use fanin_units::Bytes;

/// The name of the class of credits.
const CLASS: &str = "credit";

/// The requirements of the schemes that send credits.
#[derive(Default)]
pub struct CreditNeeds {
    /// The queue of the first such scheme.
    queue: Option<CreditQueue>,
    /// The first scheme that needs symmetric routes, and why.
    symmetric: Option<(&'static str, &'static str)>,
}

impl CreditNeeds {
    /// Notes what the scheme of a traffic requires.
    pub fn note(&mut self, traffic: usize, scheme: &Settings, checker: &mut Checker<'_>) {
        if let Some(why) = scheme.symmetric_routes() {
            self.symmetric.get_or_insert((scheme.id(), why));
        }
        let Some(queue) = scheme.credits() else { return };
        if *self.queue.get_or_insert(queue) != queue {
            let problem = "its credits differ from those of another traffic, and all credits share one queue at a port";
            checker.fail(
                &format!("traffic[{traffic}].scheme"),
                problem,
                "use the same sizes of credits, of their queue and of its burst",
            );
        }
    }

    /// The classes followed by that of credits, if a scheme sends some. `wire` is the largest packet.
    pub fn add_class(
        &self,
        mut classes: Vec<ClassConfig>,
        network: &mut Network,
        wire: u64,
        most: usize,
        checker: &mut Checker<'_>,
    ) -> Vec<ClassConfig> {
        let Some(of) = self.queue else {
            if network.credit_queues.is_some() {
                checker.warnings.push("network.credit_queues has no effect: no traffic's scheme sends credits".into());
            }
            return classes;
        };
        if matches!(network.buffer, Buffer::Credits(_)) {
            let problem =
                "InfiniBand's flow control drops nothing, and a traffic's scheme sends credits that are dropped";
            checker.fail("network.buffer", problem, "write policy = \"lossy\" or \"lossless\"");
        }
        let credit = f64::from(of.credit);
        let CreditQueues { share, burst, queue } = network.credit_queues.get_or_insert_default();
        let share = *share.get_or_insert(credit / (credit + wire as f64));
        let burst = burst.get_or_insert(Bytes(of.burst.into())).get();
        let limit = queue.get_or_insert(Bytes(of.limit.into())).get();
        checker.bound::<CreditQueues>("network.credit_queues.share", share);
        for (key, bytes) in [("burst", burst), ("queue", limit)] {
            if bytes < of.credit.into() || bytes > u32::MAX.into() {
                let right =
                    format!("it holds at least one credit, {}, and at most {} B", Bytes(of.credit.into()), u32::MAX);
                checker.fail(
                    &format!("network.credit_queues.{key}"),
                    format!("{} is not possible", Bytes(bytes)),
                    right,
                );
            }
        }
        if classes.iter().any(|class| class.name == CLASS) {
            checker.fail(
                "network.classes",
                format!("\"{CLASS}\" is the class of credits"),
                "give the class another name",
            );
        }
        classes.push(ClassConfig {
            name: CLASS.into(),
            lossless: false,
            marking: Marking::Off,
            marking_by_rate: Vec::new(),
            share: None,
            alpha: None,
            sibling_vl: None,
            urgent: true,
            priority: None,
            weight: None,
            shaper: Some(Shaper { share, burst: burst.try_into().unwrap_or(u32::MAX), limit }),
        });
        if classes.len() > most {
            let problem = format!("with that of credits there are {} classes", classes.len());
            checker.fail("network.classes", problem, format!("there are at most {most}"));
        }
        classes
    }

    /// Whether routes are symmetric.
    pub fn symmetric_routes(&self, network: &mut Network, checker: &mut Checker<'_>) -> bool {
        if self.symmetric.is_some() {
            network.routing.get_or_insert(Routing::Symmetric);
        }
        let symmetric = network.routing == Some(Routing::Symmetric);
        if let Some((scheme, why)) = self.symmetric
            && !symmetric
        {
            checker.warnings.push(format!("network.routing: {scheme} is meant for symmetric routes: {why}"));
        }
        symmetric
    }
}

/// The class of credits in a network that has one.
pub fn credit_class(network: &NetworkConfig) -> u8 {
    network.classes.iter().position(|class| class.shaper.is_some()).map_or(0, |at| at as u8 + 1)
}

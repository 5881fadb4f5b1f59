//! Schemes that cannot do without switches that trim packets.

use super::checker::Checker;
use fanin_fabric::{NetworkConfig, Recovery, TrafficConfig};

/// Refuses such schemes where nothing cuts their packets, and where their endpoints take packets in one order alone.
pub fn check_trimmed(network: &NetworkConfig, traffics: &[TrafficConfig], checker: &mut Checker<'_>) {
    for (number, traffic) in traffics.iter().enumerate() {
        let Some(why) = traffic.scheme.needs_trimming() else { continue };
        let (id, class) = (traffic.scheme.id(), &network.classes[usize::from(traffic.class) - 1]);
        let path = format!("traffic[{number}].scheme");
        if network.trimming.is_none() {
            checker.fail(
                &path,
                format!("{id} {why}, and those of this network trim none"),
                "write network.trimming = {}",
            );
        } else if class.lossless {
            let problem = format!("{id} {why}, and of a lossless class (\"{}\") they trim none", class.name);
            checker.fail(&path, problem, "write network.buffer.policy = \"lossy\", or put it into a lossy class");
        }
        if !matches!(traffic.endpoint.recovery, Recovery::Selective(rules) if rules.unordered()) {
            let problem =
                format!("{id} needs an endpoint that takes packets in any order and asks for those that were trimmed");
            checker.fail(&format!("traffic[{number}].rdma.recovery"), problem, "write recovery = \"unordered\"");
        }
    }
}

//! The DSCPs of a spec's packets, which captures show and by which switches on a wire know the class of a frame.

use super::checker::Checker;
use super::document::{Class, Network, Packet};
use fanin_fabric::ClassConfig;
use fanin_transport::frame::Dscps;

/// What a spec says of DSCPs. `classes` are all data classes, those that schemes add included.
pub fn check_dscps(network: &Network, classes: &[ClassConfig], checker: &mut Checker<'_>) -> Dscps {
    let mut dscps = Dscps { cnp: network.packet.cnp_dscp, ..Dscps::default() };
    let wanted = network.classes.iter().flatten().map(|class| class.dscp).zip(&mut dscps.of_class[1..]);
    wanted.for_each(|(wanted, dscp)| *dscp = wanted.unwrap_or(*dscp));
    let own = |i: usize| network.classes.iter().flatten().nth(i).and_then(|class| class.dscp);
    for (i, class) in classes.iter().enumerate().take(dscps.of_class.len() - 1) {
        let (path, dscp) = (format!("network.classes[{i}].dscp"), dscps.of_class[i + 1]);
        if own(i).is_some() {
            checker.bound::<Class>(&path, dscp);
        }
        // One problem for each pair, at the later class that sets one.
        let before = (0..classes.len()).filter(|other| *other < i || own(*other).is_none());
        let same = before.filter(|other| *other != i).find(|other| dscps.of_class.get(other + 1) == Some(&dscp));
        let whose = match same {
            _ if own(i).is_none() => continue,
            Some(other) => format!("class \"{}\" has the DSCP {dscp} too", classes[other].name),
            None if dscp == dscps.of_class[0] => format!("ACKs and NACKs have the DSCP {dscp} too"),
            None => continue,
        };
        let right = format!("give \"{}\" one of its own: a DSCP tells a frame's class", class.name);
        checker.fail(&path, whose, right);
    }
    if let Some(dscp) = dscps.cnp {
        let path = "network.packet.cnp_dscp";
        checker.bound::<Packet>(path, dscp);
        if let Some(class) = classes.iter().zip(&dscps.of_class[1..]).find(|(_, of)| **of == dscp) {
            let problem = format!("class \"{}\" has the DSCP {dscp} too", class.0.name);
            checker.fail(path, problem, "CNPs are control packets: give them a DSCP that no class of data has");
        }
    }
    dscps
}

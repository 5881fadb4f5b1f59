//! Requirements of the schemes on the network: lanes of classes, and header bytes in packets.

use super::checker::Checker;
use super::credits::CreditNeeds;
use super::document::Document;
use fanin_cc::{EscapeEntry, Lanes};
use fanin_fabric::deadlock::prove;
use fanin_fabric::topology::Graph;
use fanin_fabric::{ClassConfig, Marking};
use fanin_units::Bytes;

/// Largest routing table for which the escape lane is checked for deadlock: a second or so.
const MOST_PROVEN: u64 = 1_000_000;

/// Requirements of the schemes on the network.
#[derive(Default)]
pub struct Needs {
    /// Additional lanes of classes: the number of the class, counted from 0, and their kind.
    lanes: Vec<(usize, Lanes)>,
    /// Most bytes that a scheme adds to a data packet.
    pub overhead: u16,
    /// The traffics that deflect above a threshold: number, class, threshold in bytes.
    thresholds: Vec<(usize, usize, u64)>,
    /// How messages of deflecting traffics enter the escape lane.
    escapes: Vec<EscapeEntry>,
    /// What schemes that send credits require.
    pub credit: CreditNeeds,
}

/// The requirements of all schemes. An invalid scheme has none here; it is reported elsewhere.
pub fn needs(document: &Document, checker: &mut Checker<'_>) -> Needs {
    let mut needs = Needs::default();
    for (i, traffic) in document.traffic.iter().enumerate() {
        let Ok(scheme) = crate::loaded::settings(traffic.scheme.id(), &traffic.scheme.parameters()) else { continue };
        needs.overhead = needs.overhead.max(scheme.header_overhead().data);
        needs.credit.note(i, &scheme, checker);
        let mut names = document.network.classes.iter().flatten().map(|class| &class.name);
        let Some(class) = traffic.class.as_ref().map_or(Some(0), |name| names.position(|other| other == name)) else {
            continue;
        };
        if let Some(deflection) = scheme.deflection() {
            if !deflection.above_marks {
                needs.thresholds.push((i, class, deflection.threshold.get()));
            }
            needs.escapes.extend(deflection.escape.filter(|entry| !needs.escapes.contains(entry)));
        }
        let lanes = scheme.lanes();
        match needs.lanes.iter().find(|(other, _)| *other == class) {
            _ if lanes == Lanes::One => {}
            None => needs.lanes.push((class, lanes)),
            Some((_, other)) if *other == lanes => {}
            Some(_) => {
                let problem = "another traffic of its class needs another kind of lanes";
                checker.fail(&format!("traffic[{i}].class"), problem, "put the two traffics into different classes");
            }
        }
    }
    needs
}

impl Needs {
    /// The classes followed by their additional lanes.
    pub fn add_lanes(&self, mut classes: Vec<ClassConfig>, most: usize, checker: &mut Checker<'_>) -> Vec<ClassConfig> {
        for &(class, lanes) in &self.lanes {
            let Some(of) = classes.get(class).cloned() else { continue };
            let markings = std::iter::once(&of.marking).chain(of.marking_by_rate.iter().map(|(_, marking)| marking));
            if markings.into_iter().any(|m| matches!(m, Marking::RedAverage(_) | Marking::Pi(_))) {
                let problem = format!("class \"{}\" has two lanes, which are marked by their total", of.name);
                checker.fail("network.marking", problem, "use the kind \"step\" or \"red\" there");
            }
            let kind = if lanes == Lanes::Strict { "urgent" } else { "deflectable" };
            let name = format!("{}.{kind}", of.name);
            classes.push(ClassConfig { name, sibling_vl: Some(class as u8 + 1), urgent: lanes == Lanes::Strict, ..of });
        }
        if !self.lanes.is_empty() && classes.len() > most {
            let problem = format!("with the lanes of their schemes there are {} classes", classes.len());
            checker.fail("network.classes", problem, format!("there are at most {most}"));
        }
        classes
    }

    /// Warns if the escape lane of this network is not free of deadlock (Dart IV-B).
    pub fn warn_of_circles(&self, graph: &Graph, checker: &mut Checker<'_>) {
        if !self.escapes.is_empty() && fanin_fabric::route_entries(graph) > MOST_PROVEN {
            let what = "the network is too large to check its escape lane for deadlock";
            checker.warnings.push(what.into());
            return;
        }
        for entry in &self.escapes {
            let report = prove(graph, *entry);
            if !report.holds() {
                checker.warnings.push(format!("{report}: deflected messages may deadlock"));
            }
        }
    }

    /// Checks that deflection starts below the marking threshold (Dart IV-B).
    pub fn check_thresholds(&self, classes: &[ClassConfig], checker: &mut Checker<'_>) {
        for &(traffic, class, threshold) in &self.thresholds {
            let Some(class) = classes.get(class) else { continue };
            let markings = std::iter::once(&class.marking).chain(class.marking_by_rate.iter().map(|(_, m)| m));
            let first = markings.filter_map(|marking| match marking {
                Marking::Step { above, .. } => Some(*above),
                Marking::Red { min, .. } => Some(*min),
                _ => None,
            });
            if let Some(marks) = first.min()
                && threshold >= marks
            {
                checker.fail(
                    &format!("traffic[{traffic}].scheme.threshold"),
                    format!(
                        "it deflects above {}, but packets are already marked above {}",
                        Bytes(threshold),
                        Bytes(marks)
                    ),
                    "lower it below the marking threshold, or set force_threshold = true",
                );
            }
        }
    }
}

//! Validates a spec that was read.

use super::balancing::{deflects, spray};
use super::built::{self, Measure, Sampled, Series};
use super::checker::Checker;
use super::classes::marks_with_last_bits;
use super::document::{self, Document, Place, PortKind, PortSet, Ports, Quantity, Size};
use super::dscp::check_dscps;
use super::lanes::needs;
use super::network::check_network;
use super::shape::advice;
use super::traffic::check_traffics;
use super::trimming::check_trimmed;
use super::{CheckedSpec, Spec};
use crate::checks;
use crate::error::Problems;
use crate::ports_of;
use fanin_fabric::NetworkConfig;
use fanin_fabric::topology::Graph;
use fanin_record::{Part, Watched, port_names};
use fanin_units::{Bytes, PortId, Time};
use std::collections::HashMap;

/// Most samples that one run may take.
const MAX_SAMPLES: f64 = 1e9;
/// Most messages recorded hop by hop.
const MAX_TRACED: usize = 1000;
/// Most nodes times traffics of one series.
const MAX_WATCHED: usize = 100_000;
/// Longest time of one run: 10 days, which leaves room for sums.
const MAX_RUN: Time = Time::from_s(864_000);

impl Spec {
    /// Validates the spec and fills in defaults. Files that it names are read.
    ///
    /// # Errors
    /// All problems that can be found at once, with file, line and key.
    pub fn check(&self) -> Result<CheckedSpec, Problems> {
        let mut document = self.document.clone();
        let source = &self.source;
        let mut checker = Checker { source, problems: Vec::new(), warnings: Vec::new() };
        check_head(&document, &mut checker);
        let needs = needs(&document, &mut checker);
        let deflects = deflects(&document);
        let mut network = check_network(&mut document.network, document.seed, (&needs, deflects), &mut checker);
        if let Some(network) = &mut network {
            network.pauses.record = document.measure.pauses;
        }
        let measure = check_measure(&document, network.as_ref(), &mut checker);
        let from = document.measure.warm_up;
        let window = (from, from.saturating_add(document.measure.window));
        let mut traffics = check_traffics(&mut document, network.as_ref(), window, &mut checker);
        if let (Some(network), Some((traffics, ..))) = (&network, &mut traffics) {
            spray(network, traffics, &mut checker);
            check_trimmed(network, traffics, &mut checker);
        }
        if document.measure.stop_when_done && document.traffic.iter().all(|t| t.size == Some(Size::Endless)) {
            let right = "leave it out, or give some traffic a size";
            checker.fail("measure.stop_when_done", "no message of this spec ever ends", right);
        }
        check_posted(&document, &mut checker);
        let Checker { problems, warnings, .. } = checker;
        if let Some(problems) = Problems::new(problems) {
            return Err(problems);
        }
        match (network, measure, traffics) {
            (Some(network), Some(measure), Some((traffics, workloads, places))) => {
                let source = source.clone();
                let mut checked =
                    CheckedSpec { document, source, network, traffics, workloads, places, measure, warnings };
                let foreseen = checks::of_spec(&checked);
                checked.warnings.splice(..0, foreseen);
                Ok(checked)
            }
            // Each of them is missing only if a problem was added.
            _ => Err(source.problem("", "this spec cannot run", "").into()),
        }
    }
}

/// A program that posts messages has numbers of its own for them, and is there from the start.
fn check_posted(document: &Document, checker: &mut Checker<'_>) {
    let posted = |traffic: &document::Traffic| matches!(traffic.pattern, document::Pattern::Posted {});
    let Some(number) = document.traffic.iter().position(posted) else { return };
    let key = format!("traffic[{number}].pattern");
    if document.traffic.len() > 1 {
        let right = "leave the others out: the program posts all messages";
        checker.fail(&key, "there are other traffics beside those messages that a program posts", right);
    }
    if document.measure.slowdown != document::Ideal::StoreAndForward {
        let right = "leave it out: slowdowns are over the ideal of store-and-forward";
        checker.fail("measure.slowdown", "the other ideals need all messages before the run", right);
    }
    if document.measure.warm_up > Time::ZERO {
        checker.fail(
            "measure.warm_up",
            "a run whose messages a program posts is measured from its start",
            "leave it out",
        );
    }
}

fn check_head(document: &Document, checker: &mut Checker<'_>) {
    if document.spec_version != document::SPEC_VERSION {
        let problem = format!("version {} is not supported", document.spec_version);
        checker.fail("spec_version", problem, format!("use version {}", document::SPEC_VERSION));
    }
    if document.name.trim().is_empty() {
        checker.fail("name", "it is empty", "give the experiment a name");
    }
    checker.bound::<Document>("seed", document.seed);
    if let Some(compare) = &document.compare {
        if compare.schemes.is_empty() {
            checker.fail("compare.schemes", "no scheme is named", "name at least one, or leave the key out");
        }
        for (i, scheme) in compare.schemes.iter().enumerate() {
            if compare.schemes[..i].contains(scheme) {
                let path = format!("compare.schemes[{i}]");
                checker.fail(&path, format!("\"{}\" is listed twice", scheme.0), "name each scheme once");
            }
        }
    }
}

fn check_measure(document: &Document, network: Option<&NetworkConfig>, checker: &mut Checker<'_>) -> Option<Measure> {
    let (measure, graph) = (&document.measure, network.map(|network| &network.graph));
    checker.bounds("measure", measure);
    let all = measure.warm_up.saturating_add(measure.window).saturating_add(measure.drain_limit);
    if all > MAX_RUN {
        let parts = [("warm_up", measure.warm_up), ("window", measure.window), ("drain_limit", measure.drain_limit)];
        let longest = parts.iter().max_by_key(|(_, time)| *time).map_or("window", |(key, _)| key);
        let problem = format!("with warm-up, window and drain limit the run takes up to {all}");
        checker.fail(&format!("measure.{longest}"), problem, format!("together they are at most {MAX_RUN}"));
    }
    let mut series = Vec::with_capacity(measure.series.len());
    for (i, wanted) in measure.series.iter().enumerate() {
        let path = format!("measure.series[{i}]");
        if !checker.bounds(&path, wanted) {
            continue;
        }
        let Some((place, of)) = graph.and_then(|graph| sampled(wanted, document, graph, &path, checker)) else {
            continue;
        };
        let samples = measure.window.as_ps() as f64 / wanted.every.as_ps() as f64 * of.values() as f64;
        if samples > MAX_SAMPLES {
            let problem = format!("that makes {samples:.1e} samples at {} places", of.places());
            let right = format!("sample less often or fewer places; a run takes at most {MAX_SAMPLES:.0e}");
            checker.fail(&format!("{path}.every"), problem, right);
        }
        series.push(Series { place, of, every: wanted.every, zeros: wanted.zeros });
    }
    if measure.trace.len() > MAX_TRACED {
        let problem = format!("{} messages are named", measure.trace.len());
        checker.fail("measure.trace", problem, format!("name at most {MAX_TRACED}"));
    }
    let mut trace = messages(&measure.trace, document, "measure.trace", checker);
    trace.sort_by_key(|message| (message.traffic, message.number));
    trace.dedup_by_key(|message| (message.traffic, message.number));
    let capture = measure.capture.as_ref().and_then(|capture| check_capture(capture, graph?, checker));
    if capture.is_some() && network.is_some_and(|network| marks_with_last_bits(&network.classes)) {
        let problem = "captures have packets as they begin to leave, before marking with at = \"last-bit\"";
        checker.fail("measure.capture", problem, "leave it out, or mark at \"dequeue\"");
    }
    let timeline = measure.perfetto.as_ref().and_then(|perfetto| check_perfetto(perfetto, graph?, checker));
    network.map(|network| Measure {
        warm_up: measure.warm_up,
        window: measure.window,
        stop_when_done: measure.stop_when_done,
        // In the files of these simulators, a flow ends when its sender knows.
        until_acked: document
            .traffic
            .iter()
            .any(|traffic| matches!(traffic.pattern, document::Pattern::Hpcc { .. } | document::Pattern::Htsim { .. })),
        drain: measure.drain,
        drain_limit: measure.drain_limit,
        report_size: measure.report_size.map(|size| size.get()),
        series,
        trace,
        capture,
        dscps: check_dscps(&document.network, &network.classes, checker),
        timeline,
        allow_drops: measure.allow_drops,
    })
}

fn check_capture(capture: &document::Capture, graph: &Graph, checker: &mut Checker<'_>) -> Option<built::Capture> {
    checker.bounds("measure.capture", capture);
    let max_size = capture.max_size.get();
    let links = chosen(&capture.links, graph, "measure.capture.links", checker)?;
    // Each link has a description in the file, and statistics at its end.
    let heads = Bytes(links.len() as u64 * 512);
    if heads.get() > max_size {
        let problem = format!("the headers of {} links leave no room for packets in {}", links.len(), capture.max_size);
        checker.fail("measure.capture.max_size", problem, format!("capture fewer links, or allow more than {heads}"));
    }
    Some(built::Capture { links, max_size, snaplen: capture.snaplen.get() as u32 })
}

fn check_perfetto(perfetto: &document::Perfetto, graph: &Graph, checker: &mut Checker<'_>) -> Option<built::Timeline> {
    checker.bounds("measure.perfetto", perfetto);
    let queues = chosen(&perfetto.queues, graph, "measure.perfetto.queues", checker)?;
    Some(built::Timeline { queues, max_size: perfetto.max_size.get() })
}

/// Ports of the whole network, in order, each once; `None` after adding a problem.
fn chosen(wanted: &Ports, graph: &Graph, path: &str, checker: &mut Checker<'_>) -> Option<Vec<PortId>> {
    let place = match wanted {
        Ports::Set(PortKind::All) => return Some((0..graph.links.len() as u32 * 2).map(PortId).collect()),
        Ports::Set(PortKind::SwitchPorts) => Place::Set(PortSet::SwitchPorts),
        Ports::Set(PortKind::LastHop) => Place::Set(PortSet::LastHop),
        Ports::Set(PortKind::TorUplinks) => Place::Set(PortSet::TorUplinks),
        Ports::Names(names) => Place::Names(names.clone()),
    };
    let (_, mut ports) = ports(&place, graph, path, checker)?;
    ports.sort_unstable();
    ports.dedup();
    Some(ports)
}

/// The ports or other entries of a series, and its name; `None` after adding a problem.
fn sampled(
    series: &document::Series,
    document: &Document,
    graph: &Graph,
    path: &str,
    checker: &mut Checker<'_>,
) -> Option<(String, Sampled)> {
    let path = format!("{path}.where");
    if matches!(series.what, Quantity::Queue | Quantity::Port) {
        let (place, ports) = ports(&series.place, graph, &path, checker)?;
        if series.what == Quantity::Queue {
            return Some((place, Sampled::Queues(ports)));
        }
        let names = port_names(graph);
        let watched =
            |port: &PortId| Watched { part: Part::Port, place: names[port.ix()].clone(), traffic: 0, number: port.0 };
        return Some((place, Sampled::Watched(ports.iter().map(watched).collect())));
    }
    let hosts = graph.hosts as usize;
    let (what, example) = match series.what {
        Quantity::Flow => ("message", first_message(document)),
        Quantity::Traffic => ("traffic", document.traffic.first().map_or(String::new(), |t| t.name.clone())),
        Quantity::Switch => ("switch", graph.names.get(hosts).cloned().unwrap_or_default()),
        _ => ("host", graph.names.first().cloned().unwrap_or_default()),
    };
    let names = match &series.place {
        Place::Names(names) if !names.is_empty() => names,
        Place::Names(_) => {
            checker.fail(&path, format!("no {what} is named"), format!("name at least one, like \"{example}\""));
            return None;
        }
        Place::Set(_) => {
            checker.fail(&path, "this is a set of ports", format!("name each {what}, like [\"{example}\"]"));
            return None;
        }
    };
    let watched = match series.what {
        Quantity::Flow => messages(names, document, &path, checker),
        Quantity::Traffic => traffics(names, document, &path, checker),
        Quantity::Switch => nodes(Part::Switch, names, &graph.names[hosts..], document, &path, checker),
        _ => nodes(Part::Receiver, names, &graph.names[..hosts], document, &path, checker),
    };
    (!watched.is_empty()).then(|| (names.join(", "), Sampled::Watched(watched)))
}

/// An example of the name of a message.
fn first_message(document: &Document) -> String {
    format!("{}:0", document.traffic.first().map_or("traffic", |traffic| traffic.name.as_str()))
}

/// Messages by name: the traffic and the number in it. Invalid names are reported.
fn messages(names: &[String], document: &Document, path: &str, checker: &mut Checker<'_>) -> Vec<Watched> {
    checker.named(names, path, |name| {
        let parts = name.rsplit_once(':').and_then(|(traffic, number)| Some((traffic, number.parse().ok()?)));
        let Some((traffic, number)) = parts else {
            let right = format!("write a traffic and the number of its message, like \"{}\"", first_message(document));
            return Err((format!("\"{name}\" is not a message"), right));
        };
        match document.traffic.iter().position(|t| t.name == traffic) {
            Some(at) => Ok(Watched { part: Part::Flow, place: name.to_string(), traffic: at as u16, number }),
            None => {
                let known = document.traffic.iter().map(|t| t.name.as_str());
                Err((format!("there is no traffic \"{traffic}\""), advice(traffic, known)))
            }
        }
    })
}

/// Traffics by name. Unknown names are reported.
fn traffics(names: &[String], document: &Document, path: &str, checker: &mut Checker<'_>) -> Vec<Watched> {
    let mut found = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        match document.traffic.iter().position(|t| t.name == *name) {
            Some(at) => {
                found.push(Watched { part: Part::Traffic, place: name.clone(), traffic: at as u16, number: 0 });
            }
            None => {
                let right = advice(name, document.traffic.iter().map(|t| t.name.as_str()));
                checker.fail(&format!("{path}[{i}]"), format!("there is no traffic \"{name}\""), right);
            }
        }
    }
    found
}

/// Nodes by name, each for every traffic. Names not in `known` are reported.
fn nodes(
    part: Part,
    names: &[String],
    known: &[String],
    document: &Document,
    path: &str,
    checker: &mut Checker<'_>,
) -> Vec<Watched> {
    let count = names.len().saturating_mul(document.traffic.len());
    if count > MAX_WATCHED {
        let problem = format!("{} names for each of {} traffics", names.len(), document.traffic.len());
        checker.fail(path, problem, format!("name fewer; together they are at most {MAX_WATCHED}"));
        return Vec::new();
    }
    let number_of: HashMap<&str, u32> = known.iter().map(String::as_str).zip(0..).collect();
    let numbers = checker.named(names, path, |name| match number_of.get(name) {
        Some(number) => Ok((name.to_string(), *number)),
        None => {
            let what = if part == Part::Switch { "switch" } else { "host" };
            Err((format!("there is no {what} \"{name}\""), advice(name, known.iter().map(String::as_str))))
        }
    });
    let of =
        |(place, number): &(String, u32), traffic| Watched { part, place: place.clone(), traffic, number: *number };
    let traffics = 0..document.traffic.len() as u16;
    numbers.iter().flat_map(|node| traffics.clone().map(|traffic| of(node, traffic))).collect()
}

/// The ports of a place and its name; `None` after adding a problem.
fn ports(place: &Place, graph: &Graph, path: &str, checker: &mut Checker<'_>) -> Option<(String, Vec<PortId>)> {
    match place {
        Place::Set(set) => {
            let name = match set {
                PortSet::SwitchPorts => "switch-ports",
                PortSet::LastHop => "last-hop",
                PortSet::TorUplinks => "tor-uplinks",
            };
            let ports = ports_of(graph, name).unwrap_or_default();
            if ports.is_empty() {
                checker.fail(path, format!("this network has no {name}"), "use \"last-hop\" or names of ports");
                return None;
            }
            Some((name.to_string(), ports))
        }
        Place::Names(names) => {
            if names.is_empty() {
                checker.fail(path, "no port is named", "name at least one, like \"tor0>h3\"");
                return None;
            }
            let all = port_names(graph);
            let number_of: HashMap<&str, u32> = all.iter().map(String::as_str).zip(0..).collect();
            let ports = checker.named(names, path, |name| match number_of.get(name) {
                Some(port) => Ok(PortId(*port)),
                None => {
                    let known = advice(name, number_of.keys().copied());
                    let right = format!("{known}; a port is named like \"tor0>h3\"");
                    Err((format!("there is no port \"{name}\""), right))
                }
            });
            (ports.len() == names.len()).then(|| (names.join(", "), ports))
        }
    }
}

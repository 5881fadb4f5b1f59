//! A configuration of the ns-3 HPCC simulator under a scheme of the ordinary fabric: its topology, flows, buffer and
//! thresholds become a spec, and finished flows a `fct.txt` in its format.

use super::convert::{ends, graph, pair};
use super::input::{Files, For, Reading};
use super::setup::traffic_name;
use crate::built::Built;
use crate::run::{Outcome, Progress};
use crate::spec::{CheckedSpec, Spec};
use crate::{Problems, ideal};
use fanin_formats::hpcc::{Config, Flow, Link, Topology, balancing, nanoseconds};
use fanin_ns3::files;
use fanin_ns3::mmu::pfc_shift;
use fanin_ns3::results::Finished;
use fanin_ns3::wiring::Wiring;
use fanin_record::{Run, Spool};
use fanin_units::{Bytes, Rate, Time};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;

/// The 2 s in nanoseconds that LINK_DOWN is relative to in that simulator.
const TWO_SECONDS: u64 = 2_000_000_000;
/// Longest window, below the longest run of a spec.
const LONGEST_WINDOW: Time = Time::from_s(800_000);
/// The XON offset of that simulator.
const XON_OFFSET: u64 = 3 << 10;
/// The `LB_MODE` with flowlets.
const LETFLOW: u32 = 6;
/// The pause after which LetFlow begins a new flowlet there.
const FLOWLET_GAP: Time = Time::from_us(100);

/// A spec made from a configuration, and the data to write its results in that simulator's format.
#[derive(Clone, Debug)]
pub struct Ordinary {
    checked: CheckedSpec,
    files: Files,
    /// The flows of each traffic in the order of the spec, with their source ports.
    flows: Vec<Vec<(Flow, u16)>>,
}

impl Ordinary {
    /// Reads a configuration and the files that it names, as [`super::Setup::read`] does, for a scheme. `changes` are
    /// as for [`Spec::set`].
    ///
    /// # Errors
    /// All problems with file, line and correction.
    pub fn read(
        file: &str,
        base: &Path,
        reading: &Reading,
        scheme: &str,
        changes: &[(&str, &str)],
        seed: Option<u64>,
    ) -> Result<Self, Problems> {
        let files = Files::read(file, base, reading, For::Ordinary)?;
        let flows = of_traffics(&files.flows);
        let whole = std::path::absolute(base.join(&files.config.flow_file)).ok();
        let whole = whole.and_then(|path| path.into_os_string().into_string().ok());
        let flow_file = whole.unwrap_or_else(|| files.config.flow_file.clone());
        let dports: Vec<u16> = flows.keys().copied().collect();
        let text = spec(&files, scheme, &flow_file, &dports).to_string();
        let mut spec = Spec::from_json(&text, file, base)?;
        for (key, value) in changes {
            spec = spec.set(key, value)?;
        }
        if let Some(seed) = seed {
            spec = spec.with_seed(seed);
        }
        let mut checked = spec.check()?;
        for warning in &files.warnings {
            checked.warn(warning.to_string());
        }
        checked.warn(differences(&files, scheme));
        Ok(Self { checked, files, flows: flows.into_values().collect() })
    }

    /// The configuration and the files that it names.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The spec.
    pub fn checked(&self) -> &CheckedSpec {
        &self.checked
    }

    /// Runs it on at most that many threads to its end, or until `progress` returns false.
    ///
    /// # Errors
    /// When the FCT file cannot be written.
    pub fn run(&self, threads: usize, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
        let built = Built { threads, ..self.checked.build() };
        let mut outcome = crate::run::run(built, progress);
        ideal::apply(&self.checked, Vec::new(), &mut outcome.run, &mut || true);
        if self.files.too_many_routes().is_none() {
            outcome.run.files.push(self.completions(&outcome.run)?);
        }
        Ok(outcome)
    }

    /// The finished flows in that simulator's format, in the order in which their senders learned of it.
    fn completions(&self, run: &Run) -> io::Result<Spool> {
        let wiring = Wiring::new(&self.files.topology, self.files.config.payload);
        let from = begin(&self.files.flows);
        let mut next = vec![0; self.flows.len()];
        let mut lines = Vec::new();
        for (number, record) in run.flows.iter().enumerate() {
            let traffic = record.traffic as usize;
            let Some(at) = next.get_mut(traffic) else { continue };
            let flow = self.flows[traffic].get(*at);
            *at += 1;
            let Some((flow, sport)) = flow else { continue };
            let node = |host: u32| run.graph.names[host as usize].strip_prefix('h').and_then(|n| n.parse().ok());
            // A changed spec may have other flows.
            let same =
                (node(record.src), node(record.dst), record.bytes) == (Some(flow.src), Some(flow.dst), flow.bytes);
            if !same || !record.acked.is_some() {
                continue;
            }
            let ns = |time: Time| time.as_ps() / 1000;
            let finished = Finished {
                src: flow.src,
                dst: flow.dst,
                sport: *sport,
                dport: flow.dport,
                bytes: flow.bytes,
                start: from + ns(record.start),
                took: ns(record.acked) - ns(record.start),
                round_trip: wiring.round_trip(flow.src, flow.dst),
                narrowest: wiring.narrowest(flow.src, flow.dst),
            };
            lines.push((record.acked, number, files::fct(&finished, self.files.config.payload)));
        }
        lines.sort_unstable_by_key(|(acked, number, _)| (*acked, *number));
        let mut file = Spool::create("fct.txt")?;
        for (.., line) in lines {
            writeln!(file, "{line}")?;
        }
        file.finish()
    }
}

/// The keys of a spec with the network of a configuration, for other messages than those of its flow file, which need
/// not exist. Paths start at the working directory, or else at the configuration's folder.
///
/// # Errors
/// All problems with file, line and correction.
pub(crate) fn network(place: &Path, scheme: &str) -> Result<Map<String, Value>, Problems> {
    let files = Files::read(&place.display().to_string(), Path::new(""), &Reading::default(), For::OtherFlows)?;
    let Value::Object(spec) = spec(&files, scheme, "", &[]) else { unreachable!("it is a table") };
    Ok(spec)
}

/// The flows of each destination port with their source ports, in the order of their starts.
fn of_traffics(flows: &[Flow]) -> BTreeMap<u16, Vec<(Flow, u16)>> {
    let mut sports: HashMap<(u32, u32), u16> = HashMap::new();
    let mut of_port: BTreeMap<u16, Vec<(Flow, u16)>> = BTreeMap::new();
    for flow in flows {
        // Flows of a pair are distinguished by source ports, counted up from 10000 in the order of the file.
        let next = sports.entry((flow.src, flow.dst)).or_insert(10_000);
        of_port.entry(flow.dport).or_default().push((*flow, *next));
        *next = next.wrapping_add(1);
    }
    for flows in of_port.values_mut() {
        flows.sort_by_key(|(flow, _)| nanoseconds(flow.start));
    }
    of_port
}

/// The time in the file that corresponds to the spec's time 0, ns: the whole millisecond before its first flow.
fn begin(flows: &[Flow]) -> u64 {
    let first = flows.iter().filter_map(|flow| nanoseconds(flow.start)).min().unwrap_or(0);
    first - first % 1_000_000
}

/// The spec of a configuration.
fn spec(files: &Files, scheme: &str, flow_file: &str, dports: &[u16]) -> Value {
    let Files { config, topology, flows, .. } = files;
    let from = begin(flows);
    let time = |ns: u64| Time::from_ps(ns.saturating_mul(1000)).min(LONGEST_WINDOW);
    let stop = nanoseconds(config.stop).unwrap_or(u64::MAX).saturating_sub(from).max(1);
    // A change is of all links between two nodes; what the last of parallel links has counts.
    let last: HashMap<_, _> = topology.links.iter().enumerate().map(|(at, link)| (pair(link), at)).collect();
    let links = topology.links.iter().enumerate().filter(|(at, link)| last[&pair(link)] == *at);
    let changes: Vec<Value> = links
        .filter_map(|(_, link)| {
            let error_rate = if link.error_rate > 0.0 { link.error_rate } else { config.error_rate_per_link };
            let down =
                config.link_down.filter(|(_, a, b)| (*a, *b) == (link.a, link.b) || (*b, *a) == (link.a, link.b));
            let down = down.map(|(after, ..)| {
                let at = time((TWO_SECONDS + after.saturating_mul(1000)).saturating_sub(from));
                [at.to_string(), (at + LONGEST_WINDOW).to_string()]
            });
            (error_rate > 0.0 || down.is_some()).then(
                || json!({ "between": ends(topology, link), "error_rate": error_rate, "down": Vec::from_iter(down) }),
            )
        })
        .collect();
    let traffic = |dport: &u16| {
        let mut traffic = json!({
            "name": traffic_name(*dport),
            "scheme": scheme,
            "pattern": { "kind": "hpcc", "file": flow_file, "dport": dport, "from": time(from).to_string() },
        });
        if config.enable_irn {
            traffic["rdma"] = json!({ "recovery": "irn" });
        }
        traffic
    };
    let pool = Bytes(u64::from(config.buffer_mib) << 20).to_string();
    let buffer = match config.enable_pfc {
        true => json!({
            "pool": pool,
            "policy": "lossless",
            "xon_offset": Bytes(XON_OFFSET).to_string(),
            "by_rate": thresholds(topology),
        }),
        false => json!({ "pool": pool, "policy": "lossy" }),
    };
    let mut spec = json!({
        "spec_version": 1,
        "name": files.name,
        "network": {
            "topology": graph(topology),
            // Header sizes of data, ACKs and pause frames in that simulator; the bytes of a scheme are added to these.
            "packet": {
                "payload": Bytes(config.payload.into()).to_string(),
                "header": "48 B",
                "ack": "60 B",
                "pause": "43 B",
            },
            "buffer": buffer,
            "marking_by_rate": markings(config, &topology.links),
            "links": changes,
        },
        "traffic": dports.iter().map(traffic).collect::<Vec<_>>(),
        "measure": { "window": time(stop).to_string(), "stop_when_done": true, "drain": false },
    });
    if config.lb_mode == LETFLOW {
        spec["network"]["balancing"] = json!("flowlets");
        spec["network"]["flowlet_gap"] = json!(FLOWLET_GAP.to_string());
    }
    spec
}

/// Thresholds of PFC at the rates of links, where they are not those of the hosts' rate.
fn thresholds(topology: &Topology) -> Vec<Value> {
    let of_first = |host: u32| topology.links.iter().find(|link| link.a == host || link.b == host);
    let first_host = topology.is_switch.iter().position(|is_switch| !is_switch);
    let host_rate = first_host.and_then(|host| of_first(host as u32)).map_or(0, |link| link.rate);
    let factor = |rate: u64| 1.0 / f64::from(1u32 << pfc_shift(rate, host_rate));
    let other = |rate: u64| {
        (factor(rate) != factor(host_rate))
            .then(|| json!({ "rate": Rate::from_bps(rate).to_string(), "pfc_alpha": factor(rate) }))
    };
    rates(&topology.links).into_iter().filter_map(other).collect()
}

fn rates(links: &[Link]) -> Vec<u64> {
    let mut rates: Vec<u64> = links.iter().map(|link| link.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// Markings of the rates of links. A threshold that the whole buffer cannot reach marks nothing, and is left out.
fn markings(config: &Config, links: &[Link]) -> Vec<Value> {
    let of = |rate: u64| {
        let kb = |map: &[(u64, u32)]| map.iter().find(|(of, _)| *of == rate).map(|(_, kb)| u64::from(*kb) * 1000);
        let (min, max) = (kb(&config.kmin)?, kb(&config.kmax)?);
        let probability = config.pmax.iter().find(|(of, _)| *of == rate)?.1;
        let reached = config.enable_qcn && min < u64::from(config.buffer_mib) << 20;
        let red = json!({
            "kind": "red",
            "min": Bytes(min).to_string(),
            "max": Bytes(max).to_string(),
            "probability": probability,
        });
        reached.then(|| json!({ "rate": Rate::from_bps(rate).to_string(), "marking": red }))
    };
    rates(links).into_iter().filter_map(of).collect()
}

/// One warning about all differences to that simulator.
fn differences(files: &Files, scheme: &str) -> String {
    let Files { config, flows, .. } = files;
    let mut without = Vec::new();
    if !config.ack_high_prio {
        without.push("ACK_HIGH_PRIO 0 (ACKs go first here)".to_string());
    }
    if config.l2_back_to_zero {
        without.push("L2_BACK_TO_ZERO 1 (losses go back N here)".to_string());
    }
    if ![0, LETFLOW].contains(&config.lb_mode) {
        let mode = config.lb_mode;
        without.push(format!("LB_MODE {mode}{} (paths by flow hash here, or --balancing)", balancing(mode)));
    }
    if flows.iter().any(|flow| flow.pg != 3) {
        without.push("priority groups (all data share a queue here)".to_string());
    }
    let without = match without[..] {
        [] => String::new(),
        _ => format!("; without effect: {}", without.join(", ")),
    };
    let fct = match files.too_many_routes() {
        Some((nodes, _)) => format!("; there is no fct.txt of so many nodes, {nodes}"),
        None => String::new(),
    };
    let others = match files.not_taken[..] {
        [] => String::new(),
        _ => format!("; keys that are not taken: {}", files.not_taken.join(", ")),
    };
    format!(
        "{} runs under {scheme} on the ordinary network, with its topology, flows, buffer and thresholds, and not with \
         what it says about control{without}{fct}; docs/ns3-hpcc.md lists what differs{others}",
        files.name
    )
}

//! A validated spec, and the objects of a run that are made from it.

use super::HostNames;
use super::built::{Built, Measure};
use super::document::Document;
use super::setting::NO_WAY;
use super::source::Source;
use crate::error::{Problem, Problems};
use fanin_engine::Streams;
use fanin_fabric::topology::Reach;
use fanin_fabric::{Message, NetworkConfig, Placed, TrafficConfig};
use fanin_units::Time;
use fanin_workload::{Expected, FlowList, ListedFlow, Pattern, Places, merge};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A validated spec with all defaults filled in. Only [`Spec::check`](super::Spec::check) creates one.
#[derive(Clone, Debug)]
pub struct CheckedSpec {
    pub(super) document: Document,
    pub(super) source: Source,
    pub(super) network: NetworkConfig,
    pub(super) traffics: Vec<TrafficConfig>,
    pub(super) workloads: Vec<fanin_workload::Traffic>,
    pub(super) places: Places,
    pub(super) measure: Measure,
    pub(super) warnings: Vec<String>,
}

impl PartialEq for CheckedSpec {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
    }
}

impl CheckedSpec {
    /// The spec with all defaults filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The network it describes.
    pub fn network(&self) -> &NetworkConfig {
        &self.network
    }

    /// Its measurements.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Its hosts, by name and by number.
    pub fn host_names(&self) -> HostNames {
        HostNames::new(&self.network.graph.names[..self.network.graph.hosts as usize])
    }

    /// Bytes of the largest data packet on the wire, with those that schemes add.
    pub fn largest_packet(&self) -> u64 {
        let packet = &self.network.packet;
        let extra = self.traffics.iter().map(|traffic| traffic.scheme.header_overhead().data).max().unwrap_or(0);
        u64::from(packet.payload) + u64::from(packet.header) + u64::from(extra)
    }

    /// Warnings for the results.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a warning for the results.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// A problem with a key of the spec, in its place, and what would be right; for those who run specs elsewhere.
    pub fn problem(&self, key: &str, problem: &str, right: &str) -> Problem {
        self.source.problem(key, problem, right)
    }

    /// The resolved spec as TOML. It reads back as an equal checked spec, from any folder.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.document).expect("a document that was read has only values that TOML has")
    }

    /// The resolved spec as JSON.
    pub fn to_json(&self) -> Value {
        self.document.to_json().expect("a document that was read has only values that JSON has")
    }

    /// The objects of the run.
    pub fn build(&self) -> Built {
        self.build_with(Vec::new()).expect("without flows of the caller's there is nothing left to check")
    }

    /// The objects of the run, with flows of the caller added. They belong to the first traffic.
    ///
    /// # Errors
    /// If a flow is impossible on the network.
    pub fn build_with(&self, flows: Vec<ListedFlow>) -> Result<Built, Problems> {
        let messages = self.messages(flows)?;
        let triggers = |pattern: &Pattern| matches!(pattern, Pattern::List(list) if list.has_triggers());
        let at_once = |pattern: &Pattern| matches!(pattern, Pattern::Graph(graph) if graph.acts_at_once());
        let any = |is: &dyn Fn(&Pattern) -> bool| self.workloads.iter().any(|workload| is(&workload.pattern));
        let one_thread = match () {
            () if any(&triggers) => Some("htsim's triggers act between hosts at once"),
            () if any(&at_once) => Some("sends that end as their messages arrive act between hosts at once"),
            () => None,
        };
        let placed = |(number, workload): (u16, &fanin_workload::Traffic)| match &workload.pattern {
            Pattern::Graph(graph) => {
                let (start, job, hosts) = (workload.start, graph.job.clone(), graph.hosts.clone());
                Some(Placed { traffic: number, start, job, hosts })
            }
            _ => None,
        };
        Ok(Built {
            network: self.network.clone(),
            traffics: self.traffics.clone(),
            messages,
            jobs: (0..).zip(&self.workloads).filter_map(placed).collect(),
            measure: self.measure.clone(),
            warnings: self.warnings.clone(),
            threads: 1,
            one_thread,
        })
    }

    /// The job whose nodes send the messages of a traffic.
    pub(crate) fn job_of(&self, traffic: u16) -> Option<&fanin_graph::Job> {
        match &self.workloads.get(usize::from(traffic))?.pattern {
            Pattern::Graph(graph) => Some(&graph.job),
            _ => None,
        }
    }

    /// The names of traffics whose messages are sent by nodes of a job.
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        let named = self.workloads.iter().zip(&self.document.traffic);
        named.filter(|(workload, _)| matches!(workload.pattern, Pattern::Graph(_))).map(|(_, of)| of.name.as_str())
    }

    /// Writes the job of a traffic, by default of the first that has one: a GOAL schedule to a file that ends in
    /// `.goal` or `.bin`, otherwise Chakra traces. Returns the files.
    ///
    /// # Errors
    /// There is no such job, or it cannot be written.
    pub fn write_job(&self, traffic: Option<&str>, out: &Path) -> Result<Vec<PathBuf>, String> {
        let named = self.workloads.iter().zip(&self.document.traffic);
        let mut jobs = named.filter_map(|(workload, of)| match &workload.pattern {
            Pattern::Graph(graph) if traffic.is_none_or(|name| of.name == name) => Some(&graph.job),
            _ => None,
        });
        let job = jobs.next().ok_or_else(|| match traffic {
            Some(name) => format!("there is no traffic \"{name}\" with a job; name one of a collective"),
            None => "no traffic has a job; one with pattern = { kind = \"all-reduce\", ... } has".to_string(),
        })?;
        fanin_formats::graphs::write(job, out).map_err(|error| error.to_string())
    }

    /// The messages of a run in order of start times, with flows of the caller added; the same ones for every call.
    ///
    /// # Errors
    /// As [`CheckedSpec::build_with`].
    pub(crate) fn messages(
        &self,
        flows: Vec<ListedFlow>,
    ) -> Result<Box<dyn Iterator<Item = Message> + Send>, Problems> {
        let streams = Streams::new(self.network.seed);
        let until = self.messages_until();
        let mut sources = Vec::with_capacity(self.workloads.len() + 1);
        for (number, workload) in self.workloads.iter().enumerate() {
            let flows = workload.flows(&self.places, &streams, number as u16, until);
            sources.push(flows.expect("a checked spec's workloads have been planned before"));
        }
        if !flows.is_empty() {
            let reach = Some(&self.network.graph).filter(|_| self.document.network.topology.may_part());
            let hosts = self.network.graph.hosts;
            let mut known = flows.iter().filter(|flow| flow.src < hosts && flow.dst < hosts);
            let apart = |reach: &Reach| known.find(|flow| !reach.joins(flow.src, flow.dst)).cloned();
            if let Some(flow) = reach.and_then(Reach::of).as_ref().and_then(apart) {
                let [from, to] = [flow.src, flow.dst].map(|host| &self.network.graph.names[host as usize]);
                let problem = format!("the given flows: no way leads from host \"{from}\" to host \"{to}\"");
                return Err(self.source.problem("", problem, NO_WAY).into());
            }
            let given = fanin_workload::Traffic { start: Time::ZERO, pattern: Pattern::List(FlowList::new(flows)) };
            let given = given.flows(&self.places, &streams, 0, until);
            sources.push(given.map_err(|error| self.source.problem("", format!("the given flows: {error}"), ""))?);
        }
        let message = |flow: fanin_workload::Flow| Message {
            start: flow.start,
            src: flow.src,
            dst: flow.dst,
            bytes: flow.bytes,
            traffic: flow.traffic,
            group: flow.group,
            senders: flow.senders,
            sent_by: flow.sent_by,
            dependency: fanin_fabric::Dependency {
                after: flow.dependency.after,
                in_turn: flow.dependency.in_turn,
                delay: flow.dependency.delay,
                answers: flow.dependency.answers,
                counts: flow.dependency.counts,
                counts_acked: flow.dependency.counts_acked,
            },
        };
        Ok(Box::new(merge(sources).map(message)))
    }

    /// The expected load of each traffic, without flows of a caller.
    pub(crate) fn expected(&self) -> Vec<Expected> {
        let until = self.messages_until();
        let of = |workload: &fanin_workload::Traffic| workload.expected(&self.places, until);
        self.workloads.iter().map(|w| of(w).expect("a checked spec's workloads have been planned before")).collect()
    }

    /// Its traffics, by number.
    pub fn traffics(&self) -> &[TrafficConfig] {
        &self.traffics
    }

    /// The end of the measured window, after which no new messages are posted.
    fn messages_until(&self) -> Time {
        self.measure.warm_up.saturating_add(self.measure.window)
    }
}

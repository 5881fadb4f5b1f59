//! Patterns whose messages are sent by the nodes of a job: collectives and files of graphs.

use super::document::{Collective, Pattern, Placement, SendDone, Slots, Slow, Traces};
use super::one::One;
use super::setting::Setting;
use crate::error::Problem;
use fanin_engine::Streams;
use fanin_formats::graphs::Graphs;
use fanin_formats::msccl::USUAL_SIZE;
use fanin_graph::collectives::{ALGORITHMS, Method, algorithm};
use fanin_graph::job::{Job, Listed, SendEnds, Wrong};
use fanin_graph::{Holds, Kind, LARGEST, LONGEST, Node, Operation, Rules};
use fanin_units::{Bytes, Time};
use fanin_workload::Graph;
use std::path::PathBuf;
use std::sync::Arc;

/// Most nodes of a job in a spec.
pub(super) const MOST_NODES: u64 = 60_000_000;

/// Whether nodes of a job send the messages of a pattern.
pub(super) fn is_graph(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::AllToAll(of) => of.is_collective(),
        Pattern::AllReduce(_)
        | Pattern::AllGather(_)
        | Pattern::ReduceScatter(_)
        | Pattern::Broadcast(_)
        | Pattern::Pipeline { .. }
        | Pattern::Training { .. }
        | Pattern::Goal { .. }
        | Pattern::Chakra(_)
        | Pattern::SimAi(_)
        | Pattern::Msccl { .. }
        | Pattern::SimCcl { .. } => true,
        _ => false,
    }
}

impl Collective {
    /// Whether it has bytes of its own, and is no pattern of messages that all have the traffic's size.
    pub(super) fn is_collective(&self) -> bool {
        self.size.is_some() || self.sizes.is_some() || self.sizes_file.is_some()
    }
}

impl One<'_, '_> {
    /// The hosts of a pattern that is no collective, and has none of its keys.
    pub(super) fn only_hosts<'a>(&mut self, of: &'a Collective) -> Option<&'a Option<Vec<String>>> {
        let given = [
            ("algorithm", of.algorithm.is_some()),
            ("placement", of.placement.is_some()),
            ("server", of.server.is_some()),
            ("channels", of.channels.is_some()),
            ("chunk", of.chunk.is_some()),
            ("window", of.window.is_some()),
            ("pxn", of.pxn.is_some()),
            ("repeat", of.repeat.is_some()),
            ("slow", of.slow.is_some()),
            ("compute", of.compute.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
            let right = "write size in the pattern instead of in the traffic, or leave this out";
            self.fail(&format!("pattern.{key}"), "it is a key of collectives, which have pattern.size", right);
            return None;
        }
        Some(&of.hosts)
    }

    /// The job of a pattern that computes nothing itself on its hosts; `None` after adding a problem.
    pub(super) fn graph(&mut self, pattern: &mut Pattern, setting: &Setting<'_>) -> Option<Graph> {
        let operation = match pattern {
            Pattern::AllToAll(_) => Operation::AllToAll,
            Pattern::AllReduce(_) => Operation::AllReduce,
            Pattern::AllGather(_) => Operation::AllGather,
            Pattern::ReduceScatter(_) => Operation::ReduceScatter,
            _ => Operation::Broadcast,
        };
        match pattern {
            Pattern::AllToAll(of)
            | Pattern::AllReduce(of)
            | Pattern::AllGather(of)
            | Pattern::ReduceScatter(of)
            | Pattern::Broadcast(of) => {
                let hosts = self.placed(&of.hosts, of.placement, None, setting)?;
                let job = self.collective(operation, of, hosts.len())?;
                let job = self.slowed(job, of.slow.as_ref())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::Goal { file, hosts, placement, slow, slots, send_done } => {
                let slots = *slots.get_or_insert(Slots::Cpu);
                let graphs = self.file("goal", file, Ok)?;
                let hosts = self.placed(hosts, *placement, Some(("the file has", graphs.ranks())), setting)?;
                let job = self.job_of(&graphs, slots, *send_done, &Method::default())?;
                let job = self.slowed(job, slow.as_ref())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::Chakra(of) => self.traces("chakra", of, Slots::AstraSim, setting),
            Pattern::SimAi(of) => self.traces("simai", of, Slots::None, setting),
            Pattern::Msccl { file, size, hosts, placement, send_done } => {
                let size = size.get_or_insert(Bytes(USUAL_SIZE)).get();
                if size > LARGEST {
                    self.fail("pattern.size", format!("{} is too large", Bytes(size)), "write at most 2^50 B");
                    return None;
                }
                let graphs =
                    self.file("msccl", file, |graphs| graphs.with_size(size).map_err(|error| ("size", error)))?;
                let hosts = self.placed(hosts, *placement, Some(("the file has", graphs.ranks())), setting)?;
                let job = self.job_of(&graphs, Slots::None, *send_done, &Method::default())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::SimCcl { file, hosts, placement, send_done } => {
                let graphs = self.file("simccl", file, Ok)?;
                let hosts = self.placed(hosts, *placement, Some(("the file has", graphs.ranks())), setting)?;
                let job = self.job_of(&graphs, Slots::None, *send_done, &Method::default())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            _ => None,
        }
    }

    /// The job of files whose collectives are carried out here.
    fn traces(&mut self, kind: &str, of: &mut Traces, usual: Slots, setting: &Setting<'_>) -> Option<Graph> {
        let Traces { file, groups, hosts, placement, slow, slots, send_done, .. } = of;
        let slots = *slots.get_or_insert(usual);
        self.known(of.algorithm.as_deref())?;
        let method = self.method((of.algorithm.as_deref(), of.window), (of.server, of.pxn), of.channels, of.chunk)?;
        let groups = groups.as_mut().map(|groups| self.named(groups));
        let graphs = self.file(kind, file, |graphs| match &groups {
            Some(groups) => graphs.with_groups(groups).map_err(|error| ("groups", error)),
            None => Ok(graphs),
        })?;
        let hosts = self.placed(hosts, *placement, Some(("the file has", graphs.ranks())), setting)?;
        let job = self.job_of(&graphs, slots, *send_done, &method)?;
        let job = self.slowed(job, slow.as_ref())?;
        Some(Graph { job: Arc::new(job), hosts })
    }

    /// Bytes of an all-to-all from each rank to each, if they are given.
    fn sizes(&mut self, operation: Operation, of: &mut Collective, ranks: usize) -> Option<Option<Vec<u64>>> {
        let (key, other) = match (&of.sizes, &of.sizes_file) {
            (None, None) => return Some(None),
            (Some(_), other) => ("pattern.sizes", other.as_ref().map(|_| "pattern.sizes_file")),
            (None, Some(_)) => ("pattern.sizes_file", None),
        };
        if operation != Operation::AllToAll {
            self.fail(key, format!("{} has one size", operation.name()), "write size, or use all-to-all");
            return None;
        }
        if let Some(other) = other.or(of.size.map(|_| "pattern.size")) {
            self.fail(key, format!("{other} says the bytes too"), "leave one of them out");
            return None;
        }
        let sizes: Vec<u64> = match (&of.sizes, &mut of.sizes_file) {
            (Some(rows), _) => {
                let wrong = rows.iter().position(|row| row.len() != ranks);
                if rows.len() != ranks || wrong.is_some() {
                    let problem = match wrong {
                        Some(row) if rows.len() == ranks => format!("list {row} has {} sizes", rows[row].len()),
                        _ => format!("it has {} lists", rows.len()),
                    };
                    let right = format!("there are {ranks} ranks; write a list of {ranks} sizes for each");
                    self.fail(key, problem, right);
                    return None;
                }
                rows.iter().flatten().map(|size| size.get()).collect()
            }
            (None, Some(file)) => {
                let path = self.named(file);
                let name = path.display().to_string();
                let text = fanin_formats::input::read_text(&path);
                let read = text
                    .map_err(|cause| fanin_formats::Error { file: name.clone(), line: 0, what: cause.to_string() })
                    .and_then(|text| fanin_formats::tables::read_sizes(&name, &text, ranks as u32));
                match read {
                    Ok(sizes) => sizes,
                    Err(error) => {
                        let key = format!("{}.{key}", self.path);
                        self.checker.problems.push(Problem { key, ..error.into() });
                        return None;
                    }
                }
            }
            (None, None) => Vec::new(),
        };
        let sent = |at: usize| at / ranks != at % ranks && sizes[at] > 0;
        if !(0..sizes.len()).any(sent) {
            self.fail(key, "no rank has anything for another one", "write sizes above 0");
            return None;
        }
        if let Some(size) = sizes.iter().find(|size| **size > LARGEST) {
            self.fail(key, format!("{} is too large", Bytes(*size)), "write at most 2^50 B");
            return None;
        }
        Some(Some(sizes))
    }

    /// Whether some operation has an algorithm of this name.
    pub(super) fn known(&mut self, name: Option<&str>) -> Option<()> {
        let Some(name) = name else { return Some(()) };
        let mut names: Vec<&str> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        names.sort_unstable();
        names.dedup();
        if names.contains(&name) {
            return Some(());
        }
        self.fail("pattern.algorithm", format!("there is no algorithm \"{name}\""), super::shape::advice(name, names));
        None
    }

    pub(super) fn method<'a>(
        &mut self,
        (algorithm, window): (Option<&'a str>, Option<u32>),
        (server, pxn): (Option<u32>, Option<bool>),
        channels: Option<u32>,
        chunk: Option<Bytes>,
    ) -> Option<Method<'a>> {
        for (key, zero) in [
            ("server", server == Some(0)),
            ("channels", channels == Some(0)),
            ("chunk", chunk.is_some_and(|chunk| chunk.get() == 0)),
            ("window", window == Some(0)),
        ] {
            if zero {
                self.fail(&format!("pattern.{key}"), "it is 0", "write at least 1, or leave it out");
                return None;
            }
        }
        let pxn = pxn.unwrap_or(false);
        if pxn && server.is_none_or(|server| server < 2) {
            let right = "write the ranks of a server, like server = 8, or leave it out";
            self.fail("pattern.pxn", "messages pass through neighbours in a server of at least 2 ranks", right);
            return None;
        }
        let (channels, chunk) = (channels.unwrap_or(1), chunk.map(|chunk| chunk.get()));
        Some(Method { algorithm, channels, chunk, server, window, pxn, sizes: None })
    }

    /// A file that a key of the pattern names, whose name is replaced by its absolute path.
    fn named(&self, file: &mut String) -> PathBuf {
        let path = self.checker.source.folder.join(&*file);
        if let Some(absolute) =
            std::path::absolute(&path).ok().and_then(|path| path.into_os_string().into_string().ok())
        {
            *file = absolute;
        }
        path
    }

    /// The graphs in the file of a pattern of this kind, `with` what other keys say; an error there has the key.
    fn file(
        &mut self,
        kind: &str,
        file: &mut String,
        with: impl FnOnce(Graphs) -> Result<Graphs, (&'static str, fanin_formats::Error)>,
    ) -> Option<Graphs> {
        let path = self.named(file);
        let graphs = match Graphs::open_as(kind, &path).map_err(|error| ("file", error)).and_then(with) {
            Ok(graphs) => graphs,
            Err((key, error)) => {
                let key = format!("{}.pattern.{key}", self.path);
                self.checker.problems.push(Problem { key, ..error.into() });
                return None;
            }
        };
        match graphs.check() {
            Ok(warnings) => self.checker.warnings.extend(warnings.iter().map(ToString::to_string)),
            Err(errors) => {
                self.checker.problems.extend(errors.kept().0.iter().cloned().map(Problem::from));
                return None;
            }
        }
        if graphs.interfaces() > 1 {
            let (interfaces, name) = (graphs.interfaces(), path.display());
            self.checker.warnings.push(format!(
                "{name}: its ranks have {interfaces} network interfaces; each rank is one host here, with its own links"
            ));
        }
        Some(graphs)
    }

    fn job_of(
        &mut self,
        graphs: &Graphs,
        slots: Slots,
        send_done: Option<SendDone>,
        method: &Method<'_>,
    ) -> Option<Job> {
        let send_ends = match send_done.unwrap_or_default() {
            SendDone::Acked => SendEnds::Acked,
            SendDone::Arrived => SendEnds::Arrived,
        };
        let rules = match slots {
            Slots::AstraSim => Rules { holds: Holds::WorkAndSends, first_ready: false },
            Slots::Cpu | Slots::None => Rules { holds: Holds::Work, first_ready: true },
        };
        match graphs.job(rules, method) {
            Ok(job) if slots == Slots::None => Some(job.without_slots().with_sends(send_ends)),
            Ok(job) => Some(job.with_sends(send_ends)),
            Err(error) => {
                self.checker.problems.push(error.into());
                None
            }
        }
    }

    /// The job with its slow ranks.
    pub(super) fn slowed(&mut self, job: Job, slow: Option<&Slow>) -> Option<Job> {
        let Some(Slow { ranks, factor }) = slow else { return Some(job) };
        if let Some(rank) = ranks.iter().find(|rank| **rank as usize >= job.ranks.len()) {
            let right = format!("they are 0 to {}", job.ranks.len() - 1);
            self.fail("pattern.slow.ranks", format!("there is no rank {rank}"), right);
            return None;
        }
        if !(*factor > 0.0 && *factor <= 1e6) {
            let right = "write a number above 0 and at most 1000000, like 1.5";
            self.fail("pattern.slow.factor", format!("{factor} is no possible factor"), right);
            return None;
        }
        Some(job.slowed(ranks, *factor))
    }

    /// A time of a computation in ns.
    pub(super) fn ns(&mut self, key: &str, time: Time) -> Option<u64> {
        let ns = time.as_ps() / 1000;
        let (problem, right) = match () {
            () if !time.as_ps().is_multiple_of(1000) => ("is no whole number of ns", "round it"),
            () if ns > LONGEST => ("is too long", "write at most 2^53 ns"),
            () => return Some(ns),
        };
        self.fail(&format!("pattern.{key}"), format!("{time} {problem}"), right);
        None
    }

    /// The job of repeated collectives.
    fn collective(&mut self, operation: Operation, of: &mut Collective, ranks: usize) -> Option<Job> {
        let sizes = self.sizes(operation, of, ranks)?;
        // Of different sizes it is the mean over the ranks.
        let mean = sizes.as_ref().map(|sizes| Bytes((sizes.iter().sum::<u64>() / ranks as u64).max(1)));
        let Some(size) = of.size.or(mean) else {
            self.fail("pattern.size", "this key is missing", "write it like \"64 MB\"");
            return None;
        };
        let name = of.algorithm.clone();
        let method = self.method((name.as_deref(), of.window), (of.server, of.pxn), of.channels, of.chunk)?;
        let method = Method { sizes: sizes.as_deref(), ..method };
        let name = match algorithm(operation, method.algorithm) {
            Ok(known) => known.name,
            Err(why) => {
                let (problem, right) = why.split_once("; ").unwrap_or((&why, ""));
                self.fail("pattern.algorithm", problem, right);
                return None;
            }
        };
        if of.window.is_some() && name != "direct" {
            self.fail("pattern.window", format!("window goes with direct, and this is {name}"), "leave it out");
            return None;
        }
        if let Some(server) = of.server.filter(|server| method.pxn && !ranks.is_multiple_of(*server as usize)) {
            let problem = format!("{ranks} ranks are no whole number of servers of {server}");
            self.fail("pattern.pxn", problem, "let server divide the ranks, or leave this out");
            return None;
        }
        let (repeat, compute) = (of.repeat.unwrap_or(1), of.compute.unwrap_or(Time::ZERO));
        let ns = self.ns("compute", compute)?;
        let wrong = match () {
            () if repeat == 0 => Some(("repeat", "it is 0".to_string(), "write at least 1")),
            () if size.get() > LARGEST => Some(("size", format!("{size} is too large"), "write at most 2^50 B")),
            () => None,
        };
        if let Some((key, problem, right)) = wrong {
            self.fail(&format!("pattern.{key}"), problem, right);
            return None;
        }
        // A trace counts what a rank contributes to an all-gather.
        let bytes = if operation == Operation::AllGather { size.get() / ranks as u64 } else { size.get() };
        if operation == Operation::AllGather && !size.get().is_multiple_of(ranks as u64) {
            let problem = format!("{size} cannot be divided among {ranks} ranks equally");
            self.fail("pattern.size", problem, format!("write {} B", bytes.max(1) * ranks as u64));
            return None;
        }
        let pieces = of.chunk.map_or(1, |chunk| size.get().div_ceil(chunk.get())).max(u64::from(method.channels));
        let nodes = (ranks as u64).saturating_mul(ranks as u64).saturating_mul(4 * u64::from(repeat));
        if nodes.max((ranks as u64).saturating_mul(pieces).saturating_mul(u64::from(repeat))) > MOST_NODES {
            let right = format!("make repeat or the number of chunks smaller, at most {MOST_NODES} messages");
            self.fail("pattern", "it has too many messages", right);
            return None;
        }
        let rank = || {
            let mut nodes: Vec<Node> = Vec::with_capacity(2 * repeat as usize);
            for _ in 0..repeat {
                for kind in [Kind::Delay { ns }, Kind::Collective { operation, bytes, group: 0 }] {
                    let id = nodes.len() as u64;
                    nodes.push(Node {
                        id,
                        kind,
                        after_end: id.checked_sub(1).into_iter().collect(),
                        ..Node::default()
                    });
                }
            }
            Listed::new(nodes)
        };
        let mut sources: Vec<Listed> = (0..ranks).map(|_| rank()).collect();
        let rules = Rules { holds: Holds::Work, first_ready: false };
        match Job::new(&mut sources, rules, &method) {
            Ok(job) => {
                of.algorithm = Some(name.to_string());
                Some(job)
            }
            Err(Wrong::Node { what, .. }) => {
                let (problem, right) = what.split_once("; ").unwrap_or((&what, ""));
                let key = match () {
                    () if what.contains("too few") => "pattern.size",
                    () => "pattern.algorithm",
                };
                self.fail(key, problem, right);
                None
            }
        }
    }

    /// The host of each rank; all hosts are ranks where their number is not given, with words that say what has them.
    pub(super) fn placed(
        &mut self,
        names: &Option<Vec<String>>,
        placement: Option<Placement>,
        ranks: Option<(&str, usize)>,
        setting: &Setting<'_>,
    ) -> Option<Arc<[u32]>> {
        let mut hosts = self.hosts("pattern.hosts", names, setting)?.unwrap_or_else(|| (0..setting.hosts).collect());
        match placement.unwrap_or_default() {
            Placement::Packed => {}
            Placement::Strided => hosts = strided(&hosts, &setting.places.rack_of),
            Placement::Random => {
                let traffic = self.path.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
                Streams::new(setting.seed).stream("placement", traffic).shuffle(&mut hosts);
            }
        }
        let least = ranks.map_or(2, |(_, ranks)| ranks);
        if hosts.len() < least {
            let (problem, count) = match ranks {
                Some((what, ranks)) => (format!("{what} {ranks} ranks, and there are {} hosts", hosts.len()), ranks),
                None => (format!("{} hosts are too few", hosts.len()), 2),
            };
            let key = if names.is_some() { "pattern.hosts" } else { "pattern" };
            self.fail(key, problem, format!("name {count} hosts, or a network that has them"));
            return None;
        }
        hosts.truncate(ranks.map_or(hosts.len(), |(_, ranks)| ranks));
        Some(hosts.into())
    }
}

/// The hosts, one of each rack in turn.
fn strided(hosts: &[u32], rack_of: &[u32]) -> Vec<u32> {
    let mut turns = std::collections::BTreeMap::new();
    let mut keyed: Vec<(u32, u32, u32)> = hosts
        .iter()
        .map(|host| {
            let rack = rack_of.get(*host as usize).copied().unwrap_or(0);
            let turn: &mut u32 = turns.entry(rack).or_default();
            *turn += 1;
            (*turn, rack, *host)
        })
        .collect();
    keyed.sort_by_key(|(turn, rack, _)| (*turn, *rack));
    keyed.into_iter().map(|(.., host)| host).collect()
}

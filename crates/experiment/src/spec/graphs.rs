//! Patterns whose messages are sent by the nodes of a job: collectives, GOAL schedules and Chakra traces.

use super::document::{self, Collective, Pattern, Placement, SendDone, Slots};
use super::one::One;
use super::setting::Setting;
use crate::error::Problem;
use fanin_engine::Streams;
use fanin_formats::graphs::Graphs;
use fanin_graph::collectives::{ALGORITHMS, Method, algorithm};
use fanin_graph::job::{Job, Listed, SendEnds, Wrong};
use fanin_graph::pipeline::{Pipeline, Schedule};
use fanin_graph::{Holds, Kind, LARGEST, LONGEST, Node, Operation, Rules};
use fanin_units::{Bytes, Time};
use fanin_workload::Graph;
use std::sync::Arc;

/// Most nodes of a job in a spec.
const MOST_NODES: u64 = 60_000_000;

/// Whether nodes of a job send the messages of a pattern.
pub(super) fn is_graph(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::AllToAll(of) => of.size.is_some(),
        Pattern::AllReduce(_)
        | Pattern::AllGather(_)
        | Pattern::ReduceScatter(_)
        | Pattern::Broadcast(_)
        | Pattern::Pipeline { .. }
        | Pattern::Goal { .. }
        | Pattern::Chakra { .. } => true,
        _ => false,
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
            ("repeat", of.repeat.is_some()),
            ("compute", of.compute.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
            let right = "write size in the pattern instead of in the traffic, or leave this out";
            self.fail(&format!("pattern.{key}"), "it is a key of collectives, which have pattern.size", right);
            return None;
        }
        Some(&of.hosts)
    }

    /// The job of a pattern on its hosts; `None` after adding a problem.
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
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::Pipeline { schedule, size, micro_batches, forward, backward, repeat, hosts, placement } => {
                let hosts = self.placed(hosts, *placement, None, setting)?;
                let schedule = match schedule {
                    document::Schedule::GPipe => Schedule::GPipe,
                    document::Schedule::OneForwardOneBackward => Schedule::OneForwardOneBackward,
                };
                let (micro_batches, steps) = (*micro_batches, repeat.unwrap_or(1));
                let nodes = 6 * hosts.len() as u64 * u64::from(micro_batches).saturating_mul(steps.into());
                let wrong = match () {
                    () if micro_batches == 0 || micro_batches > 1 << 20 => {
                        Some(("micro_batches", format!("it is {micro_batches}"), "write 1 to 1048576"))
                    }
                    () if steps == 0 => Some(("repeat", "it is 0".to_string(), "write at least 1")),
                    () if nodes > MOST_NODES => {
                        Some(("repeat", format!("these are {nodes} nodes"), "make repeat or micro_batches smaller"))
                    }
                    () if size.get() > LARGEST => {
                        Some(("size", format!("{size} is too large"), "write at most 2^50 B"))
                    }
                    () => None,
                };
                if let Some((key, problem, right)) = wrong {
                    self.fail(&format!("pattern.{key}"), problem, right);
                    return None;
                }
                let (stages, bytes) = (hosts.len() as u32, size.get());
                let (forward_ns, backward_ns) = (self.ns("forward", *forward)?, self.ns("backward", *backward)?);
                let of = Pipeline { schedule, stages, micro_batches, forward_ns, backward_ns, bytes, steps };
                let mut sources: Vec<Listed> = (0..stages).map(|stage| Listed::new(of.nodes(stage))).collect();
                let rules = Rules { holds: Holds::Work, first_ready: false };
                let job = Job::new(&mut sources, rules, &Method::default()).ok()?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::Goal { file, hosts, placement, slots, send_done } => {
                let slots = *slots.get_or_insert(Slots::Cpu);
                let graphs = self.file(file)?;
                let hosts = self.placed(hosts, *placement, Some(graphs.ranks()), setting)?;
                let job = self.job_of(&graphs, slots, *send_done, &Method::default())?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            Pattern::Chakra { file, hosts, placement, slots, send_done, algorithm, server, channels, chunk } => {
                let slots = *slots.get_or_insert(Slots::AstraSim);
                self.known(algorithm.as_deref())?;
                let method = self.method((algorithm.as_deref(), *server), *channels, *chunk)?;
                let graphs = self.file(file)?;
                let hosts = self.placed(hosts, *placement, Some(graphs.ranks()), setting)?;
                let job = self.job_of(&graphs, slots, *send_done, &method)?;
                Some(Graph { job: Arc::new(job), hosts })
            }
            _ => None,
        }
    }

    /// Whether some operation has an algorithm of this name.
    fn known(&mut self, name: Option<&str>) -> Option<()> {
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

    fn method<'a>(
        &mut self,
        (algorithm, server): (Option<&'a str>, Option<u32>),
        channels: Option<u32>,
        chunk: Option<Bytes>,
    ) -> Option<Method<'a>> {
        for (key, zero) in [
            ("server", server == Some(0)),
            ("channels", channels == Some(0)),
            ("chunk", chunk.is_some_and(|chunk| chunk.get() == 0)),
        ] {
            if zero {
                self.fail(&format!("pattern.{key}"), "it is 0", "write at least 1, or leave it out");
                return None;
            }
        }
        Some(Method { algorithm, channels: channels.unwrap_or(1), chunk: chunk.map(|chunk| chunk.get()), server })
    }

    /// The file of a pattern, whose name is replaced by its absolute path.
    fn file(&mut self, file: &mut String) -> Option<Graphs> {
        let key = format!("{}.pattern.file", self.path);
        let path = self.checker.source.folder.join(&*file);
        if let Some(absolute) =
            std::path::absolute(&path).ok().and_then(|path| path.into_os_string().into_string().ok())
        {
            *file = absolute;
        }
        let graphs = match Graphs::open(&path) {
            Ok(graphs) => graphs,
            Err(error) => {
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
            Ok(job) if slots == Slots::None => Some(Job { send_ends, ..job.without_slots() }),
            Ok(job) => Some(Job { send_ends, ..job }),
            Err(error) => {
                self.checker.problems.push(error.into());
                None
            }
        }
    }

    /// A time of a computation in ns.
    fn ns(&mut self, key: &str, time: Time) -> Option<u64> {
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
        let Some(size) = of.size else {
            self.fail("pattern.size", "this key is missing", "write it like \"64 MB\"");
            return None;
        };
        let method = self.method((of.algorithm.as_deref(), of.server), of.channels, of.chunk)?;
        let name = match algorithm(operation, method.algorithm) {
            Ok(known) => known.name,
            Err(why) => {
                let (problem, right) = why.split_once("; ").unwrap_or((&why, ""));
                self.fail("pattern.algorithm", problem, right);
                return None;
            }
        };
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
                let key = if what.contains("too few") { "pattern.size" } else { "pattern.algorithm" };
                self.fail(key, problem, right);
                None
            }
        }
    }

    /// The host of each rank; all hosts are ranks where the number of ranks is not given.
    fn placed(
        &mut self,
        names: &Option<Vec<String>>,
        placement: Option<Placement>,
        ranks: Option<usize>,
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
        let least = ranks.unwrap_or(2);
        if hosts.len() < least {
            let (problem, count) = match ranks {
                Some(ranks) => (format!("the file has {ranks} ranks, and there are {} hosts", hosts.len()), ranks),
                None => (format!("{} hosts are too few", hosts.len()), 2),
            };
            let key = if names.is_some() { "pattern.hosts" } else { "pattern" };
            self.fail(key, problem, format!("name {count} hosts, or a network that has them"));
            return None;
        }
        hosts.truncate(ranks.unwrap_or(hosts.len()));
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

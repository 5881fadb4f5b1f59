//! The traffics of a spec: validates them, fills in defaults, and converts them to configurations of the fabric and the
//! workload.

use super::checker::Checker;
use super::credits::credit_class;
use super::document::{
    AckClass, Document, LoadBase, Pairs, Pattern, Restart, ServiceTime, Size, Tcp, Traffic, Transport,
};
use super::graphs::is_graph;
use super::one::One;
use super::scheme::{SchemeChoice, SchemeId};
use super::setting::Setting;
use super::shape::advice;
use super::topology_file;
use crate::error::{Problem, Problems};
use crate::hpcc::convert;
use crate::htsim;
use crate::loaded;
use fanin_cc::own::Program;
use fanin_cc::{Lanes, Settings, SettingsError};
use fanin_endpoint::tcp;
use fanin_fabric::{NetworkConfig, TcpConfig, TrafficConfig};
use fanin_formats::hpcc::Dialect;
use fanin_units::Time;
use fanin_workload as workload;
use fanin_workload::{Cdf, Hosts, LongFlows, Places, SizeDistribution, WorkloadError};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::PathBuf;

/// Most messages of one run: every message is kept for the flow table, with some 500 bytes until it is written.
const MAX_MESSAGES: f64 = 3e7;

/// Most traffics times hosts: each traffic iterates over all hosts, also for its validation.
const MOST_PLACES: usize = 20_000_000;

/// The converted traffics.
type Traffics = (Vec<TrafficConfig>, Vec<workload::Traffic>, Places);

/// The transport that a scheme is designed for.
fn transport_of(scheme: &Settings) -> Transport {
    match scheme.transport() {
        fanin_cc::Transport::Rdma => Transport::Rdma,
        fanin_cc::Transport::Tcp => Transport::Tcp,
    }
}

/// The same by id; `None` for an unknown scheme.
pub fn own_transport(id: &str) -> Option<Transport> {
    loaded::preset(id).map(|scheme| transport_of(&scheme))
}

/// The traffics of the fabric and the workload, or `None` after adding problems. Defaults are filled in. `from` and
/// `until` bound the measured window.
pub fn check_traffics(
    document: &mut Document,
    network: Option<&NetworkConfig>,
    (from, until): (Time, Time),
    checker: &mut Checker<'_>,
) -> Option<Traffics> {
    let classes: Vec<String> = document.network.classes.iter().flatten().map(|class| class.name.clone()).collect();
    let count = document.traffic.len();
    if count == 0 || count > usize::from(u16::MAX) {
        checker.fail("traffic", format!("there are {count} traffics"), "write at least one [[traffic]], at most 65535");
    }
    let payload = document.network.packet.payload.get();
    let packet = payload.saturating_add(document.network.packet.header.get());
    let hosts = network.map_or(0, |network| network.graph.hosts as usize);
    if count.saturating_mul(hosts) > MOST_PLACES {
        let problem = format!("{count} traffics on {hosts} hosts take too long to check");
        checker.fail("traffic", problem, format!("traffics times hosts are at most {MOST_PLACES}"));
        return None;
    }
    let setting = network.map(|network| Setting::new(network, document.network.topology.may_part()));
    let mut configs = Vec::with_capacity(count);
    let mut workloads = Vec::with_capacity(count);
    let mut messages = 0.0;
    let mut unmeasured = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::with_capacity(count);
    for (i, traffic) in document.traffic.iter_mut().enumerate() {
        let mut one = One { path: format!("traffic[{i}]"), checker };
        if traffic.name.trim().is_empty() {
            one.fail("name", "it is empty", "give the traffic a name");
        } else if let Some(before) = names.insert(traffic.name.clone(), i) {
            one.fail("name", format!("traffic[{before}] has this name too"), "give each traffic its own name");
        }
        if traffic.start >= until && until > Time::ZERO {
            let problem = format!("it begins at {}, after the end of the measured window at {until}", traffic.start);
            one.fail("start", problem, "begin earlier, or lengthen measure.window");
        }
        configs.extend(one.config(traffic, &classes, (payload, packet)));
        if let Some(setting) = &setting
            && let Some((workload, flows)) = one.workload(traffic, setting, until)
        {
            messages += flows;
            one.check_reach(&workload, i as u16, setting, until);
            unmeasured.extend(one.none_measured(&workload, (from, until)));
            workloads.push(workload);
        }
    }
    if messages > MAX_MESSAGES {
        let problem = format!("the traffics make about {messages:.1e} messages before the window ends");
        checker.fail("traffic", problem, format!("make it fewer, at most {MAX_MESSAGES:.0e}"));
    }
    // If no traffic has a message in the window, a single warning covers the whole run (`unmeasured.rs`).
    if unmeasured.len() < count {
        checker.warnings.append(&mut unmeasured);
    }
    warn_of_overload(&document.traffic, checker);
    for config in &mut configs {
        if let Some(network) = network
            && config.scheme.credits().is_some()
        {
            config.credit_class = credit_class(network);
        }
        if config.scheme.lanes() != Lanes::One
            && let Some(network) = network
            && let Some(lane) = network.classes.iter().position(|class| class.sibling_vl == Some(config.class))
        {
            config.lane_class = lane as u8 + 1;
        }
    }
    let complete = configs.len() == count && workloads.len() == count;
    setting.filter(|_| complete).map(|setting| (configs, workloads, setting.places))
}

/// Warns if the loads on one capacity add up to more than it: legal, but worth knowing.
fn warn_of_overload(traffics: &[Traffic], checker: &mut Checker<'_>) {
    for (base, name) in [(LoadBase::HostLinks, "host-links"), (LoadBase::TorUplinks, "tor-uplinks")] {
        let loads = traffics.iter().filter_map(|t| t.load.as_ref()).filter(|load| load.of == base);
        let sum: f64 = loads.map(|load| load.share).sum();
        if sum > 1.0 {
            checker
                .warnings
                .push(format!("the traffics offer {:.0} % of {name}: queues grow without bound", sum * 100.0));
        }
    }
}

impl One<'_, '_> {
    fn config(
        &mut self,
        traffic: &mut Traffic,
        classes: &[String],
        (payload, packet): (u64, u64),
    ) -> Option<TrafficConfig> {
        self.bound::<Traffic>("weight", traffic.weight);
        let scheme = self.scheme(&mut traffic.scheme);
        let endpoint = self.rdma(&mut traffic.rdma, packet);
        let connection = self.tcp(&traffic.tcp, payload);
        let first = classes.first().cloned().unwrap_or_default();
        let class = traffic.class.get_or_insert(first);
        let number = classes.iter().position(|c| c == class);
        if number.is_none() && !classes.is_empty() {
            let (problem, right) =
                (format!("there is no class \"{class}\""), advice(class, classes.iter().map(|c| &**c)));
            self.fail("class", problem, right);
        }
        let scheme = scheme?;
        let transport = *traffic.transport.get_or_insert(transport_of(&scheme));
        if transport == Transport::Tcp
            && let Some(why) = scheme.rdma_only()
        {
            self.fail("transport", format!("{} {why}", scheme.id()), "leave it out, or write \"rdma\"");
        }
        if transport == Transport::Rdma
            && let Some(why) = scheme.tcp_only()
        {
            self.fail("transport", format!("{} {why}", scheme.id()), "leave it out, or write \"tcp\"");
        }
        let class = number? as u8 + 1;
        let ecn = traffic.ecn && scheme.wants_ecn();
        let connection = connection?;
        let over_tcp = (transport == Transport::Tcp).then(|| {
            if connection.ack_delay >= connection.min_rto {
                self.checker.warnings.push(format!(
                    "{}.tcp: ack_delay = {} is not below min_rto = {}, so a delayed ACK may come after the timeout",
                    self.path, connection.ack_delay, connection.min_rto
                ));
            }
            TcpConfig {
                connection: tcp::Config { ecn, ..connection },
                persistent: traffic.tcp.persistent,
                restart: match traffic.tcp.restart {
                    Restart::Pause => fanin_fabric::Restart::Pause,
                    Restart::Request => fanin_fabric::Restart::Request,
                },
                ack_class: if traffic.tcp.ack_class == AckClass::Control { 0 } else { class },
            }
        });
        Some(TrafficConfig {
            name: traffic.name.clone(),
            scheme,
            class,
            lane_class: 0,
            credit_class: 0,
            weight: traffic.weight,
            tenant: traffic.tenant,
            announce_size: traffic.announce_size,
            ecn,
            endpoint: endpoint?,
            spraying: None,
            overhead: if over_tcp.is_some() { traffic.tcp.overhead } else { traffic.rdma.overhead },
            tcp: over_tcp,
        })
    }

    /// The scheme with its parameters, which are then all filled in.
    fn scheme(&mut self, choice: &mut SchemeChoice) -> Option<Settings> {
        let (id, changes) = (choice.id().to_string(), choice.parameters());
        match loaded::settings(&id, &changes) {
            Ok(settings) => {
                if let Value::Object(parameters) = settings.to_json()
                    && !parameters.is_empty()
                {
                    *choice = SchemeChoice::Changed { id: SchemeId(id), parameters };
                }
                Some(settings)
            }
            Err(error) => {
                let error = match error {
                    SettingsError::UnknownScheme(_) => SettingsError::UnknownScheme(loaded::ids::<dyn Program>()),
                    other => other,
                };
                let fits =
                    |alone: &Map<String, Value>| !matches!(loaded::settings(&id, alone), Err(SettingsError::Value(_)));
                self.refuse("scheme", (&id, &changes), error, fits);
                None
            }
        }
    }

    /// The configuration of a TCP connection without ECN, with this payload per segment; `None` after adding a problem.
    fn tcp(&mut self, tcp: &Tcp, payload: u64) -> Option<tcp::Config> {
        let before = self.checker.problems.len();
        let buffer = tcp.receive_buffer.get();
        if buffer < payload {
            let problem = format!("{} is less than a segment of {payload} B", tcp.receive_buffer);
            self.fail("tcp.receive_buffer", problem, "make it several segments, like \"4 MB\"");
        }
        self.bounds("tcp", tcp);
        if tcp.ack_every > 1 && tcp.ack_delay == Time::ZERO {
            let right = "write a time above zero, like \"1 ms\", or ack_every = 1";
            self.fail("tcp.ack_delay", "an ACK for several segments needs a delay", right);
        }
        let offload = u32::try_from(tcp.offload.get()).unwrap_or(u32::MAX);
        if offload > 0 && u64::from(offload) < payload {
            let problem = format!("{} is less than a segment of {payload} B", tcp.offload);
            self.fail("tcp.offload", problem, "write several segments, like \"64 KB\", or leave it out");
        }
        let Tcp { initial_rto, min_rto, max_rto, .. } = tcp;
        if min_rto > max_rto {
            self.fail("tcp.min_rto", format!("{min_rto} is above max_rto = {max_rto}"), "lower it, or raise max_rto");
        } else if initial_rto > max_rto {
            let problem = format!("{initial_rto} is above max_rto = {max_rto}");
            self.fail("tcp.initial_rto", problem, "lower it, or raise max_rto");
        } else if initial_rto < min_rto {
            let problem = format!("{initial_rto} is below min_rto = {min_rto}");
            self.fail("tcp.initial_rto", problem, "raise it, or lower min_rto");
        }
        (self.checker.problems.len() == before).then_some(tcp::Config {
            mss: u32::try_from(payload).ok()?,
            sack: tcp.sack,
            ecn: false,
            window_scaling: tcp.window_scaling,
            receive_buffer: buffer,
            ack_every: tcp.ack_every,
            ack_delay: tcp.ack_delay,
            initial_rto: tcp.initial_rto,
            min_rto: tcp.min_rto,
            max_rto: tcp.max_rto,
            timestamps: tcp.timestamps,
            offload,
            retries: tcp.retries,
        })
    }

    /// The workload's traffic, and its expected number of messages.
    fn workload(
        &mut self,
        traffic: &mut Traffic,
        setting: &Setting<'_>,
        until: Time,
    ) -> Option<(workload::Traffic, f64)> {
        let pattern = self.pattern(traffic, setting)?;
        let built = workload::Traffic { start: traffic.start, pattern };
        match built.expected(&setting.places, until) {
            Ok(expected) => Some((built, expected.flows)),
            Err(error) => {
                self.workload_error(error);
                None
            }
        }
    }

    /// A warning if it is already known that no message of this traffic is posted in the measured window.
    fn none_measured(&self, workload: &workload::Traffic, (from, until): (Time, Time)) -> Option<String> {
        let path = &self.path;
        if let workload::Pattern::List(list) = &workload.pattern
            && list.flows_in_order().is_empty()
        {
            return Some(format!("{path}: its file has no messages"));
        }
        let (first, last) = workload.starts()?;
        let when = if first == last { format!("at {first}") } else { format!("from {first} to {last}") };
        if last < from {
            Some(format!(
                "{path}: no message is measured: they start {when}, before the end of measure.warm_up = {from}; \
                 shorten the warm-up, or start them later"
            ))
        } else if first >= until {
            Some(format!(
                "{path}: no message is sent: they start {when}, and the measured window ends at {until}; lengthen \
                 measure.window, or start them earlier"
            ))
        } else {
            None
        }
    }

    fn workload_error(&mut self, error: WorkloadError) {
        match error {
            WorkloadError::Key { key: "network", problem, right } => {
                self.checker.fail("network.topology", problem, right)
            }
            WorkloadError::Key { key, problem, right } => {
                let key = match key {
                    "size.uniform.min" => "size.uniform[0]",
                    "size.uniform.max" => "size.uniform[1]",
                    "size.cdf" => "size.cdf_points",
                    "pattern.flows" => "pattern.file",
                    key => key,
                };
                self.fail(key, problem, right);
            }
            WorkloadError::Line { file, line, problem, right } => {
                let line = u32::try_from(line).ok();
                self.checker.problems.push(Problem { file, line, key: String::new(), problem, right });
            }
        }
    }

    fn pattern(&mut self, traffic: &mut Traffic, setting: &Setting<'_>) -> Option<workload::Pattern> {
        if matches!(traffic.pattern, Pattern::Long { .. }) {
            traffic.size.get_or_insert(Size::Endless);
        }
        let size = match (&traffic.pattern, &traffic.size) {
            (Pattern::List { .. } | Pattern::Hpcc { .. } | Pattern::Htsim { .. }, Some(_)) => {
                self.fail("size", "the messages of a list have their own sizes", "leave it out");
                None
            }
            (pattern, Some(_)) if is_graph(pattern) => {
                self.fail("size", "the messages of this pattern have their own sizes", "leave it out");
                None
            }
            (Pattern::Posted {}, Some(_)) => {
                self.fail("size", "the program that posts messages says their sizes", "leave it out");
                None
            }
            (pattern, None) if is_graph(pattern) => Some(SizeDistribution::Fixed(1)),
            (Pattern::Query { total: Some(_), .. }, Some(_)) => {
                self.fail("size", "pattern.total already sets the size of answers", "leave one of them out");
                None
            }
            // Never used: the sizes are in the pattern.
            (
                Pattern::List { .. }
                | Pattern::Hpcc { .. }
                | Pattern::Htsim { .. }
                | Pattern::Posted {}
                | Pattern::Query { total: Some(_), .. },
                None,
            ) => Some(SizeDistribution::Fixed(1)),
            (_, None) => {
                self.fail("size", "this key is missing", "write it like { fixed = \"1 MB\" }");
                None
            }
            (_, Some(_)) => self.size(traffic),
        };
        let load = self.load(traffic);
        let pattern = self.pattern_with(traffic, size?, load?, setting);
        if let (Pattern::Long { inter_rack_only, pairs: Pairs::Random, .. }, Some(_)) = (&mut traffic.pattern, &pattern)
        {
            let on_uplinks = traffic.load.as_ref().is_some_and(|load| load.of == LoadBase::TorUplinks);
            inter_rack_only.get_or_insert(on_uplinks);
        }
        pattern
    }

    fn pattern_with(
        &mut self,
        traffic: &mut Traffic,
        size: SizeDistribution,
        load: Option<workload::Load>,
        setting: &Setting<'_>,
    ) -> Option<workload::Pattern> {
        Some(match &mut traffic.pattern {
            Pattern::Poisson { senders, receivers, inter_rack_only } => {
                let hosts = self.pairs(senders, receivers, Some(*inter_rack_only), setting)?;
                workload::Pattern::Poisson(workload::Poisson { hosts, size, load: load? })
            }
            Pattern::Incast { degree, jitter, every, size_per_sender, senders, receivers, inter_rack_only } => {
                let arrivals = match (load, *every) {
                    (Some(load), _) => workload::Arrivals::Load(load),
                    (None, Some(every)) => workload::Arrivals::Every(every),
                    (None, None) => workload::Arrivals::Once,
                };
                workload::Pattern::Incast(workload::Incast {
                    hosts: self.pairs(senders, receivers, Some(*inter_rack_only), setting)?,
                    degree: *degree,
                    jitter: *jitter,
                    size,
                    size_per_sender: *size_per_sender,
                    arrivals,
                })
            }
            Pattern::Permutation { hosts, jitter, every } => {
                let hosts = self.hosts("pattern.hosts", hosts, setting)?;
                workload::Pattern::Permutation(workload::Permutation { hosts, size, jitter: *jitter, every: *every })
            }
            Pattern::AllToAll(of) if !of.is_collective() => {
                let hosts = self.only_hosts(of)?;
                let hosts = self.hosts("pattern.hosts", hosts, setting)?;
                workload::Pattern::AllToAll(workload::AllToAll { hosts, size })
            }
            Pattern::AllToAll(_)
            | Pattern::AllReduce(_)
            | Pattern::AllGather(_)
            | Pattern::ReduceScatter(_)
            | Pattern::Broadcast(_)
            | Pattern::Goal { .. }
            | Pattern::Chakra(_)
            | Pattern::SimAi(_)
            | Pattern::Msccl { .. }
            | Pattern::SimCcl { .. } => workload::Pattern::Graph(self.graph(&mut traffic.pattern, setting)?),
            Pattern::Pipeline { .. } => workload::Pattern::Graph(self.pipeline(&traffic.pattern, setting)?),
            Pattern::Training { .. } => workload::Pattern::Graph(self.training(&traffic.pattern, setting)?),
            Pattern::Long { pairs, count, spread, senders, receivers, inter_rack_only } => {
                let amount = match (*pairs, load, *count) {
                    (Pairs::OneToOne, ..) => LongFlows::OneToOne,
                    (Pairs::Random, Some(load), _) => LongFlows::Load(load),
                    (Pairs::Random, None, count) => LongFlows::Count(count?),
                };
                if *pairs == Pairs::OneToOne && inter_rack_only.is_some() {
                    let problem = "pairs = \"one-to-one\" draws no pairs";
                    self.fail("pattern.inter_rack_only", problem, "leave one of them out");
                    return None;
                }
                let hosts = self.pairs(senders, receivers, *inter_rack_only, setting)?;
                workload::Pattern::Long(workload::Long { hosts, size, amount, spread: *spread })
            }
            Pattern::Query { clients, servers, degree, rounds, request, total, service_time, jitter, think_time } => {
                let clients = self.hosts("pattern.clients", clients, setting);
                let servers = self.hosts("pattern.servers", servers, setting);
                workload::Pattern::Query(workload::Query {
                    clients: clients?,
                    servers: servers?,
                    degree: *degree,
                    rounds: *rounds,
                    request: request.get(),
                    response: match total {
                        Some(total) => workload::Response::Total(total.get()),
                        None => workload::Response::Each(size),
                    },
                    service_time: match *service_time {
                        ServiceTime::Fixed(time) => [time, time],
                        ServiceTime::Uniform(bounds) => bounds,
                    },
                    jitter: *jitter,
                    think_time: *think_time,
                })
            }
            Pattern::Hpcc { .. } | Pattern::Htsim { .. } | Pattern::List { .. } => {
                workload::Pattern::List(self.listed(traffic, setting)?)
            }
            // None that is known before.
            Pattern::Posted {} => workload::Pattern::List(workload::FlowList::new(Vec::new())),
        })
    }

    /// The messages that a file lists.
    fn listed(&mut self, traffic: &mut Traffic, setting: &Setting<'_>) -> Option<workload::FlowList> {
        let persistent = match traffic.transport {
            Some(Transport::Tcp) => traffic.tcp.persistent,
            _ => traffic.rdma.persistent,
        };
        let (Pattern::Hpcc { file, .. } | Pattern::Htsim { file, .. } | Pattern::List { file }) = &mut traffic.pattern
        else {
            return None;
        };
        let (text, path) = self.read_flows(file)?;
        let path = path.display().to_string();
        let messages: Result<_, Problems> = match &traffic.pattern {
            Pattern::Hpcc { dport, from, .. } => {
                let since = || "its flows have no port".to_string();
                let fork = topology_file::of_a_fork(&path, Dialect::of_flows(text.as_bytes()), since);
                let listed = convert::listed(&text, &path, setting.number_of(), *dport, *from);
                listed.map(|list| (list, Vec::from_iter(fork)))
            }
            Pattern::Htsim { dialect, .. } => {
                htsim::messages(&text, &path, setting.hosts, dialect.map(Into::into), persistent).map_err(Into::into)
            }
            _ => {
                let flows = setting.host_names().flows_of(&path, &text).map_err(Problems::from);
                flows.map(|(list, ignored)| (list, Vec::from_iter(ignored)))
            }
        };
        match messages {
            Ok((list, warnings)) => {
                self.checker.warnings.extend(warnings);
                Some(list)
            }
            Err(problems) => {
                self.checker.problems.extend(problems);
                None
            }
        }
    }

    /// The load, if the pattern has one; the outer `None` after adding a problem.
    fn load(&mut self, traffic: &Traffic) -> Option<Option<workload::Load>> {
        let endless = traffic.size == Some(Size::Endless);
        let given = traffic.load.is_some();
        let (problem, right) = match &traffic.pattern {
            Pattern::Poisson { .. } if !given => {
                ("this key is missing", "write it like { share = 0.4, of = \"host-links\" }")
            }
            Pattern::Poisson { .. } | Pattern::Incast { every: None, .. } if given && endless => {
                ("endless messages have no load", "give them a size, or leave the load out")
            }
            Pattern::Incast { every: Some(_), .. } if given => {
                ("pattern.every sets the load already", "leave one of them out")
            }
            Pattern::Long { pairs: Pairs::OneToOne, count, .. } if given || count.is_some() => {
                let key = if given { "load" } else { "pattern.count" };
                self.fail(key, "pairs = \"one-to-one\" makes one flow per sender", "leave one of them out");
                return None;
            }
            Pattern::Long { count: Some(_), .. } if given => {
                ("pattern.count sets the load already", "leave one of them out")
            }
            Pattern::Long { pairs: Pairs::Random, count: None, .. } if !given => {
                ("the number of flows is missing", "give a load, or pattern.count")
            }
            Pattern::Permutation { .. }
            | Pattern::AllToAll(_)
            | Pattern::AllReduce(_)
            | Pattern::AllGather(_)
            | Pattern::ReduceScatter(_)
            | Pattern::Broadcast(_)
            | Pattern::Pipeline { .. }
            | Pattern::Training { .. }
            | Pattern::Goal { .. }
            | Pattern::Chakra(_)
            | Pattern::SimAi(_)
            | Pattern::Msccl { .. }
            | Pattern::SimCcl { .. }
            | Pattern::Query { .. }
            | Pattern::List { .. }
            | Pattern::Hpcc { .. }
            | Pattern::Htsim { .. }
            | Pattern::Posted {}
                if given =>
            {
                ("this pattern sets its own load", "leave it out")
            }
            _ => {
                return Some(traffic.load.as_ref().map(|load| workload::Load {
                    share: load.share,
                    of: match load.of {
                        LoadBase::HostLinks => workload::LoadBase::HostLinks,
                        LoadBase::TorUplinks => workload::LoadBase::TorUplinks,
                        LoadBase::ReceiverLink => workload::LoadBase::ReceiverLink,
                    },
                }));
            }
        };
        self.fail("load", problem, right);
        None
    }

    /// The sizes. Points from a file are copied into the spec, so that the resolved spec does not depend on the file.
    fn size(&mut self, traffic: &mut Traffic) -> Option<SizeDistribution> {
        let sizes = match traffic.size.as_ref()? {
            Size::Endless => SizeDistribution::Fixed(workload::ENDLESS),
            Size::Fixed(bytes) => SizeDistribution::Fixed(bytes.get()),
            Size::UniformOf(sizes) => SizeDistribution::UniformOf(sizes.iter().map(|s| s.get()).collect()),
            Size::Uniform([min, max]) => SizeDistribution::Uniform { min: min.get(), max: max.get() },
            Size::Pareto(pareto) => SizeDistribution::Pareto {
                mean: pareto.mean.get(),
                shape: pareto.shape,
                cap: pareto.cap.map(|cap| cap.get()),
            },
            Size::Cdf(name) => match self.built_in(name) {
                Some((known, cdf)) => {
                    traffic.size = Some(Size::Cdf(known.into()));
                    SizeDistribution::Cdf(cdf)
                }
                None => {
                    let known = advice(name, Cdf::BUILT_IN);
                    let (text, path) =
                        self.read("size.cdf", name, &format!("; or a built-in distribution ({known})"))?;
                    match Cdf::from_text(&text, &path.display().to_string()) {
                        Ok(cdf) => {
                            let points = cdf.points().iter().map(|(bytes, percent)| [*bytes, *percent]).collect();
                            traffic.size = Some(Size::CdfPoints(points));
                            SizeDistribution::Cdf(cdf)
                        }
                        Err(error) => {
                            self.workload_error(error);
                            return None;
                        }
                    }
                }
            },
            Size::CdfPoints(points) => {
                match Cdf::new(points.iter().map(|[bytes, percent]| (*bytes, *percent)).collect()) {
                    Ok(cdf) => SizeDistribution::Cdf(cdf),
                    Err(error) => {
                        self.workload_error(error);
                        return None;
                    }
                }
            }
        };
        Some(sizes)
    }

    /// A built-in distribution with its name, in any letter case; a file of the same name has precedence.
    fn built_in(&self, written: &str) -> Option<(&'static str, Cdf)> {
        let known = Cdf::name(written)?;
        let file = written != known && self.checker.source.folder.join(written).is_file();
        let cdf = Cdf::built_in(known).ok().filter(|_| !file)?;
        Some((known, cdf))
    }

    /// The text of a file that the spec names, and its path; `None` after adding a problem.
    fn read(&mut self, key: &str, name: &str, or: &str) -> Option<(String, PathBuf)> {
        self.checker.read(&format!("{}.{key}", self.path), name, or)
    }

    /// The same for the file of a pattern, whose name is replaced by its absolute path, so that the resolved spec finds
    /// it from any folder.
    fn read_flows(&mut self, file: &mut String) -> Option<(String, PathBuf)> {
        let (text, path) = self.read("pattern.file", file, "")?;
        if let Some(absolute) = std::path::absolute(&path).ok().and_then(|p| p.into_os_string().into_string().ok()) {
            *file = absolute;
        }
        Some((text, path))
    }

    fn pairs(
        &mut self,
        senders: &Option<Vec<String>>,
        receivers: &Option<Vec<String>>,
        inter_rack_only: Option<bool>,
        setting: &Setting<'_>,
    ) -> Option<Hosts> {
        let senders = self.hosts("pattern.senders", senders, setting);
        let receivers = self.hosts("pattern.receivers", receivers, setting);
        Some(Hosts { senders: senders?, receivers: receivers?, inter_rack_only })
    }
}

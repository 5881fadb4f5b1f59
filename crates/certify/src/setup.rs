//! What a run was asked to be: rates, delays, classes, buffers and rules, read as data from a resolved spec.

use fanin_units::{Bytes, Rate, Time};
use std::collections::HashMap;
use std::str::FromStr;
use toml::{Table, Value};

/// The network that a capture or trace is held against.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Where its links and their rates come from.
    pub links: Links,
    /// Classes from 0, control.
    pub classes: Vec<Class>,
    /// How switches buffer.
    pub buffer: Buffer,
    /// Headroom of an ingress in bytes; `None` is computed for each link.
    pub headroom: Option<u64>,
    /// A paused ingress resumes this far below its threshold.
    pub xon_offset: u64,
    /// Sizes of packets.
    pub sizes: Sizes,
    /// Time from a pause frame's arrival until a port obeys.
    pub response: Time,
    /// How exact times are: zero, or the resolution of a trace.
    pub tick: Time,
    /// What this run has that some laws cannot account for.
    pub has: Features,
    /// Most payload in flight of a flow, where all flows have the same fixed window.
    pub window: Option<u64>,
}

/// Sizes of packets on the wire, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Largest payload.
    pub payload: u64,
    /// Headers of data, without what schemes add.
    pub header: u64,
    /// An ACK or NACK.
    pub ack: u64,
    /// A CNP.
    pub cnp: u64,
    /// A pause frame.
    pub pause: u64,
    /// What the schemes of the run add to data at most.
    pub added: u64,
    /// What the schemes without telemetry add to data and to ACKs.
    pub plain: (u64, u64),
}

/// Bytes of the telemetry of five switches.
pub const TELEMETRY: u64 = 42;

/// A class of packets.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its DSCP.
    pub dscp: u8,
    /// Whether flow control protects it.
    pub lossless: bool,
    /// How its queues mark.
    pub marking: Marking,
    /// Markings on ports of some rates.
    pub marking_by_rate: Vec<(Rate, Marking)>,
    /// Its reserved share of the buffer.
    pub share: Option<f64>,
    /// Its own factor of a dynamic threshold.
    pub alpha: Option<f64>,
}

/// A rule of ECN marks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Marking {
    /// Never.
    #[default]
    Off,
    /// From 0 at `min` to `most` at `max`, and 1 above; a step has `min` = `max`.
    Red {
        /// Bytes up to which nothing is marked.
        min: u64,
        /// Bytes above which everything is marked.
        max: u64,
        /// The probability at `max`.
        most: f64,
        /// Whether the queue counts as the packet joins it, rather than as it leaves.
        at_enqueue: bool,
    },
    /// A rule with a state of its own, which is not checked.
    Other,
}

/// How switches buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Buffer {
    /// No limit.
    #[default]
    Unlimited,
    /// Credits of InfiniBand.
    Credits,
    /// Bytes per port.
    PerPort(u64),
    /// A pool per switch.
    Pool {
        /// Its bytes.
        bytes: u64,
        /// Factor of lossy queues.
        alpha: f64,
        /// Factor of lossless ingresses.
        pfc_alpha: f64,
    },
}

/// What a run has besides plain switches and links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// Links that lose packets at random.
    pub errors: bool,
    /// Links that go down.
    pub outages: bool,
    /// Faulty hosts.
    pub faults: bool,
    /// Packets that are cut.
    pub trimming: bool,
    /// Control lets data pass after some packets.
    pub control_weight: bool,
    /// A queue discipline or balancing of one's own, or a scheme that acts in switches.
    pub programs: bool,
    /// Packets of a flow take several paths.
    pub spraying: bool,
    /// Buffer is held until the last bit.
    pub last_bit: bool,
    /// Pauses expire.
    pub expiry: bool,
    /// A watchdog of pause storms.
    pub watchdog: bool,
    /// Credits have queues of their own.
    pub credit_queues: bool,
    /// Sizes that a scheme adds are not known here.
    pub unknown_sizes: bool,
    /// Packets count fewer bytes than their headers have.
    pub few: bool,
    /// They do, and not all alike.
    pub unlike_sizes: bool,
    /// The source tells arrivals and queues.
    pub arrivals: bool,
    /// Buffers have the rules of another simulator.
    pub foreign: bool,
    /// A table of ports was given.
    pub ports: bool,
    /// A table of messages was given.
    pub messages: bool,
    /// Only some links are in the capture.
    pub partial: bool,
    /// Ports of some rates have buffers of their own.
    pub by_rate: bool,
}

/// The links of a network.
#[derive(Clone, Debug)]
pub enum Links {
    /// A regular topology: host links are alike, and links between switches are.
    Regular {
        /// Of host links.
        host: (Rate, Time),
        /// Between switches.
        fabric: (Rate, Time),
        /// Between a GPU and the switch of its server, where servers have one.
        inside: Option<(Rate, Time)>,
    },
    /// By the names of both nodes in the order of the file; several links where there are.
    Named {
        /// Rate and delay of each direction.
        of: HashMap<(String, String), (Rate, Time)>,
        /// The hosts.
        hosts: Vec<String>,
    },
}

impl Default for Links {
    fn default() -> Self {
        Self::Named { of: HashMap::new(), hosts: Vec::new() }
    }
}

/// A factor of the rates of some links.
#[derive(Clone, Debug)]
struct Slower {
    at: Option<String>,
    between: Option<(String, String)>,
    speed: f64,
}

/// A spec with its slow links.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// What it says.
    pub setup: Setup,
    slower: Vec<Slower>,
}

impl Setup {
    /// Whether a node is a host, by its name.
    pub fn is_host(&self, name: &str) -> bool {
        match &self.links {
            Links::Regular { .. } => numbered(name, "h") || name.starts_with("gpu"),
            Links::Named { hosts, .. } => hosts.iter().any(|host| host == name),
        }
    }

    /// The class with a DSCP: that of the spec, or the class selector.
    pub fn class(&self, dscp: u8) -> u8 {
        let of = self.classes.iter().position(|class| class.dscp == dscp);
        of.map_or(if dscp & 7 == 0 { dscp >> 3 } else { 0 }, |class| class as u8)
    }

    /// Largest data packet on the wire.
    pub fn largest(&self) -> u64 {
        self.sizes.payload + self.sizes.header + self.sizes.added
    }

    /// Whether any class is lossless.
    pub fn any_lossless(&self) -> bool {
        self.classes.iter().any(|class| class.lossless)
    }
}

impl Spec {
    /// Reads `spec.resolved.toml`.
    ///
    /// # Errors
    /// What is missing or of another form.
    pub fn read(text: &str) -> Result<Self, String> {
        let spec: Table = toml::from_str(text).map_err(|error| format!("it is no TOML: {error}"))?;
        let network = table(&spec, "network")?;
        let (links, slower) = (links(network)?, slower(network)?);
        let sizes = sizes(network, &spec)?;
        let (buffer, policy) = buffer(network)?;
        let pools = table(network, "buffer")?;
        let mut setup = Setup {
            links,
            buffer,
            headroom: match pools.get("headroom").and_then(Value::as_str) {
                None | Some("per-link") => None,
                Some(text) => Some(number::<Bytes>(text)?.get()),
            },
            xon_offset: match pools.get("xon_offset") {
                None => 2 * (sizes.payload + sizes.header),
                Some(value) => quantity::<Bytes>(value)?.get(),
            },
            classes: classes(network, policy)?,
            sizes,
            ..Setup::default()
        };
        let pfc = network.get("pfc").and_then(Value::as_table);
        if let Some(response) = pfc.and_then(|pfc| pfc.get("response")) {
            setup.response = quantity(response)?;
        }
        setup.has = features(&spec, network);
        setup.window = window(&spec, &setup);
        Ok(Self { setup, slower })
    }

    /// Rate and delay of the port of `from` towards `to`.
    pub fn port(&self, from: &str, to: &str) -> Option<(Rate, Time)> {
        let (rate, delay) = match &self.setup.links {
            Links::Regular { host, fabric, inside } => {
                if let Some(inside) = inside.filter(|_| numbered(from, "nv") || numbered(to, "nv")) {
                    inside
                } else if self.setup.is_host(from) || self.setup.is_host(to) {
                    *host
                } else {
                    *fabric
                }
            }
            Links::Named { of, .. } => {
                let key = |a: &str, b: &str| (a.to_string(), b.to_string());
                *of.get(&key(from, to)).or_else(|| of.get(&key(to, from)))?
            }
        };
        let matches = |slower: &&Slower| {
            slower.at.as_deref().is_some_and(|node| node == from || node == to)
                || slower.between.as_ref().is_some_and(|(a, b)| (a == from && b == to) || (a == to && b == from))
        };
        let slower = self.slower.iter().rfind(matches);
        let rate = slower.map_or(rate, |by| Rate::from_bps((rate.as_bps() as f64 * by.speed).round() as u64));
        Some((rate, delay))
    }
}

fn table<'a>(from: &'a Table, key: &str) -> Result<&'a Table, String> {
    from.get(key).and_then(Value::as_table).ok_or_else(|| format!("no table [{key}]"))
}

fn number<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

fn quantity<T: FromStr>(value: &Value) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    number(value.as_str().ok_or_else(|| format!("{value}: a text like \"10 Gbps\" is needed"))?)
}

fn get<T: FromStr>(from: &Table, key: &str) -> Result<Option<T>, String>
where
    T::Err: std::fmt::Display,
{
    from.get(key).map(|value| quantity(value).map_err(|what| format!("{key}: {what}"))).transpose()
}

fn links(network: &Table) -> Result<Links, String> {
    let topology = table(network, "topology")?;
    let kind = topology.get("kind").and_then(Value::as_str).unwrap_or("graph");
    let fixed = |host, fabric, delay| {
        let delay = Time::from_us(delay);
        Links::Regular { host: (Rate::from_gbps(host), delay), fabric: (Rate::from_gbps(fabric), delay), inside: None }
    };
    Ok(match kind {
        "hpcc-fat-tree" => fixed(100, 400, 1),
        "rcc-tree" => fixed(1, 25, 40),
        "graph" => {
            let names = |key: &str| -> Vec<String> {
                let list = topology.get(key).and_then(Value::as_array);
                list.into_iter().flatten().filter_map(Value::as_str).map(String::from).collect()
            };
            let mut of = HashMap::new();
            for link in topology.get("links").and_then(Value::as_array).into_iter().flatten() {
                let link = link.as_table().ok_or("a link is a table")?;
                let ends = pair(link.get("between")).ok_or("a link is between two nodes")?;
                let (Some(rate), Some(delay)) = (get(link, "rate")?, get(link, "delay")?) else {
                    return Err("a link has a rate and a delay".into());
                };
                of.insert(ends, (rate, delay));
            }
            Links::Named { of, hosts: names("hosts") }
        }
        _ => {
            let (Some(rate), Some(delay)) = (get(topology, "link")?, get(topology, "delay")?) else {
                return Err(format!("the topology {kind:?} has no link and delay"));
            };
            let first =
                |keys: [&'static str; 3]| keys.into_iter().find(|key| topology.contains_key(*key)).unwrap_or("");
            let fabric_rate = get(topology, first(["fabric_link", "bottleneck", "chain_link"]))?;
            let fabric_delay = get(topology, first(["fabric_delay", "bottleneck_delay", "chain_delay"]))?;
            let fabric = (fabric_rate.unwrap_or(rate), fabric_delay.unwrap_or(delay));
            let inside = get(topology, "nvlink")?.zip(get(topology, "nvlink_delay")?);
            Links::Regular { host: (rate, delay), fabric, inside }
        }
    })
}

/// Whether a name is this word and a number.
fn numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn pair(value: Option<&Value>) -> Option<(String, String)> {
    let ends = value?.as_array()?;
    Some((ends.first()?.as_str()?.to_string(), ends.get(1)?.as_str()?.to_string()))
}

fn slower(network: &Table) -> Result<Vec<Slower>, String> {
    let mut all = Vec::new();
    for link in network.get("links").and_then(Value::as_array).into_iter().flatten() {
        let link = link.as_table().ok_or("an entry of network.links is a table")?;
        let at = link.get("at").and_then(Value::as_str).map(String::from);
        let speed = link.get("speed").and_then(Value::as_float).unwrap_or(1.0);
        all.push(Slower { at, between: pair(link.get("between")), speed });
    }
    Ok(all)
}

/// Bytes that a scheme adds to each data packet and to each ACK, by its manual; `None` where that is not known here.
fn added(id: &str, of: Option<&Table>) -> Option<(u64, u64)> {
    let has = |key: &str| of.and_then(|of| of.get(key)).and_then(Value::as_bool).unwrap_or(false);
    Some(match id {
        "hpcc" | "hpcc-alpha" | "hpcc-ns3" | "powertcp" => (TELEMETRY, TELEMETRY),
        "none" | "fixed-window" | "dcqcn" | "dcqcn-win" | "dcqcn-vendor" | "dcqcn-vendor-win" | "newreno" | "swift"
        | "newreno-ecn" | "dctcp" | "dctcp-rate" | "dctcp-ns3" | "dcqcn-ns3" | "dcqcn-win-ns3" | "powertcp-delay" => {
            (0, 0)
        }
        "timely" if !has("timestamps") => (0, 0),
        "timely" | "timely-ns3" => (8, 8),
        "rcp" => (8, 4),
        "ndp" | "expresspass" | "rccc" => (4, 0),
        "dart" => (12, 4),
        _ => return None,
    })
}

fn schemes(spec: &Table) -> impl Iterator<Item = (&str, Option<&Table>)> {
    let traffic = spec.get("traffic").and_then(Value::as_array).into_iter().flatten();
    traffic.filter_map(Value::as_table).map(|traffic| match traffic.get("scheme") {
        Some(Value::String(id)) => (id.as_str(), None),
        Some(Value::Table(of)) => (of.get("id").and_then(Value::as_str).unwrap_or("?"), Some(of)),
        _ => ("?", None),
    })
}

/// What each scheme without telemetry adds.
fn plain(spec: &Table) -> impl Iterator<Item = (u64, u64)> {
    schemes(spec).filter_map(|(id, of)| added(id, of)).filter(|of| of.0 != TELEMETRY)
}

fn sizes(network: &Table, spec: &Table) -> Result<Sizes, String> {
    let none = Table::new();
    let packet = network.get("packet").and_then(Value::as_table).unwrap_or(&none);
    let of = |key, default| get::<Bytes>(packet, key).map(|size| size.map_or(default, Bytes::get));
    Ok(Sizes {
        payload: of("payload", 1460)?,
        header: of("header", 62)?,
        ack: of("ack", 66)?,
        cnp: of("cnp", 78)?,
        pause: of("pause", 64)?,
        added: schemes(spec).filter_map(|(id, of)| added(id, of)).map(|(data, _)| data).max().unwrap_or(0),
        plain: plain(spec).next().unwrap_or_default(),
    })
}

/// The buffer, and whether classes are lossless by its policy.
fn buffer(network: &Table) -> Result<(Buffer, bool), String> {
    let of = table(network, "buffer")?;
    let lossless = of.get("policy").and_then(Value::as_str) == Some("lossless");
    let float = |key: &str, default| {
        of.get(key).map_or(default, |v| v.as_float().or(v.as_integer().map(|n| n as f64)).unwrap_or(default))
    };
    let buffer = if of.contains_key("credits") {
        return Ok((Buffer::Credits, true));
    } else if let Some(bytes) = get::<Bytes>(of, "per_port")? {
        Buffer::PerPort(bytes.get())
    } else if let Some(bytes) = get::<Bytes>(of, "pool")? {
        Buffer::Pool { bytes: bytes.get(), alpha: float("alpha", 1.0), pfc_alpha: float("pfc_alpha", 0.125) }
    } else {
        Buffer::Unlimited
    };
    Ok((buffer, lossless))
}

fn marking(value: Option<&Value>) -> Result<Option<Marking>, String> {
    let Some(of) = value.and_then(Value::as_table) else { return Ok(None) };
    let at_enqueue = of.get("at").and_then(Value::as_str) == Some("enqueue");
    let bytes = |key| get::<Bytes>(of, key).map(|size| size.map_or(0, Bytes::get));
    Ok(Some(match of.get("kind").and_then(Value::as_str) {
        Some("off") | None => Marking::Off,
        Some("step") => {
            let above = bytes("above")?;
            Marking::Red { min: above, max: above, most: 1.0, at_enqueue }
        }
        Some("red") => {
            let most = of.get("probability").and_then(|p| p.as_float().or(p.as_integer().map(|n| n as f64)));
            Marking::Red { min: bytes("min")?, max: bytes("max")?, most: most.unwrap_or(1.0), at_enqueue }
        }
        Some(_) => Marking::Other,
    }))
}

fn by_rate(from: &Table) -> Result<Vec<(Rate, Marking)>, String> {
    let mut all = Vec::new();
    for entry in from.get("marking_by_rate").and_then(Value::as_array).into_iter().flatten() {
        let entry = entry.as_table().ok_or("an entry of marking_by_rate is a table")?;
        if let (Some(rate), Some(of)) = (get(entry, "rate")?, marking(entry.get("marking"))?) {
            all.push((rate, of));
        }
    }
    Ok(all)
}

fn classes(network: &Table, lossless: bool) -> Result<Vec<Class>, String> {
    let (common, common_by_rate) = (marking(network.get("marking"))?.unwrap_or_default(), by_rate(network)?);
    let mut all = vec![Class { name: "control".into(), ..Class::default() }];
    let data = Class { name: "data".into(), dscp: 8, lossless, ..Class::default() };
    let listed = network.get("classes").and_then(Value::as_array);
    for class in listed.into_iter().flatten() {
        let class = class.as_table().ok_or("a class is a table")?;
        let own = marking(class.get("marking"))?;
        let own_by_rate = by_rate(class)?;
        let float = |key: &str| class.get(key).and_then(|v| v.as_float().or(v.as_integer().map(|n| n as f64)));
        let dscp = class.get("dscp").and_then(Value::as_integer);
        all.push(Class {
            name: class.get("name").and_then(Value::as_str).unwrap_or("?").to_string(),
            dscp: dscp.map_or(8 * all.len() as u8, |dscp| dscp as u8),
            lossless: class.get("lossless").and_then(Value::as_bool).unwrap_or(lossless),
            marking_by_rate: match own {
                Some(_) => own_by_rate,
                None if own_by_rate.is_empty() => common_by_rate.clone(),
                None => own_by_rate,
            },
            marking: own.unwrap_or(common),
            share: float("share"),
            alpha: float("alpha"),
        });
    }
    if all.len() == 1 {
        all.push(Class { marking: common, marking_by_rate: common_by_rate, ..data });
    }
    Ok(all)
}

fn features(spec: &Table, network: &Table) -> Features {
    let links = || network.get("links").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table);
    let pfc = network.get("pfc").and_then(Value::as_table);
    let trimming = network.get("trimming").and_then(Value::as_table);
    let balancing = network.get("balancing").and_then(Value::as_str);
    let acts_in_switches = |id: &str| matches!(id, "dart" | "rcp") || id.starts_with("dart") || id.starts_with("own");
    let plain_discipline = network.get("discipline").is_none_or(|of| of.as_str() == Some("fifo"));
    let filled = |key: &str| network.get(key).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let captured = spec.get("measure").and_then(|measure| measure.get("capture"));
    Features {
        errors: links().any(|link| link.get("error_rate").and_then(Value::as_float).is_some_and(|rate| rate > 0.0)),
        outages: links().any(|link| link.get("down").and_then(Value::as_array).is_some_and(|list| !list.is_empty())),
        faults: filled("faults"),
        trimming: trimming.is_some(),
        control_weight: trimming.is_some_and(|trimming| trimming.contains_key("weight")),
        programs: !plain_discipline
            || network.contains_key("balancing") && balancing.is_none()
            || schemes(spec).any(|(id, _)| acts_in_switches(id)),
        spraying: balancing.is_none_or(|policy| policy != "flow-hash") && network.contains_key("balancing"),
        last_bit: network.get("release").and_then(Value::as_str) == Some("last-bit"),
        expiry: pfc.is_some_and(|pfc| pfc.contains_key("expiry")),
        watchdog: pfc.is_some_and(|pfc| pfc.contains_key("watchdog")),
        credit_queues: schemes(spec).any(|(id, _)| matches!(id, "expresspass" | "ndp" | "rccc" | "nscc-rccc")),
        unknown_sizes: schemes(spec).any(|(id, of)| added(id, of).is_none()),
        few: few(network),
        unlike_sizes: few(network)
            && (plain(spec).any(|of| Some(of) != plain(spec).next())
                || schemes(spec).any(|(id, of)| added(id, of).is_none())),
        arrivals: false,
        foreign: false,
        ports: false,
        messages: false,
        by_rate: network
            .get("buffer")
            .and_then(|buffer| buffer.get("by_rate"))
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty()),
        partial: captured.and_then(|of| of.get("links")).and_then(Value::as_str) != Some("all"),
    }
}

/// Whether packets count fewer bytes than their headers have.
fn few(network: &Table) -> bool {
    let size = |key, least| {
        let packet = network.get("packet").and_then(Value::as_table)?;
        get::<Bytes>(packet, key).ok()?.map(|size| size.get() < least)
    };
    [("header", 62), ("ack", 66), ("cnp", 78)].into_iter().any(|(key, least)| size(key, least) == Some(true))
}

/// The window, where every traffic has the same fixed one.
fn window(spec: &Table, setup: &Setup) -> Option<u64> {
    let mut windows = schemes(spec).map(|(id, of)| {
        let packets = of.filter(|_| id == "fixed-window")?.get("packets")?.as_integer()?;
        Some(u64::try_from(packets).ok()? * setup.sizes.payload)
    });
    let first = windows.next()??;
    windows.all(|window| window == Some(first)).then_some(first)
}

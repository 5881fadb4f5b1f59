//! Reads a trace (`.tr`) of the ns-3 HPCC simulator, with the configuration and the topology of its run.
//!
//! It tells what happens at each traced node: packets that arrive, that join a queue and that leave it, with the bytes
//! in the queue. Times are whole nanoseconds, and that simulator rounds each transmission down by less than two.

use crate::event::{Kind, Packet, Port, Queue};
use crate::facts::Facts;
use crate::map::Plain;
use crate::net::Net;
use crate::report::Report;
use crate::setup::{Class, Features, Marking, Setup, Sizes};
use crate::walk::Walk;
use fanin_formats::hpcc::trace::{self, Record, read_trace};
use fanin_formats::hpcc::{Config, Topology};
use fanin_units::{Rate, Time};
use fanin_wire::Ecn;
use std::collections::HashMap;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// Sequence numbers of bytes are cut to what laws of packet numbers can hold.
const NUMBERS: u32 = 1 << 24;

/// Certifies a trace with the configuration of its run, whose topology file is relative to the working directory or to
/// the configuration.
///
/// # Errors
/// If a file is missing or cannot be read, and why.
pub fn file(file: &Path, config: &Path) -> Result<Report, String> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let (settings, _) =
        Config::read(&config.display().to_string(), &read(config)?).map_err(|wrong| wrong.to_string())?;
    let beside = config.parent().unwrap_or(Path::new("")).join(&settings.topology_file);
    let topology = [PathBuf::from(&settings.topology_file), beside.clone()].into_iter().find(|path| path.exists());
    let topology = topology.unwrap_or(beside);
    let (topology, _) =
        Topology::read(&topology.display().to_string(), &read(&topology)?).map_err(|wrong| wrong.to_string())?;
    bytes(&file.display().to_string(), &read(file)?, &settings, &topology)
}

/// The same of files that are read; `name` is that of the trace.
///
/// # Errors
/// If the trace is damaged, or not one of this topology.
pub fn bytes(name: &str, bytes: &[u8], config: &Config, topology: &Topology) -> Result<Report, String> {
    let (header, records) = read_trace(name, bytes).map_err(|error| error.to_string())?;
    let mut net = Net::new(setup(config), Facts::default());
    let ports = ports(&mut net, topology);
    for told in &header.ports {
        let here = ports.get(&(told.node, told.interface));
        let rate = here.map(|port| net.at(*port).rate.as_bps());
        if rate != Some(told.rate) {
            let place = format!("interface {} of node {}", told.interface, told.node);
            let of = rate.map_or("has none".to_string(), |rate| format!("gives it {rate} b/s"));
            return Err(format!("{name}: {place} has {} b/s, and the topology {of}; is it of another run?", told.rate));
        }
    }
    let mut walk = Walk::new(net);
    let (mut end, mut unread, mut drops) = (Time::ZERO, 0u64, 0u64);
    for record in records {
        let record = record.map_err(|error| error.to_string())?;
        let time = Time::from_ns(record.time);
        if time < end {
            return Err(format!("{name}: a record of {time} follows one of {end}; records are in the order of time"));
        }
        end = time;
        let Some(port) = ports.get(&(record.node, record.interface)).copied() else {
            return Err(format!("{name}: node {} has no interface {}", record.node, record.interface));
        };
        let Some(packet) = packet(&record, config) else {
            unread += u64::from(record.packet.protocol() != 0);
            continue;
        };
        let of_switch = record.node_type == 1;
        let joins = record.event == trace::ENQU;
        if of_switch && matches!(record.event, trace::ENQU | trace::DEQU) {
            let (bytes, wire) = (u64::from(record.qlen), packet.wire);
            walk.told_queue(&Queue { time, port, class: record.queue, bytes, wire, joins });
        }
        match record.event {
            trace::RECV => walk.told_arrival(time, port, &packet),
            trace::DEQU => walk.begin(time, port, &Packet { class: record.queue, ..packet }),
            trace::DROP => drops += 1,
            _ => {}
        }
    }
    let mut notes = Vec::new();
    if unread > 0 {
        notes.push(format!("{unread} records have packets of an unknown kind, and were left out"));
    }
    if drops > 0 {
        notes.push(format!("{drops} packets are dropped in the trace"));
    }
    Ok(walk.finish(name, end, notes))
}

/// The rules of a configuration.
fn setup(config: &Config) -> Setup {
    let kb =
        |map: &[(u64, u32)], rate: u64| map.iter().find(|(of, _)| *of == rate).map(|(_, kb)| u64::from(*kb) * 1000);
    let marking = |rate: u64| {
        let most = config.pmax.iter().find(|(of, _)| *of == rate).map(|(_, most)| *most)?;
        let (min, max) = (kb(&config.kmin, rate)?, kb(&config.kmax, rate)?);
        Some((Rate::from_bps(rate), Marking::Red { min, max, most, at_enqueue: false }))
    };
    let rates = config.kmin.iter().filter(|_| config.enable_qcn).filter_map(|(rate, _)| marking(*rate));
    let data = Class { lossless: config.enable_pfc, marking_by_rate: rates.collect(), ..Class::default() };
    let classes = std::iter::once(Class { name: "0".into(), ..Class::default() })
        .chain((1..8).map(|queue| Class { name: queue.to_string(), ..data.clone() }));
    Setup {
        classes: classes.collect(),
        sizes: Sizes { payload: u64::from(config.payload), ..Sizes::default() },
        tick: Time::from_ns(1),
        has: Features {
            arrivals: true,
            foreign: true,
            errors: config.error_rate_per_link > 0.0,
            outages: config.link_down.is_some(),
            spraying: config.lb_mode != 0,
            ..Features::default()
        },
        ..Setup::default()
    }
}

/// The ports by node and interface, which are numbered from 1 in the order of the links.
fn ports(net: &mut Net, topology: &Topology) -> HashMap<(u16, u8), Port> {
    let mut ports = HashMap::new();
    let mut next: HashMap<u32, u8> = HashMap::new();
    let host = |node: u32| !topology.is_switch.get(node as usize).copied().unwrap_or(false);
    for (number, link) in topology.links.iter().enumerate() {
        let name = |node: u32| format!("{}{node}", if host(node) { "h" } else { "s" });
        let of = (Rate::from_bps(link.rate), Time::from_ns(link.delay.ns));
        let parallel = topology.links[..number].iter().any(|other| (other.a, other.b) == (link.a, link.b));
        let more = if parallel { format!("#{number}") } else { String::new() };
        let port = net.add((&name(link.a), &name(link.b), &more), of, (host(link.a), host(link.b)));
        for (node, port) in [(link.a, port), (link.b, port + 1)] {
            let interface = next.entry(node).or_default();
            *interface = interface.saturating_add(1);
            ports.insert((node as u16, *interface), port);
        }
    }
    ports
}

/// The packet of a record; `None` for what is none.
fn packet(record: &Record, config: &Config) -> Option<Packet> {
    let hash = |parts: &[u64]| {
        let mut hash = Plain::default();
        parts.iter().for_each(|part| hash.write_u64(*part));
        hash.finish()
    };
    let (ends, both) = ((record.sip, record.dip), u64::from(record.sip) << 32 | u64::from(record.dip));
    let of_acks = |pg: u16| if config.ack_high_prio { 0 } else { pg as u8 };
    let protocol = u64::from(record.packet.protocol());
    let connection = |one: u16, other: u16| u32::from(one) << 16 | u32::from(other);
    let (kind, class, channel, seq, span, numbers) = match record.packet {
        trace::Packet::Data(p) | trace::Packet::Tcp(p) => {
            let numbers = [u64::from(p.seq), p.ts, u64::from(p.payload)];
            (Kind::Data, p.pg as u8, connection(p.sport, p.dport), p.seq, u32::from(p.payload), numbers)
        }
        trace::Packet::Ack(p) | trace::Packet::Nack(p) => {
            let kind = if matches!(record.packet, trace::Packet::Ack(_)) { Kind::Ack } else { Kind::Nack };
            let numbers = [u64::from(p.seq), p.ts, u64::from(p.flags)];
            (kind, of_acks(p.pg), connection(p.dport, p.sport), p.seq.wrapping_sub(1), 1, numbers)
        }
        trace::Packet::Pfc { time, qlen, queue } => {
            let told = 1u8.checked_shl(u32::from(queue))?;
            let kind = Kind::Pause { told, paused: if time > 0 { told } else { 0 } };
            (kind, 0, 0, 0, 1, [u64::from(time), u64::from(qlen), u64::from(queue)])
        }
        trace::Packet::Cnp { flow, queue, seq, .. } => {
            (Kind::Cnp, 0, u32::from(flow), seq, 1, [u64::from(queue), u64::from(seq), 0])
        }
        trace::Packet::QueuePair { .. } | trace::Packet::Other(_) => return None,
    };
    let flow = hash(&[protocol, both, u64::from(channel)]);
    let payload = if kind == Kind::Data { u64::from(span) } else { 0 };
    Some(Packet {
        kind,
        class,
        wire: u64::from(record.size),
        payload,
        // That simulator marks packets whether or not they say that they may be.
        ecn: if record.ecn & 3 == 3 { Ecn::CongestionExperienced } else { Ecn::Capable0 },
        ttl: 0,
        flow,
        key: hash(&[flow, numbers[0], numbers[1], numbers[2], u64::from(record.size)]),
        ends,
        channel,
        seq: seq % NUMBERS,
        span,
        last: false,
    })
}

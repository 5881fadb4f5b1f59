//! Reads a run folder of Fanin: `spec.resolved.toml` and `capture.pcapng`.
//!
//! A capture has the first bit of each packet on each link. The rest follows from the rates and delays of the spec.

use crate::event::{Kind, Packet, Port};
use crate::facts::Facts;
use crate::map::Plain;
use crate::net::Net;
use crate::report::Report;
use crate::setup::{Setup, Spec, TELEMETRY};
use crate::walk::Walk;
use fanin_formats::pcapng::{self, Block};
use fanin_units::Time;
use fanin_wire::{
    Aeth, Bth, Ecn, Ethernet, FCS_LEN, IntHeader, Ipv4, MIN_FRAME, PROTOCOL_TCP, PROTOCOL_UDP, Pfc, ROCE_PORT,
    Syndrome, Tcp, Udp, ethertype, opcode,
};
use std::fs::File;
use std::hash::Hasher;
use std::io::{BufReader, Read};
use std::path::Path;

/// The UDP port of RoCEv2 packets with telemetry in front of their BTH.
const TELEMETRY_PORT: u16 = 1021;
/// The Ethernet type of credits.
const EXPERIMENT: u16 = 0x88B5;

/// Certifies a run folder; `facts` are what its tables say, or none.
///
/// # Errors
/// If a file is missing or cannot be read, and why.
pub fn folder(folder: &Path, facts: Facts) -> Result<Report, String> {
    let spec = folder.join("spec.resolved.toml");
    let text = std::fs::read_to_string(&spec).map_err(|error| format!("{}: {error}", spec.display()))?;
    let spec = Spec::read(&text).map_err(|what| format!("{}: {what}", spec.display()))?;
    let file = folder.join("capture.pcapng");
    let name = file.display().to_string();
    let open = File::open(&file).map_err(|error| {
        format!("{name}: {error}; a run has one with measure.capture = {{ links = \"all\", max_size = \"1 GB\" }}")
    })?;
    stream(&name, BufReader::with_capacity(1 << 20, open), spec, facts)
}

/// Certifies a capture, of any length, against a spec; `name` is that of the file.
///
/// # Errors
/// If it is no capture, or not one of the spec's network.
pub fn stream(name: &str, from: impl Read, spec: Spec, facts: Facts) -> Result<Report, String> {
    let mut walk = Walk::new(Net::new(spec.setup.clone(), facts));
    let mut ports: Vec<Port> = Vec::new();
    let (mut end, mut left_out, mut unread, mut back) = (Time::ZERO, 0, 0u64, None);
    let mut last = Time::ZERO;
    let mut wrong = None;
    pcapng::read(name, from, |block| {
        match block {
            Block::Section => ports.clear(),
            Block::Interface { name, .. } => match walk.net.port(name.unwrap_or_default(), &spec) {
                Ok(port) => ports.push(port),
                Err(what) => wrong = Some(what),
            },
            Block::Packet { interface, time, bytes, original } => {
                if time < last {
                    back.get_or_insert((last, time));
                }
                last = last.max(time);
                match packet(bytes, original, &walk.net.setup) {
                    Some(packet) => walk.begin(last, ports[interface as usize], &packet),
                    None => unread += 1,
                }
                end = end.max(time);
            }
            Block::Statistics { left_out: Some(n), .. } => left_out += n,
            Block::Statistics { .. } => {}
        }
        wrong.is_none() && back.is_none()
    })
    .map_err(|error| error.to_string())?;
    if let Some(what) = wrong {
        return Err(format!("{name}: {what}"));
    }
    if let Some((before, time)) = back {
        return Err(format!("{name}: a packet of {time} follows one of {before}; packets are in the order of time"));
    }
    let mut notes = Vec::new();
    walk.net.cut = left_out > 0;
    if left_out > 0 {
        notes.push(format!("{left_out} packets after {end} are not in the capture, whose size is limited"));
    }
    if unread > 0 {
        notes.push(format!("{unread} frames could not be read as RoCEv2, TCP, PFC or a credit, and were left out"));
    }
    Ok(walk.finish(name, end, notes))
}

/// A packet from its frame; `None` where it is of no known form.
fn packet(bytes: &[u8], original: u32, setup: &Setup) -> Option<Packet> {
    let (ethernet, rest) = Ethernet::decode(bytes).ok()?;
    let plain = Packet {
        kind: Kind::Other,
        class: 0,
        wire: u64::from(original),
        payload: 0,
        ecn: Ecn::NotCapable,
        ttl: 0,
        flow: 0,
        key: 0,
        ends: (0, 0),
        channel: 0,
        seq: 0,
        span: 1,
        last: false,
    };
    match ethernet.ethertype {
        ethertype::MAC_CONTROL => {
            let (pfc, _) = Pfc::decode(rest).ok()?;
            let bits = |is: &dyn Fn(u16) -> bool| {
                (0..8).filter(|class| pfc.quanta[*class].is_some_and(is)).fold(0u8, |bits, class| bits | 1 << class)
            };
            let kind = Kind::Pause { told: bits(&|_| true), paused: bits(&|quanta| quanta > 0) };
            Some(Packet { kind, wire: counted(original, MIN_FRAME, setup.sizes.pause), ..plain })
        }
        EXPERIMENT => {
            // Kind, class, connection, field of the scheme, both hosts, and links crossed, which change.
            let fields = rest.get(..18)?;
            let number = |at: usize| fields[at..at + 4].try_into().map(u32::from_be_bytes).ok();
            let ends = (number(10)?, number(14)?);
            let flow = hash(&[1, u64::from(ends.0), u64::from(ends.1), u64::from(number(2)?)]);
            let key = hash(&[flow, u64::from(fields[0]), u64::from(number(6)?), u64::from(original)]);
            Some(Packet { class: fields[1], channel: number(2)?, ends, flow, key, ..plain })
        }
        ethertype::IPV4 => internet(rest, original, setup, plain),
        _ => None,
    }
}

/// Bytes that a packet counts on its link: those on the wire, or fewer where its sizes leave no room for the headers.
fn counted(original: u32, real: usize, size: u64) -> u64 {
    if original as usize > real { u64::from(original) } else { u64::from(original).min(size) }
}

fn internet(bytes: &[u8], original: u32, setup: &Setup, plain: Packet) -> Option<Packet> {
    let (ip, rest) = Ipv4::decode(bytes).ok()?;
    let real = (Ethernet::LEN + usize::from(ip.total_length) + FCS_LEN).max(MIN_FRAME);
    let host = |address: [u8; 4]| u32::from_be_bytes([0, address[1], address[2], address[3]]).wrapping_sub(1);
    let ends = (host(ip.source), host(ip.destination));
    let both = u64::from(ends.0) << 32 | u64::from(ends.1);
    let class = setup.class(ip.dscp);
    let plain = Packet { class, ecn: ip.ecn, ttl: ip.ttl, ends, ..plain };
    if ip.protocol == PROTOCOL_TCP {
        let (tcp, _) = Tcp::decode(rest).ok()?;
        let payload = u64::from(ip.total_length) - Ipv4::LEN as u64 - tcp.wire_len() as u64;
        let ports = u64::from(tcp.source_port) << 16 | u64::from(tcp.destination_port);
        let flow = hash(&[6, both, ports, u64::from(class == 0)]);
        let numbers = u64::from(tcp.seq) << 32 | u64::from(tcp.ack);
        let capable = u64::from(ip.ecn != Ecn::NotCapable);
        let fields = capable << 32 | u64::from(tcp.flags) << 16 | u64::from(tcp.window);
        let key = hash(&[flow, numbers, fields, u64::from(original)]);
        let size = if payload > 0 { payload + setup.sizes.header } else { setup.sizes.ack };
        let wire = counted(original, real, size);
        return Some(Packet { kind: Kind::Tcp, wire, payload, flow, key, seq: tcp.seq, ..plain });
    }
    if ip.protocol != PROTOCOL_UDP {
        return None;
    }
    let (udp, mut rest) = Udp::decode(rest).ok()?;
    let mut headers = Ipv4::LEN + Udp::LEN + Bth::LEN + 4;
    let mut telemetry = 0;
    if udp.destination_port == TELEMETRY_PORT {
        let (header, behind) = IntHeader::decode(rest).ok()?;
        telemetry = header.wire_len();
        (rest, headers) = (behind, headers + telemetry);
    } else if udp.destination_port != ROCE_PORT {
        return None;
    }
    let (bth, rest) = Bth::decode(rest).ok()?;
    let answers = |rest: &[u8]| Aeth::decode(rest).map(|(aeth, _)| aeth).ok();
    let (kind, more) = match bth.opcode {
        opcode::ACKNOWLEDGE | opcode::DART_ACKNOWLEDGE => match answers(rest)?.syndrome {
            Syndrome::Ack { .. } => (Kind::Ack, 0),
            Syndrome::Nack { .. } => (Kind::Nack, answers(rest)?.msn),
        },
        opcode::CNP => (Kind::Cnp, 0),
        _ => (Kind::Data, 0),
    };
    let padded = usize::from(ip.total_length).saturating_sub(headers);
    let payload = if kind == Kind::Data { padded.saturating_sub(usize::from(bth.pad_count)) as u64 } else { 0 };
    let flow = hash(&[17, both, u64::from(bth.destination_qp), u64::from(kind == Kind::Data)]);
    let numbers = u64::from(bth.psn) << 24 | u64::from(more);
    let kinds = u64::from(bth.opcode) << 2 | u64::from(bth.becn) << 1 | u64::from(ip.ecn != Ecn::NotCapable);
    let sizes = &setup.sizes;
    let added = if telemetry > 0 { (TELEMETRY, TELEMETRY) } else { sizes.plain };
    let size = match kind {
        Kind::Data => payload + sizes.header + added.0,
        Kind::Cnp => sizes.cnp,
        _ => sizes.ack + added.1,
    };
    let last = matches!(bth.opcode, opcode::SEND_LAST | opcode::SEND_ONLY);
    // The simulator counts no padding: neither that of a payload to words, nor that of a frame to its least length.
    let wire = match u64::from(original) {
        wire if original as usize > real => wire,
        wire if setup.has.few || real == MIN_FRAME => wire.min(size),
        wire => wire - u64::from(bth.pad_count),
    };
    let length = wire << 16 | u64::from(ip.total_length).saturating_sub(telemetry as u64);
    let key = hash(&[flow, numbers, kinds, length]);
    Some(Packet { kind, wire, payload, flow, key, channel: bth.destination_qp, seq: bth.psn, last, ..plain })
}

fn hash(parts: &[u64]) -> u64 {
    let mut hash = Plain::default();
    parts.iter().for_each(|part| hash.write_u64(*part));
    let mixed = hash.finish();
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

//! Records in the format of that simulator's files.

use crate::hash::address;
use crate::network::Network;
use crate::packet::{Kind, Packet};
use crate::results::{Finished, Lengths, Pause, Record, Seen};
use fanin_formats::hpcc::{Fct, Pfc, QlenDump, QlenPort, trace};

/// A finished flow as a line of the FCT file. The ideal completion time is in integer arithmetic: a base round trip,
/// and payload with 48 bytes of headers per packet on the narrowest link, in 32 bits.
pub fn fct(f: &Finished, payload: u32) -> Fct {
    let bytes = f.bytes as u32;
    let packets = (bytes.saturating_sub(1)).checked_div(payload).unwrap_or(0) + 1;
    let total = bytes.wrapping_add(packets.wrapping_mul(48));
    Fct {
        sip: address(f.src),
        dip: address(f.dst),
        sport: f.sport,
        dport: f.dport,
        bytes: f.bytes,
        start: f.start,
        fct: f.took,
        standalone: f.round_trip + (total as u64).wrapping_mul(8_000_000_000).checked_div(f.narrowest).unwrap_or(0),
    }
}

/// A pause or resume as a line of the PFC file.
pub fn pfc(p: &Pause) -> Pfc {
    Pfc { time: p.at, node: p.node, is_switch: p.is_switch, interface: p.device as u32, pause: p.pause }
}

impl Network {
    /// Dumps of queue lengths, one for each instant: ports of all switches, by number.
    pub fn dumps(&self, lengths: Vec<Lengths>) -> Vec<QlenDump> {
        let wiring = self.wiring();
        let switches: Vec<u32> = (0..wiring.is_switch.len() as u32).filter(|n| wiring.is_switch[*n as usize]).collect();
        let mut dumps: Vec<QlenDump> = Vec::new();
        for Lengths { at, switch, device, counts } in lengths {
            let Some(&node) = switches.get(switch) else { continue };
            if device >= wiring.of_node[node as usize].len() {
                continue;
            }
            if dumps.last().is_none_or(|dump| dump.time != at) {
                dumps.push(QlenDump { time: at, ports: Vec::new() });
            }
            if let Some(dump) = dumps.last_mut() {
                dump.ports.push(QlenPort { switch: node, interface: device as u32 + 1, counts });
            }
        }
        dumps
    }

    /// The header of a trace.
    pub fn trace_header(&self) -> trace::Header {
        let devices = self.wiring().of_node.iter().flatten().map(|d| &self.wiring().devices[*d as usize]);
        let port = |d: &crate::wiring::Device| trace::PortRate {
            node: d.node as u16,
            interface: d.number as u8,
            rate: d.rate,
        };
        trace::Header { ports: devices.map(port).collect(), window: self.largest().1 as u32 }
    }

    /// A packet at a traced node, as a record of the trace.
    pub fn trace_record(&self, r: &Record) -> trace::Record {
        let Packet { kind, ce, queue, size, seq, flow, payload, sent_at, .. } = r.packet;
        let flow = self.flows().get(flow as usize);
        let (src, dst, sport, dport) = flow.map_or((r.node, 0, 0, 0), |f| (f.src, f.dst, f.sport, f.dport));
        let back = trace::Ack { sport: dport, dport: sport, flags: ce as u16, pg: queue as u16, seq, ts: sent_at };
        let (sip, dip, packet) = match kind {
            Kind::Data => {
                let payload = payload as u16;
                let data = trace::Data { sport, dport, seq, ts: sent_at, pg: queue as u16, payload };
                (address(src), address(dst), trace::Packet::Data(data))
            }
            Kind::Ack => (address(dst), address(src), trace::Packet::Ack(back)),
            Kind::Nack => (address(dst), address(src), trace::Packet::Nack(back)),
            Kind::Pfc(pause) => {
                (address(r.node), u32::MAX, trace::Packet::Pfc { time: 5 * pause as u32, qlen: 0, queue })
            }
        };
        trace::Record {
            time: r.at,
            node: r.node as u16,
            interface: r.device as u8,
            queue: r.queue,
            qlen: r.queued as u32,
            sip,
            dip,
            size: size as u16,
            event: match r.seen {
                Seen::Received => trace::RECV,
                Seen::Enqueued => trace::ENQU,
                Seen::Dequeued => trace::DEQU,
                Seen::Dropped => trace::DROP,
            },
            ecn: 3 * (ce && kind == Kind::Data) as u8,
            node_type: r.is_switch as u8,
            packet,
        }
    }
}

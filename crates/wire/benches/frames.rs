//! Speed of CRCs, of encoding and of decoding, for each kind of packet: `make frames`.
//!
//! Times depend on the machine, so each is also given as a ratio to CRCs byte by byte of as many bytes, measured in
//! turn with it in the same run. Of several rounds the fastest counts.

use fanin_wire::{
    Cnp, DartAck, DartData, DartSend, Data, Ecn, Envelope, Packet, Pfc, Response, SenderList, Senders, fcs,
};
use std::hint::black_box;
use std::time::Instant;

#[path = "../tests/bytewise/mod.rs"]
mod bytewise;

/// Rounds, in each of which everything is measured once.
const ROUNDS: usize = 60;
/// Bytes of frames in a measurement.
const BYTES: usize = 400_000;

/// Nanoseconds of one call of each of these, `calls` of which are a measurement.
fn fastest<const N: usize>(calls: usize, mut of: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut least = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (run, least) in of.iter_mut().zip(&mut least) {
            let start = Instant::now();
            (0..calls).for_each(|_| run());
            *least = least.min(start.elapsed().as_nanos() as f64 / calls as f64);
        }
    }
    least
}

fn crcs() {
    println!("{:>22}  {:>14}  {:>14}  {:>5}", "CRC-32 of", "byte by byte", "16 at a time", "ratio");
    for len in [66, 256, 1062, 4158, 9062] {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let [slow, fast] = fastest(
            BYTES / len,
            [&mut || _ = black_box(bytewise::crc32(black_box(&bytes))), &mut || _ = black_box(fcs(black_box(&bytes)))],
        );
        let speed = |ns: f64| format!("{:.0} MB/s", len as f64 / ns * 1e3);
        println!("{:>22}  {:>14}  {:>14}  {:>5.1}", format!("{len} B"), speed(slow), speed(fast), slow / fast);
    }
}

/// A name and a packet of each kind.
fn packets<'a>(payload: &'a [u8; 4096], senders: &'a [u16]) -> Vec<(String, Packet<'a>)> {
    let envelope = Envelope {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source_ip: [10, 0, 0, 1],
        destination_ip: [10, 0, 0, 2],
        source_port: 49153,
        dscp: 26,
        ecn: Ecn::Capable0,
        ttl: 64,
    };
    let (destination_qp, psn, ack_request) = (0x123456, 0xABCDEF, true);
    let data = |len: usize| {
        let data =
            Data { envelope, destination_qp, psn, start: true, end: true, ack_request, payload: &payload[..len] };
        (format!("data, {len} B"), Packet::Data(data))
    };
    let ack = Response { envelope, destination_qp, psn, msn: 7, becn: false };
    let list = Some(SenderList { incast: 5, senders: Senders::new(senders) });
    let dart =
        DartData { start: true, end: false, lane: 1, tokens: 4, tenant: 7, weight: 1, message: 9, attempt: 0, list };
    let send = DartSend { envelope, destination_qp, psn, ack_request, dart, payload: &payload[..1000] };
    let mut all: Vec<_> = [64, 1000, 4096].map(data).into();
    all.extend([
        ("ACK".to_string(), Packet::Ack(ack)),
        ("CNP".to_string(), Packet::Cnp(Cnp { envelope, destination_qp })),
        (format!("Dart data, {} senders", senders.len()), Packet::DartData(send)),
        ("Dart ACK".to_string(), Packet::DartAck { ack, dart: DartAck { parts: 1, of: 20 } }),
        ("PFC".to_string(), Packet::Pfc { source: envelope.source_mac, pfc: Pfc { quanta: [Some(9); 8] } }),
    ]);
    all
}

fn frames() {
    println!("\nns per frame; in brackets, how many times faster than the CRCs that the frame has, byte by byte");
    println!("{:>22}  {:>5}  {:>16}  {:>16}", "frame", "B", "encode", "decode");
    let (payload, senders): ([u8; 4096], [u16; 20]) = ([0x5A; 4096], core::array::from_fn(|host| host as u16));
    for (name, packet) in packets(&payload, &senders) {
        let len = packet.wire_len();
        let (mut frame, mut buffer) = (vec![0; len], vec![0; len]);
        packet.encode(&mut frame).expect("a valid packet");
        let crcs = if matches!(packet, Packet::Pfc { .. }) { 1 } else { 2 };
        let [slow, encode, decode] = fastest(
            BYTES / len,
            [
                &mut || (0..crcs).for_each(|_| _ = black_box(bytewise::crc32(black_box(&frame)))),
                &mut || _ = black_box(black_box(&packet).encode(black_box(&mut buffer))),
                &mut || _ = black_box(Packet::decode(black_box(&frame))),
            ],
        );
        let shown = |ns: f64| format!("{ns:.0} ({:.1})", slow / ns);
        println!("{name:>22}  {len:>5}  {:>16}  {:>16}", shown(encode), shown(decode));
    }
}

fn main() {
    crcs();
    frames();
}

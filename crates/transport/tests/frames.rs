//! Frames and set-ups as bytes: what is written is read, and nothing else is.

use fanin_cc::{Header, IntHop, Kind, Telemetry, WireFormat, flags};
use fanin_engine::Streams;
use fanin_transport::frame::{Dscps, Layout};
use fanin_transport::{Carried, Control, Formats, Path};
use fanin_units::{MessageId, NodeId, Rate, Time};
use fanin_wire::layouts;

fn formats() -> Formats {
    let layout = |format| Layout { format, tenant: 1, weight: 2 };
    let layouts = [WireFormat::Roce, WireFormat::Dart, WireFormat::Int { unit: 1 }].map(layout).to_vec();
    Formats { payload: 1000, ack: 64, dscps: Dscps::default(), layouts }
}

/// A packet of each kind under each scheme.
fn packets() -> Vec<Carried> {
    let mut all = Vec::new();
    for scheme in 0..3u16 {
        for kind in [Kind::Data, Kind::Ack, Kind::Nack, Kind::Cnp, Kind::Credit, Kind::Request, Kind::Pause] {
            let is_data = kind == Kind::Data;
            let ack = kind == Kind::Ack;
            let telemetry = (scheme == 2 && (is_data || ack)).then(|| {
                let mut telemetry = Telemetry::default();
                for switch in 0..6u64 {
                    let (rate, time) = (Rate::from_gbps(100), Time::from_ns(1000 * switch));
                    telemetry.push(NodeId(40 + switch as u32), IntHop { rate, time, sent: switch << 30, queued: 77 });
                }
                telemetry
            });
            let shown = match kind {
                Kind::Data => flags::ECT | flags::START | flags::RESENT,
                Kind::Ack => flags::ECHO | flags::PUSH,
                _ => 0,
            };
            let head = Header {
                seq: 123_456_789,
                sent_at: Time::from_ps(987_654_321_012),
                flow: MessageId(if kind == Kind::Pause { 0 } else { 70_000 }),
                src: NodeId(3),
                dst: NodeId(if kind == Kind::Pause { 0 } else { 300 }),
                cc_tag: if kind == Kind::Pause { 0x0604 } else { 17 },
                cc_feedback: if scheme == 1 && ack { u32::from_be_bytes([0, 1, 0, 3]) } else { 5 },
                wire: 1090,
                payload: if is_data { 999 } else { 0 },
                attempt: 4,
                kind,
                class: if is_data { 2 } else { 0 },
                flags: shown | if telemetry.is_some() { flags::INT } else { 0 },
                hops: if kind == Kind::Pause { 0 } else { 3 },
                tokens: 6,
                lane: 1,
            };
            let path = Path { key: 0xDEAD_BEEF, route: 0x1234 };
            // Of a connection that stays open.
            let channel = MessageId(if kind == Kind::Pause { 0 } else { 69_000 });
            all.push(Carried { head, channel, path, scheme, deflections: 2, telemetry });
        }
    }
    all
}

fn bytes_of(packet: &Carried) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&formats(), (NodeId(3), NodeId(301)), Some((9, &[3, 5])), &mut bytes).unwrap();
    bytes
}

#[test]
fn a_packet_of_every_kind_and_layout_comes_back_as_it_was() {
    let mut scratch = Vec::new();
    for packet in packets() {
        let found = Carried::decode(&formats(), &bytes_of(&packet), &mut scratch);
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(packet)));
    }
}

#[test]
fn extensions_and_plain_frames_are_as_their_tables_say() {
    for packet in packets() {
        let (bytes, head) = (bytes_of(&packet), packet.head);
        let of = |name: &str| layouts::EXTENSION.value(&bytes, name).unwrap();
        let (offset, sent) = (head.seq, head.sent_at.as_ps());
        assert_eq!(["offset", "sent_at"].map(of), [offset, sent]);
        let words = [head.cc_tag, head.cc_feedback, packet.path.key, packet.path.route, head.flow.0];
        assert_eq!(["tag", "feedback", "key", "route", "message"].map(of), words.map(u64::from));
        assert_eq!(["wire", "attempt", "scheme"].map(of), [head.wire, head.attempt, packet.scheme].map(u64::from));
        let few = [head.lane, head.tokens, packet.deflections].map(u64::from);
        assert_eq!(["lane", "tokens", "deflections"].map(of), few);
        let telemetry = packet.telemetry.as_ref().map(|of| (u64::from(of.count()), u64::from(of.path())));
        assert_eq!((of("records"), of("path")), telemetry.unwrap_or((255, 0)));
        if matches!(head.kind, Kind::Credit | Kind::Request) {
            let plain = &bytes[layouts::EXTENSION.len() + 14..];
            let of = |name: &str| layouts::PLAIN.value(plain, name).unwrap();
            assert_eq!(["kind", "class", "hops"].map(of), [head.kind as u8, head.class, head.hops].map(u64::from));
            let words = [packet.channel.0, head.cc_tag, head.src.0, head.dst.0].map(u64::from);
            assert_eq!(["connection", "tag", "source", "destination"].map(of), words);
        }
    }
}

#[test]
fn dscps_of_classes_and_of_cnps_are_in_the_frame_and_tell_the_class() {
    // RoCEv2 as it is deployed: data with 26, CNPs with 48.
    let mut dscps = Dscps { cnp: Some(48), ..Dscps::default() };
    dscps.of_class[2] = 26;
    let own = Formats { dscps, ..formats() };
    for packet in packets().iter().filter(|packet| packet.telemetry.is_none()) {
        let mut bytes = Vec::new();
        packet.encode(&own, (NodeId(3), NodeId(301)), Some((9, &[3, 5])), &mut bytes).unwrap();
        let found = Carried::decode(&own, &bytes, &mut Vec::new());
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(packet)));
        let dscp = match packet.head.kind {
            Kind::Data => 26,
            Kind::Cnp => 48,
            Kind::Ack | Kind::Nack => 0,
            _ => continue,
        };
        // The extension, Ethernet, and the second byte of IPv4.
        assert_eq!(bytes[layouts::EXTENSION.len() + 14 + 1] >> 2, dscp, "{:?}", packet.head.kind);
    }
}

#[test]
fn a_marked_packet_comes_back_marked() {
    let mut packet = packets()[0];
    for extra in [flags::CE, flags::CE | flags::ECT, 0] {
        packet.head.flags = packet.head.flags & !(flags::CE | flags::ECT) | extra;
        let found = Carried::decode(&formats(), &bytes_of(&packet), &mut Vec::new()).unwrap();
        assert_eq!(found.head.flags, packet.head.flags);
    }
}

#[test]
fn cut_changed_and_random_bytes_are_refused_or_harmless() {
    let (formats, mut scratch) = (formats(), Vec::new());
    let mut draws = Streams::new(5).stream("frames", 0);
    for packet in packets() {
        let bytes = bytes_of(&packet);
        for len in 0..bytes.len() {
            assert!(Carried::decode(&formats, &bytes[..len], &mut scratch).is_none(), "cut to {len}");
        }
        for _ in 0..400 {
            let mut changed = bytes.clone();
            let at = draws.below(changed.len() as u64) as usize;
            changed[at] ^= 1 << draws.below(8);
            // Behind the extension every bit is under a checksum, but for frames without a standard layout.
            let found = Carried::decode(&formats, &changed, &mut scratch);
            let standard = !matches!(packet.head.kind, Kind::Credit | Kind::Request) && packet.telemetry.is_none();
            assert!(
                at < layouts::EXTENSION.len() || !standard || found.is_none(),
                "byte {at} of {:?}",
                packet.head.kind
            );
        }
    }
    for _ in 0..20_000 {
        let len = draws.below(300) as usize;
        let bytes: Vec<u8> = (0..len).map(|_| draws.bits() as u8).collect();
        assert!(Carried::decode(&formats, &bytes, &mut scratch).is_none());
        let _ = Control::decode(&bytes);
    }
}

//! What holds for every header, every packet and every sequence of bytes.

use core::fmt::Debug;
use fanin_wire::{
    Aeth, Bth, Cnp, Data, Ecn, Envelope, Ethernet, Ipv4, Packet, Pfc, Response, Syndrome, Udp, WireError,
};
use proptest::prelude::*;

/// Number of random cases, from the environment.
fn config() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A packet that owns its payload.
#[derive(Clone, Debug)]
enum Owned {
    Data(Data<'static>, Vec<u8>),
    Other(Packet<'static>),
}

impl Owned {
    fn packet(&self) -> Packet<'_> {
        match self {
            Self::Data(data, payload) => Packet::Data(Data { payload, ..*data }),
            Self::Other(packet) => *packet,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let packet = self.packet();
        let mut bytes = vec![0xEE; packet.wire_len()];
        assert_eq!(packet.encode(&mut bytes), Ok(bytes.len()));
        bytes
    }
}

fn u24() -> impl Strategy<Value = u32> {
    0u32..1 << 24
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced])
}

fn envelope() -> impl Strategy<Value = Envelope> {
    (any::<[[u8; 6]; 2]>(), any::<[[u8; 4]; 2]>(), any::<u16>(), 0u8..64, ecn(), any::<u8>()).prop_map(
        |([source_mac, destination_mac], [source_ip, destination_ip], source_port, dscp, ecn, ttl)| Envelope {
            source_mac,
            destination_mac,
            source_ip,
            destination_ip,
            source_port,
            dscp,
            ecn,
            ttl,
        },
    )
}

fn packet() -> impl Strategy<Value = Owned> {
    let payload = prop::collection::vec(any::<u8>(), 0..200);
    let data = (envelope(), u24(), u24(), any::<[bool; 3]>(), payload).prop_map(
        |(envelope, destination_qp, psn, [start, end, ack_request], payload)| {
            Owned::Data(Data { envelope, destination_qp, psn, start, end, ack_request, payload: &[] }, payload)
        },
    );
    let response = (envelope(), u24(), u24(), u24(), any::<[bool; 2]>()).prop_map(
        |(envelope, destination_qp, psn, msn, [becn, good])| {
            let response = Response { envelope, destination_qp, psn, msn, becn };
            Owned::Other(if good { Packet::Ack(response) } else { Packet::Nack(response) })
        },
    );
    let cnp = (envelope(), u24())
        .prop_map(|(envelope, destination_qp)| Owned::Other(Packet::Cnp(Cnp { envelope, destination_qp })));
    let pfc = (any::<[u8; 6]>(), any::<[Option<u16>; 8]>())
        .prop_map(|(source, quanta)| Owned::Other(Packet::Pfc { source, pfc: Pfc { quanta } }));
    prop_oneof![data, response, cnp, pfc]
}

/// Encodes a header, decodes it from the middle of other bytes, and cuts it everywhere.
fn round_trip<H: PartialEq + Debug>(
    header: H,
    len: usize,
    encode: impl Fn(&H, &mut [u8]) -> Result<usize, WireError>,
    decode: impl Fn(&[u8]) -> Result<(H, &[u8]), WireError>,
) {
    let mut bytes = [0xEE; 40];
    assert_eq!(encode(&header, &mut bytes), Ok(len));
    assert!(bytes[len..].iter().all(|b| *b == 0xEE), "{header:?} was written past its end");
    let (read, rest) = decode(&bytes).unwrap();
    assert_eq!((read, rest), (header, &bytes[len..]));
    for kept in 0..len {
        assert!(matches!(decode(&bytes[..kept]), Err(WireError::Truncated { missing, .. }) if missing == len - kept));
        let mut short = vec![0; kept];
        let (read, _) = decode(&bytes).unwrap();
        let result = encode(&read, &mut short);
        assert!(matches!(result, Err(WireError::NoRoom { missing, .. }) if missing == len - kept));
    }
}

/// Whatever the bytes are: no panic, and the rest is what follows the header.
fn total<H>(bytes: &[u8], len: usize, decode: impl Fn(&[u8]) -> Result<(H, &[u8]), WireError>) {
    if let Ok((_, rest)) = decode(bytes) {
        assert_eq!(rest, &bytes[len..]);
    } else {
        assert!(bytes.len() < len || decode(&bytes[..len]).is_err(), "bytes after the header decide about it");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn headers_survive_encoding(
        (macs, ports, lengths) in any::<([[u8; 6]; 2], [u16; 4], [u16; 2])>(),
        (dscp, ecn, ips, ttl) in (0u8..64, ecn(), any::<[[u8; 4]; 2]>(), any::<u8>()),
        (opcode, flags, pad_count, partition_key) in (any::<u8>(), any::<[bool; 5]>(), 0u8..4, any::<u16>()),
        (destination_qp, psn, nack, code, msn) in (u24(), u24(), any::<bool>(), 0u8..32, u24()),
        quanta in any::<[Option<u16>; 8]>(),
    ) {
        let [source, destination] = macs;
        let ethernet = Ethernet { source, destination, ethertype: ports[0] };
        round_trip(ethernet, Ethernet::LEN, Ethernet::encode, Ethernet::decode);

        let [source, destination] = ips;
        let (total_length, identification, dont_fragment, protocol) = (lengths[0].max(20), ports[3], flags[0], opcode);
        let ip =
            Ipv4 { dscp, ecn, total_length, identification, dont_fragment, ttl, protocol, source, destination };
        round_trip(ip, Ipv4::LEN, Ipv4::encode, Ipv4::decode);

        let udp = Udp { source_port: ports[1], destination_port: ports[2], length: lengths[1].max(8) };
        round_trip(udp, Udp::LEN, Udp::encode, Udp::decode);

        let [solicited_event, migrated, fecn, becn, ack_request] = flags;
        let bth = Bth {
            opcode,
            solicited_event,
            migrated,
            pad_count,
            partition_key,
            fecn,
            becn,
            destination_qp,
            ack_request,
            psn,
        };
        round_trip(bth, Bth::LEN, Bth::encode, Bth::decode);

        let syndrome = if nack { Syndrome::Nack { code } } else { Syndrome::Ack { credits: code } };
        round_trip(Aeth { syndrome, msn }, Aeth::LEN, Aeth::encode, Aeth::decode);
        round_trip(Pfc { quanta }, Pfc::LEN, Pfc::encode, Pfc::decode);
    }

    #[test]
    fn packets_survive_encoding_whatever_follows(
        owned in packet(), after in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut bytes = owned.bytes();
        bytes.extend(&after);
        prop_assert_eq!(Packet::decode(&bytes), Ok((owned.packet(), &after[..])));
    }

    #[test]
    fn no_part_of_a_packet_is_a_packet(owned in packet(), cut in any::<prop::sample::Index>()) {
        let bytes = owned.bytes();
        let kept = &bytes[..cut.index(bytes.len())];
        let Err(WireError::Truncated { missing, .. }) = Packet::decode(kept) else {
            return Err(TestCaseError::fail("not reported as truncated"));
        };
        prop_assert!((1..=bytes.len() - kept.len()).contains(&missing));
    }

    #[test]
    fn every_flipped_bit_is_noticed(owned in packet(), bit in any::<prop::sample::Index>()) {
        let mut bytes = owned.bytes();
        let bit = bit.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Packet::decode(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        total(&bytes, Ethernet::LEN, Ethernet::decode);
        total(&bytes, Ipv4::LEN, Ipv4::decode);
        total(&bytes, Udp::LEN, Udp::decode);
        total(&bytes, Bth::LEN, Bth::decode);
        total(&bytes, Aeth::LEN, Aeth::decode);
        total(&bytes, Pfc::LEN, Pfc::decode);
        prop_assert!(Packet::decode(&bytes).is_err(), "random bytes with a right FCS");
    }

    /// Wrong lengths and opcodes behind right checksums get past the first checks.
    #[test]
    fn damaged_packets_never_panic(
        owned in packet(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut bytes = owned.bytes();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Err(WireError::Checksum { header: "IPv4", computed, .. }) = Packet::decode(&bytes) {
            bytes[24..26].copy_from_slice(&(computed as u16).to_be_bytes());
        }
        for bytes in [&bytes[..], &bytes[..kept.index(bytes.len())]] {
            if let Ok((Packet::Data(data), rest)) = Packet::decode(bytes) {
                prop_assert!(data.payload.len() + rest.len() < bytes.len());
            }
        }
    }
}

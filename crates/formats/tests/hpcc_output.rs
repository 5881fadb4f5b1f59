//! What the ns-3 HPCC simulator writes: completed flows, pauses, queue lengths, traces.

mod common;

use common::*;
use fanin_formats::hpcc::trace::{
    Ack, DEQU, DROP, Data, ENQU, Header, Packet, PortRate, RECORD, RECV, Record, read_trace,
};
use fanin_formats::hpcc::*;
use proptest::prelude::*;

const G: u64 = 1_000_000_000;

#[test]
fn lines_are_as_there() {
    let line = "0b000d01 0b000601 10000 100 443 2000000067 4086 4199";
    let fct = Fct {
        sip: node_ip(13),
        dip: node_ip(6),
        sport: 10000,
        dport: 100,
        bytes: 443,
        start: 2_000_000_067,
        fct: 4086,
        standalone: 4199,
    };
    assert_eq!(fct.to_string(), line);
    assert_eq!(read_fct("f", format!("\n{line}\r\n{line}").as_bytes()).unwrap(), [fct, fct]);
    for id in [0, 1, 255, 256, 300, 65_535] {
        assert_eq!(ip_node(node_ip(id)), id);
    }
    assert_eq!(node_ip(300), 0x0b01_2c01);

    let pfc = Pfc { time: 2_000_001_000, node: 320, is_switch: true, interface: 17, pause: true };
    assert_eq!(pfc.to_string(), "2000001000 320 1 17 1");
    assert_eq!(
        read_pfc("p", b"2000001000 320 1 17 1\n7 3 0 1 0\n").unwrap(),
        [pfc, Pfc { time: 7, node: 3, is_switch: false, interface: 1, pause: false }]
    );

    let port = QlenPort { switch: 17, interface: 2, counts: vec![2, 1, 0, 1] };
    let idle = QlenPort { switch: 17, interface: 3, counts: vec![] };
    let dump = QlenDump { time: 2_100_000_000, ports: vec![port, idle] };
    assert_eq!(dump.to_string(), "time: 2100000000\n17 2 2 1 0 1\n17 3\n");
    assert_eq!(read_qlen("q", format!("{dump}{dump}").as_bytes()).unwrap(), [dump.clone(), dump]);
}

#[test]
fn what_is_wrong_has_its_line() {
    let good = "0b000d01 0b000601 10000 100 443 2000000067 4086 4199\n";
    for (line, says) in [
        ("0b000d01 0b000601 10000 100 443 2000000067 4086\n", "alone is missing"),
        ("0b000d01 0b000601 10000 100 443 2000000067 4086 4199 1\n", "\"1\" is superfluous"),
        ("0b000d0x 0b000601 10000 100 443 2000000067 4086 4199\n", "not an address"),
        ("0b000d01 10b000601 10000 100 443 2000000067 4086 4199\n", "not an address"),
        ("0b000d01 0b000601 65536 100 443 2000000067 4086 4199\n", "at most 65535"),
    ] {
        let error = read_fct("f", format!("{good}{line}").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("f:2: ") && error.contains(says), "{error}");
    }
    assert!(read_pfc("p", b"1 2 2 1 1").unwrap_err().what.contains("at most 1"));
    assert!(read_qlen("q", b"17 1 5\ntime: 5").unwrap_err().to_string().starts_with("q:1: a port's counts before"));
    assert!(read_qlen("q", b"time: 5\n17 1 x").unwrap_err().to_string().starts_with("q:2: a count"));
}

#[test]
fn standalone_is_whole_numbers() {
    // Within a rack of HPCC's fat tree, and across its core: 2 us and 80 ns a host link, 20 ns another.
    let (host, fabric) = ((100 * G, 1000), (400 * G, 1000));
    assert_eq!(standalone_fct(1000, 443, &[host, host]), 4160 + 39);
    let core = [host, fabric, fabric, fabric, fabric, host];
    assert_eq!(standalone_fct(1000, 1000, &core), 12_240 + 83);
    // 1001 bytes are two packets.
    assert_eq!(standalone_fct(1000, 1001, &core), 12_240 + (1001 + 96) * 8 / 100);
    // 8e9 ns times bytes passes 64 bits from 2.3 GB on, and 4 GiB with headers pass 32 bits.
    assert_eq!(standalone_fct(1000, 2_500_000_000, &[host]), 2080 + (2_620_000_000u64.wrapping_mul(8 * G)) / (100 * G));
    assert_eq!(standalone_fct(1000, 4_294_967_295, &[host]), 2080 + 206_158_463 * 8 / 100);
    assert_eq!(standalone_fct(0, 0, &[]), 0);
}

fn record(packet: Packet) -> Record {
    Record {
        time: 2_000_001_087,
        node: 320,
        interface: 17,
        queue: 3,
        qlen: 2180,
        sip: 0x0b00_0101,
        dip: 0x0b01_0601,
        size: 1090,
        event: DEQU,
        ecn: 3,
        node_type: 1,
        packet,
    }
}

const DATA: Data = Data { sport: 10_000, dport: 100, seq: 5000, ts: 2_000_000_000, pg: 3, payload: 1000 };
const ACK: Ack = Ack { sport: 100, dport: 10_000, flags: 1, pg: 3, seq: 6000, ts: 2_000_000_000 };

#[test]
fn a_record_is_laid_out_as_there() {
    let bytes = record(Packet::Data(DATA)).to_bytes();
    let expected = [
        &2_000_001_087u64.to_le_bytes()[..],
        &[0x40, 1, 17, 3, 0x84, 8, 0, 0],
        &[1, 1, 0, 0x0b, 1, 6, 1, 0x0b],
        &[0x42, 4, 0x11, 2, 3, 1, 0, 0],
        &[0x10, 0x27, 100, 0, 0x88, 0x13, 0, 0],
        &2_000_000_000u64.to_le_bytes(),
        &[3, 0, 0xe8, 3, 0, 0, 0, 0],
    ];
    assert_eq!(bytes[..], expected.concat());
    let bytes = record(Packet::Ack(ACK)).to_bytes();
    let expected = [&[100, 0, 0x10, 0x27, 1, 0, 3, 0, 0x70, 0x17, 0, 0, 0, 0, 0, 0][..], &ACK.ts.to_le_bytes()];
    assert_eq!(bytes[32..], expected.concat());
    let header = Header { ports: vec![PortRate { node: 258, interface: 3, rate: 100 * G }], window: 153_000 };
    let expected = [&[1, 0, 0, 0, 2, 1, 3][..], &(100 * G).to_le_bytes(), &153_000u32.to_le_bytes()];
    assert_eq!(header.to_bytes(), expected.concat());
}

#[test]
fn a_record_prints_as_its_tool_does() {
    for (packet, event, line) in [
        (
            Packet::Data(DATA),
            DEQU,
            "2000001087 n:320 17:3 2180 Dequ ecn:3 0b000101 0b010601 10000 100 U 5000 2000000000 3 1090(1000)",
        ),
        (
            Packet::Tcp(DATA),
            RECV,
            "2000001087 n:320 17:3 2180 Recv ecn:3 0b000101 0b010601 10000 100 T 5000 2000000000 3 1090(1000)",
        ),
        (
            Packet::Ack(ACK),
            ENQU,
            "2000001087 n:320 17:3 2180 Enqu ecn:3 0b000101 0b010601 100 10000 A 0x01 3 6000 2000000000 1090",
        ),
        (
            Packet::Nack(Ack { flags: 0xab, ..ACK }),
            DROP,
            "2000001087 n:320 17:3 2180 Drop ecn:3 0b000101 0b010601 100 10000 N 0xAB 3 6000 2000000000 1090",
        ),
        (
            Packet::Pfc { time: 5, qlen: 7, queue: 3 },
            9,
            "2000001087 n:320 17:3 2180 ???? ecn:3 0b000101 0b010601 P 5 7 3 1090",
        ),
        (
            Packet::Cnp { flow: 9, queue: 3, ecn: 1, seq: 8 },
            RECV,
            "2000001087 n:320 17:3 2180 Recv ecn:3 0b000101 0b010601 C 9 3 1 8 1090",
        ),
        (
            Packet::QueuePair { sport: 10_000, dport: 100 },
            RECV,
            "2000001087 n:320 17:3 Recv 0b000101 0b010601 10000 100",
        ),
        (Packet::Other(0x2a), RECV, "2000001087 n:320 17:3 2180 Recv ecn:3 0b000101 0b010601 2a 1090"),
    ] {
        assert_eq!(Record { event, ..record(packet) }.to_string(), line);
    }
}

#[test]
fn a_trace_is_read_to_its_end() {
    let header = Header { ports: vec![PortRate { node: 1, interface: 1, rate: G }; 3], window: 9 };
    let records = [record(Packet::Data(DATA)), record(Packet::Nack(ACK)), record(Packet::Other(1))];
    let bytes = [header.to_bytes(), records.map(|record| record.to_bytes()).concat()].concat();
    let (read, rest) = read_trace("t", &bytes).unwrap();
    assert_eq!(read, header);
    assert_eq!(rest.map(Result::unwrap).collect::<Vec<_>>(), records);
    let cut: Vec<_> = read_trace("t", &bytes[..bytes.len() - 1]).unwrap().1.collect();
    assert!(cut.len() == 3 && cut[2].as_ref().unwrap_err().to_string() == "t:3: the last record has 55 of 56 bytes");
    for length in 0..header.to_bytes().len() {
        assert!(read_trace("t", &bytes[..length]).is_err(), "{length}");
    }
    assert!(read_trace("t", &[0xff; 100]).unwrap_err().what.contains("47244640249"));
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_record_is_read_and_written(bytes in prop::collection::vec(any::<u8>(), RECORD)) {
        let record = Record::from_bytes(bytes[..].try_into().unwrap());
        prop_assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        // Of each kind of packet the fields lie where they were, and nothing else is kept.
        let written = record.to_bytes();
        prop_assert!(written.iter().zip(&bytes).all(|(new, old)| new == old || *new == 0));
        prop_assert_eq!(&written[..30], &bytes[..30]);
    }

    #[test]
    fn any_lines_are_read_and_written(
        n in prop::collection::vec(any::<u64>(), 1..30),
        ips in any::<(u32, u32)>(),
        kb in prop::collection::vec(any::<u32>(), 0..9),
    ) {
        let fct = |n: &u64| Fct {
            sip: ips.0, dip: ips.1, sport: *n as u16, dport: (*n >> 16) as u16,
            bytes: *n, start: n.rotate_left(9), fct: n.rotate_left(22), standalone: n.rotate_left(40),
        };
        let fcts: Vec<_> = n.iter().map(fct).collect();
        let text: String = fcts.iter().map(|fct| format!("{fct}\n")).collect();
        prop_assert_eq!(read_fct("f", text.as_bytes()).unwrap(), fcts);
        let pfc = |n: &u64| Pfc {
            time: *n, node: *n as u32, is_switch: n & 1 == 0, interface: (*n >> 32) as u32, pause: n & 2 == 0,
        };
        let pfcs: Vec<_> = n.iter().map(pfc).collect();
        let text: String = pfcs.iter().map(|pfc| format!("{pfc}\n")).collect();
        prop_assert_eq!(read_pfc("f", text.as_bytes()).unwrap(), pfcs);
        let port = |n: &u64| QlenPort { switch: *n as u32, interface: (*n >> 32) as u32, counts: kb.clone() };
        let dump = |time: &u64| QlenDump { time: *time, ports: n.iter().map(port).collect() };
        let dumps: Vec<_> = n.iter().map(dump).collect();
        let text: String = dumps.iter().map(|dump| dump.to_string()).collect();
        prop_assert_eq!(read_qlen("q", text.as_bytes()).unwrap(), dumps);
    }
}

#[test]
fn its_own_results_are_read_and_written() {
    let Some(golden) = golden("its_own_results_are_read_and_written") else { return };
    let topology = Topology::read("t", &bytes(&golden.join("inputs/topo_fat320.txt"))).unwrap().0;
    // Ten hosts of a pod and rack apart tell how many links a path has.
    let rack = |host: u32| host / 16;
    let pod = |host: u32| host / 64;
    assert_eq!(topology.hosts().count(), 320);
    let (host, fabric) = ((100 * G, 1000), (400 * G, 1000));
    for scheme in ["hp", "dcqcn", "timely", "dctcp"] {
        let text = bytes(&golden.join(format!("traces/FbHdp_l3_t02_{scheme}.fct")));
        let fcts = read_fct(scheme, &text).unwrap();
        assert_eq!(fcts.len(), 19_577);
        let written: String = fcts.iter().map(|fct| format!("{fct}\n")).collect();
        assert!(written.as_bytes() == text, "{scheme}");
        for fct in &fcts {
            let (a, b) = (ip_node(fct.sip), ip_node(fct.dip));
            let links = match () {
                () if rack(a) == rack(b) => vec![host, host],
                () if pod(a) == pod(b) => vec![host, fabric, fabric, host],
                () => vec![host, fabric, fabric, fabric, fabric, host],
            };
            assert_eq!(standalone_fct(1000, fct.bytes as u32, &links), fct.standalone, "{fct}");
        }
    }
}

//! Topologies, flows, nodes to trace and sizes in the files of the ns-3 HPCC simulator.

mod common;

use common::*;
use fanin_formats::hpcc::{
    Delay, Flow, Link, SizeCdf, Topology, flows_to_text, read_exact_flows, read_flows, read_trace_nodes,
};

const G: u64 = 1_000_000_000;

#[test]
fn a_topology_is_read_and_written() {
    let (topology, warnings) = Topology::read("t", TOPOLOGY.as_bytes()).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(topology.is_switch, [false, false, false, false, true, true]);
    let link = |a, b, rate| Link { a, b, rate, delay: Delay::from_ns(1000), error_rate: 0.0 };
    let links =
        [link(0, 4, 100 * G), link(1, 4, 100 * G), link(2, 5, 100 * G), link(3, 5, 100 * G), link(4, 5, 400 * G)];
    assert_eq!(topology.links, links);
    assert_eq!(topology.hosts().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(topology.is_host(3) && !topology.is_host(4) && !topology.is_host(6));
    let text = topology.to_text();
    assert!(text.starts_with("6 2 5\n4 5\n0 4 100Gbps 1000ns 0.000000\n1 4 100Gbps"), "{text}");
    assert_eq!(Topology::read("t", text.as_bytes()).unwrap().0, topology);
    // What six digits do not hold is written in full.
    let mut odd = topology.clone();
    odd.links[0] = Link { rate: 12_345_678, error_rate: 1e-9, delay: Delay::from_ns(1), ..odd.links[0] };
    odd.links[1] = Link { rate: 25_500_000_000, error_rate: 0.25, ..odd.links[1] };
    assert!(odd.to_text().contains("25500Mbps 1000ns 0.250000"));
    assert_eq!(Topology::read("t", odd.to_text().as_bytes()).unwrap().0, odd);
}

#[test]
fn a_topology_that_cannot_be_is_refused_with_its_line() {
    for (from, to, place, says) in [
        ("6 2 5", "", "t:3:", "5 switches among 4 nodes"),
        ("6 2 5", "6 2 6", "t:8:", "first end is missing"),
        ("6 2 5", "6 7 5", "t:1:", "7 switches among 6"),
        ("6 2 5", "60 2 5", "t:1:", "58 hosts on 5 links"),
        ("6 2 5", "7 2 5", "t: ", "node 6 is a host without a link"),
        ("6 2 5", "4294967295 2 5", "t:1:", "4294967293 hosts on 5 links"),
        ("6 2 5", "65536 65536 5", "t:1:", "65536 switches and 5 links need more than"),
        ("6 2 5", "6 2 18446744073709551615", "t:1:", "need more than"),
        ("6 2 5", "99999999999999999999 2 5", "t:1:", "whole number"),
        ("4 5\n", "4 4\n", "t:2:", "named twice"),
        ("4 5\n", "4 6\n", "t:2:", "nodes are 0 to 5"),
        ("0 4 100Gbps", "0 0 100Gbps", "t:3:", "to itself"),
        ("0 4 100Gbps", "0 6 100Gbps", "t:3:", "nodes are 0 to 5"),
        ("0 4 100Gbps", "0 4 100Gigs", "t:3:", "like 100Gbps"),
        ("0 4 100Gbps", "0 4 0Gbps", "t:3:", "rate is 0"),
        ("1us 0", "1000 0", "t:4:", "in seconds"),
        ("1us 0", "-1us 0", "t:4:", "like 1000ns"),
        ("1us 0", "1us nan", "t:4:", "it is a number"),
        ("1us 0", "1us 1.5", "t:4:", "0 to 1"),
    ] {
        let error = Topology::read("t", TOPOLOGY.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(says), "{to}: {error}");
    }
    let (_, warnings) = Topology::read("t", format!("{TOPOLOGY}\n\n7 7 7").as_bytes()).unwrap();
    assert_eq!((warnings.len(), warnings[0].line), (1, 10));
    let twice = TOPOLOGY.replace("6 2 5", "6 2 6") + "5 4 100Gbps 1us 0\n";
    let (topology, warnings) = Topology::read("t", twice.as_bytes()).unwrap();
    assert!(topology.links.len() == 6 && warnings.is_empty(), "{warnings:?}");
}

#[test]
fn flows_are_read_and_written() {
    let topology = Topology::read("t", TOPOLOGY.as_bytes()).unwrap().0;
    let (flows, warnings) = read_flows("f", FLOWS.as_bytes(), Some(&topology)).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(flows.len(), 3);
    assert_eq!(flows[1], Flow { src: 1, dst: 3, pg: 3, dport: 100, bytes: u64::from(u32::MAX), start: 2.000000067 });
    assert_eq!(flows_to_text(&flows), FLOWS);
    let (none, _) = read_flows("f", b"0", None).unwrap();
    assert!(none.is_empty());
}

#[test]
fn flows_that_cannot_be_are_refused_with_their_line() {
    let topology = Topology::read("t", TOPOLOGY.as_bytes()).unwrap().0;
    for (from, to, place, says) in [
        ("3\n", "4\n", "f:1:", "says 4 flows, but there are 3; that simulator would start the last flow again"),
        // The generator's estimate was 35, and 3 was written over it.
        ("3\n", "35\n", "f:1:", "overwrote its estimate with a shorter count"),
        ("3\n", "4000000000\n", "f:1:", "says 4000000000 flows"),
        ("3\n", "5000000000\n", "f:1:", "at most 4294967295"),
        ("3\n", "x\n", "f:1:", "whole number"),
        ("0 2 3", "0 4 3", "f:2:", "node 4, which is a switch"),
        ("0 2 3", "9 2 3", "f:2:", "node 9, which is not in the topology"),
        ("0 2 3", "2 2 3", "f:2:", "to itself"),
        ("0 2 3", "0 2 0", "f:2:", "1 to 7"),
        ("0 2 3", "0 2 8", "f:2:", "1 to 7"),
        ("0 2 3", "0 2 259", "f:2:", "1 to 7"),
        ("100 1000", "65536 1000", "f:2:", "at most 65535"),
        ("100 1000", "100 0", "f:2:", "at least 1"),
        ("100 1000", "100 4294967296", "f:2:", "at most 4294967295"),
        ("100 1000", "100 1e3", "f:2:", "whole number"),
        ("2.000000000", "2.1", "f:3:", "sort by start"),
        ("2.000000000", "-2", "f:2:", "seconds from 0"),
        ("2.000000000", "nan", "f:2:", "it is a number"),
        ("1 2.000001000\n", "1", "f:4:", "a flow of 5 columns; it has 6, src dst priority port bytes start"),
    ] {
        let text = FLOWS.replacen(from, to, 1);
        let error = read_exact_flows("f", text.as_bytes(), Some(&topology)).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(says), "{to}: {error}");
    }
    let (flows, warnings) = read_flows("f", FLOWS.replacen('3', "2", 1).as_bytes(), None).unwrap();
    assert!(flows.len() == 2 && warnings[0].line == 4 && warnings[0].what.contains("says 2 flows"), "{warnings:?}");
}

#[test]
fn nodes_to_trace_and_sizes_are_read() {
    assert_eq!(read_trace_nodes("t", b"3\n0 2\n1", 3).unwrap(), (vec![0, 2, 1], vec![]));
    let (nodes, warnings) = read_trace_nodes("t", b"2\n0\n5", 3).unwrap();
    assert!(nodes == [0] && warnings[0].to_string() == "t:3: there is no node 5 to trace", "{warnings:?}");
    assert!(read_trace_nodes("t", b"4000000000 1", 3).unwrap_err().what.contains("there are 1"));
    assert!(read_trace_nodes("t", b"", 3).is_err());

    let cdf = SizeCdf::read("s", b"\xef\xbb\xbf0 0\r\n# half\n100\t50 # here\n\n300 100\n").unwrap();
    assert_eq!(cdf.points(), [(0.0, 0.0), (100.0, 50.0), (300.0, 100.0)]);
    assert_eq!((cdf.mean(), cdf.quantile(0.25), cdf.quantile(0.75)), (125.0, 50.0, 200.0));
    for (text, place, says) in [
        ("", "s: ", "no points"),
        ("0 0\n5\n", "s:2:", "not two numbers"),
        ("0 0\n5 6 7\n", "s:2:", "not two numbers"),
        ("0 0\nfive 6\n", "s:2:", "\"five\" is not a number"),
        ("0 0\n5e30 100\n", "s:2:", "sizes are 0 to"),
        ("0 1\n5 100\n", "s:1:", "first point"),
        ("0 0\n5 50\n4 100\n", "s:3:", "size falls"),
        ("0 0\n5 50\n6 40\n", "s:3:", "percent falls"),
        ("0 0\n5 50\n", "s:2:", "last point is at 50"),
        ("0 0\n5 0.5\n9 1\n", "s:3:", "from 0 to 100: multiply by 100"),
    ] {
        let error = SizeCdf::read("s", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
    }
}

#[test]
fn its_own_inputs_are_read() {
    let Some(golden) = golden("its_own_inputs_are_read") else { return };
    let inputs = golden.join("inputs");
    for (topology, nodes, links, files) in [
        ("topo_star17.txt", 18, 17, &[("flow_micro_16to1.txt", 16)][..]),
        ("topo_fat320.txt", 376, 480, &[("flow_FbHdp_l3_t02.txt", 19577)]),
        ("topo_k8_128.txt", 208, 384, &[("flow_k8_perm10MB.txt", 128), ("flow_k8_FbHdp_l3_t02.txt", 7849)]),
        ("topo_k16_1024.txt", 1344, 3072, &[("flow_k16_perm500KB.txt", 1024)]),
        ("../exact/topo_scrambled.txt", 376, 480, &[]),
    ] {
        let (read, warnings) = Topology::read(topology, &bytes(&inputs.join(topology))).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((read.is_switch.len(), read.links.len()), (nodes, links));
        for (file, count) in files {
            let text = bytes(&inputs.join(file));
            let (flows, warnings) = read_flows(file, &text, Some(&read)).unwrap();
            assert!(warnings.is_empty() && flows.len() == *count, "{warnings:?}");
            let written = flows_to_text(&flows);
            assert_eq!(written.lines().skip(1).collect::<String>().as_bytes(), {
                let from = text.iter().position(|b| *b == b'\n').unwrap() + 1;
                text[from..].iter().copied().filter(|b| *b != b'\n').collect::<Vec<u8>>()
            });
        }
    }
    let mean = SizeCdf::read("", &bytes(&inputs.join("FbHdp_distribution.txt"))).unwrap().mean();
    assert!((100e3..150e3).contains(&mean), "{mean}");
}

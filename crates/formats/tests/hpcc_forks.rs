//! Files of forks of the ns-3 HPCC simulator, all mistakes of a file at once, and limits that only its own network has.

mod common;

use common::*;
use fanin_formats::Errors;
use fanin_formats::hpcc::{
    Config, ConfigFile, Delay, Dialect, Flow, Header, Topology, check, check_any, read_exact_flows, read_flows,
};

fn lines(errors: &Errors) -> Vec<u32> {
    errors.kept().0.iter().map(|error| error.line).collect()
}

#[test]
fn a_header_tells_the_fork() {
    let body = |header: &str, ids: &str| TOPOLOGY.replacen("6 2 5", header, 1).replacen("4 5\n", ids, 1);
    let original = Topology::read("t", TOPOLOGY.as_bytes()).unwrap().0;
    for (header, kind, dialect) in [
        ("6 2 5", Header::Three, None),
        ("6 2 1 5", Header::Four, Some(Dialect::PowerTcp)),
        // One NVLink switch, one other.
        ("6 2 1 1 5 H100", Header::Six, Some(Dialect::SimAi)),
    ] {
        let text = body(header, "4 5\n");
        assert_eq!((Header::of(text.as_bytes()), Dialect::of_topology(text.as_bytes())), (kind, dialect));
        assert_eq!(Topology::read("t", text.as_bytes()).unwrap().0, original, "{header}");
    }
    // Rates of bare numbers, and delays that are exact in picoseconds and cut to nanoseconds.
    let text = TOPOLOGY.replacen("100Gbps 1000ns", "25000000000.0 0.000025ms", 1);
    let link = Topology::read("t", text.as_bytes()).unwrap().0.links[0];
    assert_eq!((link.rate, link.delay), (25_000_000_000, Delay { ns: 24, ps: 25_000 }));
    // Without switches, and with a line for none.
    let ring = Topology::read("t", b"3 0 3\n\n0 1 25Gbps 1us 0\n1 2 25Gbps 1us 0\n2 0 25Gbps 1us 0\n").unwrap().0;
    assert_eq!((ring.links.len(), ring.hosts().count()), (3, 3));
    // A fourth number that is no number of racks.
    let error = Topology::read("t", b"3 1 2 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n").unwrap_err().to_string();
    assert!(error.starts_with("t:1: 2 racks among 1 switches") && error.contains("three numbers"), "{error}");
    let error = Topology::read("t", body("6 3 5", "4 5\n").as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "t:2: 2 ids of switches; the first line says 3 switches");
}

#[test]
fn columns_tell_the_fork() {
    let (five, _) = read_flows("f", b"2\n0 2 3 1000 2.000000000\n1 3 3 5 2.000000067\n", None).unwrap();
    let (six, _) = read_flows("f", b"2\n0 2 3 100 1000 2.000000000\n1 3 3 100 5 2.000000067\n", None).unwrap();
    assert_eq!(five, six);
    assert_eq!(Dialect::of_flows(b"1\n0 2 3 1000 2\n"), Some(Dialect::ConWeave));
    assert_eq!(Dialect::of_flows(FLOWS.as_bytes()), None);
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let text = "TOPOLOGY_FILE t\nFLOW_FILE f\nL2_ACK_INTERVAL 1\nRATE_AI 40Mbs\nACK_HIGH_PRIO maybe\nLB_MODE 3\n\
                ENABLE_IRN 1\nMY_OWN 1 2 3\nNIC_TOTAL_PAUSE_TIME 0\nCC_MODE 12 {ours}\nKMAX_MAP 1 25 400 50 800\n\
                KMIN_MAP 3 25 100\nRP_TIMER 1\nEWMA_GAIN\nMIN_RATE 0bps RP_TIMER 2\n";
    let errors = Config::read("c", text.as_bytes()).unwrap_err();
    assert_eq!(lines(&errors), [4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15], "{errors}");
    let shown = errors.to_string();
    for says in [
        "c:4: RATE_AI \"40Mbs\" is no rate",
        "c:6: LB_MODE is 3 (CONGA); ",
        "c:7: ENABLE_IRN is 1; ",
        "c:8: there is no key \"MY_OWN\"; --skip-unknown-keys",
        "c:9: no mistakes, since no result depends on them: NIC_TOTAL_PAUSE_TIME (ASTRA-sim)",
        "c:10: CC_MODE is 12",
        "fanin run --hpcc c --scheme dcqcn",
        "c:11: KMAX_MAP says 1 rates, but 2 follow; write 2 as the count",
        "c:12: KMIN_MAP says 3 rates, but 1 follow, too few; write 1 as the count",
        "c:14: EWMA_GAIN has no value",
        "c:15: MIN_RATE is 0",
    ] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    // The same under a scheme: what it does not take is named and not refused.
    let errors = ConfigFile::read("c", text.as_bytes()).ordinary().unwrap_err();
    assert_eq!(lines(&errors), [11, 12], "{errors}");
    let right = text.replace("KMAX_MAP 1", "KMAX_MAP 2").replace("KMIN_MAP 3", "KMIN_MAP 1");
    let (config, _, others) = ConfigFile::read("c", right.as_bytes()).ordinary().unwrap();
    assert!(config.enable_irn && config.enable_pfc && config.lb_mode == 3);
    for key in ["CC_MODE", "RATE_AI", "NIC_TOTAL_PAUSE_TIME", "MY_OWN"] {
        assert!(others.iter().filter(|other| *other == key).count() == 1, "{key}: {others:?}");
    }
    // Of many errors the first are told, and how many more there are.
    let many: String = (0..50).map(|at| format!("KEY{at} 1\n")).collect();
    let errors = Config::read("c", format!("{CONFIG}{many}").as_bytes()).unwrap_err();
    assert_eq!((errors.kept().0.len(), errors.kept().1), (20, 30));
    assert!(errors.to_string().ends_with("\nand 30 more mistakes"));
}

#[test]
fn mistakes_in_topologies_and_flows_are_told_line_by_line() {
    let text = TOPOLOGY
        .replace("1 4 100Gbps 1us 0", "1 4 100Gigs 1us 0")
        .replace("3 5 100000Mb/s 1000ns 0.000000", "3 5 100000Mb/s 1000ns")
        .replace("4 5 400Gbps 1000ns 0.000000", "4 5 400Gbps 1000ns x");
    let errors = Topology::read("t", text.as_bytes()).unwrap_err();
    assert_eq!(lines(&errors), [4, 6, 7], "{errors}");
    let text = "4\n0 2 3 100 x 2\n1 3 3 100 5 2.1\n3 0 3 200 1\n3 9 0 200 1 2\n";
    let topology = Topology::read("t", TOPOLOGY.as_bytes()).unwrap().0;
    let errors = read_exact_flows("f", text.as_bytes(), Some(&topology)).unwrap_err();
    assert_eq!(lines(&errors), [2, 4, 5], "{errors}");
}

#[test]
fn keys_and_modes_of_forks_on_the_networks() {
    let with = |more: &str| format!("{CONFIG}{more}\n");
    let exact = |more: &str| Config::read("c", with(more).as_bytes());
    // What the fork does with these is what the original does.
    let silent = "LB_MODE 0\nENABLE_PFC 1\nENABLE_IRN 0\nHEADROOM_FACTOR 3\nRANDOM_SEED 1\nMON_START 5\nLOAD 50";
    let (config, warnings) = exact(silent).unwrap();
    assert_eq!(config, Config::read("c", CONFIG.as_bytes()).unwrap().0);
    let named = warnings.iter().find(|warning| warning.what.starts_with("keys of forks")).unwrap();
    assert_eq!(named.what, "keys of forks on which no result depends: MON_START (SimAI), LOAD (ConWeave)");
    for changes in ["LB_MODE 6", "ENABLE_PFC 0", "ENABLE_IRN 1", "HEADROOM_FACTOR 2", "RANDOM_SEED 7"] {
        let error = exact(changes).unwrap_err().to_string();
        assert!(error.contains(changes.split(' ').next().unwrap()), "{error}");
        assert!(error.ends_with("on the ordinary network: fanin run --hpcc c --scheme dcqcn"), "{error}");
    }
    // Keys of one's own.
    let file = || ConfigFile::read("c", with("MINE 5\nMINE 6").as_bytes());
    let (_, warnings) = file().exact(true, "").unwrap();
    assert!(warnings.iter().any(|warning| warning.what == "unknown keys, skipped: MINE"), "{warnings:?}");
    assert_eq!(file().exact(false, "").unwrap_err().kept().0.len(), 1);
    // ConWeave's end of a run: ten seconds after the last flow may start.
    let conweave = CONFIG.replace("SIMULATOR_STOP_TIME 4.00", "FLOWGEN_STOP_TIME 2.5");
    let file = ConfigFile::read("c", conweave.as_bytes());
    assert_eq!((file.config.stop, file.dialect()), (12.5, Some((Dialect::ConWeave, vec!["FLOWGEN_STOP_TIME"]))));
    assert_eq!(ConfigFile::read("c", with("BW_MON_FILE x").as_bytes()).dialect().unwrap().0, Dialect::SimAi);
    assert_eq!(ConfigFile::read("c", with("HEADROOM_FACTOR 3").as_bytes()).dialect().unwrap().0, Dialect::Astra);
    // SimAI's topology is an argument.
    let simai = format!("{}BW_MON_FILE x\n", CONFIG.replace("TOPOLOGY_FILE in/topology.txt", ""));
    let error = ConfigFile::read("c", simai.as_bytes()).ordinary().unwrap_err().to_string();
    assert!(error.contains("SimAI takes it as an argument: --topology FILE"), "{error}");
    assert!(ConfigFile::read("c", simai.as_bytes()).with_topology("t").ordinary().is_ok());
}

/// Each limit is that of the simulator's own network, and of nothing else.
#[test]
fn only_its_own_network_has_its_limits() {
    let star = |hosts: u32| {
        let links: String = (0..hosts).map(|host| format!("{host} {hosts} 100Gbps 1us 0\n")).collect();
        Topology::read("t", format!("{} 1 {hosts}\n{hosts}\n{links}", hosts + 1).as_bytes()).unwrap().0
    };
    let read = |text: &str| ConfigFile::read("c", text.as_bytes());
    let config = Config { buffer_mib: 300, ..read(CONFIG).config };
    let refused = |config: &Config, topology: &Topology, flows: &[Flow], says: &str| {
        let error = check("c", config, topology, flows).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(check_any("c", config, topology, flows).is_ok(), "{says}");
    };
    assert!(check("c", &config, &star(256), &[]).is_ok());
    refused(&config, &star(257), &[], "node 257 has 257 links");
    refused(&config, &star(70_000), &[], "70001 nodes; addresses exist for 65536");
    let flow = Flow { src: 0, dst: 1, pg: 3, dport: 100, bytes: 1, start: 2.0 };
    refused(&config, &star(3), &[Flow { bytes: 1 << 32, ..flow }], "4294967296; in that simulator it is at most");
    refused(&config, &star(3), &[Flow { pg: 0, ..flow }], "priority group is 0");
    refused(&config, &star(3), &[flow, Flow { start: 1.0, ..flow }], "flow 2 starts before flow 1");
    // A rate without thresholds marks nothing elsewhere.
    refused(&Config { kmin: vec![], ..config.clone() }, &star(3), &[], "KMIN_MAP has no entry for 100000000000");
    let text = "3\n0 1 3 100 1000000000000 3\n0 1 0 100 1 1\n1 0 3 100 1 2\n";
    let flows = read_flows("f", text.as_bytes(), None).unwrap().0;
    assert_eq!(flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), [1_000_000_000_000, 1, 1]);
    assert_eq!(lines(&read_exact_flows("f", text.as_bytes(), None).unwrap_err()), [2, 3]);
    let late = CONFIG.replace("SIMULATOR_STOP_TIME 4.00", "SIMULATOR_STOP_TIME 40000000000000.00");
    assert_eq!(read(&late).ordinary().unwrap().0.stop, 4e13);
    assert!(read(&late).exact(false, "").unwrap_err().to_string().contains("beyond that simulator's clock"));
    let parallel = TOPOLOGY.replace("6 2 5", "6 2 6") + "5 4 100Gbps 1us 0\n";
    let (parallel, warnings) = Topology::read("t", parallel.as_bytes()).unwrap();
    let told = check("c", &read(CONFIG).config, &parallel, &[]).unwrap();
    assert!(warnings.is_empty() && told[0].what.contains("parallel links between 4 and 5"), "{told:?}");
    assert!(check_any("c", &config, &parallel, &[]).unwrap().is_empty());
}

//! Configurations of the ns-3 HPCC simulator, alone and with their topology and flows.

mod common;

use common::*;
use fanin_formats::hpcc::{Config, Delay, Flow, Link, Topology, check, read_flows};
use fanin_formats::{Error, Errors, Warning};

fn read(text: &str) -> Result<(Config, Vec<Warning>), Errors> {
    Config::read("c.txt", text.as_bytes())
}

/// The only error of a configuration.
fn refused(text: &str) -> Error {
    let errors = read(text).unwrap_err();
    let ([error], 0) = errors.kept() else { panic!("{errors}") };
    error.clone()
}

/// `CONFIG` with one line replaced; none of an empty name is left.
fn with(key: &str, line: &str) -> String {
    let keep = CONFIG.lines().map(|old| if old.split(' ').next() == Some(key) { line } else { old });
    keep.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_key_is_read() {
    let (config, warnings) = read(CONFIG).unwrap();
    let expected = Config {
        enable_qcn: true,
        payload: 1000,
        topology_file: "in/topology.txt".into(),
        flow_file: "in/flows.txt".into(),
        trace_file: "in/trace.txt".into(),
        trace_output_file: "out/mix.tr".into(),
        fct_output_file: "out/fct.txt".into(),
        pfc_output_file: "out/pfc.txt".into(),
        qlen_file: "out/qlen.txt".into(),
        stop: 4.0,
        cc_mode: 3,
        alpha_resume_interval: 1.0,
        rate_decrease_interval: 4.0,
        rp_timer: 900.0,
        clamp_target_rate: false,
        fast_recovery_times: 1,
        ewma_gain: 1.0 / 256.0,
        rate_ai: 50_000_000,
        rate_hai: 100_000_000,
        min_rate: 1_000_000_000,
        dctcp_rate_ai: 615_000_000,
        error_rate_per_link: 0.0,
        l2_chunk_size: 4000,
        l2_ack_interval: 1,
        l2_back_to_zero: false,
        has_win: true,
        global_t: true,
        var_win: true,
        fast_react: true,
        rate_bound: true,
        u_target: 0.95,
        mi_thresh: 0,
        int_multi: 4,
        multi_rate: false,
        sample_feedback: false,
        ack_high_prio: false,
        link_down: None,
        enable_trace: false,
        kmin: vec![(100_000_000_000, 400), (400_000_000_000, 1600)],
        kmax: vec![(100_000_000_000, 1600), (400_000_000_000, 6400)],
        pmax: vec![(100_000_000_000, 0.2), (400_000_000_000, 0.2)],
        buffer_mib: 32,
        qlen_start: 2_000_000_000,
        qlen_end: 3_000_000_000,
        ..Config::default()
    };
    assert_eq!(config, expected);
    // What has no effect under HPCC is named once.
    let [idle] = &warnings[..] else { panic!("{warnings:?}") };
    for key in ["USE_DYNAMIC_PFC_THRESHOLD", "RP_TIMER", "EWMA_GAIN", "RATE_HAI", "DCTCP_RATE_AI", "PINT_PROB"] {
        assert!(idle.what.contains(key), "{idle}");
    }
    for key in ["RATE_AI", "MIN_RATE", "U_TARGET", "KMAX_MAP"] {
        assert!(!idle.what.split([' ', ',']).any(|word| word == key), "{idle}");
    }
}

#[test]
fn what_is_missing_has_that_simulators_defaults() {
    let least = "TOPOLOGY_FILE t FLOW_FILE f L2_ACK_INTERVAL 1 CC_MODE 3";
    let (config, warnings) = read(least).unwrap();
    let defaults = Config {
        topology_file: "t".into(),
        flow_file: "f".into(),
        l2_ack_interval: 1,
        cc_mode: 3,
        ..Config::default()
    };
    assert_eq!(config, defaults);
    assert!(config.multi_rate && !config.var_win && config.fast_react && config.has_win && config.global_t);
    assert_eq!((config.mi_thresh, config.ewma_gain, config.buffer_mib, config.payload), (5, 0.0, 16, 1000));
    assert_eq!((config.stop, config.min_rate, config.qlen_end), (3.01, 100_000_000, 2_100_000_000));
    let [missing] = &warnings[..] else { panic!("{warnings:?}") };
    for key in ["MULTI_RATE", "VAR_WIN", "RATE_AI", "BUFFER_SIZE", "SIMULATOR_STOP_TIME"] {
        assert!(missing.what.contains(key), "{missing}");
    }
    assert!(!missing.what.contains("EWMA_GAIN"), "{missing}");
    let (_, warnings) = read(&least.replace("CC_MODE 3", "CC_MODE 8")).unwrap();
    assert!(warnings[0].what.contains("EWMA_GAIN (0"), "{}", warnings[0]);
}

#[test]
fn explanations_are_skipped_and_order_is_free() {
    let mut lines: Vec<_> = CONFIG.lines().collect();
    lines.reverse();
    let text = format!("\u{feff}# of a test\r\n// more\n{{a b\n c}} {{d}}\n{}\r\n# ende", lines.join(" {x y} # z\r\n"));
    assert_eq!(read(&text).unwrap().0, read(CONFIG).unwrap().0);
    // Values may stand on later lines, as for that simulator.
    assert_eq!(read(&CONFIG.replace(' ', "\n")).unwrap().0, read(CONFIG).unwrap().0);
    // It knows no comments: a key in one counts there.
    let (_, warnings) = read(&format!("# MIN_RATE 5\n{CONFIG}")).unwrap();
    assert!(warnings[0].to_string().starts_with("c.txt:1: MIN_RATE is in a comment"), "{}", warnings[0]);
    // Bytes that are no text do no harm in a comment.
    assert!(Config::read("c", &[b"# \xff\xfe\n", CONFIG.as_bytes()].concat()).is_ok());
}

#[test]
fn of_two_the_last_counts() {
    let (config, warnings) =
        read(&format!("{CONFIG}BUFFER_SIZE 20\nBUFFER_SIZE 24\nKMIN_MAP 1 100000000000 7\n")).unwrap();
    assert_eq!(config.buffer_mib, 24);
    assert_eq!(config.kmin, [(100_000_000_000, 7), (400_000_000_000, 1600)]);
    let twice: Vec<_> = warnings.iter().filter(|warning| warning.what.contains("twice")).map(|w| w.line).collect();
    let lines = CONFIG.lines().count() as u32;
    assert_eq!(twice, [lines + 1, lines + 3], "{warnings:?}");
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let line = |key: &str| 1 + CONFIG.lines().position(|line| line.starts_with(key)).unwrap();
    for (key, new, says) in [
        ("MIN_RATE", "MIN_RAET 1000Mb/s", "did you mean MIN_RATE?"),
        ("MIN_RATE", "min_rate 1000Mb/s", "did you mean MIN_RATE?"),
        ("MIN_RATE", "MIN_RATE 1000Mb/s really", "there is no key \"really\""),
        ("MIN_RATE", "MIN_RATE 10furlongs", "like 100Gbps"),
        ("MIN_RATE", "MIN_RATE 0bps", "never sends"),
        ("MIN_RATE", "MIN_RATE", "no value"),
        ("CC_MODE", "CC_MODE 10", "not implemented"),
        ("CC_MODE", "CC_MODE 2", "1 DCQCN, 3 HPCC, 7 TIMELY or 8 DCTCP"),
        ("CC_MODE", "CC_MODE 99999999999", "0 to 4294967295"),
        ("CC_MODE", "CC_MODE 3.0", "whole number"),
        ("CC_MODE", "CC_MODE -3", "whole number"),
        ("HAS_WIN", "HAS_WIN 0", "give 1"),
        ("GLOBAL_T", "GLOBAL_T 2", "0 to 1"),
        ("L2_ACK_INTERVAL", "L2_ACK_INTERVAL 0", "no flow ends"),
        ("PACKET_PAYLOAD_SIZE", "PACKET_PAYLOAD_SIZE 0", "1 to 65459"),
        ("BUFFER_SIZE", "BUFFER_SIZE 4096", "1 to 4095"),
        ("EWMA_GAIN", "EWMA_GAIN nan", "from 0 to 1"),
        ("ERROR_RATE_PER_LINK", "ERROR_RATE_PER_LINK 1.5", "from 0 to 1"),
        ("SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME inf", "a number"),
        ("INT_MULTI", "INT_MULTI 0", "1 to 65536"),
        ("LINK_DOWN", "LINK_DOWN 5 1", "too few"),
        ("KMIN_MAP", "KMIN_MAP 4000000000 1 2", "0 to 1000"),
        ("KMIN_MAP", "KMIN_MAP 3 100000000000 400", "too few"),
        ("PMAX_MAP", "PMAX_MAP 1 100000000000 1.2", "from 0 to 1"),
        ("KMAX_MAP", "KMAX_MAP 1 100000000000 300", "below KMIN_MAP's 400"),
    ] {
        let error = refused(&with(key, new));
        assert_eq!(error.line as usize, line(key), "{new}: {error}");
        assert!(error.to_string().contains(says) && error.file == "c.txt", "{new}: {error}");
    }
    // Without the key, its default is what is wrong.
    for (key, says) in
        [("TOPOLOGY_FILE", "is needed"), ("FLOW_FILE", "is needed"), ("L2_ACK_INTERVAL", "(the key is missing) is 0")]
    {
        let error = refused(&with(key, ""));
        assert!(error.line == 0 && error.what.starts_with(key) && error.what.contains(says), "{error}");
    }
    let dcqcn = with("CC_MODE", "CC_MODE 1");
    assert!(read(&dcqcn).is_ok());
    let error = refused(&dcqcn.replace("RP_TIMER 900", "RP_TIMER 0.5"));
    assert!(error.what.contains("at least 1"), "{error}");
    let errors = Config::read("c", b"TOPOLOGY_FILE \xff\xfe").unwrap_err().to_string();
    assert!(errors.contains("not UTF-8"), "{errors}");
}

fn parts() -> (Config, Topology, Vec<Flow>) {
    let topology = Topology::read("t", TOPOLOGY.as_bytes()).unwrap().0;
    let flows = read_flows("f", FLOWS.as_bytes(), Some(&topology)).unwrap().0;
    (read(CONFIG).unwrap().0, topology, flows)
}

#[test]
fn files_are_checked_against_each_other() {
    let (config, topology, flows) = parts();
    assert_eq!(check("c.txt", &config, &topology, &flows), Ok(vec![]));
    for (key, edit) in [
        ("KMIN_MAP", (|c| c.kmin.truncate(1)) as fn(&mut Config)),
        ("KMAX_MAP", |c| c.kmax.truncate(1)),
        ("PMAX_MAP", |c| c.pmax.truncate(1)),
    ] {
        let mut config = config.clone();
        edit(&mut config);
        let error = check("c.txt", &config, &topology, &flows).unwrap_err().to_string();
        assert!(error.starts_with("c.txt: ") && error.contains(key) && error.contains("400000000000"), "{error}");
    }
    let fails = |config: &Config, topology: &Topology, flows: &[Flow]| {
        check("c.txt", config, topology, flows).unwrap_err().to_string()
    };
    let down = Config { link_down: Some((5, 0, 1)), ..config.clone() };
    assert!(fails(&down, &topology, &flows).contains("no link"));
    assert!(check("c.txt", &Config { link_down: Some((5, 5, 4)), ..config.clone() }, &topology, &flows).is_ok());
    // 400 Gb/s x 120 us x 3 is 17.2 MiB.
    let mut far = topology.clone();
    far.links[4].delay = Delay::from_ns(120_000);
    assert!(check("c.txt", &config, &far, &flows).is_ok());
    let error = fails(&Config { buffer_mib: 17, ..config.clone() }, &far, &flows);
    assert!(error.contains("switch 4") && error.contains("18 MiB"), "{error}");
    // Without the link between the switches only hosts of one switch reach each other.
    let mut cut = topology.clone();
    cut.links.pop();
    assert!(fails(&config, &cut, &flows).starts_with("in/flows.txt: flow 1: there is no path from host 0 to host 2"));
    let near = [Flow { dst: 1, ..flows[0] }];
    assert!(check("c.txt", &config, &cut, &near).is_ok());
    // No packet passes a host: 0 and 2 reach host 1, but not each other.
    let mut host_between = cut.clone();
    for (a, b) in [(0, 1), (1, 2)] {
        host_between.links.push(Link { a, b, ..topology.links[0] });
    }
    assert!(fails(&config, &host_between, &flows[..1]).contains("no path"));
    assert!(check("c.txt", &config, &host_between, &[Flow { src: 1, ..flows[0] }]).is_ok());
    assert!(fails(&config, &topology, &[Flow { dst: 4, ..flows[0] }]).contains("node 4, which is a switch"));
    assert!(fails(&config, &topology, &[flows[2], flows[0]]).contains("flow 2 starts before flow 1"));
    let mut many = vec![Flow { bytes: 1, ..flows[0] }; 55_536];
    many.push(Flow { src: 1, ..many[0] });
    assert!(check("c.txt", &config, &topology, &many).is_ok());
    many.push(many[0]);
    assert!(fails(&config, &topology, &many).contains("more than 55536 flows from host 0 to host 2"));
    let warnings = check("c.txt", &Config { stop: 2.0, ..config.clone() }, &topology, &flows).unwrap();
    assert!(warnings[0].what.contains("3 of 3 flows"), "{}", warnings[0]);
    let mut slow = topology.clone();
    slow.links[0].rate = 10_000_000_000;
    let thresholds = Config { kmin: vec![(10_000_000_000, 1)], ..config.clone() };
    assert!(fails(&thresholds, &slow, &flows).contains("KMAX_MAP has no entry for 10000000000"));
}

#[test]
fn its_own_configurations_fit_their_files() {
    let Some(golden) = golden("its_own_configurations_fit_their_files") else { return };
    let mut read = 0;
    for entry in std::fs::read_dir(golden.join("configs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let (config, warnings) = Config::read(&name, &bytes(&path)).unwrap();
        assert!(warnings.len() == 1 && warnings[0].what.starts_with("without effect"), "{warnings:?}");
        let (topology, odd) = Topology::read(&name, &bytes(&golden.join(&config.topology_file))).unwrap();
        let (flows, few) = read_flows(&name, &bytes(&golden.join(&config.flow_file)), Some(&topology)).unwrap();
        let rest = check(&name, &config, &topology, &flows).unwrap();
        assert!(odd.is_empty() && few.is_empty() && rest.is_empty(), "{odd:?} {few:?} {rest:?}");
        read += 1;
    }
    assert!(read > 10, "{read}");
}

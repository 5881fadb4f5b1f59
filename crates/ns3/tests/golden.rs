//! Against the results of that simulator, where a folder with them is named by `FANIN_GOLDEN`: its hash, paths,
//! transmission times and draws, and every flow of its traces.

mod common;

use fanin_formats::hpcc::{Config, Topology, read_flows};
use fanin_ns3::random::Decisions;
use fanin_ns3::wiring::Wiring;
use fanin_ns3::{Network, files, hash, law, time};
use std::fs;
use std::path::{Path, PathBuf};

fn golden() -> Option<PathBuf> {
    let folder = std::env::var_os("FANIN_GOLDEN").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: FANIN_GOLDEN names no folder with that simulator's results");
    }
    folder
}

fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect()).collect()
}

fn topology(folder: &Path, file: &str) -> Topology {
    Topology::read(file, &fs::read(folder.join(file)).unwrap()).unwrap().0
}

#[test]
fn hashes() {
    let Some(folder) = golden() else { return };
    let rows = rows(&folder.join("exact/ecmp_hash.csv"));
    assert_eq!(rows.len(), 64);
    for row in rows {
        let hex = |at: usize| u32::from_str_radix(&row[at], 16).unwrap();
        let number = |at: usize| row[at].parse::<u32>().unwrap();
        let key = [hex(0), hex(1), number(2) | number(3) << 16];
        assert_eq!(hash::murmur3(key, number(4)), number(5), "{row:?}");
    }
}

#[test]
fn transmission_times() {
    let Some(folder) = golden() else { return };
    let rows = rows(&folder.join("exact/tx_ns.csv"));
    assert_eq!(rows.len(), 104);
    for row in rows {
        let number = |at: usize| row[at].parse::<u64>().unwrap();
        assert_eq!(time::transmission(number(0) as u32, number(1)), number(2), "{row:?}");
    }
}

#[test]
fn draws() {
    let Some(folder) = golden() else { return };
    let rows = rows(&folder.join("exact/red_draws.csv"));
    assert_eq!(rows.len(), 64);
    let mut decisions = Decisions::new(rows[0][0].parse().unwrap());
    for row in rows {
        assert_eq!(decisions.draw(), row[1].parse::<f64>().unwrap(), "{row:?}");
    }
}

#[test]
fn paths() {
    let Some(folder) = golden() else { return };
    for (paths, network) in [
        ("exact/paths_fat320.csv", "inputs/topo_fat320.txt"),
        ("exact/paths_k8_128.csv", "inputs/topo_k8_128.txt"),
        ("exact/paths_scrambled.csv", "exact/topo_scrambled.txt"),
    ] {
        let wiring = Wiring::new(&topology(&folder, network), 1000);
        let rows = rows(&folder.join(paths));
        assert_eq!(rows.len(), 812);
        for row in rows {
            let number = |at: usize| row[at].parse::<u32>().unwrap();
            let (src, dst, sport, dport) = (number(0), number(1), number(2) as u16, number(3) as u16);
            let path = match row[4].as_str() {
                "data" => wiring.path(src, dst, sport, dport),
                _ => wiring.path(dst, src, dport, sport),
            };
            let switches: Vec<String> = path[1..path.len() - 1].iter().map(u32::to_string).collect();
            assert_eq!(switches.join(" "), row[5], "{paths} {row:?}");
        }
    }
}

fn run(folder: &Path, config: &str) -> String {
    let (config, _) = Config::read(config, &fs::read(folder.join(config)).unwrap()).unwrap();
    let topology = topology(folder, &config.topology_file);
    let flows = read_flows("flows", &fs::read(folder.join(&config.flow_file)).unwrap(), Some(&topology)).unwrap().0;
    let settings = law::settings(&config).unwrap();
    let payload = config.payload;
    let mut network = Network::new(config, &topology, flows, &[], &settings);
    network.run_until(u64::MAX);
    network.happened.finished.iter().map(|f| format!("{}\n", files::fct(f, payload))).collect()
}

#[test]
fn micro_cases() {
    let Some(folder) = golden() else { return };
    for scheme in ["dctcp", "timely", "hp", "dcqcn_vwin", "dcqcn"] {
        for case in ["1to1", "2to1", "16to1"] {
            let tag = format!("micro_{case}_{scheme}");
            let theirs = fs::read_to_string(folder.join(format!("micro/{tag}.fct"))).unwrap();
            assert_eq!(run(&folder, &format!("configs/{tag}.txt")), theirs, "{tag}");
        }
    }
}

#[test]
fn traces() {
    let Some(folder) = golden() else { return };
    for scheme in ["hp", "dctcp", "timely", "dcqcn"] {
        let tag = format!("FbHdp_l3_t02_{scheme}");
        let theirs = fs::read_to_string(folder.join(format!("traces/{tag}.fct"))).unwrap();
        let ours = run(&folder, &format!("configs/{tag}.txt"));
        let differ = ours.lines().zip(theirs.lines()).filter(|(a, b)| a != b).count();
        assert_eq!((differ, ours.lines().count()), (0, theirs.lines().count()), "{tag}");
    }
}

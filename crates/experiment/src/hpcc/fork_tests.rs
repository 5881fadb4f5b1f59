//! Files of forks on the ordinary network, and what only that simulator's own network cannot do.

use super::ordinary::Ordinary;
use super::*;
use crate::Problems;
use std::path::PathBuf;

/// A folder of its own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fanin-{}-forks-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        Self(folder)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn ordinary(&self, file: &str, reading: &Reading) -> Result<Ordinary, Problems> {
        Ordinary::read(file, &self.0, reading, "dcqcn", &[], None)
    }

    fn refused(&self, reading: &Reading) -> String {
        self.ordinary("c.txt", reading).unwrap_err().to_string()
    }
}

impl core::ops::Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const LINKS: &str = "0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 5 100Gbps 1us 0\n";
const CONFIG: &str = "TOPOLOGY_FILE topo.txt\nFLOW_FILE flow.txt\nCC_MODE 1\nBUFFER_SIZE 2\nSIMULATOR_STOP_TIME 12.5\n\
                      KMAX_MAP 1 100000000000 400\nKMIN_MAP 1 100000000000 100\nPMAX_MAP 1 100000000000 0.2\n";

fn default() -> Reading {
    Reading::default()
}

fn warnings(ordinary: &Ordinary) -> String {
    ordinary.checked().foreseen().join("\n")
}

#[test]
fn a_network_and_its_flows_are_the_same_in_all_dialects() {
    let six = "3\n0 2 3 100 300000 2\n1 2 3 100 300000 2\n3 2 3 100 200000 2.00001\n";
    let five = "3\n0 2 3 300000 2.0\n1 2 3 300000 2.0\n3 2 3 200000 2.00001000\n";
    let bare = LINKS.replace("100Gbps", "100000000000.0");
    let named = CONFIG.replace("TOPOLOGY_FILE topo.txt\n", "");
    let simai = Reading { topology: Some("topo.txt".into()), ..default() };
    let mut hashes = Vec::new();
    for (name, config, topology, flows, reading) in [
        ("original", CONFIG.to_string(), format!("6 2 5\n4 5\n{LINKS}"), six, default()),
        ("powertcp", CONFIG.into(), format!("6 2 2 5\n4 5 \n{bare}"), six, default()),
        (
            "astra",
            CONFIG.replace("CC_MODE 1\n", "CC_MODE 12\nNIC_TOTAL_PAUSE_TIME 0\nHEADROOM_FACTOR 3\n"),
            format!("6 2 5\n4 5 \n{}", LINKS.replace("1us", "0.001ms")),
            six,
            default(),
        ),
        ("simai", named + "MON_START 0\nBW_MON_FILE bw.txt\n", format!("6 1 1 1 5 H100\n4 5\n{LINKS}"), six, simai),
        (
            "conweave",
            CONFIG.replace("SIMULATOR_STOP_TIME 12.5", "FLOWGEN_STOP_TIME 2.5")
                + "LB_MODE 0\nENABLE_PFC 1\nENABLE_IRN 0\n",
            format!("6 2 5\n4 5\n{}", LINKS.replace("1us", "1000ns")),
            five,
            default(),
        ),
    ] {
        let folder = Folder::new(name);
        for (file, text) in [("c.txt", &*config), ("topo.txt", &topology), ("flow.txt", flows)] {
            folder.put(file, text);
        }
        let ordinary = folder.ordinary("c.txt", &reading).unwrap();
        let told = format!("c.txt: read in the dialect of {}", Dialect::of(name).unwrap().facts().title);
        assert_eq!(warnings(&ordinary).contains(&told), name != "original", "{}", warnings(&ordinary));
        // Named, it is the same; and another one does not fit.
        let asked = Reading { dialect: Some(Dialect::of(name).unwrap()), ..reading.clone() };
        assert!(warnings(&folder.ordinary("c.txt", &asked).unwrap()).contains("as asked for"));
        let run = ordinary.run(1, &mut |_| true).unwrap().run;
        assert_eq!(run.traffics[0].counters.finished, 3);
        hashes.push(run.totals.event_hash);
    }
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:x?}");
}

#[test]
fn a_dialect_that_does_not_fit_is_refused_where_it_shows() {
    let folder = Folder::new("unlike");
    folder.put("c.txt", CONFIG);
    folder.put("topo.txt", &format!("6 2 2 5\n4 5\n{LINKS}"));
    folder.put("flow.txt", "1\n0 2 3 300000 2\n");
    let told = folder.refused(&Reading { dialect: Some(Dialect::Original), ..default() });
    assert!(told.contains("topo.txt:1: ") && told.contains("three numbers: nodes, switches, links"), "{told}");
    assert!(told.contains("flow.txt:2: "), "{told}");
    let told = folder.refused(&Reading { dialect: Some(Dialect::SimAi), ..default() });
    assert!(told.contains("topo.txt:1: ") && told.contains("which has six entries"), "{told}");
    assert!(folder.ordinary("c.txt", &default()).is_ok());
    assert!(Dialect::of("ns2").unwrap_err().contains("original, powertcp, astra, simai, conweave"));
}

#[test]
fn files_are_found_beside_the_configuration_and_missing_ones_say_where() {
    let folder = Folder::new("paths");
    let config = CONFIG.replace("topo.txt", "examples/Fork/topo.txt").replace("flow.txt", "../../out/flow.txt");
    folder.put("sub/c.txt", &(config + "NIC_TOTAL_PAUSE_TIME 0\n"));
    folder.put("sub/topo.txt", &format!("6 2 5\n4 5\n{LINKS}"));
    let told = folder.ordinary("sub/c.txt", &default()).unwrap_err().to_string();
    for says in ["sub/c.txt: FLOW_FILE", "sub/flow.txt", "the flows of ASTRA-sim are posted by its front end"] {
        assert!(told.contains(says), "{says}: {told}");
    }
    folder.put("sub/flow.txt", "1\n0 2 3 100 3000 2\n");
    let told = warnings(&folder.ordinary("sub/c.txt", &default()).unwrap());
    assert!(told.contains("TOPOLOGY_FILE examples/Fork/topo.txt is not there; sub/topo.txt is taken"), "{told}");
}

#[test]
fn what_a_fork_says_about_its_network_is_taken() {
    let folder = Folder::new("taken");
    folder.put("c.txt", &format!("{CONFIG}LB_MODE 6\nENABLE_PFC 0\nENABLE_IRN 1\nLOAD 50\nMINE 5\n"));
    folder.put("topo.txt", &format!("6 2 5\n4 5\n{LINKS}"));
    folder.put("flow.txt", "1\n0 2 3 3000 2\n");
    let ordinary = folder.ordinary("c.txt", &default()).unwrap();
    let spec = ordinary.checked().to_json();
    assert_eq!(spec["network"]["balancing"], "flowlets");
    assert_eq!(spec["network"]["buffer"]["policy"], "lossy");
    assert_eq!(spec["traffic"][0]["rdma"]["recovery"], "irn");
    let told = warnings(&ordinary);
    assert_eq!(told.matches("keys that are not taken: CC_MODE, LOAD, MINE").count(), 1, "{told}");
    folder.put("c.txt", &format!("{CONFIG}LB_MODE 9\nENABLE_PFC 1\n"));
    let ordinary = folder.ordinary("c.txt", &default()).unwrap();
    assert_eq!(ordinary.checked().to_json()["network"]["buffer"]["policy"], "lossless");
    assert!(warnings(&ordinary).contains("LB_MODE 9 (ConWeave) (paths by flow hash here"));
    // On its own network: the command that runs it, with the options that were given.
    let reading = Reading { dialect: Some(Dialect::ConWeave), topology: Some("topo.txt".into()), ..default() };
    let told = Setup::read("c.txt", &folder.0, &reading).unwrap_err().to_string();
    assert!(told.contains("fanin run --hpcc c.txt --topology topo.txt --dialect conweave --scheme dcqcn"), "{told}");
}

#[test]
fn limits_of_its_own_network_are_not_those_of_the_ordinary_one() {
    // A switch with 300 ports, a flow that outlives the run, priority 0, starts in any order, and no thresholds.
    let folder = Folder::new("limits");
    let links: String = (0..300).map(|host| format!("{host} 300 400Gbps 0.000025ms 0\n")).collect();
    folder.put("topo.txt", &format!("301 1 300\n300\n{links}"));
    folder.put("flow.txt", "3\n4 5 3 100 5000000000 2.0005\n0 299 3 100 1000 2.0001\n1 298 0 100 1000 2\n");
    folder.put("c.txt", &CONFIG.replace("12.5", "2.001").replace("BUFFER_SIZE 2\n", "BUFFER_SIZE 5000\n"));
    let run = folder.ordinary("c.txt", &default()).unwrap().run(1, &mut |_| true).unwrap().run;
    let fct = run.files.iter().find(|spool| spool.name() == "fct.txt").unwrap();
    let text = std::fs::read_to_string(fct.path()).unwrap();
    let ports: Vec<&str> = text.lines().map(|line| line.split(' ').nth(5).unwrap()).collect();
    assert_eq!(ports, ["2000000000", "2000100000"]);
    // Two links of 25 ns, and 1,048 B twice at 400 Gb/s, 20.96 ns each.
    let first = run.flows.iter().min_by_key(|flow| flow.start).unwrap();
    assert_eq!(first.finished - first.start, Time::from_ps(2 * 25_000 + 2 * 20_960));
    assert!(Setup::read("c.txt", &folder.0, &default()).is_err());
}

#[test]
fn parallel_links_all_carry_packets_on_the_ordinary_network() {
    let folder = Folder::new("parallel");
    let flows: String = (0..20).map(|_| "0 2 3 100 100000 2\n").collect();
    folder.put("flow.txt", &format!("20\n{flows}"));
    folder.put("topo.txt", &format!("6 2 6\n4 5\n{LINKS}5 4 100Gbps 1us 0\n"));
    folder.put("c.txt", CONFIG);
    let run = folder.ordinary("c.txt", &default()).unwrap().run(1, &mut |_| true).unwrap().run;
    let between = run.graph.links.iter().enumerate().filter(|(_, link)| link.a.0 >= 4 && link.b.0 >= 4);
    let used: Vec<usize> = between.map(|(at, _)| at).collect();
    assert_eq!(used.len(), 2);
    for link in used {
        assert!(run.ports[2 * link].packets + run.ports[2 * link + 1].packets > 0, "link {link}");
    }
}

//! Runs of that simulator's files.

use super::*;

fn setup(matrix: &str, options: &str) -> (Setup, std::path::PathBuf) {
    let folder = std::env::temp_dir().join(format!("fanin-uet-{}-{}", std::process::id(), options.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("matrix.cm");
    std::fs::write(&file, matrix).unwrap();
    (Setup::read(file.to_str().unwrap(), None, options).unwrap(), folder)
}

#[test]
fn a_lone_message_takes_its_ideal_time() {
    for (to, size) in [(1, 408_600), (2, 4086), (15, 40_860)] {
        let (setup, folder) = setup(&format!("Nodes 16\n0->{to} id 7 start 3 size {size}\n"), "-sender_cc_only");
        let run = run(&setup, &mut |_| true).unwrap().run;
        run.check().unwrap();
        let flow = run.flows.get(0).unwrap();
        assert_eq!(flow.finished.saturating_sub(flow.start), flow.ideal, "{size} bytes to {to}");
        assert_eq!((flow.start, flow.group, flow.delivered), (Time::from_us(3), 7, size));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn packets_and_bytes_add_up_over_ports() {
    let (setup, folder) = setup("Nodes 16\n0->15 start 0 size 408600\n4->15 start 0 size 408600\n", "-q 8 -ecn 1 4");
    let run = run(&setup, &mut |_| true).unwrap().run;
    let at = |name: &str| {
        let names = fanin_record::port_names(&run.graph);
        run.ports[names.iter().position(|of| of == name).unwrap()]
    };
    let sent: u64 = run.flows.iter().map(|flow| u64::from(flow.packets_sent)).sum();
    assert_eq!(at("h0>tor0").packets + at("h4>tor2").packets, sent);
    assert_eq!(at("tor7>h15").packets, sent - run.totals.drops.buffer);
    assert!(run.totals.trimmed > 0 && run.totals.hosts.nacks == run.totals.trimmed);
    assert!(at("tor7>h15").marked > 0 && at("tor7>h15").peak_queue <= 8 * 4150);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_document_has_the_options_that_count() {
    let (setup, folder) = setup("Nodes 16\n0->1 start 0 size 1\n", "-paths 8 -seed 3 -ecn 1 4 -paths 16 -conn_reuse");
    assert!(setup.document().contains("seed = 3\n"));
    assert!(setup.document().contains("[uec_options]\necn = \"1 4\"\npaths = \"16\"\nconn_reuse = \"\"\n\n"));
    std::fs::remove_dir_all(folder).unwrap();
}

use super::*;
use fanin_fabric::topology::Link;
use fanin_units::{Rate, Time};

#[test]
fn delays_are_those_of_the_shortest_path_and_hosts_do_not_relay() {
    // Hosts 0 to 3, switches 4 to 7: 0 and 1 by either of two spines, 2 beside both hosts, 3 cut off.
    let link = |a: u32, b: u32, delay: u64| Link {
        a: NodeId(a),
        b: NodeId(b),
        rate: Rate::from_gbps(100),
        delay: Time::from_ps(delay),
        error_rate: 0.0,
        outages: Vec::new(),
    };
    let links = vec![
        link(0, 4, 10),
        link(4, 6, 300),
        link(4, 7, 200),
        link(6, 5, 300),
        link(7, 5, 200),
        link(5, 1, 20),
        link(0, 2, 1),
        link(2, 1, 1),
    ];
    let names = (0..8).map(|node| format!("n{node}")).collect();
    let graph = Graph { hosts: 4, names, links };
    let mut delays = Delays::new(&graph);
    for _ in 0..2 {
        assert_eq!((delays.between(0, 1), delays.between(1, 0)), (430, 430));
        assert_eq!((delays.between(0, 2), delays.between(2, 1)), (1, 1));
        assert_eq!(delays.between(0, 3), 0);
    }
    assert_eq!(delays.searches, 5, "each pair once");
}

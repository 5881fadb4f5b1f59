//! Graphs of work that drive a run: what starts when, and that it does not depend on how a network is cut.

use crate::common::random::{Case, Schemes, lossy};
use crate::common::*;
use fanin_engine::mix;
use fanin_fabric::parallel::{cut, why_not_cut};
use fanin_fabric::*;
use fanin_graph::collectives::Method;
use fanin_graph::critical::{Past, Piece, Spent};
use fanin_graph::job::{Job, Listed, SendEnds};
use fanin_graph::{Holds, Kind, Node, Operation, Rules};
use fanin_units::Time;
use proptest::prelude::*;
use std::sync::Arc;

const RULES: Rules = Rules { holds: Holds::Work, first_ready: false };

fn node(id: u64, kind: Kind, after_end: &[u64]) -> Node {
    Node { id, kind, after_end: after_end.to_vec(), ..Node::default() }
}

fn send(to: u32, bytes: u64, tag: u32) -> Kind {
    Kind::Send { to, bytes, tag }
}

fn recv(from: u32, bytes: u64, tag: u32) -> Kind {
    Kind::Recv { from, bytes, tag }
}

fn delay(ns: u64) -> Kind {
    Kind::Delay { ns }
}

/// The job of these ranks as a traffic, host n being rank n.
fn placed(ranks: Vec<Vec<Node>>, traffic: u16, start: Time) -> Placed {
    let hosts: Arc<[u32]> = (0..ranks.len() as u32).collect();
    let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
    let job = Job::new(&mut sources, RULES, &Method::default()).expect("a job that can run");
    Placed { traffic, start, job: Arc::new(job), hosts }
}

fn messages_of(placed: &Placed) -> Vec<Message> {
    let message = |(rank, node, to, bytes): (u32, u32, u32, u64)| Message {
        sent_by: Some((rank, node)),
        traffic: placed.traffic,
        ..message(placed.start, placed.hosts[rank as usize], placed.hosts[to as usize], bytes)
    };
    placed.job.sends().map(message).collect()
}

/// Runs a job alone on a star at line rate, and returns each rank's nodes.
fn run(ranks: Vec<Vec<Node>>) -> (Simulation, GraphRecords) {
    let placed = placed(ranks, 0, us(1));
    let mut sim = line_rate(network(star(placed.hosts.len() as u32, us(1))), messages_of(&placed));
    sim.run_graphs(vec![placed]);
    finish(&mut sim);
    let records = sim.take_graphs();
    (sim, records)
}

/// Start and end of a node.
fn times(records: &GraphRecords, rank: u32, node: u32) -> (Time, Time) {
    let ran = records.past_of(0)[rank as usize][node as usize];
    assert!(ran.has_ended());
    (Time::from_ps(ran.start), Time::from_ps(ran.end))
}

#[test]
fn messages_leave_when_their_node_is_ready_and_receives_end_with_them() {
    let (sim, records) = run(vec![
        vec![node(0, delay(500), &[]), node(1, send(1, 3 * PAYLOAD, 7), &[0]), node(2, delay(10), &[1])],
        // The first is posted before its message arrives, the second after, and with the other tag.
        vec![node(0, recv(0, 3 * PAYLOAD, 7), &[]), node(1, delay(100_000), &[]), node(2, recv(2, 100, 9), &[1])],
        vec![node(0, send(1, 100, 9), &[])],
    ]);
    assert!(records.all_ended() && sim.finished() == 2);
    let flows = sim.flows();
    assert_eq!(flows[0].start, us(1) + ns(500));
    assert_eq!(times(&records, 1, 0), (us(1), flows[0].finished));
    assert_eq!(times(&records, 0, 1), (flows[0].start, flows[0].acked));
    assert_eq!(times(&records, 0, 2), (flows[0].acked, flows[0].acked + ns(10)));
    assert_eq!(times(&records, 1, 2), (us(101), us(101)));
    assert!(flows[1].finished < us(101));
    let rank = records.ranks[0];
    assert_eq!((rank.start, rank.finish, rank.computing), (us(1), flows[0].acked + ns(10), ns(510)));
    assert_eq!(rank.waiting, flows[0].acked.saturating_sub(flows[0].start));
    assert_eq!(records.ranks[1].communicating, flows[0].finished.saturating_sub(us(1)));
    assert_eq!(records.ranks[1].waiting, Time::ZERO, "it computes meanwhile");
}

#[test]
fn an_unfinished_rank_has_waited_up_to_the_end_of_the_run() {
    let collective = Kind::Collective { operation: Operation::AllReduce, bytes: 4 * PAYLOAD, group: 0 };
    let ranks = (0..4).map(|_| vec![node(0, delay(300), &[]), node(1, collective, &[0])]).collect();
    let placed = placed(ranks, 0, us(1));
    let mut sim = line_rate(network(star(4, us(1))), messages_of(&placed));
    sim.run_graphs(vec![placed]);
    sim.run_until(us(9), u64::MAX);
    let records = sim.take_graphs();
    assert!(sim.finished() > 0, "some parts are over");
    for rank in &records.ranks {
        assert_eq!((rank.unfinished > 0, rank.finish), (true, us(1) + ns(300)));
        assert_eq!((rank.computing, rank.waiting), (ns(300), us(8).saturating_sub(ns(300))));
    }
}

#[test]
fn a_send_may_end_as_its_message_arrives() {
    let ranks = || {
        vec![
            vec![node(0, send(1, 9 * PAYLOAD, 7), &[]), node(1, delay(10), &[0])],
            vec![node(0, recv(0, 9 * PAYLOAD, 7), &[])],
        ]
    };
    for send_ends in [SendEnds::Acked, SendEnds::Arrived] {
        let placed = placed(ranks(), 0, us(1));
        let job = Arc::new((*placed.job).clone().with_sends(send_ends));
        let placed = Placed { job, ..placed };
        let mut sim = line_rate(network(star(2, us(1))), messages_of(&placed));
        sim.run_graphs(vec![placed]);
        finish(&mut sim);
        let (flow, records) = (sim.flows()[0], sim.take_graphs());
        let ended = if send_ends == SendEnds::Acked { flow.acked } else { flow.finished };
        assert_eq!(times(&records, 0, 1), (ended, ended + ns(10)));
        assert!(records.all_ended());
    }
}

#[test]
fn what_arrives_at_an_instant_comes_before_delays_that_end_then() {
    let lone = |bytes| {
        let (sim, _) = run(vec![vec![node(0, send(1, bytes, 0), &[])], vec![node(0, recv(0, bytes, 0), &[])]]);
        sim.flows()[0].finished
    };
    // A size whose message arrives at a whole nanosecond after the start of the job.
    let (bytes, at) = (1..PAYLOAD).map(|bytes| (bytes, lone(bytes))).find(|(_, at)| at.as_ps() % 1000 == 0).unwrap();
    let wait = at.saturating_sub(us(1)).as_ps() / 1000;
    // The delay has the lower number, and what it releases must find the message there: both receives end at once,
    // and of what they release, the lower number is posted first.
    let (sim, records) = run(vec![
        vec![node(0, send(1, bytes, 0), &[]), node(1, recv(1, 9, 2), &[]), node(2, recv(1, 8, 1), &[])],
        vec![
            node(0, delay(wait), &[]),
            node(1, send(0, 8, 1), &[0, 2]),
            node(2, recv(0, bytes, 0), &[0]),
            node(3, send(0, 9, 2), &[0]),
        ],
    ]);
    assert_eq!((times(&records, 1, 0).1, times(&records, 1, 2)), (at, (at, at)));
    let (flows, first) = (sim.flows(), 1);
    assert_eq!((flows[first].start, flows[first + 1].start), (at, at));
    assert!(records.all_ended() && flows[first].finished != flows[first + 1].finished);
}

/// T(S) of a message alone over two equal links, and a round ends an ACK later where the ACK leaves by the same link
/// as the next message: 2(n - 1) T(S/n) + (2n - 3) a, with one ACK a message.
#[test]
fn a_ring_takes_what_its_steps_take() {
    let collective = Kind::Collective { operation: Operation::AllReduce, bytes: 40 * PAYLOAD, group: 0 };
    for n in [2, 4, 5] {
        let placed = placed(vec![vec![node(0, collective, &[])]; n], 0, us(1));
        let endpoint = EndpointConfig { ack_chunk: u32::MAX, ..EndpointConfig::default() };
        let traffic = TrafficConfig { endpoint, ..traffic("none") };
        let mut sim = simulation(network(star(n as u32, us(1))), vec![traffic], messages_of(&placed));
        sim.run_graphs(vec![placed]);
        finish(&mut sim);
        let records = sim.take_graphs();
        let bytes = 40 * PAYLOAD / n as u64;
        let tx = |payload: u64| gbps(10).tx_time(payload + u64::from(PACKET.header));
        let alone = tx(PAYLOAD).saturating_mul(bytes / PAYLOAD) + tx(PAYLOAD) + us(2);
        let rounds = 2 * (n as u64 - 1);
        let acks = gbps(10).tx_time(u64::from(PACKET.ack)).saturating_mul(rounds - 1);
        let received = sim.flows().iter().map(|flow| flow.finished).max().unwrap();
        assert_eq!(received, us(1) + alone.saturating_mul(rounds) + acks, "{n} ranks");
        assert_eq!(records.collectives.len(), n);
        assert!(records.collectives.iter().all(|one| (one.start, one.end) == (us(1), received)));
        assert!(records.ranks.iter().all(|rank| rank.finish == received));
    }
}

#[test]
fn a_message_of_a_collective_waits_for_a_rank_that_comes_late() {
    let collective = Kind::Collective { operation: Operation::AllReduce, bytes: 4 * PAYLOAD, group: 0 };
    let (sim, records) =
        run(vec![vec![node(0, collective, &[])], vec![node(0, delay(100_000), &[]), node(1, collective, &[0])]]);
    assert!(records.all_ended());
    let flows = sim.flows();
    // Each rank sends twice, in turn, and the second time what it has received.
    assert!(flows[0].finished < us(101) && flows[2].start > us(101), "the first message of rank 0 is early");
    assert_eq!((flows[1].start, flows[3].start), (us(101), us(101)));
    // Rank 1 has a delay, the collective, and its parts from node 2 on.
    let early = (2..6).find(|node| records.past_of(0)[1][*node as usize].from == (0, 1)).expect("its message");
    assert_eq!(times(&records, 1, early), (us(101), us(101)));
}

/// The pieces lie end to end: none is missing between the beginning of a job and its end.
fn is_whole(pieces: &[Piece], begin: Time, end: Time) {
    let mut at = begin.as_ps();
    for piece in pieces {
        assert!(piece.start == at && piece.end > at, "{piece:?} after {at}");
        at = piece.end;
    }
    assert_eq!(at, end.as_ps());
}

#[test]
fn a_critical_path_names_the_slow_rank_and_its_messages() {
    let collective = Kind::Collective { operation: Operation::AllReduce, bytes: 40 * PAYLOAD, group: 0 };
    let rank = |rank: u32| vec![node(0, delay(if rank == 2 { 9000 } else { 100 }), &[]), node(1, collective, &[0])];
    let placed = placed((0..4).map(rank).collect(), 0, us(1));
    let mut sim = line_rate(network(star(4, us(1))), messages_of(&placed));
    sim.run_graphs(vec![placed.clone()]);
    finish(&mut sim);
    let records = sim.take_graphs();
    let ran = records.past_of(0);
    let past = Past { job: &placed.job, ran: &ran, begin: us(1).as_ps() };
    let finish = records.ranks.iter().map(|rank| rank.finish).max().unwrap();
    let path = past.path().unwrap();
    is_whole(&path, us(1), finish);
    // All the way of what rank 2 adds to: a computation, then 2(n - 1) messages around the ring.
    let first = Piece { spent: Spent::Computing, rank: 2, node: 0, start: us(1).as_ps(), end: us(10).as_ps() };
    assert_eq!(path[0], first);
    let senders: Vec<u32> = path[1..].iter().map(|piece| piece.rank).collect();
    assert_eq!(senders, [2, 3, 0, 1, 2, 3]);
    assert!(path[1..].iter().all(|piece| piece.spent == Spent::Message));
    let of_collective = past.paths_of_collectives().next().unwrap().unwrap();
    is_whole(&of_collective, us(1) + ns(100), finish);
    let late = of_collective[0];
    assert_eq!((late.spent, late.rank, late.end), (Spent::Late, 2, us(10).as_ps()));
    assert_eq!(of_collective[1..], path[1..]);
}

#[test]
fn a_node_that_never_ends_is_named_and_does_not_keep_the_run() {
    let placed = placed(
        vec![
            vec![node(0, recv(1, 5, 3), &[]), node(1, send(1, 5, 3), &[0])],
            vec![node(0, recv(0, 5, 3), &[]), node(1, send(0, 5, 3), &[0])],
        ],
        0,
        us(1),
    );
    let mut sim = line_rate(network(star(2, us(1))), messages_of(&placed));
    sim.run_graphs(vec![placed]);
    sim.run_until(us(10), u64::MAX);
    assert!(sim.nothing_to_come() && sim.open_messages() == 0);
    let records = sim.take_graphs();
    assert!(!records.all_ended());
    let text = records.stuck(0)[0].text(&|_, id| format!("n{id}"));
    assert!(text.contains("wait for each other through messages"), "{text}");
}

/// Random work on all hosts: collectives with computations between, and messages with equal tags.
fn work(seed: u64, hosts: u32) -> Vec<Vec<Node>> {
    let mut ranks: Vec<Vec<Node>> = vec![Vec::new(); hosts as usize];
    for round in 0..2 + mix(seed, 1) % 3 {
        let draw = |what: u64| mix(seed ^ round << 8, what);
        let operation = [Operation::AllReduce, Operation::AllToAll, Operation::Broadcast][(draw(2) % 3) as usize];
        let bytes = 4000 + draw(3) % 20_000;
        for (rank, nodes) in ranks.iter_mut().enumerate() {
            let id = nodes.len() as u64;
            let before: Vec<u64> = id.checked_sub(1).into_iter().collect();
            nodes.push(node(id, delay(draw(10 + rank as u64) % 3 * 1000), &before));
            nodes.push(node(id + 1, Kind::Collective { operation, bytes, group: 0 }, &[id]));
        }
        let (from, shift) = ((draw(4) % u64::from(hosts)) as u32, 1 + (draw(5) % u64::from(hosts - 1)) as u32);
        let to = (from + shift) % hosts;
        for size in [1000, 1000] {
            let id = ranks[from as usize].len() as u64;
            ranks[from as usize].push(node(id, send(to, size, 1), &[id - 2]));
            let id = ranks[to as usize].len() as u64;
            ranks[to as usize].push(node(id, recv(from, size, 1), &[]));
        }
    }
    ranks
}

fn outcome(mut sim: ParallelSimulation, jobs: &[Placed]) -> impl PartialEq + std::fmt::Debug {
    sim.run_graphs(jobs);
    for stop in [ns(33_333), us(150), Time::from_ms(3)] {
        assert!(sim.run_until(stop, 50_000_000), "events without end");
    }
    check_ledger(&sim.totals());
    let (over, records) = (sim.nothing_to_come(), sim.take_graphs());
    for placed in jobs {
        let (ran, finish) = (records.past_of(0), records.ranks.iter().map(|rank| rank.finish).max().unwrap());
        let past = Past { job: &placed.job, ran: &ran, begin: placed.start.as_ps() };
        assert_eq!(past.path().is_some(), records.all_ended());
        past.path().into_iter().for_each(|path| is_whole(&path, placed.start, finish));
    }
    (sim.totals(), sim.flows(), sim.port_counters(), over, records.ranks, records.ran, records.collectives)
}

fn with_work(mut case: Case, seed: u64) -> (Case, Vec<Placed>) {
    let hosts = case.config.graph.hosts.min(12);
    let traffic = case.traffics.len() as u16;
    case.traffics.push(TrafficConfig { name: "work".into(), ..case.traffics[0].clone() });
    let job = placed(work(seed, hosts), traffic, us(2));
    case.messages.extend(messages_of(&job));
    case.messages.sort_by_key(|message| message.start);
    (case, vec![job])
}

proptest! {
    #![proptest_config(cases(3))]

    #[test]
    fn any_cut_gives_the_same(case in lossy(Schemes::All), seed in any::<u64>()) {
        let (case, jobs) = with_work(case, seed);
        prop_assume!(why_not_cut(&case.config, &case.traffics).is_none());
        let messages = || Box::new(case.messages.clone().into_iter());
        let whole = ParallelSimulation::whole(case.config.clone(), case.traffics.clone(), messages());
        let expected = outcome(whole, &jobs);
        let nodes = case.config.graph.names.len() as u64;
        for partitions in [1, 2, 3] {
            let mut of: Vec<u16> = (0..nodes).map(|node| (mix(seed, node) % partitions) as u16).collect();
            if partitions == 1 {
                of = cut(&case.config.graph, 2);
            }
            let mut used = of.clone();
            used.sort_unstable();
            used.dedup();
            of.iter_mut().for_each(|partition| *partition = used.binary_search(partition).unwrap() as u16);
            let mut sim = ParallelSimulation::cut(case.config.clone(), case.traffics.clone(), messages(), &of);
            if partitions > 1 {
                sim.always_share();
            }
            prop_assert!(outcome(sim, &jobs) == expected, "{partitions} partitions");
        }
    }
}

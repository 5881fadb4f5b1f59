//! Hosts on an ideal network: a message takes a fixed time, its acknowledgement as long again.

use fanin_graph::{ANY, Holds, Host, Kind, Message, Node, Operation, Problem, Rules, Source, WINDOW, check, stuck};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;

const GPU: Option<u8> = Some(1);
const NETWORK: Option<u8> = Some(2);
const ASTRA: Rules = Rules { holds: Holds::WorkAndSends, first_ready: false };
const GOAL: Rules = Rules { holds: Holds::Work, first_ready: true };

#[derive(Clone, Default)]
struct Rank(std::vec::IntoIter<Node>, Vec<u32>);

impl Source for Rank {
    type Error = Infallible;

    fn next(&mut self, node: &mut Node) -> Result<bool, Infallible> {
        Ok(self.0.next().map(|next| *node = next).is_some())
    }

    fn members(&self, group: u32) -> Option<&[u32]> {
        Some(self.1.as_slice()).filter(|_| group == 1)
    }
}

fn rank(nodes: impl IntoIterator<Item = Node>) -> Rank {
    Rank(nodes.into_iter().collect::<Vec<_>>().into_iter(), vec![0, 1])
}

fn node(id: u64, kind: Kind, slot: Option<u8>, after_end: &[u64]) -> Node {
    Node { id, kind, slot, after_end: after_end.to_vec(), ..Node::default() }
}

fn send(id: u64, to: u32, tag: u32, after: &[u64]) -> Node {
    node(id, Kind::Send { to, bytes: 8, tag }, NETWORK, after)
}

fn recv(id: u64, from: u32, tag: u32, after: &[u64]) -> Node {
    node(id, Kind::Recv { from, bytes: 8, tag }, None, after)
}

fn delay(id: u64, ns: u64, after: &[u64]) -> Node {
    node(id, Kind::Delay { ns }, GPU, after)
}

fn collective(id: u64, operation: Operation, group: u32, after: &[u64]) -> Node {
    node(id, Kind::Collective { operation, bytes: 8, group }, NETWORK, after)
}

/// What happens at a host. At one instant arrivals and acknowledgements come before the ends of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrived(u32, u32, u64),
    Acked(u32),
    Over(u64, u32),
}

/// Plays the ranks; the start of each node, as time, rank and number, and the most nodes that a rank held.
fn play(
    mut ranks: Vec<Rank>,
    rules: Rules,
    window: usize,
    latency: u64,
) -> (Vec<(u64, u32, u64)>, usize, Vec<Problem>) {
    let mut hosts: Vec<Host> = ranks.iter().map(|_| Host::new(rules, window)).collect();
    let mut queue = BinaryHeap::new();
    let (mut starts, mut held, mut now, mut buffer) = (Vec::new(), 0, 0, Node::default());
    loop {
        for rank in 0..hosts.len() {
            loop {
                assert_eq!(hosts[rank].fill(&mut ranks[rank], &mut buffer), Ok(None));
                held = held.max(hosts[rank].unfinished().len());
                let Some(at) = hosts[rank].take() else { break };
                let node = hosts[rank].node(at);
                starts.push((now, rank as u32, node.id));
                hosts[rank].start(at);
                match node.kind {
                    Kind::Send { to, tag, .. } => {
                        let arrived = What::Arrived(rank as u32, tag, node.id);
                        queue.push(Reverse((now + latency, to as usize, arrived)));
                        queue.push(Reverse((now + 2 * latency, rank, What::Acked(at))));
                    }
                    Kind::Delay { ns: 0 } => hosts[rank].end(at),
                    Kind::Delay { ns } => queue.push(Reverse((now + ns, rank, What::Over(node.id, at)))),
                    Kind::Recv { .. } | Kind::Collective { .. } => {}
                }
            }
        }
        let Some(time) = queue.peek().map(|Reverse((time, ..))| *time) else {
            if hosts.iter_mut().map(Host::widen).filter(|more| *more).count() == 0 {
                return (starts, held, stuck(&hosts));
            }
            continue;
        };
        now = time;
        while queue.peek().is_some_and(|Reverse((time, ..))| *time == now) {
            let Some(Reverse((_, rank, what))) = queue.pop() else { break };
            match what {
                What::Arrived(from, tag, token) => {
                    hosts[rank].arrive(Message { from, tag, bytes: 8, token });
                }
                What::Acked(at) | What::Over(_, at) => hosts[rank].end(at),
            }
        }
    }
}

#[test]
fn a_send_ends_when_it_is_acknowledged() {
    let ranks = vec![
        rank([send(1, 1, 0, &[]), delay(2, 5, &[1]), send(3, 1, 0, &[2])]),
        rank([recv(1, 0, 0, &[]), delay(2, 1, &[1]), recv(3, 0, 0, &[2])]),
    ];
    let (starts, _, problems) = play(ranks, ASTRA, WINDOW, 100);
    assert_eq!(starts, [(0, 0, 1), (0, 1, 1), (100, 1, 2), (101, 1, 3), (200, 0, 2), (205, 0, 3)]);
    assert_eq!(problems, []);
}

#[test]
fn slots_go_by_number_or_to_the_first_that_was_ready() {
    // The processor is busy until 10; 3 becomes ready at 4, and 2 at 7.
    let other = |id, ns| node(id, Kind::Delay { ns }, None, &[]);
    let nodes = || [delay(0, 10, &[]), delay(2, 1, &[6]), delay(3, 1, &[5]), other(5, 4), other(6, 7)];
    let order = |rules| {
        play(vec![rank(nodes())], rules, WINDOW, 1).0.into_iter().skip(3).map(|(_, _, id)| id).collect::<Vec<_>>()
    };
    assert_eq!(order(ASTRA), [2, 3]);
    assert_eq!(order(GOAL), [3, 2]);
}

#[test]
fn a_send_holds_its_slot_only_where_the_rules_say_so() {
    let nodes =
        || [send(1, 1, 0, &[]), send(2, 1, 0, &[]), node(3, Kind::Delay { ns: 7 }, NETWORK, &[]), send(4, 1, 0, &[])];
    let receives = || rank((1..4).map(|id| recv(id, ANY, ANY, &[])));
    let times = |rules| {
        let (starts, _, problems) = play(vec![rank(nodes()), receives()], rules, WINDOW, 100);
        assert_eq!(problems, []);
        let of_rank = starts.into_iter().filter(|(_, rank, _)| *rank == 0);
        of_rank.map(|(time, _, id)| (time, id)).collect::<Vec<_>>()
    };
    assert_eq!(times(ASTRA), [(0, 1), (200, 2), (400, 3), (407, 4)]);
    assert_eq!(times(GOAL), [(0, 1), (0, 2), (0, 3), (7, 4)]);
}

#[test]
fn a_start_may_be_waited_for() {
    let after_start = Node { after_start: vec![1], ..delay(2, 1, &[]) };
    let ranks = vec![rank([node(1, Kind::Delay { ns: 50 }, None, &[]), after_start, delay(3, 1, &[1])])];
    assert_eq!(play(ranks, GOAL, WINDOW, 1).0, [(0, 0, 1), (0, 0, 2), (50, 0, 3)]);
}

#[test]
fn a_window_holds_a_long_rank_and_changes_nothing_that_is_in_order() {
    let chain = |other: u32| {
        let pair =
            move |step: u64| [send(2 * step, other, 0, &prior(step)), recv(2 * step + 1, other, 0, &prior(step))];
        rank((0..500).flat_map(pair))
    };
    fn prior(step: u64) -> Vec<u64> {
        if step == 0 { vec![] } else { vec![2 * step - 2, 2 * step - 1] }
    }
    let (all, held_all, problems) = play(vec![chain(1), chain(0)], ASTRA, WINDOW, 10);
    let (some, held, _) = play(vec![chain(1), chain(0)], ASTRA, 8, 10);
    assert_eq!((held_all, held, problems), (1000, 8, vec![]));
    assert_eq!(all, some);
}

#[test]
fn what_lies_beyond_the_window_is_found_when_a_run_stands_still() {
    let backwards = rank((0..100).map(|id| delay(id, 1, if id < 99 { &[99] } else { &[] })));
    let (starts, held, problems) = play(vec![backwards], ASTRA, 4, 1);
    assert_eq!((starts[0].2, starts.len(), held, problems), (99, 100, 100, vec![]));
}

fn checked(ranks: Vec<Rank>) -> Vec<String> {
    let mut ranks = ranks;
    let Ok(problems) = check(&mut ranks, ASTRA, 4);
    problems.iter().map(|problem| problem.text(&|_, id| format!("node {id}"))).collect()
}

#[test]
fn the_shortest_cycle_is_named() {
    // 1 to 4 in a ring, with a shorter way from 3 back to 2.
    let ring = [delay(1, 1, &[4]), delay(2, 1, &[1, 3]), delay(3, 1, &[2]), delay(4, 1, &[3]), delay(5, 1, &[4])];
    assert_eq!(checked(vec![rank(ring)]), ["rank 0: node 2 and node 3 wait for each other"]);
}

#[test]
fn waits_across_ranks_are_named() {
    let each = |other| rank([recv(1, other, 0, &[]), send(2, other, 0, &[1])]);
    let said = "rank 0 node 1, rank 0 node 2, rank 1 node 1 and rank 1 node 2 wait for each other through messages or \
                collectives";
    assert_eq!(checked(vec![each(1), each(0)]), [said]);
    // With a message too few on one side the other side is stuck too, and only the reason is said.
    let ranks = vec![
        rank([recv(1, 1, 0, &[]), recv(2, 1, 3, &[]), send(3, 1, 0, &[2])]),
        rank([send(1, 0, 0, &[]), recv(2, 0, 0, &[])]),
    ];
    assert_eq!(checked(ranks), ["rank 0: node 2 receives 8 B with tag 3 from rank 1, which never sends that"]);
    let ranks = vec![rank([delay(1, 1, &[77])])];
    assert_eq!(checked(ranks), ["rank 0: node 1 waits for node 77, which is not there"]);
    let unequal =
        vec![rank([node(1, Kind::Send { to: 1, bytes: 5000, tag: 0 }, None, &[])]), rank([recv(9, 0, 0, &[])])];
    assert_eq!(checked(unequal), ["rank 1: node 9 expects 8 B, and rank 0: node 1 sends 5,000 B"]);
}

#[test]
fn collectives_meet_in_order() {
    use Operation::{AllGather, AllReduce};
    let ranks = |last: Operation| {
        vec![
            rank([
                collective(1, AllReduce, 0, &[]),
                collective(2, AllGather, 1, &[1]),
                collective(3, AllReduce, 1, &[2]),
            ]),
            rank([collective(4, AllReduce, 0, &[]), collective(5, AllGather, 1, &[4]), collective(6, last, 1, &[5])]),
        ]
    };
    assert_eq!(checked(ranks(AllReduce)), [""; 0]);
    let said = "collective 1 of process group 1 is all-gather of 8 B at rank 1 (node 6) and all-reduce of 8 B at rank \
                0 (node 3)";
    assert_eq!(checked(ranks(AllGather)), [said]);
    let mut alone = ranks(AllReduce);
    alone[1] = rank([collective(4, AllReduce, 0, &[])]);
    assert_eq!(checked(alone), ["rank 0: node 2 takes part in collective 0 of process group 1, and rank 1 never does"]);
    // Each rank enters one group first, and its engine for communication is taken.
    let crossed = vec![
        rank([collective(1, AllReduce, 0, &[]), collective(2, AllReduce, 1, &[])]),
        rank([collective(1, AllReduce, 1, &[]), collective(2, AllReduce, 0, &[])]),
    ];
    assert!(checked(crossed)[0].ends_with("wait for each other through messages or collectives"));
}

#[test]
fn what_never_ended_is_named_after_a_run() {
    let begun = |node: Node| {
        let mut host = Host::new(ASTRA, WINDOW);
        assert!(host.add(&node) && !host.add(&node));
        let at = host.take().expect("a node");
        host.start(at);
        host
    };
    // A message that was lost, and a receive that nobody serves.
    let said = |receive: Node| {
        let problems = stuck(&[begun(send(7, 1, 0, &[])), begun(receive)]);
        problems.iter().map(|problem| problem.text(&|_, id| format!("node {id}"))).collect::<Vec<_>>()
    };
    let lost = [
        "rank 0: node 7 started and never ended; it waits for rank 1 to have its message",
        "rank 1: node 8 started and never ended; it waits for a message from rank 0 that is under way",
    ];
    assert_eq!(said(recv(8, 0, 0, &[])), lost);
    assert_eq!(
        said(recv(8, 0, 1, &[])),
        ["rank 1: node 8 receives 8 B with tag 1 from rank 0, which never sends that"]
    );
}

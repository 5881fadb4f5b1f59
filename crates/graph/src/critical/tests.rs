use super::*;
use crate::collectives::Method;
use crate::job::Listed;
use crate::{Holds, Node, Operation, Rules};

fn node(id: u64, kind: Kind, after_end: &[u64], after_start: &[u64]) -> Node {
    Node { id, kind, after_end: after_end.to_vec(), after_start: after_start.to_vec(), ..Node::default() }
}

fn job(ranks: Vec<Vec<Node>>) -> Job {
    let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
    Job::new(&mut sources, Rules { holds: Holds::Work, first_ready: false }, &Method::default()).unwrap()
}

fn ran(start: u64, end: u64) -> Ran {
    Ran { start, end, ..Ran::NOT }
}

fn received(start: u64, end: u64, from: (u32, u32)) -> Ran {
    Ran { start, end, from }
}

/// What was spent, rank, node, and from when to when.
fn short(pieces: Option<Vec<Piece>>) -> Vec<(Spent, u32, u32, u64, u64)> {
    pieces.unwrap().iter().map(|piece| (piece.spent, piece.rank, piece.node, piece.start, piece.end)).collect()
}

fn past<'a>(job: &'a Job, ran: &'a [&'a [Ran]], begin: u64) -> Past<'a> {
    Past { job, ran, begin }
}

/// Rank 0 computes and sends; rank 1 computes for less, receives, computes twice on one slot.
fn two_ranks() -> Job {
    let send = Kind::Send { to: 1, bytes: 9, tag: 0 };
    let recv = Kind::Recv { from: 0, bytes: 9, tag: 0 };
    job(vec![
        vec![node(0, Kind::Delay { ns: 3 }, &[], &[]), node(1, send, &[0], &[])],
        vec![
            node(0, Kind::Delay { ns: 1 }, &[], &[]),
            node(1, recv, &[0], &[]),
            node(2, Kind::Delay { ns: 2 }, &[], &[1]),
            node(3, Kind::Delay { ns: 2 }, &[1], &[]),
        ],
    ])
}

#[test]
fn a_path_follows_the_message_or_the_node_that_came_last() {
    let job = two_ranks();
    let first = [ran(100, 400), ran(400, 950)];
    // The message comes after the receive was posted; the last computation waits 50 for its slot.
    let late = [ran(100, 200), received(200, 900, (0, 1)), ran(200, 950), ran(950, 1150)];
    let path = short(past(&job, &[&first, &late], 100).path());
    let expected = [
        (Spent::Computing, 0, 0, 100, 400),
        (Spent::Message, 0, 1, 400, 900),
        (Spent::Slot, 1, 3, 900, 950),
        (Spent::Computing, 1, 3, 950, 1150),
    ];
    assert_eq!(path, expected);
    // It was there before: then its sender does not matter.
    let early = [ran(100, 1000), received(1000, 1000, (0, 1)), ran(1000, 1200), ran(1000, 1200)];
    let path = short(past(&job, &[&first, &early], 100).path());
    // Of two that end at once, the first; it waited for the start of the receive alone.
    assert_eq!(path, [(Spent::Computing, 1, 0, 100, 1000), (Spent::Computing, 1, 2, 1000, 1200)]);
    // One node did not end.
    let unended = [ran(100, 400), ran(400, NEVER)];
    assert_eq!(past(&job, &[&unended, &early], 100).path(), None);
}

#[test]
fn a_send_with_its_ack_ends_a_path() {
    let job = two_ranks();
    let late = [ran(100, 200), received(200, 900, (0, 1)), ran(200, 250), ran(900, 940)];
    let sends = [ran(100, 400), ran(400, 950)];
    let path = short(past(&job, &[&sends, &late], 100).path());
    assert_eq!(path, [(Spent::Computing, 0, 0, 100, 400), (Spent::Acked, 0, 1, 400, 950)]);
    let arrived = job.with_sends(SendEnds::Arrived);
    assert_eq!(short(past(&arrived, &[&sends, &late], 100).path())[1].0, Spent::Message);
}

/// Two ranks and a broadcast: node 0 computes, 1 is the collective, 2 its send or receive.
#[test]
fn the_path_of_a_collective_begins_with_who_came_late() {
    let broadcast = Kind::Collective { operation: Operation::Broadcast, bytes: 8, group: 0 };
    let rank = || vec![node(0, Kind::Delay { ns: 1 }, &[], &[]), node(1, broadcast, &[0], &[])];
    let job = job(vec![rank(), rank()]);
    let kinds: Vec<Kind> = (0..2).map(|rank| job.step(rank, 2).kind).collect();
    assert!(matches!(kinds[..], [Kind::Send { to: 1, .. }, Kind::Recv { from: 0, .. }]), "{kinds:?}");
    let of = |root: u64, other: u64| {
        let first = [ran(10, root), ran(root, root + 70), ran(root, root + 70)];
        let end = root + 60;
        let second = [ran(10, other), ran(other, end), received(other, end, (0, 2))];
        let ran: [&[Ran]; 2] = [&first, &second];
        let past = past(&job, &ran, 10);
        let mut paths: Vec<_> = past.paths_of_collectives().collect();
        assert_eq!(paths.len(), 1);
        (short(paths.pop().unwrap()), short(past.path()))
    };
    // The sender came 40 later than the receiver; its send ends last, with its ACK.
    let (collective, whole) = of(60, 20);
    assert_eq!(collective, [(Spent::Late, 0, 1, 20, 60), (Spent::Acked, 0, 2, 60, 130)]);
    assert_eq!(whole, [(Spent::Computing, 0, 0, 10, 60), (Spent::Acked, 0, 2, 60, 130)]);
    // The sender came first: nobody waited for the receiver.
    assert_eq!(of(20, 60).0, [(Spent::Acked, 0, 2, 20, 90)]);
}

use super::*;
use crate::{ANY, Operation, WINDOW, check};

const RULES: Rules = Rules { holds: Holds::Work, first_ready: false };

fn node(id: u64, kind: Kind, after_end: &[u64]) -> Node {
    Node { id, kind, after_end: after_end.to_vec(), ..Node::default() }
}

fn gather(group: u32, bytes: u64) -> Kind {
    Kind::Collective { operation: Operation::AllGather, bytes, group }
}

fn job(ranks: Vec<Vec<Node>>) -> Result<Job, Wrong<Infallible>> {
    let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
    Job::new(&mut sources, RULES, &Method::default())
}

#[test]
fn a_collective_becomes_messages_and_what_waits_for_it_still_does() {
    let rank = |extra: u64| {
        vec![
            node(70, Kind::Delay { ns: 5 }, &[9 + extra]),
            node(9 + extra, gather(0, 100), &[3]),
            node(3, Kind::Delay { ns: 1 }, &[]),
        ]
    };
    let job = job(vec![rank(0), rank(1), rank(2)]).unwrap();
    let one = &job.collectives[0];
    // A trace counts what a rank contributes.
    assert_eq!((job.collectives.len(), one.bytes, one.algorithm), (1, 300, "ring"));
    let sends: Vec<_> = job.sends().collect();
    assert_eq!(sends[..4], [(0, 2, 1, 100), (1, 3, 2, 100), (2, 3, 0, 100), (0, 4, 1, 100)]);
    for rank in 0..3 {
        let steps: Vec<Step<'_>> = job.steps(rank).collect();
        assert_eq!((steps.len(), job.ranks[rank as usize].len()), (3 + 4, 3 + 4));
        assert!(steps.iter().zip(0..).all(|(step, number)| step.number == number && *step == job.step(rank, number)));
        assert_eq!((steps[6].node().after_end, steps[6].origin), (vec![1], 70));
        assert_eq!(steps[1].node().after_end, [0]);
        let parts = &steps[2..6];
        let of = |step: &Step<'_>| (step.within, step.collective, step.origin, step.is_part());
        assert!(parts.iter().all(|step| of(step) == (1, 0, 9 + u64::from(rank), true)));
        assert_eq!(job.parts(rank, 1).unwrap().steps().collect::<Vec<_>>(), parts);
        assert!(job.parts(rank, 0).is_none() && job.parts(rank, 2).is_none());
        assert_eq!(job.own_steps(rank).map(|step| step.number).collect::<Vec<_>>(), [0, 1, 6]);
    }
    // The first message of each rank waits for the start of the collective, the second for the first arrival.
    assert_eq!((job.step(0, 2).node().after_start, job.step(0, 2).node().after_end), (vec![1], vec![]));
    assert_eq!((job.step(0, 4).node().after_start, job.step(0, 4).node().after_end), (vec![], vec![3]));
    // As messages alone it runs to its end, and what follows waits for its receives.
    assert_eq!(check(&mut job.messages_only(), RULES, WINDOW), Ok(Vec::new()));
    let mut source = job.messages_only().remove(0);
    let (mut node, mut nodes) = (Node::default(), Vec::new());
    while source.next(&mut node) == Ok(true) {
        nodes.push(node.clone());
    }
    assert_eq!((nodes[6].after_end.clone(), nodes[7].id, nodes[7].after_end.clone()), (vec![8], 8, vec![1, 3, 5]));
}

#[test]
fn equal_collectives_share_a_plan_and_have_messages_of_their_own() {
    let rank = || vec![node(0, gather(0, 100), &[]), node(1, gather(0, 100), &[0]), node(2, gather(0, 50), &[1])];
    let job = job(vec![rank(), rank()]).unwrap();
    let plans: Vec<u32> = job.collectives.iter().map(|one| one.plan).collect();
    assert_eq!((plans, job.plans.len()), (vec![0, 0, 1], 2));
    let tags = |rank: u32| -> Vec<u32> {
        let tag = |kind| match kind {
            Kind::Send { tag, .. } => Some(tag - TAGS),
            _ => None,
        };
        job.steps(rank).filter_map(|step| tag(step.kind)).collect()
    };
    assert_eq!([tags(0), tags(1)], [[0, 2, 4], [1, 3, 5]]);
}

#[test]
fn parts_know_what_waits_for_them_and_which_part_of_the_other_rank_is_theirs() {
    let reduce = |id| node(id, Kind::Collective { operation: Operation::AllReduce, bytes: 1 << 20, group: 0 }, &[]);
    for algorithm in ["ring", "tree", "halving-doubling", "double-tree"] {
        let mut sources: Vec<Listed> = (0..8).map(|_| Listed::new(vec![reduce(5), reduce(6)])).collect();
        let method = Method { algorithm: Some(algorithm), channels: 2, ..Method::default() };
        let job = Job::new(&mut sources, RULES, &method).unwrap();
        let (mut pairs, mut ends) = (0, 0);
        for rank in 0..8 {
            for parts in job.own_steps(rank).filter_map(|step| job.parts(rank, step.number)) {
                for (part, step) in (0..).zip(parts.steps()) {
                    let waits = |of: u32| parts.step(of).after_end().any(|id| id == step.number);
                    let found: Vec<u32> = (0..parts.len()).filter(|of| waits(*of)).collect();
                    assert_eq!(job.frees(parts.plan(), part), (parts.waits(part).0, &found[..]));
                    assert_eq!(parts.waits(part).1 as usize, step.after_end().count());
                    pairs += found.len();
                    if let Kind::Send { to, bytes, tag } = step.kind {
                        let there = job.own_steps(to).find(|of| of.collective == step.collective).unwrap().number;
                        let arrived = job.parts(to, there).unwrap().step(step.there);
                        assert_eq!(arrived.kind, Kind::Recv { from: rank, bytes, tag });
                        assert_eq!(job.parts(rank, step.within).unwrap().step(part), job.step(rank, step.number));
                        ends += 1;
                    }
                }
            }
        }
        assert!(pairs > 0 && ends == job.sends().count());
    }
}

#[test]
fn what_cannot_be_carried_out_is_named() {
    let wrong = |ranks| match job(ranks) {
        Err(Wrong::Node { rank, id, what }) => (rank, id, what),
        other => panic!("{other:?}"),
    };
    let of = |id, kind| vec![node(id, kind, &[])];
    assert_eq!(wrong(vec![of(1, gather(7, 5)), of(1, gather(7, 5))]).2, "names process group 7, which is not defined");
    let (rank, id, what) = wrong(vec![of(1, gather(0, 5)), of(2, gather(0, 6))]);
    assert_eq!((rank, id), (1, 2));
    assert!(what.contains("another operation or size than node 1 of rank 0"), "{what}");
    assert!(wrong(vec![of(1, gather(0, 5)), of(2, Kind::Delay { ns: 1 })]).2.contains("1 of 2 ranks come"));
    assert!(wrong(vec![vec![node(1, Kind::Delay { ns: 1 }, &[4])]]).2.contains("node 4, which is not there"));
    let tagged = |tag| vec![vec![node(1, Kind::Recv { from: 1, bytes: 1, tag }, &[]), node(2, gather(0, 1), &[])]; 2];
    assert!(wrong(tagged(TAGS)).2.contains("has a tag from 2147483648 on"));
    assert!(job(tagged(ANY)).is_ok() && job(tagged(TAGS - 1)).is_ok());
}

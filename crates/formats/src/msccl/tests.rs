use super::*;
use fanin_graph::collectives::Method;
use fanin_graph::{Holds, Job, Rules, check};

const RING: &str = include_str!("../../../../examples/collectives/ring.xml");
const RULES: Rules = Rules { holds: Holds::Work, first_ready: true };

/// GPU 0 has two chunks, and sends one to GPU 1 and one to GPU 2, which passes it on to GPU 1.
const SMALL: &str = r#"<?xml version="1.0"?>
<algo name="small" nchunksperloop="3" ngpus="3" coll="custom">
  <gpu id="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="cpy" srcoff="0" cnt="1" depid="-1" deps="-1"/>
      <step s="1" type="s" srcoff="0" cnt="2" depid="-1" deps="-1"/>
    </tb>
    <tb id="1" send="2" recv="-1" chan="4">
      <step s="0" type="s" srcoff="2" cnt="1" depid="0" deps="0"/>
    </tb>
  </gpu>
  <gpu id="1">
    <tb id="7" send="-1" recv="0" chan="0">
      <step s="0" type="rrc" srcoff="1" cnt="2" depid="-1" deps="-1"/>
    </tb>
    <tb id="3" send="-1" recv="2" chan="5">
      <step s="0" type="nop" srcoff="-1" cnt="0" depid="7" deps="0"/>
      <step s="1" type="r" srcoff="-1" cnt="1" depid="-1" deps="-1"/>
    </tb>
  </gpu>
  <gpu id="2">
    <tb id="0" send="-1" recv="0" chan="4">
      <step s="0" type="r" srcoff="0" cnt="1" depid="-1" deps="-1"/>
    </tb>
    <tb id="1" send="1" recv="-1" chan="5">
      <step s="0" type="s" srcoff="2" cnt="1" depid="0" deps="0"/>
    </tb>
  </gpu>
</algo>
"#;

fn algorithm(text: &str, size: u64) -> Algorithm {
    Algorithm::read(text.as_bytes(), "a.xml").and_then(|of| of.with_size(size, "a.xml")).expect("an algorithm")
}

/// The nodes of a rank, as what they do and what they wait for.
fn shown(of: &Algorithm, rank: usize) -> Vec<String> {
    let (mut source, mut node, mut found) = (of.sources().swap_remove(rank), Node::default(), Vec::new());
    while source.next(&mut node).expect("nodes in memory") {
        let what = match node.kind {
            Kind::Send { to, bytes, tag } => format!("{bytes} to {to} by {tag}"),
            Kind::Recv { from, bytes, tag } => format!("{bytes} from {from} by {tag}"),
            other => format!("{other:?}"),
        };
        found.push(format!("{what} after {:?}", node.after_end));
    }
    found
}

/// How many messages there are, and their bytes.
fn sent(of: &Algorithm) -> (usize, u64) {
    let job = Job::new(&mut of.sources(), RULES, &Method::default()).expect("a job");
    (job.sends().count(), job.sends().map(|(.., bytes)| bytes).sum())
}

fn problems(of: &Algorithm) -> Vec<String> {
    let found = check(&mut of.sources(), RULES, 16).expect("nodes in memory");
    found.iter().map(|problem| problem.text(&|rank, id| of.name(rank, id).0)).collect()
}

#[test]
fn a_ring_sends_all_bytes_around_twice() {
    // Sizes that four chunks divide and that they do not; chunks of 1 and 2 bytes among them.
    for size in [4, 6, 1 << 20, 1_000_003, LARGEST] {
        let of = algorithm(RING, size);
        assert_eq!(sent(&of), (4 * 2 * 3, 2 * 3 * size), "{size}");
        assert_eq!(problems(&of), [""; 0], "{size}");
    }
}

#[test]
fn steps_that_receive_and_send_are_two_nodes() {
    // Chunks of 10 bytes: 2, 3, 2 and 3.
    assert_eq!(
        shown(&algorithm(RING, 10), 1),
        [
            "3 to 2 by 0 after []",
            "2 from 0 by 0 after [0]",
            "2 to 2 by 0 after [1]",
            "3 from 0 by 0 after [2]",
            "3 to 2 by 0 after [3]",
            "2 from 0 by 0 after [4]",
            "2 to 2 by 0 after [5]",
            "3 from 0 by 0 after [6]",
            "3 to 2 by 0 after [7]",
            "2 from 0 by 0 after [8]",
            "2 to 2 by 0 after [9]",
            "3 from 0 by 0 after [10]",
        ]
    );
}

#[test]
fn thread_blocks_wait_for_steps_of_others_alone() {
    let of = algorithm(SMALL, 10);
    let nothing = "Delay { ns: 0 }";
    assert_eq!(shown(&of, 0), [&format!("{nothing} after []"), "6 to 1 by 0 after [0]", "4 to 2 by 4 after [0]"]);
    // By the ids of thread blocks; the receive of 6 bytes has the chunks of the step that sends them, and not its own.
    assert_eq!(shown(&of, 1), [&format!("{nothing} after [2]"), "4 from 2 by 5 after [0]", "6 from 0 by 0 after []"],);
    assert_eq!(shown(&of, 2), ["4 from 0 by 4 after []", "4 to 1 by 5 after [0]"]);
    assert_eq!((sent(&of), problems(&of)), ((3, 14), vec![]));
    assert_eq!(of.name(1, 1), ("tb 3, step 1 (r)".into(), 18));
    assert_eq!(algorithm(RING, 10).name(0, 2), ("tb 0, step 1 (send of rrs)".into(), 7));
}

#[test]
fn what_could_not_run_is_found_by_the_check() {
    let with = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        problems(&algorithm(&SMALL.replacen(from, to, 1), 9))
    };
    let nop = r#"type="nop" srcoff="-1" cnt="0" depid="7" deps="0""#;
    let circle = with(nop, r#"type="nop" srcoff="-1" cnt="0" depid="3" deps="1""#);
    assert_eq!(circle, ["rank 1: tb 3, step 0 (nop) and tb 3, step 1 (r) wait for each other"]);
    let unsent = with(r#"recv="2" chan="5""#, r#"recv="2" chan="6""#);
    assert_eq!(
        unsent.last().map(String::as_str),
        Some("rank 1: tb 3, step 1 (r) receives 3 B with tag 6 from rank 2, which never sends that")
    );
    let unreceived = with(r#"type="r" srcoff="-1""#, r#"type="re" srcoff="-1""#);
    assert_eq!(unreceived, ["rank 2: tb 1, step 0 (s) sends 3 B to rank 1 with tag 5; nobody receives that"]);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let of = |text: &str, size| {
        let Error { line, what, .. } =
            Algorithm::read(text.as_bytes(), "a.xml").expect("an algorithm").with_size(size, "a.xml").expect_err("no");
        format!("{line}: {what}")
    };
    let few = "0: 3 B are less than a byte for each of the 4 chunks (nchunksperloop); the vector has at least 4 B";
    assert_eq!(of(RING, 3), few);
    let twice = SMALL.replace(r#"cnt="2""#, r#"cnt="4""#);
    assert!(of(&twice, LARGEST).starts_with("6: gpu 0, tb 0, step 1: cnt makes a message of 1501199875790165 B of"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let error = |text: &str| {
        let Error { line, what, .. } = Algorithm::read(text.as_bytes(), "a.xml").expect_err("no algorithm");
        format!("{line}: {what}")
    };
    let with = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        error(&SMALL.replacen(from, to, 1))
    };
    let step = r#"<step s="1" type="s""#;
    assert_eq!(
        with(step, r#"<step s="1" type="send""#),
        "6: gpu 0, tb 0, step 1: type is \"send\"; the types are s, r, rcs, rrc, rrs, rrcs, cpy, re, nop"
    );
    assert_eq!(with(step, r#"<step s="1""#), "6: gpu 0, tb 0, step 1: type is missing");
    assert_eq!(
        with(step, r#"<step s="2" type="s""#),
        "6: gpu 0, tb 0, step 1: s is \"2\"; the next step of this thread block is 1"
    );
    assert_eq!(
        with(r#"send="1""#, r#"send="-1""#),
        "6: gpu 0, tb 0, step 1: type is \"s\"; it needs a GPU that it sends to, and send of its thread block is -1"
    );
    assert_eq!(
        with(r#"recv="0""#, r#"recv="-1""#),
        "14: gpu 1, tb 7, step 0: type is \"rrc\"; it needs a GPU that it receives from, and recv of its thread block \
         is -1"
    );
    assert_eq!(
        with(r#"send="1""#, r#"send="3""#),
        "4: gpu 0, tb 0: send is \"3\"; it is a GPU from 0 to 2, or -1 for none"
    );
    assert_eq!(with(r#"send="1""#, r#"send="0""#), "4: gpu 0, tb 0: send is 0, this GPU itself; name another");
    assert_eq!(with(r#"chan="0""#, ""), "4: gpu 0, tb 0: chan is missing");
    assert_eq!(
        with(r#"cnt="2""#, r#"cnt="0""#),
        "6: gpu 0, tb 0, step 1: cnt is \"0\"; it is a whole number from 1 to 1048576"
    );
    assert_eq!(
        with(r#"cnt="2""#, r#"cnt="1""#),
        "14: gpu 1, tb 7, step 0: cnt is 2, and its message is that of gpu 0, tb 0, step 1, which sends 1; write the \
         same"
    );
    assert!(
        with(r#"srcoff="0" cnt="2""#, r#"srcoff="-1" cnt="2""#).contains("step 1: srcoff is \"-1\"; it is a whole")
    );
    assert_eq!(
        with(r#"depid="0" deps="0""#, r#"depid="2" deps="0""#),
        "9: gpu 0, tb 1, step 0: depid is 2, and this GPU has no such thread block"
    );
    assert_eq!(
        with(r#"depid="0" deps="0""#, r#"depid="0" deps="2""#),
        "9: gpu 0, tb 1, step 0: deps is 2, and tb 0 has 2 steps, the first is 0"
    );
    assert_eq!(
        with(r#"<tb id="1""#, r#"<tb id="0""#),
        "8: gpu 0, tb 0: another thread block of this GPU has this id; give each its own"
    );
    assert_eq!(with(r#"<gpu id="1""#, r#"<gpu id="0""#), "12: gpu: id is 0, which another GPU has; give each its own");
    assert_eq!(with(r#"<gpu id="1""#, r#"<gpu id="3""#), "12: gpu: id is \"3\"; it is a whole number from 0 to 2");
    assert_eq!(
        with(r#"ngpus="3""#, r#"ngpus="4000000000""#),
        "2: algo: ngpus is \"4000000000\"; it is a whole number from 1 to 1048576"
    );
    assert_eq!(
        with(r#"ngpus="3""#, r#"ngpus="1000000""#),
        "2: algo: ngpus is 1000000, and there is no <gpu> with id 3; write one for each GPU"
    );
    let gone = SMALL.replace(r#"<gpu id="1""#, r#"<gpu id="3""#).replace(r#"ngpus="3""#, r#"ngpus="4""#);
    assert_eq!(error(&gone), "2: algo: ngpus is 4, and there is no <gpu> with id 1; write one for each GPU");
    assert!(
        with(r#"nchunksperloop="3""#, r#"nchunksperloop="0""#).starts_with("2: algo: nchunksperloop is \"0\"; it ")
    );
    assert_eq!(
        with(r#"send="2" recv="-1" chan="4""#, r#"send="1" recv="-1" chan="0""#),
        "8: gpu 0, tb 1: tb 0 sends to GPU 1 on channel 0 too, and messages of two thread blocks have no order; give \
         one of them another chan"
    );
    assert!(
        with(r#"recv="2" chan="5""#, r#"recv="0" chan="0""#)
            .starts_with("13: gpu 1, tb 7: tb 3 receives from GPU 0 on channel 0 too, and")
    );
}

#[test]
fn what_is_no_algorithm_is_said_with_its_line() {
    let error = |text: &str| {
        let Error { line, what, .. } = Algorithm::read(text.as_bytes(), "a.xml").expect_err("no algorithm");
        format!("{line}: {what}")
    };
    let cut = |at: &str| error(&SMALL[..SMALL.find(at).expect("a place")]);
    assert_eq!(cut("    </tb>\n    <tb id=\"1\""), "7: the file ends inside <tb> of line 4; it is truncated");
    assert_eq!(cut("</algo>"), "29: the file ends inside <algo> of line 2; it is truncated");
    assert!(cut("cnt=\"2\"").starts_with("6: this is no XML: syntax error"), "{}", cut("cnt=\"2\""));
    assert_eq!(error(""), "0: there is no <algo>, as MSCCL's files have");
    assert_eq!(error("<algo"), "1: this is no XML: syntax error: tag not closed: `>` not found before end of input");
    assert_eq!(error("<gpu id=\"0\"/>"), "1: <gpu> outside; what belongs there is <algo>");
    assert_eq!(
        error("<algo ngpus=\"1\" nchunksperloop=\"1\">\n<setp/></algo>"),
        "2: <setp> inside <algo>; what belongs there is <gpu>"
    );
    assert!(
        error("<algo ngpus=\"1\" nchunksperloop=\"1\"><gpu id=\"0\"></algo>").starts_with("1: this is no XML: ill")
    );
    assert!(
        error("<algo ngpus=\"1\" nchunksperloop=\"1\"/>\n<algo ngpus=\"1\"/>").starts_with("2: algo: a second one")
    );
    assert_eq!(
        error("<algo ngpus=\"1\" nchunksperloop=\"1\">\nhere</algo>"),
        "1: text between elements; an algorithm has elements alone"
    );
    assert!(error("<algo ngpus=\"1\" ngpus=\"2\"/>").starts_with("1: <algo>: position"));
    let many: String = (0..65).map(|at| format!(" a{at}=\"\"")).collect();
    assert_eq!(error(&format!("<algo{many}/>")), "1: <algo>: it has more than 64 attributes");
    let bytes = Algorithm::read(b"<algo\n\xff/>", "a.xml").expect_err("no algorithm");
    assert_eq!((bytes.line, &bytes.what[..26]), (2, "it has bytes that are no U"));
}

#[test]
fn any_cut_and_any_change_is_survived() {
    for at in 0..SMALL.len() {
        fuzz(&SMALL.as_bytes()[..at]);
        for byte in *b"\"<>/-19\0\xff" {
            let mut changed = SMALL.as_bytes().to_vec();
            changed[at] = byte;
            fuzz(&changed);
        }
    }
}

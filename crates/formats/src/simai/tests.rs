use super::layers::Among;
use super::*;
use fanin_graph::collectives::Method;
use fanin_graph::{Holds, Job, Rules};

const RULES: Rules = Rules { holds: Holds::Work, first_ready: true };

fn workload(head: &str, layers: &[&str]) -> Workload {
    let text = format!("{head}\n{}\n{}\n", layers.len(), layers.join("\n"));
    Workload::read(text.as_bytes(), "w.txt").expect("a workload")
}

/// The nodes of a rank, as what they do and what they wait for.
fn nodes(of: &Workload, rank: usize) -> Vec<(String, Vec<u64>)> {
    let (mut source, mut node, mut found) = (of.sources().swap_remove(rank), Node::default(), Vec::new());
    while source.next(&mut node).expect("nodes in memory") {
        let what = match node.kind {
            Kind::Delay { ns } => format!("{ns}"),
            Kind::Collective { operation, bytes, group } => {
                format!("{} {bytes} of {:?}", operation.name(), source.members(group).expect("a group"))
            }
            other => panic!("{other:?}"),
        };
        found.push((what, node.after_end.clone()));
    }
    found
}

fn shown(of: &Workload, rank: usize) -> Vec<String> {
    nodes(of, rank).into_iter().map(|(what, after)| format!("{what} after {after:?}")).collect()
}

const HEAD: &str = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4";
const TWO: [&str; 2] = [
    "first -1 10 ALLREDUCE 100 20 ALLGATHER 200 30 REDUCESCATTER 300 1",
    "second -1 40 NONE 0 50 NONE 0 60 ALLREDUCE 400 0",
];

#[test]
fn a_transformer_waits_for_all_but_the_gradients_of_weights() {
    assert_eq!(
        shown(&workload(HEAD, &TWO), 1),
        [
            "10 after []",
            "all-reduce 100 of [0, 1] after [0]",
            "1 after [1]",
            "40 after [2]",
            "50 after [3]",
            "60 after [4]",
            "all-reduce 400 of [1, 3] after [5]",
            // Without waiting for it.
            "20 after [5]",
            "all-gather 200 of [0, 1] after [7]",
            "1 after [8]",
            "30 after [9]",
            "reduce-scatter 300 of [1, 3] after [10]",
            "1 after [11]",
        ]
    );
}

#[test]
fn the_other_policies_have_the_loops_of_that_program() {
    let of = |policy: &str, more: &str| {
        let head = format!("{policy} model_parallel_NPU_group: 2 all_gpus: 4 {more}");
        shown(&workload(&head, &TWO), 0).join("; ")
    };
    let forward = "10 after []; all-reduce 100 of [0, 1] after [0]; 1 after [1]; 40 after [2]";
    assert_eq!(of("DISTRIBUTED_INFERENCE", ""), forward);
    // The gradient of the first layer's input is nobody's.
    assert_eq!(of("MODEL", ""), format!("{forward}; 50 after [3]; 60 after [4]; 20 after [5]; 30 after [6]"));
    let hybrid = format!(
        "{forward}; 50 after [3]; 60 after [4]; all-reduce 400 of [0, 2] after [5]; 20 after [5]; 30 after [7]; \
         reduce-scatter 300 of [0, 2] after [8]; 1 after [9]"
    );
    assert_eq!(of("HYBRID_DATA_MODEL", ""), hybrid);
    assert_eq!(
        of("DATA", ""),
        "10 after []; 40 after [0]; 60 after [1]; all-reduce 400 of [0, 2] after [2]; 50 after [2]; 30 after [4]; \
         reduce-scatter 300 of [0, 2] after [5]; 1 after [6]"
    );
    assert_eq!(
        of("MICRO", ""),
        "reduce-scatter 300 of [0, 2] after []; 1 after [0]; all-reduce 400 of [0, 2] after []"
    );
    // A hybrid waits for the collective of an input behind the gradient of the weights.
    let second = ["first -1 1 NONE 0 2 NONE 0 3 NONE 0 0", "second -1 4 NONE 0 5 ALLREDUCE 9 6 NONE 0 0"];
    let head = "HYBRID_MODEL_DATA model_parallel_NPU_group: 4 all_gpus: 4";
    let waits = shown(&workload(head, &second), 0);
    assert_eq!(waits[3..6], ["all-reduce 9 of [0, 1, 2, 3] after [2]", "6 after [2]", "2 after [4, 3]"]);
}

#[test]
fn embeddings_are_exchanged_beside_the_bottom_layers() {
    let layers = [
        "table -1 1 ALLTOALL 80 2 ALLTOALL 80 3 NONE 0 0",
        "bottom -1 4 NONE 0 5 NONE 0 6 ALLREDUCE 90 0",
        "top -1 7 NONE 0 8 NONE 0 9 ALLREDUCE 70 0",
    ];
    let of = |policy: &str| {
        let head = format!("{policy} DLRM_LAST_BOTTOM_LAYER: 1 model_parallel_NPU_group: 4 all_gpus: 4");
        shown(&workload(&head, &layers), 0)
    };
    let exchange = "all-to-all 80 of [0, 1, 2, 3]";
    let expected = [
        "1 after []".to_string(),
        format!("{exchange} after [0]"),
        "4 after [0]".into(),
        "7 after [2, 1]".into(),
        "9 after [3]".into(),
        "8 after [4]".into(),
        format!("{exchange} after [5]"),
        "6 after [5]".into(),
        "5 after [7]".into(),
        "3 after [8]".into(),
    ];
    assert_eq!(of("HYBRID_DLRM"), expected);
}

#[test]
fn layers_from_a_checkpoint_on_are_computed_again() {
    let layers = [
        "0 -1 1 NONE 0 10 NONE 0 0 NONE 0 0",
        "1 -1 2 NONE 0 20 NONE 0 0 NONE 0 0",
        "2 -1 3 NONE 0 30 NONE 0 0 NONE 0 0",
    ];
    let head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 2 checkpoints: 1 0 \
                checkpoint_initiates: 1 2";
    let done: Vec<String> = nodes(&workload(head, &layers), 0).into_iter().map(|(what, _)| what).collect();
    assert_eq!(done, ["1", "2", "3", "1", "2", "30", "20", "10"]);
}

#[test]
fn ranks_are_grouped_as_by_that_program() {
    // Those of MockNcclGroup.cc for 16 GPUs, tensor 2, experts 4; and for pp 2 without experts.
    let of = |ranks, tensor, pipeline, expert| Shape { ranks, tensor, pipeline, expert };
    let members = |shape: Shape, among, rank| shape.groups()[&shape.group(among, rank)].clone();
    let shape = of(16, 2, 1, 4);
    assert_eq!(members(shape, Among::Tensor, 3), [2, 3]);
    assert_eq!(members(shape, Among::Data, 3), [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(members(shape, Among::Expert, 9), [9, 11, 13, 15]);
    assert_eq!(members(shape, Among::DataOfExperts, 9), [1, 9]);
    assert_eq!(members(of(16, 2, 2, 1), Among::Data, 5), [1, 5, 9, 13]);
    // A group of one rank communicates nothing.
    let alone = workload("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 4", &TWO);
    assert!(shown(&alone, 0).iter().all(|step| !step.contains("of [0] ")), "{:?}", shown(&alone, 0));
}

#[test]
fn bytes_are_those_of_all_ranks_and_none_is_lost() {
    let layer = ["only -1 0 ALLGATHER 1001 0 NONE 0 0 NONE 0 0"];
    let of = workload("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 4", &layer);
    let job = Job::new(&mut of.sources(), RULES, &Method::default()).expect("a job");
    assert_eq!(job.collectives[0].bytes, 1001);
    // Each of four blocks goes around a ring of four: three times.
    assert_eq!(job.sends().map(|(.., bytes)| bytes).sum::<u64>(), 3 * 1001);
}

#[test]
fn a_number_of_gpus_alone_takes_no_memory() {
    let of = workload("DATA all_gpus: 50000", &["layer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1000000 0"]);
    let error = format!("{:?}", Job::new(&mut of.sources(), RULES, &Method::default()).expect_err("no job"));
    assert!(error.contains("has too many messages: 50000 ranks"), "{error}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let error = |text: &str| {
        let Error { line, what, .. } = Workload::read(text.as_bytes(), "w.txt").expect_err("no workload");
        format!("{line}: {what}")
    };
    let head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4";
    let layer = "layer -1 10 NONE 0 1 NONE 0 1 NONE 0 1";
    let text = format!("{head} checkpoints: 0 checkpoint_initiates: 0\n1\n{layer}\n");
    assert!(Workload::read(text.as_bytes(), "w.txt").is_ok());
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        error(&text.replacen(from, to, 1))
    };
    assert_eq!(with(" NONE 0 1\n", " NONE 0\n"), "3: 11 fields, expected 12");
    assert_eq!(with("\n1\n", "\n3\n"), "0: 3 layers announced in line 2, 1 found");
    assert_eq!(with("group: 2", "group: 3"), "1: 4 GPUs do not divide into tensor groups of 3");
    assert_eq!(with("ep: 1", "ep: 3"), "1: ep 3 does not divide the 2 data-parallel ranks");
    assert_eq!(with("pp: 1", "pp: 4"), "1: pp 4 does not divide the 2 tensor groups");
    assert_eq!(error("DATA all_gpus:\n1\n"), "1: all_gpus: has no value");
    assert!(error("HYBRID_TRANSFORMER ep: 1\n").starts_with("1: it does not say how many GPUs there are"));
    assert!(error("PARALLEL\n").starts_with("1: PARALLEL is no policy of SimAI; the policies are HYBRID"));
    assert!(with("vpp", "vvp").starts_with("1: vvp: is no key of a workload; the keys are model_"));
    assert!(with("10 NONE 0", "10 BROADCAST 5").starts_with("3: BROADCAST is no type of communication; it is NONE"));
    assert!(with("10 NONE 0", "10 ALLREDUCEALLTOALL 5").starts_with("3: ALLREDUCEALLTOALL is no type"));
    assert_eq!(with("10 NONE 0", "10 ALLREDUCE 0"), "3: ALLREDUCE of 0 bytes in its forward; write NONE");
    assert!(with("-1 10", "-1 -10").starts_with("3: time of its forward: -10 is no whole number from 0"));
    assert!(
        with("checkpoint_initiates: 0", "checkpoint_initiates: 1 0").contains("no checkpoint is at or before layer 0")
    );
    assert!(with("checkpoints: 0", "checkpoints: 1 4").contains("checkpoints: there is no layer 4; they are 0 to 0"));
    let stages = text.replacen("pp: 1", "pp: 2", 1);
    assert!(
        Workload::read(stages.as_bytes(), "w.txt").expect("stages").warnings()[0].what.starts_with("pp is 2: a wo")
    );
    let experts = stages.replacen("10 NONE 0", "10 ALLREDUCE_DP_EP 5", 1);
    assert!(error(&experts).starts_with("3: a collective of the data-parallel ranks of experts with pp above 1"));
    // Sizes beyond 32 bits are those of large models.
    let large = text.replacen("10 NONE 0", "10 ALLREDUCE 38654705664", 1);
    assert!(
        nodes(&Workload::read(large.as_bytes(), "w.txt").expect("a workload"), 0)[1].0.starts_with("all-reduce 386")
    );
}

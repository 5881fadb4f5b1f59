//! Workloads of SimAI, which AICB writes: the layers of a model in order, and what each computes and communicates in
//! the forward pass, for the gradient of its input and for that of its weights.
//!
//! Line 1 has a policy and keys, line 2 the number of layers, and each further line a layer. What waits for what
//! follows from the policy, as in that program (Workload.cc and Layer.cc), which passes over the file once: a file of
//! several micro-batches has their layers one after another, so `ga` and `vpp` say nothing more. Groups are those of
//! its MockNcclGroup.cc. Collectives that run at once share the network; that program's queues of them are not
//! modelled.

mod order;
mod read;

use crate::{Error, Warning};
use fanin_graph::job::Groups;
use fanin_graph::{Kind, Node, Operation, Source};
use order::Step;
use std::sync::Arc;

/// The order of passes over the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Data,
    Model,
    /// `HYBRID_TRANSFORMER`, also with `_FWD_IN_BCKWD`, which computes layers again from a checkpoint.
    Transformer,
    /// `HYBRID_DATA_MODEL`, `HYBRID_MODEL_DATA` and `HYBRID_CUSTOMIZED`.
    Hybrid,
    Dlrm,
    DlrmEnhanced,
    Micro,
    Inference,
}

/// Their names in files.
const POLICIES: [(&str, Policy); 11] = [
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::Transformer),
    ("HYBRID_TRANSFORMER", Policy::Transformer),
    ("DATA", Policy::Data),
    ("MODEL", Policy::Model),
    ("HYBRID_DATA_MODEL", Policy::Hybrid),
    ("HYBRID_MODEL_DATA", Policy::Hybrid),
    ("HYBRID_CUSTOMIZED", Policy::Hybrid),
    ("HYBRID_DLRM", Policy::Dlrm),
    ("HYBRID_DLRM_ENHANCED", Policy::DlrmEnhanced),
    ("MICRO", Policy::Micro),
    ("DISTRIBUTED_INFERENCE", Policy::Inference),
];

/// A part of a layer's work, in the order of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Forward,
    Input,
    Weight,
}

impl Phase {
    fn name(self) -> &'static str {
        ["forward", "input gradient", "weight gradient"][self as usize]
    }
}

/// The ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    Tensor,
    Data,
    Expert,
    DataOfExperts,
}

/// A computation, and the collective behind it.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    ns: u64,
    collective: Option<(Operation, Among, u64)>,
}

#[derive(Clone, Debug)]
struct Layer {
    name: String,
    line: u32,
    parts: [Part; 3],
    /// Time behind each of its collectives.
    update_ns: u64,
}

/// How the ranks are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    ranks: u32,
    tensor: u32,
    pipeline: u32,
    expert: u32,
}

impl Shape {
    fn data(&self) -> u32 {
        self.ranks / self.tensor / self.pipeline
    }

    /// How many ranks such a group has.
    fn size(&self, among: Among) -> u32 {
        match among {
            Among::Tensor => self.tensor,
            Among::Data => self.data(),
            Among::Expert => self.expert,
            Among::DataOfExperts => self.data() / self.expert,
        }
    }

    /// The number of a rank's group of a kind; those of all kinds differ.
    fn group(&self, among: Among, rank: u32) -> u32 {
        let (tensor_group, place) = (rank / self.tensor, rank % self.tensor);
        let here = match among {
            Among::Tensor => tensor_group,
            Among::Data => rank % (self.ranks / self.data()),
            Among::Expert => tensor_group / self.expert * self.tensor + place,
            Among::DataOfExperts => tensor_group % self.expert * self.tensor + place,
        };
        // Group 0 has all ranks.
        1 + among as u32 * self.ranks + here
    }

    /// All groups of more than one rank, by number.
    fn groups(&self) -> Groups {
        let mut groups = Groups::new();
        for among in [Among::Tensor, Among::Data, Among::Expert, Among::DataOfExperts] {
            // Of several pipelines a group of experts is no part of one stage.
            let defined = among != Among::DataOfExperts || self.pipeline == 1;
            for rank in (0..self.ranks).filter(|_| defined && self.size(among) > 1) {
                groups.entry(self.group(among, rank)).or_default().push(rank);
            }
        }
        groups
    }
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    file: String,
    shape: Shape,
    layers: Vec<Layer>,
    steps: Arc<[Step]>,
    groups: Arc<Groups>,
}

impl Workload {
    /// Whether a text begins as a workload.
    pub fn is_one(bytes: &[u8]) -> bool {
        let first = bytes.split(|byte| crate::text::is_space(*byte)).find(|word| !word.is_empty());
        first.is_some_and(|word| POLICIES.iter().any(|(name, _)| name.as_bytes() == word))
    }

    /// Reads a workload.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Error> {
        let read = read::read(bytes, file)?;
        let steps = order::steps(&read).into();
        let groups = Arc::new(read.shape.groups());
        Ok(Self { file: file.into(), shape: read.shape, layers: read.layers, steps, groups })
    }

    /// How many ranks there are: `all_gpus`.
    pub fn ranks(&self) -> usize {
        self.shape.ranks as usize
    }

    /// The nodes of each rank.
    pub fn sources(&self) -> Vec<OfRank> {
        let of = |rank| OfRank {
            rank,
            next: 0,
            shape: self.shape,
            steps: Arc::clone(&self.steps),
            groups: Arc::clone(&self.groups),
        };
        (0..self.shape.ranks).map(of).collect()
    }

    /// What people should know.
    pub fn warnings(&self) -> Vec<Warning> {
        let stages = self.shape.pipeline;
        let what = format!(
            "pp is {stages}: a workload has the layers of one stage and no messages between stages, so none are sent \
             here, as in SimAI's simulation; pp_comm counts for nothing"
        );
        let warning = Warning { file: self.file.clone(), line: 1, what };
        Some(warning).filter(|_| stages > 1).into_iter().collect()
    }

    /// What a node is called, and its line.
    pub fn name(&self, id: u64) -> (String, u32) {
        let step = usize::try_from(id).ok().and_then(|id| self.steps.get(id));
        let layer = step.and_then(|step| self.layers.get(step.layer as usize));
        match (step, layer) {
            (Some(step), Some(layer)) => (format!("{}, {}", layer.name, step.phase.name()), layer.line),
            _ => (format!("node {id}"), 0),
        }
    }
}

/// The nodes of a rank.
#[derive(Clone, Debug)]
pub struct OfRank {
    rank: u32,
    next: usize,
    shape: Shape,
    steps: Arc<[Step]>,
    groups: Arc<Groups>,
}

impl Source for OfRank {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        let Some(step) = self.steps.get(self.next) else { return Ok(false) };
        node.id = self.next as u64;
        self.next += 1;
        node.kind = match step.work {
            order::Work::Compute(ns) => Kind::Delay { ns },
            order::Work::Collective(operation, among, bytes) => {
                Kind::Collective { operation, bytes, group: self.shape.group(among, self.rank) }
            }
        };
        (node.slot, node.nic) = (None, 0);
        node.after_start.clear();
        node.after_end.clear();
        node.after_end.extend(step.after.iter().map(|id| u64::from(*id)));
        Ok(true)
    }

    fn members(&self, group: u32) -> Option<&[u32]> {
        self.groups.get(&group).map(Vec::as_slice)
    }

    fn all_gather_of_all(&self) -> bool {
        true
    }
}

/// For fuzzing: any bytes are a workload or an error with a place.
pub fn fuzz(bytes: &[u8]) {
    match Workload::read(bytes, "f.txt") {
        Ok(workload) if workload.ranks() <= 64 => {
            for mut source in workload.sources() {
                let mut node = Node::default();
                while source.next(&mut node).expect("nodes in memory") {
                    assert!(node.after_end.iter().all(|before| *before < node.id), "{node:?}");
                }
            }
        }
        Ok(_) => {}
        Err(error) => assert!(error.file == "f.txt" && !error.what.is_empty()),
    }
}

#[cfg(test)]
mod tests;

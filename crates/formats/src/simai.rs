//! Workloads of SimAI, which AICB writes: the layers of a model in order, and what each computes and communicates in
//! the forward pass, for the gradient of its input and for that of its weights.
//!
//! Line 1 has a policy and keys, line 2 the number of layers, and each further line a layer. What waits for what
//! follows from the policy, as in that program (Workload.cc and Layer.cc), which passes over the file once: a file of
//! several micro-batches has their layers one after another, so `ga` and `vpp` say nothing more. Groups are those of
//! its MockNcclGroup.cc. Collectives that run at once share the network; that program's queues of them are not
//! modelled.

mod layers;
mod order;
mod read;
mod topology;

use crate::{Error, Warning};
use fanin_graph::job::Groups;
use fanin_graph::{Kind, Node, Source};
use layers::{Layer, POLICIES, Shape};
use order::Step;
use std::sync::Arc;

pub use topology::{Cluster, fuzz_topology};

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

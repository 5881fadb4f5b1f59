//! What waits for what: the loops of SimAI's Workload.cc as edges.

use super::layers::{Among, Layer, Phase, Policy, Shape};
use super::read::Read;
use fanin_graph::Operation;

/// A node, the same at each rank but for its group.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub work: Work,
    pub layer: u32,
    pub phase: Phase,
    /// Nodes that have ended.
    pub after: Box<[u32]>,
}

/// What a node does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Compute(u64),
    Collective(Operation, Among, u64),
}

struct Order<'a> {
    layers: &'a [Layer],
    shape: Shape,
    steps: Vec<Step>,
    /// What the next node waits for.
    tail: Vec<u32>,
}

impl Order<'_> {
    fn push(&mut self, work: Work, layer: usize, phase: Phase, after: Vec<u32>) -> u32 {
        self.steps.push(Step { work, layer: layer as u32, phase, after: after.into() });
        self.steps.len() as u32 - 1
    }

    fn compute(&mut self, layer: usize, phase: Phase) {
        let ns = self.layers[layer].parts[phase as usize].ns;
        if ns > 0 {
            let after = std::mem::take(&mut self.tail);
            self.tail = vec![self.push(Work::Compute(ns), layer, phase, after)];
        }
    }

    /// Begins the collective of a part and goes on; returns the node of its end, if it has one.
    fn begin(&mut self, layer: usize, phase: Phase) -> Option<u32> {
        let (operation, among, bytes) = self.layers[layer].parts[phase as usize].collective?;
        if self.shape.size(among) < 2 {
            return None;
        }
        let end = self.push(Work::Collective(operation, among, bytes), layer, phase, self.tail.clone());
        // Layer.cc has this time behind the collectives of all three parts.
        let ns = self.layers[layer].update_ns;
        Some(if ns > 0 { self.push(Work::Compute(ns), layer, phase, vec![end]) } else { end })
    }

    /// What comes next waits for this node, too.
    fn wait(&mut self, end: Option<u32>) {
        self.tail.extend(end);
    }

    /// A collective, and the wait for its end.
    fn carry_out(&mut self, layer: usize, phase: Phase) {
        if let Some(end) = self.begin(layer, phase) {
            self.tail = vec![end];
        }
    }

    fn forward(&mut self, layers: std::ops::Range<usize>) {
        for layer in layers {
            self.compute(layer, Phase::Forward);
            self.carry_out(layer, Phase::Forward);
        }
    }
}

/// The nodes of each rank; those that a node waits for come before it.
pub(super) fn steps(read: &Read) -> Vec<Step> {
    let Read { policy, shape, layers, checkpoints, restarts, last_bottom } = read;
    let mut order = Order { layers, shape: *shape, steps: Vec::new(), tail: Vec::new() };
    let all = 0..layers.len();
    match policy {
        Policy::Micro => {
            for layer in all {
                let _ = order.begin(layer, Phase::Weight);
            }
        }
        Policy::Inference => order.forward(all),
        Policy::Data => {
            all.clone().for_each(|layer| order.compute(layer, Phase::Forward));
            for layer in all.rev() {
                order.compute(layer, Phase::Weight);
                let _ = order.begin(layer, Phase::Weight);
                if layer > 0 {
                    order.compute(layer, Phase::Input);
                }
            }
        }
        Policy::Transformer => {
            order.forward(all.clone());
            for layer in all.rev() {
                if restarts.contains(&layer)
                    && let Some(from) = checkpoints.range(..=layer).next_back()
                {
                    order.forward(*from..layer);
                }
                order.compute(layer, Phase::Input);
                order.carry_out(layer, Phase::Input);
                order.compute(layer, Phase::Weight);
                let _ = order.begin(layer, Phase::Weight);
            }
        }
        Policy::Hybrid | Policy::Model => {
            order.forward(all.clone());
            for layer in all.rev() {
                order.compute(layer, Phase::Input);
                let input = if layer > 0 { order.begin(layer, Phase::Input) } else { None };
                order.compute(layer, Phase::Weight);
                if *policy == Policy::Hybrid {
                    let _ = order.begin(layer, Phase::Weight);
                }
                order.wait(input);
            }
        }
        Policy::Dlrm | Policy::DlrmEnhanced => {
            let mut first = None;
            for layer in all.clone() {
                order.compute(layer, Phase::Forward);
                let operation = layers[layer].parts[0].collective.map(|(operation, ..)| operation);
                if operation == Some(Operation::AllToAll) {
                    let end = order.begin(layer, Phase::Forward);
                    first = if layer == 0 { end } else { first };
                } else if layer == *last_bottom {
                    order.wait(first);
                }
            }
            let mut input = None;
            for layer in all.rev() {
                order.compute(layer, Phase::Weight);
                let _ = order.begin(layer, Phase::Weight);
                if layer > 0 {
                    order.compute(layer, Phase::Input);
                    if layer == last_bottom + 1 {
                        input = order.begin(0, Phase::Input);
                    }
                } else if *policy == Policy::Dlrm {
                    order.wait(input);
                }
            }
        }
    }
    order.steps
}

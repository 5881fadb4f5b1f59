//! What a workload says: its policy, its layers, and how its ranks are divided.

use fanin_graph::Operation;
use fanin_graph::job::Groups;

/// The order of passes over the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
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
pub(super) const POLICIES: [(&str, Policy); 11] = [
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
pub(super) enum Phase {
    Forward,
    Input,
    Weight,
}

impl Phase {
    pub fn name(self) -> &'static str {
        ["forward", "input gradient", "weight gradient"][self as usize]
    }
}

/// The ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    Tensor,
    Data,
    Expert,
    DataOfExperts,
}

/// A computation, and the collective behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub ns: u64,
    pub collective: Option<(Operation, Among, u64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub name: String,
    pub line: u32,
    pub parts: [Part; 3],
    /// Time behind each of its collectives.
    pub update_ns: u64,
}

/// How the ranks are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub ranks: u32,
    pub tensor: u32,
    pub pipeline: u32,
    pub expert: u32,
}

impl Shape {
    pub fn data(&self) -> u32 {
        self.ranks / self.tensor / self.pipeline
    }

    /// How many ranks such a group has.
    pub fn size(&self, among: Among) -> u32 {
        match among {
            Among::Tensor => self.tensor,
            Among::Data => self.data(),
            Among::Expert => self.expert,
            Among::DataOfExperts => self.data() / self.expert,
        }
    }

    /// The number of a rank's group of a kind; those of all kinds differ.
    pub fn group(&self, among: Among, rank: u32) -> u32 {
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
    pub fn groups(&self) -> Groups {
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

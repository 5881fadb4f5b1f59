//! The text of a workload.

use super::layers::{Among, Layer, POLICIES, Part, Phase, Policy, Shape};
use crate::Error;
use crate::text::{Word, Words};
use fanin_graph::{LARGEST, LONGEST, Operation};
use std::collections::BTreeSet;

/// Most ranks; more are no number of GPUs.
const MOST_RANKS: u32 = 1 << 20;

pub(super) struct Read {
    pub policy: Policy,
    pub shape: Shape,
    pub layers: Vec<Layer>,
    /// Layers whose results are kept ...
    pub checkpoints: BTreeSet<usize>,
    /// ... and those before whose gradients the layers from the last checkpoint on are computed again.
    pub restarts: BTreeSet<usize>,
    /// DLRM: the last layer below the interaction.
    pub last_bottom: usize,
}

/// The first line.
#[derive(Default)]
struct Head {
    tensor: Option<u32>,
    expert: Option<u32>,
    pipeline: Option<u32>,
    ranks: Option<u32>,
    checkpoints: Vec<u64>,
    restarts: Vec<u64>,
    last_bottom: Option<u64>,
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, line: u32, what: impl Into<String>) -> Error {
        Error { file: self.file.into(), line, what: what.into() }
    }

    fn number(&self, word: &[u8], line: u32, what: &str, (least, most): (u64, u64)) -> Result<u64, Error> {
        let text = String::from_utf8_lossy(word);
        let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(line, format!("{what}: {text:.30} is no whole number from {least} to {most}")))
    }

    fn head(&self, line: &[u8]) -> Result<(Policy, Head), Error> {
        let mut words = Words::of_line(self.file, line, 1).map(|word: Word<'_>| word.bytes);
        let first = words.next().unwrap_or_default();
        let known = POLICIES.iter().find(|(name, _)| name.as_bytes() == first);
        let (_, policy) = known.ok_or_else(|| {
            let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
            let first = String::from_utf8_lossy(first);
            self.wrong(1, format!("{first:.40} is no policy of SimAI; the policies are {}", names.join(", ")))
        })?;
        let mut head = Head::default();
        while let Some(key) = words.next() {
            let key = String::from_utf8_lossy(key).into_owned();
            let mut value = |least: u64, most: u64| {
                let word = words.next().ok_or_else(|| self.wrong(1, format!("{key} has no value")))?;
                self.number(word, 1, &key, (least, most))
            };
            let ranks = u64::from(MOST_RANKS);
            match key.as_str() {
                "model_parallel_NPU_group:" => head.tensor = Some(value(1, ranks)? as u32),
                "ep:" => head.expert = Some(value(1, ranks)? as u32),
                "pp:" => head.pipeline = Some(value(1, ranks)? as u32),
                "all_gpus:" => head.ranks = Some(value(1, ranks)? as u32),
                // The file has the layers of all micro-batches and of all parts of a stage.
                "vpp:" | "ga:" => drop(value(0, u64::MAX)?),
                "pp_comm" | "pp_comm:" => drop(value(0, u64::MAX)?),
                "DLRM_LAST_BOTTOM_LAYER:" => head.last_bottom = Some(value(0, u64::from(u32::MAX))?),
                "checkpoints:" | "checkpoint_initiates:" => {
                    let count = value(0, line.len() as u64)?;
                    let listed: Result<Vec<u64>, Error> = (0..count).map(|_| value(0, u64::from(u32::MAX))).collect();
                    *(if key == "checkpoints:" { &mut head.checkpoints } else { &mut head.restarts }) = listed?;
                }
                _ => {
                    let right = "the keys are model_parallel_NPU_group:, ep:, pp:, vpp:, ga:, all_gpus:, checkpoints:, \
                                 checkpoint_initiates:, pp_comm: and DLRM_LAST_BOTTOM_LAYER:";
                    return Err(self.wrong(1, format!("{key:.40} is no key of a workload; {right}")));
                }
            }
        }
        Ok((*policy, head))
    }

    fn shape(&self, policy: Policy, head: &Head) -> Result<Shape, Error> {
        let ranks = head.ranks.ok_or_else(|| {
            self.wrong(1, "it does not say how many GPUs there are, as old files do not; add \"all_gpus: N\"")
        })?;
        let alone = match policy {
            Policy::Data | Policy::Micro | Policy::Dlrm | Policy::DlrmEnhanced => Some(1),
            Policy::Model | Policy::Inference => Some(ranks),
            Policy::Transformer | Policy::Hybrid => None,
        };
        let tensor = head.tensor.or(alone).ok_or_else(|| {
            self.wrong(1, "it does not say how many GPUs share a layer; add \"model_parallel_NPU_group: N\"")
        })?;
        let (pipeline, expert) = (head.pipeline.unwrap_or(1), head.expert.unwrap_or(1));
        if !ranks.is_multiple_of(tensor) {
            return Err(self.wrong(1, format!("{ranks} GPUs do not divide into tensor groups of {tensor}")));
        }
        if !(ranks / tensor).is_multiple_of(pipeline) {
            let groups = ranks / tensor;
            return Err(self.wrong(1, format!("pp {pipeline} does not divide the {groups} tensor groups")));
        }
        let data = ranks / tensor / pipeline;
        if !data.is_multiple_of(expert) {
            return Err(self.wrong(1, format!("ep {expert} does not divide the {data} data-parallel ranks")));
        }
        Ok(Shape { ranks, tensor, pipeline, expert })
    }

    fn layer(&self, text: &[u8], line: u32, fields: usize, shape: &Shape) -> Result<Layer, Error> {
        let words: Vec<&[u8]> = Words::of_line(self.file, text, line).map(|word: Word<'_>| word.bytes).collect();
        if words.len() != fields {
            return Err(self.wrong(line, format!("{} fields, expected {fields}", words.len())));
        }
        let mut parts = [Part::default(); 3];
        for (at, phase) in [(2, Phase::Forward), (5, Phase::Input), (8, Phase::Weight)] {
            let name = phase.name();
            let ns = self.number(words[at], line, &format!("time of its {name}"), (0, LONGEST))?;
            let bytes = self.number(words[at + 2], line, &format!("bytes of its {name}"), (0, LARGEST))?;
            let collective = self.collective(words[at + 1], line, phase, bytes)?;
            if let Some((_, Among::DataOfExperts, _)) = collective
                && shape.pipeline > 1
            {
                let what = "a collective of the data-parallel ranks of experts with pp above 1, whose groups SimAI \
                            does not define: its own overlap";
                return Err(self.wrong(line, what));
            }
            parts[phase as usize] = Part { ns, collective };
        }
        let update_ns = self.number(words[11], line, "its update", (0, LONGEST))?;
        Ok(Layer { name: String::from_utf8_lossy(words[0]).into_owned(), line, parts, update_ns })
    }

    fn collective(
        &self,
        word: &[u8],
        line: u32,
        phase: Phase,
        bytes: u64,
    ) -> Result<Option<(Operation, Among, u64)>, Error> {
        let text = String::from_utf8_lossy(word);
        if text == "NONE" {
            return Ok(None);
        }
        let usual = if phase == Phase::Weight { Among::Data } else { Among::Tensor };
        let (name, among) = match (text.strip_suffix("_DP_EP"), text.strip_suffix("_EP")) {
            (Some(name), _) => (name, Among::DataOfExperts),
            (None, Some(name)) => (name, Among::Expert),
            (None, None) => (&*text, usual),
        };
        let operation = match name {
            "ALLREDUCE" => Operation::AllReduce,
            "ALLGATHER" => Operation::AllGather,
            "REDUCESCATTER" => Operation::ReduceScatter,
            "ALLTOALL" => Operation::AllToAll,
            _ => {
                let right = "it is NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, each of the latter also with \
                             _EP or _DP_EP; SimAI passes over others without a word";
                return Err(self.wrong(line, format!("{text:.40} is no type of communication; {right}")));
            }
        };
        if bytes == 0 {
            return Err(self.wrong(line, format!("{text} of 0 bytes in its {}; write NONE", phase.name())));
        }
        Ok(Some((operation, among, bytes)))
    }

    /// Numbers of layers, from 0.
    fn layers(&self, key: &str, given: &[u64], count: usize) -> Result<BTreeSet<usize>, Error> {
        let known = |number: &u64| {
            let there = usize::try_from(*number).ok().filter(|number| *number < count);
            there.ok_or_else(|| self.wrong(1, format!("{key} there is no layer {number}; they are 0 to {}", count - 1)))
        };
        given.iter().map(known).collect()
    }
}

pub(super) fn read(bytes: &[u8], file: &str) -> Result<Read, Error> {
    let reader = Reader { file };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = (1u32..).zip(bytes.split(|byte| *byte == b'\n'));
    let (_, first) = lines.next().unwrap_or_default();
    let (policy, head) = reader.head(first)?;
    let shape = reader.shape(policy, &head)?;
    let (_, second) = lines.next().unwrap_or_default();
    let mut words = Words::of_line(file, second, 2);
    let count = words.next().ok_or_else(|| reader.wrong(2, "it has the number of layers, like 24"))?;
    let count = reader.number(count.bytes, 2, "number of layers", (1, u64::from(u32::MAX)))?;
    let fields = if first.starts_with(b"HYBRID_CUSTOMIZED") { 13 } else { 12 };
    let mut layers = Vec::new();
    for (line, text) in lines {
        let empty = text.iter().all(|byte| crate::text::is_space(*byte));
        if empty {
            continue;
        }
        if layers.len() as u64 == count {
            return Err(reader.wrong(line, format!("more than the {count} layers announced in line 2")));
        }
        layers.push(reader.layer(text, line, fields, &shape)?);
    }
    if (layers.len() as u64) < count {
        return Err(reader.wrong(0, format!("{count} layers announced in line 2, {} found", layers.len())));
    }
    let checkpoints = reader.layers("checkpoints:", &head.checkpoints, layers.len())?;
    let restarts = reader.layers("checkpoint_initiates:", &head.restarts, layers.len())?;
    if let Some(alone) = restarts.iter().find(|layer| checkpoints.range(..=**layer).next().is_none()) {
        let what = format!("checkpoint_initiates: no checkpoint is at or before layer {alone}");
        return Err(reader.wrong(1, what));
    }
    let last_bottom = head.last_bottom.unwrap_or(0) as usize;
    Ok(Read { policy, shape, layers, checkpoints, restarts, last_bottom })
}

//! Algorithms of MSCCL: collectives as XML, as its compiler (msccl-tools) writes them and its runtime reads them.
//!
//! `<algo ngpus nchunksperloop>` has a `<gpu id>` for each rank, with thread blocks `<tb id send recv chan>` of steps
//! `<step s type srcoff cnt depid deps>`. The steps of a thread block are done in order; `depid` and `deps` name a
//! thread block of the same GPU and its step that must have ended before. A step that receives and sends is two nodes.
//! Messages are matched by sender, receiver and channel, in order, and each of these belongs to one thread block at
//! either end, since messages of two would have no order.
//!
//! `nchunksperloop` is into how many chunks the vector of a rank is divided: chunk b of S bytes is floor(b S / n) to
//! floor((b + 1) S / n), so that no byte is lost. A message has the chunks `srcoff` to `srcoff` + `cnt` of the step
//! that sends it, and its receive the same, whatever offsets that step has. Copies and reductions take no time.
//! Buffers, `dstoff`, `hasdep` and `proto` change no message, and are not looked at.

mod read;

use crate::Error;
use core::ops::Range;
use fanin_graph::{Kind, LARGEST, Node, Source};
use read::{Block, Gpu, Read, Step, error};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The vector of a rank in bytes, unless a size is given: 1 MiB.
pub const USUAL_SIZE: u64 = 1 << 20;

/// An algorithm, and the size of its vector.
#[derive(Clone, Debug)]
pub struct Algorithm {
    chunks: u32,
    size: u64,
    ranks: Vec<Arc<[Work]>>,
}

/// A node, before the size of the vector is known.
#[derive(Clone, Debug)]
struct Work {
    act: Act,
    /// The chunks of its message.
    chunks: Range<u32>,
    /// Nodes of its rank that must have ended.
    after: Vec<u32>,
    /// Thread block, step and line.
    place: (u32, u32, u32),
    /// The type of the step.
    name: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Receive { from: u32, channel: u32 },
    Send { to: u32, channel: u32 },
    Nothing,
}

impl Algorithm {
    /// Reads an algorithm, for a vector of [`USUAL_SIZE`].
    ///
    /// # Errors
    /// What is wrong, with line, GPU, thread block, step and attribute.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Error> {
        let read = read::read(bytes, file)?;
        let messages = messages(&read, file)?;
        let works = |(gpu, blocks): (&u32, &Gpu)| Ok(works(*gpu, blocks, &messages, file)?.into());
        let ranks = read.gpus.iter().map(works).collect::<Result<_, Error>>()?;
        Ok(Self { chunks: read.chunks, size: USUAL_SIZE, ranks })
    }

    /// The same for a vector of `size` bytes.
    ///
    /// # Errors
    /// A chunk has less than a byte, or a message is larger than [`LARGEST`].
    pub fn with_size(self, size: u64, file: &str) -> Result<Self, Error> {
        let chunks = self.chunks;
        if size < u64::from(chunks) {
            let what = format!("{size} B are less than a byte for each of the {chunks} chunks (nchunksperloop)");
            return Err(error(file, 0, format!("{what}; the vector has at least {chunks} B")));
        }
        let of = Self { size, ..self };
        for (gpu, work) in of.ranks.iter().enumerate().flat_map(|(gpu, rank)| rank.iter().map(move |work| (gpu, work)))
        {
            let bytes = of.bytes(&work.chunks);
            if bytes > u128::from(LARGEST) {
                let (tb, step, line) = work.place;
                let what =
                    format!("cnt makes a message of {bytes} B of a vector of {size} B; the largest has {LARGEST} B");
                return Err(error(file, line, format!("gpu {gpu}, tb {tb}, step {step}: {what}")));
            }
        }
        Ok(of)
    }

    /// How many ranks there are: `ngpus`.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// The nodes of each rank, in the order of thread blocks and steps.
    pub fn sources(&self) -> Vec<OfRank<'_>> {
        (0..self.ranks.len()).map(|rank| OfRank { of: self, rank, next: 0 }).collect()
    }

    /// What a node is called, and its line.
    pub fn name(&self, rank: u32, id: u64) -> (String, u32) {
        let works = self.ranks.get(rank as usize);
        let Some(work) = works.and_then(|works| works.get(usize::try_from(id).ok()?)) else {
            return (format!("node {id}"), 0);
        };
        let (tb, step, line) = work.place;
        let part = match (work.act, work.name) {
            (Act::Send { .. }, "s") | (Act::Receive { .. }, "r" | "rrc") | (Act::Nothing, _) => "",
            (Act::Send { .. }, _) => "send of ",
            (Act::Receive { .. }, _) => "receive of ",
        };
        (format!("tb {tb}, step {step} ({part}{})", work.name), line)
    }

    /// The bytes of some chunks.
    fn bytes(&self, chunks: &Range<u32>) -> u128 {
        let before = |chunk: u32| u128::from(chunk) * u128::from(self.size) / u128::from(self.chunks);
        before(chunks.end) - before(chunks.start)
    }
}

/// The messages that a thread block sends: its id, and number and chunks of each step that sends.
struct Sends {
    block: u32,
    messages: Vec<(usize, Range<u32>)>,
}

/// Messages by sender, receiver and channel.
type Messages = BTreeMap<(u32, u32, u32), Sends>;

fn messages(read: &Read, file: &str) -> Result<Messages, Error> {
    let mut found = Messages::new();
    for (gpu, blocks) in &read.gpus {
        for (id, block) in blocks {
            let sent = block.steps.iter().enumerate().filter(|(_, step)| step.sends);
            let sent: Vec<_> = sent.map(|(number, step)| (number, step.chunks())).collect();
            let Some(to) = block.send.filter(|_| !sent.is_empty()) else { continue };
            let sends = Sends { block: *id, messages: sent };
            if let Some(other) = found.insert((*gpu, to, block.channel), sends) {
                return Err(shared(file, (*gpu, *id), block, &format!("tb {} sends to GPU {to}", other.block)));
            }
        }
    }
    Ok(found)
}

/// Each channel from another GPU belongs to one of the thread blocks that receive.
fn check_receivers(gpu: u32, blocks: &Gpu, file: &str) -> Result<(), Error> {
    let mut receivers = BTreeMap::new();
    for (id, block) in blocks.iter().filter(|(_, block)| block.steps.iter().any(|step| step.receives)) {
        if let (Some(from), Some(other)) = (block.recv, receivers.insert((block.recv, block.channel), *id)) {
            return Err(shared(file, (gpu, *id), block, &format!("tb {other} receives from GPU {from}")));
        }
    }
    Ok(())
}

/// Two thread blocks use one channel between the same GPUs.
fn shared(file: &str, (gpu, id): (u32, u32), block: &Block, other: &str) -> Error {
    let what = format!("{other} on channel {} too, and messages of two thread blocks have no order", block.channel);
    error(file, block.line, format!("gpu {gpu}, tb {id}: {what}; give one of them another chan"))
}

/// The chunks of the message that the `place`-th receive of a thread block takes from the one that sends.
fn received(sends: Option<&Sends>, place: usize, step: &Step, from: u32) -> Result<Range<u32>, String> {
    // A receive without a send is found by the check.
    let Some((sends, (at, chunks))) = sends.and_then(|sends| Some((sends, sends.messages.get(place)?))) else {
        return Ok(0..step.count);
    };
    if chunks.len() == step.count as usize {
        return Ok(chunks.clone());
    }
    let sent = format!("gpu {from}, tb {}, step {at}, which sends {}", sends.block, chunks.len());
    Err(format!("cnt is {}, and its message is that of {sent}; write the same", step.count))
}

/// The last node of each step of a GPU.
fn ends(blocks: &Gpu) -> BTreeMap<(u32, u32), u32> {
    let steps =
        blocks.iter().flat_map(|(id, block)| (0u32..).zip(&block.steps).map(|(number, step)| ((*id, number), step)));
    let end = |next: &mut u32, (place, step): ((u32, u32), &Step)| {
        *next += 1 + u32::from(step.receives && step.sends);
        Some((place, *next - 1))
    };
    steps.scan(0, end).collect()
}

/// The nodes of a GPU.
fn works(gpu: u32, blocks: &Gpu, messages: &Messages, file: &str) -> Result<Vec<Work>, Error> {
    check_receivers(gpu, blocks, file)?;
    let ends = ends(blocks);
    let mut works: Vec<Work> = Vec::with_capacity(2 * ends.len());
    for (id, block) in blocks {
        let (channel, mut receives, mut before) = (block.channel, 0, None);
        for (number, step) in (0u32..).zip(&block.steps) {
            let waits: BTreeSet<u32> = before.into_iter().chain(step.after.map(|after| ends[&after])).collect();
            let mut after = waits.into_iter().collect();
            let mut add = |act, chunks, after| {
                works.push(Work { act, chunks, after, place: (*id, number, step.line), name: step.name });
                works.len() as u32 - 1
            };
            if let Some(from) = block.recv.filter(|_| step.receives) {
                let chunks = received(messages.get(&(from, gpu, channel)), receives, step, from)
                    .map_err(|what| error(file, step.line, format!("gpu {gpu}, tb {id}, step {number}: {what}")))?;
                receives += 1;
                after = vec![add(Act::Receive { from, channel }, chunks, after)];
            }
            if let Some(to) = block.send.filter(|_| step.sends) {
                add(Act::Send { to, channel }, step.chunks(), after);
            } else if !step.receives {
                add(Act::Nothing, 0..0, after);
            }
            before = Some(ends[&(*id, number)]);
        }
    }
    Ok(works)
}

/// The nodes of a rank.
#[derive(Clone, Debug)]
pub struct OfRank<'a> {
    of: &'a Algorithm,
    rank: usize,
    next: usize,
}

impl Source for OfRank<'_> {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        let Some(work) = self.of.ranks[self.rank].get(self.next) else { return Ok(false) };
        node.id = self.next as u64;
        self.next += 1;
        let bytes = self.of.bytes(&work.chunks) as u64;
        node.kind = match work.act {
            Act::Receive { from, channel } => Kind::Recv { from, bytes, tag: channel },
            Act::Send { to, channel } => Kind::Send { to, bytes, tag: channel },
            Act::Nothing => Kind::Delay { ns: 0 },
        };
        (node.slot, node.nic) = (None, 0);
        node.after_start.clear();
        node.after_end.clear();
        node.after_end.extend(work.after.iter().map(|id| u64::from(*id)));
        Ok(true)
    }
}

/// For fuzzing: any bytes are an algorithm or an error with a place, and each node waits for others that are there.
pub fn fuzz(bytes: &[u8]) {
    match Algorithm::read(bytes, "f.xml") {
        Ok(of) => {
            for (mut source, works) in of.sources().into_iter().zip(&of.ranks) {
                let mut node = Node::default();
                while source.next(&mut node).expect("nodes in memory") {
                    assert!(node.after_end.iter().all(|before| *before < works.len() as u64), "{node:?}");
                }
            }
        }
        Err(error) => assert!(error.file == "f.xml" && !error.what.is_empty()),
    }
}

#[cfg(test)]
mod tests;

//! The binary form, little endian; places of ranks are counted from byte 8.

use super::schedule::{Goal, Operation, Rank, checked, error};
use crate::Error;
use fanin_graph::Kind;

const MARK: u64 = 4223;
/// A simulator has mapped the file to save memory, and counted down its dependencies.
const CONSUMED: u64 = 2342;
/// Bytes before the table of ranks, of an entry of that table, and of a node.
const HEAD: usize = 14;
const ENTRY: usize = 16;
const NODE: usize = 39;

/// Reads numbers from a place on. There are enough bytes, which is checked before.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (number, rest) = self.0.split_first_chunk().expect("as many bytes as were counted");
        self.0 = rest;
        *number
    }

    fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

pub(super) fn read(bytes: &[u8], file: &str) -> Result<Goal, Error> {
    let wrong = |what: String| error(file, 0, what);
    if bytes.len() < HEAD {
        return Err(wrong(format!("not a GOAL file: it has only {} bytes", bytes.len())));
    }
    let mut head = Numbers(bytes);
    match head.u64() {
        MARK => {}
        CONSUMED => {
            let by = "a simulator that maps it to save memory has consumed it";
            return Err(wrong(format!("marked invalid ({CONSUMED}): {by}; make it again")));
        }
        other => return Err(wrong(format!("not a GOAL file: it begins with {other}, not {MARK}"))),
    }
    let ranks = head.u32();
    if bytes.len() - HEAD < ENTRY.saturating_mul(ranks as usize) {
        return Err(wrong(format!("{ranks} ranks do not fit into the file of {} bytes", bytes.len())));
    }
    head = Numbers(&bytes[HEAD..]);
    let mut goal = Goal::default();
    let mut free = (HEAD + ENTRY * ranks as usize) as u64;
    for rank in 0..ranks {
        let (start, end) = (head.u64().saturating_add(8), head.u64().saturating_add(8));
        if start > bytes.len() as u64 || end > bytes.len() as u64 {
            let (which, at) = if start > bytes.len() as u64 { ("from", start) } else { ("up to", end) };
            return Err(wrong(format!("rank {rank} lies {which} byte {at} on, beyond the end of the file")));
        }
        if start < free || start > end {
            let what = format!("rank {rank} lies from byte {start} to byte {end}, and may begin at byte {free}");
            return Err(wrong(what));
        }
        free = end;
        let region = &bytes[start as usize..end as usize];
        goal.ranks.push(block(region, start, ranks).map_err(|what| wrong(format!("rank {rank}: {what}")))?);
    }
    Ok(goal)
}

fn block(region: &[u8], from: u64, ranks: u32) -> Result<Rank, String> {
    if region.len() < 8 {
        return Err(format!("its {} bytes from byte {from} on are too few", region.len()));
    }
    let mut numbers = Numbers(region);
    let (nodes, roots) = (numbers.u32() as usize, numbers.u32() as usize);
    let first = roots.saturating_mul(4).saturating_add(8);
    let list = first.saturating_add(nodes.saturating_mul(NODE));
    if list > region.len() {
        let (what, count) = if first > region.len() { ("roots", roots) } else { ("nodes", nodes) };
        return Err(format!("{count} {what} do not fit into the file"));
    }
    let mut rank = Rank { nodes: Vec::with_capacity(nodes), ..Rank::default() };
    let mut open = Vec::with_capacity(nodes);
    numbers = Numbers(&region[first..]);
    for node in 0..nodes {
        let at = |what: String| format!("node {node} (byte {}): {what}", from + (first + node * NODE) as u64);
        open.push(numbers.u32());
        let (kind, peer, size, tag) = (numbers.u8(), numbers.u32(), numbers.u64(), numbers.u32());
        let kind = match kind {
            1 => Kind::Send { to: peer, bytes: size, tag },
            2 => Kind::Recv { from: peer, bytes: size, tag },
            3 => Kind::Delay { ns: size },
            other => return Err(at(format!("it is of kind {other}; known: 1 send, 2 recv, 3 calc"))),
        };
        let kind = checked(kind, ranks).map_err(at)?;
        rank.nodes.push(Operation { kind, cpu: numbers.u8(), nic: numbers.u8() });
        for start in [false, true] {
            let (count, index) = (numbers.u32() as usize, numbers.u32() as usize);
            if count == 0 {
                continue;
            }
            let begin = list.saturating_add(index.saturating_mul(4));
            let waits = region.get(begin..begin.saturating_add(count.saturating_mul(4)));
            let waits = waits.ok_or_else(|| at(format!("{count} nodes that wait for it do not fit into the file")))?;
            // Lists that overlap could be far longer than the file.
            if rank.edges.len() + count > (region.len() - list) / 4 {
                return Err(at("the lists of nodes that wait overlap".into()));
            }
            let waits = waits.chunks_exact(4).map(|bytes| (Numbers(bytes).u32(), start, node as u32));
            rank.edges.extend(waits);
        }
    }
    for (node, _, before) in &rank.edges {
        let left =
            open.get_mut(*node as usize).ok_or(format!("node {node} waits for node {before}, and is not there"))?;
        *left = left.wrapping_sub(1);
    }
    if let Some(node) = open.iter().position(|left| *left != 0) {
        return Err(format!("node {node} waits for another number of nodes than the lists have"));
    }
    rank.edges.sort_unstable();
    Ok(rank)
}

pub(super) fn write(goal: &Goal) -> Vec<u8> {
    let all = || goal.ranks.iter().flat_map(|rank| &rank.nodes);
    let mut bytes = Vec::new();
    bytes.extend(MARK.to_le_bytes());
    bytes.extend((goal.ranks.len() as u32).to_le_bytes());
    bytes.push(all().map(|node| node.cpu).max().unwrap_or(0));
    bytes.push(all().map(|node| node.nic).max().unwrap_or(0));
    bytes.resize(HEAD + ENTRY * goal.ranks.len(), 0);
    for (number, rank) in goal.ranks.iter().enumerate() {
        let start = bytes.len() as u64 - 8;
        one(rank, &mut bytes);
        let end = bytes.len() as u64 - 8;
        let entry = &mut bytes[HEAD + ENTRY * number..][..ENTRY];
        entry[..8].copy_from_slice(&start.to_le_bytes());
        entry[8..].copy_from_slice(&end.to_le_bytes());
    }
    bytes
}

fn one(rank: &Rank, bytes: &mut Vec<u8>) {
    let number = |number: usize, bytes: &mut Vec<u8>| bytes.extend((number as u32).to_le_bytes());
    let mut open = vec![0; rank.nodes.len()];
    rank.edges.iter().for_each(|(node, ..)| open[*node as usize] += 1);
    // Those that wait for a node's end, by number, then those that wait for its start.
    let mut waits: Vec<(u32, bool, u32)> =
        rank.edges.iter().map(|(node, start, before)| (*before, *start, *node)).collect();
    waits.sort_unstable();
    let roots: Vec<usize> = (0..open.len()).filter(|node| open[*node] == 0).collect();
    number(rank.nodes.len(), bytes);
    number(roots.len(), bytes);
    roots.iter().for_each(|root| number(*root, bytes));
    let mut index = 0;
    for (node, Operation { kind, cpu, nic }) in rank.nodes.iter().enumerate() {
        let (kind, peer, size, tag) = match *kind {
            Kind::Send { to, bytes, tag } => (1, to, bytes, tag),
            Kind::Recv { from, bytes, tag } => (2, from, bytes, tag),
            Kind::Delay { ns } => (3, 0, ns, 0),
            Kind::Collective { .. } => unreachable!("refused where a schedule is made"),
        };
        number(open[node], bytes);
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([*cpu, *nic]);
        for start in [false, true] {
            let count = waits[index..].iter().take_while(|wait| (wait.0, wait.1) == (node as u32, start)).count();
            number(count, bytes);
            number(index, bytes);
            index += count;
        }
    }
    waits.iter().for_each(|(.., node)| number(*node as usize, bytes));
}

//! Class queues: the first packet of each in its header, the others in chunks of one pool that all queues share.

use crate::packet::PacketIx;

/// A packet in a queue, with all fields that its port needs to serve it, so that the packet itself is not read. Two
/// words, written and read whole, which avoids a store-forwarding stall.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Queued {
    /// The packet, and in the upper bits its ingress port.
    who: u64,
    /// Its bytes on the wire, its two classes, and whether it may be marked.
    what: u32,
}

const _: () = assert!(core::mem::size_of::<Queued>() == 12);

impl Queued {
    /// The value of an empty place.
    const NONE: Self = Self { who: u64::MAX, what: 0 };

    /// A packet that arrived in `ingress_class` and leaves in `class`.
    #[inline(always)]
    pub fn new(ix: PacketIx, ingress: u32, wire: u16, ingress_class: u8, class: u8, markable: bool) -> Self {
        Self {
            who: ix as u64 | (ingress as u64) << 32,
            what: wire as u32 | (class as u32) << 16 | (ingress_class as u32) << 24 | (markable as u32) << 31,
        }
    }

    /// The packet.
    #[inline(always)]
    pub fn ix(&self) -> PacketIx {
        self.who as u32
    }

    /// Its ingress port, or `u32::MAX` when it holds no buffer.
    #[inline(always)]
    pub fn ingress(&self) -> u32 {
        (self.who >> 32) as u32
    }

    /// Its bytes on the wire.
    #[inline(always)]
    pub fn wire(&self) -> u16 {
        self.what as u16
    }

    /// The class it leaves in.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.what >> 16) as u8
    }

    /// The class it arrived in, whose buffer it holds.
    #[inline(always)]
    pub fn ingress_class(&self) -> usize {
        (self.what >> 24 & 0x7F) as usize
    }

    /// Whether it may be marked and is not yet.
    #[inline(always)]
    pub fn markable(&self) -> bool {
        self.what >> 31 != 0
    }
}

/// Packets in a chunk, which is one cache line.
const CHUNK: usize = 5;
/// No chunk.
const NIL: u32 = u32::MAX;

/// Consecutive packets of a queue.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Chunk {
    packets: [Queued; CHUNK],
    /// The next chunk of the queue; of a free chunk, the next free one.
    next: u32,
}

const _: () = assert!(core::mem::size_of::<Chunk>() == 64);

/// The chunks of all queues. The chunk freed last is reused first, because it is still in the cache.
#[derive(Debug)]
pub struct ChunkPool {
    all: Vec<Chunk>,
    empty: u32,
}

impl Default for ChunkPool {
    fn default() -> Self {
        Self { all: Vec::new(), empty: NIL }
    }
}

impl ChunkPool {
    /// An empty pool.
    #[inline(always)]
    fn take(&mut self) -> u32 {
        let at = self.empty;
        match self.all.get(at as usize) {
            Some(chunk) => {
                self.empty = chunk.next;
                at
            }
            None => self.build(),
        }
    }

    #[inline(never)]
    fn build(&mut self) -> u32 {
        self.all.push(Chunk { packets: [Queued::NONE; CHUNK], next: NIL });
        (self.all.len() - 1) as u32
    }

    #[inline(always)]
    fn put_back(&mut self, at: u32) {
        self.all[at as usize].next = self.empty;
        self.empty = at;
    }
}

/// A first-in first-out queue of packets.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Queue {
    /// The first packet, so that serving the queue touches no other cache line.
    front: Queued,
    /// Number of packets.
    waiting: u32,
    /// Bytes in it.
    pub bytes: u64,
    /// Most bytes it has ever held.
    pub peak: u64,
    /// The chunk and place of the second packet, and the chunk of the last packet and the place after it. Valid while
    /// there are two packets or more.
    first: u32,
    last: u32,
    from: u8,
    to: u8,
}

const _: () = assert!(core::mem::size_of::<Queue>() == 64);

impl Default for Queue {
    fn default() -> Self {
        Self { front: Queued::NONE, waiting: 0, bytes: 0, peak: 0, first: NIL, last: NIL, from: 0, to: 0 }
    }
}

impl Queue {
    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds a packet at the end.
    #[inline(always)]
    pub fn push(&mut self, chunks: &mut ChunkPool, queued: Queued) {
        self.bytes += queued.wire() as u64;
        self.peak = self.peak.max(self.bytes);
        self.waiting += 1;
        if self.waiting == 1 {
            self.front = queued;
            return;
        }
        if self.waiting == 2 {
            (self.first, self.from) = (chunks.take(), 0);
            (self.last, self.to) = (self.first, 0);
        } else if self.to as usize == CHUNK {
            let next = chunks.take();
            chunks.all[self.last as usize].next = next;
            (self.last, self.to) = (next, 0);
        }
        chunks.all[self.last as usize].packets[self.to as usize] = queued;
        self.to += 1;
    }

    /// Takes the first packet.
    #[inline(always)]
    pub fn pop(&mut self, chunks: &mut ChunkPool) -> Option<Queued> {
        self.waiting = self.waiting.checked_sub(1)?;
        let queued = self.front;
        self.bytes -= queued.wire() as u64;
        if self.waiting > 0 {
            let chunk = &chunks.all[self.first as usize];
            self.front = chunk.packets[self.from as usize];
            self.from += 1;
            if self.waiting == 1 || self.from as usize == CHUNK {
                let next = chunk.next;
                chunks.put_back(self.first);
                (self.first, self.from) = (next, 0);
            }
        }
        Some(queued)
    }

    /// The last packet.
    pub fn last_mut<'a>(&'a mut self, chunks: &'a mut ChunkPool) -> Option<&'a mut Queued> {
        match self.waiting {
            0 => None,
            1 => Some(&mut self.front),
            _ => Some(&mut chunks.all[self.last as usize].packets[self.to as usize - 1]),
        }
    }

    /// The packets, in order.
    pub fn iter<'a>(&'a self, chunks: &'a ChunkPool) -> impl Iterator<Item = &'a Queued> {
        let front = (self.waiting > 0).then_some(&self.front);
        let (mut chunk, mut place) = (self.first, self.from as usize);
        let behind = (1..self.waiting).map(move |_| {
            if place == CHUNK {
                (chunk, place) = (chunks.all[chunk as usize].next, 0);
            }
            place += 1;
            &chunks.all[chunk as usize].packets[place - 1]
        });
        front.into_iter().chain(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_first_in_first_out_and_share_what_they_need() {
        let packet = |ix: u32| Queued::new(ix, u32::MAX - ix, 64 + ix as u16 % 100, 5, 3, ix.is_multiple_of(2));
        let mut chunks = ChunkPool::default();
        // Queue n has every third packet from n on.
        let mut queues = [(); 3].map(|()| Queue::default());
        let (mut next, mut gone) = ([0, 1, 2], [0, 1, 2]);
        // Fill 40 and drain 30, then the reverse, each queue at another phase; then in small steps.
        for (step, of) in (0..150).flat_map(|step| (0..3).map(move |of| (step, of))) {
            let (joins, leaves) = match (step + 7 * of) % 50 {
                0..20 => (40, 30),
                20..45 => (30, 40),
                _ => (step % 3, 2),
            };
            let queue = &mut queues[of];
            for _ in 0..joins {
                queue.push(&mut chunks, packet(next[of]));
                next[of] += 3;
            }
            assert!(queue.iter(&chunks).map(Queued::ix).eq((gone[of]..next[of]).step_by(3)));
            for _ in 0..leaves.min((next[of] - gone[of]) as usize / 3) {
                let (left, ix) = (queue.pop(&mut chunks).unwrap(), gone[of]);
                assert_eq!((left.ix(), left.ingress(), left.wire()), (ix, u32::MAX - ix, 64 + ix as u16 % 100));
                assert_eq!((left.class(), left.ingress_class(), left.markable()), (3, 5, ix.is_multiple_of(2)));
                gone[of] += 3;
            }
            assert_eq!(queue.is_empty(), next[of] == gone[of]);
            assert_eq!(queue.bytes, (gone[of]..next[of]).step_by(3).map(|ix| packet(ix).wire() as u64).sum::<u64>());
        }
        let mut most = 0;
        for queue in &mut queues {
            most += queue.peak as usize / 64;
            while queue.pop(&mut chunks).is_some() {}
            assert_eq!((queue.is_empty(), queue.bytes), (true, 0));
        }
        let mut empty = 0;
        let mut at = chunks.empty;
        while let Some(chunk) = chunks.all.get(at as usize) {
            (at, empty) = (chunk.next, empty + 1);
        }
        assert_eq!(empty, chunks.all.len(), "all are empty again");
        assert!(empty < most / CHUNK + 2 * queues.len(), "{empty} chunks for {most} packets");
    }
}

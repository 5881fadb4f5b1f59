//! Tables of all messages by number. Those of a stretch that are all over are packed: a run has few messages under way and may
//! have had millions, each of which the record still wants, and any of which a late packet may still ask for.
//!
//! Packing changes nothing that can be seen. A row that is read again is unpacked with its neighbours until the next look
//! ([`Table::forget`]), and one that is written stays unpacked until its stretch is packed again.

use crate::host::NO_SLOT;
use crate::results::FlowRecord;
use crate::sim::{Simulation, Slots};
use fanin_engine::EventQueue;
use fanin_units::{NodeId, Time};
use std::ops::{Index, IndexMut};
use std::sync::OnceLock;

/// Rows that are packed together. A message that takes long keeps as many unpacked.
const STRETCH: usize = 1024;
/// Numbers of a line of the cache.
const APART: usize = 8;

/// A row as whole numbers, small ones where that is possible without loss.
pub(crate) trait Row: Clone {
    /// How many there are.
    const NUMBERS: usize;
    /// Writes them down.
    fn write(&self, into: &mut [u64]);
    /// The row they were of.
    fn read(from: &[u64]) -> Self;
}

/// Numbers as what they are above the least of them, in as few bytes as the largest needs.
#[derive(Clone)]
struct Column {
    least: u64,
    width: usize,
    bytes: Box<[u8]>,
}

impl Column {
    fn of(numbers: &[u64]) -> Self {
        let (least, most) = numbers.iter().fold((u64::MAX, 0), |(least, most), n| (least.min(*n), most.max(*n)));
        let width = (u64::BITS - most.saturating_sub(least).leading_zeros()).div_ceil(8) as usize;
        let mut bytes = vec![0; width * numbers.len()].into_boxed_slice();
        match width {
            0 => {}
            1 => narrow::<1>(numbers, least, &mut bytes),
            2 => narrow::<2>(numbers, least, &mut bytes),
            3 => narrow::<3>(numbers, least, &mut bytes),
            4 => narrow::<4>(numbers, least, &mut bytes),
            5 => narrow::<5>(numbers, least, &mut bytes),
            6 => narrow::<6>(numbers, least, &mut bytes),
            7 => narrow::<7>(numbers, least, &mut bytes),
            _ => narrow::<8>(numbers, least, &mut bytes),
        }
        Self { least, width, bytes }
    }

    fn get(&self, row: usize) -> u64 {
        let mut number = [0; 8];
        number[..self.width].copy_from_slice(&self.bytes[row * self.width..(row + 1) * self.width]);
        self.least + u64::from_le_bytes(number)
    }
}

/// Writes numbers in so many bytes each. A width that the compiler knows is a move or two; any other is a call.
fn narrow<const WIDTH: usize>(numbers: &[u64], least: u64, bytes: &mut [u8]) {
    for (number, into) in numbers.iter().zip(bytes.as_chunks_mut::<WIDTH>().0) {
        into.copy_from_slice(&(number - least).to_le_bytes()[..WIDTH]);
    }
}

/// Rows that are packed.
#[derive(Clone)]
struct Packed<T> {
    columns: Box<[Column]>,
    /// The same rows for who asked since the last look.
    unpacked: OnceLock<Box<[T]>>,
}

impl<T: Row> Packed<T> {
    /// Scratch is what the numbers are written to in between.
    fn of(rows: &[T], scratch: &mut Vec<u64>) -> Self {
        // Column after column, each a line longer than the rows: at a power of two, all would want the same places of the cache.
        let apart = rows.len() + APART;
        scratch.resize(apart * T::NUMBERS, 0);
        let mut of_row = vec![0; T::NUMBERS];
        for (at, row) in rows.iter().enumerate() {
            row.write(&mut of_row);
            of_row.iter().zip(scratch[at..].iter_mut().step_by(apart)).for_each(|(number, into)| *into = *number);
        }
        let columns = scratch.chunks_exact(apart).map(|column| Column::of(&column[..rows.len()])).collect();
        Self { columns, unpacked: OnceLock::new() }
    }

    fn get(&self, row: usize) -> T {
        let numbers: Vec<u64> = self.columns.iter().map(|column| column.get(row)).collect();
        T::read(&numbers)
    }

    fn all(&self) -> impl Iterator<Item = T> + '_ {
        let mut numbers = vec![0; T::NUMBERS];
        (0..STRETCH).map(move |row| {
            numbers.iter_mut().zip(&self.columns).for_each(|(number, column)| *number = column.get(row));
            T::read(&numbers)
        })
    }
}

#[derive(Clone)]
enum Stretch<T> {
    Open(Vec<T>),
    Packed(Packed<T>),
}

/// Rows by number.
#[derive(Clone)]
pub(crate) struct Table<T> {
    stretches: Vec<Stretch<T>>,
    /// Packed stretches that were written to since the last look.
    reopened: Vec<u32>,
    /// What packing works with, kept so that it need not be asked for and cleared each time.
    scratch: Vec<u64>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { stretches: Vec::new(), reopened: Vec::new(), scratch: Vec::new() }
    }
}

impl<T: Row> Table<T> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self.stretches.last() {
            Some(Stretch::Open(rows)) => (self.stretches.len() - 1) * STRETCH + rows.len(),
            _ => self.stretches.len() * STRETCH,
        }
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: T) {
        match self.stretches.last_mut() {
            Some(Stretch::Open(rows)) if rows.len() < STRETCH => rows.push(row),
            _ => {
                let mut rows = Vec::with_capacity(STRETCH);
                rows.push(row);
                self.stretches.push(Stretch::Open(rows));
            }
        }
    }

    /// The same, and packs what it makes whole.
    pub fn push_packed(&mut self, row: T) {
        self.push(row);
        if self.len().is_multiple_of(STRETCH) {
            self.pack(self.stretches.len() as u32 - 1);
        }
    }

    /// A copy of a row, if there is one; unpacks no others.
    pub fn get(&self, number: usize) -> Option<T> {
        match self.stretches.get(number / STRETCH)? {
            Stretch::Open(rows) => rows.get(number % STRETCH).cloned(),
            Stretch::Packed(packed) => Some(packed.get(number % STRETCH)),
        }
    }

    /// Copies of all rows from one on; unpacks a stretch at a time.
    pub fn from(&self, first: usize) -> impl Iterator<Item = T> + '_ {
        let rows = |stretch: &Stretch<T>| match stretch {
            Stretch::Open(rows) => rows.clone(),
            Stretch::Packed(packed) => packed.all().collect(),
        };
        self.stretches.iter().skip(first / STRETCH).flat_map(rows).skip(first % STRETCH)
    }

    /// Copies of all rows.
    pub fn all(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        all.extend(self.from(0));
        all
    }

    /// Packs every stretch that is whole.
    pub fn pack_all(&mut self) {
        (0..(self.len() / STRETCH) as u32).for_each(|stretch| self.pack(stretch));
    }

    /// Packs a stretch.
    fn pack(&mut self, stretch: u32) {
        let stretch = &mut self.stretches[stretch as usize];
        if let Stretch::Open(rows) = stretch {
            *stretch = Stretch::Packed(Packed::of(rows, &mut self.scratch));
        }
    }

    /// Lets go of what was unpacked to be read. Returns the stretches that were written to.
    fn forget(&mut self) -> Vec<u32> {
        for stretch in &mut self.stretches {
            if let Stretch::Packed(packed) = stretch {
                packed.unpacked.take();
            }
        }
        std::mem::take(&mut self.reopened)
    }

    /// Makes a packed stretch an open one.
    #[cold]
    fn reopen(&mut self, at: usize) {
        if let Stretch::Packed(packed) = &mut self.stretches[at] {
            let rows = packed.unpacked.take().map_or_else(|| packed.all().collect(), Vec::from);
            self.stretches[at] = Stretch::Open(rows);
            self.reopened.push(at as u32);
        }
    }
}

#[cold]
fn unpack<T: Row>(packed: &Packed<T>) -> &[T] {
    packed.unpacked.get_or_init(|| packed.all().collect())
}

impl<T: Row> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        match &self.stretches[number / STRETCH] {
            Stretch::Open(rows) => &rows[number % STRETCH],
            Stretch::Packed(packed) => &unpack(packed)[number % STRETCH],
        }
    }
}

impl<T: Row> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        if matches!(self.stretches[number / STRETCH], Stretch::Packed(_)) {
            self.reopen(number / STRETCH);
        }
        match &mut self.stretches[number / STRETCH] {
            Stretch::Open(rows) => &mut rows[number % STRETCH],
            Stretch::Packed(_) => unreachable!("it was reopened"),
        }
    }
}

/// A difference of either sign: small where both are near each other.
fn from_to(from: u64, to: u64) -> u64 {
    let ahead = to.wrapping_sub(from) as i64;
    (ahead << 1 ^ ahead >> 63) as u64
}

/// What [`from_to`] came from.
fn back(from: u64, coded: u64) -> u64 {
    from.wrapping_add((coded >> 1) ^ (coded & 1).wrapping_neg())
}

impl Row for FlowRecord {
    const NUMBERS: usize = 21;

    fn write(&self, into: &mut [u64]) {
        let Self { start, finished, acked, bytes, delivered, ideal, src, dst, group, .. } = *self;
        into.copy_from_slice(&[
            start.as_ps(),
            from_to(start.as_ps(), finished.as_ps()),
            from_to(finished.as_ps(), acked.as_ps()),
            bytes,
            from_to(bytes, delivered),
            ideal.as_ps(),
            src.into(),
            dst.into(),
            group.into(),
            self.packets_sent.into(),
            self.packets_resent.into(),
            self.timeouts.into(),
            self.packets_marked.into(),
            from_to(self.packets_sent.into(), self.packets_arrived.into()),
            self.traffic.into(),
            self.hops.into(),
            self.links.into(),
            self.deflections.into(),
            self.attempts.into(),
            self.reordered.into(),
            self.request.into(),
        ]);
    }

    fn read(from: &[u64]) -> Self {
        let (start, bytes, sent) = (from[0], from[3], from[9]);
        let finished = back(start, from[1]);
        Self {
            start: Time::from_ps(start),
            finished: Time::from_ps(finished),
            acked: Time::from_ps(back(finished, from[2])),
            bytes,
            delivered: back(bytes, from[4]),
            ideal: Time::from_ps(from[5]),
            src: from[6] as u32,
            dst: from[7] as u32,
            group: from[8] as u32,
            packets_sent: sent as u32,
            packets_resent: from[10] as u32,
            timeouts: from[11] as u32,
            packets_marked: from[12] as u32,
            packets_arrived: back(sent, from[13]) as u32,
            traffic: from[14] as u16,
            hops: from[15] as u16,
            links: from[16] as u16,
            deflections: from[17] as u8,
            attempts: from[18] as u16,
            reordered: from[19] as u32,
            request: from[20] != 0,
        }
    }
}

impl Row for Slots {
    const NUMBERS: usize = 10;

    fn write(&self, into: &mut [u64]) {
        debug_assert!(self.senders.is_none(), "only a message that is over is packed");
        into.copy_from_slice(&[
            self.send.into(),
            self.recv.into(),
            self.name >> 32,
            self.name & u64::from(u32::MAX),
            self.counts.into(),
            self.counts_acked.into(),
            self.answers.into(),
            self.waited.into(),
            self.first_attempt.into(),
            self.deflected.into(),
        ]);
    }

    fn read(from: &[u64]) -> Self {
        Self {
            send: from[0] as u32,
            recv: from[1] as u32,
            name: from[2] << 32 | from[3],
            counts: from[4] as u32,
            counts_acked: from[5] as u32,
            answers: from[6] as u32,
            waited: from[7] != 0,
            first_attempt: from[8] as u16,
            deflected: from[9] != 0,
            senders: None,
        }
    }
}

/// Which stretches are not packed, and how far each is known to be over.
#[derive(Default)]
pub(crate) struct Unpacked {
    stretches: Vec<(u32, u32)>,
    /// Stretches that were looked at first so far.
    seen: u32,
}

impl<Q: EventQueue> Simulation<Q> {
    /// Packs the stretches of messages that are over: arrived, acknowledged, and with no end that goes on.
    pub(crate) fn pack_messages(&mut self) {
        if self.watches.stepping {
            return;
        }
        let mut unpacked = std::mem::take(&mut self.unpacked);
        for stretch in self.records.forget().into_iter().chain(self.slots.forget()) {
            if unpacked.stretches.iter().all(|(known, _)| *known != stretch) {
                unpacked.stretches.push((stretch, 0));
            }
        }
        let whole = (self.records.len() / STRETCH) as u32;
        unpacked.stretches.extend((unpacked.seen..whole).map(|stretch| (stretch, 0)));
        unpacked.seen = whole;
        unpacked.stretches.retain_mut(|(stretch, over)| {
            while (*over as usize) < STRETCH {
                if !self.message_is_over(*stretch as usize * STRETCH + *over as usize) {
                    return true;
                }
                *over += 1;
            }
            self.records.pack(*stretch);
            self.slots.pack(*stretch);
            false
        });
        self.unpacked = unpacked;
    }

    /// Whether nothing happens to a message here any more: of one that a part of a network only sends or only receives, that
    /// half is over, and of one between others nothing ever happens.
    fn message_is_over(&mut self, message: usize) -> bool {
        let (record, slots) = (&self.records[message], &self.slots[message]);
        let (sends, receives) = (self.part.owns(NodeId(record.src)), self.part.owns(NodeId(record.dst)));
        let over = (!sends || record.acked.is_some() && slots.send == NO_SLOT && slots.senders.is_none())
            && (!receives || record.finished.is_some() && slots.recv == NO_SLOT);
        if over && slots.senders.is_some() {
            // Only a sender's end forgets these.
            self.slots[message].senders = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> FlowRecord {
        FlowRecord {
            start: Time::from_ns(100 * number),
            finished: Time::from_ns(100 * number + 7_000 + number % 13),
            acked: Time::from_ns(100 * number + 9_000 + number % 17),
            bytes: 1 + number % 1460,
            delivered: 1 + number % 1460,
            ideal: Time::from_ns(6_000),
            src: (number % 64) as u32,
            dst: (number % 63) as u32,
            group: u32::MAX,
            packets_sent: 1 + (number % 3) as u32,
            packets_resent: (number % 2) as u32,
            timeouts: 0,
            packets_marked: 0,
            packets_arrived: 1,
            traffic: 0,
            hops: 6,
            links: 6,
            deflections: (number % 2) as u8,
            attempts: 1,
            reordered: 0,
            request: number.is_multiple_of(5),
        }
    }

    fn table(rows: u64) -> Table<FlowRecord> {
        let mut table = Table::default();
        (0..rows).for_each(|number| table.push(record(number)));
        table
    }

    #[test]
    fn packed_rows_read_as_they_were_written_and_take_a_fifth() {
        let rows = 3 * STRETCH as u64 + 5;
        let mut table = table(rows);
        table[STRETCH + 1].start = Time::NEVER;
        table[STRETCH + 2].packets_arrived = u32::MAX;
        let before = table.all();
        (0..3).for_each(|stretch| table.pack(stretch));
        assert_eq!((table.len(), table.all()), (rows as usize, before.clone()));
        assert!((0..rows as usize).all(|row| table[row] == before[row] && table.get(row) == Some(before[row])));
        assert_eq!(table.get(rows as usize), None);
        let Stretch::Packed(packed) = &table.stretches[0] else { panic!("it was packed") };
        let bytes: usize = packed.columns.iter().map(|column| size_of::<Column>() + column.bytes.len()).sum();
        assert!(bytes < STRETCH * size_of::<FlowRecord>() / 5, "{bytes}");
    }

    #[test]
    fn a_packed_row_may_be_written_again() {
        let mut table = table(2 * STRETCH as u64);
        table.pack(0);
        table.pack(1);
        assert_eq!(table[3].timeouts, 0);
        table[3].timeouts = 9;
        assert_eq!((table[3].timeouts, table[4]), (9, record(4)));
        assert_eq!((table.forget(), table.forget()), (vec![0], vec![]));
        table.pack(0);
        assert_eq!(table.get(3).map(|row| row.timeouts), Some(9));
        assert_eq!(table.len(), 2 * STRETCH);
    }
}

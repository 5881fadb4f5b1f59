//! Tables of messages by number. Consecutive rows of finished messages are packed: a run has few messages in progress
//! and may have had millions, all of which the results need, and any of which a late packet may still access.
//!
//! Packing is not visible to callers. A row that is read again is unpacked with its neighbours until [`Table::forget`],
//! and one that is written stays unpacked until its block is packed again. A partition of a network has rows only for
//! the messages that it sends or receives.

use crate::message::MessageState;
use crate::results::FlowRecord;
use fanin_endpoint::host::Ends;
use fanin_units::Time;
use std::ops::{Index, IndexMut};
use std::sync::OnceLock;

/// Rows that are packed together. One long message keeps all of them unpacked.
const BLOCK: usize = 1024;
/// A block with this many more numbers without a row than with one is sparse.
const FEWEST: usize = 64;
/// Numbers of a line of the cache.
const APART: usize = 8;
/// Rows that are unpacked together, column by column: few enough for the first-level cache.
const TOGETHER: usize = 64;

/// A row as integers, small ones where that is possible without loss.
pub(crate) trait Row: Clone + Default {
    /// Number of integers.
    const NUMBERS: usize;
    /// Writes them.
    fn write(&self, into: &mut [u64]);
    /// The row that they encode.
    fn read(from: &[u64]) -> Self;
}

/// Numbers as offsets from the least of them, in as few bytes as the largest needs.
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

    /// Reads consecutive rows, as many as there is room for.
    fn read<'a>(&self, first: usize, into: impl Iterator<Item = &'a mut u64>) {
        let bytes = &self.bytes[first * self.width..];
        match self.width {
            0 => into.for_each(|number| *number = self.least),
            1 => wide::<1>(bytes, self.least, into),
            2 => wide::<2>(bytes, self.least, into),
            3 => wide::<3>(bytes, self.least, into),
            4 => wide::<4>(bytes, self.least, into),
            5 => wide::<5>(bytes, self.least, into),
            6 => wide::<6>(bytes, self.least, into),
            7 => wide::<7>(bytes, self.least, into),
            _ => wide::<8>(bytes, self.least, into),
        }
    }
}

/// Writes numbers in `width` bytes each. A constant width compiles to a move or two; any other to a call.
fn narrow<const WIDTH: usize>(numbers: &[u64], least: u64, bytes: &mut [u8]) {
    for (number, into) in numbers.iter().zip(bytes.as_chunks_mut::<WIDTH>().0) {
        into.copy_from_slice(&(number - least).to_le_bytes()[..WIDTH]);
    }
}

/// Reads numbers of `width` bytes each.
fn wide<'a, const WIDTH: usize>(bytes: &[u8], least: u64, into: impl Iterator<Item = &'a mut u64>) {
    for (from, number) in bytes.as_chunks::<WIDTH>().0.iter().zip(into) {
        let mut wide = [0; 8];
        wide[..WIDTH].copy_from_slice(from);
        *number = least + u64::from_le_bytes(wide);
    }
}

/// Rows that are packed.
#[derive(Clone)]
struct Packed<T> {
    columns: Box<[Column]>,
    rows: usize,
    /// The same rows for readers since [`Table::forget`].
    unpacked: OnceLock<Box<[T]>>,
}

impl<T: Row> Packed<T> {
    /// `scratch` holds the numbers temporarily.
    fn of(rows: &[T], scratch: &mut Vec<u64>) -> Self {
        // Column after column, each a line longer than the rows: at a power of two, all would compete for the same
        // cache sets.
        let apart = rows.len() + APART;
        scratch.resize(apart * T::NUMBERS, 0);
        let mut of_row = vec![0; T::NUMBERS];
        for (at, row) in rows.iter().enumerate() {
            row.write(&mut of_row);
            of_row.iter().zip(scratch[at..].iter_mut().step_by(apart)).for_each(|(number, into)| *into = *number);
        }
        let columns = scratch.chunks_exact(apart).map(|column| Column::of(&column[..rows.len()])).collect();
        Self { columns, rows: rows.len(), unpacked: OnceLock::new() }
    }

    fn get(&self, row: usize) -> T {
        let numbers: Vec<u64> = self.columns.iter().map(|column| column.get(row)).collect();
        T::read(&numbers)
    }

    fn all(&self) -> impl Iterator<Item = T> + '_ {
        let mut numbers = vec![0; T::NUMBERS * TOGETHER];
        (0..self.rows).map(move |row| {
            let within = row % TOGETHER;
            if within == 0 {
                for (at, column) in self.columns.iter().enumerate() {
                    column.read(row, numbers[at..].iter_mut().step_by(T::NUMBERS));
                }
            }
            T::read(&numbers[within * T::NUMBERS..][..T::NUMBERS])
        })
    }
}

/// The numbers of a block that have a row.
#[derive(Clone, Default)]
struct Places([Place; BLOCK / 64]);

/// A word of their bitmap, and the number of rows before it.
#[derive(Clone, Copy, Default)]
struct Place {
    bits: u64,
    before: u64,
}

impl Places {
    /// The row of a number within the block.
    #[inline(always)]
    fn row(&self, number: usize) -> Option<usize> {
        let Place { bits, before } = self.0[number / 64];
        let below = bits & ((1 << (number % 64)) - 1);
        (bits >> (number % 64) & 1 != 0).then(|| before as usize + below.count_ones() as usize)
    }

    /// The next number has a row.
    fn add(&mut self, number: usize) {
        self.0[number / 64].bits |= 1 << (number % 64);
        self.0[number / 64 + 1..].iter_mut().for_each(|place| place.before += 1);
    }

    /// The first numbers all have one.
    fn first(numbers: usize) -> Self {
        let mut places = Self::default();
        (0..numbers).for_each(|number| places.add(number));
        places
    }

    /// Whether so few of the first numbers have one that a row for each would be a waste.
    fn few(&self, numbers: usize) -> bool {
        let rows = self.0.iter().map(|place| place.bits.count_ones() as usize).sum::<usize>();
        2 * rows + FEWEST < numbers
    }

    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..BLOCK).filter(|number| self.0[number / 64].bits >> (number % 64) & 1 != 0)
    }
}

/// The rows of a block.
#[derive(Clone)]
enum Rows<T> {
    /// One for each number, blank where the number has none.
    Dense(Vec<T>),
    /// Those that exist.
    Sparse(Vec<T>),
    /// The same, packed.
    Packed(Packed<T>),
}

/// Rows of neighbouring numbers.
#[derive(Clone)]
struct Block<T> {
    rows: Rows<T>,
    /// The numbers that have a row; `None`: all.
    places: Option<Box<Places>>,
}

impl<T: Row> Block<T> {
    /// Where the row of a number is among those that exist.
    #[inline(always)]
    fn place(&self, number: usize) -> Option<usize> {
        self.places.as_ref().map_or(Some(number), |places| places.row(number))
    }

    /// Copies of the rows that exist, in order, with their numbers in the block.
    fn numbered(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        (0..BLOCK).filter(|number| self.place(*number).is_some()).zip(self.existing())
    }

    /// Copies of the rows that exist, in order.
    fn existing(&self) -> Vec<T> {
        match (&self.rows, &self.places) {
            (Rows::Dense(rows), Some(places)) => places.numbers().map(|number| rows[number].clone()).collect(),
            (Rows::Dense(rows) | Rows::Sparse(rows), _) => rows.clone(),
            (Rows::Packed(packed), _) => packed.all().collect(),
        }
    }
}

/// Rows by number. Some numbers may have none.
#[derive(Clone)]
pub(crate) struct Table<T> {
    blocks: Vec<Block<T>>,
    len: usize,
    /// Packed blocks written to since [`Table::forget`].
    reopened: Vec<u32>,
    /// Scratch memory of packing, kept so that it need not be allocated and cleared each time.
    scratch: Vec<u64>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), len: 0, reopened: Vec::new(), scratch: Vec::new() }
    }
}

impl<T: Row> Table<T> {
    /// The count of numbers, including those without a row.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The block of the next number, and the number within it. A block begins dense unless the last one had few rows.
    fn open_block(&mut self) -> (&mut Block<T>, usize) {
        let number = self.len % BLOCK;
        if number == 0 {
            let few = self.blocks.last().and_then(|last| last.places.as_ref()).is_some_and(|places| places.few(BLOCK));
            self.blocks.push(match few {
                true => Block { rows: Rows::Sparse(Vec::new()), places: Some(Box::default()) },
                false => Block { rows: Rows::Dense(Vec::with_capacity(BLOCK)), places: None },
            });
        }
        self.len += 1;
        (self.blocks.last_mut().expect("it was just added"), number)
    }

    /// Adds a row for the next number.
    pub fn push(&mut self, row: T) {
        let (block, number) = self.open_block();
        if let Some(places) = &mut block.places {
            places.add(number);
        }
        match &mut block.rows {
            Rows::Dense(rows) | Rows::Sparse(rows) => rows.push(row),
            Rows::Packed(_) => unreachable!("a block is packed only when it is complete"),
        }
    }

    /// The next number has no row.
    pub fn skip(&mut self) {
        let (block, number) = self.open_block();
        let places = block.places.get_or_insert_with(|| Box::new(Places::first(number)));
        if let Rows::Dense(rows) = &mut block.rows {
            rows.push(T::default());
            if places.few(number + 1) {
                block.rows = Rows::Sparse(block.existing());
            }
        }
    }

    /// Packs the last block if no more rows come into it and all its rows may be packed. Returns whether it is.
    pub fn pack_complete(&mut self, may: impl Fn(&T) -> bool) -> bool {
        let all = self.len().is_multiple_of(BLOCK)
            && match self.blocks.last().map(|last| &last.rows) {
                Some(Rows::Dense(rows) | Rows::Sparse(rows)) => rows.iter().all(may),
                _ => true,
            };
        if all && self.len > 0 {
            self.pack(self.blocks.len() as u32 - 1);
        }
        all
    }

    /// Whether a number has a row.
    pub fn has(&self, number: usize) -> bool {
        number < self.len && self.blocks[number / BLOCK].place(number % BLOCK).is_some()
    }

    /// A copy of a row, if there is one; unpacks no others.
    pub fn get(&self, number: usize) -> Option<T> {
        let block = self.blocks.get(number / BLOCK)?;
        let place = block.place(number % BLOCK)?;
        match &block.rows {
            Rows::Dense(rows) => rows.get(number % BLOCK).cloned(),
            Rows::Sparse(rows) => rows.get(place).cloned(),
            Rows::Packed(packed) => Some(packed.get(place)),
        }
    }

    /// Copies of all rows with their numbers, from one number on; unpacks a block at a time.
    pub fn numbered(&self, first: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let blocks = self.blocks.iter().enumerate().skip(first / BLOCK);
        let rows = blocks.flat_map(|(at, block)| block.numbered().map(move |(number, row)| (at * BLOCK + number, row)));
        rows.skip_while(move |(number, _)| *number < first)
    }

    /// The same without their numbers.
    pub fn from(&self, first: usize) -> impl Iterator<Item = T> + '_ {
        self.numbered(first).map(|(_, row)| row)
    }

    /// Copies of all rows.
    pub fn all(&self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        all.extend(self.from(0));
        all
    }

    /// Packs every complete block.
    pub fn pack_all(&mut self) {
        (0..(self.len() / BLOCK) as u32).for_each(|block| self.pack(block));
    }

    /// How many blocks are packed.
    #[cfg(test)]
    pub fn packed(&self) -> usize {
        (0..self.blocks.len() as u32).filter(|block| self.is_packed(*block)).count()
    }

    fn is_packed(&self, block: u32) -> bool {
        matches!(self.blocks[block as usize].rows, Rows::Packed(_))
    }

    /// Packs a block.
    fn pack(&mut self, block: u32) {
        let block = &mut self.blocks[block as usize];
        block.rows = Rows::Packed(match (&block.rows, &block.places) {
            (Rows::Packed(_), _) => return,
            (Rows::Dense(_), Some(_)) => Packed::of(&block.existing(), &mut self.scratch),
            (Rows::Dense(rows) | Rows::Sparse(rows), _) => Packed::of(rows, &mut self.scratch),
        });
    }

    /// Frees the blocks that were unpacked to be read. Returns those that were written to.
    fn forget(&mut self) -> Vec<u32> {
        for block in &mut self.blocks {
            if let Rows::Packed(packed) = &mut block.rows {
                packed.unpacked.take();
            }
        }
        std::mem::take(&mut self.reopened)
    }

    /// The row of a number in a block that is packed or sparse.
    #[inline(never)]
    fn row_elsewhere(&self, number: usize) -> &T {
        let block = &self.blocks[number / BLOCK];
        let place = block.place(number % BLOCK).expect(OWN);
        match &block.rows {
            Rows::Dense(rows) => &rows[number % BLOCK],
            Rows::Sparse(rows) => &rows[place],
            Rows::Packed(packed) => &unpack(packed)[place],
        }
    }

    /// As above, for writing. Unpacks the block.
    #[inline(never)]
    fn row_elsewhere_mut(&mut self, number: usize) -> &mut T {
        let at = number / BLOCK;
        let block = &mut self.blocks[at];
        let place = block.place(number % BLOCK).expect(OWN);
        if let Rows::Packed(packed) = &mut block.rows {
            let rows = packed.unpacked.take().map_or_else(|| packed.all().collect(), Vec::from);
            block.rows = if block.places.is_some() { Rows::Sparse(rows) } else { Rows::Dense(rows) };
            self.reopened.push(at as u32);
        }
        match &mut block.rows {
            Rows::Dense(rows) => &mut rows[number % BLOCK],
            Rows::Sparse(rows) => &mut rows[place],
            Rows::Packed(_) => unreachable!("it was unpacked"),
        }
    }
}

/// Why a row exists.
const OWN: &str = "a partition asks for its own messages";

fn unpack<T: Row>(packed: &Packed<T>) -> &[T] {
    packed.unpacked.get_or_init(|| packed.all().collect())
}

impl<T: Row> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        match &self.blocks[number / BLOCK].rows {
            Rows::Dense(rows) => &rows[number % BLOCK],
            _ => self.row_elsewhere(number),
        }
    }
}

impl<T: Row> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        if !matches!(self.blocks[number / BLOCK].rows, Rows::Dense(_)) {
            return self.row_elsewhere_mut(number);
        }
        match &mut self.blocks[number / BLOCK].rows {
            Rows::Dense(rows) => &mut rows[number % BLOCK],
            _ => unreachable!("it is dense"),
        }
    }
}

/// The blocks of tables that are not packed, and how many rows of each are known to be finished.
#[derive(Default)]
pub(crate) struct Unpacked {
    blocks: Vec<(u32, u32)>,
    /// Number of blocks checked so far.
    seen: u32,
}

impl Unpacked {
    /// Packs the blocks of two tables with the same rows in which all messages are finished.
    pub fn pack<A: Row, B: Row>(
        &mut self,
        one: &mut Table<A>,
        other: &mut Table<B>,
        mut is_over: impl FnMut(&mut Table<A>, &mut Table<B>, usize) -> bool,
    ) {
        for block in one.forget().into_iter().chain(other.forget()) {
            if self.blocks.iter().all(|(known, _)| *known != block) {
                self.blocks.push((block, 0));
            }
        }
        let whole = (one.len() / BLOCK) as u32;
        self.blocks.extend((self.seen..whole).map(|block| (block, 0)));
        self.seen = whole;
        self.blocks.retain_mut(|(block, over)| {
            // Packed as it was loaded. It comes back once it is written to.
            if one.is_packed(*block) && other.is_packed(*block) {
                return false;
            }
            while (*over as usize) < BLOCK {
                let number = *block as usize * BLOCK + *over as usize;
                if one.has(number) && !is_over(one, other, number) {
                    return true;
                }
                *over += 1;
            }
            one.pack(*block);
            other.pack(*block);
            false
        });
    }
}

/// A difference of either sign: small where both are near each other.
fn from_to(from: u64, to: u64) -> u64 {
    let ahead = to.wrapping_sub(from) as i64;
    (ahead << 1 ^ ahead >> 63) as u64
}

/// The inverse of [`from_to`].
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
            u64::from(self.request) | u64::from(self.given_up) << 1,
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
            request: from[20] & 1 != 0,
            given_up: from[20] & 2 != 0,
        }
    }
}

impl Row for MessageState {
    const NUMBERS: usize = 8;

    fn write(&self, into: &mut [u64]) {
        debug_assert!(self.senders.is_none(), "only a message that is over is packed");
        into.copy_from_slice(&[
            self.ends.send.into(),
            self.ends.recv.into(),
            self.name >> 32,
            self.name & u64::from(u32::MAX),
            self.counts.into(),
            self.counts_acked.into(),
            self.answers.into(),
            self.waited.into(),
        ]);
    }

    fn read(from: &[u64]) -> Self {
        Self {
            ends: Ends { send: from[0] as u32, recv: from[1] as u32 },
            name: from[2] << 32 | from[3],
            counts: from[4] as u32,
            counts_acked: from[5] as u32,
            answers: from[6] as u32,
            waited: from[7] != 0,
            senders: None,
        }
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
            given_up: number.is_multiple_of(7),
        }
    }

    fn table(rows: u64) -> Table<FlowRecord> {
        let mut table = Table::default();
        (0..rows).for_each(|number| table.push(record(number)));
        table
    }

    #[test]
    fn packed_rows_read_as_they_were_written_and_take_a_fifth() {
        let rows = 3 * BLOCK as u64 + 5;
        let mut table = table(rows);
        table[BLOCK + 1].start = Time::NEVER;
        table[BLOCK + 2].packets_arrived = u32::MAX;
        let before = table.all();
        (0..3).for_each(|block| table.pack(block));
        assert_eq!((table.len(), table.all()), (rows as usize, before.clone()));
        assert!((0..rows as usize).all(|row| table[row] == before[row] && table.get(row) == Some(before[row])));
        assert_eq!(table.get(rows as usize), None);
        let Rows::Packed(packed) = &table.blocks[0].rows else { panic!("it was packed") };
        let bytes: usize = packed.columns.iter().map(|column| size_of::<Column>() + column.bytes.len()).sum();
        assert!(bytes < BLOCK * size_of::<FlowRecord>() / 5, "{bytes}");
    }

    #[test]
    fn a_packed_row_may_be_written_again() {
        let mut table = table(2 * BLOCK as u64);
        table.pack(0);
        table.pack(1);
        assert_eq!(table[3].timeouts, 0);
        table[3].timeouts = 9;
        assert_eq!((table[3].timeouts, table[4]), (9, record(4)));
        assert_eq!((table.forget(), table.forget()), (vec![0], vec![]));
        table.pack(0);
        assert_eq!(table.get(3).map(|row| row.timeouts), Some(9));
        assert_eq!(table.len(), 2 * BLOCK);
    }
}

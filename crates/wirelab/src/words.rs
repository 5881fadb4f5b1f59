//! Numbers as bytes, between the processes of a run.

use fanin_fabric::FlowRecord;
use fanin_units::Time;

/// Numbers of 64 bits, little-endian, one after another.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<u8>);

impl Words {
    /// Adds one.
    pub fn put(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    /// Adds several.
    pub fn all(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.put(word));
    }

    /// Adds a list with its length.
    pub fn list(&mut self, words: &[u64]) {
        self.put(words.len() as u64);
        self.all(words.iter().copied());
    }

    /// Adds a record.
    pub fn record(&mut self, of: &FlowRecord) {
        self.all([of.start, of.finished, of.acked, of.ideal].map(Time::as_ps));
        self.all([of.bytes, of.delivered, of.src.into(), of.dst.into(), of.group.into()]);
        self.all([of.packets_sent, of.packets_resent, of.timeouts, of.packets_marked].map(u64::from));
        self.all([of.packets_arrived, of.reordered].map(u64::from));
        self.all([of.traffic, of.hops, of.links, of.attempts].map(u64::from));
        self.all([of.deflections.into(), of.request.into(), of.given_up.into()]);
    }

    /// As bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads [`Words`]; `None` where they end too early.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next one.
    pub fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// The next ones.
    pub fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.word()?;
        }
        Some(words)
    }

    /// A list with its length.
    pub fn list(&mut self) -> Option<Vec<u64>> {
        let len = self.word()?;
        (0..len).map(|_| self.word()).collect()
    }

    /// A record.
    pub fn record(&mut self) -> Option<FlowRecord> {
        let [start, finished, acked, ideal] = self.words()?.map(Time::from_ps);
        let [bytes, delivered, src, dst, group] = self.words()?;
        let [packets_sent, packets_resent, timeouts, packets_marked, packets_arrived, reordered] =
            self.words()?.map(|word| word as u32);
        let [traffic, hops, links, attempts] = self.words()?.map(|word| word as u16);
        let [deflections, request, given_up] = self.words()?;
        Some(FlowRecord {
            start,
            finished,
            acked,
            ideal,
            bytes,
            delivered,
            packets_sent,
            packets_resent,
            timeouts,
            packets_marked,
            packets_arrived,
            reordered,
            hops,
            links,
            attempts,
            deflections: deflections as u8,
            request: request != 0,
            given_up: given_up != 0,
            ..FlowRecord::new(src as u32, dst as u32, bytes, traffic, group as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = FlowRecord {
            start: Time::from_ns(1),
            finished: Time::from_ns(2),
            acked: Time::NEVER,
            delivered: 4,
            ideal: Time::from_ns(5),
            packets_sent: 6,
            packets_resent: 7,
            timeouts: 8,
            packets_marked: 9,
            packets_arrived: 10,
            hops: 11,
            links: 12,
            deflections: 13,
            attempts: 14,
            reordered: 15,
            request: true,
            given_up: true,
            ..FlowRecord::new(16, 17, 18, 19, 20)
        };
        let mut words = Words::default();
        words.record(&record);
        words.list(&[1, 2, 3]);
        let mut read = Reader(words.bytes());
        assert_eq!((read.record(), read.list(), read.word()), (Some(record), Some(vec![1, 2, 3]), None));
    }
}

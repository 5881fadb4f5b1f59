//! One iterator of messages for all partitions: the first that needs a block generates it.

use crate::config::Message;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Messages generated at once, so that partitions seldom take the lock.
const BLOCK: usize = 1024;

type Messages = Box<dyn Iterator<Item = Message> + Send>;

struct Source {
    messages: Messages,
    /// Blocks that not all partitions have taken, each with the number that have yet to.
    blocks: VecDeque<(Arc<[Message]>, usize)>,
    /// Number of the first of these blocks.
    first: usize,
    readers: usize,
}

impl Source {
    fn block(&mut self, number: usize) -> Arc<[Message]> {
        while self.first + self.blocks.len() <= number {
            let block: Vec<Message> = self.messages.by_ref().take(BLOCK).collect();
            self.blocks.push_back((block.into(), self.readers));
        }
        let (block, left) = &mut self.blocks[number - self.first];
        *left -= 1;
        let block = block.clone();
        while self.blocks.front().is_some_and(|(_, left)| *left == 0) {
            self.blocks.pop_front();
            self.first += 1;
        }
        block
    }
}

/// The reader of one partition: all messages, in order.
pub(crate) struct Reader {
    source: Arc<Mutex<Source>>,
    block: Arc<[Message]>,
    at: usize,
    next: usize,
}

impl Reader {
    /// `readers` readers of the same messages.
    pub fn all(messages: Messages, readers: usize) -> Vec<Self> {
        let source = Source { messages, blocks: VecDeque::new(), first: 0, readers };
        let source = Arc::new(Mutex::new(source));
        (0..readers).map(|_| Self { source: source.clone(), block: Arc::new([]), at: 0, next: 0 }).collect()
    }
}

impl Iterator for Reader {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        if self.at == self.block.len() && (self.next == 0 || self.block.len() == BLOCK) {
            self.block = self.source.lock().unwrap_or_else(PoisonError::into_inner).block(self.next);
            self.next += 1;
            self.at = 0;
        }
        let message = self.block.get(self.at)?.clone();
        self.at += 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_sees_every_message_and_nothing_is_kept() {
        for count in [0, 1, BLOCK as u32, BLOCK as u32 + 1, 5000] {
            let message = |src| Message { src, bytes: 1, ..Message::default() };
            let mut readers = Reader::all(Box::new((0..count).map(message)), 3);
            let source = readers[0].source.clone();
            for reader in &mut readers {
                assert!(reader.map(|m| m.src).eq(0..count));
                assert!(reader.next().is_none());
            }
            assert!(source.lock().unwrap().blocks.is_empty());
        }
    }
}

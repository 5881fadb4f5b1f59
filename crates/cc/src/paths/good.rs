//! Good paths, first in first out.

use alloc::collections::VecDeque;

/// The most good paths that are kept. The original keeps all.
///
/// Each packet has at most one ACK, which adds one path, and each packet takes one path unless the list is empty. So
/// since the list was empty, at most as many were added in excess as packets were in flight then, and as the first
/// packets of the older REPS, which take none: a list is never longer than the most packets in flight and `paths`
/// together. Here it ends at 65,536, which is more than 260 MB in flight of one flow. Beyond it the path that waited
/// longest is forgotten, which says least about the network now.
const MOST_KEPT: usize = 1 << 16;

/// Good paths, first in first out.
#[derive(Clone, Debug, Default)]
pub(super) struct Good(VecDeque<u16>);

impl Good {
    pub(super) fn push(&mut self, path: u16) {
        if self.0.len() == MOST_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(path);
    }

    pub(super) fn pop(&mut self) -> Option<u16> {
        self.0.pop_front()
    }
}

//! Packets enter links.
//!
//! Source: uet-htsim's pipe.

use crate::events::Event;
use crate::network::Network;

impl Network<'_> {
    /// A packet enters a link.
    pub(crate) fn send_into(&mut self, link: u32, at: u32) {
        if let Some(due) = self.pipes[link as usize].push(self.events.now(), at, link) {
            self.events.at(due, Event::Pipe(link));
        }
    }
}

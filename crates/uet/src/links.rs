//! Packets enter links.
//!
//! Source: uet-htsim's pipe.

use crate::events::Event;
use crate::network::Network;

impl Network<'_> {
    /// A packet enters a link.
    pub(crate) fn send_into(&mut self, link: u32, at: u32) {
        let pipe = &mut self.pipes[link as usize];
        let due = self.events.now() + pipe.delay;
        if pipe.inside.is_empty() {
            self.events.at(due, Event::Pipe(link));
        }
        pipe.inside.push_back((due, at));
    }
}

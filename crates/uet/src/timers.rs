//! The retransmission timer of a sender, which runs for the oldest packet under way.
//!
//! Source: uet-htsim's source of UEC.

use crate::events::Event;
use crate::network::Network;
use crate::sender::Timer;
use crate::window::Record;

impl Network<'_> {
    /// Starts the timer for a packet sent at a time, unless it runs for an earlier one.
    pub(crate) fn start_timer(&mut self, s: u32, sent: u64) {
        let due = sent + self.settings.timeout;
        let expires = due.max(self.events.now());
        if self.sender(s).timer.is_some_and(|timer| timer.expires <= due) {
            return;
        }
        let sender = self.sender(s);
        sender.timer_number = sender.timer_number.wrapping_add(1);
        let event = Event::Timeout(s, sender.timer_number);
        let inserted = self.events.at(expires, event);
        self.sender(s).timer = inserted.then_some(Timer { expires, sent });
    }

    pub(crate) fn cancel_timer(&mut self, s: u32) {
        let sender = self.sender(s);
        sender.timer = None;
        sender.timer_number = sender.timer_number.wrapping_add(1);
    }

    /// If the timer runs for a packet that is not under way any more, it runs for the oldest one that is.
    pub(crate) fn renew_timer_of(&mut self, s: u32, gone: &Record) {
        if self.sender(s).timer.is_some_and(|timer| timer.sent == gone.time) {
            self.renew_timer(s);
        }
    }

    pub(crate) fn renew_timer(&mut self, s: u32) {
        self.cancel_timer(s);
        if let Some((_, sent)) = self.sender(s).window.oldest() {
            self.start_timer(s, sent);
        }
    }
}

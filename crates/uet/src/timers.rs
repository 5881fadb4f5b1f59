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
        let sender = &mut self.senders[s as usize];
        if sender.timer.is_some_and(|timer| timer.expires <= due) {
            return;
        }
        sender.timer = self.events.reserve(expires).map(|number| Timer { expires, sent, number });
        self.await_timer(s);
    }

    /// Inserts the event of a sender's timer, unless one of an earlier timer is there, which will do so when it comes:
    /// timers are set again so often that few of them ever expire.
    fn await_timer(&mut self, s: u32) {
        let sender = &mut self.senders[s as usize];
        if let Some(Timer { expires, number, .. }) = sender.timer
            && expires < sender.timeout
        {
            sender.timeout = expires;
            self.events.insert(expires, number, Event::Timeout(s));
        }
    }

    /// The event of a timer has come. Tells whether it is that of the timer that runs now.
    pub(crate) fn expires(&mut self, s: u32) -> bool {
        let (now, number) = (self.events.now(), self.events.taken());
        let sender = &mut self.senders[s as usize];
        if sender.timeout == now {
            sender.timeout = u64::MAX;
        }
        let expires = sender.timer.is_some_and(|timer| timer.number == number);
        if !expires {
            self.await_timer(s);
        }
        expires
    }

    pub(crate) fn cancel_timer(&mut self, s: u32) {
        self.sender(s).timer = None;
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

//! What comes to a part of a network in real time.
//!
//! The network is so many times slower than it would be. A frame carries the time at which its last bit arrives, which
//! follows from when its sender began to send it, its length and its link; the receiver handles it at that time,
//! whenever it came before. So what the machine takes changes nothing as long as it is less than a link's delay, and is
//! measured.

use crate::node::Item;
use crate::options::Stall;
use crate::pace::{MOST_BEHIND, NetworkClock, Timing};
use fanin_transport::{Control, Sent};
use fanin_units::{PortId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// A part that is this much behind in real time, and too much in network time, does not catch up in time.
const HOPELESS: Duration = Duration::from_millis(300);

/// What a part needs for real time.
pub(crate) struct Timed {
    pub clock: NetworkClock,
    pub timing: Timing,
    pub stall: Option<Stall>,
    /// The delay of each link.
    delays: Vec<Time>,
    /// When the last frame arrived that got a later time, by port.
    moved: BTreeMap<PortId, Time>,
}

impl Timed {
    pub fn new(slowdown: u64, delays: Vec<Time>, stall: Option<Stall>) -> Self {
        let clock = NetworkClock { begins: Duration::ZERO, from: Time::ZERO, slowdown };
        Self { clock, timing: Timing::default(), stall, delays, moved: BTreeMap::new() }
    }

    /// Records how late a frame is. A frame that is due before the time that this part has `reached` is moved to that
    /// time; several are, in order of arrival.
    pub fn admit(&mut self, item: Item, reached: Time) -> Item {
        match item {
            Item::Frame(sent) => {
                let delay = self.delays.get(sent.port.ix() / 2).copied().unwrap_or(Time::ZERO);
                self.timing.note(sent.arrives.saturating_sub(delay), self.clock.now(), delay);
                Item::Frame(self.moved(sent, reached))
            }
            Item::Control(to, bytes) => Item::Control(to, in_time(bytes, reached)),
        }
    }

    /// Whether the part is so far behind that the run will be rejected, and can as well end now.
    pub fn is_hopeless(&self) -> bool {
        let behind = Time::from_ps(self.timing.behind.largest());
        behind > MOST_BEHIND && behind > self.clock.network(HOPELESS)
    }

    fn moved(&mut self, sent: Sent, reached: Time) -> Sent {
        let after = self.moved.get(&sent.port).map_or(Time::ZERO, |last| last.saturating_add(Time::from_ps(1)));
        let arrives = sent.arrives.max(reached).max(after);
        if arrives == sent.arrives {
            return sent;
        }
        self.timing.moved += 1;
        self.moved.insert(sent.port, arrives);
        Sent { arrives, ..sent }
    }
}

/// A message about a connection. A tear-down that comes too late counts at once.
fn in_time(bytes: Vec<u8>, reached: Time) -> Vec<u8> {
    match Control::decode(&bytes) {
        Some(Control::TearDown(mut of)) if of.at < reached => {
            of.at = reached;
            let mut bytes = Vec::new();
            Control::TearDown(of).encode(&mut bytes);
            bytes
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_transport::TearDown;
    use fanin_units::{MessageId, NodeId};

    fn frame(port: u32, arrives: Time) -> Item {
        Item::Frame(Sent { port: PortId(port), arrives, bytes: Vec::new() })
    }

    #[test]
    fn frames_that_come_too_late_keep_their_order_and_others_their_time() {
        let mut timed = Timed::new(1, vec![Time::from_us(1); 2], None);
        let us = Time::from_us;
        for (port, arrives, expected) in [
            (0, us(4), us(5)),
            (0, us(5), us(5) + Time::from_ps(1)),
            (2, us(5), us(5)),
            (0, us(6), us(6)),
            (2, us(1), us(5)),
        ] {
            assert_eq!(timed.admit(frame(port, arrives), us(5)), frame(port, expected));
        }
        assert_eq!((timed.timing.moved, timed.timing.lateness.count()), (3, 5));
    }

    #[test]
    fn a_tear_down_that_comes_too_late_counts_at_once() {
        let mut timed = Timed::new(1, Vec::new(), None);
        let at = |at| {
            let mut bytes = Vec::new();
            Control::TearDown(TearDown { token: 1, message: MessageId(2), at }).encode(&mut bytes);
            Item::Control(NodeId(3), bytes)
        };
        assert_eq!(timed.admit(at(Time::from_us(1)), Time::from_us(2)), at(Time::from_us(2)));
        assert_eq!(timed.admit(at(Time::from_us(3)), Time::from_us(2)), at(Time::from_us(3)));
    }
}

//! Why a flow's sender sends nothing: followed event by event, for one flow of a run.

use crate::network::Network;
use crate::time;
use crate::wiring::NONE;

/// Why a flow does not send: the first that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// All its data is sent; it waits for acknowledgements.
    Acks,
    /// Its host's link is down.
    Link,
    /// Its queue is paused.
    Pfc,
    /// Its window is full.
    Window,
    /// Its rate makes it wait.
    Pacing,
    /// Its NIC sends other packets, or sleeps until the time of another flow.
    Nic,
}

/// An interval in which a flow waited at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The reason.
    pub why: Why,
    /// Start, ns.
    pub begin: u64,
    /// End, ns.
    pub end: u64,
}

/// A flow that is followed, and its waits so far.
#[derive(Clone, Debug)]
pub struct Follower {
    flow: usize,
    /// Packets it had sent, and the end of the last one's transmission, ns.
    sent: (u32, u64),
    /// Known up to this time, ns; and why it does not send since then.
    to: u64,
    standing: Option<Standing>,
    /// In order of time, without what took no time.
    pub waits: Vec<Wait>,
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    Held(Why),
    /// Its pacing until this time, and then its NIC.
    Due(u64),
}

impl Follower {
    /// Follows a flow, by its number in the order of the file.
    pub fn new(flow: u32) -> Self {
        Self { flow: flow as usize, sent: (0, 0), to: 0, standing: None, waits: Vec::new() }
    }

    /// Takes what the last event has changed.
    pub(crate) fn after_event(&mut self, network: &Network) {
        let now = network.now();
        self.settle(now);
        let Some(f) = network.flows().get(self.flow).filter(|f| f.device != NONE) else { return };
        if f.sent > self.sent.0 {
            let rate = network.wiring().devices[f.device as usize].rate;
            self.sent = (f.sent, now + time::transmission(f.last_size, rate));
        }
        self.standing = (!f.finished).then(|| network.standing(self.flow as u32));
    }

    /// Records the reason until now.
    fn settle(&mut self, now: u64) {
        let from = core::mem::replace(&mut self.to, now).max(self.sent.1);
        match self.standing {
            None => {}
            Some(Standing::Held(why)) => self.held(why, from, now),
            Some(Standing::Due(due)) => {
                let due = due.clamp(from, now.max(from));
                self.held(Why::Pacing, from, due);
                self.held(Why::Nic, due, now);
            }
        }
    }

    fn held(&mut self, why: Why, begin: u64, end: u64) {
        if end <= begin {
            return;
        }
        match self.waits.last_mut().filter(|last| (last.why, last.end) == (why, begin)) {
            Some(last) => last.end = end,
            None => self.waits.push(Wait { why, begin, end }),
        }
    }
}

impl Network {
    /// Why an open flow does not send now.
    fn standing(&self, flow: u32) -> Standing {
        let f = &self.flows[flow as usize];
        if f.next >= f.size {
            Standing::Held(Why::Acks)
        } else if !self.wiring.devices[f.device as usize].up {
            Standing::Held(Why::Link)
        } else if self.devices[f.device as usize].paused & 1 << f.pg != 0 {
            Standing::Held(Why::Pfc)
        } else if !self.may_send(flow) {
            Standing::Held(Why::Window)
        } else {
            Standing::Due(f.next_at)
        }
    }
}

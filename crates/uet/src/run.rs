//! A run, and what it comes to.

use crate::network::{Beyond, Lines, Network};
use crate::port::Counts;
use crate::receiver::{Arrivals, Receiver};
use crate::sender::{Counters, Sender};
use crate::setup::Setup;
use crate::topology::Cable;
use fanin_cc::uet::Account;

/// What became of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its number.
    pub number: u32,
    /// Sending host.
    pub from: u32,
    /// Receiving host.
    pub to: u32,
    /// Messages that it sends.
    pub messages: usize,
    /// Payload in bytes.
    pub size: u64,
    /// Payload in bytes that has arrived.
    pub delivered: u64,
    /// When it started, in picoseconds; `None` if it has not.
    pub started: Option<u64>,
    /// When all was acknowledged; `None` if that was not before the end.
    pub finished: Option<u64>,
    /// What its sender counted.
    pub counters: Counters,
    /// What its receiver counted.
    pub arrivals: Arrivals,
    /// What changed its window.
    pub account: Account,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The time in picoseconds.
    pub now: u64,
    /// Packets that left the port of a switch.
    pub hops: u64,
    /// Flows that have started.
    pub started: u64,
    /// Flows that have finished.
    pub finished: u64,
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// All flows, in the order of the matrix.
    pub flows: Vec<Flow>,
    /// The sums of their counters.
    pub sums: Counters,
    /// Each link in one direction, and what was counted where it begins.
    pub links: Vec<(Cable, Counts)>,
    /// Packets that left the port of a switch.
    pub hops: u64,
    /// Packets that receivers had already.
    pub duplicates: u64,
    /// Events that happened, without those of cancelled timers.
    pub events: u64,
    /// The time of the last of them in picoseconds.
    pub end: u64,
    /// From where on there is no reference.
    pub beyond: Option<Beyond>,
}

/// Events between two looks at the progress.
const LOOK_EVERY: u64 = 1 << 14;

impl Setup {
    /// Runs to the end, or until `go_on` says no. The lines that the original prints go to `output`. If there is a
    /// `record`, it gets the event log.
    pub fn run<'a>(
        &self,
        output: Lines<'a>,
        record: Option<Lines<'a>>,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Results {
        let mut network = Network::new(self, output, record);
        let mut look_at = LOOK_EVERY;
        while network.step() {
            if network.events.happened() >= look_at {
                look_at += LOOK_EVERY;
                if !go_on(network.progress()) {
                    break;
                }
            }
        }
        network.log_draws();
        network.results()
    }
}

impl Network<'_> {
    fn progress(&self) -> Progress {
        Progress { now: self.events.now(), hops: self.hops, started: self.started, finished: self.finished }
    }

    /// Prints the line of sums.
    fn results(mut self) -> Results {
        let flow = |(sender, receiver): (&Sender, &Receiver)| Flow {
            number: sender.flow,
            from: sender.host,
            to: sender.to,
            messages: sender.messages.count().max(1),
            size: sender.size,
            delivered: receiver.payload,
            started: sender.started,
            finished: sender.finished,
            counters: sender.counters,
            arrivals: receiver.arrivals,
            account: sender.nscc.account,
        };
        let flows: Vec<Flow> = self.senders.iter().zip(&self.receivers).map(flow).collect();
        let sum = |of: fn(&Counters) -> u64| flows.iter().map(|flow| of(&flow.counters)).sum();
        let sums = Counters {
            new: sum(|c| c.new),
            again: sum(|c| c.again),
            rts: sum(|c| c.rts),
            acks: sum(|c| c.acks),
            nacks: sum(|c| c.nacks),
            pulls: sum(|c| c.pulls),
            timeouts: sum(|c| c.timeouts),
            sleek: sum(|c| c.sleek),
        };
        self.print(&format!(
            "New: {} Rtx: {} RTS: {} Bounced: 0 ACKs: {} NACKs: {} Pulls: {} sleek_pkts: {}",
            sums.new, sums.again, sums.rts, sums.acks, sums.nacks, sums.pulls, sums.sleek
        ));
        let counts = self.host_queues.iter().map(|queue| queue.counts).chain(self.ports.iter().map(|port| port.counts));
        Results {
            flows,
            sums,
            links: self.cables.iter().map(|cable| self.as_it_is(*cable)).zip(counts).collect(),
            hops: self.hops,
            duplicates: self.duplicates,
            events: self.events.happened(),
            end: self.events.last(),
            beyond: self.beyond,
        }
    }
}

//! A run from texts to results.

use crate::error::{Error, Place, error};
use crate::matrix::Matrix;
use crate::network::{Lines, Network};
use crate::nscc::Account;
use crate::options::Options;
use crate::port::Counts;
use crate::receiver::Arrivals;
use crate::sender::Counters;
use crate::settings::Settings;
use crate::topology::{Cable, Topology};

/// Options, matrix and topology, read and checked.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) options: Options,
    pub(crate) matrix: Matrix,
    pub(crate) topology: Topology,
    pub(crate) settings: Settings,
}

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
    /// Payload in bytes that its sender knows to have arrived.
    pub acknowledged: u64,
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

/// Where a run goes on although the original aborts: from there on it has no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// When, in picoseconds.
    pub at: u64,
    /// Why the original aborts.
    pub why: &'static str,
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
    /// Events.
    pub events: u64,
    /// The time of the last event in picoseconds.
    pub end: u64,
    /// From where on there is no reference.
    pub beyond: Option<Beyond>,
}

/// Events between two looks at the progress.
const LOOK_EVERY: u64 = 1 << 14;

/// The most packets of a connection.
const MOST_PACKETS: u64 = 1 << 30;

impl Setup {
    /// Reads a connection matrix, on a topology or else on a fat tree of as many hosts.
    pub fn new(options: Options, matrix: &str, topology: Option<&str>) -> Result<Self, Error> {
        let matrix = Matrix::parse(matrix)?;
        let topology = match topology {
            Some(text) => Topology::parse(text)?,
            None => Topology::fat_tree(matrix.nodes, &options)?,
        };
        let settings = Settings::new(&options, &topology)?;
        let setup = Self { options, matrix, topology, settings };
        setup.check()?;
        Ok(setup)
    }

    /// What only options, matrix and topology together can violate.
    fn check(&self) -> Result<(), Error> {
        let Self { options, matrix, topology, .. } = self;
        if matrix.nodes > topology.hosts {
            let (nodes, hosts) = (matrix.nodes, topology.hosts);
            let what = format!("Nodes is {nodes} and the topology has {hosts} hosts; they must be at most as many");
            return error(Place::Matrix(0), what);
        }
        if options.slow_links > 0 && topology.tiers == 2 {
            return error(Place::Options, "-failed needs a network of three tiers; leave it out, or -tiers 2");
        }
        let triggered = matrix.connections.iter().find(|c| c.start_us.is_none() || c.done.is_some());
        if let Some(triggered) = triggered.filter(|_| options.reuse) {
            let what = "a trigger with -conn_reuse cannot run, and aborts the original; leave one of them out";
            return error(Place::Matrix(triggered.line), what);
        }
        let mss = u64::from(options.mtu) - 64;
        let packets = matrix.connections.iter().map(|c| c.size / mss);
        let largest = if options.reuse { packets.sum() } else { packets.max().unwrap_or(0) };
        if largest > MOST_PACKETS {
            let what = format!("a connection has {largest} packets; at most {MOST_PACKETS} are possible");
            return error(Place::Matrix(0), what);
        }
        Ok(())
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Hosts, switches of the lowest tier, of the second, and cores.
    pub fn nodes(&self) -> [u32; 4] {
        let t = &self.topology;
        [t.hosts, t.tors(), t.aggregations(), t.cores]
    }

    /// When the last connection starts of those that need no trigger, in picoseconds.
    pub fn last_start(&self) -> u64 {
        self.matrix.connections.iter().filter_map(|c| c.start_us).max().unwrap_or(0) * 1_000_000
    }

    /// Packets that all connections have at least, each of them on as many links as its way has: the work of a run.
    pub fn packet_hops(&self) -> f64 {
        let of = |c: &crate::matrix::Connection| {
            let packets = c.size.div_ceil(self.settings.mss as u64) as f64;
            packets * self.topology.way(c.from, c.to).len() as f64
        };
        self.matrix.connections.iter().map(of).sum()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.matrix.connections.len()
    }

    /// What is to be known before it runs.
    pub fn warnings(&self) -> Vec<Error> {
        let without = &self.options.without_effect;
        let of_options =
            without.iter().map(|option| Error { place: Place::Options, what: format!("{option} has no effect here") });
        of_options.chain(self.matrix.warnings.iter().cloned()).collect()
    }

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
        let flow = |(sender, receiver): (&crate::sender::Sender, &crate::receiver::Receiver)| Flow {
            number: sender.flow,
            from: sender.host,
            to: sender.to,
            messages: sender.messages.count().max(1),
            size: sender.size,
            acknowledged: sender.acknowledged,
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
        };
        self.print(&format!(
            "New: {} Rtx: {} RTS: {} Bounced: 0 ACKs: {} NACKs: {} Pulls: {} sleek_pkts: 0",
            sums.new, sums.again, sums.rts, sums.acks, sums.nacks, sums.pulls
        ));
        let counts = self.host_queues.iter().map(|queue| queue.counts).chain(self.ports.iter().map(|port| port.counts));
        Results {
            flows,
            sums,
            links: self.cables.iter().copied().zip(counts).collect(),
            hops: self.hops,
            duplicates: self.duplicates,
            events: self.events.happened(),
            end: self.events.now(),
            beyond: self.beyond,
        }
    }
}

//! A run from texts to results.

use crate::error::{Error, error};
use crate::matrix::Matrix;
use crate::network::{Lines, Network};
use crate::nscc::Account;
use crate::options::Options;
use crate::sender::{Counters, Sender};
use crate::topology::Topology;

/// What became of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// `Uec_FROM_TO`.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// Sending host.
    pub from: u32,
    /// Receiving host.
    pub to: u32,
    /// Payload in bytes.
    pub size: u64,
    /// When it started, in picoseconds; `None` if it has not.
    pub started: Option<u64>,
    /// When all was acknowledged; `None` if that was not before the end.
    pub finished: Option<u64>,
    /// What its sender counted.
    pub counters: Counters,
    /// What changed its window.
    pub account: Account,
}

impl Flow {
    fn of(sender: &Sender) -> Self {
        Self {
            name: sender.name.clone(),
            number: sender.flow,
            from: sender.host,
            to: sender.to,
            size: sender.size,
            started: sender.started,
            finished: sender.finished,
            counters: sender.counters,
            account: sender.nscc.account,
        }
    }
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// All flows, in the order of the matrix.
    pub flows: Vec<Flow>,
    /// The sums of their counters.
    pub sums: Counters,
    /// Packets that left the port of a switch.
    pub hops: u64,
    /// Lines of dropped packets.
    pub dropped: u64,
    /// Packets that receivers had already.
    pub duplicates: u64,
    /// The time of the last event in picoseconds.
    pub end: u64,
}

/// Runs a connection matrix, on a topology or else on a fat tree of as many hosts. The lines that the original prints
/// go to `output`. If there is a `record`, it gets the event log.
pub fn simulate<'a>(
    options: &Options,
    matrix: &str,
    topology: Option<&str>,
    output: Lines<'a>,
    record: Option<Lines<'a>>,
) -> Result<Results, Error> {
    let matrix = Matrix::parse(matrix)?;
    let topology = match topology {
        Some(text) => Topology::parse(text)?,
        None => Topology::fat_tree(matrix.nodes, options)?,
    };
    check(options, &matrix, &topology)?;
    let mut network = Network::new(options, &matrix, topology, output, record)?;
    network.run()?;
    let flows: Vec<Flow> = network.senders.iter().map(Flow::of).collect();
    let sum = |of: fn(&Counters) -> u64| flows.iter().map(|flow| of(&flow.counters)).sum();
    let sums = Counters {
        new: sum(|c| c.new),
        again: sum(|c| c.again),
        rts: sum(|c| c.rts),
        acks: sum(|c| c.acks),
        nacks: sum(|c| c.nacks),
        pulls: sum(|c| c.pulls),
    };
    network.print(&format!(
        "New: {} Rtx: {} RTS: {} Bounced: 0 ACKs: {} NACKs: {} Pulls: {} sleek_pkts: 0",
        sums.new, sums.again, sums.rts, sums.acks, sums.nacks, sums.pulls
    ));
    let (hops, dropped, duplicates) = (network.hops, network.dropped, network.duplicates);
    Ok(Results { flows, sums, hops, dropped, duplicates, end: network.events.now() })
}

/// The most packets of a connection.
const MOST_PACKETS: u64 = 1 << 30;

/// What only options, matrix and topology together can violate.
fn check(options: &Options, matrix: &Matrix, topology: &Topology) -> Result<(), Error> {
    if matrix.nodes > topology.hosts {
        return error(format!("the matrix has {} hosts, the topology {}", matrix.nodes, topology.hosts));
    }
    if options.slow_links > 0 && topology.tiers == 2 {
        return error("-failed needs a network of three tiers");
    }
    if options.reuse && matrix.connections.iter().any(|c| c.start_us.is_none() || c.done.is_some()) {
        return error("-conn_reuse with triggers aborts the original");
    }
    let mss = u64::from(options.mtu) - 64;
    let packets = matrix.connections.iter().map(|c| c.size / mss);
    let largest = if options.reuse { packets.sum() } else { packets.max().unwrap_or(0) };
    if largest > MOST_PACKETS {
        return error(format!("a connection of {largest} packets is too large: at most {MOST_PACKETS} are possible"));
    }
    Ok(())
}

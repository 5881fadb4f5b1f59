//! What runs: options, matrix and topology.

use crate::error::{Error, Place, error};
use crate::matrix::{Connection, Matrix};
use crate::options::Options;
use crate::settings::Settings;
use crate::topology::{Cable, Topology};

/// The most packets of a connection.
const MOST_PACKETS: u64 = 1 << 30;

/// Options, matrix and topology, read and checked.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) options: Options,
    pub(crate) matrix: Matrix,
    pub(crate) topology: Topology,
    pub(crate) settings: Settings,
    /// Links that have failed.
    pub(crate) failed: Vec<u32>,
}

impl Setup {
    /// Reads a connection matrix, on a topology or else on a fat tree of as many hosts.
    pub fn new(options: Options, matrix: &str, topology: Option<&str>) -> Result<Self, Error> {
        let matrix = Matrix::parse(matrix)?;
        let topology = match topology {
            Some(text) => Topology::parse(text)?,
            None => Topology::fat_tree(matrix.nodes, &options)?,
        };
        let settings = Settings::new(&options, &topology)?;
        let mut setup = Self { options, matrix, topology, settings, failed: Vec::new() };
        setup.check()?;
        setup.fail_links()?;
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
        let mss = u64::from(options.mtu) - 64;
        let packets = matrix.connections.iter().map(|c| c.size / mss);
        let largest = if options.reuse { packets.sum() } else { packets.max().unwrap_or(0) };
        if largest > MOST_PACKETS {
            let what = format!("a connection has {largest} packets; at most {MOST_PACKETS} are possible");
            return error(Place::Matrix(0), what);
        }
        Ok(())
    }

    /// Finds the links that have failed, and whether all pods can still reach each other.
    fn fail_links(&mut self) -> Result<(), Error> {
        let topology = &self.topology;
        let each = topology.pod_aggregations;
        for failure in &self.matrix.failures {
            // The original's number of the core, which is not always linked to this switch.
            let core = (failure.switch % each).saturating_mul(each).saturating_add(failure.link);
            let Some(links) = topology.between(failure.switch, core) else {
                let (switch, link) = (failure.switch, failure.link);
                let what = format!(
                    "AGG {switch} has no link {link} to a core; link_id leads to core (switch_id mod {each}) * {each} \
                     + link_id, which must be linked to it"
                );
                return error(Place::Matrix(failure.line), what);
            };
            self.failed.extend(links);
        }
        let Some(last) = self.matrix.failures.last() else { return Ok(()) };
        for a in 0..topology.aggregations() {
            for pod in (0..topology.pods).filter(|pod| *pod != a / each) {
                if topology.ways_up(a, pod, &self.failed).is_empty() {
                    let what = format!("no link is left from AGG {a} to pod {pod}; let fewer fail");
                    return error(Place::Matrix(last.line), what);
                }
            }
        }
        Ok(())
    }

    /// All links, each direction for itself.
    pub fn cables(&self) -> Vec<Cable> {
        self.topology.cables(self.settings.rate)
    }

    /// What follows from options and topology.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Payload of all connections in bytes.
    pub fn bytes(&self) -> u64 {
        self.matrix.connections.iter().map(|c| c.size).sum()
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

    /// Links, each direction for itself.
    pub fn links(&self) -> u64 {
        self.topology.links()
    }

    /// Packets that all connections have at least, each of them on as many links as its way has: the work of a run.
    pub fn packet_hops(&self) -> f64 {
        let of = |c: &Connection| {
            let packets = c.size.div_ceil(self.settings.mss as u64) as f64;
            packets * self.topology.way(c.from, c.to).len() as f64
        };
        self.matrix.connections.iter().map(of).sum()
    }

    /// Links of the way between two hosts.
    pub fn hops(&self, from: u32, to: u32) -> u16 {
        self.topology.way(from, to).len() as u16
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
        let sleek = self.options.sleek.then(|| Error {
            place: Place::Options,
            what: "no run of uet-htsim with -sleek was recorded, so this run has no reference".to_owned(),
        });
        of_options.chain(sleek).chain(self.matrix.warnings.iter().cloned()).collect()
    }
}

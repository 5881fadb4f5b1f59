//! A matrix, a topology and options: read and checked.

use crate::error::why_unread;
use crate::{Problem, Problems};
use fanin_fabric::topology::{Graph, Link};
use fanin_formats::Error;
use fanin_uet::{Cable, Node, Options, Place};
use fanin_units::{NodeId, Rate, Time};
use std::path::Path;

/// The name of the ideal of slowdowns.
pub const IDEAL: &str = "empty-network";
/// The name of the traffic.
pub const TRAFFIC: &str = "all";
/// The option that has that simulator's options, for errors.
const OPTIONS: &str = "--uec-options";

/// A matrix, a topology and options, read and checked.
#[derive(Clone, Debug)]
pub struct Setup {
    network: fanin_uet::Setup,
    matrix: String,
    topology: Option<String>,
    options: String,
}

impl Setup {
    /// Reads the files; without a topology it is the fat tree of as many hosts as the matrix has. `options` are those
    /// of that simulator's command line.
    ///
    /// # Errors
    /// The problem with file, line and correction.
    pub fn read(matrix: &str, topology: Option<&str>, options: &str) -> Result<Self, Problems> {
        let tell = |error| problem(error, matrix, topology);
        let texts = (text(matrix)?, topology.map(text).transpose()?);
        let parsed = Options::parse(options.split_whitespace()).map_err(tell)?;
        let network = fanin_uet::Setup::new(parsed, &texts.0, texts.1.as_deref()).map_err(tell)?;
        let (matrix, topology) = (matrix.to_string(), topology.map(str::to_string));
        Ok(Self { network, matrix, topology, options: options.to_string() })
    }

    /// The network with what runs on it.
    pub fn network(&self) -> &fanin_uet::Setup {
        &self.network
    }

    /// The matrix's file name, without its ending.
    pub fn name(&self) -> String {
        Path::new(&self.matrix).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    /// The seed of its random numbers.
    pub fn seed(&self) -> u64 {
        self.network.options().seed.into()
    }

    /// The network: hosts, then switches from the lowest tier on, and a link for both directions. A link that option
    /// `-failed` makes slow, in most networks in one direction alone, has its usual rate here.
    pub fn graph(&self) -> Graph {
        let [hosts, tors, aggregations, cores] = self.network.nodes();
        let named = |name: &'static str, count: u32| (0..count).map(move |n| format!("{name}{n}"));
        let names = named("h", hosts).chain(named("tor", tors)).chain(named("agg", aggregations));
        let link = |cable: Cable| {
            let [a, b] = [cable.from, cable.to].map(|node| self.number(node));
            (a < b).then(|| Link::new(a, b, Rate::from_bps(cable.rate), Time::from_ps(cable.latency)))
        };
        let links = self.network.cables().into_iter().filter_map(link).collect();
        Graph { hosts, names: names.chain(named("core", cores)).collect(), links }
    }

    /// The number of a node there.
    pub fn number(&self, node: Node) -> NodeId {
        let [hosts, tors, aggregations, _] = self.network.nodes();
        NodeId(match node {
            Node::Host(n) => n,
            Node::Tor(n) => hosts + n,
            Node::Aggregation(n) => hosts + tors + n,
            Node::Core(n) => hosts + tors + aggregations + n,
        })
    }

    /// Warnings that are known before it runs, each with its file.
    pub fn warnings(&self) -> Vec<String> {
        let tell = |warning| problem(warning, &self.matrix, self.topology.as_deref()).to_string();
        self.network.warnings().into_iter().map(tell).collect()
    }

    /// What ran, in a run's folder: the files, the options, and the names in the tables.
    pub fn document(&self) -> String {
        let quote = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let absolute =
            |file: &str| std::path::absolute(file).map_or_else(|_| file.into(), |path| path.display().to_string());
        let [hosts, others @ ..] = self.network.nodes();
        let switches: u32 = others.iter().sum();
        let kind = self.topology.as_ref().and_then(|file| Path::new(file).file_name()?.to_str()).unwrap_or("fat tree");
        let what = format!(
            "name = {}\nseed = {}\nuec_matrix = {}\nuec_topology = {}\n",
            quote(&self.name()),
            self.seed(),
            quote(&absolute(&self.matrix)),
            quote(&self.topology.as_deref().map(absolute).unwrap_or_default()),
        );
        let options: String =
            self.given().iter().map(|(option, value)| format!("{option} = {}\n", quote(value))).collect();
        let network = format!("kind = {}\nhosts = {hosts}\nswitches = {switches}\n", quote(kind));
        let us = self.network.options().end_us;
        let measured = format!("warm_up = \"0 s\"\nwindow = \"{us} us\"\nslowdown = \"{}\"\n", IDEAL);
        let scheme = self.network.options().scheme();
        let traffic = format!("name = {}\nscheme = {}\n", quote(TRAFFIC), quote(&scheme));
        format!(
            "# A connection matrix of uet-htsim, run on its own network; not a spec.\n{what}\n[uec_options]\n{options}\
             \n[network.topology]\n{network}\n[measure]\n{measured}\n[[traffic]]\n{traffic}"
        )
    }

    /// The options that were given, without the seed, each with its values; the last one counts.
    fn given(&self) -> Vec<(&str, String)> {
        let mut given: Vec<(&str, String)> = Vec::new();
        for word in self.options.split_whitespace() {
            match (word.strip_prefix('-'), given.last_mut()) {
                (Some(option), _) => {
                    given.retain(|(other, _)| *other != option);
                    given.push((option, String::new()));
                }
                (None, Some((_, value))) if value.is_empty() => value.push_str(word),
                (None, Some((_, value))) => *value = format!("{value} {word}"),
                (None, None) => {}
            }
        }
        given.retain(|(option, _)| *option != "seed");
        given
    }
}

/// The text of a file.
fn text(file: &str) -> Result<String, Problem> {
    let fail = |line, what| Problem::from(Error { file: file.to_string(), line, what });
    let bytes = fanin_formats::input::read(std::path::Path::new(file))
        .map_err(|e| fail(0, format!("cannot be read: {}", why_unread(&e))))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count() as u32;
        fail(line, "this is not a text file; save the file as UTF-8".into())
    })
}

/// The problem, with the file that it is about.
fn problem(error: fanin_uet::Error, matrix: &str, topology: Option<&str>) -> Problem {
    let (file, line) = match error.place {
        Place::Options => (OPTIONS, 0),
        Place::Matrix(line) => (matrix, line),
        Place::Topology(line) => (topology.unwrap_or_default(), line),
    };
    Problem::from(Error { file: file.to_string(), line, what: error.what })
}

//! Files of graphs: a GOAL file, the Chakra traces of all ranks, a workload of SimAI, an algorithm of MSCCL, or a flow
//! table of SimCCL.

use crate::chakra::{self, Groups, Trace};
use crate::goal::Goal;
use crate::msccl::Algorithm;
use crate::simai::Workload;
use crate::simccl::FlowTable;
use crate::{Error, Errors, Warning};
use fanin_graph::collectives::Method;
use fanin_graph::job::{Listed, Wrong};
use fanin_graph::loggp::{self, Parameters};
use fanin_graph::{Holds, Job, Kind, Node, Problem, Rules, Source, WINDOW, check};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Unfinished nodes of a rank that the check sees at once; it sees more where it must.
const CHECKED: usize = 1 << 12;

/// The nodes of a rank of a job, for a file.
struct OfJob(Listed);

impl Source for OfJob {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        self.0.next(node).map_err(|never| match never {})
    }
}

/// Files that are written beside their places, and take these together once all are whole. What took none is removed.
#[derive(Default)]
struct Beside(Vec<[PathBuf; 2]>);

impl Beside {
    /// Where a file is written until it takes its place.
    fn part_of(&mut self, place: PathBuf) -> PathBuf {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let part = place.with_file_name(format!(".{name}.part"));
        self.0.push([part.clone(), place]);
        part
    }

    fn take_places(mut self) -> Result<Vec<PathBuf>, Error> {
        let mut placed = Vec::with_capacity(self.0.len());
        while let Some([part, place]) = self.0.last() {
            std::fs::rename(part, place).map_err(|cause| failed(place, &cause))?;
            placed.extend(self.0.pop().map(|[_, place]| place));
        }
        placed.reverse();
        Ok(placed)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for [part, _] in &self.0 {
            let _ = std::fs::remove_file(part);
        }
    }
}

fn failed(file: &Path, cause: &std::io::Error) -> Error {
    Error { file: file.display().to_string(), line: 0, what: cause.to_string() }
}

/// Writes a job, with collectives as their messages: a GOAL schedule to a file that ends in `.goal` or `.bin`,
/// otherwise Chakra traces `PREFIX.RANK.et`. Returns the files.
///
/// # Errors
/// A file cannot be written, or a node cannot be expressed in it; then none is there that was not before.
pub fn write(job: &Job, path: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = path.display().to_string();
    let mut sources: Vec<OfJob> = job.messages_only().into_iter().map(OfJob).collect();
    let mut beside = Beside::default();
    let end = path.extension().and_then(|end| end.to_str());
    if let Some(end @ ("goal" | "bin")) = end {
        let goal = Goal::from_sources(&mut sources, &file)?;
        let bytes = if end == "bin" { goal.to_binary() } else { goal.to_text().into_bytes() };
        std::fs::write(beside.part_of(path.to_path_buf()), bytes).map_err(|cause| failed(path, &cause))?;
        return beside.take_places();
    }
    for (rank, mut source) in sources.into_iter().enumerate() {
        let path = PathBuf::from(format!("{file}.{rank}.et"));
        let part = std::fs::File::create(beside.part_of(path.clone())).map_err(|cause| failed(&path, &cause))?;
        let mut output = std::io::BufWriter::new(part);
        chakra::write(&mut source, &mut output, &path.display().to_string())?;
        std::io::Write::flush(&mut output).map_err(|cause| failed(&path, &cause))?;
    }
    beside.take_places()
}

/// What the ranks of graphs do, with collectives as the messages of their default algorithms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Ranks.
    pub ranks: usize,
    /// Nodes of all ranks.
    pub nodes: u64,
    /// Messages ...
    pub messages: u64,
    /// ... and their bytes.
    pub bytes: u64,
    /// Computations that take time ...
    pub computations: u64,
    /// ... and their times together, in ns.
    pub computing_ns: u64,
    /// Collectives by group and operation, in the order in which ranks name them.
    pub groups: Vec<Group>,
}

/// Collectives of one kind among the same ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The ranks, by place.
    pub ranks: Vec<u32>,
    /// The operation.
    pub operation: &'static str,
    /// Its algorithm.
    pub algorithm: &'static str,
    /// How many there are.
    pub collectives: u64,
    /// Bytes of all, as nccl-tests counts them.
    pub bytes: u64,
}

/// The graphs of a run.
#[derive(Clone, Debug)]
pub enum Graphs {
    /// A schedule, and its file.
    Goal(Goal, String),
    /// A trace for each rank, and the process groups of a file beside them.
    Chakra(Vec<PathBuf>, Arc<Groups>),
    /// A workload, and its file.
    SimAi(Workload, String),
    /// An algorithm for a vector of some size, and its file.
    Msccl(Algorithm, String),
    /// Collectives as flows, and their file.
    SimCcl(FlowTable, String),
}

/// What the files of graphs are called in a spec.
pub const KINDS: [&str; 5] = ["goal", "chakra", "simai", "msccl", "simccl"];

/// The kind of a file of graphs: by its name, or of a text by its first words.
pub fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let [goal, chakra, simai, msccl, simccl] = KINDS;
    if name.ends_with(".goal") || name.ends_with(".bin") {
        return Some(goal);
    }
    if name.ends_with(".et") || name.ends_with(".et.gz") {
        return Some(chakra);
    }
    if name.ends_with(".xml") {
        return Some(msccl);
    }
    let mut begin = [0; 512];
    let read = crate::input::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut begin)).ok()?;
    let begin = &begin[..read];
    Workload::is_one(begin).then_some(simai).or(FlowTable::is_one(begin).then_some(simccl))
}

/// A size was given for a file that says its bytes itself.
fn without_size(file: String) -> Error {
    Error { file, line: 0, what: "a size goes with algorithms of MSCCL; this file has its own bytes".into() }
}

impl Graphs {
    /// Opens a GOAL file, a workload, a flow table, an algorithm for a vector of
    /// [`USUAL_SIZE`](crate::msccl::USUAL_SIZE), or the traces of all ranks by the one of any.
    ///
    /// # Errors
    /// The file cannot be read, or a trace is missing.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_as(kind_of(path).unwrap_or("chakra"), path)
    }

    /// The same of a file that is said to be of one of the [`KINDS`].
    ///
    /// # Errors
    /// As [`open`](Self::open), and the file is of another kind.
    pub fn open_as(kind: &str, path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        let wrong = |cause: std::io::Error| Error { file: file.clone(), line: 0, what: cause.to_string() };
        match kind {
            "goal" => Ok(Self::Goal(Goal::read(&crate::input::read(path).map_err(wrong)?, &file)?, file)),
            "msccl" => Ok(Self::Msccl(Algorithm::read(&crate::input::read(path).map_err(wrong)?, &file)?, file)),
            "simccl" => Ok(Self::SimCcl(FlowTable::read(&crate::input::read(path).map_err(wrong)?, &file)?, file)),
            "simai" => Ok(Self::SimAi(Workload::read(&crate::input::read(path).map_err(wrong)?, &file)?, file)),
            _ => Ok(Self::Chakra(chakra::ranks(path)?, Arc::default())),
        }
    }

    /// The graphs with the process groups of a file such as `{"1": [0, 1], "2": [2, 3]}`, as ASTRA-sim reads it.
    /// Traces that define groups themselves may lack one.
    ///
    /// # Errors
    /// The file cannot be read, a group has a rank that is not there, or these are no traces.
    pub fn with_groups(mut self, file: &Path) -> Result<Self, Error> {
        let count = self.ranks();
        let name = file.display().to_string();
        let wrong = |line, what: String| Error { file: name.clone(), line, what };
        let Self::Chakra(_, groups) = &mut self else {
            let what = "process groups go with Chakra traces; a GOAL schedule and an algorithm of MSCCL have none, and \
                        a workload of SimAI its own";
            return Err(wrong(0, what.into()));
        };
        let bytes = crate::input::read(file).map_err(|cause| wrong(0, cause.to_string()))?;
        *groups = Arc::new(chakra::read_groups(&bytes, &name, count)?);
        Ok(self)
    }

    /// An algorithm for a vector of `size` bytes.
    ///
    /// # Errors
    /// A chunk has less than a byte, a message is too large, or this is no algorithm of MSCCL.
    pub fn with_size(self, size: u64) -> Result<Self, Error> {
        match self {
            Self::Msccl(algorithm, file) => Ok(Self::Msccl(algorithm.with_size(size, &file)?, file)),
            Self::Goal(_, file) | Self::SimAi(_, file) | Self::SimCcl(_, file) => Err(without_size(file)),
            Self::Chakra(files, _) => {
                Err(without_size(files.first().map_or(String::new(), |file| file.display().to_string())))
            }
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        match self {
            Self::Goal(goal, _) => goal.ranks.len(),
            Self::Chakra(files, _) => files.len(),
            Self::SimAi(workload, _) => workload.ranks(),
            Self::Msccl(algorithm, _) => algorithm.ranks(),
            Self::SimCcl(table, _) => table.ranks(),
        }
    }

    /// How the nodes of a rank share its slots.
    pub fn rules(&self) -> Rules {
        match self {
            Self::Goal(..) | Self::SimAi(..) | Self::Msccl(..) | Self::SimCcl(..) => {
                Rules { holds: Holds::Work, first_ready: true }
            }
            Self::Chakra(..) => Rules { holds: Holds::WorkAndSends, first_ready: false },
        }
    }

    /// The nodes of each rank.
    ///
    /// # Errors
    /// A trace cannot be opened.
    pub fn sources(&self) -> Result<Vec<Box<dyn Source<Error = Error> + '_>>, Error> {
        match self {
            Self::Goal(goal, _) => Ok(goal.sources().into_iter().map(|nodes| Box::new(nodes) as _).collect()),
            Self::Chakra(files, groups) => {
                let open = |(file, rank): (&std::path::PathBuf, u32)| {
                    Ok(Box::new(Trace::open(file, rank)?.with_groups(Arc::clone(groups))) as _)
                };
                files.iter().zip(0..).map(open).collect()
            }
            Self::SimAi(workload, _) => Ok(workload.sources().into_iter().map(|nodes| Box::new(nodes) as _).collect()),
            Self::Msccl(of, _) => Ok(of.sources().into_iter().map(|nodes| Box::new(nodes) as _).collect()),
            Self::SimCcl(table, _) => Ok(table.sources().into_iter().map(|nodes| Box::new(nodes) as _).collect()),
        }
    }

    /// Checks the graphs before a run.
    ///
    /// # Errors
    /// What is broken, and what could not run.
    pub fn check(&self) -> Result<Vec<Warning>, Errors> {
        let problems = check(&mut self.sources()?, self.rules(), CHECKED)?;
        let (warnings, wrong): (Vec<Problem>, Vec<Problem>) = problems.into_iter().partition(Problem::is_warning);
        let mut errors = Errors::default();
        wrong.iter().for_each(|problem| errors.push(self.place(problem)));
        let warning = |problem| {
            let Error { file, line, what } = self.place(problem);
            Warning { file, line, what }
        };
        let of_file = if let Self::SimAi(workload, _) = self { workload.warnings() } else { Vec::new() };
        errors.or(of_file.into_iter().chain(warnings.iter().map(warning)).collect())
    }

    /// The job of these graphs, with collectives as the messages of their algorithms.
    ///
    /// # Errors
    /// What is broken, and a collective that cannot be carried out.
    pub fn job(&self, rules: Rules, method: &Method) -> Result<Job, Error> {
        Job::new(&mut self.sources()?, rules, method).map_err(|wrong| match wrong {
            Wrong::Source(error) => error,
            Wrong::Node { rank, id, what } => {
                let what = format!("rank {rank}: {} {what}", self.name(rank, id));
                self.error(rank, id, what)
            }
        })
    }

    /// Network interfaces of a rank.
    pub fn interfaces(&self) -> u32 {
        match self {
            Self::Goal(goal, _) => goal.interfaces(),
            Self::Chakra(..) | Self::SimAi(..) | Self::Msccl(..) | Self::SimCcl(..) => 1,
        }
    }

    /// When each rank has finished by LogGOPS, in nanoseconds.
    ///
    /// # Errors
    /// What is broken, and what has not ended.
    pub fn finish(&self, parameters: Parameters) -> Result<Vec<u64>, Errors> {
        let (finished, problems) = loggp::finish(&mut self.sources()?, parameters, WINDOW)?;
        let mut errors = Errors::default();
        problems.iter().for_each(|problem| errors.push(self.place(problem)));
        errors.or(finished)
    }

    /// What the ranks of a [job](Self::job) of these graphs do.
    pub fn overview(job: &Job) -> Overview {
        let mut of = Overview { ranks: job.ranks.len(), ..Overview::default() };
        for step in (0..job.ranks.len() as u32).flat_map(|rank| job.steps(rank)) {
            of.nodes += 1;
            match step.kind {
                Kind::Send { bytes, .. } => {
                    of.messages += 1;
                    of.bytes = of.bytes.saturating_add(bytes);
                }
                Kind::Delay { ns } if ns > 0 => {
                    of.computations += 1;
                    of.computing_ns = of.computing_ns.saturating_add(ns);
                }
                _ => {}
            }
        }
        for one in &job.collectives {
            let key = |group: &&mut Group| {
                *group.ranks == *one.members
                    && (group.operation, group.algorithm) == (one.operation.name(), one.algorithm)
            };
            match of.groups.iter_mut().find(key) {
                Some(group) => {
                    group.collectives += 1;
                    group.bytes = group.bytes.saturating_add(one.bytes);
                }
                None => of.groups.push(Group {
                    ranks: one.members.to_vec(),
                    operation: one.operation.name(),
                    algorithm: one.algorithm,
                    collectives: 1,
                    bytes: one.bytes,
                }),
            }
        }
        of
    }

    /// A problem, with its place.
    fn place(&self, problem: &Problem) -> Error {
        let (rank, id) = problem.place();
        let what = problem.text(&|rank, id| self.name(rank, id));
        self.error(rank, id, what)
    }

    /// An error about a node, with its place.
    fn error(&self, rank: u32, id: u64, what: String) -> Error {
        match self {
            Self::Goal(goal, file) => Error { file: file.clone(), line: goal.line(rank, id), what },
            Self::Chakra(files, _) => Error { file: files[rank as usize].display().to_string(), line: 0, what },
            Self::SimAi(workload, file) => Error { file: file.clone(), line: workload.name(id).1, what },
            Self::Msccl(algorithm, file) => Error { file: file.clone(), line: algorithm.name(rank, id).1, what },
            Self::SimCcl(table, file) => Error { file: file.clone(), line: table.name(rank, id).1, what },
        }
    }

    fn name(&self, rank: u32, id: u64) -> String {
        match self {
            Self::Goal(goal, _) => goal.name(rank, id),
            Self::SimAi(workload, _) => workload.name(id).0,
            Self::Msccl(algorithm, _) => algorithm.name(rank, id).0,
            Self::SimCcl(table, _) => table.name(rank, id).0,
            Self::Chakra(files, _) => match Trace::open(&files[rank as usize], rank).and_then(|trace| trace.find(id)) {
                Ok(Some((name, byte))) => format!("node {id} ({name}, byte {byte})"),
                _ => format!("node {id}"),
            },
        }
    }
}

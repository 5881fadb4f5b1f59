//! Flow tables of SimCCL (SimAI): collectives that NCCL's planner has turned into flows, a line each (CSV).
//!
//! A flow starts when its parents have arrived where it starts; without parents it starts at once, and is chunk 0 in
//! SimAI. The flows of one collective have the same name in the column `collective`; at each rank the next collective
//! begins when the flows of the one before that begin or end there are over. `prev_flow_ids` and the columns about
//! algorithm, protocol and kind of connection change no flow, and are not looked at.

use crate::Error;
use crate::tables::Csv;
use crate::text::quote;
use fanin_graph::{Kind, LARGEST, Node, Source};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns that are read; `collective` and `chunk_id` may be missing.
const COLUMNS: [&str; 7] = ["flow_id", "src", "dest", "flow_size", "parent_flow_ids", "collective", "chunk_id"];
const NEEDS: &str = "flow_id, src, dest, flow_size and parent_flow_ids";
/// What separates the numbers of `parent_flow_ids`.
const SEPARATORS: [char; 3] = [';', '|', ' '];

/// The flows of a table.
#[derive(Clone, Debug)]
pub struct FlowTable {
    ranks: Vec<Arc<[Work]>>,
    /// Names of the collectives, in order.
    collectives: Vec<String>,
}

/// A node of a rank.
#[derive(Clone, Debug)]
struct Work {
    kind: Kind,
    /// Nodes of its rank that must have ended.
    after: Vec<u32>,
    /// The flow, its collective and its line; a node that no flow has waits for a collective.
    flow: u64,
    collective: u32,
    line: u32,
}

/// A line.
struct Flow {
    line: u32,
    id: u64,
    collective: u32,
    from: u32,
    to: u32,
    bytes: u64,
    parents: Vec<u64>,
}

impl FlowTable {
    /// Whether a text begins as such a table.
    pub fn is_one(bytes: &[u8]) -> bool {
        let first = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        ["flow_id", "parent_flow_ids"].iter().all(|name| first.windows(name.len()).any(|part| part == name.as_bytes()))
    }

    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong, with its line and what would be right.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(bytes);
        let csv = Csv::read(file, &text, NEEDS)?;
        csv.check_twice(&COLUMNS)?;
        let (flows, collectives) = flows(&csv)?;
        Ok(Self { ranks: works(&flows, &collectives, &csv)?.into_iter().map(Arc::from).collect(), collectives })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }

    /// The nodes of each rank, in the order of the lines.
    pub fn sources(&self) -> Vec<OfRank> {
        self.ranks.iter().map(|works| OfRank { works: Arc::clone(works), next: 0 }).collect()
    }

    /// What a node is called, and its line.
    pub fn name(&self, rank: u32, id: u64) -> (String, u32) {
        let works = self.ranks.get(rank as usize);
        let Some(work) = works.and_then(|works| works.get(usize::try_from(id).ok()?)) else {
            return (format!("node {id}"), 0);
        };
        let collective = &self.collectives[work.collective as usize];
        let what = match work.kind {
            Kind::Recv { .. } => format!("arrival of flow {}", work.flow),
            Kind::Send { .. } => format!("flow {}", work.flow),
            _ => "end".to_string(),
        };
        (format!("{what} of collective {collective}"), work.line)
    }
}

/// The lines, and the names of their collectives.
fn flows(csv: &Csv<'_>) -> Result<(Vec<Flow>, Vec<String>), Error> {
    let columns = csv.need(["flow_id", "src", "dest", "flow_size", "parent_flow_ids"], NEEDS)?;
    let [collective, chunk] = ["collective", "chunk_id"].map(|name| csv.find(name));
    let (mut found, mut names): (Vec<Flow>, Vec<String>) = (Vec::new(), Vec::new());
    for row in csv.rows() {
        let (line, fields) = row?;
        let number = |name: &str, text: &str, most: u64| {
            let number = text.parse::<u64>().ok().filter(|number| *number <= most);
            let wrong = || csv.error(line, format!("{name} is {}; it is 0 to {most}", quote(text.as_bytes())));
            number.ok_or_else(wrong)
        };
        let [id, from, to, bytes, parents] = columns.map(|column| fields[column]);
        let id = number("flow_id", id, u64::MAX)?;
        let (from, to) = (number("src", from, u32::MAX.into())?, number("dest", to, u32::MAX.into())?);
        let bytes = number("flow_size", bytes, LARGEST)?;
        let listed = parents.split(SEPARATORS).filter(|parent| !parent.is_empty() && *parent != "-1");
        let parents = listed.map(|parent| {
            let wrong = "parent_flow_ids has";
            let right = "write numbers of flows, with ; between them";
            parent.parse().map_err(|_| csv.error(line, format!("{wrong} {}; {right}", quote(parent.as_bytes()))))
        });
        let parents = parents.collect::<Result<Vec<u64>, Error>>()?;
        if bytes == 0 {
            return Err(csv.error(line, format!("flow {id} has no bytes; it has at least 1")));
        }
        if from == to {
            return Err(csv.error(line, format!("flow {id} goes from rank {from} to itself; src and dest differ")));
        }
        let chunk = chunk.map(|column| number("chunk_id", fields[column], u64::MAX)).transpose()?.unwrap_or(0);
        if parents.is_empty() && chunk > 0 {
            let what = format!("flow {id} is chunk {chunk} and has no parents, so nothing says when it starts");
            return Err(csv.error(line, format!("{what}; name its parents, or make it chunk 0")));
        }
        let name = collective.map_or("", |column| fields[column]);
        if names.last().is_none_or(|last| last != name) {
            if names.iter().any(|known| known == name) {
                let what = format!("collective {name} goes on after another one");
                return Err(csv.error(line, format!("{what}; its flows are in lines that follow each other")));
            }
            names.push(name.to_string());
        }
        let collective = names.len() as u32 - 1;
        found.push(Flow { line, id, collective, from: from as u32, to: to as u32, bytes, parents });
    }
    if found.is_empty() {
        return Err(csv.error(csv.line, "there are no flows; write a line for each"));
    }
    Ok((found, names))
}

/// A rank's nodes so far.
#[derive(Default)]
struct Rank {
    works: Vec<Work>,
    /// The node that ends the collectives before, and where those of this one begin.
    before: Option<u32>,
    first: u32,
    collective: u32,
}

impl Rank {
    /// Adds a node.
    fn add(&mut self, kind: Kind, after: Vec<u32>, flow: &Flow) -> u32 {
        let (collective, line) = (flow.collective, flow.line);
        self.works.push(Work { kind, after, flow: flow.id, collective, line });
        self.works.len() as u32 - 1
    }

    /// A flow of a collective is next: the one before it must be over.
    fn enter(&mut self, flow: &Flow) {
        if flow.collective == self.collective {
            return;
        }
        let nodes = self.works.len() as u32;
        if nodes > self.first {
            let after = (self.first..nodes).collect();
            let last = Flow { collective: self.collective, parents: Vec::new(), ..*flow };
            self.before = Some(self.add(Kind::Delay { ns: 0 }, after, &last));
        }
        (self.first, self.collective) = (self.works.len() as u32, flow.collective);
    }
}

/// The nodes of each rank.
fn works(flows: &[Flow], names: &[String], csv: &Csv<'_>) -> Result<Vec<Vec<Work>>, Error> {
    let mut ranks: BTreeMap<u32, Rank> = BTreeMap::new();
    for flow in flows {
        ranks.entry(flow.from).or_default();
        ranks.entry(flow.to).or_default();
    }
    if let Some(missing) = (0..).zip(ranks.keys()).find_map(|(rank, there)| (rank != *there).then_some(rank)) {
        let most = ranks.keys().last().unwrap_or(&0);
        let what = format!("rank {missing} has no flow, and there is a rank {most}");
        return Err(csv.error(csv.line, format!("{what}; ranks count up from 0")));
    }
    // Where the receives of flows are: by collective and flow, rank and node.
    let mut arrivals: BTreeMap<(u32, u64), (u32, u32)> = BTreeMap::new();
    for (tag, flow) in (0..).zip(flows) {
        let rank = ranks.entry(flow.to).or_default();
        rank.enter(flow);
        let after = rank.before.into_iter().collect();
        let node = rank.add(Kind::Recv { from: flow.from, bytes: flow.bytes, tag }, after, flow);
        if arrivals.insert((flow.collective, flow.id), (flow.to, node)).is_some() {
            let name = &names[flow.collective as usize];
            let what = format!("a second flow {} in collective {name}", flow.id);
            return Err(csv.error(flow.line, format!("{what}; each has a number of its own")));
        }
        let rank = ranks.entry(flow.from).or_default();
        rank.enter(flow);
        let after = rank.before.into_iter().collect();
        rank.add(Kind::Send { to: flow.to, bytes: flow.bytes, tag }, after, flow);
    }
    // A parent may be in a later line.
    let mut sends: BTreeMap<u32, usize> = BTreeMap::new();
    for flow in flows {
        let next = sends.entry(flow.from).or_default();
        let works = &mut ranks.get_mut(&flow.from).expect("each rank is there").works;
        let is_send = |work: &Work| matches!(work.kind, Kind::Send { .. });
        let at = *next + works[*next..].iter().position(is_send).expect("each flow has its send");
        *next = at + 1;
        for parent in &flow.parents {
            let name = &names[flow.collective as usize];
            let (of, wait) =
                (format!("flow {} waits for flow {parent}", flow.id), "a flow starts where its parents end");
            let found = arrivals.get(&(flow.collective, *parent));
            let (rank, node) =
                found.ok_or_else(|| csv.error(flow.line, format!("{of}, which is not in collective {name}")))?;
            if *rank != flow.from {
                let what = format!("{of}, which arrives at rank {rank} and not at {}", flow.from);
                return Err(csv.error(flow.line, format!("{what}; {wait}")));
            }
            works[at].after.push(*node);
        }
    }
    Ok(ranks.into_values().map(|rank| rank.works).collect())
}

/// The nodes of a rank.
#[derive(Clone, Debug)]
pub struct OfRank {
    works: Arc<[Work]>,
    next: usize,
}

impl Source for OfRank {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        let Some(work) = self.works.get(self.next) else { return Ok(false) };
        *node = Node { id: self.next as u64, kind: work.kind, ..Node::default() };
        node.after_end.extend(work.after.iter().map(|id| u64::from(*id)));
        self.next += 1;
        Ok(true)
    }
}

/// For fuzzing: any bytes are a table or an error with a place, and each node waits for others that are there.
pub fn fuzz(bytes: &[u8]) {
    match FlowTable::read(bytes, "f.csv") {
        Ok(table) => {
            for works in &table.ranks {
                assert!(works.iter().all(|work| work.after.iter().all(|before| (*before as usize) < works.len())));
            }
        }
        Err(error) => assert!(error.file == "f.csv" && error.line > 0 && !error.what.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_graph::collectives::Method;
    use fanin_graph::loggp::Parameters;
    use fanin_graph::{Holds, Job, Rules, check};

    const RULES: Rules = Rules { holds: Holds::Work, first_ready: true };
    const HEAD: &str = "collective,op,data_size,algorithm,protocol,channel_id,flow_id,src,dest,flow_size,chunk_id,\
                        chunk_count,conn_type,parent_flow_ids,prev_flow_ids\n";
    /// Two collectives: a ring of three in which flows 3 to 5 wait for what arrived, and one flow.
    const RING: &str = "ar,0,30,1,2,0,0,0,1,10,0,2,RING,,2\nar,0,30,1,2,0,1,1,2,10,0,2,RING,,0\n\
                        ar,0,30,1,2,0,2,2,0,10,0,2,RING,,1\nar,0,30,1,2,0,3,1,2,10,1,2,RING,0,\n\
                        ar,0,30,1,2,0,4,2,0,10,1,2,RING,1,\nar,0,30,1,2,0,5,0,1,10,1,2,RING,\"2\",\n\
                        next,0,30,1,2,0,0,0,2,7,0,1,NET,,\n";

    fn table(rows: &str) -> Result<FlowTable, Error> {
        FlowTable::read(format!("{HEAD}{rows}").as_bytes(), "f.csv")
    }

    #[test]
    fn flows_wait_for_their_parents_and_collectives_for_each_other() {
        let table = table(RING).unwrap();
        assert_eq!(table.ranks(), 3);
        assert!(check(&mut table.sources(), RULES, 100).unwrap().is_empty());
        let job = Job::new(&mut table.sources(), RULES, &Method::default()).unwrap();
        let sends: Vec<(u32, u64)> = job.sends().map(|(from, _, _, bytes)| (from, bytes)).collect();
        assert_eq!(sends.iter().map(|(_, bytes)| bytes).sum::<u64>(), 67);
        // A message takes 1,000 ns, and 1 ns for each byte but the first.
        let parameters = Parameters::parse("L=1000,o=0,g=0,G=1,O=0,S=65535").unwrap();
        let (finish, wrong) = fanin_graph::loggp::finish(&mut table.sources(), parameters, 100).unwrap();
        assert!(wrong.is_empty());
        // Two rounds of 1,009 ns; then rank 2 waits for the flow of the second collective.
        assert_eq!((finish[1], finish[2]), (2018, 2018 + 1006), "{finish:?}");
        assert_eq!(table.name(0, 0).0, "flow 0 of collective ar");
    }

    #[test]
    fn each_wrong_line_says_what_is_wrong() {
        for (rows, said) in [
            ("ar,0,8,1,2,0,0,0,1,4,0,1,RING,7,\n", "f.csv:2: flow 0 waits for flow 7, which is not in collective ar"),
            (
                "ar,0,8,1,2,0,0,0,1,4,0,1,RING,,\nar,0,8,1,2,0,1,0,1,4,1,2,RING,0,\n",
                "f.csv:3: flow 1 waits for flow 0, \
              which arrives at rank 1 and not at 0; a flow starts where its parents end",
            ),
            ("ar,0,8,1,2,0,0,0,1,4,0,1,RING,1:2,\n", "f.csv:2: parent_flow_ids has \"1:2\"; write numbers of flows"),
            ("ar,0,8,1,2,0,0,0,0,4,0,1,RING,,\n", "f.csv:2: flow 0 goes from rank 0 to itself"),
            ("ar,0,8,1,2,0,0,0,1,0,0,1,RING,,\n", "f.csv:2: flow 0 has no bytes"),
            ("ar,0,8,1,2,0,0,0,1,4,2,3,RING,,\n", "f.csv:2: flow 0 is chunk 2 and has no parents"),
            ("ar,0,8,1,2,0,0,0,9,4,0,1,RING,,\n", "f.csv:1: rank 1 has no flow, and there is a rank 9"),
            ("ar,0,8,1,2,0,x,0,1,4,0,1,RING,,\n", "f.csv:2: flow_id is \"x\""),
            ("ar,0,8,1,2,0,0,0,1,4,0,1,RING,,\nar,0,8,1,2,0,0,1,0,4,0,1,RING,,\n", "f.csv:3: a second flow 0"),
            ("", "f.csv:1: there are no flows"),
        ] {
            let wrong = table(rows).unwrap_err().to_string();
            assert!(wrong.starts_with(said), "{wrong}");
        }
        let cycle = table("ar,0,8,1,2,0,0,0,1,4,0,1,RING,1,\nar,0,8,1,2,0,1,1,0,4,0,1,RING,0,\n").unwrap();
        let problems = check(&mut cycle.sources(), RULES, 100).unwrap();
        let text = problems[0].text(&|rank, id| cycle.name(rank, id).0);
        assert!(text.contains("flow 0 of collective ar") && text.contains("flow 1 of collective ar"), "{text}");
    }
}

//! Why nodes have not ended, when nothing more will happen.

use crate::{ANY, Host, Kind, Problem, State, Waiting};
use std::collections::{BTreeMap, VecDeque};

/// Most steps of the search for the shortest cycle, some seconds. After them the shortest that was found is taken.
const STEPS: usize = 100_000_000;

/// What keeps the unfinished nodes of a run from ending: the shortest cycle of waits, waits for nodes and messages that
/// never come, and messages that nobody received. Nodes that merely wait for one of those are not named.
pub fn stuck(hosts: &[Host]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let nodes: Vec<Vec<Waiting>> = hosts.iter().map(Host::unfinished).collect();
    let mut graph = Graph::new(&nodes);
    for (rank, host) in hosts.iter().enumerate() {
        for (before, after) in host.edges() {
            let (before, after) = (graph.number[rank][&before], graph.number[rank][&after]);
            graph.add(before, after);
            if graph.nodes[before].1.state == State::Unread {
                let (wanted, node) = (graph.nodes[before].1.id, (rank as u32, graph.nodes[after].1.id));
                problems.push(Problem::Absent { node, wanted });
            }
        }
    }
    sends(hosts, &mut graph, &mut problems);
    collectives(&mut graph);
    problems.extend(graph.shortest_cycle().map(Problem::Cycle));
    if problems.is_empty() {
        let started = graph.nodes.iter().filter(|(_, node)| node.state == State::Started);
        problems.extend(started.map(|(rank, node)| Problem::Unended { node: (*rank, node.id), kind: node.kind }));
    }
    problems
}

/// Edges from sends that have not started to the receives that wait for them. A receive for which a message is under
/// way is no problem of its own.
fn sends(hosts: &[Host], graph: &mut Graph, problems: &mut Vec<Problem>) {
    // By receiver; the nodes are in order of rank and number.
    let mut to_come: BTreeMap<u32, Vec<(u32, u32, usize)>> = BTreeMap::new();
    for (at, (rank, node)) in graph.nodes.iter().enumerate() {
        if let Kind::Send { to, tag, .. } = node.kind {
            to_come.entry(to).or_default().push((*rank, tag, at));
        }
    }
    for (rank, host) in hosts.iter().enumerate() {
        let rank = rank as u32;
        let mut sends = to_come.remove(&rank).unwrap_or_default();
        for place in host.posted() {
            let Waiting { id, kind, .. } = host.node(place);
            let Kind::Recv { from, bytes, tag } = kind else { continue };
            let fits = |send: &(u32, u32, usize)| (from == ANY || send.0 == from) && (tag == ANY || send.1 == tag);
            match sends.iter().position(fits) {
                Some(at) => {
                    let send = sends.remove(at).2;
                    if graph.nodes[send].1.state != State::Started {
                        graph.add(send, graph.number[rank as usize][&place]);
                    }
                }
                None => problems.push(Problem::NoSend { node: (rank, id), from, tag, bytes }),
            }
        }
    }
}

/// Edges to collectives that have started from the next of their group at ranks that have not come there.
fn collectives(graph: &mut Graph) {
    let mut started: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut to_come: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (at, (rank, node)) in graph.nodes.iter().enumerate() {
        let Kind::Collective { group, .. } = node.kind else { continue };
        if node.state == State::Started {
            started.entry(group).or_default().push(at);
        } else {
            to_come.entry((group, *rank)).or_insert(at);
        }
    }
    for ((group, rank), before) in to_come {
        for after in started.get(&group).into_iter().flatten() {
            if graph.nodes[*after].0 != rank {
                graph.add(before, *after);
            }
        }
    }
}

/// The unfinished nodes of all ranks.
struct Graph {
    nodes: Vec<(u32, Waiting)>,
    /// Number in `nodes`, by rank and place.
    number: Vec<BTreeMap<u32, usize>>,
    after: Vec<Vec<usize>>,
}

impl Graph {
    fn new(ranks: &[Vec<Waiting>]) -> Self {
        let mut graph = Self { nodes: Vec::new(), number: Vec::new(), after: Vec::new() };
        for (rank, nodes) in ranks.iter().enumerate() {
            let first = graph.nodes.len();
            graph.number.push(nodes.iter().zip(first..).map(|(node, number)| (node.at, number)).collect());
            graph.nodes.extend(nodes.iter().map(|node| (rank as u32, *node)));
        }
        graph.after.resize(graph.nodes.len(), Vec::new());
        graph
    }

    fn add(&mut self, before: usize, after: usize) {
        self.after[before].push(after);
    }

    /// The shortest cycle, from its lowest node on.
    fn shortest_cycle(&self) -> Option<Vec<(u32, u64)>> {
        let mut best: Option<Vec<usize>> = None;
        let mut seen_from = vec![usize::MAX; self.nodes.len()];
        let mut came_from = vec![0; self.nodes.len()];
        let mut steps = 0;
        for start in self.in_cycles() {
            let most = best.as_ref().map_or(usize::MAX, Vec::len);
            if best.is_some() && steps > STEPS {
                break;
            }
            let mut queue = VecDeque::from([(start, 1)]);
            'search: while let Some((at, length)) = queue.pop_front().filter(|(_, length)| *length < most) {
                steps += self.after[at].len();
                for next in self.after[at].iter().copied() {
                    if next == start {
                        let mut cycle = vec![at];
                        while *cycle.last().expect("not empty") != start {
                            cycle.push(came_from[cycle[cycle.len() - 1]]);
                        }
                        cycle.reverse();
                        best = Some(cycle);
                        break 'search;
                    }
                    if seen_from[next] != start {
                        (seen_from[next], came_from[next]) = (start, at);
                        queue.push_back((next, length + 1));
                    }
                }
            }
        }
        best.map(|cycle| cycle.into_iter().map(|at| (self.nodes[at].0, self.nodes[at].1.id)).collect())
    }

    /// The nodes that are left when those that wait for nothing are taken away again and again, and those that nothing
    /// waits for.
    fn in_cycles(&self) -> Vec<usize> {
        let mut before = vec![Vec::new(); self.nodes.len()];
        for (at, after) in self.after.iter().enumerate() {
            after.iter().for_each(|next| before[*next].push(at));
        }
        let mut left = vec![true; self.nodes.len()];
        for (from, to) in [(&before, &self.after), (&self.after, &before)] {
            let mut open: Vec<usize> = from.iter().map(|nodes| nodes.iter().filter(|at| left[**at]).count()).collect();
            let mut done: Vec<usize> = (0..left.len()).filter(|at| left[*at] && open[*at] == 0).collect();
            while let Some(at) = done.pop() {
                left[at] = false;
                for next in &to[at] {
                    open[*next] -= 1;
                    if open[*next] == 0 && left[*next] {
                        done.push(*next);
                    }
                }
            }
        }
        (0..left.len()).filter(|at| left[*at]).collect()
    }
}

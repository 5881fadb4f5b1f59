//! Topologies of SimAI: servers of GPUs that NV switches join, and a network of other switches (its
//! `gen_Topo_Template.py` and `topology-file` argument).

use crate::hpcc;
use crate::text::{Words, quote};
use crate::{Error, Errors, Warning};

const FIRST_LINE: &str = "nodes, GPUs per server, NV switches, other switches, links, type of the GPUs";

/// A topology with the names of its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The links, by the numbers of their nodes in the file. GPUs are the first nodes.
    pub network: hpcc::Topology,
    /// The name of each node: `gpu{server}.{place}`, `nv{n}` for the NV switches in the order of the file, and `sw{id}`
    /// for other switches.
    pub names: Vec<String>,
    /// GPUs.
    pub gpus: u32,
    /// The type of the GPUs, such as H100.
    pub gpu_type: String,
    /// Probable mistakes, and what is otherwise than in that simulator.
    pub warnings: Vec<Warning>,
}

/// The first line.
struct Head {
    line: u32,
    nodes: u64,
    per_server: u64,
    nv: u64,
    switches: u64,
    links: u64,
    gpu_type: String,
}

impl Cluster {
    /// Whether a text begins as such a topology: with five numbers and a word.
    pub fn is_one(text: &[u8]) -> bool {
        hpcc::Header::of(text) == hpcc::Header::Six && Head::read(&mut Words::new("", text)).is_ok()
    }

    /// Reads a topology: its counts; the ids of NV switches, then those of other switches; and in a line each the
    /// links, `a b rate delay error_rate`. GPU `g` of server `v` is node `v * gpus_per_server + g`.
    ///
    /// # Errors
    /// All problems with their lines and corrections.
    pub fn read(file: &str, text: &[u8]) -> Result<Self, Errors> {
        let mut words = Words::new(file, text);
        let head = Head::read(&mut words)?;
        head.check_links(&words)?;
        let (network, mut warnings) = hpcc::Topology::read(file, text)?;
        // Both counts are at most that of the nodes, which is that of the network.
        let gpus = (network.is_switch.len() as u64 - head.nv - head.switches) as u32;
        if let Some(switch) = network.is_switch[..gpus as usize].iter().position(|is_switch| *is_switch) {
            let line = words.peek().map_or(head.line, |first| first.line);
            let what = format!("node {switch} is a switch; with {gpus} GPUs, those are nodes 0 to {}", gpus - 1);
            return Err(words.error(line, what).into());
        }
        let mut cluster = Self { names: Vec::new(), gpus, gpu_type: head.gpu_type.clone(), network, warnings: vec![] };
        let mut ids = Vec::with_capacity(head.nv as usize);
        for _ in 0..head.nv {
            ids.push(words.whole("an NV switch", u32::MAX.into())? as u32);
        }
        cluster.check_nv(&ids).and_then(|()| cluster.check_reach()).map_err(|what| words.error(0, what))?;
        cluster.name(&ids, head.per_server as u32);
        if u64::from(gpus) % head.per_server != 0 {
            let what = format!("{gpus} GPUs in servers of {}: the last server has fewer", head.per_server);
            warnings.push(words.warning(head.line, what));
        }
        warnings.extend(cluster.as_near(&ids).map(|what| words.warning(0, what)));
        Ok(Self { warnings, ..cluster })
    }

    /// An NV switch joins GPUs alone: otherwise it would not be preferred to other switches.
    fn check_nv(&self, nv: &[u32]) -> Result<(), String> {
        let is_nv = self.marked(nv);
        for link in &self.network.links {
            for (one, other) in [(link.a, link.b), (link.b, link.a)] {
                if is_nv[one as usize] && other >= self.gpus {
                    return Err(format!(
                        "NV switch {one} has a link to node {other}, a switch; an NV switch joins GPUs alone, so list \
                         it among the other switches"
                    ));
                }
            }
        }
        Ok(())
    }

    /// GPU 0 reaches all others. That all reach each other is checked with the network.
    fn check_reach(&self) -> Result<(), String> {
        let mut next = vec![Vec::new(); self.network.is_switch.len()];
        for link in &self.network.links {
            next[link.a as usize].push(link.b);
            next[link.b as usize].push(link.a);
        }
        let mut reached = vec![false; next.len()];
        reached[0] = true;
        let mut ahead = vec![0];
        while let Some(node) = ahead.pop() {
            for other in &next[node as usize] {
                // Switches alone relay.
                if !core::mem::replace(&mut reached[*other as usize], true) && *other >= self.gpus {
                    ahead.push(*other);
                }
            }
        }
        match reached[..self.gpus as usize].iter().position(|reached| !reached) {
            None => Ok(()),
            Some(gpu) => {
                Err(format!("no way leads from GPU 0 to GPU {gpu}; GPUs do not relay, so join them through switches"))
            }
        }
    }

    /// A warning if another switch joins GPUs alone as well.
    fn as_near(&self, nv: &[u32]) -> Option<String> {
        let mut alone: Vec<bool> = self.marked(nv).iter().map(|is_nv| !is_nv).collect();
        alone[..self.gpus as usize].fill(false);
        for link in &self.network.links {
            for (one, other) in [(link.a, link.b), (link.b, link.a)] {
                alone[one as usize] &= other < self.gpus;
            }
        }
        let switch = alone.iter().position(|alone| *alone).filter(|_| !nv.is_empty())?;
        Some(format!(
            "switch {switch} joins GPUs alone, as NV switches do, so messages inside a server are spread over both; in \
             SimAI they take NVLink: give the switch a link to another one for that"
        ))
    }

    fn marked(&self, ids: &[u32]) -> Vec<bool> {
        let mut marked = vec![false; self.network.is_switch.len()];
        ids.iter().for_each(|id| marked[*id as usize] = true);
        marked
    }

    fn name(&mut self, nv: &[u32], per_server: u32) {
        let name = |node: u32| match node < self.gpus {
            true => format!("gpu{}.{}", node / per_server, node % per_server),
            false => format!("sw{node}"),
        };
        self.names = (0..self.network.is_switch.len() as u32).map(name).collect();
        for (number, id) in nv.iter().enumerate() {
            self.names[*id as usize] = format!("nv{number}");
        }
    }
}

impl Head {
    fn read(words: &mut Words<'_>) -> Result<Self, Error> {
        let mut ahead = words.clone();
        let line = ahead.next().map_or(1, |first| first.line);
        let columns = words.peek().map_or(0, |_| 1 + ahead.on_line().count());
        if columns != 6 {
            return Err(words.error(line, format!("the first line has {columns} entries; it has six: {FIRST_LINE}")));
        }
        let most = u32::MAX.into();
        let head = Self {
            line,
            nodes: words.whole("the number of nodes", most)?,
            per_server: words.whole("the number of GPUs per server", most)?,
            nv: words.whole("the number of NV switches", most)?,
            switches: words.whole("the number of switches", most)?,
            links: words.whole("the number of links", most)?,
            gpu_type: quote(words.need(format_args!("the type of the GPUs"))?.bytes).trim_matches('"').into(),
        };
        if head.per_server == 0 {
            return Err(words.error(line, "0 GPUs per server; a server has at least 1"));
        }
        let switches = head.nv + head.switches;
        if switches >= head.nodes {
            let what = format!("{} nodes, {switches} of them switches; count GPUs, NV switches and others", head.nodes);
            return Err(words.error(line, what));
        }
        Ok(head)
    }

    /// Compares the number of links with that of the lines below the ids, from behind the first line.
    fn check_links(&self, words: &Words<'_>) -> Result<(), Error> {
        let mut rest = words.clone();
        let ids = self.nv + self.switches;
        if ids > 0 {
            rest.next();
            if 1 + rest.on_line().count() as u64 != ids {
                // Too few or too many, or not in a line: the reader of topologies tells.
                return Ok(());
            }
            rest.skip_line();
        }
        let mut lines = 0;
        while rest.next().is_some() {
            rest.skip_line();
            lines += 1;
        }
        if lines == self.links {
            return Ok(());
        }
        let what =
            format!("{} links, and {lines} lines with a link follow; correct the number or the lines", self.links);
        Err(words.error(self.line, what))
    }
}

/// For fuzzing: any bytes are a topology or errors with what is right.
pub fn fuzz_topology(bytes: &[u8]) {
    match Cluster::read("f", bytes) {
        Ok(cluster) => assert_eq!(cluster.names.len(), cluster.network.is_switch.len()),
        Err(errors) => assert!(errors.first().is_some_and(|error| error.file == "f" && !error.what.is_empty())),
    }
}

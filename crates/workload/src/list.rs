//! Flows given one by one.

use crate::error::quote;
use crate::{Chain, ENDLESS, Expected, Flow, NO_GROUP, Places, WorkloadError};
use fanin_units::Time;
use std::sync::Arc;

/// One flow of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedFlow {
    /// When it starts, counted from the start of the traffic.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload in bytes.
    pub bytes: u64,
    /// Number of its incast or collective, or [`NO_GROUP`].
    pub group: u32,
}

/// Flows one by one, kept in order of their start; flows of one start stay as they were given.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowList {
    flows: Arc<[ListedFlow]>,
    /// What each waits for; empty where none does.
    chains: Arc<[Chain]>,
}

/// Columns of a flow file; the start comes in one of several units.
const STARTS: [(&str, &str); 5] =
    [("start_ps", "ps"), ("start_ns", "ns"), ("start_us", "us"), ("start_ms", "ms"), ("start_s", "s")];
const HEADER: &str = "write a header like \"src,dst,bytes,start_us\"; \"group\" may be added, and starts may be in \
                      start_ps, start_ns, start_us, start_ms or start_s";

/// What is wrong, and what would be right.
type Wrong = (String, String);

impl FlowList {
    /// From flows in any order.
    pub fn new(mut flows: Vec<ListedFlow>) -> Self {
        flows.sort_by_key(|flow| flow.start);
        Self { flows: flows.into(), chains: Arc::default() }
    }

    /// From flows in any order, each with what it waits for.
    pub fn chained(mut flows: Vec<(ListedFlow, Chain)>) -> Self {
        flows.sort_by_key(|(flow, _)| flow.start);
        let (flows, chains): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        Self { flows: flows.into(), chains: chains.into() }
    }

    /// Whether some of them wait for others, which need not be of the same host.
    pub fn has_gates(&self) -> bool {
        self.chains.iter().any(|chain| chain.after.is_some())
    }

    /// From the text of a comma-separated file. Its first line names the columns, in any order: `src`, `dst` (host
    /// numbers below `hosts`), `bytes`, the start as `start_ps`, `start_ns`, `start_us`, `start_ms` or `start_s`
    /// (decimals allowed, exact to the picosecond), and optionally `group` (empty for none). Empty lines are skipped.
    ///
    /// # Errors
    /// Names `file_name`, the line, and what would be right.
    pub fn from_text(text: &str, file_name: &str, hosts: u32) -> Result<Self, WorkloadError> {
        let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
        let at = |line: usize| move |(problem, right): Wrong| WorkloadError::line(file_name, line + 1, problem, right);
        let Some((first, header)) = lines.next() else {
            return Err(at(0)(("the file is empty".into(), HEADER.into())));
        };
        let columns = Columns::read(header).map_err(at(first))?;
        let mut flows = Vec::new();
        for (number, line) in lines {
            let flow = columns.flow(line).map_err(at(number))?;
            check_flow(&flow, hosts).map_err(at(number))?;
            flows.push(flow);
        }
        Ok(Self::new(flows))
    }

    /// The flows in order of their start.
    pub fn flows_in_order(&self) -> &[ListedFlow] {
        &self.flows
    }

    fn check(&self, places: &Places) -> Result<(), WorkloadError> {
        self.flows.iter().enumerate().try_for_each(|(i, flow)| {
            check_flow(flow, places.hosts()).map_err(|(problem, right)| {
                WorkloadError::key("pattern.flows", format!("flow {} in order of start: {problem}", i + 1), right)
            })
        })
    }

    fn count(&self, span: Time) -> usize {
        self.flows.partition_point(|flow| flow.start < span)
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        self.check(places)?;
        let (flows, chains) = (self.flows.clone(), self.chains.clone());
        Ok((0..self.count(span)).map(move |i| {
            let ListedFlow { start, src, dst, bytes, group } = flows[i];
            let chain = chains.get(i).copied().unwrap_or_default();
            Flow { start, src, dst, bytes, traffic: 0, group, senders: None, chain }
        }))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        self.check(places)?;
        let flows = &self.flows[..self.count(span)];
        let total: f64 = flows.iter().map(|f| f.bytes as f64).sum();
        let crossing: f64 = flows.iter().filter(|f| places.crosses_racks(f.src, f.dst)).map(|f| f.bytes as f64).sum();
        let count = flows.len() as f64;
        Ok(Expected::once(count, total / count.max(1.0), if total > 0.0 { crossing / total } else { 0.0 }))
    }
}

fn check_flow(flow: &ListedFlow, hosts: u32) -> Result<(), Wrong> {
    for host in [flow.src, flow.dst] {
        if host >= hosts {
            return Err((format!("there is no host {host}"), format!("hosts are 0 to {}", i64::from(hosts) - 1)));
        }
    }
    if flow.src == flow.dst {
        return Err((format!("host {} sends to itself", flow.src), "src and dst differ".into()));
    }
    if !(1..=ENDLESS).contains(&flow.bytes) {
        return Err((format!("{} B is no size of a flow", flow.bytes), "sizes are 1 B to 2^60 B".into()));
    }
    Ok(())
}

/// Where each field stands in a line.
struct Columns {
    count: usize,
    src: usize,
    dst: usize,
    bytes: usize,
    start: (usize, &'static str),
    group: Option<usize>,
}

impl Columns {
    fn read(header: &str) -> Result<Self, Wrong> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let known = |name: &str| ["src", "dst", "bytes", "group"].contains(&name) || STARTS.iter().any(|s| s.0 == name);
        for (i, name) in names.iter().enumerate() {
            if !known(name) {
                return Err((format!("there is no column {}", quote(name)), HEADER.into()));
            }
            if names[..i].contains(name) {
                return Err((format!("column {name} is there twice"), HEADER.into()));
            }
        }
        let find = |name: &str| names.iter().position(|n| *n == name);
        let need = |name: &str| find(name).ok_or_else(|| (format!("column {name} is missing"), HEADER.to_string()));
        let mut starts = STARTS.iter().filter_map(|(name, unit)| find(name).map(|at| (at, *unit)));
        let start = starts.next().ok_or_else(|| ("the start column is missing".to_string(), HEADER.to_string()))?;
        if starts.next().is_some() {
            return Err(("there are two start columns".into(), HEADER.into()));
        }
        Ok(Self {
            count: names.len(),
            src: need("src")?,
            dst: need("dst")?,
            bytes: need("bytes")?,
            start,
            group: find("group"),
        })
    }

    fn flow(&self, line: &str) -> Result<ListedFlow, Wrong> {
        // At most one field more than there should be: enough to see that the line is wrong.
        let fields: Vec<&str> = line.split(',').map(str::trim).take(self.count + 1).collect();
        if fields.len() != self.count {
            let problem = format!("{} does not have {} fields", quote(line.trim()), self.count);
            return Err((problem, "each line has one field per column of the header".into()));
        }
        let host = |name: &str, at: usize| {
            let wrong = |_| (format!("{name} {} is no host number", quote(fields[at])), "write it like 17".to_string());
            fields[at].parse::<u32>().map_err(wrong)
        };
        let bytes = fields[self.bytes].parse().map_err(|_| {
            let problem = format!("bytes {} is no whole number", quote(fields[self.bytes]));
            (problem, "write the size in bytes, like 8000".to_string())
        })?;
        let (at, unit) = self.start;
        let start: Time = format!("{} {unit}", fields[at]).parse().map_err(|_| {
            let problem = format!("start {} is no time in {unit}", quote(fields[at]));
            (problem, "write it like 12.5, with whole picoseconds".to_string())
        })?;
        let group = match self.group.map(|at| fields[at]) {
            None | Some("") => NO_GROUP,
            Some(text) => text.parse().map_err(|_| {
                (format!("group {} is no number", quote(text)), "write it like 3, or leave it empty".to_string())
            })?,
        };
        Ok(ListedFlow { start, src: host("src", self.src)?, dst: host("dst", self.dst)?, bytes, group })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::cases;
    use proptest::prelude::*;

    #[test]
    fn files_are_read_in_any_order_of_columns_and_starts() {
        let text = "\u{feff}start_us, dst,src,bytes,group\r\n\r\n12.5,1,0,8000,\r\n0.000001, 2 ,0,1,7\n12.5,0,3,5,\n";
        let list = FlowList::from_text(text, "f.csv", 4).unwrap();
        let flow = |ps, src, dst, bytes, group| ListedFlow { start: Time::from_ps(ps), src, dst, bytes, group };
        let expected =
            [flow(1, 0, 2, 1, 7), flow(12_500_000, 0, 1, 8000, NO_GROUP), flow(12_500_000, 3, 0, 5, NO_GROUP)];
        assert_eq!(list.flows_in_order(), expected);
        for (name, unit) in STARTS {
            let list = FlowList::from_text(&format!("src,dst,bytes,{name}\n0,1,1,3"), "f", 2).unwrap();
            assert_eq!(list.flows_in_order()[0].start, format!("3 {unit}").parse().unwrap());
        }
    }

    #[test]
    fn errors_name_file_and_line_and_what_would_be_right() {
        for (text, place, says) in [
            ("", "f.csv:1:", "empty"),
            ("src,dst,bytes\n", "f.csv:1:", "start column is missing"),
            ("dst,bytes,start_us\n", "f.csv:1:", "column src is missing"),
            ("src,dst,bytes,start_us,start_ns\n", "f.csv:1:", "two start columns"),
            ("src,src,dst,bytes,start_us\n", "f.csv:1:", "src is there twice"),
            ("\nsrc,dst,size,start_us\n", "f.csv:2:", "no column \"size\""),
            ("src,dst,bytes,start_us\n0,1,5\n", "f.csv:2:", "does not have 4 fields"),
            ("src,dst,bytes,start_us\n0,1,5,6,7\n", "f.csv:2:", "does not have 4 fields"),
            ("src,dst,bytes,start_us\n\n0,1,5,6\n0,4,5,6\n", "f.csv:4:", "no host 4; hosts are 0 to 3"),
            ("src,dst,bytes,start_us\n-1,2,5,6\n", "f.csv:2:", "src \"-1\" is no host number"),
            ("src,dst,bytes,start_us\n2,2,5,6\n", "f.csv:2:", "sends to itself"),
            ("src,dst,bytes,start_us\n2,1,0,6\n", "f.csv:2:", "0 B is no size"),
            ("src,dst,bytes,start_us\n2,1,1.5,6\n", "f.csv:2:", "no whole number"),
            ("src,dst,bytes,start_us\n2,1,1,-6\n", "f.csv:2:", "no time in us"),
            ("src,dst,bytes,start_us\n2,1,1,6 us\n", "f.csv:2:", "no time in us"),
            ("src,dst,bytes,start_us,group\n2,1,1,6,x\n", "f.csv:2:", "group \"x\" is no number"),
        ] {
            let error = FlowList::from_text(text, "f.csv", 4).unwrap_err().to_string();
            assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #![proptest_config(cases())]
        #[test]
        fn any_bytes_are_flows_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), hosts: u32) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = FlowList::from_text(&text, "f", hosts);
            let _ = FlowList::from_text(&format!("src,dst,bytes,start_s,group\n{text}"), "f", hosts);
        }

        #[test]
        fn any_fields_are_flows_that_could_run_or_an_error(
            text in "([0-9]{1,2},[0-9]{1,2},[0-9]{1,21},[0-9.]{1,9},[0-9]{0,11}\n){0,4}", hosts in 0u32..20,
        ) {
            if let Ok(list) = FlowList::from_text(&format!("src,dst,bytes,start_us,group\n{text}"), "f", hosts) {
                let ok = |f: &ListedFlow| f.src != f.dst && f.src < hosts && f.dst < hosts && f.bytes > 0;
                prop_assert!(list.flows_in_order().iter().all(ok));
                prop_assert!(list.flows_in_order().is_sorted_by_key(|f| f.start));
            }
        }
    }
}

//! Names of hosts in files and tables: a name, or a number.

use super::shape::advice;
use crate::Problem;
use fanin_formats::Error;
use fanin_formats::tables::FlowTable;
use fanin_workload::{FlowList, ListedFlow, NO_GROUP};
use std::collections::HashMap;

/// The hosts of a network by name and by number.
#[derive(Clone, Debug)]
pub struct HostNames {
    number_of: HashMap<String, u32>,
    count: u32,
    /// Whether some name is itself a number. Numbers are then only names, so that none is ambiguous.
    numbers_are_names: bool,
}

impl HostNames {
    /// From the names of all hosts in the order of their numbers.
    pub(crate) fn new(names: &[String]) -> Self {
        let numbers_are_names = names.iter().any(|name| name.parse::<u64>().is_ok());
        let number_of = names.iter().cloned().zip(0..).collect();
        Self { number_of, count: names.len() as u32, numbers_are_names }
    }

    /// The number of each host by its name.
    pub(crate) fn number_of(&self) -> &HashMap<String, u32> {
        &self.number_of
    }

    /// The number of a host given by name or number.
    ///
    /// # Errors
    /// The problem and the correction.
    pub fn find(&self, text: &str) -> Result<u32, (String, String)> {
        let as_number = || text.parse::<u64>().ok().filter(|_| !self.numbers_are_names);
        if let Some(number) = as_number() {
            return self.numbered(number);
        }
        self.number_of.get(text).copied().ok_or_else(|| {
            let known = advice(text, self.number_of.keys().map(String::as_str));
            let numbers = match self.numbers_are_names {
                true => String::new(),
                false => format!(", or write a number from 0 to {}", i64::from(self.count) - 1),
            };
            let short: String = text.chars().take(40).collect();
            (format!("there is no host {short:?}"), known + &numbers)
        })
    }

    /// The same for a column of whole numbers.
    ///
    /// # Errors
    /// The problem and the correction.
    pub fn find_number(&self, number: u64) -> Result<u32, (String, String)> {
        if self.numbers_are_names { self.find(&number.to_string()) } else { self.numbered(number) }
    }

    fn numbered(&self, number: u64) -> Result<u32, (String, String)> {
        let found = u32::try_from(number).ok().filter(|number| *number < self.count);
        let wrong = || (format!("there is no host {number}"), format!("hosts are 0 to {}", i64::from(self.count) - 1));
        found.ok_or_else(wrong)
    }

    /// The flows of a comma-separated table, and a warning about ignored columns.
    pub(crate) fn flows_of(&self, file: &str, text: &str) -> Result<(FlowList, Option<String>), Problem> {
        let table = FlowTable::read(file, text)?;
        let mut flows = Vec::new();
        for row in table.rows() {
            let row = row?;
            let wrong = |(problem, right): (String, String)| {
                Problem::from(Error { file: file.into(), line: row.line, what: format!("{problem}; {right}") })
            };
            let flow = ListedFlow {
                start: row.start,
                src: self.find(row.src).map_err(wrong)?,
                dst: self.find(row.dst).map_err(wrong)?,
                bytes: row.bytes,
                group: row.group.unwrap_or(NO_GROUP),
            };
            flow.check(self.count).map_err(wrong)?;
            flows.push(flow);
        }
        Ok((FlowList::new(flows), table.ignored().map(|warning| warning.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::cases;
    use fanin_units::Time;
    use proptest::prelude::*;

    fn numbered(hosts: u32) -> HostNames {
        HostNames::new(&(0..hosts).map(|i| format!("h{i}")).collect::<Vec<_>>())
    }

    fn read(text: &str, hosts: u32) -> Result<FlowList, Problem> {
        numbered(hosts).flows_of("f.csv", text).map(|(list, _)| list)
    }

    #[test]
    fn files_are_read_in_any_order_of_columns_and_starts() {
        let text = "\u{feff}start_us, dst,src,bytes,group\r\n\r\n12.5,1,0,8000,\r\n0.000001, 2 ,0,1,7\n12.5,0,3,5,\n";
        let list = read(text, 4).unwrap();
        let flow = |ps, src, dst, bytes, group| ListedFlow { start: Time::from_ps(ps), src, dst, bytes, group };
        let expected =
            [flow(1, 0, 2, 1, 7), flow(12_500_000, 0, 1, 8000, NO_GROUP), flow(12_500_000, 3, 0, 5, NO_GROUP)];
        assert_eq!(list.flows_in_order(), expected);
        for unit in ["ps", "ns", "us", "ms", "s"] {
            let list = read(&format!("src,dst,bytes,start_{unit}\n0,1,1,3"), 2).unwrap();
            assert_eq!(list.flows_in_order()[0].start, format!("3 {unit}").parse().unwrap());
        }
    }

    #[test]
    fn hosts_have_names_and_numbers() {
        let names = HostNames::new(&["web-1".into(), "db".into(), "web-2".into()]);
        let table = "src,dst,bytes,start_us\nweb-2,1,8000,0\n\"db\",\"web-1\",\"5\",\"1\"\n";
        let (list, ignored) = names.flows_of("f.csv", table).unwrap();
        let ends: Vec<_> = list.flows_in_order().iter().map(|flow| (flow.src, flow.dst)).collect();
        assert_eq!((ends, ignored), (vec![(2, 1), (1, 0)], None));
        let (problem, right) = names.find("web-3").unwrap_err();
        assert!(
            problem.contains("web-3") && right.contains("did you mean \"web-") && right.contains("0 to 2"),
            "{right}"
        );
        // Names that are numbers leave no room for other numbers.
        let names = HostNames::new(&["7".into(), "1".into()]);
        assert_eq!((names.find("1"), names.find_number(7)), (Ok(1), Ok(0)));
        assert!(names.find("0").is_err() && names.find_number(0).is_err());
    }

    #[test]
    fn of_many_hosts_the_first_ten_are_named_in_order() {
        let names: Vec<String> = (0..100).rev().map(|i| format!("h{i:02}")).collect();
        let (_, right) = HostNames::new(&names).find("something-else").unwrap_err();
        let first = "known: h00, h01, h02, h03, h04, h05, h06, h07, h08, h09, ... (100 in all)";
        assert_eq!(right, format!("{first}, or write a number from 0 to 99"));
    }

    #[test]
    fn columns_that_are_not_read_are_named_once() {
        let table = "prio,src,dst,bytes,start_us,note\n1,0,1,8000,0,x\n2,1,0,8000,0,y\n";
        let (list, ignored) = numbered(2).flows_of("f.csv", table).unwrap();
        assert_eq!(list.flows_in_order().len(), 2);
        assert_eq!(ignored.unwrap(), "f.csv:1: columns prio, note are not used");
    }

    #[test]
    fn errors_name_file_and_line_and_what_would_be_right() {
        for (text, place, says) in [
            ("", "f.csv:1:", "empty; it needs src"),
            ("src,dst,bytes\n", "f.csv:1:", "column of the start is missing: the file has src, dst, bytes; it needs"),
            (
                "dst,bytes,start_us\n",
                "f.csv:1:",
                "column src is missing: the file has dst, bytes, start_us; it needs src, dst",
            ),
            ("a;b;bytes\n", "f.csv:1:", "columns src, dst, bytes are missing: the file has a;b;bytes; it needs"),
            ("src;dst;bytes\n", "f.csv:1:", "columns are separated by commas"),
            ("src,dst,bytes,start_us,start_ns\n", "f.csv:1:", "two columns of starts"),
            ("src,src,dst,bytes,start_us\n", "f.csv:1:", "src is listed twice"),
            ("\nsrc,dst,size,start_us\n", "f.csv:2:", "column bytes is missing: the file has src, dst, size, start_us"),
            ("src,dst,bytes,start_us\n0,1,5\n", "f.csv:2:", "does not have 4 fields"),
            ("src,dst,bytes,start_us\n0,1,5,6,7\n", "f.csv:2:", "does not have 4 fields"),
            ("src,dst,bytes,start_us\n\n0,1,5,6\n0,4,5,6\n", "f.csv:4:", "no host 4; hosts are 0 to 3"),
            ("src,dst,bytes,start_us\n-1,2,5,6\n", "f.csv:2:", "no host \"-1\"; did you mean"),
            ("src,dst,bytes,start_us\n2,h2,5,6\n", "f.csv:2:", "sends to itself"),
            ("src,dst,bytes,start_us\n2,1,0,6\n", "f.csv:2:", "0 B is not a possible flow size"),
            ("src,dst,bytes,start_us\n2,1,1.5,6\n", "f.csv:2:", "not a whole number"),
            ("src,dst,bytes,start_us\n2,1,1,-6\n", "f.csv:2:", "not a time in us"),
            ("src,dst,bytes,start_us\n2,1,1,6 us\n", "f.csv:2:", "not a time in us"),
            ("src,dst,bytes,start_us,group\n2,1,1,6,x\n", "f.csv:2:", "group \"x\" is not a number"),
        ] {
            let error = read(text, 4).unwrap_err().to_string();
            assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #![proptest_config(cases())]
        #[test]
        fn any_bytes_are_flows_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200), hosts in 0u32..100) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = read(&text, hosts);
            let _ = read(&format!("src,dst,bytes,start_s,group\n{text}"), hosts);
        }

        #[test]
        fn any_fields_are_flows_that_could_run_or_an_error(
            text in "([0-9]{1,2},[0-9]{1,2},[0-9]{1,21},[0-9.]{1,9},[0-9]{0,11}\n){0,4}", hosts in 0u32..20,
        ) {
            if let Ok(list) = read(&format!("src,dst,bytes,start_us,group\n{text}"), hosts) {
                let ok = |f: &ListedFlow| f.src != f.dst && f.src < hosts && f.dst < hosts && f.bytes > 0;
                prop_assert!(list.flows_in_order().iter().all(ok));
                prop_assert!(list.flows_in_order().is_sorted_by_key(|f| f.start));
            }
        }
    }
}

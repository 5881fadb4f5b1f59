//! Tables of links and nodes.

use fanin_formats::Error;
use fanin_formats::tables::LinkTable;
use fanin_units::{Rate, Time};

const LINKS: &str = "\
a,b,rate,delay
web-1,leaf0,100 Gbps,1 us
web-2,leaf0,100 Gbps,1 us
\"db\",leaf1,25Gbps,500 ns

leaf0,spine,100 Gbps,1 us
leaf1,spine,100 Gbps,1 us
";

fn read(text: &str) -> Result<LinkTable, Error> {
    LinkTable::read("l.csv", text, None)
}

fn warnings(table: &LinkTable) -> Vec<String> {
    table.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn hosts_are_the_nodes_with_one_neighbour_in_the_order_of_the_links() {
    let table = read(LINKS).unwrap();
    assert_eq!(table.hosts, ["web-1", "web-2", "db"]);
    assert_eq!(table.switches, ["leaf0", "leaf1", "spine"]);
    let db = &table.links[2];
    assert_eq!((db.line, &*db.a, &*db.b), (4, "db", "leaf1"));
    assert_eq!((db.rate, db.delay), (Rate::from_gbps(25), Time::from_ns(500)));
    assert_eq!((table.links.len(), table.links[3].line), (5, 6));
    assert!(table.warnings.is_empty());
    // Parallel links to one switch are a host's, too.
    let bonded = LINKS.replace("\"db\",leaf1,25Gbps,500 ns\n", "db,leaf1,25 Gbps,0 s\ndb,leaf1,25 Gbps,0 s\n");
    let table = read(&bonded).unwrap();
    assert_eq!((table.hosts.len(), table.links.len(), table.warnings.len()), (3, 6, 0));
}

#[test]
fn a_table_of_nodes_says_which_are_hosts() {
    let links = LINKS.replace("leaf1,spine,", "web-2,leaf1,100 Gbps,1 us\nleaf1,spine,");
    let nodes = "kind,name\nhost,db\nswitch,spine\nhost,web-2\nhost,web-1\nswitch,leaf1\nswitch,leaf0\n";
    let table = LinkTable::read("l.csv", &links, Some(("n.csv", nodes))).unwrap();
    assert_eq!(
        (table.hosts, table.switches),
        (["db", "web-2", "web-1"].map(String::from).into(), ["spine", "leaf1", "leaf0"].map(String::from).into())
    );
    for (from, to, says) in [
        ("host,db", "hosts,db", "n.csv:2: kind \"hosts\" is not known; it is host or switch"),
        ("host,db", "host,", "n.csv:2: the node has no name"),
        ("switch,spine", "switch,db", "n.csv:3: node \"db\" is in line 2 too"),
        ("host,db\n", "", "l.csv:4: node \"db\" is not in n.csv; add it there"),
        ("host,db\n", "host,db\nhost,cache\n", "n.csv:3: node \"cache\" has no link; give it one in l.csv"),
        ("kind,name", "type,name", "n.csv:1: column kind is missing: the file has type, name; it needs name and kind"),
    ] {
        let error = LinkTable::read("l.csv", &links, Some(("n.csv", &nodes.replace(from, to)))).unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
    }
}

#[test]
fn what_is_likely_not_meant_is_said_once() {
    // A host with two switches above it looks like a switch.
    let twice = LINKS.replace("leaf1,spine,", "web-2,leaf1,100 Gbps,1 us\nleaf1,spine,");
    let table = read(&twice).unwrap();
    assert_eq!(table.hosts, ["web-1", "db"]);
    let [warning] = &warnings(&table)[..] else { panic!("{:?}", table.warnings) };
    assert!(
        warning.starts_with("l.csv: \"web-1\" is linked to one node and counts as a host, \"web-2\" to 2"),
        "{warning}"
    );
    // A list of each direction would double what links carry.
    let both = format!("{LINKS}leaf0,web-1,100 Gbps,1 us\nspine,leaf1,100 Gbps,1 us\n");
    let [warning] = &warnings(&read(&both).unwrap())[..] else { panic!("not one warning") };
    assert!(warning.starts_with("l.csv:8: line 2 joins \"leaf0\" and \"web-1\" too, and so for 1 more;"), "{warning}");
    let more = LINKS.replace("delay\n", "delay,,note\n").replace(" us\n", " us,,x\n").replace(" ns\n", " ns,,x\n");
    let [warning] = &warnings(&read(&more).unwrap())[..] else { panic!("not one warning") };
    assert_eq!(warning, "l.csv:1: columns \"\", note are not used");
}

#[test]
fn errors_name_file_and_line_and_what_would_be_right() {
    for (from, to, says) in [
        (LINKS, "", "l.csv:1: the file is empty; it needs a, b (names of nodes)"),
        (
            "a,b,rate,delay",
            "from,to,rate,delay",
            "l.csv:1: columns a, b are missing: the file has from, to, rate, delay; it needs",
        ),
        ("a,b,rate,delay", "a,b,a,delay", "l.csv:1: column a is listed twice; leave one out"),
        ("web-2,leaf0,100 Gbps", "web-2,leaf0,100 apples", "l.csv:3: rate: \"100 apples\""),
        ("web-2,leaf0,100 Gbps,1 us", "web-2,leaf0,100 Gbps,1", "l.csv:3: delay: \"1\""),
        ("web-2,leaf0", "web-2,web-2", "l.csv:3: both ends are \"web-2\"; join two different nodes"),
        ("web-2,leaf0", "web-2,", "l.csv:3: b is empty; write the name of a node"),
        ("25Gbps,500 ns", "25Gbps", "l.csv:4: \"\\\"db\\\",leaf1,25Gbps\" does not have 4 fields; each line"),
    ] {
        let error = read(&LINKS.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
        assert!(error.contains("; "), "{error}");
    }
}

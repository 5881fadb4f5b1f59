//! What every column of every table means, said once: the tables carry it, the `README.md` of a run's folder shows it, and
//! so does the documentation.

use crate::{Manifest, Summary, fields};
use std::fmt::Write;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; empty where they have none.
    pub unit: &'static str,
    /// What a value says.
    pub meaning: &'static str,
}

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, and that of its file without the ending.
    pub name: &'static str,
    /// What a row is, and in which order they come.
    pub meaning: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

impl Table {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning }
}

/// Every table, in the order in which it is shown.
pub static TABLES: [Table; 9] = [
    Table {
        name: "flows",
        meaning: "One row per message, in the order of their numbers.",
        columns: &[
            column("flow_id", "", "Number of the message: its row, from 0."),
            column("traffic", "", "Its traffic in the spec."),
            column("scheme", "", "The scheme of that traffic."),
            column(
                "number",
                "",
                "Which message of its traffic it is, from 0 in the order of their start, those counted that were never posted: \
                 \"queries:17\" of a spec is number 17 of queries.",
            ),
            column("src", "", "Number of the host that sends it."),
            column("dst", "", "Number of the host that receives it."),
            column("src_name", "", "Name of the host that sends it."),
            column("dst_name", "", "Name of the host that receives it."),
            column("bytes", "B", "Payload that was asked for; 2^60 for a message without end."),
            column("start_ps", "ps", "When it was posted."),
            column(
                "completion_ps",
                "ps",
                "From its post to its last byte at the receiver; null for one that did not get so far.",
            ),
            column(
                "acked_ps",
                "ps",
                "From its post until its sender knew that all had arrived; null for one that did not get so far.",
            ),
            column(
                "ideal_ps",
                "ps",
                "The completion time that its slowdown is a multiple of: that of the same message alone on the same way with the \
                 network's headers, the same under every scheme, or what `slowdown_ideal` in summary.json says; null for a \
                 message without end.",
            ),
            column("slowdown", "", "`completion_ps` / `ideal_ps`; null where one of them is."),
            column("delivered_bytes", "B", "Payload that arrived in order."),
            column(
                "group",
                "",
                "The incast, query, round or collective that it is part of, within its traffic; null for none.",
            ),
            column("hops", "links", "Links of its shortest way."),
            column("links", "links", "Links that its first packet crossed; 0 before that arrived, and over TCP."),
            column("deflections", "", "Most deflections that one of its packets took."),
            column(
                "attempts",
                "",
                "How often it set out: 1, and 1 more for each loss that was repaired by sending again from there; 0 over TCP \
                 and before it began.",
            ),
            column("packets_sent", "packets", "Data packets that its sender sent, those sent again included."),
            column("packets_resent", "packets", "Of these, packets sent again."),
            column("timeouts", "", "Retransmission timeouts while it was the message being sent."),
            column("packets_marked", "packets", "Data packets that arrived with a congestion mark."),
            column("reordered", "packets", "Data packets that arrived behind a later one of the same attempt."),
            column("packets_arrived", "packets", "Data packets that arrived."),
            column(
                "request",
                "",
                "Whether it asks for an answer. A request is never `measured`: its answer is what somebody waits for.",
            ),
            column(
                "measured",
                "",
                "Whether it counts in summary.json: it has an end and was posted in the measured window.",
            ),
        ],
    },
    Table {
        name: "ports",
        meaning: "One row per port, which is one direction of a link: that of `from` towards `to`. In the order of the links.",
        columns: &[
            column(
                "port",
                "",
                "Its name: \"tor0>h3\" leads from tor0 to h3. Further links between the same two end in \"#2\", \"#3\" and so on.",
            ),
            column("from", "", "The node that sends."),
            column("to", "", "The node that receives."),
            column(
                "tier",
                "",
                "Where it lies, by the links from a switch to its nearest host (1 is a tor, 2 an agg, then level-3 and so on) and \
                 named after its lower end: host-uplink and last-hop (towards the host), tor-uplink and tor-downlink (between tor \
                 and agg), agg-uplink and agg-downlink; tor-across and the like between equals.",
            ),
            column("rate_bps", "b/s", "Rate of the link."),
            column("delay_ps", "ps", "Propagation delay of the link."),
            column("packets", "packets", "Packets sent, ACKs and control included."),
            column("bytes", "B", "Bytes of these on the wire; a packet counts from its first bit on."),
            column(
                "utilisation",
                "",
                "Bytes on the wire in the measured window as a share of what the link could send in it; null for a run that \
                 stopped before it.",
            ),
            column("marked_packets", "packets", "Packets that its queues marked."),
            column(
                "dropped_packets",
                "packets",
                "Packets that wanted to leave here and were dropped, or were lost on the link.",
            ),
            column("peak_queue_bytes", "B", "Most data bytes that ever waited here."),
            column("paused_ps", "ps", "How long PFC paused it, in sum over its classes."),
            column("pauses", "", "PAUSE frames that paused it."),
        ],
    },
    Table {
        name: "classes",
        meaning: "One row per port and class, port by port. What a port counts by class is the sum of its rows; the peaks of its \
                  classes need not have come at the same time.",
        columns: &[
            column("port", "", "Name of the port."),
            column("class", "", "Number of the class; 0 is control and comes first."),
            column("class_name", "", "Its name in the spec."),
            column("lossless", "", "Whether PFC protects it from loss."),
            column("marked_packets", "packets", "Packets that its queue marked."),
            column(
                "dropped_packets",
                "packets",
                "Packets that wanted to leave here and were dropped, or were lost on the link.",
            ),
            column("peak_queue_bytes", "B", "Most bytes that ever waited in its queue."),
            column("paused_ps", "ps", "How long PFC paused it."),
            column("pauses", "", "PAUSE frames that paused it."),
        ],
    },
    Table {
        name: "series",
        meaning: "One row per sample of a queue that `measure.series` asks for, in order of time. A sample sees what was before \
                  anything happens at its instant. Empty queues are left out unless `zeros` is set.",
        columns: &[
            column("time_ps", "ps", "When."),
            column("port", "", "Name of the port."),
            column("queue_bytes", "B", "Data bytes that wait there, all classes."),
        ],
    },
    Table {
        name: "histograms",
        meaning: "One row per bin of how often a sampled quantity was how large; bins that were never seen are left out.",
        columns: &[
            column("what", "", "The quantity: \"queue\"."),
            column("where", "", "The place as the spec has it: a kind of ports, or names."),
            column("lower_bytes", "B", "Smallest value in the bin."),
            column("upper_bytes", "B", "Smallest value above the bin."),
            column("count", "", "How many samples."),
        ],
    },
    Table {
        name: "events",
        meaning: "One row per drop, pause and warning that was kept: the first ones of each kind. How many more there were is in \
                  the schema's metadata (`left_out.drop`, `left_out.pause`, `left_out.warning`) and in summary.json \
                  (`events_left_out`).",
        columns: &[
            column("time_ps", "ps", "When."),
            column("kind", "", "\"drop\", \"pause\" or \"warning\"."),
            column("where", "", "The port, or \"spec\" or \"run\"."),
            column(
                "detail",
                "",
                "What happened: why it was dropped, which class was paused, what a reader should know.",
            ),
        ],
    },
    Table {
        name: "watch",
        meaning: "One row per value that `measure.series` asks for beside queues, in order of time. A sample sees what was before \
                  anything happens at its instant.",
        columns: &[
            column("time_ps", "ps", "When."),
            column("what", "", "The quantity: \"flow\", \"receiver\", \"switch\", \"port\" or \"traffic\"."),
            column("where", "", "The message (\"long:0\"), the node, the port or the traffic."),
            column(
                "traffic",
                "",
                "The traffic whose scheme shows it; null for a port. Traffics of one scheme and set of parameters show the same \
                 receivers and switches.",
            ),
            column(
                "name",
                "",
                "What the value is called, with its unit. Of a flow: `delivered_bytes` (payload that arrived in order so far), \
                 and while it sends `window_bytes`, `rate_bps` and what its scheme shows. Of a port: `sent_bytes` (all bytes so \
                 far; a packet counts from its first bit on) and `paused_us` (time paused by PFC so far, in sum over classes). \
                 Of a traffic: `delivered_bytes` (over all its messages) and `open_messages` (posted and not yet there whole; \
                 messages without end stay open).",
            ),
            column("value", "", "The value, in the unit that its name tells."),
        ],
    },
    Table {
        name: "hops",
        meaning: "One row per packet and node of the messages that `measure.trace` names, in order of time: the host that sends it, \
                  each switch, and the host that receives it.",
        columns: &[
            column(
                "time_ps",
                "ps",
                "When its last bit arrived at the node; at the host that sends it, when its first bit left.",
            ),
            column("flow_id", "", "The message's row in `flows`."),
            column("message", "", "Its name in the spec: \"queries:17\"."),
            column(
                "seq_bytes",
                "B",
                "Offset of the packet in its message, or in its connection where that carries several.",
            ),
            column("attempt", "", "Which attempt of the message it belongs to, from 0."),
            column("wire_bytes", "B", "The packet's whole size."),
            column("node", "", "The node."),
            column("port", "", "The port that it leaves by; null at the host that receives it."),
            column(
                "queued_bytes",
                "B",
                "What waited ahead of it there, in its lane; 0 where it leaves or arrives at a host.",
            ),
            column("tokens", "", "Deflections left to it when it leaves."),
            column("lane", "", "The lane that it leaves in."),
            column("deflections", "", "Deflections so far, this node's included."),
        ],
    },
    Table {
        name: "host_waits",
        meaning: "One row per stretch of time in which a message that `measure.trace` names waited at the host that sends it, \
                  message by message, in order of time. Between them it was sending; they end when it is acknowledged.",
        columns: &[
            column("flow_id", "", "The message's row in `flows`."),
            column("message", "", "Its name in the spec: \"queries:17\"."),
            column(
                "cause",
                "",
                "What it waited for. Where several hold at once, the first of these: \"overhead\" (of its host), \"handshake\" \
                 (its TCP connection was not open yet), \"earlier\" (earlier messages of its connection), \"acks\" (all of it had \
                 been sent), \"link\" (its host's link was down), \"pfc\" (the port was paused), \"window\" (it was full: that of \
                 the congestion control, or the receiver's), \"pacing\" (the rate of its scheme), \"nic\" (the port sent packets of \
                 other messages, or control).",
            ),
            column("begin_ps", "ps", "From when ..."),
            column("end_ps", "ps", "... until when."),
        ],
    },
];

/// Files of a run's folder beside its tables, and what they are.
pub static FILES: [(&str, &str); 11] = [
    ("spec.resolved.toml", "The spec that ran, with every default."),
    ("summary.json", "The run in numbers; its fields are below."),
    ("manifest.json", "How the run was made, and how fast; its fields are below."),
    ("README.md", "What is in the folder."),
    ("INCOMPLETE", "Only in a run that was stopped before its end: when that was."),
    ("capture.pcapng", "Packets on links, for Wireshark, where `measure.capture` asks for it."),
    ("trace.perfetto-trace", "Messages, queues and pauses, for ui.perfetto.dev, where `measure.perfetto` asks for it."),
    ("fct.txt", "Of a run of the ns-3 HPCC simulator's files: the flows' completion times, as its scripts read them."),
    ("pfc.txt", "The same of PAUSE frames."),
    ("qlen.txt", "The same of queue lengths."),
    ("trace.tr", "The same of packets at the nodes that its trace file names."),
];

/// The tables with their columns, and the fields of `summary.json` and `manifest.json`, as sections of a Markdown page.
pub fn markdown() -> String {
    let mut text = String::from("## Tables\n\nTimes are whole picoseconds. A missing value is null.\n");
    for table in &TABLES {
        // Writing to a string does not fail.
        let _ =
            write!(text, "\n### {}\n\n{}\n\n| column | unit | meaning |\n|---|---|---|\n", table.name, table.meaning);
        for Column { name, unit, meaning } in table.columns {
            let _ = writeln!(text, "| `{name}` | {unit} | {meaning} |");
        }
    }
    let files = [
        ("summary.json", "The run in numbers.", fields::of::<Summary>()),
        ("manifest.json", "How the run was made, and how fast.", fields::of::<Manifest>()),
    ];
    for (file, meaning, fields) in files {
        let _ = write!(text, "\n## {file}\n\n{meaning} `[]` stands for each entry of a list.\n\n");
        text.push_str("| field | meaning |\n|---|---|\n");
        for (field, meaning) in fields {
            let _ = writeln!(text, "| `{field}` | {meaning} |");
        }
    }
    text
}

#[cfg(test)]
mod tests;

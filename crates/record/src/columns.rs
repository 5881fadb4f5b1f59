//! The meaning of every column of every table, defined once: tables carry it in their metadata, and the `README.md` of
//! a run's folder and the documentation are generated from it.

use crate::{Manifest, Summary, fields};
use std::fmt::Write;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; empty where they have none.
    pub unit: &'static str,
    /// Meaning of its values.
    pub meaning: &'static str,
}

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, and that of its file without the ending.
    pub name: &'static str,
    /// Content of a row, and order of the rows.
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
pub static TABLES: [Table; 14] = [
    Table {
        name: "flows",
        meaning: "One row per message, in the order of message numbers.",
        columns: &[
            column("flow_id", "", "Number of the message, which is its row, from 0."),
            column("traffic", "", "Its traffic in the spec."),
            column("scheme", "", "The scheme of that traffic."),
            column(
                "number",
                "",
                "Number of the message within its traffic, from 0 in the order of start times, including messages that \
                 were never posted: \"queries:17\" in a spec is number 17 of queries.",
            ),
            column("src", "", "Number of the sending host."),
            column("dst", "", "Number of the receiving host."),
            column("src_name", "", "Name of the sending host."),
            column("dst_name", "", "Name of the receiving host."),
            column("bytes", "B", "Payload of the message; 2^60 for a message without end."),
            column("start_ps", "ps", "Time at which it was posted."),
            column(
                "completion_ps",
                "ps",
                "From the post to the arrival of the last byte at the receiver; null if unfinished.",
            ),
            column(
                "acked_ps",
                "ps",
                "From the post until the sender knows that all bytes arrived; null if unfinished.",
            ),
            column(
                "ideal_ps",
                "ps",
                "The ideal completion time, by which its slowdown is computed: that of the same message alone on \
                 the same path with the network's headers, the same under every scheme, or the ideal that \
                 `slowdown_ideal` in summary.json names; null for a message without end.",
            ),
            column("slowdown", "", "`completion_ps` / `ideal_ps`; null if either is null."),
            column("delivered_bytes", "B", "Payload that arrived in order."),
            column(
                "group",
                "",
                "The incast, query, round or collective that it belongs to, within its traffic; null for none.",
            ),
            column("hops", "links", "Links on its shortest path."),
            column("links", "links", "Links that its first packet crossed; 0 if that has not arrived, and over TCP."),
            column("deflections", "", "Largest number of deflections of any of its packets."),
            column(
                "attempts",
                "",
                "Transmission attempts: 1, plus 1 for each loss that was repaired by retransmission from there on; \
                 0 over TCP and before it began.",
            ),
            column("packets_sent", "packets", "Data packets sent, retransmissions included."),
            column("packets_resent", "packets", "Of these, retransmissions."),
            column("timeouts", "", "Retransmission timeouts while it was the message being sent."),
            column("packets_marked", "packets", "Data packets that arrived with a congestion mark."),
            column("reordered", "packets", "Data packets that arrived after a later one of the same attempt."),
            column("packets_arrived", "packets", "Data packets that arrived."),
            column("request", "", "Whether it is a request. Requests are never `measured`: only their answers count."),
            column(
                "measured",
                "",
                "Whether it counts in summary.json: it has an end and was posted in the measured window.",
            ),
        ],
    },
    Table {
        name: "ports",
        meaning: "One row per port, in the order of the links. A port is one direction of a link, from `from` to \
            `to`.",
        columns: &[
            column(
                "port",
                "",
                "Its name: \"tor0>h3\" is the port of tor0 towards h3. Further links between the same two nodes end \
                 in \"#2\", \"#3\" and so on.",
            ),
            column("from", "", "The sending node."),
            column("to", "", "The receiving node."),
            column(
                "tier",
                "",
                "Its tier, by the distance of the link's lower end from the nearest host (1 is a tor, 2 an agg, \
                 then level-3 and so on): host-uplink and last-hop (towards the host), tor-uplink and tor-downlink \
                 (between tor and agg), agg-uplink and agg-downlink; tor-across and the like between switches of \
                 one level.",
            ),
            column("rate_bps", "b/s", "Rate of the link."),
            column("delay_ps", "ps", "Propagation delay of the link."),
            column("packets", "packets", "Packets sent, ACKs and control included."),
            column("bytes", "B", "Bytes of these on the wire; a packet counts when its transmission starts."),
            column(
                "utilisation",
                "",
                "Bytes on the wire in the measured window as a share of the link's capacity in it; null if the run \
                 stopped before the window.",
            ),
            column("marked_packets", "packets", "Packets marked by its queues."),
            column("dropped_packets", "packets", "Packets dropped at this port or lost on its link."),
            column("peak_queue_bytes", "B", "Largest number of data bytes queued."),
            column("paused_ps", "ps", "Time paused by PFC, summed over its classes."),
            column("pauses", "", "PAUSE frames that took effect on it."),
            column(
                "credit_wait_ps",
                "ps",
                "Time without credits for the next packet of a class, summed over its classes.",
            ),
            column("credit_waits", "", "How often a class ran out of credits."),
            column("trimmed_packets", "packets", "Packets cut to their headers here for lack of room."),
        ],
    },
    Table {
        name: "classes",
        meaning: "One row per port and class, port by port. Counters of a port are the sums over its classes; the \
            peaks of classes need not coincide in time.",
        columns: &[
            column("port", "", "Name of the port."),
            column("class", "", "Number of the class; 0 is control, which has strict priority."),
            column("class_name", "", "Its name in the spec."),
            column("lossless", "", "Whether flow control, PFC or credits, protects it from loss."),
            column("marked_packets", "packets", "Packets marked by its queue."),
            column("dropped_packets", "packets", "Packets dropped at this port or lost on its link."),
            column("peak_queue_bytes", "B", "Largest number of bytes queued."),
            column("paused_ps", "ps", "Time paused by PFC."),
            column("pauses", "", "PAUSE frames that took effect on it."),
            column("credit_wait_ps", "ps", "Time without credits for its next packet."),
            column("credit_waits", "", "How often it ran out of credits."),
            column("trimmed_packets", "packets", "Packets cut to their headers here for lack of room."),
        ],
    },
    Table {
        name: "series",
        meaning: "One row per sample of a queue in `measure.series`, in order of time. A sample is taken before all \
            events of its instant. Empty queues are left out unless `zeros` is set.",
        columns: &[
            column("time_ps", "ps", "When."),
            column("port", "", "Name of the port."),
            column("queue_bytes", "B", "Data bytes queued, all classes."),
        ],
    },
    Table {
        name: "histograms",
        meaning: "One row per bin of the histogram of a sampled quantity; empty bins are left out.",
        columns: &[
            column("what", "", "The quantity: \"queue\"."),
            column("where", "", "The `where` of the spec: a kind of ports, or names."),
            column("lower_bytes", "B", "Smallest value in the bin."),
            column("upper_bytes", "B", "Smallest value above the bin."),
            column("count", "", "Number of samples."),
        ],
    },
    Table {
        name: "events",
        meaning: "One row per recorded drop, pause, storm, failure and warning: the first ones of each kind. The \
            number of further ones is in the schema's metadata (`left_out.drop`, `left_out.pause` and so on) and in \
            summary.json (`events_left_out`). Rows of one kind are in order of time.",
        columns: &[
            column("time_ps", "ps", "When."),
            column(
                "kind",
                "",
                "\"drop\", \"pause\", \"storm\" (a storm watchdog acts), \"storm_end\" (it no longer does), \
                 \"link_down\", \"link_up\", \"reroute\" (a link went down or came up, and there are new routes), \
                 \"fault\" (one of a host begins or ends) or \"warning\".",
            ),
            column(
                "where",
                "",
                "The port; of a link the port of its first end; the faulty host; or \"spec\" or \"run\".",
            ),
            column(
                "cause",
                "",
                "Cause of a drop, by its name in `network.drops` of summary.json: buffer, lossless, error, link_down, \
                 no_route, program, blocked, wrong_host, credits, watchdog or receiver; null for other kinds.",
            ),
            column("detail", "", "The cause in words, the class that was paused, or the text of the warning."),
        ],
    },
    Table {
        name: "watch",
        meaning: "One row per value of `measure.series` other than queues, in order of time. A sample is taken \
            before all events of its instant.",
        columns: &[
            column("time_ps", "ps", "When."),
            column("what", "", "The quantity: \"flow\", \"receiver\", \"switch\", \"port\" or \"traffic\"."),
            column("where", "", "The message (\"long:0\"), the node, the port or the traffic."),
            column(
                "traffic",
                "",
                "The traffic of the scheme; null for a port. Traffics with the same scheme and parameters have the \
                 same values at receivers and switches.",
            ),
            column(
                "name",
                "",
                "Name of the value, with its unit. Of a flow: `delivered_bytes` (payload that arrived in order so \
                 far), and while it sends `window_bytes`, `rate_bps`, over TCP `peer_window_bytes` (what its \
                 receiver allows in flight) and values of its scheme. Of a port: `sent_bytes` (all bytes so far; a \
                 packet counts when its transmission starts) and `paused_us` (time paused by PFC so far, summed over \
                 classes), or with credits `credit_wait_us` (time without them so far). Of a \
                 traffic: `delivered_bytes` (over all its messages) and `open_messages` (posted and not completely \
                 arrived; messages without end stay open).",
            ),
            column("value", "", "The value, in the unit of its name."),
        ],
    },
    Table {
        name: "hops",
        meaning: "One row per packet and node for the messages in `measure.trace`, in order of time: the sending \
            host, each switch, and the receiving host.",
        columns: &[
            column(
                "time_ps",
                "ps",
                "Time at which its last bit arrived at the node; at the sending host, at which its first bit was \
                 sent.",
            ),
            column("flow_id", "", "The message's row in `flows`."),
            column("message", "", "Its name in the spec: \"queries:17\"."),
            column(
                "seq_bytes",
                "B",
                "Offset of the packet in its message, or in its connection if that carries several messages.",
            ),
            column("attempt", "", "Attempt of the message that it belongs to, from 0."),
            column("wire_bytes", "B", "Size of the packet on the wire."),
            column("node", "", "The node."),
            column("port", "", "Its egress port; null at the receiving host."),
            column("queued_bytes", "B", "Bytes ahead of it in its lane of the egress queue; 0 at hosts."),
            column("tokens", "", "Deflections that it may still take after this node."),
            column("lane", "", "Its lane at the egress port."),
            column("deflections", "", "Deflections so far, this node included."),
        ],
    },
    Table {
        name: "host_waits",
        meaning: "One row per waiting period of a message in `measure.trace` at its sending host, message by \
            message, in order of time, until it is acknowledged. In between, the message was being sent.",
        columns: &[
            column("flow_id", "", "The message's row in `flows`."),
            column("message", "", "Its name in the spec: \"queries:17\"."),
            column(
                "cause",
                "",
                "Cause of the wait. If several apply at once, the first of these: \"overhead\" (of its host), \
                 \"handshake\" (its TCP connection was not open yet), \"earlier\" (earlier messages of its \
                 connection), \"acks\" (all of it had been sent), \"link\" (its host's link was down), \"pfc\" (the \
                 port was paused), \"credits\" (the port had none for a full packet), \"window\" (the congestion \
                 window or the receiver's window was full), \"pacing\" (the rate of its scheme), \"nic\" (the port \
                 sent packets of other messages, or control).",
            ),
            column("begin_ps", "ps", "Begin of the wait."),
            column("end_ps", "ps", "End of the wait."),
        ],
    },
    Table {
        name: "pauses",
        meaning: "One row per pause of a class of a port by PFC, in order of their begin, with its cause, if \
            `measure.pauses` is set. A pause whose cause is another pause belongs to the tree of that one. Pauses \
            with the same origin form one tree as long as one of those at its root lasts.",
        columns: &[
            column("pause", "", "Number of the pause, from 0."),
            column("port", "", "Name of the port that was paused."),
            column("class", "", "Number of the class."),
            column("begin_ps", "ps", "When the PAUSE frame arrived."),
            column("end_ps", "ps", "When the pause ended; null if it lasted at the end of the run."),
            column(
                "cause",
                "",
                "Why the peer sent it. Of the queues that held the packets of the full ingress, the one with the most \
                 was paused itself (\"pause\") or not (\"congestion\"); or the peer was a host whose receive buffer \
                 was full (\"receiver\") or that paused without a cause (\"storm\").",
            ),
            column("by", "", "The port of that queue; null for a host."),
            column("parent", "", "The pause that led to this one; null at the root of a tree."),
            column("tree", "", "Number of its tree, from 0."),
            column("depth", "", "Pauses from the origin to this one, itself included: at least 1."),
        ],
    },
    Table {
        name: "ranks",
        meaning: "One row per rank of a job (docs/collectives.md), by traffic and rank. From start to finish a rank \
            computes, waits for communication, or is idle.",
        columns: &[
            column("traffic", "", "Its traffic in the spec."),
            column("rank", "", "Its number."),
            column("host", "", "Its host."),
            column("start_ps", "ps", "When its job began."),
            column("finish_ps", "ps", "When its last node ended, without the ACKs of messages of collectives."),
            column("compute_ps", "ps", "Time with a computation under way."),
            column("communication_ps", "ps", "Time with a send, a receive or a collective under way."),
            column("exposed_ps", "ps", "Exposed communication as ASTRA-sim counts it: all time without computation."),
            column("waiting_ps", "ps", "Time with communication and no computation under way."),
            column("idle_ps", "ps", "Time with neither."),
            column("unfinished", "", "Nodes that did not end."),
            column("late_collectives", "", "Collectives that it was the last to enter, later than the first rank."),
            column("late_ps", "ps", "How much later, the sum over these."),
        ],
    },
    Table {
        name: "collectives",
        meaning: "One row per collective operation of a job, by traffic and number.",
        columns: &[
            column("traffic", "", "Its traffic in the spec."),
            column("collective", "", "Its number in the job, from 0; of its messages in `flows`, the group."),
            column("operation", "", "The operation: \"all-reduce\" and so on."),
            column("algorithm", "", "How it was carried out."),
            column("ranks", "", "Ranks that take part."),
            column("bytes", "B", "Its size as nccl-tests counts it."),
            column("start_ps", "ps", "When the first rank entered it."),
            column("time_ps", "ps", "From then until the last rank ended it; null where one has not."),
            column("algbw_gbytes", "GB/s", "Size over time; null where a rank has not ended it."),
            column("busbw_gbytes", "GB/s", "The same times nccl-tests' factor of the operation; null likewise."),
            column("last_rank", "", "The last rank to enter it."),
            column("late_ps", "ps", "How long after the first that was."),
        ],
    },
    Table {
        name: "nodes",
        meaning: "One row per node of a job that ended and took part in something, by traffic and rank, in order of \
            their ends. At most four million are kept, the first of each rank; the number of further ones is in the \
            schema's metadata (`left_out`).",
        columns: &[
            column("traffic", "", "Its traffic in the spec."),
            column("rank", "", "Its rank."),
            column("node", "", "Its number in the file; of a message of a collective, that of the collective."),
            column("kind", "", "\"send\", \"recv\", \"compute\" or \"collective\"."),
            column("peer", "", "The other rank of a message; null for others, and where a receive takes any."),
            column("bytes", "B", "Size of a message; null for others."),
            column("collective", "", "Number of the collective that it is or belongs to; null for others."),
            column("start_ps", "ps", "When it was started, or posted."),
            column("end_ps", "ps", "When it ended; of a send, when its last ACK arrived."),
        ],
    },
    Table {
        name: "critical",
        meaning: "The critical path of each job that ended, and of each of its collectives: from the end backwards, \
            always to what a node waited for last. One row per computation, message or wait on it, in order of time; \
            each begins when the one before ends, so the times of a job's rows add up to its time, and those of a \
            collective's to `time_ps` in `collectives`. At most two million rows are kept, those of jobs first; the \
            number of further ones is in the schema's metadata (`left_out`).",
        columns: &[
            column("traffic", "", "Its traffic in the spec."),
            column("path_of", "", "The collective whose path it is; null for the path of the whole job."),
            column(
                "kind",
                "",
                "\"compute\", \"message\" (from its post to its last byte), \"ack\" (from there to the last ACK, \
                 where a node waited for the end of a send), \"slot\" (a node waited for its slot), \"late\" (of a \
                 collective: its rank entered it later than the first).",
            ),
            column("rank", "", "Its rank; of a message, the one that sends it."),
            column("peer", "", "The rank that receives a message; null for others."),
            column("node", "", "Its number in the file; of a message of a collective, that of the collective."),
            column("collective", "", "Number of the collective that it belongs to; null for others."),
            column("flow_id", "", "The message's row in `flows`; null for others."),
            column("start_ps", "ps", "From when ..."),
            column("end_ps", "ps", "... to when. The following columns add up to this time."),
            column("compute_ps", "ps", "Computation."),
            column("serialisation_ps", "ps", "Of a message: its FCT in an empty network, less propagation."),
            column(
                "propagation_ps",
                "ps",
                "Of a message or ACK: the delays of the links on the shortest path between its hosts.",
            ),
            column(
                "queueing_ps",
                "ps",
                "What a message took beyond that: queues, pacing, pauses, retransmission. Of an ACK also its own \
                 serialisation.",
            ),
            column("waiting_ps", "ps", "Of \"slot\" and \"late\": all of it."),
        ],
    },
];

/// Files of a run's folder other than its tables, with their meaning.
pub static FILES: [(&str, &str); 13] = [
    ("spec.resolved.toml", "The spec that ran, with every default."),
    (
        "configuration.toml",
        "The configuration of the ns-3 HPCC simulator that ran, as it was read, or the files and options of uet-htsim; \
         not a spec.",
    ),
    ("summary.json", "Summary of the run; its fields are below."),
    ("manifest.json", "Metadata and speed of the run; its fields are below."),
    ("README.md", "Description of the folder."),
    ("INCOMPLETE", "Only if the run was stopped before its end: the time at which it stopped."),
    ("capture.pcapng", "Packets on links, for Wireshark, if `measure.capture` is set."),
    ("trace.perfetto-trace", "Messages, queues, pauses and ranks, for ui.perfetto.dev, if `measure.perfetto` is set."),
    ("fct.txt", "Flow completion times in the format of the ns-3 HPCC simulator, for runs of its files."),
    ("pfc.txt", "PAUSE frames, likewise."),
    ("qlen.txt", "Queue lengths, likewise."),
    ("trace.tr", "Packets at the nodes of its trace file, likewise."),
    ("uec.txt", "The lines that uet-htsim prints, for runs of its files."),
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
        ("summary.json", "Summary of the run.", fields::of::<Summary>()),
        ("manifest.json", "Metadata and speed of the run.", fields::of::<Manifest>()),
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

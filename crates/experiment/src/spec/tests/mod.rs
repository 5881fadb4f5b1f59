//! Tests of specs: examples, every kind of error, and arbitrary input.

mod arbitrary;
mod bounds;
mod dscp;
mod errors;
mod examples;
mod faults;
mod own_data;

use super::document::Document;
use super::read::schema_value;
use super::*;
use crate::Problems;
use fanin_fabric::Message;
use fanin_units::Time;
use fanin_workload::ListedFlow;
use serde_json::Value;
use std::path::Path;

/// A spec with a bit of everything, of which tests change single lines.
pub const EXAMPLE: &str = concat!(
    r#"spec_version = 1
name = "a bit of everything"
seed = 7
[network]
topology = { kind = "clos", pods = 2, tors = 2, hosts = 4, uplinks = 2, link = "10 Gbps", delay = "5 us" }
packet = { payload = "1460 B", header = "40 B", ack = "64 B", cnp = "64 B", pause = "64 B" }
buffer = { per_port = "225 KB", policy = "lossless" }
marking = { kind = "step", above = "22.5 KB", at = "dequeue" }
marking_by_rate = [{ rate = "10000 Mbps", marking = { kind = "off" } }]
host_queue = { capacity = "64 KB", mark_above = "22.5 KB" }
release = "last-bit"
links = [{ between = ["tor0", "h3"], error_rate = 0.001, down = [["1 ms", "2 ms"], ["3 ms", "4 ms"]] }]
[[network.classes]]
name = "data"
[[network.classes]]
name = "bulk"
lossless = false
marking = { kind = "red", min = "5 KB", max = "200 KB", probability = 0.01 }
[[traffic]]
name = "queries"
scheme = { id = "fixed-window", packets = 20 }
class = "data"
pattern = { kind = "incast", degree = 5, jitter = "20 us", receivers = ["h0", "h9"] }
size = { uniform_of = ["2 KB", "4 KB", "8 KB"] }
load = { share = 0.16, of = "tor-uplinks" }
rdma = { timeout = "off", nack_interval = "100 us", ack_chunk = "4 KB", persistent = true }
[[traffic]]
name = "updates"
scheme = "none"
class = "bulk"
pattern = { kind = "long", spread = "1 ms" }
load = { share = 0.24, of = "tor-uplinks" }
[[traffic]]
name = "web"
scheme = "dcqcn"
pattern = { kind = "poisson" }
size = { cdf = "WebSearch" }
load = { share = 0.1, of = "host-links" }
[[traffic]]
name = "asks"
scheme = "fixed-window"
transport = "tcp"
pattern = { kind = "query", clients = ["h1"], servers = ["h7", "h2"], rounds = 10, "#,
    r#"total = "1 MB", service_time = ["1 us", "2 us"] }
tcp = { min_rto = "20 ms", receive_buffer = "2 MB", persistent = true, ack_class = "control", overhead = "300 us" }
[measure]
warm_up = "5 ms"
window = "50 ms"
drain_limit = "20 ms"
report_size = "8 KB"
series = [{ what = "queue", where = "last-hop", every = "10 us" }, "#,
    r#"{ what = "queue", where = ["tor0>h3", "h3>tor0"], every = "10 us", zeros = true }]
[compare]
schemes = ["dcqcn", "none"]
"#
);

/// Number of random cases of a property test.
pub fn cases() -> proptest::test_runner::Config {
    let cases = std::env::var("FANIN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    proptest::test_runner::Config { cases, ..Default::default() }
}

/// Reads and checks.
pub fn checked(text: &str) -> Result<CheckedSpec, Problems> {
    Spec::from_toml(text, "x.toml", Path::new("")).and_then(|spec| spec.check())
}

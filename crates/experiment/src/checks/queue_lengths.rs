//! A `qlen.txt` that will be empty.

use super::exact::Exact;
use fanin_formats::Warning;
use fanin_ns3::results::{DUMP, QueueLengths};

/// Whether the queue lengths are never written: that takes a multiple of 100 ms within the time of the samples.
pub fn no_dump(exact: &Exact<'_>) -> Vec<Warning> {
    let config = exact.config;
    let stop = fanin_ns3::time::seconds(config.stop);
    if QueueLengths::are_written(config.qlen_start, config.qlen_end, stop) {
        return Vec::new();
    }
    let (start, end, every) = (config.qlen_start, config.qlen_end, DUMP / 1_000_000);
    vec![exact.warning(format!(
        "qlen.txt will be empty: that simulator writes it at multiples of {every} ms, and none lies between \
         QLEN_MON_START {start}, a multiple of 100 ns, and QLEN_MON_END {end} before SIMULATOR_STOP_TIME {} s",
        config.stop
    ))]
}

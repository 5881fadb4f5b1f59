//! Links that are faster on the network of the ns-3 HPCC simulator than they are, since it counts whole nanoseconds.

use super::exact::Exact;
use super::telemetry::text;
use fanin_formats::Warning;
use fanin_ns3::time::transmission;
use fanin_units::Rate;

/// The least share by which a link must be faster to be worth a warning. At 100 Gb/s, where most configurations are, a
/// packet of 1,048 B takes 83 ns instead of 83.84: 1 %.
const NOTICEABLE: f64 = 0.02;

/// The rates of links at which a full packet takes noticeably less time there.
pub fn faster_links(exact: &Exact<'_>) -> Vec<Warning> {
    let packet = exact.packet();
    let of = |rate: u64| {
        let (takes, counted) = (f64::from(packet) * 8e9 / rate as f64, transmission(packet, rate));
        let faster = takes / counted as f64 - 1.0;
        (faster >= NOTICEABLE).then(|| {
            let by = match counted {
                0 => "the link has no limit there".to_string(),
                _ => format!("the link is {:.1} % faster there", faster * 100.0),
            };
            let rate = text(Rate::from_bps(rate));
            let takes = (takes * 100.0).round() / 100.0;
            format!(
                "at {rate} a packet of {packet} B takes {takes} ns, which that simulator counts as {counted}: {by}, \
                 and its flows may beat the ordinary network and their ideal"
            )
        })
    };
    exact.rates(|_| true).into_iter().filter_map(of).map(|what| exact.of_topology(what)).collect()
}

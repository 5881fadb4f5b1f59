//! Links whose rate the telemetry of the public HPCC simulator has no number for.

use super::exact::Exact;
use crate::CheckedSpec;
use crate::explain::rates_of_switches;
use fanin_formats::Warning;
use fanin_units::Rate;

fn is_unknown(known: &[u64], bps: u64) -> bool {
    known.iter().all(|gbps| gbps * 1_000_000_000 != bps)
}

/// Its copied law on such a link, once for each preset.
pub fn unknown_rates(checked: &CheckedSpec) -> Vec<String> {
    let of = |(number, traffic): (usize, &fanin_fabric::TrafficConfig)| {
        Some((traffic.scheme.id(), number, traffic.scheme.telemetry_rates()?))
    };
    let mut laws: Vec<(&str, usize, &[u64])> = checked.traffics().iter().enumerate().filter_map(of).collect();
    laws.sort_unstable();
    laws.dedup_by_key(|(id, ..)| *id);
    if laws.is_empty() {
        return Vec::new();
    }
    let rates = rates_of_switches(&checked.network().graph);
    let warning = |(id, number, known): (&str, usize, &[u64])| {
        let odd = listed(rates.keys().copied().filter(|rate| is_unknown(known, rate.as_bps())));
        let what =
            format!("traffic[{number}]: {} {id} for {} Gb/s; hpcc is the law for any rate", said(&odd), known[0]);
        (!odd.is_empty()).then_some(what)
    };
    laws.into_iter().filter_map(warning).collect()
}

/// That simulator's own law on such a link.
pub fn unknown_to_its_own(exact: &Exact<'_>) -> Vec<Warning> {
    let Some(known) = exact.law.telemetry_rates() else { return Vec::new() };
    let odd = listed(exact.rates(|rate| is_unknown(known, rate)).into_iter().map(Rate::from_bps));
    let warning = || exact.of_topology(format!("{} that simulator for 25 Gb/s", said(&odd)));
    (!odd.is_empty()).then(warning).into_iter().collect()
}

fn said(odd: &str) -> String {
    format!("its telemetry knows links of 25, 50, 100, 200 and 400 Gb/s only, and those of {odd} are taken by")
}

/// The first rates and the number of others.
pub fn listed(rates: impl Iterator<Item = Rate>) -> String {
    const SHOWN: usize = 4;
    let all: Vec<Rate> = rates.collect();
    let first: Vec<String> = all.iter().take(SHOWN).map(|rate| text(*rate)).collect();
    match all.len() {
        0..=SHOWN => first.join(", "),
        more => format!("{} and {} other rates", first.join(", "), more - SHOWN),
    }
}

/// A rate as people say it.
pub fn text(rate: Rate) -> String {
    let bps = rate.as_bps();
    match bps {
        0..1_000_000_000 => format!("{} Mb/s", bps as f64 / 1e6),
        _ => format!("{} Gb/s", bps as f64 / 1e9),
    }
}

//! Links whose rate the telemetry of the public HPCC simulator has no number for.

use super::exact::Exact;
use crate::CheckedSpec;
use crate::explain::rates_of_switches;
use fanin_cc::Settings;
use fanin_formats::Warning;
use fanin_units::Rate;

/// The rates that it has numbers for, Gb/s. It takes every other one for the first.
const KNOWN: [u64; 5] = [25, 50, 100, 200, 400];

fn is_unknown(bps: u64) -> bool {
    KNOWN.iter().all(|gbps| gbps * 1_000_000_000 != bps)
}

/// Its copied law on such a link, once for each preset.
pub fn unknown_rates(checked: &CheckedSpec) -> Vec<String> {
    let laws = checked.traffics().iter().enumerate().filter(|(_, t)| matches!(t.scheme, Settings::HpccNs3(..)));
    let mut laws: Vec<(usize, &str)> = laws.map(|(number, traffic)| (number, traffic.scheme.id())).collect();
    laws.sort_by_key(|(number, id)| (*id, *number));
    laws.dedup_by_key(|(_, id)| *id);
    if laws.is_empty() {
        return Vec::new();
    }
    let rates = rates_of_switches(&checked.network().graph).into_keys();
    let odd = listed(rates.filter(|rate| is_unknown(rate.as_bps())));
    let warning = |(number, id): (usize, &str)| {
        format!("traffic[{number}].scheme: {} {id} for 25 Gb/s; hpcc is the law for any rate", said(&odd))
    };
    laws.into_iter().filter(|_| !odd.is_empty()).map(warning).collect()
}

/// That simulator's own law on such a link.
pub fn unknown_to_its_own(exact: &Exact<'_>) -> Vec<Warning> {
    if !matches!(exact.law, Settings::HpccNs3(..)) {
        return Vec::new();
    }
    let odd = listed(exact.rates(is_unknown).into_iter().map(Rate::from_bps));
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

//! What is known to go wrong with a run before it starts, though the run is possible: one list, for every door.
//!
//! A spec passes it as it is checked, whatever it was made from: a file, htsim's, or a configuration of the ns-3 HPCC
//! simulator under a scheme. A configuration that runs exactly passes it as its files are read. `check`, `explain`,
//! `run`, `compare` and `sweep` show these warnings, and so do the functions of Python.
//!
//! A check is a file here with a function for each of the two networks that it concerns, and a line of the list.

mod exact;
mod failures;
mod headroom;
mod marks;
mod queue_lengths;
mod spraying;
mod telemetry;
mod whole_ns;
mod window;

pub use exact::Exact;
pub use failures::Late;

use crate::CheckedSpec;
use fanin_formats::Warning;

/// The checks of a spec.
const OF_SPECS: [fn(&CheckedSpec) -> Vec<String>; 8] = [
    headroom::too_small,
    marks::none,
    marks::of_some_rates,
    marks::after_pauses,
    telemetry::unknown_rates,
    spraying::over_go_back_n,
    failures::after_the_end,
    window::too_short,
];

/// The checks of a configuration that runs exactly.
const OF_CONFIGURATIONS: [fn(&Exact<'_>) -> Vec<Warning>; 6] = [
    telemetry::unknown_to_its_own,
    marks::none_of_its_own,
    marks::after_its_pauses,
    whole_ns::faster_links,
    failures::after_its_stop,
    queue_lengths::no_dump,
];

/// The warnings of a spec.
pub fn of_spec(checked: &CheckedSpec) -> Vec<String> {
    OF_SPECS.iter().flat_map(|check| check(checked)).collect()
}

/// The warnings of a configuration on its own network.
pub fn of_configuration(exact: &Exact<'_>) -> Vec<Warning> {
    OF_CONFIGURATIONS.iter().flat_map(|check| check(exact)).collect()
}

#[cfg(test)]
mod tests;

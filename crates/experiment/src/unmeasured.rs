//! Warnings about a measured window without messages, since such a run would report nothing without a reason.

use crate::CheckedSpec;
use fanin_fabric::Message;
use fanin_record::Run;
use fanin_units::Time;

/// Most messages examined before a run.
const MOST_LOOKED_AT: usize = 1_000_000;

/// The warning, if no message of a completed run was posted in the window.
pub fn seen(run: &Run) -> Option<String> {
    let mut before = Before::default();
    for flow in run.flows.iter() {
        if run.is_measured(&flow) {
            return None;
        }
        if flow.bytes >= Message::ENDLESS {
            before.endless = true;
        } else if !flow.request {
            before.add(flow.start);
        }
    }
    before.warning(run.measured_from, run.measured_to)
}

impl CheckedSpec {
    /// Its warnings, with one if no message will fall into the measured window, as far as a short examination shows.
    pub fn foreseen(&self) -> Vec<String> {
        self.warnings().iter().cloned().chain(foreseen(self)).collect()
    }
}

/// The same before the run, as far as a short examination shows.
fn foreseen(checked: &CheckedSpec) -> Option<String> {
    if checked.posted_elsewhere().is_some() {
        return None;
    }
    let (from, to) = (checked.measure().warm_up, checked.measure().warm_up.saturating_add(checked.measure().window));
    let mut before = Before::default();
    let messages = checked.messages(Vec::new()).ok()?;
    for (number, message) in messages.enumerate() {
        let waits = message.dependency.after.is_some();
        // The time of its post is not known yet.
        if waits || message.start >= from && message.bytes < Message::ENDLESS || number >= MOST_LOOKED_AT {
            return None;
        }
        if message.bytes >= Message::ENDLESS {
            before.endless = true;
        } else {
            before.add(message.start);
        }
    }
    before.warning(from, to)
}

/// Messages posted before the window.
#[derive(Default)]
struct Before {
    /// Messages with an end.
    count: u64,
    last: Time,
    /// Whether there are endless messages, for which goodput is reported.
    endless: bool,
}

impl Before {
    fn add(&mut self, start: Time) {
        self.count += 1;
        self.last = self.last.max(start);
    }

    fn warning(&self, from: Time, to: Time) -> Option<String> {
        let Self { count, last, endless } = self;
        let window = format!("the measured window, {from} to {to}");
        match count {
            0 if *endless => None,
            0 => Some(format!("no message is posted before the end of {window}: there is nothing to report")),
            1 => Some(format!(
                "no message is posted in {window}: the only message is posted at {last}; lower measure.warm_up"
            )),
            _ => Some(format!(
                "no message is posted in {window}: all {count} are posted before it, the last at {last}; lower \
                 measure.warm_up"
            )),
        }
    }
}

//! What was checked and what was found.

use fanin_units::Time;
use serde_json::{Value, json};

/// Most violations of a law that are listed; the rest is counted.
pub const LISTED: usize = 20;

/// A place where a law does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub time: Time,
    /// The port, link or flow.
    pub place: String,
    /// What is, and what should be.
    pub what: String,
}

/// What a law has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Times that it was applied.
    pub checked: u64,
    /// Times that it did not hold.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<Violation>,
}

impl Tally {
    /// The law held once more.
    pub fn holds(&mut self) {
        self.checked += 1;
    }

    /// It does not hold here.
    pub fn broken(&mut self, time: Time, place: impl Into<String>, what: impl FnOnce() -> String) {
        self.checked += 1;
        self.violations += 1;
        if self.first.len() < LISTED {
            self.first.push(Violation { time, place: place.into(), what: what() });
        }
    }

    /// It holds, or does not.
    pub fn check(&mut self, holds: bool, time: Time, place: &str, what: impl FnOnce() -> String) {
        if holds {
            self.checked += 1;
        } else {
            self.broken(time, place, what);
        }
    }
}

/// The result of one law.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub law: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Why it was not checked, if it was not.
    pub not_checked: Option<String>,
    /// What it counted.
    pub tally: Tally,
}

/// The result of a capture or trace.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub source: String,
    /// Packets on links.
    pub packets: u64,
    /// Time of the last event.
    pub end: Time,
    /// Each law.
    pub laws: Vec<Outcome>,
    /// What the reader of the report has to know.
    pub notes: Vec<String>,
}

impl Report {
    /// Violations of all laws.
    pub fn violations(&self) -> u64 {
        self.laws.iter().map(|law| law.tally.violations).sum()
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let laws = self.laws.iter().map(|of| {
            let first = of.tally.first.iter();
            let first = first.map(|v| json!({"time_ps": v.time.as_ps(), "place": v.place, "what": v.what}));
            json!({
                "law": of.law,
                "says": of.says,
                "checked": of.tally.checked,
                "violations": of.tally.violations,
                "first": first.collect::<Vec<_>>(),
                "not_checked": of.not_checked,
            })
        });
        json!({
            "source": self.source,
            "packets": self.packets,
            "end_ps": self.end.as_ps(),
            "violations": self.violations(),
            "laws": laws.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

//! Dart's part of the summary of a run.

use crate::{Acted, Action};

/// How Dart acted, over the whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "DartSummary"))]
pub struct Summary {
    /// Mean of the senders that ACKs told of (n); `None` where none told.
    pub sender_count: Option<f64>,
    /// Time without congestion while data arrived, summed over hosts, in microseconds.
    pub no_congestion_us: f64,
    /// The same in receiver congestion.
    pub receiver_congestion_us: f64,
    /// The same in non-receiver congestion.
    pub non_receiver_congestion_us: f64,
    /// Mean entries of a switch's deflected flow table, over all switches; of entries that were freed. `None` without
    /// tables.
    pub table_entries: Option<f64>,
    /// Most entries that the table of a switch ever had; `None` without tables.
    pub table_peak: Option<u64>,
}

impl Summary {
    /// The summary of a scheme that acted so; `None` if it is not Dart.
    pub fn of(&Acted { actions, table_peak, switch_ns }: &Acted<'_>) -> Option<Self> {
        let own = &Action::ALL[Action::NoCongestion as usize..=Action::Escaped as usize];
        if table_peak.is_none() && own.iter().all(|action| actions.get(*action) == 0) {
            return None;
        }
        let us = |action| actions.get(action) as f64 / 1e3;
        let told = actions.get(Action::ShareTold);
        Some(Self {
            sender_count: (told > 0).then(|| actions.get(Action::CountTold) as f64 / told as f64),
            no_congestion_us: us(Action::NoCongestion),
            receiver_congestion_us: us(Action::ReceiverCongestion),
            non_receiver_congestion_us: us(Action::NonReceiverCongestion),
            table_entries: (table_peak.is_some() && switch_ns > 0.0)
                .then(|| actions.get(Action::EntryTime) as f64 / switch_ns),
            table_peak,
        })
    }
}

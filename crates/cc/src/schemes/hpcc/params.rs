//! The parameters.

use fanin_units::{Bytes, Time};

/// The ACKs that change the window (3.2, 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Reaction {
    /// All, from a reference window that is updated once per round trip.
    Reference,
    /// All, each from the window after the previous one.
    PerAck,
    /// One per round trip.
    PerRtt,
}

/// The measure of a link's rate (3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum LinkRate {
    /// The rate at which its port sends: txRate.
    Sent,
    /// The rate at which packets arrive at its port: rxRate.
    Arrived,
}

/// The precision of telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Precision {
    /// Exact numbers.
    Exact,
    /// The fields of Fig. 7.
    Wire,
}

/// The computation of W_c/(U/eta) (4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Division {
    /// By division.
    Exact,
    /// By multiplication with a value of 1/n from a table.
    Table,
}

/// Its parameters; the manual of the scheme gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Target utilisation of links.
    pub eta: f64,
    /// Additive steps before a multiplicative one (maxStage).
    pub max_stage: u32,
    /// Bytes that every step adds (W_AI).
    pub additive_increase: Bytes,
    /// Flows on a link by which W_AI is computed; 0 takes `additive_increase`.
    pub expected_flows: u32,
    /// T; 0 is the network's largest base round-trip time.
    pub base_rtt: Time,
    /// The ACKs that change the window.
    pub reaction: Reaction,
    /// The measure of a link's rate.
    pub link_rate: LinkRate,
    /// The precision of telemetry.
    pub telemetry: Precision,
    /// Multiple of the units of Fig. 7.
    pub wire_unit: u32,
    /// Records older than this are not compared (`wire` only).
    pub wire_gap: Time,
    /// The computation of W_c/(U/eta).
    pub division: Division,
    /// Lower bound of the window.
    pub min_window: Bytes,
}

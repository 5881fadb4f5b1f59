//! The parameters of credit, which two schemes have.

use crate::roles::*;
use fanin_units::Time;

/// Parameters of credit; the scheme's manual gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "RcccCredit"))]
pub struct CreditParams {
    /// Bytes of a credit on the wire.
    pub credit_size: u16,
    /// Time without a credit after which a sender asks again.
    pub request_timeout: Time,
    /// How much more hosts can send than the links above them carry; 1 is no such network.
    pub oversubscription: f64,
}

impl CreditParams {
    /// Those of uet-htsim.
    pub const DEFAULT: Self = Self { credit_size: 64, request_timeout: Time::from_us(200), oversubscription: 1.0 };

    /// Refuses what is impossible.
    pub(in crate::schemes) fn check(&self) -> Result<(), &'static str> {
        require([
            ((1..=9000).contains(&self.credit_size), "credit_size must be 1 to 9000 bytes, like 64"),
            (self.request_timeout >= Time::from_us(1), "request_timeout must be at least 1 us"),
            (
                (1.0..=1000.0).contains(&self.oversubscription),
                "oversubscription must be 1 (none) to 1000, like 4 for 4:1",
            ),
        ])
    }
}

/// Parameters that have those of credit.
pub trait HasCredit {
    /// Those of credit.
    fn credit(&self) -> &CreditParams;
}

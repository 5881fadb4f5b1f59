//! The laws of Ultra Ethernet, as the network of uet-htsim (`crates/uet`) drives them, event for event. The schemes of
//! the same names drive them over endpoints.

pub use crate::schemes::nscc::{Account, Ground, Law, Parameters, Window, most, product};
pub use crate::schemes::rccc::{Credit, Demand, Demands, FIRST_PULL, PULL, Pacer, Pull, QUANTUM, Share, Wanted};

//! What schemes and the programs of switches promise, checked with random events.
//!
//! Schemes: bytes conserved, rates and windows in bounds, timers later than now, no flow that is stuck for ever, and
//! the same answers again in a replay. Load balancing, of switches or of senders: an answer that is a choice or a
//! path, and the same answers again. Queue disciplines: an empty queue lets packets in, and the same answers again.
//!
//! [`check`], [`check_balancing`] and [`check_discipline`] run random cases; the first one that breaks a promise is
//! made as short as it can be.
#![forbid(unsafe_code)]

mod answers;
mod events;
mod parameters;
mod policies;
mod schemes;
mod search;
mod selectors;
mod world;

pub use answers::{Answer, Broken};
pub use events::{Did, Log, Op, sequences};
pub use parameters::{Parameters, Scaled, Subject, draws};
pub use policies::{MakesBalancer, MakesDiscipline, check_balancer, check_discipline};
pub use schemes::{check, run};
pub use search::{Checked, Found, Plan};
pub use selectors::{MakesSelector, check_balancing, check_selector};
pub use world::World;

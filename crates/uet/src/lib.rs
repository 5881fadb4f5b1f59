//! The Ultra Ethernet network of the public simulator uet-htsim (ultraethernet/uet-htsim, commit 40ccb052 of August
//! 2025), event for event.
//!
//! Hosts send by NSCC (windows from delay and marks), RCCC (credit from the receiver) or both. Each packet carries an
//! entropy that chooses its path in a fat tree, and full queues cut packets to their headers. Given a connection
//! matrix and the options of that program, [`simulate`] prints the same lines and returns results per flow:
//!
//! ```
//! use fanin_uet::{Options, Setup};
//!
//! let options = Options::parse("-sender_cc_only -end 1000".split_whitespace())?;
//! let setup = Setup::new(options, "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 81720\n", None)?;
//! let mut lines = Vec::new();
//! let results = setup.run(&mut |line| lines.push(line.to_owned()), None, &mut |_| true);
//! assert_eq!(results.flows[0].finished, Some(setup.ideal(0, 1, 81_720)));
//! assert_eq!(setup.ideal(0, 1, 81_720), 20_330_720);
//! assert_eq!(results.sums.new, 20);
//! assert!(lines[1].starts_with("Flow Uec_0_1 flowId 1 uecSrc 0 finished at 20.3307"));
//! # Ok::<(), fanin_uet::Error>(())
//! ```
//!
//! Results depend on the order of simultaneous events and on which packet gets which number of one random stream, so a
//! run is on one thread. Where the original has a defect that decides about results, so has this crate. What the
//! original aborts on is an [`Error`] or, if the run can go on, noted in [`Results::beyond`]. Loss recovery of option
//! `-sleek` follows what was read of it; no recorded run of the original holds it to that.
//!
//! `tests/micro.rs` compares small runs with recorded ones of the original, each line and each event; `tests/golden.rs`
//! does so for any folder of recorded runs.
//!
//! A packet's way is in `sending`, `hosts`, `links`, `forward`, `queues` and `receiving`; `pulls`, `feedback`,
//! `timers` and `sleek` have what comes back, and `drive` calls them as events happen. `nscc`, `rccc` and `paths`
//! decide. `network` owns all state and builds it.
#![forbid(unsafe_code)]

mod digits;
mod drive;
mod error;
mod events;
mod feedback;
mod forward;
mod hosts;
mod ideal;
mod links;
mod log;
mod matrix;
mod messages;
mod network;
mod nic;
mod options;
mod packet;
mod port;
mod pulls;
mod queues;
mod random;
mod receiver;
mod receiving;
mod run;
mod sender;
mod sending;
mod settings;
mod setup;
mod sleek;
mod switches;
mod timers;
mod topology;
mod window;

pub use error::{Error, Place};
pub use fanin_cc::uet::Account;
pub use network::Beyond;
pub use options::{Options, QueueSize};
pub use port::Counts;
pub use receiver::Arrivals;
pub use run::{Flow, Progress, Results};
pub use sender::Counters;
pub use settings::Settings;
pub use setup::Setup;
pub use topology::{Cable, Node};

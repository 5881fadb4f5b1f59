//! One file per scheme; its doc comment is its manual.

pub mod cubic;
pub mod dart;
pub mod dcqcn;
pub mod dcqcn_ns3;
pub mod dcqcn_vendor;
pub mod dctcp;
pub mod dctcp_ns3;
pub mod dctcp_rate;
pub mod expresspass;
pub mod fixed_rate;
pub mod fixed_window;
pub mod hpcc;
pub mod hpcc_alpha;
pub mod hpcc_ns3;
pub mod ictcp;
pub mod infiniband;
pub mod newreno;
pub mod none;
pub mod nscc;
pub mod nscc_rccc;
pub mod own;
pub mod rcc;
pub mod rccc;
pub mod rcp;
pub mod timely;
pub mod timely_ns3;

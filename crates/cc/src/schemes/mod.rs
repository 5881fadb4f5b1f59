//! One file per scheme; its doc comment is its manual.

pub mod dcqcn;
pub mod dcqcn_vendor;
pub mod fixed_window;
pub mod none;

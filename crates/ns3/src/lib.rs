//! The network of the public ns-3 HPCC simulator, event for event.
#![forbid(unsafe_code)]

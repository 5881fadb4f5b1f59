//! Readers and writers of other simulators' files, users' tables and other tools' traces.
//!
//! Readers accept any bytes without a panic. An unusable file is an [`Error`] with file, line and correction; memory is
//! never allocated based on an unverified count in a file.
#![forbid(unsafe_code)]

pub mod astra_sim;
pub mod chakra;
mod error;
pub mod goal;
pub mod graphs;
pub mod hpcc;
pub mod htsim;
pub mod input;
pub mod msccl;
pub mod pcapng;
pub mod perfetto;
pub mod simai;
pub mod simccl;
pub mod tables;
mod text;

pub use error::{Error, Errors, Warning};

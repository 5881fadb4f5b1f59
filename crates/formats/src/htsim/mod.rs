//! Files of htsim (csg-htsim and its forks, such as uet-htsim): connection matrices (`.cm`) and fat trees (`.topo`).
//!
//! A line consists of words separated by white space; empty lines and text after `#` are ignored. Both readers refuse
//! errors that htsim's own reader would stop at later, or ignore silently.

mod matrix;
mod topo;
mod words;

pub use matrix::{Connection, Dialect, Failure, Matrix, Start, Trigger, TriggerKind};
pub use topo::{Counts, Link, Node, Tier, Topo};

/// For fuzzing: any bytes are a connection matrix or an error with a place, and a matrix that was read is written as a
/// file that reads the same.
pub fn fuzz_matrix(bytes: &[u8]) {
    for dialect in [None, Some(Dialect::Ndp), Some(Dialect::Swift), Some(Dialect::Uec)] {
        match Matrix::read(bytes, "f", dialect) {
            Ok(matrix) => {
                let again = Matrix::read(matrix.to_text().as_bytes(), "f", Some(matrix.dialect));
                let again = again.expect("what was read is written readably");
                assert_eq!((again.connections.len(), again.to_text()), (matrix.connections.len(), matrix.to_text()));
            }
            Err(error) => assert!(error.file == "f" && !error.what.is_empty()),
        }
    }
}

/// For fuzzing: any bytes are a fat tree with consistent counts, or an error with a place.
pub fn fuzz_topo(bytes: &[u8]) {
    match Topo::read(bytes, "f") {
        Ok(topo) => {
            let counts = topo.counts();
            assert_eq!(
                u64::from(counts.pods) * u64::from(counts.tors) * u64::from(counts.hosts),
                u64::from(topo.nodes)
            );
            // A tree may be much larger than its file.
            assert!(topo.links().take(1000).all(|link| link.between[0] != link.between[1]));
        }
        Err(error) => assert!(error.file == "f" && !error.what.is_empty()),
    }
}

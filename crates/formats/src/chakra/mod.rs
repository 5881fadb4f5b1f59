//! Chakra execution traces: one file a rank, `PREFIX.RANK.et`, plain or gzip.
//!
//! A file is a sequence of protocol buffers, each with its length in front: metadata, then nodes. It is read node by
//! node. Communication of a rank shares one slot, as do computations of its CPU and of its GPU; a receive needs none.

mod files;
mod node;
mod read;
mod write;

pub use files::{Groups, ranks, read_groups};
pub use read::Trace;
pub use write::write;

/// For fuzzing: any bytes are a trace, or an error with a place, and what is written of a trace reads the same.
pub fn fuzz(bytes: &[u8]) {
    let mut written = Vec::new();
    let error = match Trace::new(bytes, "f", 0).and_then(|mut trace| write(&mut trace, &mut written, "f")) {
        Ok(()) => {
            let mut again = Vec::new();
            let trace = Trace::new(written.as_slice(), "f", 0);
            trace.and_then(|mut trace| write(&mut trace, &mut again, "f")).expect("a readable trace");
            assert!(again == written, "a trace that was written is written the same");
            return;
        }
        Err(error) => error,
    };
    assert!(error.file == "f" && !error.what.is_empty());
}

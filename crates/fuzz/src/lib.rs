//! Broken files and frames for every reader, and broken specs from parsing to results ([`specs`]). A reader may refuse
//! them; it may not panic, hang, or allocate memory based on unverified counts.
//!
//! Each reader is an entry of [`TARGETS`]. The tests run some cases of each target (`FANIN_CASES`); `make fuzz`
//! continues until something is found.

pub mod frames;
pub mod memory;
mod mutate;
pub mod specs;
mod targets;

pub use mutate::Mutator;
pub use targets::{TARGETS, Target};

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Additional memory per byte of the file.
const MEMORY_PER_BYTE: usize = 128;

thread_local! {
    /// Message of the last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs one input.
///
/// # Errors
/// The panic's message and place, or the excessive memory.
pub fn run(target: &Target, input: &[u8]) -> Result<(), String> {
    let ((), peak) = guarded(|| (target.run)(input))?;
    let most = target.memory_at_least() + MEMORY_PER_BYTE * input.len();
    if peak > most {
        return Err(format!("{peak} bytes of memory for a file of {} bytes; at most {most} are fair", input.len()));
    }
    Ok(())
}

/// Runs `run`, which may panic; returns its result and its peak memory in bytes.
///
/// # Errors
/// The panic's message and place.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<(T, usize), String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if memory::measuring() {
                PANIC.with(|text| *text.borrow_mut() = info.to_string());
            } else {
                loud(info);
            }
        }));
    });
    let (outcome, peak) = memory::peak(|| catch_unwind(AssertUnwindSafe(run)));
    match outcome {
        Ok(value) => Ok((value, peak)),
        Err(_) => Err(PANIC.with(|text| std::mem::take(&mut *text.borrow_mut()))),
    }
}

/// A name for an input: FNV-1a of its bytes.
pub fn name(input: &[u8]) -> String {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ *b as u64).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

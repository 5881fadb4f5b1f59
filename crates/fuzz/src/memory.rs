//! Counts the heap memory of a thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[derive(Clone, Copy)]
struct Count {
    measuring: bool,
    now: isize,
    most: isize,
}

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { measuring: false, now: 0, most: 0 }) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: isize) {
    // An ending thread has no counter any more; nothing is measured then.
    let _ = COUNT.try_with(|cell| {
        let mut count = cell.get();
        count.now += bytes;
        count.most = count.most.max(count.now);
        cell.set(count);
    });
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as our caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may exist for a moment.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: as our caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Whether this thread is inside [`peak`].
pub fn measuring() -> bool {
    COUNT.with(|cell| cell.get().measuring)
}

/// Runs `run`; returns its result and its peak memory in bytes.
pub fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    COUNT.with(|cell| cell.set(Count { measuring: true, now: 0, most: 0 }));
    let value = run();
    let most = COUNT.with(|cell| cell.replace(Count { measuring: false, now: 0, most: 0 }).most);
    (value, most.max(0) as usize)
}

//! Prefetching.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the first cache line of an item of a slice. Has no other effect, and none that matters if there is no
/// such item: a processor ignores the prefetch of an address that it cannot read.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    prefetch_at(items.as_ptr().wrapping_add(index).cast());
}

/// Prefetches all cache lines of an item of a slice, as [`prefetch`] does the first one.
#[inline(always)]
pub fn prefetch_whole<T>(items: &[T], index: usize) {
    let start: *const u8 = items.as_ptr().wrapping_add(index).cast();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        prefetch_at(start.wrapping_add(line * LINE));
    }
}

#[inline(always)]
fn prefetch_at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address reads nothing that the program can see and never traps.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

//! Memory that a library's hooks keep their state in.

use std::ffi::c_void;

/// Zeroed memory at an address that never changes, aligned to 16 bytes, as much as any type of C needs.
pub struct State(Box<[u128]>);

impl State {
    /// So many bytes.
    pub fn new(bytes: u64) -> Self {
        Self(vec![0; (bytes as usize).div_ceil(size_of::<u128>())].into_boxed_slice())
    }
    /// Its address, for hooks that change it.
    #[inline(always)]
    pub fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
    /// Its address, for hooks that read it.
    pub fn read(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

const _: () = assert!(align_of::<u128>() >= 16);

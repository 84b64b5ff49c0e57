//! Arrays that are much larger than the processor's caches and are read in random order: large pages of memory and prefetches
//! make the reads faster. No result of a run depends on them.

/// An empty vector with room for `len` entries, on large pages of memory if the kernel has them. Then a read of a random
/// entry misses one cache of the processor, and not also the table of pages of 4 KiB.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let made: Vec<T> = Vec::with_capacity(len);
    advise(made.as_ptr().cast(), len * size_of::<T>());
    made
}

/// Puts an array of zeros on large pages. It must be new: then it takes no memory until an entry is written.
pub(crate) fn zeros<T>(made: Vec<T>) -> Vec<T> {
    advise(made.as_ptr().cast(), made.len() * size_of::<T>());
    made
}

/// A vector of `len` equal values.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut made = with_capacity(len);
    made.resize(len, value);
    made
}

/// Smaller arrays fit into the caches.
#[cfg(target_os = "linux")]
const WORTH_BYTES: usize = 4 << 20;
/// The kernel takes advice on whole pages.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4096;

#[cfg(target_os = "linux")]
fn advise(first: *const u8, bytes: usize) {
    let before = first.align_offset(PAGE_BYTES);
    if bytes >= WORTH_BYTES {
        let whole = (bytes - before) / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: the pages are inside an allocation of the caller, and the advice does not change their content. If the
        // kernel refuses it, nothing changes.
        unsafe { libc::madvise(first.wrapping_add(before).cast_mut().cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *const u8, _: usize) {}

/// Prefetches a value that will be read soon.
#[inline]
pub(crate) fn near<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a reference, and a prefetch does not change the state of the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_arrays_behave_as_small_ones() {
        for len in [0, 1, 3 << 20] {
            let made = filled(7_u32, len);
            assert_eq!((made.len(), made.iter().all(|value| *value == 7)), (len, true));
            near(&made);
            assert!(zeros(vec![0_u32; len]).iter().all(|value| *value == 0));
        }
    }
}

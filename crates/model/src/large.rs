//! Arrays that are much larger than the processor's caches and are asked for anything in any order: what the processor and
//! the kernel are told of them so that this costs less. Nothing that a run tells depends on it.

/// An empty vector with room for `len`, on large pages of memory where the kernel has them: an entry anywhere in it costs
/// one miss of the processor's, not a second one for where its page of 4 KiB lies.
pub(crate) fn with_capacity<T>(len: usize) -> Vec<T> {
    let made: Vec<T> = Vec::with_capacity(len);
    advise(made.as_ptr().cast(), len * size_of::<T>());
    made
}

/// An array that was just made of zeros, and so takes no memory yet where nothing was written.
pub(crate) fn zeros<T>(made: Vec<T>) -> Vec<T> {
    advise(made.as_ptr().cast(), made.len() * size_of::<T>());
    made
}

/// So many of a value.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut made = with_capacity(len);
    made.resize(len, value);
    made
}

/// Arrays under this size fit into caches.
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
        // SAFETY: the pages lie in an allocation of the caller's, and the advice changes nothing of what is in them. A kernel
        // that does not take it says so, which changes nothing either.
        unsafe { libc::madvise(first.wrapping_add(before).cast_mut().cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *const u8, _: usize) {}

/// Says that something will be asked for soon, so that it is at hand by then.
#[inline]
pub(crate) fn near<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a reference, and a prefetch reads nothing into the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_arrays_are_what_small_ones_are() {
        for len in [0, 1, 3 << 20] {
            let made = filled(7_u32, len);
            assert_eq!((made.len(), made.iter().all(|value| *value == 7)), (len, true));
            near(&made);
            assert!(zeros(vec![0_u32; len]).iter().all(|value| *value == 0));
        }
    }
}

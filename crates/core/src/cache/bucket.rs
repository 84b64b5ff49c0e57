//! Buckets of hash tables: sixteen entries in one cache line, compared all at once.

/// Entries of a bucket.
pub(super) const WAYS: usize = 16;

/// One cache line of entries.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Bucket(pub(super) [u32; WAYS]);

impl Bucket {
    /// Which entries are `value` in the bits of `mask`: a bit each.
    #[inline]
    pub(super) fn alike(&self, value: u32, mask: u32) -> u32 {
        lanes::alike(&self.0, value, mask)
    }

    /// Of which entries the bits of `mask`, which are the lowest ones, are not 0 and at most `span` more than `from`, in a
    /// circle: a bit each.
    #[inline]
    pub(super) fn within(&self, mask: u32, from: u32, span: u32) -> u32 {
        lanes::within(&self.0, mask, from, span)
    }
}

/// Four entries at once, in instructions that every processor of this kind has: what compilers make of the plain loops
/// takes three times as long.
#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi32, _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_or_si128, _mm_packs_epi16,
        _mm_packs_epi32, _mm_set_epi32, _mm_set1_epi32, _mm_setzero_si128, _mm_sub_epi32,
    };

    use super::WAYS;

    #[inline]
    #[target_feature(enable = "sse2")]
    fn four(entries: &[u32; WAYS], nth: usize) -> __m128i {
        let at = |way: usize| entries[4 * nth + way] as i32;
        _mm_set_epi32(at(3), at(2), at(1), at(0))
    }

    /// The bits of sixteen entries, each of which is all ones or all zeros.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn bits(of: impl Fn(usize) -> __m128i) -> u32 {
        let (low, high) = (_mm_packs_epi32(of(0), of(1)), _mm_packs_epi32(of(2), of(3)));
        _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn alike_sse2(entries: &[u32; WAYS], value: u32, mask: u32) -> u32 {
        let (value, mask) = (_mm_set1_epi32((value & mask) as i32), _mm_set1_epi32(mask as i32));
        bits(|nth| _mm_cmpeq_epi32(_mm_and_si128(four(entries, nth), mask), value))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn within_sse2(entries: &[u32; WAYS], mask: u32, from: u32, span: u32) -> u32 {
        let all = |value: u32| _mm_set1_epi32(value as i32);
        let (mask, from, span) = (all(mask), all(from), all(span));
        let none = _mm_setzero_si128();
        let outside = bits(|nth| {
            let entry = _mm_and_si128(four(entries, nth), mask);
            let far = _mm_cmpgt_epi32(_mm_and_si128(_mm_sub_epi32(entry, from), mask), span);
            _mm_or_si128(far, _mm_cmpeq_epi32(entry, none))
        });
        outside ^ ((1 << WAYS) - 1)
    }

    #[inline]
    pub(super) fn alike(entries: &[u32; WAYS], value: u32, mask: u32) -> u32 {
        // SAFETY: every x86-64 has SSE2.
        unsafe { alike_sse2(entries, value, mask) }
    }

    #[inline]
    pub(super) fn within(entries: &[u32; WAYS], mask: u32, from: u32, span: u32) -> u32 {
        // SAFETY: every x86-64 has SSE2.
        unsafe { within_sse2(entries, mask, from, span) }
    }
}

/// The same, one entry after another.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    use super::WAYS;

    fn bits(entries: &[u32; WAYS], is: impl Fn(u32) -> bool) -> u32 {
        entries.iter().enumerate().fold(0, |bits, (way, entry)| bits | u32::from(is(*entry)) << way)
    }

    pub(super) fn alike(entries: &[u32; WAYS], value: u32, mask: u32) -> u32 {
        bits(entries, |entry| (entry ^ value) & mask == 0)
    }

    pub(super) fn within(entries: &[u32; WAYS], mask: u32, from: u32, span: u32) -> u32 {
        bits(entries, |entry| entry & mask != 0 && entry.wrapping_sub(from) & mask <= span)
    }
}
#[cfg(not(target_arch = "x86_64"))]
use plain as lanes;

/// Has a cache line brought nearer, if there is one of this number.
#[inline]
pub(super) fn prefetch<T>(things: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(thing) = things.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it points at something that is there, and nothing is read or written.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(thing).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (things, at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_at_once_is_one_after_another(
            entries in prop::array::uniform16(any::<u32>()),
            (few, bits) in (any::<bool>(), 1u32..20),
            (value, from, span) in any::<(u32, u32, u32)>(),
        ) {
            let mask = (1 << bits) - 1;
            let entries = if few { entries.map(|entry| entry % 4) } else { entries };
            let value = if few { value % 4 } else { value };
            let bucket = Bucket(entries);
            for mask in [mask, !mask, u32::MAX] {
                prop_assert_eq!(bucket.alike(value, mask), plain::alike(&entries, value, mask));
            }
            let (from, span) = (from & mask, span & mask);
            prop_assert_eq!(bucket.within(mask, from, span), plain::within(&entries, mask, from, span));
        }
    }
}

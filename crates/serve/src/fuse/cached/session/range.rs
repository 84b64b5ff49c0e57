//! A flush, and trims and zeros of ranges, which the engine gets in pieces.

use flatwater_core::cache::Kind;
use flatwater_real::cache::unaligned::SECTOR_BYTES;

/// Longest piece of a trim or of zeros that the engine gets at once.
const PIECE_BYTES: u64 = 64 << 20;

/// A range under way: what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// The request that is answered when nothing is left.
    pub(super) unique: u64,
    /// What is done with it.
    pub(super) kind: Kind,
    at: u64,
    end: u64,
}

impl Range {
    /// A flush: one piece of no length, which the caller sends.
    pub(super) fn flush(unique: u64) -> Self {
        Self { unique, kind: Kind::Flush, at: 0, end: 0 }
    }

    /// A range from `at` to `end`.
    pub(super) fn new(unique: u64, kind: Kind, at: u64, end: u64) -> Self {
        Self { unique, kind, at, end }
    }

    /// Takes the next piece: what is done, its first byte, its length. None: nothing is left.
    pub(super) fn next(&mut self) -> Option<(Kind, u64, u32)> {
        let Self { kind, at, end, .. } = *self;
        if at >= end {
            return None;
        }
        let next = ((at / PIECE_BYTES + 1) * PIECE_BYTES).min(end);
        // What is no whole sector of a hole would stay as it was.
        let sector = u64::from(SECTOR_BYTES);
        let (kind, next) = match kind {
            Kind::Trim if at % sector != 0 => (Kind::Zero, at.next_multiple_of(sector).min(end)),
            Kind::Trim if end - at < sector => (Kind::Zero, end),
            Kind::Trim => (kind, next / sector * sector),
            _ => (kind, next),
        };
        self.at = next;
        Some((kind, at, (next - at) as u32))
    }
}

/// What fallocate(2) with this mode does with a range; None: it is not supported. Space cannot be reserved on a device.
pub(super) fn kind_of(mode: i32, zeros_holes: bool) -> Option<Kind> {
    match mode & !libc::FALLOC_FL_KEEP_SIZE {
        // A hole must read as zeros, and a trimmed range need not.
        libc::FALLOC_FL_PUNCH_HOLE if zeros_holes => Some(Kind::Trim),
        libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE => Some(Kind::Zero),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Flush, Trim, Zero};

    fn pieces(kind: Kind, at: u64, end: u64) -> Vec<(Kind, u64, u32)> {
        let mut range = Range::new(1, kind, at, end);
        std::iter::from_fn(|| range.next()).collect()
    }

    #[test]
    fn a_hole_is_trimmed_but_for_its_edges_which_are_zeroed() {
        assert_eq!(pieces(Trim, 100, 2000), [(Zero, 100, 412), (Trim, 512, 1024), (Zero, 1536, 464)]);
        assert_eq!(pieces(Trim, 100, 200), [(Zero, 100, 100)]);
        assert_eq!(pieces(Trim, 512, 1024), [(Trim, 512, 512)]);
    }

    #[test]
    fn pieces_end_at_multiples_of_their_length() {
        let half = (PIECE_BYTES / 2) as u32;
        let from = PIECE_BYTES / 2;
        assert_eq!(pieces(Zero, from, 2 * PIECE_BYTES - from), [(Zero, from, half), (Zero, PIECE_BYTES, half)]);
    }

    #[test]
    fn nothing_is_left_of_an_empty_range_and_of_a_flush() {
        assert_eq!((pieces(Zero, 5, 5), Range::flush(1).next(), Range::flush(1).kind), (vec![], None, Flush));
    }

    #[test]
    fn a_hole_is_trimmed_only_where_it_then_reads_as_zeros() {
        let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!((kind_of(hole, true), kind_of(hole, false)), (Some(Trim), Some(Zero)));
        assert_eq!((kind_of(libc::FALLOC_FL_ZERO_RANGE, true), kind_of(0, true)), (Some(Zero), None));
    }
}

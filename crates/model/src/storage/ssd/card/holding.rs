//! A module that begins anew with what it holds.

use super::super::flash::Flash;
use super::super::ftl::Lpn;
use super::Card;

impl Card {
    /// Flash in its initial state, with data in the pages that these ranges touch; what it is worn by now stays. The buffer
    /// and commands under way stay as they are. Returns false for a card that is worn out, which stays so.
    pub(super) fn begin_anew(&mut self, now_ns: u64, ranges: &[(u64, u64)]) -> bool {
        if self.flash.worn_out {
            return false;
        }
        let held = pages_of(ranges, self.flash.layout.page_shift, self.capacity_bytes);
        self.spec.wear.life_used = self.flash.life_used();
        let Ok(flash) = Flash::holding(&self.spec, held, self.seed) else { return false };
        self.flash = flash;
        self.flash.wake(now_ns, &self.buffer);
        // Its counts begin at 0 again.
        self.counted = (self.counts(), now_ns);
        true
    }
}

/// The pages that ranges touch, in order. Ranges are in order; two may touch the same page.
fn pages_of(ranges: &[(u64, u64)], page_shift: u32, capacity_bytes: u64) -> Vec<Lpn> {
    let (mut held, mut from) = (Vec::new(), 0);
    for (offset, bytes) in ranges.iter().filter(|(_, bytes)| *bytes > 0) {
        let end = (offset + bytes).min(capacity_bytes).div_ceil(1 << page_shift).min(capacity_bytes >> page_shift);
        let begin = (offset >> page_shift).max(from);
        held.extend((begin..end.max(begin)).map(|page| Lpn::new(page as u32)));
        from = end.max(begin);
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_held_once_however_many_ranges_touch_it() {
        let pages =
            |ranges: &[(u64, u64)]| pages_of(ranges, 12, 10 << 12).into_iter().map(Lpn::number).collect::<Vec<_>>();
        assert_eq!(pages(&[(0, 1), (100, 1), (4095, 2), (3 << 12, 4096)]), [0, 1, 3]);
        assert_eq!(pages(&[(8 << 12, 100 << 12)]), [8, 9], "no further than the card");
        assert_eq!(pages(&[(20 << 12, 4096)]), [0_u32; 0]);
        assert_eq!(pages(&[(100, 0)]), [0_u32; 0], "nothing is in an empty range");
    }
}

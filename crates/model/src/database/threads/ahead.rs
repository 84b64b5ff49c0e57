//! A look ahead: what a transaction's touches will ask for is anywhere in memory, and is prefetched some touches before.
//!
//! Where a thing stands is written in another one: a page's neighbours in the LRU list in its frame. So each is prefetched
//! some touches after the one before. Nothing that a run tells depends on any of it.

use super::super::change_buffer::ChangeBuffer;
use super::super::ids::PageNo;
use super::super::pool::Pool;
use super::super::touches::{Entry, Touch, What};

/// Touches between two looks ahead.
pub(in super::super) const STEP: usize = 32;
/// So many pages that were asked for lately are not asked for again: as many as a few transactions use. A power of two.
const RECENT: usize = 1024;

/// A number that no page has.
const NO_PAGE: PageNo = PageNo::new(u32::MAX);

/// Pages that were asked for lately, by any thread.
#[derive(Debug)]
pub(in super::super) struct Recent(Box<[PageNo; RECENT]>);

impl Recent {
    /// None.
    pub(in super::super) fn new() -> Self {
        Self(Box::new([NO_PAGE; RECENT]))
    }

    /// Whether a page was not asked for lately; it is now.
    #[inline]
    fn is_new(&mut self, page: PageNo) -> bool {
        // Knuth's multiplicative hash: its upper bits are the good ones.
        let place = page.number().wrapping_mul(2_654_435_769) >> (u32::BITS - RECENT.ilog2());
        std::mem::replace(&mut self.0[place as usize], page) != page
    }
}

/// A touch of a page that may be far away.
#[derive(Clone, Copy, Debug)]
struct Far {
    page: PageNo,
    /// Its place in the transaction.
    at: u32,
    entry: Entry,
}

/// What of a transaction is prefetched.
#[derive(Debug, Default)]
pub(in super::super) struct Ahead {
    far: Vec<Far>,
    /// Of these, how many have been prefetched what their frames name.
    placed: usize,
}

impl Ahead {
    /// A transaction begins.
    pub(in super::super) fn begin(
        &mut self,
        touches: &[Touch],
        recent: &mut Recent,
        pool: &Pool,
        buffer: Option<&ChangeBuffer>,
    ) {
        self.far.clear();
        self.placed = 0;
        // A statement is asked about as if it used page 0, which is never new.
        for (at, touch) in touches.iter().enumerate() {
            if touch.row().is_some() || !recent.is_new(touch.page) {
                continue;
            }
            pool.prefetch_frame(touch.page);
            if touch.what == What::Glance {
                // Its frame is all that a look at it asks for.
                continue;
            }
            if matches!(touch.what, What::Change | What::Create) {
                pool.prefetch_change(touch.page);
            }
            if touch.entry != Entry::NONE
                && let Some(buffer) = buffer
            {
                buffer.prefetch(touch.page);
            }
            self.far.push(Far { page: touch.page, at: at as u32, entry: touch.entry });
        }
    }

    /// The transaction has come to the touch `at`, a multiple of `STEP`.
    pub(in super::super) fn advance(&mut self, at: usize, pool: &Pool, buffer: Option<&ChangeBuffer>) {
        let first = self.placed;
        for far in self.far[first..].iter().take_while(|far| (far.at as usize) < at + 2 * STEP) {
            self.placed += 1;
            match buffer {
                _ if pool.find(far.page).is_some() => pool.prefetch_neighbours(far.page),
                Some(buffer) if far.entry != Entry::NONE => {
                    let place = buffer.place_of(far.page);
                    pool.prefetch_frame(place);
                    pool.prefetch_change(place);
                }
                _ => pool.prefetch_change(far.page),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_new_until_it_is_asked_for() {
        let mut recent = Recent::new();
        assert_eq!([7, 7, 8, 7].map(|page| recent.is_new(PageNo::new(page))), [true, false, true, false]);
    }

    #[test]
    fn all_of_a_transaction_is_looked_at_in_time_and_once() {
        // Pages 0 to 99 are in memory; half of the touches are of pages that are not.
        let mut pool = Pool::new(4000, 100, 1);
        (0..100).for_each(|page| assert!(pool.admit(PageNo::new(page), false).is_some()));
        let touches: Vec<Touch> = (0..200).map(|at| Touch::read(PageNo::new(at % 2 * 2000 + at))).collect();
        let (mut recent, mut ahead) = (Recent::new(), Ahead::default());
        ahead.begin(&touches, &mut recent, &pool, None);
        let news = ahead.far.len();
        assert!(news > 150, "{news}");
        for at in (0..touches.len()).step_by(STEP) {
            ahead.advance(at, &pool, None);
            // What comes before the next look has been asked for all it needs.
            assert!(
                ahead.far[..ahead.placed].len() >= ahead.far.iter().filter(|far| far.at < (at + STEP) as u32).count()
            );
        }
        assert_eq!(ahead.placed, news);
        ahead.begin(&touches, &mut recent, &pool, None);
        assert!(ahead.far.len() < news / 2, "{} were asked for lately", news - ahead.far.len());
    }
}

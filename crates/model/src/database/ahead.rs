//! A look ahead: what a transaction's touches will ask for is anywhere in memory, and is brought nearer a while before.
//!
//! Where a thing stands is written in another one: a page's neighbours in the LRU list in its frame. So each is asked for
//! some touches after the one before. Nothing that a run tells depends on any of it.

use super::change_buffer::ChangeBuffer;
use super::lists::Links;
use super::pool::{NONE, Pool};
use super::touches::{Entry, Touch, What};
use crate::large::near;

/// Touches between two looks ahead.
pub(super) const STEP: usize = 32;
/// So many pages that were asked for lately are not asked for again: as many as a few transactions use. A power of two.
const RECENT: usize = 1024;

/// Pages that were asked for lately, by any thread.
#[derive(Debug)]
pub(super) struct Recent(Box<[u32; RECENT]>);

impl Recent {
    /// None.
    pub(super) fn new() -> Self {
        Self(Box::new([NONE; RECENT]))
    }

    /// Whether a page was not asked for lately; it is now.
    #[inline]
    fn is_new(&mut self, page: u32) -> bool {
        // Knuth's multiplicative hash: its upper bits are the good ones.
        let place = page.wrapping_mul(2_654_435_769) >> (u32::BITS - RECENT.ilog2());
        std::mem::replace(&mut self.0[place as usize], page) != page
    }
}

/// A touch of a page that may be far away.
#[derive(Clone, Copy, Debug)]
struct Far {
    page: u32,
    /// Its place in the transaction.
    at: u32,
    entry: Entry,
}

/// What of a transaction is asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    far: Vec<Far>,
    /// Of these, how many have been asked for what their frames tell of.
    placed: usize,
}

impl Ahead {
    /// A transaction begins.
    pub(super) fn begin(&mut self, touches: &[Touch], recent: &mut Recent, pool: &Pool, buffer: Option<&ChangeBuffer>) {
        self.far.clear();
        self.placed = 0;
        // A statement is asked about as if it used page 0, which is never new.
        for (at, touch) in touches.iter().enumerate() {
            if !recent.is_new(touch.page) {
                continue;
            }
            pool.bring_place(touch.page);
            if touch.what == What::Glance {
                // Its frame is all that a look at it asks for.
                continue;
            }
            if matches!(touch.what, What::Change | What::Create) {
                pool.bring_change(touch.page);
            }
            if touch.entry != Entry::NONE
                && let Some(buffer) = buffer
            {
                buffer.bring(touch.page);
            }
            self.far.push(Far { page: touch.page, at: at as u32, entry: touch.entry });
        }
    }

    /// It has come to the touch `at`, a multiple of `STEP`.
    pub(super) fn go_on(&mut self, at: usize, pool: &Pool, buffer: Option<&ChangeBuffer>) {
        let first = self.placed;
        for far in self.far[first..].iter().take_while(|far| (far.at as usize) < at + 2 * STEP) {
            self.placed += 1;
            match buffer {
                _ if pool.find(far.page).is_some() => pool.bring_neighbours(far.page),
                Some(buffer) if far.entry != Entry::NONE => {
                    let place = buffer.place_of(far.page);
                    pool.bring_place(place);
                    pool.bring_change(place);
                }
                _ => pool.bring_change(far.page),
            }
        }
    }
}

impl Pool {
    /// Brings nearer a page's frame, which is anywhere in memory.
    #[inline]
    pub(super) fn bring_place(&self, page: u32) {
        near(&self.frames[page as usize]);
    }

    /// Brings nearer what a change of a page asks for besides, or its way into memory.
    #[inline]
    fn bring_change(&self, page: u32) {
        near(&self.contents[page as usize]);
        self.bring_dirty(page);
    }

    /// Then, brings nearer the neighbours of a page in memory in the LRU list, whose links change when it moves to the front.
    #[inline]
    fn bring_neighbours(&self, page: u32) {
        let own = &self.frames[page as usize];
        if self.instances[own.instance as usize].is_to_move(own) {
            for neighbour in [own.lru.newer, own.lru.older] {
                if let Some(neighbour) = self.frames.get(neighbour as usize) {
                    near(neighbour);
                }
            }
        }
    }

    /// Brings nearer what the end of a frame's write changes.
    #[inline]
    pub(super) fn bring_write(&self, frame: u32) {
        near(&self.frames[frame as usize]);
        near(&self.contents[frame as usize]);
    }

    /// Then, brings nearer its neighbours in the flush list, whose links change.
    #[inline]
    pub(super) fn bring_write_neighbours(&self, frame: u32) {
        let Links { newer, older } = self.contents[frame as usize].flush;
        for neighbour in [newer, older] {
            if let Some(neighbour) = self.contents.get(neighbour as usize) {
                near(neighbour);
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
        assert_eq!([7, 7, 8, 7].map(|page| recent.is_new(page)), [true, false, true, false]);
    }

    #[test]
    fn all_of_a_transaction_is_looked_at_in_time_and_once() {
        // Pages 0 to 99 are in memory; half of the touches are of pages that are not.
        let mut pool = Pool::new(4000, 100, 1);
        (0..100).for_each(|page| assert!(pool.admit(page, false).is_some()));
        let touches: Vec<Touch> = (0..200).map(|at| Touch::read(at % 2 * 2000 + at)).collect();
        let (mut recent, mut ahead) = (Recent::new(), Ahead::default());
        ahead.begin(&touches, &mut recent, &pool, None);
        let news = ahead.far.len();
        assert!(news > 150, "{news}");
        for at in (0..touches.len()).step_by(STEP) {
            ahead.go_on(at, &pool, None);
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

//! What was before a run: a pool that has been in use, and a cache below it that has seen what the pool let through.
//!
//! The same threads live through it in no time: a server whose devices answer at once. What it sends goes to devices that
//! want a past (`Device::wants_past`), and nowhere else.

use super::ahead::{Ahead, STEP};
use super::threads::SEARCHED;
use super::touches::{Touch, What};
use super::{Innodb, PAGE_BYTES};
use crate::storage::{Command, Operation};

/// Transactions of the past at most, for pools that are larger than all that is ever used.
const TRANSACTIONS_MAX: u64 = 20_000_000;
/// The pool is as full as it will be when this many transactions in a row did not make it fuller.
const IDLE_MAX: u64 = 20_000;
/// Requests that a cache sees, for each page there is, unless it has seen enough before (`Device::wants_past`). They come as
/// the transactions make them: what is in the cache in the end, and in which order it would leave, is what they left.
const TOLD_PER_PAGE: u64 = 16;
/// How old changes get in it: half of what the log lets them; and how many pages are dirty at most, share of the limit.
const AGE_SHARE: u64 = 2;
const DIRTY_SHARE: f64 = 0.5;

/// How far a server is in it.
#[derive(Debug)]
pub(super) struct Past {
    number: u64,
    logged_lsn: u64,
    free: u64,
    /// Transactions in a row that did not make the pool fuller.
    idle: u64,
    over: bool,
}

impl Past {
    /// Its beginning.
    pub(super) const fn new(server: &Innodb) -> Self {
        Self { number: 0, logged_lsn: server.redo.lsn, free: u64::MAX, idle: 0, over: false }
    }
}

impl Innodb {
    /// Lives through so many transactions of it at most. False: it is over.
    pub(super) fn live_through(&mut self, past: &mut Past, transactions: u64) -> bool {
        if past.over {
            return false;
        }
        let (mut touches, mut ahead) = (Vec::new(), Ahead::default());
        let share = self.spec.settings.innodb_max_dirty_pages_pct / 100.0 * DIRTY_SHARE;
        let most_dirty = (share * self.pool.size() as f64) as u64;
        let most_told = u64::from(self.touches.pages()) * TOLD_PER_PAGE;
        let end = TRANSACTIONS_MAX.min(past.number.saturating_add(transactions));
        while past.number < end {
            let wanted = self.machine.devices.iter().any(|device| device.wants_past());
            past.idle = if self.pool.free() == past.free { past.idle + 1 } else { 0 };
            past.free = self.pool.free();
            if (past.free == 0 || past.idle > IDLE_MAX) && (!wanted || self.told > most_told) {
                past.over = true;
                break;
            }
            touches.clear();
            self.touches.next((past.number % u64::from(self.spec.connections)) as u32, &mut touches);
            past.number += 1;
            ahead.begin(&touches, &mut self.recent, &self.pool, self.change_buffer.as_ref());
            for (at, touch) in touches.iter().enumerate() {
                if at.is_multiple_of(STEP) {
                    ahead.go_on(at, &self.pool, self.change_buffer.as_ref());
                }
                match self.pool.find(touch.page) {
                    _ if touch.what == What::Statement => {}
                    Some(frame) => self.past_use(frame, *touch, most_dirty, wanted),
                    None => self.past_touch(*touch, most_dirty, wanted),
                }
            }
            if wanted && self.redo.lsn - past.logged_lsn > 64 << 10 {
                past.logged_lsn = self.redo.lsn;
                let mut requests = Vec::new();
                self.redo.take_unsent(&mut requests);
                for (offset, bytes) in requests {
                    self.tell(self.placement.log.0, Operation::Write, offset, bytes);
                }
            }
        }
        past.over |= past.number == TRANSACTIONS_MAX;
        if past.over {
            self.redo.settle(self.pool.oldest_lsn());
        }
        !past.over
    }

    fn past_touch(&mut self, asked: Touch, most_dirty: u64, wanted: bool) {
        let touch = self.through_change_buffer(asked);
        let mut merged = None;
        let frame = match self.pool.find(touch.page) {
            Some(frame) => frame,
            None => {
                let instance = self.pool.instance_of(touch.page);
                while self.pool.free_of(instance) == 0 {
                    if !self.pool.evict_one(instance, SEARCHED)
                        && let Some(frame) = self.pool.dirty_at_end(instance, SEARCHED)
                    {
                        self.past_write(frame, wanted);
                    }
                }
                if wanted && touch.what != What::Create {
                    let (device, offset) = self.placement.of_page(touch.page);
                    self.tell(device, Operation::Read, offset, PAGE_BYTES);
                }
                let Some(frame) = self.pool.admit(touch.page, false) else { return };
                merged = self.merge(touch.page);
                frame
            }
        };
        self.past_use(frame, touch, most_dirty, wanted);
        let next = if touch.page == asked.page { Vec::new() } else { self.end_buffering(asked, true) };
        for touch in merged.into_iter().flatten().chain(next) {
            self.past_touch(touch, most_dirty, wanted);
        }
    }

    /// A page that is in memory is used.
    #[inline]
    fn past_use(&mut self, frame: u32, touch: Touch, most_dirty: u64, wanted: bool) {
        if touch.what != What::Glance {
            // Nobody knows how much time passes: a second use counts as a late one.
            self.pool.touch(frame, if self.pool.is_used(frame) { u32::MAX } else { 1 });
        }
        if matches!(touch.what, What::Change | What::Create) {
            let (from, to) = self.redo.append(u64::from(touch.redo));
            self.pool.change(frame, from, to);
            while self.pool.dirty() > most_dirty || self.age() > self.ages.modified_async / AGE_SHARE {
                let Some(frame) = self.pool.oldest_dirty(self.pool.oldest_instance()) else { break };
                self.past_write(frame, wanted);
            }
        }
    }

    /// Writes a page, first in the doublewrite buffer.
    fn past_write(&mut self, frame: u32, wanted: bool) {
        if wanted {
            if self.writers.doubles() {
                let place = self.counts.totals.flushed % super::doublewrite::SHARED_PAGES as u64;
                self.counts.totals.flushed += 1;
                let (device, start) = self.placement.doublewrite;
                self.tell(device, Operation::Write, start + place * PAGE_BYTES, PAGE_BYTES);
            }
            let (device, offset) = self.placement.of_page(self.pool.page(frame));
            self.tell(device, Operation::Write, offset, PAGE_BYTES);
        }
        self.pool.begin_write(frame);
        self.pool.end_write(frame);
    }

    fn tell(&mut self, device: usize, operation: Operation, offset: u64, bytes: u64) {
        if self.machine.devices[device].wants_past() {
            self.machine.devices[device].happened(Command { operation, offset, bytes });
            self.told += 1;
        }
    }
}

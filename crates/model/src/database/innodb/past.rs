//! What was before a run: a pool that has been in use, and a cache below it that has seen what the pool let through.
//!
//! The same threads live through it in no time: a server whose devices answer at once. What it sends goes to devices that
//! want a past (`Device::wants_past`), and nowhere else.

use super::super::ids::{FrameId, Lsn, PAGE_BYTES};
use super::super::threads::ahead::{Ahead, STEP};
use super::super::touches::{Touch, What};
use super::super::write_back::SHARED_PAGES;
use super::Innodb;
use super::pages::SEARCHED;
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
pub(in super::super) struct Past {
    /// Transactions that are over.
    number: u64,
    /// The newest change that devices know of.
    logged_lsn: Lsn,
    /// Requests that devices were told.
    told: u64,
    free: u64,
    /// Transactions in a row that did not make the pool fuller.
    idle: u64,
    over: bool,
}

/// What is the same for all pages of a transaction of the past.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Dirty pages at most.
    most_dirty: u64,
    /// A device wants to know.
    wanted: bool,
}

impl Past {
    /// Its beginning.
    pub(in super::super) const fn new(server: &Innodb) -> Self {
        Self { number: 0, logged_lsn: server.log.lsn(), told: 0, free: u64::MAX, idle: 0, over: false }
    }

    /// Counts a transaction after which so many frames are free.
    fn note_free(&mut self, free: u64) {
        self.idle = if free == self.free { self.idle + 1 } else { 0 };
        self.free = free;
    }

    /// Whether the pool is as full as it will be.
    const fn is_full(&self) -> bool {
        self.free == 0 || self.idle > IDLE_MAX
    }
}

impl Innodb {
    /// Lives through so many transactions of it at most. False: it is over.
    pub(in super::super) fn live_through(&mut self, past: &mut Past, transactions: u64) -> bool {
        if past.over {
            return false;
        }
        let (mut touches, mut ahead) = (Vec::new(), Ahead::default());
        let share = self.spec.settings.innodb_max_dirty_pages_pct / 100.0 * DIRTY_SHARE;
        let most_dirty = (share * self.pool.size() as f64) as u64;
        let most_told = u64::from(self.touches.pages()) * TOLD_PER_PAGE;
        let end = TRANSACTIONS_MAX.min(past.number.saturating_add(transactions));
        while past.number < end {
            let rules = Rules { most_dirty, wanted: self.host.machine_mut().wants_past() };
            past.note_free(self.pool.free());
            if past.is_full() && (!rules.wanted || past.told > most_told) {
                past.over = true;
                break;
            }
            touches.clear();
            self.touches.next((past.number % u64::from(self.spec.connections)) as u32, &mut touches);
            past.number += 1;
            ahead.begin(&touches, self.threads.recent(), &self.pool, self.change_buffer.as_ref());
            for (at, touch) in touches.iter().enumerate() {
                if at.is_multiple_of(STEP) {
                    ahead.go_on(at, &self.pool, self.change_buffer.as_ref());
                }
                match self.pool.find(touch.page) {
                    _ if touch.what == What::Statement => {}
                    Some(frame) => self.use_in_past(past, frame, *touch, rules),
                    None => self.touch_in_past(past, *touch, rules),
                }
            }
            if rules.wanted && self.log.lsn() - past.logged_lsn > 64 << 10 {
                past.logged_lsn = self.log.lsn();
                let (device, extents) = self.log.take_past();
                for (offset, bytes) in extents {
                    self.tell(past, device, Operation::Write, offset, bytes);
                }
            }
        }
        past.over |= past.number == TRANSACTIONS_MAX;
        if past.over {
            self.log.settle(self.pool.oldest_lsn());
        }
        !past.over
    }

    fn touch_in_past(&mut self, past: &mut Past, wanted: Touch, rules: Rules) {
        let touch = self.through_change_buffer(wanted);
        let mut merged = None;
        let frame = match self.pool.find(touch.page) {
            Some(frame) => frame,
            None => {
                let instance = self.pool.instance_of(touch.page);
                while self.pool.free_of(instance) == 0 {
                    if !self.pool.evict_one(instance, SEARCHED)
                        && let Some(frame) = self.pool.dirty_at_end(instance, SEARCHED)
                    {
                        self.write_in_past(past, frame, rules.wanted);
                    }
                }
                if rules.wanted && touch.what != What::Create {
                    let (device, offset) = self.host.placement().of_page(touch.page);
                    self.tell(past, device, Operation::Read, offset, PAGE_BYTES);
                }
                let Some(frame) = self.pool.admit(touch.page, false) else { return };
                merged = self.change_buffer.as_mut().and_then(|buffer| buffer.merge(touch.page));
                frame
            }
        };
        self.use_in_past(past, frame, touch, rules);
        let next = if touch.page == wanted.page { Vec::new() } else { self.add_to_change_buffer(wanted, true) };
        for touch in merged.into_iter().flatten().chain(next) {
            self.touch_in_past(past, touch, rules);
        }
    }

    /// A page that is in memory is used.
    #[inline]
    fn use_in_past(&mut self, past: &mut Past, frame: FrameId, touch: Touch, rules: Rules) {
        if touch.what != What::Glance {
            // Nobody knows how much time passes: a second use counts as a late one.
            self.pool.touch(frame, if self.pool.is_used(frame) { u32::MAX } else { 1 });
        }
        if touch.changes() {
            let (from, to) = self.log.append(u64::from(touch.redo));
            self.pool.change(frame, from, to);
            while self.pool.dirty() > rules.most_dirty || self.age() > self.limits.ages().modified_async / AGE_SHARE {
                let Some(frame) = self.pool.oldest_dirty(self.pool.oldest_instance()) else { break };
                self.write_in_past(past, frame, rules.wanted);
            }
        }
    }

    /// Writes a page, first in the doublewrite buffer.
    fn write_in_past(&mut self, past: &mut Past, frame: FrameId, wanted: bool) {
        if wanted {
            if self.write_back.doubles() {
                let place = self.write_back.note_past_write() % SHARED_PAGES as u64;
                let (device, start) = self.host.placement().doublewrite();
                self.tell(past, device, Operation::Write, start + place * PAGE_BYTES, PAGE_BYTES);
            }
            let (device, offset) = self.host.placement().of_page(self.pool.page(frame));
            self.tell(past, device, Operation::Write, offset, PAGE_BYTES);
        }
        self.pool.begin_write(frame);
        self.pool.end_write(frame);
    }

    /// A device is told of a request of the past, if it wants to know.
    fn tell(&mut self, past: &mut Past, device: usize, operation: Operation, offset: u64, bytes: u64) {
        let command = Command { operation, offset, bytes };
        past.told += u64::from(self.host.machine_mut().tell_past(device, command));
    }
}

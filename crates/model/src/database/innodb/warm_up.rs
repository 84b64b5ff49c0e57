//! The warm-up before a run. It fills the pool, and a cache below the pool with what the pool reads and writes.
//!
//! The transactions of the workload take no time: the devices of the server answer at once. Requests go only to devices that
//! need a warm-up (`Device::needs_warm_up`).

use super::super::ids::{FrameId, Lsn, PAGE_BYTES};
use super::super::threads::ahead::{Ahead, STEP};
use super::super::touches::{Touch, What};
use super::super::write_back::SHARED_PAGES;
use super::Innodb;
use super::frames::SEARCHED;
use crate::storage::{Command, Operation};

/// Transactions of a warm-up at most, for pools that never become full.
const TRANSACTIONS_MAX: u64 = 20_000_000;
/// The warm-up of the pool ends after so many transactions in a row that did not make it fuller.
const IDLE_MAX: u64 = 20_000;
/// Requests that a cache serves for each page of the tables, unless fewer are enough for it (`Device::needs_warm_up`). They
/// come in the order of the transactions, so the cache holds what such transactions leave in it.
const REQUESTS_PER_PAGE: u64 = 16;
/// The oldest change becomes at most half as old as the log allows. At most this share of the allowed dirty pages is dirty.
const AGE_SHARE: u64 = 2;
const DIRTY_SHARE: f64 = 0.5;

/// The state of a server's warm-up.
#[derive(Debug)]
pub(in super::super) struct WarmUp {
    /// Transactions that have ended.
    number: u64,
    /// The newest change that was written to the log.
    logged_lsn: Lsn,
    /// Requests that devices have served.
    requests: u64,
    /// Free frames of the pool.
    free: u64,
    /// Transactions in a row that did not make the pool fuller.
    idle: u64,
    over: bool,
}

/// Rules for all pages of a transaction.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Dirty pages at most.
    most_dirty: u64,
    /// Whether requests go to devices.
    requests: bool,
}

impl WarmUp {
    /// The beginning of a warm-up.
    pub(in super::super) const fn new(server: &Innodb) -> Self {
        Self { number: 0, logged_lsn: server.log.lsn(), requests: 0, free: u64::MAX, idle: 0, over: false }
    }

    /// Counts a transaction after which `free` frames are free.
    fn note_free(&mut self, free: u64) {
        self.idle = if free == self.free { self.idle + 1 } else { 0 };
        self.free = free;
    }

    /// Whether the pool will not become fuller.
    const fn is_full(&self) -> bool {
        self.free == 0 || self.idle > IDLE_MAX
    }
}

impl Innodb {
    /// Runs at most `transactions` transactions of a warm-up. Returns false when it is over.
    pub(in super::super) fn warm_up(&mut self, state: &mut WarmUp, transactions: u64) -> bool {
        if state.over {
            return false;
        }
        let (mut touches, mut ahead) = (Vec::new(), Ahead::default());
        let share = self.spec.settings.innodb_max_dirty_pages_pct / 100.0 * DIRTY_SHARE;
        let most_dirty = (share * self.pool.size() as f64) as u64;
        let most_requests = u64::from(self.touches.pages()) * REQUESTS_PER_PAGE;
        let end = TRANSACTIONS_MAX.min(state.number.saturating_add(transactions));
        while state.number < end {
            let rules = Rules { most_dirty, requests: self.host.machine_mut().needs_warm_up() };
            state.note_free(self.pool.free());
            if state.is_full() && (!rules.requests || state.requests > most_requests) {
                state.over = true;
                break;
            }
            touches.clear();
            self.touches.next((state.number % u64::from(self.spec.connections)) as u32, &mut touches);
            state.number += 1;
            ahead.begin(&touches, self.threads.recent(), &self.pool, self.change_buffer.as_ref());
            for (at, touch) in touches.iter().enumerate() {
                if at.is_multiple_of(STEP) {
                    ahead.advance(at, &self.pool, self.change_buffer.as_ref());
                }
                if !touch.uses_page() {
                    continue;
                }
                match self.pool.find(touch.page) {
                    Some(frame) => self.use_warm(state, frame, *touch, rules),
                    None => self.touch_warm(state, *touch, rules),
                }
            }
            if rules.requests && self.log.lsn() - state.logged_lsn > 64 << 10 {
                state.logged_lsn = self.log.lsn();
                let (device, extents) = self.log.take_unsent();
                for (offset, bytes) in extents {
                    self.send_warm(state, device, Operation::Write, offset, bytes);
                }
            }
        }
        state.over |= state.number == TRANSACTIONS_MAX;
        if state.over {
            // Those of the warm-up are nobody's.
            self.touches.take_rollbacks();
            self.log.settle(self.pool.oldest_lsn());
        }
        !state.over
    }

    fn touch_warm(&mut self, state: &mut WarmUp, wanted: Touch, rules: Rules) {
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
                        self.write_warm(state, frame, rules.requests);
                    }
                }
                if rules.requests && touch.what != What::Create {
                    let (device, offset) = self.host.placement().of_page(touch.page);
                    self.send_warm(state, device, Operation::Read, offset, PAGE_BYTES);
                }
                let made = touch.what == What::Create;
                let admitted =
                    if made { self.pool.admit_new(touch.page, 1) } else { self.pool.admit(touch.page, false) };
                let Some(frame) = admitted else { return };
                merged = self.change_buffer.as_mut().and_then(|buffer| buffer.merge(touch.page));
                frame
            }
        };
        self.use_warm(state, frame, touch, rules);
        let next = if touch.page == wanted.page { Vec::new() } else { self.add_to_change_buffer(wanted, true) };
        for touch in merged.into_iter().flatten().chain(next) {
            self.touch_warm(state, touch, rules);
        }
    }

    /// A page that is in memory is used.
    #[inline]
    fn use_warm(&mut self, state: &mut WarmUp, frame: FrameId, touch: Touch, rules: Rules) {
        if touch.what != What::Glance {
            // Nobody knows how much time passes: a second use counts as a late one.
            self.pool.touch(frame, if self.pool.is_used(frame) { u32::MAX } else { 1 });
        }
        if touch.changes() {
            let (from, to) = self.log.append(u64::from(touch.redo));
            self.pool.change(frame, from, to);
            while self.pool.dirty() > rules.most_dirty || self.age() > self.limits.ages().modified_async / AGE_SHARE {
                let Some(frame) = self.pool.oldest_dirty(self.pool.oldest_instance()) else { break };
                self.write_warm(state, frame, rules.requests);
            }
        }
    }

    /// Writes a page, first in the doublewrite buffer.
    fn write_warm(&mut self, state: &mut WarmUp, frame: FrameId, requests: bool) {
        if requests {
            if self.write_back.doubles() {
                let place = self.write_back.note_warm_write() % SHARED_PAGES as u64;
                let (device, start) = self.host.placement().doublewrite();
                self.send_warm(state, device, Operation::Write, start + place * PAGE_BYTES, PAGE_BYTES);
            }
            let (device, offset) = self.host.placement().of_page(self.pool.page(frame));
            self.send_warm(state, device, Operation::Write, offset, PAGE_BYTES);
        }
        self.pool.begin_write(frame);
        self.pool.end_write(frame);
    }

    /// A device sees a request, if it wants to.
    fn send_warm(&mut self, state: &mut WarmUp, device: usize, operation: Operation, offset: u64, bytes: u64) {
        let command = Command { operation, offset, bytes };
        state.requests += u64::from(self.host.machine_mut().warm_up(device, command));
    }
}

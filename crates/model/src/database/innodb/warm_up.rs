//! The warm-up before a run: a pool that has been in use, and a cache below it that has seen what the pool let through.
//!
//! The workload's transactions run in no time: the server's devices answer at once. Its requests go only to devices that are
//! another device after use (`Device::wants_past`).

use super::super::ids::{FrameId, Lsn, PAGE_BYTES};
use super::super::threads::ahead::{Ahead, STEP};
use super::super::touches::{Touch, What};
use super::super::write_back::SHARED_PAGES;
use super::Innodb;
use super::pages::SEARCHED;
use crate::storage::{Command, Operation};

/// Transactions of a warm-up at most, for pools that are larger than all that is ever used.
const TRANSACTIONS_MAX: u64 = 20_000_000;
/// The pool is as full as it will be when this many transactions in a row did not make it fuller.
const IDLE_MAX: u64 = 20_000;
/// Requests that a cache sees for each page there is, unless it has seen enough before (`Device::wants_past`). They come in
/// the order of the transactions, and so does what is in the cache in the end.
const REQUESTS_PER_PAGE: u64 = 16;
/// Changes get half as old as the log lets them; and so many pages are dirty at most, as a share of the limit.
const AGE_SHARE: u64 = 2;
const DIRTY_SHARE: f64 = 0.5;

/// How far a server's warm-up is.
#[derive(Debug)]
pub(in super::super) struct WarmUp {
    /// Transactions that are over.
    number: u64,
    /// The newest change that devices know of.
    logged_lsn: Lsn,
    /// Requests that devices have seen.
    requests: u64,
    free: u64,
    /// Transactions in a row that did not make the pool fuller.
    idle: u64,
    over: bool,
}

/// What is the same for all pages of a transaction.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Dirty pages at most.
    most_dirty: u64,
    /// A device wants to see requests.
    requests: bool,
}

impl WarmUp {
    /// The beginning of a warm-up.
    pub(in super::super) const fn new(server: &Innodb) -> Self {
        Self { number: 0, logged_lsn: server.log.lsn(), requests: 0, free: u64::MAX, idle: 0, over: false }
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
    /// Runs so many transactions of a warm-up at most. False: it is over.
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
            let rules = Rules { most_dirty, requests: self.host.machine_mut().wants_past() };
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
                match self.pool.find(touch.page) {
                    _ if touch.what == What::Statement => {}
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
                let Some(frame) = self.pool.admit(touch.page, false) else { return };
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

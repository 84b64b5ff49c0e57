//! Statistics of a cache that serves.

use super::super::Engine;
use super::super::write_back::{UNIT_S, units};
use crate::cache::Statistics;
use crate::cache::journal::Table;
use crate::cache::slots::{PINNED, State};
#[cfg(test)]
use crate::cache::{Block, Slot};

impl Engine {
    /// Memory that grows with the slots, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.contents.bytes() + self.admission.bytes() + self.write_back.bytes()
    }

    /// Counts and gauges of now.
    pub(in super::super) fn count(&self, now_ns: u64) -> Statistics {
        let mut pinned = 0;
        let (mut oldest, mut ages, mut dirty) = (0u32, 0u64, 0u64);
        let now = units(now_ns);
        let slots = self.contents.slots();
        for slot in slots.all() {
            if slots.state(slot) == State::Dirty {
                let since = slots.since(slot);
                let since = self.write_back.epoch_began_ns(since).map_or(since, units);
                let age = now.saturating_sub(since);
                (oldest, ages, dirty) = (oldest.max(age), ages + u64::from(age), dirty + 1);
            }
            pinned += u64::from(slots.has(slot, PINNED));
        }
        let (total, left) = self.on_demand.progress();
        let on_demand = self.on_demand.waiting() + usize::from(self.on_demand.is_at_work());
        let (written_rate_bytes, target_rate_blocks) = self.write_back.rates();
        let block_bytes = self.addresses.block_bytes();
        Statistics {
            dirty_blocks: u64::from(self.contents.dirty()),
            superseded_blocks: u64::from(self.contents.superseded()),
            clean_blocks: u64::from(self.contents.clean()),
            lost_blocks: self.contents.lost_in_all(),
            pinned_blocks: pinned,
            free_slots: u64::from(self.contents.free()),
            limbo_slots: u64::from(self.contents.limbo()),
            slots: u64::from(self.contents.limit()),
            block_bytes: u64::from(block_bytes),
            degraded: self.degraded(),
            dirty_age_oldest_s: f64::from(oldest) * UNIT_S,
            dirty_age_mean_s: if dirty == 0 { 0.0 } else { ages as f64 / dirty as f64 * UNIT_S },
            write_back_rate_bytes: written_rate_bytes,
            write_back_target_bytes: target_rate_blocks * f64::from(block_bytes),
            metadata_bytes_written: self.durability.bytes_written(),
            flush_blocks: u64::from(total),
            flush_blocks_done: u64::from(total - left),
            flushes_asked: on_demand as u64,
            requests_under_way: self.requests.len() as u64,
            memory_bytes_per_slot: self.memory_bytes() as f64 / f64::from(slots.len()),
            ..self.counts.statistics()
        }
    }

    /// The state of a block, for tests that fail.
    #[cfg(test)]
    pub(in super::super) fn describe_block(&self, block: Block) -> String {
        let (slot, owner, mode) = (self.contents.find(block), self.locks.owner(block), self.settings.mode);
        if slot == Slot::NONE {
            return format!("block {block} is not cached, {owner:?}, mode {mode:?}");
        }
        let slots = self.contents.slots();
        let (state, crc) = (slots.state(slot), slots.crc(slot));
        format!("block {block} slot {slot} {state:?} {crc:x} {owner:?} mode {mode:?}")
    }

    /// The state of all components, for tests that fail.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        let (contents, slots) = (&self.contents, self.contents.slots());
        let behind = contents.behind_limit().filter(|slot| slots.state(*slot) != State::Free);
        let behind: Vec<_> = behind.map(|slot| (slot, slots.entry(slot), slots.readers(slot))).collect();
        format!(
            "requests {} starved {} jobs {} fills {} writes {} bypasses {} commands {} on demand {:?}, {} wait; outside {} \
             free {} limbo {} limit {} dirty {} lost {} clean {} superseded {} behind {behind:?}; {}; {:?}; {}",
            self.requests.len(),
            self.requests.starved(),
            self.jobs.len(),
            self.fills.len(),
            self.writes.len(),
            self.bypasses.len(),
            self.commands.len(),
            self.on_demand.progress(),
            self.on_demand.waiting(),
            contents.outside(),
            contents.free(),
            contents.limbo(),
            contents.limit(),
            contents.dirty(),
            contents.lost(),
            contents.clean(),
            contents.superseded(),
            self.durability,
            self.pairing,
            self.write_back,
        )
    }
}

#[cfg(test)]
impl Engine {
    /// What write-back counts is what there is.
    pub(in super::super) fn check_epochs(&self) {
        self.write_back.check_epochs(&self.contents);
    }

    /// What the hand counts is what there is.
    pub(in super::super) fn check_sweep(&self) {
        self.write_back.check_sweep(&self.contents);
    }
}

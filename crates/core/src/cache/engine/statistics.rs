//! What is told of the cache at work.

use super::{Engine, UNIT_SHIFT};
use crate::cache::journal::Table;
use crate::cache::policy::Policy;
use crate::cache::slots::{PINNED, Slots, State};
use crate::cache::{Slot, Statistics};
use crate::histogram::Histogram;

impl Engine {
    /// The latencies of reads, of writes (zeros and trims too) and of flushes.
    pub fn latencies(&self) -> [&Histogram; 3] {
        self.counts.latencies()
    }

    /// Memory that grows with the slots, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.slots.len() as usize * Slots::bytes_per_slot()
            + self.index.bytes()
            + self.policy.bytes()
            + self.ghost.bytes()
            + self.space.bytes()
            + self.queue.bytes()
            + self.pace_bytes()
            + self.sweep.bytes()
            + self.marks.bytes()
    }

    /// Counts and gauges of now.
    pub(super) fn count(&self, now_ns: u64) -> Statistics {
        let mut pinned = 0;
        let (mut oldest, mut ages, mut dirty) = (0u32, 0u64, 0u64);
        let now = self.units(now_ns);
        for slot in self.slots.all() {
            let state = self.slots.state(slot);
            if state == State::Dirty {
                let since = self.epochs.iter().find(|epoch| epoch.number == self.slots.since(slot));
                let since = since.map_or(self.slots.since(slot), |epoch| self.units(epoch.began_ns));
                let age = now.saturating_sub(since);
                (oldest, ages, dirty) = (oldest.max(age), ages + u64::from(age), dirty + 1);
            }
            pinned += u64::from(self.slots.has(slot, PINNED));
        }
        let unit_s = (1u64 << UNIT_SHIFT) as f64 / 1e9;
        let block = f64::from(self.block_bytes);
        let (total, left) = self.flushing.as_ref().map_or((0, 0), |flushing| (flushing.total, flushing.left));
        Statistics {
            dirty_blocks: u64::from(self.dirty),
            superseded_blocks: u64::from(self.superseded),
            clean_blocks: u64::from(self.clean),
            lost_blocks: u64::from(self.lost) + self.lost_blocks.len() as u64,
            pinned_blocks: pinned,
            free_slots: u64::from(self.space.free()),
            limbo_slots: self.space.limbo() as u64,
            slots: u64::from(self.space.limit),
            block_bytes: u64::from(self.block_bytes),
            degraded: self.degraded(),
            dirty_age_oldest_s: f64::from(oldest) * unit_s,
            dirty_age_mean_s: if dirty == 0 { 0.0 } else { ages as f64 / dirty as f64 * unit_s },
            write_back_rate_bytes: self.pace.written_rate(),
            write_back_target_bytes: self.pace.rate * block,
            metadata_bytes_written: self.durability.bytes_written(),
            flush_blocks: u64::from(total),
            flush_blocks_done: u64::from(total - left),
            flushes_asked: self.commands.flushes() + u64::from(self.flushing.is_some()),
            requests_under_way: self.asked.len() as u64,
            memory_bytes_per_slot: self.memory_bytes() as f64 / f64::from(self.slots.len()),
            miss_ratios: self.curve.points(),
            ..self.counts.statistics()
        }
    }
}

impl Engine {
    /// What is known of a block, for tests that fail.
    #[cfg(test)]
    pub(super) fn block_told(&self, block: crate::cache::Block) -> String {
        let slot = self.find(block);
        if slot == Slot::NONE {
            return format!(
                "block {block} is not cached, {:?}, mode {:?}",
                self.locks.owner(block),
                self.settings.mode
            );
        }
        let (state, crc, owner) = (self.slots.state(slot), self.slots.crc(slot), self.locks.owner(block));
        format!("block {block} slot {slot} {state:?} {crc:x} {owner:?} mode {:?}", self.settings.mode)
    }

    /// Where everything stands, for tests that fail.
    #[doc(hidden)]
    pub fn told(&self) -> String {
        let behind =
            (self.space.limit..self.slots.len()).map(Slot).filter(|slot| self.slots.state(*slot) != State::Free);
        let behind: Vec<_> = behind.map(|slot| (slot, self.slots.entry(slot), self.slots.readers(slot))).collect();
        let epochs: Vec<_> = self
            .epochs
            .iter()
            .map(|epoch| {
                let slots: Vec<_> =
                    epoch.slots.iter().map(|slot| (slot, self.slots.entry(*slot), self.slots.bits(*slot))).collect();
                (epoch.number, epoch.left, epoch.slow, slots)
            })
            .collect();
        let flushing = self.flushing.as_ref().map(|f| (f.total, f.left, f.blocks.len()));
        format!(
            "asked {} jobs {} fills {} writes {} pasts {} destages {} starved {} commands {} flushing {flushing:?} \
             outside {} free {} limbo {} limit {} dirty {} lost {} clean {} destaging {} unsynced {} {} \
             behind {behind:?} epochs {epochs:x?} pairing {:?} resume {} pace {:?} queue {} urgent {}",
            self.asked.len(),
            self.jobs.len(),
            self.fills.len(),
            self.writes.len(),
            self.pasts.len(),
            self.destages.len(),
            self.starved.len(),
            self.commands.len(),
            self.space.outside,
            self.space.free(),
            self.space.limbo(),
            self.space.limit,
            self.dirty,
            self.lost,
            self.clean,
            self.destaging,
            self.unsynced,
            self.durability,
            self.pairing,
            self.resume_ns,
            self.pace.rate,
            self.queue.len(),
            self.urgent.len()
        )
    }
}

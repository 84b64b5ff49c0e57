//! Writes past the cache, and the intents of the regions that they go to.
//!
//! None is issued before the journal says durably that its region may be written (`intent`). After a crash nothing clean of
//! such a region is believed, so a clean block is never older than what the slow device holds.

use super::durability::SlowSeq;
use super::keys::BypassId;
use super::requests::Part;
use crate::cache::{Block, BufferId, Lsn, Slot};
use crate::slab::Slab;

/// A region whose intent is set is at rest when nothing wrote to it for so long: then the intent is taken back.
const REST_NS: u64 = 5_000_000_000;
/// How often intents are looked at.
const LOOK_NS: u64 = 1_000_000_000;

/// A region of the slow device.
#[derive(Clone, Copy, Default)]
struct Region {
    /// The record that set its intent.
    set: Option<Lsn>,
    /// Writes to it under way.
    writers: u32,
    /// The last one that ended, and when.
    ended: SlowSeq,
    ended_ns: u64,
}

/// A run of blocks on its way to the slow device. They are locked.
pub(super) struct Bypass {
    pub(super) part: Part,
    pub(super) blocks: u32,
    /// Zeros, if those are what is written.
    pub(super) zeros: Option<BufferId>,
    /// Slots that get a copy (write-through), in the order of blocks.
    pub(super) copies: Vec<(Block, Slot)>,
    pub(super) ok: bool,
    /// IOs under way.
    ios: u32,
}

/// Writes past the cache under way, and the regions of the slow device.
pub(super) struct Bypasses {
    under_way: Slab<Bypass, BypassId>,
    regions: Vec<Region>,
    /// Regions whose intent is set.
    intents: Vec<u32>,
    look_ns: u64,
}

impl Bypasses {
    /// For a slow device of so many regions.
    pub(super) fn new(regions: u32, now_ns: u64) -> Self {
        let regions = vec![Region::default(); regions as usize];
        Self { under_way: Slab::new(), regions, intents: Vec::new(), look_ns: now_ns }
    }

    /// How many are under way.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// A part of a write, of so many blocks, goes past the cache.
    pub(super) fn begin(&mut self, part: Part, blocks: u32) -> BypassId {
        self.under_way.insert(Bypass { part, blocks, zeros: None, copies: Vec::new(), ok: true, ios: 0 })
    }

    /// One that is under way.
    pub(super) fn get(&self, id: BypassId) -> &Bypass {
        &self.under_way[id]
    }

    /// A write to a region begins. Returns the record that set its intent; None: it must be set first.
    pub(super) fn enter(&mut self, region: u32) -> Option<Lsn> {
        let region = &mut self.regions[region as usize];
        region.writers += 1;
        region.set
    }

    /// The intent of a region was set by this record.
    pub(super) fn intent_is_set(&mut self, region: u32, lsn: Lsn) {
        self.regions[region as usize].set = Some(lsn);
        self.intents.push(region);
    }

    /// A write to a region ended.
    pub(super) fn leave(&mut self, region: u32, ended: SlowSeq, now_ns: u64) {
        let region = &mut self.regions[region as usize];
        region.writers = region.writers.saturating_sub(1);
        (region.ended, region.ended_ns) = (ended, now_ns);
    }

    /// It is written now, from this buffer if zeros are what it writes.
    pub(super) fn write_begins(&mut self, id: BypassId, zeros: Option<BufferId>) {
        self.under_way[id].zeros = zeros;
        self.under_way[id].ios = 1;
    }

    /// A copy of a block goes to a slot.
    pub(super) fn copy_begins(&mut self, id: BypassId, block: Block, slot: Slot) {
        self.under_way[id].copies.push((block, slot));
        self.under_way[id].ios += 1;
    }

    /// The write to the slow device failed.
    pub(super) fn write_failed(&mut self, id: BypassId) {
        self.under_way[id].ok = false;
    }

    /// The copy of a block did not succeed.
    pub(super) fn copy_failed(&mut self, id: BypassId, block: Block) {
        self.under_way[id].copies.retain(|(copied, _)| *copied != block);
    }

    /// One of its IOs ended. Returns it when it is over.
    pub(super) fn io_ended(&mut self, id: BypassId) -> Option<Bypass> {
        self.under_way[id].ios -= 1;
        (self.under_way[id].ios == 0).then(|| self.under_way.remove(id))
    }

    /// A sync failed: what was written to regions after `sure` waits for another one, up to `ended`.
    pub(super) fn sync_failed(&mut self, sure: SlowSeq, ended: SlowSeq) {
        for region in &self.intents {
            let region = &mut self.regions[*region as usize];
            if region.ended > sure {
                region.ended = ended;
            }
        }
    }

    /// When intents are looked at next.
    pub(super) fn look_ns(&self) -> Option<u64> {
        (!self.intents.is_empty()).then_some(self.look_ns)
    }

    /// Whether it is time to look at intents.
    pub(super) fn take_look(&mut self, now_ns: u64) -> bool {
        let due = now_ns >= self.look_ns;
        if due {
            self.look_ns = now_ns + LOOK_NS;
        }
        due
    }

    /// Takes back the next intent that is not needed any more, from the `at`th one on. A region is at rest when nothing
    /// writes to it and what was written is durable.
    pub(super) fn take_back(&mut self, at: &mut usize, synced: SlowSeq, now_ns: u64) -> Option<u32> {
        while let Some(number) = self.intents.get(*at).copied() {
            let region = &mut self.regions[number as usize];
            let rests = region.writers == 0 && now_ns.saturating_sub(region.ended_ns) >= REST_NS;
            if rests && region.ended <= synced {
                region.set = None;
                self.intents.swap_remove(*at);
                return Some(number);
            }
            *at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::RequestId;
    use super::*;
    use crate::slab::Key;

    #[test]
    fn an_intent_is_taken_back_when_its_region_rests_durably() {
        let mut bypasses = Bypasses::new(3, 0);
        assert_eq!((bypasses.enter(1), bypasses.look_ns()), (None, None));
        bypasses.intent_is_set(1, Lsn(4));
        assert_eq!((bypasses.enter(1), bypasses.look_ns()), (Some(Lsn(4)), Some(0)));
        let ended = [SlowSeq::default().next(), SlowSeq::default().next().next()];
        ended.into_iter().for_each(|seq| bypasses.leave(1, seq, 100));
        assert_eq!(bypasses.take_back(&mut 0, ended[1], 100), None, "it does not rest yet");
        assert_eq!(bypasses.take_back(&mut 0, ended[0], 100 + REST_NS), None, "it is not durable");
        bypasses.sync_failed(ended[0], ended[1].next());
        assert_eq!(bypasses.take_back(&mut 0, ended[1], 100 + REST_NS), None, "nobody knows what is durable");
        assert_eq!(bypasses.take_back(&mut 0, ended[1].next(), 100 + REST_NS), Some(1));
        assert_eq!((bypasses.enter(1), bypasses.look_ns()), (None, None));
    }

    #[test]
    fn a_write_is_over_when_its_copies_are() {
        let mut bypasses = Bypasses::new(1, 0);
        let part = Part { request: RequestId::from_number(0), block: Block(5), from: 0, bytes: 8192, at: 0 };
        let id = bypasses.begin(part, 2);
        bypasses.write_begins(id, None);
        for nth in 0..2 {
            bypasses.copy_begins(id, Block(5 + nth), Slot(nth));
        }
        bypasses.copy_failed(id, Block(5));
        assert!(bypasses.io_ended(id).is_none() && bypasses.io_ended(id).is_none());
        let over = bypasses.io_ended(id).map(|bypass| (bypass.ok, bypass.copies));
        assert_eq!((over, bypasses.len()), (Some((true, vec![(Block(6), Slot(1))])), 0));
    }
}

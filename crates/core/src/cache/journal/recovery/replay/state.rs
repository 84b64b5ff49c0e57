//! What each slot holds, while the durable part of the journal is replayed over a checkpoint.

use std::collections::BTreeMap;

use crate::cache::journal::page::{CheckpointHead, INTENT_BYTES};
use crate::cache::journal::superblock::Superblock;
use crate::cache::journal::{Entry, Holding, Record, What};
use crate::cache::{Block, Slot};

/// The slots during the replay of the durable part of the journal. The pages of a checkpoint were made at different
/// moments, so two slots may claim a block for a while.
pub(super) struct Slots {
    entries: Vec<Entry>,
    /// The last record of each slot; 0: the slot is as in the checkpoint.
    touched: Vec<u64>,
    /// For each block of a `Holds` record: the last such record, and the last one that does not keep the version
    /// before.
    blocks: BTreeMap<Block, (u64, u64)>,
    intents: Box<[u8; INTENT_BYTES]>,
}

impl Slots {
    pub(super) fn new(entries: Vec<Entry>, head: &CheckpointHead) -> Self {
        Self { touched: vec![0; entries.len()], entries, blocks: BTreeMap::new(), intents: head.intents.clone() }
    }

    pub(super) fn apply(&mut self, sequence: u64, record: Record) {
        let slot = record.slot.index();
        match record.what {
            What::Holds { block, crc, dirty, keeps, stamp } => {
                let holding = if dirty { Holding::Dirty } else { Holding::Clean };
                self.entries[slot] = Entry { holding, block, crc, stamp };
                self.touched[slot] = sequence;
                let last = self.blocks.entry(block).or_default();
                *last = (sequence, if keeps { last.1 } else { sequence });
            }
            What::Cleaned => self.clean(slot),
            What::Freed => {
                self.entries[slot] = Entry::default();
                self.touched[slot] = sequence;
            }
            What::Intent { region, set } => self.intent(region, set),
        }
    }

    /// What a slot holds.
    pub(super) fn entry(&self, slot: Slot) -> Entry {
        self.entries[slot.index()]
    }

    /// The slots that hold something, with what they hold.
    pub(super) fn held(&self) -> impl Iterator<Item = (Slot, Entry)> + '_ {
        let all = self.entries.iter().enumerate().map(|(slot, entry)| (Slot(slot as u32), *entry));
        all.filter(|(_, entry)| entry.holding != Holding::Nothing)
    }

    /// A slot holds this.
    pub(super) fn put(&mut self, slot: Slot, entry: Entry) {
        self.entries[slot.index()] = entry;
    }

    /// What each slot holds in the end.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    fn clean(&mut self, slot: usize) {
        let entry = &mut self.entries[slot];
        match entry.holding {
            Holding::Dirty => entry.holding = Holding::Clean,
            Holding::Superseded => *entry = Entry::default(),
            _ => {}
        }
    }

    pub(super) fn intent(&mut self, region: u32, set: bool) {
        let (byte, bit) = (region as usize / 8, 1 << (region % 8));
        self.intents[byte] = if set { self.intents[byte] | bit } else { self.intents[byte] & !bit };
    }

    /// Ends the replay: if several slots claim a block, the slot of its last record has it.
    pub(super) fn settle(&mut self) {
        for (entry, &touched) in self.entries.iter_mut().zip(&self.touched) {
            if entry.holding == Holding::Nothing {
                continue;
            }
            let Some(&(last, alone)) = self.blocks.get(&entry.block) else { continue };
            if touched == last {
                continue;
            }
            if touched >= alone && entry.holding != Holding::Clean {
                entry.holding = Holding::Superseded;
            } else {
                *entry = Entry::default();
            }
        }
    }

    /// Forgets the clean blocks of regions to which users were writing past the cache.
    pub(super) fn forget_unsure(&mut self, superblock: &Superblock, notes: &mut Vec<String>) {
        let geometry = &superblock.geometry;
        let mut forgotten = 0_u64;
        for entry in self.entries.iter_mut().filter(|entry| entry.holding == Holding::Clean) {
            let region = geometry.region_of(entry.block) as usize;
            if self.intents[region / 8] & 1 << (region % 8) != 0 {
                *entry = Entry::default();
                forgotten += 1;
            }
        }
        if forgotten > 0 {
            notes.push(format!("{forgotten} clean blocks were forgotten: they could be stale"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Slots {
        let intents = Box::new([0; INTENT_BYTES]);
        let (number, start, before_crc, first_record, durable, digest) = (1, 1, 0, 1, 0, 0);
        let head = CheckpointHead { number, start, before_crc, first_record, durable, digest, intents };
        Slots::new(vec![Entry::default(); 3], &head)
    }

    fn holds(slot: u32, keeps: bool) -> Record {
        Record { slot: Slot(slot), what: What::Holds { block: Block(7), crc: 0, dirty: true, keeps, stamp: 0 } }
    }

    fn holdings(slots: &Slots) -> [Holding; 3] {
        [0, 1, 2].map(|slot| slots.entry(Slot(slot)).holding)
    }

    #[test]
    fn the_slot_of_the_last_record_has_the_block() {
        let mut slots = slots();
        slots.apply(1, holds(2, false));
        slots.apply(2, holds(0, false));
        slots.settle();
        assert_eq!(holdings(&slots), [Holding::Dirty, Holding::Nothing, Holding::Nothing]);
        assert_eq!(slots.held().map(|(slot, _)| slot).collect::<Vec<_>>(), [Slot(0)]);
    }

    #[test]
    fn a_version_that_is_kept_is_superseded_until_it_is_clean() {
        let mut slots = slots();
        slots.apply(1, holds(2, false));
        slots.apply(2, holds(0, true));
        slots.settle();
        assert_eq!(holdings(&slots), [Holding::Dirty, Holding::Nothing, Holding::Superseded]);
        slots.apply(3, Record { slot: Slot(2), what: What::Cleaned });
        slots.apply(4, Record { slot: Slot(0), what: What::Cleaned });
        assert_eq!(holdings(&slots), [Holding::Clean, Holding::Nothing, Holding::Nothing]);
    }
}

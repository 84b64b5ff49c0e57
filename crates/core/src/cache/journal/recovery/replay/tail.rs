//! The end of the journal, which no sync is known to have covered: each record is compared with its data.

use std::collections::BTreeMap;

use super::state::Slots;
use crate::cache::journal::recovery::{Blocks, Trouble};
use crate::cache::journal::superblock::Superblock;
use crate::cache::journal::{Entry, Holding, Record, What};
use crate::cache::{Block, Slot};

/// The records that no sync is known to have covered.
pub(super) struct Tail<'a> {
    state: &'a mut Slots,
    superblock: &'a Superblock,
    /// The versions of each block that these records are about.
    blocks: BTreeMap<Block, Versions>,
    /// The block that a slot holds if all records are true.
    claimed: BTreeMap<Slot, Block>,
    /// The slots of blocks in the settled state.
    settled: BTreeMap<Block, Vec<Slot>>,
}

#[derive(Default)]
struct Versions {
    /// The slot of the current version, with its entry.
    now: Option<(Slot, Entry)>,
    older: Vec<(Slot, Entry)>,
    /// The slot of the last record, true or not.
    claimed: Option<Slot>,
    /// The data of a version were not there: the data of the version before it must be compared.
    fell_back: bool,
}

impl<'a> Tail<'a> {
    pub(super) fn new(state: &'a mut Slots, superblock: &'a Superblock) -> Self {
        Self { state, superblock, blocks: BTreeMap::new(), claimed: BTreeMap::new(), settled: BTreeMap::new() }
    }

    pub(super) fn apply(
        mut self,
        fast: &mut dyn Blocks,
        tail: &[(u64, Record)],
        lost: &mut Vec<Block>,
    ) -> Result<(), Trouble> {
        if tail.is_empty() {
            return Ok(());
        }
        for (slot, entry) in self.state.held() {
            self.settled.entry(entry.block).or_default().push(slot);
        }
        for (_, record) in tail {
            match record.what {
                What::Holds { block, crc, dirty, keeps, stamp } => {
                    let holding = if dirty { Holding::Dirty } else { Holding::Clean };
                    let there = verifies(fast, self.superblock, record.slot, crc)?;
                    let versions = self.versions(block);
                    versions.holds(record.slot, Entry { holding, block, crc, stamp }, keeps, there);
                    self.claimed.insert(record.slot, block);
                }
                What::Cleaned => self.ended(record.slot, true),
                What::Freed => self.ended(record.slot, false),
                What::Intent { region, set } => self.state.intent(region, set),
            }
        }
        self.put_back(fast, lost)
    }

    fn versions(&mut self, block: Block) -> &mut Versions {
        let (state, settled) = (&*self.state, &self.settled);
        self.blocks.entry(block).or_insert_with(|| {
            let mut versions = Versions::default();
            for &slot in settled.get(&block).into_iter().flatten() {
                let entry = state.entry(slot);
                if entry.holding == Holding::Superseded {
                    versions.older.push((slot, entry));
                } else {
                    versions.now = Some((slot, entry));
                    versions.claimed = Some(slot);
                }
            }
            versions
        })
    }

    /// A slot's version is on the slow device too (`clean`), or is not needed any more.
    fn ended(&mut self, slot: Slot, clean: bool) {
        let held = self.state.entry(slot);
        let block = match self.claimed.get(&slot) {
            Some(&block) => block,
            None if held.holding != Holding::Nothing => held.block,
            None => return,
        };
        let versions = self.versions(block);
        if versions.claimed != Some(slot) {
            versions.older.retain(|&(older, _)| older != slot);
            return;
        }
        match &mut versions.now {
            Some((now, entry)) if *now == slot && clean => entry.holding = Holding::Clean,
            // This holds if the data of its version were not there, too: the slow device has it, and an older version
            // must not come back.
            _ => *versions = Versions::default(),
        }
    }

    /// Puts the versions that were found into the slots.
    fn put_back(self, fast: &mut dyn Blocks, lost: &mut Vec<Block>) -> Result<(), Trouble> {
        let Self { state, superblock, blocks, claimed, settled } = self;
        let slots = blocks.keys().filter_map(|block| settled.get(block)).flatten().chain(claimed.keys());
        for &slot in slots {
            state.put(slot, Entry::default());
        }
        // Slots whose data were compared with their records come first.
        let (sure, unsure): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|(_, versions)| !versions.fell_back);
        for (block, versions) in sure.into_iter().chain(unsure) {
            let all = versions.now.into_iter().chain(versions.older);
            for (slot, entry) in all {
                let there = !versions.fell_back || verifies(fast, superblock, slot, entry.crc)?;
                if state.entry(slot).holding != Holding::Nothing {
                    lost.push(block);
                } else if there {
                    state.put(slot, entry);
                } else if entry.holding != Holding::Clean {
                    // It stays as it is, and a reader of it gets an error.
                    state.put(slot, entry);
                    lost.push(block);
                }
            }
        }
        Ok(())
    }
}

impl Versions {
    fn holds(&mut self, slot: Slot, entry: Entry, keeps: bool, there: bool) {
        self.claimed = Some(slot);
        if !there {
            self.fell_back = true;
            return;
        }
        self.fell_back = false;
        match self.now.replace((slot, entry)) {
            Some((older, before)) if keeps && before.holding == Holding::Dirty => {
                self.older.push((older, Entry { holding: Holding::Superseded, ..before }));
            }
            _ if !keeps => self.older.clear(),
            _ => {}
        }
    }
}

/// Whether a slot's data are those of a record. Data that cannot be read are not.
pub(in super::super) fn verifies(
    fast: &mut dyn Blocks,
    superblock: &Superblock,
    slot: Slot,
    crc: u32,
) -> Result<bool, Trouble> {
    let mut data = vec![0; superblock.geometry.block_bytes as usize];
    let read = fast.read(superblock.geometry.slot_offset(slot), &mut data);
    Ok(read.is_ok() && crc32c::crc32c(&data) == crc)
}

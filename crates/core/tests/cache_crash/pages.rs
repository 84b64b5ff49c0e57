//! The journal alone, with a table of many pages: blocks move between slots while checkpoints are written, and what a cut
//! leaves is the table as it was after some record that was not older than the last durable one.

use flatwater_core::cache::journal::recovery::{self, Devices, Layout, Sizes};
use flatwater_core::cache::journal::{Entry, Holding, Journal, Mark, PAIR_BYTES, PageWrite, Record, Table, What};
use flatwater_core::cache::{Block, Slot};
use flatwater_core::seed::{self, Rng};
use rand::Rng as _;

use crate::disk::{Cut, Disk};
use crate::memory::Plain;

const SLOTS: u64 = 900;
const BLOCKS: u32 = 400;

struct Model {
    entries: Vec<Entry>,
    /// Each slot's entry before and after each record, from the last durable one on.
    changes: Vec<(u64, Vec<(Slot, Entry)>)>,
    /// The table as of the last durable record.
    durable: Vec<Entry>,
    limbo: Vec<(u64, Slot)>,
    free: Vec<Slot>,
}

impl Table for Model {
    fn entry(&self, slot: Slot) -> Entry {
        self.entries[slot.index()]
    }
}

impl Model {
    fn change(&mut self, journal: &mut Journal, record: Record, changed: Vec<(Slot, Entry)>) {
        let sequence = journal.record(record);
        for &(slot, entry) in &changed {
            if entry.holding == Holding::Nothing {
                self.limbo.push((sequence, slot));
            }
            self.entries[slot.index()] = entry;
        }
        self.changes.push((sequence, changed));
    }

    /// A block moves, is cleaned, or leaves.
    fn step(&mut self, journal: &mut Journal, crc: u32, rng: &mut Rng) {
        let block = Block(rng.random_range(0..BLOCKS));
        let held = |entry: &Entry| entry.holding != Holding::Nothing && entry.block == block;
        let now = self.entries.iter().position(held).map(|slot| Slot(slot as u32));
        match (now, rng.random_range(0..10)) {
            (Some(slot), 0) => {
                self.change(journal, Record { slot, what: What::Freed }, vec![(slot, Entry::default())]);
            }
            (Some(slot), 1) => {
                let clean = Entry { holding: Holding::Clean, ..self.entries[slot.index()] };
                self.change(journal, Record { slot, what: What::Cleaned }, vec![(slot, clean)]);
            }
            _ if !self.free.is_empty() => {
                let slot = self.free.swap_remove(rng.random_range(0..self.free.len()));
                let stamp = rng.random();
                let what = What::Holds { block, crc, dirty: true, keeps: false, stamp };
                let mut changed = vec![(slot, Entry { holding: Holding::Dirty, block, crc, stamp })];
                changed.extend(now.map(|before| (before, Entry::default())));
                self.change(journal, Record { slot, what }, changed);
            }
            _ => {}
        }
    }

    fn durable(&mut self, up_to: u64) {
        while self.changes.first().is_some_and(|(sequence, _)| *sequence <= up_to) {
            for (slot, entry) in self.changes.remove(0).1 {
                self.durable[slot.index()] = entry;
            }
        }
        let free = &mut self.free;
        self.limbo.retain(|&(sequence, slot)| {
            if sequence <= up_to {
                free.push(slot);
            }
            sequence > up_to
        });
    }

    /// Whether `found` is the table after some record since the last durable one.
    fn fits(&self, found: &[Entry]) -> bool {
        let mut table = self.durable.clone();
        if table == found {
            return true;
        }
        self.changes.iter().any(|(_, changed)| {
            changed.iter().for_each(|&(slot, entry)| table[slot.index()] = entry);
            table == found
        })
    }
}

#[test]
fn a_table_of_many_pages_is_what_it_was_after_some_record() {
    let mut checkpoints = 0;
    for seed in 1..5 {
        checkpoints += lived(seed);
    }
    assert!(checkpoints > 4, "only {checkpoints} checkpoints were begun");
}

/// Gives how many writes there were of more than the journal's pages.
fn lived(seed: u64) -> u32 {
    let mut rng = seed::stream(seed, "pages", 0);
    let fast_bytes = (128 << 10) + (64 + 20) * 4096 + SLOTS * 4096;
    let slow_bytes = u64::from(BLOCKS) * 4096;
    let mut disks = [fast_bytes, slow_bytes, PAIR_BYTES].map(|bytes| Disk::new(bytes as usize));
    let layout = Layout { uuid: [3; 16], fast_bytes, slow_bytes, block_bytes: 4096 };
    recovery::format(devices(&mut disks), &layout, Sizes { journal_bytes: 1, region_bytes: 0 }, false).unwrap();
    let recovered = recovery::recover(devices(&mut disks), false).unwrap();
    let slots = recovered.geometry.slots;
    let empty = vec![Entry::default(); slots as usize];
    let mut model = Model {
        entries: empty.clone(),
        changes: Vec::new(),
        durable: empty,
        limbo: Vec::new(),
        free: Slot::first(slots).collect(),
    };
    let mut journal = Journal::new(&recovered);
    // All slots hold zeros: what is on the disk agrees with every record.
    let crc = crc32c::crc32c(&[0; 4096]);
    let mut memory = Plain::default();
    let mut writes: Vec<(PageWrite, u64)> = Vec::new();
    let mut syncs: Vec<(Mark, u64)> = Vec::new();
    let mut headers = 0;
    for step in 0..1500 {
        for _ in 0..rng.random_range(0..40) {
            if journal.room() > 100 {
                model.step(&mut journal, crc, &mut rng);
            }
        }
        let all = rng.random();
        while let Some(write) = journal.next_write(&model, all, &mut memory) {
            let place = flatwater_core::cache::Place::Buffer { buffer: write.buffer, at: 0 };
            let data = memory.bytes(place, write.bytes).to_vec();
            headers += u32::from(recovered.geometry.checkpoint_offsets.contains(&write.offset));
            writes.push((write, disks[0].begin_write(write.offset, data)));
        }
        if journal.wants_sync() || rng.random_range(0..6) == 0 {
            syncs.push((journal.mark(), disks[0].begin_sync()));
        }
        if !writes.is_empty() && rng.random_range(0..3) > 0 {
            let (write, disk) = writes.swap_remove(rng.random_range(0..writes.len()));
            disks[0].end_write(disk);
            journal.write_ended(write.ticket, true);
        } else if !syncs.is_empty() {
            let (mark, disk) = syncs.remove(0);
            disks[0].end_sync(disk);
            journal.synced(mark);
            model.durable(journal.durable());
        }
        if step % 3 > 0 {
            continue;
        }
        disks.iter_mut().for_each(Disk::save);
        let how = Cut::any(&mut rng);
        disks[0].cut(how, &mut rng);
        let after = recovery::recover(devices(&mut disks), false)
            .unwrap_or_else(|trouble| panic!("seed {seed} step {step} {how:?}: {trouble}"));
        let mut found = vec![Entry::default(); slots as usize];
        after.held.iter().for_each(|held| found[held.slot.index()] = held.entry);
        assert!(model.fits(&found), "seed {seed} step {step} {how:?}: the table is that of no moment");
        disks.iter_mut().for_each(Disk::restore);
    }
    headers
}

fn devices(disks: &mut [Disk; 3]) -> Devices<'_> {
    let [fast, slow, pair] = disks;
    Devices { fast, slow, pair }
}

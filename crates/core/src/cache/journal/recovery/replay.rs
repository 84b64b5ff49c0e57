//! What a checkpoint and the journal say together.
//!
//! Records on pages that are known to be durable are taken at their word. The last ones are not: page and data were
//! waiting for the same sync, so each `Holds` is compared with its data, and where they do not agree the block's version
//! before counts, which is still in its slot because the record that freed it was never durable.

use std::collections::BTreeMap;

use super::{Blocks, FAST, Trouble, read};
use crate::cache::journal::layout::SLOTS_PER_PAGE;
use crate::cache::journal::page::{self, CheckpointHead, INTENT_BYTES, JournalHead, PAGE};
use crate::cache::journal::superblock::{State, Superblock};
use crate::cache::journal::{Entry, Holding, Record, What};
use crate::cache::{Block, Slot};

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// What a cache holds.
pub(super) struct Replayed {
    /// Each slot's entry.
    pub entries: Vec<Entry>,
    /// The area whose checkpoint was used.
    pub area: usize,
    /// The sequence number of the next record.
    pub next_record: u64,
    /// Dirty blocks whose data do not pass their checksum, as far as they were read.
    pub lost: Vec<Block>,
    /// The cache had been stopped.
    pub was_clean: bool,
    /// What a user should be told.
    pub notes: Vec<String>,
}

impl Replayed {
    /// Nothing.
    pub fn empty(superblock: &Superblock, why: String) -> Self {
        Self {
            entries: vec![Entry::default(); superblock.geometry.slots as usize],
            area: 0,
            next_record: 1,
            lost: Vec::new(),
            was_clean: false,
            notes: vec![why],
        }
    }
}

/// The journal's pages of this life that are intact, by number.
type Pages = BTreeMap<u64, JournalHead>;

/// Reads the newest checkpoint that is intact and replays the journal over it. Writes nothing.
pub(super) fn replay(fast: &mut dyn Blocks, superblock: &Superblock) -> Result<Replayed, Trouble> {
    let pages = scan(fast, superblock)?;
    let mut heads = Vec::new();
    let mut why = Vec::new();
    for (area, offset) in superblock.geometry.checkpoint_offsets.into_iter().enumerate() {
        let mut header = vec![0; PAGE];
        match fast.read(offset, &mut header) {
            Err(error) => why.push(format!("checkpoint {area} cannot be read: {error}")),
            Ok(()) => match page::read_checkpoint_header(superblock.life(), &header) {
                Some(head) => heads.push((area, head)),
                None => why.push(format!("checkpoint {area} has no intact header of this life")),
            },
        }
    }
    heads.sort_by_key(|(_, head)| std::cmp::Reverse(head.number));
    for (area, head) in heads {
        match attempt(fast, superblock, &pages, area, &head) {
            Ok(mut replayed) => {
                replayed.notes.extend(why);
                return Ok(replayed);
            }
            Err(Trouble::Damaged(what)) => why.push(format!("checkpoint {area}: {what}")),
            Err(other) => return Err(other),
        }
    }
    Err(Trouble::Damaged(why.join("; ")))
}

/// Finds the journal's pages of this life.
fn scan(fast: &mut dyn Blocks, superblock: &Superblock) -> Result<Pages, Trouble> {
    let geometry = &superblock.geometry;
    let ring = geometry.journal_pages as usize;
    let mut pages = Pages::new();
    let mut chunk = vec![0; CHUNK.min(ring * PAGE)];
    for first in (0..ring).step_by(CHUNK / PAGE) {
        let bytes = chunk.len().min((ring - first) * PAGE);
        let at = geometry.journal_offset + (first * PAGE) as u64;
        let whole = fast.read(at, &mut chunk[..bytes]);
        for (nth, content) in chunk[..bytes].chunks_exact_mut(PAGE).enumerate() {
            // One bad sector must not hide its neighbours.
            if whole.is_err() && fast.read(at + (nth * PAGE) as u64, content).is_err() {
                continue;
            }
            if let Some(head) = page::read_journal(superblock.life(), content)
                && head.number % ring as u64 == (first + nth) as u64
            {
                pages.insert(head.number, head);
            }
        }
    }
    Ok(pages)
}

/// One checkpoint, and all of the journal behind it.
fn attempt(
    fast: &mut dyn Blocks,
    superblock: &Superblock,
    pages: &Pages,
    area: usize,
    head: &CheckpointHead,
) -> Result<Replayed, Trouble> {
    let entries = read_entries(fast, superblock, area, head)?;
    let stopped = superblock.state == State::Stopped;
    let durable = pages.values().map(|page| page.durable).max().unwrap_or(0).max(head.durable);
    let durable = if stopped { durable.max(superblock.last_page) } else { durable };
    let chain = chain(pages, head);
    let last = head.start + chain as u64 - 1;
    if last < durable {
        return Err(Trouble::Damaged(format!(
            "page {} of the journal is damaged or missing (at {}), although page {durable} was durable",
            last + 1,
            superblock.geometry.journal_page_offset(last + 1)
        )));
    }
    let mut state = Slots::new(entries, head);
    let mut tail = Vec::new();
    let mut next_record = head.first_record;
    for number in head.start..=last {
        for record in records(fast, superblock, pages[&number], &mut next_record)? {
            if number <= durable {
                state.apply(record.0, record.1);
            } else {
                tail.push(record);
            }
        }
    }
    state.settle();
    let mut lost = Vec::new();
    Tail::new(&mut state, superblock).apply(fast, &tail, &mut lost)?;
    let mut notes = Vec::new();
    if !stopped {
        state.forget_unsure(superblock, &mut notes);
    }
    Ok(Replayed { entries: state.entries, area, next_record, lost, was_clean: stopped, notes })
}

fn read_entries(
    fast: &mut dyn Blocks,
    superblock: &Superblock,
    area: usize,
    head: &CheckpointHead,
) -> Result<Vec<Entry>, Trouble> {
    let geometry = &superblock.geometry;
    let mut entries = vec![Entry::default(); geometry.slots as usize];
    let mut crcs = Vec::with_capacity(geometry.checkpoint_pages as usize);
    let mut chunk = vec![0; CHUNK.min(geometry.checkpoint_pages as usize * PAGE)];
    for first in (0..geometry.checkpoint_pages).step_by(CHUNK / PAGE) {
        let bytes = chunk.len().min((geometry.checkpoint_pages - first) as usize * PAGE);
        let at = geometry.checkpoint_offsets[area] + (u64::from(first) + 1) * PAGE as u64;
        fast.read(at, &mut chunk[..bytes])
            .map_err(|error| Trouble::Damaged(format!("its pages at {at} cannot be read: {error}")))?;
        for (nth, content) in chunk[..bytes].chunks_exact(PAGE).enumerate() {
            let index = first + nth as u32;
            let slots = entries.len().min((index * SLOTS_PER_PAGE) as usize)
                ..entries.len().min(((index + 1) * SLOTS_PER_PAGE) as usize);
            let into = &mut entries[slots];
            let crc = page::read_entries(superblock.life(), head.number, index, geometry.blocks(), content, into)
                .ok_or_else(|| Trouble::Damaged(format!("its page at {} is damaged", at + (nth * PAGE) as u64)))?;
            crcs.push(crc);
        }
    }
    if page::digest(&crcs) != head.digest {
        return Err(Trouble::Damaged("its pages are not those that its header stands for".into()));
    }
    Ok(entries)
}

/// How many pages follow one another from the checkpoint's start on.
fn chain(pages: &Pages, head: &CheckpointHead) -> usize {
    let mut before_crc = head.before_crc;
    (head.start..)
        .map_while(|number| pages.get(&number))
        .take_while(|page| std::mem::replace(&mut before_crc, page.crc) == page.before_crc)
        .count()
}

fn records(
    fast: &mut dyn Blocks,
    superblock: &Superblock,
    page: JournalHead,
    next_record: &mut u64,
) -> Result<Vec<(u64, Record)>, Trouble> {
    let geometry = &superblock.geometry;
    let at = geometry.journal_page_offset(page.number);
    let mut content = vec![0; PAGE];
    read(fast, FAST, at, &mut content)?;
    let same = page::read_journal(superblock.life(), &content) == Some(page);
    let records = page::records(&content, geometry.slots, geometry.blocks(), geometry.regions());
    match records {
        Some(records) if same && page.first_record == *next_record => {
            let first = *next_record;
            *next_record += records.len() as u64;
            Ok((first..).zip(records).collect())
        }
        _ => Err(Trouble::Damaged(format!("the journal's page at {at} makes no sense"))),
    }
}

/// The slots while the durable part of the journal is replayed. A checkpoint's pages were made at different moments, so
/// for a while two slots may claim a block.
struct Slots {
    entries: Vec<Entry>,
    /// The last record about a slot; 0: the checkpoint's word.
    touched: Vec<u64>,
    /// For each block that a record put somewhere: the last such record, and the last that kept nothing beside it.
    blocks: BTreeMap<Block, (u64, u64)>,
    intents: Box<[u8; INTENT_BYTES]>,
}

impl Slots {
    fn new(entries: Vec<Entry>, head: &CheckpointHead) -> Self {
        Self { touched: vec![0; entries.len()], entries, blocks: BTreeMap::new(), intents: head.intents.clone() }
    }

    fn apply(&mut self, sequence: u64, record: Record) {
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

    fn clean(&mut self, slot: usize) {
        let entry = &mut self.entries[slot];
        match entry.holding {
            Holding::Dirty => entry.holding = Holding::Clean,
            Holding::Superseded => *entry = Entry::default(),
            _ => {}
        }
    }

    fn intent(&mut self, region: u32, set: bool) {
        let (byte, bit) = (region as usize / 8, 1 << (region % 8));
        self.intents[byte] = if set { self.intents[byte] | bit } else { self.intents[byte] & !bit };
    }

    /// Of several slots that claim a block the one of its last record has it.
    fn settle(&mut self) {
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

    /// Forgets the clean blocks of regions that users were writing past the cache.
    fn forget_unsure(&mut self, superblock: &Superblock, notes: &mut Vec<String>) {
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

/// The records that no sync is known to have covered.
struct Tail<'a> {
    state: &'a mut Slots,
    superblock: &'a Superblock,
    /// Where each block that they are about is, and older versions of it.
    blocks: BTreeMap<Block, Versions>,
    /// Which block a slot holds if all records are true.
    claimed: BTreeMap<Slot, Block>,
    /// The slots of blocks in the settled state.
    settled: BTreeMap<Block, Vec<Slot>>,
}

#[derive(Default)]
struct Versions {
    /// The slot of the version that counts, with its entry.
    now: Option<(Slot, Entry)>,
    older: Vec<(Slot, Entry)>,
    /// The slot of the last record, true or not.
    claimed: Option<Slot>,
    /// A version was not there: what counts instead must be looked at.
    fell_back: bool,
}

impl<'a> Tail<'a> {
    fn new(state: &'a mut Slots, superblock: &'a Superblock) -> Self {
        Self { state, superblock, blocks: BTreeMap::new(), claimed: BTreeMap::new(), settled: BTreeMap::new() }
    }

    fn apply(mut self, fast: &mut dyn Blocks, tail: &[(u64, Record)], lost: &mut Vec<Block>) -> Result<(), Trouble> {
        if tail.is_empty() {
            return Ok(());
        }
        for (slot, entry) in self.state.entries.iter().enumerate() {
            if entry.holding != Holding::Nothing {
                self.settled.entry(entry.block).or_default().push(Slot(slot as u32));
            }
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
        let (entries, settled) = (&self.state.entries, &self.settled);
        self.blocks.entry(block).or_insert_with(|| {
            let mut versions = Versions::default();
            for &slot in settled.get(&block).into_iter().flatten() {
                let entry = entries[slot.index()];
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

    /// A slot's version is on the slow device too (`clean`), or not wanted any more.
    fn ended(&mut self, slot: Slot, clean: bool) {
        let held = self.state.entries[slot.index()];
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
            // Also when its own version was not there: the slow device has it, and what is older must not come back.
            _ => *versions = Versions::default(),
        }
    }

    /// Puts what was found into the slots.
    fn put_back(self, fast: &mut dyn Blocks, lost: &mut Vec<Block>) -> Result<(), Trouble> {
        let Self { state, superblock, blocks, claimed, settled } = self;
        let slots = blocks.keys().filter_map(|block| settled.get(block)).flatten().chain(claimed.keys());
        for &slot in slots {
            state.entries[slot.index()] = Entry::default();
        }
        // Slots whose data were compared with their record come first.
        let (sure, unsure): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|(_, versions)| !versions.fell_back);
        for (block, versions) in sure.into_iter().chain(unsure) {
            let all = versions.now.into_iter().chain(versions.older);
            for (slot, entry) in all {
                let there = !versions.fell_back || verifies(fast, superblock, slot, entry.crc)?;
                let into = &mut state.entries[slot.index()];
                if into.holding != Holding::Nothing {
                    lost.push(block);
                } else if there {
                    *into = entry;
                } else if entry.holding != Holding::Clean {
                    // It stays as it is, and whoever reads it finds out.
                    *into = entry;
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

/// Whether a slot's data are those of a record. A device that cannot read them does not have them.
pub(super) fn verifies(fast: &mut dyn Blocks, superblock: &Superblock, slot: Slot, crc: u32) -> Result<bool, Trouble> {
    let mut data = vec![0; superblock.geometry.block_bytes as usize];
    let read = fast.read(superblock.geometry.slot_offset(slot), &mut data);
    Ok(read.is_ok() && crc32c::crc32c(&data) == crc)
}

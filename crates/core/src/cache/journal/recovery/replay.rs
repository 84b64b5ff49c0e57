//! Replays the journal over a checkpoint.
//!
//! Recovery trusts the records on pages that are known to be durable. It does not trust the last ones, because page and
//! data waited for the same sync. So each `Holds` among them is compared with its data. If they do not agree, the
//! version before it is the block's version. That version is still in its slot, because the record that freed the slot
//! was never durable.

mod state;
mod tail;

use std::collections::BTreeMap;

pub(super) use tail::verifies;

use state::Slots;
use tail::Tail;

use super::{Blocks, FAST, Trouble, read};
use crate::cache::Block;
use crate::cache::journal::layout::SLOTS_PER_PAGE;
use crate::cache::journal::page::{self, CheckpointHead, JournalHead, PAGE};
use crate::cache::journal::superblock::{State, Superblock};
use crate::cache::journal::{Entry, Record};

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// The result of a replay.
pub(super) struct Replayed {
    /// Each slot's entry.
    pub entries: Vec<Entry>,
    /// The area whose checkpoint was used.
    pub area: usize,
    /// The sequence number of the next record.
    pub next_record: u64,
    /// Dirty blocks whose data do not pass their checksum, as far as they were read.
    pub lost: Vec<Block>,
    /// The cache was stopped cleanly.
    pub was_clean: bool,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Replayed {
    /// An empty cache, with a note why.
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

/// Replays all of the journal over one checkpoint.
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
    Ok(Replayed { entries: state.into_entries(), area, next_record, lost, was_clean: stopped, notes })
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

//! Inspects a cache offline. Nothing is written.

use serde::Serialize;

use super::{
    Blocks, Progress, Trouble, check_pairing, check_witness, need_superblock, read_pair, read_witness, replay,
};
use crate::cache::Slot;
use crate::cache::journal::Holding;
use crate::cache::journal::superblock::{State, named};

/// A block whose data do not pass their checksum, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Its offset on the cache device.
    pub fast_offset: u64,
    /// Its offset on the backing device.
    pub slow_offset: u64,
    /// Whether this is the only copy.
    pub dirty: bool,
}

/// What a cache holds, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The cache's identity.
    pub uuid: String,
    /// `stopped`, `starting` or `open`.
    pub state: String,
    /// How often it was started.
    pub generation: u64,
    /// Bytes of the cache device that it uses.
    pub fast_bytes: u64,
    /// Bytes of the backing device.
    pub slow_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Slots.
    pub slots: u32,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// First byte of slot 0.
    pub slots_offset: u64,
    /// Clean blocks.
    pub clean_blocks: u64,
    /// Dirty blocks.
    pub dirty_blocks: u64,
    /// Bytes of the dirty blocks.
    pub dirty_bytes: u64,
    /// Older versions that are still to be written back before newer ones (`ordered`).
    pub superseded_blocks: u64,
    /// The lowest stamp of a dirty block.
    pub oldest_stamp: Option<u32>,
    /// Why the cache and the backing device do not belong together. None: they do, or no backing device was given.
    pub pairing: Option<String>,
    /// How the backing device differs from its witness. None: it does not, or no backing device was given.
    pub changed: Option<String>,
    /// The kernel's name of the backing device as the cache device has it. None: unknown.
    pub identity: Option<String>,
    /// The cache device failed, and writes bypassed it since then.
    pub degraded: bool,
    /// Blocks whose checksums were compared with their data.
    pub verified_blocks: u64,
    /// Blocks that did not pass.
    pub damaged: Vec<Damage>,
    /// Other findings, for people.
    pub notes: Vec<String>,
}

/// Inspects a cache, with its pairing record and the backing device if they are given. With `check` every block is read
/// and compared with its checksum. It calls `progress` meanwhile, and ends early when that returns false.
///
/// # Errors
/// There is no cache, it is damaged, or a device failed.
pub fn inspect(
    fast: &mut dyn Blocks,
    beside: Option<(&mut dyn Blocks, &mut dyn Blocks)>,
    check: bool,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, Trouble> {
    let superblock = need_superblock(fast)?;
    let (mut pairing, mut changed, mut degraded, mut beside_slow) = (None, None, false, None);
    let witness = read_witness(fast, &superblock);
    if let Some((pair, slow)) = beside {
        let record = read_pair(pair)?;
        degraded = record.is_some_and(|record| record.uuid == superblock.layout.uuid && record.degraded);
        pairing = check_pairing(&superblock, record.as_ref(), slow.bytes()).err().map(|trouble| trouble.to_string());
        beside_slow = Some(slow);
    }
    let replayed = replay::replay(fast, &superblock)?;
    let empty = replayed.entries.iter().all(|entry| entry.holding == Holding::Nothing);
    if let Some(slow) = beside_slow.filter(|_| pairing.is_none() && !degraded && !empty) {
        changed = check_witness(witness.as_ref(), slow).err().map(|trouble| trouble.to_string());
    }
    let geometry = superblock.geometry;
    let count = |holding| replayed.entries.iter().filter(|entry| entry.holding == holding).count() as u64;
    let dirty_blocks = count(Holding::Dirty);
    let state = match superblock.state {
        State::Stopped => "stopped",
        State::Starting => "starting",
        State::Open => "open",
    };
    let oldest = replayed.entries.iter().filter(|entry| entry.holding == Holding::Dirty).map(|entry| entry.stamp);
    let mut report = Report {
        uuid: named(&superblock.layout.uuid),
        state: state.into(),
        generation: superblock.generation,
        fast_bytes: superblock.layout.fast_bytes,
        slow_bytes: geometry.slow_bytes,
        block_bytes: geometry.block_bytes,
        slots: geometry.slots,
        journal_bytes: u64::from(geometry.journal_pages) * u64::from(crate::cache::journal::PAGE_BYTES),
        slots_offset: geometry.slots_offset,
        clean_blocks: count(Holding::Clean),
        dirty_blocks,
        dirty_bytes: dirty_blocks * u64::from(geometry.block_bytes),
        superseded_blocks: count(Holding::Superseded),
        oldest_stamp: oldest.min(),
        pairing,
        changed,
        identity: witness.map(|witness| witness.identity).filter(|identity| !identity.is_empty()),
        degraded,
        verified_blocks: 0,
        damaged: Vec::new(),
        notes: replayed.notes,
    };
    if check {
        verify(fast, &superblock, &replayed.entries, &mut report, progress)?;
    }
    Ok(report)
}

fn verify(
    fast: &mut dyn Blocks,
    superblock: &super::Superblock,
    entries: &[crate::cache::journal::Entry],
    report: &mut Report,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<(), Trouble> {
    let total = entries.iter().filter(|entry| entry.holding != Holding::Nothing).count() as u64;
    for (slot, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.holding != Holding::Nothing) {
        if !replay::verifies(fast, superblock, Slot(slot as u32), entry.crc)? {
            report.damaged.push(Damage {
                fast_offset: superblock.geometry.slot_offset(Slot(slot as u32)),
                slow_offset: u64::from(entry.block.0) * u64::from(superblock.geometry.block_bytes),
                dirty: entry.holding != Holding::Clean,
            });
        }
        report.verified_blocks += 1;
        if !progress(Progress { done: report.verified_blocks, total }) {
            report.notes.push(format!("only {} of {total} blocks were compared", report.verified_blocks));
            break;
        }
    }
    Ok(())
}

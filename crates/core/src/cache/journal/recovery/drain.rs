//! Emptying a dirty cache offline.

use super::{
    Damage, Devices, SLOW, Terms, Trouble, check_pairing, check_witness, need_superblock, read_pair, read_witness,
    replay, start, sync, write,
};
use crate::cache::journal::superblock::State;
use crate::cache::journal::witness::Witness;
use crate::cache::journal::{Entry, Holding};
use crate::cache::{Block, Slot};

/// How far something has come, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Done.
    pub done: u64,
    /// To be done in all.
    pub total: u64,
}

/// What draining did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Blocks written to the backing device, durable there.
    pub written_blocks: u64,
    /// Blocks still dirty, because it was interrupted.
    pub left_blocks: u64,
    /// Dirty blocks that did not pass their checksum: they stay dirty, and were not written.
    pub damaged: Vec<Damage>,
}

/// Writes all dirty blocks to the backing device in the order of their addresses, makes them durable, and then marks them
/// clean and the cache stopped. `progress` is told after each block, and interrupts it when it says false: what was written
/// until then is clean. It can be repeated after anything, a power cut too.
///
/// # Errors
/// Why it is not this cache, not these devices, damaged, or what a device says; what is dirty stays so then.
pub fn drain(devices: Devices, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Drained, Trouble> {
    drain_on(devices, &Terms::default(), progress)
}

/// As `drain`, on terms.
///
/// # Errors
/// As of `drain`.
pub fn drain_on(
    devices: Devices,
    terms: &Terms,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Drained, Trouble> {
    let Devices { fast, slow, pair } = devices;
    let superblock = need_superblock(fast)?;
    let beside = check_pairing(&superblock, read_pair(pair)?.as_ref(), slow.bytes())?;
    if beside.degraded {
        return Err(Trouble::Degraded { dirty_blocks: beside.dirty_blocks });
    }
    let mut witness = read_witness(fast, &superblock);
    if !terms.trust {
        check_witness(witness.as_ref(), slow)?;
    }
    let mut replayed = replay::replay(fast, &superblock)?;
    if terms.trust {
        let held = replayed.entries.iter_mut().filter(|entry| entry.holding == Holding::Clean);
        held.for_each(|entry| *entry = Entry::default());
    }
    let geometry = superblock.geometry;
    let dirty = |entry: &Entry| entry.holding == Holding::Dirty;
    let mut slots: Vec<usize> = (0..replayed.entries.len()).filter(|&slot| dirty(&replayed.entries[slot])).collect();
    slots.sort_by_key(|&slot| replayed.entries[slot].block);
    let mut drained = Drained { written_blocks: 0, left_blocks: slots.len() as u64, damaged: Vec::new() };
    let total = slots.len() as u64;
    if let Some(witness) = &mut witness {
        let begin = |&slot: &usize| u64::from(replayed.entries[slot].block.0) * u64::from(geometry.block_bytes);
        let mut marked = false;
        for slot in &slots {
            marked |= witness.touch(begin(slot), u64::from(geometry.block_bytes));
        }
        if marked {
            start::store(fast, witness)?;
        }
    }
    let mut data = vec![0; geometry.block_bytes as usize];
    let mut written = Vec::new();
    for (nth, &slot) in slots.iter().enumerate() {
        let entry = replayed.entries[slot];
        let (from, to) =
            (geometry.slot_offset(Slot(slot as u32)), u64::from(entry.block.0) * u64::from(geometry.block_bytes));
        if fast.read(from, &mut data).is_ok() && crc32c::crc32c(&data) == entry.crc {
            // The device's last block may be short.
            let bytes = (geometry.slow_bytes - to).min(data.len() as u64) as usize;
            write(slow, SLOW, to, &data[..bytes])?;
            written.push(slot);
        } else {
            drained.damaged.push(Damage { fast_offset: from, slow_offset: to, dirty: true });
        }
        drained.left_blocks -= 1;
        if !progress(Progress { done: nth as u64 + 1, total }) {
            break;
        }
    }
    sync(slow, SLOW)?;
    let drained_blocks: std::collections::BTreeSet<Block> =
        written.iter().map(|&slot| replayed.entries[slot].block).collect();
    drained.written_blocks = written.len() as u64;
    for slot in written {
        replayed.entries[slot].holding = Holding::Clean;
    }
    for entry in replayed.entries.iter_mut().filter(|entry| entry.holding == Holding::Superseded) {
        if drained_blocks.contains(&entry.block) {
            *entry = Entry::default();
        }
    }
    let said = terms.identity.clone().or_else(|| witness.as_ref().map(|witness| witness.identity.clone()));
    match &mut witness {
        Some(witness) => witness.look_again(slow),
        None => {
            let layout = &superblock.layout;
            witness = Some(Witness::look(slow, layout, superblock.generation, "").following(fast, layout));
        }
    }
    if let (Some(witness), Some(said)) = (&mut witness, said) {
        witness.identity = said;
    }
    start::begin_life(fast, pair, superblock, beside, &replayed, witness.as_mut(), State::Stopped)?;
    Ok(drained)
}

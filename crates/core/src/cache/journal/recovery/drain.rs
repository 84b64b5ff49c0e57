//! Drains a dirty cache offline.

use super::{
    Blocks, Damage, Devices, Progress, SLOW, Terms, Trouble, check_pairing, check_witness, need_superblock, read_pair,
    read_witness, replay, start, sync, write,
};
use crate::cache::journal::superblock::{State, Superblock};
use crate::cache::journal::witness::Witness;
use crate::cache::journal::{Entry, Holding};
use crate::cache::{Block, Slot};

/// What draining did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Blocks written to the backing device, durable there.
    pub written_blocks: u64,
    /// Blocks that are still dirty because the drain was interrupted.
    pub left_blocks: u64,
    /// Dirty blocks that did not pass their checksum. They stay dirty and were not written.
    pub damaged: Vec<Damage>,
}

/// Writes all dirty blocks to the backing device in the order of their addresses and makes them durable. Then it marks
/// them clean and the cache stopped. It calls `progress` after each block, and ends early when that returns false: the
/// blocks written until then are clean. It can be repeated after any interruption, a power cut too.
///
/// # Errors
/// The devices are not those of one cache, the cache is damaged, or a device failed. Dirty blocks then stay dirty.
pub fn drain(devices: Devices, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Drained, Trouble> {
    drain_on(devices, &Terms::default(), progress)
}

/// As `drain`, with conditions.
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
    let block_bytes = u64::from(geometry.block_bytes);
    let dirty = |entry: &Entry| entry.holding == Holding::Dirty;
    let mut slots: Vec<usize> = (0..replayed.entries.len()).filter(|&slot| dirty(&replayed.entries[slot])).collect();
    slots.sort_by_key(|&slot| replayed.entries[slot].block);
    let mut drained = Drained { written_blocks: 0, left_blocks: slots.len() as u64, damaged: Vec::new() };
    let total = slots.len() as u64;
    if let Some(witness) = &mut witness {
        let offsets = slots.iter().map(|&slot| u64::from(replayed.entries[slot].block.0) * block_bytes);
        touch(witness, offsets, block_bytes, fast)?;
    }
    let mut data = vec![0; geometry.block_bytes as usize];
    let mut written = Vec::new();
    for (nth, &slot) in slots.iter().enumerate() {
        let entry = replayed.entries[slot];
        let (from, to) = (geometry.slot_offset(Slot(slot as u32)), u64::from(entry.block.0) * block_bytes);
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
    let mut witness = witness_of_drained(witness, terms, slow, &superblock, fast);
    start::begin_life(fast, pair, superblock, beside, &replayed, Some(&mut witness), State::Stopped)?;
    Ok(drained)
}

/// Marks the blocks at these offsets of the backing device as about to be written.
fn touch(
    witness: &mut Witness,
    offsets: impl Iterator<Item = u64>,
    block_bytes: u64,
    fast: &mut dyn Blocks,
) -> Result<(), Trouble> {
    let mut marked = false;
    for offset in offsets {
        marked |= witness.touch(offset, block_bytes);
    }
    if marked { start::store(fast, witness) } else { Ok(()) }
}

/// Writes the new witness of the backing device.
fn witness_of_drained(
    witness: Option<Witness>,
    terms: &Terms,
    slow: &mut dyn Blocks,
    superblock: &Superblock,
    fast: &mut dyn Blocks,
) -> Witness {
    let said = terms.identity.clone().or_else(|| witness.as_ref().map(|witness| witness.identity.clone()));
    let mut witness = match witness {
        Some(mut witness) => {
            witness.look_again(slow);
            witness
        }
        None => {
            let layout = &superblock.layout;
            Witness::look(slow, layout, superblock.generation, "").following(fast, layout)
        }
    };
    if let Some(said) = said {
        witness.identity = said;
    }
    witness
}

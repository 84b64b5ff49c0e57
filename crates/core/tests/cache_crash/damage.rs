//! Caches with bits that rotted, or that somebody made up: a clear error, or a correct cache; never a panic.

use flatwater_core::cache::Block;
use flatwater_core::cache::journal::Holding;
use flatwater_core::cache::journal::recovery::{self, Recovered, Trouble};
use flatwater_core::seed;
use rand::Rng as _;

use crate::disk::SECTOR;
use crate::memory::stamped;
use crate::world::{Checked, End, World};

/// Bytes before the slots: superblocks, journal, checkpoints.
const METADATA_BYTES: usize = (128 << 10) + (64 + 4) * 4096;

/// How many damaged caches a world is made into.
const DAMAGES: u32 = 250;

/// A world lives a little, and what it left is damaged in many ways. Gives how many were refused, and how many started.
pub fn damaged(seed: u64) -> Checked<(u32, u32)> {
    let mut world = World::new(seed);
    world.make()?;
    let mut end = End::Middle;
    for _ in 0..3 {
        end = world.run_to_end()?;
        world.die(end == End::Stopped)?;
    }
    world.cut_all();
    let mut rng = seed::stream(seed, "damage", 0);
    let (mut refused, mut started) = (0, 0);
    for nth in 0..DAMAGES {
        world.disks.iter_mut().for_each(crate::disk::Disk::save);
        let made_up = nth % 4 == 3;
        if made_up {
            make_up(&mut world, &mut rng)
        } else {
            rot(&mut world, &mut rng)
        }
        let _ = recovery::inspect(&mut world.disks[0], None, true, &mut |_| true);
        let result = recovery::recover(world.devices(), false);
        let looked = match result {
            Ok(_) if made_up => Ok(()),
            Ok(recovered) => {
                started += 1;
                looked_at(&mut world, &recovered, end == End::Stopped)
            }
            Err(Trouble::Io { what, source }) => Err(format!("{what}: {source}")),
            Err(trouble) => {
                refused += 1;
                if trouble.to_string().len() < 20 { Err(format!("what does that mean: {trouble}")) } else { Ok(()) }
            }
        };
        world.disks.iter_mut().for_each(crate::disk::Disk::restore);
        looked.map_err(|what| format!("FLATWATER_SEED={seed} damage {nth} after {end:?}: {what}"))?;
    }
    Ok((refused, started))
}

/// Some bits, or a sector, or a page of the metadata, or of a slot.
fn rot(world: &mut World, rng: &mut seed::Rng) {
    let disk = &mut world.disks[if rng.random_range(0..8) == 0 { 2 } else { 0 }];
    let end = if rng.random_range(0..4) == 0 { disk.len() } else { disk.len().min(METADATA_BYTES) };
    let at = rng.random_range(0..end);
    match rng.random_range(0..4) {
        0 => disk.flip_bit(at, rng.random_range(0..8)),
        1 => (0..rng.random_range(2..40)).for_each(|_| disk.flip_bit(rng.random_range(0..end), rng.random_range(0..8))),
        2 => disk.overwrite(at / SECTOR * SECTOR, &[rng.random::<u8>(); SECTOR]),
        _ => disk.overwrite(at / 4096 * 4096, &[0; 4096]),
    }
}

/// A superblock with a right checksum and a wrong field, in all its copies.
fn make_up(world: &mut World, rng: &mut seed::Rng) {
    use flatwater_core::cache::journal::recovery::Blocks as _;
    let disk = &mut world.disks[0];
    let mut sector = [0; SECTOR];
    disk.read(0, &mut sector).expect("inside");
    let at = rng.random_range(4..36) * 4;
    let wrong: u32 = match rng.random_range(0..4) {
        0 => 0,
        1 => u32::MAX,
        2 => rng.random_range(0..100),
        _ => rng.random(),
    };
    sector[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
    let crc = crc32c::crc32c(&sector[..SECTOR - 4]);
    sector[SECTOR - 4..].copy_from_slice(&crc.to_le_bytes());
    for copy in 0..8 {
        disk.overwrite(copy * SECTOR, &sector);
        disk.overwrite((64 << 10) + copy * SECTOR, &sector);
    }
}

/// What is given out passes its checksum, belongs there, and is not older than what was durable. Of a cache that was
/// not stopped the journal's very last pages may have rotted, which looks like a cut: then it may be older.
fn looked_at(world: &mut World, recovered: &Recovered, strictly: bool) -> Checked {
    let block_bytes = world.plan.block_bytes as usize;
    let held = recovered.held.iter().filter(|held| held.entry.holding != Holding::Superseded);
    let held: std::collections::BTreeMap<Block, _> = held.map(|held| (held.entry.block, held)).collect();
    let mut data = vec![0; block_bytes];
    for block in 0..recovered.geometry.blocks() {
        let at = u64::from(block) * block_bytes as u64;
        let bytes = (world.plan.slow_bytes - at).min(block_bytes as u64) as usize;
        match held.get(&Block(block)) {
            None => world.disks[1].look(at, &mut data[..bytes]),
            Some(held) => {
                world.disks[0].look(recovered.geometry.slot_offset(held.slot), &mut data);
                if crc32c::crc32c(&data) != held.entry.crc {
                    // Found when it is read.
                    continue;
                }
            }
        }
        for (nth, content) in data[..bytes].chunks_exact(SECTOR).enumerate() {
            let sector = (at / SECTOR as u64) as u32 + nth as u32;
            let value = stamped(content, sector)?;
            let result = world.oracle.after_cut(sector, value);
            if strictly {
                result?;
            }
        }
    }
    Ok(())
}

//! Making a cache.

use super::{
    Devices, FAST, Geometry, Layout, PAIR, Sizes, Trouble, foreign, foreign_on, inspect, read_pair, read_superblock,
    sync, write, write_checkpoint, write_superblock,
};
use crate::cache::journal::page::PAGE;
use crate::cache::journal::superblock::{Pair, State, Superblock, named};
use crate::cache::journal::witness::Witness;

/// Makes an empty cache. A cache device that holds other data is refused, with the name of what it holds, unless
/// `force`. So is a backing device that belongs to another cache. The UUID must be a new one.
///
/// # Errors
/// The layout is impossible, a device holds other data, or a device failed.
pub fn format(devices: Devices, layout: &Layout, sizes: Sizes, force: bool) -> Result<Geometry, Trouble> {
    format_as(devices, layout, sizes, force, "")
}

/// As `format`, with the kernel's name of the backing device.
///
/// # Errors
/// As of `format`.
pub fn format_as(
    devices: Devices,
    layout: &Layout,
    sizes: Sizes,
    force: bool,
    identity: &str,
) -> Result<Geometry, Trouble> {
    let Devices { fast, slow, pair } = devices;
    for (name, has, needs) in [(FAST, fast.bytes(), layout.fast_bytes), (super::SLOW, slow.bytes(), layout.slow_bytes)]
    {
        if has < needs {
            return Err(Trouble::Layout(format!("{name} has {has} bytes, and {needs} are wanted")));
        }
    }
    let geometry = Geometry::new(layout, sizes).map_err(Trouble::Layout)?;
    let old = read_superblock(fast)?;
    let beside = read_pair(pair)?;
    if !force {
        match &old {
            Some(Ok(old)) => return Err(Trouble::Foreign(described(fast, old))),
            Some(Err(what)) => return Err(Trouble::Foreign(format!("a flatwater cache's superblock, but {what}"))),
            None => {}
        }
        if let Some(what) = foreign_on(fast)? {
            return Err(Trouble::Foreign(what.into()));
        }
        if let Some(pair) = &beside {
            let what = format!("the cache {}, started {} times", named(&pair.uuid), pair.generation);
            return Err(Trouble::Taken(what));
        }
    }
    // The UUID is the same as before: recovery must not trust pages of its earlier lives.
    let life = match &old {
        Some(Ok(old)) if old.layout.uuid == layout.uuid => old.life + 1,
        _ => 1,
    };
    let sequence = old.and_then(Result::ok).map_or(1, |old| old.sequence + 1);
    let superblock = Superblock {
        layout: layout.clone(),
        geometry,
        sequence,
        generation: 1,
        life,
        state: State::Stopped,
        last_page: 0,
    };
    // The signatures of other formats are wiped first: a cache that is half made belongs to nobody.
    let zeros = vec![0; foreign::TAIL_BYTES as usize];
    write(fast, FAST, 0, &zeros[..128 << 10])?;
    sync(fast, FAST)?;
    let end = layout.fast_bytes / 4096 * 4096;
    let tail = (end - geometry.slots_offset).min(foreign::TAIL_BYTES) / 4096 * 4096;
    write(fast, FAST, end - tail, &zeros[..tail as usize])?;
    for area in 0..2 {
        write_checkpoint(fast, &superblock, area, &[], 1)?;
    }
    sync(fast, FAST)?;
    let stored = Witness::look(slow, layout, 1, identity).store(fast);
    stored.map_err(|source| Trouble::Io {
        what: format!("write to {FAST} what the backing device is known by"),
        source,
    })?;
    let sequence = beside.map_or(1, |beside| beside.sequence + 1);
    let record = Pair { uuid: layout.uuid, sequence, generation: 1, degraded: false, dirty_blocks: 0 };
    let page: [u8; PAGE] = record.page();
    write(pair, PAIR, 0, &page)?;
    sync(pair, PAIR)?;
    write_superblock(fast, &superblock)?;
    Ok(geometry)
}

/// Another cache of flatwater, with what would be lost.
fn described(fast: &mut dyn super::Blocks, old: &Superblock) -> String {
    let name = named(&old.layout.uuid);
    let state = if old.state == State::Stopped { "cleanly stopped" } else { "not cleanly stopped" };
    match inspect(fast, None, false, &mut |_| true) {
        Ok(report) => format!("the flatwater cache {name}, {state}, with {} dirty blocks", report.dirty_blocks),
        Err(trouble) => format!("the flatwater cache {name}, {state}, which cannot be read ({trouble})"),
    }
}

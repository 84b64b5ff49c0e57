//! Makes a cache, recovers what it holds, and drains it offline.
//!
//! Every start, also after a clean stop, reads the newest intact checkpoint and replays the journal over it. It writes
//! the result as a new checkpoint of a new *life* of the journal, and only then names that life in the superblock. So a
//! power cut in the middle changes nothing, and recovery never trusts pages of an earlier life again.

mod drain;
mod inspect;
mod make;
mod progress;
mod replay;
mod start;

use std::io;

use super::Entry;
pub use super::device::Blocks;
use super::foreign;
pub use super::layout::{Geometry, Layout, Sizes};
use super::layout::{SLOTS_PER_PAGE, SUPERBLOCK_OFFSETS};
use super::page::PAGE;
use super::superblock::{Pair, State, Superblock, named};
use super::witness::Witness;
use crate::cache::{Block, Slot};
pub use drain::{Drained, drain, drain_on};
pub use inspect::{Damage, Report, inspect};
pub use make::{format, format_as};
pub use progress::Progress;
pub use start::{recover, recover_on};

/// The three devices of a cache.
pub struct Devices<'a> {
    /// The cache device.
    pub fast: &'a mut dyn Blocks,
    /// The backing device.
    pub slow: &'a mut dyn Blocks,
    /// The pairing record beside the backing device.
    pub pair: &'a mut dyn Blocks,
}

/// Why a cache cannot be made, started, inspected or drained.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The sizes are impossible.
    #[error("the cache cannot be laid out: {0}")]
    Layout(String),
    /// The cache device holds other data.
    #[error("the cache device holds {0}; it is not overwritten unless that is forced")]
    Foreign(String),
    /// The backing device has a cache already.
    #[error("the backing device belongs to {0}; that is not overwritten unless it is forced")]
    Taken(String),
    /// There is no cache on the cache device.
    #[error("the cache device holds no flatwater cache, but {0}")]
    NoCache(String),
    /// The cache device and the backing device do not belong together.
    #[error("cache device and backing device do not belong together: {0}")]
    Pairing(String),
    /// The backing device does not match its witness.
    #[error(
        "the backing device is not as it was left: {differ} of {places} places that nobody wrote to differ; it is another \
         one, or it was written without the cache"
    )]
    Changed {
        /// Places that were compared.
        places: u32,
        /// Those that differ.
        differ: u32,
    },
    /// The metadata on the cache device are damaged.
    #[error("the cache is damaged: {0}")]
    Damaged(String),
    /// The cache device failed, and writes bypassed it since then.
    #[error(
        "the cache device failed with {dirty_blocks} dirty blocks on it, and writes went past it since: what it holds may \
         be older than the backing device; it starts again only if those blocks are given up"
    )]
    Degraded {
        /// Blocks whose only copy was on it.
        dirty_blocks: u64,
    },
    /// A device failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was attempted, with the place.
        what: String,
        /// What the device said.
        source: io::Error,
    },
}

/// The conditions of a start or a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// If the cache device failed in an earlier life, start empty, and give up the dirty blocks that were only there.
    pub give_up: bool,
    /// Accept a backing device that does not match its witness. The clean blocks of the cache are forgotten.
    pub trust: bool,
    /// The kernel's name of the backing device; None: as before.
    pub identity: Option<String>,
}

/// A slot that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which slot.
    pub slot: Slot,
    /// What it holds; never `Holding::Nothing`.
    pub entry: Entry,
}

/// The start of a new life of the journal.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// The superblock of the life that begins.
    pub superblock: Superblock,
    /// The pairing record of that life.
    pub pair: Pair,
    /// The sequence number of its first record.
    pub first_record: u64,
}

/// The contents of a cache that was recovered.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Bytes of the backing device.
    pub slow_bytes: u64,
    /// The layout.
    pub layout: Layout,
    /// What lies where.
    pub geometry: Geometry,
    /// The slots that hold something, by slot number. A block is `Clean` or `Dirty` in one slot at most. All intents
    /// are cleared: clean blocks that could be stale are not in the list.
    pub held: Vec<Held>,
    /// Dirty blocks of the list whose data do not pass their checksum.
    pub lost: Vec<Block>,
    /// How often the cache was started.
    pub generation: u64,
    /// The cache was stopped cleanly, or is new.
    pub was_clean: bool,
    /// The fast device had failed in an earlier life, and what was on it was given up.
    pub degraded: bool,
    /// What recovery found and did, for people.
    pub notes: Vec<String>,
    /// The witness of the backing device. Before each write to that device the caller calls `Witness::touch`, and then
    /// `Witness::store` if `touch` returns true.
    pub witness: Option<Witness>,
    /// No bytes of metadata are made, because nobody will read them.
    pub(super) blank: bool,
    pub(super) start: Start,
}

impl Recovered {
    /// An empty cache on devices that need no recovery, for virtual time. Its journal stores nothing in the buffers of
    /// its writes.
    ///
    /// # Panics
    /// If the layout is impossible.
    pub fn fresh(layout: Layout) -> Self {
        let geometry = Geometry::new(&layout, Sizes::default()).unwrap_or_else(|what| panic!("{what}"));
        let superblock = Superblock {
            layout: layout.clone(),
            geometry,
            sequence: 1,
            generation: 1,
            life: 1,
            state: State::Open,
            last_page: 0,
        };
        let pair = Pair { uuid: layout.uuid, sequence: 1, generation: 1, degraded: false, dirty_blocks: 0 };
        Self {
            slow_bytes: layout.slow_bytes,
            layout,
            geometry,
            held: Vec::new(),
            lost: Vec::new(),
            generation: 1,
            was_clean: true,
            degraded: false,
            notes: Vec::new(),
            witness: None,
            blank: true,
            start: Start { superblock, pair, first_record: 1 },
        }
    }
}

fn read(device: &mut dyn Blocks, name: &str, offset: u64, into: &mut [u8]) -> Result<(), Trouble> {
    device
        .read(offset, into)
        .map_err(|source| Trouble::Io { what: format!("read {} bytes of {name} at {offset}", into.len()), source })
}

fn write(device: &mut dyn Blocks, name: &str, offset: u64, from: &[u8]) -> Result<(), Trouble> {
    device
        .write(offset, from)
        .map_err(|source| Trouble::Io { what: format!("write {} bytes of {name} at {offset}", from.len()), source })
}

fn sync(device: &mut dyn Blocks, name: &str) -> Result<(), Trouble> {
    device.sync().map_err(|source| Trouble::Io { what: format!("sync {name}"), source })
}

const FAST: &str = "the cache device";
const SLOW: &str = "the backing device";
const PAIR: &str = "the pairing record";

/// The newest superblock; None: there is none.
fn read_superblock(fast: &mut dyn Blocks) -> Result<Option<Result<Superblock, String>>, Trouble> {
    let mut pages = Vec::new();
    for offset in SUPERBLOCK_OFFSETS {
        if offset + PAGE as u64 <= fast.bytes() {
            let mut page = vec![0; PAGE];
            // One copy may be unreadable.
            match (fast.read(offset, &mut page), pages.is_empty()) {
                (Ok(()), _) => pages.push(page),
                (Err(source), true) if offset != 0 => {
                    return Err(Trouble::Io { what: format!("read the superblocks of {FAST}"), source });
                }
                _ => {}
            }
        }
    }
    Ok(Superblock::newest(pages.iter().map(|page| &page[..]), fast.bytes()))
}

/// Writes both copies. The first is durable before the second is written.
fn write_superblock(fast: &mut dyn Blocks, superblock: &Superblock) -> Result<(), Trouble> {
    for offset in SUPERBLOCK_OFFSETS {
        write(fast, FAST, offset, &superblock.page())?;
        sync(fast, FAST)?;
    }
    Ok(())
}

/// The pairing record; None: there is no valid one.
fn read_pair(pair: &mut dyn Blocks) -> Result<Option<Pair>, Trouble> {
    let mut page = vec![0; PAGE];
    if pair.bytes() < page.len() as u64 {
        return Ok(None);
    }
    read(pair, PAIR, 0, &mut page)?;
    Ok(Pair::newest(&page))
}

/// What a device holds, if that is not a cache of flatwater.
fn foreign_on(device: &mut dyn Blocks) -> Result<Option<&'static str>, Trouble> {
    let bytes = device.bytes();
    let mut head = vec![0; bytes.min(foreign::HEAD_BYTES) as usize];
    read(device, FAST, 0, &mut head)?;
    let from = bytes.saturating_sub(foreign::TAIL_BYTES) / 4096 * 4096;
    let mut tail = vec![0; (bytes - from) as usize / 512 * 512];
    read(device, FAST, from, &mut tail)?;
    Ok(foreign::found(&head, &tail))
}

/// Reads the superblock. Its absence or damage is an error.
fn need_superblock(fast: &mut dyn Blocks) -> Result<Superblock, Trouble> {
    match read_superblock(fast)? {
        Some(Ok(superblock)) => Ok(superblock),
        Some(Err(what)) => Err(Trouble::Damaged(format!("its superblock passes its checksum, but {what}"))),
        None => {
            let what = foreign_on(fast)?.unwrap_or("nothing that is known");
            Err(Trouble::NoCache(what.into()))
        }
    }
}

/// Checks that this superblock and this pairing record belong together.
fn check_pairing(superblock: &Superblock, pair: Option<&Pair>, slow_bytes: u64) -> Result<Pair, Trouble> {
    let ours = named(&superblock.layout.uuid);
    let Some(pair) = pair else {
        return Err(Trouble::Pairing(format!(
            "the cache is {ours}, and the backing device has no intact pairing record beside it"
        )));
    };
    let generation = superblock.generation;
    if pair.uuid != superblock.layout.uuid {
        return Err(Trouble::Pairing(format!(
            "the cache is {ours}, and the backing device belongs to {}",
            named(&pair.uuid)
        )));
    }
    let before = superblock.state == State::Starting && pair.generation + 1 == generation;
    if pair.generation != generation && !before {
        return Err(Trouble::Pairing(format!(
            "the cache {ours} counts {generation} starts, and the backing device's pairing record {}: one of them is an older \
             copy",
            pair.generation
        )));
    }
    if slow_bytes < superblock.layout.slow_bytes {
        return Err(Trouble::Pairing(format!(
            "the cache {ours} was made for a backing device of {} bytes, and this one has {slow_bytes}",
            superblock.layout.slow_bytes
        )));
    }
    Ok(*pair)
}

/// The witness of the backing device, if the cache's last start wrote it. An older version of flatwater, which has no
/// witnesses, may have started the cache since then.
fn read_witness(fast: &mut dyn Blocks, superblock: &Superblock) -> Option<Witness> {
    let generation = superblock.generation;
    Witness::newest(fast, &superblock.layout).filter(|found| {
        found.generation == generation || superblock.state == State::Starting && found.generation + 1 == generation
    })
}

/// Checks that the backing device is the one with which the cache was stopped.
fn check_witness(witness: Option<&Witness>, slow: &mut dyn Blocks) -> Result<(), Trouble> {
    match witness.map(|witness| witness.compare(slow)) {
        Some(found) if found.differ > 0 => Err(Trouble::Changed { places: found.places, differ: found.differ }),
        _ => Ok(()),
    }
}

/// Writes a checkpoint of `entries` into an area: the first of a life, with an empty journal behind it.
fn write_checkpoint(
    fast: &mut dyn Blocks,
    superblock: &Superblock,
    area: usize,
    entries: &[Entry],
    first_record: u64,
) -> Result<(), Trouble> {
    use super::page;
    let (life, geometry) = (superblock.life(), &superblock.geometry);
    let at = geometry.checkpoint_offsets[area];
    let mut crcs = Vec::with_capacity(geometry.checkpoint_pages as usize);
    let mut run = Vec::with_capacity(256 * PAGE);
    for index in 0..geometry.checkpoint_pages {
        let first = (index * SLOTS_PER_PAGE) as usize;
        let slots = entries.get(first..).unwrap_or_default().iter().copied();
        let (page, crc) = page::entries_page(life, 1, index, slots);
        run.extend_from_slice(&page);
        crcs.push(crc);
        if run.len() == 256 * PAGE || index + 1 == geometry.checkpoint_pages {
            let behind = u64::from(index + 2) * PAGE as u64;
            write(fast, FAST, at + behind - run.len() as u64, &run)?;
            run.clear();
        }
    }
    let head = page::CheckpointHead {
        number: 1,
        start: 1,
        before_crc: 0,
        first_record,
        durable: 0,
        digest: page::digest(&crcs),
        intents: Box::new([0; page::INTENT_BYTES]),
    };
    write(fast, FAST, at, &page::checkpoint_header(life, &head))
}

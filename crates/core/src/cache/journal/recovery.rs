//! Making a cache, finding out what it holds, and emptying it offline.
//!
//! A start after anything (also a clean stop) reads the newest checkpoint that is intact, replays the journal over it,
//! writes what came out of it as a new checkpoint of a new *life*, and only then names that life in the superblock. So a
//! cut in the middle of it changes nothing, and pages of the life before are never believed again.

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

/// A cache's three places.
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
    /// Sizes that cannot be.
    #[error("the cache cannot be laid out: {0}")]
    Layout(String),
    /// The cache device holds something.
    #[error("the cache device holds {0}; it is not overwritten unless that is forced")]
    Foreign(String),
    /// The backing device has a cache already.
    #[error("the backing device belongs to {0}; that is not overwritten unless it is forced")]
    Taken(String),
    /// There is no cache on the cache device.
    #[error("the cache device holds no flatwater cache, but {0}")]
    NoCache(String),
    /// The two do not belong together.
    #[error("cache device and backing device do not belong together: {0}")]
    Pairing(String),
    /// The backing device is not what it was.
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
    /// What is on the cache device cannot be believed.
    #[error("the cache is damaged: {0}")]
    Damaged(String),
    /// The cache device failed, writes went past it since.
    #[error(
        "the cache device failed with {dirty_blocks} dirty blocks on it, and writes went past it since: what it holds may \
         be older than the backing device; it starts again only if those blocks are given up"
    )]
    Degraded {
        /// Blocks that were nowhere else.
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

/// What a start or a drain goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// If the cache device failed in an earlier life, start empty, and give up the dirty blocks that were only there.
    pub give_up: bool,
    /// The backing device is the right one although it is not as it was left. What the cache holds clean is forgotten.
    pub trust: bool,
    /// What the kernel calls the backing device; None: as it was said before.
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

/// Where the journal of a new life begins.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// The superblock of the life that begins.
    pub superblock: Superblock,
    /// The pairing record of that life.
    pub pair: Pair,
    /// The sequence number of its first record.
    pub first_record: u64,
}

/// What a cache holds, as recovery found it.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Bytes of the backing device.
    pub slow_bytes: u64,
    /// The layout.
    pub layout: Layout,
    /// What lies where.
    pub geometry: Geometry,
    /// The slots that hold something, by slot number; a block is `Clean` or `Dirty` in one slot at most. All intents are
    /// taken back: clean blocks that could be stale are not in here any more.
    pub held: Vec<Held>,
    /// Dirty blocks in here that are known to be rotten: their data do not pass the checksum.
    pub lost: Vec<Block>,
    /// How often the cache was started.
    pub generation: u64,
    /// It had been stopped cleanly (or is new).
    pub was_clean: bool,
    /// The fast device had failed in an earlier life, and what was on it was given up.
    pub degraded: bool,
    /// What was found and done, in words.
    pub notes: Vec<String>,
    /// What the backing device is known by. Whoever writes to that says so before: `Witness::touch`, and `store` if it wants.
    pub witness: Option<Witness>,
    /// No bytes of metadata are made: nobody will read them.
    pub(super) blank: bool,
    pub(super) start: Start,
}

impl Recovered {
    /// An empty cache on devices that need no recovery: for virtual time. Its journal stores nothing in the buffers of its
    /// writes.
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

/// Writes both copies, one durable before the other.
fn write_superblock(fast: &mut dyn Blocks, superblock: &Superblock) -> Result<(), Trouble> {
    for offset in SUPERBLOCK_OFFSETS {
        write(fast, FAST, offset, &superblock.page())?;
        sync(fast, FAST)?;
    }
    Ok(())
}

/// The pairing record; None: there is none, or it is shorter than one.
fn read_pair(pair: &mut dyn Blocks) -> Result<Option<Pair>, Trouble> {
    let mut page = vec![0; PAGE];
    if pair.bytes() < page.len() as u64 {
        return Ok(None);
    }
    read(pair, PAIR, 0, &mut page)?;
    Ok(Pair::newest(&page))
}

/// What a device holds that is no cache of ours, in words.
fn foreign_on(device: &mut dyn Blocks) -> Result<Option<&'static str>, Trouble> {
    let bytes = device.bytes();
    let mut head = vec![0; bytes.min(foreign::HEAD_BYTES) as usize];
    read(device, FAST, 0, &mut head)?;
    let from = bytes.saturating_sub(foreign::TAIL_BYTES) / 4096 * 4096;
    let mut tail = vec![0; (bytes - from) as usize / 512 * 512];
    read(device, FAST, from, &mut tail)?;
    Ok(foreign::found(&head, &tail))
}

/// The superblock, which must be there and make sense.
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

/// That this superblock and this pairing record belong together.
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

/// What the backing device is known by, if that is of this cache's last life: a version that knows nothing of it may have
/// started it since.
fn read_witness(fast: &mut dyn Blocks, superblock: &Superblock) -> Option<Witness> {
    let generation = superblock.generation;
    Witness::newest(fast, &superblock.layout).filter(|found| {
        found.generation == generation || superblock.state == State::Starting && found.generation + 1 == generation
    })
}

/// That the backing device is the one that the cache was stopped with.
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

//! The superblock on the cache device and the pairing record beside the backing device. Each fits in a sector, because
//! a power cut leaves a sector either old or new, and fills its page with copies.

use super::layout::{Geometry, Layout};
use super::page::{Life, PAGE, get32, get64, put32, put64};

pub(super) const SECTOR: usize = 512;

/// The magic number of superblocks. Other programs recognise a cache by it.
pub const MAGIC: &[u8; 16] = b"flatwater cache\n";

const PAIR_MAGIC: &[u8; 16] = b"flatwater pair \n";

/// The version of the format on the device. Other versions are refused.
const FORMAT: u32 = 1;

/// Whether a cache is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The cache was stopped cleanly: the journal is complete.
    Stopped,
    /// The cache is starting: the pairing record may still have the generation before.
    Starting,
    /// The cache serves, or it crashed.
    Open,
}

/// The superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// The UUID of the cache and its backing device.
    pub layout: Layout,
    /// What lies where.
    pub geometry: Geometry,
    /// Counts the writes of the superblock. The copy with the higher number is the newer one.
    pub sequence: u64,
    /// Counts the starts.
    pub generation: u64,
    /// Counts the lives of the journal.
    pub life: u64,
    /// Whether the cache is at work.
    pub state: State,
    /// The journal's last page, if stopped.
    pub last_page: u64,
}

/// The pairing record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The cache that it belongs to.
    pub uuid: [u8; 16],
    /// Counts its writes.
    pub sequence: u64,
    /// The number of the start at which it was written.
    pub generation: u64,
    /// The fast device failed, and writes bypassed it since then.
    pub degraded: bool,
    /// Blocks whose only copy was on it at that time.
    pub dirty_blocks: u64,
}

/// A page of copies of a sector, with its checksum.
pub(super) fn seal(mut sector: [u8; SECTOR]) -> [u8; PAGE] {
    let crc = crc32c::crc32c(&sector[..SECTOR - 4]);
    put32(&mut sector, SECTOR - 4, crc);
    let mut page = [0; PAGE];
    page.chunks_exact_mut(SECTOR).for_each(|copy| copy.copy_from_slice(&sector));
    page
}

/// The sectors of a page that begin with a magic and pass their checksum.
pub(super) fn intact<'a>(magic: &'a [u8; 16], page: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    page.chunks_exact(SECTOR)
        .filter(move |sector| sector.starts_with(magic))
        .filter(|sector| get32(sector, SECTOR - 4) == crc32c::crc32c(&sector[..SECTOR - 4]))
}

impl Superblock {
    /// The journal's life that it names.
    pub fn life(&self) -> Life {
        Life { uuid: self.layout.uuid, number: self.life }
    }

    /// Its page.
    pub fn page(&self) -> [u8; PAGE] {
        let mut sector = [0; SECTOR];
        sector[..16].copy_from_slice(MAGIC);
        sector[16..32].copy_from_slice(&self.layout.uuid);
        put32(&mut sector, 32, FORMAT);
        put32(&mut sector, 36, self.state as u32);
        let geometry = &self.geometry;
        let [first, second] = geometry.checkpoint_offsets;
        let long = [
            self.sequence,
            self.generation,
            self.life,
            self.last_page,
            self.layout.fast_bytes,
            geometry.slow_bytes,
            geometry.journal_offset,
            first,
            second,
            geometry.slots_offset,
            geometry.region_bytes,
        ];
        for (nth, value) in long.into_iter().enumerate() {
            put64(&mut sector, 40 + nth * 8, value);
        }
        let short = [geometry.block_bytes, geometry.journal_pages, geometry.checkpoint_pages, geometry.slots];
        for (nth, value) in short.into_iter().enumerate() {
            put32(&mut sector, 128 + nth * 4, value);
        }
        seal(sector)
    }

    /// The newest intact superblock on these pages. Err: a superblock is intact but impossible on a device of
    /// `device_bytes`.
    pub fn newest<'a>(pages: impl Iterator<Item = &'a [u8]>, device_bytes: u64) -> Option<Result<Superblock, String>> {
        let newest = pages.flat_map(|page| intact(MAGIC, page)).max_by_key(|sector| get64(sector, 40))?;
        Some(Self::read(newest, device_bytes))
    }

    fn read(sector: &[u8], device_bytes: u64) -> Result<Self, String> {
        let format = get32(sector, 32);
        if format != FORMAT {
            return Err(format!("its format is {format}, and this version knows {FORMAT}"));
        }
        let state = match get32(sector, 36) {
            0 => State::Stopped,
            1 => State::Starting,
            2 => State::Open,
            other => return Err(format!("its state is {other}")),
        };
        let long = |nth: usize| get64(sector, 40 + nth * 8);
        let short = |nth: usize| get32(sector, 128 + nth * 4);
        let geometry = Geometry {
            slow_bytes: long(5),
            journal_offset: long(6),
            checkpoint_offsets: [long(7), long(8)],
            slots_offset: long(9),
            region_bytes: long(10),
            block_bytes: short(0),
            journal_pages: short(1),
            checkpoint_pages: short(2),
            slots: short(3),
        };
        let layout = Layout {
            uuid: sector[16..32].try_into().expect("its length"),
            fast_bytes: long(4),
            slow_bytes: geometry.slow_bytes,
            block_bytes: geometry.block_bytes,
        };
        if layout.fast_bytes > device_bytes {
            return Err(format!("it was made on {} bytes, and the device has only {device_bytes}", layout.fast_bytes));
        }
        geometry.check(layout.fast_bytes)?;
        let [sequence, generation, life, last_page] = [0, 1, 2, 3].map(long);
        // No cache counts that far, and a counter near its end would overflow.
        if [sequence, generation, life, last_page].iter().any(|&count| count > 1 << 56) {
            return Err("its counters are impossible".into());
        }
        Ok(Self { layout, geometry, sequence, generation, life, state, last_page })
    }
}

impl Pair {
    /// Its page.
    pub fn page(&self) -> [u8; PAGE] {
        let mut sector = [0; SECTOR];
        sector[..16].copy_from_slice(PAIR_MAGIC);
        sector[16..32].copy_from_slice(&self.uuid);
        put32(&mut sector, 32, FORMAT);
        put32(&mut sector, 36, u32::from(self.degraded));
        put64(&mut sector, 40, self.sequence);
        put64(&mut sector, 48, self.generation);
        put64(&mut sector, 56, self.dirty_blocks);
        seal(sector)
    }

    /// The newest intact copy.
    pub fn newest(page: &[u8]) -> Option<Self> {
        let sector = intact(PAIR_MAGIC, page)
            .filter(|sector| get32(sector, 32) == FORMAT)
            .max_by_key(|sector| get64(sector, 40))?;
        Some(Self {
            uuid: sector[16..32].try_into().expect("its length"),
            sequence: get64(sector, 40).min(1 << 56),
            generation: get64(sector, 48),
            degraded: get32(sector, 36) != 0,
            dirty_blocks: get64(sector, 56),
        })
    }
}

/// A UUID as people write it.
pub(super) fn named(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::journal::layout::Sizes;

    fn superblock(sequence: u64) -> Superblock {
        let layout = Layout { uuid: [1; 16], fast_bytes: 4 << 20, slow_bytes: 8 << 20, block_bytes: 4096 };
        let geometry = Geometry::new(&layout, Sizes::default()).unwrap();
        Superblock { layout, geometry, sequence, generation: 3, life: 2, state: State::Open, last_page: 0 }
    }

    #[test]
    fn of_torn_and_damaged_copies_the_newest_intact_one_counts() {
        let (old, new) = (superblock(4).page(), superblock(5).page());
        let read = |pages: [&[u8]; 2]| Superblock::newest(pages.into_iter(), 4 << 20).unwrap().unwrap().sequence;
        assert_eq!(read([&old, &new]), 5);
        let mut torn = old;
        torn[3072..3584].copy_from_slice(&new[3072..3584]);
        assert_eq!(read([&torn, &old]), 5);
        let mut damaged = new;
        damaged.chunks_exact_mut(512).for_each(|sector| sector[40] ^= 4);
        assert_eq!(read([&damaged, &old]), 4);
        assert!(Superblock::newest([&damaged[..]].into_iter(), 4 << 20).is_none());
        assert!(Superblock::newest([&new[..]].into_iter(), 1 << 20).unwrap().unwrap_err().contains("only 1048576"));
    }

    #[test]
    fn a_pairing_record_comes_back() {
        let pair = Pair { uuid: [9; 16], sequence: 3, generation: 2, degraded: true, dirty_blocks: 5 };
        assert_eq!(Pair::newest(&pair.page()), Some(pair));
        assert_eq!(Pair::newest(&[0; PAGE]), None);
        assert_eq!(named(&[0xab; 16]), "abababab-abab-abab-abab-abababababab");
    }
}

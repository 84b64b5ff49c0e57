//! How pages are made safe from being torn by a crash: through a doublewrite buffer, so that a page is still whole somewhere,
//! or not at all.

use super::super::generation::{CleanerGeneration, Generation};
use super::super::ids::PAGE_BYTES;
use super::super::settings::Settings;

/// Pages of the shared buffer: two extents of the system tablespace (TRX_SYS_DOUBLEWRITE_BLOCK_SIZE = 64, twice); and of
/// each of MariaDB's two slots.
pub(in super::super) const SHARED_PAGES: usize = 128;
/// Pages of one of its writes.
const BLOCK_PAGES: u64 = 64;
/// Pages of a chunk without doublewrite: the slots of one IO thread.
const DIRECT_PAGES: usize = 256;
/// Pages of a chunk of MySQL 8.0.20 and later where innodb_doublewrite_pages is 0 or absent: innodb_write_io_threads.
const FILE_PAGES: usize = 4;

/// How pages are made safe from being torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Doublewrite {
    /// Not at all.
    Off,
    /// One buffer for the whole server, held by one chunk from its first write to the sync of the data files: up to
    /// MySQL 8.0.19.
    Shared,
    /// Two buffers, one being filled while the other is written: MariaDB since 10.5.
    TwoSlots,
    /// Two files an instance, one for each kind of batch: MySQL since 8.0.20.
    Files,
}

impl Doublewrite {
    /// The way of a server with these settings.
    pub(in super::super) const fn of_server(generation: Generation, settings: &Settings) -> Self {
        match generation {
            _ if !settings.innodb_doublewrite => Self::Off,
            Generation::Cleaner(CleanerGeneration::Mariadb1011) => Self::TwoSlots,
            Generation::Cleaner(CleanerGeneration::Mysql80) => Self::Files,
            _ => Self::Shared,
        }
    }

    /// Queues in which the batches of so many instances wait: one for all, or two an instance.
    pub(super) const fn queues(self, instances: usize) -> usize {
        if matches!(self, Self::Shared | Self::TwoSlots) { 1 } else { 2 * instances }
    }

    /// Writers of each queue. Without doublewrite the next chunk is put together while the last one is written.
    pub(super) const fn writers(self) -> usize {
        if matches!(self, Self::TwoSlots | Self::Off) { 2 } else { 1 }
    }

    /// Pages of a chunk.
    pub(super) fn chunk_pages(self, settings: &Settings) -> usize {
        match self {
            Self::Off => DIRECT_PAGES,
            Self::Shared | Self::TwoSlots => SHARED_PAGES,
            Self::Files if settings.innodb_doublewrite_pages == 0 => FILE_PAGES,
            Self::Files => (settings.innodb_doublewrite_pages as usize).min(SHARED_PAGES),
        }
    }

    /// The first byte of the buffer of a writer, when those of all lie one after another from `start` on; None when it
    /// writes pages straight to their places.
    pub(super) fn place(self, start: u64, writer: usize) -> Option<u64> {
        (self != Self::Off).then_some(start + writer as u64 * SHARED_PAGES as u64 * PAGE_BYTES)
    }

    /// Bytes of a device that the buffers of so many instances take.
    pub(in super::super) const fn reserved_bytes(self, instances: usize) -> u64 {
        (self.queues(instances) * self.writers()) as u64 * SHARED_PAGES as u64 * PAGE_BYTES
    }
}

/// The writes (first byte, length) that `pages` take in a buffer at `start`.
pub(super) fn buffer_writes(start: u64, pages: usize) -> impl Iterator<Item = (u64, u64)> {
    let pages = pages as u64;
    (0..pages.div_ceil(BLOCK_PAGES)).map(move |block| {
        let first = block * BLOCK_PAGES;
        (start + first * PAGE_BYTES, (pages - first).min(BLOCK_PAGES) * PAGE_BYTES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_out_in_two_blocks() {
        let writes = |pages| buffer_writes(1 << 20, pages).collect::<Vec<_>>();
        assert_eq!(writes(1), [(1 << 20, 16 << 10)]);
        assert_eq!(writes(64), [(1 << 20, 1 << 20)]);
        assert_eq!(writes(100), [(1 << 20, 1 << 20), (2 << 20, 36 * (16 << 10))]);
        assert_eq!(writes(128).iter().map(|(_, bytes)| bytes).sum::<u64>(), SHARED_PAGES as u64 * PAGE_BYTES);
    }

    #[test]
    fn buffers_lie_one_after_another_and_within_what_is_reserved() {
        let each = SHARED_PAGES as u64 * PAGE_BYTES;
        for (kind, instances, writers) in
            [(Doublewrite::Shared, 4, 1), (Doublewrite::TwoSlots, 4, 2), (Doublewrite::Files, 4, 8)]
        {
            assert_eq!(kind.reserved_bytes(instances), writers * each, "{kind:?}");
            assert_eq!(kind.place(1 << 30, writers as usize - 1), Some((1 << 30) + (writers - 1) * each), "{kind:?}");
        }
        assert_eq!(Doublewrite::Off.place(1 << 30, 0), None);
    }
}

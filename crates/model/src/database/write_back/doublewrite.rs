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
/// Of the shared buffer, since MySQL 5.6, for batches (innodb_doublewrite_batch_size). The others are slots for one page.
const BATCH_PAGES: usize = 120;
/// Pages of a chunk of MySQL 8.0.20 and later where innodb_doublewrite_pages is 0 or absent: innodb_write_io_threads.
const FILE_PAGES: usize = 4;
/// Slots for one page of MySQL 8.0.20 and later (SYNC_PAGE_FLUSH_SLOTS of its buf0dblwr.cc).
const FILE_SLOTS: usize = 512;

/// How pages are made safe from being torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Doublewrite {
    /// Not at all: each page goes to its place as soon as its thread has prepared it. The files are synced at the end of
    /// the batch (buf_flush_sync_datafiles, buf_dblwr_sync_datafiles; buf_flush_end of 8.0.25): MySQL.
    Off,
    /// The same, but the files are synced by the next checkpoint (log_checkpoint: fil_flush_file_spaces): MariaDB since
    /// 10.5.
    OffUntilCheckpoint,
    /// One buffer for the whole server, held by one chunk from its first write to the sync of the data files: up to
    /// MySQL 5.5.
    Shared,
    /// The same, and slots for pages that threads write by themselves: MySQL 5.6 to 8.0.19.
    SharedWithSlots,
    /// Two buffers, one being filled while the other is written: MariaDB since 10.5.
    TwoSlots,
    /// Two files, one for each kind of batch, of parts that chunks take in turn; and slots for single pages: MySQL since
    /// 8.0.20. As data files are written past the kernel's cache (O_DIRECT), these files are not synced; and a chunk only
    /// waits until the one before is in its places, not for the sync after it (Double_write::is_fsync_required,
    /// write_complete).
    Files,
}

impl Doublewrite {
    /// The way of a server with these settings.
    pub(in super::super) const fn of_server(generation: Generation, settings: &Settings) -> Self {
        match generation {
            Generation::Cleaner(CleanerGeneration::Mariadb1011) if !settings.innodb_doublewrite => {
                Self::OffUntilCheckpoint
            }
            _ if !settings.innodb_doublewrite => Self::Off,
            Generation::Cleaner(CleanerGeneration::Mariadb1011) => Self::TwoSlots,
            Generation::Cleaner(CleanerGeneration::Mysql80) => Self::Files,
            Generation::Cleaner(
                CleanerGeneration::Mysql56 | CleanerGeneration::Mysql57 | CleanerGeneration::Mysql8011,
            ) => Self::SharedWithSlots,
            Generation::Master(_) => Self::Shared,
        }
    }

    /// Queues in which the batches of so many instances wait: one for all, or two an instance.
    pub(super) const fn queues(self, instances: usize) -> usize {
        if matches!(self, Self::Shared | Self::SharedWithSlots | Self::TwoSlots) { 1 } else { 2 * instances }
    }

    /// Writers of each queue.
    pub(super) const fn writers(self) -> usize {
        if matches!(self, Self::TwoSlots) { 2 } else { 1 }
    }

    /// Whether pages are written twice.
    pub(super) const fn doubles(self) -> bool {
        !matches!(self, Self::Off | Self::OffUntilCheckpoint)
    }

    /// Pages of a chunk.
    pub(super) fn chunk_pages(self, settings: &Settings) -> usize {
        match self {
            Self::Off | Self::OffUntilCheckpoint => 1,
            Self::Shared | Self::TwoSlots => SHARED_PAGES,
            Self::SharedWithSlots => BATCH_PAGES,
            Self::Files if settings.innodb_doublewrite_pages == 0 => FILE_PAGES,
            Self::Files => (settings.innodb_doublewrite_pages as usize).min(SHARED_PAGES),
        }
    }

    /// Whether the buffer is synced before its pages go to their places.
    pub(super) const fn is_synced(self) -> bool {
        !matches!(self, Self::Files)
    }

    /// Whether the next chunk waits for the sync of the data files.
    pub(super) const fn waits_for_sync(self) -> bool {
        !matches!(self, Self::Files)
    }

    /// The first byte of the buffer of a writer, when those of all lie one after another from `start` on; None where
    /// chunks take parts in turn, or there is no buffer.
    pub(super) fn place(self, start: u64, writer: usize) -> Option<u64> {
        matches!(self, Self::Shared | Self::SharedWithSlots | Self::TwoSlots)
            .then_some(start + writer as u64 * SHARED_PAGES as u64 * PAGE_BYTES)
    }

    /// Parts of each file: one for each of its instances and one more (segments_per_file), of which there are at least two
    /// (s_n_instances).
    const fn parts_of_file(instances: usize) -> usize {
        if instances < 2 { 3 } else { instances + 1 }
    }

    /// The first bytes of the parts that chunks of so many pages take in turn, when everything lies from `start` on: for
    /// batches of the flush list, for those of the LRU list, and for single pages.
    pub(super) fn parts(self, start: u64, instances: usize, chunk_pages: usize) -> [Vec<u64>; 3] {
        let row = |first: usize, count: usize, pages: usize| {
            (0..count).map(|part| start + (first + part * pages) as u64 * PAGE_BYTES).collect()
        };
        match self {
            Self::Off | Self::OffUntilCheckpoint | Self::Shared | Self::TwoSlots => Default::default(),
            Self::SharedWithSlots => [Vec::new(), Vec::new(), row(BATCH_PAGES, SHARED_PAGES - BATCH_PAGES, 1)],
            Self::Files => {
                let (count, file) = (Self::parts_of_file(instances), Self::parts_of_file(instances) * SHARED_PAGES);
                [row(0, count, chunk_pages), row(file, count, chunk_pages), row(2 * file, FILE_SLOTS, 1)]
            }
        }
    }

    /// Bytes of a device that the buffers of so many instances take.
    pub(in super::super) const fn reserved_bytes(self, instances: usize) -> u64 {
        let pages = match self {
            Self::Files => 2 * Self::parts_of_file(instances) * SHARED_PAGES + FILE_SLOTS,
            Self::Off | Self::OffUntilCheckpoint => 0,
            _ => self.queues(instances) * self.writers() * SHARED_PAGES,
        };
        pages as u64 * PAGE_BYTES
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
        for (kind, writers) in [(Doublewrite::Shared, 1), (Doublewrite::SharedWithSlots, 1), (Doublewrite::TwoSlots, 2)]
        {
            assert_eq!(kind.reserved_bytes(4), writers * each, "{kind:?}");
            assert_eq!(kind.place(1 << 30, writers as usize - 1), Some((1 << 30) + (writers - 1) * each), "{kind:?}");
        }
        assert_eq!(Doublewrite::Off.place(1 << 30, 0), None);
    }

    #[test]
    fn no_two_parts_overlap_and_all_lie_within_what_is_reserved() {
        for (kind, instances, counts) in [
            (Doublewrite::SharedWithSlots, 4, [0, 0, 8]),
            (Doublewrite::Files, 1, [3, 3, 512]),
            (Doublewrite::Files, 8, [9, 9, 512]),
        ] {
            for chunk_pages in [4, SHARED_PAGES] {
                let parts = kind.parts(1 << 30, instances, chunk_pages);
                assert_eq!(parts.each_ref().map(Vec::len), counts, "{kind:?}");
                let pages = [chunk_pages, chunk_pages, 1];
                let ranges = parts.iter().zip(pages).flat_map(|(parts, pages)| {
                    parts.iter().map(move |first| (*first, *first + pages as u64 * PAGE_BYTES))
                });
                let mut ranges: Vec<(u64, u64)> = ranges.collect();
                ranges.sort_unstable();
                assert!(ranges.windows(2).all(|two| two[0].1 <= two[1].0), "{kind:?}");
                assert!(ranges[ranges.len() - 1].1 <= (1 << 30) + kind.reserved_bytes(instances), "{kind:?}");
            }
        }
    }
}

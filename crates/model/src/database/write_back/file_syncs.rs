//! Which data files have pages that are not durable, and which are being synced (fil_flush, fil_flush_file_spaces and
//! os_aio_wait_until_no_pending_writes of MySQL 5.1 and 5.5).

use super::super::ids::WriterId;

/// Files that are told apart: as many as the bits of a writer's files.
const FILES: usize = 64;
/// A thread that finds a file being synced looks again after this: two threads never sync one file at a time (fil_flush).
pub(super) const LOOK_NS: u64 = 20_000_000;

/// One file.
#[derive(Clone, Copy, Debug, Default)]
struct File {
    /// Pages written to it since the beginning; how many of them are durable; and how many will be after the sync under way.
    written: u64,
    durable: u64,
    syncing: Option<u64>,
}

/// What a thread does that wants a file durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It syncs the file.
    Sync,
    /// Another thread does: it looks again after `LOOK_NS`.
    Busy,
    /// The pages are durable.
    Durable,
}

/// The data files of a server.
#[derive(Debug)]
pub(super) struct FileSyncs {
    files: [File; FILES],
    /// Pages that are on their way to their places.
    on_their_way: u64,
    /// Batches that have written all their pages, and wait until no page of any batch is on its way: their writers.
    waiters: Vec<WriterId>,
}

impl FileSyncs {
    /// All files are durable.
    pub(super) fn new() -> Self {
        Self { files: [File::default(); FILES], on_their_way: 0, waiters: Vec::new() }
    }

    /// Pages are on their way.
    pub(super) const fn begin_pages(&mut self, pages: u64) {
        self.on_their_way += pages;
    }

    /// A page is in its place. Returns the writers that go on, because no other page is on its way.
    pub(super) fn end_page(&mut self, file: u32) -> Vec<WriterId> {
        self.files[file as usize % FILES].written += 1;
        self.on_their_way -= 1;
        if self.on_their_way == 0 { std::mem::take(&mut self.waiters) } else { Vec::new() }
    }

    /// A batch is to be synced. False: its writer waits until no page is on its way.
    pub(super) fn is_quiet(&mut self, writer: WriterId) -> bool {
        if self.on_their_way > 0 {
            self.waiters.push(writer);
        }
        self.on_their_way == 0
    }

    /// How many pages of a file a sync that is wanted now has to make durable.
    pub(super) const fn wanted(&self, file: u32) -> u64 {
        self.files[file as usize % FILES].written
    }

    /// A thread wants so many pages of a file durable.
    pub(super) const fn begin(&mut self, file: u32, wanted: u64) -> Answer {
        let file = &mut self.files[file as usize % FILES];
        if file.durable >= wanted {
            Answer::Durable
        } else if file.syncing.is_some() {
            Answer::Busy
        } else {
            file.syncing = Some(file.written);
            Answer::Sync
        }
    }

    /// A file is synced.
    pub(super) fn end(&mut self, file: u32) {
        let file = &mut self.files[file as usize % FILES];
        file.durable = file.syncing.take().unwrap_or(file.durable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flatwater_core::slab::Key as _;

    #[test]
    fn a_file_is_synced_by_one_thread_at_a_time_and_not_for_pages_that_are_durable() {
        let mut syncs = FileSyncs::new();
        assert_eq!(syncs.begin(3, syncs.wanted(3)), Answer::Durable, "nothing was written");
        syncs.begin_pages(2);
        syncs.end_page(3);
        let first = syncs.wanted(3);
        assert_eq!(syncs.begin(3, first), Answer::Sync);
        assert_eq!(syncs.begin(3, first), Answer::Busy);
        syncs.end_page(3);
        let second = syncs.wanted(3);
        syncs.end(3);
        assert_eq!(syncs.begin(3, first), Answer::Durable, "the other thread's sync has done it");
        assert_eq!(syncs.begin(3, second), Answer::Sync, "that page came after the sync had begun");
    }

    #[test]
    fn a_batch_is_synced_when_no_page_of_any_batch_is_on_its_way() {
        let mut syncs = FileSyncs::new();
        let writer = WriterId::from_number(4);
        assert!(syncs.is_quiet(writer));
        syncs.begin_pages(2);
        assert!(!syncs.is_quiet(writer));
        assert!(syncs.end_page(0).is_empty());
        assert_eq!(syncs.end_page(0), [writer]);
    }
}

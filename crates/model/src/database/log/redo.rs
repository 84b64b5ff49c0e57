//! The redo log: how far it is made, written and durable, and where its bytes go.

use super::super::generation::{CleanerGeneration, Generation};
use super::super::ids::Lsn;
use super::super::settings::Settings;
use super::ages::{FILE_HEADER_BLOCKS, MARIADB_HEADER_BYTES};
use super::page_cache::KERNEL_PAGE_BYTES;

/// Bytes of a log block's header and of both header and trailer, which LSNs count too.
const BLOCK_HEADER_BYTES: u64 = 12;
const BLOCK_OVERHEAD_BYTES: u64 = 16;

/// How the log's files are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Bytes that are written at least, and at a multiple of them.
    pub(super) block_bytes: u64,
    /// LSNs count the blocks' headers and trailers.
    pub(super) counts_blocks: bool,
    /// What stands before the first block of each file.
    pub(super) header_bytes: u64,
    /// A write that begins a unit of so many bytes covers all of it (innodb_log_write_ahead_size); 0: none does.
    pub(super) ahead_bytes: u64,
}

impl Format {
    /// The format of a server with these settings.
    pub(super) fn of_server(generation: Generation, settings: &Settings) -> Self {
        match generation {
            // Without blocks since 10.8; a write is a multiple of what the device calls its block.
            Generation::Cleaner(CleanerGeneration::Mariadb1011) => Self {
                block_bytes: settings.innodb_log_write_ahead_size.max(512),
                counts_blocks: false,
                header_bytes: MARIADB_HEADER_BYTES,
                ahead_bytes: 0,
            },
            _ => Self {
                block_bytes: settings.innodb_log_block_size,
                counts_blocks: true,
                header_bytes: FILE_HEADER_BLOCKS * settings.innodb_log_block_size,
                ahead_bytes: settings.innodb_log_write_ahead_size,
            },
        }
    }
}

/// The redo log: how far it is made, and how far that is safe.
#[derive(Clone, Debug)]
pub(super) struct Redo {
    /// The newest change.
    lsn: Lsn,
    /// Handed to the kernel or to the device: its write has begun.
    sent: Lsn,
    /// In the kernel's cache, or on the device.
    written: Lsn,
    /// On the device for good.
    durable: Lsn,
    /// Where recovery would begin.
    checkpoint: Lsn,
    format: Format,
    /// First byte of the first file on its device.
    start: u64,
    files: u64,
    file_bytes: u64,
}

impl Redo {
    /// An empty log at `start` of its device.
    pub(super) const fn new(start: u64, files: u64, file_bytes: u64, format: Format) -> Self {
        // InnoDB begins at LOG_START_LSN, 16 blocks in.
        let lsn = Lsn::new(16 * format.block_bytes + BLOCK_HEADER_BYTES);
        Self { lsn, sent: lsn, written: lsn, durable: lsn, checkpoint: lsn, format, start, files, file_bytes }
    }

    /// The newest change.
    #[inline]
    pub(super) const fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Whether there are changes whose write has not begun.
    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.lsn
    }

    /// How far it is in the kernel's cache, or on the device.
    pub(super) const fn written(&self) -> Lsn {
        self.written
    }

    /// How far it is on the device for good.
    pub(super) const fn durable(&self) -> Lsn {
        self.durable
    }

    /// Where recovery would begin.
    pub(super) const fn checkpoint(&self) -> Lsn {
        self.checkpoint
    }

    /// Appends a change of so many bytes; the LSNs before and after it.
    #[inline]
    pub(super) fn append(&mut self, bytes: u64) -> (Lsn, Lsn) {
        let from = self.lsn;
        self.lsn = from + bytes;
        if self.format.counts_blocks {
            let block_bytes = self.format.block_bytes;
            let payload = block_bytes - BLOCK_OVERHEAD_BYTES;
            // Blocks are a power of two of bytes. What is at most the payload past the header is payload.
            let in_block = (from.bytes() & (block_bytes - 1)) - BLOCK_HEADER_BYTES;
            if in_block + bytes >= payload {
                self.lsn += (in_block + bytes) / payload * BLOCK_OVERHEAD_BYTES;
            }
        }
        (from, self.lsn)
    }

    /// Distance between the newest change and the last checkpoint.
    pub(super) fn checkpoint_age(&self) -> u64 {
        self.lsn - self.checkpoint
    }

    /// What was sent is written.
    pub(super) fn end_write(&mut self) {
        self.written = self.sent;
    }

    /// The log is durable up to this LSN.
    pub(super) fn make_durable(&mut self, lsn: Lsn) {
        self.durable = lsn;
    }

    /// Moves the checkpoint, from which recovery would begin. False: it was there already, or is further.
    pub(super) fn move_checkpoint(&mut self, lsn: Lsn) -> bool {
        let moves = lsn > self.checkpoint;
        if moves {
            self.checkpoint = lsn;
        }
        moves
    }

    /// All changes up to now are on the device; the oldest that is in no data file is given.
    pub(super) fn settle(&mut self, oldest_lsn: Option<Lsn>) {
        (self.sent, self.written, self.durable) = (self.lsn, self.lsn, self.lsn);
        self.checkpoint = oldest_lsn.unwrap_or(self.lsn);
    }

    /// Everything that was not sent yet, as extents (first byte on the device, length): from the block in which the last
    /// write ended, which is written again, to the last one begun.
    pub(super) fn take_unsent(&mut self, extents: &mut Vec<(u64, u64)>) {
        let Format { block_bytes, header_bytes, ahead_bytes, .. } = self.format;
        let from = self.sent.bytes() / block_bytes * block_bytes;
        let to = self.lsn.bytes().next_multiple_of(block_bytes);
        self.sent = self.lsn;
        let room = self.file_bytes - header_bytes;
        let mut at = from;
        while at < to {
            let place = at % (room * self.files);
            let (file, within) = (place / room, header_bytes + place % room);
            let mut bytes = (to - at).min(self.file_bytes - within);
            at += bytes;
            let in_unit = if ahead_bytes > 0 { (within + bytes) % ahead_bytes } else { 0 };
            if in_unit > 0 && bytes > in_unit {
                // The unit was begun since the last write: it is filled up with zeros once (log_write_up_to of 5.7).
                bytes = (bytes + ahead_bytes - in_unit).min(self.file_bytes - within);
            }
            extents.push((self.start + file * self.file_bytes + within, bytes));
        }
    }

    /// Bytes of all its files.
    pub(super) const fn bytes(&self) -> u64 {
        self.files * self.file_bytes
    }

    /// Where a checkpoint is written.
    pub(super) const fn checkpoint_place(&self) -> (u64, u64) {
        (self.start, KERNEL_PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Format = Format { block_bytes: 512, counts_blocks: true, header_bytes: 2048, ahead_bytes: 0 };

    #[test]
    fn lsns_count_headers_and_trailers() {
        let mut redo = Redo::new(0, 2, 1 << 20, PLAIN);
        assert_eq!(redo.lsn, Lsn::new(8204));
        assert_eq!(redo.append(495), (Lsn::new(8204), Lsn::new(8699)));
        // The block is full: the next byte stands behind a trailer and a header.
        assert_eq!(redo.append(1), (Lsn::new(8699), Lsn::new(8716)));
        assert_eq!(redo.append(992), (Lsn::new(8716), Lsn::new(9740)));
        // A block of 4 KiB has one header and one trailer too.
        let mut large = Redo::new(0, 2, 1 << 20, Format { block_bytes: 4096, header_bytes: 16_384, ..PLAIN });
        assert_eq!(large.append(4079), (Lsn::new(65_548), Lsn::new(69_627)));
        assert_eq!(large.append(1), (Lsn::new(69_627), Lsn::new(69_644)));
        let mut none = Redo::new(0, 2, 1 << 20, Format { counts_blocks: false, ..PLAIN });
        assert_eq!(none.append(5000), (Lsn::new(8204), Lsn::new(13_204)));
    }

    #[test]
    fn an_age_counts_what_is_not_durable_yet() {
        let mut redo = Redo::new(0, 2, 1 << 20, PLAIN);
        assert_eq!(redo.checkpoint_age(), 0);
        redo.append(400);
        assert_eq!(redo.checkpoint_age(), 400);
        redo.settle(Some(Lsn::new(8_304)));
        assert_eq!((redo.checkpoint_age(), redo.durable), (300, Lsn::new(8_604)));
    }

    #[test]
    fn a_write_begins_with_the_block_of_the_last_one() {
        let mut redo = Redo::new(1 << 30, 2, 1 << 20, PLAIN);
        let mut extents = Vec::new();
        // The block at LSN 8192 stands behind the header of 2048 bytes.
        redo.append(100);
        redo.take_unsent(&mut extents);
        redo.append(100);
        redo.take_unsent(&mut extents);
        assert_eq!(extents, [((1 << 30) + 10_240, 512), ((1 << 30) + 10_240, 512)]);
        extents.clear();
        redo.append(4000);
        redo.take_unsent(&mut extents);
        assert_eq!(extents, [((1 << 30) + 10_240, 9 * 512)]);
    }

    #[test]
    fn a_write_that_begins_a_unit_covers_all_of_it() {
        let mut redo = Redo::new(0, 2, 1 << 20, Format { ahead_bytes: 8192, ..PLAIN });
        let mut extents = Vec::new();
        // The first block is at 10,240, in a unit that was begun before; the next unit begins at 16,384.
        redo.append(5000);
        redo.take_unsent(&mut extents);
        assert_eq!(extents, [(10_240, 11 * 512)]);
        extents.clear();
        redo.append(1000);
        redo.take_unsent(&mut extents);
        assert_eq!(extents, [(10_240 + 10 * 512, 24_576 - 10_240 - 10 * 512)]);
        extents.clear();
        redo.append(100);
        redo.take_unsent(&mut extents);
        assert_eq!(extents.iter().map(|(_, bytes)| bytes).sum::<u64>(), 512);
    }

    #[test]
    fn writes_go_round_over_the_files() {
        let mut redo = Redo::new(0, 2, 1 << 20, PLAIN);
        let mut extents = Vec::new();
        redo.append((2 << 20) - 20_000);
        redo.take_unsent(&mut extents);
        assert!(extents.iter().all(|(at, bytes)| at % 512 == 0 && bytes % 512 == 0 && at + bytes <= 2 << 20));
        assert!(extents.windows(2).any(|pair| pair[1].0 == (1 << 20) + 2048), "{extents:?}");
        let total: u64 = extents.iter().map(|(_, bytes)| bytes).sum();
        assert!(total.abs_diff(redo.lsn.bytes() - 8192) < 4096, "{extents:?}");
    }
}

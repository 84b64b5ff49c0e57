//! The redo log: how far it is made, written and durable, where its bytes go, and the ages that limit it.

use super::settings::{Generation, Settings};

/// Bytes of a log block's header and of both header and trailer, which LSNs count too.
const BLOCK_HEADER_BYTES: u64 = 12;
const BLOCK_OVERHEAD_BYTES: u64 = 16;
/// Blocks that stand before the first one of each file: the header and the two places of checkpoints (LOG_FILE_HDR_SIZE).
const FILE_HEADER_BLOCKS: u64 = 4;
/// The same of MariaDB 10.8 and later in bytes (log_t::START_OFFSET).
const MARIADB_HEADER_BYTES: u64 = 12_288;

/// Limits of the distance between the newest change and the oldest one that is in no file, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// What adaptive flushing takes for the log's capacity.
    pub group_capacity: u64,
    /// Over this age of the oldest change, the thread that finds out flushes.
    pub modified_async: u64,
    /// Over this one, everybody who changes something waits.
    pub modified_sync: u64,
    /// Over this distance to the last checkpoint, one is made.
    pub checkpoint_async: u64,
    /// The most that is let happen.
    pub checkpoint_max: u64,
}

impl Ages {
    /// MySQL 5.5's `log_calc_max_ages`: `files` of `file_bytes` each, in blocks of 512 bytes or as Percona Server was told.
    pub fn of(files: u64, file_bytes: u64, block_bytes: u64, thread_concurrency: u64) -> Self {
        let usable = files * file_bytes.saturating_sub(FILE_HEADER_BLOCKS * block_bytes);
        let group_capacity = usable / 10 * 9;
        let free = 4 * (16 << 10) * (10 + thread_concurrency) + 8 * (16 << 10);
        let margin = group_capacity.saturating_sub(free) / 10 * 9;
        Self {
            group_capacity,
            modified_async: margin - margin / 8,
            modified_sync: margin - margin / 16,
            checkpoint_async: margin - margin / 32,
            checkpoint_max: margin,
        }
    }

    /// Percona Server's innodb_checkpoint_age_target; 0 is none.
    pub fn with_target(mut self, target: u64) -> Self {
        if target > 0 {
            self.modified_async = self.modified_async.min(target - target / 8);
            self.checkpoint_async = self.checkpoint_async.min(target);
        }
        self
    }
}

impl Ages {
    /// Those of a server's generation and settings.
    pub fn of_server(generation: Generation, settings: &Settings) -> Self {
        let (files, file_bytes) = (settings.innodb_log_files_in_group, settings.innodb_log_file_size);
        match generation {
            Generation::Mysql80 => Self::of_capacity(settings.innodb_redo_log_capacity),
            Generation::Mariadb1011 => Self::of_mariadb(file_bytes),
            _ => Self::of(files, file_bytes, settings.innodb_log_block_size, settings.innodb_thread_concurrency),
        }
        .with_target(settings.innodb_checkpoint_age_target)
    }

    /// MySQL 8.0.30 and later, of innodb_redo_log_capacity: shares of it that follow from its log0files_capacity.cc.
    pub const fn of_capacity(capacity: u64) -> Self {
        let percent = capacity / 100;
        Self {
            // Adaptive flushing counts its low water mark of where users stop.
            group_capacity: 84 * percent,
            modified_async: 73 * percent,
            modified_sync: 83 * percent,
            checkpoint_async: 83 * percent,
            checkpoint_max: 84 * percent,
        }
    }

    /// MariaDB 10.5 and later (log_t::set_capacity), of its one file: nobody waits before the last limit.
    pub fn of_mariadb(file_bytes: u64) -> Self {
        let usable = file_bytes.saturating_sub(MARIADB_HEADER_BYTES);
        let group_capacity = usable - usable / 10;
        let margin = group_capacity.saturating_sub(48 * (16 << 10));
        let margin = margin - margin / 10;
        Self {
            group_capacity,
            modified_async: margin - margin / 8,
            modified_sync: margin,
            checkpoint_async: margin - margin / 8,
            checkpoint_max: margin,
        }
    }
}

/// How the log's files are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bytes that are written at least, and at a multiple of them.
    pub block_bytes: u64,
    /// LSNs count the blocks' headers and trailers.
    pub counts_blocks: bool,
    /// What stands before the first block of each file.
    pub header_bytes: u64,
    /// A write that begins a unit of so many bytes covers all of it (innodb_log_write_ahead_size); 0: none does.
    pub ahead_bytes: u64,
}

impl Format {
    /// That of a server's generation and settings.
    pub fn of_server(generation: Generation, settings: &Settings) -> Self {
        match generation {
            // Without blocks since 10.8; a write is a multiple of what the device calls its block.
            Generation::Mariadb1011 => Self {
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

/// The log.
#[derive(Clone, Debug)]
pub struct Redo {
    /// The newest change.
    pub lsn: u64,
    /// Handed to the kernel or to the device: a write of it is under way, or was.
    pub sent: u64,
    /// In the kernel's cache, or on the device.
    pub written: u64,
    /// On the device for good.
    pub durable: u64,
    /// Where recovery would begin.
    pub checkpoint: u64,
    format: Format,
    /// First byte of the first file on its device.
    start: u64,
    files: u64,
    file_bytes: u64,
}

impl Redo {
    /// An empty log at `start` of its device.
    pub const fn new(start: u64, files: u64, file_bytes: u64, format: Format) -> Self {
        // InnoDB begins at LOG_START_LSN, 16 blocks in.
        let lsn = 16 * format.block_bytes + BLOCK_HEADER_BYTES;
        Self { lsn, sent: lsn, written: lsn, durable: lsn, checkpoint: lsn, format, start, files, file_bytes }
    }

    /// Appends a change of so many bytes; the LSNs before and after it.
    #[inline]
    pub const fn append(&mut self, bytes: u64) -> (u64, u64) {
        let from = self.lsn;
        self.lsn = from + bytes;
        if self.format.counts_blocks {
            let block_bytes = self.format.block_bytes;
            let payload = block_bytes - BLOCK_OVERHEAD_BYTES;
            // Blocks are a power of two of bytes. What is at most the payload past the header is payload.
            let in_block = (from & (block_bytes - 1)) - BLOCK_HEADER_BYTES;
            if in_block + bytes >= payload {
                self.lsn += (in_block + bytes) / payload * BLOCK_OVERHEAD_BYTES;
            }
        }
        (from, self.lsn)
    }

    /// Distance between the newest change and the last checkpoint.
    pub const fn checkpoint_age(&self) -> u64 {
        self.lsn - self.checkpoint
    }

    /// Everything up to now is on the device, but for what dirty pages' oldest change says.
    pub fn settle(&mut self, oldest_lsn: Option<u64>) {
        (self.sent, self.written, self.durable) = (self.lsn, self.lsn, self.lsn);
        self.checkpoint = oldest_lsn.unwrap_or(self.lsn);
    }

    /// Everything that was not sent yet, as extents (first byte on the device, length): from the block in which the last
    /// write ended, which is written again, to the last one begun.
    pub fn take_unsent(&mut self, extents: &mut Vec<(u64, u64)>) {
        let Format { block_bytes, header_bytes, ahead_bytes, .. } = self.format;
        let from = self.sent / block_bytes * block_bytes;
        let to = self.lsn.next_multiple_of(block_bytes);
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
    pub const fn bytes(&self) -> u64 {
        self.files * self.file_bytes
    }

    /// Where a checkpoint is written.
    pub const fn checkpoint_place(&self) -> (u64, u64) {
        (self.start, super::page_cache::KERNEL_PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_2x2000_mib() {
        // 2 x (2000 MiB - 2048 B) = 4,194,299,904 B; 0.9 of it is 3,774,869,910; less 48 pages (786,432 B), times 0.9:
        // 3,396,675,123 B of margin, or 3239 MiB.
        let ages = Ages::of(2, 2000 << 20, 512, 0);
        let mib = |bytes: u64| bytes >> 20;
        assert_eq!(ages.group_capacity, 3_774_869_910);
        assert_eq!([mib(ages.modified_async), mib(ages.modified_sync)], [2834, 3036]);
        assert_eq!([mib(ages.checkpoint_async), mib(ages.checkpoint_max)], [3138, 3239]);
    }

    #[test]
    fn the_sync_age_of_2x1900_mib_is_the_one_seen_on_a_stalled_server() {
        let ages = Ages::of(2, 1900 << 20, 512, 0);
        assert!((ages.modified_sync as f64 / 3.025e9 - 1.0).abs() < 0.005, "{ages:?}");
    }

    #[test]
    fn a_target_lowers_the_two_asynchronous_limits_only() {
        let (plain, target) = (Ages::of(2, 2000 << 20, 512, 0), Ages::of(2, 2000 << 20, 512, 0).with_target(800 << 20));
        assert_eq!((target.modified_async, target.checkpoint_async), (700 << 20, 800 << 20));
        assert_eq!((target.modified_sync, target.checkpoint_max), (plain.modified_sync, plain.checkpoint_max));
    }

    #[test]
    fn mysql_8_counts_in_shares_of_its_capacity() {
        let ages = Ages::of_capacity(1_000_000_000);
        assert_eq!([ages.modified_async, ages.modified_sync], [730_000_000, 830_000_000]);
        assert_eq!(ages.checkpoint_max, 840_000_000);
        assert!(ages.group_capacity <= ages.checkpoint_max);
    }

    #[test]
    fn mariadb_has_one_file_and_one_limit() {
        // 1 GiB less 12,288 B is 1,073,729,536; less a tenth 966,356,583; less 786,432 and another tenth: 869,013,136.
        let ages = Ages::of_mariadb(1 << 30);
        assert_eq!((ages.group_capacity, ages.checkpoint_max), (966_356_583, 869_013_136));
        assert_eq!((ages.modified_async, ages.modified_sync), (760_386_494, 869_013_136));
        // A server with a log of 24 MiB was seen with its age held at 17 to 19 MB.
        let small = Ages::of_mariadb(24 << 20);
        assert!((17e6..19.7e6).contains(&(small.modified_async as f64)), "{small:?}");
        assert!(small.checkpoint_max < 20_000_000, "{small:?}");
    }

    const PLAIN: Format = Format { block_bytes: 512, counts_blocks: true, header_bytes: 2048, ahead_bytes: 0 };

    #[test]
    fn lsns_count_headers_and_trailers() {
        let mut redo = Redo::new(0, 2, 1 << 20, PLAIN);
        assert_eq!(redo.lsn, 8204);
        assert_eq!(redo.append(495), (8204, 8699));
        // The block is full: the next byte stands behind a trailer and a header.
        assert_eq!(redo.append(1), (8699, 8716));
        assert_eq!(redo.append(992), (8716, 9740));
        // A block of 4 KiB has one header and one trailer too.
        let mut large = Redo::new(0, 2, 1 << 20, Format { block_bytes: 4096, header_bytes: 16_384, ..PLAIN });
        assert_eq!(large.append(4079), (65_548, 69_627));
        assert_eq!(large.append(1), (69_627, 69_644));
        let mut none = Redo::new(0, 2, 1 << 20, Format { counts_blocks: false, ..PLAIN });
        assert_eq!(none.append(5000), (8204, 13_204));
    }

    #[test]
    fn an_age_counts_what_is_not_durable_yet() {
        let mut redo = Redo::new(0, 2, 1 << 20, PLAIN);
        assert_eq!(redo.checkpoint_age(), 0);
        redo.append(400);
        assert_eq!(redo.checkpoint_age(), 400);
        redo.settle(Some(8_304));
        assert_eq!((redo.checkpoint_age(), redo.durable), (300, 8_604));
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
        assert!(total.abs_diff(redo.lsn - 8192) < 4096, "{extents:?}");
    }
}

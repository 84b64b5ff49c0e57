//! The redo log: how far it is made, written and durable, where its bytes go, and the ages that limit it.

use super::settings::{Generation, Settings};

/// Bytes of a log block, and of its header and trailer, which LSNs count too.
const BLOCK_BYTES: u64 = 512;
const BLOCK_OVERHEAD_BYTES: u64 = 16;
/// What stands before the first block of each file: the header and the two places of checkpoints.
pub const FILE_HEADER_BYTES: u64 = 2048;
/// The same of MariaDB 10.8 and later (log_t::START_OFFSET).
const MARIADB_HEADER_BYTES: u64 = 12_288;
/// Bytes of a page of the kernel's cache.
const KERNEL_PAGE_BYTES: u64 = 4096;
/// Largest request that a kernel makes of buffered writes (max_sectors_kb of most drivers: 512).
const REQUEST_BYTES: u64 = 512 << 10;

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
    /// MySQL 5.5's `log_calc_max_ages`: `files` of `file_bytes` each.
    pub fn of(files: u64, file_bytes: u64, thread_concurrency: u64) -> Self {
        let usable = files * file_bytes.saturating_sub(FILE_HEADER_BYTES);
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
            _ => Self::of(files, file_bytes, settings.innodb_thread_concurrency),
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

/// The log.
#[derive(Clone, Debug)]
pub struct Redo {
    /// The newest change.
    pub lsn: u64,
    /// Handed to the device.
    pub written: u64,
    /// On the device for good.
    pub durable: u64,
    /// Where recovery would begin.
    pub checkpoint: u64,
    /// First byte of the first file on its device.
    start: u64,
    files: u64,
    file_bytes: u64,
}

impl Redo {
    /// An empty log at `start` of its device.
    pub fn new(start: u64, files: u64, file_bytes: u64) -> Self {
        // InnoDB begins at LOG_START_LSN, 16 blocks in.
        let lsn = 16 * BLOCK_BYTES + 12;
        Self { lsn, written: lsn, durable: lsn, checkpoint: lsn, start, files, file_bytes }
    }

    /// Appends a change of so many bytes; the LSNs before and after it.
    #[inline]
    pub fn append(&mut self, bytes: u64) -> (u64, u64) {
        let from = self.lsn;
        let payload = BLOCK_BYTES - BLOCK_OVERHEAD_BYTES;
        // The header is 12 bytes and the trailer 4: what is at most 496 bytes past the header is payload.
        let in_block = from % BLOCK_BYTES - 12;
        self.lsn = from + bytes + (in_block + bytes) / payload * BLOCK_OVERHEAD_BYTES;
        (from, self.lsn)
    }

    /// Distance between the newest change and the last checkpoint.
    pub fn checkpoint_age(&self) -> u64 {
        self.lsn - self.checkpoint
    }

    /// Everything that is not written yet, as requests (first byte on the device, length): from the block in which the
    /// last write ended, which is written again, to the last one begun (`block_bytes`: innodb_log_block_size). Log files
    /// are written through the kernel's page cache, which hands whole pages to the device.
    pub fn take_unwritten(&mut self, block_bytes: u64, requests: &mut Vec<(u64, u64)>) {
        let from = self.written / block_bytes * block_bytes;
        let to = self.lsn.next_multiple_of(block_bytes);
        self.written = self.lsn;
        let room = self.file_bytes - FILE_HEADER_BYTES;
        let mut at = from;
        while at < to {
            let place = at % (room * self.files);
            let (file, within) = (place / room, place % room);
            let bytes = (to - at).min(room - within);
            let first = self.start + file * self.file_bytes + FILE_HEADER_BYTES + within;
            let end = (first + bytes).next_multiple_of(KERNEL_PAGE_BYTES);
            let mut first = first / KERNEL_PAGE_BYTES * KERNEL_PAGE_BYTES;
            while first < end {
                let bytes = (end - first).min(REQUEST_BYTES);
                requests.push((first, bytes));
                first += bytes;
            }
            at += bytes;
        }
    }

    /// Where a checkpoint is written.
    pub fn checkpoint_place(&self) -> (u64, u64) {
        (self.start, KERNEL_PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_2x2000_mib() {
        // 2 x (2000 MiB - 2048 B) = 4,194,299,904 B; 0.9 of it is 3,774,869,910; less 48 pages (786,432 B), times 0.9:
        // 3,396,675,123 B of margin, or 3239 MiB.
        let ages = Ages::of(2, 2000 << 20, 0);
        let mib = |bytes: u64| bytes >> 20;
        assert_eq!(ages.group_capacity, 3_774_869_910);
        assert_eq!([mib(ages.modified_async), mib(ages.modified_sync)], [2834, 3036]);
        assert_eq!([mib(ages.checkpoint_async), mib(ages.checkpoint_max)], [3138, 3239]);
    }

    #[test]
    fn the_sync_age_of_2x1900_mib_is_the_one_seen_on_a_stalled_server() {
        let ages = Ages::of(2, 1900 << 20, 0);
        assert!((ages.modified_sync as f64 / 3.025e9 - 1.0).abs() < 0.005, "{ages:?}");
    }

    #[test]
    fn a_target_lowers_the_two_asynchronous_limits_only() {
        let (plain, target) = (Ages::of(2, 2000 << 20, 0), Ages::of(2, 2000 << 20, 0).with_target(800 << 20));
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

    #[test]
    fn lsns_count_headers_and_trailers() {
        let mut redo = Redo::new(0, 2, 1 << 20);
        assert_eq!(redo.lsn, 8204);
        assert_eq!(redo.append(495), (8204, 8699));
        // The block is full: the next byte stands behind a trailer and a header.
        assert_eq!(redo.append(1), (8699, 8716));
        assert_eq!(redo.append(992), (8716, 9740));
    }

    #[test]
    fn a_write_begins_with_the_page_of_the_last_one() {
        let mut redo = Redo::new(1 << 30, 2, 1 << 20);
        let mut requests = Vec::new();
        // The block at LSN 8192 stands behind the header of 2048 bytes, in the kernel's page from 8192 on.
        redo.append(100);
        redo.take_unwritten(512, &mut requests);
        redo.append(100);
        redo.take_unwritten(512, &mut requests);
        assert_eq!(requests, [((1 << 30) + 8192, 4096), ((1 << 30) + 8192, 4096)]);
        requests.clear();
        redo.append(4000);
        redo.take_unwritten(512, &mut requests);
        assert_eq!(requests, [((1 << 30) + 8192, 8192)]);
    }

    #[test]
    fn writes_go_round_over_the_files() {
        let mut redo = Redo::new(0, 2, 1 << 20);
        let mut requests = Vec::new();
        redo.append((2 << 20) - 20_000);
        redo.take_unwritten(512, &mut requests);
        assert!(requests.iter().all(|(at, bytes)| at % 4096 == 0 && bytes % 4096 == 0 && at + bytes <= 2 << 20));
        assert!(requests.windows(2).any(|pair| pair[1].0 == 1 << 20), "{requests:?}");
        let total: u64 = requests.iter().map(|(_, bytes)| bytes).sum();
        assert!(total.abs_diff(redo.lsn - 8192) < 4 * 4096, "{requests:?}");
    }
}

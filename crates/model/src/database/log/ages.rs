//! The ages that limit the redo log: how far the oldest change that is in no file may be behind the newest one.

use super::super::generation::{CleanerGeneration, Generation};
use super::super::settings::Settings;

/// Blocks that stand before the first one of each file: the header and the two places of checkpoints (LOG_FILE_HDR_SIZE).
pub(super) const FILE_HEADER_BLOCKS: u64 = 4;
/// Bytes before the first record in a file of MariaDB 10.8 and later (log_t::START_OFFSET).
pub(super) const MARIADB_HEADER_BYTES: u64 = 12_288;

/// What a thread may write before it looks at the limits again, and what is kept free beside all threads
/// (LOG_CHECKPOINT_FREE_PER_THREAD and LOG_CHECKPOINT_EXTRA_FREE, pages).
const FREE_PER_THREAD_BYTES: u64 = 4 * (16 << 10);
const EXTRA_FREE_BYTES: u64 = 8 * (16 << 10);
/// Files of MySQL 8.0.30 and later (LOG_N_FILES), what of all of them holds no redo (30 headers and one more, and
/// LOG_EXTRA_SAFETY_MARGIN, two pages of 64 KiB), and what may be written to fill up a file (LOG_FILES_DUMMY_INTAKE_SIZE).
const REDO_FILES: u64 = 32;
const REDO_OVERHEAD_BYTES: u64 = (REDO_FILES - 1) * FILE_HEADER_BLOCKS * 512 + 2 * (64 << 10);
const REDO_DUMMY_BYTES: u64 = 4 << 10;

/// Limits of the distance between the newest change and the oldest one that is in no file, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// What adaptive flushing takes for the log's capacity.
    pub group_capacity: u64,
    /// Over this age of the oldest change, the thread that notices it flushes.
    pub modified_async: u64,
    /// Over this age, every thread that changes something waits.
    pub modified_sync: u64,
    /// Over this distance to the last checkpoint, one is made.
    pub checkpoint_async: u64,
    /// The most that is allowed.
    pub checkpoint_max: u64,
}

impl Ages {
    /// MySQL 5.5's `log_calc_max_ages`: `files` of `file_bytes` each, in blocks of 512 bytes or as Percona Server was told.
    pub fn of(files: u64, file_bytes: u64, block_bytes: u64, thread_concurrency: u64) -> Self {
        let usable = files * file_bytes.saturating_sub(FILE_HEADER_BLOCKS * block_bytes);
        let group_capacity = usable / 10 * 9;
        let free = FREE_PER_THREAD_BYTES * (10 + thread_concurrency) + EXTRA_FREE_BYTES;
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
    /// The ages of a server with these settings.
    pub fn of_server(generation: Generation, settings: &Settings) -> Self {
        let (files, file_bytes) = (settings.innodb_log_files_in_group, settings.innodb_log_file_size);
        match generation {
            Generation::Cleaner(CleanerGeneration::Mysql8011) => {
                Self::of_mysql_8_0_11(files, file_bytes, settings.innodb_thread_concurrency)
            }
            Generation::Cleaner(CleanerGeneration::Mysql80) => {
                Self::of_capacity(settings.innodb_redo_log_capacity, settings.innodb_thread_concurrency)
            }
            Generation::Cleaner(CleanerGeneration::Mariadb1011) => Self::of_mariadb(file_bytes),
            _ => Self::of(files, file_bytes, settings.innodb_log_block_size, settings.innodb_thread_concurrency),
        }
        .with_target(settings.innodb_checkpoint_age_target)
    }

    /// Over this age of the oldest change, threads of a generation that change something wait.
    pub const fn stop_age(&self, generation: Generation) -> u64 {
        match generation {
            Generation::Cleaner(
                CleanerGeneration::Mysql8011 | CleanerGeneration::Mysql80 | CleanerGeneration::Mariadb1011,
            ) => self.checkpoint_max,
            _ => self.modified_sync,
        }
    }

    /// MySQL 8.0.11 to 8.0.19 (log_calc_max_ages of its log0chkp.cc). The margin of the threads that are inside (concurrency
    /// margin) is taken off each limit, because it is added to the newest change wherever ages are compared.
    pub fn of_mysql_8_0_11(files: u64, file_bytes: u64, thread_concurrency: u64) -> Self {
        let real = files * file_bytes.saturating_sub(FILE_HEADER_BLOCKS * 512);
        let never_used = (real / 10).min(256 * FREE_PER_THREAD_BYTES);
        let for_writer = real - never_used;
        let limit = for_writer - for_writer / 20;
        let margin = FREE_PER_THREAD_BYTES * (10 + thread_concurrency) + EXTRA_FREE_BYTES + for_writer / 20;
        let less_margin = |age: u64| age.saturating_sub(margin);
        Self {
            group_capacity: less_margin(limit),
            modified_async: less_margin(limit - limit / 8),
            modified_sync: less_margin(limit - limit / 16),
            checkpoint_async: less_margin(limit - limit / 32),
            checkpoint_max: less_margin(limit),
        }
    }

    /// MySQL 8.0.30 and later, of innodb_redo_log_capacity (log0files_capacity.cc and log0chkp.cc of 8.0.30). The margin of
    /// the threads that are inside is taken off each limit, because it is added to the newest change wherever ages are
    /// compared.
    pub fn of_capacity(capacity: u64, thread_concurrency: u64) -> Self {
        // Two of 32 files stand empty or half used, and the next file is made a tenth of a file early.
        let file = capacity / REDO_FILES;
        let hard = (file * (REDO_FILES - 2)).saturating_sub(file / 10 + REDO_OVERHEAD_BYTES);
        let soft = hard - hard / 20;
        let threads = FREE_PER_THREAD_BYTES * (10 + thread_concurrency) + REDO_DUMMY_BYTES;
        let margin = soft / 20 + threads.min(soft / 2);
        let less_margin = |age: u64| age.saturating_sub(margin);
        Self {
            // Adaptive flushing counts its low water mark of where users stop.
            group_capacity: less_margin(soft),
            modified_async: less_margin(soft - soft / 8),
            modified_sync: less_margin(soft - soft / 16),
            checkpoint_async: less_margin(soft - soft / 32),
            checkpoint_max: less_margin(soft),
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
    fn the_first_mysql_8_takes_a_margin_off_each_limit() {
        // 2 x 24 MiB less 4096 B is 50,327,552 B; less a tenth 45,294,797 for the writer; less a twentieth 43,030,058. The
        // margin is 10 x 64 KiB, 128 KiB, and the same twentieth: 655,360 + 131,072 + 2,264,739 = 3,051,171 B.
        let ages = Ages::of_mysql_8_0_11(2, 24 << 20, 0);
        assert_eq!(ages.checkpoint_max, 43_030_058 - 3_051_171);
        assert_eq!(ages.modified_sync, 43_030_058 - 43_030_058 / 16 - 3_051_171);
        assert_eq!(ages.modified_async, 43_030_058 - 43_030_058 / 8 - 3_051_171);
        // Of a large log, 16 MiB are never used.
        let large = Ages::of_mysql_8_0_11(2, 4 << 30, 0);
        let for_writer = (8 << 30) - 4096 - (16 << 20);
        assert_eq!(large.checkpoint_max, for_writer - 2 * (for_writer / 20) - 786_432);
    }

    #[test]
    fn mysql_8_keeps_margins_of_its_capacity() {
        // Of 100 MiB a file is 3,276,800 B: 30 of them less a tenth and 194,560 B are 97,781,760; 95 % of it 92,892,672. The
        // margin is a twentieth of this, 10 x 64 KiB and 4 KiB: 5,304,089.
        let ages = Ages::of_capacity(100 << 20, 0);
        let less = |age: u64| age - 5_304_089;
        assert_eq!(ages.checkpoint_max, less(92_892_672));
        assert_eq!(ages.modified_async, less(92_892_672 - 92_892_672 / 8));
        assert_eq!(ages.modified_sync, less(92_892_672 - 92_892_672 / 16));
        assert_eq!(ages.checkpoint_async, less(92_892_672 - 92_892_672 / 32));
        // Of a large log: 73 % until adaptive flushing is in full, 79 % until it goes on without pauses, 84 % until users stop.
        let large = Ages::of_capacity(100_000_000_000, 0);
        let pct = |age: u64| (age as f64 / 1e9).round() as u64;
        assert_eq!([large.modified_async, large.modified_sync, large.checkpoint_max].map(pct), [73, 79, 84]);
        // The smallest log that servers take has room.
        let small = Ages::of_capacity(8 << 20, 0);
        assert!(0 < small.modified_async && small.modified_async < small.checkpoint_max, "{small:?}");
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
}

//! The settings, under the servers' own names; the experiment file's loader has filled in the generation's defaults.

use schemars::JsonSchema;
use serde::Deserialize;

/// innodb_adaptive_flushing_method of Percona Server; MySQL has `native` only.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveMethod {
    /// InnoDB's own.
    Native,
    /// XtraDB's of 2008.
    Reflex,
    /// XtraDB's of 2009, the default of Percona Server 5.5.
    Estimate,
    /// XtraDB's of 2010.
    KeepAverage,
}

/// innodb_cleaner_lsn_age_factor of Percona Server: how the age of the redo log becomes a share of innodb_io_capacity.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LsnAgeFactor {
    /// MySQL's.
    Legacy,
    /// Percona Server's: less than MySQL's while the log is young, more when it is old.
    HighCheckpoint,
}

/// innodb_flush_method, as far as it concerns the log: data files are always read and written past the kernel's cache.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum FlushMethod {
    /// The log goes through the kernel's cache, and is synced.
    #[serde(rename = "O_DIRECT")]
    Direct,
    /// Percona Server: the log goes past it too, and is not synced.
    #[serde(rename = "ALL_O_DIRECT")]
    AllDirect,
}

/// innodb_change_buffering: changes that may go to the change buffer.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ChangeBuffering {
    /// None.
    None,
    /// Inserted entries.
    Inserts,
    /// Entries that are marked as deleted.
    Deletes,
    /// Both.
    Changes,
    /// What purge takes away, which is not modelled.
    Purges,
    /// All of them.
    All,
}

/// Settings that the model knows; the servers' manuals say what each is. Sizes are bytes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Bytes of the buffer pool.
    pub innodb_buffer_pool_size: u64,
    /// Instances of the buffer pool, each with a free list, an LRU list and a flush list.
    pub innodb_buffer_pool_instances: u32,
    /// Bytes of a file of the redo log.
    pub innodb_log_file_size: u64,
    /// Files of the redo log.
    pub innodb_log_files_in_group: u64,
    /// Bytes of a block of the redo log. Percona Server; elsewhere 512.
    pub innodb_log_block_size: u64,
    /// MySQL 5.7 and later, and MariaDB, where it is the block of the log; 0 for none.
    pub innodb_log_write_ahead_size: u64,
    /// Bytes of the buffer in which the redo log waits to be written.
    pub innodb_log_buffer_size: u64,
    /// Whether the redo log goes through the kernel's cache.
    pub innodb_flush_method: FlushMethod,
    /// MariaDB.
    pub innodb_log_file_buffering: bool,
    /// MySQL 8.0.26 and later: whether a sync of a file saves its data only.
    pub innodb_use_fdatasync: bool,
    /// The redo log at a commit: 0 nothing, 1 it is written and synced, 2 it is written.
    pub innodb_flush_log_at_trx_commit: u8,
    /// Threads inside InnoDB at a time: a margin of the redo log is kept for them.
    pub innodb_thread_concurrency: u64,
    /// Whether there is a binary log.
    pub log_bin: bool,
    /// Commits, or groups of them, after which the binary log is synced; 0: the kernel decides.
    pub sync_binlog: u64,
    /// Bytes of a file of the binary log.
    pub max_binlog_size: u64,
    /// MySQL 8.0.30 and later: 0 where the files say it.
    pub innodb_redo_log_capacity: u64,
    /// Pages that background work may write in a second.
    pub innodb_io_capacity: u64,
    /// The same when flushing falls behind.
    pub innodb_io_capacity_max: u64,
    /// Share of dirty pages, %, over which they are flushed.
    pub innodb_max_dirty_pages_pct: f64,
    /// Share of dirty pages, %, from which on they are flushed slowly; 0: none.
    pub innodb_max_dirty_pages_pct_lwm: f64,
    /// Whether the age of the redo log makes pages be flushed before it must.
    pub innodb_adaptive_flushing: bool,
    /// Age of the oldest change, % of the redo log, from which on it does.
    pub innodb_adaptive_flushing_lwm: f64,
    /// Rounds of the page cleaner over which it averages.
    pub innodb_flushing_avg_loops: u64,
    /// Whether the page cleaner goes on without pauses when the redo log is at its limit.
    pub innodb_flush_sync: bool,
    /// Frames of each instance that the page cleaner keeps free.
    pub innodb_lru_scan_depth: u64,
    /// Milliseconds.
    pub innodb_old_blocks_time: u32,
    /// Instances that cleaner threads write from at a time.
    pub innodb_page_cleaners: u32,
    /// Threads that purge; only MariaDB's purge is modelled.
    pub innodb_purge_threads: u32,
    /// Undo logs that purge takes at a time; only MariaDB's purge is modelled.
    pub innodb_purge_batch_size: u32,
    /// Percona Server; elsewhere `legacy`.
    pub innodb_cleaner_lsn_age_factor: LsnAgeFactor,
    /// The flushing policy of the master thread.
    pub innodb_adaptive_flushing_method: AdaptiveMethod,
    /// Whether pages are written twice, so that a crash tears none.
    pub innodb_doublewrite: bool,
    /// MySQL 8.0.20 and later: pages of a batch; 0 for as many as there are write threads.
    pub innodb_doublewrite_pages: u32,
    /// Whether each table has a file of its own, which is synced by itself.
    pub innodb_file_per_table: bool,
    /// With a page, of the aligned 64: 0 nothing, 1 the dirty pages on both sides without a gap, 2 all dirty ones.
    pub innodb_flush_neighbors: u8,
    /// Percona Server: 0 for none.
    pub innodb_checkpoint_age_target: u64,
    /// Changes that may go to the change buffer.
    pub innodb_change_buffering: ChangeBuffering,
    /// Share of the pool that the change buffer may take.
    pub innodb_change_buffer_max_size: u64,
    /// Pages of an extent that are used one after another before the next one is read; 0: none is.
    pub innodb_read_ahead_threshold: u32,
    /// Whether the rest of an extent is read when many of its pages are used.
    pub innodb_random_read_ahead: bool,
    /// Whether rows that are searched for again and again are found by a hash, which takes frames of the pool.
    pub innodb_adaptive_hash_index: bool,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Those of the tests of whole runs.
    pub(in super::super) fn settings() -> Settings {
        super::super::tests::spec(&[]).settings
    }

    #[test]
    fn a_setting_that_the_model_does_not_know_is_refused() {
        let refused = serde_json::from_str::<Settings>(r#"{"innodb_buffer_pool_size": 1, "query_cache_size": 1}"#);
        assert!(refused.unwrap_err().to_string().contains("query_cache_size"));
    }
}

//! The settings, under the servers' own names; the experiment file's loader has filled in the generation's defaults.

use schemars::JsonSchema;
use serde::Deserialize;

use super::redo::Ages;

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
    pub innodb_buffer_pool_size: u64,
    pub innodb_buffer_pool_instances: u32,
    pub innodb_log_file_size: u64,
    pub innodb_log_files_in_group: u64,
    pub innodb_log_block_size: u64,
    /// MySQL 5.7 and later, and MariaDB, where it is the block of the log; 0 for none.
    pub innodb_log_write_ahead_size: u64,
    pub innodb_log_buffer_size: u64,
    pub innodb_flush_method: FlushMethod,
    /// MariaDB.
    pub innodb_log_file_buffering: bool,
    pub innodb_flush_log_at_trx_commit: u8,
    pub innodb_thread_concurrency: u64,
    pub log_bin: bool,
    pub sync_binlog: u64,
    pub max_binlog_size: u64,
    /// MySQL 8.0.30 and later: 0 where the files say it.
    pub innodb_redo_log_capacity: u64,
    pub innodb_io_capacity: u64,
    pub innodb_io_capacity_max: u64,
    pub innodb_max_dirty_pages_pct: f64,
    pub innodb_max_dirty_pages_pct_lwm: f64,
    pub innodb_adaptive_flushing: bool,
    pub innodb_adaptive_flushing_lwm: f64,
    pub innodb_flushing_avg_loops: u64,
    pub innodb_flush_sync: bool,
    pub innodb_lru_scan_depth: u64,
    /// Milliseconds.
    pub innodb_old_blocks_time: u32,
    /// Instances that cleaner threads write from at a time.
    pub innodb_page_cleaners: u32,
    pub innodb_adaptive_flushing_method: AdaptiveMethod,
    pub innodb_doublewrite: bool,
    /// MySQL 8.0.20 and later: pages of a batch; 0 for as many as there are write threads.
    pub innodb_doublewrite_pages: u32,
    /// Whether each table has a file of its own, which is synced by itself.
    pub innodb_file_per_table: bool,
    /// With a page, of the aligned 64: 0 nothing, 1 the dirty pages on both sides without a gap, 2 all dirty ones.
    pub innodb_flush_neighbors: u8,
    /// Percona Server: 0 for none.
    pub innodb_checkpoint_age_target: u64,
    pub innodb_change_buffering: ChangeBuffering,
    /// Share of the pool that the change buffer may take.
    pub innodb_change_buffer_max_size: u64,
    /// Pages of an extent that are used one after another before the next one is read; 0: none is.
    pub innodb_read_ahead_threshold: u32,
    pub innodb_random_read_ahead: bool,
}

/// What a generation of servers does its own way beyond its settings.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum Generation {
    /// MySQL 5.1's built-in InnoDB or plugin.
    #[serde(rename = "mysql-5.1")]
    Mysql51,
    /// MySQL 5.5.
    #[serde(rename = "mysql-5.5")]
    Mysql55,
    /// Percona Server 5.1 and 5.5 with XtraDB.
    #[serde(rename = "percona-5.5")]
    Percona55,
    /// MySQL 5.6: the first with a page cleaner.
    #[serde(rename = "mysql-5.6")]
    Mysql56,
    /// MySQL 5.7.
    #[serde(rename = "mysql-5.7")]
    Mysql57,
    /// MySQL 8.0.30 and later.
    #[serde(rename = "mysql-8.0")]
    Mysql80,
    /// MariaDB 10.5 to 10.11.
    #[serde(rename = "mariadb-10.11")]
    Mariadb1011,
}

impl Generation {
    /// Whether reaching for a free page in time makes a reader wait for the batch that it starts: Percona Server's
    /// readers only start it.
    pub const fn readers_wait_for_margin(self) -> bool {
        !matches!(self, Self::Percona55)
    }

    /// Whether a page cleaner writes dirty pages, and not the master thread.
    pub const fn has_cleaner(self) -> bool {
        matches!(self, Self::Mysql56 | Self::Mysql57 | Self::Mysql80 | Self::Mariadb1011)
    }

    /// Whether threads that find the log at its limit wait for the cleaner; before, they write pages themselves.
    pub const fn cleaner_serves_log(self) -> bool {
        matches!(self, Self::Mysql57 | Self::Mysql80 | Self::Mariadb1011)
    }

    /// Whether changes are appended to the log's buffer while another part of it is written, and written while others are
    /// synced; before, a writer holds the log.
    pub const fn appends_while_it_writes(self) -> bool {
        matches!(self, Self::Mysql57 | Self::Mysql80 | Self::Mariadb1011)
    }

    /// Whether commits share the syncs of a binary log, and wait for no third sync then.
    pub const fn groups_binlog(self) -> bool {
        self.has_cleaner()
    }

    /// Over this age of the oldest change, threads that change something wait.
    pub const fn stop_age(self, ages: &Ages) -> u64 {
        match self {
            Self::Mysql80 | Self::Mariadb1011 => ages.checkpoint_max,
            _ => ages.modified_sync,
        }
    }
}

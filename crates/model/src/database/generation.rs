//! Generations of servers: what each does in its own way beyond its settings.

use schemars::JsonSchema;
use serde::Deserialize;

use super::settings::Settings;
use super::touches::UndoLogs;

/// A generation of servers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(untagged)]
pub enum Generation {
    /// The master thread writes dirty pages.
    Master(MasterGeneration),
    /// A page cleaner writes dirty pages.
    Cleaner(CleanerGeneration),
}

/// Servers whose master thread writes dirty pages.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum MasterGeneration {
    /// MySQL 5.1's built-in InnoDB or plugin.
    #[serde(rename = "mysql-5.1")]
    Mysql51,
    /// MySQL 5.5.
    #[serde(rename = "mysql-5.5")]
    Mysql55,
    /// Percona Server 5.1 and 5.5 with XtraDB.
    #[serde(rename = "percona-5.5")]
    Percona55,
}

/// Servers with a page cleaner. Each has a flushing policy of its own.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum CleanerGeneration {
    /// MySQL 5.6: the first with a page cleaner.
    #[serde(rename = "mysql-5.6")]
    Mysql56,
    /// MySQL 5.7.
    #[serde(rename = "mysql-5.7")]
    Mysql57,
    /// MySQL 8.0.11 to 8.0.19: its doublewrite buffer is that of 5.7.
    #[serde(rename = "mysql-8.0.11")]
    Mysql8011,
    /// MySQL 8.0.20 and later, with the redo log of 8.0.30.
    #[serde(rename = "mysql-8.0")]
    Mysql80,
    /// MariaDB 10.5 to 10.11.
    #[serde(rename = "mariadb-10.11")]
    Mariadb1011,
}

impl Generation {
    /// Whether those who wait for another thread's batch go on when its pages are in their places, before their files are
    /// synced: the event no_flush is set by the last page's write (buf_flush_write_complete), and not before the batch has
    /// chosen all its pages.
    pub const fn waits_for_writes_only(self) -> bool {
        matches!(self, Self::Master(_))
    }

    /// Whether a thread syncs a data file only while no other one does, and not before all writes of pages have ended
    /// (buf_flush_sync_datafiles, fil_flush). Later servers do so, too; in the model their batches sync each by itself.
    pub const fn syncs_files_in_turn(self) -> bool {
        matches!(self, Self::Master(_))
    }

    /// Whether a batch looks at the LSN limit with the last page of the flush list only, and each time begins there to look
    /// for a page that it can write (buf_flush_batch of 5.1, buf_flush_flush_list_batch of 5.5). Since 5.6 each page has to be
    /// below the limit itself.
    pub const fn limits_batches_at_the_tail(self) -> bool {
        matches!(self, Self::Master(_))
    }

    /// Whether a page cleaner writes dirty pages, and not the master thread.
    pub const fn has_cleaner(self) -> bool {
        matches!(self, Self::Cleaner(_))
    }

    /// Whether the sync of a file saves its times as well as its data: fsync, and not fdatasync. Seen with strace under
    /// OLTP: MySQL 5.5.9, 5.6.24, 5.7.22 and 8.0.15 and MariaDB 10.2.11 call fsync; Percona Server 5.1.65, MariaDB 10.11.19
    /// and 11.8.9 and MySQL 9.7.4 fdatasync. Percona Server 5.5 is taken for a MySQL 5.5 here.
    pub const fn syncs_times(self, settings: &Settings) -> bool {
        match self {
            Self::Master(MasterGeneration::Mysql51) | Self::Cleaner(CleanerGeneration::Mariadb1011) => false,
            _ => !settings.innodb_use_fdatasync,
        }
    }

    /// Whether it is MariaDB.
    pub const fn is_mariadb(self) -> bool {
        matches!(self, Self::Cleaner(CleanerGeneration::Mariadb1011))
    }

    /// Whether threads that find the log at its limit wait for the cleaner; before, they write pages themselves.
    pub const fn cleaner_serves_log(self) -> bool {
        matches!(self, Self::Cleaner(generation) if generation.serves_log())
    }

    /// What threads do when the log is at its limit.
    pub const fn room_rule(self) -> RoomRule {
        match self {
            Self::Master(_) | Self::Cleaner(CleanerGeneration::Mysql56) => RoomRule::Write,
            Self::Cleaner(CleanerGeneration::Mysql57) => RoomRule::AwaitPages,
            Self::Cleaner(CleanerGeneration::Mysql8011) => RoomRule::AwaitCheckpoint,
            Self::Cleaner(CleanerGeneration::Mysql80) => RoomRule::RequestCheckpoint,
            Self::Cleaner(CleanerGeneration::Mariadb1011) => RoomRule::AwaitCleaner,
        }
    }

    /// What becomes of a page that was written because frames are needed. MySQL with a page cleaner evicts it at once, if it
    /// can (buf_page_io_complete). In MariaDB since 10.6.13 and 10.11.3 it stays where it is, and the next search of the
    /// list evicts it, unless it was changed again meanwhile (MDEV-26827: buf_flush_LRU_list_batch).
    pub const fn frame_after_write(self) -> FrameAfterWrite {
        match self {
            Self::Master(_) => FrameAfterWrite::Oldest,
            Self::Cleaner(CleanerGeneration::Mariadb1011) => FrameAfterWrite::InPlace,
            Self::Cleaner(_) => FrameAfterWrite::Free,
        }
    }

    /// Most pages of a batch for free frames. MySQL 5.6 makes one such batch after another, as threads may wait for the end
    /// of one (PAGE_CLEANER_LRU_BATCH_CHUNK_SIZE).
    pub const fn lru_chunk_pages(self) -> u64 {
        if matches!(self, Self::Cleaner(CleanerGeneration::Mysql56)) { 100 } else { u64::MAX }
    }

    /// Whether a search of an LRU list for a page that can give its frame begins where the last one stopped (LRUItr): MySQL
    /// since 5.7.
    pub const fn searches_go_on(self) -> bool {
        self.cleaner_serves_log() && !self.is_mariadb()
    }

    /// Whether changes are appended to the log's buffer while another part of it is written, and written while another
    /// part is synced; before, a writer holds the log.
    pub const fn appends_while_it_writes(self) -> bool {
        self.cleaner_serves_log()
    }

    /// How it keeps its undo logs. MySQL 5.7 leaves 32 of its 128 segments to temporary tables, and 8.0 has 128 in each of two
    /// tablespaces (innodb_rollback_segments, innodb_undo_tablespaces). MariaDB has one log a transaction since 10.3.
    pub const fn undo_logs(self) -> UndoLogs {
        let (segments, merged) = match self {
            Self::Master(MasterGeneration::Mysql51) => (1, false),
            Self::Cleaner(CleanerGeneration::Mysql57) => (96, false),
            Self::Cleaner(CleanerGeneration::Mysql8011 | CleanerGeneration::Mysql80) => (256, false),
            Self::Cleaner(CleanerGeneration::Mariadb1011) => (128, true),
            _ => (128, false),
        };
        UndoLogs { segments, merged }
    }

    /// Whether commits share the syncs of a binary log, and wait for no third sync then.
    pub const fn groups_binlog(self) -> bool {
        self.has_cleaner()
    }
}

/// What becomes of a page that was written because frames are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAfterWrite {
    /// It goes to the end of the LRU list, to be evicted next.
    Oldest,
    /// It is evicted.
    Free,
    /// It stays where it is in the LRU list.
    InPlace,
}

/// What threads do when the log is at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomRule {
    /// They write pages themselves (log_preflush_pool_modified_pages): MySQL up to 5.6.
    Write,
    /// Each waits until the page cleaner has written the pages up to a target of its own, and looks each 10 ms
    /// (log_checkpoint_margin, buf_flush_wait_flushed): MySQL 5.7.
    AwaitPages,
    /// They wait for a checkpoint. A thread makes one as soon as it helps, and looks each 10 ms (log_checkpointer,
    /// log_wait_for_space_in_log): MySQL 8.0.11 to 8.0.19.
    AwaitCheckpoint,
    /// They ask for a checkpoint and wait for it. Else one is made each seven seconds only (log_free_check_wait,
    /// log_checkpointer): MySQL since 8.0.20.
    RequestCheckpoint,
    /// They wait until the page cleaner has written what it wanted: MariaDB.
    AwaitCleaner,
}

impl RoomRule {
    /// Whether threads wait when the log's end is too far from the last checkpoint; in others from the oldest change.
    pub const fn looks_at_checkpoint(self) -> bool {
        matches!(self, Self::AwaitCheckpoint | Self::RequestCheckpoint)
    }
}

impl MasterGeneration {
    /// Whether its master thread goes on without a sleep when it is over the dirty limit, or writes as much as it may
    /// (skip_sleep of srv_master_thread): 5.1. In 5.5 it sleeps whatever it has written.
    pub const fn skips_sleep(self) -> bool {
        matches!(self, Self::Mysql51)
    }
}

impl CleanerGeneration {
    /// Whether threads that find the log at its limit wait for the cleaner; in MySQL 5.6 they write pages themselves.
    pub const fn serves_log(self) -> bool {
        !matches!(self, Self::Mysql56)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_one_generation() {
        let of = |name: &str| serde_json::from_value::<Generation>(name.into());
        let cleaners = ["mysql-5.6", "mysql-5.7", "mysql-8.0.11", "mysql-8.0", "mariadb-10.11"];
        for name in ["mysql-5.1", "mysql-5.5", "percona-5.5"].iter().chain(&cleaners) {
            assert_eq!(of(name).unwrap().has_cleaner(), cleaners.contains(name), "{name}");
        }
        assert!(of("mysql-9.9").is_err());
        assert_eq!(cleaners.map(|name| of(name).unwrap().cleaner_serves_log()), [false, true, true, true, true]);
    }
}

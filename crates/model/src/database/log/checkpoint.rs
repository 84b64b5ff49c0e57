//! Checkpoints: from where recovery would begin.

use super::super::events::Tag;
use super::super::host::Host;
use super::super::ids::Lsn;
use super::Log;
use crate::storage::Operation;

impl Log {
    /// Begins to let recovery begin at the oldest change that is in no data file, when the data files are synced. False: it
    /// does already, or another checkpoint is under way (log_checkpoint: n_pending_checkpoint_writes).
    pub(in super::super) fn begin_checkpoint(&mut self, oldest_lsn: Option<Lsn>) -> bool {
        let lsn = oldest_lsn.unwrap_or(self.redo.lsn()).min(self.redo.durable());
        let begins = self.next_checkpoint.is_none() && lsn > self.redo.checkpoint();
        if begins {
            self.next_checkpoint = Some(lsn);
        }
        begins
    }

    /// Whether a checkpoint is under way.
    pub(in super::super) const fn is_checkpointing(&self) -> bool {
        self.next_checkpoint.is_some()
    }

    /// The data files are synced: the checkpoint is written. Recovery begins where `begin_checkpoint` has found; in MySQL
    /// 8.0 as soon as this is durable (log_files_next_checkpoint).
    pub(in super::super) fn write_checkpoint(&mut self, host: &mut Host) {
        if self.next_checkpoint.is_some() {
            let (offset, bytes) = self.redo.checkpoint_place();
            host.submit(self.device, Tag::Checkpoint, Operation::Write, offset, bytes);
        }
        if !self.awaits_checkpoint {
            self.end_checkpoint();
        }
    }

    /// The checkpoint is written.
    pub(in super::super) fn sync_checkpoint(&mut self, host: &mut Host) {
        if self.awaits_checkpoint {
            host.sync(self.device, Tag::CheckpointSync);
        }
    }

    /// The checkpoint counts.
    pub(in super::super) fn end_checkpoint(&mut self) {
        if let Some(lsn) = self.next_checkpoint.take() {
            self.redo.move_checkpoint(lsn);
        }
    }
}

//! Writing the log: one write and sync under way at a time, for everybody who came before it began (group commit).

use super::{Innodb, Tag};
use crate::storage::Operation;

/// Who waits for the log to be durable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    /// A thread that commits.
    Thread(u32),
    /// A writer: no page goes to its file before its changes are in the log.
    Writer(u32),
    /// Nobody: once a second it is done anyway.
    Nobody,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Writing,
    Syncing,
}

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Log {
    state: State,
    outstanding: u32,
    /// How far it will be durable then.
    target_lsn: u64,
    waiting: Vec<(u64, Waiter)>,
    /// Kept to reuse its memory.
    requests: Vec<(u64, u64)>,
}

impl Innodb {
    /// Somebody needs the log durable up to an LSN.
    pub(super) fn want_log(&mut self, lsn: u64, waiter: Waiter) {
        self.log.waiting.push((lsn, waiter));
        if self.log.state == State::Idle {
            self.write_log();
        }
    }

    fn write_log(&mut self) {
        let mut requests = std::mem::take(&mut self.log.requests);
        self.redo.take_unwritten(self.spec.settings.innodb_log_block_size, &mut requests);
        self.log.target_lsn = self.redo.lsn;
        self.log.state = State::Writing;
        self.log.outstanding = requests.len() as u32;
        self.counts.log_writes += 1;
        for (offset, bytes) in requests.drain(..) {
            self.counts.log_device_bytes += bytes;
            self.submit(self.log_device, Tag::Log, Operation::Write, offset, bytes);
        }
        self.log.requests = requests;
    }

    /// A write or the sync ended.
    pub(super) fn end_log_step(&mut self) {
        if self.log.state == State::Writing {
            self.log.outstanding -= 1;
            if self.log.outstanding == 0 {
                self.log.state = State::Syncing;
                self.submit(self.log_device, Tag::Log, Operation::Flush, 0, 0);
            }
            return;
        }
        self.redo.durable = self.log.target_lsn;
        self.log.state = State::Idle;
        let mut waiting = std::mem::take(&mut self.log.waiting);
        let mut served = Vec::new();
        waiting.retain(|(lsn, waiter)| {
            let done = *lsn <= self.redo.durable;
            if done {
                served.push(*waiter);
            }
            !done
        });
        self.log.waiting = waiting;
        if !self.log.waiting.is_empty() {
            self.write_log();
        }
        for waiter in served {
            match waiter {
                Waiter::Thread(thread) => self.ready.push_back(thread),
                Waiter::Writer(writer) => self.write_chunk(writer),
                Waiter::Nobody => {}
            }
        }
    }
}

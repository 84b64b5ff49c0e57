//! Write-backs under way, what the slow device refused, and what users do there.

use super::WriteBack;
use super::flights::Flight;
use super::run::Run;
use crate::cache::engine::contents::Contents;
use crate::cache::engine::keys::WriteBackId;
use crate::cache::{Block, BufferId, Lsn, Settings};

impl WriteBack {
    /// A request came.
    #[inline]
    pub(in super::super) fn user_asks(&mut self, now_ns: u64) {
        self.users.request(now_ns);
    }

    /// A read of the slow device begins.
    #[inline]
    pub(in super::super) fn slow_read_begins(&mut self, now_ns: u64) {
        self.users.read_begins(now_ns);
    }

    /// A write past the cache begins.
    pub(in super::super) fn bypass_begins(&mut self, now_ns: u64) {
        self.users.write_begins(now_ns);
    }

    /// A write past the cache ended.
    pub(in super::super) fn bypass_ended(&mut self, now_ns: u64) {
        self.users.write_ended(now_ns);
    }

    /// How many are under way.
    pub(in super::super) fn len(&self) -> usize {
        self.flights.len()
    }

    /// Those that wait for a sync.
    #[inline]
    pub(in super::super) fn unsynced(&self) -> u32 {
        self.flights.unsynced()
    }

    /// One that is under way.
    pub(in super::super) fn get(&self, id: WriteBackId) -> &Flight {
        self.flights.get(id)
    }

    /// A run is about to be read into a buffer. `on_demand`: the user's write-back that is at work.
    pub(in super::super) fn begin(
        &mut self,
        run: Run,
        buffer: BufferId,
        on_demand: u64,
        contents: &Contents,
        now_ns: u64,
    ) -> WriteBackId {
        let set = contents.set_of(run.block);
        if let Some(set) = set {
            self.sets.begin(set);
        }
        self.flights.begin(run, buffer, set, on_demand, now_ns)
    }

    /// It must not be written before this record is durable.
    pub(in super::super) fn needs(&mut self, id: WriteBackId, lsn: Lsn) {
        self.flights.needs(id, lsn);
    }

    /// A version cannot be read.
    pub(in super::super) fn cannot_read(&mut self, id: WriteBackId, nth: u32) {
        self.flights.cannot_read(id, nth);
    }

    /// A version was read, or not. Returns whether that was the last one.
    pub(in super::super) fn read_ended(&mut self, id: WriteBackId) -> bool {
        self.flights.read_ended(id)
    }

    /// So many writes to the slow device are issued. With none of them it has failed.
    pub(in super::super) fn writes_begin(&mut self, id: WriteBackId, writes: u32, now_ns: u64) {
        self.flights.writes_begin(id, writes, now_ns);
    }

    /// A write to the slow device ended. Returns whether it was the last one.
    pub(in super::super) fn write_ended(
        &mut self,
        id: WriteBackId,
        ok: bool,
        settings: &Settings,
        now_ns: u64,
    ) -> bool {
        let (took_ns, last) = self.flights.write_ended(id, ok, now_ns);
        self.pace.took(took_ns, settings);
        last
    }

    /// Its IOs are over. Returns its buffer, and whether it waits for a sync now; else it has failed.
    pub(in super::super) fn ios_over(&mut self, id: WriteBackId) -> (BufferId, bool) {
        let (set, buffer, ok) = self.flights.ios_over(id);
        if let Some(set) = set {
            self.sets.end(set);
        }
        (buffer, ok)
    }

    /// The sync that it waits for failed.
    pub(in super::super) fn sync_failed(&mut self, id: WriteBackId) {
        self.flights.sync_failed(id);
    }

    /// It is durable on the slow device, or it failed.
    pub(in super::super) fn end(&mut self, id: WriteBackId) -> Flight {
        let flight = self.flights.end(id);
        self.sweep.look_again();
        if flight.ok {
            self.refusals.succeeded();
        }
        flight
    }

    /// A user asks for a write-back, or for the stop: what was refused before does not count.
    pub(in super::super) fn forget_refusals(&mut self) {
        self.refusals.clear();
    }

    /// A block was taken after all, or need not be any more.
    pub(in super::super) fn forget_refusal(&mut self, block: Block) {
        self.refusals.forget(block);
    }

    /// The slow device refused a block.
    pub(in super::super) fn refused(&mut self, block: Block, now_ns: u64) {
        self.refusals.add(block, now_ns);
    }

    /// Whether the last write-back that ended failed too.
    pub(in super::super) fn is_failing(&self) -> bool {
        self.refusals.is_failing()
    }

    /// A write-back failed: a pause begins. Returns whether a user who waits should get an error.
    pub(in super::super) fn failed(&mut self, now_ns: u64) -> bool {
        self.refusals.failed(now_ns);
        let hopeless = self.refusals.is_hopeless(now_ns);
        if hopeless {
            self.refusals.clear();
        }
        hopeless
    }
}

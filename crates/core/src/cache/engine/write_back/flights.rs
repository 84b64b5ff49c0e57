//! Write-backs under way: neighbouring dirty blocks are read from their slots, written to the slow device as one IO, and
//! wait for its sync.

use super::run::Run;
use crate::cache::engine::keys::WriteBackId;
use crate::cache::{Block, BufferId, Lsn, Slot};
use crate::slab::Slab;

/// Blocks on their way back.
pub(in super::super) struct Flight {
    pub(in super::super) block: Block,
    /// The versions that are written; NONE for a block that could not be read.
    pub(in super::super) slots: Vec<Slot>,
    pub(in super::super) buffer: BufferId,
    pub(in super::super) ok: bool,
    /// When it began: what is newer became so later.
    pub(in super::super) began_ns: u64,
    /// The user's write-back that was at work when it began.
    pub(in super::super) on_demand: u64,
    /// The record that must be durable first.
    pub(in super::super) lsn: Lsn,
    /// The set that it counts in, if the policy has sets.
    set: Option<u32>,
    /// When its writes were issued.
    issued_ns: u64,
    /// IOs under way.
    ios: u32,
}

impl Flight {
    /// The next run of versions that could be read, from the `from`th on: the first of them, and how many.
    pub(in super::super) fn readable(&self, from: u32) -> Option<(u32, u32)> {
        let slots = &self.slots[from as usize..];
        let skipped = slots.iter().position(|slot| *slot != Slot::NONE)?;
        let blocks = slots[skipped..].iter().take_while(|slot| **slot != Slot::NONE).count();
        Some((from + skipped as u32, blocks as u32))
    }
}

/// Write-backs under way.
#[derive(Default)]
pub(super) struct Flights {
    all: Slab<Flight, WriteBackId>,
    /// Those whose IOs are under way.
    at_work: u32,
    /// Those that wait for a sync.
    unsynced: u32,
}

impl Flights {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Those whose IOs are under way.
    #[inline]
    pub(super) fn at_work(&self) -> u32 {
        self.at_work
    }

    /// Those that wait for a sync.
    #[inline]
    pub(super) fn unsynced(&self) -> u32 {
        self.unsynced
    }

    /// One that is under way.
    pub(super) fn get(&self, id: WriteBackId) -> &Flight {
        &self.all[id]
    }

    /// A run is about to be read into a buffer.
    pub(super) fn begin(
        &mut self,
        run: Run,
        buffer: BufferId,
        set: Option<u32>,
        on_demand: u64,
        now_ns: u64,
    ) -> WriteBackId {
        self.at_work += 1;
        let ios = run.blocks();
        let Run { block, slots } = run;
        let lsn = Lsn(0);
        let flight =
            Flight { block, slots, buffer, ok: true, began_ns: now_ns, on_demand, lsn, set, issued_ns: now_ns, ios };
        self.all.insert(flight)
    }

    /// It must not be written before this record is durable.
    pub(super) fn needs(&mut self, id: WriteBackId, lsn: Lsn) {
        self.all[id].lsn = lsn;
    }

    /// A version cannot be read.
    pub(super) fn cannot_read(&mut self, id: WriteBackId, nth: u32) {
        self.all[id].slots[nth as usize] = Slot::NONE;
    }

    /// A version was read, or not. Returns whether that was the last one.
    pub(super) fn read_ended(&mut self, id: WriteBackId) -> bool {
        let flight = &mut self.all[id];
        flight.ios -= 1;
        flight.ios == 0
    }

    /// So many writes to the slow device are issued. With none of them it has failed.
    pub(super) fn writes_begin(&mut self, id: WriteBackId, writes: u32, now_ns: u64) {
        let flight = &mut self.all[id];
        (flight.ios, flight.issued_ns) = (writes, now_ns);
        flight.ok &= writes > 0;
    }

    /// A write to the slow device ended. Returns how long it took, and whether it was the last one.
    pub(super) fn write_ended(&mut self, id: WriteBackId, ok: bool, now_ns: u64) -> (u64, bool) {
        let flight = &mut self.all[id];
        flight.ios -= 1;
        flight.ok &= ok;
        (now_ns.saturating_sub(flight.issued_ns), flight.ios == 0)
    }

    /// Its IOs are over. Returns its set, its buffer, and whether it waits for a sync now; else it has failed.
    pub(super) fn ios_over(&mut self, id: WriteBackId) -> (Option<u32>, BufferId, bool) {
        let Flight { set, buffer, ok, .. } = self.all[id];
        self.at_work -= 1;
        self.unsynced += u32::from(ok);
        (set, buffer, ok)
    }

    /// The sync that it waits for failed.
    pub(super) fn sync_failed(&mut self, id: WriteBackId) {
        self.all[id].ok = false;
        self.unsynced -= 1;
    }

    /// It is durable on the slow device, or it failed.
    pub(super) fn end(&mut self, id: WriteBackId) -> Flight {
        let flight = self.all.remove(id);
        self.unsynced -= u32::from(flight.ok);
        flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    fn begin(flights: &mut Flights) -> WriteBackId {
        let run = Run { block: Block(7), slots: vec![Slot(1), Slot(2)] };
        flights.begin(run, BufferId::from_number(0), Some(3), 1, 100)
    }

    #[test]
    fn a_flight_works_and_then_waits_for_its_sync() {
        let mut flights = Flights::default();
        let id = begin(&mut flights);
        assert_eq!([flights.read_ended(id), flights.read_ended(id)], [false, true]);
        flights.writes_begin(id, 1, 150);
        assert_eq!(flights.write_ended(id, true, 180), (30, true));
        assert_eq!(flights.ios_over(id), (Some(3), BufferId::from_number(0), true));
        assert_eq!((flights.at_work(), flights.unsynced(), flights.len()), (0, 1, 1));
        assert!(flights.end(id).ok);
        assert_eq!((flights.unsynced(), flights.len()), (0, 0));
    }

    #[test]
    fn one_that_failed_waits_for_no_sync() {
        let mut flights = Flights::default();
        let ids = [(); 2].map(|()| begin(&mut flights));
        assert_eq!(flights.get(ids[0]).readable(0), Some((0, 2)));
        flights.cannot_read(ids[0], 0);
        assert_eq!((flights.get(ids[0]).readable(0), flights.get(ids[0]).readable(2)), (Some((1, 1)), None));
        flights.writes_begin(ids[0], 0, 150);
        assert!(!flights.ios_over(ids[0]).2);
        assert_eq!(flights.end(ids[0]).slots, [Slot::NONE, Slot(2)]);
        flights.writes_begin(ids[1], 1, 150);
        flights.write_ended(ids[1], true, 151);
        flights.ios_over(ids[1]);
        flights.sync_failed(ids[1]);
        assert!(!flights.end(ids[1]).ok);
        assert_eq!((flights.at_work(), flights.unsynced()), (0, 0));
    }
}

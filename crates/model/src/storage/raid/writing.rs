//! Writes to the members: first the reads that the parity needs, then data and parity.

use super::Raid;
use super::ids::{LineNo, Lines, MemberNo, RowNo, UpdateId};
use super::layout::{Chunk, Level};
use super::op::Owner;
use super::updates::{Stage, Update};
use crate::storage::Operation;

/// A read that an update needs.
#[derive(Clone, Copy)]
struct Read {
    member: MemberNo,
    offset: u64,
    bytes: u64,
}

impl Raid {
    /// Whether an update locks its row and counts towards the limit of updates. The parity of a row must not be changed by two
    /// updates at once. Updates from the memory must not fill the queues of the members.
    fn locks_row(&self, update: &Update) -> bool {
        self.layout.level == Level::Raid5 || update.owner.is_none()
    }

    /// Begins an update, or makes it wait.
    pub(super) fn begin_update(&mut self, update: Update) {
        if !self.locks_row(&update) {
            let id = self.updates.insert(update);
            self.run_update(id);
        } else if self.updates.lock(update) {
            self.run_ready();
        }
    }

    /// Runs the updates that may begin. An update that needs no member (all of them have failed) ends in here, which makes
    /// the next update ready and calls this again. The loop that runs already takes that update; thousands of calls would
    /// overflow the stack.
    fn run_ready(&mut self) {
        if std::mem::replace(&mut self.running_ready, true) {
            return;
        }
        while let Some(id) = self.updates.start(self.spec.controller.updates_at_once) {
            self.run_update(id);
        }
        self.running_ready = false;
    }

    fn run_update(&mut self, id: UpdateId) {
        let reads = self.reads_of(id);
        self.updates[id].pending = 1 + reads.len() as u32;
        for Read { member, offset, bytes } in reads {
            self.send(Owner::Update(id), member, Operation::Read, offset, bytes, None);
        }
        self.update_part_ended(id);
    }

    /// The reads that the new parity needs: those of the old data and the old parity, or those of all data of the row that is
    /// not written, whichever are fewer. Lines that the memory holds are not read.
    fn reads_of(&self, id: UpdateId) -> Vec<Read> {
        let update = &self.updates[id];
        let row = update.row();
        let Some(parity) = self.layout.parity(row).filter(|parity| !self.members.is_absent(*parity, row)) else {
            return Vec::new();
        };
        let (from, to) = update.span();
        let old = self.reads_of_old(row, from, to, &update.chunks, parity);
        let rest = self.reads_of_rest(row, from, to, &update.chunks);
        match (old, rest) {
            (Some(old), Some(rest)) if rest.len() < old.len() => rest,
            (Some(old), _) => old,
            (None, rest) => rest.unwrap_or_default(),
        }
    }

    /// The reads of the old data and the old parity; None if a member with old data is absent.
    fn reads_of_old(&self, row: RowNo, from: u64, to: u64, chunks: &[Chunk], parity: MemberNo) -> Option<Vec<Read>> {
        let mut reads = Vec::new();
        for chunk in chunks {
            let home = self.layout.home(row, chunk.unit);
            if self.members.is_absent(home, row) {
                return None;
            }
            reads.extend(self.unknown(home, *chunk, self.lines(chunk), |_| false));
        }
        let whole = Chunk { row, unit: 0, from, to };
        reads.extend(self.unknown(parity, whole, self.parity_lines(row, from, to), |_| false));
        Some(reads)
    }

    /// The reads of all data of the row that is not written; None if a member with such data is absent.
    fn reads_of_rest(&self, row: RowNo, from: u64, to: u64, chunks: &[Chunk]) -> Option<Vec<Read>> {
        let mut reads = Vec::new();
        for unit in 0..self.layout.data_units() {
            let whole = Chunk { row, unit, from, to };
            let in_unit = || chunks.iter().filter(|chunk| chunk.unit == unit);
            let written = |line: LineNo| in_unit().any(|chunk| self.lines(chunk).contains(line));
            let home = self.layout.home(row, unit);
            let read = self.unknown(home, whole, self.lines(&whole), written);
            if read.is_some() && self.members.is_absent(home, row) {
                return None;
            }
            reads.extend(read);
        }
        Some(reads)
    }

    /// One read from the first to the last line that is neither clean in the memory nor `known`.
    fn unknown(&self, member: MemberNo, chunk: Chunk, lines: Lines, known: impl Fn(LineNo) -> bool) -> Option<Read> {
        let mut unknown = lines.iter().filter(|line| !known(*line) && !self.cache.is_clean(*line));
        let first = unknown.next()?;
        let last = unknown.last().unwrap_or(first);
        let line_bytes = self.spec.line_bytes;
        let base = self.layout.offset(chunk.row) + chunk.from / line_bytes * line_bytes;
        let offset = base + (first.number() - lines.first.number()) * line_bytes;
        Some(Read { member, offset, bytes: (last.number() + 1 - first.number()) * line_bytes })
    }

    /// Ends a part of an update's stage, and begins the next stage after the last part.
    pub(super) fn update_part_ended(&mut self, id: UpdateId) {
        let update = &mut self.updates[id];
        update.pending -= 1;
        if update.pending > 0 {
            return;
        }
        match update.stage {
            Stage::Reading => self.write_update(id),
            Stage::Writing if self.spec.controller.parity_after_data => self.write_parity(id),
            Stage::Writing | Stage::Parity => self.end_update(id),
        }
    }

    fn write_update(&mut self, id: UpdateId) {
        let update = &mut self.updates[id];
        update.stage = Stage::Writing;
        update.pending = 1;
        for nth in 0..update.chunks.len() {
            let chunk = self.updates[id].chunks[nth];
            for member in self.layout.homes(chunk.row, chunk.unit) {
                self.write_member(id, member, chunk.row, chunk.from, chunk.to);
            }
        }
        if !self.spec.controller.parity_after_data {
            self.write_parity_unit(id);
        }
        self.update_part_ended(id);
    }

    fn write_parity(&mut self, id: UpdateId) {
        let update = &mut self.updates[id];
        update.stage = Stage::Parity;
        update.pending = 1;
        self.write_parity_unit(id);
        self.update_part_ended(id);
    }

    fn write_parity_unit(&mut self, id: UpdateId) {
        let update = &self.updates[id];
        let (row, (from, to)) = (update.row(), update.span());
        if let Some(parity) = self.layout.parity(row) {
            self.write_member(id, parity, row, from, to);
        }
    }

    fn write_member(&mut self, id: UpdateId, member: MemberNo, row: RowNo, from: u64, to: u64) {
        if !self.members.is_absent(member, row) {
            self.updates[id].pending += 1;
            let offset = self.layout.offset(row) + from;
            self.send(Owner::Update(id), member, Operation::Write, offset, to - from, None);
        }
    }

    fn end_update(&mut self, id: UpdateId) {
        let update = self.updates.remove(id);
        let (row, (from, to)) = (update.row(), update.span());
        for chunk in &update.chunks {
            for line in self.lines(chunk).iter() {
                if update.owner.is_none() { self.cache.arrive(line) } else { self.cache.fill(line) }
            }
        }
        if self.layout.parity(row).is_some() {
            for line in self.parity_lines(row, from, to).iter() {
                self.cache.fill(line);
            }
        }
        if self.locks_row(&update) {
            self.updates.unlock(row);
            self.run_ready();
        }
        match update.owner {
            Some(request) => self.part_ended(request, Ok(())),
            None => self.take_in(),
        }
    }

    /// Writes dirty lines to the members, row by row in the order of the sweep.
    pub(super) fn destage(&mut self) {
        while !self.lost && !self.updates.has_ready() && self.must_destage() {
            if self.updates.running() >= self.spec.controller.updates_at_once {
                return;
            }
            let row = self.cache.rows_from(self.sweep.next_row()).find(|row| !self.updates.is_locked(*row));
            let Some(row) = row else { return };
            self.sweep.pass(row);
            let chunks = self.take_dirty(row);
            self.begin_update(Update::new(None, chunks));
        }
    }

    /// Whether dirty lines must be written now.
    fn must_destage(&self) -> bool {
        let from = self.cache.held_max() as f64 * self.spec.cache.destage_from_share;
        let pressed = !self.no_room.is_empty() || self.cache.held() as f64 > from || self.sweep.is_under_way();
        self.cache.dirty() > 0 && (pressed || !self.writes_back())
    }

    /// Takes dirty lines of a row, as chunks that are being written from now on: all of them, or the first consecutive ones,
    /// as the spec says.
    fn take_dirty(&mut self, row: RowNo) -> Vec<Chunk> {
        let (line_bytes, mut chunks) = (self.spec.line_bytes, Vec::<Chunk>::new());
        for unit in 0..self.layout.data_units() {
            let whole = Chunk { row, unit, from: 0, to: self.layout.unit_bytes };
            for (number, line) in self.lines(&whole).iter().enumerate() {
                let from = number as u64 * line_bytes;
                let is_next = chunks.last().is_some_and(|last| last.unit == unit && last.to == from);
                if !self.cache.is_dirty(line) {
                    continue;
                }
                if !is_next && !self.spec.cache.destage_rows && !chunks.is_empty() {
                    return chunks;
                }
                self.cache.leave(line, row);
                match chunks.last_mut().filter(|_| is_next) {
                    Some(last) => last.to += line_bytes,
                    None => chunks.push(Chunk { row, unit, from, to: from + line_bytes }),
                }
            }
        }
        chunks
    }
}

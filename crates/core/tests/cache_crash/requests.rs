//! What users ask of the cache, and whether the answers are right.

use flatwater_core::cache::{Command, Failure, Kind, Request};
use rand::Rng as _;

use super::{Checked, World};
use crate::disk::SECTOR;
use crate::memory::{stamp, stamped};
use crate::users::Asked;

impl World {
    /// A user sends a request or a command.
    pub(super) fn ask(&mut self) -> Checked {
        let tag = self.users.next_tag();
        let kind = match self.rng.random_range(0..100) {
            0..35 => Kind::Read,
            35..80 => Kind::Write,
            80..84 => Kind::Zero,
            84..88 => Kind::Trim,
            88..98 => Kind::Flush,
            _ => return self.command(tag),
        };
        let changes = matches!(kind, Kind::Write | Kind::Zero | Kind::Trim);
        let (first, last) = if kind == Kind::Flush { (0, 0) } else { self.range() };
        let durable = changes && self.rng.random_range(0..6) == 0;
        let request = Request {
            tag,
            kind,
            offset: u64::from(first) * SECTOR as u64,
            bytes: (last - first) * SECTOR as u32,
            durable,
            process: 0,
        };
        let mut memory = vec![0xdd; request.bytes as usize];
        let mut op = None;
        if changes {
            let written = self.users.next_value();
            let value = if kind == Kind::Write { written } else { 0 };
            for (nth, sector) in memory.chunks_exact_mut(SECTOR).enumerate() {
                stamp(sector, first + nth as u32, value);
            }
            op = Some(self.oracle.issue(self.step, (first, last), value, kind != Kind::Trim));
        }
        self.memory.requests.insert(tag, memory);
        self.users.begin_request(tag, Asked { request, issued: self.step, op });
        self.note = format!("{request:?}");
        self.call(|engine, now, memory, out| engine.submit(now, request, memory, out))
    }

    fn command(&mut self, tag: u64) -> Checked {
        let command = match self.rng.random_range(0..3) {
            0 => Command::WriteBack(None),
            1 => Command::WriteBack(Some((0, self.plan.slow_bytes / 2 / 512 * 512))),
            _ => Command::Preload((0, self.plan.slow_bytes.min(4 * u64::from(self.plan.block_bytes)))),
        };
        self.users.begin_command(tag, false);
        self.note = format!("{command:?}");
        self.call(|engine, now, memory, out| engine.command(now, tag, command, memory, out))
    }

    /// The first sector of a request and the one after its last: whole blocks, parts of one, or over several.
    fn range(&mut self) -> (u32, u32) {
        let per_block = self.plan.block_bytes / SECTOR as u32;
        let sectors = (self.plan.slow_bytes / SECTOR as u64) as u32;
        // Half of the requests go to a few blocks.
        let blocks = if self.rng.random() { self.plan.blocks } else { self.plan.blocks.min(6) };
        let block = self.rng.random_range(0..blocks);
        let first = block * per_block;
        let (first, last) = match self.rng.random_range(0..10) {
            0..6 => (first, first + per_block),
            6..8 => {
                let from = self.rng.random_range(0..per_block);
                (first + from, first + self.rng.random_range(from..per_block) + 1)
            }
            8 => (first, first + per_block * self.rng.random_range(1..4)),
            _ => {
                let from = first + self.rng.random_range(0..per_block);
                (from, from + self.rng.random_range(1..3 * per_block))
            }
        };
        let first = first.min(sectors - 1);
        (first, last.clamp(first + 1, sectors))
    }

    /// The engine answered. Checks what was read, and tells the oracle what is durable.
    pub(super) fn answered(&mut self, tag: u64, result: Result<(), Failure>) -> Checked {
        self.digest_words([self.step, tag, result.is_ok().into()]);
        if let Some(stop) = self.users.end_command(tag) {
            return match result {
                Err(failure) if stop && self.faults.is_none() => Err(format!("the stop failed: {failure:?}")),
                _ => Ok(()),
            };
        }
        let asked = self.users.end_request(tag).ok_or_else(|| format!("an answer to nobody: {tag}"))?;
        let memory = self.memory.requests.remove(&tag).expect("its memory");
        if let Err(failure) = result {
            if self.faults.is_some() && failure == Failure::Medium {
                return Ok(());
            }
            return Err(format!("{:?} failed: {failure:?}", asked.request));
        }
        match (asked.request.kind, asked.op) {
            (Kind::Flush, _) => self.oracle.flushed(asked.issued, self.step),
            (_, Some(op)) => self.oracle.answered(op, self.step, asked.request.durable),
            _ => {
                let first = (asked.request.offset / SECTOR as u64) as u32;
                for (nth, sector) in memory.chunks_exact(SECTOR).enumerate() {
                    let sector_number = first + nth as u32;
                    let value = stamped(sector, sector_number)?;
                    self.oracle
                        .read(sector_number, value, asked.issued)
                        .map_err(|what| format!("{:?}: {what}", asked.request))?;
                }
            }
        }
        Ok(())
    }
}

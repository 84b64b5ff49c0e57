//! Commands: settings, write-back on demand, pinning, preloading, another size, the end.

use super::super::commands::{StopAsked, Stopping};
use super::super::write_back::to_write_back;
use super::super::{Engine, Turn};
use crate::cache::slots::State;
use crate::cache::{Block, Change, Command, Failure, Memory, Slot};

/// Blocks behind the limit that hurry back at once.
const HURRIES_MAX: usize = 64;
/// Slots of the smallest cache.
const SLOTS_MIN: u64 = 16;

impl Engine {
    /// Begins a command.
    pub(in super::super) fn begin<M: Memory>(&mut self, tag: u64, command: Command, turn: &mut Turn<M>) {
        if self.commands.is_closed() && !matches!(command, Command::Stop { .. }) {
            return turn.out.answers.push((tag, Err(Failure::Stopping)));
        }
        match command {
            Command::Set(changes) => {
                let result = self.set(&changes, turn.now_ns).map_err(|text| {
                    self.notify(turn, text);
                    Failure::Busy
                });
                turn.out.answers.push((tag, result));
            }
            Command::WriteBack(range) => {
                self.write_back.forget_refusals();
                self.on_demand.ask(tag, range);
                self.next_on_demand(turn.now_ns);
                self.end_on_demand(turn);
            }
            Command::StopWriteBack => {
                self.stop_on_demand(turn);
                turn.out.answers.push((tag, Ok(())));
            }
            Command::Preload(range) => self.load(tag, range, turn),
            Command::Pin { range, pinned } => self.pin(tag, range, pinned, turn),
            Command::Resize(bytes) => self.resize(tag, bytes, turn),
            Command::Stop { drain } => match self.commands.stop(tag, drain) {
                StopAsked::Begins => self.write_back.forget_refusals(),
                StopAsked::Replaces(before) => turn.out.answers.push((before, Err(Failure::Busy))),
                StopAsked::Refused => turn.out.answers.push((tag, Err(Failure::Busy))),
            },
        }
    }

    /// Changes settings, all or none.
    fn set(&mut self, changes: &[Change], now_ns: u64) -> Result<(), String> {
        let mut settings = self.settings.clone();
        for change in changes {
            settings.change(change)?;
        }
        settings.check()?;
        let policy = settings.policy != self.settings.policy;
        if policy {
            self.contents.set_policy(&settings.policy)?;
        }
        if settings.admission != self.settings.admission {
            self.admission.forget(&settings, self.addresses.slots());
        }
        let period = settings.flush_period_s != self.settings.flush_period_s;
        let marks = settings.dirty_high_pct != self.settings.dirty_high_pct;
        self.settings = settings;
        let kept = self.write_back.keeps_order();
        if self.ordered() && !kept {
            self.begin_order(now_ns);
        } else if !self.ordered() && kept {
            self.end_order(now_ns);
        } else {
            if !kept && (policy || period || marks && self.write_back.sets_have_marks()) {
                self.sort_dirty(now_ns);
            }
            return Ok(());
        }
        self.begin_on_demand_anew(now_ns);
        Ok(())
    }

    fn pin<M: Memory>(&mut self, tag: u64, range: (u64, u64), pinned: bool, turn: &mut Turn<M>) {
        let (from, to) = self.addresses.blocks_of(range);
        if !pinned {
            self.contents.unpin(from, to);
            return turn.out.answers.push((tag, Ok(())));
        }
        if let Some(all) = self.contents.pin(from, to) {
            let limit = self.contents.limit();
            self.notify(turn, format!("{all} blocks can not be pinned: {limit} slots, of which a tenth must stay"));
            let most_blocks = self.contents.pins_max();
            return turn.out.answers.push((tag, Err(Failure::Pins { most_blocks })));
        }
        self.load(tag, range, turn);
    }

    fn load<M: Memory>(&mut self, tag: u64, range: (u64, u64), turn: &mut Turn<M>) {
        self.commands.load(tag, self.addresses.blocks_of(range));
        self.load_more(turn);
    }

    /// Whether a block is to be read for a command.
    fn loads(&self, block: Block) -> bool {
        self.may_cache(block)
            && self.contents.find(block) == Slot::NONE
            && !self.locks.held(block)
            && !self.contents.is_gone(block)
    }

    /// Reads more of the first range that is to be loaded.
    pub(in super::super) fn load_more<M: Memory>(&mut self, turn: &mut Turn<M>) {
        while let Some((next, end)) = self.commands.loading() {
            let under_way = self.commands.loads_under_way();
            if next >= end || self.degraded() {
                if under_way > 0 {
                    return;
                }
                let Some((tag, all)) = self.commands.end_load() else { return };
                turn.out.answers.push((tag, if all { Ok(()) } else { Err(Failure::NoRoom) }));
                continue;
            }
            if !self.loads(next) {
                self.commands.skip();
                continue;
            }
            let run = self.addresses.run_blocks().min(self.contents.load_blocks_max());
            let short = !self.contents.has_for_load(run * (under_way + 1));
            if !self.commands.may_load() || short && self.contents.limbo() > 0 {
                return self.want_limbo();
            }
            let run = run.min(end - next);
            let blocks = (1..run).find(|nth| !self.loads(next + *nth)).unwrap_or(run);
            self.commands.load_begins(blocks);
            self.fill(next, blocks, None, turn);
        }
    }

    /// A run that a command asked for is in the cache, or is not.
    pub(in super::super) fn loaded<M: Memory>(&mut self, all: bool, turn: &mut Turn<M>) {
        self.commands.load_ended(all);
        self.load_more(turn);
    }

    fn resize<M: Memory>(&mut self, tag: u64, bytes: u64, turn: &mut Turn<M>) {
        if self.commands.is_resizing() {
            return turn.out.answers.push((tag, Err(Failure::Busy)));
        }
        let slots = self.addresses.slots_in(bytes);
        let most = u64::from(self.addresses.slots());
        if !(SLOTS_MIN..=most).contains(&slots) {
            let (least_bytes, most_bytes) = (self.addresses.fast_bytes(SLOTS_MIN), self.addresses.fast_bytes(most));
            return turn.out.answers.push((tag, Err(Failure::Size { least_bytes, most_bytes })));
        }
        self.commands.resize(tag);
        self.contents.set_limit(slots as u32);
        self.resize_on(turn);
    }

    /// Empties what lies behind the limit; ends the command when nothing does any more.
    pub(in super::super) fn resize_on<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if !self.commands.is_resizing() {
            return;
        }
        if self.degraded() {
            // Slots of a device that is not written any more never come free.
            return self.end_resize(Err(Failure::Degraded), turn);
        }
        if self.contents.outside() > 0 {
            for slot in self.contents.behind_limit() {
                self.empty_slot(slot, turn);
            }
            self.want_limbo();
        }
        if self.contents.outside() == 0 {
            self.end_resize(Ok(()), turn);
        }
    }

    /// What a slot behind the limit holds must leave, as far as it can now.
    fn empty_slot<M: Memory>(&mut self, slot: Slot, turn: &mut Turn<M>) {
        let block = self.contents.slots().block(slot);
        match self.contents.slots().state(slot) {
            State::Clean if !self.locks.held(block) && self.durability.room_to_record() => {
                self.drop_block(block, turn);
            }
            State::Dirty
                if !self.ordered()
                    && self.write_back.hurries() < HURRIES_MAX
                    && to_write_back(block, &self.contents).is_some() =>
            {
                self.write_back.hurry(block);
            }
            _ => {}
        }
    }

    fn end_resize<M: Memory>(&mut self, result: Result<(), Failure>, turn: &mut Turn<M>) {
        if let Some(tag) = self.commands.end_resize() {
            turn.out.answers.push((tag, result));
        }
    }

    /// How far the stop has come.
    pub(in super::super) fn stop_on<M: Memory>(&mut self, turn: &mut Turn<M>) {
        let drain = match self.commands.stopping() {
            None => return,
            Some(Stopping::Waiting { drain }) => drain && self.contents.can_write_back(),
            Some(Stopping::Ending) => {
                if self.durability.stopped()
                    && self.jobs.is_empty()
                    && let Some(tag) = self.commands.end_stop()
                {
                    turn.out.answers.push((tag, Ok(())));
                }
                return;
            }
        };
        if !drain {
            self.stop_on_demand(turn);
        }
        let under_way =
            self.requests.len() + self.fills.len() + self.writes.len() + self.bypasses.len() + self.write_back.len();
        if drain || under_way > 0 || self.durability.want_slow_synced(self.write_backs_need_sync()) {
            return;
        }
        self.durability.stop();
        self.commands.journal_stops();
    }

    /// The slow device cannot be synced: the cache ends, but not cleanly.
    pub(in super::super) fn stop_fails<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(tag) = self.commands.give_up_stop(false) {
            turn.out.answers.push((tag, Err(Failure::Medium)));
        }
    }

    /// The slow device does not take what is dirty: the user who waits for the end of the write-back gets an error, and
    /// may stop without.
    pub(in super::super) fn drain_fails<M: Memory>(&mut self, turn: &mut Turn<M>) {
        if let Some(tag) = self.commands.give_up_stop(true) {
            let stay = self.contents.dirty() - self.contents.lost();
            let what = format!(
                "{stay} blocks stay dirty, because the slow device fails to take them: they are safe in the cache"
            );
            self.notify(turn, what);
            self.fail_on_demand(turn);
            turn.out.answers.push((tag, Err(Failure::Medium)));
        }
    }
}

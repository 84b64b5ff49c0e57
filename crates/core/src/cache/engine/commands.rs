//! Commands that were asked for and have not ended: loads, another size, the stop.

use std::collections::VecDeque;

use crate::cache::Block;

/// Runs of blocks that are read at once for a command.
const LOADS_MAX: u32 = 4;

/// A range that is read into the cache.
struct Load {
    tag: u64,
    next: Block,
    end: Block,
    under_way: u32,
    failed: bool,
}

/// The stop of the cache.
struct Stop {
    tag: u64,
    drain: bool,
    /// The journal is stopping.
    journal_stops: bool,
}

/// How far the stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    /// What is dirty goes back first, if `drain`; then what is under way ends.
    Waiting {
        /// Write back first.
        drain: bool,
    },
    /// The journal is being ended.
    Ending,
}

/// What `Commands::stop` makes of a stop that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopAsked {
    /// It begins.
    Begins,
    /// It takes the place of this one, whose user gave up waiting for the write-back.
    Replaces(u64),
    /// Another one is under way.
    Refused,
}

/// Commands under way.
#[derive(Default)]
pub(super) struct Commands {
    loads: VecDeque<Load>,
    resize: Option<u64>,
    stop: Option<Stop>,
    /// A stop was asked for: nothing else begins any more.
    closed: bool,
}

impl Commands {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.loads.len() + usize::from(self.resize.is_some()) + usize::from(self.stop.is_some())
    }

    /// A stop was asked for: nothing else begins any more.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Blocks from `from` to before `end` are to be read into the cache.
    pub(super) fn load(&mut self, tag: u64, (from, end): (Block, Block)) {
        self.loads.push_back(Load { tag, next: from, end, under_way: 0, failed: false });
    }

    /// What is left to be loaded of the first load: the next block and the one before which it ends.
    pub(super) fn loading(&self) -> Option<(Block, Block)> {
        self.loads.front().map(|load| (load.next, load.end))
    }

    /// Runs of the first load that are being read.
    pub(super) fn loads_under_way(&self) -> u32 {
        self.loads.front().map_or(0, |load| load.under_way)
    }

    /// Whether one run more may be read.
    pub(super) fn may_load(&self) -> bool {
        self.loads_under_way() < LOADS_MAX
    }

    /// The next block of the first load need not be read.
    pub(super) fn skip(&mut self) {
        if let Some(load) = self.loads.front_mut() {
            load.next = load.next + 1;
        }
    }

    /// So many blocks of the first load are being read.
    pub(super) fn load_begins(&mut self, blocks: u32) {
        if let Some(load) = self.loads.front_mut() {
            load.next = load.next + blocks;
            load.under_way += 1;
        }
    }

    /// A run was read; not `all`: some of it is not in the cache.
    pub(super) fn load_ended(&mut self, all: bool) {
        if let Some(load) = self.loads.front_mut() {
            load.under_way -= 1;
            load.failed |= !all;
        }
    }

    /// Takes the first load, which is over: whose it is, and whether all of it came in.
    pub(super) fn end_load(&mut self) -> Option<(u64, bool)> {
        let load = self.loads.pop_front()?;
        Some((load.tag, !load.failed && load.next >= load.end))
    }

    /// Another size is asked for; false: another one is under way.
    pub(super) fn resize(&mut self, tag: u64) -> bool {
        let begins = self.resize.is_none();
        if begins {
            self.resize = Some(tag);
        }
        begins
    }

    /// Whether a resize is under way.
    pub(super) fn is_resizing(&self) -> bool {
        self.resize.is_some()
    }

    /// Takes the resize, which is over.
    pub(super) fn end_resize(&mut self) -> Option<u64> {
        self.resize.take()
    }

    /// The stop is asked for.
    pub(super) fn stop(&mut self, tag: u64, drain: bool) -> StopAsked {
        match &mut self.stop {
            Some(stop) if !drain && stop.drain => {
                let before = std::mem::replace(stop, Stop { tag, drain, journal_stops: false });
                StopAsked::Replaces(before.tag)
            }
            Some(_) => StopAsked::Refused,
            None => {
                self.closed = true;
                self.stop = Some(Stop { tag, drain, journal_stops: false });
                StopAsked::Begins
            }
        }
    }

    /// How far the stop has come.
    pub(super) fn stopping(&self) -> Option<Stopping> {
        let stop = self.stop.as_ref()?;
        Some(if stop.journal_stops { Stopping::Ending } else { Stopping::Waiting { drain: stop.drain } })
    }

    /// Whether the stop waits for everything to be written back.
    pub(super) fn is_draining(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.drain)
    }

    /// The journal begins to stop.
    pub(super) fn journal_stops(&mut self) {
        if let Some(stop) = &mut self.stop {
            stop.journal_stops = true;
        }
    }

    /// Takes the stop, which is over.
    pub(super) fn end_stop(&mut self) -> Option<u64> {
        self.stop.take().map(|stop| stop.tag)
    }

    /// Gives up the stop, unless the journal is stopping. `draining`: only if it waits for the write-back.
    pub(super) fn give_up_stop(&mut self, draining: bool) -> Option<u64> {
        self.stop.take_if(|stop| !stop.journal_stops && (stop.drain || !draining)).map(|stop| stop.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_in_runs() {
        let mut commands = Commands::default();
        commands.load(1, (Block(3), Block(9)));
        commands.skip();
        commands.load_begins(2);
        assert_eq!((commands.loading(), commands.loads_under_way()), (Some((Block(6), Block(9))), 1));
        commands.load_begins(3);
        commands.load_ended(true);
        commands.load_ended(true);
        assert_eq!((commands.end_load(), commands.end_load()), (Some((1, true)), None));
        commands.load(2, (Block(0), Block(1)));
        assert_eq!(commands.end_load(), Some((2, false)), "its end was not reached");
    }

    #[test]
    fn a_stop_that_drains_gives_way_to_one_that_does_not() {
        let mut commands = Commands::default();
        assert!(commands.stop(1, true) == StopAsked::Begins && commands.is_draining() && commands.is_closed());
        assert_eq!(commands.stop(2, true), StopAsked::Refused);
        assert_eq!(commands.stop(3, false), StopAsked::Replaces(1));
        assert_eq!((commands.stop(4, false), commands.give_up_stop(true)), (StopAsked::Refused, None));
        assert_eq!(commands.stopping(), Some(Stopping::Waiting { drain: false }));
        commands.journal_stops();
        assert_eq!((commands.stopping(), commands.give_up_stop(false)), (Some(Stopping::Ending), None));
        assert_eq!((commands.end_stop(), commands.len(), commands.is_closed()), (Some(3), 0, true));
    }

    #[test]
    fn one_resize_at_a_time() {
        let mut commands = Commands::default();
        assert!(commands.resize(1) && !commands.resize(2) && commands.is_resizing());
        assert_eq!((commands.end_resize(), commands.len()), (Some(1), 0));
    }
}

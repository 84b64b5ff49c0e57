//! Write-back: when dirty blocks go back to the slow device, which, and what is known of those under way.
//!
//! Too much is dirty, a block is dirty for too long, nobody touched it, nobody is there, or a user asked. `next` says what
//! goes next; the engine does its IOs and reports how they ended.

mod by_age;
mod epochs;
mod fallow;
mod flights;
mod order;
mod pace;
mod queue;
mod refusals;
mod run;
mod schedule;
mod sets;
mod sweep;
#[cfg(test)]
mod tests;
mod under_way;
mod units;
mod users;

pub(super) use flights::Flight;
pub(super) use run::{Run, to_write_back};
pub(super) use units::{UNIT_S, units};

use by_age::ByAge;
use epochs::Epochs;
use fallow::Fallow;
use flights::Flights;
use pace::Pace;
use refusals::Refusals;
use sets::Sets;
use sweep::Sweep;
use users::Users;

use super::contents::Contents;
use super::durability::SlowSeq;
use crate::cache::{Block, Settings};

/// What write-back knows and remembers.
pub(super) struct WriteBack {
    /// Dirty blocks, by the order in which they go back: of flushes, of age, or of addresses.
    epochs: Epochs,
    by_age: ByAge,
    sweep: Sweep,
    sets: Sets,
    fallow: Fallow,
    /// Blocks that something waits for.
    urgent: Vec<Block>,
    pace: Pace,
    users: Users,
    flights: Flights,
    refusals: Refusals,
}

/// How things stand for write-back.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) now_ns: u64,
    pub(super) settings: &'a Settings,
    /// Blocks of a run at most.
    pub(super) run_blocks: u32,
    /// Everything must go: the fast device failed, the cache is being drained, or writes wait for slots.
    pub(super) all_must_go: bool,
    /// The slow device is durable up to here.
    pub(super) slow_synced: SlowSeq,
}

/// What goes back next.
pub(super) enum Next {
    /// This run.
    Run(Run),
    /// This run, because nobody touched it.
    Fallow(Run),
    /// Nothing of what was looked at; look again.
    Others,
    /// Nothing.
    Nothing,
}

impl WriteBack {
    /// Of a cache that holds these dirty blocks, which go by age.
    pub(super) fn new(oldest_first: Vec<Block>, contents: &mut Contents, now_ns: u64) -> Self {
        let mut by_age = ByAge::default();
        by_age.restart(oldest_first, contents);
        Self {
            epochs: Epochs::default(),
            by_age,
            sweep: Sweep::default(),
            sets: Sets::default(),
            fallow: Fallow::default(),
            urgent: Vec::new(),
            pace: Pace::default(),
            users: Users::new(now_ns),
            flights: Flights::default(),
            refusals: Refusals::default(),
        }
    }

    /// Memory that grows with the slots, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.by_age.bytes() + self.epochs.bytes() + self.sweep.bytes() + self.sets.bytes()
    }
}

impl std::fmt::Display for WriteBack {
    /// Where it stands, for tests that fail.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "write-backs {} at work {} unsynced {} resume {} rate {:?} queue {} urgent {} {}",
            self.flights.len(),
            self.flights.at_work(),
            self.flights.unsynced(),
            self.refusals.resume_ns(),
            self.pace.rate(),
            self.by_age.len(),
            self.urgent.len(),
            self.epochs,
        )
    }
}

#[cfg(test)]
impl WriteBack {
    /// Every version of an epoch is counted, and stands where it will be found.
    pub(super) fn check_epochs(&self, contents: &Contents) {
        self.epochs.check(contents);
    }

    /// What the hand counts is what there is.
    pub(super) fn check_sweep(&self, contents: &Contents) {
        self.sweep.check(contents);
    }
}

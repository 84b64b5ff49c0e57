//! Who writes pages when no thread has to: the master thread or the page cleaner, and the policy that they ask.

use super::generation::Generation;
use super::log::Ages;
use super::settings::Settings;

mod cleaner;
mod master;
mod rounds;

pub(super) use cleaner::{Cleaner, Sight, Task};
pub(super) use master::{Master, SECOND_NS, Wish};
pub(super) use rounds::Rounds;

/// The thread that writes in the background.
#[derive(Debug)]
pub(super) enum Background {
    Master(Master),
    Cleaner(Cleaner),
}

impl Background {
    /// The thread of a server whose log has these limits.
    pub(super) fn of_server(generation: Generation, settings: &Settings, ages: &Ages) -> Self {
        match generation {
            Generation::Master(generation) => Self::Master(Master::new(generation, settings)),
            Generation::Cleaner(generation) => Self::Cleaner(Cleaner::new(generation, settings, ages)),
        }
    }
}

//! Changes of settings, which are made one after the other.

use std::collections::VecDeque;
use std::path::Path;

use flatwater_core::cache::Change;
use flatwater_real::cache::Port;

use crate::fuse::cached::files::RECORD;

/// A change that somebody has written to a setting's file.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The write that asks for it, and its length.
    pub(super) unique: u64,
    pub(super) bytes: u32,
    pub(super) change: Change,
}

/// What becomes of a change.
pub(super) enum Begun {
    /// It is made, or refused for this reason.
    Ended(Result<(), String>),
    /// The engine makes it.
    Sent(Change),
}

/// The changes that are not made yet; the first is being made.
#[derive(Debug, Default)]
pub(super) struct Changes(VecDeque<Wanted>);

impl Changes {
    /// One more; true if nothing is before it.
    pub(super) fn push(&mut self, wanted: Wanted) -> bool {
        self.0.push_back(wanted);
        self.0.len() == 1
    }

    /// The first.
    pub(super) fn first(&self) -> Option<Wanted> {
        self.0.front().cloned()
    }

    /// The first has ended.
    pub(super) fn end_first(&mut self) {
        self.0.pop_front();
    }
}

/// Makes a change as far as it is no matter of the engine's.
pub(super) fn begin(port: &mut Port<'_>, change: Change) -> Begun {
    if change.name == RECORD {
        let path = Some(change.value.as_str()).filter(|value| !matches!(*value, "off" | ""));
        return Begun::Ended(match path {
            Some(path) if !path.starts_with('/') => Err("it must be a whole path, or off".to_owned()),
            path => port.record(path.map(Path::new)),
        });
    }
    // Asked of a copy first: the engine only says that it does not like it.
    let tried = port.settings().cloned().map(|mut settings| settings.change(&change).and_then(|()| settings.check()));
    match tried {
        Some(Err(why)) => Begun::Ended(Err(why)),
        _ => Begun::Sent(change),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_is_made_at_a_time() {
        let wanted = |unique| Wanted { unique, bytes: 1, change: Change { name: "mode".into(), value: "1".into() } };
        let mut changes = Changes::default();
        assert!(changes.push(wanted(1)) && !changes.push(wanted(2)));
        assert_eq!(changes.first().map(|first| first.unique), Some(1));
        changes.end_first();
        assert_eq!(changes.first().map(|first| first.unique), Some(2));
        changes.end_first();
        assert!(changes.first().is_none() && changes.push(wanted(3)));
    }
}

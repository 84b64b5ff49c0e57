//! What may come into the cache: not what a process or a stream reads or writes that passes by, and with `second-hit` only
//! what was missed before.

use super::sequential::Streams;
use crate::cache::ghost::Ghost;
use crate::cache::{self, Block, Request, Settings};

/// Blocks that were missed once, and the streams.
pub(super) struct Admission {
    missed: Ghost,
    streams: Streams,
}

/// Whether the misses of a request come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// They do.
    ComesIn,
    /// They pass by: its process may not.
    Denied,
    /// They pass by: it continues a long stream.
    Streams,
}

/// Blocks that are remembered as missed once: a quarter of the slots, which costs 1.2 B a slot.
fn missed(settings: &Settings, slots: u32) -> Ghost {
    Ghost::new(if settings.admission == cache::Admission::SecondHit { (slots / 4).max(16) } else { 0 })
}

impl Admission {
    /// For a cache of so many slots.
    pub(super) fn new(settings: &Settings, slots: u32) -> Self {
        Self { missed: missed(settings, slots), streams: Streams::new() }
    }

    /// Forgets what was missed.
    pub(super) fn forget(&mut self, settings: &Settings, slots: u32) {
        self.missed = missed(settings, slots);
    }

    /// Memory, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.missed.bytes()
    }

    /// Whether a request's misses come in.
    pub(super) fn passage(&mut self, settings: &Settings, request: &Request) -> Passage {
        let (allow, deny) = (&settings.allow_processes, &settings.deny_processes);
        if !allow.is_empty() && !allow.contains(&request.process) || deny.contains(&request.process) {
            return Passage::Denied;
        }
        let threshold = settings.sequential_bytes;
        if threshold != 0 && self.streams.length(request.offset, u64::from(request.bytes)) >= threshold {
            return Passage::Streams;
        }
        Passage::ComesIn
    }

    /// Whether a block that was missed comes in. `all`: there are slots for everything.
    pub(super) fn admits(&mut self, settings: &Settings, block: Block, all: bool) -> bool {
        if settings.admission == cache::Admission::All || all || self.missed.take(block) {
            return true;
        }
        self.missed.put(block);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Kind;

    fn request(offset: u64, process: u32) -> Request {
        Request { tag: 0, kind: Kind::Read, offset, bytes: 4096, durable: false, process }
    }

    #[test]
    fn a_block_comes_in_at_its_second_miss() {
        let settings = Settings { admission: cache::Admission::SecondHit, ..Settings::default() };
        let mut admission = Admission::new(&settings, 100);
        let mut admits = |block, all| admission.admits(&settings, Block(block), all);
        assert_eq!(
            [admits(1, false), admits(2, false), admits(1, false), admits(1, false)],
            [false, false, true, false]
        );
        assert!(admits(3, true));
        admission.forget(&settings, 100);
        assert!(!admission.admits(&settings, Block(2), false));
    }

    #[test]
    fn processes_and_streams_pass_by() {
        let settings = Settings { deny_processes: vec![7], sequential_bytes: 8192, ..Settings::default() };
        let mut admission = Admission::new(&settings, 100);
        let mut passage = |offset, process| admission.passage(&settings, &request(offset, process));
        assert_eq!(
            [passage(0, 1), passage(4096, 1), passage(0, 7)],
            [Passage::ComesIn, Passage::Streams, Passage::Denied]
        );
        let settings = Settings { allow_processes: vec![7], ..settings };
        assert_eq!(admission.passage(&settings, &request(1 << 20, 1)), Passage::Denied);
    }
}

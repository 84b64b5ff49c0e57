//! Passes: a batch in one instance after another, as buf_flush_list goes over them; or in several at a time.

use flatwater_core::slab::Slab;

use super::super::ids::PassId;
use super::kind::{Ended, Kind, Owner};

/// A pass.
#[derive(Debug)]
struct Pass {
    kind: Kind,
    /// Pages of each instance.
    each: u64,
    next: usize,
    /// Batches that each instance may have one after another; how many the last one may have still; and whether it has
    /// one more.
    rounds: u64,
    rounds_left: u64,
    again: bool,
    /// How many instances at a time; and how many are under way.
    width: u32,
    under_way: u32,
    written: u64,
    skipped: bool,
    owner: Owner,
}

/// What a pass does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It waits for its batches.
    Wait,
    /// It starts a batch of so many pages in this instance.
    Start { instance: usize, kind: Kind, each: u64 },
    /// It has ended.
    End(Ended),
}

/// The passes that are under way.
#[derive(Debug)]
pub(super) struct Passes(Slab<Pass, PassId>);

impl Passes {
    /// No passes yet.
    pub(super) const fn new() -> Self {
        Self(Slab::new())
    }

    /// Starts a pass over all instances, `width` at a time; or one after another, where each has up to so many `rounds`.
    pub(super) fn start(&mut self, kind: Kind, each: u64, rounds: u64, width: u32, owner: Owner) -> PassId {
        let width = if rounds > 1 { 1 } else { width.max(1) };
        self.0.insert(Pass {
            kind,
            each,
            next: 0,
            rounds,
            rounds_left: 0,
            again: false,
            width,
            under_way: 0,
            written: 0,
            skipped: false,
            owner,
        })
    }

    /// What a pass over so many instances does next.
    pub(super) fn next(&mut self, id: PassId, instances: usize) -> Next {
        let pass = &mut self.0[id];
        if pass.under_way == pass.width || pass.next == instances && pass.under_way > 0 {
            return Next::Wait;
        }
        if std::mem::take(&mut pass.again) {
            pass.rounds_left -= 1;
            return Next::Start { instance: pass.next - 1, kind: pass.kind, each: pass.each };
        }
        if pass.next == instances {
            let pass = self.0.remove(id);
            return Next::End(Ended { owner: pass.owner, written: pass.written, skipped: pass.skipped });
        }
        pass.next += 1;
        pass.rounds_left = pass.rounds - 1;
        Next::Start { instance: pass.next - 1, kind: pass.kind, each: pass.each }
    }

    /// It leaves an instance out, because another batch is in its list.
    pub(super) fn skip(&mut self, id: PassId) {
        self.0[id].skipped = true;
    }

    /// One of its batches begins.
    pub(super) fn begin_batch(&mut self, id: PassId) {
        self.0[id].under_way += 1;
    }

    /// One of its batches has ended, with so many pages written.
    pub(super) fn end_batch(&mut self, id: PassId, written: u64) {
        let pass = &mut self.0[id];
        pass.under_way -= 1;
        pass.written += written;
        // A round that wrote nothing was the last.
        pass.again = pass.rounds_left > 0 && written > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind::Lru;

    #[test]
    fn a_pass_has_as_many_batches_as_its_width_and_ends_after_the_last() {
        let mut passes = Passes::new();
        let pass = passes.start(KIND, 7, 1, 2, Owner::Cleaner);
        let start = |instance| Next::Start { instance, kind: KIND, each: 7 };
        for instance in [0, 1] {
            assert_eq!(passes.next(pass, 3), start(instance));
            passes.begin_batch(pass);
        }
        assert_eq!(passes.next(pass, 3), Next::Wait);
        passes.end_batch(pass, 5);
        assert_eq!(passes.next(pass, 3), start(2));
        passes.skip(pass);
        assert_eq!(passes.next(pass, 3), Next::Wait, "one is still under way");
        passes.end_batch(pass, 6);
        assert_eq!(passes.next(pass, 3), Next::End(Ended { owner: Owner::Cleaner, written: 11, skipped: true }));
        assert!(passes.0.is_empty());
    }

    #[test]
    fn an_instance_has_its_rounds_until_one_writes_nothing() {
        let mut passes = Passes::new();
        let pass = passes.start(KIND, 250, 3, 4, Owner::Cleaner);
        let start = |instance| Next::Start { instance, kind: KIND, each: 250 };
        for (instance, written) in [(0, 100), (0, 100), (0, 50), (1, 100), (1, 0), (2, 100)] {
            assert_eq!(passes.next(pass, 4), start(instance));
            passes.begin_batch(pass);
            assert_eq!(passes.next(pass, 4), Next::Wait, "one instance at a time");
            passes.end_batch(pass, written);
        }
        assert_eq!(passes.next(pass, 4), start(2), "nothing to write there any more: no batch begins");
        assert_eq!(passes.next(pass, 4), start(3));
        passes.begin_batch(pass);
        passes.end_batch(pass, 0);
        assert_eq!(passes.next(pass, 4), Next::End(Ended { owner: Owner::Cleaner, written: 450, skipped: false }));
    }
}

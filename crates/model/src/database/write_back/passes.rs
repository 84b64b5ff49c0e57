//! Passes: a batch in one instance after another, as buf_flush_list goes over them; or in several at a time.

use flatwater_core::slab::Slab;

use super::super::ids::PassId;
use super::batches::{Ended, Kind, Owner};

/// A pass.
#[derive(Debug)]
struct Pass {
    kind: Kind,
    /// Pages of each instance.
    each: u64,
    next: usize,
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

    /// Starts a pass over all instances, `width` at a time.
    pub(super) fn start(&mut self, kind: Kind, each: u64, width: u32, owner: Owner) -> PassId {
        let width = width.max(1);
        self.0.insert(Pass { kind, each, next: 0, width, under_way: 0, written: 0, skipped: false, owner })
    }

    /// What a pass over so many instances does next.
    pub(super) fn next(&mut self, id: PassId, instances: usize) -> Next {
        let pass = &mut self.0[id];
        if pass.under_way == pass.width || pass.next == instances && pass.under_way > 0 {
            return Next::Wait;
        }
        if pass.next == instances {
            let pass = self.0.remove(id);
            return Next::End(Ended { owner: pass.owner, written: pass.written, skipped: pass.skipped });
        }
        pass.next += 1;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind::Lru;

    #[test]
    fn a_pass_has_as_many_batches_as_its_width_and_ends_after_the_last() {
        let mut passes = Passes::new();
        let pass = passes.start(KIND, 7, 2, Owner::Cleaner);
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
}

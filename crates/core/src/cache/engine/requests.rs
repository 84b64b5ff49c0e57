//! Requests under way: cut into parts of one block, each answered when all its parts have ended.

use std::collections::VecDeque;

use super::addresses::Addresses;
use super::keys::RequestId;
use crate::cache::{Block, Failure, Kind, Lsn, Place, Request};
use crate::slab::Slab;

/// Parts of one request under way at once: a request of any length goes through in steps.
const PARTS_MAX: u32 = 64;

/// What a request wants of one block (or of a run of blocks, where they go past the cache together).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Whose.
    pub(super) request: RequestId,
    /// The (first) block.
    pub(super) block: Block,
    /// First byte in it.
    pub(super) from: u32,
    /// Length.
    pub(super) bytes: u32,
    /// Where in the request's memory.
    pub(super) at: u32,
}

/// A request under way.
struct UnderWay {
    request: Request,
    since_ns: u64,
    /// Bytes that were cut into parts.
    cut: u32,
    /// Parts under way.
    parts: u32,
    failure: Option<Failure>,
    /// Its misses do not come in: its process or its stream may not.
    passes: bool,
    /// The record that must be written before the answer, or durable, as is acknowledged.
    lsn: Lsn,
    /// It is being cut further up the stack.
    busy: bool,
    /// All its parts ended.
    done: bool,
}

impl UnderWay {
    fn is_cut(&self) -> bool {
        self.cut == self.request.bytes
    }
}

/// All parts of a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AllEnded;

/// A request that is to be answered.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) tag: u64,
    pub(super) kind: Kind,
    pub(super) since_ns: u64,
    pub(super) result: Result<(), Failure>,
}

/// Requests under way.
#[derive(Default)]
pub(super) struct Requests {
    under_way: Slab<UnderWay, RequestId>,
    /// Requests of which more may be cut.
    unfinished: Vec<RequestId>,
    /// Parts of writes that wait for a slot or for room in the journal. Their blocks are locked.
    starved: VecDeque<Part>,
    due: bool,
}

impl Requests {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether something changed after which others may go on.
    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// Takes a request. `passes`: its misses do not come in.
    #[inline]
    pub(super) fn accept(&mut self, request: Request, passes: bool, now_ns: u64) -> RequestId {
        self.under_way.insert(UnderWay {
            request,
            since_ns: now_ns,
            cut: 0,
            parts: 0,
            failure: None,
            passes,
            lsn: Lsn(0),
            busy: false,
            done: false,
        })
    }

    /// Begins to cut a request; false: it is being cut, or is done.
    #[inline]
    pub(super) fn begin_cutting(&mut self, id: RequestId) -> bool {
        let request = &mut self.under_way[id];
        let may = !request.busy && !request.done;
        request.busy |= may;
        may
    }

    /// The next part of a request, of one block, and how many bytes are left from its beginning. None: nothing is left, or
    /// as many parts are under way as may be.
    #[inline]
    pub(super) fn next_part(&mut self, id: RequestId, addresses: &Addresses) -> Option<(Part, u32)> {
        let request = &mut self.under_way[id];
        if request.is_cut() || request.parts >= PARTS_MAX {
            return None;
        }
        let offset = request.request.offset + u64::from(request.cut);
        let from = addresses.within_block(offset);
        let rest = request.request.bytes - request.cut;
        request.parts += 1;
        let bytes = (addresses.block_bytes() - from).min(rest);
        Some((Part { request: id, block: addresses.block_at(offset), from, bytes, at: request.cut }, rest))
    }

    /// So many bytes were taken on.
    #[inline]
    pub(super) fn cut(&mut self, id: RequestId, bytes: u32) {
        self.under_way[id].cut += bytes;
    }

    /// Ends the cutting of a request for now.
    #[inline]
    pub(super) fn end_cutting(&mut self, id: RequestId) -> Option<AllEnded> {
        let request = &mut self.under_way[id];
        request.busy = false;
        (request.parts == 0 && request.is_cut()).then_some(AllEnded)
    }

    /// A part of a request ended.
    #[inline]
    pub(super) fn part_ended(&mut self, id: RequestId, result: Result<(), Failure>) -> Option<AllEnded> {
        let request = &mut self.under_way[id];
        request.parts -= 1;
        if let Err(failure) = result {
            request.failure = Some(failure);
        }
        if request.parts == 0 && !request.busy && request.is_cut() {
            return Some(AllEnded);
        }
        if request.parts < PARTS_MAX / 2 && !request.is_cut() {
            self.unfinished.push(id);
            self.due = true;
        }
        None
    }

    /// A request of which more may be cut.
    pub(super) fn next_unfinished(&mut self) -> Option<RequestId> {
        while let Some(id) = self.unfinished.pop() {
            if self.under_way.contains(id) {
                return Some(id);
            }
        }
        None
    }

    /// Nothing of a request is left to be done. What must be durable before its answer: None if it failed or only read.
    #[inline]
    pub(super) fn done(&mut self, id: RequestId) -> Option<(Request, Lsn)> {
        let request = &mut self.under_way[id];
        request.done = true;
        let changed = request.failure.is_none() && request.request.kind != Kind::Read;
        changed.then_some((request.request, request.lsn))
    }

    /// The answer to a request waits for this record.
    #[inline]
    pub(super) fn waits_for(&mut self, id: RequestId, lsn: Lsn) {
        self.under_way[id].lsn = lsn;
    }

    /// A request fails: a device did.
    pub(super) fn fail(&mut self, id: RequestId) {
        self.under_way[id].failure = Some(Failure::Medium);
    }

    /// A request is to be answered now, and is not under way any more.
    #[inline]
    pub(super) fn answer(&mut self, id: RequestId) -> Answer {
        let UnderWay { request, since_ns, failure, .. } = self.under_way.remove(id);
        Answer { tag: request.tag, kind: request.kind, since_ns, result: failure.map_or(Ok(()), Err) }
    }

    /// Whether the misses of a request do not come in.
    #[inline]
    pub(super) fn passes(&self, id: RequestId) -> bool {
        self.under_way[id].passes
    }

    /// The memory of a part.
    #[inline]
    pub(super) fn place(&self, part: &Part) -> Place {
        Place::Request { tag: self.under_way[part.request].request.tag, at: part.at }
    }

    /// The kind of request that a part belongs to.
    #[inline]
    pub(super) fn kind(&self, part: &Part) -> Kind {
        self.under_way[part.request].request.kind
    }

    /// Parts of writes that wait for a slot or for room in the journal.
    #[inline]
    pub(super) fn starved(&self) -> usize {
        self.starved.len()
    }

    /// A part of a write waits for a slot or for room in the journal.
    pub(super) fn starve(&mut self, part: Part) {
        self.starved.push_back(part);
    }

    /// The part that waits longest for a slot, to be tried.
    pub(super) fn next_starved(&mut self) -> Option<Part> {
        self.starved.pop_front()
    }

    /// What `next_starved` gave waits on, before all others.
    pub(super) fn starves_on(&mut self, part: Part) {
        self.starved.push_front(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::journal::recovery::{Layout, Recovered};

    fn addresses() -> Addresses {
        let layout = Layout { uuid: [1; 16], fast_bytes: 4 << 20, slow_bytes: 64 << 20, block_bytes: 4096 };
        Addresses::new(Recovered::fresh(layout).geometry)
    }

    fn request(kind: Kind, offset: u64, bytes: u32) -> Request {
        Request { tag: 9, kind, offset, bytes, durable: false, process: 0 }
    }

    /// Cuts as far as parts may be under way.
    fn cut(requests: &mut Requests, id: RequestId) -> Vec<Part> {
        assert!(requests.begin_cutting(id) && !requests.begin_cutting(id));
        let mut parts = Vec::new();
        while let Some((part, rest)) = requests.next_part(id, &addresses()) {
            assert!(rest >= part.bytes);
            requests.cut(id, part.bytes);
            parts.push(part);
        }
        assert_eq!(requests.end_cutting(id), None);
        parts
    }

    #[test]
    fn parts_lie_in_one_block_each() {
        let mut requests = Requests::default();
        let id = requests.accept(request(Kind::Write, 3 * 4096 + 512, 8192), false, 5);
        let parts: Vec<_> =
            cut(&mut requests, id).iter().map(|part| (part.block.0, part.from, part.bytes, part.at)).collect();
        assert_eq!(parts, [(3, 512, 3584, 0), (4, 0, 4096, 3584), (5, 0, 512, 7680)]);
        let ended: Vec<_> = (0..3).map(|_| requests.part_ended(id, Ok(()))).collect();
        assert_eq!(ended, [None, None, Some(AllEnded)]);
        requests.waits_for(id, Lsn(4));
        assert_eq!(requests.done(id).map(|(_, lsn)| lsn), Some(Lsn(4)));
        assert!(!requests.begin_cutting(id), "it is done");
        assert_eq!(requests.answer(id), Answer { tag: 9, kind: Kind::Write, since_ns: 5, result: Ok(()) });
        assert_eq!(requests.len(), 0);
    }

    #[test]
    fn a_long_request_goes_through_in_steps() {
        let mut requests = Requests::default();
        let id = requests.accept(request(Kind::Read, 0, 100 * 4096), false, 0);
        assert_eq!(cut(&mut requests, id).len(), 64);
        for _ in 0..32 {
            assert_eq!((requests.part_ended(id, Ok(())), requests.take_due()), (None, false));
        }
        assert_eq!((requests.part_ended(id, Err(Failure::Medium)), requests.take_due()), (None, true));
        assert_eq!((requests.next_unfinished(), requests.next_unfinished()), (Some(id), None));
        assert_eq!(cut(&mut requests, id).len(), 33);
        (0..64).for_each(|_| assert_eq!(requests.part_ended(id, Ok(())), None));
        assert_eq!(cut(&mut requests, id).len(), 3);
        let ended: Vec<_> = (0..3).map(|_| requests.part_ended(id, Ok(()))).collect();
        assert_eq!((ended, requests.done(id)), (vec![None, None, Some(AllEnded)], None));
        assert_eq!(requests.answer(id).result, Err(Failure::Medium));
    }
}

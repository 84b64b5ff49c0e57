//! Requests that are not whole sectors. They are served by requests of whole sectors, which are read, merged and written. Those
//! that write are served one after the other.

use std::collections::VecDeque;

use flatwater_core::cache::{Failure, Kind};
use flatwater_core::slab::Slab;

use super::ask::{Answer, Ask, STEP, UnalignedId};
use super::memory::{Held, Requests};
use super::pool::{Buffer, Region};

/// Offsets and lengths of the engine's requests are multiples of this.
pub const SECTOR_BYTES: u32 = 512;

/// A piece of an unaligned request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    kind: Kind,
    offset: u64,
    bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The next piece begins.
    Begin,
    /// The sectors are being read. Then they are merged with the data of the write.
    Reading,
    /// The last request of the piece is under way.
    Ending,
}

/// An unaligned request under way.
#[derive(Clone, Debug)]
struct Step {
    source: u8,
    key: u64,
    ask: Ask,
    pieces: VecDeque<Piece>,
    stage: Stage,
    buffer: Option<Buffer>,
    result: Result<(), Failure>,
}

/// The unaligned requests under way.
#[derive(Debug, Default)]
pub struct Unaligned {
    steps: Slab<Step, UnalignedId>,
    /// Those that write. The first one is being served, and the others wait for it.
    writers: VecDeque<UnalignedId>,
    /// The request of whole sectors that comes next.
    next: Option<(Held, Ask)>,
}

/// The whole sectors that cover a range.
fn covering(offset: u64, bytes: u32) -> (u64, u32) {
    let sector = u64::from(SECTOR_BYTES);
    let begin = offset / sector * sector;
    let end = (offset + u64::from(bytes)).next_multiple_of(sector);
    (begin, (end - begin) as u32)
}

/// The pieces of a request. A read or a write is one piece. The edges of zeros and trims are written, and the whole sectors
/// between them are a piece of the same kind.
fn pieces(ask: &Ask) -> VecDeque<Piece> {
    let Ask { kind, offset, bytes, .. } = *ask;
    if matches!(kind, Kind::Read | Kind::Write) {
        return [Piece { kind, offset, bytes }].into();
    }
    let sector = u64::from(SECTOR_BYTES);
    let end = offset + u64::from(bytes);
    let (from, to) = (offset.next_multiple_of(sector), end / sector * sector);
    let mut pieces = VecDeque::new();
    if from > to {
        pieces.push_back(Piece { kind: Kind::Write, offset, bytes });
    } else {
        let edge = |from: u64, to: u64| Piece { kind: Kind::Write, offset: from, bytes: (to - from) as u32 };
        pieces.extend([edge(offset, from), edge(to, end), Piece { kind, ..edge(from, to) }]);
    }
    // A trimmed range may keep its content.
    pieces.retain(|piece| piece.bytes > 0 && !(kind == Kind::Trim && piece.kind == Kind::Write));
    pieces
}

impl Unaligned {
    /// Takes a request. Returns its id if it need not wait for another.
    pub fn begin(&mut self, source: u8, key: u64, ask: Ask) -> Option<UnalignedId> {
        let step = Step { source, key, ask, pieces: pieces(&ask), stage: Stage::Begin, buffer: None, result: Ok(()) };
        let id = self.steps.insert(step);
        if ask.kind != Kind::Read {
            self.writers.push_back(id);
            return (self.writers.front() == Some(&id)).then_some(id);
        }
        Some(id)
    }

    /// Notes the result of the last request of whole sectors.
    pub fn note_result(&mut self, id: UnalignedId, result: Result<(), Failure>) {
        self.steps[id].result = result;
    }

    /// Takes the request of whole sectors that the last `advance` made.
    pub fn take_request(&mut self) -> Option<(Held, Ask)> {
        self.next.take()
    }

    /// Advances a request: makes its next request of whole sectors, or answers it. Returns the id of one that waited for the
    /// answer.
    pub fn advance(
        &mut self,
        id: UnalignedId,
        memory: &mut Requests,
        answers: &mut VecDeque<Answer>,
    ) -> Option<UnalignedId> {
        let step = &mut self.steps[id];
        if step.stage == Stage::Reading && step.result.is_ok() {
            step.stage = Stage::Ending;
            self.next = Some(step.write(id));
            return None;
        }
        if step.stage != Stage::Begin {
            step.end_piece(memory);
        }
        if step.result.is_ok() && !step.pieces.is_empty() {
            self.next = Some(step.begin_piece(id, memory));
            return None;
        }
        let step = self.steps.remove(id);
        answers.push_back((step.source, step.key, step.result));
        if self.writers.front() == Some(&id) {
            self.writers.pop_front();
            return self.writers.front().copied();
        }
        None
    }
}

impl Step {
    fn request(&self, id: UnalignedId, kind: Kind, range: (u64, u32), memory: Region) -> (Held, Ask) {
        let held = Held { source: STEP, key: 0, memory, unaligned: Some(id) };
        (held, Ask { kind, offset: range.0, bytes: range.1, memory, ..self.ask })
    }

    fn begin_piece(&mut self, id: UnalignedId, memory: &mut Requests) -> (Held, Ask) {
        let Piece { kind, offset, bytes } = self.pieces[0];
        if !matches!(kind, Kind::Read | Kind::Write) {
            self.stage = Stage::Ending;
            return self.request(id, kind, (offset, bytes), Region::NONE);
        }
        let range = covering(offset, bytes);
        let buffer = memory.take_buffer(range.1);
        self.buffer = Some(buffer);
        // Whole sectors whose memory is not aligned need no merging.
        if kind == Kind::Write && range == (offset, bytes) {
            self.stage = Stage::Ending;
            return self.write(id);
        }
        self.stage = if kind == Kind::Read { Stage::Ending } else { Stage::Reading };
        self.request(id, Kind::Read, range, buffer.region.part(0, range.1))
    }

    /// The memory of the piece within the sectors.
    fn inner(&self) -> Option<Region> {
        let Piece { offset, bytes, .. } = self.pieces[0];
        Some(self.buffer?.region.part((offset - covering(offset, bytes).0) as u32, bytes))
    }

    /// The request that writes the piece with the sectors around it.
    fn write(&self, id: UnalignedId) -> (Held, Ask) {
        let Piece { offset, bytes, .. } = self.pieces[0];
        let range = covering(offset, bytes);
        let Some((inner, buffer)) = self.inner().zip(self.buffer) else {
            return self.request(id, Kind::Flush, (0, 0), Region::NONE);
        };
        // SAFETY: the inner region is as long as the piece. The memory of the source is as long as its request, and a write
        // is one piece.
        unsafe {
            if self.ask.kind == Kind::Write {
                std::ptr::copy_nonoverlapping(self.ask.memory.part(0, bytes).pointer, inner.pointer, bytes as usize);
            } else {
                inner.pointer.write_bytes(0, bytes as usize);
            }
        }
        self.request(id, Kind::Write, range, buffer.region.part(0, range.1))
    }

    fn end_piece(&mut self, memory: &mut Requests) {
        if let Some(inner) = self.inner()
            && self.ask.kind == Kind::Read
            && self.result.is_ok()
        {
            let to = self.ask.memory.part(0, inner.bytes);
            // SAFETY: both are as long as the request, and they do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(inner.pointer, to.pointer, inner.bytes as usize) };
        }
        if let Some(buffer) = self.buffer.take() {
            memory.give_buffer(buffer.number);
        }
        self.pieces.pop_front();
        self.stage = Stage::Begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: Kind, offset: u64, bytes: u32) -> Ask {
        Ask { kind, offset, bytes, durable: false, process: 0, memory: Region::NONE }
    }

    fn ranges(kind: Kind, offset: u64, bytes: u32) -> Vec<(Kind, u64, u32)> {
        pieces(&ask(kind, offset, bytes)).into_iter().map(|piece| (piece.kind, piece.offset, piece.bytes)).collect()
    }

    #[test]
    fn sectors_cover_a_range() {
        assert_eq!(covering(0, 512), (0, 512));
        assert_eq!(covering(511, 2), (0, 1024));
        assert_eq!(covering(1000, 24), (512, 512));
    }

    #[test]
    fn zeros_are_written_at_the_edges_only() {
        use Kind::{Trim, Write, Zero};
        assert_eq!(ranges(Zero, 100, 2000), [(Write, 100, 412), (Write, 2048, 52), (Zero, 512, 1536)]);
        assert_eq!(ranges(Zero, 100, 200), [(Write, 100, 200)]);
        assert_eq!(ranges(Zero, 512, 600), [(Write, 1024, 88), (Zero, 512, 512)]);
        assert_eq!(ranges(Trim, 100, 2000), [(Trim, 512, 1536)]);
        assert_eq!(ranges(Trim, 100, 200), []);
    }
}

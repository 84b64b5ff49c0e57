//! Requests that are no whole sectors, made of such: read, merged, written. Two that write never overlap in time.

use std::collections::VecDeque;

use flatwater_core::cache::{Failure, Kind};

use super::ask::{Answer, Ask, STEP};
use super::memory::{Held, Requests};
use super::pool::{Buffer, Region};

/// What offsets and lengths of the engine's requests are multiples of.
pub const SECTOR_BYTES: u32 = 512;

/// A piece of an unaligned request: what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    kind: Kind,
    offset: u64,
    bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first piece begins next.
    Begin,
    /// The sectors are being read, to be merged with what is written.
    Reading,
    /// The last request of the piece is under way.
    Ending,
}

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

/// Those under way.
#[derive(Debug, Default)]
pub struct Unaligned {
    steps: Vec<Option<Step>>,
    free: Vec<u32>,
    /// Those that write: the first is at work, the others wait for it.
    writers: VecDeque<u32>,
    wanted: Option<(Held, Ask)>,
}

/// The whole sectors that a range lies in.
fn covering(offset: u64, bytes: u32) -> (u64, u32) {
    let sector = u64::from(SECTOR_BYTES);
    let begin = offset / sector * sector;
    let end = (offset + u64::from(bytes)).next_multiple_of(sector);
    (begin, (end - begin) as u32)
}

/// What a request comes to: a read or a write in one piece; of zeros and trims the edges are written, whole sectors
/// between them are left as they are.
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
    // What is given back may stay as it was.
    pieces.retain(|piece| piece.bytes > 0 && !(kind == Kind::Trim && piece.kind == Kind::Write));
    pieces
}

impl Unaligned {
    /// Takes a request; gives its number if it may go on at once.
    pub fn begin(&mut self, source: u8, key: u64, ask: Ask) -> Option<u32> {
        let step = Step { source, key, ask, pieces: pieces(&ask), stage: Stage::Begin, buffer: None, result: Ok(()) };
        let number = self.free.pop().unwrap_or(self.steps.len() as u32);
        if number as usize == self.steps.len() {
            self.steps.push(None);
        }
        self.steps[number as usize] = Some(step);
        if ask.kind != Kind::Read {
            self.writers.push_back(number);
            return (self.writers.front() == Some(&number)).then_some(number);
        }
        Some(number)
    }

    /// A request of a step ended.
    pub fn answered(&mut self, number: u32, result: Result<(), Failure>) {
        if let Some(step) = &mut self.steps[number as usize] {
            step.result = result;
        }
    }

    /// The request that the last `go_on` wants done.
    pub fn wanted(&mut self) -> Option<(Held, Ask)> {
        self.wanted.take()
    }

    /// Takes a step further: its next request is `wanted`, or it is answered, and then the number of the one that waited
    /// for it is given.
    pub fn go_on(&mut self, number: u32, memory: &mut Requests, answers: &mut VecDeque<Answer>) -> Option<u32> {
        let step = self.steps[number as usize].as_mut()?;
        if step.stage == Stage::Reading && step.result.is_ok() {
            step.stage = Stage::Ending;
            self.wanted = Some(step.write(number));
            return None;
        }
        if step.stage != Stage::Begin {
            step.end_piece(memory);
        }
        if step.result.is_ok() && !step.pieces.is_empty() {
            self.wanted = Some(step.begin_piece(number, memory));
            return None;
        }
        answers.push_back((step.source, step.key, step.result));
        self.steps[number as usize] = None;
        self.free.push(number);
        if self.writers.front() == Some(&number) {
            self.writers.pop_front();
            return self.writers.front().copied();
        }
        None
    }
}

impl Step {
    fn request(&self, number: u32, kind: Kind, range: (u64, u32), memory: Region) -> (Held, Ask) {
        let held = Held { source: STEP, key: 0, memory, step: number };
        (held, Ask { kind, offset: range.0, bytes: range.1, memory, ..self.ask })
    }

    fn begin_piece(&mut self, number: u32, memory: &mut Requests) -> (Held, Ask) {
        let Piece { kind, offset, bytes } = self.pieces[0];
        if !matches!(kind, Kind::Read | Kind::Write) {
            self.stage = Stage::Ending;
            return self.request(number, kind, (offset, bytes), Region::NONE);
        }
        let range = covering(offset, bytes);
        let buffer = memory.take_buffer(range.1);
        self.buffer = Some(buffer);
        // Whole sectors in memory that is not aligned need no merging.
        if kind == Kind::Write && range == (offset, bytes) {
            self.stage = Stage::Ending;
            return self.write(number);
        }
        self.stage = if kind == Kind::Read { Stage::Ending } else { Stage::Reading };
        self.request(number, Kind::Read, range, buffer.region.part(0, range.1))
    }

    /// Where the piece lies in the sectors that were read.
    fn inner(&self) -> Option<Region> {
        let Piece { offset, bytes, .. } = self.pieces[0];
        Some(self.buffer?.region.part((offset - covering(offset, bytes).0) as u32, bytes))
    }

    fn write(&self, number: u32) -> (Held, Ask) {
        let Piece { offset, bytes, .. } = self.pieces[0];
        let range = covering(offset, bytes);
        let Some((inner, buffer)) = self.inner().zip(self.buffer) else {
            return self.request(number, Kind::Flush, (0, 0), Region::NONE);
        };
        // SAFETY: the inner region is as long as the piece; the caller's memory is as long as its request, which of
        // writes is the piece.
        unsafe {
            if self.ask.kind == Kind::Write {
                std::ptr::copy_nonoverlapping(self.ask.memory.part(0, bytes).pointer, inner.pointer, bytes as usize);
            } else {
                inner.pointer.write_bytes(0, bytes as usize);
            }
        }
        self.request(number, Kind::Write, range, buffer.region.part(0, range.1))
    }

    fn end_piece(&mut self, memory: &mut Requests) {
        if let Some(inner) = self.inner()
            && self.ask.kind == Kind::Read
            && self.result.is_ok()
        {
            let to = self.ask.memory.part(0, inner.bytes);
            // SAFETY: both are as long as the request, and lie apart.
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

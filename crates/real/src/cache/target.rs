//! What a reactor serves: a cache, or the backing file without a cache to measure a transport.

use flatwater_core::cache::{
    Command, Engine, Failure, Io, IoId, IoKind, Kind, Out, Place, Request, Settings, Side, Statistics,
};
use flatwater_core::slab::Slab;

use super::memory::Requests;

/// What a reactor serves.
pub enum Target {
    /// A cache.
    Cache(Box<Engine>),
    /// The slow device without a cache.
    Plain(Plain),
}

/// The slow device without a cache.
#[derive(Debug)]
pub struct Plain {
    bytes: u64,
    /// By IO: the tag of its request, and whether a sync must follow.
    under_way: Slab<(u64, bool), IoId>,
}

impl Plain {
    /// A device of this length.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes, under_way: Slab::new() }
    }

    fn issue(&mut self, tag: u64, kind: IoKind, range: (u64, u32), durable: bool, out: &mut Out) {
        let id = self.under_way.insert((tag, durable));
        let place = match kind {
            IoKind::Read | IoKind::Write => Place::Request { tag, at: 0 },
            _ => Place::Nowhere,
        };
        out.ios.push(Io { id, side: Side::Slow, kind, offset: range.0, bytes: range.1, place, background: false });
    }

    fn submit(&mut self, request: Request, out: &mut Out) {
        let kind = match request.kind {
            Kind::Read => IoKind::Read,
            Kind::Write => IoKind::Write,
            Kind::Flush => IoKind::Sync,
            // A file gets a hole, which reads as zeros. For a device the kernel writes zeros.
            Kind::Zero | Kind::Trim => IoKind::Discard,
        };
        let durable = request.durable && !matches!(request.kind, Kind::Read | Kind::Flush);
        self.issue(request.tag, kind, (request.offset, request.bytes), durable, out);
    }

    fn ended(&mut self, id: IoId, result: Result<(), i32>, out: &mut Out) {
        let (tag, durable) = self.under_way.remove(id);
        if durable && result.is_ok() {
            return self.issue(tag, IoKind::Sync, (0, 0), false, out);
        }
        out.answers.push((tag, result.map_err(|_| Failure::Medium)));
    }
}

impl Target {
    /// Bytes that are served.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Cache(engine) => engine.bytes(),
            Self::Plain(plain) => plain.bytes,
        }
    }

    /// Takes a request.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, request: Request, memory: &mut Requests, out: &mut Out) {
        match self {
            Self::Cache(engine) => engine.submit(now_ns, request, memory, out),
            Self::Plain(plain) => plain.submit(request, out),
        }
    }

    /// Takes a command.
    pub fn command(&mut self, now_ns: u64, tag: u64, command: Command, memory: &mut Requests, out: &mut Out) {
        match (self, command) {
            (Self::Cache(engine), command) => engine.command(now_ns, tag, command, memory, out),
            (Self::Plain(_), Command::Stop { .. } | Command::WriteBack(_)) => out.answers.push((tag, Ok(()))),
            (Self::Plain(_), _) => out.answers.push((tag, Err(Failure::Busy))),
        }
    }

    /// An IO has ended.
    #[inline]
    pub fn ended(&mut self, now_ns: u64, id: IoId, result: Result<(), i32>, memory: &mut Requests, out: &mut Out) {
        match self {
            Self::Cache(engine) => engine.ended(now_ns, id, result, memory, out),
            Self::Plain(plain) => plain.ended(id, result, out),
        }
    }

    /// When `tick` is due next.
    pub fn next_ns(&self) -> Option<u64> {
        match self {
            Self::Cache(engine) => engine.next_ns(),
            Self::Plain(_) => None,
        }
    }

    /// Does what is due at `now_ns`.
    pub fn tick(&mut self, now_ns: u64, memory: &mut Requests, out: &mut Out) {
        if let Self::Cache(engine) = self {
            engine.tick(now_ns, memory, out);
        }
    }

    /// The settings of a cache.
    pub fn settings(&self) -> Option<&Settings> {
        match self {
            Self::Cache(engine) => Some(engine.settings()),
            Self::Plain(_) => None,
        }
    }

    /// The statistics; zeros without a cache.
    pub fn statistics(&self, now_ns: u64) -> Statistics {
        match self {
            Self::Cache(engine) => engine.statistics(now_ns),
            Self::Plain(_) => Statistics::default(),
        }
    }
}

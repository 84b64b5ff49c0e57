//! The storage layer as its callers see it: a queue of block requests, real or modelled.

use std::io;

use crate::interval;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads a block.
    Read,
    /// Writes a block.
    Write,
    /// Makes a file's finished writes durable.
    Fsync,
}

impl Kind {
    /// The kinds with figures, in the order of their index.
    pub const REPORTED: [interval::Kind; 3] = [
        interval::Kind { name: Self::Read.name(), moves_bytes: true, counts: true },
        interval::Kind { name: Self::Write.name(), moves_bytes: true, counts: true },
        interval::Kind { name: Self::Fsync.name(), moves_bytes: false, counts: false },
    ];

    /// The name used in series.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Fsync => "fsync",
        }
    }
}

/// One request: `bytes` at `offset` of file number `file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// Index of the file (or device) in the storage.
    pub file: u32,
    /// Bytes asked for; 0 for an fsync.
    pub bytes: u32,
    /// Offset in the file, bytes.
    pub offset: u64,
}

impl Request {
    /// An fsync of a file.
    pub const fn fsync(file: u32) -> Self {
        Self { kind: Kind::Fsync, file, bytes: 0, offset: 0 }
    }
}

/// A request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot it was pushed with.
    pub slot: u32,
    /// Bytes done, or a negative errno, as the kernel says it.
    pub result: i32,
}

/// A queue of requests to a storage, with one buffer a slot. One thread drives it.
pub trait Queue {
    /// Requests that can be outstanding: slots are 0..depth.
    fn depth(&self) -> u32;

    /// Gives a free slot the buffer for its next request and returns it: for a write the one that was longest unused of
    /// all that hold data to write, so that what is written next to each other differs.
    fn take_buffer(&mut self, slot: u32, kind: Kind) -> &mut [u8];

    /// The buffer that a slot has.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Buffers with data to write, for a caller that fills them once.
    fn write_buffers(&mut self) -> Vec<&mut [u8]>;

    /// Takes a request into a free slot; nothing happens to it before `submit` or `wait`.
    fn push(&mut self, slot: u32, request: Request);

    /// Starts what was pushed, where the queue can do that without waiting.
    fn submit(&mut self) {}

    /// Starts what was pushed and waits until one request ended or `timeout_ns` passed; appends what ended.
    ///
    /// Errors are of the queue itself; a failed request is a completion with a negative result.
    fn wait(&mut self, timeout_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()>;
}

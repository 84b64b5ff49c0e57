//! The engine: requests in, IOs and answers out.

use super::{Command, Failure, Io, IoKind, Kind, Memory, Out, Place, Request, Settings, Side, Statistics};
use crate::cache::journal::recovery::Recovered;

/// A cache at work.
pub struct Engine {
    bytes: u64,
    under_way: Vec<u64>,
    settings: Settings,
    statistics: Statistics,
}

impl Engine {
    /// A cache as recovery found it, at `now_ns`.
    ///
    /// # Errors
    /// A setting that cannot be, in words.
    pub fn new(settings: Settings, recovered: Recovered, _now_ns: u64) -> Result<Self, String> {
        Ok(Self { bytes: recovered.slow_bytes, under_way: Vec::new(), settings, statistics: Statistics::default() })
    }

    /// Bytes of the cached device.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a request.
    pub fn submit<M: Memory>(&mut self, _now_ns: u64, request: Request, _memory: &mut M, out: &mut Out) {
        // Everything goes past the cache so far.
        let kind = match request.kind {
            Kind::Read => IoKind::Read,
            Kind::Write => IoKind::Write,
            Kind::Flush => IoKind::Sync,
            Kind::Trim | Kind::Zero => return out.answers.push((request.tag, Err(Failure::Busy))),
        };
        let id = self.under_way.len() as u32;
        self.under_way.push(request.tag);
        let place = Place::Request { tag: request.tag, at: 0 };
        let (offset, bytes) = (request.offset, request.bytes);
        out.ios.push(Io { id, side: Side::Slow, kind, offset, bytes, place, background: false });
    }

    /// Takes a command, which ends with an answer of `tag`.
    pub fn command<M: Memory>(&mut self, _now_ns: u64, tag: u64, _command: Command, _memory: &mut M, out: &mut Out) {
        out.answers.push((tag, Err(Failure::Busy)));
    }

    /// An IO ended: all of it, or with the errno of what went wrong.
    pub fn ended<M: Memory>(&mut self, _now_ns: u64, id: u32, result: Result<(), i32>, _memory: &mut M, out: &mut Out) {
        out.answers.push((self.under_way[id as usize], result.map_err(|_| Failure::Medium)));
    }

    /// When `tick` is wanted next; None: not before another call.
    pub fn next_ns(&self) -> Option<u64> {
        None
    }

    /// Time has come to `now_ns`.
    pub fn tick<M: Memory>(&mut self, _now_ns: u64, _memory: &mut M, _out: &mut Out) {}

    /// Requests, commands and IOs under way.
    pub fn busy(&self) -> bool {
        false
    }

    /// The settings as they are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was counted.
    pub fn statistics(&self, _now_ns: u64) -> Statistics {
        self.statistics.clone()
    }
}

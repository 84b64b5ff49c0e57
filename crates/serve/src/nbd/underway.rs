//! A request that the cache works on, and the parts in which the cache is asked for it.

use flatwater_core::cache::Kind;
use flatwater_core::slab_key;
use flatwater_real::cache::Buffer;

use super::export::REQUEST_BYTES_MAX;
use super::session::{Ask, Request};

slab_key!(
    /// A request that the cache works on.
    pub RequestId
);

/// A request that the cache works on.
#[derive(Clone, Copy, Debug)]
pub struct Underway {
    /// The connection that it came from.
    pub connection: u32,
    /// What is asked for.
    pub request: Request,
    /// Its memory.
    pub memory: Option<Buffer>,
    /// What it costs of the budget.
    pub cost: u64,
    /// Of a long trim or zero: what was not asked for yet, and whether a flush comes at its end.
    left_bytes: u32,
    flush: bool,
}

/// What the cache is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A request.
    Request {
        /// What is done.
        kind: Kind,
        /// First byte.
        offset: u64,
        /// Length.
        bytes: u32,
        /// Durable before it ends.
        durable: bool,
    },
    /// A range is to be cached.
    Preload(u64, u64),
}

impl Underway {
    /// A request that nothing was asked for yet.
    pub fn new(connection: u32, request: Request, memory: Option<Buffer>, cost: u64) -> Self {
        let ranged = matches!(request.ask, Ask::Trim | Ask::Zero);
        let left_bytes = if ranged { request.bytes } else { 0 };
        let flush = ranged && request.durable && request.bytes > first_bytes(request.offset, request.bytes);
        Self { connection, request, memory, cost, left_bytes, flush }
    }

    /// Whether parts are left to be asked for.
    pub fn is_partial(&self) -> bool {
        self.left_bytes > 0 || self.flush
    }

    /// Takes the next part.
    pub fn next_part(&mut self) -> Part {
        let Request { ask, offset, bytes, durable, .. } = self.request;
        let whole = |kind| Part::Request { kind, offset, bytes, durable: false };
        match ask {
            Ask::Read => whole(Kind::Read),
            Ask::Write => Part::Request { kind: Kind::Write, offset, bytes, durable },
            Ask::Flush => whole(Kind::Flush),
            Ask::Cache => Part::Preload(offset, bytes.into()),
            Ask::Zero | Ask::Trim if self.left_bytes == 0 => {
                self.flush = false;
                Part::Request { kind: Kind::Flush, offset: 0, bytes: 0, durable: false }
            }
            Ask::Zero | Ask::Trim => {
                let offset = offset + u64::from(bytes - self.left_bytes);
                let bytes = first_bytes(offset, self.left_bytes);
                self.left_bytes -= bytes;
                let kind = if ask == Ask::Zero { Kind::Zero } else { Kind::Trim };
                Part::Request { kind, offset, bytes, durable: durable && !self.flush }
            }
        }
    }
}

/// Bytes of a long range that are asked for at once: up to a multiple of the longest request.
fn first_bytes(offset: u64, bytes: u32) -> u32 {
    bytes.min(REQUEST_BYTES_MAX - (offset % u64::from(REQUEST_BYTES_MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(ask: Ask, offset: u64, bytes: u32, durable: bool) -> Vec<Part> {
        let mut one = Underway::new(0, Request { cookie: 0, ask, offset, bytes, durable }, None, 0);
        let mut parts = vec![one.next_part()];
        while one.is_partial() {
            parts.push(one.next_part());
        }
        parts
    }

    fn part(kind: Kind, offset: u64, bytes: u32, durable: bool) -> Part {
        Part::Request { kind, offset, bytes, durable }
    }

    #[test]
    fn what_is_short_is_asked_for_at_once() {
        assert_eq!(parts(Ask::Read, 5, 10, true), [part(Kind::Read, 5, 10, false)]);
        assert_eq!(parts(Ask::Write, 5, 10, true), [part(Kind::Write, 5, 10, true)]);
        assert_eq!(parts(Ask::Flush, 0, 0, false), [part(Kind::Flush, 0, 0, false)]);
        assert_eq!(parts(Ask::Zero, 5, 10, true), [part(Kind::Zero, 5, 10, true)]);
        assert_eq!(parts(Ask::Cache, 5, 10, false), [Part::Preload(5, 10)]);
    }

    #[test]
    fn a_long_range_comes_in_pieces_and_is_made_durable_once() {
        const MOST: u32 = REQUEST_BYTES_MAX;
        let (first, second) = (part(Kind::Trim, 512, MOST - 512, false), part(Kind::Trim, MOST.into(), 1024, false));
        assert_eq!(parts(Ask::Trim, 512, MOST + 512, false), [first, second]);
        let flush = part(Kind::Flush, 0, 0, false);
        assert_eq!(parts(Ask::Trim, 512, MOST + 512, true), [first, second, flush]);
    }
}

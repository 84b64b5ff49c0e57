//! What is sent to a client: heads of replies, and data straight from where they were read.

use std::collections::VecDeque;
use std::mem::zeroed;

use flatwater_real::cache::Buffer;
use io_uring::{opcode, squeue, types};

use super::session::Head;

/// Replies that go in one call, and their bytes: enough that the call's own cost does not count.
const BATCH_PIECES: usize = 64;
const BATCH_BYTES: usize = 1 << 20;

/// What one reply is made of.
#[derive(Debug)]
pub enum Piece {
    /// What the session says itself.
    Text(Vec<u8>),
    /// A reply to a request.
    Reply {
        /// Its head.
        head: Head,
        /// Memory that goes back when it is sent.
        memory: Option<Buffer>,
        /// Bytes of it that are sent.
        data_bytes: u32,
        /// What the memory costs.
        cost: u64,
    },
}

impl Piece {
    fn parts(&self) -> [(*const u8, usize); 2] {
        const NOTHING: (*const u8, usize) = (std::ptr::null(), 0);
        match self {
            Self::Text(bytes) => [(bytes.as_ptr(), bytes.len()), NOTHING],
            Self::Reply { head, memory, data_bytes, .. } => {
                let data = memory.map_or(NOTHING, |buffer| {
                    (buffer.region.part(0, *data_bytes).pointer.cast_const(), *data_bytes as usize)
                });
                [(head.bytes().as_ptr(), head.bytes().len()), data]
            }
        }
    }

    fn bytes(&self) -> usize {
        self.parts().iter().map(|part| part.1).sum()
    }
}

/// What waits to be sent, and what is being sent.
#[derive(Debug)]
pub struct Outgoing {
    waiting: VecDeque<Piece>,
    /// Bytes of texts that wait: the session goes on only when they are few.
    text_bytes: usize,
    batch: Vec<Piece>,
    vectors: Vec<libc::iovec>,
    header: Box<libc::msghdr>,
    /// Bytes of the batch that are still to be sent.
    left: usize,
}

impl Outgoing {
    /// Nothing to send.
    pub fn new() -> Self {
        // SAFETY: plain numbers and null pointers.
        let header = Box::new(unsafe { zeroed::<libc::msghdr>() });
        let (waiting, batch, vectors) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { waiting, text_bytes: 0, batch, vectors, header, left: 0 }
    }

    /// Adds a reply or text.
    pub fn push(&mut self, piece: Piece) {
        if let Piece::Text(bytes) = &piece {
            self.text_bytes += bytes.len();
        }
        self.waiting.push_back(piece);
    }

    /// Bytes of texts that wait.
    pub const fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Whether something is being sent.
    pub const fn is_busy(&self) -> bool {
        self.left > 0
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.batch.is_empty()
    }

    /// What is to be sent next, all of it if it is not too much; None if there is nothing or it is busy.
    pub fn start(&mut self, descriptor: i32) -> Option<squeue::Entry> {
        if self.is_busy() || self.waiting.is_empty() {
            return None;
        }
        while self.batch.len() < BATCH_PIECES && self.left < BATCH_BYTES {
            let Some(piece) = self.waiting.pop_front() else { break };
            if let Piece::Text(bytes) = &piece {
                self.text_bytes -= bytes.len();
            }
            self.left += piece.bytes();
            self.batch.push(piece);
        }
        // From here on the batch stays where it is: the vectors point into it.
        let parts = self.batch.iter().flat_map(Piece::parts).filter(|part| part.1 > 0);
        self.vectors
            .extend(parts.map(|(start, bytes)| libc::iovec { iov_base: start.cast_mut().cast(), iov_len: bytes }));
        Some(self.entry(descriptor))
    }

    fn entry(&mut self, descriptor: i32) -> squeue::Entry {
        self.header.msg_iov = self.vectors.as_mut_ptr();
        self.header.msg_iovlen = self.vectors.len() as _;
        // The kernel goes on by itself when the socket takes only a part.
        let flags = (libc::MSG_NOSIGNAL | libc::MSG_WAITALL) as u32;
        opcode::SendMsg::new(types::Fd(descriptor), &raw const *self.header).flags(flags).build()
    }

    /// So much of the batch was sent: what is left must be sent still, or the batch goes to `sent`.
    pub fn sent(&mut self, bytes: usize, descriptor: i32, sent: impl FnMut(Piece)) -> Option<squeue::Entry> {
        self.left -= bytes.min(self.left);
        if self.left == 0 {
            self.vectors.clear();
            self.batch.drain(..).for_each(sent);
            return None;
        }
        let mut done = bytes;
        let whole = self.vectors.iter().take_while(|vector| {
            let is_done = vector.iov_len <= done;
            done -= if is_done { vector.iov_len } else { 0 };
            is_done
        });
        let count = whole.count();
        self.vectors.drain(..count);
        let first = &mut self.vectors[0];
        first.iov_base = first.iov_base.wrapping_byte_add(done);
        first.iov_len -= done;
        Some(self.entry(descriptor))
    }

    /// Nothing more is sent: everything goes to `dropped`. Only while it is not busy.
    pub fn abandon(&mut self, dropped: impl FnMut(Piece)) {
        (self.left, self.text_bytes) = (0, 0);
        self.vectors.clear();
        self.batch.drain(..).chain(self.waiting.drain(..)).for_each(dropped);
    }
}

impl Default for Outgoing {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_in_part_goes_on_where_it_stopped() {
        let mut outgoing = Outgoing::new();
        for text in [&b"one"[..], b"two", b"three"] {
            outgoing.push(Piece::Text(text.to_vec()));
        }
        assert_eq!(outgoing.text_bytes(), 11);
        assert!(outgoing.start(0).is_some() && outgoing.is_busy());
        assert!(outgoing.start(0).is_none(), "one call at a time");
        let mut sent = 0;
        assert!(outgoing.sent(4, 0, |_| sent += 1).is_some());
        assert_eq!((outgoing.vectors.len(), outgoing.vectors[0].iov_len, sent), (2, 2, 0));
        assert!(outgoing.sent(2, 0, |_| sent += 1).is_some());
        assert_eq!(outgoing.vectors.len(), 1);
        assert!(outgoing.sent(5, 0, |_| sent += 1).is_none());
        assert_eq!((sent, outgoing.is_empty()), (3, true));
    }
}

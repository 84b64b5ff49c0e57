//! The synchronous engine: pread, pwrite, fsync.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use flatwater_core::storage::{Completion, Kind, Queue, Request};

use super::buffer::Buffers;
use super::{FsyncCall, Target};

/// One request at a time, done inside `wait`.
#[derive(Debug)]
pub struct Psync {
    target: Arc<Target>,
    buffers: Buffers,
    pushed: Option<Request>,
}

impl Psync {
    /// A queue of depth one; `buffers` has one slot.
    pub fn new(target: Arc<Target>, buffers: Buffers) -> Self {
        Self { target, buffers, pushed: None }
    }
}

impl Queue for Psync {
    fn depth(&self) -> u32 {
        1
    }

    fn take_buffer(&mut self, slot: u32, kind: Kind) -> &mut [u8] {
        self.buffers.take(slot, kind)
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn write_buffers(&mut self) -> Vec<&mut [u8]> {
        self.buffers.pool()
    }

    fn push(&mut self, _slot: u32, request: Request) {
        self.pushed = Some(request);
    }

    #[inline]
    fn wait(&mut self, _timeout_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(request) = self.pushed.take() else { return Ok(()) };
        let descriptor = self.target.files[request.file as usize].as_raw_fd();
        let buffer = self.buffers.pointer(0).cast();
        let (bytes, offset) = (request.bytes as usize, request.offset as libc::off_t);
        // SAFETY: the buffer holds at least `bytes`, which the queue was made for, and outlives the calls.
        let answer = unsafe {
            match request.kind {
                Kind::Read => libc::pread(descriptor, buffer, bytes, offset),
                Kind::Write => libc::pwrite(descriptor, buffer, bytes, offset),
                Kind::Fsync => match self.target.fsync_call {
                    FsyncCall::Fsync => libc::fsync(descriptor) as isize,
                    FsyncCall::Fdatasync => libc::fdatasync(descriptor) as isize,
                },
            }
        };
        let result =
            if answer < 0 { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { answer as i32 };
        done.push(Completion { slot: 0, result });
        Ok(())
    }
}

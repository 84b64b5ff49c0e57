//! The asynchronous engine: io_uring with registered files and buffers, one ring a thread.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use flatwater_core::storage::{Completion, Kind, Queue, Request};
use io_uring::{IoUring, opcode, squeue, types};

use super::buffer::Buffers;
use super::{FsyncCall, Target};
use crate::Error;

/// The hint when a ring cannot be made.
const HINT: &str = " (hint: io_uring may be switched off here, see sysctl kernel.io_uring_disabled or the container's \
                    seccomp profile; workload.engine = \"psync\" works everywhere)";

/// From this depth on, completions are deferred to the wait. Measured on a virtio disk, CPU time a request against
/// handling them at any entry to the kernel: 1.1x at depth 32, where the thread wakes at the first of a burst; 0.9x at 128.
const DEFER_DEPTH_MIN: u32 = 64;

/// A ring and the buffers of its slots. A batch takes two system calls: one for its first requests, and one (`wait`) for the
/// rest, which also collects all completions.
pub struct Uring {
    ring: IoUring,
    target: Arc<Target>,
    buffers: Buffers,
    fixed_buffers: bool,
}

impl Uring {
    /// A ring with as many entries as there are buffers.
    pub fn new(target: Arc<Target>, buffers: Buffers) -> Result<Self, Error> {
        let failed = |source| Error::Engine { engine: "io_uring", source, hint: HINT };
        let depth = buffers.slots();
        // Only this thread submits. Completions are handled when it enters the kernel anyway or, from some depth on, when it
        // waits. So they do not interrupt it (Linux 6.1). Older kernels get a plain ring.
        let mut builder = IoUring::builder();
        builder.setup_single_issuer();
        if depth < DEFER_DEPTH_MIN {
            builder.setup_coop_taskrun();
        } else {
            builder.setup_defer_taskrun();
        }
        let ring = builder.build(depth).or_else(|_| IoUring::new(depth)).map_err(failed)?;
        let descriptors: Vec<_> = target.files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors).map_err(failed)?;
        // SAFETY: the buffers live as long as the ring: both are fields of the same struct, and `Drop` of the ring
        // (declared first) comes before theirs.
        let fixed_buffers = match unsafe { ring.submitter().register_buffers(&buffers.iovecs()) } {
            Ok(()) => true,
            // Registered memory counts against RLIMIT_MEMLOCK. Requests also work without registration.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => false,
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { ring, target, buffers, fixed_buffers })
    }

    /// Whether the buffers could be registered. If not, the pages of each request must be pinned.
    pub fn has_fixed_buffers(&self) -> bool {
        self.fixed_buffers
    }

    fn entry(&self, slot: u32, request: Request) -> squeue::Entry {
        let file = types::Fixed(request.file);
        let (buffer, bytes, index) = (self.buffers.pointer(slot), request.bytes, self.buffers.index(slot) as u16);
        let entry = match (request.kind, self.fixed_buffers) {
            (Kind::Read, true) => opcode::ReadFixed::new(file, buffer, bytes, index).offset(request.offset).build(),
            (Kind::Read, false) => opcode::Read::new(file, buffer, bytes).offset(request.offset).build(),
            (Kind::Write, true) => opcode::WriteFixed::new(file, buffer, bytes, index).offset(request.offset).build(),
            (Kind::Write, false) => opcode::Write::new(file, buffer, bytes).offset(request.offset).build(),
            (Kind::Fsync, _) => {
                let flags = match self.target.fsync_call {
                    FsyncCall::Fsync => types::FsyncFlags::empty(),
                    FsyncCall::Fdatasync => types::FsyncFlags::DATASYNC,
                };
                opcode::Fsync::new(file).flags(flags).build()
            }
        };
        entry.user_data(u64::from(slot))
    }
}

impl Queue for Uring {
    fn depth(&self) -> u32 {
        self.buffers.slots()
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

    fn push(&mut self, slot: u32, request: Request) {
        let entry = self.entry(slot, request);
        // SAFETY: the buffer outlives the request. A slot is reused only after its completion, and a lane that ends with
        // outstanding requests does not drop its queue (`Lane::queue`).
        unsafe { self.ring.submission().push(&entry) }.expect("the ring has an entry for every slot");
    }

    fn submit(&mut self) {
        // An error here comes again in `wait`, which returns it.
        let _ = self.ring.submit();
    }

    fn wait(&mut self, timeout_ns: Option<u64>, done: &mut Vec<Completion>) -> io::Result<()> {
        let answer = match timeout_ns {
            None => self.ring.submit_and_wait(1),
            Some(timeout_ns) => {
                let time = types::Timespec::from(std::time::Duration::from_nanos(timeout_ns));
                self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&time))
            }
        };
        match answer {
            Ok(_) => {}
            // A timeout, a signal, or a full completion queue: the completions are still there.
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        done.extend(
            self.ring.completion().map(|entry| Completion { slot: entry.user_data() as u32, result: entry.result() }),
        );
        Ok(())
    }
}

//! The ring: operations with owners, and registered descriptors.

use std::io;

use flatwater_core::cache::{Io, IoKind};
use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::pool::Region;

/// Entries of the ring. More operations may be under way: a full queue is submitted, and the kernel keeps completions that do
/// not fit into their queue.
const ENTRIES: u32 = 512;
/// Places for registered descriptors.
const FILES_MAX: u32 = 256;
/// The bits of a key in the user data of an operation. The owner is above them.
const OWNER_SHIFT: u32 = 48;

/// Best effort at the lowest level, for IOs for which no request waits (linux/ioprio.h).
const BACKGROUND_PRIORITY: u16 = (2 << 13) | 7;

/// The operation of an IO of the engine, or of the rest of it: of a range of a registered file, with memory for its bytes.
pub fn entry(io: &Io, file: types::Fixed, memory: Region, (offset, bytes): (u64, u32)) -> squeue::Entry {
    let priority = if io.background { BACKGROUND_PRIORITY } else { 0 };
    match (io.kind, memory.fixed) {
        (IoKind::Read, Some(fixed)) => {
            let entry = opcode::ReadFixed::new(file, memory.pointer, bytes, fixed);
            entry.offset(offset).ioprio(priority).build()
        }
        (IoKind::Read, None) => opcode::Read::new(file, memory.pointer, bytes).offset(offset).ioprio(priority).build(),
        (IoKind::Write, Some(fixed)) => {
            let entry = opcode::WriteFixed::new(file, memory.pointer, bytes, fixed);
            entry.offset(offset).ioprio(priority).build()
        }
        (IoKind::Write, None) => {
            opcode::Write::new(file, memory.pointer, bytes).offset(offset).ioprio(priority).build()
        }
        (IoKind::Sync, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        (IoKind::Discard, _) => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            opcode::Fallocate::new(file, bytes.into()).offset(offset).mode(mode).build()
        }
    }
}

/// The owner of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// An IO of the engine.
    Engine,
    /// An operation of the source with this number.
    Source(u8),
    /// An operation of the reactor itself.
    Reactor,
}

impl Owner {
    fn number(self) -> u8 {
        match self {
            Self::Engine => 0,
            Self::Source(number) => 1 + number,
            Self::Reactor => u8::MAX,
        }
    }

    fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Engine,
            u8::MAX => Self::Reactor,
            number => Self::Source(number - 1),
        }
    }
}

/// An operation that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Its owner.
    pub owner: Owner,
    /// The key with which it was pushed.
    pub key: u64,
    /// The result of the kernel: a negative errno, or a count.
    pub result: i32,
    /// Whether the operation will end again.
    pub more: bool,
}

/// The ring.
pub struct Ring {
    ring: IoUring,
    files: u32,
}

impl Ring {
    /// A ring with places for descriptors.
    ///
    /// # Errors
    /// The system's error for the ring.
    pub fn new() -> io::Result<Self> {
        let mut builder = IoUring::builder();
        // One thread submits, and completions are handled when it waits (Linux 6.1); older kernels get a plain ring.
        builder.setup_single_issuer().setup_defer_taskrun().setup_cqsize(4 * ENTRIES);
        let ring = builder.build(ENTRIES).or_else(|_| IoUring::new(ENTRIES))?;
        ring.submitter().register_files_sparse(FILES_MAX)?;
        Ok(Self { ring, files: 0 })
    }

    /// The ring of the kernel, with which buffers are registered.
    pub fn io_uring(&self) -> &IoUring {
        &self.ring
    }

    /// Registers descriptors in consecutive places, and returns the first place. None: there are not enough places.
    ///
    /// # Errors
    /// The system's error.
    pub fn register(&mut self, descriptors: &[i32]) -> io::Result<Option<u32>> {
        let (place, end) = (self.files, self.files + descriptors.len() as u32);
        if end > FILES_MAX {
            return Ok(None);
        }
        self.ring.submitter().register_files_update(place, descriptors)?;
        self.files = end;
        Ok(Some(place))
    }

    /// Puts an operation into the ring.
    ///
    /// # Safety
    /// The memory that it points to must stay until it has ended.
    pub unsafe fn push(&mut self, owner: Owner, key: u64, entry: squeue::Entry) {
        debug_assert!(key >> OWNER_SHIFT == 0, "a key of {key:x} is too long");
        let entry = entry.user_data(u64::from(owner.number()) << OWNER_SHIFT | key);
        // SAFETY: the caller guarantees it.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.submit();
        }
    }

    /// Submits what was pushed, without waiting.
    pub fn submit(&mut self) {
        // An error here comes again in `wait`, which returns it.
        let _ = self.ring.submit();
    }

    /// Submits what was pushed, waits until an operation has ended, but at most `wait_ns` (None: without a limit), and appends
    /// all that have ended.
    ///
    /// # Errors
    /// Those of the ring itself.
    pub fn wait(&mut self, wait_ns: Option<u64>, ended: &mut Vec<Completed>) -> io::Result<()> {
        /// `IORING_ENTER_GETEVENTS`: completions are handled even if none is waited for.
        const GET_EVENTS: u32 = 1;
        let ring = &mut self.ring;
        let answer = match wait_ns {
            None => ring.submit_and_wait(1),
            Some(0) => {
                let pushed = ring.submission().len() as u32;
                // SAFETY: no argument is passed.
                unsafe { ring.submitter().enter::<libc::sigset_t>(pushed, 0, GET_EVENTS, None) }
            }
            Some(wait_ns) => {
                let time = types::Timespec::from(std::time::Duration::from_nanos(wait_ns));
                ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&time))
            }
        };
        match answer {
            Ok(_) => {}
            // A timeout, a signal, or a full completion queue: the completions are still there.
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
            Err(error) => return Err(error),
        }
        ended.extend(ring.completion().map(|entry| {
            let user_data = entry.user_data();
            Completed {
                owner: Owner::of_number((user_data >> OWNER_SHIFT) as u8),
                key: user_data & ((1 << OWNER_SHIFT) - 1),
                result: entry.result(),
                more: cqueue::more(entry.flags()),
            }
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use io_uring::opcode;

    #[test]
    fn an_operation_comes_back_to_its_owner_with_its_key() {
        let Ok(mut ring) = Ring::new() else { return eprintln!("no io_uring here") };
        let last_key = (1 << OWNER_SHIFT) - 1;
        let pushed = [(Owner::Engine, 0), (Owner::Source(0), 7), (Owner::Source(253), last_key), (Owner::Reactor, 1)];
        for (owner, key) in pushed {
            // SAFETY: a nop points to nothing.
            unsafe { ring.push(owner, key, opcode::Nop::new().build()) };
        }
        let mut ended = Vec::new();
        while ended.len() < pushed.len() {
            ring.wait(None, &mut ended).unwrap();
        }
        assert_eq!(ended.iter().map(|end| (end.owner, end.key)).collect::<Vec<_>>(), pushed);
        assert!(ended.iter().all(|end| end.result == 0 && !end.more));
        ring.wait(Some(0), &mut ended).unwrap();
        assert_eq!(ended.len(), pushed.len(), "nothing is under way, and it does not wait");
    }

    #[test]
    fn descriptors_are_registered_while_there_are_places() {
        let Ok(mut ring) = Ring::new() else { return eprintln!("no io_uring here") };
        assert_eq!(ring.register(&[0, 1]).unwrap(), Some(0));
        assert_eq!(ring.register(&[2]).unwrap(), Some(2));
        assert_eq!(ring.register(&[0; FILES_MAX as usize]).unwrap(), None);
        assert_eq!(ring.register(&[1]).unwrap(), Some(3));
    }
}

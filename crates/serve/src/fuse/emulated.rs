//! The file system: `device`, the device itself, and beside it what it tells: `stats.json` and `smart`.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use flatwater_model::storage::{Command, Operation};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};

use super::limits::{BLOCK_BYTES, IN_FLIGHT_MAX, KNOWN_FOR, REQUEST_BYTES_MAX, within};
use super::mount::{attach, unmount};
use super::texts::{Texts, part};
use crate::backing::Backing;
use crate::lock::lock;
use crate::service::{Answer, Service};
use crate::trimmed::Trimmed;

const DEVICE: INodeNo = INodeNo(2);
const STATS: INodeNo = INodeNo(3);
const SMART: INodeNo = INodeNo(4);
const NAMES: [(INodeNo, &str); 3] = [(DEVICE, "device"), (STATS, "stats.json"), (SMART, "smart")];

/// What the files beside the device say, now.
pub trait Told: Send + Sync + 'static {
    /// `stats.json`.
    fn stats(&self) -> String;
    /// `smart`.
    fn smart(&self) -> String;
}

/// A request's answer, ready to be sent.
pub enum Reply {
    /// What was read.
    Data(ReplyData, io::Result<Vec<u8>>),
    /// How much was written, and whether it must be durable first.
    Written(ReplyWrite, io::Result<u32>, bool),
    /// That it is done.
    Done(ReplyEmpty, io::Result<()>),
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}

impl Answer for Reply {
    fn send(self, result: Result<(), i32>) -> bool {
        // The model's failure is the device's; the backing file's comes second.
        macro_rules! send {
            ($reply:ident, $own:ident, $value:pat => $ok:expr) => {
                match (result, $own) {
                    (Err(code), _) => $reply.error(Errno::from_i32(code)),
                    (_, Err(error)) => $reply.error(errno(&error)),
                    (Ok(()), Ok($value)) => {
                        $ok;
                        return true;
                    }
                }
            };
        }
        match self {
            Self::Data(reply, own) => send!(reply, own, data => reply.data(&data)),
            Self::Written(reply, own, _) => send!(reply, own, bytes => reply.written(bytes)),
            Self::Done(reply, own) => send!(reply, own, () => reply.ok()),
        }
        false
    }

    fn then(&mut self) -> Option<Command> {
        let Self::Written(_, Ok(_), durable) = self else { return None };
        std::mem::take(durable).then_some(FLUSH)
    }
}

const FLUSH: Command = Command { operation: Operation::Flush, offset: 0, bytes: 0 };

/// The file system.
pub struct EmulatedFiles {
    service: Arc<Service<Reply>>,
    backing: Arc<Backing>,
    /// What was ever trimmed.
    trimmed: Arc<Mutex<Trimmed>>,
    told: Arc<dyn Told>,
    since: SystemTime,
    texts: Mutex<Texts>,
}

impl EmulatedFiles {
    /// A file system of a device.
    pub fn new(
        service: Arc<Service<Reply>>,
        backing: Arc<Backing>,
        trimmed: Arc<Mutex<Trimmed>>,
        told: Arc<dyn Told>,
    ) -> Self {
        Self { service, backing, trimmed, told, since: SystemTime::now(), texts: Mutex::new(Texts::new(0)) }
    }

    fn attributes(&self, ino: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size, blocks) = match ino {
            INodeNo::ROOT => (FileType::Directory, 0o755, 0, 0),
            DEVICE => (FileType::RegularFile, 0o600, self.backing.bytes(), self.backing.allocated_bytes() / 512),
            STATS | SMART => (FileType::RegularFile, 0o444, 0, 0),
            _ => return None,
        };
        // SAFETY: neither can fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let time = self.since;
        let nlink = if kind == FileType::Directory { 2 } else { 1 };
        let (atime, mtime, ctime, crtime) = (time, time, time, time);
        let (rdev, flags, blksize) = (0, 0, BLOCK_BYTES);
        Some(FileAttr {
            ino,
            size,
            blocks,
            atime,
            mtime,
            ctime,
            crtime,
            kind,
            perm,
            nlink,
            uid,
            gid,
            rdev,
            blksize,
            flags,
        })
    }

    /// How much of a range is within the device.
    fn within(&self, offset: u64, bytes: u64) -> u64 {
        within(self.backing.bytes(), offset, bytes)
    }

    fn trim(&self, offset: u64, length: u64, reply: ReplyEmpty) {
        let bytes = self.within(offset, length);
        let id = self.service.arrive(Command { operation: Operation::Trim, offset, bytes });
        let result = if self.service.worn_out() {
            Ok(())
        } else {
            lock(&self.trimmed).add(offset, bytes);
            self.backing.trim(offset, bytes)
        };
        self.service.finish(id, Reply::Done(reply, result));
    }

    fn texts(&self) -> std::sync::MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for EmulatedFiles {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_READ | InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_PARALLEL_DIROPS;
        // Kernels that lack one of them serve fewer requests at once, but serve.
        for flag in (wanted | InitFlags::FUSE_MAX_PAGES).iter() {
            let _ = config.add_capabilities(flag);
        }
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        let _ = config.set_max_background(IN_FLIGHT_MAX);
        let _ = config.set_congestion_threshold(IN_FLIGHT_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = NAMES.iter().find(|(_, own)| parent == INodeNo::ROOT && name == *own);
        match found.and_then(|(ino, _)| self.attributes(*ino)) {
            Some(attributes) => reply.entry(&KNOWN_FOR, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino) {
            Some(attributes) => reply.attr(&KNOWN_FOR, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// As for a block device, a new length is taken and means nothing: `dd of=device` truncates first.
    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(request, ino, handle, reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if ino == DEVICE {
            let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
            return reply.opened(FileHandle(0), flags | FopenFlags::FOPEN_NOFLUSH);
        }
        if flags.acc_mode() != fuser::OpenAccMode::O_RDONLY {
            return reply.error(Errno::EACCES);
        }
        let text = if ino == STATS { self.told.stats() } else { self.told.smart() };
        let handle = self.texts().open(text);
        reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.texts().close(handle.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino != DEVICE {
            let text = self.texts().get(handle.0);
            return reply.data(part(text.as_deref().unwrap_or_default(), offset, size));
        }
        let bytes = self.within(offset, size.into());
        if bytes == 0 {
            return reply.data(&[]);
        }
        let id = self.service.arrive(Command { operation: Operation::Read, offset, bytes });
        self.service.finish(id, Reply::Data(reply, self.backing.read(offset, bytes)));
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino != DEVICE {
            return reply.error(Errno::EACCES);
        }
        let bytes = self.within(offset, data.len() as u64);
        if bytes == 0 && !data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let id = self.service.arrive(Command { operation: Operation::Write, offset, bytes });
        let durable = flags.0 & libc::O_DSYNC != 0;
        let mut result = Ok(());
        // What a worn out device refuses must not be found in it later.
        if !self.service.worn_out() {
            result = self.backing.write(offset, &data[..bytes as usize]);
            if durable && result.is_ok() {
                result = self.backing.flush();
            }
        }
        self.service.finish(id, Reply::Written(reply, result.map(|()| bytes as u32), durable));
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if ino != DEVICE {
            return reply.ok();
        }
        let id = self.service.arrive(FLUSH);
        self.service.finish(id, Reply::Done(reply, self.backing.flush()));
    }

    /// Holes and zeroes are trims, as a loop device's discards arrive; space cannot be reserved on a device.
    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let trims = mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0;
        if ino == DEVICE && trims { self.trim(offset, length, reply) } else { reply.error(Errno::EOPNOTSUPP) }
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let above = [(INodeNo::ROOT, FileType::Directory, "."), (INodeNo::ROOT, FileType::Directory, "..")];
        let files = NAMES.iter().map(|(ino, name)| (*ino, FileType::RegularFile, *name));
        for (number, (ino, kind, name)) in (1..).zip(above.into_iter().chain(files)) {
            if number > offset && reply.add(ino, number, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.backing.bytes() / u64::from(BLOCK_BYTES);
        reply.statfs(blocks, 0, 0, NAMES.len() as u64, 0, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}

/// Mounts on a directory, as `source`, and serves with so many threads. Not mounted with fuser's own means: those unmount
/// whatever is at the path when they are let go.
///
/// # Errors
/// What the system says.
pub fn serve(files: EmulatedFiles, mount: &Path, source: &str, readers: usize) -> io::Result<BackgroundSession> {
    let fuse = attach(mount, source, false, 0)?.into();
    let mut config = Config::default();
    config.n_threads = Some(readers);
    config.clone_fd = readers > 1;
    let session = Session::from_fd(files, fuse, SessionACL::Owner, config).and_then(Session::spawn);
    if session.is_err() {
        let _ = unmount(mount, true);
    }
    session
}

//! The files and block devices of a cache, opened for direct IO. They are read and written synchronously (`Blocks`) or
//! through a ring.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flatwater_core::cache::journal::recovery::Blocks;

use crate::storage::buffer::ALIGNMENT_BYTES;

/// An open file or block device.
#[derive(Debug)]
pub struct Medium {
    path: PathBuf,
    /// For direct IO, if the file system supports it.
    direct: Option<File>,
    /// Through the page cache, for IOs that direct IO does not take.
    buffered: File,
    bytes: u64,
    /// Offset and length of a direct IO must be multiples of this.
    alignment_bytes: u32,
    is_device: bool,
}

impl Medium {
    /// Opens a file or device, with `direct` for direct IO if possible. It is locked (and a device claimed) for this process
    /// as long as it is open.
    ///
    /// # Errors
    /// The system's error; `WouldBlock` if another process has locked it; `InvalidInput` if it is neither file nor device.
    pub fn open(path: &Path, direct: bool) -> io::Result<Self> {
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a block device"));
        }
        // The kernel refuses an exclusive claim on a device that is mounted or claimed already (EBUSY).
        let claim = if kind.is_block_device() { libc::O_EXCL } else { 0 };
        let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        let buffered = open(claim)?;
        lock(&buffered)?;
        let bytes = length(&buffered)?;
        // The claim belongs to the first descriptor. A second claim by the same path would be refused.
        let direct = if direct { reopen(&buffered, libc::O_DIRECT).ok() } else { None };
        let alignment_bytes = direct.as_ref().map_or(1, |file| alignment(file, path));
        // Direct IO is not used if it needs a larger alignment than the buffers have.
        let direct = direct.filter(|_| alignment_bytes <= ALIGNMENT_BYTES as u32);
        let path = path.to_owned();
        Ok(Self { path, direct, buffered, bytes, alignment_bytes, is_device: kind.is_block_device() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a block device.
    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// Whether direct IO is used.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// The descriptor through the page cache, and that for direct IO if there is one.
    pub(super) fn files(&self) -> (&File, Option<&File>) {
        (&self.buffered, self.direct.as_ref())
    }

    /// Whether an IO can be a direct one.
    #[inline]
    pub(super) fn takes_direct(&self, offset: u64, bytes: u32, pointer: *const u8) -> bool {
        let mask = u64::from(self.alignment_bytes) - 1;
        self.direct.is_some() && (offset | u64::from(bytes) | pointer as u64) & mask == 0
    }

    /// Whether the file lies on a FUSE file system; false if that is unknown.
    pub(super) fn is_on_fuse(&self) -> bool {
        // SAFETY: a plain structure of numbers, which the call fills.
        let mut told: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and `told` is a place for the answer.
        let result = unsafe { libc::fstatfs(self.buffered.as_raw_fd(), &raw mut told) };
        !self.is_device && result == 0 && told.f_type == libc::FUSE_SUPER_MAGIC
    }

    /// Whether a discarded range is certain to read as zeros: then the system can punch holes.
    pub fn zeros_holes(&self) -> bool {
        if self.is_device {
            return queue_limit(&self.buffered, "write_zeroes_max_bytes").is_some_and(|bytes| bytes > 0);
        }
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: a plain system call. There is no data beyond the end.
        unsafe { libc::fallocate(self.buffered.as_raw_fd(), mode, self.bytes as i64, 4096) == 0 }
    }
}

/// How long the last IOs of a killed process may take.
const DYING_AT_MOST: Duration = Duration::from_secs(30);

/// Locks a file. A killed process keeps its lock until its ring is gone, which is when its last IO has ended: this waits for
/// that. It does not wait for a process that is alive.
fn lock(file: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EWOULDBLOCK) || begun.elapsed() > DYING_AT_MOST || holder_is_alive(file) {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the process that locked the file is alive; true if that is unknown.
fn holder_is_alive(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(metadata), Ok(locks)) = (file.metadata(), std::fs::read_to_string("/proc/locks")) else { return true };
    let (device, inode) = (metadata.dev(), metadata.ino());
    let place = format!("{:02x}:{:02x}:{inode}", libc::major(device), libc::minor(device));
    // 1: FLOCK  ADVISORY  WRITE 4711 fd:00:123 0 EOF
    let mut holders = locks.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place.as_str())).then(|| words[4].to_owned())
    });
    holders.any(|process| match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The state follows the name, which may contain any character. Z and X mean that the process is dead.
        Ok(stat) => !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z") || rest.starts_with(" X")),
        Err(_) => false,
    })
}

/// Opens the same file once more with other flags.
fn reopen(file: &File, flags: i32) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

/// The length of a file or device.
fn length(file: &File) -> io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::End(0))
}

/// A limit of a block device's queue, from the kernel.
fn queue_limit(file: &File, name: &str) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let number = file.metadata().ok()?.rdev();
    let (major, minor) = (libc::major(number), libc::minor(number));
    // A partition has no queue. Its disk has one.
    ["queue", "../queue"].iter().find_map(|place| {
        std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{place}/{name}")).ok()?.trim().parse().ok()
    })
}

/// The alignment of direct IO: that of statx, or else a safe one.
fn alignment(file: &File, path: &Path) -> u32 {
    // SAFETY: the struct consists of numbers, and the call fills it.
    let mut status: libc::statx = unsafe { std::mem::zeroed() };
    let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
    // SAFETY: the empty path and the struct outlive the call.
    let failed = unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, mask, &raw mut status) } != 0;
    if !failed && status.stx_mask & libc::STATX_DIOALIGN != 0 && status.stx_dio_offset_align > 0 {
        return status.stx_dio_offset_align.max(status.stx_dio_mem_align).max(512);
    }
    let _ = path;
    ALIGNMENT_BYTES as u32
}

impl Blocks for Medium {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if self.takes_direct(offset, u32::try_from(into.len()).unwrap_or(1), into.as_ptr()) {
            return self.direct.as_ref().unwrap_or(&self.buffered).read_exact_at(into, offset);
        }
        self.buffered.read_exact_at(into, offset)
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> io::Result<()> {
        if self.takes_direct(offset, u32::try_from(from.len()).unwrap_or(1), from.as_ptr()) {
            return self.direct.as_ref().unwrap_or(&self.buffered).write_all_at(from, offset);
        }
        self.buffered.write_all_at(from, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.buffered.sync_data()
    }
}

/// The devices of a cache.
#[derive(Debug)]
pub struct Devices {
    /// The cache device.
    pub fast: Medium,
    /// The backing device.
    pub slow: Medium,
    /// The pairing record.
    pub pair: Medium,
}

impl Devices {
    /// Opens all three, the first two for direct IO.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn open(fast: &Path, slow: &Path, pair: &Path) -> io::Result<Self> {
        let open = |path: &Path, direct| {
            Medium::open(path, direct).map_err(|error| io::Error::new(error.kind(), open_error(path, &error)))
        };
        Ok(Self { fast: open(fast, true)?, slow: open(slow, true)?, pair: open(pair, false)? })
    }
}

/// A failure to open a path, in words.
pub fn open_error(path: &Path, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EWOULDBLOCK) => format!("{}: another process uses it", path.display()),
        Some(libc::EBUSY) => format!("{}: it is mounted, or held by another device", path.display()),
        _ => format!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_was_written_aligned_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        let mut medium = Medium::open(&path, true).unwrap();
        assert_eq!(medium.bytes(), 1 << 20);
        medium.write(4096, &[7; 4096]).unwrap();
        medium.write(4100, &[8; 10]).unwrap();
        medium.sync().unwrap();
        let mut read = vec![0; 20];
        medium.read(4095, &mut read).unwrap();
        assert_eq!(read[..8], [0, 7, 7, 7, 7, 8, 8, 8]);
        assert!(medium.read((1 << 20) - 10, &mut read).is_err(), "beyond its end");
    }

    #[test]
    fn belongs_to_one_cache() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        std::fs::write(&path, vec![0; 4096]).unwrap();
        let first = Medium::open(&path, true).unwrap();
        let error = Medium::open(&path, true).unwrap_err();
        assert!(open_error(&path, &error).ends_with("another process uses it"), "{error}");
        drop(first);
        Medium::open(&path, true).unwrap();
        let error = Medium::open(folder.path(), true).unwrap_err();
        assert_eq!(error.to_string(), "it is neither a file nor a block device");
    }
}

//! The FUSE protocol's bytes (linux/fuse.h, 7.31 and later), as far as a directory of fixed files needs them.

/// `fuse_in_header`.
pub const IN_HEADER_BYTES: usize = 40;
/// `fuse_in_header` and `fuse_write_in`: what stands before the data of a write.
pub const WRITE_HEADER_BYTES: usize = IN_HEADER_BYTES + 40;
/// `fuse_out_header`.
pub const OUT_HEADER_BYTES: usize = 16;

/// The version that is spoken.
pub const MAJOR: u32 = 7;
/// The latest minor version that is understood; older kernels say theirs.
pub const MINOR: u32 = 40;
/// Before this one the length of a request is fixed (`max_pages`).
pub const MINOR_MIN: u32 = 28;

/// Operations that are answered with more than ENOSYS.
pub mod opcode {
    /// Finds a name in a folder.
    pub const LOOKUP: u32 = 1;
    /// The kernel forgets a file; it is not answered.
    pub const FORGET: u32 = 2;
    /// Tells a file's attributes.
    pub const GETATTR: u32 = 3;
    /// Changes them.
    pub const SETATTR: u32 = 4;
    /// Opens a file.
    pub const OPEN: u32 = 14;
    /// Reads.
    pub const READ: u32 = 15;
    /// Writes.
    pub const WRITE: u32 = 16;
    /// Tells the room of the file system.
    pub const STATFS: u32 = 17;
    /// Closes a file.
    pub const RELEASE: u32 = 18;
    /// Makes what was written durable.
    pub const FSYNC: u32 = 20;
    /// A descriptor is closed.
    pub const FLUSH: u32 = 25;
    /// The first request: versions and flags.
    pub const INIT: u32 = 26;
    /// Opens a folder.
    pub const OPENDIR: u32 = 27;
    /// Lists a folder.
    pub const READDIR: u32 = 28;
    /// Closes a folder.
    pub const RELEASEDIR: u32 = 29;
    /// Makes a folder durable.
    pub const FSYNCDIR: u32 = 30;
    /// Checks a permission.
    pub const ACCESS: u32 = 34;
    /// Makes a file and opens it.
    pub const CREATE: u32 = 35;
    /// Makes a file.
    pub const MKNOD: u32 = 8;
    /// Makes a folder.
    pub const MKDIR: u32 = 9;
    /// Deletes a file.
    pub const UNLINK: u32 = 10;
    /// Deletes a folder.
    pub const RMDIR: u32 = 11;
    /// Renames a file.
    pub const RENAME: u32 = 12;
    /// Makes a hard link.
    pub const LINK: u32 = 13;
    /// Makes a symbolic link.
    pub const SYMLINK: u32 = 6;
    /// Renames a file, with flags.
    pub const RENAME2: u32 = 45;
    /// A request is wanted no more; it is not answered.
    pub const INTERRUPT: u32 = 36;
    /// The last request.
    pub const DESTROY: u32 = 38;
    /// The kernel forgets many files; it is not answered.
    pub const BATCH_FORGET: u32 = 42;
    /// Changes the space of a range: fallocate(2).
    pub const FALLOCATE: u32 = 43;
}

/// What is negotiated.
pub mod flag {
    /// Several reads of a file at once.
    pub const ASYNC_READ: u64 = 1;
    /// Writes of more than a page.
    pub const BIG_WRITES: u64 = 1 << 5;
    /// Direct IO that does not wait.
    pub const ASYNC_DIO: u64 = 1 << 15;
    /// Several operations on a folder at once.
    pub const PARALLEL_DIROPS: u64 = 1 << 18;
    /// The length of a request is agreed on.
    pub const MAX_PAGES: u64 = 1 << 22;
    /// Flags have 64 bits.
    pub const INIT_EXT: u64 = 1 << 30;
    /// Files of direct IO may be mapped.
    pub const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    /// The kernel can send again what was not answered.
    pub const HAS_RESEND: u64 = 1 << 39;
}

/// What is said of an open file.
pub mod open {
    /// Past the page cache.
    pub const DIRECT_IO: u32 = 1;
    /// No FLUSH when a descriptor is closed.
    pub const NOFLUSH: u32 = 1 << 5;
    /// Several direct writes at once.
    pub const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
}

/// What is changed (`FATTR_*`).
pub mod attribute {
    /// The mode.
    pub const MODE: u32 = 1;
    /// The owner.
    pub const UID: u32 = 1 << 1;
    /// The group.
    pub const GID: u32 = 1 << 2;
    /// The length.
    pub const SIZE: u32 = 1 << 3;
}

/// `FUSE_NOTIFY_RESEND`: the kernel is to send again what was read and not answered.
pub const NOTIFY_RESEND: i32 = 7;

/// Numbers out of a request, in the machine's order. What is missing at the end is zero: older kernels say less.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    /// The 32-bit number at a place.
    pub fn u32(self, at: usize) -> u32 {
        self.0.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// The 64-bit number at a place.
    pub fn u64(self, at: usize) -> u64 {
        self.0.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    }
}

/// What stands at the head of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of all of it.
    pub length: u32,
    /// The operation.
    pub opcode: u32,
    /// The kernel's name for it.
    pub unique: u64,
    /// The file.
    pub node: u64,
    /// The thread that asks, as the mount's pid namespace numbers it.
    pub thread: u32,
}

impl Header {
    /// Reads it.
    pub fn parse(bytes: &[u8]) -> Self {
        let fields = Fields(bytes);
        Self {
            length: fields.u32(0),
            opcode: fields.u32(4),
            unique: fields.u64(8),
            node: fields.u64(16),
            thread: fields.u32(32),
        }
    }
}

/// A `fuse_out_header`.
pub fn out_header(unique: u64, error: i32, payload_bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let mut header = [0; OUT_HEADER_BYTES];
    header[..4].copy_from_slice(&((OUT_HEADER_BYTES + payload_bytes) as u32).to_ne_bytes());
    header[4..8].copy_from_slice(&error.to_ne_bytes());
    header[8..].copy_from_slice(&unique.to_ne_bytes());
    header
}

/// Bytes of an answer, number by number.
#[derive(Clone, Debug, Default)]
pub struct Out(pub Vec<u8>);

impl Out {
    /// 16 bits more.
    pub fn u16(mut self, number: u16) -> Self {
        self.0.extend(number.to_ne_bytes());
        self
    }

    /// 32 bits more.
    pub fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_ne_bytes());
        self
    }

    /// 64 bits more.
    pub fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_ne_bytes());
        self
    }

    /// Zeros up to a length.
    pub fn zeros_to(mut self, bytes: usize) -> Self {
        self.0.resize(bytes.max(self.0.len()), 0);
        self
    }
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes {
    /// Its number.
    pub node: u64,
    /// Its length.
    pub bytes: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Links to it.
    pub links: u32,
    /// Whose it is.
    pub owner: (u32, u32),
    /// When it changed: seconds and nanoseconds since 1970.
    pub time: (u64, u32),
}

impl Attributes {
    /// As a `fuse_attr`, appended.
    pub fn append(&self, out: Out) -> Out {
        let (seconds, rest) = self.time;
        let out = out.u64(self.node).u64(self.bytes).u64(self.bytes.div_ceil(512));
        let out = out.u64(seconds).u64(seconds).u64(seconds).u32(rest).u32(rest).u32(rest);
        out.u32(self.mode).u32(self.links).u32(self.owner.0).u32(self.owner.1).u32(0).u32(4096).u32(0)
    }
}

/// A `fuse_dirent`, appended.
pub fn append_entry(out: &mut Vec<u8>, node: u64, offset: u64, mode: u32, name: &str) {
    out.extend(node.to_ne_bytes());
    out.extend(offset.to_ne_bytes());
    out.extend((name.len() as u32).to_ne_bytes());
    // DT_DIR, DT_REG: the type's bits of the mode.
    out.extend((mode >> 12).to_ne_bytes());
    out.extend(name.as_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_lengths() {
        assert_eq!(Attributes::default().append(Out::default()).0.len(), 88);
        assert_eq!(out_header(7, -5, 0), [16, 0, 0, 0, 251, 255, 255, 255, 7, 0, 0, 0, 0, 0, 0, 0]);
        let mut entries = Vec::new();
        append_entry(&mut entries, 2, 1, libc::S_IFREG | 0o600, "cached");
        assert_eq!((entries.len(), entries[20]), (32, libc::DT_REG));
    }

    #[test]
    fn what_an_older_kernel_leaves_out_is_zero() {
        let fields = Fields(&[1, 0, 0, 0, 2]);
        assert_eq!((fields.u32(0), fields.u32(4), fields.u64(0), fields.u64(100)), (1, 0, 0, 0));
    }
}

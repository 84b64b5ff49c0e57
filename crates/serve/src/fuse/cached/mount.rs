//! Mounting: a descriptor of /dev/fuse that outlives those who serve it.
//!
//! Whoever holds the descriptor keeps the mount alive. The kernel's first request, INIT, is answered here, so that all
//! who serve it, the first and those who take over, find the same.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::limits::{BLOCK_BYTES, IN_FLIGHT_MAX, REQUEST_BYTES_MAX};
use super::super::mount::{attach, unmount};
use super::wire::{self, Fields, Header, IN_HEADER_BYTES, Out, flag, opcode, out_header};

/// How much the kernel may read ahead through the page cache (a mapped file): its own default.
const READAHEAD_BYTES: u32 = 128 << 10;
/// How long the kernel may take until it sends its first request.
const INIT_WITHIN_MS: i32 = 10_000;

/// What was negotiated with the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The minor version spoken.
    pub minor: u32,
    /// Flags that both sides understand.
    pub flags: u64,
    /// Longest data of a write.
    pub write_bytes_max: u32,
}

impl Protocol {
    /// Whether the kernel can send again what a server that died had read (Linux 6.9).
    pub const fn resends(&self) -> bool {
        self.flags & flag::HAS_RESEND != 0
    }
}

/// A mount.
#[derive(Debug)]
pub struct Mounted {
    /// The descriptor of /dev/fuse; closed at exec, unless whoever hands it on says otherwise.
    pub descriptor: OwnedFd,
    /// What was negotiated.
    pub protocol: Protocol,
}

/// Mounts on a directory, as `source`, and negotiates. With `others`, other users may use it as far as its files'
/// modes let them.
///
/// # Errors
/// What the system says: EPERM without the right to mount, ENOENT without FUSE; `InvalidData` when the kernel's FUSE is
/// too old.
pub fn mount(path: &Path, source: &str, others: bool) -> io::Result<Mounted> {
    let fuse = attach(path, source, others, libc::O_NONBLOCK)?;
    match negotiate(&fuse) {
        Ok(protocol) => Ok(Mounted { descriptor: fuse.into(), protocol }),
        Err(error) => {
            // What says more is the first error.
            let _ = unmount(path, true);
            Err(error)
        }
    }
}

/// Answers INIT.
fn negotiate(fuse: &File) -> io::Result<Protocol> {
    let mut request = vec![0; 8192.max(REQUEST_BYTES_MAX as usize + 4096)];
    let mut waiting = libc::pollfd { fd: fuse.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives until it returns.
    if unsafe { libc::poll(&raw mut waiting, 1, INIT_WITHIN_MS) } <= 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel's FUSE does not answer"));
    }
    let mut fuse = fuse;
    let length = fuse.read(&mut request)?;
    let header = Header::parse(&request[..length]);
    let fields = Fields(&request[IN_HEADER_BYTES.min(length)..length]);
    let (major, minor) = (fields.u32(0), fields.u32(4));
    if header.opcode != opcode::INIT || major != wire::MAJOR || minor < wire::MINOR_MIN {
        let text = format!("the kernel's FUSE speaks {major}.{minor}, and 7.{} is needed", wire::MINOR_MIN);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let (protocol, answer) = answer_init(fields);
    let mut bytes = out_header(header.unique, 0, answer.len()).to_vec();
    bytes.extend(answer);
    fuse.write_all(&bytes)?;
    Ok(protocol)
}

/// What INIT is answered with.
fn answer_init(fields: Fields<'_>) -> (Protocol, Vec<u8>) {
    let offered = u64::from(fields.u32(12)) | u64::from(fields.u32(16)) << 32;
    // Not: the write-back cache, which would answer writes before we know of them.
    let wanted = flag::ASYNC_READ
        | flag::BIG_WRITES
        | flag::ASYNC_DIO
        | flag::PARALLEL_DIROPS
        | flag::MAX_PAGES
        | flag::INIT_EXT
        | flag::DIRECT_IO_ALLOW_MMAP
        | flag::HAS_RESEND;
    let flags = offered & wanted;
    let minor = fields.u32(4).min(wire::MINOR);
    let pages = (REQUEST_BYTES_MAX / BLOCK_BYTES) as u16;
    let out = Out::default().u32(wire::MAJOR).u32(minor).u32(fields.u32(8).min(READAHEAD_BYTES)).u32(flags as u32);
    let out = out.u16(IN_FLIGHT_MAX).u16(IN_FLIGHT_MAX).u32(REQUEST_BYTES_MAX).u32(1).u16(pages).u16(0);
    let out = out.u32((flags >> 32) as u32).zeros_to(64);
    (Protocol { minor, flags, write_bytes_max: REQUEST_BYTES_MAX }, out.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_understand_is_agreed_on() {
        let offer = Out::default().u32(7).u32(45).u32(1 << 20).u32(u32::MAX).u32(u32::MAX).0;
        let (protocol, answer) = answer_init(Fields(&offer));
        assert_eq!((protocol.minor, answer.len(), protocol.resends()), (wire::MINOR, 64, true));
        assert_eq!(protocol.flags & 1 << 16, 0, "no write-back cache");
        let old = Out::default().u32(7).u32(31).u32(1 << 20).u32(flag::ASYNC_READ as u32).0;
        let (protocol, _) = answer_init(Fields(&old));
        assert_eq!((protocol.minor, protocol.flags, protocol.resends()), (31, flag::ASYNC_READ, false));
    }
}

//! Names, attributes and texts: the answers to all requests but those of the device's content.

use std::ffi::CStr;
use std::sync::Arc;

use flatwater_real::cache::Port;

use crate::fuse::cached::files::{self, DEVICE, ERROR, EVENTS, Files, RECORD, STATS, STATS_JSON};
use crate::fuse::cached::wire::{self, Fields, Header, Out, append_entry, attribute, opcode, open};
use crate::fuse::limits::{BLOCK_BYTES, KNOWN_FOR};
use crate::fuse::texts::{Texts, part};

/// The data of an answer, or the errno of a refusal.
pub(super) type Answer = Result<Vec<u8>, i32>;

/// The directory of a mount.
pub(super) struct Directory {
    files: Files,
    /// The cache's name, for people.
    name: String,
    texts: Texts,
    /// Why the last change of a setting was refused; empty when it was not.
    error: String,
}

impl Directory {
    /// These files, none of them open. Handles come after `last_handle`.
    pub(super) fn new(files: Files, name: String, last_handle: u64) -> Self {
        Self { files, name, texts: Texts::new(last_handle), error: String::new() }
    }

    /// Bytes of the device.
    pub(super) fn device_bytes(&self) -> u64 {
        self.files.device_bytes()
    }

    /// The setting that a file is of.
    pub(super) fn setting(&self, node: u64) -> Option<&str> {
        self.files.setting(node)
    }

    /// The last change of a setting was refused, or made (None).
    pub(super) fn note_change(&mut self, refused: Option<String>) {
        self.error = refused.map_or_else(String::new, |why| why + "\n");
    }

    /// Answers a request that is not of the device's content.
    pub(super) fn answer(&mut self, port: &Port<'_>, header: Header, body: &[u8]) -> Answer {
        let fields = Fields(body);
        match header.opcode {
            opcode::LOOKUP => self.look_up(port, header, body),
            opcode::GETATTR => self.attributes(port, header),
            opcode::SETATTR => self.set_attributes(port, header, fields),
            opcode::OPEN => self.open(port, header, fields.u32(0)),
            opcode::OPENDIR => Ok(vec![0; 16]),
            opcode::RELEASEDIR | opcode::FSYNCDIR | opcode::FSYNC | opcode::FLUSH | opcode::DESTROY => Ok(Vec::new()),
            opcode::READ => Ok(self.read(port, header, fields)),
            opcode::RELEASE => {
                self.texts.close(fields.u64(0));
                Ok(Vec::new())
            }
            opcode::READDIR => self.list(header, fields.u64(8), fields.u32(16) as usize),
            opcode::STATFS => Ok(self.space()),
            opcode::CREATE
            | opcode::MKNOD
            | opcode::MKDIR
            | opcode::UNLINK
            | opcode::RMDIR
            | opcode::RENAME
            | opcode::RENAME2
            | opcode::LINK
            | opcode::SYMLINK => Err(libc::EPERM),
            _ => Err(libc::ENOSYS),
        }
    }

    /// What a file that is not the device says now.
    fn text(&self, port: &Port<'_>, node: u64) -> String {
        match node {
            STATS => files::stats_text(port.bytes(), &port.statistics()),
            STATS_JSON => files::stats_json(&self.name, port.bytes(), &port.statistics(), port.settings()),
            EVENTS => files::events_text(port.incidents()),
            ERROR => self.error.clone(),
            _ => match (port.settings(), self.files.setting(node)) {
                (_, Some(RECORD)) => port.recorded_to().map_or("off\n".into(), |path| format!("{}\n", path.display())),
                (Some(settings), Some(name)) => settings.value(name).map_or_else(String::new, |value| value + "\n"),
                _ => String::new(),
            },
        }
    }

    /// A file's attributes, and for how many seconds they hold.
    fn known(&self, port: &Port<'_>, node: u64) -> Option<(wire::Attributes, u64)> {
        let is_text = self.files.mode(node)? & libc::S_IFMT == libc::S_IFREG && node != DEVICE;
        let bytes = if is_text { self.text(port, node).len() } else { 0 };
        Some((self.files.attributes(node, bytes)?, if is_text { 0 } else { KNOWN_FOR.as_secs() }))
    }

    fn look_up(&self, port: &Port<'_>, header: Header, body: &[u8]) -> Answer {
        let name = CStr::from_bytes_until_nul(body).ok().and_then(|name| name.to_str().ok());
        let node = name.and_then(|name| self.files.find(header.node, name));
        let (attributes, known_for) = node.and_then(|node| self.known(port, node)).ok_or(libc::ENOENT)?;
        let out = Out::default().u64(attributes.node).u64(0).u64(KNOWN_FOR.as_secs()).u64(known_for).u32(0).u32(0);
        Ok(attributes.append(out).0)
    }

    fn attributes(&self, port: &Port<'_>, header: Header) -> Answer {
        let (attributes, known_for) = self.known(port, header.node).ok_or(libc::ENOENT)?;
        Ok(attributes.append(Out::default().u64(known_for).u32(0).u32(0)).0)
    }

    /// The device keeps its length, and all files their owners and modes; to cut off a setting is how it is
    /// overwritten.
    fn set_attributes(&self, port: &Port<'_>, header: Header, fields: Fields<'_>) -> Answer {
        let (wanted, bytes) = (fields.u32(0), fields.u64(16));
        let cut = wanted & attribute::SIZE != 0 && header.node == DEVICE && bytes != self.device_bytes();
        if cut || wanted & (attribute::MODE | attribute::UID | attribute::GID) != 0 {
            return Err(libc::EPERM);
        }
        self.attributes(port, header)
    }

    fn open(&mut self, port: &Port<'_>, header: Header, flags: u32) -> Answer {
        let writes = flags as i32 & libc::O_ACCMODE != libc::O_RDONLY;
        if header.node == DEVICE {
            let flags = open::DIRECT_IO | open::NOFLUSH | open::PARALLEL_DIRECT_WRITES;
            return Ok(Out::default().u64(0).u32(flags).u32(0).0);
        }
        if writes && self.setting(header.node).is_none() {
            return Err(libc::EACCES);
        }
        let handle = if writes {
            self.texts.next_handle()
        } else {
            let text = self.text(port, header.node);
            self.texts.open(text)
        };
        Ok(Out::default().u64(handle).u32(open::DIRECT_IO).u32(0).0)
    }

    /// Reads a file that is not the device.
    fn read(&self, port: &Port<'_>, header: Header, fields: Fields<'_>) -> Vec<u8> {
        let (handle, offset, bytes) = (fields.u64(0), fields.u64(8), fields.u32(16));
        // Opened by the server before this one, it is told anew.
        let text = self.texts.get(handle).unwrap_or_else(|| Arc::from(self.text(port, header.node)));
        part(&text, offset, bytes).to_vec()
    }

    fn list(&self, header: Header, offset: u64, bytes: usize) -> Answer {
        let entries = self.files.entries(header.node).ok_or(libc::ENOTDIR)?;
        let mut out = Vec::new();
        let above = [(".", header.node), ("..", files::ROOT)];
        for (number, (name, node)) in (1u64..).zip(above.into_iter().chain(entries)) {
            let before = out.len();
            if number > offset {
                append_entry(&mut out, node, number, self.files.mode(node).unwrap_or(libc::S_IFREG), name);
            }
            if out.len() > bytes {
                out.truncate(before);
                break;
            }
        }
        Ok(out)
    }

    fn space(&self) -> Vec<u8> {
        let blocks = self.device_bytes() / u64::from(BLOCK_BYTES);
        let out = Out::default().u64(blocks).u64(0).u64(0).u64(8).u64(0).u32(BLOCK_BYTES).u32(255).u32(BLOCK_BYTES);
        out.zeros_to(80).0
    }
}

//! Names, attributes and texts: all requests but those of the device's content.

use std::ffi::CStr;

use flatwater_real::cache::Port;

use super::Session;
use crate::cache::files::{self, DEVICE};
use crate::cache::wire::{Fields, Header, Out, append_entry, attribute, open};

/// How long the kernel may believe names, and what it knows of the device: they do not change.
pub(super) const KNOWN_FOR_S: u64 = 60;

impl Session {
    pub(super) fn look_up(&mut self, port: &Port<'_>, header: Header, body: &[u8]) {
        let name = CStr::from_bytes_until_nul(body).ok().and_then(|name| name.to_str().ok());
        let node = name.and_then(|name| self.files().find(header.node, name));
        let Some((attributes, known_for)) = node.and_then(|node| self.attributes(port, node)) else {
            return self.fail(header.unique, libc::ENOENT);
        };
        let out = Out::default().u64(attributes.node).u64(0).u64(KNOWN_FOR_S).u64(known_for).u32(0).u32(0);
        self.send(header.unique, 0, &[&attributes.append(out).0]);
    }

    pub(super) fn tell_attributes(&mut self, port: &Port<'_>, header: Header) {
        let Some((attributes, known_for)) = self.attributes(port, header.node) else {
            return self.fail(header.unique, libc::ENOENT);
        };
        let out = Out::default().u64(known_for).u32(0).u32(0);
        self.send(header.unique, 0, &[&attributes.append(out).0]);
    }

    /// The device keeps its length, and all files their owners and modes; to cut off a setting is how it is overwritten.
    pub(super) fn set_attributes(&mut self, port: &Port<'_>, header: Header, fields: Fields<'_>) {
        let (wanted, bytes) = (fields.u32(0), fields.u64(16));
        let cut = wanted & attribute::SIZE != 0 && header.node == DEVICE && bytes != self.files().device_bytes();
        if cut || wanted & (attribute::MODE | attribute::UID | attribute::GID) != 0 {
            return self.fail(header.unique, libc::EPERM);
        }
        self.tell_attributes(port, header);
    }

    pub(super) fn open(&mut self, port: &Port<'_>, header: Header, flags: u32) {
        let writes = flags as i32 & libc::O_ACCMODE != libc::O_RDONLY;
        if header.node == DEVICE {
            let flags = open::DIRECT_IO | open::NOFLUSH | open::PARALLEL_DIRECT_WRITES;
            let out = Out::default().u64(0).u32(flags).u32(0);
            return self.send(header.unique, 0, &[&out.0]);
        }
        if writes && self.files().setting(header.node).is_none() {
            return self.fail(header.unique, libc::EACCES);
        }
        self.handles += 1;
        if !writes {
            let text = self.text(port, header.node);
            self.texts.insert(self.handles, text);
        }
        let out = Out::default().u64(self.handles).u32(open::DIRECT_IO).u32(0);
        self.send(header.unique, 0, &[&out.0]);
    }

    pub(super) fn read_text(&mut self, port: &Port<'_>, header: Header, fields: Fields<'_>) {
        let (handle, offset, bytes) = (fields.u64(0), fields.u64(8), fields.u32(16) as usize);
        // Opened by the server before this one, it is told anew.
        let text = self.texts.get(&handle).cloned().unwrap_or_else(|| self.text(port, header.node));
        let begin = text.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let end = text.len().min(begin.saturating_add(bytes));
        self.send(header.unique, 0, &[&text.as_bytes()[begin..end]]);
    }

    pub(super) fn list(&mut self, header: Header, offset: u64, bytes: usize) {
        let Some(entries) = self.files().entries(header.node) else {
            return self.fail(header.unique, libc::ENOTDIR);
        };
        let mut out = Vec::new();
        let above = [(".", header.node), ("..", files::ROOT)];
        for (number, (name, node)) in (1u64..).zip(above.into_iter().chain(entries)) {
            let before = out.len();
            if number > offset {
                append_entry(&mut out, node, number, self.files().mode(node).unwrap_or(libc::S_IFREG), name);
            }
            if out.len() > bytes {
                out.truncate(before);
                break;
            }
        }
        self.send(header.unique, 0, &[&out]);
    }
}

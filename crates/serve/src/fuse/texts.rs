//! Open text files. A reader sees the version of the time at which it opened the file.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts that are being read, by handle.
#[derive(Debug)]
pub(super) struct Texts {
    open: BTreeMap<u64, Arc<str>>,
    last_handle: u64,
}

impl Texts {
    /// No open files. New handles come after `last_handle`, so that those of an earlier server are not used again.
    pub(super) fn new(last_handle: u64) -> Self {
        Self { open: BTreeMap::new(), last_handle }
    }

    /// A new handle without a text.
    pub(super) fn next_handle(&mut self) -> u64 {
        self.last_handle += 1;
        self.last_handle
    }

    /// Opens a text, and returns its handle.
    pub(super) fn open(&mut self, text: String) -> u64 {
        let handle = self.next_handle();
        self.open.insert(handle, text.into());
        handle
    }

    /// The text of a handle, if it was opened here.
    pub(super) fn get(&self, handle: u64) -> Option<Arc<str>> {
        self.open.get(&handle).cloned()
    }

    /// Closes a handle.
    pub(super) fn close(&mut self, handle: u64) {
        self.open.remove(&handle);
    }
}

/// The part of a text that a read requests.
pub(super) fn part(text: &str, offset: u64, bytes: u32) -> &[u8] {
    let begin = text.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
    let end = text.len().min(begin.saturating_add(bytes as usize));
    &text.as_bytes()[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_has_the_text_of_its_opening() {
        let mut texts = Texts::new(10);
        let (first, second) = (texts.open("old".into()), texts.open("new".into()));
        assert_eq!((first, second), (11, 12));
        assert_eq!((&*texts.get(first).unwrap(), &*texts.get(second).unwrap()), ("old", "new"));
        texts.close(first);
        assert!(texts.get(first).is_none() && texts.get(10).is_none());
        assert_eq!(texts.next_handle(), 13);
    }

    #[test]
    fn a_read_ends_with_the_text() {
        assert_eq!((part("abc", 0, 2), part("abc", 1, 9), part("abc", 3, 1)), (&b"ab"[..], &b"bc"[..], &b""[..]));
        assert_eq!(part("abc", u64::MAX, u32::MAX), b"");
    }
}

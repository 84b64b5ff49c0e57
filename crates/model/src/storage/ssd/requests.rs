//! Commands in the card, and the pages that they are about.

use flatwater_core::slab::Key as _;
use flatwater_core::slab_key;

use crate::storage::{Command, Failure};

slab_key!(
    /// A command under way in a card.
    pub RequestId
);

impl RequestId {
    /// What a part of the command is given to a module as.
    pub fn tag(self) -> u64 {
        self.number().into()
    }

    /// The command of which a part was given with this tag.
    pub fn of_tag(tag: u64) -> Self {
        Self::from_number(tag as u32)
    }
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The host's name for it.
    pub tag: u64,
    /// What it is.
    pub command: Command,
    /// Parts of it that have not ended.
    pub left: u32,
    /// The next of its pages to go to the buffer.
    pub next_lpn: u32,
    /// The first failure of a part.
    pub result: Result<(), Failure>,
}

impl Request {
    /// One that has just come.
    pub const fn new(tag: u64, command: Command) -> Self {
        Self { tag, command, left: 0, next_lpn: 0, result: Ok(()) }
    }
}

/// The pages that a range touches, first and last; None: none.
#[inline]
pub fn pages(command: &Command, page_shift: u32) -> Option<(u32, u32)> {
    (command.bytes > 0).then(|| ((command.offset >> page_shift) as u32, last_page(command, page_shift)))
}

/// The last page that a range touches, which is not empty.
#[inline]
pub fn last_page(command: &Command, page_shift: u32) -> u32 {
    ((command.offset + command.bytes - 1) >> page_shift) as u32
}

/// Where in a page a range begins, and how many bytes of it are in that page.
#[inline]
pub fn part(command: &Command, lpn: u32, page_shift: u32) -> (u64, u64) {
    let page = u64::from(lpn) << page_shift;
    let begin = command.offset.max(page);
    let end = (command.offset + command.bytes).min(page + (1 << page_shift));
    (begin - page, end - begin)
}

/// The pages that a range covers in whole, for a trim.
pub fn whole_pages(command: &Command, page_shift: u32) -> std::ops::Range<u32> {
    let first = command.offset.div_ceil(1 << page_shift);
    let end = (command.offset + command.bytes) >> page_shift;
    first as u32..(end as u32).max(first as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Operation;

    fn command(offset: u64, bytes: u64) -> Command {
        Command { operation: Operation::Write, offset, bytes }
    }

    #[test]
    fn ranges_and_pages() {
        assert_eq!(pages(&command(0, 0), 12), None);
        assert_eq!(pages(&command(0, 4096), 12), Some((0, 0)));
        assert_eq!(pages(&command(4095, 2), 12), Some((0, 1)));
        assert_eq!(part(&command(4095, 2), 0, 12), (4095, 1));
        assert_eq!(part(&command(4095, 2), 1, 12), (0, 1));
        assert_eq!(whole_pages(&command(1, 3 * 4096), 12), 1..3);
        assert_eq!(whole_pages(&command(1, 100), 12), 1..1);
    }
}

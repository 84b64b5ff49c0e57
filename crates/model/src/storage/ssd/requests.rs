//! Commands in the card, and the pages that they touch.

use flatwater_core::slab::Key as _;
use flatwater_core::slab_key;

use super::ftl::Lpn;
use crate::storage::{Command, Failure};

slab_key!(
    /// A command under way in a card.
    pub RequestId
);

impl RequestId {
    /// The tag of the parts of the command that modules serve.
    pub fn tag(self) -> u64 {
        self.number().into()
    }

    /// The command whose parts have this tag.
    pub fn of_tag(tag: u64) -> Self {
        Self::from_number(tag as u32)
    }
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The tag that the host gave it.
    pub tag: u64,
    /// The command itself.
    pub command: Command,
    /// Parts of it that have not ended.
    pub left: u32,
    /// The page of it that goes to the buffer next.
    pub next_lpn: Lpn,
    /// The first failure among its parts.
    pub result: Result<(), Failure>,
}

impl Request {
    /// A command that has just arrived.
    pub const fn new(tag: u64, command: Command) -> Self {
        Self { tag, command, left: 0, next_lpn: Lpn::new(0), result: Ok(()) }
    }
}

/// The first and the last page that a range touches; None for an empty range.
#[inline]
pub fn pages(command: &Command, page_shift: u32) -> Option<(Lpn, Lpn)> {
    (command.bytes > 0).then(|| (Lpn::new((command.offset >> page_shift) as u32), last_page(command, page_shift)))
}

/// The last page that a range touches. The range must not be empty.
#[inline]
pub fn last_page(command: &Command, page_shift: u32) -> Lpn {
    Lpn::new(((command.offset + command.bytes - 1) >> page_shift) as u32)
}

/// The offset in a page at which a range begins, and how many bytes of the range are in the page.
#[inline]
pub fn part(command: &Command, lpn: Lpn, page_shift: u32) -> (u64, u64) {
    let page = u64::from(lpn.number()) << page_shift;
    let begin = command.offset.max(page);
    let end = (command.offset + command.bytes).min(page + (1 << page_shift));
    (begin - page, end - begin)
}

/// The pages that a range covers completely, for a trim.
pub fn whole_pages(command: &Command, page_shift: u32) -> impl Iterator<Item = Lpn> + use<> {
    let first = command.offset.div_ceil(1 << page_shift);
    let end = (command.offset + command.bytes) >> page_shift;
    (first as u32..end as u32).map(Lpn::new)
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
        assert_eq!(pages(&command(0, 4096), 12), Some((Lpn::new(0), Lpn::new(0))));
        assert_eq!(pages(&command(4095, 2), 12), Some((Lpn::new(0), Lpn::new(1))));
        assert_eq!(part(&command(4095, 2), Lpn::new(0), 12), (4095, 1));
        assert_eq!(part(&command(4095, 2), Lpn::new(1), 12), (0, 1));
        assert!(whole_pages(&command(1, 3 * 4096), 12).eq([1, 2].map(Lpn::new)));
        assert_eq!(whole_pages(&command(1, 100), 12).count(), 0);
    }
}

//! The journal of the file system in which the server's files lie: ext4's, as of data=ordered.
//!
//! A write sets the file's times, and its inode belongs to the transaction of the journal that is open. A sync of the file
//! (fsync) so commits the journal, after the file's data: its blocks are written, then the device is flushed, then the
//! block that ends the transaction is written and flushed (jbd2_journal_commit_transaction: the record is written with
//! PREFLUSH and FUA, and the block layer makes a flush of FUA where a device has none). One commit follows another: who
//! comes meanwhile is served by the next one. A sync of the data alone (fdatasync) commits nothing, as long as the file
//! keeps its size.
//!
//! `order` is apart from that: the time that a sync of a data file takes for each of its pages. A write to a log that goes
//! through the kernel's cache waits until it is over.

use super::events::Tag;
use crate::storage::{Command, Operation};

/// Bytes of a journal: `mke2fs` gives 16 MiB to file systems of half a GiB up to 4096 blocks of journal (mke2fs.8,
/// ext2fs_default_journal_size). It is written round and round, so more would change nothing.
pub(super) const JOURNAL_BYTES: u64 = 16 << 20;
/// A block of the file system.
const BLOCK_BYTES: u64 = 4096;
/// Blocks in front of the record: which blocks these are (the descriptor), and one of inodes.
const BLOCKS_BYTES: u64 = 2 * BLOCK_BYTES;
/// A file's times are those of the kernel's last tick (current_time; CONFIG_HZ=250 of most kernels of distributions): a
/// write in the same tick as the one before changes nothing that a commit would have to save.
const TICK_NS: u64 = 4_000_000;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Blocks,
    Barrier,
    Record,
    Flush,
}

/// What follows a step of a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next command of the commit.
    Step(Command),
    /// The commit is over. It served these, and the first command of the next one follows, if anybody waits for it.
    Over(Vec<Tag>, Option<Command>),
}

/// The journal on one device.
#[derive(Clone, Debug)]
struct OnDevice {
    /// Its first byte.
    first: u64,
    /// What is written next, behind that.
    at: u64,
    step: Option<Step>,
    /// For whom the commit is, and who waits for the next one.
    served: Vec<Tag>,
    waiting: Vec<Tag>,
    /// The tick in which the last commit began.
    tick: Option<u64>,
}

impl OnDevice {
    fn begin(&mut self, now_ns: u64) -> Command {
        self.served = std::mem::take(&mut self.waiting);
        self.tick = Some(now_ns / TICK_NS);
        self.step = Some(Step::Blocks);
        self.append(BLOCKS_BYTES)
    }

    fn append(&mut self, bytes: u64) -> Command {
        if self.at + bytes > JOURNAL_BYTES {
            self.at = 0;
        }
        let offset = self.first + self.at;
        self.at += bytes;
        Command { operation: Operation::Write, offset, bytes }
    }
}

/// The journal.
#[derive(Debug)]
pub(super) struct Journal {
    devices: Vec<OnDevice>,
    /// What a commit takes for each page that was written since the last one, ns.
    page_ns: u64,
    /// Pages written since the last commit began.
    pages: u64,
    /// When the last commit's pages are done with.
    free_ns: u64,
}

impl Journal {
    /// An empty journal that begins at these bytes of the devices, and whose commit takes so many ns for each page.
    pub(super) fn new(firsts: &[u64], page_ns: u64) -> Self {
        let on_device = |first: &u64| OnDevice {
            first: *first,
            at: 0,
            step: None,
            served: Vec::new(),
            waiting: Vec::new(),
            tick: None,
        };
        Self { devices: firsts.iter().map(on_device).collect(), page_ns, pages: 0, free_ns: 0 }
    }

    /// So many pages were written.
    pub(super) const fn note_written(&mut self, pages: u64) {
        self.pages += pages;
    }

    /// Takes the time of the pages that were written. Returns when it is over.
    pub(super) fn order(&mut self, now_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + std::mem::take(&mut self.pages) * self.page_ns;
        self.free_ns
    }

    /// When the time of the pages is over; None when it is.
    pub(super) fn busy_until_ns(&self, now_ns: u64) -> Option<u64> {
        (self.free_ns > now_ns).then_some(self.free_ns)
    }

    /// Whether a file on a device that was written just now has times that are in no commit yet.
    pub(super) fn has_news(&self, device: usize, now_ns: u64) -> bool {
        let own = &self.devices[device];
        own.step.is_some() || own.tick != Some(now_ns / TICK_NS)
    }

    /// Somebody's sync is to be committed on a device. Returns the first command of the commit, unless one is under way.
    pub(super) fn commit(&mut self, device: usize, tag: Tag, now_ns: u64) -> Option<Command> {
        let own = &mut self.devices[device];
        own.waiting.push(tag);
        own.step.is_none().then(|| own.begin(now_ns))
    }

    /// A step of the commit on a device is done.
    pub(super) fn end_step(&mut self, device: usize, now_ns: u64) -> Next {
        let own = &mut self.devices[device];
        let flush = Command { operation: Operation::Flush, offset: 0, bytes: 0 };
        let (step, command) = match own.step {
            Some(Step::Blocks) => (Step::Barrier, flush),
            Some(Step::Barrier) => (Step::Record, own.append(BLOCK_BYTES)),
            Some(Step::Record) => (Step::Flush, flush),
            Some(Step::Flush) | None => {
                own.step = None;
                let served = std::mem::take(&mut own.served);
                let next = (!own.waiting.is_empty()).then(|| own.begin(now_ns));
                return Next::Over(served, next);
            }
        };
        own.step = Some(step);
        Next::Step(command)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::FrameId;
    use super::*;

    const FLUSH: Command = Command { operation: Operation::Flush, offset: 0, bytes: 0 };

    fn write(offset: u64, bytes: u64) -> Command {
        Command { operation: Operation::Write, offset, bytes }
    }

    #[test]
    fn a_commit_takes_its_time_for_each_page_once_and_waits_for_the_one_before() {
        let mut journal = Journal::new(&[0], 10);
        journal.note_written(5);
        assert_eq!((journal.order(100), journal.busy_until_ns(149)), (150, Some(150)));
        journal.note_written(2);
        assert_eq!(journal.order(120), 170);
        assert_eq!((journal.order(400), journal.busy_until_ns(400)), (400, None), "nothing was written since");
    }

    #[test]
    fn a_commit_is_written_and_flushed_twice_and_those_who_come_meanwhile_share_the_next_one() {
        let mut journal = Journal::new(&[1 << 30], 0);
        let [first, second, third] = [1, 2, 3].map(|frame| Tag::Read { frame: FrameId::new(frame) });
        assert_eq!(journal.commit(0, first, 0), Some(write(1 << 30, 8192)));
        assert_eq!((journal.commit(0, second, 5), journal.commit(0, third, 6)), (None, None));
        assert_eq!(journal.end_step(0, 10), Next::Step(FLUSH));
        assert_eq!(journal.end_step(0, 20), Next::Step(write((1 << 30) + 8192, 4096)));
        assert_eq!(journal.end_step(0, 30), Next::Step(FLUSH));
        assert_eq!(journal.end_step(0, 40), Next::Over(vec![first], Some(write((1 << 30) + 12_288, 8192))));
        for _ in 0..3 {
            assert!(matches!(journal.end_step(0, 50), Next::Step(_)));
        }
        assert_eq!(journal.end_step(0, 60), Next::Over(vec![second, third], None));
    }

    #[test]
    fn times_change_with_the_tick() {
        let mut journal = Journal::new(&[0, 0], 0);
        assert!(journal.has_news(0, 1));
        journal.commit(0, Tag::Checkpoint, 1);
        for _ in 0..4 {
            journal.end_step(0, 1000);
        }
        assert!(!journal.has_news(0, TICK_NS - 1) && journal.has_news(0, TICK_NS) && journal.has_news(1, 1));
    }

    #[test]
    fn it_is_written_round_and_round() {
        let mut journal = Journal::new(&[4096], 0);
        for _ in 0..5000 {
            let mut next = journal.commit(0, Tag::Checkpoint, 0);
            while let Some(command) = next {
                assert!(command.offset >= 4096 || command == FLUSH);
                assert!(command.offset + command.bytes <= 4096 + JOURNAL_BYTES);
                next = match journal.end_step(0, 0) {
                    Next::Step(command) => Some(command),
                    Next::Over(_, next) => next,
                };
            }
        }
    }
}

//! What a server waits for: moments that it set itself, and answers of its devices.

use flatwater_core::slab::Key;

use super::ids::{FrameId, ThreadNo, WriterId};

/// What happens at a moment that the server set itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A thread goes on.
    Ready(ThreadNo),
    /// A thread's burst of work is over, unless the log was held meanwhile.
    Worked(ThreadNo),
    /// A round of the master thread.
    Master,
    /// Threads that wait for room in the log look again.
    Room,
    /// The page cleaner's alarm.
    Cleaner(Alarm),
    /// A second of a server with a page cleaner.
    Tick,
    /// The pages of a writer's chunk are in it.
    Posted(WriterId),
    /// A writer that has found its file being synced looks again.
    SyncAgain(WriterId),
    /// The kernel's part of a writer's sync is over.
    Sync(WriterId),
    /// The commit of the file system's journal is over, for which a write to the log has waited.
    Journal,
    /// The commit of the file system's journal is over that a sync has asked for.
    Committed(Tag),
}

/// An alarm of the page cleaner. Only the last one that was set counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alarm(u32);

impl Alarm {
    /// The alarm that is set after this one.
    pub(super) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// The step of a log that a device's answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogStep {
    /// Part of a write: a page that had to be read for it, or the write itself.
    Write,
    /// Part of a sync.
    Sync,
    /// Part of a binary log's sync.
    Binlog,
    /// What the kernel wrote by itself.
    Writeback,
}

impl LogStep {
    const fn of(number: u32) -> Self {
        match number {
            0 => Self::Write,
            1 => Self::Sync,
            2 => Self::Binlog,
            _ => Self::Writeback,
        }
    }
}

/// What a device's answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// The read of a page.
    Read { frame: FrameId },
    /// The write of a page of a writer's chunk to its place.
    Page { writer: WriterId, at: u32 },
    /// Another step of a writer: to the doublewrite buffer, or a sync.
    Writer { writer: WriterId },
    /// A step of a log.
    Log { step: LogStep },
    /// A checkpoint was written.
    Checkpoint,
    /// A checkpoint is durable.
    CheckpointSync,
    /// A step of a commit of the file system's journal on a device.
    Journal { device: u32 },
}

impl Tag {
    /// The tag as a number below 2^63, with room for the number of the server in the bits from `SERVER_SHIFT` on.
    pub(super) fn pack(self) -> u64 {
        match self {
            Self::Read { frame } => u64::from(frame.number()),
            Self::Page { writer, at } => 1 << 60 | u64::from(writer.number()) << 32 | u64::from(at),
            Self::Writer { writer } => 2 << 60 | u64::from(writer.number()),
            Self::Log { step } => 3 << 60 | step as u64,
            Self::Checkpoint => 4 << 60,
            Self::CheckpointSync => 4 << 60 | 1,
            Self::Journal { device } => 5 << 60 | u64::from(device),
        }
    }

    /// The tag of a number.
    pub(super) fn unpack(tag: u64) -> Self {
        let low = tag as u32;
        match tag >> 60 {
            0 => Self::Read { frame: FrameId::new(low) },
            1 => Self::Page { writer: WriterId::from_number((tag >> 32) as u32 & 0x000f_ffff), at: low },
            2 => Self::Writer { writer: WriterId::from_number(low) },
            3 => Self::Log { step: LogStep::of(low) },
            4 if low == 0 => Self::Checkpoint,
            4 => Self::CheckpointSync,
            _ => Self::Journal { device: low },
        }
    }
}

/// The bits of a device's answer that name the server.
pub(super) const SERVER_SHIFT: u32 = 52;
pub(super) const SERVER_MASK: u64 = 0xff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_from_its_number_whatever_server_it_is_for() {
        let writer = WriterId::from_number(77);
        let tags = [
            Tag::Read { frame: FrameId::new(9) },
            Tag::Page { writer, at: 127 },
            Tag::Writer { writer },
            Tag::Log { step: LogStep::Binlog },
            Tag::Log { step: LogStep::Writeback },
            Tag::Checkpoint,
            Tag::CheckpointSync,
            Tag::Journal { device: 3 },
        ];
        for tag in tags {
            assert_eq!(Tag::unpack(tag.pack() | SERVER_MASK << SERVER_SHIFT), tag);
        }
    }

    #[test]
    fn an_alarm_is_not_the_one_before() {
        assert_ne!(Alarm::default().next(), Alarm::default());
    }
}

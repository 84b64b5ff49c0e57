//! A device as its driver sees it: commands, their ends, and time that passes.

use crate::event::EventQueue;

/// The kinds of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a range.
    Read,
    /// Writes a range.
    Write,
    /// Makes all written data durable.
    Flush,
    /// Gives a range back. Its content is lost.
    Trim,
}

/// One command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its kind.
    pub operation: Operation,
    /// Its first byte.
    pub offset: u64,
    /// Its length; 0 for a flush.
    pub bytes: u64,
}

impl Command {
    /// Whether the whole range is on a device of `capacity_bytes`.
    pub fn fits(&self, capacity_bytes: u64) -> bool {
        self.offset.checked_add(self.bytes).is_some_and(|end| end <= capacity_bytes)
    }
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The range is outside the device, or the device has no room left: ENOSPC.
    Full,
    /// The medium failed: EIO.
    Medium,
    /// The device is worn out and read-only: EROFS.
    ReadOnly,
}

impl Failure {
    /// The errno that a kernel would return.
    pub const fn errno(self) -> i32 {
        match self {
            Self::Medium => 5,
            Self::Full => 28,
            Self::ReadOnly => 30,
        }
    }
}

/// A command that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The tag with which it was submitted.
    pub tag: u64,
    /// When it ended.
    pub at_ns: u64,
    /// How it ended.
    pub result: Result<(), Failure>,
}

/// Commands whose end is known when they are submitted, in the order of their ends.
pub(super) type Answers = EventQueue<(u64, Result<(), Failure>)>;

impl Answers {
    /// `Device::advance` of a device that has no other events.
    pub(super) fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let Some(first_ns) = self.next_ns() else { return };
        while let Some((at_ns, (tag, result))) = self.pop_until(first_ns.min(until_ns)) {
            ended.push(Ended { tag, at_ns, result });
        }
    }
}

/// An event that no command caused and that a report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// When it was.
    pub at_ns: u64,
    /// What it was, in words: "rebuild of member 2 began".
    pub text: String,
}

/// A modelled device.
///
/// Time never goes back: the time of each `submit` and `advance` is not before that of the last one.
pub trait Device: Send {
    /// Bytes that the host can use.
    fn capacity_bytes(&self) -> u64;

    /// Takes a command at `now_ns`. The command ends in a later `advance`, never in this call. Any number of commands may be
    /// outstanding: those over the queue depth of the device wait in their order.
    fn submit(&mut self, now_ns: u64, tag: u64, command: Command);

    /// When the next event of the device is due; None: there is none until the next command.
    fn next_ns(&self) -> Option<u64>;

    /// Lets time pass to `until_ns`, but no further than the first time at which commands end. Appends all commands that end
    /// at that time.
    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>);

    /// Appends the series of the device, as (name without the layer, value), for the time since the last call.
    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>);

    /// Whether the device should be used before time begins, by calls of `warm_up`.
    fn needs_warm_up(&self) -> bool {
        false
    }

    /// Serves a command before time begins, which takes no time. It is called before the first `submit`, and only while
    /// `needs_warm_up` returns true.
    fn warm_up(&mut self, _command: Command) {}

    /// Begins anew, at `now_ns`, in the initial state that its figures describe, with data in these ranges (offset, bytes) and
    /// nowhere else. Ranges are in order and apart. Commands under way go on. Returns false, and does nothing, if the device
    /// has no state that depends on what holds data, or cannot be brought into it.
    fn hold(&mut self, _now_ns: u64, _ranges: &[(u64, u64)]) -> bool {
        false
    }

    /// Takes the incidents since the last call.
    fn incidents(&mut self) -> Vec<Incident> {
        Vec::new()
    }

    /// Counters, as JSON, that an emulated device must keep from one use to the next (wear); None: there are none.
    fn state(&self) -> Option<String> {
        None
    }
}

/// The figures from which a device is made. A device that consists of devices knows no more about these.
pub trait Figures: Send {
    /// Makes the device.
    ///
    /// # Errors
    /// Figures that are impossible, in words.
    fn open(&self, opening: Opening) -> Result<Box<dyn Device>, String>;

    /// Makes the device without wear, whatever wear its figures have.
    ///
    /// # Errors
    /// Figures that are impossible, in words.
    fn open_unworn(&self, opening: Opening) -> Result<Box<dyn Device>, String>;
}

/// For which use a device is made.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The seed of everything random.
    pub seed: u64,
    /// Bytes from the beginning that hold data, or will soon: the used bytes of `initial`.
    pub used_bytes: u64,
}

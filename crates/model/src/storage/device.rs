//! A device as whoever drives it sees it: commands, their ends, and time that passes.

use crate::event::EventQueue;

/// What a device is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a range.
    Read,
    /// Writes a range.
    Write,
    /// Makes what was written durable.
    Flush,
    /// Gives a range back: its content is no more.
    Trim,
}

/// One command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What to do.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
}

impl Command {
    /// Whether all of it is on a device of so many bytes.
    pub fn fits(&self, capacity_bytes: u64) -> bool {
        self.offset.checked_add(self.bytes).is_some_and(|end| end <= capacity_bytes)
    }
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Outside of the device, or it has no room left: ENOSPC.
    Full,
    /// The medium failed: EIO.
    Medium,
    /// Worn out, it only reads: EROFS.
    ReadOnly,
}

impl Failure {
    /// The errno that a kernel would give.
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
    /// What it was submitted with.
    pub tag: u64,
    /// When.
    pub at_ns: u64,
    /// How.
    pub result: Result<(), Failure>,
}

/// Commands whose end is settled when they come, by the moment of it.
pub(super) type Answers = EventQueue<(u64, Result<(), Failure>)>;

impl Answers {
    /// `Device::advance` of a device on which nothing else happens.
    pub(super) fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>) {
        let Some(first_ns) = self.next_ns() else { return };
        while let Some((at_ns, (tag, result))) = self.pop_until(first_ns.min(until_ns)) {
            ended.push(Ended { tag, at_ns, result });
        }
    }
}

/// Something that happened by itself and that a report should tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// When.
    pub at_ns: u64,
    /// What, in words: "rebuild of member 2 began".
    pub text: String,
}

/// A modelled device.
///
/// Times never go back: each `submit` and `advance` is at or after the one before.
pub trait Device: Send {
    /// Bytes that the host can use.
    fn capacity_bytes(&self) -> u64;

    /// Takes a command at `now_ns`. It ends in a later `advance`, never in here. Any number may be outstanding: those
    /// over the device's own queue depth wait, in their order.
    fn submit(&mut self, now_ns: u64, tag: u64, command: Command);

    /// When something happens next; None when nothing will before another command.
    fn next_ns(&self) -> Option<u64>;

    /// Lets time pass to `until_ns`, but only up to the first moment at which commands ended: appends all of that moment.
    fn advance(&mut self, until_ns: u64, ended: &mut Vec<Ended>);

    /// Appends the device's series (name without its layer, value) of the time since it was last asked.
    fn observe(&mut self, now_ns: u64, series: &mut Vec<(String, f64)>);

    /// Whether it would be another device if it had been used before time begins: `happened` is how it gets there.
    fn wants_past(&self) -> bool {
        false
    }

    /// Lets a command of the past have happened, as long as `wants_past` asks for more; before the first `submit`.
    fn happened(&mut self, _command: Command) {}

    /// Takes what happened by itself since it was last asked.
    fn incidents(&mut self) -> Vec<Incident> {
        Vec::new()
    }

    /// Counters that must survive when an emulated device is let go and taken up again (wear), as JSON; None: nothing.
    fn state(&self) -> Option<String> {
        None
    }
}

/// The figures that a device is made from. A device of devices knows of its parts no more than this.
pub trait Figures: Send {
    /// Makes the device.
    ///
    /// # Errors
    /// What cannot be, in words.
    fn open(&self, opening: Opening) -> Result<Box<dyn Device>, String>;

    /// Makes the device as it leaves the factory, whatever wear its figures give it.
    ///
    /// # Errors
    /// What cannot be, in words.
    fn open_unworn(&self, opening: Opening) -> Result<Box<dyn Device>, String>;
}

/// What a device is made for.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Everything random follows from it.
    pub seed: u64,
    /// Bytes from the beginning that hold data or are about to: what `initial` means by used.
    pub used_bytes: u64,
}

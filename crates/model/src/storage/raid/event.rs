//! The events of an array.

use super::ids::{EventNo, RequestId, WorkNo};

/// Something that is due at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The controller begins with a request.
    Arrive(RequestId),
    /// A request ends.
    End(RequestId),
    /// The time of the next sweep over the dirty lines has come.
    Sweep,
    /// Background work continues.
    Work(WorkNo),
    /// An event of the spec begins or ends.
    Begin(EventNo),
    Finish(EventNo),
}

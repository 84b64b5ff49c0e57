//! What is to happen to an array.

use super::op::RequestId;

/// Something that is due at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The controller has taken a request up.
    Arrive(RequestId),
    /// A request ends.
    End(RequestId),
    /// Dirty lines have waited for long enough.
    Sweep,
    /// Background work goes on.
    Work(u32),
    /// Something of the spec's events begins or ends.
    Begin(u32),
    Finish(u32),
}

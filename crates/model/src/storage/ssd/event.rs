//! The events of a card.

use super::ftl::Lpn;
use super::ids::WayNo;
use super::requests::RequestId;

/// The next step of a part of a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A die has read it.
    Sensed { request: RequestId, lpn: Lpn, way: WayNo },
    /// A channel has moved it to the controller.
    Fetched { request: RequestId, lpn: Lpn },
    /// Flash has it; only of a write that no buffer holds.
    Programmed { request: RequestId },
    /// The whole command ends.
    Ends { request: RequestId },
}

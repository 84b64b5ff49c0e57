//! Commands to members, and who waits for them.

use flatwater_core::slab_key;

use super::layout::Chunk;
use crate::storage::Command;

slab_key!(
    /// A request of the host.
    pub(super) RequestId
);
slab_key!(
    /// A write of one row to the members.
    pub(super) UpdateId
);
slab_key!(
    /// A command to one member.
    pub(super) OpId
);

/// Who waits for a member's operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Request(RequestId),
    Update(UpdateId),
    /// Background work, by its number.
    Work(u32),
}

/// One command to one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) owner: Owner,
    pub(super) member: u32,
    pub(super) command: Command,
    /// What a read of data is of: its lines are kept. Lines of a read that fails are read from the other members.
    pub(super) chunk: Option<Chunk>,
}

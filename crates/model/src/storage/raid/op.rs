//! Commands to members, and their owners.

use super::ids::{MemberNo, RequestId, UpdateId, WorkNo};
use super::layout::Chunk;
use crate::storage::Command;

/// What waits for a command to a member.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Request(RequestId),
    Update(UpdateId),
    /// Background work.
    Work(WorkNo),
}

/// One command to one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) owner: Owner,
    pub(super) member: MemberNo,
    pub(super) command: Command,
    /// The chunk that a read of data reads. The memory keeps its lines. If the read fails, the other members are read.
    pub(super) chunk: Option<Chunk>,
}

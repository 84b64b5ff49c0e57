//! An emptied model is filled again with what the backing file holds.

use flatwater_model::storage::{Command, Device, Operation};

use crate::fuse::BLOCK_BYTES;

/// Length of a request, and how many are under way at once.
const REPLAY_BYTES: u64 = 1 << 20;
const REPLAY_DEPTH: usize = 64;

/// Lets the model write what the backing file holds, in its own time; gives the time when it is done.
pub(super) fn replay(device: &mut dyn Device, extents: &[(u64, u64)], bytes: u64) -> u64 {
    let block = u64::from(BLOCK_BYTES);
    let mut writes = extents.iter().flat_map(|(offset, length)| {
        let (begin, end) = (offset / block * block, (offset + length).div_ceil(block) * block);
        (begin..end.min(bytes))
            .step_by(REPLAY_BYTES as usize)
            .map(move |at| (at, REPLAY_BYTES.min(end.min(bytes) - at)))
    });
    let (mut now_ns, mut under_way, mut tag, mut ended) = (0, 0, 0, Vec::new());
    loop {
        while under_way < REPLAY_DEPTH
            && let Some((offset, bytes)) = writes.next()
        {
            device.submit(now_ns, tag, Command { operation: Operation::Write, offset, bytes });
            (tag, under_way) = (tag + 1, under_way + 1);
        }
        if under_way == 0 {
            break;
        }
        let Some(next_ns) = device.next_ns() else { break };
        device.advance(next_ns, &mut ended);
        now_ns = now_ns.max(next_ns);
        under_way -= ended.drain(..).len();
    }
    device.observe(now_ns, &mut Vec::new());
    device.incidents();
    now_ns
}

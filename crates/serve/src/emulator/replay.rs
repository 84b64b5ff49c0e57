//! A model is brought to what the backing file holds: an emptied one by writes, a full one by trims.

use flatwater_model::storage::{Command, Device, Operation};

use crate::fuse::BLOCK_BYTES;

/// Length of a request, and how many are under way at once.
const REPLAY_BYTES: u64 = 1 << 20;
const REPLAY_DEPTH: usize = 64;

/// Lets the model write what the backing file holds, in its own time; gives the time when it is done.
pub(super) fn replay(device: &mut dyn Device, extents: &[(u64, u64)], bytes: u64) -> u64 {
    let block = u64::from(BLOCK_BYTES);
    let writes = extents.iter().flat_map(|(offset, length)| {
        let (begin, end) = (offset / block * block, (offset + length).div_ceil(block) * block);
        (begin..end.min(bytes))
            .step_by(REPLAY_BYTES as usize)
            .map(move |at| (at, REPLAY_BYTES.min(end.min(bytes) - at)))
    });
    submit_all(device, Operation::Write, writes)
}

/// Trims all of a device but the ranges that it holds, in its own time; gives the time when it is done.
pub(super) fn trim_others(device: &mut dyn Device, held: &[(u64, u64)], bytes: u64) -> u64 {
    let begins = std::iter::once(0).chain(held.iter().map(|(offset, length)| offset + length));
    let ends = held.iter().map(|(offset, _)| *offset).chain([bytes]);
    let gaps = begins.zip(ends).filter(|(begin, end)| begin < end).map(|(begin, end)| (begin, end - begin));
    submit_all(device, Operation::Trim, gaps)
}

/// Lets the model do these commands (offset, bytes); gives the time when they are done.
fn submit_all(device: &mut dyn Device, operation: Operation, mut ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (mut now_ns, mut under_way, mut tag, mut ended) = (0, 0, 0, Vec::new());
    loop {
        while under_way < REPLAY_DEPTH
            && let Some((offset, bytes)) = ranges.next()
        {
            device.submit(now_ns, tag, Command { operation, offset, bytes });
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

//! Operations that lock their file in the kernel. On FUSE a sync and a discard keep the file locked until they have ended,
//! and a write that is submitted meanwhile stops the thread that submits it. The reactor has one thread for both devices:
//! a sync of the slow one would stop the fast one too. So what would wait in the kernel waits here.

use std::collections::VecDeque;

use flatwater_core::cache::{IoKind, Side};

/// One file.
#[derive(Debug, Default)]
struct FileLock {
    held: bool,
    waiting: VecDeque<u32>,
}

/// The files of the cache's devices; None: the file system locks no file for so long.
#[derive(Debug, Default)]
pub struct FileLocks([Option<FileLock>; 3]);

impl FileLocks {
    /// The file of this device is locked by its syncs and discards.
    pub fn locks(&mut self, side: Side) {
        self.0[side as usize] = Some(FileLock::default());
    }

    /// Whether an IO can be submitted now. If not, `next` returns it later.
    #[inline]
    pub fn admits(&mut self, side: Side, kind: IoKind, id: u32) -> bool {
        let Some(file) = self.0[side as usize].as_mut().filter(|_| kind != IoKind::Read) else { return true };
        if file.held {
            file.waiting.push_back(id);
            return false;
        }
        file.held = locks(kind);
        true
    }

    /// An IO ended that was admitted.
    #[inline]
    pub fn ended(&mut self, side: Side, kind: IoKind) {
        if let Some(file) = self.0[side as usize].as_mut().filter(|_| locks(kind)) {
            file.held = false;
        }
    }

    /// An IO that waited and can be submitted now.
    #[inline]
    pub fn next(&mut self, side: Side) -> Option<u32> {
        self.0[side as usize].as_mut().filter(|file| !file.held)?.waiting.pop_front()
    }
}

fn locks(kind: IoKind) -> bool {
    matches!(kind, IoKind::Sync | IoKind::Discard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_wait_for_a_sync_of_their_file_and_nothing_else_does() {
        let mut files = FileLocks::default();
        files.locks(Side::Slow);
        assert!(files.admits(Side::Slow, IoKind::Write, 1) && files.admits(Side::Slow, IoKind::Sync, 2));
        assert!(files.admits(Side::Slow, IoKind::Read, 3), "a read takes no lock");
        assert!(files.admits(Side::Fast, IoKind::Sync, 4) && files.admits(Side::Fast, IoKind::Write, 5));
        assert!(!files.admits(Side::Slow, IoKind::Write, 6) && !files.admits(Side::Slow, IoKind::Discard, 7));
        assert!(!files.admits(Side::Slow, IoKind::Write, 8));
        files.ended(Side::Slow, IoKind::Write);
        assert_eq!(files.next(Side::Slow), None, "the sync is under way");
        files.ended(Side::Slow, IoKind::Sync);
        for (id, kind) in [(6, IoKind::Write), (7, IoKind::Discard)] {
            assert_eq!(files.next(Side::Slow), Some(id));
            assert!(files.admits(Side::Slow, kind, id));
        }
        assert_eq!(files.next(Side::Slow), None, "the discard is under way");
        files.ended(Side::Slow, IoKind::Discard);
        assert_eq!((files.next(Side::Slow), files.next(Side::Slow)), (Some(8), None));
    }
}

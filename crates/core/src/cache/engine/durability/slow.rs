//! How far the slow device is durable.

/// A moment in the order in which writes to the slow device ended: so many had ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct SlowSeq(pub(super) u64);

#[cfg(test)]
impl SlowSeq {
    /// The moment when one more had ended.
    pub(in super::super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Writes to the slow device and its syncs. A sync makes durable what had ended when it was issued.
#[derive(Default)]
pub(super) struct SlowDevice {
    ended: SlowSeq,
    synced: SlowSeq,
    wanted: SlowSeq,
    /// `ended` when the last write of a user did. A flush waits for that, not for what is written back.
    users: SlowSeq,
    syncing: bool,
}

impl SlowDevice {
    /// So many writes have ended.
    #[inline]
    pub(super) fn ended(&self) -> SlowSeq {
        self.ended
    }

    /// All writes up to this one are durable.
    #[inline]
    pub(super) fn synced(&self) -> SlowSeq {
        self.synced
    }

    /// A sync is wanted up to here.
    #[inline]
    pub(super) fn wanted(&self) -> SlowSeq {
        self.wanted
    }

    /// The last write of a user.
    #[inline]
    pub(super) fn users(&self) -> SlowSeq {
        self.users
    }

    /// A write ended.
    pub(super) fn write_ended(&mut self, by_user: bool) -> SlowSeq {
        self.ended.0 += 1;
        if by_user {
            self.users = self.ended;
        }
        self.ended
    }

    /// Wants all up to `seq` durable. Returns whether that is more than was wanted before.
    #[inline]
    pub(super) fn want(&mut self, seq: SlowSeq) -> bool {
        let more = self.wanted < seq;
        self.wanted = self.wanted.max(seq);
        more
    }

    /// Begins a sync if one is wanted and none is under way. Returns what it will make durable.
    #[inline]
    pub(super) fn begin_sync(&mut self) -> Option<SlowSeq> {
        if self.wanted <= self.synced || self.syncing {
            return None;
        }
        self.syncing = true;
        Some(self.ended)
    }

    /// The sync that covers all up to `ended` succeeded.
    pub(super) fn sync_ended(&mut self, ended: SlowSeq) {
        self.syncing = false;
        self.synced = self.synced.max(ended);
    }

    /// The sync that covers all writes up to `ended` failed, and nobody knows which of them are durable. So the waiters
    /// get an error, and a later waiter waits for another sync, as after a new write. Returns up to where all writes
    /// are surely durable.
    pub(super) fn sync_failed(&mut self, ended: SlowSeq) -> SlowSeq {
        let before = self.synced;
        self.sync_ended(ended);
        self.ended.0 += 1;
        if self.users > before {
            self.users = self.ended;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_covers_what_had_ended_when_it_was_issued() {
        let mut slow = SlowDevice::default();
        let first = slow.write_ended(false);
        assert!(slow.want(first) && !slow.want(first));
        assert_eq!(slow.begin_sync(), Some(first));
        let second = slow.write_ended(true);
        assert!(slow.want(second));
        assert_eq!(slow.begin_sync(), None, "one at a time");
        slow.sync_ended(first);
        assert_eq!((slow.synced(), slow.users()), (first, second));
        assert_eq!(slow.begin_sync(), Some(second));
    }

    #[test]
    fn after_a_sync_that_failed_what_users_wrote_waits_for_another_one() {
        let mut slow = SlowDevice::default();
        let user = slow.write_ended(true);
        slow.want(user);
        let sure = slow.begin_sync().map(|ended| slow.sync_failed(ended));
        assert_eq!(sure, Some(SlowSeq(0)));
        assert!(slow.users() > slow.synced(), "it is not durable");
        let again = slow.users();
        slow.want(again);
        assert_eq!(slow.begin_sync(), Some(again));
        slow.sync_ended(again);
        // What was durable before a failure stays so.
        let back = slow.write_ended(false);
        slow.want(back);
        slow.begin_sync();
        slow.sync_failed(back);
        assert_eq!(slow.users(), again);
    }
}

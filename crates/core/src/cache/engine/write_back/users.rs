//! What users do on the slow device, so that write-back keeps out of their way.

/// For so long after an IO of a user to the slow device, write-back keeps out of the way.
const QUIET_NS: u64 = 200_000_000;

/// The last IOs of users.
pub(super) struct Users {
    writes: u32,
    write_ns: u64,
    read_ns: u64,
    request_ns: u64,
}

/// What users do on the slow device just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Nobody,
    Readers,
    Writers,
}

impl Users {
    /// None so far.
    pub(super) const fn new(now_ns: u64) -> Self {
        Self { writes: 0, write_ns: 0, read_ns: 0, request_ns: now_ns }
    }

    /// A request came.
    #[inline]
    pub(super) fn request(&mut self, now_ns: u64) {
        self.request_ns = now_ns;
    }

    /// When the last request came.
    pub(super) fn request_ns(&self) -> u64 {
        self.request_ns
    }

    /// A read of the slow device begins.
    #[inline]
    pub(super) fn read_begins(&mut self, now_ns: u64) {
        self.read_ns = now_ns;
    }

    /// A write past the cache begins.
    pub(super) fn write_begins(&mut self, now_ns: u64) {
        self.writes += 1;
        self.write_ns = now_ns;
    }

    /// A write past the cache ended.
    pub(super) fn write_ended(&mut self, now_ns: u64) {
        self.writes -= 1;
        self.write_ns = now_ns;
    }

    /// Who uses the slow device.
    pub(super) fn presence(&self, now_ns: u64) -> Presence {
        let lately = |ns: u64| ns != 0 && now_ns.saturating_sub(ns) <= QUIET_NS;
        if self.writes > 0 || lately(self.write_ns) {
            Presence::Writers
        } else if lately(self.read_ns) {
            Presence::Readers
        } else {
            Presence::Nobody
        }
    }

    /// When it is quiet again if nobody comes.
    pub(super) fn quiet_ns(&self) -> u64 {
        self.write_ns.max(self.read_ns) + QUIET_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_present_while_they_write_and_for_a_while_after() {
        let mut users = Users::new(0);
        assert_eq!(users.presence(1), Presence::Nobody);
        users.read_begins(10);
        assert_eq!(
            [users.presence(10 + QUIET_NS), users.presence(11 + QUIET_NS)],
            [Presence::Readers, Presence::Nobody]
        );
        users.write_begins(20);
        assert_eq!(users.presence(u64::MAX), Presence::Writers);
        users.write_ended(30);
        assert_eq!((users.presence(30 + QUIET_NS), users.quiet_ns()), (Presence::Writers, 30 + QUIET_NS));
        assert_eq!(users.presence(31 + QUIET_NS), Presence::Nobody);
    }
}

//! How much memory clients may hold: each has a little of its own, and all share the rest.

/// Bounds of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at once; who comes after that is turned away.
    pub connections: usize,
    /// Requests of a client that were not answered yet; it is not read from until one was.
    pub requests: u32,
    /// Memory of a client that nobody else can take.
    pub own_bytes: u64,
    /// All memory of a client.
    pub client_bytes: u64,
    /// Memory beyond their own of all clients together.
    pub shared_bytes: u64,
    /// A client that neither reads nor writes on for so long, while others want the memory that it holds, or while it is
    /// to be let go, is cut off.
    pub patience_s: u64,
    /// A client must have chosen the export by then.
    pub haggling_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            // nbdkit works on 16 of a connection, qemu as a client sends 16; fio and nbdcopy can go higher.
            requests: 256,
            own_bytes: 1 << 20,
            // Two of the longest requests, so that one is transferred while the other is worked on.
            client_bytes: 64 << 20,
            shared_bytes: 256 << 20,
            patience_s: 10,
            haggling_s: 30,
        }
    }
}

/// What clients hold beyond their own.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    shared_bytes: u64,
}

impl Budget {
    /// Nothing is held.
    pub const fn new(limits: Limits) -> Self {
        Self { limits, shared_bytes: 0 }
    }

    /// The limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What a request costs: buffers come in powers of two, of at least a page.
    pub fn cost(bytes: u32) -> u64 {
        u64::from(bytes.max(4096)).next_power_of_two()
    }

    /// Lets a client that holds `held` hold so much more; false if there is none.
    pub fn take(&mut self, held: &mut u64, bytes: u64) -> bool {
        let more = self.beyond(*held + bytes) - self.beyond(*held);
        if *held + bytes > self.limits.client_bytes || self.shared_bytes + more > self.limits.shared_bytes {
            return false;
        }
        self.shared_bytes += more;
        *held += bytes;
        true
    }

    /// A client holds so much less.
    pub fn give(&mut self, held: &mut u64, bytes: u64) {
        let after = *held - bytes;
        self.shared_bytes -= self.beyond(*held) - self.beyond(after);
        *held = after;
    }

    fn beyond(&self, held: u64) -> u64 {
        held.saturating_sub(self.limits.own_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greedy_leave_the_others_their_own() {
        let limits = Limits { own_bytes: 10, client_bytes: 100, shared_bytes: 150, ..Limits::default() };
        let mut budget = Budget::new(limits);
        let (mut first, mut second, mut third) = (0, 0, 0);
        assert!(budget.take(&mut first, 100) && !budget.take(&mut first, 1), "a client's limit");
        assert!(budget.take(&mut second, 70) && !budget.take(&mut second, 1), "that of all");
        assert!(budget.take(&mut third, 10) && !budget.take(&mut third, 1));
        budget.give(&mut first, 95);
        assert!(budget.take(&mut second, 30));
        for (held, bytes) in [(&mut first, 5), (&mut second, 100), (&mut third, 10)] {
            budget.give(held, bytes);
            assert_eq!(*held, 0);
        }
        assert_eq!(budget.shared_bytes, 0);
    }

    #[test]
    fn the_longest_request_fits() {
        let limits = Limits::default();
        assert!(Budget::cost(super::super::export::REQUEST_BYTES_MAX) <= limits.client_bytes);
        assert!(limits.client_bytes <= limits.shared_bytes);
        assert_eq!((Budget::cost(1), Budget::cost(4097)), (4096, 8192));
    }
}

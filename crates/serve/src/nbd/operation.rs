//! The server's operations in the ring, and the keys that they come back with.

/// Where the kind of an operation begins in its key; the connection's number is below.
const KIND_SHIFT: u32 = 32;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Clients are accepted.
    Accept,
    /// The tick is waited for.
    Tick,
    /// A connection receives.
    Receive(u32),
    /// A connection sends.
    Send(u32),
    /// An operation is taken back.
    Cancel,
}

impl Operation {
    /// Its key.
    pub(super) fn key(self) -> u64 {
        let (kind, connection) = match self {
            Self::Accept => (1, 0),
            Self::Tick => (2, 0),
            Self::Receive(connection) => (3, connection),
            Self::Send(connection) => (4, connection),
            Self::Cancel => (5, 0),
        };
        kind << KIND_SHIFT | u64::from(connection)
    }

    /// The operation of a key.
    pub(super) fn of_key(key: u64) -> Self {
        let connection = key as u32;
        match key >> KIND_SHIFT {
            1 => Self::Accept,
            2 => Self::Tick,
            3 => Self::Receive(connection),
            4 => Self::Send(connection),
            _ => Self::Cancel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leads_back_to_its_operation() {
        use Operation::{Accept, Cancel, Receive, Send, Tick};
        for operation in [Accept, Tick, Receive(0), Receive(u32::MAX), Send(7), Cancel] {
            assert_eq!(Operation::of_key(operation.key()), operation);
        }
    }
}

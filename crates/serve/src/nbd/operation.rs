//! The operations of the server in the ring, and their keys.

/// The bit at which the kind of an operation begins in its key. The number of the connection is below.
const KIND_SHIFT: u32 = 32;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Accepts clients.
    Accept,
    /// Waits for the tick.
    Tick,
    /// Receives on a connection.
    Receive(u32),
    /// Sends on a connection.
    Send(u32),
    /// Cancels an operation.
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

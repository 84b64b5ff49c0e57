//! Why a statement did not work.

use crate::database::address::Address;

/// Why a statement did not work.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The server refused it; the connection is usable.
    #[error("{message} (error {code})")]
    Server {
        /// The server's error number.
        code: u16,
        /// Its words.
        message: String,
    },
    /// Nobody listens there.
    #[error("cannot connect to {address}: {source}")]
    Unreachable {
        /// Where.
        address: Address,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The connection is gone.
    #[error("the connection to the server was lost: {0}")]
    Lost(std::io::Error),
    /// The server said something that this client does not understand.
    #[error("the server's answer is not understood: {0}")]
    Protocol(String),
    /// Nobody waits for the answer any more.
    #[error("abandoned")]
    Abandoned,
}

impl SqlError {
    /// Whether the server's error number is this one.
    pub fn is(&self, number: u16) -> bool {
        matches!(self, Self::Server { code, .. } if *code == number)
    }
}

//! Why a statement did not work.

use crate::database::address::Address;
use crate::database::cause::Cause;

/// Why a statement did not work.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The server refused it; the connection is usable, unless it says that the session ends (`refused::ends_session`).
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
    /// TLS or the login cannot be done as asked for.
    #[error("{0}")]
    Handshake(#[from] Cause),
    /// Nobody waits for the answer any more.
    #[error("abandoned")]
    Abandoned,
}

impl SqlError {
    /// Its number: the server's, or that of MySQL's C client for what the client itself finds (its errmsg.h).
    pub fn number(&self) -> u16 {
        match self {
            Self::Server { code, .. } => *code,
            Self::Unreachable { address: Address::Socket(_), .. } => 2002,
            Self::Unreachable { .. } => 2003,
            Self::Lost(_) | Self::Abandoned => 2013,
            Self::Handshake(_) => 2012,
            Self::Protocol(_) => 2027,
        }
    }

    /// The server asked for a file of the client (`LOAD DATA LOCAL`), and got none: the number is that of MySQL's C client.
    pub(super) fn no_local_file() -> Self {
        Self::Server { code: 2068, message: "it loads a file of the client (LOCAL), and none is given".into() }
    }

    /// Whether the server's error number is this one.
    pub fn is(&self, number: u16) -> bool {
        matches!(self, Self::Server { code, .. } if *code == number)
    }
}

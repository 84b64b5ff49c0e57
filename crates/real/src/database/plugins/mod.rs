//! Authentication plugins: how an account proves who it is. One file a plugin; they meet in `Plugin`.

mod account;
mod ed25519;
mod native;
mod rsa;
mod sha2;

pub(super) use account::{Account, Privacy};

use super::cause::{Cause, told};

/// An authentication plugin of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    Sha2(sha2::Kind),
    Ed25519,
    /// The socket itself tells who we are.
    Socket,
}

/// Names of plugins as servers say them.
const NAMES: [(&str, Plugin); 6] = [
    ("mysql_native_password", Plugin::Native),
    ("caching_sha2_password", Plugin::Sha2(sha2::Kind::Caching)),
    ("sha256_password", Plugin::Sha2(sha2::Kind::Plain)),
    ("client_ed25519", Plugin::Ed25519),
    ("unix_socket", Plugin::Socket),
    ("auth_socket", Plugin::Socket),
];

impl Plugin {
    /// The plugin of a name; a server that names none means the one of 4.1.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = if name.is_empty() { NAMES[0].0 } else { name };
        NAMES.iter().find(|(own, _)| *own == name).map(|(_, plugin)| *plugin)
    }

    /// The answer to a challenge.
    pub(super) fn answer(self, account: &Account<'_>, challenge: &[u8]) -> Result<Vec<u8>, Cause> {
        let challenge = challenge.strip_suffix(&[0]).unwrap_or(challenge);
        match self {
            Self::Native if account.password.is_empty() => Ok(Vec::new()),
            Self::Native => Ok(native::answer(account.password, challenge)),
            Self::Sha2(kind) => sha2::answer(kind, account, challenge),
            Self::Ed25519 => ed25519::answer(account.password, challenge).ok_or_else(|| {
                Cause::new("the server's challenge of ed25519 is too short", "is it a MySQL-compatible server?")
            }),
            Self::Socket => Ok(Vec::new()),
        }
    }

    /// What follows on further data of the server; None if it is the server's turn.
    pub(super) fn go_on(self, account: &Account<'_>, challenge: &[u8], data: &[u8]) -> Result<Option<Vec<u8>>, Cause> {
        let challenge = challenge.strip_suffix(&[0]).unwrap_or(challenge);
        match self {
            Self::Sha2(kind) => sha2::go_on(kind, account, challenge, data),
            Self::Native | Self::Ed25519 | Self::Socket => {
                Err(Cause::new("the server asks for more than its plugin needs", "is it a MySQL-compatible server?"))
            }
        }
    }
}

/// An account whose plugin is none of these.
pub(super) fn unknown(user: &str, plugin: &str) -> Cause {
    Cause::new(
        format!("the account {:?} logs in with {:?}, which flatwater does not know", told(user), told(plugin)),
        "use an account with mysql_native_password, caching_sha2_password, sha256_password or ed25519",
    )
}

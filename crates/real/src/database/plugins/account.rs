//! What an account proves itself with, and who may hear it.

use std::path::Path;

/// Who can read what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::database) enum Privacy {
    /// Whoever is on the network.
    Open,
    /// Nobody but this machine's root: a unix socket.
    Socket,
    /// Nobody but the server: TLS.
    Encrypted,
}

/// What an account logs in with.
#[derive(Clone, Copy)]
pub(in crate::database) struct Account<'a> {
    pub(in crate::database) password: &'a str,
    pub(in crate::database) privacy: Privacy,
    /// The server's public key, where the user named one; else the server is asked for it.
    pub(in crate::database) server_public_key: Option<&'a Path>,
    /// The password is not to be sent in a form that a server could read.
    pub(in crate::database) withheld: bool,
}

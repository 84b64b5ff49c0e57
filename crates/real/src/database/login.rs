//! Who logs in where, and how.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::address::Address;
use super::tls::Tls;

/// Who connects where. JSON: `{"address": {"socket": "/run/x.sock"}, "user": "root", "password": "", "schema": null}`
/// or `{"address": {"tcp": ["127.0.0.1", 3306]}, ...}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Where.
    pub address: Address,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The schema to use, if any.
    pub schema: Option<String>,
    /// How the connection is encrypted; absent if it is not.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The server's public key, PEM, for plugins that need it where there is no TLS; the server is asked for it if absent.
    #[serde(default)]
    pub server_public_key: Option<PathBuf>,
}

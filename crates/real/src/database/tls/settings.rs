//! How far a server is trusted, and what a handshake needs for that.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error};
use schemars::JsonSchema;
use serde::Deserialize;

use super::verify::{Checked, Unchecked};
use crate::database::address::Address;
use crate::database::cause::Cause;

/// How far the server must prove who it is, as the servers' own client names it (`--ssl-mode`). Its DISABLED is no
/// `Tls` at all.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum Mode {
    /// TLS where the server has it, over a network.
    #[serde(rename = "PREFERRED")]
    Preferred,
    /// TLS, or no connection.
    #[serde(rename = "REQUIRED")]
    Required,
    /// And a certificate that a trusted authority signed.
    #[serde(rename = "VERIFY_CA")]
    VerifyCa,
    /// And for the host that is connected to.
    #[serde(rename = "VERIFY_IDENTITY")]
    VerifyIdentity,
}

/// How a connection is encrypted. JSON: `{"mode": "VERIFY_CA", "ca": "/ca.pem", "cert": null, "key": null}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// How far the server is trusted.
    pub mode: Mode,
    /// Certificates of the authorities that are trusted, PEM; the system's if absent.
    pub ca: Option<PathBuf>,
    /// This client's certificate and those between it and its authority, PEM.
    pub cert: Option<PathBuf>,
    /// The key of the certificate, PEM.
    pub key: Option<PathBuf>,
    /// Made once for all connections, which so share their tickets: reconnects are cheap.
    #[serde(skip)]
    #[schemars(skip)]
    config: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    /// TLS with anyone.
    pub(in crate::database) fn unchecked() -> Self {
        Self { mode: Mode::Required, ca: None, cert: None, key: None, config: OnceLock::new() }
    }

    /// The client's side of a session with a server that has not begun.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else; a host that is no name.
    pub(in crate::database) fn begin(&self, address: &Address) -> Result<ClientConnection, Cause> {
        let config = match self.config.get() {
            Some(config) => config,
            None => {
                let config = Arc::new(self.configure()?);
                self.config.get_or_init(|| config)
            }
        };
        let name = match server_name(address) {
            Some(name) => name,
            None if self.mode == Mode::VerifyIdentity => {
                let hint = "database.ssl_mode = \"VERIFY_CA\" does not look at names";
                return Err(Cause::new(format!("{address} is no name that a certificate could be for"), hint));
            }
            // Without a name nothing is asked of the server, and nothing is compared.
            None => ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into()),
        };
        ClientConnection::new(config.clone(), name).map_err(|error| {
            Cause::new(
                format!("TLS with {address} cannot begin: {error}"),
                "database.ssl_mode = \"DISABLED\" does without",
            )
        })
    }

    fn configure(&self) -> Result<ClientConfig, Cause> {
        let provider = Arc::new(default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has suites for TLS 1.2 and 1.3");
        let builder = match self.mode {
            Mode::Preferred | Mode::Required => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Unchecked { algorithms }))
            }
            Mode::VerifyCa | Mode::VerifyIdentity => {
                let trusted = self.trusted()?;
                let checked = Checked::new(trusted, algorithms, self.mode == Mode::VerifyIdentity)
                    .map_err(|why| file_fault("ssl_ca", self.ca.as_deref(), why))?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(checked))
            }
        };
        let (Some(cert), Some(key)) = (&self.cert, &self.key) else { return Ok(builder.with_no_client_auth()) };
        let chain = certificates("ssl_cert", cert)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| pem_fault("ssl_key", key, error))?;
        builder.with_client_auth_cert(chain, secret).map_err(|error| match error {
            Error::InconsistentKeys(_) => Cause::new(
                format!("database.ssl_key: {}: is not the key of ssl_cert", key.display()),
                "both are made together: name the key that was made with this certificate",
            ),
            Error::InvalidCertificate(_) => file_fault("ssl_cert", Some(cert), "holds no certificate".into()),
            other => file_fault("ssl_key", Some(key), format!("cannot be used: {other}")),
        })
    }

    /// Certificates of the authorities that are trusted.
    fn trusted(&self) -> Result<Vec<CertificateDer<'static>>, Cause> {
        if let Some(path) = &self.ca {
            return certificates("ssl_ca", path);
        }
        let found = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            let hint = "name the authority's certificate: database.ssl_ca; or install ca-certificates";
            return Err(Cause::new("this system has no certificates of authorities", hint));
        }
        Ok(found)
    }
}

/// The name that a certificate must be for. The servers' own client takes a socket for localhost, too.
fn server_name(address: &Address) -> Option<ServerName<'static>> {
    match address {
        Address::Socket(_) => ServerName::try_from("localhost").ok(),
        Address::Tcp(host, _) => ServerName::try_from(host.clone()).ok(),
    }
}

fn certificates(field: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Cause> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| pem_fault(field, path, error))?;
    if found.is_empty() {
        return Err(file_fault(field, Some(path), "holds no certificate".into()));
    }
    Ok(found)
}

fn pem_fault(field: &str, path: &Path, error: rustls::pki_types::pem::Error) -> Cause {
    match error {
        rustls::pki_types::pem::Error::Io(error) => {
            Cause::new(format!("database.{field}: {}: {error}", path.display()), "name a file that this user may read")
        }
        rustls::pki_types::pem::Error::NoItemsFound => {
            file_fault(field, Some(path), "holds no such thing in PEM".into())
        }
        _ => file_fault(field, Some(path), "is not well-formed PEM".into()),
    }
}

fn file_fault(field: &str, path: Option<&Path>, why: String) -> Cause {
    let path = path.map_or_else(|| "the system's authorities".into(), |path| path.display().to_string());
    Cause::new(format!("database.{field}: {path}: {why}"), "the file must be PEM: -----BEGIN ...")
}

//! What went wrong between a server and TLS, in words.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use super::settings::{Mode, Tls};
use super::verify::Wrong;
use crate::database::address::Address;
use crate::database::cause::{Cause, told};

/// Names of a certificate that are told.
const TOLD_NAMES_MAX: usize = 5;
const WITHOUT: &str = "or database.ssl_mode = \"REQUIRED\", which encrypts and does not look at certificates";

/// The server has no TLS, and the experiment wants it. `version` is what the server says that it is.
pub(in crate::database) fn unavailable(tls: &Tls, address: &Address, version: &str) -> Cause {
    Cause::new(
        format!("database.ssl_mode = {:?} asks for TLS, and {address} ({}) has none", name(tls.mode), told(version)),
        "give the server a certificate (its ssl_cert and ssl_key), or database.ssl_mode = \"DISABLED\"",
    )
}

/// The connection ended while TLS was being agreed on.
pub(in crate::database) fn broken(error: &io::Error, tls: &Tls, address: &Address, version: &str) -> Cause {
    if let Some(error) = wrapped(error) {
        return refused(error, tls, address, version);
    }
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        io::ErrorKind::TimedOut => "the server did not answer in time".to_owned(),
        _ => error.to_string(),
    };
    Cause::new(format!("TLS with {address} ({}) broke off in its handshake: {why}", told(version)), OLD)
}

const OLD: &str = "flatwater speaks TLS 1.2 and 1.3 with ECDHE; a server that only has TLS 1.0 or 1.1 (yaSSL: MySQL \
                   before 5.7.28), or OpenSSL before 1.1, needs database.ssl_mode = \"DISABLED\"; else the server's \
                   error log says more";

/// The error of TLS in one of the system's.
fn wrapped(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// One side does not take what the other one said.
fn refused(error: &Error, tls: &Tls, address: &Address, version: &str) -> Cause {
    let server = format!("{address} ({})", told(version));
    match error {
        Error::InvalidCertificate(wrong) => certificate(wrong, tls, &server),
        Error::AlertReceived(alert) if is_of_certificates(*alert) => Cause::new(
            format!("{server} does not take this client's certificate: {}", alert_name(*alert)),
            "database.ssl_cert and ssl_key must be of an authority that the server trusts (its ssl_ca)",
        ),
        Error::AlertReceived(alert) => Cause::new(format!("{server} refuses TLS: {}", alert_name(*alert)), OLD),
        Error::PeerIncompatible(what) => {
            Cause::new(format!("{server} speaks no TLS that flatwater speaks: {}", told(&format!("{what:?}"))), OLD)
        }
        Error::General(what) => Cause::new(format!("TLS with {server}: {}", told(what)), OLD),
        other => {
            let between = "is something between this machine and the server?";
            let hint = match other {
                // The yaSSL of some servers answers a hello of TLS 1.2 in words of MySQL's protocol: "Bad handshake".
                Error::InvalidMessage(_) => format!("{OLD}; or {between}"),
                _ => format!("{between} database.ssl_mode = \"DISABLED\" does without TLS"),
            };
            Cause::new(format!("{server} offers TLS, and what it says is none: {}", told(&other.to_string())), hint)
        }
    }
}

fn certificate(wrong: &CertificateError, tls: &Tls, server: &str) -> Cause {
    let trusted = tls.ca.as_ref().map_or("this system trusts".to_owned(), |path| format!("{} holds", path.display()));
    let own = match wrong {
        CertificateError::Other(other) => other.0.downcast_ref::<Wrong>(),
        _ => None,
    };
    let whose = format!("the certificate of {server}");
    match (own, wrong) {
        (Some(Wrong::Expired(until)), _) => {
            Cause::new(format!("{whose} expired at {until} UTC"), format!("give the server a new one, {WITHOUT}"))
        }
        (Some(Wrong::NotYet(from)), _) => Cause::new(
            format!("{whose} is valid from {from} UTC only"),
            format!("are the clocks of both machines right? {WITHOUT}"),
        ),
        (Some(Wrong::SelfSigned), _) => Cause::new(
            format!("{whose} is self-signed, and is none of those that {trusted}"),
            format!("name it if you trust it: database.ssl_ca = \"FILE\", {WITHOUT}"),
        ),
        (Some(Wrong::FirstVersion), _) => Cause::new(
            format!("{whose} is of X.509 version 1, which flatwater cannot check"),
            format!("sign it again with a subjectAltName, which makes it version 3, {WITHOUT}"),
        ),
        (_, CertificateError::UnknownIssuer | CertificateError::BadSignature) => Cause::new(
            format!("{whose} is signed by no authority that {trusted}"),
            format!("name the server's authority: database.ssl_ca = \"FILE\", {WITHOUT}"),
        ),
        (_, CertificateError::NotValidForNameContext { expected, presented }) => Cause::new(
            format!("{whose} is not for {:?}: {}", expected.to_str(), names(presented)),
            "connect by a name that it has, or database.ssl_mode = \"VERIFY_CA\", which does not look at names",
        ),
        (_, other) => Cause::new(
            format!("{whose} cannot be checked: {}", told(&other.to_string())),
            format!("give the server another one, {WITHOUT}"),
        ),
    }
}

fn names(presented: &[String]) -> String {
    if presented.is_empty() {
        return "it has no subjectAltName (a CN alone names no host)".to_owned();
    }
    let first: Vec<String> = presented.iter().take(TOLD_NAMES_MAX).map(|name| told(plain(name))).collect();
    let more = if presented.len() > first.len() { " and more" } else { "" };
    format!("it names {}{more}", first.join(", "))
}

/// The name itself: the library presents `DnsName("db1")` and `IpAddress(10.0.0.1)`.
fn plain(presented: &str) -> &str {
    let within = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    within.unwrap_or(presented).trim_matches('"')
}

/// An alert as RFC 8446 writes it: `handshake_failure`.
fn alert_name(alert: AlertDescription) -> String {
    let mut name = String::new();
    for letter in format!("{alert:?}").chars() {
        if letter.is_ascii_uppercase() && name.chars().last().is_some_and(|last| last.is_ascii_lowercase()) {
            name.push('_');
        }
        name.push(letter);
    }
    name.to_ascii_lowercase()
}

fn is_of_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    )
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Preferred => "PREFERRED",
        Mode::Required => "REQUIRED",
        Mode::VerifyCa => "VERIFY_CA",
        Mode::VerifyIdentity => "VERIFY_IDENTITY",
    }
}

//! What a server's certificate is checked for.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

use crate::database::der::{Outline, outline};

/// What is wrong with a certificate, where rustls has no word of its own for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("self-signed")]
    SelfSigned,
    #[error("expired")]
    Expired(String),
    #[error("not valid yet")]
    NotYet(String),
    #[error("version 1")]
    FirstVersion,
}

impl Wrong {
    fn error(self) -> Error {
        CertificateError::Other(OtherError(Arc::new(self))).into()
    }
}

/// Takes any certificate: what is sent is encrypted, and nobody knows for whom.
#[derive(Debug)]
pub(super) struct Unchecked {
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    // A signature by a key that nobody vouches for proves nothing.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Takes certificates that a trusted authority signed, or that are trusted themselves.
#[derive(Debug)]
pub(super) struct Checked {
    roots: RootCertStore,
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
    /// Whether the certificate must be for the host.
    named: bool,
}

impl Checked {
    /// Errors: none of the certificates can be an authority's.
    pub(super) fn new(
        trusted: Vec<CertificateDer<'static>>,
        algorithms: WebPkiSupportedAlgorithms,
        named: bool,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let (taken, _) = roots.add_parsable_certificates(trusted.iter().cloned());
        if taken == 0 {
            return Err("holds no certificate that can be read".into());
        }
        Ok(Self { roots, trusted, algorithms, named })
    }

    fn chain(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let told = outline(certificate);
        let parsed = ParsedCertificate::try_from(certificate).map_err(|error| match &told {
            Some(Outline { first_version: true, .. }) => Wrong::FirstVersion.error(),
            _ => error,
        })?;
        let chained =
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, between, now, self.algorithms.all);
        let Err(error) = chained else { return Ok(ServerCertVerified::assertion()) };
        let Some(told) = told else { return Err(error) };
        let Error::InvalidCertificate(wrong) = &error else { return Err(error) };
        // A certificate that the user named is trusted for what it is, although it is no authority's.
        let itself = self.trusted.iter().any(|own| own.as_ref() == certificate.as_ref());
        match wrong {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Err(Wrong::Expired(told.until).error())
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Err(Wrong::NotYet(told.from).error())
            }
            _ if itself => current(&told, now).map(|()| ServerCertVerified::assertion()),
            _ if told.self_issued => Err(Wrong::SelfSigned.error()),
            _ => Err(error),
        }
    }
}

/// Whether a certificate is valid now.
fn current(told: &Outline, now: UnixTime) -> Result<(), Error> {
    let now = written(now.as_secs());
    if now < told.from {
        Err(Wrong::NotYet(told.from.clone()).error())
    } else if now > told.until {
        Err(Wrong::Expired(told.until.clone()).error())
    } else {
        Ok(())
    }
}

/// A time since 1970 as `Outline` has it.
fn written(seconds: u64) -> String {
    let (mut days, clock) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}", days + 1, clock / 3600, clock / 60 % 60, clock % 60)
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.chain(certificate, between, now)?;
        if self.named {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_certificates_have_them() {
        // `date -u -d @...`.
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_426_200, "2026-11-23 09:30:00"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(written(seconds), text);
        }
    }
}

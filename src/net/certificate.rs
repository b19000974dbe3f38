//! Certificates for TLS clients: a verifier with rules other than the library's own, and the file of trusted
//! authorities.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Files in which systems keep the certificates that they trust; the first that exists is used.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Accepts any server that has the key of its certificate; with `authorities`, only certificates that they signed, with
/// or without a check of the name.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// Verifies signatures.
    pub(crate) provider: Arc<CryptoProvider>,
    /// Authorities that must have signed the certificate; none accepts any server.
    pub(crate) authorities: Option<Arc<WebPkiServerVerifier>>,
    /// True if the certificate must also match the name.
    pub(crate) by_name: bool,
}

impl Verifier {
    /// Accepts any certificate whose key the server has.
    pub(crate) fn anybody(provider: Arc<CryptoProvider>) -> Self {
        Self {
            provider,
            authorities: None,
            by_name: false,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is looked at last.
        match authorities.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.by_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// Returns the file that `SSL_CERT_FILE` names.
pub(crate) fn file_from_environment() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE");
    named.filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the file that `SSL_CERT_FILE` names, or the system's bundle.
pub(crate) fn trusted_file() -> Option<PathBuf> {
    file_from_environment().or_else(|| {
        BUNDLES
            .iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
    })
}

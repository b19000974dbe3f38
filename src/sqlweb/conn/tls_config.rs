//! TLS to the database where it is not the driver's.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::authority::{check_trust_store, is_public, trust_store};
use crate::sqlweb::error::DbError;
use crate::sqlweb::options::TlsMode;

/// What `--tls` asks for: the same as the driver is told.
pub(super) fn tls_config(mode: TlsMode) -> Result<Arc<ClientConfig>, DbError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |error: &dyn std::fmt::Display| DbError::Tls(error.to_string());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let roots = match mode {
        TlsMode::Off | TlsMode::Prefer | TlsMode::Require => None,
        TlsMode::VerifyCa | TlsMode::Verify => Some(Arc::new(roots(mode)?)),
    };
    let verifier = roots.map(|roots| {
        WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()
    });
    let verifier = Verifier {
        provider,
        authorities: verifier.transpose().map_err(|error| failed(&error))?,
        by_name: mode == TlsMode::Verify,
    };
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(Arc::new(config.with_no_client_auth()))
}

fn roots(mode: TlsMode) -> Result<RootCertStore, DbError> {
    check_trust_store(mode)?;
    let mut roots = RootCertStore::empty();
    if mode == TlsMode::Verify {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if let Some(file) = trust_store() {
        roots.add_parsable_certificates(certificates(&file)?);
    }
    if mode == TlsMode::VerifyCa {
        drop_public(&mut roots);
    }
    Ok(roots)
}

/// Where the name does not count, a public authority in a file of many would vouch for any web site.
fn drop_public(roots: &mut RootCertStore) {
    let is_own = |one: &TrustAnchor<'_>| !is_public(&one.subject_public_key_info);
    roots.roots.retain(is_own);
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, DbError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| {
        DbError::Tls(format!(
            "the trusted certificates in {} cannot be read: {error}",
            file.display()
        ))
    })
}

/// Takes anybody who has the key of the certificate shown, or asks for one of an authority, with or without the name.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    by_name: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_authority_in_a_file_of_many_is_not_trusted_without_the_name() {
        let own = TrustAnchor {
            subject: b"somebody".as_slice().into(),
            subject_public_key_info: b"a key".as_slice().into(),
            name_constraints: None,
        };
        let public = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
        let mut roots = RootCertStore::from_iter(public.chain([own.clone()]));
        drop_public(&mut roots);
        assert_eq!(roots.roots, [own]);
    }
}

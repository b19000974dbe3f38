//! Trusted certificate authorities, and the TLS settings of `--tls` for connections that do not use the driver's TLS.
//!
//! With `--tls verify-ca` the server's certificate must come from the authority in `SSL_CERT_FILE`; its name is not
//! checked. The driver (mysql 28) always trusts the public authorities too, so that the certificate of any web site
//! would pass. So the process installs algorithms that verify no signature of a public authority while such a
//! connection signs in.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm,
    TrustAnchor,
};
use rustls::{ClientConfig, RootCertStore};

use crate::net::certificate::Verifier;
use crate::net::{certificate, in_words};
use crate::sqlweb::error::{DbError, io_sentence};
use crate::sqlweb::options::TlsMode;

/// Message if `--tls verify-ca` has no authority.
const NO_AUTHORITY: &str = "--tls verify-ca needs the authority's certificate in SSL_CERT_FILE";

thread_local! {
    /// True if no public authority may vouch for the handshake on this thread.
    static WITHOUT_PUBLIC: Cell<bool> = const { Cell::new(false) };
}

/// Runs `sign_in`, whose TLS handshake happens on this thread, without the public authorities; `None` if the process
/// already has other algorithms.
pub(super) fn without_public<T>(sign_in: impl FnOnce() -> T) -> Option<T> {
    if !is_installed() {
        return None;
    }
    WITHOUT_PUBLIC.set(true);
    let outcome = sign_in();
    WITHOUT_PUBLIC.set(false);
    Some(outcome)
}

/// Installs the algorithms as the process's default, from which the driver takes them; this can be done once.
fn is_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| provider().install_default().is_ok())
}

fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    let watched = |inner: &&'static dyn SignatureVerificationAlgorithm| {
        let watched: &'static dyn SignatureVerificationAlgorithm =
            Box::leak(Box::new(Watched(*inner)));
        watched
    };
    let algorithms = &mut provider.signature_verification_algorithms;
    // Leaked once per process.
    algorithms.all = Vec::leak(algorithms.all.iter().map(watched).collect());
    provider
}

/// An algorithm that rejects public authorities while [`WITHOUT_PUBLIC`] is set.
#[derive(Debug)]
struct Watched(&'static dyn SignatureVerificationAlgorithm);

impl SignatureVerificationAlgorithm for Watched {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        if WITHOUT_PUBLIC.get() && is_public(public_key) {
            return Err(InvalidSignature);
        }
        self.0.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }
}

/// True if `key` is a public authority's: its SubjectPublicKeyInfo (RFC 5280 section 4.1), or the end of that.
pub(super) fn is_public(key: &[u8]) -> bool {
    webpki_roots::TLS_SERVER_ROOTS
        .iter()
        .any(|authority| authority.subject_public_key_info.ends_with(key))
}

/// Fails if the trusted certificates cannot be read, since the driver's error would not name the file, and if
/// `--tls verify-ca` has no authority.
pub(super) fn check_trust_store(tls: TlsMode) -> Result<(), DbError> {
    if tls == TlsMode::VerifyCa && certificate::file_from_environment().is_none() {
        return Err(DbError::Tls(NO_AUTHORITY.into()));
    }
    let Some(path) = certificate::trusted_file() else {
        return Ok(());
    };
    std::fs::File::open(&path).map(drop).map_err(|error| {
        DbError::Tls(format!(
            "the trusted certificates in {} cannot be read: {}",
            path.display(),
            io_sentence(&error)
        ))
    })
}

/// Returns the settings for `--tls`, equal to the driver's.
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
    if let Some(file) = certificate::trusted_file() {
        roots.add_parsable_certificates(certificates(&file)?);
    }
    if mode == TlsMode::VerifyCa {
        drop_public(&mut roots);
    }
    Ok(roots)
}

/// Removes public authorities from a file of many: without a check of the name they would vouch for any web site.
fn drop_public(roots: &mut RootCertStore) {
    let is_own = |one: &TrustAnchor<'_>| !is_public(&one.subject_public_key_info);
    roots.roots.retain(is_own);
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, DbError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| {
        DbError::Tls(format!(
            "the trusted certificates in {} cannot be read: {}",
            file.display(),
            in_words(error)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::alg_id;

    #[derive(Debug)]
    struct TakesAll;

    impl SignatureVerificationAlgorithm for TakesAll {
        fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
            Ok(())
        }

        fn public_key_alg_id(&self) -> AlgorithmIdentifier {
            alg_id::ED25519
        }

        fn signature_alg_id(&self) -> AlgorithmIdentifier {
            alg_id::ED25519
        }
    }

    #[test]
    fn a_public_authority_vouches_for_nobody_there() {
        let watched = Watched(&TakesAll);
        let takes = |key: &[u8]| watched.verify_signature(key, b"", b"").is_ok();
        for authority in webpki_roots::TLS_SERVER_ROOTS {
            let info: &[u8] = authority.subject_public_key_info.as_ref();
            // The key of an elliptic curve is a point of 65 bytes or more, that of RSA longer.
            let key = &info[info.len() - 65..];
            assert!(takes(key));
            assert_eq!(without_public(|| takes(key)), Some(false));
            assert_eq!(without_public(|| takes(b"somebody else's key")), Some(true));
            assert!(takes(key));
        }
    }

    #[test]
    fn every_algorithm_is_watched() {
        let plain = ring::default_provider().signature_verification_algorithms;
        let watched = provider().signature_verification_algorithms;
        assert_eq!(plain.all.len(), watched.all.len());
        let names = watched.all.iter().map(|one| format!("{one:?}"));
        assert!(names.into_iter().all(|name| name.starts_with("Watched(")));
    }

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

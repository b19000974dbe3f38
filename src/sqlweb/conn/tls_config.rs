//! TLS to the database where it is not the driver's.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor};
use rustls::{ClientConfig, RootCertStore};

use super::authority::{check_trust_store, is_public};
use crate::net::certificate::Verifier;
use crate::net::in_words;
use crate::net::trust_store;
use crate::sqlweb::error::DbError;
use crate::sqlweb::options::TlsMode;

/// Returns the settings for `--tls`, as the driver has them.
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
    if let Some(file) = trust_store::file() {
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
            "the trusted certificates in {} cannot be read: {}",
            file.display(),
            in_words(error)
        ))
    })
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

//! Whose certificates are trusted.
//!
//! With `--tls verify-ca` the server's must come from the authority in `SSL_CERT_FILE`, whatever name it is for. The
//! driver (mysql 28) trusts the public authorities beside that one, whatever it is told, and with the name left out the
//! certificate of any web site would do. So the process has algorithms that verify no signature of a public authority
//! while such a connection is signed in.

use std::cell::Cell;
use std::sync::OnceLock;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::net::trust_store;
use crate::sqlweb::error::{DbError, io_sentence};
use crate::sqlweb::options::TlsMode;

thread_local! {
    /// True if the handshake on this thread is one that no public authority may vouch for.
    static WITHOUT_PUBLIC: Cell<bool> = const { Cell::new(false) };
}

/// Runs `sign_in`, whose TLS handshake happens on this thread, without the public authorities; `None` where the process
/// already has algorithms of somebody else's.
pub(super) fn without_public<T>(sign_in: impl FnOnce() -> T) -> Option<T> {
    if !is_installed() {
        return None;
    }
    WITHOUT_PUBLIC.set(true);
    let outcome = sign_in();
    WITHOUT_PUBLIC.set(false);
    Some(outcome)
}

/// The driver takes the algorithms from the process's default, which can be set once.
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
    // Leaked once a process.
    algorithms.all = Vec::leak(algorithms.all.iter().map(watched).collect());
    provider
}

/// An algorithm that knows no public authority where [`WITHOUT_PUBLIC`] says so.
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

/// True if `key` is a public authority's: it ends what is kept of one (SubjectPublicKeyInfo, RFC 5280 section 4.1), or is
/// all of that.
pub(super) fn is_public(key: &[u8]) -> bool {
    webpki_roots::TLS_SERVER_ROOTS
        .iter()
        .any(|authority| authority.subject_public_key_info.ends_with(key))
}

/// Fails where the certificates to trust cannot be read, since the driver would not say which file that was, and where
/// the name does not count and no authority is named.
pub(super) fn check_trust_store(tls: TlsMode) -> Result<(), DbError> {
    if tls == TlsMode::VerifyCa && trust_store::named().is_none() {
        return Err(DbError::Tls(NO_AUTHORITY.into()));
    }
    let Some(path) = trust_store::file() else {
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

/// Message if the name does not count and no authority is named.
const NO_AUTHORITY: &str = "--tls verify-ca needs the authority's certificate in SSL_CERT_FILE";

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
}

//! The certificates that are trusted beside the built-in public ones.

use std::path::PathBuf;

/// Where systems keep the certificates that they trust; the first that exists is used.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// `SSL_CERT_FILE`.
pub(crate) fn named() -> Option<PathBuf> {
    let named = std::env::var_os("SSL_CERT_FILE");
    named.filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `SSL_CERT_FILE`, else the system's bundle.
pub(crate) fn file() -> Option<PathBuf> {
    named().or_else(|| {
        BUNDLES
            .iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
    })
}

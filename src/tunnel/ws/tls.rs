//! TLS: the certificates that a client trusts, and the certificate of a server.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, Error, RootCertStore,
    ServerConfig, ServerConnection,
};

use super::error::{CertificateProblem, DialError};
use crate::net::certificate::Verifier;
use crate::net::in_words;

/// Files in which systems keep the certificates that they trust; the first that exists is used.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];
/// Protocol that is offered: an intermediary that looks into TLS is to see an HTTP/1.1 client.
const ALPN: &[u8] = b"http/1.1";
/// Bytes of a file of trusted certificates. Default 8 MiB: system bundles have 250 KiB.
const MAX_CA_FILE: u64 = 8 * 1024 * 1024;

/// Certificates that a client accepts. They are read when first needed and then kept; clones share them, so make one
/// for a tunnel, not one for each attempt.
#[derive(Clone)]
pub struct Tls {
    trust: Trust,
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

#[derive(Debug, Clone)]
enum Trust {
    Public,
    Authority(PathBuf),
    Anybody,
}

impl Tls {
    /// Accepts what the public authorities signed, and those that `SSL_CERT_FILE` names, or
    /// where that is not set, the system.
    pub fn verified() -> Self {
        Self::new(Trust::Public)
    }

    /// Accepts what the authorities in this PEM file signed, and nothing else.
    pub fn with_authority(file: impl Into<PathBuf>) -> Self {
        Self::new(Trust::Authority(file.into()))
    }

    /// Accepts any certificate: the tunnel's own host key still proves the server.
    pub fn unverified() -> Self {
        Self::new(Trust::Anybody)
    }

    fn new(trust: Trust) -> Self {
        Self {
            trust,
            config: Arc::default(),
        }
    }

    /// The client's end of a connection to `host`.
    pub(crate) fn connection(&self, host: &str) -> Result<Connection, DialError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            DialError::Settings(format!("TLS cannot be used with the host name '{host}'"))
        })?;
        let connection = ClientConnection::new(self.config()?, name);
        Ok(connection.map_err(|error| failure(host, error))?.into())
    }

    fn config(&self) -> Result<Arc<ClientConfig>, DialError> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(client_config(&self.trust).map_err(DialError::Settings)?);
        Ok(Arc::clone(self.config.get_or_init(|| config)))
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self::verified()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.trust).finish()
    }
}

fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match trust {
        Trust::Public => builder.with_root_certificates(public_roots()?),
        Trust::Authority(file) => builder.with_root_certificates(roots_of(file)?),
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::anybody(provider))),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

fn public_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    match std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
        Some(file) => add(&mut roots, Path::new(&file))?,
        None => add_system(&mut roots),
    }
    Ok(roots)
}

/// The certificates of `SSL_CERT_FILE`, and those of the system's bundle; both may be missing.
pub fn authorities() -> Result<Vec<CertificateDer<'static>>, String> {
    let mut authorities = Vec::new();
    if let Some(file) = std::env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()) {
        authorities = certificates(&read(Path::new(&file))?);
        if authorities.is_empty() {
            return Err(no_certificate(Path::new(&file)));
        }
    }
    if let Some(text) = bundle().and_then(|bundle| read(bundle).ok()) {
        authorities.extend(certificates(&text));
    }
    Ok(authorities)
}

fn certificates(text: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(text)
        .filter_map(Result::ok)
        .collect()
}

fn bundle() -> Option<&'static Path> {
    BUNDLES.iter().map(Path::new).find(|path| path.is_file())
}

/// A bundle that cannot be read is no error: the public roots are compiled in.
fn add_system(roots: &mut RootCertStore) {
    if let Some(bundle) = bundle()
        && let Err(error) = add(roots, bundle)
    {
        log::debug!("{error}");
    }
}

fn roots_of(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    add(&mut roots, file)?;
    Ok(roots)
}

/// Adds the usable certificates of a file; it is an error when there are none.
fn add(roots: &mut RootCertStore, file: &Path) -> Result<(), String> {
    let (added, _) = roots.add_parsable_certificates(certificates(&read(file)?));
    match added {
        0 => Err(no_certificate(file)),
        _ => Ok(()),
    }
}

fn no_certificate(file: &Path) -> String {
    format!("{} contains no PEM certificate", file.display())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let unreadable =
        |error: std::io::Error| format!("cannot read {}: {}", file.display(), in_words(error));
    let mut text = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened
        .take(MAX_CA_FILE + 1)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_CA_FILE) {
        return Err(format!("{} is too large for certificates", file.display()));
    }
    Ok(text)
}

/// Certificate and key of a server.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// Reads a certificate chain and its key, both in PEM form.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, String> {
        let unusable =
            |file: &Path, reason: String| format!("cannot use {}: {reason}", file.display());
        let certificates = CertificateDer::pem_slice_iter(&read(chain)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(chain, error.to_string()))?;
        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| unusable(key, error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(certificates, private)
            })
            .map_err(|error| unusable(chain, error.to_string()))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// The server's end of a connection.
    pub(super) fn connection(&self) -> Result<Connection, Error> {
        ServerConnection::new(Arc::clone(&self.0)).map(Connection::from)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls")
    }
}

/// Explains a failed handshake.
pub(super) fn failure(host: &str, error: Error) -> DialError {
    match error {
        Error::InvalidCertificate(error) => DialError::Certificate {
            host: host.to_owned(),
            problem: problem(&error),
        },
        Error::InvalidMessage(_) => DialError::Tls(format!(
            "{host} does not speak TLS on this port: try ws:// instead of wss://"
        )),
        error => DialError::Tls(error.to_string()),
    }
}

/// Explains a failed handshake of a call by `https`.
pub(crate) fn https_failure(host: &str, error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) => format!("{host} does not speak TLS on this port"),
        error => failure(host, error.clone()).to_string(),
    }
}

fn problem(error: &CertificateError) -> CertificateProblem {
    match error {
        CertificateError::UnknownIssuer => CertificateProblem::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            CertificateProblem::Expired
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateProblem::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            CertificateProblem::WrongName
        }
        CertificateError::Revoked => CertificateProblem::Revoked,
        CertificateError::Other(inner) => other_problem(inner.0.to_string()),
        other => CertificateProblem::Other(other.to_string()),
    }
}

/// Errors without a shared name in the verifier are known by their text alone.
fn other_problem(text: String) -> CertificateProblem {
    match text.as_str() {
        "CaUsedAsEndEntity" => CertificateProblem::Authority,
        _ => CertificateProblem::Other(text),
    }
}

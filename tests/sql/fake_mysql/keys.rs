//! Proofs of a password, and the keys and certificates of the fake, made by the `openssl` command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use ring::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::PASSWORD;

/// `SHA1(password) XOR SHA1(nonce || SHA1(SHA1(password)))`.
pub fn native_proof(nonce: &[u8]) -> Vec<u8> {
    let once = digest::digest(&SHA1_FOR_LEGACY_USE_ONLY, PASSWORD.as_bytes());
    let twice = digest::digest(&SHA1_FOR_LEGACY_USE_ONLY, once.as_ref());
    let salted = [nonce, twice.as_ref()].concat();
    xor(
        once.as_ref(),
        digest::digest(&SHA1_FOR_LEGACY_USE_ONLY, &salted).as_ref(),
    )
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) || nonce)`.
pub fn sha2_proof(nonce: &[u8]) -> Vec<u8> {
    let once = digest::digest(&SHA256, PASSWORD.as_bytes());
    let twice = digest::digest(&SHA256, once.as_ref());
    let salted = [twice.as_ref(), nonce].concat();
    xor(once.as_ref(), digest::digest(&SHA256, &salted).as_ref())
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// An RSA key pair made by the `openssl` command.
pub struct Rsa {
    key: PathBuf,
    /// The public half, as PEM.
    pub public: Vec<u8>,
    _dir: tempfile::TempDir,
}

impl Rsa {
    /// A fresh pair.
    pub fn new() -> Arc<Rsa> {
        let dir = tempfile::tempdir().unwrap();
        openssl(dir.path(), "genrsa -out key.pem 2048");
        openssl(dir.path(), "rsa -in key.pem -pubout -out public.pem");
        Arc::new(Rsa {
            key: dir.path().join("key.pem"),
            public: std::fs::read(dir.path().join("public.pem")).unwrap(),
            _dir: dir,
        })
    }

    /// RSA-OAEP, as the protocol has it: SHA-1 and no label.
    pub fn decrypt(&self, sealed: &[u8]) -> Vec<u8> {
        let mut child = Process::new("openssl")
            .args([
                "pkeyutl",
                "-decrypt",
                "-pkeyopt",
                "rsa_padding_mode:oaep",
                "-inkey",
            ])
            .arg(&self.key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed; run tests/setup.sh");
        child.stdin.take().unwrap().write_all(sealed).unwrap();
        child.wait_with_output().unwrap().stdout
    }
}

/// A certificate for 127.0.0.1, signed by nobody, and what rustls needs to serve with it.
pub fn tls() -> Arc<ServerConfig> {
    let dir = tempfile::tempdir().unwrap();
    openssl(
        dir.path(),
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=fake \
         -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem",
    );
    let certificate = CertificateDer::from_pem_file(dir.path().join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("key.pem")).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}

/// Runs one `openssl` command in `dir`.
pub fn openssl(dir: &Path, arguments: &str) {
    let done = Process::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .output()
        .expect("openssl is installed; run tests/setup.sh");
    assert!(
        done.status.success(),
        "openssl {arguments}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

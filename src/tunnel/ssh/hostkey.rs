//! Host keys: verifying a server's, and making, keeping and using one's own.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaPublicKeyComponents};
use zeroize::Zeroizing;

use super::error::Error;
use super::names;
use super::wire::{Fields, Put};

/// Signatures as two numbers of 32 bytes each, which is what the wire format starts from.
const P256: &signature::EcdsaSigningAlgorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;

/// A host key algorithm, as both sides agree on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostKeyAlgorithm {
    /// `ecdsa-sha2-nistp256`
    EcdsaP256,
    /// `ssh-ed25519`
    Ed25519,
    /// `rsa-sha2-256`; verified only.
    RsaSha256,
    /// `rsa-sha2-512`; verified only.
    RsaSha512,
}

impl HostKeyAlgorithm {
    /// Algorithms that a client verifies, a chisel server's default first.
    pub const ALL: [Self; 4] = [
        Self::EcdsaP256,
        Self::Ed25519,
        Self::RsaSha256,
        Self::RsaSha512,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => names::ECDSA_P256,
            Self::Ed25519 => names::ED25519,
            Self::RsaSha256 => names::RSA_SHA256,
            Self::RsaSha512 => names::RSA_SHA512,
        }
    }

    /// The name within the key (RFC 8332 §3: RSA keys keep their old one).
    fn key_name(self) -> &'static str {
        match self {
            Self::RsaSha256 | Self::RsaSha512 => names::RSA_KEY,
            other => other.name(),
        }
    }
}

/// A server's public host key, as on the wire (RFC 4253 §6.6).
#[derive(Clone, PartialEq, Eq)]
pub struct HostKey {
    blob: Vec<u8>,
}

impl HostKey {
    pub(super) fn new(blob: &[u8]) -> Self {
        Self {
            blob: blob.to_vec(),
        }
    }

    /// The key as sent.
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Base64 (standard alphabet, padded) of SHA-256 over the key.
    pub fn fingerprint(&self) -> String {
        BASE64.encode(digest(&SHA256, &self.blob))
    }

    /// The key's own name: `ssh-ed25519`, `ecdsa-sha2-nistp256` or `ssh-rsa`.
    pub fn kind(&self) -> &str {
        Fields::new(&self.blob).text().unwrap_or_default()
    }

    /// True if a proof ([`ServerKey::prove`]) of this statement was made with the key of this fingerprint.
    pub(crate) fn is_proof(proof: &str, fingerprint: &str, statement: &[u8]) -> bool {
        let parts = proof.split_once('.');
        let decoded = parts.and_then(|(key, signature)| {
            Some((BASE64.decode(key).ok()?, BASE64.decode(signature).ok()?))
        });
        let Some((key, signature)) = decoded else {
            return false;
        };
        let key = Self::new(&key);
        let ours = [HostKeyAlgorithm::Ed25519, HostKeyAlgorithm::EcdsaP256];
        let mut ours = ours.into_iter();
        let algorithm = ours.find(|algorithm| algorithm.key_name() == key.kind());
        key.fingerprint() == fingerprint
            && algorithm
                .is_some_and(|algorithm| key.verify(algorithm, statement, &signature).is_ok())
    }

    /// Checks that `signature` over `message` was made with this key and agreed `algorithm`.
    pub(super) fn verify(
        &self,
        algorithm: HostKeyAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let mut key = Fields::new(&self.blob);
        let mut signature = Fields::new(signature);
        let names = (key.string()?, signature.string()?);
        if names != (algorithm.key_name().as_bytes(), algorithm.name().as_bytes()) {
            return Err(Error::BadSignature);
        }
        let bytes = signature.string()?;
        signature.end()?;
        match algorithm {
            HostKeyAlgorithm::Ed25519 => ed25519(key, message, bytes),
            HostKeyAlgorithm::EcdsaP256 => ecdsa(key, message, bytes),
            HostKeyAlgorithm::RsaSha256 => {
                rsa(key, &signature::RSA_PKCS1_2048_8192_SHA256, message, bytes)
            }
            HostKeyAlgorithm::RsaSha512 => {
                rsa(key, &signature::RSA_PKCS1_2048_8192_SHA512, message, bytes)
            }
        }
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostKey({} {})", self.kind(), self.fingerprint())
    }
}

/// RFC 8709 §4, §6.
fn ed25519(mut key: Fields<'_>, message: &[u8], bytes: &[u8]) -> Result<(), Error> {
    let point = key.string()?;
    key.end()?;
    signature::UnparsedPublicKey::new(&signature::ED25519, point)
        .verify(message, bytes)
        .map_err(|_| Error::BadSignature)
}

/// RFC 5656 §3.1: the curve's name, then the point; the signature is two numbers.
fn ecdsa(mut key: Fields<'_>, message: &[u8], bytes: &[u8]) -> Result<(), Error> {
    if key.string()? != names::NISTP256.as_bytes() {
        return Err(Error::BadSignature);
    }
    let point = key.string()?;
    key.end()?;
    let mut numbers = Fields::new(bytes);
    let (r, s) = (numbers.unsigned()?, numbers.unsigned()?);
    numbers.end()?;
    let mut fixed = Vec::with_capacity(64);
    for number in [r, s] {
        let zeros = 32_usize
            .checked_sub(number.len())
            .ok_or(Error::BadSignature)?;
        fixed.resize(fixed.len() + zeros, 0);
        fixed.put(number);
    }
    signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
        .verify(message, &fixed)
        .map_err(|_| Error::BadSignature)
}

/// RFC 8332 §3; keys below 2048 bits are refused.
fn rsa(
    mut key: Fields<'_>,
    parameters: &'static signature::RsaParameters,
    message: &[u8],
    bytes: &[u8],
) -> Result<(), Error> {
    let (e, n) = (key.unsigned()?, key.unsigned()?);
    key.end()?;
    RsaPublicKeyComponents { n, e }
        .verify(parameters, message, bytes)
        .map_err(|_| Error::BadSignature)
}

/// A kind of key that a server can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// `ssh-ed25519`
    Ed25519,
    /// `ecdsa-sha2-nistp256`
    EcdsaP256,
}

/// A server's own host key.
pub struct ServerKey {
    pkcs8: Zeroizing<Vec<u8>>,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    EcdsaP256(EcdsaKeyPair),
}

impl ServerKey {
    /// Makes a new one.
    pub fn generate(kind: KeyKind) -> Result<Self, Error> {
        let random = SystemRandom::new();
        let document = match kind {
            KeyKind::Ed25519 => Ed25519KeyPair::generate_pkcs8(&random),
            KeyKind::EcdsaP256 => EcdsaKeyPair::generate_pkcs8(P256, &random),
        };
        Self::from_pkcs8(document.map_err(|_| Error::NoRandom)?.as_ref())
    }

    /// Reads one that was kept (PKCS#8, RFC 5958, in DER).
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, Error> {
        let ed25519 = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Pair::Ed25519);
        let pair = ed25519
            .or_else(|_| {
                EcdsaKeyPair::from_pkcs8(P256, der, &SystemRandom::new()).map(Pair::EcdsaP256)
            })
            .map_err(|_| Error::BadKey)?;
        Ok(Self {
            pkcs8: Zeroizing::new(der.to_vec()),
            pair,
        })
    }

    /// The Ed25519 key that follows from a secret (RFC 8032 section 5.1.5; as PKCS#8, RFC 8410 section 7).
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Result<Self, Error> {
        const HEAD: [u8; 16] = [
            0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22,
            0x04, 0x20,
        ];
        let der = Zeroizing::new([&HEAD[..], seed].concat());
        Self::from_pkcs8(&der)
    }

    /// The whole key, to be kept in a private file.
    pub fn to_pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Returns the public key that a client will see.
    pub fn public(&self) -> HostKey {
        let mut blob = Vec::with_capacity(128);
        blob.put_string(self.algorithm().name().as_bytes());
        match &self.pair {
            Pair::Ed25519(pair) => blob.put_string(pair.public_key().as_ref()),
            Pair::EcdsaP256(pair) => {
                blob.put_string(names::NISTP256.as_bytes());
                blob.put_string(pair.public_key().as_ref());
            }
        }
        HostKey { blob }
    }

    pub(super) fn algorithm(&self) -> HostKeyAlgorithm {
        match self.pair {
            Pair::Ed25519(_) => HostKeyAlgorithm::Ed25519,
            Pair::EcdsaP256(_) => HostKeyAlgorithm::EcdsaP256,
        }
    }

    /// Proves that the sender of a statement has the key: the public key and a signature, in base64. A statement is not
    /// a digest, so no signature of a key exchange is a proof, or the other way round.
    pub(crate) fn prove(&self, statement: &[u8]) -> Result<String, Error> {
        let signature = self.sign(statement)?;
        let parts = [self.public().blob(), &signature].map(|part| BASE64.encode(part));
        Ok(parts.join("."))
    }

    /// The signature as on the wire (RFC 8709 §6, RFC 5656 §3.1.2).
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut blob = Vec::with_capacity(128);
        blob.put_string(self.algorithm().name().as_bytes());
        match &self.pair {
            Pair::Ed25519(pair) => blob.put_string(pair.sign(message).as_ref()),
            Pair::EcdsaP256(pair) => {
                let made = pair
                    .sign(&SystemRandom::new(), message)
                    .map_err(|_| Error::NoRandom)?;
                let (r, s) = made.as_ref().split_at_checked(32).ok_or(Error::BadKey)?;
                let mut numbers = Vec::with_capacity(80);
                numbers.put_unsigned(r);
                numbers.put_unsigned(s);
                blob.put_string(&numbers);
            }
        }
        Ok(blob)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({:?})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_key_and_one_statement() {
        for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256] {
            let (key, other) = (
                ServerKey::generate(kind).unwrap(),
                ServerKey::generate(kind).unwrap(),
            );
            let proof = key.prove(b"a to b").unwrap();
            let (own, others) = (key.public().fingerprint(), other.public().fingerprint());
            assert!(HostKey::is_proof(&proof, &own, b"a to b"));
            assert!(!HostKey::is_proof(&proof, &others, b"a to b"));
            assert!(!HostKey::is_proof(&proof, &own, b"a to c"));
            // The right key, and a signature of another one.
            let (public, _) = proof.split_once('.').unwrap();
            let forged = other.prove(b"a to b").unwrap();
            let (_, signature) = forged.split_once('.').unwrap();
            let mixed = format!("{public}.{signature}");
            assert!(!HostKey::is_proof(&mixed, &own, b"a to b"));
            for nothing in ["", ".", "AAAA.AAAA", public] {
                assert!(!HostKey::is_proof(nothing, &own, b"a to b"), "{nothing}");
            }
        }
    }

    #[test]
    fn a_kept_key_is_the_same_key() {
        for kind in [KeyKind::Ed25519, KeyKind::EcdsaP256] {
            let key = ServerKey::generate(kind).unwrap();
            let again = ServerKey::from_pkcs8(key.to_pkcs8()).unwrap();
            assert_eq!(key.public(), again.public());
            assert_eq!(key.algorithm(), again.algorithm());
            assert_eq!(key.public().fingerprint().len(), 44);
        }
        assert_eq!(ServerKey::from_pkcs8(b"x").unwrap_err(), Error::BadKey);
    }

    #[test]
    fn signatures_verify_and_only_for_their_message_key_and_algorithm() {
        let keys = [KeyKind::Ed25519, KeyKind::EcdsaP256].map(|kind| {
            // Numbers with leading zeros come up once in 128 signatures.
            (0..300).fold(ServerKey::generate(kind).unwrap(), |key, n: u32| {
                let message = n.to_be_bytes();
                let signature = key.sign(&message).unwrap();
                let public = key.public();
                public
                    .verify(key.algorithm(), &message, &signature)
                    .unwrap();
                key
            })
        });
        let signature = keys[0].sign(b"this").unwrap();
        let [ed25519, ecdsa] = [keys[0].public(), keys[1].public()];
        let bad = Err(Error::BadSignature);
        assert_eq!(
            ed25519.verify(HostKeyAlgorithm::Ed25519, b"that", &signature),
            bad
        );
        assert_eq!(
            ecdsa.verify(HostKeyAlgorithm::Ed25519, b"this", &signature),
            bad
        );
        assert_eq!(
            ecdsa.verify(HostKeyAlgorithm::EcdsaP256, b"this", &signature),
            bad
        );
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    #[test]
    fn signatures_of_another_implementation_verify() {
        let vectors = include_str!("vectors/signatures.txt").lines().skip(1);
        let mut seen = Vec::new();
        for vector in vectors {
            let [name, blob, message, signature] = vector.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{vector}");
            };
            let find = |algorithm: &HostKeyAlgorithm| algorithm.name() == name;
            let algorithm = HostKeyAlgorithm::ALL.into_iter().find(find).unwrap();
            let key = HostKey::new(&bytes(blob));
            let (mut message, signature) = (bytes(message), bytes(signature));
            assert_eq!(
                key.verify(algorithm, &message, &signature),
                Ok(()),
                "{name}"
            );
            for cut in 0..signature.len() {
                assert!(key.verify(algorithm, &message, &signature[..cut]).is_err());
            }
            message[0] ^= 1;
            let changed = key.verify(algorithm, &message, &signature);
            assert_eq!(changed, Err(Error::BadSignature), "{name}");
            seen.push(algorithm);
        }
        assert!(
            HostKeyAlgorithm::ALL
                .iter()
                .all(|wanted| seen.contains(wanted))
        );
    }

    #[test]
    fn an_rsa_key_does_not_verify_under_the_hash_that_was_not_agreed() {
        let vector = include_str!("vectors/signatures.txt")
            .lines()
            .nth(1)
            .unwrap();
        let [name, blob, message, signature] = vector.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{vector}");
        };
        assert_eq!(name, "rsa-sha2-256");
        let verdict = HostKey::new(&bytes(blob)).verify(
            HostKeyAlgorithm::RsaSha512,
            &bytes(message),
            &bytes(signature),
        );
        assert_eq!(verdict, Err(Error::BadSignature));
    }

    #[test]
    fn a_private_key_is_not_printed() {
        let key = ServerKey::generate(KeyKind::Ed25519).unwrap();
        assert!(format!("{key:?}").starts_with("ServerKey(HostKey(ssh-ed25519 "));
    }
}

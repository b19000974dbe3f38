//! Content that only this user on this machine can open.
//!
//! ```text
//! "PSTN" | version 1 | salt, 16 bytes | nonce, 12 bytes | AES-256-GCM ciphertext and tag
//! └────────────────── associated data ─────────────────┘
//! key = HKDF-SHA-256(fingerprint, salt, purpose)
//! ```
//!
//! Salt and nonce are fresh at every write.

use std::path::PathBuf;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use ring::hkdf;
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::lock::Locked;
use super::random;

const MAGIC: &[u8; 5] = b"PSTN\x01";
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;
const HEADER: usize = MAGIC.len() + SALT + NONCE;

/// What the key of a sealed file is made of, beside the user and the salt.
#[derive(Clone)]
pub(super) struct Seal {
    /// Content of another purpose cannot be opened as this one.
    purpose: &'static str,
    /// The root directory of the machine, from which the fingerprint is taken.
    machine: PathBuf,
}

impl Seal {
    pub(super) fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            machine: PathBuf::from("/"),
        }
    }

    /// `None` for whatever was not sealed with this purpose by this user on this machine.
    pub(super) fn open(
        &self,
        home: &DataDir,
        sealed: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let fingerprint = Fingerprint::known(home, &self.machine)?;
        Ok(fingerprint.and_then(|fingerprint| open(&fingerprint, self.purpose, sealed)))
    }

    /// Seals content for the holder of the lock: a machine without an id gets one.
    pub(super) fn seal(
        &self,
        home: &DataDir,
        locked: &Locked,
        content: Zeroizing<Vec<u8>>,
    ) -> Result<Vec<u8>, Error> {
        let fingerprint = Fingerprint::known_or_new(home, locked, &self.machine)?;
        Ok(seal(&fingerprint, self.purpose, content))
    }
}

fn seal(fingerprint: &Fingerprint, purpose: &str, mut content: Zeroizing<Vec<u8>>) -> Vec<u8> {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let header = [&MAGIC[..], &salt, &nonce].concat();
    let tag = cipher(fingerprint, &salt, purpose)
        .encrypt_in_place_detached(&nonce.into(), &header, &mut content)
        .expect("it is shorter than AES-GCM's 64 GiB");
    [header.as_slice(), &content, &tag].concat()
}

/// `None` for whatever [`seal`] has not made with this fingerprint and purpose.
fn open(fingerprint: &Fingerprint, purpose: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (header, body) = sealed.split_at_checked(HEADER)?;
    let rest = header.strip_prefix(MAGIC)?;
    let (salt, nonce) = rest.split_at_checked(SALT)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    let (body, tag) = body.split_at_checked(body.len().checked_sub(TAG)?)?;
    let tag: [u8; TAG] = tag.try_into().ok()?;
    let mut content = Zeroizing::new(body.to_vec());
    cipher(fingerprint, salt, purpose)
        .decrypt_in_place_detached(&nonce.into(), header, &mut content, &tag.into())
        .ok()?;
    Some(content)
}

/// HKDF (RFC 5869) with the purpose as its `info`.
fn cipher(fingerprint: &Fingerprint, salt: &[u8], purpose: &str) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(fingerprint.as_bytes())
        .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|expanded| expanded.fill(key.as_mut_slice()))
        .expect("a key is as long as the digest");
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(key.as_slice()))
}

#[cfg(test)]
impl Seal {
    /// The same on another machine.
    pub(super) fn on(mut self, machine: &std::path::Path) -> Self {
        self.machine = machine.to_owned();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let fingerprint = Fingerprint::of(&DataDir::at(home.path())).unwrap();
        let whole = seal(&fingerprint, "p", Zeroizing::new(b"content".to_vec()));
        assert_eq!(*open(&fingerprint, "p", &whole).unwrap(), b"content");
        assert!(open(&fingerprint, "q", &whole).is_none());
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&fingerprint, "p", &flipped).is_none(), "bit {bit}");
        }
        for length in 0..whole.len() {
            let cut = open(&fingerprint, "p", &whole[..length]);
            assert!(cut.is_none(), "cut at {length}");
        }
        let longer = [whole.as_slice(), b"x"].concat();
        assert!(open(&fingerprint, "p", &longer).is_none());
    }

    #[test]
    fn each_time_it_looks_different_and_nothing_of_the_content_shows() {
        let home = tempfile::tempdir().unwrap();
        let fingerprint = Fingerprint::of(&DataDir::at(home.path())).unwrap();
        let sealed = || seal(&fingerprint, "p", Zeroizing::new(b"secret".to_vec()));
        let (first, second) = (sealed(), sealed());
        assert_eq!(first.len(), HEADER + 6 + TAG);
        assert_eq!(first[..5], *b"PSTN\x01");
        assert_ne!(first[5..HEADER], second[5..HEADER]);
        assert!(!second.windows(6).any(|part| part == b"secret"));
    }
}

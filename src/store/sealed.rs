//! Content that only this user on this machine can open.
//!
//! ```text
//! "PSTN" | version 2 | key's id, 8 bytes | salt, 16 bytes | nonce, 12 bytes | AES-256-GCM ciphertext and tag
//! └───────────────────────── associated data ────────────────────────────┘
//! key = HKDF-SHA-256(fingerprint | key file, salt, purpose)
//! ```
//!
//! Salt and nonce are fresh at every write. Version 1 had no key file and no id of one; it is read, and sealed anew at
//! the next chance.

use std::path::PathBuf;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use ring::hkdf;
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::key_file::{KEY_ID, SealKey};
use super::lock::Locked;
use super::random;

const MAGIC: &[u8; 4] = b"PSTN";
const VERSION: u8 = 2;
/// The version without a key file.
const FIRST_VERSION: u8 = 1;
/// Versions of newer programs: further on are letters, which stand in no version.
const NEWER: std::ops::RangeInclusive<u8> = VERSION + 1..=0x1f;
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;

/// Inputs of a sealed file's key, beside the user and the salt.
#[derive(Clone)]
pub(super) struct Seal {
    /// Content of another purpose cannot be opened as this one.
    purpose: &'static str,
    /// The root directory of the machine, from which the fingerprint is taken.
    machine: PathBuf,
}

/// Result of an attempt to open.
pub(super) enum Opened {
    /// The content; `true` where it was sealed by an earlier version.
    Content(Zeroizing<Vec<u8>>, bool),
    /// It was not sealed with this purpose by this user on this machine, or it is damaged.
    Foreign,
    /// The key that it names is not there.
    KeyIsLost,
    /// A newer version of the program sealed it: the version of its form.
    Newer(u8),
}

impl Seal {
    pub(super) fn new(purpose: &'static str) -> Self {
        Self {
            purpose,
            machine: PathBuf::from("/"),
        }
    }

    /// Opens what was sealed.
    pub(super) fn open(&self, home: &DataDir, sealed: &[u8]) -> Result<Opened, Error> {
        let Some((&version, rest)) = sealed.strip_prefix(MAGIC).and_then(<[u8]>::split_first)
        else {
            return Ok(Opened::Foreign);
        };
        if NEWER.contains(&version) {
            return Ok(Opened::Newer(version));
        }
        let Some(fingerprint) = Fingerprint::known(home, &self.machine)? else {
            return Ok(Opened::Foreign);
        };
        let (key, header) = match version {
            FIRST_VERSION => (None, MAGIC.len() + 1),
            VERSION => {
                let Some((id, _)) = rest.split_at_checked(KEY_ID) else {
                    return Ok(Opened::Foreign);
                };
                match SealKey::with_id(home, id)? {
                    Some(key) => (Some(key), MAGIC.len() + 1 + KEY_ID),
                    None => return Ok(Opened::KeyIsLost),
                }
            }
            _ => return Ok(Opened::Foreign),
        };
        let secret = secret(&fingerprint, key.as_ref());
        Ok(match open(&secret, self.purpose, sealed, header) {
            Some(content) => Opened::Content(content, version == FIRST_VERSION),
            None => Opened::Foreign,
        })
    }

    /// Seals content for the holder of the lock: a machine without an id gets one, and a directory without a key.
    pub(super) fn seal(
        &self,
        home: &DataDir,
        locked: &Locked,
        content: Zeroizing<Vec<u8>>,
    ) -> Result<Vec<u8>, Error> {
        let lasts_apart = Fingerprint::is_machines(&self.machine)?;
        let key = SealKey::known_or_new(home, locked, lasts_apart)?;
        let fingerprint = Fingerprint::known_or_new(home, locked, &self.machine)?;
        let start = [&MAGIC[..], &[VERSION], &key.id].concat();
        let secret = secret(&fingerprint, Some(&key));
        Ok(seal(&secret, self.purpose, &start, content))
    }
}

/// Secret from which a cipher's key is derived.
fn secret(fingerprint: &Fingerprint, key: Option<&SealKey>) -> Zeroizing<Vec<u8>> {
    let key = key.map_or(&[][..], |key| key.secret.as_slice());
    Zeroizing::new([fingerprint.as_bytes(), key].concat())
}

/// `start` is what stands before the salt.
fn seal(secret: &[u8], purpose: &str, start: &[u8], mut content: Zeroizing<Vec<u8>>) -> Vec<u8> {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let header = [start, &salt, &nonce].concat();
    let tag = cipher(secret, &salt, purpose)
        .encrypt_in_place_detached(&nonce.into(), &header, &mut content)
        .expect("it is shorter than AES-GCM's 64 GiB");
    [header.as_slice(), &content, &tag].concat()
}

/// `None` for whatever [`seal`] has not made with this secret and purpose and a start of this length.
fn open(secret: &[u8], purpose: &str, sealed: &[u8], start: usize) -> Option<Zeroizing<Vec<u8>>> {
    let (header, body) = sealed.split_at_checked(start + SALT + NONCE)?;
    let (_, rest) = header.split_at_checked(start)?;
    let (salt, nonce) = rest.split_at_checked(SALT)?;
    let nonce: [u8; NONCE] = nonce.try_into().ok()?;
    let (body, tag) = body.split_at_checked(body.len().checked_sub(TAG)?)?;
    let tag: [u8; TAG] = tag.try_into().ok()?;
    let mut content = Zeroizing::new(body.to_vec());
    cipher(secret, salt, purpose)
        .decrypt_in_place_detached(&nonce.into(), header, &mut content, &tag.into())
        .ok()?;
    Some(content)
}

/// HKDF (RFC 5869) with the purpose as its `info`.
fn cipher(secret: &[u8], salt: &[u8], purpose: &str) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(secret)
        .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|expanded| expanded.fill(key.as_mut_slice()))
        .expect("a key is as long as the digest");
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(key.as_slice()))
}

#[cfg(test)]
impl Seal {
    /// Moves it to another machine, for tests.
    pub(super) fn on(mut self, machine: &std::path::Path) -> Self {
        self.machine = machine.to_owned();
        self
    }

    /// As the first version sealed.
    pub(super) fn seal_as_first(&self, home: &DataDir, content: &[u8]) -> Vec<u8> {
        let fingerprint = Fingerprint::known(home, &self.machine).unwrap().unwrap();
        let start = [&MAGIC[..], &[FIRST_VERSION]].concat();
        let secret = secret(&fingerprint, None);
        seal(
            &secret,
            self.purpose,
            &start,
            Zeroizing::new(content.to_vec()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(opened: Opened) -> Option<Vec<u8>> {
        match opened {
            Opened::Content(content, false) => Some(content.to_vec()),
            _ => None,
        }
    }

    fn sealed(home: &DataDir, text: &[u8]) -> Vec<u8> {
        let content = Zeroizing::new(text.to_vec());
        let seal = Seal::new("p").seal(home, &home.lock().unwrap(), content);
        seal.unwrap()
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let whole = sealed(&home, b"content");
        let open = |purpose: &'static str, sealed: &[u8]| {
            content(Seal::new(purpose).open(&home, sealed).unwrap())
        };
        assert_eq!(open("p", &whole).unwrap(), b"content");
        assert!(open("q", &whole).is_none());
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open("p", &flipped).is_none(), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(open("p", &whole[..length]).is_none(), "cut at {length}");
        }
        let longer = [whole.as_slice(), b"x"].concat();
        assert!(open("p", &longer).is_none());
    }

    #[test]
    fn each_time_it_looks_different_and_nothing_of_the_content_shows() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let [first, second] = [(); 2].map(|()| sealed(&home, b"secret"));
        let header = MAGIC.len() + 1 + KEY_ID;
        assert_eq!(first.len(), header + SALT + NONCE + 6 + TAG);
        assert_eq!(first[..5], *b"PSTN\x02");
        assert_eq!(first[..header], second[..header]);
        assert_ne!(first[header..], second[header..]);
        assert!(!second.windows(6).any(|part| part == b"secret"));
    }
}

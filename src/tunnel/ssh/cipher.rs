//! The three ciphers, each of which encrypts a packet and proves it whole.

use ring::aead::chacha20_poly1305_openssh as chacha;
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::error::Error;
use super::names;

/// Bytes of every cipher's tag.
pub(super) const TAG: usize = 16;
/// Bytes of `packet_length`.
pub(super) const LENGTH: usize = 4;

/// A cipher, in both directions or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cipher {
    /// `aes128-gcm@openssh.com`
    Aes128Gcm,
    /// `aes256-gcm@openssh.com`
    Aes256Gcm,
    /// `chacha20-poly1305@openssh.com`
    Chacha20Poly1305,
}

impl Cipher {
    /// All of them, the fastest on this machine first.
    pub fn preferred() -> Vec<Self> {
        if has_aes() {
            vec![Self::Aes128Gcm, Self::Aes256Gcm, Self::Chacha20Poly1305]
        } else {
            vec![Self::Chacha20Poly1305, Self::Aes128Gcm, Self::Aes256Gcm]
        }
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => names::AES128_GCM,
            Self::Aes256Gcm => names::AES256_GCM,
            Self::Chacha20Poly1305 => names::CHACHA20_POLY1305,
        }
    }

    /// Bytes of key material (RFC 5647 §6.1; PROTOCOL.chacha20poly1305: two keys of 256 bits).
    pub(super) fn key_length(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm => 32,
            Self::Chacha20Poly1305 => 64,
        }
    }
}

/// True if AES and the carry-less multiplication that GCM needs are instructions here.
fn has_aes() -> bool {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    let has = std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    let has = false;
    has
}

/// Seals packets in one direction, in order.
pub(super) enum SealingKey {
    Gcm(Box<LessSafeKey>, Invocation),
    Chacha(chacha::SealingKey),
}

impl SealingKey {
    pub(super) fn new(cipher: Cipher, key: &[u8], iv: &[u8; 12]) -> Result<Self, Error> {
        Ok(match cipher {
            Cipher::Chacha20Poly1305 => Self::Chacha(chacha::SealingKey::new(pair(key)?)),
            _ => Self::Gcm(gcm(cipher, key)?, Invocation::new(iv)),
        })
    }

    /// Seals one packet in place: its length, its body, and room for the tag.
    pub(super) fn seal(&mut self, sequence: u32, packet: &mut [u8]) -> Result<(), Error> {
        let body_end = packet.len().checked_sub(TAG).ok_or(Error::Corrupt)?;
        let (body, tag) = packet.split_at_mut(body_end);
        let tag: &mut [u8; TAG] = tag.try_into().map_err(|_| Error::Corrupt)?;
        match self {
            Self::Chacha(key) => key.seal_in_place(sequence, body, tag),
            Self::Gcm(key, invocation) => {
                let (length, text) = body.split_first_chunk_mut().ok_or(Error::Corrupt)?;
                // RFC 5647 §7.3: the length is authenticated, and not encrypted.
                let aad: Aad<[u8; LENGTH]> = Aad::from(*length);
                let made = key.seal_in_place_separate_tag(invocation.next(), aad, text);
                tag.copy_from_slice(made.map_err(|_| Error::Corrupt)?.as_ref());
            }
        }
        Ok(())
    }
}

/// Opens packets of one direction, in order.
pub(super) enum OpeningKey {
    Gcm(Box<LessSafeKey>, Invocation),
    Chacha(chacha::OpeningKey),
}

impl OpeningKey {
    pub(super) fn new(cipher: Cipher, key: &[u8], iv: &[u8; 12]) -> Result<Self, Error> {
        Ok(match cipher {
            Cipher::Chacha20Poly1305 => Self::Chacha(chacha::OpeningKey::new(pair(key)?)),
            _ => Self::Gcm(gcm(cipher, key)?, Invocation::new(iv)),
        })
    }

    /// `packet_length`, which nobody vouches for before [`OpeningKey::open`].
    pub(super) fn length(&self, sequence: u32, bytes: [u8; LENGTH]) -> u32 {
        match self {
            Self::Chacha(key) => u32::from_be_bytes(key.decrypt_packet_length(sequence, bytes)),
            Self::Gcm(..) => u32::from_be_bytes(bytes),
        }
    }

    /// Checks one packet (length, body, tag) and decrypts its body in place.
    pub(super) fn open(&mut self, sequence: u32, packet: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::Chacha(key) => {
                let body_end = packet.len().checked_sub(TAG).ok_or(Error::Corrupt)?;
                let (body, tag) = packet.split_at_mut(body_end);
                let tag: &[u8; TAG] = (&*tag).try_into().map_err(|_| Error::Corrupt)?;
                key.open_in_place(sequence, body, tag)
                    .map_err(|_| Error::Corrupt)?;
            }
            Self::Gcm(key, invocation) => {
                let (length, text) = packet.split_first_chunk_mut().ok_or(Error::Corrupt)?;
                let aad: Aad<[u8; LENGTH]> = Aad::from(*length);
                key.open_in_place(invocation.next(), aad, text)
                    .map_err(|_| Error::Corrupt)?;
            }
        }
        Ok(())
    }

    /// Returns the block size that `packet_length` must be a multiple of (RFC 5647 §7.2; chacha: RFC 4253 §6).
    pub(super) fn block(&self) -> usize {
        match self {
            Self::Gcm(..) => 16,
            Self::Chacha(_) => 8,
        }
    }
}

fn gcm(cipher: Cipher, key: &[u8]) -> Result<Box<LessSafeKey>, Error> {
    let algorithm = match cipher {
        Cipher::Aes128Gcm => &AES_128_GCM,
        _ => &AES_256_GCM,
    };
    let key = UnboundKey::new(algorithm, key).map_err(|_| Error::BadKey)?;
    Ok(Box::new(LessSafeKey::new(key)))
}

fn pair(key: &[u8]) -> Result<&[u8; 64], Error> {
    key.try_into().map_err(|_| Error::BadKey)
}

/// The nonce of RFC 5647 §7.1: a fixed field and a counter, both begun by the key exchange.
pub(super) struct Invocation {
    fixed: [u8; 4],
    counter: u64,
}

impl Invocation {
    fn new(iv: &[u8; 12]) -> Self {
        let [a, b, c, d, counter @ ..] = *iv;
        Self {
            fixed: [a, b, c, d],
            counter: u64::from_be_bytes(counter),
        }
    }

    fn next(&mut self) -> Nonce {
        let [a, b, c, d] = self.fixed;
        let [e, f, g, h, i, j, k, l] = self.counter.to_be_bytes();
        self.counter = self.counter.wrapping_add(1);
        Nonce::assume_unique_for_key([a, b, c, d, e, f, g, h, i, j, k, l])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIPHERS: [Cipher; 3] = [
        Cipher::Aes128Gcm,
        Cipher::Aes256Gcm,
        Cipher::Chacha20Poly1305,
    ];

    fn packet() -> Vec<u8> {
        let mut packet = vec![0, 0, 0, 32];
        packet.extend(0..32);
        packet.resize(LENGTH + 32 + TAG, 0);
        packet
    }

    fn halves(cipher: Cipher) -> (SealingKey, OpeningKey) {
        let key = vec![7; cipher.key_length()];
        let seal = SealingKey::new(cipher, &key, &[0xff; 12]).unwrap();
        (seal, OpeningKey::new(cipher, &key, &[0xff; 12]).unwrap())
    }

    #[test]
    fn what_is_sealed_is_opened_across_the_counters_wrap() {
        for cipher in CIPHERS {
            let (mut seal, mut open) = halves(cipher);
            for sequence in [u32::MAX, 0, 1] {
                let mut bytes = packet();
                seal.seal(sequence, &mut bytes).unwrap();
                assert_ne!(bytes[LENGTH..36], packet()[LENGTH..36]);
                let length = open.length(sequence, bytes[..LENGTH].try_into().unwrap());
                assert_eq!(length, 32);
                open.open(sequence, &mut bytes).unwrap();
                assert_eq!(bytes[LENGTH..36], packet()[LENGTH..36]);
            }
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        for cipher in CIPHERS {
            for at in 0..packet().len() {
                let (mut seal, mut open) = halves(cipher);
                let mut bytes = packet();
                seal.seal(3, &mut bytes).unwrap();
                bytes[at] ^= 1;
                assert_eq!(open.open(3, &mut bytes), Err(Error::Corrupt));
            }
        }
    }

    #[test]
    fn a_repeated_or_skipped_packet_is_noticed() {
        for cipher in CIPHERS {
            let (mut seal, mut open) = halves(cipher);
            let mut first = packet();
            seal.seal(0, &mut first).unwrap();
            let mut again = first.clone();
            open.open(0, &mut first).unwrap();
            assert_eq!(open.open(1, &mut again), Err(Error::Corrupt));
        }
    }
}

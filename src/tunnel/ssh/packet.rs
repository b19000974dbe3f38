//! Packets (RFC 4253 §6): their frames, and the three ciphers, each of which encrypts a packet and proves it whole.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey,
    chacha20_poly1305_openssh as chacha,
};
use ring::rand::{SecureRandom, SystemRandom};

use super::error::Error;
use super::names;

/// Bytes of every cipher's tag.
pub(super) const TAG: usize = 16;
/// Bytes of `packet_length`.
pub(super) const LENGTH: usize = 4;

/// The least padding.
const LEAST_PADDING: usize = 4;
/// Multiple that a sealed packet's body has. It suits all three ciphers, so that a packet
/// framed before a re-key can be sealed after it.
const SEALED_BLOCK: usize = 16;
/// Multiple that a plain packet has, its length included.
const PLAIN_BLOCK: usize = 8;
/// Bytes that framing adds at most.
pub(super) const OVERHEAD: usize = LENGTH + 1 + LEAST_PADDING + SEALED_BLOCK + TAG;

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

/// Form of a packet: without keys, or to be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Sealed,
}

/// Frames packets; owns the padding's random bytes.
pub(super) struct Framer {
    pool: Box<[u8]>,
    at: usize,
}

impl Framer {
    /// Bytes drawn at once. Default 4 KiB: one system call for 200 packets.
    const POOL: usize = 4096;

    pub(super) fn new() -> Self {
        Self {
            pool: vec![0; Self::POOL].into_boxed_slice(),
            at: Self::POOL,
        }
    }

    /// Appends one packet whose payload is `parts` in turn.
    pub(super) fn frame(&mut self, out: &mut Vec<u8>, form: Form, parts: &[&[u8]]) {
        let payload: usize = parts.iter().map(|part| part.len()).sum();
        let padding = padding(form, payload);
        let length = u32::try_from(1 + payload + padding).expect("payloads are capped");
        out.reserve(LENGTH + 1 + payload + padding + TAG);
        out.extend_from_slice(&length.to_be_bytes());
        out.push(u8::try_from(padding).expect("padding is below two blocks"));
        for part in parts {
            out.extend_from_slice(part);
        }
        out.extend_from_slice(self.random(padding));
        if form == Form::Sealed {
            out.extend_from_slice(&[0; TAG]);
        }
    }

    /// Returns random padding (RFC 4253 §6). Nothing depends on it under these ciphers: if the system has no random
    /// bytes, old ones serve.
    fn random(&mut self, count: usize) -> &[u8] {
        if self.at + count > self.pool.len() {
            let _ = SystemRandom::new().fill(&mut self.pool);
            self.at = 0;
        }
        let start = self.at;
        self.at += count;
        self.pool
            .get(start..self.at)
            .expect("the pool holds any padding")
    }
}

fn padding(form: Form, payload: usize) -> usize {
    let (block, counted) = match form {
        Form::Plain => (PLAIN_BLOCK, LENGTH + 1 + payload),
        // The length field is not part of what is encrypted (RFC 5647 §7.2).
        Form::Sealed => (SEALED_BLOCK, 1 + payload),
    };
    LEAST_PADDING + (block - (counted + LEAST_PADDING) % block) % block
}

/// Splits the first packet, with its room for a tag, off a batch of packets that [`Framer::frame`] has appended.
pub(super) fn next_packet(batch: &mut [u8], form: Form) -> Result<(&mut [u8], &mut [u8]), Error> {
    let length = batch.first_chunk::<LENGTH>().ok_or(Error::Corrupt)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Error::Corrupt)?;
    let tag = if form == Form::Sealed { TAG } else { 0 };
    batch
        .split_at_mut_checked(LENGTH + length + tag)
        .ok_or(Error::Corrupt)
}

/// Range of the payload in an opened packet of `length`, counted from the packet's start.
pub(super) fn payload(packet: &[u8], length: usize) -> Result<std::ops::Range<usize>, Error> {
    let padding = usize::from(*packet.get(LENGTH).expect("of eight bytes at least"));
    if padding < LEAST_PADDING {
        return Err(Error::Protocol("a packet has too little padding"));
    }
    match length.checked_sub(1 + padding) {
        None | Some(0) => Err(Error::Protocol("a packet has no payload")),
        Some(payload) => Ok(LENGTH + 1..LENGTH + 1 + payload),
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

    #[test]
    fn every_payload_is_aligned_and_found_again() {
        let mut framer = Framer::new();
        for form in [Form::Plain, Form::Sealed] {
            for size in 1..200 {
                let mut out = Vec::new();
                let bytes: Vec<u8> = (0..size).collect();
                framer.frame(&mut out, form, &[&bytes[..1], &bytes[1..]]);
                let whole = out.len();
                let (packet, rest) = next_packet(&mut out, form).unwrap();
                assert!(rest.is_empty() && packet.len() == whole);
                let tag = if form == Form::Sealed { TAG } else { 0 };
                let length = packet.len() - LENGTH - tag;
                match form {
                    Form::Plain => assert_eq!((length + LENGTH) % PLAIN_BLOCK, 0),
                    Form::Sealed => assert_eq!(length % SEALED_BLOCK, 0),
                }
                assert!(whole <= bytes.len() + OVERHEAD && length >= 12);
                let found = payload(packet, length).unwrap();
                assert_eq!(packet[found], bytes);
            }
        }
    }

    #[test]
    fn padding_that_is_too_short_or_too_long_is_refused() {
        assert!(payload(&[0, 0, 0, 12, 3, 1, 2, 3], 12).is_err());
        assert!(payload(&[0, 0, 0, 12, 11, 1, 2, 3], 12).is_err());
        assert!(payload(&[0, 0, 0, 12, 255, 1, 2, 3], 12).is_err());
        assert_eq!(payload(&[0, 0, 0, 12, 10, 1, 2, 3], 12), Ok(5..6));
    }
}

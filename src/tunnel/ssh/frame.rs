//! Packets before they are sealed (RFC 4253 §6): length, padding, room for the tag.

use ring::rand::{SecureRandom, SystemRandom};

use super::cipher::{LENGTH, TAG};
use super::error::Error;

/// The least padding.
const LEAST_PADDING: usize = 4;
/// Multiple that a sealed packet's body has. It suits all three ciphers, so that a packet
/// framed before a re-key can be sealed after it.
const SEALED_BLOCK: usize = 16;
/// Multiple that a plain packet has, its length included.
const PLAIN_BLOCK: usize = 8;
/// Bytes that framing adds at most.
pub(super) const OVERHEAD: usize = LENGTH + 1 + LEAST_PADDING + SEALED_BLOCK + TAG;

/// How packets are framed: without keys, or to be sealed.
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

    /// RFC 4253 §6 wants random padding. Under these ciphers nothing depends on it: when the
    /// system has none to give, old bytes serve.
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

/// The packets of a batch, as [`Framer::frame`] has appended them, each with its room for a tag.
pub(super) fn next_packet(batch: &mut [u8], form: Form) -> Result<(&mut [u8], &mut [u8]), Error> {
    let length = batch.first_chunk::<LENGTH>().ok_or(Error::Corrupt)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Error::Corrupt)?;
    let tag = if form == Form::Sealed { TAG } else { 0 };
    batch
        .split_at_mut_checked(LENGTH + length + tag)
        .ok_or(Error::Corrupt)
}

/// Where the payload lies in an opened packet of `length`, counted from the packet's start.
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

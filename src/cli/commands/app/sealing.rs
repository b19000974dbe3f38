//! Secrets under a passphrase, in JSON: AES-256-GCM with a key of PBKDF2-HMAC-SHA-256 (RFC 8018).
//!
//! ```json
//! {"kdf": "PBKDF2-HMAC-SHA-256", "iterations": 600000, "salt": "…", "cipher": "AES-256-GCM", "nonce": "…", "data": "…"}
//! ```
//!
//! `salt` (16 bytes), `nonce` (12 bytes) and `data` (ciphertext, then 16 bytes of tag) are base64. The associated data is
//! the text [`PURPOSE`].

use std::num::NonZeroU32;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::pbkdf2;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::store::random;

/// Purpose of the file: content of another purpose cannot be opened as this one.
const PURPOSE: &[u8] = b"postern applications 1";
/// How often the passphrase is hashed. Default 600,000: half a second or so for each guess.
const ITERATIONS: u32 = 600_000;
/// More than this is no file of ours, and would take minutes.
const ITERATIONS_CAP: u32 = 10_000_000;
/// Names of what is used.
const KDF: &str = "PBKDF2-HMAC-SHA-256";
const CIPHER: &str = "AES-256-GCM";
/// Bytes of each.
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;

/// Seals a text.
pub(super) fn seal(passphrase: &str, mut content: Zeroizing<Vec<u8>>) -> Value {
    seal_with(passphrase, &mut content, ITERATIONS)
}

fn seal_with(passphrase: &str, content: &mut Zeroizing<Vec<u8>>, iterations: u32) -> Value {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let cipher = cipher(passphrase, &salt, iterations);
    let tag = cipher
        .encrypt_in_place_detached(&nonce.into(), PURPOSE, content)
        .expect("it is shorter than AES-GCM's 64 GiB");
    let data = [content.as_slice(), &tag].concat();
    json!({
        "kdf": KDF,
        "iterations": iterations,
        "salt": STANDARD.encode(salt),
        "cipher": CIPHER,
        "nonce": STANDARD.encode(nonce),
        "data": STANDARD.encode(data),
    })
}

/// Opens what [`seal`] made; the error is for the person.
pub(super) fn open(passphrase: &str, sealed: &Value) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let damaged = "the sealed part of the file is damaged";
    let text = |name: &str| sealed.get(name).and_then(Value::as_str);
    if text("kdf") != Some(KDF) || text("cipher") != Some(CIPHER) {
        return Err("the file uses an encryption format that this version does not know");
    }
    let bytes = |name: &str| STANDARD.decode(text(name)?).ok();
    let iterations = sealed.get("iterations").and_then(Value::as_u64);
    let iterations = iterations.and_then(|number| u32::try_from(number).ok());
    let iterations = iterations.filter(|number| (1..=ITERATIONS_CAP).contains(number));
    let parts = (bytes("salt"), bytes("nonce"), bytes("data"), iterations);
    let (Some(salt), Some(nonce), Some(data), Some(iterations)) = parts else {
        return Err(damaged);
    };
    let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| damaged)?;
    let (content, tag) = data.split_last_chunk::<TAG>().ok_or(damaged)?;
    let mut content = Zeroizing::new(content.to_vec());
    cipher(passphrase, &salt, iterations)
        .decrypt_in_place_detached(&nonce.into(), PURPOSE, &mut content, &(*tag).into())
        .map_err(|_| "wrong passphrase")?;
    Ok(content)
}

fn cipher(passphrase: &str, salt: &[u8], iterations: u32) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(
        algorithm,
        iterations,
        salt,
        passphrase.as_bytes(),
        &mut *key,
    );
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(&*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_passphrase_opens_it_and_nothing_else_may_change() {
        let mut content = Zeroizing::new(b"hunter2".to_vec());
        let sealed = seal_with("open sesame", &mut content, 3);
        assert!(!sealed.to_string().contains("hunter2"));
        assert_eq!(open("open sesame", &sealed).unwrap().as_slice(), b"hunter2");
        assert!(
            open("open sesam", &sealed)
                .unwrap_err()
                .contains("passphrase")
        );
        for (name, value) in [
            ("iterations", json!(2)),
            ("iterations", json!(0)),
            ("iterations", json!(99_999_999)),
            ("salt", json!("AAAA")),
            ("nonce", json!("AAAA")),
            ("data", json!("AAAA")),
            ("data", json!(7)),
            ("cipher", json!("none")),
        ] {
            let mut other = sealed.clone();
            other[name] = value;
            assert!(open("open sesame", &other).is_err(), "{other}");
        }
    }
}

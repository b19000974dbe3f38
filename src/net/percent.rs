//! Percent-encoding (RFC 3986 §2.1).

use zeroize::Zeroizing;

/// The bytes of a text; what is decoded may be a password's. `None` where two hexadecimal digits do not follow a `%`.
pub(crate) fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high << 4 | low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

/// All but the unreserved characters (RFC 3986 §2.3) as `%XX`.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        let text = "a b/ä%?&=+~\0";
        assert_eq!(encode(text), "a%20b%2F%C3%A4%25%3F%26%3D%2B~%00");
        assert_eq!(decode(&encode(text)).unwrap().as_slice(), text.as_bytes());
    }

    #[test]
    fn a_stray_percent_sign_is_no_text() {
        for text in ["%", "a%2", "%g0", "%0g", "%+1", "%é0"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode("%ff+").unwrap().as_slice(), b"\xff+");
    }
}

//! JSON that is wiped from memory after use.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

/// Size that most secrets need, in bytes; more is moved to a larger buffer and the old one wiped.
const FIRST: usize = 1024;

/// The JSON of `value`; no copy of any part of it is left behind.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut buffer = ZeroizingBuffer(Zeroizing::new(Vec::with_capacity(FIRST)));
    serde_json::to_writer(&mut buffer, value)?;
    Ok(buffer.0)
}

/// The typed form of `value`. Every type is read from text alone: a second kind of source costs 1 % of the executable.
pub(crate) fn from_json<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    serde_json::from_slice(&to_json(value)?)
}

/// Formats it in lines, for files.
pub(super) fn to_pretty_json(value: &impl Serialize) -> serde_json::Result<Zeroizing<Vec<u8>>> {
    let mut buffer = ZeroizingBuffer(Zeroizing::new(Vec::with_capacity(FIRST)));
    serde_json::to_writer_pretty(&mut buffer, value)?;
    Ok(buffer.0)
}

/// A buffer that wipes what it outgrows; a `Vec` gives its old memory back as it is.
struct ZeroizingBuffer(Zeroizing<Vec<u8>>);

impl io::Write for ZeroizingBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(needed * 2));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_ordinary_json_of_any_length() {
        let value = vec!["\u{e4}\"\n".repeat(300); 20];
        let json = super::to_json(&value).unwrap();
        assert_eq!(*json, serde_json::to_vec(&value).unwrap());
    }
}

//! The password of the store's account.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use zeroize::Zeroizing;

/// Bytes of a file with a password, at most.
const CAP: u64 = 4096;

/// The password of the store's account.
#[derive(Clone)]
pub enum StorePassword {
    /// As it was given; empty for an account without one.
    Given(Zeroizing<String>),
    /// Content of this file when it is needed: so it can be another one while a relay runs.
    File(PathBuf),
}

impl StorePassword {
    /// As it is now; of a file without the end of its line.
    pub fn read(&self) -> io::Result<Zeroizing<String>> {
        let path = match self {
            Self::Given(password) => return Ok(password.clone()),
            Self::File(path) => path,
        };
        let mut read = Zeroizing::new(String::new());
        File::open(path)?.take(CAP).read_to_string(&mut read)?;
        let password = read.strip_suffix('\n').unwrap_or(&read);
        let password = password.strip_suffix('\r').unwrap_or(password);
        Ok(Zeroizing::new(password.to_owned()))
    }
}

impl fmt::Debug for StorePassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StorePassword(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_each_time_without_the_end_of_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let password = StorePassword::File(path.clone());
        assert!(password.read().is_err());
        for (content, expected) in [
            ("one\n", "one"),
            ("two\r\n", "two"),
            (" three \n\n", " three \n"),
        ] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(*password.read().unwrap(), expected);
        }
        assert!(!format!("{password:?}").contains("three"));
    }
}

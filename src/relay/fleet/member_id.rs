//! The name of a relay within its fleet: random, and kept in its directory, which is marked by that.

use crate::store::random::{bytes, hex};
use crate::store::{DataDir, Error};

/// Its file.
const FILE: &str = "fleet.id";
/// Bytes of it, at most.
const CAP: u64 = 64;

/// True if the directory is that of a relay of a fleet, whose state is in the store.
pub(in crate::relay) fn is_member(home: &DataDir) -> bool {
    // Reading the directory reports what cannot be looked at.
    home.dir().join(FILE).try_exists().unwrap_or(false)
}

/// 16 hexadecimal digits, made where there are none.
pub(super) fn of(home: &DataDir) -> Result<String, Error> {
    let locked = home.lock()?;
    let kept = home.read(FILE, CAP)?.unwrap_or_default();
    let kept = String::from_utf8(kept).unwrap_or_default();
    let kept = kept.trim();
    if kept.len() == 16 && kept.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(kept.to_ascii_lowercase());
    }
    let made = hex(&bytes::<8>());
    locked.write(FILE, format!("{made}\n").as_bytes())?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_what_it_is_and_marks_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        assert!(!is_member(&home));
        let made = of(&home).unwrap();
        assert!(is_member(&home));
        assert_eq!(of(&home).unwrap(), made);
        std::fs::write(dir.path().join(FILE), "damaged").unwrap();
        assert_ne!(of(&home).unwrap(), made);
    }
}

//! A guest's account on the database server: its name, which contains its end, and its password.

use std::time::{Duration, SystemTime};

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use zeroize::Zeroizing;

use crate::store::random;
use crate::store::time::since_epoch;

/// Prefix of the names of all accounts.
pub(super) const PREFIX: &str = "postern_";

/// Digits of the expiry in a name, in seconds since 1970: enough until the year 2286.
const EXPIRY_DIGITS: usize = 10;

/// Number of random characters of a name, 64 bits. A name has 32 characters, the most that MySQL accepts.
const TAIL: usize = 13;

/// Letters of passwords, without vowels, so that no password contains a word.
const LOWER: &[u8] = b"bcdfghjkmnpqrstvwxz";

/// Characters of names, in lower case only, since some systems ignore case.
const OF_NAMES: &[u8] = b"abcdefghjkmnpqrstvwxyz0123456789";

/// A guest's account on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) host: String,
    /// The database of its views, if only columns are shared.
    pub(super) views: Option<String>,
}

impl Account {
    /// `'NAME'@'HOST'`.
    pub(super) fn quoted(&self) -> String {
        format!("{}@{}", text(&self.name), text(&self.host))
    }
}

/// True if accounts may be created with this host part: a plain host without wildcards or quotes.
pub(super) fn is_plain_host(host: &str) -> bool {
    !host.is_empty()
        && !host.contains(['\'', '\\', '"', '`', '%'])
        && !host.contains(char::is_control)
}

/// Quotes a text without backslashes, in any mode of the session.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A new name: `postern_`, its end, and random characters.
pub(super) fn new_name(expires: SystemTime) -> String {
    let seconds = since_epoch(expires).as_secs();
    let tail: String = drawn::<TAIL>(OF_NAMES);
    format!("{PREFIX}{seconds:0EXPIRY_DIGITS$}_{tail}")
}

/// End of the account of that name; `None` if the name was not made by [`new_name`].
pub(super) fn expiry(name: &str) -> Option<SystemTime> {
    let (digits, tail) = name.strip_prefix(PREFIX)?.split_once('_')?;
    let is_ours = digits.len() == EXPIRY_DIGITS
        && tail.len() == TAIL
        && tail.bytes().all(|byte| OF_NAMES.contains(&byte));
    let seconds = digits.parse().ok().filter(|_| is_ours)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

/// A new password of 48 characters, more than 190 random bits: letters of both cases, digits and marks, for the usual
/// policies, and none that has a meaning in SQL.
pub(super) fn new_password() -> Zeroizing<String> {
    let lower = Zeroizing::new(drawn::<20>(LOWER));
    let upper = Zeroizing::new(drawn::<20>(LOWER).to_uppercase());
    let digits = Zeroizing::new(drawn::<6>(b"0123456789"));
    Zeroizing::new(format!("{}-{}.{}", *upper, *digits, *lower))
}

/// Hash of `mysql_native_password`: `*` and SHA-1 of SHA-1 in hexadecimal. Our passwords have too many random bits to
/// be found from it.
pub(super) fn native_hash(password: &str) -> String {
    let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    let twice = sha1(sha1(password.as_bytes()).as_ref());
    format!("*{}", random::hex(twice.as_ref()).to_uppercase())
}

/// Random characters of `alphabet`, nearly equally likely.
fn drawn<const N: usize>(alphabet: &[u8]) -> String {
    let one = |byte: u8| {
        let at = usize::from(byte).checked_rem(alphabet.len());
        let found = at.and_then(|at| alphabet.get(at));
        char::from(*found.expect("the alphabet is not empty"))
    };
    random::bytes::<N>().into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_when_it_ends_and_fits() {
        let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let name = new_name(expires);
        assert_eq!(name.len(), 32, "{name}");
        assert!(name.starts_with("postern_1800000000_"));
        assert_eq!(expiry(&name), Some(expires));
        assert_ne!(name, new_name(expires));
        assert_eq!(new_name(SystemTime::UNIX_EPOCH).len(), 32);
        for other in [
            "postern",
            "postern_1800000000",
            "postern_1800000000_x",
            "postern_app",
            "postern_18000000_0123456789012",
            "postern_1800000000_012345678901!",
        ] {
            assert_eq!(expiry(other), None, "{other}");
        }
    }

    #[test]
    fn a_password_has_some_of_each_kind() {
        let password = new_password();
        let has = |is: fn(&char) -> bool| password.chars().filter(is).count() >= 2;
        assert_eq!(password.len(), 48);
        assert!(has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase));
        assert!(has(char::is_ascii_digit) && has(char::is_ascii_punctuation));
        assert!(!password.contains(['\'', '"', '\\', '`']));
        assert_ne!(*password, *new_password());
    }

    #[test]
    fn a_hash_is_what_the_server_makes_of_it() {
        assert_eq!(
            native_hash("password"),
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
            "SELECT PASSWORD('password')"
        );
    }

    #[test]
    fn an_account_is_quoted() {
        let account = Account {
            name: "postern_1".into(),
            host: "it's".into(),
            views: None,
        };
        assert_eq!(account.quoted(), "'postern_1'@'it''s'");
    }
}

//! The server's brand, version and modes, as far as they change the meaning of a text.

/// Assumptions of the gate about the connection; layer 3 makes them true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// True for MariaDB, false for MySQL and servers that call themselves MySQL.
    pub mariadb: bool,
    /// Major, minor and patch of the server.
    pub version: (u16, u16, u16),
    /// True under `ANSI_QUOTES`: `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// True under `NO_BACKSLASH_ESCAPES`: a backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// True under `IGNORE_SPACE`: a space may be between `COUNT` and its parenthesis.
    pub ignore_space: bool,
}

impl Dialect {
    /// MariaDB of that version, with the pinned `sql_mode`.
    pub const fn mariadb(version: (u16, u16, u16)) -> Self {
        Self {
            mariadb: true,
            version,
            ansi_quotes: false,
            no_backslash_escapes: false,
            ignore_space: false,
        }
    }

    /// MySQL of that version, with the pinned `sql_mode`.
    pub const fn mysql(version: (u16, u16, u16)) -> Self {
        let mut dialect = Self::mariadb(version);
        dialect.mariadb = false;
        dialect
    }

    /// Reads the text of `VERSION()`: `10.11.6-MariaDB-log`, `8.0.36`, or `5.5.5-10.3.1-MariaDB` from the greeting of
    /// old MariaDB servers. `None` if it has no version number.
    pub fn from_server_version(text: &str) -> Option<Self> {
        let mariadb = contains_ignoring_case(text, "mariadb");
        let number = if mariadb {
            text.strip_prefix("5.5.5-").unwrap_or(text)
        } else {
            text
        };
        let mut parts = number.splitn(3, '.').map(leading_number);
        let version = (
            parts.next()??,
            parts.next()??,
            parts.next().flatten().unwrap_or(0),
        );
        Some(if mariadb {
            Self::mariadb(version)
        } else {
            Self::mysql(version)
        })
    }
}

fn leading_number(text: &str) -> Option<u16> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..digits)?.parse().ok()
}

/// True if `text` contains the ASCII `word` in any case.
pub(super) fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes()
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_versions() {
        let read = Dialect::from_server_version;
        assert_eq!(
            read("10.11.6-MariaDB-log"),
            Some(Dialect::mariadb((10, 11, 6)))
        );
        assert_eq!(
            read("5.5.5-10.3.1-MariaDB"),
            Some(Dialect::mariadb((10, 3, 1)))
        );
        assert_eq!(read("8.0.36"), Some(Dialect::mysql((8, 0, 36))));
        assert_eq!(
            read("8.0.36-0ubuntu0.22.04.1"),
            Some(Dialect::mysql((8, 0, 36)))
        );
        assert_eq!(read("10.6-MariaDB"), Some(Dialect::mariadb((10, 6, 0))));
        assert_eq!(read("nonsense"), None);
        assert_eq!(read(""), None);
    }
}

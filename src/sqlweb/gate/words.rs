//! Lists of words, sorted, in upper case, each with the reason it is a list.

use std::cmp::Ordering;

/// True if a sorted list of upper-case words holds `word`, whatever its case.
pub(super) fn contains(list: &[&str], word: &str) -> bool {
    list.binary_search_by(|entry| compare(entry, word)).is_ok()
}

/// `word` as that list has it.
pub(super) fn find(list: &[&'static str], word: &str) -> Option<&'static str> {
    let at = list.binary_search_by(|entry| compare(entry, word)).ok()?;
    list.get(at).copied()
}

fn compare(entry: &str, word: &str) -> Ordering {
    entry
        .bytes()
        .cmp(word.bytes().map(|b| b.to_ascii_uppercase()))
}

/// Reserved on MySQL and MariaDB alike, so never an unquoted name, and never part of a
/// query that only reads. `INSERT` and `REPLACE` are functions before a parenthesis.
#[rustfmt::skip]
pub(super) const DENIED: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CHANGE", "CREATE", "DELETE", "DROP", "GRANT", "INFILE", "INSERT",
    "INTO", "KILL", "LOAD", "LOCK", "OPTIMIZE", "OUTFILE", "PROCEDURE", "PURGE", "RELEASE",
    "RENAME", "REPLACE", "RESIGNAL", "REVOKE", "SIGNAL", "TRIGGER", "UNLOCK", "UPDATE",
];

/// Options of `SELECT`, which stand between that word and the first column.
#[rustfmt::skip]
pub(super) const SELECT_OPTIONS: &[&str] = &[
    "ALL", "DISTINCT", "DISTINCTROW", "HIGH_PRIORITY", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS", "SQL_NO_CACHE", "SQL_SMALL_RESULT", "STRAIGHT_JOIN", "UNIQUE",
];

/// Operators that are words and bind more than `AND`.
#[rustfmt::skip]
pub(super) const OPERATORS: &[&str] = &[
    "BINARY", "COLLATE", "DIV", "ESCAPE", "IN", "INTERVAL", "IS", "LIKE", "MEMBER", "MOD", "NOT", "REGEXP", "RLIKE",
    "SOUNDS",
];

/// Reserved words between two expressions, none of which stands in one other than in parentheses.
#[rustfmt::skip]
pub(super) const CLAUSES: &[&str] = &[
    "AS", "BY", "HAVING", "JOIN", "LIMIT", "ON", "SELECT", "UNION", "WHERE",
];

/// Words that may stand before a parenthesis and are reserved on MySQL and MariaDB alike, so never an unquoted name.
#[rustfmt::skip]
pub(super) const RESERVED: &[&str] = &[
    "ALL", "AND", "AS", "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOTH", "BY", "CASE", "CHARACTER", "DAY_SECOND", "DEC", "DECIMAL",
    "DISTINCT", "DISTINCTROW", "DIV", "DOUBLE", "ELSE", "EXISTS", "FLOAT", "FOR", "FROM", "GROUP", "HAVING",
    "HIGH_PRIORITY", "IN", "INDEX", "INT", "INTEGER", "JOIN", "KEY", "LEADING", "LIKE", "LIMIT", "MEDIUMINT", "NOT",
    "NUMERIC", "ON", "OR", "PARTITION", "REAL", "REGEXP", "RLIKE", "SELECT", "SMALLINT", "STRAIGHT_JOIN", "THEN",
    "TINYINT", "TRAILING", "UNION", "UNIQUE", "UNSIGNED", "USING", "VALUES", "VARBINARY", "VARCHAR", "WHEN", "WHERE", "XOR",
];

/// Tables of `information_schema` that set the server's counters to zero when they are read.
#[rustfmt::skip]
pub(super) const RESETTING: &[&str] = &[
    "INNODB_CMPMEM_RESET", "INNODB_CMP_PER_INDEX_RESET", "INNODB_CMP_RESET",
];

/// True if a server could take `name`, unquoted, for one of [`RESETTING`]. Servers compare names by rules of their own
/// for letters beyond ASCII, so such a letter counts as any, and space at the end as nothing.
pub(super) fn resets(name: &str) -> bool {
    let name = name.trim_end();
    RESETTING.iter().any(|table| {
        let same = |(a, b): (char, char)| !a.is_ascii() || a.eq_ignore_ascii_case(&b);
        name.chars().count() == table.len() && name.chars().zip(table.chars()).all(same)
    })
}

/// Words that may follow `SHOW`.
#[rustfmt::skip]
pub(super) const SHOWN: &[&str] = &[
    "ALL", "ANALYZE", "AUTHORS", "BINARY", "BINLOG", "CHAR", "CHARACTER", "CHARSET", "CLIENT_STATISTICS", "COLLATION",
    "COLUMNS", "CONTRIBUTORS", "COUNT", "CREATE", "DATABASES", "ENGINE", "ENGINES", "ERRORS",
    "EVENTS", "EXPLAIN", "EXTENDED", "FIELDS", "FULL", "FUNCTION", "GLOBAL", "GRANTS", "INDEX",
    "INDEXES", "INDEX_STATISTICS", "KEYS", "LIBRARY", "LOCAL", "LOCALES", "MASTER", "METADATA_LOCK_INFO",
    "OPEN", "PACKAGE", "PLUGINS", "PRIVILEGES", "PROCEDURE", "PROCESSLIST", "PROFILE", "PROFILES",
    "QUERY_CACHE_INFO", "QUERY_RESPONSE_TIME", "RELAYLOG", "REPLICA", "REPLICAS", "SCHEMAS",
    "SESSION", "SLAVE", "SLAVES", "STATUS", "STORAGE", "TABLE", "TABLES", "TABLE_STATISTICS",
    "TRIGGERS", "USER_STATISTICS", "USER_VARIABLES", "VARIABLES", "WARNINGS", "WSREP_MEMBERSHIP",
    "WSREP_STATUS",
];

/// Words that may follow `SHOW CREATE`.
#[rustfmt::skip]
pub(super) const SHOWN_CREATE: &[&str] = &[
    "DATABASE", "EVENT", "FUNCTION", "LIBRARY", "PACKAGE", "PROCEDURE", "SCHEMA", "SEQUENCE",
    "SERVER", "TABLE", "TRIGGER", "USER", "VIEW",
];

/// The name inside quotes, doubled quotes made single.
pub(super) fn unquoted(text: &str) -> String {
    let quote = text.chars().next().filter(|c| matches!(c, '`' | '"'));
    let Some(quote) = quote else {
        return text.into();
    };
    let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    inner
        .expect("a quoted name ends with the quote it begins with")
        .replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// Assumptions of the lexer about the connection; layer 3 makes them true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// MariaDB, else MySQL (and what calls itself MySQL).
    pub mariadb: bool,
    /// Major, minor and patch of the server.
    pub version: (u16, u16, u16),
    /// `ANSI_QUOTES`: `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is a backslash.
    pub no_backslash_escapes: bool,
    /// `IGNORE_SPACE`: a space may stand between `COUNT` and its parenthesis.
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

    /// Reads the text of `VERSION()`: `10.11.6-MariaDB-log`, `8.0.36`, and
    /// `5.5.5-10.3.1-MariaDB` as old MariaDB servers greet. `None` where it has
    /// no version number.
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

/// True if `text` holds the ASCII `word`, whatever its case.
pub(super) fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes()
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [
            DENIED,
            SHOWN,
            SHOWN_CREATE,
            SELECT_OPTIONS,
            OPERATORS,
            CLAUSES,
            RESERVED,
            RESETTING,
        ] {
            assert!(list.is_sorted(), "{list:?}");
        }
        assert!(contains(DENIED, "dElete"));
        assert!(!contains(DENIED, "deleted"));
    }

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

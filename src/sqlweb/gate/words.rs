//! Lists of words, sorted, in upper case, each with the reason it is a list.

use std::cmp::Ordering;

/// Whether a sorted list of upper-case words holds `word`, whatever its case.
pub(super) fn contains(list: &[&str], word: &str) -> bool {
    list.binary_search_by(|entry| compare(entry, word)).is_ok()
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

/// What `SHOW` may be followed by.
#[rustfmt::skip]
pub(super) const SHOWN: &[&str] = &[
    "ALL", "AUTHORS", "BINARY", "BINLOG", "CHARACTER", "CHARSET", "CLIENT_STATISTICS", "COLLATION",
    "COLUMNS", "CONTRIBUTORS", "COUNT", "CREATE", "DATABASES", "ENGINE", "ENGINES", "ERRORS",
    "EVENTS", "EXPLAIN", "EXTENDED", "FIELDS", "FULL", "FUNCTION", "GLOBAL", "GRANTS", "INDEX",
    "INDEXES", "INDEX_STATISTICS", "KEYS", "LOCAL", "LOCALES", "MASTER", "METADATA_LOCK_INFO",
    "OPEN", "PACKAGE", "PLUGINS", "PRIVILEGES", "PROCEDURE", "PROCESSLIST", "PROFILE", "PROFILES",
    "QUERY_CACHE_INFO", "QUERY_RESPONSE_TIME", "RELAYLOG", "REPLICA", "REPLICAS", "SCHEMAS",
    "SESSION", "SLAVE", "SLAVES", "STATUS", "STORAGE", "TABLE", "TABLES", "TABLE_STATISTICS",
    "TRIGGERS", "USER_STATISTICS", "USER_VARIABLES", "VARIABLES", "WARNINGS", "WSREP_MEMBERSHIP",
    "WSREP_STATUS",
];

/// What `SHOW CREATE` may be followed by.
#[rustfmt::skip]
pub(super) const SHOWN_CREATE: &[&str] = &[
    "DATABASE", "EVENT", "FUNCTION", "LIBRARY", "PACKAGE", "PROCEDURE", "SCHEMA", "SEQUENCE",
    "SERVER", "TABLE", "TRIGGER", "USER", "VIEW",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [DENIED, SHOWN, SHOWN_CREATE] {
            assert!(list.is_sorted(), "{list:?}");
        }
        assert!(contains(DENIED, "dElete"));
        assert!(!contains(DENIED, "deleted"));
    }
}

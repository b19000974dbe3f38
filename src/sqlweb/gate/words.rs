//! Sorted lists of words in upper case, each with its reason, and the search in them.

use std::cmp::Ordering;

/// True if a sorted list of upper-case words contains `word` in any case.
pub(super) fn contains(list: &[&str], word: &str) -> bool {
    list.binary_search_by(|entry| compare(entry, word)).is_ok()
}

/// The entry of the list for `word`.
pub(super) fn find(list: &[&'static str], word: &str) -> Option<&'static str> {
    let at = list.binary_search_by(|entry| compare(entry, word)).ok()?;
    list.get(at).copied()
}

fn compare(entry: &str, word: &str) -> Ordering {
    entry
        .bytes()
        .cmp(word.bytes().map(|b| b.to_ascii_uppercase()))
}

/// Words that are reserved on both MySQL and MariaDB, so never an unquoted name, and never part of a query that only
/// reads. `INSERT` and `REPLACE` are functions before a parenthesis.
#[rustfmt::skip]
pub(super) const DENIED: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CHANGE", "CREATE", "DELETE", "DROP", "GRANT", "INFILE", "INSERT",
    "INTO", "KILL", "LOAD", "LOCK", "OPTIMIZE", "OUTFILE", "PROCEDURE", "PURGE", "RELEASE",
    "RENAME", "REPLACE", "RESIGNAL", "REVOKE", "SIGNAL", "TRIGGER", "UNLOCK", "UPDATE",
];

/// Options of `SELECT`, between that word and the first column.
#[rustfmt::skip]
pub(super) const SELECT_OPTIONS: &[&str] = &[
    "ALL", "DISTINCT", "DISTINCTROW", "HIGH_PRIORITY", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS", "SQL_NO_CACHE", "SQL_SMALL_RESULT", "STRAIGHT_JOIN", "UNIQUE",
];

/// Operators that are words and bind more strongly than `AND`.
#[rustfmt::skip]
pub(super) const OPERATORS: &[&str] = &[
    "BINARY", "COLLATE", "DIV", "ESCAPE", "IN", "INTERVAL", "IS", "LIKE", "MEMBER", "MOD", "NOT", "REGEXP", "RLIKE",
    "SOUNDS",
];

/// Reserved words between two expressions; within an expression they occur only in parentheses.
#[rustfmt::skip]
pub(super) const CLAUSES: &[&str] = &[
    "AS", "BY", "HAVING", "JOIN", "LIMIT", "ON", "SELECT", "UNION", "WHERE",
];

/// Words that may precede a parenthesis and are reserved on both MySQL and MariaDB, so never an unquoted name.
#[rustfmt::skip]
pub(super) const RESERVED: &[&str] = &[
    "ALL", "AND", "AS", "BETWEEN", "BIGINT", "BINARY", "BLOB", "BOTH", "BY", "CASE", "CHARACTER", "DAY_SECOND", "DEC", "DECIMAL",
    "DISTINCT", "DISTINCTROW", "DIV", "DOUBLE", "ELSE", "EXISTS", "FLOAT", "FOR", "FROM", "GROUP", "HAVING",
    "HIGH_PRIORITY", "IN", "INDEX", "INT", "INTEGER", "JOIN", "KEY", "LEADING", "LIKE", "LIMIT", "MEDIUMINT", "NOT",
    "NUMERIC", "ON", "OR", "PARTITION", "REAL", "REGEXP", "RLIKE", "SELECT", "SMALLINT", "STRAIGHT_JOIN", "THEN",
    "TINYINT", "TRAILING", "UNION", "UNIQUE", "UNSIGNED", "USING", "VALUES", "VARBINARY", "VARCHAR", "WHEN", "WHERE", "XOR",
];

/// Tables of `information_schema` that reset the server's counters when they are read.
#[rustfmt::skip]
pub(super) const RESETTING: &[&str] = &[
    "INNODB_CMPMEM_RESET", "INNODB_CMP_PER_INDEX_RESET", "INNODB_CMP_RESET",
];

/// True if a server could take the unquoted `name` for one of [`RESETTING`]. Servers have their own rules for letters
/// beyond ASCII, so such a letter equals any other; trailing space is ignored.
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

/// Removes the quotes of a name, with doubled ones made single.
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
}

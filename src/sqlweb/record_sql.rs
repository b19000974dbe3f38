//! Log text of a statement: its first verb, and its text without passwords.

/// Bytes of a text that are kept.
const LONGEST: usize = 8 * 1024;

/// Replacement for a possible password.
const MASK: &str = "***";

/// Verbs that are named, and the one for dumps; any other first word may be the visitor's own.
#[rustfmt::skip]
const VERBS: [&str; 59] = [
    "ALTER", "ANALYZE", "BEGIN", "BINLOG", "CACHE", "CALL", "CHANGE", "CHECK", "CHECKSUM", "CLONE", "COMMIT", "CREATE",
    "DEALLOCATE", "DELETE", "DESC", "DESCRIBE", "DO", "DROP", "DUMP", "EXECUTE", "EXPLAIN", "FLUSH", "GET", "GRANT", "HANDLER",
    "HELP", "IMPORT", "INSERT", "INSTALL", "KILL", "LOAD", "LOCK", "OPTIMIZE", "PREPARE", "PURGE", "RELEASE", "RENAME",
    "REPAIR", "REPLACE", "RESET", "RESTART", "REVOKE", "ROLLBACK", "SAVEPOINT", "SELECT", "SET", "SHOW", "SHUTDOWN",
    "SIGNAL", "START", "STOP", "TABLE", "TRUNCATE", "UNINSTALL", "UNLOCK", "UPDATE", "USE", "VALUES", "WITH",
];

/// Words, in any case, that make a text sensitive, so that nothing in quotes is shown: of accounts, servers,
/// replication and keys, and names of columns and variables.
#[rustfmt::skip]
const SENSITIVE: [&str; 18] = [
    "pass", "pwd", "ident", "secret", "credential", "token", "crypt", "api_key", "apikey", "server", "master",
    "replica", "slave", "source", "connection", "_user", "user ", "grant",
];

/// Words that may be in the place of a password.
#[rustfmt::skip]
const BESIDE_PASSWORD: [&str; 8] = ["PASSWORD", "OLD_PASSWORD", "RANDOM", "NULL", "DEFAULT", "FOR", "TO", "EXPIRE"];

/// The first verb; `OTHER` if it is not a known one.
pub(super) fn kind(sql: &str) -> &'static str {
    let word = first_word(sql);
    let is = |verb: &&&str| verb.eq_ignore_ascii_case(word);
    VERBS.iter().find(is).copied().unwrap_or("OTHER")
}

/// The first word behind blanks, comments and opening parentheses.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | ';'));
        let after = if let Some(comment) = rest.strip_prefix("/*") {
            // Executable comments are run by servers.
            if comment.starts_with(['!', 'M']) {
                rest = comment
                    .trim_start_matches(|c: char| c == '!' || c == 'M' || c.is_ascii_digit());
                continue;
            }
            comment.split_once("*/").map(|(_, after)| after)
        } else if rest.starts_with('#') || rest.starts_with("--") {
            rest.split_once('\n').map(|(_, after)| after)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic());
            return end.and_then(|end| rest.get(..end)).unwrap_or(rest);
        };
        rest = after.unwrap_or_default();
    }
}

/// The text for a log: possible passwords are masked, and a long text is cut with a note.
pub(super) fn text(sql: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let is_sensitive = SENSITIVE.iter().any(|word| lower.contains(word));
    let shown = if is_sensitive {
        masked(sql)
    } else {
        without_passwords_in_urls(sql)
    };
    let end = shown.floor_char_boundary(LONGEST);
    match shown.split_at_checked(end) {
        Some((kept, rest)) if !rest.is_empty() => {
            format!("{kept}… ({} more bytes)", rest.len())
        }
        _ => shown,
    }
}

/// Masks everything in quotes and hexadecimal texts. If the quotes depend on a server's mode or on comments, or are not
/// balanced, everything from the first one on is masked.
fn masked(sql: &str) -> String {
    let is_ambiguous = ["\\", "#", "--", "/*", "`"]
        .iter()
        .any(|sign| sql.contains(sign));
    let plain = if is_ambiguous {
        None
    } else {
        each_quoted_masked(sql)
    };
    let quoted = plain.unwrap_or_else(|| from_first_quote_masked(sql));
    without_hexadecimals(&without_bare_passwords(&quoted))
}

fn from_first_quote_masked(sql: &str) -> String {
    match sql.split_once(['\'', '"']) {
        Some((before, _)) => format!("{before}'{MASK}'"),
        None => sql.to_owned(),
    }
}

/// Masks each quoted text; `None` if one is not closed, or continues behind its end as in `'it's x'`.
fn each_quoted_masked(sql: &str) -> Option<String> {
    let (mut shown, mut open, mut has_ended) = (String::new(), None, false);
    for c in sql.chars() {
        if has_ended && c.is_alphanumeric() {
            return None;
        }
        has_ended = open == Some(c);
        match open {
            None if c == '\'' || c == '"' => {
                open = Some(c);
                shown.push(c);
                shown.push_str(MASK);
            }
            None => shown.push(c),
            Some(_) if has_ended => {
                open = None;
                shown.push(c);
            }
            Some(_) => {}
        }
    }
    open.is_none().then_some(shown)
}

/// Masks a password without quotes, and everything behind it.
fn without_bare_passwords(sql: &str) -> String {
    let (mut before, mut previous) = (String::new(), String::new());
    let is_quoted = |rest: &str| rest.starts_with(['\'', '"']);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut at = 0;
    while let Some(rest) = sql.get(at..).filter(|rest| !rest.is_empty()) {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_ascii_uppercase();
        let is_bare = match rest.chars().next() {
            Some('`' | '\u{2018}' | '\u{201c}') => true,
            // `0x41`, `x'41'`, `_utf8mb4'a'`
            Some(_) if word.starts_with("0X") || rest.get(end..).is_some_and(is_quoted) => false,
            Some(_) => !word.is_empty() && !BESIDE_PASSWORD.contains(&word.as_str()),
            None => false,
        };
        if is_bare && is_before_password(&before, &previous) {
            return format!("{}'{MASK}'", sql.get(..at).unwrap_or_default());
        }
        let step = end.max(rest.chars().next().map_or(1, char::len_utf8));
        let sign = rest.get(..step).unwrap_or_default().trim();
        if !sign.is_empty() {
            before = std::mem::replace(&mut previous, sign.to_ascii_uppercase());
        }
        at += step;
    }
    sql.to_owned()
}

/// True if a password follows these two words or signs.
fn is_before_password(before: &str, previous: &str) -> bool {
    (previous == "BY" && before.starts_with("IDENT"))
        || (previous == "=" && before.ends_with("PASSWORD"))
        || (previous == "PASSWORD" && before == "SET")
}

fn without_hexadecimals(sql: &str) -> String {
    let (mut shown, mut rest) = (String::new(), sql);
    while let Some(at) = rest.find("0x").or_else(|| rest.find("0X")) {
        let (before, from) = rest.split_at(at);
        let digits = from.get(2..).unwrap_or_default();
        let end = digits.find(|c: char| !c.is_ascii_hexdigit());
        shown.push_str(before);
        shown.push_str("0x");
        shown.push_str(MASK);
        rest = end.and_then(|end| digits.get(end..)).unwrap_or_default();
    }
    shown + rest
}

/// Masks the account in `scheme://user:password@host`.
fn without_passwords_in_urls(sql: &str) -> String {
    let (mut shown, mut rest) = (String::new(), sql);
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '?'));
        let (authority, behind) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str(MASK);
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        rest = behind;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_verb_is_named_and_nothing_else() {
        for (sql, verb) in [
            ("select 1", "SELECT"),
            (" ( (SELECT 1))", "SELECT"),
            ("/* a */ -- b\n# c\nInsert INTO t", "INSERT"),
            ("/*!50000 UPDATE t */", "UPDATE"),
            ("/*M!100000 DELETE */", "DELETE"),
            ("hunter2", "OTHER"),
            ("SELECTED", "OTHER"),
            ("", "OTHER"),
            ("/* open", "OTHER"),
            ("-- only", "OTHER"),
            ("with a as (select 1) select * from a", "WITH"),
        ] {
            assert_eq!(kind(sql), verb, "{sql}");
        }
    }

    #[test]
    fn no_password_is_in_a_text() {
        const SECRET: &str = "hunter2";
        for sql in [
            "CREATE USER a IDENTIFIED BY 'hunter2'",
            "create user a identified by 'it''s hunter2' require ssl",
            "ALTER USER a IDENTIFIED BY \"hunter2\" REPLACE 'hunter2'",
            "ALTER USER a IDENTIFIED WITH x AS 'hunter2'",
            r"SET PASSWORD = 'a\'hunter2'",
            "SET PASSWORD FOR a = PASSWORD('hunter2')",
            "SELECT PASSWORD('hunter2')",
            "GRANT ALL ON *.* TO a IDENTIFIED BY 'hunter2'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
            "CHANGE MASTER TO MASTER_PASSWORD='hunter2'",
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='hunter2'",
            "START SLAVE USER='u' PASSWORD='hunter2'",
            "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:hunter2@h/d/t'",
            "CREATE TABLE t (a INT) COMMENT='mysql://u:hunter2@h/d/t'",
            "SELECT 'https://u:hunter2@h/x', 'http://a/hunt'",
            "UPDATE people SET password = 'hunter2'",
            "SELECT AES_ENCRYPT('x', 'hunter2')",
            "-- it's\nCREATE USER a IDENTIFIED BY 'hunter2'",
            "CREATE USER `a'b` IDENTIFIED BY 'hunter2'",
            "CREATE USER a IDENTIFIED /* ' */ BY 'hunter2'",
            "CREATE USER a IDENTIFIED BY 'hunter2",
            "CREATE USER a IDENTIFIED BY 'it's hunter2'",
            "CREATE USER a IDENTIFIED BY 'it's hunter2' REPLACE 'x",
            "-- it's\nCREATE USER a IDENTIFIED BY 'hunter2",
            "CREATE USER 'a' IDENTIFIED BY \"it's\" REPLACE 'hunter2",
            "create usr a identified by _utf8mb4'hunter2'",
            "SET PASSWORD = 'x' REPLACE 'hunter2'",
            "CREATE TABLE t ENGINE=CONNECT OPTION_LIST='user=u,password=hunter2'",
            "EXECUTE IMMEDIATE 'CREATE USER a IDENTIFIED BY ''hunter2'''",
            "SET @api_token = 'hunter2'",
        ] {
            let shown = text(sql);
            assert!(!shown.contains(SECRET), "{sql}: {shown}");
            assert!(shown.contains(MASK), "{sql}: {shown}");
        }
        assert_eq!(
            text("CREATE USER a IDENTIFIED BY 0x68756E74, x'68'"),
            "CREATE USER a IDENTIFIED BY 0x***, x'***'"
        );
    }

    #[test]
    fn what_the_pages_mask_is_in_no_text() {
        let vectors = include_str!("../../tests/data/secrets.json");
        let vectors: Vec<serde_json::Value> = serde_json::from_str(vectors).unwrap();
        for vector in vectors {
            if vector["kept"] != vector["sql"] {
                let sql = vector["sql"].as_str().unwrap();
                let shown = text(sql);
                assert!(!shown.contains("geheim"), "{sql}: {shown}");
            }
        }
    }

    #[test]
    fn other_texts_are_whole_up_to_a_length() {
        let sql = "SELECT * FROM shop.orders WHERE name = 'ann' AND id = 0x41";
        assert_eq!(text(sql), sql);
        let long = format!("SELECT '{}'", "ä".repeat(LONGEST));
        let shown = text(&long);
        assert!(
            shown.len() < LONGEST + 40 && shown.ends_with(" more bytes)"),
            "{shown}"
        );
    }
}

//! Parts of a database that an account may not see, by its own grants.

use crate::sqlweb::conn::masked;

/// Needed privileges, of which one is enough, and what is missing without.
const NEEDED: [(&[&str], &str); 4] = [
    (
        &["SELECT"],
        "tables and columns without privileges are not included",
    ),
    (&["TRIGGER"], "triggers need the TRIGGER privilege"),
    (&["EVENT"], "events need the EVENT privilege"),
    (
        &[
            "EXECUTE",
            "SHOW CREATE ROUTINE",
            "SHOW_ROUTINE",
            "ALTER ROUTINE",
        ],
        "routines without privileges are not included",
    ),
];

/// Sentences about what may be missing, of an account with these `grants` (lines of `SHOW GRANTS`).
pub(super) fn unseen(grants: &[String], db: &str, wanted: [bool; 4]) -> Vec<&'static str> {
    let has = |privileges: &[&str]| {
        let allows = |grant: &&String| allows(grant, db, privileges);
        // An account that may read everything may read the table of routines.
        let reads_all = |grant: &&String| {
            privileges.contains(&"EXECUTE")
                && grant.contains(" ON *.* ")
                && self::allows(grant, db, &["SELECT"])
        };
        grants
            .iter()
            .any(|grant| allows(&grant) || reads_all(&grant))
    };
    NEEDED
        .iter()
        .zip(wanted)
        .filter(|((privileges, _), wanted)| *wanted && !has(privileges))
        .map(|((_, unseen), _)| *unseen)
        .collect()
}

/// True if a line gives one of `privileges`, or all, on the whole database.
fn allows(grant: &str, db: &str, privileges: &[&str]) -> bool {
    let bare = masked(grant);
    let Some((given, scope)) = bare.find(" ON ").and_then(|at| grant.split_at_checked(at)) else {
        return false;
    };
    let Some(given) = given.strip_prefix("GRANT ") else {
        return false;
    };
    let listed = |one: &str| {
        let one = one.trim();
        one == "ALL PRIVILEGES" || privileges.contains(&one)
    };
    let scope = scope.strip_prefix(" ON ").unwrap_or_default();
    given.split(',').any(listed) && covers(scope, db)
}

/// True if ``*.*`` or a pattern such as `` `shop\_%`.* `` holds for the database.
fn covers(scope: &str, db: &str) -> bool {
    if scope.starts_with("*.*") {
        return true;
    }
    let pattern = scope.strip_prefix('`').and_then(|rest| {
        let end = rest.find("`.* ")?;
        Some(rest.get(..end)?.replace("``", "`"))
    });
    pattern.is_some_and(|pattern| like(pattern.as_bytes(), db.as_bytes()))
}

/// `LIKE`, byte by byte.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([b'%', rest @ ..], _) => (0..=text.len()).any(|n| like(rest, text.split_at(n).1)),
        ([b'\\', c, rest @ ..], [t, text @ ..]) => c == t && like(rest, text),
        ([b'_', rest @ ..], [_, text @ ..]) => like(rest, text),
        ([c, rest @ ..], [t, text @ ..]) => c == t && like(rest, text),
        (pattern, text) => pattern.is_empty() && text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grants_do_not_show_is_named() {
        let all = [true; 4];
        let count = |grant: &str| unseen(&[grant.to_owned()], "my_shop", all).len();
        assert_eq!(count("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"), 0);
        assert_eq!(count("GRANT SELECT, TRIGGER ON *.* TO `a`@`%`"), 1);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my\_shop`.* TO `a`@`%`"), 0);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my%`.* TO `a`@`%`"), 0);
        assert_eq!(count(r"GRANT ALL PRIVILEGES ON `my\_sho`.* TO `a`@`%`"), 4);
        assert_eq!(count("GRANT SELECT (`x`) ON `my_shop`.`t` TO `a`@`%`"), 4);
        assert_eq!(
            count("GRANT SELECT, SHOW VIEW ON `my_shop`.* TO `a`@`%`"),
            3
        );
        assert_eq!(count("REVOKE SELECT ON `my_shop`.* FROM `a`@`%`"), 4);
        assert!(unseen(&[], "x", [false; 4]).is_empty());
    }
}

//! Known state of a session on its connection, so that its loss can be reported.

use std::fmt;

/// Bytes of a statement that are searched; statements that create state show that early.
const LOOKED_AT: usize = 4096;

/// State that ends with a connection. Statements may create more of it than their texts show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldState {
    /// True if a transaction is open, by the server's last status.
    pub(crate) transaction: bool,
    temporary_tables: bool,
    variables: bool,
    table_locks: bool,
    named_locks: bool,
    prepared: bool,
}

impl HeldState {
    /// Notes the state that a statement may have created; `kind` is its first word.
    pub(crate) fn note(&mut self, kind: &str, sql: &str) {
        let start = sql.as_bytes().get(..LOOKED_AT).unwrap_or(sql.as_bytes());
        let text = start.to_ascii_uppercase();
        let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
        self.temporary_tables |= kind == "CREATE" && has("TEMPORARY");
        self.variables |= kind == "SET" || has(":=") || has("INTO @");
        self.named_locks |= has("GET_LOCK");
        self.prepared |= kind == "PREPARE";
        match kind {
            "UNLOCK" => self.table_locks = false,
            _ => self.table_locks |= kind == "LOCK" || kind == "FLUSH" && has("READ LOCK"),
        }
    }
}

impl fmt::Display for HeldState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.transaction, "an open transaction"),
            (self.temporary_tables, "temporary tables"),
            (self.variables, "variables"),
            (self.table_locks, "table locks"),
            (self.named_locks, "named locks"),
            (self.prepared, "prepared statements"),
        ];
        let known: Vec<_> = all
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, what)| *what)
            .collect();
        f.write_str(&known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::HeldState;

    #[test]
    fn what_a_session_has_used_is_named() {
        let mut held = HeldState::default();
        assert_eq!(held.to_string(), "");
        for (kind, sql) in [
            ("CREATE", "create temporary table a (b int)"),
            ("SET", "SET @a = 1"),
            ("LOCK", "LOCK TABLES t WRITE"),
            ("PREPARE", "PREPARE p FROM 'SELECT 1'"),
            ("UNLOCK", "UNLOCK TABLES"),
            ("SELECT", "select get_lock('a', 1)"),
        ] {
            held.note(kind, sql);
        }
        held.transaction = true;
        assert_eq!(
            held.to_string(),
            "an open transaction, temporary tables, variables, named locks, prepared statements"
        );
    }
}

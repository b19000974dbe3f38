//! The gate never panics, and its spans and offsets stay inside the text.
//!
//! Shared by the fuzz target and by the test that feeds the vectors (`tests/sql/gate_vectors.rs`).

use postern::sqlweb::gate::{self, Dialect};

/// The first byte chooses the dialect.
fn dialect(flags: u8) -> Dialect {
    let mut dialect = match (flags & 1 == 0, flags & 16 == 0) {
        (true, true) => Dialect::mariadb((10, 11, 0)),
        (true, false) => Dialect::mariadb((11, 8, 9)),
        (false, true) => Dialect::mysql((8, 0, 36)),
        (false, false) => Dialect::mysql((9, 7, 4)),
    };
    dialect.ansi_quotes = flags & 2 != 0;
    dialect.no_backslash_escapes = flags & 4 != 0;
    dialect.ignore_space = flags & 8 != 0;
    dialect
}

/// Judges and splits a text; the flags choose the dialect.
pub(super) fn run(flags: u8, sql: &str) {
    let dialect = dialect(flags);
    match gate::check(sql, &dialect) {
        Ok(passed) => {
            assert_eq!(
                gate::split(sql, &dialect).count(),
                1,
                "one statement passes at a time"
            );
            if let Some(rebuilt) = passed.rebuilt {
                let again = gate::check(&rebuilt, &dialect).expect("what is made anew passes, too");
                assert_eq!(again.kind, passed.kind);
                assert_eq!(gate::split(&rebuilt, &dialect).count(), 1);
            }
        }
        Err(refusal) => {
            assert!(refusal.offset <= sql.len());
            // A panic becomes a refusal.
            assert!(
                !refusal.reason.starts_with("the gate failed"),
                "the gate panicked"
            );
        }
    }
    let mut end = 0;
    for span in gate::split(sql, &dialect) {
        assert!(span.start >= end && span.start < span.end);
        assert!(sql.get(span.clone()).is_some());
        end = span.end;
    }
}

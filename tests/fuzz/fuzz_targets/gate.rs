//! The gate never panics, and its spans and offsets stay inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use postern::sqlweb::gate::{self, Dialect};

/// The first byte chooses the dialect.
fn dialect(flags: u8) -> Dialect {
    let mut dialect = if flags & 1 == 0 {
        Dialect::mariadb((10, 11, 0))
    } else {
        Dialect::mysql((8, 0, 36))
    };
    dialect.ansi_quotes = flags & 2 != 0;
    dialect.no_backslash_escapes = flags & 4 != 0;
    dialect.ignore_space = flags & 8 != 0;
    dialect
}

fuzz_target!(|input: (u8, &str)| {
    let (flags, sql) = input;
    let dialect = dialect(flags);
    match gate::check(sql, &dialect) {
        Ok(_) => assert_eq!(
            gate::split(sql, &dialect).count(),
            1,
            "one statement passes at a time"
        ),
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
});

//! Leaves out what proves an account where a server shows it: MariaDB's `SHOW GRANTS` has the hash of the password.

use std::io;

use mysql::Column;

use crate::sqlweb::output::{Flow, RowSink};
use crate::sqlweb::results::{Done, TextRow};

/// Passes results on, without hashes in the lines of `SHOW GRANTS`.
pub(super) struct HidingSink<'a> {
    pub(super) sink: &'a mut dyn RowSink,
    /// True within an answer of `SHOW GRANTS`, which a stored program may give too.
    is_of_grants: bool,
}

impl<'a> HidingSink<'a> {
    pub(super) fn of(sink: &'a mut dyn RowSink) -> Self {
        Self {
            sink,
            is_of_grants: false,
        }
    }
}

impl RowSink for HidingSink<'_> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.is_of_grants = matches!(columns, [only] if only.name_str().starts_with("Grants for "));
        self.sink.begin(columns)
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        let Some(line) = row.cell(0).filter(|_| self.is_of_grants) else {
            return self.sink.row(row);
        };
        let line = without_hash(&String::from_utf8_lossy(line)).into_bytes();
        self.sink
            .row(TextRow::Packet(&line, &[Some((0, line.len()))]))
    }

    fn end(&mut self, truncated: bool) -> io::Result<()> {
        self.sink.end(truncated)
    }

    fn done(&mut self, done: Done) {
        self.sink.done(done);
    }
}

/// The line with `***` in all quotes behind the word that tells how an account is proved.
fn without_hash(line: &str) -> String {
    const WORD: &str = " IDENTIFIED ";
    let Some((before, behind)) = line.split_once(WORD) else {
        return line.to_owned();
    };
    let parts = behind.split('\'').enumerate();
    let hidden: Vec<&str> = parts
        .map(|(i, part)| if i % 2 == 1 { "***" } else { part })
        .collect();
    format!("{before}{WORD}{}", hidden.join("'"))
}

#[cfg(test)]
mod tests {
    use super::without_hash;

    #[test]
    fn hashes_are_left_out() {
        let line = "GRANT ALL ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*81F5' WITH GRANT OPTION";
        let hidden = "GRANT ALL ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '***' WITH GRANT OPTION";
        assert_eq!(without_hash(line), hidden);
        let line = "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED VIA ed25519 USING 'x' OR unix_socket";
        assert!(without_hash(line).contains("USING '***' OR unix_socket"));
        assert_eq!(without_hash("GRANT r TO a"), "GRANT r TO a");
    }
}

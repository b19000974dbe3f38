//! The answer to a statement about one row.

use std::io;

use mysql::Column;
use rows::Kind;

use crate::sqlweb::output::{Flow, RowSink, kinds};
use crate::sqlweb::results::{Done, TextRow};

/// Keeps the first row, counts the others, and what is said of a statement without rows.
#[derive(Default)]
pub(super) struct OneRow {
    pub(super) kinds: Vec<Kind>,
    pub(super) cells: Vec<Option<Vec<u8>>>,
    /// Rows that came.
    pub(super) count: u64,
    pub(super) done: Done,
}

impl RowSink for OneRow {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.kinds = kinds(columns);
        Ok(())
    }

    fn row(&mut self, row: TextRow<'_>) -> io::Result<Flow> {
        if self.count == 0 {
            let cell = |i| row.cell(i).map(<[u8]>::to_vec);
            self.cells = (0..self.kinds.len()).map(cell).collect();
        }
        self.count += 1;
        Ok(Flow::Continue)
    }

    fn end(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn done(&mut self, done: Done) {
        self.done = done;
    }
}

impl OneRow {
    /// Cells with their kinds.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Kind, Option<&[u8]>)> {
        let cells = self.cells.iter().map(|cell| cell.as_deref());
        self.kinds.iter().copied().zip(cells)
    }

    /// Rows that an UPDATE found, also where it changed nothing; of others, those that were written. The server's line
    /// begins with them in every language: `Rows matched: 1  Changed: 0`.
    pub(super) fn found(&self) -> u64 {
        let line = self.done.info.as_deref().unwrap_or_default();
        let digits = line.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let number = digits.get(..end.unwrap_or(digits.len()));
        number
            .and_then(|n| n.parse().ok())
            .unwrap_or(self.done.affected_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_rows_are_the_first_number_in_any_language() {
        for (info, affected_rows, found) in [
            ("Rows matched: 1  Changed: 0  Warnings: 2", 0, 1),
            (
                "Datens\u{e4}tze gefunden: 3  Ge\u{e4}ndert: 1  Warnungen: 0",
                1,
                3,
            ),
            ("", 1, 1),
            ("no number", 0, 0),
        ] {
            let done = Done {
                affected_rows,
                info: Some(info.into()),
                ..Done::default()
            };
            let answer = OneRow {
                done,
                ..OneRow::default()
            };
            assert_eq!(answer.found(), found, "{info}");
        }
    }
}

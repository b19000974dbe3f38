//! Standard output, where a reader that leaves is not an error.

use std::io::{self, Write};

use super::failure::Failure;

/// Writes `text` and flushes, so that a reader sees it at once.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::output(&error))
}

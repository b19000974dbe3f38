//! Standard output, where a reader that leaves is not an error.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::failure::Failure;
use crate::store::escaped;

/// Writes `text` and flushes, so that a reader sees it at once. Whatever strangers have brought into it, JSON too,
/// drives no terminal: see [`escaped`].
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(escaped(text).as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::output(&error))
}

/// Prints what `--json` promises, with the members of each object by name.
pub(crate) fn print_json(of: &impl Serialize) -> Result<(), Failure> {
    print(&Zeroizing::new(format!("{:#}\n", json!(of))))
}

/// Like [`print_json`], in one line: there may be several.
pub(crate) fn print_json_line(of: &impl Serialize) -> Result<(), Failure> {
    print(&Zeroizing::new(format!("{}\n", json!(of))))
}

//! The command line: one file a command, each with its flags in one table.

use std::process::ExitCode;

/// Runs the command named by the process's arguments.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}

//! The `postern` executable: turns the result of a command into an exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    postern::cli::main()
}

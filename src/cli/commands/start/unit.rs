//! The unit of `postern start` for systemd's user manager.

use std::time::Duration;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::start::{
    COMMAND, ENROLL_TOKEN, LOG_FORMAT, NO_OPEN, PRINT_UNIT, QUIET, RESET, SERVER, VERBOSE,
};
use crate::cli::systemd::{Unit, UnitScope, command_line, escaped};
use crate::manager::ServerUrl;

const HOW: [&str; 5] = [
    "Put this in ~/.config/systemd/user/postern.service ('postern service install' does it), then:",
    "  systemctl --user daemon-reload && systemctl --user enable --now postern",
    "To run it without a login: loginctl enable-linger",
    "For POSTERN_ENROLL_TOKEN, HTTPS_PROXY, NO_PROXY or SSL_CERT_FILE: Environment=NAME=VALUE in",
    "'systemctl --user edit postern'; the service does not see those of your shell.",
];

/// The unit, with a file of variables or with advice on how to put it in place. The enrolment token is a secret and
/// belongs in a file of the user's.
pub(super) fn of_user(
    port: u16,
    server: Option<&ServerUrl>,
    parsed: &Parsed,
    environment_file: Option<&str>,
) -> String {
    let left_out = [
        SERVER,
        ENROLL_TOKEN,
        NO_OPEN,
        RESET,
        PRINT_UNIT,
        LOG_FORMAT,
        QUIET,
        VERBOSE,
    ];
    let mut command = command_line(&COMMAND, parsed, &left_out);
    command.splice(2..2, [port.to_string(), "--no-open".to_owned()]);
    // It may be the variable's.
    command.extend(server.map(|server| format!("--server={}", escaped(&server.to_string()))));
    Unit {
        description: "postern",
        scope: UnitScope::User,
        command,
        environment_file,
        drain: Duration::ZERO,
        waits: false,
        how: if environment_file.is_some() {
            &[]
        } else {
            &HOW
        },
    }
    .text()
}

//! The unit of `postern start` for systemd's user manager.

use std::time::Duration;

use crate::cli::args::command::Parsed;
use crate::cli::args::table::start::{ALLOW_HOST, ALLOW_OTHER_USERS, INSECURE};
use crate::cli::systemd::{Manager, Unit, escaped, program};
use crate::manager::ServerUrl;

const HOW: [&str; 5] = [
    "Put this in ~/.config/systemd/user/postern.service ('postern service install' does it), then:",
    "  systemctl --user daemon-reload && systemctl --user enable --now postern",
    "To run it without a login: loginctl enable-linger",
    "For POSTERN_ENROLL_TOKEN, HTTPS_PROXY, NO_PROXY or SSL_CERT_FILE: Environment=NAME=VALUE in",
    "'systemctl --user edit postern'; the service does not see those of your shell.",
];

/// The unit, with a file of variables or with advice on how to put it in place. The enrolment token is a secret and belongs in
/// a file of the user's.
pub(super) fn of_user(
    port: u16,
    server: Option<&ServerUrl>,
    parsed: &Parsed,
    environment_file: Option<&str>,
) -> String {
    let mut command = vec![
        program(),
        "start".to_owned(),
        port.to_string(),
        "--no-open".to_owned(),
    ];
    let server = server.map(ServerUrl::to_string);
    let named = server.iter().map(|server| ("server", server));
    let hosts = parsed.values(&ALLOW_HOST);
    let hosts = hosts.iter().map(|host| ("allow-host", host));
    for (flag, value) in named.chain(hosts) {
        command.push(format!("--{flag}={}", escaped(value)));
    }
    for flag in [INSECURE, ALLOW_OTHER_USERS]
        .iter()
        .filter(|flag| parsed.has(flag))
    {
        command.push(format!("--{}", flag.long));
    }
    Unit {
        description: "postern",
        manager: Manager::User,
        command,
        environment_file,
        memory: "512M",
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

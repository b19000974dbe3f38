//! `postern relay --print-systemd-unit`.

use super::settings::Settings;
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::{
    ALLOW_OTHER_USERS, COMMAND, DATA, ENROLL_TOKEN, LOG_FORMAT, PRINT_UNIT, STORE, VERBOSE,
};
use crate::cli::systemd::{Unit, UnitScope, command_line, escaped};

/// The unit for the user's own manager, with its state where it is without a unit.
pub(super) fn of_user(settings: &Settings, parsed: &Parsed, environment_file: &str) -> String {
    let left_out = [ENROLL_TOKEN, DATA, PRINT_UNIT, LOG_FORMAT, VERBOSE];
    let mut unit = Unit {
        command: command_line(&COMMAND, parsed, &left_out),
        environment_file: Some(environment_file),
        ..unit(settings, parsed, UnitScope::User)
    };
    // The unit has another working directory.
    let data = parsed.value(&DATA);
    let data = data.and_then(|data| std::path::absolute(data).ok());
    let data = data.map(|data| format!("--data={}", escaped(&data.to_string_lossy())));
    unit.command.extend(data);
    unit.text()
}

fn unit(settings: &Settings, parsed: &Parsed, scope: UnitScope) -> Unit<'static> {
    Unit {
        description: "postern relay",
        scope,
        command: Vec::new(),
        environment_file: None,
        drain: settings.drain,
        waits: parsed.has(&STORE),
        how: &[],
    }
}

/// The unit, for flags that have been checked.
pub(super) fn text(settings: &Settings, parsed: &Parsed) -> String {
    // The enrolment token is a secret and belongs in a file.
    let left_out = [
        ENROLL_TOKEN,
        DATA,
        PRINT_UNIT,
        ALLOW_OTHER_USERS,
        LOG_FORMAT,
        VERBOSE,
    ];
    let mut command = command_line(&COMMAND, parsed, &left_out);
    // A directory of its own choice would need rights that a unit like this has not.
    command.push("--data=%S/postern-relay".to_owned());
    let mut how = vec![
        "Put this in /etc/systemd/system/postern-relay.service, then:",
        "  systemctl daemon-reload && systemctl enable --now postern-relay",
        "The first start prints an enrolment token for one connector: journalctl -u postern-relay. 'postern relay \
         invite' creates more.",
        "Its state is in /var/lib/postern-relay; 'postern relay invite', 'list' and 'revoke' work on it as root.",
    ];
    if parsed.has(&STORE) {
        how.push(
            "The password of --store is a credential: 'systemctl edit postern-relay', [Service], \
             LoadCredential=store:/etc/postern/store-password and \
             Environment=POSTERN_STORE_PASS_FILE=%d/store",
        );
    }
    if parsed.has(&DATA) {
        how.push("--data is ignored: the service has its own directory.");
    }
    let state = "postern-relay";
    Unit {
        command,
        how: &how,
        ..unit(settings, parsed, UnitScope::System { state })
    }
    .text()
}

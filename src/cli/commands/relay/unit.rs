//! `postern relay --print-systemd-unit`.

use super::settings::Settings;
use crate::cli::args::command::{Flag, Parsed};
use crate::cli::args::table::relay::{
    ALLOW_OTHER_USERS, ANSWER_TIMEOUT, CONNECTIONS, DATA, DOMAIN, DRAIN, EXTERNAL_IP, LISTEN,
    METRICS_LISTEN, PASS_HEADER, PEER_LISTEN, PORT_LISTEN, PORTS, PUBLIC_URL, QUOTA_MBPS,
    QUOTA_SITES, SHARED_HOST_PORTS, STORE, TRUST_PROXY, TUNNEL_LISTEN, TUNNEL_URL,
};
use crate::cli::systemd::{Manager, Unit, escaped, program};

/// Flags that the unit's command line repeats. The enrolment token is a secret and belongs in a file.
const REPEATED: [&Flag; 18] = [
    &LISTEN,
    &TUNNEL_LISTEN,
    &TUNNEL_URL,
    &DOMAIN,
    &PUBLIC_URL,
    &EXTERNAL_IP,
    &PORT_LISTEN,
    &PORTS,
    &TRUST_PROXY,
    &PASS_HEADER,
    &CONNECTIONS,
    &ANSWER_TIMEOUT,
    &DRAIN,
    &METRICS_LISTEN,
    &QUOTA_SITES,
    &QUOTA_MBPS,
    &STORE,
    &PEER_LISTEN,
];

/// The unit for the user's own manager, with its state where it is without a unit.
pub(super) fn of_user(settings: &Settings, parsed: &Parsed, environment_file: &str) -> String {
    let mut command = command(parsed);
    if parsed.has(&ALLOW_OTHER_USERS) {
        command.push(format!("--{}", ALLOW_OTHER_USERS.long));
    }
    // The unit has another working directory.
    let data = parsed.value(&DATA);
    let data = data.and_then(|data| std::path::absolute(data).ok());
    command.extend(data.map(|data| format!("--data={}", escaped(&data.to_string_lossy()))));
    Unit {
        description: "postern relay",
        manager: Manager::User,
        command,
        environment_file: Some(environment_file),
        memory: "512M",
        drain: settings.drain,
        waits: parsed.has(&STORE),
        how: &[],
    }
    .text()
}

fn command(parsed: &Parsed) -> Vec<String> {
    let mut command = vec![program(), "relay".to_owned()];
    for flag in REPEATED {
        for value in parsed.values(flag) {
            command.push(format!("--{}={}", flag.long, escaped(&value)));
        }
    }
    if parsed.has(&SHARED_HOST_PORTS) {
        command.push(format!("--{}", SHARED_HOST_PORTS.long));
    }
    command
}

/// The unit, for flags that have been checked.
pub(super) fn text(settings: &Settings, parsed: &Parsed) -> String {
    let mut command = command(parsed);
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
    Unit {
        description: "postern relay",
        manager: Manager::System {
            state: "postern-relay",
        },
        command,
        environment_file: None,
        memory: "512M",
        drain: settings.drain,
        waits: parsed.has(&STORE),
        how: &how,
    }
    .text()
}

//! `postern relay`: runs a relay, prints its systemd unit, and manages its connectors.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use settings::Settings;
use state_dir::{claim, of_store};

use crate::cli::args::command::{Action, Command, Parsed};
use crate::cli::args::table::relay::{
    ALLOW, ALLOW_OTHER_USERS, COMMAND, COPY_STORE, DATA, ENROLL_TOKEN, FLEET, INVITE, INVITES,
    LIST, LOG_FORMAT, PRINT_UNIT, RECOVER, RELEASE, REVOKE, STATUS_URL, STORE, TRANSFER, UNINVITE,
    VERBOSE,
};
use crate::cli::clock::Zone;
use crate::cli::failure::{Failure, print};
use crate::cli::serve::SignalWatch;
use crate::cli::systemd::{Unit, UnitScope, command_line, escaped};
use crate::cli::{logging, serve};
use crate::relay::{self, PublicPorts, Running, SAVE_COUNTERS_EVERY};
use crate::store::RunDir;

mod connectors;
mod fleet;
mod invites;
mod operator;
mod settings;
mod state_dir;
mod store;

/// Runs the relay until a signal, or a subcommand.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let subcommands: &[(&Command, Action)] = &[
        (&LIST, connectors::list),
        (&STATUS_URL, connectors::status_url),
        (&INVITE, invites::invite),
        (&INVITES, invites::list),
        (&UNINVITE, invites::uninvite),
        (&FLEET, fleet::list),
        (&COPY_STORE, store::copy_store),
        (&RECOVER, connectors::recover),
        (&REVOKE, connectors::revoke),
        (&ALLOW, connectors::allow),
        (&RELEASE, connectors::take_name),
        (&TRANSFER, connectors::take_name),
    ];
    COMMAND.run_with_subcommands(arguments, subcommands, run_parsed)
}

/// Unit for the user's systemd manager, and the enrolment token in the options.
pub(crate) fn user_unit(
    options: &[String],
    environment_file: &str,
) -> Result<(String, Option<String>), Failure> {
    let parsed = COMMAND.parse(options)?;
    let settings = Settings::read(&parsed)?;
    let token = parsed.value(&ENROLL_TOKEN);
    Ok((user_unit_text(&settings, &parsed, environment_file), token))
}

/// Completions for connectors of the relay in the per-user directory, each with its state.
pub(crate) fn names() -> Vec<(String, String)> {
    let Ok(home) = serve::data_dir() else {
        return Vec::new();
    };
    let data = crate::store::DataDir::at(home.dir().join(state_dir::DATA_DIR));
    let stored = relay::stored_status(&data).unwrap_or_default();
    let enrolled = stored
        .connectors
        .into_iter()
        .map(|of| (of.name, "enrolled"));
    let revoked = stored.revoked.into_iter().map(|of| (of.name, "revoked"));
    let all = enrolled.chain(revoked);
    all.map(|(name, state)| (name, state.to_owned())).collect()
}

fn run_parsed(parsed: &Parsed) -> Result<(), Failure> {
    let settings = Settings::read(parsed)?;
    if parsed.has(&PRINT_UNIT) {
        return print(&system_unit_text(&settings, parsed));
    }
    logging::start_by(&COMMAND, parsed, log::LevelFilter::Info, &[])?;
    run_relay(settings)
}

fn run_relay(settings: Settings) -> Result<(), Failure> {
    let watch = SignalWatch::start()?;
    let instance = claim(&settings.data)?;
    let listener = listen(settings.listen, "--listen")?;
    let listen_if = |at: Option<SocketAddr>, flag| at.map(|at| listen(at, flag)).transpose();
    let tunnel_listener = listen_if(settings.tunnel_listen, "--tunnel-listen")?;
    let metrics_listener = listen_if(settings.metrics_listen, "--metrics-listen")?;
    if let PublicPorts::At(ip) = settings.ports {
        // Checked at the start, not at the first connect: it must be an address of this machine.
        listen((ip, 0).into(), "--port-listen")?;
    }
    for warning in settings.warnings() {
        log::warn!("{warning}");
    }
    let run_dir = RunDir::create(Some(&settings.data)).map_err(|error| of_store(&error))?;
    watch.removes(run_dir.path());
    let bound = settings.drain;
    let peer_listen = settings.fleet.as_ref().map(|fleet| fleet.peer_listen);
    let peer_listener = listen_if(peer_listen, "--peer-listen")?;
    let options = settings.options(
        listener,
        tunnel_listener,
        metrics_listener,
        peer_listener,
        &run_dir,
    );
    let mut running = relay::start(options).map_err(|error| {
        let hint = match &error {
            relay::StartError::State(error) => Some(error.hint()),
            _ => None,
        };
        Failure::operation(error.to_string()).hint_if(hint)
    })?;
    for path in &running.set_aside {
        log::warn!("{}", relay::set_aside_notice(path));
    }
    if let Some(notice) = running.port_notice() {
        log::warn!("{notice}");
    }
    if let Some(since) = &running.forbidden_token {
        let since = match since.as_str() {
            "" => String::new(),
            since => format!(" since {since}"),
        };
        log::warn!(
            "the given enrolment token (--enroll-token or POSTERN_ENROLL_TOKEN) is disabled{since}: it was revoked or \
             cancelled; give another one, or none: 'postern relay invite' creates tokens"
        );
    }
    running
        .announce(&instance, false)
        .map_err(|error| of_store(&error))?;
    // Before the first line is printed: its reader may send the signal at once.
    let stopped = watch.running();
    let ended = print(&announcement(&running));
    // An error means that nobody can send any more: then it ends too.
    while ended.is_ok()
        && stopped
            .recv_timeout(SAVE_COUNTERS_EVERY)
            .is_err_and(|why| why.is_timeout())
    {
        running.save_counters();
    }
    drain(&mut running, bound);
    serve::stop_in_time(move || running.stop());
    drop(instance);
    ended
}

/// Waits up to `bound` for running requests. A second signal ends the process.
fn drain(running: &mut Running, bound: Duration) {
    if bound.is_zero() {
        return;
    }
    log::info!("the relay is stopping: it waits up to {bound:?} for running requests");
    match running.drain(bound) {
        0 => log::info!("all requests have finished"),
        left => log::warn!("requests and connections cut off: {left}"),
    }
}

fn listen(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    serve::listen(address, |kind| {
        Some(if kind == io::ErrorKind::AddrInUse {
            format!("stop that program, or use another port with {flag}")
        } else {
            format!("give an address of this machine with {flag}")
        })
    })
}

fn announcement(running: &Running) -> String {
    let url = running.url();
    let invite = running.new_invite.as_ref();
    let token = invite.map_or(String::new(), |(token, end)| {
        let end = Zone::local().shown_text(end);
        format!(
            "Enrolment token: {} (valid for one connector, until {end}; not shown again; 'postern relay invite' \
             creates more)\n",
            **token
        )
    });
    let metrics = running.metrics_address();
    let metrics = metrics.map_or(String::new(), |at| {
        format!("Metrics: http://{at}/metrics\n")
    });
    let store = running.store.as_ref();
    let peers = running.peer_address();
    let store = store
        .zip(peers)
        .map_or(String::new(), |(at, (first, peers))| {
            let listens = match peers.to_string() {
                same if same == first => String::new(),
                peers => format!(" (listening on {peers})"),
            };
            format!("Store: {at}\nOther relays: {first}{listens}\n")
        });
    let tunnels = match running.tunnel_address() {
        at if at.port() == 0 => "none".to_owned(),
        at => at.to_string(),
    };
    let by_url = running.tunnel_url();
    let by_url = by_url.map_or(String::new(), |by_url| format!("Tunnel URL: {by_url}\n"));
    format!(
        "Relay: {url}\n{store}Sites: {}\nListening on: {}\nTunnel server: {tunnels}\n{by_url}Fingerprint: {}\n{metrics}{token}Status page: {url}auth?code={}\n",
        running.site_url("NAME"),
        running.address(),
        running.fingerprint(),
        *running.operator_code(),
    )
}

/// Unit for the user's systemd manager, with the state directory of a relay without a unit.
fn user_unit_text(settings: &Settings, parsed: &Parsed, environment_file: &str) -> String {
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

/// Unit for the system's manager.
fn system_unit_text(settings: &Settings, parsed: &Parsed) -> String {
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
    // The unit has no rights to another directory.
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

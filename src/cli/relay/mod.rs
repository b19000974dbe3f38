//! `postern relay`: the remote side, for a machine that others reach; and who is enrolled at it.

mod connectors;
mod settings;
mod unit;

use std::io;
use std::net::{SocketAddr, TcpListener};

use super::command::{Command, Flag};
use super::failure::{Failure, quoted};
use super::output::print;
use super::signals::Watch;
use super::{logging, port_holder, shutdown};
use crate::relay::{self, PublicPorts, Running, Whereabouts};
use crate::store::{ClaimError, DataDir, Instance, RunDir};
use settings::Settings;

const LISTEN: Flag = flag(
    "listen",
    "HOST:PORT",
    "where visitors and quick-setup calls come in (default 127.0.0.1:8180)",
);
const TUNNEL_LISTEN: Flag = flag(
    "tunnel-listen",
    "HOST:PORT",
    "where tunnels come in (default: the host of --listen, port 62888)",
);
const PORT_LISTEN: Flag = flag(
    "port-listen",
    "IP",
    "where public ports of tcp, ssh, rdp, vnc and telnet are bound: an address of this machine that no site's name \
     leads to, as cookies do not know ports",
);
const SHARED_HOST_PORTS: Flag = flag(
    "shared-host-ports",
    "",
    "bind them on the host of --tunnel-listen: whoever has one then is a server under every site's name, and may \
     get the cookies of its visitors (default on loopback; else, without either, they are refused)",
);
const DOMAIN: Flag = flag(
    "domain",
    "NAME",
    "sites are NAME.DOMAIN (default localhost); a wildcard DNS entry leads them here",
);
const PUBLIC_URL: Flag = flag(
    "public-url",
    "URL",
    "what visitors use, as https://relay.example, where a TLS server stands in front",
);
const EXTERNAL_IP: Flag = flag(
    "external-ip",
    "IP",
    "the address that connectors dial (default: the host of --tunnel-listen)",
);
const ENROLL_TOKEN: Flag = flag(
    "enroll-token",
    "TOKEN",
    "what lets a new connector in; other users of this machine can see it in the list of processes: \
     POSTERN_ENROLL_TOKEN is safer (default: one is made and printed at the first start)",
);
const TRUST_PROXY: Flag = Flag {
    repeatable: true,
    ..flag(
        "trust-proxy",
        "CIDR",
        "believe X-Forwarded-* from here, as from 127.0.0.1 with a TLS server on this machine; may be repeated",
    )
};
const CONNECTIONS: Flag = flag(
    "connections",
    "N",
    "connections of visitors and connectors' calls at once (default 512): half of them for the sites of \
     one connector, a quarter for one visitor",
);
const ANSWER_TIMEOUT: Flag = flag(
    "answer-timeout",
    "SECONDS",
    "how long an application may take to begin its answer (default 300)",
);
const DATA: Flag = flag(
    "data",
    "DIR",
    "where its state is (default: relay/ in the per-user directory)",
);
const PRINT_UNIT: Flag = flag(
    "print-systemd-unit",
    "",
    "print a hardened unit file for these options, and end",
);
const ALLOW_OTHER_USERS: Flag = flag(
    "allow-other-users",
    "",
    "on loopback, also serve the other users of this machine",
);

const fn flag(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag {
        long,
        alias: "",
        value,
        repeatable: false,
        help,
    }
}

pub(super) const COMMAND: Command = Command {
    name: "relay",
    operands: "[list | revoke NAME | allow NAME]",
    operand_count: 0..=2,
    about: "Starts the remote side: sites below a domain, tunnels that lead to applications.",
    flags: &[
        LISTEN,
        TUNNEL_LISTEN,
        DOMAIN,
        PUBLIC_URL,
        EXTERNAL_IP,
        PORT_LISTEN,
        SHARED_HOST_PORTS,
        ENROLL_TOKEN,
        TRUST_PROXY,
        CONNECTIONS,
        ANSWER_TIMEOUT,
        DATA,
        PRINT_UNIT,
        ALLOW_OTHER_USERS,
        super::settings::VERBOSE,
    ],
    notes: "\
  relay list                  show NAME, STATUS, ENROLLED, URL, TARGET
  relay revoke NAME           turn a connector out at once, and renew the enrol
                              token, which it knows: the new one is printed
  relay allow NAME            undo that: it comes back with its names and ports
                              within 30 days, else it may enrol again

Off loopback, and behind a proxy, a new connector needs the enrol token.
Passwords cross the network in quick-setup: give visitors and connectors a TLS
server in front, and name it with --public-url.",
};

/// Serves until a signal, or looks after connectors.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let parsed = COMMAND.parse(arguments)?;
    if parsed.wants_help() {
        return print(&COMMAND.help(COMMAND.name));
    }
    let words: Vec<&str> = parsed.operands().iter().map(String::as_str).collect();
    match words.as_slice() {
        [] if parsed.has(&PRINT_UNIT) => print(&unit::text(&Settings::read(&parsed)?, &parsed)),
        [] => {
            let settings = Settings::read(&parsed)?;
            logging::start_informing(parsed.has(&super::settings::VERBOSE));
            serve(settings)
        }
        ["list"] => connectors::list(&settings::data(&parsed)?),
        ["revoke", name] => connectors::revoke(&settings::data(&parsed)?, name),
        ["allow", name] => connectors::allow(&settings::data(&parsed)?, name),
        [word @ ("revoke" | "allow")] => Err(usage(&format!(
            "'postern relay {word}' needs the NAME of a connector"
        ))),
        ["list", extra] | [extra, ..] => {
            Err(usage(&format!("unexpected argument {}", quoted(extra))))
        }
    }
}

fn usage(message: &str) -> Failure {
    Failure::usage(message).hint(COMMAND.see_help())
}

fn serve(settings: Settings) -> Result<(), Failure> {
    let watch = Watch::start()
        .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))?;
    let instance = claim(&settings.data)?;
    let listener = listen(settings.listen, "--listen")?;
    let tunnel_listener = listen(settings.tunnel_listen, "--tunnel-listen")?;
    if let PublicPorts::At(ip) = settings.ports {
        // At the start, not at the first connect, it is to show that it is no address of this machine.
        listen((ip, 0).into(), "--port-listen")?;
    }
    if settings.has_ports_where_connectors_dial() {
        log::warn!(
            "--port-listen is --external-ip: where sites' names lead to that address too, name another one"
        );
    }
    let run_dir = RunDir::create(Some(&settings.data)).map_err(|error| of_vault(&error))?;
    watch.removes(run_dir.path());
    let (is_exposed, lacks_proxy) = (
        settings.is_exposed_without_tls(),
        settings.lacks_trusted_proxy(),
    );
    let running =
        relay::start(settings.options(listener, tunnel_listener, &run_dir)).map_err(|error| {
            let failure = Failure::operation(error.to_string());
            match &error {
                relay::StartError::State(error) => failure.hint(error.hint()),
                _ => failure,
            }
        })?;
    for path in &running.set_aside {
        log::warn!("unreadable, and kept aside: {}", path.display());
    }
    if let Some(since) = &running.forbidden_token {
        log::warn!("{}", forbidden_token(since));
    }
    if is_exposed {
        log::warn!(
            "connectors' passwords and visitors' codes cross the network unprotected: {TLS_HINT}"
        );
    }
    if lacks_proxy {
        log::warn!(
            "--trust-proxy is missing: the proxy that ends TLS for --public-url is not believed, so visitors' addresses are \
             unknown, and all of them share the limits of one"
        );
    }
    running
        .announce(&instance)
        .map_err(|error| of_vault(&error))?;
    // Before the first line: who reads it may send the signal at once.
    let stopped = watch.running();
    let printed = print(&announcement(&running));
    if printed.is_ok() {
        // An error means that nobody can send any more; ending is right then too.
        let _ = stopped.recv();
    }
    shutdown::within_time(move || running.stop());
    drop(instance);
    printed
}

/// Only digests of tokens are kept, so which one holds can be said by its time alone.
fn forbidden_token(since: &str) -> String {
    format!(
        "the enrol token that was given (--enroll-token or POSTERN_ENROLL_TOKEN) was forbidden by a revocation and lets \
         nobody in; the valid one is that of {since}, which 'postern relay revoke' printed: give that one, or another new one"
    )
}

const TLS_HINT: &str = "put a TLS server in front and name it with --public-url https://…";

/// One relay at a time on a directory.
fn claim(data: &DataDir) -> Result<Instance, Failure> {
    Instance::claim(data).map_err(|claimed| match claimed {
        ClaimError::Failed(error) => of_vault(&error),
        ClaimError::Held(said) => {
            let dir = data.dir().display();
            let held = match said.as_deref().and_then(Whereabouts::read) {
                Some(first) => format!(
                    "another relay uses {dir}: process {}, at {}",
                    first.pid, first.url
                ),
                None => format!("another relay uses {dir}"),
            };
            Failure::operation(held).hint("end it, or name another directory with --data")
        }
    })
}

fn listen(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        let cannot = format!("cannot listen on {address}");
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                let holder = port_holder::of_loopback(address.port())
                    .map_or(String::new(), |holder| format!(" by {holder}"));
                Failure::operation(format!("{cannot}: the port is in use{holder}")).hint(format!(
                    "end that program, or name another port with {flag}"
                ))
            }
            _ => Failure::operation(format!("{cannot}: {error}"))
                .hint(format!("name an address of this machine with {flag}")),
        }
    })
}

fn announcement(running: &Running) -> String {
    let url = running.url();
    let token = running.new_enroll_token.as_ref();
    let token = token.map_or(String::new(), |token| {
        format!("Enrol token: {} (shown this once: keep it)\n", **token)
    });
    format!(
        "Relay: {url}\nSites: {}\nListening on: {}\nTunnel server: {}\nFingerprint: {}\n{token}Status page: {url}auth?code={}\n",
        running.site_url("NAME"),
        running.address(),
        running.tunnel_address(),
        running.fingerprint(),
        **running.operator_token(),
    )
}

fn of_vault(error: &crate::store::Error) -> Failure {
    Failure::operation(error.to_string()).hint(relay::hint_of(error))
}

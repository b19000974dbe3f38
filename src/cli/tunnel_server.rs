//! `postern tunnel-server`: a tunnel server for operators and tests, in place of `chisel server --reverse`.

use crate::net::authority::bracketed;
use std::net::TcpListener;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::command::{Command, Flag, Parsed};
use super::failure::{Failure, quoted};
use super::logging;
use super::output::print;
use super::signals::Watch;
use super::tunnel_client::{KEEPALIVE_FLAG, VERBOSE, keepalive};
use crate::store::DataDir;
use crate::tunnel::server::{Server, Settings, Users};
use crate::tunnel::ssh::{KeyKind, ServerKey};

/// Where it listens by default, as a chisel server does.
const DEFAULT_HOST: &str = "0.0.0.0";
const DEFAULT_PORT: &str = "8080";
/// Bytes of a users file. Default 1 MiB: some ten thousand users.
const USERS_CAP: u64 = 1024 * 1024;
/// Bytes of a host key file. Default 4 KiB: an EC key takes 138.
const KEY_CAP: u64 = 4096;

const LISTEN: Flag = Flag {
    long: "listen",
    alias: "",
    value: "HOST:PORT",
    repeatable: false,
    help: "where clients connect (default 0.0.0.0:8080)",
};
const HOST: Flag = Flag {
    long: "host",
    alias: "",
    value: "HOST",
    repeatable: false,
    help: "with --port, another way to say --listen: chisel's",
};
const PORT: Flag = Flag {
    long: "port",
    alias: "p",
    value: "PORT",
    repeatable: false,
    help: "see --host",
};
const REVERSE: Flag = Flag {
    long: "reverse",
    alias: "",
    value: "",
    repeatable: false,
    help: "changes nothing: reverse remotes are what there is",
};
const AUTH: Flag = Flag {
    long: "auth",
    alias: "",
    value: "USER:PASS",
    repeatable: false,
    help: "a user who may do everything (default: the environment variable AUTH)",
};
const AUTHFILE: Flag = Flag {
    long: "authfile",
    alias: "",
    value: "FILE",
    repeatable: false,
    help: "users and what each may forward, as JSON: {\"user:pass\": [\"^R:0.0.0.0:7000$\"]}",
};

pub(super) const COMMAND: Command = Command {
    name: "tunnel-server",
    operands: "",
    operand_count: 0..=0,
    about: "Serves chisel-v3 clients, for reverse TCP remotes.",
    flags: &[
        LISTEN,
        AUTH,
        AUTHFILE,
        KEEPALIVE_FLAG,
        HOST,
        PORT,
        REVERSE,
        VERBOSE,
    ],
    notes: "\
Without users anybody may connect and listen on any port of this machine.
An expression is compared with R:HOST:PORT; an empty one allows everything.",
};

/// Serves until a signal.
pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    let parsed = COMMAND.parse(arguments)?;
    if parsed.wants_help() {
        return print(&COMMAND.help(COMMAND.name));
    }
    let users = users(&parsed)?;
    let listen = listen(&parsed)?;
    let keepalive = keepalive(&parsed)?;
    logging::start_informing(parsed.has(&VERBOSE));
    let watch = Watch::start()
        .map_err(|error| Failure::operation(format!("cannot watch for signals: {error}")))?;
    let keys = host_keys()?;
    let listener = TcpListener::bind(&listen).map_err(|error| {
        Failure::operation(format!("cannot listen on {}: {error}", quoted(&listen)))
    })?;
    let shown: Vec<String> = keys
        .iter()
        .map(|key| {
            let key = key.public();
            format!("Fingerprint: {} ({})\n", key.fingerprint(), key.kind())
        })
        .collect();
    let open = users.is_empty();
    let mut settings = Settings::new(listener, keys);
    settings.policy = Box::new(users);
    settings.keepalive = keepalive;
    let stopped = watch.running();
    let server = Server::start(settings)
        .map_err(|error| Failure::operation(format!("cannot serve: {error}")))?;
    if open {
        log::warn!("there are no users: anybody may connect");
    }
    let printed = print(&format!(
        "{}Listening on {}\n",
        shown.concat(),
        server.address()
    ));
    if printed.is_ok() {
        // An error means that nobody can send any more; ending is right then too.
        let _ = stopped.recv();
    }
    server.stop();
    printed
}

fn listen(parsed: &Parsed) -> Result<String, Failure> {
    let (host, port) = (parsed.value(&HOST), parsed.value(&PORT));
    match parsed.value(&LISTEN) {
        Some(listen) if host.is_none() && port.is_none() => return Ok(listen),
        Some(_) => {
            let message = "--listen says it all: give it without --host and --port";
            return Err(Failure::usage(message).hint(COMMAND.see_help()));
        }
        None => {}
    }
    let host = host.unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let port = port.unwrap_or_else(|| DEFAULT_PORT.to_owned());
    if port.parse::<u16>().is_err() {
        let message = format!(
            "--port must be a number from 0 to 65535, not {}",
            quoted(&port)
        );
        return Err(Failure::usage(message).hint(COMMAND.see_help()));
    }
    Ok(format!("{}:{port}", bracketed(&host)))
}

fn users(parsed: &Parsed) -> Result<Users, Failure> {
    let usage = |message: String| Failure::usage(message).hint(COMMAND.see_help());
    let mut users = Users::default();
    if let Some(path) = parsed.value(&AUTHFILE) {
        let failed =
            |reason: String| Failure::operation(format!("cannot use {}: {reason}", quoted(&path)));
        users
            .read_json(&read(&path).map_err(|error| failed(error.to_string()))?)
            .map_err(failed)?;
        if users.is_empty() {
            return Err(failed("it names no user".to_owned()));
        }
    }
    let auth = parsed
        .value(&AUTH)
        .or_else(|| std::env::var("AUTH").ok())
        .filter(|auth| !auth.is_empty());
    if let Some(auth) = auth.map(Zeroizing::new) {
        users.add(&auth).map_err(usage)?;
    }
    Ok(users)
}

fn read(path: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::new());
    let file = std::fs::File::open(path)?;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, USERS_CAP + 1), &mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|size| size <= USERS_CAP) {
        true => Ok(bytes),
        false => Err(std::io::Error::other("it is over 1 MiB")),
    }
}

/// Kept in the per-user directory, so that clients see the same keys after a restart.
fn host_keys() -> Result<Arc<[ServerKey]>, Failure> {
    let home = DataDir::locate()
        .map_err(|error| Failure::operation(error.to_string()).hint(error.hint()))?;
    let kinds = [
        (KeyKind::EcdsaP256, "tunnel-server.ecdsa"),
        (KeyKind::Ed25519, "tunnel-server.ed25519"),
    ];
    let keys: Result<Vec<ServerKey>, Failure> = kinds
        .into_iter()
        .map(|(kind, name)| host_key(&home, kind, name))
        .collect();
    keys.map(Arc::from)
}

fn host_key(home: &DataDir, kind: KeyKind, name: &str) -> Result<ServerKey, Failure> {
    let vault =
        |error: crate::store::Error| Failure::operation(error.to_string()).hint(error.hint());
    let broken = |error: crate::tunnel::ssh::Error| Failure::operation(format!("{name}: {error}"));
    // Under the lock, so that two servers that start at once agree.
    let locked = home.lock().map_err(vault)?;
    if let Some(der) = home.read(name, KEY_CAP).map_err(vault)?.map(Zeroizing::new) {
        return ServerKey::from_pkcs8(&der).map_err(broken);
    }
    let key = ServerKey::generate(kind).map_err(broken)?;
    locked.write(name, key.to_pkcs8()).map_err(vault)?;
    Ok(key)
}

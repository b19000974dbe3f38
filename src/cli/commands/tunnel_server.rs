//! `postern tunnel-server`: a tunnel server for operators and tests, like `chisel server --reverse`.

use std::io::Read;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::tunnel_client::{auth, keepalive};
use crate::cli::args::command::Parsed;
use crate::cli::args::table::tunnel::{ANYBODY, AUTHFILE, HOST, LISTEN, PORT, SERVER, VERBOSE};
use crate::cli::failure::{Failure, quoted};
use crate::cli::serve::SignalWatch;
use crate::cli::{logging, serve};
use crate::net::authority::bracketed;
use crate::store::DataDir;
use crate::tunnel::server::{Server, Settings, Users};
use crate::tunnel::ssh::{KeyKind, ServerKey};

/// Default listening address, as of a chisel server.
const DEFAULT_HOST: &str = "0.0.0.0";
const DEFAULT_PORT: &str = "8080";
/// Bytes of a users file. Default 1 MiB: some ten thousand users.
const USERS_CAP: usize = 1024 * 1024;
/// Bytes of a host key file. Default 4 KiB: an EC key takes 138.
const KEY_CAP: u64 = 4096;

/// Serves until a signal.
pub(crate) fn serve_clients(parsed: &Parsed) -> Result<(), Failure> {
    let users = users(parsed)?;
    let listen = listen(parsed)?;
    let keepalive = keepalive(&SERVER, parsed)?;
    logging::start_informing(parsed.has(&VERBOSE));
    let watch = SignalWatch::start()?;
    let keys = host_keys()?;
    let listener = bind(&listen)?;
    let open = users.is_empty();
    refuse_open(parsed, &listener, open)?;
    let shown: Vec<String> = keys
        .iter()
        .map(|key| {
            let key = key.public();
            format!("Fingerprint: {} ({})\n", key.fingerprint(), key.kind())
        })
        .collect();
    let mut settings = Settings::new(listener, keys);
    settings.policy = Box::new(users);
    settings.keepalive = keepalive;
    let stopped = watch.running();
    let server = Server::start(settings)
        .map_err(|error| Failure::operation(format!("cannot serve: {error}")))?;
    if open {
        log::warn!("no users are set: anybody can connect");
    }
    let announcement = format!("{}Listening on {}\n", shown.concat(), server.address());
    let ended = serve::until_signal(&announcement, &stopped);
    server.stop();
    ended
}

/// Listens on the first address of a name.
fn bind(listen: &str) -> Result<TcpListener, Failure> {
    let failed = |error: std::io::Error| {
        Failure::operation(format!("cannot listen on {}: {error}", quoted(listen)))
    };
    let mut addresses = listen.to_socket_addrs().map_err(failed)?;
    let address = addresses.next();
    let address = address.ok_or_else(|| failed(std::io::ErrorKind::AddrNotAvailable.into()))?;
    serve::listen(address, |kind| {
        let is_used = kind == std::io::ErrorKind::AddrInUse;
        is_used.then(|| "stop that program, or use another port with --listen".to_owned())
    })
}

/// Refuses an open server: anyone could listen on any port of this machine.
fn refuse_open(parsed: &Parsed, listener: &TcpListener, is_open: bool) -> Result<(), Failure> {
    let address = listener.local_addr();
    let is_private = address.is_ok_and(|address| address.ip().to_canonical().is_loopback());
    if !is_open || is_private || parsed.has(&ANYBODY) {
        return Ok(());
    }
    Err(SERVER
        .usage("without users, anybody who can reach it could listen on any port of this machine")
        .hint("give --auth USER:PASS or --authfile FILE, or --listen 127.0.0.1:8080; --anybody allows it"))
}

fn listen(parsed: &Parsed) -> Result<String, Failure> {
    let (host, port) = (parsed.value(&HOST), parsed.value(&PORT));
    match parsed.value(&LISTEN) {
        Some(listen) if host.is_none() && port.is_none() => return Ok(listen),
        Some(_) => {
            let message = "--listen includes both: remove --host and --port";
            return Err(SERVER.usage(message));
        }
        None => {}
    }
    let host = host.unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let port = port.unwrap_or_else(|| DEFAULT_PORT.to_owned());
    if port.parse::<u16>().is_err() {
        let port = quoted(&port);
        return Err(SERVER.usage(format!(
            "--port must be a number from 0 to 65535, not {port}"
        )));
    }
    Ok(format!("{}:{port}", bracketed(&host)))
}

fn users(parsed: &Parsed) -> Result<Users, Failure> {
    let mut users = Users::default();
    if let Some(path) = parsed.value(&AUTHFILE) {
        let failed =
            |reason: String| Failure::operation(format!("cannot use {}: {reason}", quoted(&path)));
        users
            .read_json(&read(&path).map_err(|error| failed(error.to_string()))?)
            .map_err(failed)?;
        if users.is_empty() {
            return Err(failed("it contains no user".to_owned()));
        }
    }
    if let Some(auth) = auth(parsed) {
        users.add(&auth).map_err(|message| SERVER.usage(message))?;
    }
    Ok(users)
}

fn read(path: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::new());
    let most = u64::try_from(USERS_CAP + 1).expect("it is small");
    let mut file = std::fs::File::open(path)?.take(most);
    file.read_to_end(&mut bytes)?;
    if bytes.len() > USERS_CAP {
        return Err(std::io::Error::other("it is over 1 MiB"));
    }
    Ok(bytes)
}

/// Host keys, kept in the per-user directory so that clients see the same keys after a restart.
fn host_keys() -> Result<Arc<[ServerKey]>, Failure> {
    let home = serve::data_dir()?;
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
    let broken = |error: crate::tunnel::ssh::Error| Failure::operation(format!("{name}: {error}"));
    // Under the lock, so that two servers that start at once agree.
    let locked = home.lock()?;
    if let Some(der) = home.read(name, KEY_CAP)?.map(Zeroizing::new) {
        return ServerKey::from_pkcs8(&der).map_err(broken);
    }
    let key = ServerKey::generate(kind).map_err(broken)?;
    locked.write(name, key.to_pkcs8())?;
    Ok(key)
}

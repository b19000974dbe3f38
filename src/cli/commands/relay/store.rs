//! The store that relays share: its flags, its password, and `postern relay copy-store`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use zeroize::Zeroizing;

use super::state_dir::{claim, of_state};
use crate::cli::args::command::Parsed;
use crate::cli::args::table::relay::{COMMAND, COPY_STORE, PEER_LISTEN, STORE};
use crate::cli::args::values::{
    STORE_PASS_FILE_VARIABLE, STORE_PASS_VARIABLE, environment, listen_address,
};
use crate::cli::failure::{Failure, print};
use crate::relay::fleet::{Options, StateLocation, StorePassword, StoreUrl, copy};
use crate::store::{DataDir, Instance};

/// Default port for other relays: next to the tunnel server's port.
const DEFAULT_PEER_PORT: u16 = 62889;

/// Flags about a fleet.
pub(super) struct FleetSettings {
    store: StoreUrl,
    password: StorePassword,
    pub(super) peer_listen: SocketAddr,
}

impl FleetSettings {
    /// The file with the password, if every user of this machine can read it.
    pub(super) fn open_password_file(&self) -> Option<&Path> {
        let StorePassword::File(path) = &self.password else {
            return None;
        };
        let is_open = std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o004 != 0);
        is_open.then_some(path)
    }

    pub(super) fn options(self, peer_listener: TcpListener) -> Options {
        Options {
            store: self.store,
            password: self.password,
            peer_listener,
        }
    }
}

/// Reads the flags, if there is a fleet; `others` are addresses in use.
pub(super) fn settings(
    parsed: &Parsed,
    others: [SocketAddr; 2],
) -> Result<Option<FleetSettings>, Failure> {
    let Some(text) = parsed.value(&STORE) else {
        return match parsed.value(&PEER_LISTEN) {
            Some(_) => Err(COMMAND
                .usage("--peer-listen needs --store")
                .hint("give the shared database with --store")),
            None => Ok(None),
        };
    };
    let store = text.parse::<StoreUrl>().map_err(|error| {
        // The URL may contain a password and is not repeated.
        COMMAND.usage(format!("--store: {error}"))
    })?;
    let [_, tunnel_listen] = others;
    let peer_listen = COMMAND.read(parsed, &PEER_LISTEN, listen_address)?;
    let peer_listen = peer_listen.unwrap_or_else(|| (tunnel_listen.ip(), DEFAULT_PEER_PORT).into());
    if peer_listen.port() != 0 && others.contains(&peer_listen) {
        return Err(COMMAND.usage("--peer-listen has the address of --listen or --tunnel-listen"));
    }
    Ok(Some(FleetSettings {
        store,
        password: password()?,
        peer_listen,
    }))
}

/// Password of the account, from the environment; empty if not given. Also checks that a password file is readable.
fn password() -> Result<StorePassword, Failure> {
    let given = environment(STORE_PASS_VARIABLE).map(Zeroizing::new);
    let Some(path) = environment(STORE_PASS_FILE_VARIABLE) else {
        return Ok(StorePassword::Given(given.unwrap_or_default()));
    };
    if given.is_some() {
        return Err(Failure::usage(format!(
            "{STORE_PASS_VARIABLE} and {STORE_PASS_FILE_VARIABLE} are both set"
        ))
        .hint("unset one of them"));
    }
    let refuse = |error: io::Error| {
        Failure::operation(format!("{STORE_PASS_FILE_VARIABLE}: {path}: {error}"))
            .hint("give a readable file that contains only the password")
    };
    let password = StorePassword::File(path.clone().into());
    password.read().map_err(refuse)?;
    Ok(password)
}

/// Copies a state from a directory or store to an empty one.
pub(super) fn copy_store(parsed: &Parsed) -> Result<(), Failure> {
    let [from, to] = parsed.operands() else {
        return Err(COPY_STORE.usage("give FROM and TO"));
    };
    if from == to {
        return Err(COPY_STORE.usage("FROM and TO are the same"));
    }
    let (from, to) = (place(from)?, place(to)?);
    // Locked, so that nobody changes either state meanwhile.
    let _of_from = held(&from)?;
    let _of_to = held(&to)?;
    let [connectors, revoked, invites] = copy(&from, &to).map_err(of_state)?;
    print(&format!(
        "copied: connectors: {connectors}, revoked: {revoked}, invites: {invites}\n\
         {from} is unchanged. Host keys are not copied: each relay has its own.\n"
    ))
}

/// Locks a directory; a missing one is created by the first write.
fn held(place: &StateLocation) -> Result<Option<Instance>, Failure> {
    match place {
        StateLocation::Directory(data) if data.dir().exists() => claim(data).map(Some),
        _ => Ok(None),
    }
}

fn place(text: &str) -> Result<StateLocation, Failure> {
    if StoreUrl::is_meant(text) {
        let url = text.parse::<StoreUrl>();
        let url = url.map_err(|error| COPY_STORE.usage(error.to_string()))?;
        return Ok(StateLocation::Store(url, password()?));
    }
    if text.is_empty() || text.contains("://") {
        let message = "give a relay's directory, or mysql://USER@HOST:PORT/DATABASE";
        return Err(COPY_STORE.usage(message));
    }
    let dir =
        std::path::absolute(text).map_err(|error| COPY_STORE.usage(format!("{text}: {error}")))?;
    Ok(StateLocation::Directory(DataDir::at(dir)))
}

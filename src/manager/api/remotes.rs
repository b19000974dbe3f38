//! Remote servers: their main tunnels, their host keys, and starting afresh with one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use crate::api::{ErrorClass, HostKey, MainTunnel, Trust};
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::connection::Ended;
use crate::manager::remote::RemoteServer;
use crate::manager::server_url::ServerUrl;

/// Time for the connections through the server to end: those that take longer are ended all the same.
const END_WAIT: Duration = Duration::from_secs(2);

/// Only a key that a tunnel has just refused can be trusted: nothing else is beside the old one on the page.
pub(super) fn trust(core: &Arc<AppState>, request: &Request) -> Answer {
    let trust: Trust = request.json()?;
    let (server, fingerprint) = (&trust.server, &trust.fingerprint);
    let all = core.servers.all();
    let servers: Vec<_> = all.iter().map(|server| server.snapshot()).collect();
    let main_tunnels = || servers.iter().filter_map(|server| server.main.as_ref());
    let mut changed = core.connections.changed_host_keys();
    changed.extend(
        main_tunnels().filter_map(|main| main.snapshot()?.error?.host_key.map(HostKey::from)),
    );
    changed.retain(|change| change.server == *server && change.offered == *fingerprint);
    if changed.is_empty() {
        return Err(ApiError::not_found(
            "no tunnel was refused for this server and fingerprint",
        ));
    }
    for change in &changed {
        let trusted = core.known.trust_change(server, &change.known, fingerprint);
        trusted.map_err(|error| ApiError::internal(error.to_string()))?;
    }
    log::warn!("the changed host key {fingerprint} of {server} is now trusted");
    core.connections.retry_with_trusted_key(server);
    for tunnel in main_tunnels().filter_map(|main| main.tunnel.as_ref()) {
        tunnel.retry_now();
    }
    Ok(Response::ok(trust))
}

pub(super) fn tunnels(core: &Arc<AppState>, _: &Request) -> Answer {
    let servers = core.servers.all();
    let main_tunnels = servers
        .iter()
        .filter_map(|server| main_tunnel(core, server));
    let shown: Vec<MainTunnel> = main_tunnels.collect();
    Ok(Response::ok(shown))
}

/// A main tunnel as it is shown; none where it is not set up. One of a revoked connector hears only that its password is
/// refused; the applications were told why.
pub(crate) fn main_tunnel(core: &AppState, server: &RemoteServer) -> Option<MainTunnel> {
    let mut shown = server.snapshot().main.as_ref()?.shown(&server.origin);
    let is_refused = shown.error_class.as_deref() == Some(ErrorClass::WrongPassword.code());
    let revoked = is_refused.then(|| core.connections.revocation(&server.origin));
    if let Some(revoked) = revoked.flatten() {
        shown.error = revoked.error;
        shown.error_class = Some(ErrorClass::Revoked.code().into());
    }
    Some(shown)
}

/// A reset of the identity at a server.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ResetRequest {
    /// Its URL; only the origin counts.
    server: String,
    /// True to end the connections through it first.
    #[serde(default)]
    disconnect: bool,
}

/// Result of a reset.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Reset {
    /// Identifiers of the applications that were disconnected.
    disconnected: Vec<String>,
    /// Origin of the server.
    server: String,
}

/// Forgets the credentials of one server, ends what uses them, and leaves host keys as they are: a key has its own
/// question, and who is asked two at once reads neither.
pub(super) fn reset(core: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: ResetRequest = request.json()?;
    // A known server was allowed once, whatever is allowed now.
    let server = ServerUrl::parse(&wanted.server, true).map_err(ApiError::bad_request)?;
    let origin = server.origin();
    let internal = |error: crate::store::Error| ApiError::internal(error.to_string());
    if !core.credentials.knows(origin).map_err(internal)? {
        return Err(unknown(origin));
    }
    let disconnected = end_connections(core, origin, wanted.disconnect)?;
    let forgotten = core.servers.of(origin).and_then(|remote| remote.forget());
    let forgotten = forgotten.map_err(|ended| match ended {
        Ended::Stopped => ApiError::new(503, "the program is ending"),
        Ended::Failed(error) => ApiError::internal(error.error),
    })?;
    if !forgotten.map_err(internal)? {
        return Err(unknown(origin));
    }
    log::warn!("the credentials for {origin} are deleted; the old file is kept as a backup");
    Ok(Response::ok(Reset {
        disconnected,
        server: origin.to_owned(),
    }))
}

fn unknown(origin: &str) -> ApiError {
    ApiError::not_found(format!(
        "there are no credentials for {origin}: the next connect creates new ones"
    ))
}

/// Ends the connections through a server, and answers which of them were under way; what has failed is forgotten too,
/// as its reason is none any more.
fn end_connections(
    core: &AppState,
    origin: &str,
    is_agreed: bool,
) -> Result<Vec<String>, ApiError> {
    let connections = core.connections.through(origin);
    let live: Vec<String> = connections
        .iter()
        .filter(|(_, state)| state.is_active())
        .map(|(id, _)| id.clone())
        .collect();
    if !live.is_empty() && !is_agreed {
        let text = format!(
            "{} applications use {origin}: disconnect them first, or send \"disconnect\": true",
            live.len()
        );
        return Err(ApiError::new(409, text).with("connected", live));
    }
    let deadline = Instant::now() + END_WAIT;
    let ending: Vec<_> = connections
        .keys()
        .filter_map(|id| core.connections.disconnect(id))
        .collect();
    for done in ending {
        let _ = done.recv_deadline(deadline);
    }
    Ok(live)
}

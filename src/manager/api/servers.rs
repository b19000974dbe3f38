//! Handlers for remote servers: the list, main tunnels, trust in changed host keys, and reset of credentials.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::answer::{Answer, failed};
use crate::api::{ErrorClass, HostKey, MainTunnel, Server, ServerUpdate, Trust};
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::connection::{ConnectResult, ConnectionState, Ended};
use crate::manager::quick_setup::REVOKED;
use crate::manager::remote::{Connector, RemoteServer};
use crate::manager::server_store::CurrentServers;
use crate::manager::server_url::ServerUrl;
use crate::store;

/// Time for the connections through the server to end: those that take longer are ended all the same.
const END_WAIT: Duration = Duration::from_secs(2);

pub(super) fn list(core: &Arc<AppState>, _: &Request) -> Answer {
    let view = ServersView::of(core)?;
    let shown: Vec<Server> = view.origins().iter().map(|url| view.shown(url)).collect();
    Ok(Response::ok(shown))
}

pub(super) fn put(core: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: ServerUpdate = request.json()?;
    let server =
        ServerUrl::parse(&wanted.url, core.choice.insecure).map_err(ApiError::bad_request)?;
    let matters = wanted.enroll_token.is_some() || wanted.default.is_some();
    core.choice.store.put(&server, wanted).map_err(failed)?;
    log::info!("server {}: saved", server.origin());
    if matters {
        core.connections.notify_server_changed(server.origin());
    }
    core.retire_unused_main_tunnels();
    Ok(Response::ok(ServersView::of(core)?.shown(&server)))
}

pub(super) fn remove(core: &Arc<AppState>, request: &Request) -> Answer {
    let url = request
        .query("url")
        .ok_or_else(|| ApiError::bad_request("the query has no url"))?;
    // A known server was allowed once, whatever is allowed now.
    let server = ServerUrl::parse(url, true).map_err(ApiError::bad_request)?;
    let origin = server.origin();
    let shown = ServersView::of(core)?.shown(&server);
    let apps = core.apps.list().map_err(failed)?;
    if !core.choice.store.remove(origin, &apps).map_err(failed)? {
        return Err(ApiError::not_found(format!("{server} is not in the list")));
    }
    log::info!("server {origin}: removed");
    core.retire_unused_main_tunnels();
    Ok(Response::ok(shown))
}

/// Returns the status word and the hint for errors that retrying does not fix.
fn in_a_word<'a>(class: &str, status: &'a str) -> (&'a str, &'static str) {
    match class {
        "revoked" => ("revoked", REVOKED),
        "wrong-password" => (
            "refused",
            "run 'postern doctor' to check whether the server knows this connector",
        ),
        _ => (status, ""),
    }
}

/// Server of an application's active connection, whatever it is to use next.
fn connected_through(core: &AppState, app: &AppConfig) -> Option<ServerUrl> {
    let record = core.connections.find(&app.id)?;
    let url = Some(record.server()).filter(|_| record.state().is_active())?;
    ServerUrl::parse(&url, true).ok()
}

/// Data of all servers, read at one moment.
struct ServersView<'a> {
    core: &'a AppState,
    servers: CurrentServers<'a>,
    /// The applications' names, each with the server that it uses.
    users: Vec<(String, ServerUrl)>,
    /// The main tunnels, by origin.
    main_tunnels: BTreeMap<String, MainTunnel>,
}

impl<'a> ServersView<'a> {
    fn of(core: &'a AppState) -> Result<Self, ApiError> {
        let internal = |error: store::Error| ApiError::internal(error.to_string());
        let main_tunnels = core.servers.all();
        let main_tunnels = main_tunnels.iter().filter_map(|server| {
            let shown = main_tunnel(core, server)?;
            Some((server.origin.clone(), shown))
        });
        let servers = core.choice.now().map_err(internal)?;
        let apps = core.apps.list().map_err(failed)?;
        let users = apps.iter().filter_map(|app| {
            let used = connected_through(core, app).or_else(|| servers.of(app).ok());
            Some((app.name.clone(), used?))
        });
        Ok(Self {
            core,
            users: users.collect(),
            servers,
            main_tunnels: main_tunnels.collect(),
        })
    }

    /// Servers of the list and of the applications, and the default.
    fn origins(&self) -> Vec<ServerUrl> {
        let kept = self.servers.list.all();
        let kept = kept.filter_map(|(_, known)| ServerUrl::parse(&known.url, true).ok());
        let of_apps = self.users.iter().map(|(_, url)| url.clone());
        let default = self.servers.default().ok().flatten();
        let all = kept.chain(default).chain(of_apps);
        let mut by_origin = BTreeMap::new();
        for url in all {
            by_origin.entry(url.origin().to_owned()).or_insert(url);
        }
        by_origin.into_values().collect()
    }

    fn shown(&self, url: &ServerUrl) -> Server {
        let origin = url.origin();
        let known = self.servers.list.get(origin);
        let is_of_all = |server: &ServerUrl| server.origin() == origin;
        let of_all = self.servers.default().ok().flatten();
        let is_used = of_all.as_ref().is_some_and(is_of_all);
        let is_local_relay = self.core.choice.is_local_relay(origin);
        let is_default =
            self.servers.list.is_default(origin) || (self.servers.uses_local_relay() && is_used);
        let main_tunnel = self.main_tunnels.get(origin);
        let (status, error, hint) = self.status(origin, main_tunnel);
        let applications = self.users.iter().filter(|(_, used)| is_of_all(used));
        Server {
            url: url.to_string(),
            label: known.and_then(|known| known.label.clone()),
            default: is_default,
            named: is_used && self.core.choice.named.is_some(),
            known: known.is_some(),
            on_this_machine: is_local_relay,
            has_enroll_token: self.servers.token(origin).is_some(),
            status,
            main_tunnel: main_tunnel.cloned(),
            host_key: self.host_key(origin),
            applications: applications.map(|(name, _)| name.clone()).collect(),
            error,
            hint: hint.into(),
        }
    }

    /// Returns its status, error and hint: those of its main tunnel or, before there is one, of the connections through
    /// it.
    fn status(
        &self,
        origin: &str,
        main_tunnel: Option<&MainTunnel>,
    ) -> (String, Option<String>, &'static str) {
        if let Some(main) = main_tunnel {
            let error = Some(main.error.clone()).filter(|error| !error.is_empty());
            let class = main.error_class.as_deref().unwrap_or_default();
            let (status, hint) = in_a_word(class, &main.status);
            return (status.to_owned(), error, hint);
        }
        let connections = self.core.connections.through(origin);
        let is = |wanted: ConnectionState| {
            let mut found = connections.iter().filter(|(_, state)| **state == wanted);
            found.next().map(|(id, _)| id)
        };
        if is(ConnectionState::Connecting).is_some() {
            return ("connecting".to_owned(), None, "");
        }
        let failed = is(ConnectionState::Failed).map(|id| self.core.connections.result(id, None));
        match failed {
            Some(result) => {
                let class = result.as_ref().map(ConnectResult::class);
                let (status, hint) = in_a_word(class.unwrap_or_default(), "failed");
                (status.to_owned(), result.map(|result| result.error), hint)
            }
            None => ("idle".to_owned(), None, ""),
        }
    }

    /// The fingerprint of the host key that its tunnel server is known by.
    fn host_key(&self, origin: &str) -> Option<String> {
        if !self.core.credentials.knows(origin).ok()? {
            return None;
        }
        let credentials = self.core.credentials.load(origin).ok()?;
        let tunnel_server = Connector::of(origin, &credentials)?.endpoint().ok()?;
        let known = self.core.known.named_by(origin);
        known.fingerprint(&tunnel_server.server())
    }
}

/// Trusts a changed host key. Only a key that a tunnel has just refused is accepted: the page shows no other next to
/// the old one.
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

/// Returns a main tunnel for the API; none if it is not set up. The tunnel of a revoked connector only learns that its
/// password is refused, so the reason comes from the applications' calls.
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
    /// URL of the server; only its origin counts.
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

/// Deletes the credentials of one server and ends the connections that use them. Host keys stay: trusting one is a
/// separate question.
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

/// Ends the connections through a server and returns the identifiers of the active ones. Failed ones are forgotten too,
/// because their reason no longer applies.
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

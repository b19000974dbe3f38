//! Starting afresh with a remote server: what it knows this connector by is forgotten.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::app_state::AppState;
use super::main_tunnel;
use super::routes::Answer;
use super::server_url::ServerUrl;
use crate::http::{ApiError, Request, Response};

/// Time for the connections through the server to end. Default 2 s: those that take longer are ended all the same.
const END_WAIT: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    server: String,
    /// Whether connections through it may be ended for this.
    #[serde(default)]
    disconnect: bool,
}

/// Forgets the credentials of one server, ends what uses them, and leaves host keys as they are: a key has its own
/// question, and who is asked two at once reads neither.
pub(super) fn reset(core: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: Wanted = request.json()?;
    // What may be forgotten was allowed once, whatever is allowed now.
    let server = ServerUrl::parse(&wanted.server, true).map_err(ApiError::bad_request)?;
    let origin = server.origin();
    let internal = |error: crate::store::Error| ApiError::internal(error.to_string());
    if !core.credentials.knows(origin).map_err(internal)? {
        return Err(unknown(origin));
    }
    let ended = end_connections(core, origin, wanted.disconnect)?;
    let remote = core.servers.of(origin);
    let was_known = remote.forget(&core.credentials).map_err(internal)?;
    main_tunnel::retire(core, &remote);
    if !was_known {
        return Err(unknown(origin));
    }
    log::warn!("the credentials for {origin} are forgotten; the file as it was is kept aside");
    Ok(Response::ok(
        json!({"server": origin, "disconnected": ended}),
    ))
}

fn unknown(origin: &str) -> ApiError {
    ApiError::not_found(format!(
        "there are no credentials for {origin}: the next connect begins afresh anyway"
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

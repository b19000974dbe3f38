//! Calls that only relays of ours answer: release of an application, and questions whether a relay knows or would enrol
//! this connector.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use serde_json::Value;
use zeroize::Zeroizing;

use super::call;
use super::failure::{Failure, SentSecrets};
use crate::api::relay::SetupCall;
use crate::manager::ServerUrl;
use crate::store::{Credentials, to_json};
use crate::sync::{Thread, spawn};

/// Time for a call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Begins to release an application and does not wait; if it fails, the relay keeps an unused entry. The channel is
/// closed when the call has ended.
pub(crate) fn release(
    server: ServerUrl,
    credentials: Credentials,
    client_app_id: String,
) -> Receiver<()> {
    let (calling, done) = crossbeam_channel::bounded(0);
    // Ends with the call, or the process.
    spawn(Thread::Release, move || {
        let _calling: Sender<()> = calling;
        let why = match call::release(&server, &credentials, &client_app_id, TIMEOUT) {
            Ok(reply) => {
                return log::debug!("application {client_app_id}: released: {}", reply.status);
            }
            Err(failure) => failure.into_reason(),
        };
        log::debug!("application {client_app_id}: not released: {why}");
    })
    .unwrap_or_else(|error| log::debug!("no thread to release an application: {error}"));
    done
}

/// Releases an application together with the name of its site, which others can use then. Waits for the answer; the
/// error is the reason that the name is not free.
pub(crate) fn release_name(
    server: &ServerUrl,
    credentials: &Credentials,
    id: &str,
) -> Result<(), String> {
    let reply = call::release(server, credentials, &format!("{id}?name=free"), TIMEOUT);
    let reply = reply.map_err(Failure::into_reason)?;
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    match answer
        .pointer("/data/name_released")
        .and_then(Value::as_bool)
    {
        Some(_) => Ok(()),
        // The relay does not know the application.
        None if reply.status == 404 => Ok(()),
        None if reply.status == 200 => {
            Err("the relay is too old to release names: it reserves them for 30 days".to_owned())
        }
        None => Err(format!("the relay answered {}", reply.status)),
    }
}

/// Standing of a connector at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectorStanding {
    /// The connector is known.
    Known,
    /// Its name or password is wrong.
    Refused,
    /// The operator has revoked it.
    Revoked,
}

/// Asks a relay of ours by releasing an application that does not exist; nothing changes. None if no such relay
/// answers.
pub(crate) fn standing(server: &ServerUrl, credentials: &Credentials) -> Option<ConnectorStanding> {
    let reply = call::release(server, credentials, "none", TIMEOUT).ok()?;
    let said = String::from_utf8_lossy(&reply.body);
    match reply.status {
        404 if said.contains("no such application") => Some(ConnectorStanding::Known),
        401 if said.contains("of this connector is wrong") => Some(ConnectorStanding::Refused),
        403 if said.contains("revoked by") => Some(ConnectorStanding::Revoked),
        _ => None,
    }
}

/// Asks whether a server would enrol this connector with the token; sets nothing up. Returns `Ok(false)` if the server
/// does not know this question, so that only a quick-setup call will tell.
pub(crate) fn would_enrol(
    server: &ServerUrl,
    credentials: &Credentials,
    enroll_token: &str,
    timeout: Duration,
) -> Result<bool, Failure> {
    let body = SetupCall {
        protocol: "http".to_owned(),
        ip: "127.0.0.1".to_owned(),
        port: 80,
        connector_name: credentials.connector_name.clone(),
        password: credentials.password.clone(),
        enroll_token: Some(Zeroizing::new(enroll_token.to_owned())),
        ..SetupCall::default()
    };
    let body = to_json(&body).expect("strings, numbers and booleans have a JSON form");
    let reply = call::post(server, call::ENROLMENT, &body, timeout)?;
    let said = SentSecrets::of(&body).said(&reply.body);
    match reply.status {
        200..=299 => Ok(true),
        401 => Err(Failure::Unauthorized { said }),
        status @ (403 | 429) => Err(Failure::Status { status, said }),
        _ => Ok(false),
    }
}

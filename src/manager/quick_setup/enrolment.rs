//! Checks whether a server would accept this connector.

use std::time::Duration;

use super::body::Body;
use super::call::{NoReply, ask_enrolment};
use super::failure::Failure;
use super::redact::SentSecrets;
use crate::manager::ServerUrl;
use crate::store::Credentials;

/// Asks it, and sets nothing up. `Ok(false)`: the server knows no such question, and only a call will tell.
pub(crate) fn would_enrol(
    server: &ServerUrl,
    credentials: &Credentials,
    enroll_token: &str,
    timeout: Duration,
) -> Result<bool, Failure> {
    let body = Body {
        protocol: "http",
        ip: "127.0.0.1",
        port: 80,
        connector_name: &credentials.connector_name,
        password: &credentials.password,
        enroll_token: Some(enroll_token),
        ..Body::default()
    };
    let body = body.to_json();
    let reply = ask_enrolment(server, &body, timeout).map_err(|none| match none {
        NoReply::Passing(reason) => Failure::Unreachable {
            reason,
            attempts: 1,
        },
        NoReply::Lasting(failure) => failure,
    })?;
    let said = SentSecrets::of(&body).said(&reply.body);
    match reply.status {
        200..=299 => Ok(true),
        401 => Err(Failure::Unauthorized { said }),
        status @ (403 | 429) => Err(Failure::Status { status, said }),
        _ => Ok(false),
    }
}

//! The quick-setup calls of one connection, and the connector info saved from their answer.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use zeroize::Zeroizing;

use super::error::{ConnectError, Ended};
use super::record::ConnectionOwner;
use crate::api::ErrorClass;
use crate::api::relay::SetupCall;
use crate::gateway::VISITORS_HOST;
use crate::http::auth::sha256;
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::site_wish;
use crate::manager::quick_setup::{self, Caller, Failure, PreparedCall, REVOKED_HERE, Setup, Wait};
use crate::manager::remote::{CallAnswer, Connector, RemoteServer, awaited};
use crate::manager::server_url::ServerUrl;
use crate::store::expiry::{Clocks, Expiry};
use crate::store::{self, Credentials, random};

/// The calls that ask for one application's setup.
pub(super) struct SetupCalls<'a> {
    pub(super) core: &'a AppState,
    pub(super) url: &'a ServerUrl,
    pub(super) remote: &'a Arc<RemoteServer>,
    pub(super) record: &'a ConnectionOwner,
    pub(super) app: &'a AppConfig,
    /// Exposed address.
    pub(super) target: (&'a str, u16),
    /// Gets the connector info saved from the current call's answer; none before the first call.
    pub(super) saved: Option<Receiver<Result<Connector, String>>>,
}

impl SetupCalls<'_> {
    /// Step 1: asks until there is an answer, an end to the attempts, or the stop signal.
    pub(super) fn run(&mut self) -> Result<Setup, Ended> {
        let record = self.record;
        quick_setup::run(self.url, self, &record.stopped, record.retries()).map_err(|failure| {
            match failure {
                Failure::Stopped => Ended::Stopped,
                failure => {
                    let hint = if self.app.temporary && failure.is_revocation() {
                        REVOKED_HERE
                    } else {
                        failure.hint()
                    };
                    ConnectError::new(class_of(&failure), failure.to_string())
                        .hint(hint)
                        .into()
                }
            }
        })
    }

    /// Step 2: waits for the connector info that the server's owner saves from the answer.
    pub(super) fn saved(&self) -> Result<Connector, Ended> {
        let saved = self.saved.as_ref().expect("a call was answered");
        let saved = awaited(saved, &self.record.stopped)?.ok_or_else(|| {
            let late = "the credentials were deleted before the answer came: connect again";
            ConnectError::local(late)
        })?;
        Ok(saved.map_err(ConnectError::local)?)
    }

    fn body(&self, credentials: &Credentials) -> Zeroizing<Vec<u8>> {
        let app = self.app;
        let (servers, now) = (self.core.choice.now().ok(), Clocks::now());
        let code = app.code.as_ref().filter(|_| app.invisible);
        let host_header = Some(&app.host_header)
            .filter(|host| app.protocol.is_visited_by_http() && *host != VISITORS_HOST);
        let body = SetupCall {
            protocol: app.protocol.exposed().to_owned(),
            ip: self.target.0.to_owned(),
            port: self.target.1,
            connector_name: credentials.connector_name.clone(),
            password: credentials.password.clone(),
            client_app_id: app.id.clone(),
            // Sent only to the server that it was given for.
            enroll_token: servers.and_then(|servers| servers.token(self.url.origin())),
            display_name: app.called().to_owned(),
            site_name: site_wish(app).unwrap_or_default(),
            site_name_required: requires_name(app),
            invisible: app.invisible,
            checks_code: app.invisible && app.protocol.is_database(),
            code_sha256: code.map(|code| random::hex(&sha256(&[code.as_bytes()]))),
            expires_in: seconds_left(app.expiry(&self.core.ends, now), now),
            allow: app.allow.clone(),
            host_header: host_header.cloned(),
            generation: Some(app.signed_out).filter(|number| *number > 0),
            label: store::machine_name(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            visable: String::new(),
            reset: !credentials.accepted,
        };
        store::to_json(&body).expect("strings, numbers and booleans have a JSON form")
    }
}

impl Caller for SetupCalls<'_> {
    fn prepare(&mut self, reload: bool) -> Result<PreparedCall, Failure> {
        let begun = self.remote.begin_call(reload, &self.record.stopped);
        let begun = begun.map_err(|ended| match ended {
            Ended::Stopped => Failure::Stopped,
            Ended::Failed(error) => Failure::Local(error.error),
        })?;
        let body = self.body(&begun.credentials);
        self.record.change().attempt += 1;
        let (saving, saved) = crossbeam_channel::bounded(1);
        self.saved = Some(saved);
        let (own_port, origin) = (self.app.tunnel_port, self.remote.origin.clone());
        let accepted = move |setup: &Setup| {
            let answer = CallAnswer {
                setup: Box::new(setup.clone()),
                own_port,
                saved: saving,
            };
            if begun.answer.send(answer).is_err() {
                log::debug!("an answer from {origin} came too late to be saved");
            }
        };
        Ok(PreparedCall {
            body,
            accepted: Box::new(accepted),
        })
    }

    fn waiting(&mut self, wait: Option<Wait>) {
        self.record.change().pause_calls(wait);
    }
}

/// True if the command line names the site: another name will not do.
pub(super) fn requires_name(app: &AppConfig) -> bool {
    app.site_name.is_some() && app.site_name_required
}

/// Seconds left, rounded up; at least 1.
fn seconds_left(end: Option<Expiry>, now: Clocks) -> Option<u64> {
    let left = end?.left(now);
    let left = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    Some(left.max(1))
}

/// Class of a failed call: an answer of 401 and a refused tunnel are one thing to the user.
fn class_of(failure: &Failure) -> ErrorClass {
    match failure {
        Failure::Local(_) => ErrorClass::Local,
        Failure::Unauthorized { .. } => ErrorClass::WrongPassword,
        Failure::Proxy {
            is_about_account: true,
            ..
        } => ErrorClass::ProxyCredentials,
        Failure::Proxy { .. } => ErrorClass::Proxy,
        revoked if revoked.is_revocation() => ErrorClass::Revoked,
        full if full.is_quota() => ErrorClass::Limit,
        Failure::Status { status: 409, .. } => ErrorClass::NameTaken,
        reserved if reserved.is_reserved_name() => ErrorClass::NameTaken,
        Failure::Status { status: 403, .. } => ErrorClass::Forbidden,
        Failure::Refused { code, .. } if code == "401" => ErrorClass::WrongPassword,
        Failure::Refused { code, .. } if code == "403" => ErrorClass::Forbidden,
        Failure::TooManyRequests { .. } => ErrorClass::Limit,
        Failure::Unreachable { .. } => ErrorClass::Network,
        _ => ErrorClass::QuickSetup,
    }
}

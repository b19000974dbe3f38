//! What a connection's quick-setup calls need, and what becomes of their answer.

use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::ConnectionRecord;
use zeroize::Zeroizing;

use crate::manager::app::AppConfig;
use crate::manager::app_state::AppState;
use crate::manager::quick_setup::{Body, Caller, Setup, Wait};
use crate::manager::server_url::ServerUrl;
use crate::manager::servers::{Answered, Connector, RemoteServer};
use crate::store::Credentials;

/// The calls of one connection. It may outlive the connection: an answer that comes late is saved all the same.
pub(super) struct Call {
    core: Arc<AppState>,
    remote: Arc<RemoteServer>,
    active: Arc<ConnectionRecord>,
    app: AppConfig,
    /// What is exposed.
    target: (String, u16),
    /// Told to the server that it was given for, and to no other.
    with_token: bool,
    /// The present attempt among all calls to the server.
    number: AtomicU64,
    saved: Mutex<Option<Result<Connector, String>>>,
}

impl Call {
    pub(super) fn new(
        core: &Arc<AppState>,
        remote: &Arc<RemoteServer>,
        active: &Arc<ConnectionRecord>,
        app: &AppConfig,
        (ip, port): (&str, u16),
        url: &ServerUrl,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            remote: Arc::clone(remote),
            active: Arc::clone(active),
            app: app.clone(),
            target: (ip.to_owned(), port),
            with_token: core
                .server
                .as_ref()
                .is_some_and(|own| own.origin() == url.origin()),
            number: AtomicU64::new(0),
            saved: Mutex::new(None),
        }
    }

    /// What was saved of the answer.
    pub(super) fn saved(&self) -> Result<Connector, String> {
        let saved = self.saved.lock().take();
        saved.unwrap_or_else(|| {
            Err("the answer came after its credentials were forgotten: connect again".to_owned())
        })
    }
}

impl Caller for Call {
    fn credentials(&self, reload: bool) -> Result<Credentials, String> {
        self.number
            .store(self.remote.next_call(), Ordering::Relaxed);
        let credentials = self.remote.credentials(&self.core.credentials, reload);
        credentials.map_err(|error| error.to_string())
    }

    fn body(&self, credentials: &Credentials) -> Zeroizing<Vec<u8>> {
        let token = self.core.enroll_token.as_ref().filter(|_| self.with_token);
        let body = Body {
            protocol: self.app.protocol.exposed(),
            ip: &self.target.0,
            port: self.target.1,
            connector_name: &credentials.connector_name,
            password: &credentials.password,
            client_app_id: &self.app.id,
            enroll_token: token.map(|token| token.as_str()),
            display_name: self.app.display_name.as_deref().unwrap_or(&self.app.name),
            site_name: self.app.site_name.as_deref().unwrap_or_default(),
            invisible: self.app.invisible,
            checks_code: self.app.invisible && self.app.protocol.is_database(),
            visable: "",
            reset: !credentials.accepted,
        };
        body.to_json()
    }

    fn waiting(&self, wait: Option<Wait>) {
        self.active.pauses(wait);
    }

    fn accepted(&self, setup: &Setup) {
        let answered = Answered {
            call: self.number.load(Ordering::Relaxed),
            is_awaited: !self.active.is_stopped(),
        };
        let own_port = self.app.tunnel_port;
        let saved = self
            .remote
            .accept(&self.core.credentials, setup, own_port, answered);
        let saved = saved.map_err(|error| format!("cannot save the credentials: {error}"));
        let origin = self.remote.origin();
        match &saved {
            Ok(Some(_)) => log::debug!("the credentials from {origin} are saved"),
            Ok(None) => log::debug!("an answer from {origin} came too late to be saved"),
            Err(error) => log::warn!("{error}"),
        }
        let saved = saved.transpose();
        *self.saved.lock() = saved;
    }
}

//! What a connection's quick-setup calls need, and what becomes of their answer.

use std::sync::{Arc, Mutex, PoisonError};

use super::active::Active;
use zeroize::Zeroizing;

use crate::manager::app::AppConfig;
use crate::manager::core::Core;
use crate::manager::quick_setup::{Body, Caller, Setup, Wait};
use crate::manager::server_url::ServerUrl;
use crate::manager::servers::{Connector, RemoteServer};
use crate::vault::Credentials;

/// The calls of one connection. It may outlive the connection: an answer that comes late is saved all the same.
pub(super) struct Call {
    core: Arc<Core>,
    remote: Arc<RemoteServer>,
    active: Arc<Active>,
    app: AppConfig,
    /// What is exposed.
    target: (String, u16),
    /// Told to the server that it was given for, and to no other.
    with_token: bool,
    saved: Mutex<Option<Result<Connector, String>>>,
}

impl Call {
    pub(super) fn new(
        core: &Arc<Core>,
        remote: &Arc<RemoteServer>,
        active: &Arc<Active>,
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
            saved: Mutex::new(None),
        }
    }

    /// What was saved of the answer.
    pub(super) fn saved(&self) -> Result<Connector, String> {
        let saved = self
            .saved
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        saved.unwrap_or_else(|| Err("the answer's credentials were not saved".to_owned()))
    }
}

impl Caller for Call {
    fn credentials(&self, reload: bool) -> Result<Credentials, String> {
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
            display_name: self.app.display_name.as_deref().unwrap_or_default(),
            site_name: self.app.site_name.as_deref().unwrap_or_default(),
            invisible: self.app.invisible,
            visable: "",
            reset: !credentials.accepted,
        };
        body.to_json()
    }

    fn waiting(&self, wait: Option<Wait>) {
        self.active.pauses(wait);
    }

    fn accepted(&self, setup: &Setup) {
        let saved = self
            .remote
            .accept(&self.core.credentials, setup, self.app.tunnel_port);
        let saved = saved.map_err(|error| format!("cannot save the credentials: {error}"));
        match &saved {
            Ok(_) => log::debug!("the credentials from {} are saved", self.remote.origin()),
            Err(error) => log::warn!("{error}"),
        }
        *self.saved.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
    }
}

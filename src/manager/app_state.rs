//! State shared by all parts of the manager.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::apps::app::AppConfig;
use super::apps::app_store::{self, AppStore};
use super::connection::{ConnectResult, PortReservations};
use super::remote::{Environment, Servers};
use super::server_store::ServerChoice;
use super::server_url::ServerUrl;
use crate::plugin::{self, WebClients};
use crate::store::expiry::Clocks;
use crate::store::{AuditSets, DataDir, Ends};
use crate::sync::Thread;

/// The state of one `postern start`.
pub(crate) struct AppState {
    pub(crate) home: DataDir,
    /// Start of the program.
    pub(crate) since: SystemTime,
    pub(crate) apps: AppStore,
    /// Shared with the owners of remote servers: its members are this state's.
    pub(crate) environment: Arc<Environment>,
    pub(crate) servers: Servers,
    /// End times of applications.
    pub(crate) ends: Ends,
    pub(crate) ports: PortReservations,
    pub(crate) plugins: plugin::Registry,
    pub(crate) web_clients: &'static dyn WebClients,
    /// Choice of the remote server for each application.
    pub(crate) choice: ServerChoice,
    /// Applications that this process works for.
    pub(crate) applications: Applications,
    pub(crate) notices: Vec<String>,
    /// Audit logs of applications.
    pub(crate) audit: AuditSets,
}

/// Applications that a process works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applications {
    /// The user's list: this process keeps the main tunnels too.
    Stored,
    /// Only temporary ones, for as long as it lives. Another process may work for the list at the same time, with the
    /// same credentials.
    Temporary,
    /// The user's list, to read and change them only.
    Idle,
}

impl Deref for AppState {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.environment
    }
}

impl AppState {
    /// True if it connects applications.
    pub(crate) fn is_running(&self) -> bool {
        self.applications != Applications::Idle
    }

    /// True if this process keeps the main tunnels.
    pub(crate) fn keeps_main_tunnels(&self) -> bool {
        self.applications == Applications::Stored
    }

    /// The remote server that an application is connected through next.
    pub(crate) fn server_of(&self, app: &AppConfig) -> Result<ServerUrl, String> {
        let servers = self.choice.now().map_err(|error| error.to_string())?;
        servers.of(app)
    }

    /// True if applications are, or will be, connected through the server with this origin, or if that cannot be
    /// told.
    pub(crate) fn is_in_use(&self, origin: &str) -> bool {
        let leads_there = |server: &ServerUrl| server.origin() == origin;
        if !self.connections.through(origin).is_empty() {
            return true;
        }
        let (Ok(servers), Ok(apps)) = (self.choice.now(), self.apps.list()) else {
            return true;
        };
        let default = servers.default();
        default.is_ok_and(|server| server.as_ref().is_some_and(leads_there))
            || apps
                .iter()
                .any(|app| servers.of(app).is_ok_and(|server| leads_there(&server)))
    }

    /// Schedules the end of the application, as it is stored now; does nothing if it has no end time.
    pub(crate) fn end_in_time(self: &Arc<Self>, stored: &AppConfig) {
        if self.note_end(stored) && self.is_running() {
            let (of_thread, lookout) = (Arc::downgrade(self), &self.ends.lookout);
            lookout.begin(Thread::Expiry, move || of_thread.upgrade()?.end_expired());
        }
    }

    /// Notes the end of an application as it is stored; false if it has none.
    fn note_end(&self, stored: &AppConfig) -> bool {
        match &stored.expires {
            Some(expires) => {
                let has_expired = stored.is_noted_as_expired();
                self.ends
                    .note(&stored.id, expires, has_expired, Clocks::now());
            }
            None => self.ends.forget(&stored.id),
        }
        stored.expires.is_some()
    }

    /// Result of an application's connection, or of the last one if it has expired.
    pub(crate) fn result(&self, app: &AppConfig) -> Option<ConnectResult> {
        let expired = || {
            let has_expired = app.has_expired(&self.ends);
            has_expired.then(|| self.connections.expired(&app.id))
        };
        self.connections.result(&app.id, Some(app)).or_else(expired)
    }

    /// Ends the applications that have expired; returns the time until the next one expires.
    fn end_expired(&self) -> Option<Duration> {
        loop {
            let (expired, next) = self.ends.take_expired(Clocks::now());
            if expired.is_empty() {
                return next;
            }
            for (id, expires) in expired {
                self.end(&id, &expires);
            }
        }
    }

    /// Ends an application's connection and saves that it has expired.
    fn end(&self, id: &str, expires: &String) {
        match self.apps.find(id) {
            Ok(app) if app.expires.as_ref() != Some(expires) => {
                // The stored end time counts, and is watched from now on.
                self.note_end(&app);
                return;
            }
            Ok(app) => log::info!("application '{}': expired", app.name),
            // Its connection ends all the same.
            Err(error) => log::warn!("application {id}: {error}"),
        }
        // Before it is saved, which may wait for another process.
        self.connections.expire(id);
        match self.apps.mark_expired(id, expires) {
            Ok(()) | Err(app_store::Error::Unknown(_)) => {}
            Err(error) => log::warn!("application {id}: cannot save its end: {error}"),
        }
    }

    /// Removes old audit logs of applications that no longer exist; none if the applications cannot be read.
    pub(crate) fn sweep_audit(&self) {
        let stored = AppStore::new(self.home.clone()).list();
        if let (Ok(stored), Ok(own)) = (stored, self.apps.list()) {
            let is_there = |id: &str| stored.iter().chain(&own).any(|app| app.id == id);
            self.audit.sweep(is_there);
        }
    }

    /// Ends the main tunnels of servers that no application is connected through, or is to be.
    pub(crate) fn retire_unused_main_tunnels(&self) {
        for remote in self.servers.all() {
            if remote.snapshot().main.is_some() && !self.is_in_use(&remote.origin) {
                remote.retire_main_tunnel();
            }
        }
    }
}

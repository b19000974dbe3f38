//! A connection from two sides: its thread ([`ConnectionOwner`]), which alone changes it, and all others, which read
//! its published status and give it commands ([`ConnectionRecord`]).

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::error::ConnectError;
use super::state::{ConnectResult, ConnectionState, Step, of_tunnel};
use super::status::{Awaited, ConnectionStatus};
use crate::api::Cure;
use crate::gateway::RequestStats;
use crate::http::VisitorCount;
use crate::http::metrics::Durations;
use crate::manager::apps::app::AppConfig;
use crate::manager::request_log::{AppAudit, RequestLog};
use crate::plugin::StatementLog;
use crate::store::AuditSets;
use crate::sync::{Changes, Mutex, MutexGuard};
use crate::tunnel::client::Snapshot;

/// Numbers of the last records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RecordNumbers {
    pub(super) requests: u64,
    pub(super) statements: u64,
}

/// Counters of a connection.
pub(crate) struct ConnectionStats {
    /// Snapshot of its tunnel.
    pub(crate) tunnel: Option<Snapshot>,
    /// Requests or statements by result, and their durations; none for other protocols.
    pub(crate) answers: Option<(Vec<(&'static str, u64)>, Durations)>,
    /// Refused requests and first-byte times; none without HTTP.
    pub(crate) requests: Option<Arc<RequestStats>>,
}

/// An active connection, as the map has it.
pub(crate) struct ConnectionRecord {
    /// Published by the owner; nobody else writes it.
    status: Mutex<ConnectionStatus>,
    /// Notifies those who watch the application.
    pub(super) changes_shown: Arc<Changes>,
    /// The stop signal: given by dropping it.
    stop: Mutex<Option<Sender<()>>>,
    /// Closed when the stop signal is given.
    pub(crate) stopped: Receiver<()>,
    /// Command to end a pause. One message is enough.
    retry: (Sender<()>, Receiver<()>),
    /// Command to follow a change of the application. One message is enough.
    change: (Sender<()>, Receiver<()>),
    /// Statements and presence of a database's visitors.
    pub(crate) statements: Arc<StatementLog>,
    /// Closed when the thread has ended and everything is given back.
    pub(super) done: Receiver<()>,
    /// Requests and presence of a site's visitors, from its gateway.
    pub(crate) requests: Arc<RequestLog>,
}

/// The side of a connection's thread.
pub(crate) struct ConnectionOwner(Arc<ConnectionRecord>);

impl ConnectionOwner {
    /// Begins a connection of `app`; `done` is closed by its thread. Its records are numbered after those of the
    /// connection before.
    pub(super) fn begin(
        before: RecordNumbers,
        app: &AppConfig,
        done: Receiver<()>,
        changes: Arc<Changes>,
    ) -> Self {
        let (stop, stopped) = crossbeam_channel::bounded(0);
        let first = Step::first_of(app.protocol);
        Self(Arc::new(ConnectionRecord {
            status: Mutex::new(ConnectionStatus::new(app, first, stopped.clone())),
            stop: Mutex::new(Some(stop)),
            stopped,
            retry: crossbeam_channel::bounded(1),
            change: crossbeam_channel::bounded(1),
            statements: Arc::new(StatementLog::notifying(&changes, before.statements)),
            done,
            requests: Arc::new(RequestLog::notifying(&changes, before.requests)),
            changes_shown: changes,
        }))
    }

    /// The side of everybody else.
    pub(super) fn shared(&self) -> Arc<ConnectionRecord> {
        Arc::clone(&self.0)
    }

    /// Locks the status for a change; waiters are notified once it is unlocked.
    pub(super) fn change(&self) -> StatusGuard<'_> {
        StatusGuard {
            status: self.0.status(),
            _notify: NotifyOnDrop(&self.0.changes_shown),
        }
    }

    /// Called when the work has failed (`setError`). `pause` is the time to the next round, if there is to be one;
    /// returns the event that it waits for.
    pub(super) fn fail(&self, failure: ConnectError, pause: Option<Duration>) -> Option<Awaited> {
        // Commands from before the pause do not end it.
        while self.retries().try_recv().is_ok() {}
        self.change().fail(failure, pause)
    }

    /// Applies the recording settings of `app` from now on, with `files` if it has an audit log.
    pub(super) fn set_recording(&self, app: &AppConfig, files: &AuditSets) {
        let mut status = self.0.status();
        let active_settings = &mut status.active_settings;
        (active_settings.audit, active_settings.record_sql) = (app.audit, app.record_sql);
        drop(status);
        self.statements.keep_sql(app.record_sql);
        let audit = AppAudit::of(app, files);
        self.statements.set_sink(audit.clone());
        self.requests.records.set_sink(audit);
    }
}

impl Deref for ConnectionOwner {
    type Target = ConnectionRecord;

    fn deref(&self) -> &ConnectionRecord {
        &self.0
    }
}

/// Reading.
impl ConnectionRecord {
    /// Returns the numbers of the last records.
    pub(super) fn numbers(&self) -> RecordNumbers {
        RecordNumbers {
            requests: self.requests.records.last(),
            statements: self.statements.last(),
        }
    }

    /// Current state.
    pub(crate) fn state(&self) -> ConnectionState {
        self.status().current().0
    }

    /// Result for the API; with `saved`, also whether the saved settings differ.
    pub(crate) fn result(&self, saved: Option<&AppConfig>) -> ConnectResult {
        let status = self.status();
        let (state, snapshot) = status.current();
        let differs =
            |saved| !status.is_saving_server && status.active_settings.differs_in_force(saved);
        let visitors = self.visitors(&status, snapshot.as_ref());
        ConnectResult {
            pending_changes: state.is_active() && saved.is_some_and(differs),
            ..status.result(state, snapshot.as_ref(), visitors)
        }
    }

    /// Result after the application has expired.
    pub(super) fn expired(&self) -> ConnectResult {
        let status = self.status();
        let (state, snapshot) = status.current();
        let last = status.result(state, snapshot.as_ref(), None);
        ConnectResult {
            bytes_in: last.bytes_in,
            bytes_out: last.bytes_out,
            reconnects: last.reconnects,
            visitors: self.visitors(&status, snapshot.as_ref()),
            ..ConnectResult::expired()
        }
    }

    /// Current visitors; without HTTP, from its tunnel.
    fn visitors(
        &self,
        status: &ConnectionStatus,
        tunnel: Option<&Snapshot>,
    ) -> Option<VisitorCount> {
        let protocol = status.active_settings.protocol;
        if protocol.is_database() {
            return Some(self.statements.visitors());
        }
        if protocol.has_gateway() {
            return Some(self.requests.visitors());
        }
        tunnel
            .filter(|_| status.step == Step::Serving)
            .map(of_tunnel)
    }

    /// Returns its counters.
    pub(crate) fn stats(&self) -> ConnectionStats {
        let status = self.status();
        let (_, snapshot) = status.current();
        let protocol = status.active_settings.protocol;
        drop(status);
        let stats = &self.requests.stats;
        let requests = protocol.has_gateway().then(|| Arc::clone(stats));
        ConnectionStats {
            tunnel: snapshot,
            answers: if protocol.is_database() {
                Some(self.statements.answers())
            } else {
                let stats = requests.as_ref();
                stats.map(|stats| (stats.classes(), stats.whole.read()))
            },
            requests,
        }
    }

    /// True if the active terms equal those of `app`.
    pub(super) fn has_same_terms(&self, app: &AppConfig) -> bool {
        self.status().active_settings.has_same_terms(app)
    }

    /// The remote server's origin; empty before it is known.
    pub(crate) fn server(&self) -> String {
        self.status().shown.server.clone()
    }

    /// True if it goes through the server with this origin.
    pub(crate) fn is_through(&self, origin: &str) -> bool {
        self.status().shown.server == origin
    }

    /// True if it counts toward the limit of connections, also while it waits for the next round.
    pub(crate) fn has_place(&self) -> bool {
        let status = self.status();
        status.current().0.is_active() || status.awaited.is_some()
    }

    /// True if only a change can help.
    fn is_refused(&self) -> bool {
        self.status().awaited == Some(Awaited::Change)
    }

    pub(super) fn status(&self) -> MutexGuard<'_, ConnectionStatus> {
        self.status.lock()
    }
}

/// Commands, and the signals that its thread waits for.
impl ConnectionRecord {
    /// Gives the stop signal; answers at once.
    pub(crate) fn stop(&self) {
        *self.stop.lock() = None;
        self.changes_shown.note();
    }

    /// True if the stop signal was given.
    pub(crate) fn is_stopped(&self) -> bool {
        self.status().is_stopped()
    }

    /// Gets a message for each command to end a pause.
    pub(crate) fn retries(&self) -> &Receiver<()> {
        &self.retry.1
    }

    /// Gets a message when the application was changed.
    pub(crate) fn changes(&self) -> &Receiver<()> {
        &self.change.1
    }

    /// Ends the current pause of any kind.
    pub(crate) fn retry(&self) {
        let _ = self.retry.0.try_send(());
        if let Some(tunnel) = &self.status().tunnel {
            tunnel.retry_now();
        }
    }

    /// Ends the pause because a main tunnel of its server is up, also after a refusal of the credentials, which the
    /// server accepts now. Another refusal would be repeated.
    pub(crate) fn retry_for_returned_server(&self) {
        let class = self.status().class;
        if !self.is_refused() || class.is_some_and(|class| class.row().cure == Cure::Login) {
            self.wake();
        }
    }

    /// Ends the current pause, unless only a change can help.
    pub(crate) fn retry_unless_refused(&self) {
        if !self.is_refused() {
            self.wake();
        }
    }

    /// Like [`ConnectionRecord::retry`]; a tunnel's attempt that is under way and fails is followed by another.
    fn wake(&self) {
        self.retry();
        if let Some(tunnel) = &self.status().tunnel {
            tunnel.wake();
        }
    }

    /// Retries because another host key of the tunnel server is trusted.
    pub(crate) fn retry_with_trusted_key(&self, server: &str) {
        let status = self.status();
        let refused = status.shown.host_key.as_ref();
        let is_its_own = refused.is_some_and(|key| key.server == server);
        drop(status);
        // Other connections may wait for their main tunnel.
        if is_its_own || !self.is_refused() {
            self.retry();
        }
    }

    /// Called when its application was changed: a failed connection is retried, a running one follows.
    pub(crate) fn notify_application_changed(&self) {
        let _ = self.change.0.try_send(());
        if self.status().awaited.is_some() {
            self.retry();
        }
    }

    /// Applies a change and waits until the server has too. False if it must be repeated, or takes too long.
    pub(crate) fn follows_change(&self, app: &AppConfig, deadline: Instant) -> bool {
        let before = self.status().changes_sent;
        let mut next = self.changes_shown.next();
        self.notify_application_changed();
        loop {
            let status = self.status();
            let (state, _) = status.current();
            if !state.is_active() || status.active_settings.has_same_terms(app) {
                return true;
            }
            let is_still_pending = status.changes_sent != before && status.pause.is_some();
            drop(status);
            if is_still_pending || next.recv_deadline(deadline) == Err(RecvTimeoutError::Timeout) {
                return false;
            }
            next = self.changes_shown.next();
        }
    }
}

/// A change of the status. Its fields are dropped in their order.
pub(super) struct StatusGuard<'a> {
    status: MutexGuard<'a, ConnectionStatus>,
    _notify: NotifyOnDrop<'a>,
}

struct NotifyOnDrop<'a>(&'a Changes);

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.0.note();
    }
}

impl Deref for StatusGuard<'_> {
    type Target = ConnectionStatus;

    fn deref(&self) -> &ConnectionStatus {
        &self.status
    }
}

impl DerefMut for StatusGuard<'_> {
    fn deref_mut(&mut self) -> &mut ConnectionStatus {
        &mut self.status
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;

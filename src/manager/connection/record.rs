//! One connection: its state, its result, and the signal that ends it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError};

use super::error::{self, ConnectError};
use super::health::{Answer, Health, HealthState};
use super::result::{ConnectResult, HostKey, class_name, of_tunnel};
use super::state::{ConnectionState, Event};
use super::status::{Awaited, ConnectionStatus, ShownFailure, Site};
use super::step::Step;
use crate::gateway::RequestStats;
use crate::http::VisitorCount;
use crate::http::metrics::Durations;
use crate::manager::apps::app::AppConfig;
use crate::manager::audit::AppAudit;
use crate::manager::quick_setup::Wait;
use crate::manager::request_log::RequestLog;
use crate::plugin::{GuestInForce, StatementLog};
use crate::store::AuditSets;
use crate::sync::{Changes, Mutex, MutexGuard};
use crate::tunnel::client::Snapshot;
use crate::tunnel::group::TunnelGroup;

/// Counters of a connection.
pub(crate) struct Figures {
    /// Its tunnel, as it is now.
    pub(crate) tunnel: Option<Snapshot>,
    /// Requests, or statements, by what came of them, and how long they took; of what speaks neither none.
    pub(crate) answers: Option<(Vec<(&'static str, u64)>, Durations)>,
    /// Of requests also who was refused, and how long the first byte took.
    pub(crate) requests: Option<Arc<RequestStats>>,
}

/// An active connection. Its thread holds it, and the map of all.
pub(crate) struct ConnectionRecord {
    status: Mutex<ConnectionStatus>,
    /// Changes of what is shown of its application.
    changes: Arc<Changes>,
    stopped: Receiver<()>,
    retry: (Sender<()>, Receiver<()>),
    change: (Sender<()>, Receiver<()>),
    /// The statements of a database's visitors.
    statements: Arc<StatementLog>,
    /// Closed when the thread has ended and everything is given back.
    done: Receiver<()>,
    /// The requests of a site's visitors, from its gateway.
    requests: Arc<RequestLog>,
}

impl ConnectionRecord {
    /// A connection of `app` that begins; `done` is closed by its thread.
    pub(crate) fn new(
        app: &AppConfig,
        step: Step,
        done: Receiver<()>,
        changes: Arc<Changes>,
    ) -> Arc<Self> {
        let (stop, stopped) = crossbeam_channel::bounded(0);
        Arc::new(Self {
            status: Mutex::new(ConnectionStatus::new(app, step, stop)),
            stopped,
            retry: crossbeam_channel::bounded(1),
            change: crossbeam_channel::bounded(1),
            statements: Arc::new(StatementLog::telling(&changes)),
            done,
            requests: Arc::new(RequestLog::telling(&changes)),
            changes,
        })
    }

    /// The requests of a site's visitors, and who of them is there.
    pub(crate) fn requests(&self) -> &Arc<RequestLog> {
        &self.requests
    }

    /// The stop signal: closed when it is given.
    pub(crate) fn stopped(&self) -> &Receiver<()> {
        &self.stopped
    }

    /// True if the stop signal was given.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.try_recv() != Err(TryRecvError::Empty)
    }

    /// Wishes to end a pause.
    pub(crate) fn retries(&self) -> &Receiver<()> {
        &self.retry.1
    }

    /// Gets a message when the application was changed.
    pub(crate) fn changes(&self) -> &Receiver<()> {
        &self.change.1
    }

    /// Applies the recording settings of `app` from now on, with `files` if it has an audit log.
    pub(super) fn notes_as(&self, app: &AppConfig, files: &AuditSets) {
        let mut status = self.status();
        let made_from = &mut status.made_from;
        (made_from.audit, made_from.record_sql) = (app.audit, app.record_sql);
        drop(status);
        self.statements.keep_sql(app.record_sql);
        let audit = AppAudit::of(app, files);
        self.statements.write_to(audit.clone());
        self.requests.records.write_to(audit);
    }

    /// The statements of a database's visitors, and who of them is there.
    pub(crate) fn statements(&self) -> &Arc<StatementLog> {
        &self.statements
    }

    /// Closed when the connection's thread has ended.
    pub(crate) fn done(&self) -> &Receiver<()> {
        &self.done
    }

    /// Where it is now.
    pub(crate) fn state(&self) -> ConnectionState {
        self.status().state()
    }

    /// Everything about it, for the API.
    pub(crate) fn result(&self) -> ConnectResult {
        let mut status = self.status();
        let snapshot = status.look();
        let visitors = self.visitors(&status, snapshot.as_ref());
        status.result(snapshot.as_ref(), visitors)
    }

    /// The class of its last failure.
    pub(super) fn failure_class(&self) -> Option<&'static str> {
        self.status().failure.class
    }

    /// Result of an expired one.
    pub(super) fn lapsed(&self) -> ConnectResult {
        let mut status = self.status();
        let snapshot = status.look();
        let visitors = self.visitors(&status, snapshot.as_ref());
        let last = status.result(snapshot.as_ref(), None);
        ConnectResult {
            bytes_in: last.bytes_in,
            bytes_out: last.bytes_out,
            reconnects: last.reconnects,
            visitors,
            ..ConnectResult::expired()
        }
    }

    /// Current visitors; without HTTP, from its tunnel.
    fn visitors(
        &self,
        status: &ConnectionStatus,
        tunnel: Option<&Snapshot>,
    ) -> Option<VisitorCount> {
        let protocol = status.made_from.protocol;
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

    /// Its counters.
    pub(crate) fn figures(&self) -> Figures {
        let mut status = self.status();
        let snapshot = status.look();
        let protocol = status.made_from.protocol;
        drop(status);
        let stats = &self.requests.stats;
        let requests = protocol.has_gateway().then(|| Arc::clone(stats));
        Figures {
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

    /// Result compared with the saved settings of the application.
    pub(crate) fn result_beside(&self, saved: &AppConfig) -> ConnectResult {
        let mut result = self.result();
        let status = self.status();
        result.pending_changes = result.status.is_active()
            && !status.is_being_noted
            && status.made_from.differs_in_force(saved);
        drop(status);
        result
    }

    /// From now on it is made from this.
    pub(super) fn is_made_from(&self, app: &AppConfig) {
        let mut status = self.change();
        status.made_from = app.clone();
        status.ends_at.clone_from(&app.expires);
    }

    /// True if the active terms equal those of `app`.
    pub(super) fn has_terms_of(&self, app: &AppConfig) -> bool {
        self.status().made_from.has_terms_of(app)
    }

    /// From now on that holds, and this link carries the code.
    pub(super) fn has_terms(&self, app: &AppConfig, auth_url: String) {
        let mut status = self.change();
        status.made_from = status.made_from.with_terms_of(app);
        status.site.auth_url = auth_url;
    }

    /// This end ends it then, whatever the server was told.
    pub(super) fn ends_at(&self, expires: Option<&str>) {
        self.change().ends_at = expires.map(str::to_owned);
    }

    /// The server has not heard of a change: when it is told again, and why it has not.
    pub(super) fn owes(&self, owed: Option<(Instant, String)>) {
        let mut status = self.change();
        status.untold.clear();
        status.pause = owed.map(|(until, reason)| Wait {
            attempt: 0,
            until,
            reason: format!("the relay has not applied a change yet: {reason}"),
        });
    }

    /// True if the server has not applied a change yet.
    pub(super) fn is_owing(&self) -> bool {
        self.status().pause.is_some()
    }

    /// Checks whether the application answers.
    pub(super) fn health(&self) -> HealthState {
        self.status().health.state
    }

    /// The application has answered, or why it has not; true where that is news.
    pub(super) fn answered(&self, answer: Answer) -> bool {
        self.change().health.take(answer)
    }

    /// The remote server, by its origin.
    pub(crate) fn goes_through(&self, origin: &str) {
        origin.clone_into(&mut self.change().server);
    }

    /// The remote server's origin; empty before it is known.
    pub(crate) fn server(&self) -> String {
        self.status().server.clone()
    }

    /// True if it goes through the server with this origin.
    pub(crate) fn is_through(&self, origin: &str) -> bool {
        self.status().server == origin
    }

    /// The next step begins.
    pub(crate) fn step(&self, step: Step) {
        let mut status = self.change();
        status.step = step;
        status.attempt = 0;
        status.tunnel = None;
        status.pause = None;
        status.health = Health::default();
    }

    /// A step that waits for this tunnel begins.
    pub(crate) fn awaits(&self, step: Step, tunnel: Arc<TunnelGroup>) {
        let mut status = self.change();
        status.step = step;
        status.tunnel = Some(tunnel);
    }

    /// One more quick-setup call is made.
    pub(super) fn asks(&self) {
        self.change().attempt += 1;
    }

    /// The quick-setup calls pause, or go on.
    pub(crate) fn pauses(&self, pause: Option<Wait>) {
        let mut status = self.change();
        if status.step == Step::QuickSetup {
            status.pause = pause;
        }
    }

    /// Where the owner finds the web client.
    pub(crate) fn offers(&self, local_url: String) {
        self.change().local_url = local_url;
    }

    /// Sets the guest account of its visitors.
    pub(crate) fn has_guest(&self, guest: Option<Arc<GuestInForce>>) {
        self.change().guest = guest;
    }

    /// The work is complete.
    pub(super) fn completed(&self, site: Site) {
        let mut status = self.change();
        if status.go(Event::Completed) {
            status.step = Step::Serving;
            status.site = site;
            status.is_exposed = true;
            status.is_being_noted = true;
        }
    }

    /// Visitors find it elsewhere from here on.
    pub(super) fn is_now_at(&self, site_url: &str) {
        let mut status = self.change();
        if status.site.site_url != site_url {
            log::warn!("a port is at {site_url} now, because its relay is unreachable");
            site_url.clone_into(&mut status.site.site_url);
        }
    }

    /// Called when the server it was connected through is saved.
    pub(super) fn is_noted(&self) {
        self.change().is_being_noted = false;
    }

    /// The server takes the tunnel no more. What it said is shown until the next step begins.
    pub(crate) fn turned_away(&self) {
        // Nobody may have looked since the loss.
        self.change().go(Event::TunnelLost);
    }

    /// The work has failed (`setError`). `pause` is the time to the next round, where there is to be one; answers what
    /// that waits for.
    pub(super) fn failed(&self, failure: ConnectError, pause: Option<Duration>) -> Option<Awaited> {
        let mut status = self.change();
        let snapshot = status.look();
        status.awaited = None;
        if !status.go(Event::StepFailed) {
            return None;
        }
        // Wishes from before the pause do not end it.
        while self.retry.1.try_recv().is_ok() {}
        let mut shown = ShownFailure {
            error: failure.error,
            class: failure.class,
            hint: failure.hint,
            ..ShownFailure::default()
        };
        // Of any other failure, the tunnel's last error is not the reason.
        let reason = snapshot.filter(|_| failure.is_of_tunnel);
        if let Some(reason) = reason.and_then(|snapshot| snapshot.error) {
            shown.class = Some(class_name(reason.class));
            shown.host_key = reason.host_key.map(HostKey::from);
            shown.detail = reason.message;
        }
        let is_refusal = failure.is_refusal || shown.class.is_some_and(error::is_refusal);
        status.awaited = pause.map(|pause| {
            if is_refusal {
                Awaited::Change
            } else {
                Awaited::Moment(Instant::now() + error::pause_after(shown.class, pause))
            }
        });
        status.failure = shown;
        status.pause = None;
        status.untold.clear();
        status.local_url.clear();
        status.tunnel = None;
        status.awaited
    }

    /// The next round begins; false where it was ended meanwhile.
    pub(crate) fn begins_again(&self, step: Step) -> bool {
        let mut status = self.change();
        status.awaited = None;
        if !status.go(Event::RetryDue) {
            return false;
        }
        status.is_exposed = false;
        status.step = step;
        status.failure = ShownFailure::default();
        true
    }

    /// Waits for nothing any more: it stays failed.
    pub(crate) fn stays_failed(&self) {
        self.change().awaited = None;
    }

    /// True if it counts toward the limit of connections, also while it waits for the next round.
    pub(crate) fn has_place(&self) -> bool {
        let status = self.status();
        status.state().is_active() || status.awaited.is_some()
    }

    /// Gives the stop signal; answers at once.
    pub(crate) fn stop(&self) {
        let mut status = self.change();
        // Changes nothing where it has failed or ended already; the signal is given all the same.
        status.go(Event::Disconnect);
        status.stop = None;
        status.untold.clear();
    }

    /// Ends the present pause, whatever pauses.
    pub(crate) fn retry(&self) {
        // One wish is enough.
        let _ = self.retry.0.try_send(());
        if let Some(tunnel) = &self.status().tunnel {
            tunnel.retry_now();
        }
    }

    /// A main tunnel of its server is up: whatever pauses tries at once, also what had been refused for its
    /// credentials, as the server takes them now. Another refusal would be met again.
    pub(crate) fn server_is_back(&self) {
        if self.is_refused() && !self.is_refused_for_credentials() {
            return;
        }
        self.wake();
    }

    /// Ends the present pause, unless only a change can help.
    pub(crate) fn try_now(&self) {
        if !self.is_refused() {
            self.wake();
        }
    }

    /// As [`ConnectionRecord::retry`]; a tunnel's attempt that is under way and fails is followed by another.
    fn wake(&self) {
        self.retry();
        if let Some(tunnel) = &self.status().tunnel {
            tunnel.wake();
        }
    }

    /// True if only a change can help.
    fn is_refused(&self) -> bool {
        self.status().awaited == Some(Awaited::Change)
    }

    fn is_refused_for_credentials(&self) -> bool {
        let class = self.status().failure.class;
        self.is_refused() && class.is_some_and(error::is_refusal_of_credentials)
    }

    /// Another host key of the tunnel server is trusted.
    pub(crate) fn host_key_is_trusted(&self, server: &str) {
        let was_refused_for = |key: &HostKey| key.server == server;
        let is_its_own = self
            .status()
            .failure
            .host_key
            .as_ref()
            .is_some_and(was_refused_for);
        // Its main tunnel is not up yet.
        if is_its_own || !self.is_refused() {
            self.retry();
        }
    }

    /// Its application was changed: what has failed is tried with that, and what runs follows.
    pub(crate) fn application_has_changed(&self) {
        // One message is enough.
        let _ = self.change.0.try_send(());
        if self.status().awaited.is_some() {
            self.retry();
        }
    }

    /// Applies a change and waits until the server has too. False if it must be repeated, or takes too long.
    pub(crate) fn follows_change(&self, app: &AppConfig, deadline: Instant) -> bool {
        let mut told = self.told();
        self.application_has_changed();
        while self.state().is_active() && !self.has_terms_of(app) {
            let is_late = told.recv_deadline(deadline) == Err(RecvTimeoutError::Timeout);
            if is_late || self.is_owing() {
                return false;
            }
            told = self.told();
        }
        true
    }

    /// Closed when the server has heard of a change, or has not.
    fn told(&self) -> Receiver<()> {
        let (tell, told) = crossbeam_channel::bounded(0);
        self.status().untold.push(tell);
        told
    }

    /// The host key change that its tunnel reports.
    pub(crate) fn changed_host_key(&self) -> Option<HostKey> {
        self.result().host_key
    }

    /// The changes of what is shown of its application.
    pub(super) fn changes_shown(&self) -> &Arc<Changes> {
        &self.changes
    }

    fn status(&self) -> MutexGuard<'_, ConnectionStatus> {
        self.status.lock()
    }

    /// The status, to be changed; told once it is unlocked.
    fn change(&self) -> Change<'_> {
        Change {
            status: self.status(),
            _told: ToldAtEnd(&self.changes),
        }
    }
}

/// A change of the status. Its fields are dropped in their order.
struct Change<'a> {
    status: MutexGuard<'a, ConnectionStatus>,
    _told: ToldAtEnd<'a>,
}

struct ToldAtEnd<'a>(&'a Changes);

impl Drop for ToldAtEnd<'_> {
    fn drop(&mut self) {
        self.0.note();
    }
}

impl Deref for Change<'_> {
    type Target = ConnectionStatus;

    fn deref(&self) -> &ConnectionStatus {
        &self.status
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut ConnectionStatus {
        &mut self.status
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;

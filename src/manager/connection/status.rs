//! Status of one connection, and the part that is shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};

use super::error::ConnectError;
use super::probe::Health;
use super::state::{
    ConnectResult, ConnectionState, Event, Exposed, HostKey, RelayAt, Step, millis_until,
};
use crate::api::{Cure, ErrorClass};
use crate::http::VisitorCount;
use crate::manager::apps::app::AppConfig;
use crate::manager::quick_setup::Wait;
use crate::plugin::GuestInForce;
use crate::store::time::rfc3339;
use crate::tunnel::client::{Snapshot, Status};
use crate::tunnel::group::TunnelGroup;

/// Least pause after a changed host key. Default 10 s, as between two attempts of a tunnel; the known key may be back.
const KEY_PAUSE: Duration = Duration::from_secs(10);

/// All data of a connection that changes.
pub(super) struct ConnectionStatus {
    /// Settings in use, whatever is saved meanwhile.
    pub(super) active_settings: AppConfig,
    /// Time at which this end ends it, RFC 3339.
    pub(super) ends_at: Option<String>,
    /// The temporary account of a database's visitors, which has an end though the application may have none.
    pub(super) guest: Option<Arc<GuestInForce>>,
    state: ConnectionState,
    pub(super) step: Step,
    /// The part of its answers that only its thread changes.
    pub(super) shown: ConnectResult,
    /// Kind of its failure.
    pub(super) class: Option<ErrorClass>,
    /// True if the site was completed since the round began: it is exposed, also while its tunnel is lost.
    pub(super) is_exposed: bool,
    /// True while the server it was connected through is being saved: the saved one may be older.
    pub(super) is_saving_server: bool,
    /// The calls of this round so far.
    pub(super) attempt: u32,
    /// A pause of the quick-setup calls.
    pub(super) pause: Option<Wait>,
    /// The tunnel that is awaited or in use.
    pub(super) tunnel: Option<Arc<TunnelGroup>>,
    pub(super) health: Health,
    /// Event the next round waits for, after a failed one.
    pub(super) awaited: Option<Awaited>,
    /// Closed when the stop signal is given.
    stopped: Receiver<()>,
    /// Changes sent to the server, applied or not.
    pub(super) changes_sent: u64,
}

/// Event that a failed connection waits for before it is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A moment, or the server's return.
    Moment(Instant),
    /// A change of the application or the credentials: it was refused. A refusal of credentials also ends when the
    /// server accepts them again, which the main tunnel shows when it connects.
    Change,
}

impl ConnectionStatus {
    /// Status of a connection of `app` that begins.
    pub(super) fn new(app: &AppConfig, step: Step, stopped: Receiver<()>) -> Self {
        Self {
            active_settings: app.clone(),
            ends_at: app.expires.clone(),
            guest: None,
            state: ConnectionState::Connecting,
            step,
            shown: ConnectResult::default(),
            class: None,
            is_exposed: false,
            is_saving_server: false,
            attempt: 0,
            pause: None,
            tunnel: None,
            health: Health::default(),
            awaited: None,
            stopped,
            changes_sent: 0,
        }
    }

    /// True if the stop signal was given.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.try_recv() != Err(TryRecvError::Empty)
    }

    /// Returns the current state, and its tunnel. The loss and the return of a tunnel in use are events that are seen
    /// here, so nothing has to watch it. So is the stop signal, after which nothing counts.
    pub(super) fn current(&self) -> (ConnectionState, Option<Snapshot>) {
        let snapshot = self.tunnel.as_ref().map(|tunnel| tunnel.snapshot());
        let in_use = snapshot.as_ref().filter(|_| self.step == Step::Serving);
        let event = match in_use.map(|snapshot| snapshot.status) {
            _ if self.is_stopped() => Some(Event::Disconnect),
            Some(Status::Connected) => Some(Event::TunnelBack),
            Some(_) => Some(Event::TunnelLost),
            None => None,
        };
        let next = event.and_then(|event| self.state.on(event));
        (next.unwrap_or(self.state), snapshot)
    }

    /// Applies an event to the current state; false if it changes nothing.
    pub(super) fn apply_event(&mut self, event: Event) -> bool {
        let (now, _) = self.current();
        let next = now.on(event);
        self.state = next.unwrap_or(now);
        next.is_some()
    }

    /// Begins the next step.
    pub(super) fn begin(&mut self, step: Step) {
        self.step = step;
        self.attempt = 0;
        self.tunnel = None;
        self.pause = None;
        self.health = Health::default();
    }

    /// Begins a step that waits for this tunnel.
    pub(super) fn wait_for(&mut self, step: Step, tunnel: Arc<TunnelGroup>) {
        self.step = step;
        self.tunnel = Some(tunnel);
    }

    /// Sets or ends a pause of the quick-setup calls.
    pub(super) fn pause_calls(&mut self, pause: Option<Wait>) {
        if self.step == Step::QuickSetup {
            self.pause = pause;
        }
    }

    /// Sets the settings that are active from now on.
    pub(super) fn set_active_settings(&mut self, app: &AppConfig) {
        self.active_settings = app.clone();
        self.ends_at.clone_from(&app.expires);
    }

    /// Sets the active terms, and the link with the code.
    pub(super) fn set_terms(&mut self, app: &AppConfig, auth_url: String) {
        self.active_settings = self.active_settings.with_terms_of(app);
        self.shown.auth_url = auth_url;
    }

    /// Called after a change was sent to the server. If it was not applied, `pending` is the time of the next attempt,
    /// and the reason.
    pub(super) fn set_pending_change(&mut self, pending: Option<(Instant, String)>) {
        self.changes_sent += 1;
        self.pause = pending.map(|(until, reason)| Wait {
            attempt: 0,
            until,
            reason: format!("the relay has not applied a change yet: {reason}"),
        });
    }

    /// Completes the work; `site` has the addresses for visitors.
    pub(super) fn complete(&mut self, site: ConnectResult) {
        if self.apply_event(Event::Completed) {
            self.step = Step::Serving;
            self.shown = ConnectResult {
                server: std::mem::take(&mut self.shown.server),
                local_url: std::mem::take(&mut self.shown.local_url),
                ..site
            };
            self.is_exposed = true;
            self.is_saving_server = true;
        }
    }

    /// Sets the address for visitors.
    pub(super) fn set_site_url(&mut self, site_url: &str) {
        if self.shown.site_url != site_url {
            log::warn!("a port is at {site_url} now, because its relay is unreachable");
            site_url.clone_into(&mut self.shown.site_url);
        }
    }

    /// Marks it as failed, see [`ConnectionOwner::fail`](super::record::ConnectionOwner::fail).
    pub(super) fn fail(
        &mut self,
        failure: ConnectError,
        pause: Option<Duration>,
    ) -> Option<Awaited> {
        let (_, snapshot) = self.current();
        self.awaited = None;
        if !self.apply_event(Event::StepFailed) {
            return None;
        }
        let shown = &mut self.shown;
        (shown.error, shown.hint) = (failure.error, failure.hint.into());
        self.class = failure.class;
        // The tunnel's last error is not the reason for any other failure.
        let reason = snapshot.filter(|_| failure.is_of_tunnel);
        if let Some(reason) = reason.and_then(|snapshot| snapshot.error) {
            self.class = Some(reason.class.into());
            shown.host_key = reason.host_key.map(HostKey::from);
            shown.detail = reason.message;
        }
        shown.error_class = self.class.map(|class| class.code().into());
        shown.local_url.clear();
        let lasts = |class: ErrorClass| class.row().cure != Cure::Time;
        let is_refusal = failure.is_refusal || self.class.is_some_and(lasts);
        self.awaited = pause.map(|pause| match self.class {
            _ if is_refusal => Awaited::Change,
            Some(ErrorClass::HostKeyChanged) => {
                Awaited::Moment(Instant::now() + pause.max(KEY_PAUSE))
            }
            _ => Awaited::Moment(Instant::now() + pause),
        });
        self.pause = None;
        self.tunnel = None;
        self.awaited
    }

    /// Begins the next round; false if it was ended meanwhile.
    pub(super) fn begin_again(&mut self, step: Step) -> bool {
        self.awaited = None;
        if !self.apply_event(Event::RetryDue) {
            return false;
        }
        self.is_exposed = false;
        self.step = step;
        self.class = None;
        let shown = &mut self.shown;
        (shown.error, shown.error_class, shown.hint) = Default::default();
        (shown.detail, shown.host_key) = Default::default();
        true
    }

    /// The earliest of its end times; texts in this form sort by time.
    fn ends(&self) -> Option<String> {
        let guests = self.guest.as_ref().map(|guest| rfc3339(guest.expires()));
        let own = [&self.ends_at, &self.active_settings.expires];
        own.into_iter().flatten().cloned().chain(guests).min()
    }

    /// Active settings.
    fn exposed(&self) -> Exposed {
        let guest = self.guest.as_ref();
        Exposed {
            expires: self.ends(),
            guest_tables: guest.map(|guest| guest.tables),
            guest_views: guest.map(|guest| guest.views),
            ..self.active_settings.shown().saved()
        }
    }

    /// Result for the API, with these `visitors`.
    pub(super) fn result(
        &self,
        state: ConnectionState,
        snapshot: Option<&Snapshot>,
        visitors: Option<VisitorCount>,
    ) -> ConnectResult {
        let pause = self.pause.as_ref();
        let mut result = ConnectResult {
            status: state,
            step: Some(self.step.number()),
            step_name: Some(self.step.name().into()),
            attempt: (self.step == Step::QuickSetup && self.attempt > 0).then_some(self.attempt),
            next_retry_ms: pause.map(|pause| millis_until(pause.until)),
            ..self.shown.clone()
        };
        if let Some(Awaited::Moment(at)) = self.awaited {
            result.next_retry_ms = Some(millis_until(at));
        }
        if let Some(pause) = pause {
            result.error.clone_from(&pause.reason);
            result.error_class = Some(ErrorClass::QuickSetup.code().into());
        }
        if self.is_exposed && state.is_active() {
            result.exposed = Some(self.exposed());
            result.visitors = visitors;
        }
        if state == ConnectionState::Connected {
            result.health = Some(self.health.clone());
        }
        if let Some(snapshot) = snapshot {
            result.add_tunnel(snapshot, self.step == Step::Serving);
        }
        if let Some(tunnel) = self.tunnel.as_ref().filter(|_| self.step == Step::Serving) {
            result.relays = RelayAt::of(tunnel);
        }
        result
    }
}

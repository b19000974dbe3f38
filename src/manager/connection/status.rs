//! Status of one connection, and the part that is shown.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;

use super::health::Health;
use super::result::{ConnectResult, Exposed, HostKey, RelayAt, millis_until};
use super::state::{ConnectionState, Event};
use super::step::Step;
use crate::api::Word;
use crate::http::VisitorCount;
use crate::manager::apps::app::AppConfig;
use crate::manager::quick_setup::Wait;
use crate::plugin::GuestInForce;
use crate::store::time::rfc3339;
use crate::tunnel::client::{Snapshot, Status};
use crate::tunnel::group::TunnelGroup;

/// All that changes of a connection.
pub(super) struct ConnectionStatus {
    /// Settings it is made from, whatever is saved meanwhile.
    pub(super) made_from: AppConfig,
    /// When this end ends it: RFC 3339.
    pub(super) ends_at: Option<String>,
    /// The temporary account of a database's visitors, which has an end though the application may have none.
    pub(super) guest: Option<Arc<GuestInForce>>,
    state: ConnectionState,
    pub(super) step: Step,
    /// The remote server's origin, once it is known.
    pub(super) server: String,
    pub(super) site: Site,
    /// True if the site was completed since the round began: it is exposed, also while its tunnel is lost.
    pub(super) is_exposed: bool,
    /// True while the server it was connected through is being saved: the saved one may be older.
    pub(super) is_being_noted: bool,
    pub(super) local_url: String,
    pub(super) failure: ShownFailure,
    /// The calls of this round so far.
    pub(super) attempt: u32,
    /// A pause of the quick-setup calls.
    pub(super) pause: Option<Wait>,
    /// The tunnel that is awaited or in use.
    pub(super) tunnel: Option<Arc<TunnelGroup>>,
    pub(super) health: Health,
    /// Event the next round waits for, after a failed one.
    pub(super) awaited: Option<Awaited>,
    /// Dropped to give the stop signal.
    pub(super) stop: Option<Sender<()>>,
    /// Dropped to tell those who wait that the server has heard of a change, or has not.
    pub(super) untold: Vec<Sender<()>>,
}

/// Why it has failed; empty where it has not.
#[derive(Default)]
pub(super) struct ShownFailure {
    pub(super) error: String,
    pub(super) class: Option<&'static str>,
    pub(super) hint: &'static str,
    /// The tunnel's own words.
    pub(super) detail: String,
    pub(super) host_key: Option<HostKey>,
}

/// Result of the completed work.
#[derive(Default)]
pub(super) struct Site {
    pub(super) site_url: String,
    pub(super) auth_url: String,
    pub(super) app_id: String,
    /// The name that its site was to have, where it has another one.
    pub(super) site_name_wanted: Option<String>,
}

/// Event that a failed connection waits for before it is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// This moment, or the server's return.
    Moment(Instant),
    /// A change of the application or the credentials: it was refused. A refusal of credentials also ends when the server takes them again, which a main tunnel's coming up shows.
    Change,
}

impl ConnectionStatus {
    /// That of a connection of `app` that begins.
    pub(super) fn new(app: &AppConfig, step: Step, stop: Sender<()>) -> Self {
        Self {
            made_from: app.clone(),
            ends_at: app.expires.clone(),
            guest: None,
            state: ConnectionState::Connecting,
            step,
            server: String::new(),
            site: Site::default(),
            is_exposed: false,
            is_being_noted: false,
            local_url: String::new(),
            failure: ShownFailure::default(),
            attempt: 0,
            pause: None,
            tunnel: None,
            health: Health::default(),
            awaited: None,
            stop: Some(stop),
            untold: Vec::new(),
        }
    }

    /// Where it is now.
    pub(super) fn state(&self) -> ConnectionState {
        self.state
    }

    /// Follows the table; false where the event changes nothing.
    pub(super) fn go(&mut self, event: Event) -> bool {
        let next = self.state.on(event);
        self.state = next.unwrap_or(self.state);
        next.is_some()
    }

    /// Looks at the tunnel. Of one in use, the loss and the return are events: nothing has to watch it, because
    /// whoever asks looks first.
    pub(super) fn look(&mut self) -> Option<Snapshot> {
        let snapshot = self.tunnel.as_ref()?.snapshot();
        if self.step == Step::Serving {
            self.go(match snapshot.status {
                Status::Connected => Event::TunnelBack,
                _ => Event::TunnelLost,
            });
        }
        Some(snapshot)
    }

    /// When it ends, by the end that does so first: texts of one form are in the order of time.
    fn ends(&self) -> Option<String> {
        let guests = self.guest.as_ref().map(|guest| rfc3339(guest.expires()));
        let own = [&self.ends_at, &self.made_from.expires];
        own.into_iter().flatten().cloned().chain(guests).min()
    }

    /// Active settings.
    fn exposed(&self) -> Exposed {
        let guest = self.guest.as_ref();
        Exposed {
            expires: self.ends(),
            guest_tables: guest.map(|guest| guest.tables),
            guest_views: guest.map(|guest| guest.views),
            ..self.made_from.shown().saved()
        }
    }

    /// `visitors` are those that its gateway knows.
    pub(super) fn result(
        &self,
        snapshot: Option<&Snapshot>,
        visitors: Option<VisitorCount>,
    ) -> ConnectResult {
        let pause = self.pause.as_ref();
        let mut result = ConnectResult {
            status: self.state,
            server: self.server.clone(),
            site_url: self.site.site_url.clone(),
            site_name_wanted: self.site.site_name_wanted.clone(),
            auth_url: self.site.auth_url.clone(),
            app_id: self.site.app_id.clone(),
            local_url: self.local_url.clone(),
            error: self.failure.error.clone(),
            error_class: self.failure.class.map(Word::from),
            hint: self.failure.hint.into(),
            detail: self.failure.detail.clone(),
            host_key: self.failure.host_key.clone(),
            step: Some(self.step.number()),
            step_name: Some(self.step.name().into()),
            attempt: (self.step == Step::QuickSetup && self.attempt > 0).then_some(self.attempt),
            next_retry_ms: pause.map(|pause| millis_until(pause.until)),
            ..ConnectResult::default()
        };
        if let Some(Awaited::Moment(at)) = self.awaited {
            result.next_retry_ms = Some(millis_until(at));
        }
        if let Some(pause) = pause {
            result.error.clone_from(&pause.reason);
            result.error_class = Some("quick-setup".into());
        }
        if self.is_exposed && self.state.is_active() {
            result.exposed = Some(self.exposed());
            result.visitors = visitors;
        }
        if self.state == ConnectionState::Connected {
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

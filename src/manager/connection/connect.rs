//! The work of one connection's thread: the connect sequence, the wait for the stop signal, and giving all back.
//!
//! ```text
//! [web client] ─ 1 quick-setup ─ 2 save credentials ─ 3 main tunnel ─ 4 app tunnel ─ 5 its signal ─ 6, 7 result ─ 8
//! wait │    ▲         └────── the stop signal ends each wait at once ──────┴─────────────┤ │    └───────── the server
//! does not know the tunnel's user any more ──────────────┤
//! └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! This is one round, with the specification's five calls; [`sequence`](super::sequence) has the steps 1 to 6. An
//! application with autoconnect, or one that was connected since the program started, is retried without end; a first
//! connect that fails is not retried.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never, select};

use super::error::{ConnectError, Ended};
use super::map::{NewConnection, is_of_server};
use super::record::ConnectionOwner;
use super::relays::RelayWatch;
use super::sequence::{ConnectionWork, HeldResources};
use super::state::{ConnectResult, ConnectionState, EXPIRED, EXTEND, Event, Step};
use super::status::Awaited;
use super::terms::Applied;
use super::watch::{HealthWatch, WatchEnd};
use crate::api::ErrorClass;
use crate::manager::app_state::AppState;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::app_store;
use crate::sync::{Thread, spawn};
use crate::tunnel::client::{Class, Pauses};
use crate::tunnel::group::TunnelGroup;

/// Time for an earlier connection of the same application to give back what it held: closing a tunnel takes a second at
/// most, ending a web client two.
const PREDECESSOR_WAIT: Duration = Duration::from_secs(4);
/// Minimum time from one sequence to the next if the server rejects the tunnel, as between two attempts of such a
/// tunnel.
const SEQUENCE_PAUSE: Duration = Duration::from_secs(10);
/// Pause if the tunnel found another server at its port, or none: this machine's relay has moved and rejected nothing.
const MOVED_PAUSE: Duration = Duration::from_secs(1);

/// The pause after the first round that failed: the round itself took some ten, unless it was refused.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause: one call a minute is little to a server, and an hour's outage costs a minute more.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Begins an application's connection, unless there is one; answers its status.
pub(crate) fn begin(core: &Arc<AppState>, app: AppConfig) -> Result<ConnectionState, ConnectError> {
    if app.has_expired(&core.ends) {
        core.connections.note_failure(ErrorClass::Expired);
        return Err(ConnectError::new(ErrorClass::Expired, EXPIRED).hint(EXTEND));
    }
    let (of_thread, of_work) = (Arc::clone(core), app.clone());
    core.connections.connect(&app, |new| {
        let NewConnection {
            record,
            predecessor,
            working,
        } = new;
        // The connection's own thread: it does the work, then waits for the stop signal; ends after that, or when
        // the work fails.
        spawn(Thread::Connection, move || {
            run(&of_thread, &record, of_work, predecessor.as_ref());
            drop(working);
        })
    })
}

/// Reconnects the applications that are connected through the server with this origin but now use another.
pub(crate) fn leave(core: &Arc<AppState>, origin: &str) {
    for id in core.connections.through(origin).into_keys() {
        let Ok(app) = core.apps.find(&id) else {
            continue;
        };
        let goes_there = core.server_of(&app).is_ok_and(|url| url.origin() == origin);
        if goes_there || core.connections.disconnect(&id).is_none() {
            continue;
        }
        let name = app.name.clone();
        if let Err(refused) = begin(core, app) {
            log::warn!(
                "application '{name}' was not reconnected: {}",
                refused.error
            );
        }
    }
}

/// Does the work and waits for the stop signal. `predecessor` is closed when the application's earlier connection is
/// over.
fn run(
    core: &Arc<AppState>,
    record: &ConnectionOwner,
    app: AppConfig,
    predecessor: Option<&Receiver<()>>,
) {
    let _fail_on_panic = FailOnPanic(record);
    if let Some(predecessor) = predecessor {
        // A predecessor that takes longer loses its tunnel to this connection.
        let _ = predecessor.recv_timeout(PREDECESSOR_WAIT);
    }
    let mut rounds = Rounds::new();
    let mut work = ConnectionWork { core, record, app };
    while let Some(error) = work.round(&mut rounds)
        && let Some(awaited) = work.fail(&mut rounds, error)
        && work.wait_for(awaited)
    {
        let app = work.app;
        work.app = AppConfig {
            // A saved application is warned about another name; a temporary one requires its name each time.
            site_name_required: app.temporary && app.site_name_required,
            ..core.apps.find(&app.id).unwrap_or(app)
        };
        if !work.comes_back() {
            record.change().awaited = None;
            break;
        }
        if !record
            .change()
            .begin_again(Step::first_of(work.app.protocol))
        {
            break;
        }
    }
    // The application may use another server by now.
    if record.is_stopped() {
        core.retire_unused_main_tunnels();
    }
}

/// True if a tunnel is down because its server may have moved.
fn has_moved(tunnel: &TunnelGroup) -> bool {
    tunnel.snapshot().error.is_some_and(|failure| {
        !matches!(
            failure.class,
            Class::WrongPassword | Class::PermissionDenied
        )
    })
}

/// Marks a connection as failed when its thread panics; does nothing if it has ended otherwise.
struct FailOnPanic<'a>(&'a ConnectionOwner);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        let error = "the connection's work broke off: this is a fault of the program";
        self.0.fail(ConnectError::local(error), None);
    }
}

/// The rounds of one connection.
struct Rounds {
    pauses: Pauses,
    /// Error of the last round, so that an outage is logged once.
    last_error: String,
}

impl Rounds {
    fn new() -> Self {
        Self {
            pauses: pauses(),
            last_error: String::new(),
        }
    }

    /// Called when a round has succeeded: the next failure is a new one.
    fn reset(&mut self) {
        self.pauses.reset();
        self.last_error.clear();
    }

    /// The pause before the next round.
    fn pause(&mut self) -> Duration {
        self.pauses.next()
    }

    /// Sets the last error; true if it was the same before.
    fn set_error(&mut self, error: &str) -> bool {
        let is_same = self.last_error == error;
        error.clone_into(&mut self.last_error);
        is_same
    }
}

/// Pauses between endless retries.
fn pauses() -> Pauses {
    Pauses::new(FIRST_PAUSE, LONGEST_PAUSE)
}

impl ConnectionWork<'_> {
    /// Runs one round and gives back what it held. Returns the error; none after the stop signal.
    fn round(&self, rounds: &mut Rounds) -> Option<ConnectError> {
        let mut held = HeldResources::default();
        self.record.set_recording(&self.app, &self.core.audit);
        let work = ConnectionWork {
            app: self.app.clone(),
            ..*self
        };
        let ended = work.keep_connected(&mut held, rounds);
        drop(held);
        match ended {
            Err(Ended::Failed(error)) => Some(error),
            Ok(()) | Err(Ended::Stopped) => None,
        }
    }

    /// Called when a round has failed; returns the event that the next one waits for, if there is to be one.
    fn fail(&self, rounds: &mut Rounds, error: ConnectError) -> Option<Awaited> {
        let pause = self.comes_back().then(|| rounds.pause());
        self.log_failure(rounds, &error);
        let awaited = self.record.fail(error, pause);
        let class = self.record.status().class.unwrap_or(ErrorClass::Local);
        self.core.connections.note_failure(class);
        awaited
    }

    /// Logs a failure: one caused by the server once for all applications, others once for each.
    fn log_failure(&self, rounds: &mut Rounds, error: &ConnectError) {
        let (line, origin) = (error.in_one_line(), self.record.server());
        let class = error.class.unwrap_or(ErrorClass::Local);
        let is_servers = error.is_of_tunnel || is_of_server(class);
        let level = if is_servers && !self.core.tunnels.is_main_connected(&origin) {
            if self
                .core
                .connections
                .note_server_away(&origin, class, &line)
            {
                return;
            }
            log::Level::Debug
        } else if rounds.set_error(&error.error) {
            log::Level::Debug
        } else {
            log::Level::Warn
        };
        log::log!(level, "application '{}': {line}", self.app.name);
    }

    /// Waits for the event that begins the next round; false if the stop signal came first.
    fn wait_for(&self, awaited: Awaited) -> bool {
        // The server's owner stays alive while somebody waits for a change of the credentials.
        let (due, url) = match awaited {
            Awaited::Moment(moment) => (at(moment), None),
            Awaited::Change => (never(), self.core.server_of(&self.app).ok()),
        };
        let remote = url.and_then(|url| self.core.servers.of(url.origin()).ok());
        let changed = remote
            .as_ref()
            .map_or_else(never, |remote| remote.snapshot().identity_changed.clone());
        select! {
            recv(self.record.stopped) -> _ => false,
            recv(self.record.retries()) -> _ => !self.record.is_stopped(),
            recv(changed) -> _ => true,
            recv(due) -> _ => true,
        }
    }

    /// True if the application is retried automatically, as it is stored now.
    fn comes_back(&self) -> bool {
        let stored = self.core.apps.find(&self.app.id);
        let autoconnect = stored.map_or(self.app.autoconnect, |stored| stored.autoconnect);
        autoconnect || self.core.connections.was_connected(&self.app.id)
    }

    /// Connects and serves until the stop signal, or until a step fails.
    fn keep_connected(
        mut self,
        held: &mut HeldResources,
        rounds: &mut Rounds,
    ) -> Result<(), Ended> {
        self.still_wanted()?;
        self.app = self
            .core
            .apps
            .with_code(self.app)
            .map_err(|error| ConnectError::local(error.to_string()))?;
        self.record.change().set_active_settings(&self.app);
        loop {
            let begun = Instant::now();
            let (site, tunnel, mut health) = self.sequence(held)?;
            self.finish_sequence(site);
            rounds.reset();
            self.serve(held, &tunnel, &mut health)?;
            let (what, pause) = if has_moved(&tunnel) {
                ("the server may have moved", MOVED_PAUSE)
            } else {
                ("rejected", SEQUENCE_PAUSE)
            };
            log::info!(
                "application '{}': {what}; asking the server again",
                self.app.name
            );
            // The tunnel's error is shown until the next step begins.
            self.record.change().apply_event(Event::TunnelLost);
            // Everything except the web client is given back.
            (held.tunnel, held.port) = (None, None);
            self.pause(pause.saturating_sub(begun.elapsed()))?;
        }
    }

    /// Step 7.
    fn finish_sequence(&self, site: ConnectResult) {
        log::info!("application '{}': connected", self.app.name);
        self.core.connections.note_connected(&self.app.id);
        let mut status = self.record.change();
        status.set_terms(&self.app, site.auth_url.clone());
        status.complete(site);
        drop(status);
        let through = self.stays_with();
        if let Err(error) = self.core.apps.connected(&self.app.id, through.as_deref()) {
            log::warn!(
                "application '{}': cannot save the time of the connection: {error}",
                self.app.name
            );
        }
        // The saved server is current now.
        self.record.change().is_saving_server = false;
    }

    /// Returns the URL of the server that it stays with from now on, if it names none and this is new. It never stays
    /// with the relay on this machine, which only serves while there is no other server.
    fn stays_with(&self) -> Option<String> {
        let server = self.core.server_of(&self.app).ok()?;
        let origin = server.origin();
        let used = Some(server.to_string());
        let is_known = self.app.server.is_some() || self.app.used_server == used;
        if is_known || !self.record.is_through(origin) || self.core.choice.is_local_relay(origin) {
            return None;
        }
        self.record.change().set_active_settings(&AppConfig {
            used_server: used.clone(),
            ..self.app.clone()
        });
        used
    }

    /// Step 8. Also returns when the server rejects the tunnel or has assigned something else; the tunnel recovers from
    /// other failures by itself.
    fn serve(
        &mut self,
        held: &mut HeldResources,
        tunnel: &TunnelGroup,
        health: &mut HealthWatch,
    ) -> Result<(), Ended> {
        // Changes made while it was connecting come first.
        let (mut pauses, mut pending) = (pauses(), Some(Instant::now()));
        let mut relays = RelayWatch::new(tunnel);
        loop {
            let (due, misses) = (relays.look, held.misses());
            match health.run(self.record, &tunnel.ended(), pending, due, &misses) {
                WatchEnd::Stopped => return Err(Ended::Stopped),
                // Both may be true at once, as at the program's end.
                WatchEnd::TunnelEnded => return self.still_wanted(),
                WatchEnd::Changed => match self.apply(held, tunnel, &mut pauses) {
                    Ok(Applied::Done) => pending = None,
                    Ok(Applied::Pending(again)) => pending = Some(again),
                    Ok(Applied::Moved) => return self.still_wanted(),
                    Err(ended) => {
                        // The connection was up until now.
                        self.record.change().apply_event(Event::TunnelLost);
                        return Err(ended);
                    }
                },
                WatchEnd::Due => match self.look_for_relays(held, tunnel, &mut relays)? {
                    Applied::Moved => return self.still_wanted(),
                    Applied::Done | Applied::Pending(_) => {}
                },
            }
        }
    }

    fn pause(&self, time: Duration) -> Result<(), Ended> {
        // A wish from before the pause does not end it.
        while self.record.retries().try_recv().is_ok() {}
        select! {
            recv(self.record.stopped) -> _ => Err(Ended::Stopped),
            recv(self.record.retries()) -> _ => Ok(()),
            default(time) => Ok(()),
        }
    }

    /// Ends the connection of an application that was removed or ended while it began.
    fn still_wanted(&self) -> Result<(), Ended> {
        let stored = self.core.apps.find(&self.app.id);
        if let Ok(stored) = &stored {
            self.core.end_in_time(stored);
        }
        match stored {
            _ if self.record.is_stopped() => Err(Ended::Stopped),
            Ok(app) if !app.has_expired(&self.core.ends) => Ok(()),
            Ok(_) => {
                self.core.connections.expire(&self.app.id);
                Err(Ended::Stopped)
            }
            Err(app_store::Error::Unknown(_)) => {
                self.core.connections.disconnect(&self.app.id);
                Err(Ended::Stopped)
            }
            Err(error) => Err(ConnectError::local(error.to_string()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_five_seconds_to_a_minute() {
        let mut rounds = Rounds::new();
        for seconds in [5, 10, 20, 40, 60, 60] {
            let whole = Duration::from_secs(seconds);
            let pause = rounds.pause();
            assert!(pause <= whole && pause >= whole * 3 / 4, "{pause:?}");
        }
        rounds.reset();
        assert!(rounds.pause() <= FIRST_PAUSE);
        assert!(
            !rounds.set_error("gone") && rounds.set_error("gone") && !rounds.set_error("other")
        );
    }
}

//! One connection: its state, its result, and the signal that ends it.

use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use super::health::{self, Health};
use super::result::{ConnectResult, Exposed, HostKey};
use super::state::{Event, State};
use crate::manager::app::AppConfig;
use crate::manager::protocol::Protocol;
use crate::manager::quick_setup::Wait;
use crate::tunnel::client::{Snapshot, Status, Tunnel};

/// What the work is doing, as far as a person can wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A database's web client is being started.
    WebClient,
    /// The remote server is asked.
    QuickSetup,
    /// The credentials it gave are being saved.
    Credentials,
    /// The main tunnel is awaited.
    MainTunnel,
    /// The application's tunnel is being made.
    AppTunnel,
    /// Its connected signal is awaited.
    Signal,
    /// There is nothing left to do but to wait for the stop signal.
    Serving,
}

impl Step {
    /// The first step of an application's connection.
    pub(crate) fn first_of(protocol: Protocol) -> Self {
        if protocol.is_database() {
            Self::WebClient
        } else {
            Self::QuickSetup
        }
    }

    /// Its number in the connect sequence; a web client is made before the sequence begins.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::WebClient | Self::QuickSetup => 1,
            Self::Credentials => 2,
            Self::MainTunnel => 3,
            Self::AppTunnel => 4,
            Self::Signal => 5,
            Self::Serving => 8,
        }
    }

    /// Its name for the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WebClient => "web client",
            Self::QuickSetup => "quick-setup",
            Self::Credentials => "credentials",
            Self::MainTunnel => "main tunnel",
            Self::AppTunnel | Self::Signal => "app tunnel",
            Self::Serving => "serving",
        }
    }
}

/// What the work has to show when it is complete.
#[derive(Default)]
pub(crate) struct Site {
    pub(crate) site_url: String,
    pub(crate) auth_url: String,
    pub(crate) app_id: String,
}

/// An active connection. Its thread holds it, and the map of all.
pub(crate) struct ConnectionRecord {
    record: Mutex<Record>,
    /// Dropped to give the stop signal.
    stop: Mutex<Option<Sender<()>>>,
    stopped: Receiver<()>,
    retry: (Sender<()>, Receiver<()>),
    /// Closed when the thread has ended and everything is given back.
    done: Receiver<()>,
}

struct Record {
    /// What it is made from, whatever is saved meanwhile.
    made_from: AppConfig,
    state: State,
    step: Step,
    /// The remote server's origin, once it is known.
    server: String,
    site: Site,
    /// Whether the site was completed since the round began: something is exposed, also while its tunnel is lost.
    is_exposed: bool,
    local_url: String,
    error: String,
    class: Option<&'static str>,
    hint: &'static str,
    detail: String,
    host_key: Option<HostKey>,
    /// A pause of the quick-setup calls.
    pause: Option<Wait>,
    /// The tunnel that is awaited or in use.
    tunnel: Option<Arc<Tunnel>>,
    health: Health,
    /// What the next round waits for, after one that failed.
    awaited: Option<Awaited>,
}

/// What a connection that has failed, and comes back, waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// This moment, or the server's return.
    Moment(Instant),
    /// A change of the application, the credentials or the host key: it was refused. A refusal of credentials also
    /// ends when the server takes them again, which a main tunnel's coming up shows.
    Change,
}

/// Kinds of failure that the same call can only meet again.
const REFUSALS: [&str; 4] = [
    "wrong-password",
    "forbidden",
    "host-key-changed",
    "no-server",
];

/// Those of them that a server takes back by letting the connector in again.
const OF_CREDENTIALS: [&str; 2] = ["wrong-password", "forbidden"];

/// Why the work ended without success.
#[derive(Debug, Default)]
pub(crate) struct ConnectError {
    /// What happened, in the specification's words where it has some.
    pub(crate) error: String,
    /// Its kind, where no tunnel tells it.
    pub(crate) class: Option<&'static str>,
    /// Whether it came from waiting for a tunnel, which knows more of it.
    is_of_tunnel: bool,
    /// Whether the same call can only be refused again, whatever its kind: some databases lock an account that is tried
    /// too often.
    is_refusal: bool,
    /// What to try; empty where the kind says it.
    pub(crate) hint: &'static str,
}

impl ConnectError {
    pub(crate) fn new(class: &'static str, error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            class: Some(class),
            ..Self::default()
        }
    }

    /// The same, from waiting for a tunnel.
    pub(crate) fn of_tunnel(self) -> Self {
        Self {
            is_of_tunnel: true,
            ..self
        }
    }

    /// The same, which is only tried again where something has changed.
    pub(crate) fn refused(self, is_refusal: bool) -> Self {
        Self { is_refusal, ..self }
    }

    /// What happened and what to try, for a log.
    pub(crate) fn in_one_line(&self) -> String {
        match self.hint {
            "" => self.error.clone(),
            hint => format!("{}; {hint}", self.error),
        }
    }

    /// The same with what to try.
    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

impl ConnectionRecord {
    /// A connection of `app` that begins; `done` is closed by its thread.
    pub(crate) fn new(app: &AppConfig, step: Step, done: Receiver<()>) -> Arc<Self> {
        let (stop, stopped) = crossbeam_channel::bounded(0);
        Arc::new(Self {
            record: Mutex::new(Record {
                made_from: app.clone(),
                state: State::Connecting,
                step,
                server: String::new(),
                site: Site::default(),
                is_exposed: false,
                local_url: String::new(),
                error: String::new(),
                class: None,
                hint: "",
                detail: String::new(),
                host_key: None,
                pause: None,
                tunnel: None,
                health: Health::default(),
                awaited: None,
            }),
            stop: Mutex::new(Some(stop)),
            stopped,
            retry: crossbeam_channel::bounded(1),
            done,
        })
    }

    /// The stop signal: closed when it is given.
    pub(crate) fn stopped(&self) -> &Receiver<()> {
        &self.stopped
    }

    /// Whether the stop signal was given.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.lock().is_none()
    }

    /// Wishes to end a pause.
    pub(crate) fn retries(&self) -> &Receiver<()> {
        &self.retry.1
    }

    /// Closed when the connection's thread has ended.
    pub(crate) fn done(&self) -> &Receiver<()> {
        &self.done
    }

    /// Where it is now.
    pub(crate) fn state(&self) -> State {
        self.record().state
    }

    /// Everything about it, for the API.
    pub(crate) fn result(&self) -> ConnectResult {
        let mut record = self.record();
        let snapshot = record.look();
        record.result(snapshot.as_ref())
    }

    /// The same beside what is saved of the application now.
    pub(crate) fn result_beside(&self, saved: &AppConfig) -> ConnectResult {
        let mut record = self.record();
        let snapshot = record.look();
        let mut result = record.result(snapshot.as_ref());
        result.pending_changes =
            result.status.is_active() && record.made_from.differs_in_force(saved);
        result
    }

    /// From now on it is made from this.
    pub(super) fn is_made_from(&self, app: &AppConfig) {
        self.record().made_from = app.clone();
    }

    /// Whether the application answers.
    pub(super) fn health(&self) -> health::State {
        self.record().health.state
    }

    /// The application has answered, or why it has not; true where that is news.
    pub(super) fn answered(&self, answer: Result<(), String>) -> bool {
        self.record().health.take(answer)
    }

    /// The remote server, by its origin.
    pub(crate) fn goes_through(&self, origin: &str) {
        origin.clone_into(&mut self.record().server);
    }

    /// Whether that is it.
    pub(crate) fn is_through(&self, origin: &str) -> bool {
        self.record().server == origin
    }

    /// The next step begins.
    pub(crate) fn step(&self, step: Step) {
        let mut record = self.record();
        record.step = step;
        record.tunnel = None;
        record.pause = None;
        record.health = Health::default();
    }

    /// A step that waits for this tunnel begins.
    pub(crate) fn awaits(&self, step: Step, tunnel: Option<Arc<Tunnel>>) {
        let mut record = self.record();
        record.step = step;
        record.tunnel = tunnel;
    }

    /// The quick-setup calls pause, or go on.
    pub(crate) fn pauses(&self, pause: Option<Wait>) {
        let mut record = self.record();
        if record.step == Step::QuickSetup {
            record.pause = pause;
        }
    }

    /// Where the owner finds the web client.
    pub(crate) fn offers(&self, local_url: String) {
        self.record().local_url = local_url;
    }

    /// The work is complete.
    pub(crate) fn completed(&self, site: Site) {
        let mut record = self.record();
        if record.go(Event::Completed) {
            record.step = Step::Serving;
            record.site = site;
            record.is_exposed = true;
        }
    }

    /// The server takes the tunnel no more. What it said is shown until the next step begins.
    pub(crate) fn turned_away(&self) {
        // Nobody may have looked since the loss.
        self.record().go(Event::TunnelLost);
    }

    /// The work has failed (`setError`). `pause` is the time to the next round, where there is to be one; answers what
    /// that waits for.
    pub(crate) fn failed(&self, fault: ConnectError, pause: Option<Duration>) -> Option<Awaited> {
        let mut record = self.record();
        let snapshot = record.look();
        record.awaited = None;
        if !record.go(Event::StepFailed) {
            return None;
        }
        // Wishes from before the pause do not end it.
        while self.retry.1.try_recv().is_ok() {}
        // Of any other fault, the tunnel's last error is not the reason.
        let snapshot = snapshot.filter(|_| fault.is_of_tunnel);
        let reason = snapshot.and_then(|snapshot| snapshot.error);
        record.class = fault.class;
        if let Some(reason) = reason {
            record.class = Some(super::result::class_name(reason.class));
            record.host_key = reason.host_key.map(HostKey::from);
            record.detail = reason.message;
        }
        let by_class = record.class.is_some_and(|class| REFUSALS.contains(&class));
        let is_refusal = fault.is_refusal || by_class;
        record.awaited = pause.map(|pause| match is_refusal {
            true => Awaited::Change,
            false => Awaited::Moment(Instant::now() + pause),
        });
        record.error = fault.error;
        record.hint = fault.hint;
        record.pause = None;
        record.local_url.clear();
        record.tunnel = None;
        record.awaited
    }

    /// The next round begins; false where it was ended meanwhile.
    pub(crate) fn begins_again(&self, step: Step) -> bool {
        let mut record = self.record();
        record.awaited = None;
        if !record.go(Event::RetryDue) {
            return false;
        }
        record.is_exposed = false;
        record.step = step;
        record.error.clear();
        record.hint = "";
        record.detail.clear();
        (record.class, record.host_key) = (None, None);
        true
    }

    /// Waits for nothing any more: it stays failed.
    pub(crate) fn stays_failed(&self) {
        self.record().awaited = None;
    }

    /// Whether it counts as one of the connections at once: also while it waits for the next round.
    pub(crate) fn has_place(&self) -> bool {
        let record = self.record();
        record.state.is_active() || record.awaited.is_some()
    }

    /// Gives the stop signal; answers at once.
    pub(crate) fn stop(&self) {
        // Changes nothing where it has failed or ended already; the signal is given all the same.
        self.record().go(Event::Disconnect);
        drop(self.stop.lock().take());
    }

    /// Ends the present pause, whatever pauses.
    pub(crate) fn retry(&self) {
        // One wish is enough.
        let _ = self.retry.0.try_send(());
        if let Some(tunnel) = &self.record().tunnel {
            tunnel.retry_now();
        }
    }

    /// A main tunnel of its server is up: whatever pauses tries at once, also what had been refused for its
    /// credentials, as the server takes them now. Another refusal would be met again.
    pub(crate) fn server_is_back(&self) {
        if self.is_refused() && !self.is_refused_for_credentials() {
            return;
        }
        self.retry();
    }

    /// Whether only a change can help.
    fn is_refused(&self) -> bool {
        self.record().awaited == Some(Awaited::Change)
    }

    fn is_refused_for_credentials(&self) -> bool {
        let class = self.record().class;
        self.is_refused() && class.is_some_and(|class| OF_CREDENTIALS.contains(&class))
    }

    /// Another host key of the tunnel server is trusted.
    pub(crate) fn host_key_is_trusted(&self, server: &str) {
        let was_refused_for = |key: &HostKey| key.server == server;
        let is_its_own = self.record().host_key.as_ref().is_some_and(was_refused_for);
        // Its main tunnel is not up yet.
        if is_its_own || !self.is_refused() {
            self.retry();
        }
    }

    /// Its application was changed: what has failed is tried with that.
    pub(crate) fn application_has_changed(&self) {
        if self.record().awaited.is_some() {
            self.retry();
        }
    }

    /// The host key change that its tunnel reports.
    pub(crate) fn changed_host_key(&self) -> Option<HostKey> {
        self.result().host_key
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock()
    }
}

impl Record {
    /// Follows the table; false where the event changes nothing.
    fn go(&mut self, event: Event) -> bool {
        let next = self.state.on(event);
        self.state = next.unwrap_or(self.state);
        next.is_some()
    }

    /// Looks at the tunnel. Of one in use, the loss and the return are events: nothing has to watch it, because
    /// whoever asks looks first.
    fn look(&mut self) -> Option<Snapshot> {
        let snapshot = self.tunnel.as_ref()?.snapshot();
        if self.step == Step::Serving {
            self.go(match snapshot.status {
                Status::Connected => Event::TunnelBack,
                _ => Event::TunnelLost,
            });
        }
        Some(snapshot)
    }

    fn result(&self, snapshot: Option<&Snapshot>) -> ConnectResult {
        let pause = self.pause.as_ref();
        let mut result = ConnectResult {
            status: self.state,
            server: self.server.clone(),
            site_url: self.site.site_url.clone(),
            auth_url: self.site.auth_url.clone(),
            app_id: self.site.app_id.clone(),
            local_url: self.local_url.clone(),
            error: self.error.clone(),
            error_class: self.class,
            hint: self.hint,
            detail: self.detail.clone(),
            host_key: self.host_key.clone(),
            step: Some(self.step.number()),
            step_name: Some(self.step.name()),
            next_retry_ms: pause.map(|pause| millis_until(pause.until)),
            ..ConnectResult::default()
        };
        if let Some(Awaited::Moment(at)) = self.awaited {
            result.next_retry_ms = Some(millis_until(at));
        }
        if let Some(pause) = pause {
            result.error.clone_from(&pause.reason);
            result.error_class = Some("quick-setup");
        }
        if self.is_exposed && self.state.is_active() {
            result.exposed = Some(Exposed::of(&self.made_from));
        }
        if self.state == State::Connected {
            result.health = Some(self.health.clone());
        }
        if let Some(snapshot) = snapshot {
            result.add_tunnel(snapshot, self.step == Step::Serving);
        }
        result
    }
}

/// Milliseconds from now; 0 when it has passed.
pub(crate) fn millis_until(at: Instant) -> u64 {
    let left = at.saturating_duration_since(Instant::now());
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::app_input::AppInput;
    use crate::tunnel::client::Settings;
    use crate::tunnel::ws::Endpoint;

    fn app() -> AppConfig {
        let app = AppInput::parse(&serde_json::json!({"protocol": "http"}), true);
        app.unwrap().into_new().unwrap()
    }

    fn active() -> Arc<ConnectionRecord> {
        ConnectionRecord::new(&app(), Step::QuickSetup, crossbeam_channel::bounded(0).1)
    }

    #[test]
    fn a_late_outcome_does_not_bring_back_what_was_ended() {
        let active = active();
        assert!(!active.is_stopped());
        active.stop();
        assert!(active.is_stopped());
        active.completed(Site::default());
        active.failed(ConnectError::new("x", "late"), None);
        assert_eq!(active.state(), State::Disconnected);
        assert_eq!(active.result().error, "");
    }

    #[test]
    fn a_fault_and_a_pause_are_shown() {
        let active = active();
        let until = Instant::now() + std::time::Duration::from_secs(3);
        let pause = Wait {
            attempt: 1,
            until,
            reason: "busy".into(),
        };
        active.pauses(Some(pause));
        let shown = active.result();
        assert_eq!((shown.error.as_str(), shown.step), ("busy", Some(1)));
        assert!(
            shown
                .next_retry_ms
                .is_some_and(|ms| ms > 2000 && ms <= 3000)
        );
        active.failed(ConnectError::new("quick-setup", "no"), None);
        let shown = active.result();
        assert_eq!(
            (shown.status, shown.error_class),
            (State::Failed, Some("quick-setup"))
        );
        assert_eq!((shown.error.as_str(), shown.next_retry_ms), ("no", None));
    }

    /// A tunnel that has tried in vain, and says why.
    fn failing_tunnel() -> Arc<Tunnel> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("ws://{}", listener.local_addr().unwrap());
        drop(listener);
        let remote = "R:127.0.0.1:1:127.0.0.1:1".parse().unwrap();
        let settings = Settings::new(Endpoint::parse(&endpoint).unwrap(), vec![remote]);
        let tunnel = Arc::new(Tunnel::start(settings).unwrap());
        let deadline = Instant::now() + Duration::from_secs(20);
        while tunnel.snapshot().error.is_none() {
            assert!(Instant::now() < deadline, "it has not failed");
            std::thread::yield_now();
        }
        tunnel
    }

    #[test]
    fn a_tunnels_error_is_the_reason_of_what_waits_for_it_and_of_nothing_else() {
        let tunnel = failing_tunnel();
        let failed = |step: Step, fault: ConnectError| {
            let active = active();
            active.awaits(step, Some(Arc::clone(&tunnel)));
            let awaited = active.failed(fault, Some(Duration::from_secs(5)));
            (active.result(), awaited)
        };
        let late = ConnectError::new("timeout", "App tunnel connect timeout").of_tunnel();
        let (shown, awaited) = failed(Step::Signal, late);
        assert_eq!(shown.error_class, Some("network"));
        assert!(!shown.detail.is_empty());
        assert!(matches!(awaited, Some(Awaited::Moment(_))));
        let local = ConnectError::new("own-listener", "not shared");
        let (shown, _) = failed(Step::Serving, local);
        assert_eq!(
            (shown.error_class, shown.detail.as_str()),
            (Some("own-listener"), "")
        );
        let refused = ConnectError::new("no-server", "no server is named");
        let (_, awaited) = failed(Step::Serving, refused);
        assert_eq!(awaited, Some(Awaited::Change));
        let denied = ConnectError::new("plugin", "in any words").refused(true);
        assert_eq!(failed(Step::WebClient, denied).1, Some(Awaited::Change));
    }

    #[test]
    fn of_what_was_refused_only_credentials_are_tried_when_the_server_is_back() {
        let pause = Some(Duration::from_secs(5));
        let has_wish = |active: &ConnectionRecord| active.retries().try_recv().is_ok();
        let active = active();
        active.retry();
        let awaited = active.failed(ConnectError::new("network", "gone"), pause);
        assert!(matches!(awaited, Some(Awaited::Moment(_))));
        assert!(!has_wish(&active), "that wish was for an earlier pause");
        assert!(active.has_place() && active.result().next_retry_ms.is_some());
        active.server_is_back();
        assert!(has_wish(&active));
        assert!(active.begins_again(Step::QuickSetup));
        assert_eq!(active.result().error, "");
        let awaited = active.failed(ConnectError::new("forbidden", "not you"), pause);
        assert_eq!(awaited, Some(Awaited::Change));
        assert_eq!(active.result().next_retry_ms, None);
        active.host_key_is_trusted("t:1");
        assert!(!has_wish(&active));
        active.server_is_back();
        assert!(has_wish(&active), "it takes the credentials again");
        assert!(active.begins_again(Step::QuickSetup));
        for (class, error) in [("host-key-changed", "another key"), ("no-server", "none")] {
            active.failed(ConnectError::new(class, error), pause);
            active.server_is_back();
            assert!(!has_wish(&active), "{class}");
            assert!(active.begins_again(Step::QuickSetup));
        }
        active.failed(ConnectError::new("forbidden", "not you"), pause);
        active.application_has_changed();
        assert!(has_wish(&active));
        active.retry();
        assert!(has_wish(&active), "the user may always");
        active.stop();
        assert!(!active.begins_again(Step::QuickSetup));
    }
}
